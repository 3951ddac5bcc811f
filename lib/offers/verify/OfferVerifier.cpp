#include "lib/offers/verify/OfferVerifier.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace accord::offers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Sums of the same numbers may differ by so much.
constexpr double kShare = 1e-9;

bool isClose(double a, double b) { return std::abs(a - b) <= kShare * std::max({std::abs(a), std::abs(b), 1e-12}); }

const char *unitOf(OfferObjective objective) {
  switch (objective) {
  case OfferObjective::Price:
    return "USD";
  case OfferObjective::Time:
    return "s";
  case OfferObjective::Energy:
    return "J";
  case OfferObjective::Carbon:
    return "g";
  }
  return "";
}

double objectiveOf(OfferObjective objective, const OfferOption &option) {
  return objective == OfferObjective::Energy   ? option.energy
         : objective == OfferObjective::Carbon ? option.carbon
         : objective == OfferObjective::Time   ? option.time.value
                                               : option.price.value;
}

enum class Answer { Exists, None, TooLarge };

/// Decides whether a choice exists whose sums stay within limits: all sums of prefixes of the trainings, without those
/// that are above another one in everything.
class SumProgram {
public:
  SumProgram(const OfferProblem &problem, size_t maxStates) : problem(problem), maxStates(maxStates) {}

  /// What has to stay where: options that `allows`, a sum of `measure` below `below`, and the limits.
  Answer decide(const OfferLimits &limits, const std::function<bool(const OfferOption &)> &allows,
                const std::function<double(const OfferOption &)> &measure, double below) {
    std::vector<std::vector<State>> groups;
    std::map<unsigned, size_t> shared;
    for (unsigned offer = 0; offer < problem.offers.size(); ++offer)
      if (problem.offers[offer].available > 0)
        shared.emplace(offer, shared.size());
    for (const OfferTraining &training : problem.trainings) {
      std::vector<State> &group = groups.emplace_back();
      for (const OfferOption &option : training.options) {
        const double time = limits.sure ? option.time.high : option.time.value;
        if (!(limits.deadline <= 0 || time <= limits.deadline) || !allows(option) || !std::isfinite(time))
          continue;
        State state{measure(option), option.price.value, option.watts};
        state.resize(3 + shared.size(), 0);
        if (auto found = shared.find(option.offer); found != shared.end())
          state[3 + found->second] = static_cast<double>(option.instances);
        group.push_back(std::move(state));
      }
      reduce(group, SIZE_MAX);
      if (group.empty())
        return Answer::None;
    }
    State max{below, limits.budget > 0 ? limits.budget : kInfinity, limits.watts > 0 ? limits.watts : kInfinity};
    for (const auto &[offer, index] : shared)
      max.push_back(static_cast<double>(problem.offers[offer].available));
    return add(groups, max);
  }

private:
  using State = std::vector<double>;

  static bool isBelow(const State &a, const State &b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x <= y; });
  }
  static void reduce(std::vector<State> &states, size_t comparisons) {
    std::ranges::sort(states);
    std::vector<State> kept;
    for (State &state : states) {
      const size_t from = kept.size() > comparisons ? kept.size() - comparisons : 0;
      if (std::none_of(kept.begin() + static_cast<ptrdiff_t>(from), kept.end(),
                       [&](const State &other) { return isBelow(other, state); }))
        kept.push_back(std::move(state));
    }
    states = std::move(kept);
  }

  Answer add(const std::vector<std::vector<State>> &groups, const State &max) {
    std::vector<State> rest(groups.size() + 1, State(max.size(), 0));
    for (size_t g = groups.size(); g-- > 0;)
      for (size_t d = 0; d < max.size(); ++d) {
        double min = kInfinity;
        for (const State &state : groups[g])
          min = std::min(min, state[d]);
        rest[g][d] = rest[g + 1][d] + min;
      }
    std::vector<State> states{State(max.size(), 0)};
    for (size_t g = 0; g < groups.size(); ++g) {
      std::vector<State> next;
      for (const State &state : states)
        for (const State &added : groups[g]) {
          if (++work > maxStates * kWorkOfState)
            return Answer::TooLarge;
          State sum = state;
          bool fits = true;
          for (size_t d = 0; d < sum.size() && fits; ++d) {
            sum[d] += added[d];
            // Sums of the rest are taken in another order; in the end the sum itself counts.
            const double slack = g + 1 < groups.size() && std::isfinite(max[d]) ? 1e-12 * std::abs(max[d]) : 0;
            fits = d == 0 ? sum[d] + rest[g + 1][d] < max[d] + slack : sum[d] + rest[g + 1][d] <= max[d] + slack;
          }
          if (!fits)
            continue;
          if (next.size() >= maxStates * 4)
            reduce(next, 256);
          if (next.size() >= maxStates * 2)
            return Answer::TooLarge;
          next.push_back(std::move(sum));
        }
      reduce(next, 1024);
      if (next.size() > maxStates)
        return Answer::TooLarge;
      states = std::move(next);
    }
    return states.empty() ? Answer::None : Answer::Exists;
  }

  /// Sums that are taken of all claims together, for each state that may be held.
  static constexpr size_t kWorkOfState = 256;

  const OfferProblem &problem;
  const size_t maxStates;
  size_t work = 0;
};

class OfferVerifier {
public:
  OfferVerifier(const OfferProblem &problem, const OfferChoice &choice, size_t maxStates)
      : problem(problem), choice(choice), program(problem, maxStates) {}

  Verification run() {
    if (problem.trainings.empty())
      refuse("there is no training");
    checkOptions();
    if (!result.holds())
      return std::move(result);
    result.trusted.push_back("the proof assumes the times of steps, the watts and the rates of failures");
    switch (choice.status) {
    case OfferStatus::Infeasible:
      checkInfeasible();
      break;
    case OfferStatus::Unknown:
      if (!choice.choice.empty())
        refuse("nothing is known, and a choice is given");
      break;
    case OfferStatus::Optimal:
    case OfferStatus::Feasible:
      checkChoice();
      if (result.holds())
        checkBound(), checkFront();
    }
    return std::move(result);
  }

private:
  void refuse(std::string message) {
    if (result.findings.size() < 20)
      result.findings.push_back({Code::WrongJobSchedule, std::move(message)});
  }

  // ------------------------------------------------------------- options

  void checkOptions() {
    size_t options = 0;
    for (const OfferTraining &training : problem.trainings)
      for (const OfferOption &option : training.options) {
        ++options;
        if (option.offer >= problem.offers.size())
          refuse(fmt::format("training '{}' has an option on offer {} of {}", training.name, option.offer,
                             problem.offers.size()));
        else
          checkOption(training, option, problem.offers[option.offer]);
      }
    if (result.holds())
      result.checked.push_back(
          fmt::format("prices, energies and carbon of {} options follow from their times", options));
  }
  void checkOption(const OfferTraining &training, const OfferOption &option, const InstanceOffer &offer) {
    auto wrong = [&](const std::string &what) {
      refuse(fmt::format("training '{}' on {} x '{}': {}", training.name, option.instances, offer.instance, what));
    };
    if (option.instances < 1 || option.devices < option.instances)
      wrong(fmt::format("{} devices in {} instances", option.devices, option.instances));
    if (offer.available > 0 && option.instances > offer.available)
      wrong(fmt::format("{} instances are available", offer.available));
    const double rate = option.spot ? offer.spotPrice : offer.price;
    if (rate < 0 || rate != option.rate)
      wrong(fmt::format("the rate is {} USD/h, and the offer's is {}", option.rate, rate));
    for (const Range *range : {&option.time, &option.price})
      if (!(range->low <= range->value * (1 + kShare) && range->value <= range->high * (1 + kShare) && range->low >= 0))
        wrong(fmt::format("{} is outside of its interval, {} to {}", range->value, range->low, range->high));
    // Without failures the steps alone take so long, as far as the step is known.
    if (option.time.value < option.steps * option.step * 0.5)
      wrong(fmt::format("{} s are too short for {} steps of {} s", option.time.value, option.steps, option.step));
    const double perSecond = static_cast<double>(option.instances) * option.rate / 3600;
    for (auto [time, price] : {std::pair(option.time.value, option.price.value),
                               {option.time.low, option.price.low},
                               {option.time.high, option.price.high}})
      if (!isClose(price, time * perSecond))
        wrong(fmt::format("{} s cost {} USD, and not {}", time, time * perSecond, price));
    if (!isClose(option.energy, option.watts * option.time.value))
      wrong(fmt::format("{} W draw {} J, and not {}", option.watts, option.watts * option.time.value, option.energy));
    if (!isClose(option.carbon, option.energy * option.intensity))
      wrong(fmt::format("{} J are {} g, and not {}", option.energy, option.energy * option.intensity, option.carbon));
  }

  // ------------------------------------------------------------- a choice

  struct Sums {
    double price = 0, time = 0, objective = 0, late = 0, watts = 0;
  };
  /// Nothing where an index is wrong, or a limit is not kept, which is reported.
  std::optional<Sums> sumsOf(const std::vector<unsigned> &chosen, const std::string &what) {
    if (chosen.size() != problem.trainings.size())
      return refuse(fmt::format("{} has {} options for {} trainings", what, chosen.size(), problem.trainings.size())),
             std::nullopt;
    Sums sums;
    std::map<unsigned, int64_t> used;
    for (size_t t = 0; t < chosen.size(); ++t) {
      const std::vector<OfferOption> &options = problem.trainings[t].options;
      if (chosen[t] >= options.size())
        return refuse(fmt::format("{} has option {} of {} for '{}'", what, chosen[t], options.size(),
                                  problem.trainings[t].name)),
               std::nullopt;
      const OfferOption &option = options[chosen[t]];
      sums.price += option.price.value, sums.watts += option.watts;
      sums.time = std::max(sums.time, option.time.value);
      sums.late = std::max(sums.late, problem.limits.sure ? option.time.high : option.time.value);
      sums.objective += objectiveOf(problem.objective, option);
      used[option.offer] += option.instances;
    }
    if (problem.objective == OfferObjective::Time)
      sums.objective = sums.time;
    const OfferLimits &limits = problem.limits;
    auto keeps = [&](double limit, double value, const char *name) {
      if (limit > 0 && value > limit)
        refuse(fmt::format("{} takes {} of the {}, {}", what, value, name, limit));
    };
    keeps(limits.deadline, sums.late, "deadline");
    keeps(limits.budget, sums.price, "budget");
    keeps(limits.watts, sums.watts, "power");
    for (const auto &[offer, instances] : used)
      keeps(static_cast<double>(problem.offers[offer].available), static_cast<double>(instances), "instances");
    return result.holds() ? std::optional(sums) : std::nullopt;
  }

  void checkChoice() {
    auto sums = sumsOf(choice.choice, "the choice");
    if (!sums)
      return;
    if (!isClose(sums->objective, choice.value))
      refuse(fmt::format("the choice has {} {}, and not {}", sums->objective, unitOf(problem.objective), choice.value));
    if (choice.bound > choice.value * (1 + kShare))
      refuse(fmt::format("the bound {} is above the value {}", choice.bound, choice.value));
    if (choice.status == OfferStatus::Optimal && !isClose(choice.bound, choice.value))
      refuse(fmt::format("the choice is called optimal, and its bound is {} below {}", choice.bound, choice.value));
    chosen = *sums;
    if (result.holds())
      result.checked.push_back("the choice keeps the deadline, the budget, the power and the numbers of instances");
  }

  /// Says what was decided: `claim` where there is none, `counter` where there is one.
  void conclude(Answer answer, const std::string &claim, const std::string &counter) {
    if (answer == Answer::Exists)
      refuse(counter);
    else if (answer == Answer::None)
      result.checked.push_back(claim);
    else
      result.solverAnswers.push_back(claim + ": too many choices to be decided again");
  }
  static bool all(const OfferOption &) { return true; }
  static double nothing(const OfferOption &) { return 0; }
  static double price(const OfferOption &option) { return option.price.value; }

  void checkBound() {
    const double below = choice.bound * (1 - kShare);
    const std::string claim = fmt::format("no choice has less than {} {}", choice.bound, unitOf(problem.objective));
    if (problem.objective != OfferObjective::Time) {
      conclude(program.decide(
                   problem.limits, all,
                   [&](const OfferOption &option) { return objectiveOf(problem.objective, option); }, below),
               claim, "another choice has less than the bound, and keeps all limits");
      return;
    }
    conclude(
        program.decide(
            problem.limits, [&](const OfferOption &option) { return option.time.value < below; }, nothing, kInfinity),
        claim, "another choice is faster than the bound, and keeps all limits");
    if (choice.status == OfferStatus::Optimal)
      conclude(program.decide(
                   problem.limits, [&](const OfferOption &option) { return option.time.value <= choice.value; }, price,
                   chosen.price * (1 - kShare)),
               "no choice as fast is cheaper", "another choice is as fast and cheaper, and keeps all limits");
  }

  void checkFront() {
    std::vector<Sums> points;
    for (const OfferFrontPoint &point : choice.front) {
      auto sums = sumsOf(point.choice, "a point of the front");
      if (!sums)
        return;
      if (!isClose(sums->price, point.price) || !isClose(sums->time, point.time))
        return refuse(fmt::format("a point of the front has {} USD and {} s, and not {} and {}", sums->price,
                                  sums->time, point.price, point.time));
      if (!points.empty() && !(points.back().price < sums->price && points.back().time > sums->time))
        return refuse("points of the front do not become more expensive and faster");
      points.push_back(*sums);
    }
    if (!choice.frontIsWhole)
      return;
    if (points.empty())
      return refuse("the front is called whole, and has no point");
    Answer worst = Answer::None;
    for (size_t i = 0; i <= points.size() && worst != Answer::Exists; ++i) {
      const double time = i == 0 ? kInfinity : points[i - 1].time;
      const double below = i == points.size() ? kInfinity : points[i].price * (1 - kShare);
      const Answer answer = program.decide(
          problem.limits, [&](const OfferOption &option) { return option.time.value < time; }, price, below);
      if (answer != Answer::None)
        worst = worst == Answer::Exists ? worst : answer;
    }
    conclude(worst, fmt::format("the front of price and time has {} points and no other", points.size()),
             "the front lacks a point");
  }

  // ------------------------------------------------------------- no choice

  void checkInfeasible() {
    if (!choice.choice.empty())
      refuse("nothing is feasible, and a choice is given");
    conclude(program.decide(problem.limits, all, nothing, kInfinity), "no choice keeps all limits",
             "a choice keeps all limits, and none is said to");
    for (const OfferRepair &repair : choice.repairs)
      if (program.decide(repair.limits, all, nothing, kInfinity) == Answer::None)
        refuse(fmt::format("'{}' does not help", repair.text));
  }

  const OfferProblem &problem;
  const OfferChoice &choice;
  SumProgram program;
  Sums chosen;
  Verification result;
};

/// Options of one training beside the rest of a choice.
class RunnerUpVerifier {
public:
  RunnerUpVerifier(const OfferProblem &problem, const OfferChoice &choice, size_t training)
      : problem(problem), training(problem.trainings[training]),
        chosen(this->training.options[choice.choice[training]]) {
    for (size_t t = 0; t < choice.choice.size(); ++t)
      if (const OfferOption &option = problem.trainings[t].options[choice.choice[t]]; t != training)
        rest.push_back(&option);
  }

  /// What is wrong; empty: nothing.
  std::string check(const std::vector<RunnerUp> &named) const {
    if (named.size() > kRunnersUp)
      return fmt::format("{} are named", named.size());
    std::map<std::pair<unsigned, bool>, double> lossOf;
    double before = -kInfinity;
    for (const RunnerUp &one : named) {
      if (one.option >= training.options.size())
        return fmt::format("option {} of {}", one.option, training.options.size());
      const OfferOption &option = training.options[one.option];
      if (isChosens(option) || !lossOf.try_emplace({option.offer, option.spot}, one.loss).second)
        return fmt::format("option {} is on an offer that is named before", one.option);
      if (!keepsLimits(option))
        return fmt::format("option {} does not keep the limits", one.option);
      if (std::abs(one.loss - lossWith(option)) > slack(option))
        return fmt::format("option {} loses {}, and not {}", one.option, lossWith(option), one.loss);
      if (one.loss < before)
        return fmt::format("option {} loses less than the one before it", one.option);
      before = one.loss;
    }
    const double last = named.size() < kRunnersUp ? kInfinity : before;
    for (size_t o = 0; o < training.options.size(); ++o) {
      const OfferOption &option = training.options[o];
      if (isChosens(option) || !keepsLimits(option))
        continue;
      auto found = lossOf.find({option.offer, option.spot});
      if (lossWith(option) < (found == lossOf.end() ? last : found->second) - slack(option))
        return fmt::format("option {} loses less", o);
    }
    return "";
  }

private:
  bool isChosens(const OfferOption &option) const { return option.offer == chosen.offer && option.spot == chosen.spot; }
  double sumOf(const OfferOption &option, double (*value)(const OfferOption &)) const {
    double sum = value(option);
    for (const OfferOption *one : rest)
      sum += value(*one);
    return sum;
  }
  double largestTime(const OfferOption &option) const {
    double time = option.time.value;
    for (const OfferOption *one : rest)
      time = std::max(time, one->time.value);
    return time;
  }
  bool keepsLimits(const OfferOption &option) const {
    const OfferLimits &limits = problem.limits;
    // The chooser adds in another order.
    auto keeps = [](double limit, double value) { return !(limit > 0) || value <= limit * (1 + 1e-12); };
    int64_t used = option.instances;
    for (const OfferOption *one : rest)
      used += one->offer == option.offer ? one->instances : 0;
    const int64_t available = problem.offers[option.offer].available;
    return keeps(limits.deadline, limits.sure ? option.time.high : option.time.value) &&
           keeps(limits.budget, sumOf(option, [](const OfferOption &one) { return one.price.value; })) &&
           keeps(limits.watts, sumOf(option, [](const OfferOption &one) { return one.watts; })) &&
           (available <= 0 || used <= available);
  }
  double lossWith(const OfferOption &option) const {
    return problem.objective == OfferObjective::Time
               ? largestTime(option) - largestTime(chosen)
               : objectiveOf(problem.objective, option) - objectiveOf(problem.objective, chosen);
  }
  double slack(const OfferOption &option) const {
    return kShare * std::max(objectiveOf(problem.objective, option), objectiveOf(problem.objective, chosen));
  }

  const OfferProblem &problem;
  const OfferTraining &training;
  const OfferOption &chosen;
  std::vector<const OfferOption *> rest;
};

} // namespace

Verification verifyOffers(const OfferProblem &problem, const OfferChoice &choice, size_t maxStates) {
  return OfferVerifier(problem, choice, maxStates).run();
}

Verification verifyRunnersUp(const OfferProblem &problem, const OfferChoice &choice,
                             const std::vector<std::vector<RunnerUp>> &others) {
  Verification result;
  auto refuse = [&](std::string message) { result.findings.push_back({Code::WrongJobSchedule, std::move(message)}); };
  if (others.size() != choice.choice.size()) {
    refuse(fmt::format("runners-up of {} trainings, and {} have an option", others.size(), choice.choice.size()));
    return result;
  }
  size_t count = 0;
  for (size_t t = 0; t < others.size(); ++t) {
    count += others[t].size();
    if (std::string wrong = RunnerUpVerifier(problem, choice, t).check(others[t]); !wrong.empty())
      refuse(fmt::format("runners-up of training '{}': {}", problem.trainings[t].name, wrong));
  }
  if (result.holds() && count > 0)
    result.checked.push_back(fmt::format("{} runners-up lose what they say, and no other loses less", count));
  return result;
}

} // namespace accord::offers
