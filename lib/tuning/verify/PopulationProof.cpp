#include "lib/tuning/verify/PopulationProof.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace accord::tuning {
namespace {

class Proof {
public:
  Proof(const TuningProblem &problem, const TuningResult &result, bool isPriced, Verification &out)
      : problem_(problem), population_(*problem.population), result_(result), isPriced_(isPriced), out_(out) {}

  void run() {
    if (!founders())
      return;
    std::set<unsigned> members;
    for (unsigned i = 0; i < result_.trials.size() && !result_.trials[i].origin; ++i)
      members.insert(i);
    const size_t count = members.size();
    for (int64_t unit = population_.every; unit < problem_.maxUnits && out_.holds(); unit += population_.every) {
      if (!childrenAt_.contains(unit) && !segmentsIn_.contains(unit / population_.every))
        break; // nobody goes on there, so nobody can later
      members = behind(members, unit, count);
    }
    if (out_.holds())
      ended();
    for (unsigned i = 0; i < result_.trials.size() && out_.holds(); ++i)
      if (result_.trials[i].origin)
        configuration(i);
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} trials begin from one of the best, in the place of {} of the worst and of "
                                         "{} that had ended",
                                         children_, replaced_, children_ - replaced_));
  }

private:
  template <class... Args> void finding(fmt::format_string<Args...> format, Args &&...args) {
    out_.findings.push_back({Code::CertificateDisagrees, fmt::format(format, std::forward<Args>(args)...)});
  }

  /// Trials without an origin come first, and are no more than there are members.
  bool founders() {
    int64_t founders = 0;
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const auto &origin = result_.trials[i].origin;
      if (!origin)
        ++founders;
      if (!origin && founders != static_cast<int64_t>(i) + 1)
        finding("trial {} begins at unit 0, behind trials that begin from others", i);
      if (origin && origin->trial >= i)
        finding("trial {} begins from trial {}, which is not earlier", i, origin->trial);
      if (origin && (origin->unit < 1 || origin->unit >= problem_.maxUnits || origin->unit % population_.every != 0))
        finding("trial {} begins behind unit {}, where no generation ends", i, origin->unit);
    }
    if (founders > population_.members)
      finding("{} trials begin at unit 0, but the population has {} members", founders, population_.members);
    if (!out_.holds())
      return false;
    segmentsOf_.resize(result_.trials.size());
    for (unsigned i = 0; i < result_.trials.size(); ++i)
      if (result_.trials[i].origin)
        childrenAt_[result_.trials[i].origin->unit].insert(i);
    for (const Segment &segment : result_.segments) {
      const int64_t generation = segment.from / population_.every;
      segmentsOf_[segment.trial].push_back(&segment);
      segmentsIn_[generation].push_back(&segment);
      if (segment.to > segment.from && (segment.to - 1) / population_.every != generation)
        finding("trial {} runs from unit {} to {}, across the end of a generation", segment.trial, segment.from,
                segment.to);
    }
    return out_.holds();
  }

  int64_t doneOf(unsigned trial) const {
    const Trial &one = result_.trials[trial];
    return one.inherited() + static_cast<int64_t>(one.reports.size());
  }
  bool isDeadAt(unsigned trial, int64_t unit) const {
    const Trial &one = result_.trials[trial];
    return (one.state == Trial::State::Diverged && doneOf(trial) <= unit) ||
           (one.state == Trial::State::Failed && doneOf(trial) < unit);
  }
  /// After a unit that it has run.
  double valueAt(unsigned trial, int64_t unit) const {
    const Trial &one = result_.trials[trial];
    return one.reports[static_cast<size_t>(unit - one.inherited()) - 1].value;
  }

  /// Seconds at which the last member has come to a unit or has died; infinite where one has done neither.
  double timeOf(const std::set<unsigned> &members, int64_t unit) const {
    double time = 0;
    for (unsigned member : members) {
      if (!isDeadAt(member, unit) && doneOf(member) < unit)
        return std::numeric_limits<double>::infinity();
      const auto &own = segmentsOf_[member]; // one after the other
      const auto next = std::ranges::partition_point(own, [&](const Segment *one) { return one->from < unit; });
      if (next != own.begin())
        time = std::max(time, (*std::prev(next))->end);
    }
    return time;
  }

  /// The members that go on behind a unit; looks at who they are.
  std::set<unsigned> behind(const std::set<unsigned> &members, int64_t unit, size_t count) {
    const std::set<unsigned> &children = childrenAt_[unit];
    std::set<unsigned> live, next;
    for (unsigned member : members)
      if (!isDeadAt(member, unit) && doneOf(member) >= unit)
        live.insert(member);
    const double time = timeOf(members, unit);
    for (const Segment *segment : segmentsIn_[unit / population_.every])
      if (segment->start < time)
        finding("trial {} begins unit {} at {} s, before all members have ended unit {}", segment->trial,
                segment->from + 1, segment->start, unit);
    for (unsigned child : children)
      if (!live.contains(result_.trials[child].origin->trial))
        finding("trial {} begins from trial {} after unit {}, which is no member that has come there", child,
                result_.trials[child].origin->trial, unit);
    if (!std::isfinite(time))
      finding("trials go on behind unit {}, but not all members have come there", unit);
    if (!out_.holds())
      return members;
    // The rank of a member is the number of members that are better; of equals the earlier one is.
    auto rank = [&](unsigned member) {
      size_t better = 0;
      for (unsigned other : live) {
        const double mine = valueAt(member, unit), its = valueAt(other, unit);
        better += (problem_.maximizes ? its > mine : its < mine) || (its == mine && other < member);
      }
      return better;
    };
    const size_t share = numReplaced(population_, count), best = std::min(share, live.size());
    const size_t firstOfTheWorst = std::max(best, live.size() - std::min(share, live.size()));
    for (unsigned member : live) {
      const bool isWorst = rank(member) >= firstOfTheWorst;
      const bool isReplaced = result_.trials[member].state == Trial::State::Replaced && doneOf(member) == unit;
      if (isWorst != isReplaced)
        finding("trial {} {} after unit {}, where it is number {} of {}", member,
                isReplaced ? "is replaced" : "is not replaced", unit, rank(member) + 1, live.size());
      if (!isReplaced)
        next.insert(member);
    }
    for (unsigned child : children)
      if (const unsigned parent = result_.trials[child].origin->trial; rank(parent) >= best)
        finding("trial {} begins from trial {}, which is number {} of {} after unit {}: not among the best {}", child,
                parent, rank(parent) + 1, live.size(), unit, best);
    if (next.size() + children.size() != count)
      finding("{} members go on behind unit {}, but the population has {}", next.size() + children.size(), unit, count);
    children_ += children.size();
    replaced_ += live.size() - next.size();
    next.insert(children.begin(), children.end());
    return next;
  }

  /// Nobody is replaced and no child begins where no generation ends.
  void ended() {
    size_t replaced = 0, children = 0;
    for (unsigned i = 0; i < result_.trials.size(); ++i) {
      const Trial::State state = result_.trials[i].state;
      replaced += state == Trial::State::Replaced;
      children += result_.trials[i].origin.has_value();
      if (state == Trial::State::Stopped)
        finding("trial {} is stopped by its curve, but members of a population are not", i);
    }
    if (replaced != replaced_ || children != children_)
      finding("{} trials are replaced and {} begin from others, but behind the generations there were {} and {}",
              replaced, children, replaced_, children_);
  }

  /// What a number becomes by a factor: in its range, and if it is a whole number at least one step away.
  bool isByFactor(const HyperParameter &parameter, double parent, double child) const {
    return std::ranges::any_of(population_.factors, [&](double factor) {
      double due = parent * factor;
      if (parameter.kind == HyperParameter::Kind::Integer) {
        due = std::round(due);
        if (due == parent && factor > 1)
          due = parent < 0 ? parent - 1 : parent + 1;
        else if (due == parent && factor < 1)
          due = parent < 0 ? parent + 1 : parent - 1;
      }
      due = std::min(std::max(due, parameter.min), parameter.max);
      return std::abs(child - due) <= 1e-12 * std::abs(due);
    });
  }

  void configuration(unsigned child) {
    const Origin &origin = *result_.trials[child].origin;
    const Configuration &own = result_.trials[child].configuration, &from = result_.trials[origin.trial].configuration;
    auto contains = [](const std::vector<std::string> &names, const std::string &name) {
      return std::ranges::find(names, name) != names.end();
    };
    if (!origin.redrawn.empty() && population_.redrawn <= 0)
      finding("trial {} has hyper-parameters that were drawn anew, and none is", child);
    for (const std::string &name : origin.redrawn)
      if (std::ranges::find(problem_.space, name, &HyperParameter::name) == problem_.space.end())
        finding("trial {} drew '{}' anew, which is no hyper-parameter", child, name);
    const bool isCopy = isPriced_ && own == from && origin.redrawn.empty();
    for (size_t p = 0; p < problem_.space.size() && !isCopy; ++p) {
      const HyperParameter &parameter = problem_.space[p];
      const bool isFixed = contains(population_.fixed, parameter.name),
                 isRedrawn = contains(origin.redrawn, parameter.name);
      if (isFixed && isRedrawn)
        finding("trial {} drew '{}' anew, which is fixed", child, parameter.name);
      const bool isRight = isFixed                                          ? own[p] == from[p]
                           : isRedrawn                                      ? true // in its range, as of all trials
                           : parameter.kind == HyperParameter::Kind::Choice ? own[p] == from[p]
                                                                            : isByFactor(parameter, from[p], own[p]);
      if (!isRight)
        finding("trial {} has '{}' {}, which does not follow from {} of trial {}", child, parameter.name, own[p],
                from[p], origin.trial);
    }
  }

  const TuningProblem &problem_;
  const Population &population_;
  const TuningResult &result_;
  const bool isPriced_;
  Verification &out_;
  std::map<int64_t, std::set<unsigned>> childrenAt_;           ///< by unit
  std::map<int64_t, std::vector<const Segment *>> segmentsIn_; ///< by generation, from 0
  std::vector<std::vector<const Segment *>> segmentsOf_;       ///< by trial, one after the other
  size_t children_ = 0, replaced_ = 0;
};

} // namespace

void provePopulation(const TuningProblem &problem, const TuningResult &result, bool isPriced, Verification &out) {
  Proof(problem, result, isPriced, out).run();
}

} // namespace accord::tuning
