#include "lib/jobs/problem/FairAllocation.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::jobs {
namespace {
__extension__ using Wide = __int128;

constexpr int64_t kMaxWeight = int64_t(1) << 20, kMaxAge = int64_t(1) << 32, kWaits = -1;

Error wrong(std::string message) { return {Code::WrongAllocationProblem, std::move(message)}; }

bool inRange(int64_t number, int64_t min, int64_t max = kMaxAllocationNumber) { return number >= min && number <= max; }

int64_t narrow(Wide number) {
  return static_cast<int64_t>(std::clamp<Wide>(number, -Wide(kMaxAllocationNumber), Wide(kMaxAllocationNumber)));
}

/// ceil(10^6 * (age + wait + remaining / rate) / isolatedSeconds), at most `kMaxAllocationNumber`.
int64_t finishRatio(const FairJob &job, int64_t rate, int64_t wait) {
  const Wide seconds = (Wide(job.age) + wait) * rate + job.remaining, isolated = Wide(rate) * job.isolatedSeconds;
  return narrow((seconds * kFairScale + isolated - 1) / isolated);
}

std::string amountFinding(const FairProblem &problem, const TenantAmount &amount) {
  if (!inRange(amount.resource, -1, static_cast<int64_t>(problem.resources.size()) - 1))
    return fmt::format("names resource {} of {}", amount.resource, problem.resources.size());
  if (amount.resource >= 0 && !problem.resources[amount.resource].devices)
    return fmt::format("names resource '{}', which are no devices", problem.resources[amount.resource].name);
  return inRange(amount.amount, 0) ? "" : fmt::format("has an amount of {}", amount.amount);
}

std::string jobFinding(const FairProblem &problem, const FairJob &job) {
  const auto configurations = static_cast<int64_t>(job.configurations.size());
  if (!inRange(job.weight, 1, kMaxWeight))
    return fmt::format("has weight {}, which is not in 1 to {}", job.weight, kMaxWeight);
  if (!inRange(job.isolated, 1) || !inRange(job.remaining, 0) || !inRange(job.isolatedSeconds, 1, kMaxAge) ||
      !inRange(job.age, 0, kMaxAge))
    return "has a rate, work or time in its share that is out of range";
  if (!inRange(job.tenant, -1, static_cast<int64_t>(problem.tenants.size()) - 1))
    return fmt::format("has tenant {} of {}", job.tenant, problem.tenants.size());
  if (!inRange(job.running, -1, configurations - 1) || (job.pinned && job.running < 0))
    return fmt::format("runs in configuration {} of {}", job.running, configurations);
  for (const FairConfiguration &one : job.configurations) {
    if (!inRange(one.rate, 1))
      return fmt::format("has rate {}, which is not in 1 to {}", one.rate, kMaxAllocationNumber);
    for (const ResourceUse &use : one.uses)
      if (use.resource >= problem.resources.size() || !inRange(use.amount, 1))
        return fmt::format("uses {} of resource {} of {}", use.amount, use.resource, problem.resources.size());
  }
  return {};
}

/// Terms of sums are below the largest number, at which they are cut.
Result<void> checkTerms(const FairProblem &problem) {
  for (const FairLayer &layer : layersOf(problem))
    for (unsigned job : isSum(layer) ? layer.members : std::vector<unsigned>())
      for (size_t k = 0; k < problem.jobs[job].configurations.size(); ++k)
        if (std::abs(termOf(problem, layer.objective, job, static_cast<int64_t>(k))) >= kMaxAllocationNumber)
          return wrong(fmt::format("configuration {} of job {} has a term of '{}' above {}", k, job,
                                   nameOf(layer.objective), kMaxAllocationNumber));
  return {};
}

/// Adds rows to an allocation that has jobs and their explicit waiting, and keeps uses ascending.
class StepBuilder {
public:
  StepBuilder(const FairProblem &problem, const std::vector<FairStep> &before, const FairStep *step)
      : problem(problem), layers(layersOf(problem)), before(before), step(step) {}

  StepProblem build(const std::vector<FairReserve> &reserves) {
    addJobs();
    addQuotas();
    for (const FairReserve &reserve : reserves)
      addReserve(reserve);
    for (unsigned layer = 0; layer < layers.size(); ++layer)
      if (layers[layer].ofTenants && appears(layer))
        addTenants(layer);
    for (size_t i = 0; i < before.size(); ++i)
      keep(i);
    if (step)
      maximizeStep();
    return std::move(made);
  }

private:
  bool appears(unsigned layer) const {
    return (step && step->layer == layer) ||
           std::ranges::any_of(before, [&](const FairStep &one) { return one.layer == layer; });
  }

  unsigned addRow(Wide capacity) {
    made.allocation.capacity.push_back(static_cast<int64_t>(std::max<Wide>(capacity, 0)));
    return static_cast<unsigned>(made.allocation.capacity.size() - 1);
  }
  void use(Configuration &configuration, unsigned row, int64_t amount) {
    if (amount > 0)
      configuration.uses.push_back({row, amount});
  }

  /// Calls `visit(slot, choice)` for each configuration of a job, and for waiting where it may.
  template <typename Visit> void eachSlot(unsigned job, Visit visit) {
    std::vector<Configuration> &slots = made.allocation.jobs[job].configurations;
    for (size_t k = 0; k < slots.size(); ++k)
      visit(slots[k], choiceOf(job, k));
  }
  int64_t choiceOf(unsigned job, size_t slot) const {
    const FairJob &one = problem.jobs[job];
    if (one.pinned)
      return one.running;
    return slot < one.configurations.size() ? static_cast<int64_t>(slot) : kWaits;
  }

  void addJobs() {
    for (const FairResource &resource : problem.resources)
      made.allocation.capacity.push_back(resource.capacity);
    for (const FairJob &job : problem.jobs) {
      AllocationJob &added = made.allocation.jobs.emplace_back();
      added.mayWait = false;
      if (job.pinned) {
        added.configurations.push_back({0, job.configurations[job.running].uses});
        continue;
      }
      for (const FairConfiguration &one : job.configurations)
        added.configurations.push_back({0, one.uses});
      added.configurations.push_back({0, {}});
    }
  }

  int64_t devices(unsigned job, int64_t choice, int64_t resource) const {
    return choice < 0 ? 0 : devicesOf(problem, problem.jobs[job].configurations[choice], resource);
  }

  void addQuotas() {
    for (unsigned tenant = 0; tenant < problem.tenants.size(); ++tenant)
      for (const TenantAmount &quota : problem.tenants[tenant].quota) {
        const unsigned row = addRow(quota.amount);
        for (unsigned job = 0; job < problem.jobs.size(); ++job)
          if (belongsTo(problem, problem.jobs[job], tenant))
            eachSlot(job, [&](Configuration &slot, int64_t choice) {
              use(slot, row, devices(job, choice, quota.resource));
            });
      }
  }

  /// A row of how many devices the jobs of a tenant do not use of those that they could, and that sum.
  std::pair<unsigned, Wide> unusedRow(unsigned tenant, int64_t resource, Wide min) {
    Wide total = 0;
    std::vector<int64_t> max(problem.jobs.size(), 0);
    for (unsigned job = 0; job < problem.jobs.size(); ++job)
      if (belongsTo(problem, problem.jobs[job], tenant)) {
        eachSlot(job, [&](Configuration &, int64_t choice) {
          max[job] = std::max(max[job], devices(job, choice, resource));
        });
        total += max[job];
      }
    const unsigned row = addRow(total - min);
    for (unsigned job = 0; job < problem.jobs.size(); ++job)
      if (belongsTo(problem, problem.jobs[job], tenant))
        eachSlot(job, [&](Configuration &slot, int64_t choice) {
          use(slot, row, max[job] - devices(job, choice, resource));
        });
    return {row, total};
  }

  void addReserve(const FairReserve &reserve) {
    const TenantAmount &amount = problem.tenants[reserve.tenant].guaranteed[reserve.amount];
    if (reserve.solution.value > 0)
      unusedRow(reserve.tenant, amount.resource, reserve.solution.value);
  }

  /// Levels that a tenant of a layer can be asked to be above: those of the steps of the layer.
  std::vector<int64_t> levelsAsked(unsigned layer) const {
    std::vector<int64_t> levels;
    for (const FairStep &one : before)
      if (one.layer == layer)
        levels.insert(levels.end(), {one.level - 1, one.level});
    if (step && step->layer == layer)
      levels.insert(levels.end(), {step->level - 1, step->level});
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    return levels;
  }

  /// Each tenant takes a number of levels that it is above, and needs the devices for that.
  void addTenants(unsigned layer) {
    const std::vector<int64_t> levels = levelsAsked(layer);
    for (unsigned tenant : layers[layer].members) {
      const auto [row, total] = unusedRow(tenant, -1, 0);
      AllocationJob job{{{0, {}}}, false};
      for (int64_t level : levels) {
        // The fewest devices with floor(10^6 * devices / weight) above the level.
        const Wide needed =
            std::max<Wide>(0, ((Wide(level) + 1) * problem.tenants[tenant].weight + kFairScale - 1) / kFairScale);
        if (needed > total || needed > kMaxAllocationNumber)
          break;
        Configuration above;
        use(above, row, static_cast<int64_t>(needed));
        job.configurations.push_back(std::move(above));
      }
      tenantJobs[{layer, tenant}] = made.allocation.jobs.size();
      made.allocation.jobs.push_back(std::move(job));
    }
  }

  /// Calls `visit(slot, isAbove)` for each configuration of each member of a layer of levels.
  template <typename Visit> void eachMember(unsigned layer, int64_t level, Visit visit) {
    for (unsigned member : layers[layer].members)
      if (layers[layer].ofTenants) {
        const std::vector<int64_t> levels = levelsAsked(layer);
        const auto above = static_cast<size_t>(std::ranges::lower_bound(levels, level) - levels.begin()) + 1;
        std::vector<Configuration> &slots = made.allocation.jobs[tenantJobs.at({layer, member})].configurations;
        for (size_t k = 0; k < slots.size(); ++k)
          visit(slots[k], k >= above);
      } else
        eachSlot(member, [&](Configuration &slot, int64_t choice) {
          visit(slot, levelOf(problem, layers[layer].objective, member, choice) > level);
        });
  }

  /// At least `members` members of a layer are above a level.
  void keepAbove(unsigned layer, int64_t level, int64_t members) {
    if (members == 0)
      return;
    const unsigned row = addRow(Wide(layers[layer].members.size()) - members);
    eachMember(layer, level, [&](Configuration &slot, bool above) { use(slot, row, above ? 0 : 1); });
  }

  /// As many members as the step before in the layer says are not below the level of a step.
  void keepSmallest(const FairStep &one, size_t number) {
    const bool isFirst = number == 0 || before[number - 1].layer != one.layer;
    keepAbove(one.layer, one.level - 1,
              isFirst ? static_cast<int64_t>(layers[one.layer].members.size()) : before[number - 1].value);
  }

  void keep(size_t number) {
    const FairStep &one = before[number];
    const FairLayer &layer = layers[one.layer];
    if (!isSum(layer)) {
      keepSmallest(one, number);
      return keepAbove(one.layer, one.level, one.value);
    }
    Wide total = 0;
    std::map<unsigned, int64_t> max;
    for (unsigned job : layer.members) {
      int64_t largest = -kMaxAllocationNumber;
      eachSlot(job, [&](Configuration &, int64_t choice) {
        largest = std::max(largest, termOf(problem, layer.objective, job, choice));
      });
      max[job] = largest;
      total += largest;
    }
    const unsigned row = addRow(total - one.value);
    for (unsigned job : layer.members)
      eachSlot(job, [&](Configuration &slot, int64_t choice) {
        use(slot, row, max[job] - termOf(problem, layer.objective, job, choice));
      });
  }

  void maximizeStep() {
    const FairLayer &layer = layers[step->layer];
    if (!isSum(layer)) {
      keepSmallest(*step, before.size());
      return eachMember(step->layer, step->level, [&](Configuration &slot, bool above) { slot.value = above; });
    }
    for (unsigned job : layer.members) {
      int64_t smallest = kMaxAllocationNumber;
      eachSlot(job, [&](Configuration &, int64_t choice) {
        smallest = std::min(smallest, termOf(problem, layer.objective, job, choice));
      });
      eachSlot(job, [&](Configuration &slot, int64_t choice) {
        slot.value = termOf(problem, layer.objective, job, choice) - smallest;
      });
      made.offset -= smallest;
    }
  }

  const FairProblem &problem;
  const std::vector<FairLayer> layers;
  const std::vector<FairStep> &before;
  const FairStep *step;
  std::map<std::pair<unsigned, unsigned>, size_t> tenantJobs; ///< by layer and tenant
  StepProblem made;
};

} // namespace

std::string_view nameOf(FairObjective objective) {
  constexpr std::string_view kNames[] = {"max_min_fairness", "finish_time_fairness", "nash_welfare", "power_mean",
                                         "throughput"};
  return kNames[static_cast<size_t>(objective)];
}

Result<void> checkFairProblem(const FairProblem &problem) {
  for (size_t t = 0; t < problem.tenants.size(); ++t) {
    const FairTenant &tenant = problem.tenants[t];
    if (!inRange(tenant.weight, 1, kMaxWeight))
      return wrong(
          fmt::format("tenant '{}' has weight {}, which is not in 1 to {}", tenant.name, tenant.weight, kMaxWeight));
    if (!inRange(tenant.parent, -1, static_cast<int64_t>(t) - 1))
      return wrong(
          fmt::format("tenant '{}' has parent {}, which is not a tenant before it", tenant.name, tenant.parent));
    for (const std::vector<TenantAmount> *amounts : {&tenant.guaranteed, &tenant.quota})
      for (const TenantAmount &amount : *amounts)
        if (std::string finding = amountFinding(problem, amount); !finding.empty())
          return wrong(fmt::format("a quota or guarantee of tenant '{}' {}", tenant.name, finding));
  }
  for (size_t j = 0; j < problem.jobs.size(); ++j)
    if (std::string finding = jobFinding(problem, problem.jobs[j]); !finding.empty())
      return wrong(fmt::format("job {} {}", j, finding));
  if (!inRange(problem.waitShare, 1) || !inRange(problem.waitSeconds, 0, kMaxAge))
    return wrong(
        fmt::format("a job that waits counts as a share of {} and {} seconds", problem.waitShare, problem.waitSeconds));
  if (!(problem.power >= -8 && problem.power <= 2) || problem.power == 0 ||
      !(problem.waitCost >= 0 && problem.waitCost <= 1000))
    return wrong(fmt::format("the power of the mean is {} and waiting costs {}", problem.power, problem.waitCost));
  if (auto checked = checkAllocationProblem(stepProblem(problem, {}, {}, nullptr).allocation); !checked)
    return checked;
  return checkTerms(problem);
}

bool isSum(const FairLayer &layer) {
  return !layer.ofTenants && layer.objective != FairObjective::MaxMin && layer.objective != FairObjective::FinishTime;
}

std::vector<FairLayer> layersOf(const FairProblem &problem) {
  std::vector<FairLayer> layers;
  auto add = [&](FairLayer layer) {
    if (!layer.members.empty())
      layers.push_back(std::move(layer));
  };
  auto jobs = [&](int64_t tenant, FairObjective objective) {
    FairLayer layer{false, objective, {}};
    for (unsigned j = 0; j < problem.jobs.size(); ++j)
      if (!problem.hierarchical || problem.jobs[j].tenant == tenant)
        layer.members.push_back(j);
    add(std::move(layer));
  };
  if (!problem.hierarchical) {
    jobs(-1, problem.objective);
    return layers;
  }
  for (int64_t parent = -1; parent < static_cast<int64_t>(problem.tenants.size()); ++parent) {
    FairLayer layer{true, FairObjective::MaxMin, {}};
    for (unsigned t = 0; t < problem.tenants.size(); ++t)
      if (problem.tenants[t].parent == parent)
        layer.members.push_back(t);
    add(std::move(layer));
  }
  for (int64_t tenant = 0; tenant < static_cast<int64_t>(problem.tenants.size()); ++tenant)
    jobs(tenant, problem.tenants[tenant].objective);
  jobs(-1, problem.objective);
  return layers;
}

int64_t levelOf(const FairProblem &problem, FairObjective objective, unsigned job, int64_t configuration) {
  const FairJob &one = problem.jobs[job];
  if (objective == FairObjective::MaxMin) {
    if (configuration < 0)
      return 0;
    return narrow(Wide(one.configurations[configuration].rate) * kFairScale / (Wide(one.isolated) * one.weight));
  }
  if (configuration >= 0)
    return -finishRatio(one, one.configurations[configuration].rate, 0);
  int64_t fastest = 0;
  for (const FairConfiguration &each : one.configurations)
    fastest = std::max(fastest, each.rate);
  return fastest > 0 ? -finishRatio(one, fastest, problem.waitSeconds) : -kMaxAllocationNumber;
}

int64_t termOf(const FairProblem &problem, FairObjective objective, unsigned job, int64_t configuration) {
  const FairJob &one = problem.jobs[job];
  if (configuration < 0)
    return 0;
  const int64_t rate = one.configurations[configuration].rate;
  if (objective == FairObjective::Throughput)
    return narrow(Wide(one.weight) * rate);
  const double share = static_cast<double>(rate) / static_cast<double>(one.isolated);
  double term = 0;
  if (objective == FairObjective::Nash) {
    const double floor = static_cast<double>(problem.waitShare) / kFairScale;
    term = std::log2(std::max(share, floor) / floor);
  } else {
    const double power = std::pow(share, problem.power);
    term = problem.power < 0 ? problem.waitCost - power : problem.waitCost + power;
  }
  constexpr double kMax = 1e12 / kFairScale;
  return narrow(Wide(std::llround(std::clamp(term, -kMax, kMax) * kFairScale)) * one.weight);
}

int64_t devicesOf(const FairProblem &problem, const FairConfiguration &configuration, int64_t resource) {
  Wide devices = 0;
  for (const ResourceUse &use : configuration.uses)
    if (problem.resources[use.resource].devices && (resource < 0 || use.resource == resource))
      devices += use.amount;
  return narrow(devices);
}

int64_t tenantLevel(const FairTenant &tenant, int64_t devices) {
  return static_cast<int64_t>(Wide(devices) * kFairScale / tenant.weight);
}

bool belongsTo(const FairProblem &problem, const FairJob &job, unsigned tenant) {
  for (int64_t at = job.tenant; at >= 0; at = problem.tenants[at].parent)
    if (at == tenant)
      return true;
  return false;
}

AllocationProblem reserveProblem(const FairProblem &problem, unsigned tenant, unsigned amount) {
  const TenantAmount &reserved = problem.tenants[tenant].guaranteed[amount];
  AllocationProblem allocation = stepProblem(problem, {}, {}, nullptr).allocation;
  const auto row = static_cast<unsigned>(allocation.capacity.size());
  allocation.capacity.push_back(reserved.amount);
  for (unsigned j = 0; j < problem.jobs.size(); ++j) {
    const FairJob &job = problem.jobs[j];
    AllocationJob &one = allocation.jobs[j];
    one.mayWait = true; // a pinned job may use more than is guaranteed
    if (!belongsTo(problem, job, tenant)) {
      one.configurations.clear();
      continue;
    }
    for (size_t k = 0; k < one.configurations.size(); ++k) {
      const size_t index = job.pinned ? static_cast<size_t>(job.running) : k;
      if (index >= job.configurations.size())
        continue;
      const int64_t devices = devicesOf(problem, job.configurations[index], reserved.resource);
      one.configurations[k].value = devices;
      if (devices > 0)
        one.configurations[k].uses.push_back({row, devices});
    }
  }
  return allocation;
}

StepProblem stepProblem(const FairProblem &problem, const std::vector<FairReserve> &reserves,
                        const std::vector<FairStep> &before, const FairStep *step) {
  return StepBuilder(problem, before, step).build(reserves);
}

} // namespace accord::jobs
