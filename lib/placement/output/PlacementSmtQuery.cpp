#include "lib/placement/output/PlacementSmtQuery.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

namespace accord {
namespace {

class SmtQueryWriter {
public:
  explicit SmtQueryWriter(const PlacementPlan &plan)
      : problem(plan.problem), placement(*plan.result.plan), metrics(plan.result.metrics), groups(placement.groups()) {}

  std::string run() {
    text = "; unsat: the plan's sums are right, its memory fits, and its step is what it says\n"
           "(set-logic QF_LIA)\n";
    sums();
    memories();
    passes();
    text += "(assert (or\n";
    for (const std::string &one : wrong)
      text += "  " + one + "\n";
    text += "))\n(check-sat)\n";
    return std::move(text);
  }

private:
  using Key = std::tuple<uint32_t, uint32_t, Pass>; ///< stage, micro-batch, pass
  struct Placed {
    SimulatedPass pass;
    std::vector<Key> waits;
  };

  static std::string sum(const std::vector<int64_t> &all) {
    return all.empty() ? "0" : all.size() == 1 ? fmt::format("{}", all[0]) : fmt::format("(+ {})", fmt::join(all, " "));
  }
  void define(const std::string &name, const std::string &value) {
    text += fmt::format("(define-fun {} () Int {})\n", name, value);
  }

  void sums() {
    for (size_t s = 0; s < placement.stages.size(); ++s) {
      const PlacedStage &stage = placement.stages[s];
      const StageTimes &times = metrics.times[s];
      std::vector<int64_t> forward, backward, weight;
      int64_t layers = 0, back = 0;
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const PlacementProblem::Cost &cost = *problem.cost(stage.layers[i], stage.parallelConfig);
        int64_t recomputeTime = problem.choiceOf(stage, i).recomputeTime;
        forward.push_back(cost.forward), layers += cost.forward;
        backward.push_back(cost.backward + recomputeTime), back += cost.backward + recomputeTime;
        weight.push_back(cost.weight);
      }
      // The host, gathered weights and transfers that block.
      forward.push_back(times.forward - layers);
      backward.push_back(times.backward - back);
      define(fmt::format("F{}", s), sum(forward));
      define(fmt::format("B{}", s), sum(backward));
      define(fmt::format("W{}", s), sum(weight));
      wrong.push_back(fmt::format("(not (= F{} {}))", s, times.forward));
      wrong.push_back(fmt::format("(not (= B{} {}))", s, times.backward));
      wrong.push_back(fmt::format("(not (= W{} {}))", s, times.weight));
    }
  }

  void memories() {
    for (size_t g = 0; g < groups; ++g) {
      std::vector<std::string> parts;
      int64_t workspace = 0;
      for (size_t s = g; s < placement.stages.size(); s += groups) {
        const PlacedStage &stage = placement.stages[s];
        std::vector<int64_t> staticMemory, activations;
        for (size_t i = 0; i < stage.layers.size(); ++i) {
          const PlacementProblem::Cost &cost = *problem.cost(stage.layers[i], stage.parallelConfig);
          staticMemory.push_back(cost.staticMemory);
          activations.push_back(problem.choiceOf(stage, i).activations);
          workspace = std::max(workspace, problem.choiceOf(stage, i).workspace);
        }
        parts.push_back(sum(staticMemory));
        parts.push_back(fmt::format("(* {} {})", metrics.inFlight[s], sum(activations)));
      }
      define(fmt::format("M{}", g), fmt::format("(+ {} {})", fmt::join(parts, " "), workspace));
      wrong.push_back(fmt::format("(not (= M{} {}))", g, metrics.memory[g]));
      wrong.push_back(fmt::format("(> M{} {})", g, problem.deviceTypeOf(placement.stages[g].parallelConfig).memory));
    }
  }

  std::string duration(const Key &key) const {
    auto [stage, microbatch, pass] = key;
    bool split = modelOf(placement.schedule).splitsWeights();
    switch (pass) {
    case Pass::Forward:
      return fmt::format("F{}", stage);
    case Pass::Backward:
      return split ? fmt::format("B{}", stage) : fmt::format("B{0} W{0}", stage);
    case Pass::Weight:
      return fmt::format("W{}", stage);
    }
    return "0";
  }
  int64_t exposedStepTail(size_t group) const {
    int64_t all = 0;
    for (size_t s : placement.stagesOf(group))
      all += metrics.times[s].stepTail;
    return all;
  }

  void passes() {
    auto beside = [](const StageTimes &one) { return one.send > 0; };
    if (std::any_of(metrics.times.begin(), metrics.times.end(), beside)) {
      text += "; transfers run beside the computation: the run is left out\n";
      return;
    }
    StageEdges edges;
    evaluateStages(problem, placement, edges);
    PipelineRun run = simulate(placement.shape(), metrics.times, edges, true);
    std::vector<std::vector<uint32_t>> feeds(edges.size());
    for (uint32_t to = 0; to < edges.size(); ++to)
      for (uint32_t from : edges[to])
        feeds[from].push_back(to);
    std::map<Key, Placed> all;
    size_t last = 0;
    for (size_t g = 0; g < groups; ++g) {
      const SimulatedPass *before = nullptr;
      for (const SimulatedPass &one : run.passes[g]) {
        auto [pass, stage, microbatch] = one.pass;
        Placed placed{one, {}};
        if (before)
          placed.waits.push_back({before->pass.stage, before->pass.microbatch, before->pass.pass});
        if (pass == Pass::Forward)
          for (uint32_t from : edges[stage])
            placed.waits.push_back({from, microbatch, Pass::Forward});
        if (pass == Pass::Backward) {
          placed.waits.push_back({stage, microbatch, Pass::Forward});
          for (uint32_t to : feeds[stage])
            placed.waits.push_back({to, microbatch, Pass::Backward});
        }
        if (pass == Pass::Weight)
          placed.waits.push_back({stage, microbatch, Pass::Backward});
        all[{stage, microbatch, pass}] = std::move(placed);
        before = &one;
      }
      if (run.groupEnd[g] + exposedStepTail(g) > run.groupEnd[last] + exposedStepTail(last))
        last = g;
    }
    if (all.size() <= kMaxQueriedPasses)
      stated(all, run);
    else
      text += fmt::format("; {} passes: only the path that determines the step\n", all.size());
    shortest(all, run, last);
  }

  static std::string nameOf(const Key &key) {
    static const char *const letters = "fbw";
    return fmt::format("{}{}_{}", letters[llvm::to_underlying(std::get<2>(key))], std::get<0>(key), std::get<1>(key));
  }

  /// Start times as they are stated.
  void stated(const std::map<Key, Placed> &all, const PipelineRun &run) {
    for (const auto &[key, one] : all)
      define(nameOf(key), fmt::format("{}", one.pass.start));
    for (const auto &[key, one] : all) {
      for (const Key &other : one.waits)
        wrong.push_back(fmt::format("(< {} (+ {} {}))", nameOf(key), nameOf(other), duration(other)));
      auto group = placement.groupOf(std::get<0>(key));
      if (one.pass.end == run.groupEnd[group])
        wrong.push_back(fmt::format("(> (+ {} {} {} {}) {})", nameOf(key), duration(key), exposedStepTail(group),
                                    problem.hostOverheadPerStep, metrics.step));
    }
  }

  /// Backwards from the pass with which the step ends, always to one that it waited for.
  void shortest(const std::map<Key, Placed> &all, const PipelineRun &run, size_t last) {
    std::vector<Key> path;
    const SimulatedPass &end = run.passes[last].back();
    path.push_back({end.pass.stage, end.pass.microbatch, end.pass.pass});
    for (;;) {
      const Placed &one = all.at(path.back());
      auto tight = std::find_if(one.waits.begin(), one.waits.end(),
                                [&](const Key &other) { return all.at(other).pass.end == one.pass.start; });
      if (one.pass.start == 0 || tight == one.waits.end() || path.size() > all.size())
        break;
      path.push_back(*tight);
    }
    std::reverse(path.begin(), path.end());
    text += fmt::format("; {} passes that wait for each other, when they begin at the earliest\n", path.size());
    for (size_t i = 0; i < path.size(); ++i) {
      text += fmt::format("(declare-fun p{} () Int)\n", i);
      text += i == 0 ? std::string("(assert (>= p0 0))")
                     : fmt::format("(assert (>= p{} (+ p{} {})))", i, i - 1, duration(path[i - 1]));
      text += fmt::format(" ; {}\n", nameOf(path[i]));
    }
    wrong.push_back(fmt::format("(< {} {})", metrics.step, problem.minStep));
    wrong.push_back(fmt::format("(and (< {1} {0}) (< (+ p{2} {3} {4} {5}) {0}))", metrics.step, problem.minStep,
                                path.size() - 1, duration(path.back()), exposedStepTail(last),
                                problem.hostOverheadPerStep));
  }

  const PlacementProblem &problem;
  const Placement &placement;
  const PlanMetrics &metrics;
  size_t groups;
  std::string text;
  std::vector<std::string> wrong; ///< what would be, if the plan were
};

} // namespace

std::string placementSmtQuery(const PlacementPlan &plan) { return plan.result.plan ? SmtQueryWriter(plan).run() : ""; }

} // namespace accord
