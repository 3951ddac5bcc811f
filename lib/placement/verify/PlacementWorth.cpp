#include "lib/placement/verify/PlacementWorth.h"
#include "lib/placement/verify/PlacementSimulation.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

namespace accord {

int64_t leastTime(const std::vector<LinearTime> &ways, double bytes) {
  double least = 0;
  if (bytes > 0)
    for (size_t i = 0; i < ways.size(); ++i) {
      double takes = ways[i].latency + ways[i].perByte * bytes;
      least = i == 0 ? takes : std::min(least, takes);
    }
  return static_cast<int64_t>(std::ceil(least));
}

namespace {

using Id = PlacementProblem::Id;
constexpr size_t kNowhere = SIZE_MAX;

class Fitting {
public:
  Fitting(const PlacementProblem &problem, const Placement &plan) : p(problem), plan(plan) {}

  std::vector<Issue> run() {
    size_t stages = plan.stages.size();
    if (stages == 0 || plan.chunks < 1 || stages % static_cast<uint64_t>(plan.chunks) != 0) {
      report("A0950", fmt::format("{} stages in {} chunks", stages, plan.chunks));
      return std::move(issues);
    }
    groups = stages / static_cast<size_t>(plan.chunks);
    pipeline();
    where.assign(p.layers.size(), kNowhere);
    bool readable = true;
    for (size_t s = 0; s < stages; ++s)
      readable &= stage(s);
    for (Id l = 0; l < p.layers.size(); ++l)
      if (where[l] == kNowhere)
        report("A0909", fmt::format("layer '{}' is in no stage", p.layers[l].name),
               p.layers[l].location);
    for (const auto &edge : p.edges)
      if (where[edge.from] != kNowhere && where[edge.to] != kNowhere &&
          where[edge.from] > where[edge.to])
        report("A0902",
               fmt::format("layer '{}' is in stage {}, but feeds '{}' in stage {}",
                           p.layers[edge.from].name, where[edge.from], p.layers[edge.to].name,
                           where[edge.to]),
               p.layers[edge.from].location);
    if (readable)
      devices(), pins();
    return std::move(issues);
  }

private:
  void report(const char *code, std::string text, const SourceLocation &at = {}) {
    if (issues.size() < 20)
      issues.push_back({code, std::move(text), at, {}});
  }

  void pipeline() {
    bool offered = false, interleaves = plan.schedule == PipelineSchedule::Interleaved;
    if (!std::any_of(p.groups.begin(), p.groups.end(),
                     [&](const PlacementProblem::GroupRange &r) {
                       return groups >= static_cast<uint64_t>(r.fewest) &&
                              groups <= static_cast<uint64_t>(r.most);
                     }) &&
        !p.groups.empty())
      report("A0950", fmt::format("{} groups of devices in a row are not offered", groups));
    std::vector<size_t> shared;
    for (const PlacedStage &stage : plan.stages) {
      shared.push_back(0);
      for (Id l : stage.layers)
        shared.back() += p.evenly && l < p.layers.size() && p.layers[l].of == *p.evenly;
      if (shared.back() != shared.front())
        report("A0950", fmt::format("stages of {} and of {} layers '{}' are not even",
                                    shared.front(), shared.back(), p.classes[*p.evenly].name));
    }
    for (PipelineSchedule schedule : p.schedules)
      offered |= schedule == plan.schedule;
    if (!offered)
      report("A0950", "the schedule of the passes is not offered");
    if (!interleaves && plan.chunks != 1)
      report("A0950", fmt::format("{} chunks without an interleaved schedule", plan.chunks));
    if (interleaves) {
      bool known = false;
      for (int64_t chunks : p.chunks)
        known |= chunks == plan.chunks && chunks > 1;
      if (!known)
        report("A0950", fmt::format("{} chunks are not offered", plan.chunks));
      if (groups < 2 || plan.microbatches % static_cast<int64_t>(groups) != 0)
        report("A0950", fmt::format("{} micro-batches do not interleave on {} groups of devices",
                                    plan.microbatches, groups));
      if (p.evenly)
        return;
      auto [fewest, most] = std::minmax_element(
          plan.stages.begin(), plan.stages.end(),
          [](const auto &a, const auto &b) { return a.layers.size() < b.layers.size(); });
      if (most->layers.size() > fewest->layers.size() + 1)
        report("A0950", fmt::format("interleaved stages of {} and of {} layers are not even",
                                    fewest->layers.size(), most->layers.size()));
    }
  }

  /// False: forms or layers cannot be looked up.
  bool stage(size_t s) {
    const PlacedStage &stage = plan.stages[s];
    if (stage.form >= p.forms.size() || stage.layers.empty() ||
        stage.keeps.size() != stage.layers.size()) {
      report("A0950",
             fmt::format("stage {} has form {} of {}, {} layers and {} choices of what "
                         "they keep",
                         s, stage.form, p.forms.size(), stage.layers.size(), stage.keeps.size()));
      return false;
    }
    const auto &form = p.forms[stage.form];
    __int128 samples = static_cast<__int128>(form.data) * form.microbatch * plan.microbatches;
    if (samples != p.batch)
      report("A0915", fmt::format("stage {}: {} replicas, {} samples and {} micro-batches do not "
                                  "make the batch, {}",
                                  s, form.data, form.microbatch, plan.microbatches, p.batch));
    if (s >= groups && stage.form != plan.stages[s - groups].form)
      report("A0950",
             fmt::format("stages {} and {} share devices, but not their form", s - groups, s));
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      Id l = stage.layers[i];
      if (l >= p.layers.size() || (i > 0 && l <= stage.layers[i - 1])) {
        report(l < p.layers.size() && l == stage.layers[i - 1] ? "A0909" : "A0950",
               fmt::format("stage {} lists layer {} of {} after {}", s, l, p.layers.size(),
                           i > 0 ? fmt::format("{}", stage.layers[i - 1]) : "nothing"));
        continue;
      }
      if (where[l] != kNowhere)
        report("A0909",
               fmt::format("layer '{}' is in stages {} and {}", p.layers[l].name, where[l], s),
               p.layers[l].location);
      where[l] = s;
      const auto &cost = p.cost(l, stage.form);
      if (!cost)
        report("A0950",
               fmt::format("layer '{}' cannot run in form {}", p.layers[l].name, stage.form),
               p.layers[l].location);
      else if (stage.keeps[i] >= cost->keeps.size())
        report("A0950",
               fmt::format("layer '{}' keeps choice {} of {}", p.layers[l].name, stage.keeps[i],
                           cost->keeps.size()),
               p.layers[l].location);
    }
    return true;
  }

  void pins() {
    for (Id id = 0; id < p.pins.size(); ++id) {
      const auto &pin = p.pins[id];
      std::set<size_t> stages;
      std::set<Id> kinds(pin.kinds.begin(), pin.kinds.end());
      auto against = [&](Id l, const std::string &what) {
        report("A0950",
               fmt::format("layer '{}' {}, against '{}'", p.layers[l].name, what, pin.text),
               pin.location);
      };
      for (Id l = 0; l < p.layers.size(); ++l) {
        const auto &of = p.layers[l].pins;
        if (where[l] == kNowhere || !std::binary_search(of.begin(), of.end(), id))
          continue;
        const auto &form = p.forms[plan.stages[where[l]].form];
        if (!kinds.empty() && !kinds.count(form.kind))
          against(l, fmt::format("is on '{}'", p.kinds[form.kind].name));
        if (pin.stage && *pin.stage != static_cast<int64_t>(where[l]))
          against(l, fmt::format("is in stage {}", where[l]));
        stages.insert(where[l]);
        if (pin.together && stages.size() == 2)
          against(l, fmt::format("is in stage {}, others of it in {}", where[l], *stages.begin()));
      }
    }
  }

  void devices() {
    std::map<Id, std::set<Id>> forms;
    std::map<Id, __int128> used;
    for (size_t g = 0; g < groups; ++g) {
      const auto &form = p.forms[plan.stages[g].form];
      forms[form.kind].insert(plan.stages[g].form);
      used[form.kind] += static_cast<__int128>(form.tensor) * form.data;
    }
    for (const auto &[kind, count] : used) {
      if (count > p.kinds[kind].devices)
        report("A0950",
               fmt::format("the stages need {} of '{}', there are {}",
                           count > INT64_MAX ? std::string("more than 2^63")
                                             : fmt::format("{}", static_cast<int64_t>(count)),
                           p.kinds[kind].name, p.kinds[kind].devices),
               p.kinds[kind].location);
      bool replicaByReplica = false;
      for (Id f : forms[kind])
        replicaByReplica |= p.forms[f].order == PlacementProblem::RankOrder::TensorPipelineData;
      if (replicaByReplica && (forms.size() > 1 || forms[kind].size() > 1))
        report("A0950", "ranks run replica after replica, but stages have several forms",
               p.kinds[kind].location);
      if (p.sameForm && forms[kind].size() > 1)
        report("A0950",
               fmt::format("stages on '{}' have {} forms, but have to have one", p.kinds[kind].name,
                           forms[kind].size()),
               p.kinds[kind].location);
    }
  }

  const PlacementProblem &p;
  const Placement &plan;
  size_t groups = 0;
  std::vector<size_t> where; ///< by layer: its stage
  std::vector<Issue> issues;
};

/// What a stage sends to another for one sample.
using Traffic = std::map<std::pair<uint32_t, uint32_t>, int64_t>;

Traffic trafficOf(const PlacementProblem &p, const Placement &plan) {
  std::vector<uint32_t> where(p.layers.size());
  for (uint32_t s = 0; s < plan.stages.size(); ++s)
    for (Id l : plan.stages[s].layers)
      where[l] = s;
  // A layer's output goes to a stage once: the largest of its edges there.
  std::map<std::pair<Id, uint32_t>, int64_t> outputs;
  for (const auto &edge : p.edges)
    if (where[edge.from] != where[edge.to]) {
      int64_t &bytes = outputs[{edge.from, where[edge.to]}];
      bytes = std::max(bytes, edge.bytes);
    }
  Traffic traffic;
  for (const auto &[output, bytes] : outputs)
    traffic[{where[output.first], output.second}] += bytes;
  return traffic;
}

} // namespace

std::vector<Issue> misfits(const PlacementProblem &problem, const Placement &plan) {
  return Fitting(problem, plan).run();
}

int64_t replicasTogether(const PlacementProblem &p, PlacementProblem::Id form, int64_t groups) {
  const auto &f = p.forms[form];
  bool stagesBetween = f.order == PlacementProblem::RankOrder::TensorPipelineData;
  int64_t apart = f.tensor * (stagesBetween ? groups : 1); // from one replica to the next
  return std::clamp<int64_t>(p.kinds[f.kind].perServer / apart, 1, f.data);
}

std::optional<PlacementWorth> worthAgain(const PlacementProblem &p, const Placement &plan,
                                         double passes) {
  size_t stages = plan.stages.size(), groups = stages / static_cast<size_t>(plan.chunks);
  Traffic traffic = trafficOf(p, plan);
  if (static_cast<double>(plan.microbatches) * static_cast<double>(stages + traffic.size()) >
      passes)
    return std::nullopt;
  PipelineToReplay pipeline{plan.schedule,
                            static_cast<int64_t>(groups),
                            plan.chunks,
                            plan.microbatches,
                            std::vector<StageTimes>(stages),
                            std::vector<std::vector<uint32_t>>(stages)};
  PlacementWorth worth;
  worth.inFlight.resize(stages);

  std::vector<int64_t> gradients(groups), ofExperts(groups), updates(groups), hides(groups),
      working(groups);
  worth.memory.resize(groups), worth.host.resize(groups);
  std::vector<std::vector<int64_t>> keeps(groups), outside(groups); // by group, chunk
  for (size_t s = 0; s < stages; ++s) {
    const PlacedStage &stage = plan.stages[s];
    StageTimes &times = pipeline.stages[s];
    size_t g = s % groups;
    int64_t kept = 0, weights = 0, keptOutside = 0;
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      const auto &cost = *p.cost(stage.layers[i], stage.form);
      const auto &keep = cost.keeps[stage.keeps[i]];
      times.forward += cost.forward;
      times.backward += cost.backward + keep.again;
      times.weight += cost.weight;
      kept += keep.kept;
      keptOutside += keep.hostKept;
      worth.host[g] += cost.hostResident;
      weights += cost.weights;
      gradients[g] += cost.gradients;
      ofExperts[g] += cost.expertGradients;
      updates[g] += cost.update;
      worth.memory[g] += cost.resident;
      working[g] = std::max(working[g], keep.working);
      worth.joules += cost.joules + static_cast<double>(keep.again) * cost.joulesAgain;
    }
    keeps[g].push_back(kept), outside[g].push_back(keptOutside);
    hides[g] += times.backward + times.weight;
    int64_t gather = leastTime(p.forms[stage.form].gather, static_cast<double>(weights));
    times.forward += gather + p.perMicrobatch;
    times.backward += gather;
  }

  std::vector<int64_t> first(groups), last(groups), taken(p.kinds.size());
  double idle = 0, price = 0, tdp = 0;
  for (size_t g = 0; g < groups; ++g) {
    const auto &form = p.forms[plan.stages[g].form];
    const auto &kind = p.kinds[form.kind];
    int64_t devices = form.tensor * form.data;
    first[g] = taken[form.kind];
    last[g] = (taken[form.kind] += devices) - 1;
    worth.devices += devices;
    idle += kind.idleWatts * static_cast<double>(devices);
    price += kind.pricePerHour * static_cast<double>(devices) / 3600;
    tdp += kind.tdpWatts * static_cast<double>(devices);
    auto [bytes, held] = peakOf(pipeline, static_cast<int64_t>(g), keeps[g]);
    for (size_t chunk = 0; chunk < held.size(); ++chunk)
      worth.inFlight[chunk * groups + g] = held[chunk];
    worth.memory[g] += bytes + working[g];
    worth.host[g] += peakOf(pipeline, static_cast<int64_t>(g), outside[g]).first;
    worth.fits &= worth.memory[g] <= kind.memory && worth.host[g] <= kind.hostMemory;

    int64_t together = replicasTogether(p, plan.stages[g].form, static_cast<int64_t>(groups));
    int64_t exchange = 0;
    for (size_t i = 0; i < form.syncs.size(); ++i) // the last with no more together than there are
      if (i == 0 || form.syncs[i].together <= together)
        exchange = leastTime(form.syncs[i].ways, static_cast<double>(gradients[g]));
    // Replicas with the same experts are `expert` apart: so many times fewer are together.
    int64_t experts = 0, same = std::max<int64_t>(1, together / form.expert);
    for (const auto &sync : form.expertSyncs)
      if (sync.together <= same || &sync == &form.expertSyncs.front())
        experts = leastTime(sync.ways, static_cast<double>(ofExperts[g]));
    exchange += experts;
    auto hidden = static_cast<int64_t>(p.hidden * static_cast<double>(hides[g]));
    if (p.hides < 1)
      hidden = std::min(hidden, static_cast<int64_t>(p.hides * static_cast<double>(exchange)));
    pipeline.stages[g].finish = (exchange > hidden ? exchange - hidden : 0) + updates[g];
  }

  /// Whether whatever two groups send stays in servers.
  auto oneServer = [&](size_t a, size_t b) {
    const auto &f = p.forms[plan.stages[a].form], &other = p.forms[plan.stages[b].form];
    int64_t size = p.kinds[f.kind].perServer;
    if (f.order == PlacementProblem::RankOrder::TensorDataPipeline)
      return f.kind == other.kind && first[a] / size == last[b] / size &&
             last[a] / size == first[b] / size && first[a] / size == last[a] / size;
    int64_t different =
        std::min(f.data, size / std::gcd(size, f.tensor * static_cast<int64_t>(groups)));
    if (different > PlacementProblem::kMostReplicas)
      return false;
    for (int64_t r = 0; r < different; ++r) { // each device's server, replica for replica
      auto begin = [&](size_t g) {
        return (r * static_cast<int64_t>(groups) + static_cast<int64_t>(g)) * f.tensor;
      };
      std::set<int64_t> servers;
      for (size_t g : {a, b})
        servers.insert({begin(g) / size, (begin(g) + f.tensor - 1) / size});
      if (servers.size() > 1)
        return false;
    }
    return true;
  };
  for (const auto &[ends, bytes] : traffic) {
    auto [from, to] = ends;
    pipeline.feeds[to].push_back(from);
    size_t a = from % groups, b = to % groups;
    if (a == b)
      continue;
    const auto &sends = p.forms[plan.stages[a].form], &receives = p.forms[plan.stages[b].form];
    const auto &link = p.links[sends.kind * p.kinds.size() + receives.kind];
    bool inside = oneServer(a, b);
    double each = static_cast<double>(bytes) * static_cast<double>(sends.data * sends.microbatch) /
                  static_cast<double>(std::min(sends.devices(), receives.devices()));
    int64_t takes = leastTime({inside ? link.inside : link.across}, each);
    if (p.blockingTransfers) {
      pipeline.stages[to].forward += takes;
      pipeline.stages[from].backward += takes;
    } else {
      pipeline.stages[from].send = std::max(pipeline.stages[from].send, takes);
    }
  }

  for (const auto &tie : p.ties) {
    size_t at[2] = {0, 0};
    for (size_t s = 0; s < stages; ++s)
      for (Id l : plan.stages[s].layers) {
        if (l == tie.a)
          at[0] = s % groups;
        if (l == tie.b)
          at[1] = s % groups;
      }
    if (at[0] == at[1])
      continue;
    Id one = plan.stages[at[0]].form, two = plan.stages[at[1]].form;
    auto shared = static_cast<double>(
        std::max(p.classOf(tie.a).costs[one]->tied, p.classOf(tie.b).costs[two]->tied));
    size_t n = p.kinds.size(), there = p.forms[one].kind, back = p.forms[two].kind;
    bool inside = oneServer(at[0], at[1]);
    auto takesOn = [&](const PlacementProblem::Link &link) {
      return leastTime({inside ? link.inside : link.across}, shared);
    };
    int64_t takes =
        std::max(takesOn(p.links[there * n + back]), takesOn(p.links[back * n + there]));
    for (size_t g : at)
      pipeline.stages[g].finish += takes;
  }

  PipelineReplay run = replay(pipeline);
  if (!run.ends)
    return std::nullopt;
  worth.step = run.step + p.perStep;
  if (worth.step < p.leastStep)
    worth.step = p.leastStep;
  worth.times = std::move(pipeline.stages);
  double seconds = static_cast<double>(worth.step) * 1e-12;
  worth.joules += idle * seconds;
  worth.price = price * seconds;
  switch (p.objective) {
  case PlacementObjective::StepTime:
    worth.value = static_cast<double>(worth.step);
    break;
  case PlacementObjective::Energy:
    worth.value = worth.joules;
    break;
  case PlacementObjective::Price:
    worth.value = worth.price;
    break;
  case PlacementObjective::TdpTime:
    worth.value = tdp * seconds;
    break;
  case PlacementObjective::Memory:
    for (int64_t bytes : worth.memory)
      worth.value = std::max(worth.value, static_cast<double>(bytes));
    break;
  }
  return worth;
}

} // namespace accord
