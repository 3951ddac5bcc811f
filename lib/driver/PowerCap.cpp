#include "lib/driver/PowerCap.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/driver/Session.h"
#include "lib/machine/energy/Buildability.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/PowerLevels.h"
#include "lib/placement/output/PlacementFigures.h"
#include <fmt/format.h>

namespace accord {

std::optional<PowerLevel> JobTarget::cappedLevel() {
  if (workspace.options.powerLevel.empty())
    return std::nullopt;
  for (accel::AcceleratorOp accelerator : accelerators())
    for (PowerLevel &level : powerLevelsOf(accelerator))
      if (level.name == workspace.options.powerLevel && level.cap.value > 0) {
        mlir::Attribute used = accelerator->removeAttr(kPowerLevelAttribute);
        auto full = machineOf(accelerator);
        if (used)
          accelerator->setAttr(kPowerLevelAttribute, used);
        if (auto lowest = full ? lowestClockUnder(level, *full) : Result<double>(1.0); lowest)
          level.clock = *lowest;
        return level;
      }
  return std::nullopt;
}

bool JobTarget::useClock(double clock) {
  for (accel::AcceleratorOp accelerator : accelerators())
    accelerator->removeAttr(kPowerLevelAttribute);
  return usePowerLevel(clock) && read();
}

double deviceWatts(const Plan &plan) {
  const Seconds step = plan.schedule.step.seconds();
  if (!(step.value > 0))
    return -1;
  if (auto board = stepPower(plan.graph, plan.costs, plan.machine, step))
    return board->average.value;
  return stepEnergyBreakdown(plan.graph, plan.costs, plan.machine, step).total().value / step.value;
}

double deviceWatts(const PlacementPlan &plan) {
  if (!plan.result.plan)
    return -1;
  int64_t devices = 0;
  for (size_t g = 0; g < plan.result.plan->groups(); ++g)
    devices += plan.problem.parallelConfigs[plan.result.plan->stages[g].parallelConfig].devices();
  const PlanPower power = powerOf(plan);
  return devices > 0 ? (power.average - power.hosts) / static_cast<double>(devices) : -1;
}

double clockUnderCap(Options options, llvm::function_ref<double(Session &)> wattsOf) {
  if (options.powerLevel.empty())
    return 0;
  options.effort = 0;
  Session session(options); // what it reports is lost with it
  if (!session.prepare())
    return 0;
  auto level = session.target().cappedLevel();
  if (!level || session.target().groups().groups.size() > 1)
    return 0;
  return highestClockUnder(level->cap, level->clock, [&](const PowerLevel &at) {
    return session.target().useClock(at.clock) ? wattsOf(session) : -1;
  });
}

void warnAboveCap(Session &session, double watts) {
  auto level = session.workspace().options.powerClock > 0 ? session.target().cappedLevel() : std::nullopt;
  if (level && watts > level->cap.value * 1.005)
    session.diagnostics().warning(Code::PowerAboveLimit, rangeOf(session.diagnostics(), level->origin.location),
                                  fmt::format("a device draws {:.4g} W on average, above the cap of {:.4g} W of power "
                                              "level '{}'",
                                              watts, level->cap.value, level->name));
}

void warnOfBuildability(Diagnostics &diags, const Machine &machine) {
  for (const Buildability &one : buildabilityOf(machine))
    diags.warning(one.error.code, rangeOf(diags, one.error.location), one.error.message).help(one.help);
}

} // namespace accord
