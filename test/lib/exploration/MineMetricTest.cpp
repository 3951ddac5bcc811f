// Metrics by expressions: accepted ones rise with the step, bounds hold, and the verifier's own
// evaluator agrees.
#include "MineRandom.h"
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/space/DesignTerms.h"
#include "lib/exploration/steps/StepWork.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/Random.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// What a space says to an expression: nothing, or the code of what is wrong, and the part.
struct Said {
  std::string code, message, suggestion;
  std::vector<size_t> at;
};
std::optional<Said> measure(DesignSpace &space, const std::string &spaceText, bool maximize,
                            const std::string &expression) {
  std::string text = spaceText.substr(0, spaceText.rfind('}'));
  Machines machines(text + (maximize ? "\n  maximize " : "\n  minimize ") + expression + "\n}\n");
  accel::AcceleratorOp op = machines["s"];
  if (!op)
    return Said{"none", "", "", {}};
  for (auto one : op.getBody().getOps<accel::ObjectiveOp>()) {
    auto wrong = space.measure(maximize, expression, one.getExpressionAttr());
    if (!wrong)
      return std::nullopt;
    return Said{numberOf(wrong->error.code), wrong->error.message, wrong->error.suggestion, wrong->at};
  }
  return Said{"none", "", "", {}};
}

const char *const kSpace = R"(accelerator s {
  clock = 1 GHz
  technology = 7 nm
  memory hbm : dram { capacity = 16 GiB, bandwidth = {100 GB/s, 400 GB/s} }
  memory vmem : scratchpad { capacity = pow2 1..4 MiB, bandwidth = 1024 B/cycle }
  core mxu[1..4] : tensor {
    array = (pow2 16..64) x 16, dataflow = weight_stationary
    multiply = bf16, accumulate = fp32, reads = vmem
  }
  core vpu[2] : vector { lanes = 64, types = {fp32, bf16}, reads = vmem }
  path hbm -> vmem -> {mxu, vpu}
  power { idle = 2 W, mac = 0.6 pJ }
  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }
  price = 4000 USD
}
)";

std::unique_ptr<DesignSpace> spaceOf(const std::string &text) {
  Machines machines(text);
  auto made = machines.space("s");
  if (!made) {
    ADD_FAILURE() << made.error().front().code << " " << made.error().front().message;
    return nullptr;
  }
  return std::make_unique<DesignSpace>(std::move(*made));
}

double metricValueOf(const DesignSpace &space, const Design &design, const MeasuredStep &step) {
  auto machine = space.machine(design);
  return space.metricValue({design, design}, *machine, step);
}

std::string leaf(fuzz::Random &random, const std::vector<std::string> &parameters) {
  switch (random.below(parameters.empty() ? 7 : 8)) {
  case 0:
  case 1:
    return "(step_time / 1 s)";
  case 2:
    return "(energy / 1 J)";
  case 3:
    return "(throughput * 1 s)";
  case 4:
    return "(area / 1 mm2)";
  case 5:
    return "(power.tdp / 1 W)";
  case 6:
    return fmt::format("{}", random.below(5) + 1);
  default:
    return random.pick(parameters);
  }
}

std::string expressionAtRandom(fuzz::Random &random, const std::vector<std::string> &parameters, unsigned depth) {
  if (depth == 0 || random.percent(20))
    return leaf(random, parameters);
  auto one = [&] { return expressionAtRandom(random, parameters, depth - 1); };
  switch (random.below(9)) {
  case 0:
  case 1:
    return "(" + one() + " + " + one() + ")";
  case 2:
  case 3:
    return "(" + one() + " * " + one() + ")";
  case 4:
    return "(" + one() + " / " + one() + ")";
  case 5:
    return "(" + one() + " - " + one() + ")";
  case 6:
    return "(" + one() + " * (step_time / 1 s))^" + random.pick<std::string>({"2", "3", "0.5", "(-1)", "1.5"});
  case 7:
    return random.pick<std::string>({"min(", "max("}) + one() + ", " + one() + ")";
  default:
    return "log2(2 + " + one() + ")";
  }
}

Design between(fuzz::Random &random, const DesignBox &box) {
  Design design = box.low;
  for (size_t i = 0; i < design.size(); ++i)
    design[i] += static_cast<uint32_t>(random.below(box.high[i] - box.low[i] + 1));
  return design;
}

double more(fuzz::Random &random, double min) { return min * (1 + static_cast<double>(random.below(1000)) / 100); }

} // namespace

TEST(MineMetric, IsTheNumberThatItSays) {
  auto space = spaceOf(kSpace);
  ASSERT_TRUE(space);
  Design design(space->parameters().size(), 0);
  auto made = space->machine(design);
  const Machine &machine = *made;
  double area = machine.area.value, tdp = machine.tdp.value;
  ASSERT_GT(area, 0);
  ASSERT_GT(tdp, 0);
  MeasuredStep step{0.25, 30, 8};
  struct Case {
    bool maximize;
    const char *text;
    double value;
    const char *unit;
  };
  for (const Case &one : {Case{false, "step_time * power.tdp", 0.25 * tdp, "J"},
                          {false, "energy * step_time", 7.5, "s*J"},
                          {false, "energy / batch", 30.0 / 8, "J"},
                          {false, "step_time * area^0.5", 0.25 * std::sqrt(area), "s*m"},
                          {true, "throughput", 0.25 / 8, "s"},
                          {true, "throughput / (price + 3 USD/W * power.tdp)", (4000 + 3 * tdp) * 0.25 / 8, "s*USD"},
                          {false, "step_time * mxu.count * (vmem.capacity / 1 MiB)", 0.25 * 1 * 1, "s"},
                          {false, "max(step_time, 1 s) + 1 us * mxu.array.rows", 1 + 16e-6, "s"}}) {
    auto said = measure(*space, kSpace, one.maximize, one.text);
    ASSERT_FALSE(said) << one.text << ": " << said->code << " " << said->message;
    EXPECT_NEAR(metricValueOf(*space, design, step) / one.value, 1, 1e-12) << one.text;
    EXPECT_EQ(space->metricUnit(), one.unit) << one.text;
  }
}

TEST(MineMetric, RefusesWhatCannotBeMadeLeast) {
  auto space = spaceOf(kSpace);
  ASSERT_TRUE(space);
  const std::string source = space->source(); // without a metric
  struct Case {
    bool maximize;
    const char *text, *code;
    std::vector<size_t> at;
  };
  for (const Case &one : {Case{false, "price + 3 * power.tdp", "A0204", {}},
                          {false, "step_time * (price + power.tdp)", "A0204", {1}},
                          {false, "throughput", "A0305", {}},
                          {true, "step_time", "A0305", {}},
                          {false, "step_time + 3 s^2 / step_time", "A0305", {1}},
                          {false, "energy * (1 s + 2 s - step_time)", "A0305", {1}},
                          {false, "step_time - 1 s", "A0302", {}},
                          {false, "1 J + energy - energy", "A0305", {}},
                          {false, "area", "A0305", {}},
                          {false, "3", "A0305", {}},
                          {false, "step_time / (mxu.count - 2)", "A0206", {1}},
                          {false, "step_time * (mxu.count - 2)^0.5", "A0208", {1}},
                          {false, "step_time^0.5", "A0208", {}},
                          {false, "(step_time / 1 s)^1000", "A0302", {}},
                          {false, "step_time * 1e-300 * 1e-300", "A0302", {}},
                          {true, "throughput * 1e-300 * 1e-300", "A0302", {}},
                          {false, "steptime * area", "A0104", {0}},
                          {false, "step_time * (mxu.cout + 1)", "A0104", {1, 0}},
                          {false, "step_time < 3 s", "A0301", {}},
                          {false, "step_time * (area < 3 mm2)", "A0301", {}},
                          {false, "step_time * mxu.dataflow", "A0301", {1}}}) {
    auto said = measure(*space, kSpace, one.maximize, one.text);
    ASSERT_TRUE(said) << one.text;
    EXPECT_EQ(said->code, one.code) << one.text << ": " << said->message;
    EXPECT_EQ(said->at, one.at) << one.text << ": " << said->message;
    EXPECT_EQ(space->source(), source) << one.text;
  }
  EXPECT_EQ(measure(*space, kSpace, false, "steptime * area")->suggestion, "step_time");
}

/// Random expressions over random spaces: what is accepted rises with the step's time and energy,
/// is the verifier's own number, and neither bound (of a box of designs, of all longer steps) is
/// above any value.
TEST(MineMetric, BoundsHoldAndBothEvaluatorsAgree) {
  uint64_t accepted = 0, refused = 0, compared = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    MiningAtRandom drawn = miningAtRandom(seed, {50, 3000});
    ASSERT_TRUE(drawn.space);
    fuzz::Random random(seed);
    std::vector<std::string> parameters;
    Design min, max;
    for (const DesignParameter &one : drawn.space->parameters()) {
      min.push_back(0);
      max.push_back(static_cast<uint32_t>(one.labels.size() - 1));
      for (const char *end : {".count", ".rows", ".cols", ".lanes"})
        if (one.name.ends_with(end))
          parameters.push_back(one.name);
    }
    for (int i = 0; i < 60; ++i) {
      std::string text = expressionAtRandom(random, parameters, 3);
      bool maximize = random.percent(40);
      std::string where = fmt::format("seed {}, {} {}", seed, maximize ? "max" : "min", text);
      if (auto said = measure(*drawn.space, drawn.spaceText, maximize, text)) {
        EXPECT_NE(said->code, "none") << where;
        ++refused;
        continue;
      }
      ++accepted;
      auto read = MiningSpace::read(drawn.space->source());
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<MiningSpace>>(read)) << where;
      MiningSpace &other = *std::get<std::unique_ptr<MiningSpace>>(read);
      std::vector<std::string> paths;
      for (const DesignParameter &one : drawn.space->parameters())
        paths.push_back(one.name);
      ASSERT_TRUE(other.arrange(paths));
      EXPECT_EQ(other.metric(), drawn.space->metric());
      for (int box = 0; box < 8; ++box) {
        DesignBox some{between(random, {min, max}), max};
        some.high = between(random, {some.low, max});
        MeasuredStep step{1e-4 * more(random, 1), 1e-2 * more(random, 1), 1 << random.below(6)};
        auto best = drawn.space->best(some);
        double bound = bool(best) ? drawn.space->metricValue(some, *best, step) : 0;
        bound = std::isnan(bound) ? 0 : bound;
        double before = 0;
        Design design = between(random, some);
        auto made = drawn.space->machine(design);
        if (!made)
          continue;
        const Machine &machine = *made;
        if (!drawn.space->measures(machine))
          continue;
        MeasuredStep longer = step;
        double floor = 0;
        for (int k = 0; k < 4; ++k) {
          double metricValue = drawn.space->metricValue({design, design}, machine, longer);
          ASSERT_FALSE(std::isnan(metricValue)) << where;
          EXPECT_LE(bound, metricValue) << where;
          EXPECT_LE(before, metricValue * (1 + 1e-9)) << where;
          before = metricValue;
          ASSERT_TRUE(other.nearly(design)) << where;
          double same = other.metricValue(machine, {longer.seconds, longer.joules, longer.batch, false});
          EXPECT_NEAR(same, metricValue, 1e-9 * std::abs(metricValue)) << where;
          if (k == 0)
            floor = other.metricValue(machine, {step.seconds, step.joules, step.batch, true});
          if (!std::isnan(floor)) {
            EXPECT_LE(floor, metricValue * (1 + 1e-9)) << where;
          }
          ++compared;
          longer.seconds = more(random, longer.seconds);
          longer.joules = more(random, longer.joules);
        }
      }
    }
  }
  std::printf("%lu expressions accepted, %lu refused, %lu values compared\n", accepted, refused, compared);
  EXPECT_GT(accepted, 60u);
  EXPECT_GT(refused, 60u);
}

/// Whole searches: the design of exhaustion, and that of the words that say the same.
TEST(MineMetric, SearchesFindTheBestOfAllDesigns) {
  fuzz::Random random(7);
  uint64_t found = 0;
  for (uint64_t seed = 31; seed <= 36; ++seed) {
    MiningAtRandom drawn = miningAtRandom(seed, {50, 150});
    ASSERT_TRUE(drawn.space);
    std::string text =
        random.pick<std::string>({"energy * step_time", "energy / batch + 1 W * step_time", "step_time^2 * energy"});
    if (auto said = measure(*drawn.space, drawn.spaceText, false, text))
      FAIL() << said->message;
    StepProblem problem(*drawn.space, drawn.jobs, MiningMetric::Expression);
    MiningResult exact = mineExactly(problem), all = mineExhaustively(problem);
    EXPECT_EQ(exact.best, all.best) << seed << text;
    EXPECT_EQ(exact.value, all.value) << seed << text;
    EXPECT_LE(exact.bound, all.value) << seed << text;
    found += all.best.has_value();
    for (auto [metric, same] : {std::pair(MiningMetric::StepTime, "step_time"),
                                {MiningMetric::Energy, "energy"},
                                {MiningMetric::TdpTime, "step_time * power.tdp"},
                                {MiningMetric::AreaTime, "step_time * area"}}) {
      if (auto said = measure(*drawn.space, drawn.spaceText, false, same)) {
        EXPECT_EQ(said->code, "A0103") << said->message; // no area, or no design power
        continue;
      }
      StepProblem word(*drawn.space, drawn.jobs, metric),
          expression(*drawn.space, drawn.jobs, MiningMetric::Expression);
      MiningResult a = mineExactly(word), b = mineExactly(expression);
      EXPECT_EQ(a.value, b.value) << same;
      EXPECT_EQ(a.bound, b.bound) << same;
      EXPECT_EQ(a.best, b.best) << same;
      EXPECT_EQ(a.evaluations, b.evaluations) << same;
      EXPECT_EQ(a.bounds, b.bounds) << same;
    }
  }
  EXPECT_GT(found, 3u);
}
