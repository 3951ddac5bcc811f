// What a scheduler claims of a region, forged in every part; and the claims that stand for solvers.
#include "lib/planning/output/Certificate.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/planning/verify/Verify.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>
#include <z3++.h>

using namespace accord;
using namespace accord::testing;

namespace {

using Kind = SchedulingBound::Kind;

/// Two cores of a kind, each with an operation of its own.
Machine twins() {
  Machine machine = smallMachine();
  machine.cores[0].count = 2, machine.cores[0].perInstanceMapping = true;
  return machine;
}

/// Products in layers, each of which reads up to two of those before.
WorkGraph products(unsigned seed, size_t count) {
  std::mt19937_64 random(seed);
  GraphBuilder b;
  std::vector<ValueId> values;
  for (size_t i = 0; i < count; ++i) {
    std::vector<ValueId> reads;
    for (size_t k = 0; k < 2 && i > 2; ++k)
      if (random() % 3)
        reads.push_back(values[random() % values.size()]);
    values.push_back(b.value(0, 8));
    b.operation(0, reads, {values.back()}, CoreKind::Tensor, 1'000'000 + static_cast<int64_t>(random() % 3) * 700'000,
                1);
  }
  return b.graph;
}

/// Plans whose micro-batch is bounded by windows, in several steps.
std::vector<Plan> byWindows() {
  std::vector<Plan> plans;
  for (unsigned seed = 0; seed < 400 && plans.size() < 12; ++seed) {
    Plan plan = planFor(products(seed, 14), twins());
    const SchedulingBound &proven = plan.schedule.regions[0].proven;
    if (proven.kind == Kind::Windows && proven.steps.size() > 2)
      plans.push_back(std::move(plan));
  }
  return plans;
}

/// The one message about the proof, or "".
std::string rejected(const Plan &plan) {
  Verification v = verify(plan);
  for (const Error &error : v.findings)
    if (error.code == Code::BoundNotProved)
      return error.message;
  return "";
}

TEST(VerifyProven, ForgedProofsAreRejectedWithTheStep) {
  std::vector<Plan> plans = byWindows();
  ASSERT_GE(plans.size(), 3u);
  size_t dropped = 0, swapped = 0;
  for (const Plan &plan : plans) {
    ASSERT_EQ(rejected(plan), "");
    auto forged = [&](auto change) {
      Plan copy = plan;
      change(copy.schedule.regions[0].proven);
      return rejected(copy);
    };
    std::string max = std::to_string(plan.schedule.regions[0].length.value + 1);
    EXPECT_NE(forged([&](SchedulingBound &b) {
                b.value = plan.schedule.regions[0].length.value + 1;
              }).find("region 'microbatch': no schedule is stated to be shorter than " + max),
              std::string::npos);
    EXPECT_NE(forged([](SchedulingBound &b) { b.steps.clear(); }).find("lead to no contradiction"), std::string::npos);
    const auto &steps = plan.schedule.regions[0].proven.steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      auto at = "step " + std::to_string(i + 1) + " of its proof does not follow: ";
      if (steps[i].rule == ProofStep::Rule::Chain)
        continue;
      EXPECT_NE(forged([&](SchedulingBound &b) { b.steps[i].task = 99; }).find(at + "it names task 99 of 14"),
                std::string::npos);
      EXPECT_NE(forged([&](SchedulingBound &b) { b.steps[i].other = 77; }).find(at + "it names "), std::string::npos);
      dropped +=
          !forged([&](SchedulingBound &b) { b.steps.erase(b.steps.begin() + static_cast<ptrdiff_t>(i)); }).empty();
      std::string message = i == 0 ? "" : forged([&](SchedulingBound &b) { std::swap(b.steps[0], b.steps[i]); });
      swapped += message.find("of its proof does not follow: ") != std::string::npos;
    }
    EXPECT_NE(forged([](SchedulingBound &b) {
                b.kind = Kind::Path, b.tasks = {0, 99};
              }).find("its proof names task 99 of 14"),
              std::string::npos);
    EXPECT_NE(forged([](SchedulingBound &b) {
                b.kind = Kind::Nothing;
                b.value = 0;
              }),
              "");
  }
  EXPECT_GE(dropped, plans.size());
  EXPECT_GE(swapped, 1u);
}

z3::check_result answer(const std::string &text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.substr(0, text.rfind("(check-sat)")).c_str());
  return solver.check();
}

TEST(VerifyProven, ClaimsStandForSolvers) {
  std::vector<Plan> plans = byWindows();
  plans.resize(std::min<size_t>(plans.size(), 2));
  for (Plan plan : plans) {
    SchedulingBound &proven = plan.schedule.regions[0].proven;
    EXPECT_TRUE(smtQueriesOf(plan).empty());
    // The same bound, as a solver would have found it beyond all steps but the last.
    proven.kind = Kind::Solver, proven.steps.pop_back(), proven.proof = "z3";
    Verification v = verify(plan);
    ASSERT_TRUE(v.holds()) << v.findings[0].message;
    EXPECT_NE(v.trusted[0].find("region 'microbatch': that no schedule of at most "), std::string::npos);
    auto queries = smtQueriesOf(plan);
    ASSERT_EQ(queries.size(), 1u);
    EXPECT_EQ(queries[0].file, "certificate/microbatch-LE-" + std::to_string(proven.value - 1) + ".smt2");
    EXPECT_EQ(answer(queries[0].text), z3::unsat);
    // What there is a schedule for cannot be refuted, in units or not.
    proven.value = plan.schedule.regions[0].length.value + 1, proven.steps.clear();
    for (int64_t unit : {1000, 1 << 20}) {
      proven.unit = unit;
      EXPECT_EQ(answer(smtQueriesOf(plan)[0].text), z3::sat);
    }
    proven.unit = 0;
    EXPECT_NE(rejected(plan).find("the solver counted in units of 0"), std::string::npos);
  }
}

TEST(VerifyProven, StoppedPlansHoldAndSaySo) {
  Machine machine = twins();
  WorkGraph graph = products(3, 60);
  SingleDeviceRequest request;
  request.job = "job", request.batch = 4, request.microbatches = {1, 2, 4};
  request.effort = 40; // would take hours
  request.instantiate = [&](int64_t microbatch, int64_t microbatches, const std::string &) {
    WorkGraph one = graph;
    one.microbatch = microbatch, one.microbatches = microbatches;
    return one;
  };
  std::atomic<bool> stop = false;
  std::vector<std::string> phases;
  request.stop = &stop;
  request.progress = [&](const SolveProgress &progress) {
    phases.push_back(progress.phase);
    stop = progress.incumbent > 0;
  };
  auto result = planSingleDevice(request, machine);
  Plan &plan = *result;
  EXPECT_EQ(plan.schedule.stopped, "interrupted");
  EXPECT_LE(plan.schedule.bound, plan.schedule.step);
  EXPECT_TRUE(plan.feasible);
  Verification v = verify(plan);
  EXPECT_TRUE(v.holds()) << v.findings[0].message;
  ASSERT_FALSE(phases.empty());
  EXPECT_EQ(phases.front(), "micro-batch 1 (1 of 3), costs");
  EXPECT_EQ(phases.back().find("micro-batch 4 (3 of 3), "), 0u); // the others were sketched
}

} // namespace
