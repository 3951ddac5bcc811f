#include "lib/driver/exploration/MineJobs.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/exploration/MinePlacement.h"
#include "lib/driver/exploration/MineZeros.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/exploration/output/MiningFolder.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/exploration/steps/DesignObjective.h"
#include "lib/exploration/steps/StepBottlenecks.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/steps/StepZeros.h"
#include "lib/language/requests/Objective.h"
#include "lib/planning/analysis/MinPeakMemory.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
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

/// As the command line says, else the file of the session; an expression is what the space measures from now on.
/// Nothing after errors.
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

/// What one job takes on a design of one device.
MinedStep minedStep(const MiningJob &job, const std::string &alternative, const StepValue &value) {
  return {job.name, alternative, job.batch, value.step, value.joules, value.bytes, value.value};
}

} // namespace

int MineJobs::prepare(const SolverMonitor &monitor) {
  for (const std::string &file : options_.files) {
    Options &one = *own_.emplace_back(std::make_unique<Options>(options_.session));
    one.file = file;
    one.elaborate.mines = one.elaborate.clusters = one.elaborate.placement = true;
    Session &session = *sessions_.emplace_back(std::make_unique<Session>(one));
    session.search = {{0, monitor.stop()}, [&monitor] { return monitor.reason(); }};
    if (!session.prepare())
      return session.finish(kWrongInput, "mine");
    if (&session == &first()) {
      auto space = session.target().designSpace();
      if (!space)
        return session.finish(kWrongInput, "mine");
      space_ = std::make_unique<DesignSpace>(std::move(*space));
      auto metric = minedMetric(options_, session, *space_);
      if (!metric)
        return session.finish(kWrongInput, "mine");
      metric_ = *metric;
    }
    if (!addJob(session))
      return session.finish(kWrongInput, "mine");
  }
  return kDone;
}

/// The job, for each micro-batch and recomputation that it offers.
bool MineJobs::addJob(Session &session) {
  MiningJob &job = jobs_.emplace_back();
  works_.emplace_back();
  // Each has a file of its own name.
  job.name = session.job().name;
  auto taken = [&] {
    return job.name == "best" ||
           std::any_of(jobs_.begin(), jobs_.end() - 1, [&](const MiningJob &one) { return one.name == job.name; });
  };
  for (int number = 2; taken(); ++number)
    job.name = fmt::format("{}_{}", session.job().name, number);
  job.batch = session.request().batch;
  if (!options_.weights.empty())
    job.weight = options_.weights[jobs_.size() - 1];
  if (!session.target().minesCluster())
    return addAlternatives(session, job.alternatives) && addZeros(session, job.alternatives);
  if (session.program().sparsity(session.job()))
    assumptions_.push_back(fmt::format(
        "nothing is zero: designs of a cluster are mined without what 'sparsity for {}' asks for", session.job().name));
  auto refused = [&](const std::string &message, const char *help) {
    session.diagnostics().error(Code::NotSupported, session.job().targetAt, message).help(help);
    return false;
  };
  if (session.target().spaceName() != space_->name())
    return refused(fmt::format("'{}' is mined, but the devices of this cluster are '{}'", space_->name(),
                               session.target().spaceName()),
                   "let all files train on devices of one accelerator");
  if (!llvm::equal(
          session.target().clusters()->parameters(), space_->clusterParameters(),
          [](const DesignParameter &a, const DesignParameter &b) { return a.name == b.name && a.labels == b.labels; }))
    return refused(fmt::format("not supported yet: '{}' and '{}' are mined together, and leave different numbers of "
                               "their clusters open",
                               jobs_.front().name, job.name),
                   "let all files train on one cluster, or state the numbers");
  works_.back() = placedWorks(session, *space_, metric_);
  return placed(jobs_.size() - 1);
}

Design MineJobs::clusterOf(const Design &design) const {
  return {design.end() - static_cast<ptrdiff_t>(space_->clusterParameters().size()), design.end()};
}

const PlacedWork *MineJobs::placements(size_t job, const Design &design) const {
  const ClusterSpace *clusters = sessions_[job]->target().clusters();
  return placed(job) ? works_[job][clusters->points().of(design)].get() : nullptr;
}

void MineJobs::chooseCluster(size_t job, const Design &design) {
  sessions_[job]->target().chooseCluster(clusterOf(design));
}

bool MineJobs::addAlternatives(Session &session, std::vector<MiningAlternative> &alternatives) {
  SingleDeviceRequest request = session.request();
  for (int64_t microbatch : request.microbatches)
    for (const std::string &policy : request.recomputes) {
      if (request.batch % microbatch != 0)
        continue;
      auto work = request.instantiate(microbatch, request.batch / microbatch, policy);
      if (!work) {
        session.report(work.error());
        return false;
      }
      alternatives.push_back(
          {fmt::format("micro-batch {}{}", microbatch, policy == "none" ? "" : ", recompute " + policy),
           std::make_shared<StepWork>(std::move(*work))});
    }
  if (alternatives.empty())
    session.diagnostics().error(
        Code::BatchNotDivisible, session.job().microbatchAt,
        fmt::format("no micro-batch size in the search space divides the batch of {}", request.batch));
  return !alternatives.empty();
}

/// Of each alternative the same with each choice of zeros.
bool MineJobs::addZeros(Session &session, std::vector<MiningAlternative> &alternatives) {
  auto zeros = zeroChoicesOf(session, *space_);
  if (!zeros)
    return false;
  llvm::append_range(assumptions_, zeros->assumptions);
  const size_t dense = alternatives.size();
  for (size_t a = 0; a < dense; ++a)
    for (const StepZeros &choice : zeros->choices) {
      auto work = withZeros(alternatives[a].work->graph(), choice);
      if (!work) {
        session.report(work.error());
        return false;
      }
      alternatives.push_back({fmt::format("{}, {}", alternatives[a].label, zerosText(choice.layers)),
                              std::make_shared<StepWork>(std::move(*work), std::vector<double>{}, choice), a});
    }
  return true;
}

std::vector<JobLimits> MineJobs::limits(MiningProblem &problem, const Design &design) {
  std::vector<JobLimits> limits;
  auto machine = space_->machine(design);
  auto *steps = dynamic_cast<StepProblem *>(&problem);
  for (size_t j = 0; j < jobs_.size(); ++j) {
    JobLimits &of = limits.emplace_back();
    of.job = jobs_[j].name;
    auto step = steps && machine ? steps->step(j, design) : std::nullopt;
    auto plan = step ? jobs_[j].alternatives[step->alternative].work->planned(*machine) : std::nullopt;
    if (!plan)
      continue;
    of.shares = stepLimits(*plan);
    of.delays = coreDelays(*plan);
    std::erase_if(of.delays, [](const CoreDelay &one) { return one.operations == 0; });
  }
  return limits;
}

std::string MineJobs::unfit(MiningProblem &problem, const Design &design) {
  auto machine = space_->machine(design);
  auto *steps = dynamic_cast<StepProblem *>(&problem);
  for (size_t j = 0; machine && !machine->memories.empty() && j < jobs_.size(); ++j) {
    if (placed(j)) {
      if (!stepOf(problem, j, j, design))
        return fmt::format("no placement of '{}' fits", jobs_[j].name);
    } else if (auto step = steps ? steps->step(j, design) : std::nullopt; steps && (!step || !step->fits)) {
      return fmt::format("'{}' does not fit into '{}'", jobs_[j].name, machine->memories[0].name);
    }
  }
  return "no step";
}

std::unique_ptr<MiningProblem> MineJobs::problemOf(const std::vector<size_t> &of, ObjectiveAggregation aggregation,
                                                   bool anew, unsigned effort) {
  std::vector<MiningJob> jobs;
  std::vector<PlacedMiningJob> shares;
  for (size_t j : of) {
    MiningJob &job = jobs.emplace_back(jobs_[j]);
    for (MiningAlternative &alternative : job.alternatives)
      if (anew)
        alternative.work =
            std::make_shared<StepWork>(alternative.work->graph(), std::vector<double>{}, alternative.work->zeros());
    PlacedMiningJob &share = shares.emplace_back(works_[j], nullptr, job.weight, job.best, job.batch);
    if (placed(j) && anew) { // as before: it is no error now
      if (PlacedWorks works = placedWorks(session(j), *space_, metric_); !works.empty())
        share.clusters = std::move(works);
    } else if (!placed(j)) {
      MiningJob alone = job;
      alone.weight = 1; // its share has it
      share.alone = std::make_shared<StepProblem>(*space_, std::vector{alone}, metric_);
    }
  }
  if (llvm::any_of(of, [&](size_t j) { return placed(j); }))
    return std::make_unique<PlacedProblem>(*space_, std::move(shares), metric_, aggregation,
                                           sessions_[of.front()]->target().clusters());
  return std::make_unique<StepProblem>(*space_, std::move(jobs), metric_, aggregation, effort);
}

bool MineJobs::hasZeros() const {
  return llvm::any_of(jobs_, [](const MiningJob &job) {
    return llvm::any_of(job.alternatives, [](const MiningAlternative &one) { return one.dense.has_value(); });
  });
}

std::unique_ptr<MiningProblem> MineJobs::denseProblem(ObjectiveAggregation aggregation) const {
  std::vector<MiningJob> jobs = jobs_;
  for (MiningJob &job : jobs)
    llvm::erase_if(job.alternatives, [](const MiningAlternative &one) { return one.dense.has_value(); });
  return std::make_unique<StepProblem>(*space_, std::move(jobs), metric_, aggregation);
}

std::optional<MinedStep> MineJobs::stepOf(MiningProblem &problem, size_t i, size_t j, const Design &design) {
  const MiningJob &job = jobs_[j];
  if (placed(j)) {
    auto best = static_cast<PlacedProblem &>(problem).placed(i, design);
    return best ? std::optional(minedStep(job.name, job.batch, *best)) : std::nullopt;
  }
  auto *steps = dynamic_cast<StepProblem *>(&problem);
  auto step = steps ? steps->step(i, design) : StepProblem(*space_, {job}, metric_).step(0, design);
  if (!step)
    return std::nullopt;
  const MiningAlternative &alternative = job.alternatives[step->alternative];
  MinedStep mined = minedStep(job, alternative.label, *step);
  mined.zeros = alternative.work->zeros().layers;
  return mined;
}

MinedDesign MineJobs::designed(const std::string &name, MiningProblem &problem, const std::vector<size_t> &of,
                               const Design &design) {
  MinedDesign mined;
  mined.name = name;
  if (auto machine = space_->machine(design))
    mined.machine = std::move(*machine);
  mined.chosen = labelsOf(space_->parameters(), design);
  std::vector<std::string> clusters;
  for (size_t i = 0; i < of.size(); ++i) {
    auto step = stepOf(problem, i, of[i], design);
    if (!step)
      continue;
    step->ownBest = of.size() > 1 ? jobs_[of[i]].best : 0;
    step->weight = jobs_[of[i]].weight;
    mined.steps.push_back(std::move(*step));
    clusters.push_back(sessions_[of[i]]->target().clusterText(clusterOf(design)));
  }
  mined.text = designText(*space_, design, mined.steps, clusters);
  return mined;
}

std::optional<Conflict> MineJobs::conflict() {
  DesignBox all = wholeOf(space_->parameters());
  if (auto violated = space_->violatedRequirement(all)) {
    const DesignRequirement &requirement = space_->requirements()[*violated];
    return Conflict{"'" + requirement.text + "'", requirement.location.file, requirement.location.line, ""};
  }
  auto machine = space_->best(all);
  if (!machine || machine->memories.empty())
    return std::nullopt;
  Conflict found;
  if (metric_ == MiningMetric::TdpTime && !(machine->tdp.value > 0))
    found.constraint = "what tdp_time needs: state 'technology', or 'tdp' of its power";
  if (metric_ == MiningMetric::AreaTime && !(machine->area.value > 0))
    found.constraint = "what area_time needs: state 'area'";
  if (metric_ == MiningMetric::Expression && !space_->measures(*machine))
    found.constraint = fmt::format("what '{}' needs: state 'area', or 'technology' for design power", space_->metric());
  const Memory &memory = machine->memories[0];
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const MiningJob &job = jobs_[j];
    if (placed(j)) {
      auto limits = found.constraint.empty() ? placementConflict(*sessions_[j], *machine, metric_) : std::nullopt;
      if (limits) {
        found = *limits;
        found.constraint = fmt::format("limits of '{}': {}", job.name, limits->constraint);
      }
      continue;
    }
    double min = INFINITY;
    for (const MiningAlternative &alternative : job.alternatives)
      min = std::min(min, minPeakMemory(alternative.work->graph()));
    if (min > memory.capacity.value)
      found.constraint = fmt::format("'{}' in device memory: {} at least, '{}' has {} at most", job.name,
                                     formatBytes(min), memory.name, formatBytes(memory.capacity.value));
  }
  return found.constraint.empty() ? std::nullopt : std::optional(found);
}

std::optional<MinedDesign> MineJobs::on(const std::string &machine, int &status) {
  MinedDesign design;
  auto stopped = [&](Session &session) {
    status = session.finish(kWrongInput, "mine");
    return std::nullopt;
  };
  auto refused = [&](Session &session, SourceRange at, const std::string &what) {
    session.diagnostics().error(Code::NotSupported, at, "not supported yet: " + what).help("leave out --reference");
    return stopped(session);
  };
  if (metric_ == MiningMetric::Expression && space_->figures().parts)
    return refused(
        first(), {},
        fmt::format("'{}' is about '{}' alone, it is not known of '{}'", space_->metric(), space_->name(), machine));
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const MiningJob &job = jobs_[j];
    if (placed(j))
      return refused(
          session(j), session(j).job().objectiveAt,
          fmt::format("'{}' is placed on a cluster, and only one device can be compared with '{}'", job.name, machine));
    Options one = options_.session;
    one.file = options_.files[j];
    one.elaborate.target = machine;
    Session session(one);
    std::vector<MiningAlternative> alternatives;
    if (!session.prepare() || !addAlternatives(session, alternatives))
      return stopped(session);
    design.machine = session.machine();
    design.name = design.machine.name;
    std::optional<MinedStep> best;
    DesignBox first{space_->at(0), space_->at(0)}; // no number of it is in the metric: see above
    for (const MiningAlternative &alternative : alternatives) {
      StepValue value = alternative.work->value(design.machine);
      value.value = DesignObjective{metric_, ObjectiveAggregation::Sum, space_.get()}.of(
          first, design.machine, {value.step, value.joules, job.batch});
      if (value.fits && std::isfinite(value.value) && (!best || value.value < best->value))
        best = minedStep(job, alternative.label, value);
    }
    if (best)
      design.steps.push_back(std::move(*best));
  }
  return design;
}

} // namespace accord
