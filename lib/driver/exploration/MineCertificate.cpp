#include "lib/driver/exploration/MineCertificate.h"
#include "lib/driver/certificates/ExplorationCertificate.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/steps/StepZeros.h"
#include "lib/exploration/verify/CertificatePoints.h"
#include "lib/exploration/verify/ZeroProof.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

bool proves(const MiningResult &result) { return result.strategy == "exact" || result.strategy == "exhaustive"; }

CertificateAnswer claimed(const std::string &name, std::vector<size_t> jobs, const MiningResult &result) {
  return {name, std::move(jobs), result.best, result.best ? result.value : INFINITY, result.bound, {}};
}

/// What a verifier is told of a job on one of its clusters.
std::string textOf(const CertificateCluster &cluster) {
  CertificateJob job;
  job.clusters.push_back(cluster);
  return jsonLine(toDocument(job, [](JsonFields &f, CertificateJob &of) { describeClusters(f, of, 1); }));
}

class Certifier {
public:
  Certifier(const std::string &folder, MineJobs &jobs, unsigned effort, const MiningPlan &plan, Diagnostics &diags,
            bool stopped)
      : folder_(folder), mined_(jobs), space_(jobs.space()), jobs_(jobs.jobs()), metric_(jobs.metric()),
        effort_(effort), plan_(plan), diags_(diags), stopped_(stopped) {}

  bool write() {
    if (!proves(plan_.best.result) || plan_.best.result.refused)
      return true;
    gather();
    if (!makeFolder(diags_, folder_ + "/certificate") || !addSurvivors())
      return false;
    if (!writeFile(diags_, folder_ + "/" + kMiningCertificate, jsonText(toJson(certificate_)) + "\n") ||
        !writeFile(diags_, folder_ + "/" + kMiningSpace, certificate_.space))
      return false;
    for (const CertificateAnswer &answer : certificate_.answers)
      for (size_t i = 0; i < answer.jobs.size() && answer.winner; ++i)
        if (!mined_.placed(answer.jobs[i]) && !writeWinner(answer, answer.jobs[i]))
          return false;
    return true;
  }

private:
  void gather() {
    certificate_.space = space_.source();
    certificate_.metric = plan_.metric, certificate_.aggregation = plan_.aggregation;
    certificate_.version = kVersion;
    certificate_.parameters = space_.parameters();
    certificate_.clusterParameters = space_.clusterParameters().size();
    for (const MiningJob &job : jobs_) {
      CertificateJob &mine = certificate_.jobs.emplace_back(job.name, job.batch, job.weight, job.best);
      for (const MiningAlternative &alternative : job.alternatives) {
        CertificateAlternative &one = mine.alternatives.emplace_back(alternative.label, alternative.work->graph());
        if (!alternative.dense)
          continue;
        one.dense = alternative.dense, one.zeros = alternative.work->zeros();
        for (const MinedZeros &zeros : one.zeros.layers) // what is wrong of them a verifier says
          if (auto shares = sharesOfPattern(mine.alternatives[*one.dense].graph, zeros, one.zeros.core))
            one.shares.push_back(*shares);
      }
    }
    listClusters();
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (const ClusterSpace *clusters = mined_.session(j).target().clusters(); clusters && mined_.placed(j)) {
        for (const Design &choices : certificate_.listedClusters)
          certificate_.jobs[j].descriptions.push_back(mined_.session(j).target().clusterText(choices));
        for (size_t point = 0; point < clusters->points().count() && certificate_.listedClusters.empty(); ++point)
          certificate_.jobs[j].descriptions.push_back(
              mined_.session(j).target().clusterText(clusters->points().at(point)));
      }
    for (size_t j = 0; j < plan_.own.size(); ++j)
      certificate_.answers.push_back(claimed(jobs_[j].name, {j}, plan_.own[j].result));
    certificate_.answers.push_back(
        claimed(jobs_.size() > 1 ? "common" : jobs_.front().name, mined_.all(), plan_.best.result));
  }

  /// Of clusters with relaxed choices those of the answers' designs.
  void listClusters() {
    const ClusterSpace *clusters = nullptr;
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (mined_.placed(j))
        clusters = mined_.session(j).target().clusters();
    if (!clusters || !clusters->points().isListed())
      return;
    auto add = [&](const std::optional<Design> &design) {
      Design own = clusters->points().at(0);
      if (design)
        own.assign(design->end() - static_cast<ptrdiff_t>(own.size()), design->end());
      if (!llvm::is_contained(certificate_.listedClusters, own))
        certificate_.listedClusters.push_back(std::move(own));
    };
    for (const MinedAnswer &one : plan_.own)
      add(one.result.best);
    add(plan_.best.result.best);
  }

  /// What the search finds for the designs that a verifier does not rule out by itself.
  bool addSurvivors() {
    auto read = MiningSpace::read(certificate_.space);
    auto *machines = std::get_if<std::unique_ptr<MiningSpace>>(&read);
    std::vector<std::string> paths;
    for (const DesignParameter &parameter : llvm::drop_end(certificate_.parameters, certificate_.clusterParameters))
      paths.push_back(parameter.name);
    if (!machines || !(*machines)->arrange(paths)) {
      diags_.error(Code::InternalError, {},
                   fmt::format("the certificate's space cannot be read back: {}",
                               machines ? "other choices" : std::get<std::string>(read)));
      return false;
    }
    auto designs = designsOf(certificate_);
    bool all = designs && *designs <= (stopped_ ? kQuickDesigns : MiningVerifier::kMaxDesigns);
    std::vector<double> capacities = capacitiesOf(**machines, all);
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (mined_.placed(j))
        addClusters(j, capacities);
    for (CertificateAnswer &answer : certificate_.answers)
      answer.stopped = stopped_;
    if (!all || stopped_)
      return true;
    // Nothing is proved here: prices may be those that the search has found.
    auto found = [this, anew = pricesOf(certificate_)](size_t job, size_t alternative, const Machine &machine) {
      const std::vector<MiningAlternative> &alternatives = jobs_[job].alternatives;
      return alternative < alternatives.size() ? alternatives[alternative].work->costs(machine)
                                               : anew(job, alternative, machine);
    };
    MiningVerifier verifier(certificate_, **machines, found, kernelPrograms());
    for (CertificateAnswer &answer : certificate_.answers) {
      bool ratio = certificate_.aggregation == "minimax_regret" && answer.jobs.size() > 1;
      auto problem =
          mined_.problemOf(answer.jobs, ratio ? ObjectiveAggregation::MinimaxRegret : ObjectiveAggregation::Sum);
      MiningProof proof;
      for (const UnprovenDesign &design : verifier.open(answer, proof)) {
        // Of placements the search has found none below its bound; of steps what schedules without search take.
        DesignEvaluation quick{INFINITY, INFINITY};
        if (design.parallelConfigs.empty())
          quick = problem->evaluate(design.design, INFINITY);
        bool plain = quick.lowerBound >= answer.bound * (1 - 1e-9); // without what can run at once
        answer.survivors.push_back({design.design, design.design == answer.winner ? answer.value : quick.value, {}});
        if (!writePlacements(design, answer.survivors.back()))
          return false;
        for (CertificatePlan alternative : design.alternatives)
          if (number_ < kMaxPlans) {
            alternative.number = number_;
            if (!writeProof(design.design, alternative, plain, miningPlanFile(number_)))
              return false;
            answer.survivors.back().plans.push_back(alternative), ++number_;
          }
      }
    }
    return true;
  }

  /// Of choices that change nothing for the job one counts for all.
  void addClusters(size_t job, const std::vector<double> &capacities) {
    CertificateJob &to = certificate_.jobs[job];
    std::map<std::string, size_t> known;
    auto add = [&](const PlacedWork *work, const std::optional<Fabric> &fabric) {
      if (!work) {
        to.points.emplace_back();
        return;
      }
      CertificateCluster one = work->claimed(capacities, fabric ? &*fabric : nullptr);
      auto [at, isNew] = known.try_emplace(textOf(one), to.clusters.size());
      if (isNew)
        to.clusters.push_back(std::move(one));
      to.points.push_back(at->second);
    };
    const ClusterSpace &clusters = *mined_.session(job).target().clusters();
    for (const Design &choices : certificate_.listedClusters) {
      size_t point = clusters.points().of(choices);
      const PlacedWork *work = point == ClusterPoints::kNone ? nullptr : mined_.placements(job)[point].get();
      add(work, work ? std::optional(clusters.fabric(work->fabric(), {choices, choices})) : std::nullopt);
    }
    for (size_t point = 0; point < mined_.placements(job).size() && certificate_.listedClusters.empty(); ++point)
      add(mined_.placements(job)[point].get(), std::nullopt);
    if (certificate_.clusterParameters == 0)
      to.points.clear();
    numberSteps(to);
  }

  /// What of device memory there is in all designs of the space, or in those that were found.
  std::vector<double> capacitiesOf(MiningSpace &machines, bool all) const {
    std::set<double> found;
    auto add = [&](const Design &design) {
      const Machine *machine = machines.nearly(design);
      if (machine && !machine->memories.empty())
        found.insert(machine->memories.front().capacity.value);
    };
    for (const CertificateAnswer &answer : certificate_.answers)
      if (answer.winner)
        add(*answer.winner);
    Design design(certificate_.parameters.size(), 0);
    while (all) {
      add(design);
      // Of clusters nothing follows.
      for (size_t i = design.size() - certificate_.clusterParameters; i < design.size(); ++i)
        design[i] = static_cast<uint32_t>(certificate_.parameters[i].labels.size() - 1);
      all = next(certificate_, design);
    }
    return {found.begin(), found.end()};
  }

  /// The placement problems of a design, in the forms that are left open.
  bool writePlacements(const UnprovenDesign &open, CertificateSurvivor &survivor) {
    auto machine = space_.machine(open.design);
    for (const auto &[job, ids] : open.parallelConfigs) {
      auto at = clusterAt(certificate_, job, open.design);
      const PlacedWork *work = mined_.placements(job, open.design);
      if (!at || !work || !machine || number_ >= kMaxProblems)
        continue;
      const PlacementProblem &whole = certificate_.jobs[job].clusters[*at].problem;
      std::vector<PlacementProblem::ParallelConfig> configs;
      for (PlacementProblem::Id id : ids)
        configs.push_back(whole.parallelConfigs[id]);
      for (const PlacementProblem &problem : work->problems(*machine, configs)) {
        if (!writeFile(diags_, folder_ + "/" + miningPlanFile(number_), jsonLine(toDocument(problem)) + "\n"))
          return false;
        survivor.plans.push_back({job, 0, number_}), ++number_;
      }
    }
    return true;
  }

  bool writeWinner(const CertificateAnswer &answer, size_t job) {
    StepProblem problem(space_, {jobs_[job]}, metric_, ObjectiveAggregation::Sum, effort_);
    auto step = problem.step(0, *answer.winner);
    std::string folder = planFolder(certificate_, answer, job);
    return !step || (makeFolder(diags_, folder_ + "/" + folder) &&
                     writePlan(*answer.winner, job, step->alternative, folder + "/plan.json", step->effort));
  }

  /// With all that people read.
  static Result<Costs, Errors> costsOf(const StepWork &work, const Machine &machine) {
    auto costs = estimate(work.graph(), machine);
    if (!costs)
      return costs;
    if (auto priced = priceZeros(work.graph(), machine, zeroOperations(work.graph(), work.zeros()), *costs); !priced)
      return Errors{priced.takeError()};
    return costs;
  }

  /// As designs are valued. Nothing: there is no such machine, or an error was reported.
  std::optional<Plan> planOf(const Machine &machine, size_t job, size_t alternative, unsigned effort, bool subsets) {
    SingleDeviceRequest request;
    request.job = jobs_[job].name;
    request.batch = jobs_[job].batch;
    request.effort = effort, request.subsets = subsets;
    const StepWork &work = *jobs_[job].alternatives[alternative].work;
    auto costs = costsOf(work, machine);
    auto plan =
        costs ? planWith(std::move(*costs), work.graph(), machine, request) : Result<Plan, Errors>(costs.error());
    if (plan)
      return std::move(*plan);
    diags_.error(Code::InternalError, {}, "the plan of an evaluated design: " + plan.error().front().message);
    return std::nullopt;
  }

  bool writePlan(const Design &design, size_t job, size_t alternative, const std::string &file, unsigned effort) {
    auto machine = space_.machine(design);
    if (!machine)
      return true;
    auto plan = planOf(*machine, job, alternative, effort, false);
    std::string path = folder_ + "/" + file;
    if (!plan || !writeFile(diags_, path, jsonText(toJson(*plan)) + "\n"))
      return false;
    std::vector<std::string> unproved; // said by whoever verifies the plan
    if (!jobs_[job].alternatives[alternative].work->zeros().empty())
      return true; // it is proved with the mining, which says what is zero
    auto issue = writeCertificate(llvm::sys::path::parent_path(path).str(), *plan, {}, unproved);
    if (issue)
      diags_.error(Code::CannotWrite, {}, issue->message);
    return !issue;
  }

  /// A plan by which a design is not below the bound: `plain`, that of schedules without search; else that of what can
  /// run at once, however iterations overlap, or of each region where repeats are units, whichever is higher. Searches
  /// add nothing that a verifier could prove again.
  bool writeProof(const Design &design, CertificatePlan &of, bool plain, const std::string &file) {
    auto machine = space_.machine(design);
    if (!machine)
      return true;
    auto plan = planOf(*machine, of.job, of.alternative, 0, !plain);
    if (!plan)
      return false;
    OrderedBound ordered;
    ScheduleOptions options;
    // Above the quick effort windows are looked at, which schedules that were searched for are bounded by.
    options.effort = effort_ > 0 ? std::max(effort_, kQuickEffort + 1) : kQuickEffort;
    options.searches = false, options.ordered = &ordered;
    std::optional<Result<Costs, Errors>> costs;
    if (!plain)
      costs = costsOf(*jobs_[of.job].alternatives[of.alternative].work, plan->machine);
    of.ordered = costs && *costs && scheduleStep(plan->graph, plan->machine, **costs, options) &&
                 ordered.step.value > plan->schedule.bound.value;
    if (of.ordered) {
      plan = planOf(*machine, of.job, of.alternative, 0, false);
      for (RegionId r = 0; plan && r < ordered.regions.size(); ++r)
        plan->schedule.regions[r].proven = std::move(ordered.regions[r]);
    }
    return plan && writeFile(diags_, folder_ + "/" + file, jsonLine(toJson(*plan)) + "\n");
  }

  /// Plans that prove what single designs take at least.
  static constexpr unsigned kMaxPlans = 400;
  /// Placement problems, which are smaller.
  static constexpr unsigned kMaxProblems = 4000;
  /// Of so many the memories are known in a tenth of a second.
  static constexpr uint64_t kQuickDesigns = 100'000;
  unsigned number_ = 0;
  const std::string &folder_;
  MineJobs &mined_;
  const DesignSpace &space_;
  const std::vector<MiningJob> &jobs_;
  MiningMetric metric_;
  unsigned effort_;
  const MiningPlan &plan_;
  Diagnostics &diags_;
  bool stopped_;
  MiningCertificate certificate_;
};

} // namespace

bool writeMiningCertificate(const std::string &folder, MineJobs &jobs, unsigned effort, const MiningPlan &plan,
                            Diagnostics &diags, bool stopped) {
  return Certifier(folder, jobs, effort, plan, diags, stopped).write();
}

} // namespace accord
