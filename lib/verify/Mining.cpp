#include "lib/verify/Mining.h"
#include "lib/verify/MiningStep.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

/// Values that differ by less are equal: sums in another order.
constexpr double kEqual = 1e-9;
/// Findings of one answer, at most.
constexpr size_t kMostFindings = 20;

/// Seconds from which on a step is worth `below` or more; infinite: none is known.
template <typename Worth> double stepBelow(double below, Worth worth) {
  double low = 1e-12, high = 1e12;
  if (worth(high) < below)
    return INFINITY;
  while (high > low * (1 + 1e-6)) {
    double middle = std::sqrt(low * high);
    (worth(middle) < below ? low : high) = middle;
  }
  return high;
}

} // namespace

struct MiningVerifier::Data {
  const MiningClaim &claim;
  ClaimedMachines &machines;
  ClaimedPrices prices;
  std::vector<std::vector<StepFloor>> floors; ///< by job and way

  /// What is known of the ways of an answer's jobs beyond closed forms, by job of the answer.
  struct Known {
    std::vector<std::vector<std::optional<Costs>>> costs; ///< nothing: it has no step
    std::vector<std::vector<double>> steps;               ///< that no schedule is below; or empty
  };

  /// What a way is worth at least; infinite where it has no room, or is not worth less than
  /// `below`.
  double floorOf(const MiningVerifier &verifier, size_t job, size_t way, const Machine &machine,
                 const Costs *costs, double known, double below) {
    StepFloor &floor = floors[job][way];
    if (!machine.memories.empty() && floor.bytes() > machine.memories[0].capacity.value)
      return INFINITY;
    bool byExpression = verifier.byExpression();
    auto joules = [&](double step) {
      return claim.metric != "energy" && !byExpression ? 0
             : costs                                   ? floor.joules(machine, *costs, step)
                                                       : floor.joules(machine, step);
    };
    auto worth = [&](double step, double energy) {
      return verifier.worth(machine, {step, energy, claim.jobs[job].batch, true});
    };
    double most = below; // of the step
    if (byExpression)
      most = std::isfinite(below)
                 ? stepBelow(below, [&](double step) { return worth(step, joules(step)); })
                 : INFINITY;
    else if (claim.metric == "energy")
      most = machine.idle.value > 0 ? (below - joules(0)) / machine.idle.value : INFINITY;
    else if (std::isfinite(below) && worth(1, 0) > 0)
      most = below / worth(1, 0);
    double step = costs ? floor.seconds(machine, *costs, most) : floor.seconds(machine, most);
    step = std::max(step, known);
    return worth(step, joules(step));
  }
  /// Least of the ways of an answer's job `i`.
  double least(const MiningVerifier &verifier, const ClaimedAnswer &answer, size_t i,
               const Machine &machine, const Known *known, double below) {
    double least = INFINITY;
    for (size_t way = 0; way < floors[answer.jobs[i]].size(); ++way) {
      const std::optional<Costs> *costs = known ? &known->costs[i][way] : nullptr;
      if (costs && !*costs) // the cost model has no step for it
        continue;
      double step = known && !known->steps.empty() ? known->steps[i][way] : 0;
      least = std::min(least, floorOf(verifier, answer.jobs[i], way, machine,
                                      costs ? &**costs : nullptr, step, below));
    }
    return least;
  }

  /// Of each job alone, so that the answer is worth `bound` or more if one of them is.
  double belowFor(const ClaimedAnswer &answer, const std::vector<double> &values, size_t i,
                  double bound) const {
    const ClaimedJob &job = claim.jobs[answer.jobs[i]];
    if (answer.jobs.size() == 1)
      return bound;
    if (claim.blend == "worst_ratio")
      return job.best > 0 ? bound * job.best : bound;
    double others = 0;
    for (size_t k = 0; k < values.size(); ++k)
      others += k == i ? 0 : values[k] * claim.jobs[answer.jobs[k]].weight;
    return job.weight > 0 ? (bound - others) / job.weight : INFINITY;
  }

  /// What a design is worth at least, or something above `bound`: first without, then with what no
  /// plan below the bound can do. `values`: gets the jobs' first.
  double floorOf(const MiningVerifier &verifier, const ClaimedAnswer &answer,
                 const Machine &machine, const Known *known, double bound,
                 std::vector<double> &values) {
    values.clear();
    for (size_t i = 0; i < answer.jobs.size(); ++i)
      values.push_back(least(verifier, answer, i, machine, known, INFINITY));
    std::vector<double> raised = values;
    double floor = verifier.blended(answer, raised);
    for (size_t i = 0; i < values.size() && floor < bound; ++i)
      if (double below = belowFor(answer, values, i, bound); std::isfinite(below)) {
        raised[i] = std::max(raised[i], least(verifier, answer, i, machine, known, below));
        floor = verifier.blended(answer, raised);
      }
    return floor;
  }

  Known pricesOn(const ClaimedAnswer &answer, const Machine &machine) {
    Known known;
    for (size_t job : answer.jobs) {
      auto &ways = known.costs.emplace_back();
      for (size_t way = 0; way < floors[job].size(); ++way)
        ways.push_back(prices(job, way, machine));
    }
    return known;
  }

  /// Of a survivor, with the bounds that its plans prove.
  double floorByPlans(const MiningVerifier &verifier, const ClaimedAnswer &answer,
                      const ClaimedSurvivor &survivor, const ClaimedSchedules &schedules) {
    auto made = machines.exactly(survivor.design);
    auto *machine = std::get_if<Machine>(&made);
    if (!machine || survivor.plans.empty() || !schedules)
      return 0;
    Known known = pricesOn(answer, *machine);
    for (size_t i = 0; i < answer.jobs.size(); ++i) {
      std::vector<double> &steps = known.steps.emplace_back(known.costs[i].size(), 0);
      for (const ClaimedPlan &plan : survivor.plans)
        if (plan.job == answer.jobs[i] && plan.way < steps.size() && known.costs[i][plan.way])
          steps[plan.way] =
              std::max(steps[plan.way], schedules(plan, *machine, *known.costs[i][plan.way]));
    }
    std::vector<double> values;
    return floorOf(verifier, answer, *machine, &known, answer.bound * (1 - kEqual), values);
  }
};

MiningVerifier::MiningVerifier(const MiningClaim &claim, ClaimedMachines &machines,
                               ClaimedPrices prices)
    : data_(new Data{claim, machines, std::move(prices), {}}) {
  for (const ClaimedJob &job : claim.jobs) {
    std::vector<StepFloor> &ways = data_->floors.emplace_back();
    for (const ClaimedWay &way : job.ways)
      ways.emplace_back(way.graph);
  }
}
MiningVerifier::~MiningVerifier() = default;

bool MiningVerifier::byExpression() const {
  const std::string &metric = data_->claim.metric;
  return metric != "step_time" && metric != "tdp_time" && metric != "energy" &&
         metric != "area_time";
}

double MiningVerifier::worth(const Machine &machine, const ClaimedStep &of) const {
  const std::string &metric = data_->claim.metric;
  if (byExpression()) {
    double worth = data_->machines.worth(machine, of);
    return !std::isnan(worth) ? worth : of.orMore ? 0 : INFINITY;
  }
  double step = of.seconds, joules = of.joules;
  double tdp = machine.tdp.value, area = machine.area.value;
  if (metric == "tdp_time")
    return tdp > 0 ? step * tdp : INFINITY;
  if (metric == "area_time")
    return area > 0 ? step * area : INFINITY;
  return metric == "energy" ? joules : step;
}

double MiningVerifier::blended(const ClaimedAnswer &answer,
                               const std::vector<double> &values) const {
  bool ratio = data_->claim.blend == "worst_ratio" && answer.jobs.size() > 1;
  double all = 0;
  for (size_t i = 0; i < answer.jobs.size(); ++i) {
    const ClaimedJob &job = data_->claim.jobs[answer.jobs[i]];
    if (ratio)
      all = std::max(all, job.best > 0 ? values[i] / job.best : values[i]);
    else
      all += values[i] * (answer.jobs.size() > 1 ? job.weight : 1);
  }
  return std::isnan(all) ? INFINITY : all;
}

std::string MiningVerifier::name(const Design &design) const {
  std::string name;
  const auto &parameters = data_->claim.parameters;
  for (size_t i = 0; i < design.size() && i < parameters.size(); ++i)
    name += fmt::format("{}{} {}", i ? ", " : "", parameters[i].name,
                        design[i] < parameters[i].spelled.size() ? parameters[i].spelled[design[i]]
                                                                 : "?");
  return name;
}

std::optional<uint64_t> MiningVerifier::designs() const {
  int64_t all = 1;
  for (const DesignParameter &parameter : data_->claim.parameters)
    if (__builtin_mul_overflow(all, static_cast<int64_t>(parameter.spelled.size()), &all))
      return std::nullopt;
  return static_cast<uint64_t>(all);
}

std::vector<OpenDesign> MiningVerifier::open(const ClaimedAnswer &answer, MiningProof &proof) {
  std::vector<OpenDesign> open;
  const auto &parameters = data_->claim.parameters;
  double bound = answer.bound * (1 - kEqual);
  proof.proven = std::min(proof.proven, answer.bound);
  Design design(parameters.size(), 0);
  std::vector<double> values;
  auto next = [&] { // the last parameter counts fastest
    for (size_t i = design.size(); i-- > 0;) {
      if (++design[i] < parameters[i].spelled.size())
        return true;
      design[i] = 0;
    }
    return false;
  };
  do {
    ++proof.designs;
    const Machine *machine = data_->machines.nearly(design);
    if (!machine || data_->machines.broken(design, *machine)) {
      ++proof.refused;
      continue;
    }
    double floor = data_->floorOf(*this, answer, *machine, nullptr, bound, values);
    if (floor >= bound) {
      ++proof.byWork;
      continue;
    }
    auto whole = data_->machines.exactly(design);
    auto *exact = std::get_if<Machine>(&whole);
    if (!exact || data_->machines.broken(design, *exact)) {
      ++proof.refused;
      continue;
    }
    Data::Known known = data_->pricesOn(answer, *exact);
    floor = std::max(floor, data_->floorOf(*this, answer, *exact, &known, bound, values));
    if (floor >= bound) {
      ++proof.byPrices;
      continue;
    }
    OpenDesign left{design, floor, {}};
    for (size_t i = 0; i < answer.jobs.size(); ++i) {
      double below = data_->belowFor(answer, values, i, bound);
      for (size_t way = 0; way < known.costs[i].size(); ++way)
        if (known.costs[i][way] && data_->floorOf(*this, answer.jobs[i], way, *exact,
                                                  &*known.costs[i][way], 0, below) < below)
          left.ways.push_back({answer.jobs[i], way, 0});
    }
    open.push_back(std::move(left));
  } while (next());
  return open;
}

std::vector<Issue> MiningVerifier::proveBound(const ClaimedAnswer &answer, MiningProof &proof,
                                              const ClaimedSchedules &schedules) {
  std::vector<Issue> findings;
  auto find = [&](std::string message) {
    if (findings.size() < kMostFindings)
      findings.push_back({"A0906", std::move(message), {}, {}});
  };
  std::map<Design, const ClaimedSurvivor *> survivors;
  for (const ClaimedSurvivor &survivor : answer.survivors) {
    if (!survivors.emplace(survivor.design, &survivor).second)
      find(fmt::format("'{}': design {} survives twice", answer.name, name(survivor.design)));
    if (!(survivor.value >= answer.bound * (1 - kEqual)))
      find(fmt::format("'{}': the bound is {:.9g}, and the search found {:.9g} for {}", answer.name,
                       answer.bound, survivor.value, name(survivor.design)));
  }
  for (const OpenDesign &design : open(answer, proof)) {
    auto survivor = survivors.find(design.design);
    if (survivor == survivors.end())
      find(fmt::format(
          "'{}': no design is said to be worth less than {:.9g}, but {} is proved to be "
          "worth no less than {:.9g}, and nothing says what was found for it",
          answer.name, answer.bound, name(design.design), design.floor));
    else if (survivor->second->value < design.floor * (1 - kEqual))
      find(fmt::format(
          "'{}': {:.9g} is said to be found for {}, which is not worth less than {:.9g}",
          answer.name, survivor->second->value, name(design.design), design.floor));
    double floor = design.floor;
    if (survivor != survivors.end())
      floor = std::max(floor, data_->floorByPlans(*this, answer, *survivor->second, schedules));
    ++(floor >= answer.bound * (1 - kEqual) ? proof.byPlans : proof.bySearch);
    proof.proven = std::min(proof.proven, floor);
  }
  return findings;
}

} // namespace accord
