// Bounds of a step against the step itself, on machines and graphs drawn at random and on networks
// of the catalogue.
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/steps/StepData.h"
#include "test/support/CatalogueWork.h"
#include "test/support/RandomGraph.h"
#include "test/support/RandomMachine.h"
#include <gtest/gtest.h>

namespace accord {
namespace {

using test::ofCatalogue;
using testing::Draw, testing::randomMachine, testing::randomOperation;

/// The operations of a random graph get the work of `randomOperation`, a few are fused or of given
/// time.
WorkGraph workAtRandom(unsigned seed, Draw &draw) {
  WorkGraph graph = testing::RandomGraph(seed, {2, 4, true, true}).graph;
  std::vector<accord::Operation> some;
  for (int i = 0; i < 4; ++i)
    some.push_back(randomOperation(draw));
  for (accord::Operation &op : graph.operations) {
    if (op.body != kNone || op.core == CoreKind::None)
      continue;
    accord::Operation work = some[static_cast<size_t>(draw.whole(0, 3))];
    op.kind = work.kind, op.core = work.core, op.type = work.type, op.flops = work.flops;
    op.bytesRead = work.bytesRead, op.bytesWritten = work.bytesWritten;
    op.contraction = work.contraction, op.domain = work.domain, op.tensors = work.tensors;
    if (draw.whole(0, 9) == 0)
      op.givenSeconds = draw.any(1e-7, 1e-3);
    else if (draw.whole(0, 4) == 0) {
      accord::Operation other = some[static_cast<size_t>(draw.whole(0, 3))];
      op.parts = {
          {"a", work.kind, work.core, work.type, work.flops, work.contraction, work.domain, work.tensors},
          {"b", other.kind, other.core, other.type, other.flops, other.contraction, other.domain, other.tensors}};
      op.flops += other.flops;
      op.tensors = {};
    }
  }
  return graph;
}

Machine machineAtRandom(Draw &draw) {
  Machine m = randomMachine(draw);
  for (Core &core : m.cores) {
    core.anyMapping = !core.perInstanceMapping && draw.whole(0, 2) == 0;
    if (draw.whole(0, 3) == 0)
      core.reads = static_cast<int>(draw.whole(-1, static_cast<int64_t>(m.memories.size()) - 1));
  }
  m.host.microbatch = Seconds(draw.coin() ? 0 : draw.any(1e-7, 1e-4));
  m.host.step = Seconds(draw.coin() ? 0 : draw.any(1e-7, 1e-4));
  m.idle = Watts(draw.any(1, 100));
  m.energyPerFlop = JoulesPerFlop(draw.any(1e-13, 1e-11));
  for (Memory &memory : m.memories)
    memory.energy = JoulesPerByte(draw.any(1e-12, 1e-10));
  return m;
}

/// Some numbers of the machine are halved or more: no machine with less of something is faster.
Machine withLess(Machine m, Draw &draw, bool arrays) {
  auto less = [&](double &number) { number *= draw.coin() ? 1 : draw.any(0.1, 1); };
  auto fewer = [&](int64_t &number) {
    number = draw.coin() ? number : std::max<int64_t>(number > 0, draw.whole(1, 8) * number / 8);
  };
  less(m.clock.value);
  for (Memory &memory : m.memories) {
    less(memory.bandwidth.value), less(memory.capacity.value);
    memory.capacity = Bytes(std::max(2048.0, std::floor(memory.capacity.value)));
    memory.latency = memory.latency * (draw.coin() ? 1 : 2);
    memory.doubleBuffered = memory.doubleBuffered && draw.coin();
  }
  for (Core &core : m.cores) {
    fewer(core.count);
    fewer(core.lanes);
    if (arrays) {
      fewer(core.rows), fewer(core.cols);
      core.overlapFill = draw.coin(), core.overlapDrain = draw.coin();
    }
    for (auto &[type, peak] : core.peak)
      less(peak.value);
  }
  return m;
}

/// In any number that bounds follow from, and some that they do not.
Machine changed(Machine m, Draw &draw) {
  Core &core = m.cores[static_cast<size_t>(draw.whole(0, static_cast<int64_t>(m.cores.size()) - 1))];
  Memory &memory = m.memories[static_cast<size_t>(draw.whole(0, static_cast<int64_t>(m.memories.size()) - 1))];
  switch (draw.whole(0, 13)) {
  case 0:
    core.count += 1;
    break;
  case 1:
    core.rows += core.rows > 0;
    break;
  case 2:
    core.lanes *= 2;
    break;
  case 3:
    core.perInstanceMapping = !core.perInstanceMapping, core.anyMapping = false;
    break;
  case 4:
    core.anyMapping = !core.anyMapping;
    break;
  case 5:
    core.reads = core.reads < 0 ? 0 : -1;
    break;
  case 6:
    memory.bandwidth.value *= 0.7;
    break;
  case 7:
    memory.capacity.value *= 0.9;
    break;
  case 8:
    memory.doubleBuffered = !memory.doubleBuffered;
    break;
  case 9:
    memory.latency.value += 1e-6;
    break;
  case 10:
    m.clock.value *= 0.9;
    break;
  case 11:
    m.host.kernel.value += 1e-6;
    break;
  case 12:
    m.host.microbatch.value += 1e-6, m.host.step.value += 1e-5;
    break;
  default:
    core.efficiency *= 0.9;
  }
  return m;
}

TEST(StepWork, KeptBoundsAreThoseFoundAnew) {
  Draw draw(29);
  for (unsigned i = 0; i < 60; ++i) {
    WorkGraph graph = workAtRandom(i + 1, draw);
    StepWork work(graph);
    Machine m = machineAtRandom(draw);
    std::vector<Machine> all{m};
    for (int change = 0; change < 12; ++change) // of the first, or of what became of it
      all.push_back(changed(draw.coin() ? m : all.back(), draw));
    for (int again = 0; again < 2; ++again)
      for (size_t k = 0; k < all.size(); ++k) {
        StepWork anew(graph);
        StepBoundOptions same, open;
        open.exact = false;
        same.exact = draw.coin(), same.communication = draw.coin();
        same.sameArrays.assign(all[k].cores.size(), draw.coin());
        for (const StepBoundOptions &options : {StepBoundOptions{}, open, same})
          ASSERT_EQ(work.bound(all[k], options), anew.bound(all[k], options)) << i << " " << k;
      }
  }
}

TEST(StepWork, NoStepIsBelowItsBound) {
  Draw draw(11);
  int valued = 0, near = 0, anyMapping = 0, closer = 0;
  StepBoundOptions closely;
  closely.closely = true;
  for (unsigned i = 0; i < 1000; ++i) {
    StepWork work(workAtRandom(i + 1, draw));
    for (int machines = 0; machines < 2; ++machines) {
      Machine m = machineAtRandom(draw);
      StepValue value = work.value(m);
      double bound = work.bound(m, true), loose = work.bound(m, false);
      ASSERT_LE(bound, value.step) << i;
      ASSERT_LE(loose, bound * (1 + 1e-12)) << i;
      ASSERT_GT(loose, 0) << i;
      if (!std::isfinite(value.step))
        continue;
      ASSERT_LE(work.minJoules(m, bound), value.joules) << i;
      ASSERT_GE(work.minJoules(m, bound), 0.1 * m.idle.value * bound);
      double close = work.bound(m, closely);
      ASSERT_GE(close, bound) << i;
      ASSERT_LE(close, value.step) << i;
      if (i % 50 == 0)
        ASSERT_LE(close, work.refined(m, 4, true).step) << i;
      closer += close > 1.001 * bound;
      ++valued;
      near += bound > 0.8 * value.step;
      anyMapping += m.cores[0].anyMapping;
    }
  }
  EXPECT_GT(valued, 1500);
  EXPECT_GT(anyMapping, 300);
  EXPECT_GT(near, valued / 2);
  EXPECT_GT(closer, 0);
  std::printf("%d of %d bounds are within a fifth of the step; %d are higher where forms are ruled out\n", near, valued,
              closer);
}

TEST(StepWork, BoundOfTheBestIsBelowThatOfEachMember) {
  Draw draw(12);
  int smaller = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    StepWork work(workAtRandom(i + 1, draw));
    Machine best = machineAtRandom(draw);
    if (draw.whole(0, 3) == 0) // it may be any
      for (Core &core : best.cores)
        core.dataflow.clear();
    Machine less = withLess(best, draw, true);
    for (Core &core : less.cores)
      if (core.rows > 0 && core.dataflow.empty())
        core.dataflow =
            draw.one<const char *>({"output_stationary", "weight_stationary", "input_stationary", "row_stationary"});
    double bound = work.bound(best, false), loose = work.bound(less, false), exact = work.bound(less, true);
    ASSERT_LE(bound, loose * (1 + 1e-12)) << i;
    ASSERT_LE(bound, exact * (1 + 1e-12)) << i;
    smaller += bound < 0.99 * exact;
    // Where the arrays are the same ones, their cycles count.
    Machine sameArrays = withLess(best, draw, false);
    StepBoundOptions same;
    same.sameArrays.assign(best.cores.size(), true);
    ASSERT_LE(work.bound(best, same), work.bound(sameArrays, true) * (1 + 1e-12)) << i;
    ASSERT_GE(work.bound(best, same), bound * (1 - 1e-12)) << i;
  }
  EXPECT_GT(smaller, 500);
}

TEST(StepWork, NetworksOfTheCatalogue) {
  Draw draw(13);
  for (auto [file, model, microbatch, near] : {std::tuple{"bert.dnn", "bert_large", 16, 0.9},
                                               {"resnet.dnn", "resnet50", 8, 0.6},
                                               {"gpt2.dnn", "gpt2_xl", 1, 0.95}}) {
    auto found = ofCatalogue(file, model, "tpu_like", microbatch);
    ASSERT_TRUE(found) << model;
    StepWork work(std::move(found->first));
    for (int i = 0; i < 4; ++i) {
      Machine m = found->second;
      if (i > 0)
        m = withLess(m, draw, true);
      StepValue value = work.value(m);
      EXPECT_TRUE(std::isfinite(value.step)) << model << i;
      double bound = work.bound(m, true);
      EXPECT_LE(bound, value.step) << model << i;
      EXPECT_GT(bound, (i == 0 ? near : 0.75) * value.step) << model << i;
      EXPECT_LE(work.bound(found->second, false), bound) << model << i;
      std::printf("%s %d: bound %.6g of step %.6g s (%.4f)\n", model, i, bound, value.step, bound / value.step);
    }
  }
}

TEST(StepWork, WhatIsLeftOutNeverMakesTheBoundLonger) {
  Draw draw(14);
  int shorter = 0;
  for (unsigned i = 0; i < 300; ++i) {
    StepWork work(workAtRandom(i + 1, draw));
    Machine m = machineAtRandom(draw);
    double bound = work.bound(m, true);
    for (size_t c = 0; c < m.cores.size(); ++c) {
      StepBoundOptions options;
      options.cores.resize(m.cores.size());
      options.cores[c] = StepBoundOptions::Omitted::Queue;
      double queue = work.bound(m, options);
      options.cores[c] = StepBoundOptions::Omitted::Time;
      double time = work.bound(m, options);
      EXPECT_LE(queue, bound * (1 + 1e-12));
      EXPECT_LE(time, queue * (1 + 1e-12));
      shorter += time < 0.9 * bound;
    }
    for (size_t c = 0; c < m.memories.size(); ++c) {
      StepBoundOptions options;
      options.memories.resize(m.memories.size());
      options.memories[c] = StepBoundOptions::Omitted::Time;
      EXPECT_LE(work.bound(m, options), bound * (1 + 1e-12));
      shorter += work.bound(m, options) < 0.9 * bound;
    }
  }
  EXPECT_GT(shorter, 100);
}

TEST(StepWork, RefusedIsInfinite) {
  testing::GraphBuilder builder;
  ValueId in = builder.value(0, 8), out = builder.value(0, 8);
  builder.operation(0, {in}, {out}, CoreKind::Network);
  StepWork work(builder.graph);
  Errors errors;
  StepValue value = work.value(testing::smallMachine(), &errors);
  EXPECT_TRUE(std::isinf(value.step));
  EXPECT_FALSE(value.fits);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, Code::UnsupportedType);
  EXPECT_TRUE(std::isfinite(work.bound(testing::smallMachine(), true)));
}

/// Of what one core does, against every subset of it.
TEST(StepLoad, IsTheLargestOfItsSubsets) {
  Draw draw(7);
  size_t nested = 0, above = 0;
  for (int i = 0; i < 300; ++i) {
    struct One {
      double head, work, tail;
    };
    std::vector<One> all(static_cast<size_t>(draw.whole(0, 9)));
    StepLoad load;
    load.clear();
    for (One &one : all) {
      one = {draw.any(1, 100), draw.any(1, 100), draw.any(1, 100)};
      load.add(one.work, one.head, one.tail, true);
    }
    double share = draw.any(0.5, 1), whole = 0, largest = 0;
    for (size_t subset = 1; subset < size_t{1} << all.size(); ++subset) {
      double head = INFINITY, sum = 0, tail = INFINITY;
      for (size_t k = 0; k < all.size(); ++k)
        if (subset >> k & 1)
          head = std::min(head, all[k].head), sum += all[k].work, tail = std::min(tail, all[k].tail);
      whole = head + sum * share + tail; // the last subset is all
      largest = std::max(largest, whole);
    }
    double some = load.length(LoadSubsets::Nested, share);
    EXPECT_NEAR(load.length(LoadSubsets::Whole, share), whole, 1e-9 * whole);
    EXPECT_NEAR(load.length(LoadSubsets::Every, share), largest, 1e-9 * largest);
    EXPECT_GE(some, whole * (1 - 1e-12));
    EXPECT_LE(some, largest * (1 + 1e-12));
    nested += some > whole * 1.001, above += largest > some * 1.001;
  }
  EXPECT_GT(nested, 100u);
  EXPECT_GT(above, 3u);
}

} // namespace
} // namespace accord
