#include "lib/offers/solve/OfferChooser.h"
#include "lib/offers/solve/ChoiceSearch.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace accord::offers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Measure = double (*)(const OfferOption &);
double priceOf(const OfferOption &option) { return option.price.value; }
double energyOf(const OfferOption &option) { return option.energy; }
double carbonOf(const OfferOption &option) { return option.carbon; }
double wattsOf(const OfferOption &option) { return option.watts; }

/// Of the objectives that are sums; of Time the price, which is its second.
Measure measureOf(OfferObjective objective) {
  switch (objective) {
  case OfferObjective::Energy:
    return energyOf;
  case OfferObjective::Carbon:
    return carbonOf;
  case OfferObjective::Price:
  case OfferObjective::Time:
    return priceOf;
  }
  return priceOf;
}

/// "52.1 h": rounded up at the fourth digit, so that what is printed suffices.
double roundedUp(double value) {
  if (!(value > 0) || !std::isfinite(value))
    return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  const double rounded = std::ceil(value / unit - 1e-9) * unit;
  return rounded >= value ? rounded : value;
}
std::string hours(double seconds) {
  return seconds >= 7200 ? fmt::format("{:.5g} h", seconds / 3600) : fmt::format("{:.7g} min", seconds / 60);
}
std::string dollars(double value) { return fmt::format("{:.5g} USD", value); }
std::string kilowatts(double watts) { return fmt::format("{:.5g} kW", watts / 1000); }

class OfferChooser {
public:
  OfferChooser(const OfferProblem &problem, const SearchLimits &limits) : problem(problem), search(limits) {
    side = limits;
    side.effort = limits.effort > kSideEffort ? limits.effort - kSideEffort : 0;
    for (unsigned offer = 0; offer < problem.offers.size(); ++offer)
      if (problem.offers[offer].available > 0)
        shared.emplace(offer, shared.size());
    restrict();
  }

  OfferChoice run() {
    OfferChoice choice;
    for (size_t t = 0; t < candidates.size(); ++t)
      if (candidates[t].empty())
        return explain(fmt::format("training '{}' fits on no offer", problem.trainings[t].name));
    const ChoiceSolution found =
        problem.objective == OfferObjective::Time
            ? fastest(problem.limits)
            : minimize(measureOf(problem.objective), problem.limits, kInfinity, /*isSide=*/false);
    if (!found.found) {
      if (found.bound < kInfinity) {
        choice.bound = found.bound;
        return choice;
      }
      return explain("");
    }
    choice.choice = found.choice;
    choice.value = found.value;
    choice.bound = std::min(found.bound, found.value);
    choice.status =
        choice.value - choice.bound <= 1e-9 * std::abs(choice.value) ? OfferStatus::Optimal : OfferStatus::Feasible;
    addFront(choice);
    return choice;
  }

private:
  /// Only options whose numbers are finite count, and of those that no other one is at least as good as in each number
  /// that an objective or a limit looks at.
  void restrict() {
    for (const OfferTraining &training : problem.trainings) {
      std::vector<ChoiceCandidate> all;
      for (unsigned o = 0; o < training.options.size(); ++o) {
        const OfferOption &option = training.options[o];
        std::vector<double> uses = {option.price.value, option.time.value, timeAgainst(problem.limits, option),
                                    option.watts,       option.energy,     option.carbon};
        if (option.offer >= problem.offers.size() ||
            !std::ranges::all_of(uses, [](double use) { return std::isfinite(use) && use >= 0; }))
          continue;
        uses.resize(uses.size() + shared.size(), 0);
        if (auto found = shared.find(option.offer); found != shared.end()) {
          if (option.instances > problem.offers[option.offer].available)
            continue;
          uses[6 + found->second] = static_cast<double>(option.instances);
        }
        all.push_back({o, measureOf(problem.objective)(option), std::move(uses)});
      }
      removeDominated(all);
      std::vector<unsigned> &kept = candidates.emplace_back();
      for (const ChoiceCandidate &candidate : all)
        kept.push_back(candidate.option);
    }
  }

  const OfferOption &option(size_t training, unsigned o) const { return problem.trainings[training].options[o]; }

  /// The smallest sum within `limits`, where no time is above `maxTime`.
  ChoiceSolution minimize(Measure measure, const OfferLimits &limits, double maxTime, bool isSide = true) const {
    ChoiceProblem made;
    std::vector<Measure> sums;
    if (limits.budget > 0 && measure != priceOf)
      sums.push_back(priceOf), made.capacities.push_back(limits.budget);
    if (limits.watts > 0)
      sums.push_back(wattsOf), made.capacities.push_back(limits.watts);
    for (const auto &[offer, index] : shared)
      made.capacities.push_back(static_cast<double>(problem.offers[offer].available));
    for (size_t t = 0; t < candidates.size(); ++t) {
      std::vector<ChoiceCandidate> &group = made.groups.emplace_back();
      for (unsigned o : candidates[t]) {
        const OfferOption &one = option(t, o);
        if (one.time.value > maxTime || (limits.deadline > 0 && timeAgainst(limits, one) > limits.deadline))
          continue;
        ChoiceCandidate candidate{o, measure(one), {}};
        for (Measure sum : sums)
          candidate.uses.push_back(sum(one));
        candidate.uses.resize(made.capacities.size(), 0);
        if (auto found = shared.find(one.offer); found != shared.end())
          candidate.uses[sums.size() + found->second] = static_cast<double>(one.instances);
        group.push_back(std::move(candidate));
      }
      if (group.empty())
        return impossible();
    }
    ChoiceSolution found = searchChoice(std::move(made), isSide ? side : search);
    // Nothing is cheaper than the smallest sum of prices, so the budget is looked at afterwards.
    if (measure == priceOf && limits.budget > 0) {
      if (found.bound > limits.budget)
        return impossible();
      if (found.found && found.value > limits.budget)
        found.found = false;
    }
    return found;
  }
  static ChoiceSolution impossible() {
    ChoiceSolution none;
    none.bound = kInfinity;
    return none;
  }

  double maxTimeOf(const std::vector<unsigned> &choice) const {
    double max = 0;
    for (size_t t = 0; t < choice.size(); ++t)
      max = std::max(max, option(t, choice[t]).time.value);
    return max;
  }
  std::vector<double> timesAscending(const std::function<double(const OfferOption &)> &time) const {
    std::set<double> times;
    for (size_t t = 0; t < candidates.size(); ++t)
      for (unsigned o : candidates[t])
        times.insert(time(option(t, o)));
    return {times.begin(), times.end()};
  }

  /// The smallest of `times` up to which a choice is found. `decide` finds a choice with no time above one; what is
  /// possible with one is possible with each larger one. Its value is the time, its bound a time up to which it is
  /// proved that there is none but for that time itself.
  static ChoiceSolution bisect(const std::vector<double> &times, const std::function<ChoiceSolution(double)> &decide) {
    ChoiceSolution best = impossible();
    // All below `low` are proved to be too small; from `high` on a choice is known.
    size_t low = 0, high = times.size();
    bool isProved = true;
    size_t open = 0;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      ChoiceSolution found = decide(times[middle]);
      if (found.found) {
        best = std::move(found);
        best.value = times[middle];
        high = middle;
        continue;
      }
      if (found.bound < kInfinity && isProved)
        isProved = false, open = low;
      low = middle + 1;
    }
    if (!isProved)
      best.bound = times[open];
    else
      best.bound = best.found ? best.value : kInfinity;
    return best;
  }

  /// The smallest largest time, and of its choices the cheapest.
  ChoiceSolution fastest(const OfferLimits &limits) const {
    return bisect(timesAscending([](const OfferOption &one) { return one.time.value; }),
                  [&](double time) { return minimize(priceOf, limits, time, /*isSide=*/false); });
  }
  /// The smallest deadline with a choice.
  ChoiceSolution shortest(OfferLimits limits) const {
    return bisect(timesAscending([&](const OfferOption &one) { return timeAgainst(limits, one); }), [&](double time) {
      limits.deadline = std::max(time, std::numeric_limits<double>::min());
      return minimize(priceOf, limits, kInfinity);
    });
  }

  void addFront(OfferChoice &choice) const {
    double below = kInfinity;
    std::vector<OfferFrontPoint> found;
    const uint64_t maxWork = kFrontWork << std::min(search.effort, 20u);
    for (uint64_t work = 0; found.size() < kMaxFrontPoints;) {
      const ChoiceSolution cheapest = minimize(priceOf, problem.limits, below);
      work += cheapest.work;
      if (!cheapest.found || cheapest.bound < cheapest.value * (1 - 1e-9)) {
        choice.frontIsWhole = cheapest.bound == kInfinity;
        break;
      }
      const double time = maxTimeOf(cheapest.choice);
      // As cheap as the slower one before.
      if (!found.empty() && cheapest.value <= found.back().price * (1 + 1e-12))
        found.pop_back();
      found.push_back({cheapest.value, time, cheapest.choice});
      below = std::nextafter(time, 0.0);
      if (work > maxWork) {
        choice.frontIsWhole = false;
        break;
      }
    }
    if (found.size() == kMaxFrontPoints)
      choice.frontIsWhole = false;
    choice.front = std::move(found);
  }
  static constexpr size_t kMaxFrontPoints = 256;
  static constexpr uint64_t kFrontWork = 500'000;
  /// The front, conflicts and repairs are many searches: each has so much less effort.
  static constexpr unsigned kSideEffort = 3;

  // ------------------------------------------------------------- why there is no choice

  OfferChoice explain(std::string conflict) const {
    OfferChoice choice;
    choice.status = OfferStatus::Infeasible;
    choice.bound = kInfinity;
    if (!conflict.empty()) {
      choice.conflict = std::move(conflict);
      return choice;
    }
    choice.conflict = conflictOf();
    addRepairs(choice);
    return choice;
  }

  /// The first of the limits by itself, then of two, that exclude all choices.
  std::string conflictOf() const {
    const OfferLimits &limits = problem.limits;
    if (limits.deadline > 0)
      for (size_t t = 0; t < candidates.size(); ++t) {
        double min = kInfinity;
        for (unsigned o : candidates[t])
          min = std::min(min, timeAgainst(limits, option(t, o)));
        if (min > limits.deadline)
          return fmt::format("training '{}' takes {} or more on each offer{}, and the deadline is {}",
                             problem.trainings[t].name, hours(min),
                             limits.sure ? " at the upper end of its interval" : "", hours(limits.deadline));
      }
    OfferLimits none = limits;
    none.deadline = none.budget = none.watts = 0;
    auto excludes = [&](OfferLimits some) {
      const ChoiceSolution found = minimize(priceOf, some, kInfinity);
      return !found.found && found.bound == kInfinity;
    };
    if (excludes(none))
      return "there are too few instances for all trainings at once";
    auto with = [&](bool deadline, bool budget, bool watts) {
      OfferLimits some = none;
      some.deadline = deadline ? limits.deadline : 0;
      some.budget = budget ? limits.budget : 0;
      some.watts = watts ? limits.watts : 0;
      return some;
    };
    if (limits.budget > 0 && excludes(with(false, true, false)))
      return fmt::format("{} cost {} or more, and the budget is {}", what(),
                         dollars(minimize(priceOf, none, kInfinity).value), dollars(limits.budget));
    if (limits.watts > 0 && excludes(with(false, false, true)))
      return fmt::format("{} draw {} or more, and the power is {}", what(),
                         kilowatts(minimize(wattsOf, none, kInfinity).value), kilowatts(limits.watts));
    std::string named;
    for (auto [deadline, budget, watts] : {std::tuple(true, true, false), {true, false, true}, {false, true, true}})
      if ((!deadline || limits.deadline > 0) && (!budget || limits.budget > 0) && (!watts || limits.watts > 0) &&
          excludes(with(deadline, budget, watts))) {
        named = join(deadline, budget, watts);
        break;
      }
    if (named.empty())
      named = join(limits.deadline > 0, limits.budget > 0, limits.watts > 0);
    return fmt::format("no choice keeps {}", named.empty() ? "the number of instances" : named);
  }
  std::string what() const {
    return problem.trainings.size() == 1 ? fmt::format("the instances of '{}'", problem.trainings.front().name)
                                         : "all trainings together";
  }
  std::string join(bool deadline, bool budget, bool watts) const {
    const OfferLimits &limits = problem.limits;
    std::vector<std::string> parts;
    if (deadline)
      parts.push_back(fmt::format("the deadline of {}", hours(limits.deadline)));
    if (budget)
      parts.push_back(fmt::format("the budget of {}", dollars(limits.budget)));
    if (watts)
      parts.push_back(fmt::format("the power of {}", kilowatts(limits.watts)));
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i)
      text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return text;
  }

  /// Makes one limit the smallest that suffices, rounded up; false where it does not help.
  bool relax(OfferLimits &limits, int which) const {
    OfferLimits without = limits;
    double OfferLimits::*const member = which == 0   ? &OfferLimits::deadline
                                        : which == 1 ? &OfferLimits::budget
                                                     : &OfferLimits::watts;
    without.*member = 0;
    const ChoiceSolution found = which == 0   ? shortest(without)
                                 : which == 1 ? minimize(priceOf, without, kInfinity)
                                              : minimize(wattsOf, without, kInfinity);
    if (!found.found)
      return false;
    const double needed = std::max(found.value, std::numeric_limits<double>::min());
    without.*member = which == 0 ? roundedUp(needed / 3600) * 3600 : roundedUp(needed);
    if (!(without.*member >= needed))
      without.*member = needed;
    // What is said has to be so.
    if (!minimize(priceOf, without, kInfinity).found)
      return false;
    limits = without;
    return true;
  }

  void addRepairs(OfferChoice &choice) const {
    const OfferLimits &limits = problem.limits;
    const std::vector<std::vector<int>> attempts = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
    const double stated[] = {limits.deadline, limits.budget, limits.watts};
    size_t size = 0;
    for (const std::vector<int> &attempt : attempts) {
      if (size > 0 && attempt.size() > size)
        break;
      if (std::ranges::any_of(attempt, [&](int which) { return stated[which] <= 0; }))
        continue;
      OfferLimits relaxed = limits;
      // The other ones are left out until their turn.
      if (attempt.size() > 1)
        for (size_t i = 1; i < attempt.size(); ++i)
          setLimit(relaxed, attempt[i], 0);
      bool suffices = true;
      for (int which : attempt)
        suffices = suffices && relax(relaxed, which);
      if (!suffices)
        continue;
      size = attempt.size();
      choice.repairs.push_back({relaxed, textOf(relaxed, attempt)});
    }
    if (limits.sure && limits.deadline > 0) {
      OfferLimits unsure = limits;
      unsure.sure = false;
      if (minimize(priceOf, unsure, kInfinity).found)
        choice.repairs.push_back({unsure, "the deadline on average, not at the upper end of the interval"});
    }
  }
  static void setLimit(OfferLimits &limits, int which, double value) {
    (which == 0 ? limits.deadline : which == 1 ? limits.budget : limits.watts) = value;
  }
  std::string textOf(const OfferLimits &relaxed, const std::vector<int> &changed) const {
    std::string text;
    for (size_t i = 0; i < changed.size(); ++i) {
      text += i == 0 ? "" : i + 1 == changed.size() ? " and " : ", ";
      text += changed[i] == 0   ? fmt::format("a deadline of {}", hours(relaxed.deadline))
              : changed[i] == 1 ? fmt::format("a budget of {}", dollars(relaxed.budget))
                                : fmt::format("a power of {}", kilowatts(relaxed.watts));
    }
    return text;
  }

  const OfferProblem &problem;
  const SearchLimits &search;
  SearchLimits side;                 ///< of what is said besides the choice
  std::map<unsigned, size_t> shared; ///< offers with a number of instances, and their places
  std::vector<std::vector<unsigned>> candidates;
};

} // namespace

double timeAgainst(const OfferLimits &limits, const OfferOption &option) {
  return limits.sure ? option.time.high : option.time.value;
}

OfferChoice chooseOffers(const OfferProblem &problem, const SearchLimits &limits) {
  return OfferChooser(problem, limits).run();
}

std::vector<RunnerUp> runnersUp(const OfferProblem &problem, const OfferChoice &choice, unsigned training,
                                size_t count) {
  const OfferLimits &limits = problem.limits;
  double price = 0, watts = 0, time = 0;
  std::map<unsigned, int64_t> used;
  for (size_t t = 0; t < choice.choice.size(); ++t) {
    const OfferOption &option = problem.trainings[t].options[choice.choice[t]];
    if (t == training)
      continue;
    price += option.price.value, watts += option.watts, time = std::max(time, option.time.value);
    used[option.offer] += option.instances;
  }
  const std::vector<OfferOption> &options = problem.trainings[training].options;
  const OfferOption &chosen = options[choice.choice[training]];
  const bool isTime = problem.objective == OfferObjective::Time;
  const Measure measure = measureOf(problem.objective);
  auto loss = [&](const OfferOption &option) {
    return isTime ? std::max(time, option.time.value) - std::max(time, chosen.time.value)
                  : measure(option) - measure(chosen);
  };
  std::map<std::pair<unsigned, bool>, RunnerUp> best;
  for (unsigned o = 0; o < options.size(); ++o) {
    const OfferOption &option = options[o];
    const int64_t available = problem.offers[option.offer].available;
    if ((option.offer == chosen.offer && option.spot == chosen.spot) ||
        (limits.deadline > 0 && timeAgainst(limits, option) > limits.deadline) ||
        (limits.budget > 0 && price + option.price.value > limits.budget) ||
        (limits.watts > 0 && watts + option.watts > limits.watts) ||
        (available > 0 && used[option.offer] + option.instances > available))
      continue;
    auto [found, isNew] = best.try_emplace({option.offer, option.spot}, RunnerUp{o, loss(option)});
    const OfferOption &other = options[found->second.option];
    if (!isNew && std::pair(loss(option), option.price.value) < std::pair(found->second.loss, other.price.value))
      found->second = {o, loss(option)};
  }
  std::vector<RunnerUp> ranked;
  for (const auto &[key, one] : best)
    ranked.push_back(one);
  std::ranges::sort(ranked, [&](const RunnerUp &a, const RunnerUp &b) {
    if (a.loss != b.loss)
      return a.loss < b.loss;
    const double first = options[a.option].price.value, second = options[b.option].price.value;
    return first != second ? first < second : a.option < b.option;
  });
  if (ranked.size() > count)
    ranked.resize(count);
  return ranked;
}

} // namespace accord::offers
