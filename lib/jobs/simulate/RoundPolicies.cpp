#include "lib/jobs/simulate/RoundPolicies.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accord::jobs {
namespace {

/// Shares up to this are rounding.
constexpr double kNoShare = 1e-9;
/// The priority, in units of its share, of a job on a type where nothing was received yet.
constexpr double kFirst = 1e9;

const SteadyProgress &progressOf(const JobView &view) { return *static_cast<const SteadyProgress *>(view.progress); }

RoundOptions shuffled(RoundOptions options) {
  options.shuffleTypes = true;
  return options;
}

RoundOptions queued(RoundOptions options) {
  options.fillsIdle = false;
  return options;
}

/// A share of 1 on the type that each job has.
TypeMatrix wholeShares(const std::vector<size_t> &jobs, size_t types, const std::map<size_t, size_t> &assigned) {
  TypeMatrix result(jobs.size(), std::vector<double>(types, 0));
  for (size_t i = 0; i < jobs.size(); ++i)
    if (const auto found = assigned.find(jobs[i]); found != assigned.end())
      result[i][found->second] = 1;
  return result;
}

} // namespace

std::vector<size_t> FractionPolicy::numbersOf(const std::vector<ActiveJob> &active) {
  std::vector<size_t> numbers;
  for (const ActiveJob &one : active)
    numbers.push_back(one.job);
  return numbers;
}

std::vector<JobPlacement> FractionPolicy::decide(double now, const Cluster &cluster,
                                                 const std::vector<JobView> &views) {
  account(now, cluster, views);
  if (views.empty())
    return {};
  const bool fresh = changed && (now - lastRefresh >= options.refresh || lastRefresh == 0);
  if (fresh)
    refresh(now, views);
  std::vector<int> types = choose(views);
  if (!fresh && std::all_of(types.begin(), types.end(), [](int type) { return type < 0; })) {
    refresh(now, views); // nothing would run until the next one
    types = choose(views);
  }
  for (size_t i = 0; i < views.size(); ++i) {
    State &state = states[views[i].job];
    state.type = types[i];
    state.attained = views[i].attainedService;
    state.remaining = progressOf(views[i]).remaining();
  }
  lastDecision = now;
  return placeGangs(cluster, views, types);
}

/// Adds what jobs received in the last round, of those that completed too.
void FractionPolicy::account(double now, const Cluster &cluster, const std::vector<JobView> &views) {
  for (auto &[job, state] : states)
    state.seen = false;
  for (const JobView &view : views) {
    auto [found, isNew] = states.try_emplace(view.job);
    State &state = found->second;
    state.seen = true;
    if (isNew) {
      changed = true;
      state.time.assign(cluster.types.size(), options.round / 2);
      state.lacking.assign(cluster.types.size(), 0);
    } else if (state.type >= 0) {
      const double seconds = (view.attainedService - state.attained) / jobs[view.job].gang;
      state.time[static_cast<size_t>(state.type)] += seconds;
      received[static_cast<size_t>(state.type)] += seconds;
    }
  }
  for (auto it = states.begin(); it != states.end();) {
    const State &state = it->second;
    if (state.seen) {
      ++it;
      continue;
    }
    const size_t type = static_cast<size_t>(std::max(state.type, 0));
    received[type] += std::min(now - lastDecision, state.remaining / jobs[it->first].rates[type]);
    changed = true;
    it = states.erase(it);
  }
}

void FractionPolicy::refresh(double now, const std::vector<JobView> &views) {
  std::vector<ActiveJob> active;
  for (const JobView &view : views)
    active.push_back({view.job, progressOf(view).remaining(), now - jobs[view.job].arrival});
  const TypeMatrix computed = shares(active);
  std::fill(received.begin(), received.end(), options.round / 2 * static_cast<double>(views.size()));
  for (size_t i = 0; i < views.size(); ++i) {
    State &state = states[views[i].job];
    for (size_t type = 0; type < capacity.size(); ++type) {
      const double due = state.share.empty() ? 0 : state.share[type] * (now - lastRefresh);
      state.lacking[type] += due - (state.time[type] - options.round / 2);
      state.time[type] = options.round / 2;
    }
    state.share = computed[i];
    for (double &share : state.share)
      share = share <= kNoShare ? 0 : std::min(share, 1.0);
  }
  lastRefresh = now;
  changed = false;
}

double FractionPolicy::priority(const State &state, size_t job, size_t type) const {
  if (state.share[type] == 0 || jobs[job].rates[type] <= 0)
    return 0;
  if (received[type] <= 0 || state.time[type] <= 0)
    return state.share[type] * kFirst;
  return state.share[type] / (state.time[type] / received[type]);
}

std::vector<size_t> FractionPolicy::orderOfTypes() {
  std::vector<size_t> order(capacity.size());
  std::iota(order.begin(), order.end(), size_t(0));
  if (options.shuffleTypes)
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[options.orderDraws ? options.orderDraws(i) : random.below(i)]);
  return order;
}

/// The type on which each job runs in the next round; -1: it waits.
std::vector<int> FractionPolicy::choose(const std::vector<JobView> &views) {
  std::vector<int> chosen(views.size(), -1);
  for (size_t type : orderOfTypes()) {
    std::vector<std::tuple<double, double, double, size_t>> queue;
    for (size_t i = 0; i < views.size(); ++i) {
      const State &state = states[views[i].job];
      if (chosen[i] >= 0 || state.share.empty() || jobs[views[i].job].rates[type] <= 0)
        continue;
      const double first = priority(state, views[i].job, type);
      if (first > 0 || options.fillsIdle)
        queue.push_back({first, state.lacking[type], state.share[type], i});
    }
    stableSort(queue, [](const auto &a, const auto &b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) >
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    int64_t left = capacity[type];
    for (const auto &entry : queue) {
      const size_t i = std::get<3>(entry);
      const int64_t gang = jobs[views[i].job].gang;
      if (gang > left)
        continue;
      left -= gang;
      chosen[i] = static_cast<int>(type);
    }
  }
  return chosen;
}

std::vector<JobPlacement> placeGangs(const Cluster &cluster, const std::vector<JobView> &views,
                                     const std::vector<int> &types) {
  std::vector<unsigned> left;
  for (const Server &server : cluster.servers)
    left.push_back(server.devices);
  std::vector<size_t> order(views.size());
  std::iota(order.begin(), order.end(), size_t(0));
  stableSort(order, [&](size_t a, size_t b) { return views[a].description->devices > views[b].description->devices; });
  std::vector<JobPlacement> placements(views.size());
  for (size_t i : order) { // jobs that stay, so that no other takes their place
    const JobPlacement &before = views[i].placement;
    if (types[i] < 0 || before.empty() || typeOf(cluster, before) != static_cast<unsigned>(types[i]))
      continue;
    placements[i] = before;
    for (const ServerShare &share : before)
      left[share.server] -= share.devices;
  }
  for (size_t i : order) {
    if (types[i] < 0 || !placements[i].empty())
      continue;
    std::vector<unsigned> servers;
    for (unsigned server = 0; server < left.size(); ++server)
      if (cluster.servers[server].type == static_cast<unsigned>(types[i]) && left[server] > 0)
        servers.push_back(server);
    unsigned gang = views[i].description->devices;
    stableSort(servers, [&](unsigned a, unsigned b) {
      const bool fitsA = left[a] >= gang, fitsB = left[b] >= gang;
      return fitsA != fitsB ? fitsA : fitsA ? left[a] < left[b] : left[a] > left[b];
    });
    for (unsigned server : servers) {
      const unsigned taken = std::min(gang, left[server]);
      if (taken == 0)
        break;
      placements[i].push_back({server, taken});
      left[server] -= taken;
      gang -= taken;
    }
  }
  return placements;
}

FifoPolicy::FifoPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const RoundOptions &options)
    : FractionPolicy(cluster, jobs, queued(options)) {}

TypeMatrix FifoPolicy::shares(const std::vector<ActiveJob> &active) {
  std::vector<int64_t> left = capacity;
  std::map<size_t, size_t> kept;
  for (const ActiveJob &one : active)
    if (const auto found = assigned.find(one.job); found != assigned.end()) {
      kept.insert(*found);
      left[found->second] -= jobs[one.job].gang;
    }
  assigned = std::move(kept);
  for (const ActiveJob &one : active) {
    if (assigned.count(one.job))
      continue;
    std::vector<size_t> fit;
    for (size_t type = 0; type < capacity.size(); ++type)
      if (left[type] >= jobs[one.job].gang && jobs[one.job].rates[type] > 0)
        fit.push_back(type);
    if (fit.empty())
      break;
    const size_t type = fit[drawType(fit.size())];
    assigned[one.job] = type;
    left[type] -= jobs[one.job].gang;
  }
  return wholeShares(numbersOf(active), capacity.size(), assigned);
}

PublishedFifoPolicy::PublishedFifoPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                                         const RoundOptions &options)
    : FractionPolicy(cluster, jobs, shuffled(queued(options))), byName(cluster.types.size()) {
  std::iota(byName.begin(), byName.end(), size_t(0));
  stableSort(byName, [&](size_t a, size_t b) { return cluster.types[a] < cluster.types[b]; });
}

void PublishedFifoPolicy::give(size_t job, size_t type, std::vector<int64_t> &left) {
  assigned[job] = type;
  left[type] -= jobs[job].gang;
}

/// Of each complete job the type goes to the first in the queue; `left` does not yet count the jobs behind it.
void PublishedFifoPolicy::giveFreed(const std::vector<ActiveJob> &active, std::vector<size_t> &queue,
                                    std::vector<int64_t> &left) {
  const std::vector<size_t> numbers = numbersOf(active);
  const std::map<size_t, size_t> before = assigned;
  for (const auto &[job, type] : before) {
    if (std::find(numbers.begin(), numbers.end(), job) != numbers.end()) {
      left[type] -= jobs[job].gang;
      continue;
    }
    assigned.erase(job);
    if (queue.empty() || jobs[queue.front()].gang > left[type] || jobs[queue.front()].rates[type] <= 0)
      continue;
    give(queue.front(), type, left);
    queue.erase(queue.begin());
  }
}

void PublishedFifoPolicy::giveQueue(const std::vector<size_t> &queue, std::vector<int64_t> &left) {
  std::vector<size_t> open; // types, by name
  for (size_t type : byName)
    if (left[type] > 0)
      open.push_back(type);
  for (size_t job : queue) {
    std::vector<size_t> fit; // positions in `open`
    for (size_t i = 0; i < open.size(); ++i)
      if (left[open[i]] >= jobs[job].gang)
        fit.push_back(i);
    if (fit.empty())
      return;
    const size_t drawn = fit[drawType(fit.size())], type = open.back();
    if (jobs[job].rates[type] <= 0)
      continue;
    give(job, type, left);
    if (left[type] == 0)
      open.erase(open.begin() + static_cast<ptrdiff_t>(drawn));
  }
}

TypeMatrix PublishedFifoPolicy::shares(const std::vector<ActiveJob> &active) {
  std::vector<int64_t> left = capacity;
  std::vector<size_t> queue = numbersOf(active);
  std::erase_if(queue, [&](size_t job) { return assigned.count(job) > 0; });
  giveFreed(active, queue, left);
  giveQueue(queue, left);
  return wholeShares(numbersOf(active), capacity.size(), assigned);
}

} // namespace accord::jobs
