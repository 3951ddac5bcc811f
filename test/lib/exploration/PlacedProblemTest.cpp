// Designs of the devices of a cluster: values against `offer` and `place` on each by itself, bounds
// against values, the search against all designs.
#include "PlacedCase.h"
#include "lib/placement/builder/Layers.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <cmath>
#include <random>

namespace accord {

using test::chips;
using Case = test::PlacedCase;

// Each value is that of the design's own offer; no bound is above it, of the design, of a box with
// it, with prices or without; what is not below a limit is said to be so.
TEST(PlacedProblem, ValuesAreThoseOfPlacingOnEachDesignAndNoBoundIsAbove) {
  DesignSpace space = chips();
  ASSERT_EQ(space.size(), "36");
  std::mt19937 random(3);
  struct Net {
    const char *file, *name;
    std::vector<int64_t> tensor;
    MiningMetric metric;
  };
  for (const Net &net : {Net{"bert_base.dnn", "bert_base", {1, 2}, MiningMetric::StepTime},
                         Net{"bert_base.dnn", "bert_base", {1, 2}, MiningMetric::TdpTime},
                         Net{"resnet.dnn", "resnet18", {1}, MiningMetric::AreaTime}}) {
    SCOPED_TRACE(net.name);
    Case one(net.file, net.name, net.tensor);
    auto work = one.work(space, net.metric);
    ASSERT_TRUE(work);
    PlacedProblem problem(space, {{{work}, nullptr}}, net.metric);
    double best = INFINITY;
    size_t finite = 0;
    for (uint64_t point = 0; point < 36; ++point) {
      Design design = space.at(point);
      double value = problem.value(design);
      // The reference prices every step anew: of some designs, and of those that look best.
      if (point % 7 == 0 || value < best)
        ASSERT_DOUBLE_EQ(value, one.placed(space, design, net.metric)) << point;
      best = std::min(best, value);
      finite += std::isfinite(value);
      double before = 0;
      for (const DesignBox &box : test::boxesAround(space, design, random)) {
        double bound = problem.bound(box);
        ASSERT_LE(bound, value) << point;
        ASSERT_GE(bound, before * (1 - 1e-12)) << point;
        before = bound;
      }
      double deep = problem.tightenBound(design, 1);
      EXPECT_LE(deep, value) << point;
      if (!std::isfinite(value))
        continue;
      EXPECT_GT(before, 0.5 * value) << point; // it says something
      DesignEvaluation less = problem.evaluate(design, value * 0.999),
                       same = problem.evaluate(design, std::nextafter(value, INFINITY));
      EXPECT_GE(less.lowerBound, value * 0.999) << point;
      EXPECT_DOUBLE_EQ(same.value, value) << point;
      EXPECT_LE(same.lowerBound, same.value) << point;
    }
    EXPECT_GE(finite, 15u);
  }
}

// Whenever a stop comes, what is said then holds: no placement is worth less than the bound.
TEST(PlacedWork, AStopLeavesABoundThatHolds) {
  DesignSpace space = chips();
  Case one("bert_base.dnn", "bert_base", {1, 2});
  std::atomic<bool> stop = false;
  auto work = one.work(space, MiningMetric::StepTime, &stop), whole = one.work(space, MiningMetric::StepTime);
  ASSERT_TRUE(work && whole);
  for (uint64_t point = 0; point < 36; point += 5) {
    auto machine = space.machine(space.at(point));
    ASSERT_TRUE(machine);
    PlacedBest known = whole->best(*machine, INFINITY);
    stop = true;
    PlacedBest stopped = work->best(*machine, INFINITY);
    EXPECT_FALSE(stopped.plan);
    EXPECT_LE(stopped.bound, known.value);
    EXPECT_GT(stopped.bound, 0);
    EXPECT_LE(work->tightenBound(*machine), known.value);
    stop = false;
    EXPECT_DOUBLE_EQ(work->best(*machine, INFINITY).value, known.value);
  }
}

TEST(PlacedProblem, ExactIsExhaustiveWhateverTheThreads) {
  DesignSpace space = chips();
  Case bert("bert_base.dnn", "bert_base", {1, 2}), resnet("resnet.dnn", "resnet18", {1});
  std::vector<PlacedMiningJob> jobs = {{{bert.work(space)}, nullptr, 1, 0.4}, {{resnet.work(space)}, nullptr, 2, 0.01}};
  for (ObjectiveAggregation aggregation : {ObjectiveAggregation::Sum, ObjectiveAggregation::MinimaxRegret}) {
    PlacedProblem problem(space, jobs, MiningMetric::StepTime, aggregation);
    MiningResult all = mineExhaustively(problem), exact = mineExactly(problem);
    ASSERT_TRUE(all.best && exact.best);
    EXPECT_EQ(*exact.best, *all.best);
    EXPECT_EQ(exact.value, all.value);
    EXPECT_EQ(exact.bound, exact.value);
    EXPECT_LT(exact.evaluations, all.evaluations);
    MiningOptions options;
    options.threads = 3;
    PlacedProblem recomputeTime(space, jobs, MiningMetric::StepTime, aggregation);
    MiningResult threads = mineExactly(recomputeTime, options);
    EXPECT_EQ(*threads.best, *exact.best);
    EXPECT_EQ(threads.value, exact.value);
    EXPECT_EQ(threads.evaluations, exact.evaluations);
    EXPECT_EQ(threads.bounds, exact.bounds);
    EXPECT_EQ(threads.proof, exact.proof);
  }
}

TEST(PlacedProblem, MoreMemoryOrServersNeverHurt) {
  DesignSpace space = chips();
  Case few("bert_base.dnn", "bert_base", {1, 2}, 1), many("bert_base.dnn", "bert_base", {1, 2}, 3);
  PlacedProblem small(space, {{{few.work(space)}, nullptr}}, MiningMetric::StepTime),
      large(space, {{{many.work(space)}, nullptr}}, MiningMetric::StepTime);
  ASSERT_EQ(space.parameters()[0].name, "hbm.capacity");
  int better = 0;
  for (uint64_t point = 0; point < 36; point += 3) {
    Design design = space.at(point), more = design;
    more[0] = 1;
    EXPECT_LE(large.value(design), small.value(design)) << point;
    EXPECT_LE(small.value(more), small.value(design)) << point;
    better += small.value(more) < small.value(design);
  }
  EXPECT_GT(better, 0); // 1 GiB is too little for some forms
}

// Layers as fine as can be, of closed forms, against those of a schedule.
TEST(MinLayerUse, IsNotAboveWhatTheSchedulesLayersTake) {
  DesignSpace space = chips();
  for (auto [file, name, tensor] : {std::tuple{"bert_base.dnn", "bert_base", 1},
                                    {"bert_base.dnn", "bert_base", 2},
                                    {"gpt2.dnn", "gpt2", 2},
                                    {"resnet.dnn", "resnet50", 1},
                                    {"gnmt.dnn", "gnmt", 1},
                                    {"inception.dnn", "inception_v3", 1}}) {
    SCOPED_TRACE(name);
    Case one(file, name, {tensor});
    auto structure = one.one.graphAt(1, 1, 1, 12, {}), graph = one.one.graphAt(tensor, 1, 2, 6, {});
    ASSERT_TRUE(structure && graph);
    Layering finest = Layering::finest(*structure);
    std::vector<double> seconds;
    Cluster device = one.request.groups.front();
    StepVariant step{{tensor, false}, 2, "none", 1, {}};
    for (uint64_t point : {18, 29, 35}) {
      device.machine = *space.machine(space.at(point));
      auto first = priceStep(*structure, one.request, device, {}),
           second = priceStep(*graph, one.request, device, step);
      ASSERT_TRUE(first.get() && second.get());
      Layering layering = Layering::of(*structure, first->schedule);
      auto &[costs, schedule] = *second;
      std::vector<LayerUse> uses = layerUses(layering, *graph, costs, schedule);
      StepWork work(*graph);
      work.times(device.machine, {}, seconds);
      std::vector<LayerUse> min = MinLayerUse(finest, *graph).of(seconds);
      EXPECT_GE(finest.layers(), layering.layers());
      // Every layer is made of some of the finest ones.
      std::vector<LayerUse> sums(uses.size());
      std::vector<int64_t> counts(uses.size());
      for (size_t fine = 0; fine < finest.classes.size(); ++fine) {
        uint32_t cls = *layers::byPrefix(layering.classOf, finest.classes[fine].name);
        int64_t n = finest.classes[fine].count;
        LayerUse &sum = sums[cls];
        counts[cls] += n;
        sum.forward += n * min[fine].forward, sum.backward += n * min[fine].backward;
        sum.update += n * min[fine].update, sum.activations += n * min[fine].activations;
        sum.weights += n * min[fine].weights, sum.gradients += n * min[fine].gradients;
        sum.states += n * min[fine].states;
      }
      double took = 0, bounded = 0;
      for (size_t cls = 0; cls < uses.size(); ++cls) {
        const LayerUse &use = uses[cls], &sum = sums[cls];
        int64_t n = layering.classes[cls].count;
        EXPECT_GE(counts[cls], n) << cls;
        EXPECT_LE(sum.forward, n * use.forward) << cls;
        EXPECT_LE(sum.backward, n * (use.backward + use.weight + use.recomputeTime)) << cls;
        EXPECT_LE(sum.update, n * use.update) << cls;
        EXPECT_LE(sum.activations, n * use.activations) << cls;
        EXPECT_LE(sum.weights, n * use.weights) << cls;
        EXPECT_LE(sum.gradients, n * use.gradients) << cls;
        EXPECT_LE(sum.states, n * use.states) << cls;
        took += static_cast<double>(n * (use.forward + use.backward + use.weight));
        bounded += static_cast<double>(sum.forward + sum.backward);
      }
      EXPECT_GT(bounded, 0.3 * took); // tensor parallel: exchanges are not in it here
    }
  }
}

} // namespace accord
