#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/exploration/verify/CertificatePoints.h"
#include "lib/exploration/verify/PlacementLowerBound.h"
#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/exploration/verify/ZeroProof.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

/// Values that differ by less are equal: sums in another order.
constexpr double kEqual = 1e-9;
/// Findings of one answer, at most.
constexpr size_t kMaxFindings = 20;

/// Seconds from which on a step is worth `below` or more; infinite: none is known.
template <typename MetricOfTime> double stepBelow(double below, MetricOfTime metricValue) {
  double low = 1e-12, high = 1e12;
  if (metricValue(high) < below)
    return INFINITY;
  while (high > low * (1 + 1e-6)) {
    double middle = std::sqrt(low * high);
    (metricValue(middle) < below ? low : high) = middle;
  }
  return high;
}

} // namespace

struct MiningVerifier::Data {
  const MiningCertificate &certificate;
  CertificateMachines &machines;
  CertificatePrices prices;
  std::vector<std::vector<StepLowerBound>> floors; ///< by job and way
  CertificatePoints points;
  std::vector<std::vector<std::unique_ptr<PlacementLowerBound>>> placed; ///< by job and cluster
  std::vector<PlacementLowerBound *> here; ///< by job, in the design that is looked at; null: none

  bool byExpression() const {
    return !llvm::is_contained({"step_time", "tdp_time", "energy", "area_time"}, certificate.metric);
  }
  /// What the metric makes of a step.
  double metricValue(const Machine &machine, const StepUse &of) const {
    if (byExpression()) {
      double value = machines.metricValue(machine, of);
      return !std::isnan(value) ? value : of.orMore ? 0 : INFINITY;
    }
    if (certificate.metric == "energy")
      return of.joules;
    if (certificate.metric == "step_time")
      return of.seconds;
    double factor = certificate.metric == "tdp_time" ? machine.tdp.value : machine.area.value;
    return factor > 0 ? of.seconds * factor : INFINITY;
  }
  double aggregate(const CertificateAnswer &answer, const std::vector<double> &values) const {
    bool several = answer.jobs.size() > 1;
    double all = 0;
    for (size_t i = 0; i < answer.jobs.size(); ++i) {
      const CertificateJob &job = certificate.jobs[answer.jobs[i]];
      if (several && certificate.aggregation == "minimax_regret")
        all = std::max(all, job.best > 0 ? values[i] / job.best : values[i]);
      else
        all += values[i] * (several ? job.weight : 1);
    }
    return std::isnan(all) ? INFINITY : all;
  }
  std::string name(const Design &design) const {
    std::string name;
    for (auto [choice, parameter] : llvm::zip(design, certificate.parameters))
      name += fmt::format("{}{} {}", name.empty() ? "" : ", ", parameter.name,
                          choice < parameter.labels.size() ? parameter.labels[choice] : "?");
    return name;
  }

  /// Where its jobs are placed.
  void look(const Design &design) {
    for (size_t job = 0; job < placed.size(); ++job) {
      auto at = clusterAt(certificate, job, design);
      here[job] = at ? placed[job][*at].get() : nullptr;
    }
  }

  /// Whether the shares of alternatives with zeros hold on a machine of the space.
  bool usesZerosAsStated(const CertificateAnswer &answer, const Machine &machine) const {
    for (size_t job : answer.jobs)
      for (const CertificateAlternative &alternative : certificate.jobs[job].alternatives)
        if (alternative.dense) {
          auto core = zeroCoreOf(machine);
          if (!core || !isSameUse(*core, alternative.zeros.core))
            return false;
        }
    return true;
  }

  /// What is known of the ways of an answer's jobs beyond closed forms, by job of the answer.
  struct Known {
    std::vector<std::vector<std::optional<Costs>>> costs; ///< nothing: it has no step
    std::vector<std::vector<double>> steps;               ///< that no schedule is below; or empty
    std::map<size_t, double> values;                      ///< that no placement is below
    /// Forms of placements that may be worth less than that, by what is priced.
    mutable std::map<size_t, std::pair<double, PlacementLowerBound::Open>> open;
  };

  /// What a way is worth at least; infinite where it has no room, or is not worth less than `below`.
  double floorOf(size_t job, size_t alternative, const Machine &machine, const Costs *costs, double known,
                 double below) {
    StepLowerBound &floor = floors[job][alternative];
    if (!machine.memories.empty() && floor.bytes() > machine.memories[0].capacity.value)
      return INFINITY;
    auto joules = [&](double step) {
      return certificate.metric != "energy" && !byExpression() ? 0 : floor.joules(machine, costs, step);
    };
    auto value = [&](double step, double energy) {
      return metricValue(machine, {step, energy, certificate.jobs[job].batch, true});
    };
    double max = below; // of the step
    if (byExpression())
      max = std::isfinite(below) ? stepBelow(below, [&](double step) { return value(step, joules(step)); }) : INFINITY;
    else if (certificate.metric == "energy")
      max = machine.idle.value > 0 ? (below - joules(0)) / machine.idle.value : INFINITY;
    else if (std::isfinite(below) && value(1, 0) > 0)
      max = below / value(1, 0);
    double step = std::max(floor.seconds(machine, costs, max), known);
    return value(step, joules(step));
  }
  PlacementLowerBound::Prices pricesOf(size_t job, const Machine &machine) const {
    return [this, job, first = here[job]->cluster().first, &machine](size_t step) {
      return prices(job, first + step, machine);
    };
  }
  /// Of a job on a cluster: what of the problem's objective (ps, or W s for each W of a device) is
  /// worth, and from which of it on a placement is worth `below` or more. Nothing: not known.
  struct MetricOfTime {
    std::function<double(double)> of, from;
  };
  std::optional<MetricOfTime> metricOf(size_t job, const Machine &machine) const {
    bool tdp = certificate.metric == "tdp_time",
         known = here[job]->cluster().problem.objective ==
                 (tdp ? PlacementObjective::TdpTime : PlacementObjective::StepTime);
    int64_t batch = certificate.jobs[job].batch;
    if (!known || certificate.metric == "energy")
      return std::nullopt;
    auto value = [this, &machine, batch](double seconds) { return metricValue(machine, {seconds, 0, batch, true}); };
    if (byExpression())
      return MetricOfTime{[=](double time) { return value(time * 1e-12); },
                          [=](double below) { return stepBelow(below, value) * 1e12; }};
    double unit = value(tdp ? 1 : 1e-12);
    if (!(unit > 0))
      return std::nullopt;
    if (std::isinf(unit)) // it lacks the number that the metric needs
      return MetricOfTime{[](double) { return INFINITY; }, [](double) { return 0; }};
    return MetricOfTime{[=](double of) { return of * unit; }, [=](double below) { return below / unit; }};
  }
  double minPlacedValue(size_t i, size_t job, const Machine &machine, const Known *known, double below) {
    auto metricValue = metricOf(job, machine);
    if (!metricValue)
      return 0;
    PlacementLowerBound &floor = *here[job];
    double lowerBound = metricValue->of(floor.value(machine));
    if (lowerBound >= below || !std::isfinite(below))
      return lowerBound;
    PlacementLowerBound::Open open = floor.open(machine, metricValue->from(below));
    if (known && !open.parallelConfigs.empty()) {
      open = floor.open(machine, metricValue->from(below), pricesOf(job, machine), open.parallelConfigs);
      known->open.insert_or_assign(i, std::pair(below, open));
    }
    return std::max(lowerBound, metricValue->of(open.lowerBound));
  }
  std::vector<PlacementProblem::Id> unprovenConfigs(size_t job, const Machine &machine, double below) {
    auto metricValue = metricOf(job, machine);
    if (!metricValue || !std::isfinite(below))
      return {};
    PlacementLowerBound &floor = *here[job];
    return floor
        .open(machine, metricValue->from(below), pricesOf(job, machine),
              floor.open(machine, metricValue->from(below)).parallelConfigs)
        .parallelConfigs;
  }
  /// The same by stated problems: each form of the cluster, on this machine, is above or in one of
  /// which no plan is below.
  double minStated(const UnprovenDesign &design, const CertificateSurvivor &survivor, size_t job,
                   const Machine &machine, double below, const CertificatePlacements &placements,
                   const std::function<void(std::string)> &find) {
    auto metricValue = metricOf(job, machine);
    if (!metricValue || !std::isfinite(below) || !placements)
      return 0;
    PlacementLowerBound &floor = *here[job];
    PlacementLowerBound::Prices priced = pricesOf(job, machine);
    PlacementLowerBound::Open open;
    if (auto known = design.configsBelow.find(job);
        known != design.configsBelow.end() && known->second.first == below) {
      open = {design.parallelConfigs.at(job), known->second.second};
    } else {
      open = floor.open(machine, metricValue->from(below));
      open = floor.open(machine, metricValue->from(below), priced, open.parallelConfigs);
    }
    std::vector<PlacementProblem::Id> left = std::move(open.parallelConfigs);
    for (const CertificatePlan &plan : survivor.plans) {
      if (plan.job != job || left.empty())
        continue;
      auto stated = placements(plan, survivor.design, machine);
      if (!stated)
        return 0;
      if (std::string other = floor.differs(*stated, machine, priced); !other.empty()) {
        find(fmt::format("placements of '{}' on {}: {}", certificate.jobs[job].name, name(survivor.design), other));
        return 0;
      }
      double bound = certificate.metric == "tdp_time" ? below : metricValue->from(below);
      PlacementProof how;
      BoundProof proof = accord::proveBound(*stated, bound, how.effort, how.passes);
      if (proof.better || !proof.trusted.empty() || !proof.wrong.empty())
        continue;
      std::vector<PlacementProblem::Id> have = floor.formsOf(*stated);
      std::erase_if(left, [&](auto form) { return std::binary_search(have.begin(), have.end(), form); });
    }
    return left.empty() ? below : metricValue->of(open.lowerBound);
  }

  /// Least of the ways of an answer's job `i`.
  double lowerBound(const CertificateAnswer &answer, size_t i, const Machine &machine, const Known *known,
                    double below) {
    if (size_t job = answer.jobs[i]; here[job]) {
      if (known && known->values.count(i))
        return known->values.at(i);
      return minPlacedValue(i, job, machine, known, below);
    }
    double lowerBound = INFINITY;
    for (size_t alternative = 0; alternative < floors[answer.jobs[i]].size(); ++alternative) {
      const std::optional<Costs> *costs = known ? &known->costs[i][alternative] : nullptr;
      if (costs && !*costs) // the cost model has no step for it
        continue;
      double step = known && !known->steps.empty() ? known->steps[i][alternative] : 0;
      lowerBound =
          std::min(lowerBound, floorOf(answer.jobs[i], alternative, machine, costs ? &**costs : nullptr, step, below));
    }
    return lowerBound;
  }

  /// Of each job alone, so that the answer is worth `bound` or more if one of them is.
  double belowFor(const CertificateAnswer &answer, const std::vector<double> &values, size_t i, double bound) const {
    const CertificateJob &job = certificate.jobs[answer.jobs[i]];
    if (answer.jobs.size() == 1)
      return bound;
    if (certificate.aggregation == "minimax_regret")
      return job.best > 0 ? bound * job.best : bound;
    double others = 0;
    for (size_t k = 0; k < values.size(); ++k)
      others += k == i ? 0 : values[k] * certificate.jobs[answer.jobs[k]].weight;
    return job.weight > 0 ? (bound - others) / job.weight : INFINITY;
  }

  /// What a design is worth at least, or something above `bound`: first without, then with what no
  /// plan below the bound can do. `values`: gets the jobs' first.
  double floorOf(const CertificateAnswer &answer, const Machine &machine, const Known *known, double bound,
                 std::vector<double> &values) {
    values.clear();
    for (size_t i = 0; i < answer.jobs.size(); ++i)
      values.push_back(lowerBound(answer, i, machine, known, INFINITY));
    std::vector<double> raised = values;
    double floor = aggregate(answer, raised);
    for (size_t i = 0; i < values.size() && floor < bound; ++i)
      if (double below = belowFor(answer, values, i, bound); std::isfinite(below)) {
        raised[i] = std::max(raised[i], lowerBound(answer, i, machine, known, below));
        floor = aggregate(answer, raised);
      }
    return floor;
  }

  /// Of one job, ways that their work alone rules out are not priced.
  Known pricesOn(const CertificateAnswer &answer, const Machine &machine, double bound) {
    Known known;
    for (size_t job : answer.jobs) {
      auto &alternatives = known.costs.emplace_back();
      for (size_t alternative = 0; alternative < floors[job].size(); ++alternative) {
        bool out = answer.jobs.size() == 1 && floorOf(job, alternative, machine, nullptr, 0, bound) >= bound;
        alternatives.push_back(out ? std::nullopt : prices(job, alternative, machine));
      }
    }
    return known;
  }

  /// Of a survivor, with the bounds that its plans prove.
  double boundByPlans(const CertificateAnswer &answer, const UnprovenDesign &design,
                      const CertificateSurvivor &survivor, const CertificateSchedules &schedules,
                      const CertificatePlacements &placements, const std::function<void(std::string)> &find) {
    look(survivor.design);
    auto made = machines.exactly(survivor.design);
    auto *machine = std::get_if<Machine>(&made);
    if (!machine || survivor.plans.empty() || !usesZerosAsStated(answer, *machine))
      return 0;
    double bound = answer.bound * (1 - kEqual);
    Known known = pricesOn(answer, *machine, bound);
    for (size_t i = 0; i < answer.jobs.size(); ++i) {
      std::vector<double> &steps = known.steps.emplace_back(known.costs[i].size(), 0);
      for (const CertificatePlan &plan : survivor.plans)
        if (schedules && plan.job == answer.jobs[i] && plan.alternative < steps.size() &&
            known.costs[i][plan.alternative])
          steps[plan.alternative] =
              std::max(steps[plan.alternative], schedules(plan, *machine, *known.costs[i][plan.alternative]));
    }
    std::vector<double> values;
    for (size_t i = 0; i < answer.jobs.size(); ++i)
      values.push_back(lowerBound(answer, i, *machine, &known, INFINITY));
    for (size_t i = 0; i < answer.jobs.size(); ++i)
      if (size_t job = answer.jobs[i]; here[job])
        known.values[i] = std::max(values[i], minStated(design, survivor, job, *machine,
                                                        belowFor(answer, values, i, bound), placements, find));
    return floorOf(answer, *machine, &known, bound, values);
  }
};

MiningVerifier::MiningVerifier(const MiningCertificate &certificate, CertificateMachines &machines,
                               CertificatePrices prices, const OperationPrograms &programs)
    : data_(new Data{certificate, machines, std::move(prices), {}, CertificatePoints(certificate), {}, {}}) {
  for (const CertificateJob &job : certificate.jobs) {
    std::vector<StepLowerBound> &alternatives = data_->floors.emplace_back();
    for (const CertificateAlternative &alternative : job.alternatives) {
      auto shares = zeroShares(alternative.graph, alternative.zeros);
      // Of zeros that nothing is known of nothing is proved (`readZeros` refuses them).
      alternatives.emplace_back(shares ? alternative.graph : WorkGraph{}, programs,
                                shares ? *shares : StepZeroShares());
    }
    auto &placed = data_->placed.emplace_back();
    for (const CertificateCluster &cluster : job.clusters)
      placed.push_back(std::make_unique<PlacementLowerBound>(cluster));
  }
  data_->here.resize(certificate.jobs.size());
}
MiningVerifier::~MiningVerifier() = default;

bool MiningVerifier::byExpression() const { return data_->byExpression(); }
double MiningVerifier::metricValue(const Machine &machine, const StepUse &of) const {
  return data_->metricValue(machine, of);
}
double MiningVerifier::aggregate(const CertificateAnswer &answer, const std::vector<double> &values) const {
  return data_->aggregate(answer, values);
}
std::string MiningVerifier::name(const Design &design) const { return data_->name(design); }

std::string MiningVerifier::differs(size_t job, const PlacementProblem &stated, const Design &design,
                                    const Machine &machine) {
  data_->look(design);
  return data_->here[job] ? data_->here[job]->differs(stated, machine, data_->pricesOf(job, machine))
                          : "there is no such cluster";
}

std::optional<uint64_t> designsOf(const MiningCertificate &certificate) {
  int64_t all = 1;
  if (!certificate.listedClusters.empty())
    return std::nullopt;
  for (const DesignParameter &parameter : certificate.parameters)
    if (__builtin_mul_overflow(all, parameter.labels.size(), &all))
      return std::nullopt;
  return all;
}

bool next(const MiningCertificate &certificate, Design &design) {
  for (size_t i = design.size(); i-- > 0;) {
    if (++design[i] < certificate.parameters[i].labels.size())
      return true;
    design[i] = 0;
  }
  return false;
}

std::vector<UnprovenDesign> MiningVerifier::open(const CertificateAnswer &answer, MiningProof &proof) {
  std::vector<UnprovenDesign> open;
  double bound = answer.bound * (1 - kEqual);
  proof.proven = std::min(proof.proven, answer.bound);
  Design design(data_->certificate.parameters.size(), 0);
  std::vector<double> values;
  do {
    ++proof.designs;
    const Machine *machine = data_->machines.nearly(design);
    if (!machine || data_->machines.violatedRequirement(design, *machine)) {
      ++proof.refused;
      continue;
    }
    if (!data_->usesZerosAsStated(answer, *machine)) {
      open.push_back({design, 0, {}, {}, {}}); // whatever its steps take
      continue;
    }
    data_->look(design);
    if (auto missing = data_->points.missing(answer.jobs, design)) {
      ++(*missing ? proof.byWork : proof.bySearch);
      if (!*missing)
        ++proof.unplaced, proof.proven = 0;
      continue;
    }
    double floor = data_->floorOf(answer, *machine, nullptr, bound, values);
    if (floor >= bound) {
      ++proof.byWork;
      continue;
    }
    auto whole = data_->machines.exactly(design);
    auto *exact = std::get_if<Machine>(&whole);
    if (!exact || data_->machines.violatedRequirement(design, *exact)) {
      ++proof.refused;
      continue;
    }
    Data::Known known = data_->pricesOn(answer, *exact, bound);
    floor = std::max(floor, data_->floorOf(answer, *exact, &known, bound, values));
    if (floor >= bound) {
      ++proof.byPrices;
      continue;
    }
    UnprovenDesign left{design, floor, {}, {}, {}};
    for (size_t i = 0; i < answer.jobs.size(); ++i) {
      double below = data_->belowFor(answer, values, i, bound);
      if (size_t job = answer.jobs[i]; data_->here[job]) {
        if (auto priced = known.open.find(i); priced != known.open.end() && priced->second.first == below)
          left.parallelConfigs[job] = priced->second.second.parallelConfigs,
          left.configsBelow[job] = {below, priced->second.second.lowerBound};
        else
          left.parallelConfigs[job] = data_->unprovenConfigs(job, *exact, below);
      }
      for (size_t alternative = 0; alternative < known.costs[i].size(); ++alternative)
        if (known.costs[i][alternative] &&
            data_->floorOf(answer.jobs[i], alternative, *exact, &*known.costs[i][alternative], 0, below) < below)
          left.alternatives.push_back({answer.jobs[i], alternative, 0});
    }
    open.push_back(std::move(left));
  } while (next(data_->certificate, design));
  return open;
}

Errors MiningVerifier::proveBound(const CertificateAnswer &answer, MiningProof &proof,
                                  const CertificateSchedules &schedules, const CertificatePlacements &placements) {
  Errors findings;
  auto find = [&](std::string message) {
    if (findings.size() < kMaxFindings)
      findings.push_back({Code::BoundNotProved, std::move(message), {}, {}});
  };
  for (const std::string &wrong : data_->points.wrong())
    find(wrong);
  std::map<Design, const CertificateSurvivor *> survivors;
  for (const CertificateSurvivor &survivor : answer.survivors) {
    if (!survivors.emplace(survivor.design, &survivor).second)
      find(fmt::format("'{}': design {} survives twice", answer.name, name(survivor.design)));
    if (!(survivor.value >= answer.bound * (1 - kEqual)))
      find(fmt::format("'{}': the bound is {:.9g}, and the search found {:.9g} for {}", answer.name, answer.bound,
                       survivor.value, name(survivor.design)));
  }
  for (const UnprovenDesign &design : open(answer, proof)) {
    auto survivor = survivors.find(design.design);
    if (survivor == survivors.end() && answer.stopped)
      ; // it rests on the search
    else if (survivor == survivors.end())
      find(fmt::format("'{}': the bound states that no design is below {:.9g}, but {} is proved to be "
                       "at least {:.9g}, and nothing says what was found for it",
                       answer.name, answer.bound, name(design.design), design.floor));
    else if (survivor->second->value < design.floor * (1 - kEqual))
      find(fmt::format("'{}': {:.9g} is stated as found for {}, which is not below {:.9g}", answer.name,
                       survivor->second->value, name(design.design), design.floor));
    double floor = design.floor;
    if (survivor != survivors.end())
      floor = std::max(floor, data_->boundByPlans(answer, design, *survivor->second, schedules, placements, find));
    ++(floor >= answer.bound * (1 - kEqual) ? proof.byPlans : proof.bySearch);
    proof.proven = std::min(proof.proven, floor);
  }
  return findings;
}

} // namespace accord
