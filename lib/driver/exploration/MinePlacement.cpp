#include "lib/driver/exploration/MinePlacement.h"
#include "lib/compilation/PlacementConstraints.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/exploration/MineJobs.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/WriteFile.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

PlacementObjective objectiveIn(MiningMetric metric) {
  return metric == MiningMetric::TdpTime ? PlacementObjective::TdpTime : PlacementObjective::StepTime;
}

/// Whether the best placement on a cluster is known by its step alone; false after an error.
bool placesBy(MiningMetric metric, Session &session, const DesignSpace &space) {
  if (metric != MiningMetric::Expression)
    return true;
  const char *what = space.figures().energy ? "energy" : space.figures().power ? "power.tdp" : nullptr;
  if (!what)
    return true;
  const auto &expression = session.job().expression;
  session.diagnostics()
      .error(Code::NotSupported, expression ? expression->at : SourceRange{},
             fmt::format("not supported yet: mining the devices of a cluster for an expression over {}", what))
      .help(space.figures().energy ? "speak of step_time, throughput, and numbers of one device: area, mxu.count"
                                   : "--metric tdp_time counts the design power of all devices that are used");
  return false;
}

/// Limits but that of memory have to be the same on every design, and that of memory the highest
/// where there is most of it.
bool sameLimits(Session &session, const DesignSpace &space, const Machine &max) {
  auto limits = [&](const Machine &on) { return session.program().limitsOn(session.job(), on); };
  std::vector<PlacementLimit> here = limits(max);
  if (session.diagnostics().hasErrors())
    return false;
  DesignBox all = wholeOf(space.parameters());
  for (const Design &corner : {all.low, all.high}) {
    auto machine = space.machine(corner);
    if (!machine)
      continue;
    std::vector<PlacementLimit> there = limits(*machine);
    for (size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (here[i].of == PlacementLimit::Of::Memory ? here[i].max < there[i].max : here[i].max != there[i].max) {
        session.diagnostics()
            .error(Code::NotSupported, here[i].at,
                   fmt::format("not supported yet: '{}' is another limit on other designs", here[i].text))
            .help("state the limit as a number");
        return false;
      }
  }
  return true;
}

/// The mined plan in a problem with other forms besides; nothing where it is not found there.
std::optional<Placement> knownIn(const PlacementProblem &problem, const PlacedBest &mined) {
  for (PlacementProblem::Id config = 0; config < problem.parallelConfigs.size(); ++config) {
    if (identityOf(problem.parallelConfigs[config]) != identityOf(mined.parallelConfig))
      continue;
    Placement plan = *mined.plan;
    for (PlacedStage &stage : plan.stages)
      stage.parallelConfig = config;
    if (findViolations(problem, plan).empty() && evaluate(problem, plan).step == mined.metrics.step)
      return plan;
  }
  return std::nullopt;
}

/// On the cluster that the session has now. Null after errors, which are reported, or `unfit`:
/// what is wrong with this cluster.
std::shared_ptr<const PlacedWork> placedWork(Session &session, const Machine &machine, PlacementObjective objective,
                                             std::shared_ptr<SharedSteps> steps, Errors &unfit) {
  if (!session.target().useDevice(machine, PlacementObjective::StepTime))
    return nullptr;
  PlacedJob job;
  job.name = session.job().name;
  std::vector<std::string> assumptions;
  auto request = session.placementRequest(assumptions);
  if (request && llvm::any_of(request->space.tensorShardings, [](const auto &one) { return one.context > 1; })) {
    session.diagnostics()
        .error(Code::NotSupported, session.job().targetAt,
               "not supported yet: context_parallel above 1 where devices are mined")
        .help("accord compile has it on a cluster that is described");
    return nullptr;
  }
  if (!request)
    return nullptr;
  job.request = std::move(*request);
  job.request.objective = objective;
  job.steps = std::move(steps);
  job.stop = session.search.stop;
  if (job.request.memory > 0)
    job.memory = [&session](const Machine &on) { return session.target().maxMemoryOn(on); };
  if (!session.job().placementConstraints.empty())
    job.pin = [&session](PlacementProblem &problem) {
      return !session.diagnostics().hasErrors() &&
             addPlacementConstraints(problem, session.job(), session.diagnostics());
    };
  auto made = PlacedWork::of(std::move(job), machine);
  if (!made) {
    unfit = made.takeError();
    return nullptr;
  }
  return std::move(*made);
}

} // namespace

PlacedWorks placedWorks(Session &session, const DesignSpace &space, MiningMetric metric) {
  if (!placesBy(metric, session, space))
    return {};
  auto objective = objectiveOf(metric);
  if (!objective) {
    session.diagnostics()
        .error(Code::NotSupported,
               session.job().objective == Objective::Energy ? session.job().objectiveAt : SourceRange{},
               fmt::format("not supported yet: minimizing over the devices of a cluster: {}", name(metric)))
        .help("--metric step_time, tdp_time or area_time");
    return {};
  }
  auto max = space.best(wholeOf(space.parameters()));
  if (!max) {
    session.report(max.error());
    return {};
  }
  const Machine &machine = *max;
  if (!sameLimits(session, space, machine))
    return {};
  const ClusterSpace &clusters = *session.target().clusters();
  PlacedWorks works;
  Errors unfit;
  size_t before = session.diagnostics().errors();
  bool any = false;
  // What connects the devices of clusters with relaxed choices, or of several dimensions, changes no step of a device.
  std::shared_ptr<SharedSteps> steps = clusters.points().relaxesAny() ? PlacedWork::sharedSteps() : nullptr;
  for (size_t point = 0; point < clusters.points().count(); ++point) {
    // What is wrong with one of several clusters (too few devices for what is in the search space) is no error.
    if (!any)
      session.diagnostics().dropErrors(before);
    session.target().chooseCluster(clusters.points().at(point));
    works.push_back(placedWork(session, machine, *objective, steps, unfit));
    any |= works.back() != nullptr;
    if (any)
      session.diagnostics().dropErrors(before);
  }
  if (any)
    return works;
  for (const Error &error : unfit)
    session.report(error);
  return {};
}

bool writeMinedPlacement(Session &session, const Machine &machine, const PlacedBest &mined, MiningMetric metric,
                         const std::string &folder) {
  if (!session.target().useDevice(machine, objectiveIn(metric)))
    return false;
  session.search.known = [&](const PlacementProblem &problem) { return knownIn(problem, mined); };
  session.search.within = [&](PlacementSpace &space) { space.restrictTo({mined.parallelConfig}); };
  auto plan = session.placement();
  session.search.known = nullptr, session.search.within = nullptr;
  if (!plan)
    return false;
  PlacementProof brief; // as `accord compile`: all of the bound is for `accord verify`
  if (statusOf(*plan) != SearchStatus::Infeasible)
    brief.effort /= 20, brief.stop = session.search.stop;
  Verification proof = verifyPlacement(*plan, brief);
  for (const Error &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {}, "the placement does not verify: " + finding.message);
  // Where the search left it open, the plan may be better.
  auto took = plan->result.metrics.step, step = mined.metrics.step;
  bool proven = mined.bound >= mined.value && metric != MiningMetric::TdpTime;
  if (proof.holds() && (!plan->result.plan || (proven && took != step)))
    session.diagnostics().error(Code::InternalError, {},
                                fmt::format("the placement takes {} ps, that of the search {} ps", took, step));
  if (session.diagnostics().hasErrors())
    return false;
  return writeFiles(session.diagnostics(), folder, filesOf(*plan));
}

std::optional<Conflict> placementConflict(Session &session, const Machine &max, MiningMetric metric) {
  if (session.diagnostics().hasErrors() || !session.target().useDevice(max, objectiveIn(metric)))
    return std::nullopt;
  auto plan = session.placement();
  if (!plan || plan->result.plan || plan->conflicts.empty())
    return std::nullopt;
  Conflict first = plan->conflicts.front();
  for (const Conflict &other : llvm::drop_begin(plan->conflicts))
    first.constraint += " with " + other.constraint;
  first.constraint += ", where devices have the most of everything";
  if (!plan->relaxations.empty())
    first.constraint += fmt::format("; {} would suffice", plan->relaxations.front());
  return first;
}

} // namespace accord
