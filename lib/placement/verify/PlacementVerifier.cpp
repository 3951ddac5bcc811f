#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

class PlanChecker {
public:
  PlanChecker(const PlacementProblem &problem, const PlacementResult &result, const PlanMetrics &reevaluated)
      : p(problem), stated(result.metrics), result(result), reevaluated(reevaluated) {}

  Errors run() {
    stages();
    memories();
    if (stated.step != reevaluated.step)
      report(Code::WrongLength,
             fmt::format("the step is stated to take {} ps, replayed it takes {}", stated.step, reevaluated.step));
    if (stated.devices != reevaluated.devices)
      report(Code::WrongPlacementMetrics,
             fmt::format("{} devices are stated, the stages have {}", stated.devices, reevaluated.devices));
    same(Code::WrongPlacementMetrics, "the energy of a step", "J", stated.joules, reevaluated.joules);
    same(Code::WrongPlacementMetrics, "the price of a step", "", stated.price, reevaluated.price);
    same(Code::WrongObjective, "the objective", "", stated.value, reevaluated.value);
    same(Code::WrongObjective, "the objective of the answer", "", result.value, reevaluated.value);
    limits();
    return std::move(errors);
  }

private:
  void report(Code code, std::string text, const SourceLocation &at = {}) {
    if (errors.size() < 20)
      errors.push_back({code, std::move(text), at, {}});
  }
  void same(Code code, const char *what, const char *unit, double said, double is) {
    if (!(std::abs(said - is) <= 1e-9 * std::abs(is)))
      report(code, fmt::format("{} is stated to be {} {}, recomputed it is {}", what, said, unit, is));
  }

  void stages() {
    if (stated.times.size() != reevaluated.times.size() || stated.inFlight.size() != reevaluated.inFlight.size() ||
        stated.memory.size() != reevaluated.memory.size() || stated.host.size() != reevaluated.host.size())
      return report(Code::WrongPlacementMetrics,
                    fmt::format("times of {} stages, micro-batches in {} and memory of {} groups "
                                "are stated, there are {} stages on {} groups",
                                stated.times.size(), stated.inFlight.size(), stated.memory.size(),
                                reevaluated.times.size(), reevaluated.memory.size()));
    for (size_t s = 0; s < reevaluated.times.size(); ++s) {
      for (auto [what, field] : {std::pair{"forward", &StageTimes::forward},
                                 {"backward", &StageTimes::backward},
                                 {"for weight gradients", &StageTimes::weight},
                                 {"to send", &StageTimes::send},
                                 {"to finish", &StageTimes::stepTail}})
        if (stated.times[s].*field != reevaluated.times[s].*field)
          report(Code::WrongPlacementMetrics, fmt::format("stage {} is stated to take {} ps {}, recomputed {}", s,
                                                          stated.times[s].*field, what, reevaluated.times[s].*field));
      if (stated.inFlight[s] != reevaluated.inFlight[s])
        report(Code::WrongPlacementMetrics, fmt::format("stage {} is stated to hold {} micro-batches, replayed {}", s,
                                                        stated.inFlight[s], reevaluated.inFlight[s]));
    }
  }

  void memories() {
    memory("", "of each", &PlanMetrics::memory, &DeviceType::memory);
    memory(" of the host", "of the host for each", &PlanMetrics::host, &DeviceType::hostMemory);
    if (stated.fits != reevaluated.fits)
      report(Code::WrongPlacementMetrics,
             fmt::format("the plan is stated {}to fit, recomputed it {}", stated.fits ? "" : "not ",
                         reevaluated.fits ? "does" : "does not"));
  }

  /// Of devices, or of their hosts: as stated, and within what there is.
  void memory(const char *whose, const char *ofEach, std::vector<int64_t> PlanMetrics::*bytes,
              int64_t DeviceType::*capacity) {
    const std::vector<int64_t> &said = stated.*bytes, &found = reevaluated.*bytes;
    for (size_t g = 0; g < found.size(); ++g) {
      if (g < said.size() && said[g] != found[g])
        report(Code::WrongMemory,
               fmt::format("group {} is stated to need {} bytes{}, recomputed {}", g, said[g], whose, found[g]));
      const auto &type = p.deviceTypeOf(result.plan->stages[g].parallelConfig);
      if (found[g] > type.*capacity)
        report(Code::MemoryExceeded,
               fmt::format("group {} needs {} bytes {} '{}', which has {}", g, found[g], ofEach, type.name,
                           type.*capacity),
               type.location);
    }
  }

  void limits() {
    double watts = reevaluated.step > 0 ? reevaluated.joules / (reevaluated.step * 1e-12) : 0;
    auto within = [&](const char *what, double is, double max) {
      if (max > 0 && is > max * (1 + 1e-9))
        report(Code::PlacementLimitPassed, fmt::format("{} {}, at most {} may be", what, is, max), p.location);
    };
    if (p.limits.step > 0 && reevaluated.step > p.limits.step)
      report(Code::PlacementLimitPassed,
             fmt::format("a step takes {} ps, at most {} may be", reevaluated.step, p.limits.step), p.location);
    if (p.limits.devices > 0 && reevaluated.devices > p.limits.devices)
      report(Code::PlacementLimitPassed,
             fmt::format("{} devices, at most {} may be", reevaluated.devices, p.limits.devices), p.location);
    within("watts:", watts, p.limits.watts);
    within("joules of a step:", reevaluated.joules, p.limits.joules);
    within("price of a step:", reevaluated.price, p.limits.price);
  }

  const PlacementProblem &p;
  const PlanMetrics &stated;
  const PlacementResult &result;
  const PlanMetrics &reevaluated;
  Errors errors;
};

} // namespace

Errors verifyMetrics(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics,
                     double passes) {
  Errors errors = placementViolations(problem, plan);
  if (!errors.empty())
    return errors;
  PlacementResult result;
  result.plan = plan, result.metrics = metrics, result.value = metrics.value;
  if (auto reevaluated = reevaluate(problem, plan, passes))
    errors = PlanChecker(problem, result, *reevaluated).run();
  return errors;
}

Errors verify(const PlacementProblem &problem, const PlacementResult &result, std::vector<std::string> *trusted,
              const PlacementProof &options) {
  if (Errors malformed = check(problem); !malformed.empty())
    return malformed;
  Errors errors;
  auto trust = [&](std::string text) {
    if (trusted)
      trusted->push_back(std::move(text));
  };
  if (result.plan) {
    errors = placementViolations(problem, *result.plan);
    if (errors.empty()) {
      if (auto reevaluated = reevaluate(problem, *result.plan, options.passes))
        errors = PlanChecker(problem, result, *reevaluated).run();
      else
        trust(fmt::format("the plan's metrics: {} micro-batches through {} stages are too "
                          "many to replay",
                          result.plan->microbatches, result.plan->stages.size()));
    }
    if (!(result.bound <= result.value * (1 + 1e-9)))
      errors.push_back({Code::BoundNotProved,
                        fmt::format("the plan's objective is {}, but no plan's is stated to be "
                                    "less than {}",
                                    result.value, result.bound),
                        {},
                        {}});
  }
  if (!errors.empty())
    return errors;
  // Without a plan, an infinite bound states that there is none, a finite one that none was found.
  BoundProof proof = proveBound(problem, result.plan ? result.bound : INFINITY, options.effort, options.passes,
                                result.paths, options.stop);
  for (const std::string &text : proof.wrong)
    if (errors.size() < 20)
      errors.push_back({Code::WrongPlacementPaths, text, {}, {}});
  if (proof.better && !result.plan && std::isfinite(result.bound) && proof.value >= result.bound)
    trust(fmt::format("that no plan was found: there is one of objective {}", proof.value));
  else if (proof.better)
    errors.push_back({Code::BoundNotProved,
                      result.plan || std::isfinite(result.bound)
                          ? fmt::format("no plan's objective is stated to be less than {}, but "
                                        "one has {}",
                                        result.bound, proof.value)
                          : fmt::format("no plan is stated to fit, but one of objective {} does", proof.value),
                      {},
                      {}});
  else if (!result.plan && std::isinf(result.bound) && !proof.trusted.empty())
    errors.push_back({Code::BoundNotProved,
                      "no plan is stated to fit, and the proof is not complete; left to " + proof.trusted.front(),
                      {},
                      {}});
  else
    for (std::string &text : proof.trusted)
      trust(std::move(text));
  return errors;
}

} // namespace accord
