#include "lib/jobs/verify/FairnessRows.h"
#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace accord::jobs {
namespace {
__extension__ using Wide = __int128;

/// A configuration of a job; waiting is -1.
using Use = std::function<Wide(size_t job, int64_t choice)>;

class Rows {
public:
  explicit Rows(const FairProblem &problem) : problem(problem), choices(problem.jobs.size()) {
    for (const FairResource &resource : problem.resources)
      made.capacity.push_back(resource.capacity);
    for (size_t j = 0; j < choices.size(); ++j) {
      const FairJob &job = problem.jobs[j];
      const auto count = static_cast<int64_t>(job.configurations.size());
      for (int64_t k = 0; k <= count; ++k)
        if (!job.pinned || k == job.running)
          choices[j].push_back(k < count ? k : -1);
      AllocationJob &one = made.jobs.emplace_back();
      one.mayWait = false;
      for (int64_t choice : choices[j])
        one.configurations.push_back({0, choice < 0 ? std::vector<ResourceUse>() : job.configurations[choice].uses});
    }
    for (unsigned t = 0; t < problem.tenants.size(); ++t)
      for (const TenantAmount &quota : problem.tenants[t].quota)
        add(quota.amount, [&](size_t j, int64_t choice) { return owns(t, j) ? held(j, choice, quota.resource) : 0; });
  }

  /// Adds a row of what the configurations of jobs use.
  unsigned add(Wide capacity, const Use &use) {
    const auto row = static_cast<unsigned>(made.capacity.size());
    made.capacity.push_back(static_cast<int64_t>(std::max<Wide>(capacity, 0)));
    for (size_t j = 0; j < choices.size(); ++j)
      for (size_t slot = 0; slot < choices[j].size(); ++slot)
        if (const Wide amount = use(j, choices[j][slot]); amount > 0)
          made.jobs[j].configurations[slot].uses.push_back({row, static_cast<int64_t>(amount)});
    return row;
  }

  /// The largest or the smallest of what the configurations of a job have.
  Wide extreme(size_t job, const Use &use, bool isLargest) const {
    Wide found = use(job, choices[job].front());
    for (int64_t choice : choices[job])
      found = isLargest ? std::max(found, use(job, choice)) : std::min(found, use(job, choice));
    return found;
  }

  bool owns(unsigned tenant, size_t job) const {
    std::set<int64_t> above;
    for (int64_t t = problem.jobs[job].tenant; t >= 0; t = problem.tenants[t].parent)
      above.insert(t);
    return above.count(tenant) > 0;
  }
  Wide held(size_t job, int64_t choice, int64_t resource) const {
    Wide devices = 0;
    if (choice >= 0)
      for (const ResourceUse &use : problem.jobs[job].configurations[choice].uses)
        if (problem.resources[use.resource].devices && (resource == -1 || resource == use.resource))
          devices += use.amount;
    return std::min(devices, Wide(kMaxAllocationNumber));
  }

  /// A row of the devices that the jobs of a tenant leave unused; returns its number and all that they could use.
  std::pair<unsigned, Wide> addUnused(unsigned tenant, int64_t resource, Wide kept) {
    const Use use = [&](size_t j, int64_t choice) { return held(j, choice, resource); };
    std::vector<Wide> largest(choices.size(), 0);
    Wide all = 0;
    for (size_t j = 0; j < choices.size(); ++j)
      if (owns(tenant, j))
        all += largest[j] = extreme(j, use, true);
    const unsigned row =
        add(all - kept, [&](size_t j, int64_t choice) { return owns(tenant, j) ? largest[j] - use(j, choice) : 0; });
    return {row, all};
  }

  const FairProblem &problem;
  std::vector<std::vector<int64_t>> choices; ///< of each job, what its configurations are
  AllocationProblem made;
};

class StepRows {
public:
  StepRows(const FairProblem &problem, const FairSolution &solution, size_t numBefore, const FairStep *step)
      : rows(problem), solution(solution), numBefore(numBefore), step(step), layers(layersOf(problem)) {}

  StepProblem write() {
    for (const FairReserve &reserve : solution.reserves)
      if (reserve.solution.value > 0)
        rows.addUnused(reserve.tenant, rows.problem.tenants[reserve.tenant].guaranteed[reserve.amount].resource,
                       reserve.solution.value);
    for (unsigned layer = 0; layer < layers.size(); ++layer)
      if (layers[layer].ofTenants && !asked(layer).empty())
        addTenants(layer);
    for (size_t i = 0; i < numBefore; ++i)
      keep(i);
    StepProblem result;
    if (step && isSum(layers[step->layer]))
      result.offset = valueSum();
    else if (step) {
      addBelow(*step, numBefore);
      forMembers(step->layer, [&](unsigned member) {
        forSlots(step->layer, member, [&](Configuration &slot, Wide level) { slot.value = level > step->level; });
      });
    }
    result.allocation = std::move(rows.made);
    return result;
  }

private:
  std::set<int64_t> asked(unsigned layer) const {
    std::set<int64_t> levels;
    auto ask = [&](const FairStep &one) {
      if (one.layer == layer)
        levels.insert({one.level - 1, one.level});
    };
    std::for_each_n(solution.steps.begin(), numBefore, ask);
    if (step)
      ask(*step);
    return levels;
  }

  void addTenants(unsigned layer) {
    for (unsigned tenant : layers[layer].members) {
      const auto [row, all] = rows.addUnused(tenant, -1, 0);
      AllocationJob job{{{0, {}}}, false};
      std::vector<Wide> levels{-Wide(kMaxAllocationNumber) * kFairScale};
      for (int64_t level : asked(layer)) {
        // The smallest number of devices with 10^6 * devices >= (level + 1) * weight.
        const Wide scaled = (Wide(level) + 1) * rows.problem.tenants[tenant].weight;
        Wide devices = std::max<Wide>(scaled / kFairScale, 0);
        while (devices * kFairScale < scaled)
          ++devices;
        if (devices > all || devices > kMaxAllocationNumber)
          break;
        job.configurations.push_back({0, {}});
        if (devices > 0)
          job.configurations.back().uses.push_back({row, static_cast<int64_t>(devices)});
        levels.push_back(Wide(level) + 1); // it has this level or more
      }
      tenantAt[{layer, tenant}] = {rows.made.jobs.size(), std::move(levels)};
      rows.made.jobs.push_back(std::move(job));
    }
  }

  void forMembers(unsigned layer, const std::function<void(unsigned)> &visit) {
    for (unsigned member : layers[layer].members)
      visit(member);
  }
  /// Visits each configuration of a member with the level that it has at least.
  void forSlots(unsigned layer, unsigned member, const std::function<void(Configuration &, Wide)> &visit) {
    if (layers[layer].ofTenants) {
      const auto &[number, levels] = tenantAt.at({layer, member});
      for (size_t slot = 0; slot < levels.size(); ++slot)
        visit(rows.made.jobs[number].configurations[slot], levels[slot]);
      return;
    }
    for (size_t slot = 0; slot < rows.choices[member].size(); ++slot)
      visit(rows.made.jobs[member].configurations[slot],
            levelOf(rows.problem, layers[layer].objective, member, rows.choices[member][slot]));
  }

  /// A row of 1 for each member whose level is smaller.
  void addCount(unsigned layer, Wide level, int64_t allowed) {
    const auto row = static_cast<unsigned>(rows.made.capacity.size());
    rows.made.capacity.push_back(std::max<int64_t>(allowed, 0));
    forMembers(layer, [&](unsigned member) {
      forSlots(layer, member, [&](Configuration &slot, Wide has) {
        if (has < level)
          slot.uses.push_back({row, 1});
      });
    });
  }
  void addBelow(const FairStep &one, size_t at) {
    const auto members = static_cast<int64_t>(layers[one.layer].members.size());
    const bool follows = at > 0 && solution.steps[at - 1].layer == one.layer;
    const int64_t counted = follows ? solution.steps[at - 1].value : members;
    if (counted > 0)
      addCount(one.layer, one.level, members - counted);
  }

  Use termUse(unsigned layer) const {
    return [this, layer](size_t j, int64_t choice) -> Wide {
      return termOf(rows.problem, layers[layer].objective, static_cast<unsigned>(j), choice);
    };
  }

  void keep(size_t at) {
    const FairStep &one = solution.steps[at];
    const FairLayer &layer = layers[one.layer];
    if (!isSum(layer)) {
      addBelow(one, at);
      if (one.value > 0)
        addCount(one.layer, Wide(one.level) + 1, static_cast<int64_t>(layer.members.size()) - one.value);
      return;
    }
    const Use term = termUse(one.layer);
    std::map<size_t, Wide> largest;
    Wide all = 0;
    for (unsigned member : layer.members)
      all += largest[member] = rows.extreme(member, term, true);
    rows.add(all - one.value, [&](size_t j, int64_t choice) {
      const auto found = largest.find(j);
      return found == largest.end() ? Wide(0) : found->second - term(j, choice);
    });
  }

  /// Values of a sum; returns what has to be taken from their sum.
  int64_t valueSum() {
    const Use term = termUse(step->layer);
    Wide offset = 0;
    for (unsigned member : layers[step->layer].members) {
      const Wide smallest = rows.extreme(member, term, false);
      offset -= smallest;
      for (size_t slot = 0; slot < rows.choices[member].size(); ++slot)
        rows.made.jobs[member].configurations[slot].value =
            static_cast<int64_t>(term(member, rows.choices[member][slot]) - smallest);
    }
    return static_cast<int64_t>(offset);
  }

  Rows rows;
  const FairSolution &solution;
  const size_t numBefore;
  const FairStep *step;
  const std::vector<FairLayer> layers;
  std::map<std::pair<unsigned, unsigned>, std::pair<size_t, std::vector<Wide>>> tenantAt;
};

} // namespace

AllocationProblem guaranteeRows(const FairProblem &problem, unsigned tenant, unsigned amount) {
  Rows rows(problem);
  const TenantAmount &guaranteed = problem.tenants[tenant].guaranteed[amount];
  for (size_t j = 0; j < rows.choices.size(); ++j) {
    rows.made.jobs[j].mayWait = true; // a pinned job may use more than is guaranteed
    if (!rows.owns(tenant, j)) {
      rows.choices[j].clear();
      rows.made.jobs[j].configurations.clear();
    }
    for (size_t slot = 0; slot < rows.choices[j].size(); ++slot)
      rows.made.jobs[j].configurations[slot].value =
          static_cast<int64_t>(rows.held(j, rows.choices[j][slot], guaranteed.resource));
  }
  rows.add(guaranteed.amount, [&](size_t j, int64_t choice) { return rows.held(j, choice, guaranteed.resource); });
  return std::move(rows.made);
}

StepProblem stepRows(const FairProblem &problem, const FairSolution &solution, size_t numBefore, const FairStep *step) {
  return StepRows(problem, solution, numBefore, step).write();
}

} // namespace accord::jobs
