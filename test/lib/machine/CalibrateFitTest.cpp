// Step times, the fit and its files, on made-up networks whose parameters are known.

#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/machine/calibration/ParameterFit.h"
#include "lib/machine/calibration/Score.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace accord::calibrate {
namespace {

Machine machine() {
  Machine m;
  m.name = "m";
  Memory memory;
  memory.capacity = Bytes(80e9);
  memory.bandwidth = BytesPerSecond(2e12);
  m.memories.push_back(memory);
  Core core;
  core.peak["bf16"] = FlopsPerSecond(3e14);
  core.peak["fp32"] = FlopsPerSecond(2e13);
  m.cores.push_back(core);
  return m;
}

size_t at(Parameter p) { return static_cast<size_t>(p); }

/// A decoder block by hand: one product, one softmax and one stream of bytes, forward and backward.
Profile network(double width, double layers, double tokens, double tensor) {
  Profile p;
  p.blocks = layers;
  p.boundaryBytes = 2 * tokens * width;
  p.blockParameters = layers * 12 * width * width / tensor;
  auto add = [&](WorkClass work, double count, double flops, double bytes, double m, double n, double k) {
    ProfileItem item;
    item.work = work;
    item.type = "bf16";
    item.count = count, item.flops = flops, item.bytes = bytes;
    item.m = m, item.n = n, item.k = k;
    if (work == WorkClass::Collective)
      item.communication = "all_reduce", item.payload = bytes;
    p.items.push_back(item);
  };
  add(WorkClass::Product, 18, 2 * tokens * width * 4 * width / tensor, 2 * tokens * width * 5, tokens,
      4 * width / tensor, width);
  add(WorkClass::Batched, 6, 2 * tokens * 1024 * width / tensor, 2 * tokens * 1024, tokens, 1024, 64);
  add(WorkClass::Softmax, 4, 0, 2 * tokens * 1024 * 16 / tensor, 1, 1, 1);
  add(WorkClass::Streaming, 30, 0, 4 * tokens * width, 1, 1, 1);
  if (tensor > 1)
    add(WorkClass::Collective, 4, 0, 2 * tokens * width, 1, 1, 1);
  ProfileItem update;
  update.place = Place::Update;
  update.count = 1;
  update.bytes = 30 * p.blockParameters;
  p.items.push_back(update);
  return p;
}

std::vector<Case> cases(const Factors &truth, double noise, unsigned seed) {
  std::vector<Case> all;
  std::mt19937 random(seed);
  auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  unsigned number = 0;
  for (double width : {1024.0, 4096.0, 8192.0})
    for (double tensor : {1.0, 4.0, 8.0})
      for (double pipeline : {1.0, 4.0})
        for (double batch : {1.0, 4.0}) {
          Layout layout;
          layout.tensor = tensor, layout.pipeline = pipeline;
          layout.data = 64 / tensor / pipeline;
          layout.microbatches = 16 / batch;
          Case one;
          one.id = "r" + std::to_string(number++);
          one.stratum = "made up";
          one.candidates.push_back(
              std::get<Candidate>(candidateOf(network(width, 24, batch * 1024, tensor), layout, machine())));
          one.microbatches.push_back(static_cast<int64_t>(batch));
          one.prior = priorOf(machine());
          one.seconds = predict(one, truth).total * (1 + noise * (2 * uniform() - 1));
          all.push_back(one);
        }
  return all;
}

Factors truth() {
  Factors f = unitFactors();
  f[at(Parameter::ProductEfficiency)] = 0.9;
  f[at(Parameter::MemoryEfficiency)] = 0.8;
  f[at(Parameter::Launch)] = 0.7;
  f[at(Parameter::LinkEfficiency)] = 1.3;
  f[at(Parameter::HostOverheadPerStep)] = 2;
  return f;
}

TEST(CalibrateStepTime, OneProductByHand) {
  // 2 m n k = 2e12 FLOP at 0.5 of 3e14, half as many again for its depth, 1 + 1/(4 (1 + 100/8192))

  // for its wave; twice per micro-batch, 3 of them.
  Profile p;
  ProfileItem item;
  item.work = WorkClass::Product;
  item.type = "bf16";
  item.count = 2, item.flops = 2e12, item.bytes = 1, item.m = 1000, item.n = 4000, item.k = 100;
  p.items.push_back(item);
  Layout layout;
  layout.microbatches = 3;
  Candidate c = std::get<Candidate>(candidateOf(p, layout, machine()));
  Parameters x = priorOf(machine());
  x[at(Parameter::ProductEfficiency)] = 0.5;
  x[at(Parameter::ProductDepth)] = 50;
  x[at(Parameter::ProductWave)] = 1e6;
  x[at(Parameter::KernelLaunchOverhead)] = 1e-3;
  x[at(Parameter::Launch)] = 1e-9;
  x[at(Parameter::HostOverheadPerMicrobatch)] = 0.5;
  x[at(Parameter::HostOverheadPerStep)] = 7;
  double wave = 1 + 0.25 / (1 + 100.0 / 8192);
  EXPECT_NEAR(stepTime(c, x).total, 3 * (2 * (2e12 / 1.5e14 * 1.5 * wave + 1e-3) + 0.5) + 7, 1e-9);
  // A stage of half the blocks: m + p - 1 of them follow one another, each started by the host.
  p.blocks = 8;
  layout.pipeline = 2;
  Candidate two = std::get<Candidate>(candidateOf(p, layout, machine()));
  double stage = 4 * 2 * (2e12 / 1.5e14 * 1.5 * wave + 1e-3);
  x[at(Parameter::LinkLatency)] = 1e-12;
  EXPECT_NEAR(stepTime(two, x).total, (3 + 1) * (stage + 0.5) + 7, 1e-6);
}

TEST(CalibrateStepTime, AllReduceOfThePublishedFit) {
  // Fits of alpha + 2 (n - 1) / n bytes / beta to the tables of VIA-Research/vTrain, trace/a100:

  // the data sheet alone (12 links of 25 GB/s, of which NCCL counts with 20) is within a fifth of

  // them.
  struct Fitted {
    double devices, alpha, beta;
  };
  Parameters x = priorOf(machine());
  x[at(Parameter::LinkEfficiency)] = 0.8;
  for (auto [devices, alpha, beta] : {Fitted{2, 57e-6, 194e9}, {4, 69e-6, 220e9}, {8, 101e-6, 230e9}})
    for (double bytes : {6.4e7, 2.56e8, 1e9}) {
      double fitted = alpha + 2 * (devices - 1) / devices * bytes / beta;
      EXPECT_NEAR(allReduceTime({devices, bytes, 300e9, 1, 2e12}, x), fitted, 0.2 * fitted);
    }
  // Without copies, latencies and flags it is the ring of Patarasuk and Yuan, 2009.
  for (Parameter p : {Parameter::LinkLatency, Parameter::LinkStep, Parameter::LinkCopies})
    x[at(p)] = 1e-15;
  EXPECT_NEAR(allReduceTime({8, 1 << 28, 300e9, 0.5, 2e12}, x), 1.75 * (1 << 28) / 120e9, 1e-12);
}

TEST(CalibrateStepTime, StepsOfARecurrentLayerNeedNoFramework) {
  Profile p;
  ProfileItem item;
  item.type = "bf16";
  item.count = 1000, item.bytes = 1, item.recurrent = true;
  p.items.push_back(item); // element-wise: a part of the products' kernels
  item.work = WorkClass::Product;
  item.flops = 3e8, item.m = item.n = item.k = 1e4;
  p.items.push_back(item);
  Candidate c = std::get<Candidate>(candidateOf(p, {}, machine()));
  Parameters x = priorOf(machine());
  double before = stepTime(c, x).total;
  x[at(Parameter::Launch)] *= 100;
  EXPECT_DOUBLE_EQ(stepTime(c, x).total, before);
  x[at(Parameter::KernelLaunchOverhead)] += 1e-6;
  EXPECT_NEAR(stepTime(c, x).total - before, 1e-3, 1e-9);
}

TEST(CalibrateStepTime, AStepWaitsForItsImages) {
  Profile p = network(1024, 1, 1024, 1);
  Candidate c = std::get<Candidate>(candidateOf(p, {}, machine()));
  Parameters x = priorOf(machine());
  double device = stepTime(c, x).total;
  x[at(Parameter::DecodeCost)] = 0.01;
  c.images = 0.5 * device / 0.01;
  EXPECT_DOUBLE_EQ(stepTime(c, x).total, device);
  c.images = 3 * device / 0.01;
  EXPECT_NEAR(stepTime(c, x).total, 3 * device, 1e-9);
}

TEST(CalibrateProfile, GradientOfAConvolutionsInput) {
  // dx[b, c, i + u, j + v] += dy[b, k, i, j] w[k, c, u, v]: as a product, 2*14*14 x 64 x (256*3*3).
  Operation op;
  auto loop = [&](int64_t extent, IteratorKind kind) {
    Loop made;
    made.extent = extent, made.kind = kind;
    op.domain.push_back(made);
  };
  loop(2, IteratorKind::Parallel);
  loop(64, IteratorKind::Parallel);
  for (int64_t extent : {14, 14, 256, 3, 3})
    loop(extent, IteratorKind::Reduction);
  auto tensor = [&](std::vector<std::vector<unsigned>> dimensions, bool written) {
    LoopTensor made;
    made.written = written;
    for (auto &loops : dimensions) {
      made.dimensions.emplace_back();
      for (unsigned l : loops)
        made.dimensions.back().push_back({l, 1});
    }
    op.tensors.push_back(made);
  };
  tensor({{0}, {4}, {2}, {3}}, false);
  tensor({{4}, {1}, {5}, {6}}, false);
  tensor({{0}, {1}, {2, 5}, {3, 6}}, true);
  ProfileItem item;
  productExtents(op.domain, op.tensors, item);
  EXPECT_EQ(item.batch, 1);
  EXPECT_EQ(item.m, 2 * 14 * 14);
  EXPECT_EQ(item.n, 64);
  EXPECT_EQ(item.k, 256 * 9);
  EXPECT_TRUE(item.window);
}

// Eight experts on a device that get 2048 rows each, of four devices: their gated first product is 2048 x 1536 of 2048
// (Qwen3 30B A3B: hidden 2048, inner 768). All FLOPs of an expert are those
// of this product and, half of it, of the way back.
TEST(CalibrateProfile, ExpertsAreProductsOfTheirOwn) {
  for (int weights : {2, 3})
    for (bool backward : {false, true}) {
      Operation op;
      op.kind = backward ? "moe_experts_grad" : "moe_experts", op.core = CoreKind::Tensor, op.contraction = true;
      enum { kDevices, kExperts, kSlots, kWeights, kInner, kHidden };
      for (int64_t extent : {4, 8, 512, weights, 768, 2048}) {
        Loop loop;
        loop.extent = extent;
        op.domain.push_back(loop);
      }
      op.domain[kInner].kind = op.domain[kHidden].kind = IteratorKind::Reduction;
      auto tensor = [&](const std::vector<unsigned> &loops, bool written) {
        LoopTensor made;
        made.written = written;
        for (unsigned loop : loops)
          made.dimensions.push_back({{loop, 1}});
        op.tensors.push_back(made);
      };
      const std::vector<unsigned> rows = {kDevices, kExperts, kSlots, kHidden}, up = {kExperts, kInner, kHidden},
                                  down = {kExperts, kHidden, kInner};
      tensor(rows, false);
      if (backward)
        tensor(rows, false);
      tensor(up, false), tensor(down, false), tensor(rows, true);
      op.flops = (backward ? 4 : 2) * int64_t{8} * 2048 * weights * 768 * 2048;
      auto item = itemOf(op);
      ASSERT_TRUE(item);
      EXPECT_EQ(item->work, WorkClass::Product);
      EXPECT_EQ(item->batch, 1);
      EXPECT_EQ(item->m, 2048);
      EXPECT_EQ(item->n, (weights - 1) * 768);
      EXPECT_EQ(item->k, 2048);
      double one = 2 * item->m * item->n * item->k;
      EXPECT_EQ(item->flops, (backward ? 2 : 1) * 8 * one * weights / (weights - 1));
    }
}

// Each device's peers one by one: those of its server over links, the others over the network, both at once.
TEST(CalibrateWorkTime, OnlyWhatLeavesAServerTakesTheNetwork) {
  Parameters p;
  p.fill(1);
  for (int tensor : {1, 2, 4, 8})
    for (int replicas : {2, 4, 8, 16, 64}) {
      Layout l;
      l.tensor = tensor, l.data = replicas, l.devicesPerNode = 8, l.link = 400e9, l.network = 50e9, l.unlinked = 0;
      double links = 0, network = 0, each = 1e6;
      for (int peer = 1; peer < replicas; ++peer)
        (peer * tensor < 8 ? links : network) += each;
      EXPECT_NEAR(rowsTime(each * (replicas - 1), l, p), std::max(links / 400e9, network / 50e9), 1e-15)
          << tensor << " x " << replicas;
    }
}

TEST(CalibrateStepTime, PartsAddUpAndMoreIsNeverSlower) {
  std::mt19937 random(7);
  auto factor = [&] { return std::exp2(static_cast<double>(random() % 1000) / 250.0 - 2); };
  for (const Case &one : cases(unitFactors(), 0, 1))
    for (int round = 0; round < 20; ++round) {
      Factors f;
      for (double &x : f)
        x = factor();
      Parameters x = parametersOf(one.prior, f);
      const Candidate &c = one.candidates.front();
      StepTime t = stepTime(c, x);
      ASSERT_TRUE(std::isfinite(t.total) && t.total > 0);
      EXPECT_NEAR(t.product + t.attention + t.streaming + t.host + t.tensorParallel + t.transfers + t.bubble +
                      t.dataParallel + t.optimizer,
                  t.total, 1e-9 * t.total);
      Candidate faster = c;
      faster.memoryBandwidth *= 1.5;
      EXPECT_LE(stepTime(faster, x).total, t.total * (1 + 1e-12));
      faster = c;
      faster.layout.network *= 1.5, faster.layout.link *= 1.5;
      EXPECT_LE(stepTime(faster, x).total, t.total * (1 + 1e-12));
      faster = c;
      for (Work &work : faster.work)
        work.peak *= 1.5;
      EXPECT_LE(stepTime(faster, x).total, t.total * (1 + 1e-12));
      for (Work &work : faster.work)
        work.item.bytes *= 0.5, work.item.payload *= 0.5;
      EXPECT_LE(stepTime(faster, x).total, t.total * (1 + 1e-12));
    }
}

TEST(CalibrateFit, RecoversWhatTheRowsWereMadeOf) {
  auto fitted = fit(cases(truth(), 0.02, 3), 1);
  const Fit &f = *fitted;
  for (Parameter p : {Parameter::ProductEfficiency, Parameter::MemoryEfficiency, Parameter::LinkEfficiency}) {
    EXPECT_TRUE(f.informed[at(p)]) << info(at(p)).name;
    EXPECT_LE(f.low[at(p)], truth()[at(p)]) << info(at(p)).name;
    EXPECT_GE(f.high[at(p)], truth()[at(p)]) << info(at(p)).name;
  }
  EXPECT_FALSE(f.informed[at(Parameter::Fp8Efficiency)]); // no row has any
  EXPECT_FALSE(f.informed[at(Parameter::LookupEfficiency)]);
  EXPECT_LT(scoreOf(residualsOf(cases(truth(), 0, 4), f.factors)).mape, 0.02);
}

// Two clusters of one machine, one a fifth slower in all it does and with half of the network, the other by as much
// faster: what both have in common is found, and neither's difference is taken for the machine's.
TEST(CalibrateFit, SourcesHaveTheirOwnEffects) {
  std::vector<Case> all;
  for (auto [source, time, network] : {std::tuple{"slow", 1.2, 0.5}, {"fast", 1 / 1.2, 2.0}}) {
    Factors own = truth();
    own[at(Parameter::StreamEfficiency)] *= network;
    for (Case one : cases(own, 0, 1)) {
      one.id += source;
      one.seconds *= time;
      one.columns["source"] = std::string(source) + ": table 1";
      all.push_back(one);
    }
  }
  EXPECT_TRUE(severalSources(all));
  EXPECT_EQ(all.front().source(), "slow");
  auto fitted = fit(all, 1);
  ASSERT_TRUE(fitted);
  const Fit &made = *fitted;
  EXPECT_NEAR(made.factors[at(Parameter::ProductEfficiency)], 0.9, 0.05);
  EXPECT_NEAR(made.factors[at(Parameter::StreamEfficiency)], 1, 0.25); // of 0.5 and 2
  std::vector<Residual> residuals;
  for (const Case &one : cases(truth(), 0, 1))
    residuals.push_back({one.id, one.stratum, one.seconds, predict(one, made.factors).total});
  EXPECT_LT(scoreOf(residuals).mape, 0.02);
}

TEST(CalibrateFit, WrongRowsPullLittle) {
  std::vector<Case> clean = cases(truth(), 0.02, 5), spoilt = clean;
  for (size_t i = 0; i < spoilt.size(); i += 10)
    spoilt[i].seconds *= i % 20 ? 2.5 : 0.4;
  auto a = fit(clean, 1), b = fit(spoilt, 1);
  std::vector<Case> others = cases(truth(), 0, 6);
  double before = scoreOf(residualsOf(others, a->factors)).mape;
  double after = scoreOf(residualsOf(others, b->factors)).mape;
  EXPECT_LT(after - before, 0.02);
}

TEST(CalibrateFit, OrderOfRowsDoesNotMatter) {
  std::vector<Case> rows = cases(truth(), 0.02, 8), turned(rows.rbegin(), rows.rend());
  auto a = fit(rows, 1), b = fit(turned, 1);
  EXPECT_EQ(a->factors, b->factors);
}

TEST(CalibrateFit, NothingToFit) {
  auto none = fit({});
  EXPECT_EQ(none.error().code, Code::NothingFitted);
  std::vector<Case> rows = cases(truth(), 0, 9);
  rows[3].seconds = 0;
  auto zero = fit(rows);
  EXPECT_EQ(zero.error().code, Code::NothingFitted);
}

TEST(CalibrateFit, BalancedHalvesKeepEveryShape) {
  std::vector<Case> rows = cases(unitFactors(), 0, 1);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].shape = std::to_string(i / 2);
  for (unsigned split = 0; split < 5; ++split) {
    std::vector<bool> half = calibrationHalf(rows, split, true);
    for (size_t i = 0; i + 1 < rows.size(); i += 2)
      EXPECT_NE(half[i], half[i + 1]);
  }
}

// Rows of one cluster that repeat within 4 %: the interval of rows that a fit has not seen holds 90 of 100 new ones,
// and is narrower than what clusters differ by.
TEST(CalibrateScore, IntervalOfAClustersOwnRows) {
  std::vector<Case> rows = cases(truth(), 0.04, 7);
  for (Case &one : rows)
    one.candidates.front().layout.hostShare = 1; // trainings that attend
  auto intervals = unseenRowIntervals(rows);
  ASSERT_TRUE(intervals);
  auto [low, high] = intervals->attending;
  EXPECT_GT(low, 0.9);
  EXPECT_LT(high, 1.1);
  EXPECT_EQ(intervals->other.low, kPriorStepTime.other.low); // no such row
  EXPECT_EQ(intervals->other.high, kPriorStepTime.other.high);
  auto fitted = fit(rows);
  ASSERT_TRUE(fitted);
  size_t inside = 0, all = 0;
  for (unsigned seed : {8, 9, 10})
    for (const Case &one : cases(truth(), 0.04, seed)) {
      double ratio = one.seconds / predict(one, fitted->factors).total;
      inside += low <= ratio && ratio <= high, ++all;
    }
  EXPECT_GE(inside * 10, all * 9);
  rows.resize(kMinRowsOfCluster - 1);
  EXPECT_EQ(unseenRowIntervals(rows)->attending.low, kUnseenSource.low);
  // One source, and a kind of training that is not in it: what a prior says of it stands.
  EXPECT_EQ(unseenSourceIntervals(rows)->attending.high, kUnseenSource.high);
  EXPECT_EQ(unseenSourceIntervals(rows)->other.high, kPriorStepTime.other.high);
  EXPECT_EQ(unseenSourceIntervals(rows, {{0.7, 1.4}, {0.6, 1.5}})->other.high, 1.5);
}

TEST(CalibrateScore, RankCorrelationAndRegret) {
  // Spearman's example values: 1 - 6 sum d^2 / (n (n^2 - 1)) with d = 0, 1, 1, 0 gives 0.8.
  std::vector<Residual> rows = {{"a", "", 1, 10}, {"b", "", 2, 30}, {"c", "", 3, 20}, {"d", "", 4, 40}};
  EXPECT_NEAR(rankingOf(rows).spearman, 0.8, 1e-12);
  EXPECT_NEAR(rankingOf(rows).regret, 0, 1e-12);
  rows[1].computed = 5; // the second best is chosen: twice the best
  EXPECT_NEAR(rankingOf(rows).regret, 1, 1e-12);
  Score s = scoreOf({{"a", "", 1, 1.1}, {"b", "", 2, 1}, {"c", "", 1, 1}});
  EXPECT_NEAR(s.mape, 0.2, 1e-12);
  EXPECT_NEAR(s.bias, -0.4 / 3, 1e-12);
  EXPECT_NEAR(s.median, 0.1, 1e-12);
  EXPECT_NEAR(s.worst, 0.5, 1e-12);
}

CalibrationFile file() {
  std::vector<Case> rows = cases(truth(), 0.02, 3);
  auto fitted = fit(rows, 1);
  const Fit &f = *fitted;
  return calibrationOf("m \"x\"", rows.front().prior, f, residualsOf(rows, f.factors), {"a thing"});
}

TEST(CalibrationFile, RoundTrip) {
  CalibrationFile before = file();
  std::string text = write(before);
  auto read = readCalibration(text, "c");
  ASSERT_TRUE(read) << read.error()[0].message;
  auto &after = *read;
  EXPECT_EQ(after.machine, before.machine);
  EXPECT_EQ(after.value, before.value);
  EXPECT_EQ(after.low, before.low);
  EXPECT_EQ(after.informed, before.informed);
  EXPECT_EQ(after.rows.size(), before.rows.size());
  EXPECT_EQ(write(after), text);
}

TEST(CalibrationFile, ErrorsHavePlaces) {
  std::string good = write(file());
  auto first = [&](std::string text, const std::string &from, const std::string &to) {
    size_t found = text.find(from);
    EXPECT_NE(found, std::string::npos) << from;
    auto read = readCalibration(text.replace(found, from.size(), to), "c");
    return bool(read) ? Error{} : read.error()[0];
  };
  EXPECT_EQ(first(good, "launch =", "lunch =").message, "unknown name 'lunch'");
  EXPECT_EQ(first(good, "calibration 2", "calibration 3").message, "this version reads 'calibration 2'");
  EXPECT_EQ(first(good, "launch = ", "launch = -").message, "expected a number above 0");
  EXPECT_EQ(first(good, "launch = ", "launch = 9").code, Code::BadCalibration); // outside of its interval
  EXPECT_EQ(first(good, "host_overhead_per_step", "launch").message, "'launch' a second time");
  EXPECT_EQ(first(good, "machine ", "// ").message, "'machine' is missing");
  Error error = first(good, "prior_weight = 1", "prior_weight = 1 2");
  EXPECT_EQ(error.location.line, 4u);
  EXPECT_EQ(error.location.column, 18u);
  for (size_t length = 0; length < good.size(); length += 97) // any part of it is read or refused
    static_cast<void>(readCalibration(good.substr(0, length), "c"));
  EXPECT_TRUE(!readCalibration("", "c"));
}

} // namespace
} // namespace accord::calibrate
