#include "LatencyFixture.h"
#include "lib/latency/forms/SymbolicCosts.h"
#include "lib/latency/model/LatencySweep.h"
#include "gtest/gtest.h"

using namespace accord;

namespace {

std::vector<LatencyArgument> twoNaturals() {
  LatencyArgument a;
  a.name = "a", a.integer = true, a.min = 0, a.max = 1000;
  LatencyArgument b = a;
  b.name = "b", b.min = 1;
  return {a, b};
}

} // namespace

// Chains of sums and maxima over durations, as schedules make them, against the same computed step by step without any
// normal form.
TEST(LatencyExpression, NormalFormsKeepTheValue) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Expressions e(twoNaturals());
    struct Step {
      int kind;
      size_t x, y;
      int64_t c;
    };
    std::vector<Step> steps;
    std::vector<NodeId> nodes = {e.argument("a"), e.argument("b"), e.integer(3), e.integer(0)};
    for (int i = 0; i < 25; ++i) {
      Step s{int(random() % 5), random() % nodes.size(), random() % nodes.size(), int64_t(random() % 4)};
      steps.push_back(s);
      NodeId x = nodes[s.x], y = nodes[s.y];
      nodes.push_back(s.kind == 0   ? e.add(x, y)
                      : s.kind == 1 ? e.maximum({x, y})
                      : s.kind == 2 ? e.maximum({x, e.add(x, y), y})
                      : s.kind == 3 ? e.add(e.maximum({x, y}), e.integer(s.c))
                                    : e.minimum({x, e.multiply(y, e.integer(s.c))}));
      if (e[nodes.back()].range.max > 1e15)
        break;
    }
    for (auto [a, b] : {std::pair(0, 1), {5, 3}, {3, 5}, {1000, 1}, {0, 1000}, {17, 17}}) {
      std::vector<int64_t> values = {a, b, 3, 0};
      Evaluation at(e, {double(a), double(b)});
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (i >= 4) {
          const Step &s = steps[i - 4];
          int64_t x = values[s.x], y = values[s.y];
          values.push_back(s.kind == 0   ? x + y
                           : s.kind == 1 ? std::max(x, y)
                           : s.kind == 2 ? std::max({x, x + y, y})
                           : s.kind == 3 ? std::max(x, y) + s.c
                                         : std::min(x, y * s.c));
        }
        ASSERT_EQ(at.integer(nodes[i]), values[i]) << "round " << round << " node " << i;
        const Interval &range = e[nodes[i]].range;
        ASSERT_LE(range.min, double(values[i]));
        ASSERT_GE(range.max, double(values[i]));
      }
    }
  }
}

TEST(LatencyExpression, DropsWhatIsNeverTheLatest) {
  Expressions e(twoNaturals());
  NodeId a = e.argument("a"), b = e.argument("b");
  NodeId chain = e.add(a, e.add(b, a));
  EXPECT_EQ(e.maximum({a, chain, b}), chain);
  EXPECT_EQ(e.maximum({e.add(a, b), e.add(b, a)}), e.add(a, b));
  // max(a + b, b + 7) = b + max(a, 7)
  EXPECT_EQ(e.maximum({e.add(a, b), e.add(b, e.integer(7))}), e.add(b, e.maximum({a, e.integer(7)})));
  // What waits for the later of two ends no earlier than either.
  NodeId later = e.maximum({a, b});
  EXPECT_EQ(e.maximum({e.add(later, e.integer(1)), a}), e.add(later, e.integer(1)));
}

TEST(LatencyExpression, RoundsAsSchedulesDo) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    double seconds = std::exp(std::uniform_real_distribution<double>(-30, 8)(random));
    if (i % 3 == 0) // whole picoseconds but for a rounding error
      seconds = std::floor(seconds * 1e12) * 1e-12;
    EXPECT_EQ(clampedPicoseconds(seconds, int64_t{1} << 52),
              std::min(Picoseconds::ceil(Seconds(seconds)).value, int64_t{1} << 52));
  }
  EXPECT_EQ(clampedPicoseconds(std::numeric_limits<double>::quiet_NaN(), 99), 99);
  EXPECT_EQ(clampedPicoseconds(std::numeric_limits<double>::infinity(), 99), 99);
}

TEST(LatencyExpression, DividesUpwards) {
  Expressions e(twoNaturals());
  NodeId tiles = e.ceilDivide(e.argument("a"), e.argument("b"));
  for (int64_t a : {0, 1, 6, 7, 8, 999, 1000})
    for (int64_t b : {1, 2, 7, 1000}) {
      int64_t whole = 0; // the fewest that cover a
      while (whole * b < a)
        ++whole;
      EXPECT_EQ(Evaluation(e, {double(a), double(b)}).integer(tiles), whole);
    }
}

// Folds of a 128 x 128 array that fills and drains: output stationary, a fold takes rows + cols + K - 2 cycles
// (SCALE-Sim v3, scalesim/compute/systolic_compute_os.py).
TEST(LatencyFormats, FindsFoldsOfAnArray) {
  Machine machine;
  machine.clock = Hertz(1e9);
  Core core;
  core.rows = core.cols = 128;
  machine.cores.push_back(core);
  Operation operation;
  Expressions e(twoNaturals());
  SymbolicOperation symbolic;
  symbolic.operation = &operation, symbolic.machine = &machine, symbolic.core = 0;
  // M = a, N = 512, K = 1000, output stationary: ceil(a / 128) * 4 folds of K + 254 cycles.
  symbolic.extents = {e.argument("a"), e.integer(512), e.integer(1000)};
  symbolic.kinds = {IteratorKind::Parallel, IteratorKind::Parallel, IteratorKind::Reduction};
  symbolic.flops = e.multiply(e.argument("a"), e.integer(2 * 512 * 1000));
  symbolic.clock = e.real(1);
  bool found = false;
  for (NodeId candidate : symbolicCosts("array", symbolic, e, 2)) {
    bool same = true;
    for (double a : {1.0, 100.0, 128.0, 129.0, 1000.0})
      same &= std::fabs(Evaluation(e, {a, 1}).real(candidate) - std::ceil(a / 128) * 4 * (1000 + 128 + 128 - 2) / 1e9) <
              1e-15;
    found |= same;
  }
  EXPECT_TRUE(found);
}

TEST(LatencyFormats, AsksThoseOfPluginsFirst) {
  EXPECT_TRUE(registerSymbolicCost("latency-forms-test", [](const SymbolicOperation &op, Expressions &nodes) {
    return std::vector<NodeId>{nodes.divide(nodes.toReal(op.flops), nodes.real(7))};
  }));
  EXPECT_FALSE(registerSymbolicCost("latency-forms-test", nullptr)); // one already
  Expressions e(twoNaturals());
  SymbolicOperation symbolic;
  symbolic.flops = e.argument("a"), symbolic.clock = e.real(1);
  std::vector<NodeId> candidates = symbolicCosts("latency-forms-test", symbolic, e, 0);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(Evaluation(e, {21, 1}).real(candidates.front()), 3);
  // Without a form of its own for the whole: the roofline, with a kernel's start or behind it.
  NodeId roofline = e.toReal(e.argument("b"));
  std::vector<double> totals;
  for (NodeId candidate : symbolicTotals("latency-forms-test", roofline, 5, e))
    totals.push_back(Evaluation(e, {0, 2}).real(candidate));
  EXPECT_EQ(totals, (std::vector<double>{2, 7, 5}));
}

TEST(LatencyModel, RefusesOutsideOfItsDomain) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made);
  const auto &model = *made;
  auto reason = [&](const char *name, double value) {
    std::vector<double> at = model.initial();
    at[*model.argument(name)] = value;
    LatencyEvaluation found = evaluate(model, at);
    EXPECT_EQ(std::isnan(found.result.step), found.status != 0);
    return explain(model, found.status, at);
  };
  EXPECT_EQ(reason("sequence", 8192), "");
  EXPECT_EQ(reason("sequence", 8193), "sequence = 8193 is outside of 1..8192");
  EXPECT_EQ(reason("batch", 0), "batch = 0 is outside of 1..1099511627776");
  EXPECT_EQ(reason("batch", 3), "the micro-batch is larger than the batch");
  EXPECT_EQ(reason("microbatch", 1.5).substr(0, 31), "microbatch = 1.5 is outside of ");
  EXPECT_EQ(reason("clock_scale", -1), "clock_scale = -1 is outside of 1e-06..1000000");
  EXPECT_NE(reason("clock_scale", std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_NE(reason("clock_scale", std::numeric_limits<double>::infinity()), "");
}

// Twice the clock, the rates and the bandwidths: half the time, but for whole picoseconds.
TEST(LatencyModel, FollowsTheMachine) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made);
  const auto &model = *made;
  std::vector<double> slow = model.initial(), fast = slow;
  for (size_t i = 0; i < fast.size(); ++i)
    if (model.arguments()[i].unit == "B/s" || model.arguments()[i].unit == "FLOP/s")
      fast[i] *= 2;
  LatencyResult a = evaluate(model, slow).result, b = evaluate(model, fast).result;
  EXPECT_NEAR(b.step / a.step, 0.5, 1e-6);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.flops, b.flops);
  // Nothing gets slower from any of them.
  for (size_t i = kSequence + 1; i < slow.size(); ++i) {
    std::vector<double> one = slow;
    one[i] *= 3;
    EXPECT_LE(evaluate(model, one).result.step, a.step) << model.arguments()[i].name;
  }
}

// A cost model that nobody can write down: the sizes of a table hold, nothing between them is guessed.
TEST(LatencyModel, TabulatesWhatHasNoExpression) {
  Plan plan = test::gptPlan();
  auto strange = [](const WorkGraph &graph, Costs &costs, int64_t b) {
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (graph.operations[id].name == "block.fc1") {
        OperationCost &cost = costs.operations[id];
        cost.compute = Seconds(1e-3 * std::sqrt(double(b)) + 0.0123);
        cost.time = std::max(cost.compute, cost.transfer.empty() ? Seconds(0) : cost.transfer[0]);
        cost.model = "strange";
      }
  };
  auto sampleAt = [&](int64_t b, int64_t, std::optional<int64_t> s) -> std::optional<SampledWork> {
    test::Costed costed = test::gptCosts({b, s.value_or(1024)});
    strange(costed.graph, costed.costs, b);
    return SampledWork{std::move(costed.graph), std::move(costed.costs)};
  };
  strange(plan.graph, plan.costs, plan.graph.microbatch);
  auto made = latencyModelOf(plan, 1024, sampleAt);
  ASSERT_TRUE(made) << made.error().message;
  const auto &model = *made;
  const LatencyArgument &clock = model.arguments()[*model.argument("clock_scale")];
  EXPECT_NE(clock.fixedReason.find("'block.fc1'"), std::string::npos) << clock.fixedReason;
  EXPECT_EQ(clock.min, clock.max);
  EXPECT_EQ(model.arguments()[kMicrobatch].allowed, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(model.arguments()[kSequence].allowed, (std::vector<int64_t>{256, 512, 768, 1024}));
  EXPECT_EQ(evaluate(model, model.initial()).status, 0);
  EXPECT_EQ(evaluate(model, 64, 4, 1024).status, 0); // more micro-batches of the same
  EXPECT_EQ(evaluate(model, 32, 2, 512).status, 0);
  EXPECT_EQ(evaluate(model, 32, 5, 1024).status, int(kMicrobatch + 1));
  EXPECT_EQ(evaluate(model, 32, 2, 1023).status, int(kSequence + 1));
  // The block is repeated; all else of it takes as long as in the model of what has expressions.
  auto known = latencyModelOf(test::gptPlan(), 1024, [&](int64_t b, int64_t, std::optional<int64_t> s) {
    test::Costed costed = test::gptCosts({b, s.value_or(1024)});
    return std::optional(SampledWork{std::move(costed.graph), std::move(costed.costs)});
  });
  ASSERT_TRUE(known) << known.error().message;
  double before = 0;
  for (int64_t b : {1, 2, 3}) { // one micro-batch longer than three others, by the same number of blocks
    double more = evaluate(model, b, b, 1024).result.step - evaluate(*known, b, b, 1024).result.step;
    EXPECT_GT(more, before);
    before = more;
  }
}

TEST(LatencySweep, MakesEveryCombination) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made);
  const auto &model = *made;
  auto parsed = parseSweep(model, {"sequence=512,1024,microbatch=1,2,4", "batch=8"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto &sweep = *parsed;
  ASSERT_EQ(sweep.rows(), 6u);
  std::set<std::vector<double>> all;
  for (size_t i = 0; i < 6; ++i) {
    std::vector<double> at = sweep.at(model, i);
    all.insert({at[0], at[1], at[2]});
  }
  EXPECT_EQ(all, (std::set<std::vector<double>>{
                     {8, 1, 512}, {8, 2, 512}, {8, 4, 512}, {8, 1, 1024}, {8, 2, 1024}, {8, 4, 1024}}));
  for (const char *wrong : {"voltage=1", "batch=", "batch=x", "batch", "1,2", "batch=1,batch=2", "batch=1e999",
                            "batch=nan", "", ",", "batch=1,,2"})
    EXPECT_TRUE(!(parseSweep(model, {wrong}))) << wrong;
}
