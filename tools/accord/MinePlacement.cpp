#include "tools/accord/MinePlacement.h"
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/evaluate/Judge.h"
#include "tools/accord/MineMetric.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/PlacementPins.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

Objective objectiveIn(MiningMetric metric) {
  return metric == MiningMetric::TdpTime ? Objective::TdpTime : Objective::StepTime;
}

/// Limits but that of memory have to be the same on every design, and that of memory the highest
/// where there is most of it.
bool sameLimits(Session &session, const DesignSpace &space, const Machine &most) {
  auto limits = [&](const Machine &on) { return session.program().limitsOn(session.job(), on); };
  std::vector<PlacementLimit> here = limits(most);
  if (session.diagnostics().hasErrors())
    return false;
  DesignBox all = wholeOf(space.parameters());
  for (const Design &corner : {all.low, all.high}) {
    auto made = space.machine(corner);
    auto *machine = std::get_if<Machine>(&made);
    if (!machine)
      continue;
    std::vector<PlacementLimit> there = limits(*machine);
    for (size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (here[i].of == PlacementLimit::Of::Memory ? here[i].most < there[i].most
                                                   : here[i].most != there[i].most) {
        session.diagnostics()
            .error(Code::NotSupported, here[i].at,
                   fmt::format("not supported yet: '{}' is another limit on other designs",
                               here[i].text))
            .help("state the limit as a number");
        return false;
      }
  }
  return true;
}

/// The mined plan in a problem with other forms besides; nothing where it is not found there.
std::optional<Placement> knownIn(const PlacementProblem &problem, const PlacedBest &mined) {
  auto degrees = [](const PlacementProblem::Form &form) {
    return std::tie(form.kind, form.tensor, form.sequence, form.data, form.zero, form.microbatch,
                    form.expert, form.tables, form.ringOverlap, form.hostStates, form.hostWeights,
                    form.order);
  };
  for (PlacementProblem::Id form = 0; form < problem.forms.size(); ++form) {
    if (degrees(problem.forms[form]) != degrees(mined.form))
      continue;
    Placement plan = *mined.plan;
    for (PlacedStage &stage : plan.stages)
      stage.form = form;
    if (faults(problem, plan).empty() && judge(problem, plan).step == mined.worth.step)
      return plan;
  }
  return std::nullopt;
}

/// On the cluster that the session has now. Null after errors, which are reported, or `unfit`:
/// what is wrong with this cluster.
std::shared_ptr<const PlacedWork> placedWork(Session &session, const Machine &machine,
                                             PlacementObjective objective,
                                             std::vector<Issue> &unfit) {
  if (!session.useDevice(machine, Objective::StepTime))
    return nullptr;
  PlacedJob job;
  job.name = session.job().name;
  std::vector<std::string> assumptions;
  auto request = session.placementRequest(assumptions);
  if (!request)
    return nullptr;
  job.request = std::move(*request);
  job.request.objective = objective;
  bool bounded = job.request.memory > 0;
  if (bounded)
    job.memory = [&session](const Machine &on) { return session.mostMemoryOn(on); };
  if (!session.job().pins.empty())
    job.pin = [&session](PlacementProblem &problem) {
      return !session.diagnostics().hasErrors() &&
             pinLayers(problem, session.job(), session.diagnostics());
    };
  auto made = PlacedWork::of(std::move(job), machine);
  if (auto *issues = std::get_if<std::vector<Issue>>(&made)) {
    unfit = std::move(*issues);
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<PlacedWork>>(made));
}

} // namespace

std::vector<std::shared_ptr<const PlacedWork>>
placedWorks(Session &session, const DesignSpace &space, MiningMetric metric) {
  if (!placesBy(metric, session, space))
    return {};
  auto objective = objectiveOf(metric);
  if (!objective) {
    session.diagnostics()
        .error(Code::NotSupported,
               session.job().objective == Objective::Energy ? session.job().objectiveAt
                                                            : SourceRange{},
               fmt::format("not supported yet: mining the devices of a cluster for least {}",
                           name(metric)))
        .help("--metric step_time, tdp_time or area_time");
    return {};
  }
  auto most = space.best(wholeOf(space.parameters()));
  if (auto *issue = std::get_if<Issue>(&most)) {
    session.report(*issue);
    return {};
  }
  const Machine &machine = std::get<Machine>(most);
  if (!sameLimits(session, space, machine))
    return {};
  const ClusterSpace &clusters = *session.clusters();
  std::vector<std::shared_ptr<const PlacedWork>> works;
  std::vector<Issue> unfit;
  size_t before = session.diagnostics().errors();
  bool any = false;
  for (size_t point = 0; point < clusters.points(); ++point) {
    // What is wrong with one of several clusters (too few devices for what is offered) is no error.
    if (!any)
      session.diagnostics().dropErrors(before);
    session.chooseCluster(clusters.at(point));
    works.push_back(placedWork(session, machine, *objective, unfit));
    any |= works.back() != nullptr;
    if (any)
      session.diagnostics().dropErrors(before);
  }
  if (any)
    return works;
  for (const Issue &issue : unfit)
    session.report(issue);
  return {};
}

MinedStep minedStep(const std::string &job, int64_t batch, const PlacedBest &best) {
  MinedPlacement how;
  const PlacementProblem::Form &form = best.form;
  how.devices = best.worth.devices;
  how.tensor = form.tensor, how.sequence = form.sequence, how.data = form.data;
  how.chunks = best.plan->chunks;
  how.pipeline = static_cast<int64_t>(best.plan->stages.size()) / how.chunks;
  how.microbatch = form.microbatch, how.microbatches = best.plan->microbatches;
  how.zero = form.zero;
  how.schedule = name(best.plan->schedule);
  how.recomputes = best.recomputes;
  int64_t bytes = 0;
  for (int64_t one : best.worth.memory)
    bytes = std::max(bytes, one);
  std::string again;
  for (const auto &[policy, layers] : how.recomputes)
    if (policy != "none")
      again += fmt::format(", recompute {} in {} layer{}", policy, layers, layers == 1 ? "" : "s");
  MinedStep step;
  step.job = job;
  step.way = fmt::format("tensor {}{}, pipeline {}, data {}, micro-batch {}{}", how.tensor,
                         how.sequence ? " with sequence" : "", how.pipeline, how.data,
                         how.microbatch, again);
  step.batch = batch;
  step.step = static_cast<double>(best.worth.step) * 1e-12;
  step.joules = best.worth.joules;
  step.bytes = static_cast<double>(bytes);
  step.value = best.value;
  step.placement = std::move(how);
  return step;
}

bool writeMinedPlacement(Session &session, const Machine &machine, const PlacedBest &mined,
                         MiningMetric metric, const std::string &folder) {
  if (!session.useDevice(machine, objectiveIn(metric)))
    return false;
  session.search.known = [&](const PlacementProblem &problem) { return knownIn(problem, mined); };
  auto plan = session.placement();
  session.search.known = nullptr;
  if (!plan)
    return false;
  PlacementProof brief; // as `accord compile`: all of the bound is for `accord verify`
  brief.effort /= 20;
  Verification proof = verifyPlacement(*plan, brief);
  for (const Issue &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {},
                                "the placement does not verify: " + finding.message);
  // Where the search left it open, the plan may be better.
  auto took = plan->result.worth.step, step = mined.worth.step;
  bool proven = mined.bound >= mined.value && metric != MiningMetric::TdpTime;
  if (proof.holds() && (!plan->result.plan || (proven && took != step)))
    session.diagnostics().error(
        Code::InternalError, {},
        fmt::format("the placement takes {} ps, that of the search {} ps", took, step));
  if (session.diagnostics().hasErrors())
    return false;
  PlacementReportOptions report;
  report.sequence = session.sequence();
  if (auto issue = writePlacement(folder, *plan, report)) {
    session.report(*issue);
    return false;
  }
  return true;
}

std::string placementConflict(Session &session, const Machine &most, MiningMetric metric,
                              SourceLocation &at) {
  if (session.diagnostics().hasErrors() || !session.useDevice(most, objectiveIn(metric)))
    return "";
  auto plan = session.placement();
  if (!plan || plan->result.plan || plan->conflicts.empty())
    return "";
  std::vector<std::string> names;
  for (const Conflict &conflict : plan->conflicts)
    names.push_back(conflict.constraint);
  const Conflict &first = plan->conflicts.front();
  at = {first.file, first.line, 0};
  std::string text =
      fmt::format("{}, where devices have the most of everything", fmt::join(names, " with "));
  if (!plan->relaxations.empty())
    text += fmt::format("; {} would do", plan->relaxations.front());
  return text;
}

} // namespace accord
