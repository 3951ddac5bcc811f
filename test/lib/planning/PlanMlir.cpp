// A finished plan as plan dialect: it verifies, prints, reads back to the same text, and a broken
// plan is found out.
#include "lib/planning/output/PlanMlir.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/support/EmitFixture.h"
#include <gmock/gmock.h>

using namespace accord;

namespace {
/// What the verifier says of a plan; empty when it holds.
std::string complaint(const Plan &plan) {
  mlir::MLIRContext context;
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    said += d.str();
    for (mlir::Diagnostic &note : d.getNotes())
      said += "\nnote: " + note.str();
    return mlir::success();
  });
  auto module = toPlanDialect(context, plan);
  return mlir::succeeded(mlir::verify(*module)) ? "" : said;
}
} // namespace

TEST(PlanMlir, VerifiesAndReadsBackToTheSameText) {
  Plan plan = test::gptPlan();
  EXPECT_EQ(complaint(plan), "");
  std::string text = planMlir(plan);
  mlir::MLIRContext context;
  context.loadDialect<plan::PlanDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::string again;
  llvm::raw_string_ostream(again) << *module;
  EXPECT_EQ(llvm::StringRef(again).rtrim(), llvm::StringRef(text).rtrim());
}

TEST(PlanMlir, HasOneSlotPerOperationAndTheRepeatsCounts) {
  Plan plan = test::gptPlan();
  mlir::MLIRContext context;
  auto module = toPlanDialect(context, plan);
  size_t slots = 0, repeats = 0;
  module->walk([&](plan::SlotOp slot) {
    ++slots;
    repeats += slot.getRuns().has_value();
  });
  EXPECT_EQ(slots, plan.graph.operations.size());
  EXPECT_EQ(repeats, 2u);
  auto placement = *module->getOps<plan::PlacementOp>().begin();
  EXPECT_EQ(placement.getStep(), static_cast<uint64_t>(plan.schedule.step.value));
  for (auto region : placement.getBody().getOps<plan::RegionOp>()) {
    if (region.getSymName() == "step") {
      EXPECT_EQ(region.getCount(), 8u);
    }
    if (region.getSymName() == "block") {
      EXPECT_EQ(region.getCount(), 12u);
    }
  }
}

TEST(PlanMlir, AnOperationBeforeItsOperandIsFound) {
  Plan plan = test::gptPlan();
  for (Slot &slot : plan.schedule.regions[0].slots)
    if (plan.graph.operations[slot.operation].name == "head")
      slot.start = {0};
  EXPECT_THAT(complaint(plan), testing::HasSubstr("precedence violated: 'ln_f' ends at"));
}

TEST(PlanMlir, AStepOfAnotherLengthIsFound) {
  Plan plan = test::gptPlan();
  ++plan.schedule.step.value;
  EXPECT_THAT(complaint(plan), testing::HasSubstr("but its regions take"));
}

TEST(PlanMlir, AnObjectiveBetterThanItsBoundIsFound) {
  Plan plan = test::gptPlan();
  plan.objectiveBound = plan.objectiveValue * 0.9;
  EXPECT_THAT(complaint(plan), testing::HasSubstr("objective 'throughput' of"));
}

TEST(PlanMlir, MemoryBeyondCapacityIsAnErrorOnlyWithoutAConflict) {
  Plan plan = test::gptPlan();
  plan.memory.atPeak[0] = int64_t(1) << 40;
  EXPECT_THAT(complaint(plan), testing::HasSubstr("brings memory 'hbm' to 1099511627776 B of 85899345920 B"));
  plan.feasible = false;
  plan.conflicts = {{"device memory", "a100.accel", 4, "needs 1 TiB, hbm has 80 GiB"}};
  EXPECT_EQ(complaint(plan), "");
}

TEST(PlanMlir, RegionsOfOneNameStayApart) {
  Plan plan = test::gptPlan();
  for (Region &region : plan.graph.regions)
    region.name = "block";
  EXPECT_EQ(complaint(plan), "");
}
