#include "lib/driver/exploration/MineMetric.h"
#include "lib/driver/Session.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/language/requests/Objective.h"
#include <fmt/format.h>

namespace accord {
namespace {

bool measured(const ObjectiveExpression &expression, Session &session, DesignSpace &space) {
  Diagnostics &diags = session.diagnostics();
  mlir::Attribute value = attributeOf(expression, *session.program().module().getContext(), diags);
  if (!value)
    return false;
  auto wrong = space.measure(expression.maximize, expression.text, value);
  if (!wrong)
    return true;
  auto error = diags.error(wrong->error.code, partOf(expression, wrong->at), wrong->error.message);
  if (!wrong->error.suggestion.empty())
    error.suggest(wrong->error.suggestion);
  if (!wrong->help.empty())
    error.help(wrong->help);
  return false;
}

} // namespace

std::optional<MiningMetric> minedMetric(const MineOptions &options, Session &session, DesignSpace &space) {
  for (MiningMetric metric :
       {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::Energy, MiningMetric::AreaTime})
    if (options.metric == name(metric))
      return metric;
  if (const auto &expression = session.job().expression)
    return measured(*expression, session, space) ? std::optional(MiningMetric::Expression) : std::nullopt;
  switch (session.job().objective) {
  case Objective::Throughput:
  case Objective::StepTime:
    return MiningMetric::StepTime;
  case Objective::OfCluster:
    if (session.job().placementObjective == PlacementObjective::TdpTime)
      return MiningMetric::TdpTime;
    break;
  case Objective::Energy:
    return MiningMetric::Energy;
  case Objective::Memory:
    break;
  }
  session.diagnostics()
      .error(Code::NotSupported, session.job().objectiveAt,
             fmt::format("not supported yet: minimizing {}", name(session.job().placementObjective)))
      .help("name the objective with --metric");
  return std::nullopt;
}

bool placesBy(MiningMetric metric, Session &session, const DesignSpace &space) {
  if (metric != MiningMetric::Expression)
    return true;
  const char *what = space.measuresEnergy() ? "energy" : space.measuresPower() ? "power.tdp" : nullptr;
  if (!what)
    return true;
  const auto &expression = session.job().expression;
  session.diagnostics()
      .error(Code::NotSupported, expression ? expression->at : SourceRange{},
             fmt::format("not supported yet: mining the devices of a cluster for an expression "
                         "over {}",
                         what))
      .help(space.measuresEnergy() ? "speak of step_time, throughput, and numbers of one device: area, mxu.count"
                                   : "--metric tdp_time counts the design power of all devices that are used");
  return false;
}

} // namespace accord
