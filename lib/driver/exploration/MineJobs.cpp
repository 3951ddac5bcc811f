#include "lib/driver/exploration/MineJobs.h"
#include "lib/driver/Session.h"
#include "lib/driver/exploration/MinePlacement.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/exploration/steps/DesignObjective.h"
#include "lib/exploration/steps/StepBottlenecks.h"
#include "lib/exploration/steps/StepMemory.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/language/requests/Objective.h"
#include "lib/support/documents/TextStyle.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord {
int MineJobs::prepare() {
  for (const std::string &file : options_.files) {
    Options &one = *own_.emplace_back(std::make_unique<Options>(options_.session));
    one.file = file;
    one.elaborate.mines = one.elaborate.clusters = one.elaborate.placement = true;
    Session &session = *sessions_.emplace_back(std::make_unique<Session>(one));
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
  SingleDeviceRequest request = session.request();
  MiningJob &job = jobs_.emplace_back();
  placed_.emplace_back();
  clusters_.emplace_back();
  // Each has a file of its own name.
  job.name = session.job().name;
  auto taken = [&](const std::string &name) {
    return name == "best" ||
           std::any_of(jobs_.begin(), jobs_.end() - 1, [&](const MiningJob &one) { return one.name == name; });
  };
  for (int number = 2; taken(job.name); ++number)
    job.name = fmt::format("{}_{}", session.job().name, number);
  job.batch = request.batch;
  if (!options_.weights.empty())
    job.weight = options_.weights[jobs_.size() - 1];
  if (session.target().minesCluster() && session.target().spaceName() != space_->name()) {
    session.diagnostics()
        .error(Code::NotSupported, session.job().targetAt,
               fmt::format("'{}' is mined, but the devices of this cluster are '{}'", space_->name(),
                           session.target().spaceName()))
        .help("let all files train on devices of one accelerator");
    return false;
  }
  return session.target().minesCluster() ? addPlaced(session) : addAlternatives(session, job.alternatives);
}

bool MineJobs::addPlaced(Session &session) {
  auto named = [](const std::vector<DesignParameter> &parameters) {
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (const DesignParameter &parameter : parameters)
      all.push_back({parameter.name, parameter.labels});
    return all;
  };
  if (named(session.target().clusters()->parameters()) != named(space_->clusterParameters())) {
    session.diagnostics()
        .error(Code::NotSupported, session.job().targetAt,
               fmt::format("not supported yet: '{}' and '{}' are mined together, and leave "
                           "different numbers of their clusters open",
                           jobs_.front().name, jobs_.back().name))
        .help("let all files train on one cluster, or state the numbers");
    return false;
  }
  auto works = placedWorks(session, *space_, metric_);
  for (const auto &work : works)
    if (work && !placed_.back())
      placed_.back() = work;
  if (works.size() > 1)
    clusters_.back() = std::move(works);
  return placed_.back() != nullptr;
}

Design MineJobs::clusterOf(const Design &design) const {
  return {design.end() - static_cast<ptrdiff_t>(space_->clusterParameters().size()), design.end()};
}

std::vector<std::shared_ptr<const PlacedWork>> MineJobs::placements(size_t job) const {
  return clusters_[job].empty() ? std::vector{placed_[job]} : clusters_[job];
}

const PlacedWork *MineJobs::placements(size_t job, const Design &design) const {
  if (clusters_[job].empty())
    return placed_[job].get();
  return clusters_[job][ClusterPoints(space_->clusterParameters()).of(design)].get();
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
  if (!alternatives.empty())
    return true;
  session.diagnostics().error(
      Code::BatchNotDivisible, session.job().microbatchAt,
      fmt::format("no micro-batch size in the search space divides the batch of {}", request.batch));
  return false;
}

std::vector<size_t> MineJobs::all() const {
  std::vector<size_t> all(jobs_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

std::vector<std::vector<LimitShare>> MineJobs::limits(MiningProblem &problem, const Design &design) {
  std::vector<std::vector<LimitShare>> limits(jobs_.size());
  auto made = space_->machine(design);
  auto *steps = dynamic_cast<StepProblem *>(&problem);
  auto *machine = made.get();
  for (size_t j = 0; steps && machine && j < jobs_.size(); ++j)
    if (auto step = steps->step(j, design))
      limits[j] = stepLimits(*jobs_[j].alternatives[step->alternative].work, *machine);
  return limits;
}

std::vector<std::vector<CoreDelay>> MineJobs::delays(MiningProblem &problem, const Design &design) {
  std::vector<std::vector<CoreDelay>> delays(jobs_.size());
  auto made = space_->machine(design);
  auto *steps = dynamic_cast<StepProblem *>(&problem);
  auto *machine = made.get();
  for (size_t j = 0; steps && machine && j < jobs_.size(); ++j)
    if (auto step = steps->step(j, design))
      if (auto plan = jobs_[j].alternatives[step->alternative].work->planned(*machine)) {
        delays[j] = coreDelays(*plan);
        std::erase_if(delays[j], [](const CoreDelay &one) { return one.operations == 0; });
      }
  return delays;
}

std::string MineJobs::unfit(MiningProblem &problem, const Design &design) {
  auto made = space_->machine(design);
  auto *machine = made.get();
  for (size_t j = 0; machine && !machine->memories.empty() && j < jobs_.size(); ++j) {
    if (placed_[j]) {
      if (!stepOf(problem, j, j, design))
        return fmt::format("no placement of '{}' fits", jobs_[j].name);
      continue;
    }
    auto *steps = dynamic_cast<StepProblem *>(&problem);
    if (auto step = steps ? steps->step(j, design) : std::nullopt; steps && (!step || !step->fits))
      return fmt::format("'{}' does not fit into '{}'", jobs_[j].name, machine->memories[0].name);
  }
  return "no step";
}

std::unique_ptr<MiningProblem> MineJobs::problemOf(const std::vector<size_t> &of, ObjectiveAggregation aggregation,
                                                   bool anew, unsigned effort) {
  std::vector<MiningJob> jobs;
  std::vector<PlacedMiningJob> shares;
  bool placed = false;
  for (size_t j : of) {
    MiningJob job = jobs_[j];
    for (MiningAlternative &alternative : job.alternatives)
      if (anew)
        alternative.work = std::make_shared<StepWork>(alternative.work->graph());
    jobs.push_back(job);
    PlacedMiningJob share{placed_[j], nullptr, job.weight, job.best, job.batch, clusters_[j]};
    job.weight = 1;           // its share has it
    if (placed_[j] && anew) { // as before: it is no error now
      auto works = placedWorks(session(j), *space_, metric_);
      for (const auto &work : works)
        if (share.work == placed_[j] && work)
          share.work = work;
      if (works.size() > 1)
        share.clusters = std::move(works);
    }
    if (!placed_[j])
      share.alone = std::make_shared<StepProblem>(*space_, std::vector<MiningJob>{job}, metric_);
    shares.push_back(std::move(share));
    placed |= placed_[j] != nullptr;
  }
  if (placed)
    return std::make_unique<PlacedProblem>(*space_, std::move(shares), metric_, aggregation);
  return std::make_unique<StepProblem>(*space_, std::move(jobs), metric_, aggregation, effort);
}

std::optional<MinedStep> MineJobs::stepOf(MiningProblem &problem, size_t i, size_t j, const Design &design) {
  const MiningJob &job = jobs_[j];
  if (placed_[j]) {
    auto best = static_cast<PlacedProblem &>(problem).placed(i, design);
    return best ? std::optional(minedStep(job.name, job.batch, *best)) : std::nullopt;
  }
  std::optional<StepValue> step;
  if (auto *steps = dynamic_cast<StepProblem *>(&problem))
    step = steps->step(i, design);
  else
    step = StepProblem(*space_, {job}, metric_).step(0, design);
  if (!step)
    return std::nullopt;
  return MinedStep{job.name,
                   job.alternatives[step->alternative].label,
                   job.batch,
                   step->step,
                   step->joules,
                   step->bytes,
                   step->value,
                   0,
                   {}};
}

MinedDesign MineJobs::designed(const std::string &name, MiningProblem &problem, const std::vector<size_t> &of,
                               const Design &design) {
  MinedDesign mined;
  mined.name = name;
  auto machine = space_->machine(design);
  if (auto *known = machine.get())
    mined.machine = std::move(*known);
  for (size_t i = 0; i < design.size(); ++i)
    mined.chosen.push_back(space_->parameters()[i].labels[design[i]]);
  std::string text, clusters;
  for (size_t i = 0; i < of.size(); ++i) {
    auto step = stepOf(problem, i, of[i], design);
    if (!step)
      continue;
    step->ownBest = of.size() > 1 ? jobs_[of[i]].best : 0;
    step->weight = jobs_[of[i]].weight;
    text += fmt::format("/// {}: {:.6g} s a step of {}, {}.\n", step->job, step->step, step->batch, step->alternative);
    mined.steps.push_back(std::move(*step));
    std::string cluster = sessions_[of[i]]->target().clusterText(clusterOf(design));
    if (!cluster.empty() && clusters.find(cluster) == std::string::npos)
      clusters += "\n" + cluster;
  }
  mined.text = text + space_->text(design) + clusters;
  return mined;
}

void MineJobs::explain(MiningPlan &plan) {
  DesignBox all = wholeOf(space_->parameters());
  if (auto violatedRequirement = space_->violatedRequirement(all)) {
    plan.conflict = "'" + space_->requirements()[*violatedRequirement].text + "'";
    plan.conflictAt = space_->requirements()[*violatedRequirement].location;
    return;
  }
  auto max = space_->best(all);
  auto *machine = max.get();
  if (!machine || machine->memories.empty())
    return;
  if (metric_ == MiningMetric::TdpTime && !(machine->tdp.value > 0))
    plan.conflict = "what tdp_time needs: state 'technology', or 'tdp' of its power";
  if (metric_ == MiningMetric::AreaTime && !(machine->area.value > 0))
    plan.conflict = "what area_time needs: state 'area'";
  if (metric_ == MiningMetric::Expression && !space_->measures(*machine))
    plan.conflict = fmt::format("what '{}' needs: state 'area', or 'technology' for design power", space_->metric());
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const MiningJob &job = jobs_[j];
    if (placed_[j] && plan.conflict.empty()) {
      std::string reason = placementConflict(*sessions_[j], *machine, metric_, plan.conflictAt);
      if (!reason.empty())
        plan.conflict = fmt::format("limits of '{}': {}", job.name, reason);
    }
    if (placed_[j])
      continue;
    double min = INFINITY, room = machine->memories[0].capacity.value;
    for (const MiningAlternative &alternative : job.alternatives)
      min = std::min(min, minPeakMemory(alternative.work->graph()));
    if (min > room)
      plan.conflict = fmt::format("'{}' in device memory: {} at least, '{}' has {} at most", job.name, formatBytes(min),
                                  machine->memories[0].name, formatBytes(room));
  }
}

std::optional<MinedDesign> MineJobs::on(const std::string &machine, int &status) {
  MinedDesign design;
  if (metric_ == MiningMetric::Expression && space_->measuresParts()) {
    first()
        .diagnostics()
        .error(Code::NotSupported, {},
               fmt::format("not supported yet: '{}' is about '{}' alone, it is not known of '{}'", space_->metric(),
                           space_->name(), machine))
        .help("leave out --reference");
    status = first().finish(kWrongInput, "mine");
    return std::nullopt;
  }
  for (size_t j = 0; j < options_.files.size(); ++j) {
    if (placed_[j]) {
      Session &session = *sessions_[j];
      session.diagnostics()
          .error(Code::NotSupported, session.job().objectiveAt,
                 fmt::format("not supported yet: '{}' is placed on a cluster, and only one device can be "
                             "compared with '{}'",
                             jobs_[j].name, machine))
          .help("leave out --reference");
      status = session.finish(kWrongInput, "mine");
      return std::nullopt;
    }
    Options one = options_.session;
    one.file = options_.files[j];
    one.elaborate.target = machine;
    Session session(one);
    std::vector<MiningAlternative> alternatives;
    if (!session.prepare() || !addAlternatives(session, alternatives)) {
      status = session.finish(kWrongInput, "mine");
      return std::nullopt;
    }
    design.machine = session.machine();
    design.name = design.machine.name;
    std::optional<MinedStep> best;
    DesignBox first{space_->at(0), space_->at(0)}; // no number of it is in the metric: see above
    for (const MiningAlternative &alternative : alternatives) {
      StepValue value = alternative.work->value(design.machine);
      MeasuredStep step{value.step, value.joules, jobs_[j].batch};
      double objective =
          DesignObjective{metric_, ObjectiveAggregation::Sum, space_.get()}.of(first, design.machine, step);
      if (value.fits && std::isfinite(objective) && (!best || objective < best->value))
        best = {
            jobs_[j].name, alternative.label, jobs_[j].batch, value.step, value.joules, value.bytes, objective, 0, {}};
    }
    if (best)
      design.steps.push_back(std::move(*best));
  }
  return design;
}

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
