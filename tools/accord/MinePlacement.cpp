#include "tools/accord/MinePlacement.h"
#include "lib/emit/PlacementFolder.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/PlacementPins.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

DesignBox wholeOf(const DesignSpace &space) {
  DesignBox all;
  for (const DesignParameter &parameter : space.parameters()) {
    all.low.push_back(0);
    all.high.push_back(static_cast<uint32_t>(parameter.spelled.size() - 1));
  }
  return all;
}

Objective objectiveIn(MiningMetric metric) {
  return metric == MiningMetric::TdpTime ? Objective::TdpTime : Objective::StepTime;
}

/// Limits but that of memory have to be the same on every design.
bool sameLimits(Session &session, const Machine &most, const Machine &least) {
  std::vector<PlacementLimit> a = session.program().limitsOn(session.job(), most),
                              b = session.program().limitsOn(session.job(), least);
  bool same = !session.diagnostics().hasErrors();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].of == PlacementLimit::Of::Memory ? a[i].most < b[i].most : a[i].most != b[i].most) {
      session.diagnostics()
          .error(Code::NotSupported, a[i].at,
                 fmt::format("not supported yet: '{}' is another limit on every design",
                             session.diagnostics().sources().text(a[i].at).str()))
          .help("state the limit as a number");
      same = false;
    }
  return same;
}

} // namespace

std::shared_ptr<const PlacedWork> placedWork(Session &session, const DesignSpace &space,
                                             MiningMetric metric) {
  auto objective = objectiveOf(metric);
  if (!objective) {
    session.diagnostics()
        .error(Code::NotSupported, session.job().objectiveAt,
               fmt::format("not supported yet: mining the devices of a cluster for least {}",
                           name(metric)))
        .help("--metric step_time, tdp_time or area_time");
    return nullptr;
  }
  DesignBox all = wholeOf(space);
  auto most = space.best(all);
  if (auto *issue = std::get_if<Issue>(&most)) {
    session.report(*issue);
    return nullptr;
  }
  const Machine &machine = std::get<Machine>(most);
  auto first = space.machine(all.low);
  auto *least = std::get_if<Machine>(&first);
  if (!sameLimits(session, machine, least ? *least : machine))
    return nullptr;
  if (!session.useDevice(machine, Objective::StepTime))
    return nullptr;
  PlacedJob job;
  job.name = session.job().name;
  std::vector<std::string> assumptions;
  auto request = session.placementRequest(assumptions);
  if (!request)
    return nullptr;
  job.request = std::move(*request);
  job.request.objective = *objective;
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
    for (const Issue &issue : *issues)
      session.report(issue);
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<PlacedWork>>(made));
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

bool writeMinedPlacement(Session &session, const MinedDesign &design, const MinedStep &step,
                         MiningMetric metric, const std::string &folder) {
  if (!session.useDevice(design.machine, objectiveIn(metric)))
    return false;
  auto plan = session.placement();
  if (!plan)
    return false;
  PlacementProof brief; // as `accord compile`: all of the bound is for `accord verify`
  brief.effort /= 20;
  Verification proof = verifyPlacement(*plan, brief);
  for (const Issue &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {},
                                "the placement does not verify: " + finding.message);
  bool tdp = metric == MiningMetric::TdpTime;
  double found = tdp ? plan->result.value : static_cast<double>(plan->result.worth.step) * 1e-12,
         mined = tdp ? step.value : step.step;
  if (proof.holds() && found != mined)
    session.diagnostics().error(
        Code::InternalError, {},
        fmt::format("the placement is worth {}, that of the search {}", found, mined));
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
    names.push_back("'" + conflict.constraint + "'");
  const Conflict &first = plan->conflicts.front();
  at = {first.file, first.line, 0};
  std::string text = fmt::format("{}", fmt::join(names, " and "));
  if (!plan->relaxations.empty())
    text += fmt::format(" with the most of everything; {}", plan->relaxations.front());
  return text;
}

} // namespace accord
