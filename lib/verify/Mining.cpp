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

} // namespace

struct MiningVerifier::Data {
  const MiningClaim &claim;
  ClaimedMachines &machines;
  ClaimedPrices prices;
  std::vector<std::vector<StepFloor>> floors; ///< by job and way

  /// Least of a job's ways; infinite where none has room, or none is worth less than `below`.
  /// `costs`: by way, in place of closed forms.
  double least(const MiningVerifier &verifier, size_t job, const Machine &machine,
               const std::vector<std::optional<Costs>> *costs, double below) {
    double least = INFINITY;
    for (size_t way = 0; way < floors[job].size(); ++way) {
      StepFloor &floor = floors[job][way];
      if (!machine.memories.empty() && floor.bytes() > machine.memories[0].capacity.value)
        continue;
      if (costs && !(*costs)[way]) // the cost model has no step for it
        continue;
      auto joules = [&](double step) {
        return claim.metric != "energy" ? 0
               : costs                  ? floor.joules(machine, *(*costs)[way], step)
                                        : floor.joules(machine, step);
      };
      double most = below; // of the step
      if (claim.metric == "energy")
        most = machine.idle.value > 0 ? (below - joules(0)) / machine.idle.value : INFINITY;
      else if (std::isfinite(below) && verifier.worth(machine, 1, 0) > 0)
        most = below / verifier.worth(machine, 1, 0);
      double step =
          costs ? floor.seconds(machine, *(*costs)[way], most) : floor.seconds(machine, most);
      least = std::min(least, verifier.worth(machine, step, joules(step)));
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

double MiningVerifier::worth(const Machine &machine, double step, double joules) const {
  const std::string &metric = data_->claim.metric;
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
  size_t jobs = answer.jobs.size();
  // Again, with what no plan below the bound can do, where that is needed. `costs`: by job.
  auto floorOn = [&](const Machine &machine,
                     const std::vector<std::vector<std::optional<Costs>>> &costs) {
    auto of = [&](size_t i, double below) {
      return data_->least(*this, answer.jobs[i], machine, costs.empty() ? nullptr : &costs[i],
                          below);
    };
    std::vector<double> values;
    for (size_t i = 0; i < jobs; ++i)
      values.push_back(of(i, INFINITY));
    double floor = blended(answer, values);
    for (size_t i = 0; i < jobs && floor < bound; ++i)
      if (double below = data_->belowFor(answer, values, i, bound); std::isfinite(below)) {
        values[i] = std::max(values[i], of(i, below));
        floor = blended(answer, values);
      }
    return floor;
  };
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
    double floor = floorOn(*machine, {});
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
    std::vector<std::vector<std::optional<Costs>>> costs(jobs);
    for (size_t i = 0; i < jobs; ++i)
      for (size_t way = 0; way < data_->floors[answer.jobs[i]].size(); ++way)
        costs[i].push_back(data_->prices(answer.jobs[i], way, *exact));
    floor = std::max(floor, floorOn(*exact, costs));
    if (floor >= bound)
      ++proof.byPrices;
    else
      open.push_back({design, floor});
  } while (next());
  return open;
}

std::vector<Issue> MiningVerifier::proveBound(const ClaimedAnswer &answer, MiningProof &proof) {
  std::vector<Issue> findings;
  auto find = [&](std::string message) {
    if (findings.size() < kMostFindings)
      findings.push_back({"A0906", std::move(message), {}, {}});
  };
  std::map<Design, double> survivors;
  for (const ClaimedSurvivor &survivor : answer.survivors) {
    if (!survivors.emplace(survivor.design, survivor.value).second)
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
    else if (survivor->second < design.floor * (1 - kEqual))
      find(fmt::format(
          "'{}': {:.9g} is said to be found for {}, which is not worth less than {:.9g}",
          answer.name, survivor->second, name(design.design), design.floor));
    ++proof.bySearch;
    proof.proven = std::min(proof.proven, design.floor);
  }
  return findings;
}

} // namespace accord
