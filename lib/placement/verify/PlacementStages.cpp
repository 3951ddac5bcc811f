#include "lib/placement/verify/PlacementStages.h"
#include "lib/placement/verify/PlacementWorth.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace accord {

using Id = PlacementProblem::Id;

namespace {
constexpr size_t kMostSets = 4096;

/// Layers of one stage with choices, and the least `again` of them whose memory fits. Exact, or
/// below where there are more than some thousand ways that none makes worthless.
class Knapsack {
public:
  Knapsack(const PlacementProblem &problem, const std::vector<Id> &layers, Id form,
           int64_t inFlight)
      : p(problem), layers(layers), form(form), inFlight(inFlight) {}

  std::optional<int64_t> least(std::vector<uint32_t> *choices, uint64_t *work) {
    int64_t resident = 0;
    std::set<int64_t> workings;
    for (Id l : layers) {
      resident += p.cost(l, form)->resident;
      for (const auto &keep : p.cost(l, form)->keeps)
        workings.insert(keep.working);
    }
    int64_t memory = p.kinds[p.forms[form].kind].memory;
    std::optional<int64_t> best;
    for (int64_t working : workings) {
      int64_t room = memory - resident - working;
      if (room < 0)
        break;
      if (auto again = within(working, room / inFlight, work); again && (!best || *again < *best)) {
        best = again;
        if (choices)
          *choices = chosen();
      }
    }
    return best;
  }

private:
  struct Point {
    int64_t kept, again;
    uint32_t before, choice;
  };

  std::optional<int64_t> within(int64_t working, int64_t room, uint64_t *work) {
    steps.assign(1, {{0, 0, 0, 0}});
    for (Id l : layers) {
      std::vector<Point> next;
      const auto &keeps = p.cost(l, form)->keeps;
      for (uint32_t i = 0; i < steps.back().size(); ++i)
        for (uint32_t k = 0; k < keeps.size(); ++k)
          if (keeps[k].working <= working && steps.back()[i].kept + keeps[k].kept <= room)
            next.push_back({steps.back()[i].kept + keeps[k].kept,
                            steps.back()[i].again + keeps[k].again, i, k});
      if (work)
        *work += next.size() / 8;
      std::sort(next.begin(), next.end(), [](const Point &a, const Point &b) {
        return std::pair(a.kept, a.again) < std::pair(b.kept, b.again);
      });
      std::vector<Point> front;
      for (const Point &point : next)
        if (front.empty() || point.again < front.back().again)
          front.push_back(point);
      thin(front);
      if (front.empty())
        return std::nullopt;
      steps.push_back(std::move(front));
    }
    return steps.back().back().again;
  }

  /// Two neighbours as one that is as good as both: below what can be, never above.
  static void thin(std::vector<Point> &front) {
    if (front.size() <= 4096)
      return;
    std::vector<Point> half;
    for (size_t i = 0; i < front.size(); i += 2) {
      half.push_back(front[i]);
      if (i + 1 < front.size())
        half.back().again = front[i + 1].again;
    }
    front = std::move(half);
  }

  std::vector<uint32_t> chosen() const {
    std::vector<uint32_t> choices(layers.size());
    size_t at = steps.back().size() - 1;
    for (size_t i = layers.size(); i-- > 0;) {
      choices[i] = steps[i + 1][at].choice;
      at = steps[i + 1][at].before;
    }
    return choices;
  }

  const PlacementProblem &p;
  const std::vector<Id> &layers;
  Id form;
  int64_t inFlight;
  std::vector<std::vector<Point>> steps;
};

} // namespace

PlacementCuts::PlacementCuts(const PlacementProblem &problem) {
  size_t n = problem.layers.size();
  for (Id id = 0; id < problem.pins.size(); ++id) {
    std::vector<Id> under;
    for (Id l = 0; l < n; ++l)
      if (std::count(problem.layers[l].pins.begin(), problem.layers[l].pins.end(), id))
        under.push_back(l);
    if (problem.pins[id].stage)
      pins.push_back({problem.pins[id].stage, under}), pinsNumber = true;
    if (problem.pins[id].together)
      pins.push_back({std::nullopt, under});
  }
  std::vector<char> follows(n);
  for (const auto &edge : problem.edges)
    if (edge.to == edge.from + 1)
      follows[edge.to] = 1;
  for (size_t l = 1; l < n; ++l)
    isChain &= follows[l] != 0;
  auto share = [&] {
    for (size_t set = 0; problem.evenly && set < count; ++set) {
      shared.push_back(0);
      for (Id l = 0; l < n; ++l)
        shared.back() += has(set, l) && problem.layers[l].of == *problem.evenly;
    }
  };
  if (isChain) {
    count = n + 1;
    share();
    return;
  }
  if (n > 64)
    return;
  std::vector<uint64_t> needs(n);
  for (const auto &edge : problem.edges)
    needs[edge.to] |= uint64_t(1) << edge.from;
  std::set<uint64_t> found{0};
  std::vector<uint64_t> open{0};
  while (!open.empty() && found.size() <= kMostSets) {
    uint64_t set = open.back();
    open.pop_back();
    for (size_t l = 0; l < n; ++l)
      if (uint64_t bit = uint64_t(1) << l; !(set & bit) && (needs[l] & ~set) == 0)
        if (found.insert(set | bit).second)
          open.push_back(set | bit);
  }
  if (found.size() > kMostSets)
    return;
  sets.assign(found.begin(), found.end());
  std::sort(sets.begin(), sets.end(), [](uint64_t a, uint64_t b) {
    return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
  });
  count = sets.size();
  share();
}

std::vector<Id> PlacementCuts::layers(size_t from, size_t to) const {
  std::vector<Id> list;
  if (isChain)
    for (size_t l = from; l < to; ++l)
      list.push_back(static_cast<Id>(l));
  else
    for (Id l = 0; l < 64; ++l)
      if ((sets[to] & ~sets[from]) >> l & 1)
        list.push_back(l);
  return list;
}

bool PlacementCuts::mayCut(size_t set, int64_t stages, int64_t all) const {
  if (!shared.empty() && shared[set] * all != stages * shared.back())
    return false;
  for (const auto &[stage, under] : pins)
    for (Id l : under)
      if (has(set, l) != (stage ? *stage < stages : has(set, under.front())))
        return false;
  return true;
}

bool PlacementCuts::nearlyEven(int64_t stages) const {
  if (shared.empty())
    return true;
  size_t least = (count - 1) / static_cast<size_t>(stages), first = 0, last = 0;
  for (int64_t s = 1; s <= stages; ++s) { // ends of stage s are between these
    size_t from = first, until = last;
    for (first = from + 1; first < size() && !mayCut(first, s, stages);)
      ++first;
    for (last = first; s < stages && last + 1 < size() && mayCut(last + 1, s, stages);)
      ++last;
    if (s == stages)
      first = last = size() - 1;
    if (first < until + least || last > from + least + 1)
      return false;
  }
  return true;
}

bool mayBeOn(const PlacementProblem &problem, Id layer, Id kind) {
  for (Id id : problem.layers[layer].pins)
    if (const auto &kinds = problem.pins[id].kinds; !kinds.empty())
      if (!std::binary_search(kinds.begin(), kinds.end(), kind))
        return false;
  return true;
}

int64_t StageLeast::finish(const PlacementProblem &p, int64_t computedAgain) const {
  auto behind = static_cast<int64_t>(p.hidden * static_cast<double>(hides + computedAgain));
  int64_t never = p.hides < 1 ? exchange - static_cast<int64_t>(p.hides * double(exchange)) : 0;
  return std::max(never, exchange - behind) + update;
}

StageCosts::StageCosts(const PlacementProblem &problem, const PlacementCuts &cuts)
    : p(problem), cuts(cuts) {
  if (!cuts.chain())
    paths();
}

/// Longest chains of layers by their least times.
void StageCosts::paths() {
  size_t n = p.layers.size();
  fastest.assign(n, 0), fastestBack.assign(n, 0);
  bool delays = std::find(p.schedules.begin(), p.schedules.end(), PipelineSchedule::ZeroBubble) !=
                p.schedules.end();
  for (Id l = 0; l < n; ++l) {
    bool any = false;
    for (const auto &cost : p.classOf(l).costs)
      if (cost) {
        int64_t back = cost->backward + (delays ? 0 : cost->weight);
        fastest[l] = any ? std::min(fastest[l], cost->forward) : cost->forward;
        fastestBack[l] = any ? std::min(fastestBack[l], back) : back;
        any = true;
      }
  }
  pathTo = fastest, pathBack = fastestBack;
  std::vector<std::vector<Id>> before(n);
  for (const auto &edge : p.edges)
    before[edge.to].push_back(edge.from);
  for (Id l = 0; l < n; ++l)
    for (Id other : before[l]) {
      pathTo[l] = std::max(pathTo[l], pathTo[other] + fastest[l]);
      pathBack[l] = std::max(pathBack[l], pathBack[other] + fastestBack[l]);
    }
}

const StageLeast &StageCosts::of(size_t from, size_t to, Id form, bool alone) {
  uint64_t key =
      ((static_cast<uint64_t>(form) * cuts.size() + from) * cuts.size() + to) * 2 + alone;
  if (auto found = known.find(key); found != known.end())
    return found->second;
  if (known.size() > 400'000)
    known.clear();
  return known[key] = compute(from, to, form, alone);
}

StageCosts::Sums &StageCosts::Sums::add(const Sums &other, int64_t times) {
  for (auto field : {&Sums::cannot, &Sums::forward, &Sums::backward, &Sums::weight, &Sums::again,
                     &Sums::update, &Sums::gradients, &Sums::ofExperts, &Sums::weights,
                     &Sums::resident, &Sums::outside, &Sums::kept, &Sums::leastKept})
    this->*field += times * other.*field;
  return *this;
}

const StageCosts::FormSums &StageCosts::sumsOf(Id form) {
  sums.resize(p.forms.size());
  FormSums &of = sums[form];
  if (!of.upTo.empty())
    return of;
  of.upTo.emplace_back();
  for (Id l = 0; l < p.layers.size(); ++l) {
    const auto &cost = p.cost(l, form);
    Sums &one = of.layers.emplace_back();
    int64_t &working = of.working.emplace_back();
    if (!cost || !mayBeOn(p, l, p.forms[form].kind)) {
      one.cannot = 1;
    } else {
      const auto *fast = &cost->keeps[0], *small = fast;
      for (const auto &keep : cost->keeps) {
        if (std::pair(keep.again, keep.kept) < std::pair(fast->again, fast->kept))
          fast = &keep;
        if (keep.kept < small->kept)
          small = &keep;
      }
      one.forward = cost->forward, one.backward = cost->backward, one.weight = cost->weight;
      one.again = fast->again, one.update = cost->update;
      one.gradients = cost->gradients, one.ofExperts = cost->expertGradients;
      one.weights = cost->weights;
      one.resident = cost->resident, one.outside = cost->hostResident;
      one.kept = fast->kept, one.leastKept = small->kept;
      working = fast->working;
      of.energy |= cost->joules != 0 || cost->joulesAgain != 0;
    }
    of.upTo.push_back(Sums(of.upTo.back()).add(one, 1));
  }
  return of;
}

StageCosts::Sums StageCosts::sum(size_t from, size_t to, Id form) {
  const FormSums &of = sumsOf(form);
  if (cuts.chain())
    return Sums(of.upTo[to]).add(of.upTo[from], -1);
  Sums all;
  for (Id l : cuts.layers(from, to))
    all.add(of.layers[l], 1);
  return all;
}

StageLeast StageCosts::compute(size_t from, size_t to, Id form, bool alone) {
  StageLeast least;
  const auto &f = p.forms[form];
  Sums all = sum(from, to, form);
  if (all.cannot > 0)
    return least;
  least.again = all.again, least.forward = all.forward, least.backward = all.backward;
  least.weight = all.weight, least.update = all.update;
  // A chain's layers are looked at one by one only where they must be.
  std::vector<Id> layers;
  if (!cuts.chain() || sumsOf(form).energy)
    layers = cuts.layers(from, to);
  work += cuts.chain() ? to - from : layers.size();
  for (Id l : layers) {
    const auto &cost = p.cost(l, form);
    least.joules +=
        cost->joules + static_cast<double>(sumsOf(form).layers[l].again) * cost->joulesAgain;
  }
  least.can = true;
  least.hides = least.backward + least.weight;
  least.busy = least.forward + least.hides + least.again;
  int64_t gather = leastTime(f.gather, static_cast<double>(all.weights));
  least.forward += gather + p.perMicrobatch;
  least.backward += gather;
  // Of ranks that run replica after replica, the best of any number of groups.
  bool stagesBetween = f.order == PlacementProblem::RankOrder::TensorPipelineData;
  int64_t together = replicasTogether(p, form, 1);
  auto exchange = [&](const std::vector<PlacementProblem::Sync> &syncs, int64_t bytes,
                      int64_t most) {
    int64_t best = syncs.empty() ? 0 : INT64_MAX;
    for (size_t i = 0; i < syncs.size(); ++i)
      if (i == 0 || syncs[i].together <= most) {
        int64_t takes = leastTime(syncs[i].ways, static_cast<double>(bytes));
        best = stagesBetween ? std::min(best, takes) : takes;
      }
    return best;
  };
  least.exchange = exchange(f.syncs, all.gradients, together) +
                   exchange(f.expertSyncs, all.ofExperts, together / f.expert);

  // What comes in, once per layer that sends it, and what goes out, on the best link there is.
  std::map<Id, int64_t> in, out;
  auto has = [&](Id l) {
    return cuts.chain() ? l >= from && l < to : std::binary_search(layers.begin(), layers.end(), l);
  };
  if (!cuts.chain() || (!alone && p.blockingTransfers))
    for (const auto &edge : p.edges) {
      bool sent = has(edge.from), received = has(edge.to);
      if (received && !sent) {
        in[edge.from] = std::max(in[edge.from], edge.bytes);
        if (!cuts.chain()) {
          least.before = std::max(least.before, pathTo[edge.from]);
          least.after = std::max(least.after, pathBack[edge.from]);
        }
      } else if (sent && !received) {
        out[edge.from] = std::max(out[edge.from], edge.bytes);
      }
    }
  if (alone)
    return least;
  LinearTime link{INFINITY, INFINITY};
  size_t n = p.kinds.size();
  auto consider = [&](const LinearTime &way) {
    link = {std::min(link.latency, way.latency), std::min(link.perByte, way.perByte)};
  };
  for (size_t other = 0; other < n; ++other)
    for (const auto *one : {&p.links[other * n + f.kind], &p.links[f.kind * n + other]}) {
      consider(one->across);
      if (other == f.kind && (stagesBetween ? f.tensor : f.devices()) < p.kinds[f.kind].perServer)
        consider(one->inside);
    }
  for (const auto &tie : p.ties)
    if (has(tie.a) != has(tie.b))
      least.update +=
          leastTime({link}, static_cast<double>(p.cost(has(tie.a) ? tie.a : tie.b, form)->tied));
  if (!p.blockingTransfers)
    return least;
  double share = static_cast<double>(f.data * f.microbatch) / static_cast<double>(f.devices());
  int64_t bytesIn = 0, bytesOut = 0;
  for (const auto &[layer, bytes] : in)
    bytesIn += bytes;
  for (const auto &[layer, bytes] : out)
    bytesOut += bytes;
  least.forward += leastTime({link}, static_cast<double>(bytesIn) * share);
  least.backward += leastTime({link}, static_cast<double>(bytesOut) * share);
  return least;
}

std::optional<int64_t> StageCosts::busy(size_t from, size_t to, Id form) {
  const FormSums &of = sumsOf(form);
  const Sums &a = of.upTo[from], &b = of.upTo[to];
  auto takes = [](const Sums &all) { return all.forward + all.backward + all.weight + all.again; };
  return a.cannot == b.cannot ? std::optional(takes(b) - takes(a)) : std::nullopt;
}

std::optional<int64_t> StageCosts::again(size_t from, size_t to, Id form, int64_t inFlight) {
  Sums all = sum(from, to, form);
  int64_t memory = p.kinds[p.forms[form].kind].memory;
  if (all.outside > p.kinds[p.forms[form].kind].hostMemory)
    return std::nullopt;
  if (all.resident + inFlight * all.leastKept > memory)
    return std::nullopt;
  int64_t working = 0;
  std::vector<Id> layers;
  if (cuts.chain()) {
    for (size_t l = from; l < to; ++l)
      working = std::max(working, sumsOf(form).working[l]);
  } else {
    layers = cuts.layers(from, to);
    for (Id l : layers)
      working = std::max(working, sumsOf(form).working[l]);
  }
  if (all.resident + inFlight * all.kept + working <= memory)
    return all.again;
  if (cuts.chain())
    layers = cuts.layers(from, to);
  std::vector<int64_t> key{static_cast<int64_t>(form), inFlight};
  for (Id l : layers)
    key.push_back(p.layers[l].of);
  std::sort(key.begin() + 2, key.end());
  if (auto found = knapsacks.find(key); found != knapsacks.end())
    return found->second;
  return knapsacks[key] = Knapsack(p, layers, form, inFlight).least(nullptr, &work);
}

std::vector<uint32_t> StageCosts::keeps(const std::vector<Id> &layers, Id form,
                                        int64_t inFlight) const {
  std::vector<uint32_t> choices(layers.size());
  Knapsack(p, layers, form, inFlight).least(&choices, nullptr);
  return choices;
}

double ratePerSecond(const PlacementProblem &problem, PlacementProblem::Id form) {
  const PlacementProblem::Kind &kind = problem.kinds[problem.forms[form].kind];
  auto devices = static_cast<double>(problem.forms[form].devices());
  switch (problem.objective) {
  case PlacementObjective::StepTime:
  case PlacementObjective::Memory: // not of time
    return 0;
  case PlacementObjective::Energy:
    return kind.idleWatts * devices;
  case PlacementObjective::Price:
    return kind.pricePerHour / 3600 * devices;
  case PlacementObjective::TdpTime:
    return kind.tdpWatts * devices;
  }
  return 0;
}

} // namespace accord
