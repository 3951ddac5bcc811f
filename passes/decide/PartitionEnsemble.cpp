// A decision beside the plan of one training: the members of an ensemble and their devices.
#include "lib/driver/tasks/Vote.h"
#include "passes/decide/Decision.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {

#define GEN_PASS_DEF_PARTITIONENSEMBLE
#include "passes/decide/Passes.h.inc"

namespace {

struct PartitionEnsemble : impl::PartitionEnsembleBase<PartitionEnsemble> {
  using PartitionEnsembleBase::PartitionEnsembleBase;

  void write(const EnsemblePlan &plan) {
    OpBuilder builder = decisionBuilder<plan::EnsembleOp>(getOperation(), plan.name);
    Location unknown = builder.getUnknownLoc();
    const MemberChoice *chosen = plan.chosen();
    MemberObjective objective = plan.problem.objective;
    double unit = objective == MemberObjective::StepTime ? 1e-12 : 1; // picoseconds become seconds
    const GuaranteeText *guarantee = nullptr;
    if (chosen && plan.guarantees[*plan.result.best])
      guarantee = &*plan.guarantees[*plan.result.best];
    auto ensemble = plan::EnsembleOp::create(
        builder, unknown, plan.name, plan.train, name(objective),
        APFloat(chosen ? valueOf(*chosen, objective) * unit : std::numeric_limits<double>::infinity()),
        APFloat(plan.result.bound * unit), (chosen ? chosen->error : Rational(1)).print(),
        guarantee ? guarantee->bound : "", plan.confidence.print());
    beginParts(builder, ensemble, plan.assumptions, plan.conflict);
    if (!chosen)
      return;
    for (const PlacedMember &member : chosen->members) {
      const MemberCost &cost = plan.problem.kinds[member.kind].alternatives[member.device][member.alternative];
      plan::MemberOp::create(builder, unknown, plan.problem.kinds[member.kind].name,
                             plan.problem.devices[member.device].name, member.first, cost.text, cost.devices, cost.time,
                             cost.state, cost.activations);
    }
  }

  void runOnOperation() override {
    Options options = sessionOptions(file, "", "", costModel);
    options.elaborate.ensemble = ensemble;
    Session session(options);
    std::optional<int> printed; // the exit status, where errors of a member's training are printed
    auto plan = session.prepare() ? planEnsemble(session, options, printed) : std::nullopt;
    if (failed(reportSession(getOperation(), session, plan.has_value())))
      return signalPassFailure();
    write(*plan);
  }
};

} // namespace

} // namespace accord
