// What the scheduler proved of one iteration, on a problem that is built again from the plan.
#include "lib/machine/model/Dependences.h"
#include "lib/planning/verify/Ordered.h"
#include "lib/planning/verify/Proof.h"
#include "lib/scheduling/verify/Scheduling.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace accord {
namespace {

/// Shares of bandwidth are counted in billionths, rounded down: whatever schedule is possible is
/// one of this problem.
constexpr int64_t kBillion = 1'000'000'000;
/// Regions of more operations have no joint resources.
constexpr size_t kMaxJoint = 1000;

/// Who makes what an operation reads, in its region; a value that nobody makes is another's
/// storage.
void readsOf(const Proof &p, const std::vector<OperationId> &producer, OperationId id, std::set<OperationId> &before) {
  for (ValueId value : p.operation(id).operands) {
    for (size_t steps = 0;
         producer[value] == kNone && steps < producer.size() && p.plan.graph.values[value].alias != kNone; ++steps)
      value = p.plan.graph.values[value].alias;
    if (OperationId by = producer[value]; by != kNone && by != id)
      before.insert(by);
  }
}

SchedulingProblem problemOf(const Proof &p, RegionId top, const std::vector<int64_t> &lengths,
                            const Dependences &waits);

/// Of a repeat: what every schedule of its body uses.
std::vector<SchedulingProblem::Usage> holdsOf(const Proof &p, RegionId body, const std::vector<int64_t> &lengths,
                                              const Dependences &waits) {
  SchedulingProblem inside = problemOf(p, body, lengths, waits);
  std::set<uint32_t> used;
  for (const auto &task : inside.tasks) {
    std::map<uint32_t, size_t> variants; // that take some of it
    for (const auto &mode : task.modes)
      for (const auto &use : mode.usage)
        variants[use.of] += mode.duration > 0 && use.amount > 0;
    for (const auto &[resource, count] : variants)
      if (count == task.modes.size())
        used.insert(resource);
  }
  std::vector<SchedulingProblem::Usage> holds;
  for (uint32_t resource : used)
    holds.push_back({resource, inside.resources[resource].capacity});
  return holds;
}

/// `lengths`: of an iteration, by region. `waits`: who waits for whom, also by way of repeats;
/// empty where a region has none.
SchedulingProblem problemOf(const Proof &p, RegionId top, const std::vector<int64_t> &lengths,
                            const Dependences &waits) {
  SchedulingProblem problem;
  problem.name = p.plan.graph.regions[top].name;
  const Machine &machine = p.plan.machine;
  for (const Core &core : machine.cores)
    problem.addResource(core.name, core.count);
  for (const Memory &memory : machine.memories)
    problem.addResource(memory.name, kBillion);
  std::map<std::string, uint32_t> networks;
  for (OperationId id = 0; id < p.plan.graph.operations.size(); ++id)
    if (std::string network = p.network(id); !network.empty())
      networks[network] = 0;
  for (auto &[network, index] : networks)
    index = problem.addResource(network, 1);
  std::vector<OperationId> producer(p.plan.graph.values.size(), kNone);
  std::map<OperationId, SchedulingProblem::Id> task;
  for (OperationId id : p.plan.graph.regions[top].operations) {
    task[id] = problem.addTask(p.operation(id).name, 0, {});
    problem.tasks.back().location = p.operation(id).location;
    for (ValueId value : p.operation(id).results)
      producer[value] = id;
    auto &modes = problem.tasks.back().modes;
    if (RegionId body = p.operation(id).body; body != kNone) {
      modes.front().duration = p.plan.graph.regions[body].count * lengths[body];
      if (modes.front().duration > 0)
        modes.front().usage = holdsOf(p, body, lengths, waits);
      continue;
    }
    modes.clear();
    p.variants(id, [&](const OperationCost &cost) {
      SchedulingProblem::Mode &mode = modes.emplace_back();
      mode.duration = Picoseconds::ceil(cost.time).value;
      auto uses = [&](uint32_t resource, int64_t amount) {
        if (amount > 0)
          mode.usage.push_back({resource, amount});
      };
      for (size_t c = 0; c < machine.cores.size(); ++c)
        uses(c, p.instances(cost, c));
      for (size_t m = 0; m < machine.memories.size() && mode.duration > 0; ++m)
        uses(machine.cores.size() + m,
             std::min<double>(kBillion, std::floor(cost.transfer[m].value * 1e12 / mode.duration * 1e9)));
      if (std::string network = p.network(id); !network.empty())
        uses(networks[network], 1);
    });
  }
  for (OperationId id : p.plan.graph.regions[top].operations) {
    std::set<OperationId> before;
    if (const auto &known = waits.predecessors; known.empty())
      readsOf(p, producer, id, before);
    else
      before.insert(known[id].begin(), known[id].end());
    for (OperationId by : before)
      problem.addPrecedence(task[by], task[id]);
  }
  return problem;
}

/// Whether two operations never run at once: in each pair of forms some resource is too small.
bool isDisjunctive(const SchedulingProblem &problem, const SchedulingProblem::Task &a,
                   const SchedulingProblem::Task &b) {
  for (const auto &one : a.modes)
    for (const auto &two : b.modes) {
      std::map<uint32_t, int64_t> sum;
      for (const auto *mode : {&one, &two})
        for (const auto &use : mode->usage)
          sum[use.of] += use.amount;
      if (std::none_of(sum.begin(), sum.end(),
                       [&](const auto &used) { return used.second > problem.resources[used.first].capacity; }))
        return false;
    }
  return true;
}

/// Whom each task waits for, directly or not: searched backward from each.
std::vector<std::vector<char>> waitsFor(const SchedulingProblem &problem) {
  size_t count = problem.tasks.size();
  std::vector<std::vector<size_t>> before(count);
  for (const auto &edge : problem.precedences)
    before[edge.after].push_back(edge.before);
  std::vector<std::vector<char>> waits(count, std::vector<char>(count));
  for (size_t t = 0; t < count; ++t)
    for (std::vector<size_t> open = {t}; !open.empty();) {
      size_t at = open.back();
      open.pop_back();
      for (size_t by : before[at])
        if (!std::exchange(waits[t][by], char{1}))
          open.push_back(by);
    }
  return waits;
}

/// For each core that operations exclude which do not use it: a resource that stands for both. They
/// are taken from the longest on; each is apart from all that use the core, and from each other, or
/// before or after them.
void addJoint(SchedulingProblem &problem, size_t cores) {
  size_t count = problem.tasks.size();
  std::vector<int64_t> time(count, INT64_MAX);
  std::vector<size_t> order;
  for (size_t t = 0; t < count; ++t) {
    for (const auto &mode : problem.tasks[t].modes)
      time[t] = std::min(time[t], mode.duration);
    if (time[t] > 0)
      order.push_back(t);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return time[a] != time[b] ? time[a] > time[b] : a < b; });
  std::vector<std::vector<char>> uses(cores, std::vector<char>(count));
  for (size_t t = 0; t < count; ++t)
    for (const auto &mode : problem.tasks[t].modes)
      for (const auto &use : mode.usage)
        if (use.of < cores)
          uses[use.of][t] = 1;
  auto plain = problem; // of which apart is said
  auto waits = waitsFor(problem);
  for (size_t core = 0; core < cores; ++core) {
    std::vector<size_t> in, joined;
    for (size_t t : order)
      if (uses[core][t])
        in.push_back(t);
    if (in.empty())
      continue;
    for (size_t t : order) {
      bool fits = !uses[core][t];
      for (size_t other : in)
        fits = fits && (waits[t][other] || waits[other][t] || isDisjunctive(plain, plain.tasks[t], plain.tasks[other]));
      if (fits)
        in.push_back(t), joined.push_back(t);
    }
    if (joined.empty())
      continue;
    int64_t all = problem.resources[core].capacity;
    auto joint = problem.addResource(problem.resources[core].name, all);
    for (size_t t = 0; t < count; ++t)
      for (auto &mode : problem.tasks[t].modes) {
        int64_t amount = std::count(joined.begin(), joined.end(), t) ? all : 0;
        for (const auto &use : mode.usage)
          amount += use.of == core ? use.amount : 0;
        if (amount > 0)
          mode.usage.push_back({joint, amount});
      }
  }
}

} // namespace

SchedulingProblem orderedProblem(const Plan &plan, RegionId region, const std::vector<int64_t> &lengths) {
  Proof p{plan, {}, {}};
  const std::vector<OperationId> &operations = plan.graph.regions[region].operations;
  SchedulingProblem problem = problemOf(p, region, lengths, Dependences::of(plan.graph));
  bool repeats =
      std::any_of(operations.begin(), operations.end(), [&](OperationId id) { return p.operation(id).body != kNone; });
  if (!repeats && operations.size() <= kMaxJoint)
    addJoint(problem, plan.machine.cores.size());
  return problem;
}

OrderedProof proveOrdered(const Plan &plan, const std::vector<SchedulingBound> &regions) {
  const WorkGraph &graph = plan.graph;
  OrderedProof proof;
  if (regions.size() != graph.regions.size()) {
    proof.why = fmt::format("{} bounds for {} regions", regions.size(), graph.regions.size());
    return proof;
  }
  std::vector<int64_t> lengths(regions.size(), 0);
  auto prove = [&](auto &&self, RegionId r) -> bool {
    for (OperationId id : graph.regions[r].operations)
      if (RegionId body = graph.operations[id].body; body != kNone && !self(self, body))
        return false;
    std::vector<std::string> trusted;
    Errors errors = verify(orderedProblem(plan, r, lengths), regions[r], &trusted);
    if (!errors.empty() || !trusted.empty())
      proof.why = fmt::format("region '{}': {}", graph.regions[r].name,
                              errors.empty() ? trusted.front() : errors.front().message);
    lengths[r] = std::max<int64_t>(regions[r].value, 0);
    return proof.why.empty();
  };
  if (!prove(prove, kMicrobatchRegion) || !prove(prove, kUpdateRegion))
    return proof;
  Count step = Count{graph.microbatches} * (lengths[kMicrobatchRegion] + hostTime(plan.machine.host.microbatch)) +
               lengths[kUpdateRegion] + hostTime(plan.machine.host.step);
  proof.step = {int64_t(std::min<Count>(step, INT64_MAX))};
  return proof;
}

SchedulingProblem provenProblem(const Plan &plan, RegionId top) {
  Proof p{plan, {}, {}};
  SchedulingProblem problem = problemOf(p, top, std::vector<int64_t>(plan.graph.regions.size()), {});
  if (plan.graph.regions[top].operations.size() <= kMaxJoint)
    addJoint(problem, plan.machine.cores.size());
  return problem;
}

int64_t verifyProvenBound(Proof &p, RegionId top) {
  const SchedulingBound &bound = p.plan.schedule.regions[top].proven;
  if (bound.kind == SchedulingBound::Kind::Nothing)
    return 0;
  const Region &region = p.plan.graph.regions[top];
  for (OperationId id : region.operations)
    if (p.operation(id).body != kNone) {
      if (bound.kind == SchedulingBound::Kind::Subsets)
        return verifyStepSubsets(p, top);
      p.find(Code::BoundNotProved, {},
             "region '{}' repeats '{}', whose iterations may overlap: what was proved "
             "of units of them says nothing",
             region.name, p.operation(id).name);
      return 0;
    }
  std::vector<std::string> trusted;
  SchedulingProblem problem = provenProblem(p.plan, top);
  Errors errors = verify(problem, bound, &trusted);
  for (const std::string &sentence : trusted)
    p.trusted("region '{}': {}", region.name, sentence);
  for (const Error &error : errors)
    p.find(Code::BoundNotProved, error.location, "region '{}': {}", region.name, error.message);
  if (!errors.empty())
    return 0;
  if (trusted.empty())
    p.checked("no iteration of region '{}' is below {} ps: {}", region.name, bound.value, bound.proof);
  return bound.value;
}

} // namespace accord
