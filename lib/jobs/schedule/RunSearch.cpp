#include "lib/jobs/schedule/RunSearch.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace accord::jobs {
namespace {
/// Cells that a descent and all ejections may look at: together less than half a second.
constexpr int64_t kMaxSteps = 15'000'000, kMaxEjectionSteps = 60'000'000;
} // namespace

RunSearch::RunSearch(const Cluster &cluster, const std::vector<RunRequest> &requests,
                     const std::vector<size_t> &members, const std::vector<Blocked> &blocked)
    : cluster(cluster), requests(requests), members(members), blocked(blocked), placements(members.size()) {
  for (const Blocked &one : blocked) {
    times.push_back(one.begin);
    times.push_back(one.end);
  }
  for (size_t run : members) {
    times.push_back(requests[run].begin);
    times.push_back(requests[run].end);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto cellOf = [&](int64_t time) -> size_t {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  for (size_t run : members)
    span.emplace_back(cellOf(requests[run].begin), cellOf(requests[run].end));
  cells = times.empty() ? 0 : times.size() - 1;
  if (!members.empty())
    for (unsigned s = 0; s < cluster.servers.size(); ++s)
      if (cluster.servers[s].type == requests[members.front()].type && cluster.servers[s].devices > 0)
        servers.push_back(s);
  clear();
}

void RunSearch::clear() {
  free.clear();
  for (unsigned server : servers)
    free.emplace_back(cells, cluster.servers[server].devices);
  for (const Blocked &one : blocked) {
    const auto at = std::lower_bound(servers.begin(), servers.end(), one.share.server);
    if (at != servers.end() && *at == one.share.server)
      for (size_t cell = 0; cell < cells; ++cell)
        if (times[cell] >= one.begin && times[cell] < one.end)
          free[at - servers.begin()][cell] -= std::min(free[at - servers.begin()][cell], one.share.devices);
  }
  for (JobPlacement &placement : placements)
    placement.clear();
}

const JobPlacement &RunSearch::near(size_t member) const {
  return memberBefore[member] >= 0 ? placements[memberBefore[member]] : preferred[member];
}

/// Whether more devices are asked for in a cell than there are.
bool RunSearch::isOverfull() const {
  std::vector<int64_t> total(cells, 0); // that are free, before any member has a place
  for (const std::vector<unsigned> &server : free)
    for (size_t cell = 0; cell < cells; ++cell)
      total[cell] += server[cell];
  std::vector<int64_t> change(cells + 1, 0);
  for (size_t i = 0; i < members.size(); ++i) {
    change[span[i].first] += requests[members[i]].devices;
    change[span[i].second] -= requests[members[i]].devices;
  }
  int64_t used = 0;
  for (size_t cell = 0; cell < cells; ++cell)
    if ((used += change[cell]) > total[cell])
      return true;
  return false;
}

/// Devices of a server (by its place in `servers`) that are free as long as a member runs.
unsigned RunSearch::freeOn(size_t server, size_t member) {
  auto [from, until] = span[member];
  steps -= static_cast<int64_t>(until - from);
  return *std::min_element(free[server].begin() + static_cast<int64_t>(from),
                           free[server].begin() + static_cast<int64_t>(until));
}

/// Whether two servers are the same for all that is still to be placed.
bool RunSearch::alike(size_t a, size_t b, size_t fromCell) const {
  return cluster.servers[servers[a]].devices == cluster.servers[servers[b]].devices &&
         std::equal(free[a].begin() + static_cast<int64_t>(fromCell), free[a].end(),
                    free[b].begin() + static_cast<int64_t>(fromCell));
}

/// Servers from which the next devices of a member can come: all that are left, or a whole server. Of servers that are
/// alike only the first is an option, and whole servers of one size are taken in ascending order.
std::vector<ServerShare> RunSearch::optionsFor(size_t member, unsigned left) {
  struct Option {
    bool whole, far; // what completes the run first; then where the job was
    unsigned rest;   // that stays free on the server for as long as the run lasts
    size_t server;   // place in `servers`
    unsigned take;
  };
  const JobPlacement &has = placements[member], &was = near(member);
  auto holds = [](const JobPlacement &placement, unsigned server) {
    return std::any_of(placement.begin(), placement.end(), [&](const ServerShare &s) { return s.server == server; });
  };
  const unsigned lastSize = has.empty() ? UINT32_MAX : cluster.servers[has.back().server].devices;
  std::vector<Option> options;
  for (size_t s = 0; s < servers.size() && steps > 0; ++s) {
    const unsigned number = servers[s], size = cluster.servers[number].devices, take = std::min(size, left);
    if (holds(has, number) || free[s][span[member].first] < take)
      continue;
    const bool isWhole = take == size;
    if (isWhole && !has.empty() && (size > lastSize || (size == lastSize && number < has.back().server)))
      continue;
    const unsigned room = freeOn(s, member);
    if (room < take)
      continue;
    const bool far = !holds(was, number);
    const size_t from = byBegin ? span[member].first : 0;
    if (std::any_of(options.begin(), options.end(), [&](const Option &o) {
          steps -= 1;
          return o.far == far && o.take == take && o.rest == room - take && alike(o.server, s, from);
        }))
      continue;
    options.push_back({take < left, far, room - take, s, take});
  }
  // A whole server of a larger size before one of a smaller size.
  std::sort(options.begin(), options.end(), [](const Option &a, const Option &b) {
    return std::tuple(a.whole, b.take, a.far, a.rest, a.server) < std::tuple(b.whole, a.take, b.far, b.rest, b.server);
  });
  std::vector<ServerShare> shares;
  for (const Option &option : options)
    shares.push_back({servers[option.server], option.take});
  return shares;
}

void RunSearch::use(size_t member, ServerShare share) {
  const size_t s = std::lower_bound(servers.begin(), servers.end(), share.server) - servers.begin();
  for (size_t cell = span[member].first; cell < span[member].second; ++cell)
    free[s][cell] -= share.devices;
  placements[member].push_back(share);
}

/// Takes back the last share of a member.
void RunSearch::release(size_t member) {
  const ServerShare share = placements[member].back();
  const size_t s = std::lower_bound(servers.begin(), servers.end(), share.server) - servers.begin();
  for (size_t cell = span[member].first; cell < span[member].second; ++cell)
    free[s][cell] += share.devices;
  placements[member].pop_back();
}

RunSearch::Outcome RunSearch::descend() {
  clear();
  steps = kMaxSteps;
  std::vector<Level> levels;
  auto enter = [&](size_t at, unsigned left) { levels.push_back({at, left, optionsFor(order[at], left), 0}); };
  enter(0, requests[members[order[0]]].devices);
  while (!levels.empty()) {
    Level &level = levels.back();
    const size_t member = order[level.at];
    if (level.next > 0)
      release(member);
    if (steps <= 0)
      return Outcome::Stopped;
    if (level.next == level.options.size()) {
      levels.pop_back();
      continue;
    }
    const ServerShare share = level.options[level.next++];
    use(member, share);
    if (share.devices < level.left)
      enter(level.at, level.left - share.devices);
    else if (level.at + 1 < order.size())
      enter(level.at + 1, requests[members[order[level.at + 1]]].devices);
    else
      return Outcome::Complete;
  }
  return Outcome::Through;
}

/// Places a member where there is room; false where there is none.
bool RunSearch::fit(size_t member) {
  unsigned left = requests[members[member]].devices;
  while (left > 0) {
    steps = kMaxSteps;
    std::vector<ServerShare> options = optionsFor(member, left);
    if (options.empty()) {
      while (!placements[member].empty())
        release(member);
      return false;
    }
    use(member, options.front());
    left -= options.front().devices;
  }
  return true;
}

/// Places what finds room, one after the other.
void RunSearch::fill() {
  clear();
  for (size_t member : order)
    fit(member);
}

/// Devices times slots of members without a place.
int64_t RunSearch::missing() const {
  int64_t sum = 0;
  for (size_t i = 0; i < members.size(); ++i)
    if (const RunRequest &run = requests[members[i]]; placements[i].empty())
      sum += (run.end - run.begin) * run.devices;
  return sum;
}

bool RunSearch::Ejection::operator<(const Ejection &other) const {
  return std::tuple(cost, members.size(), server) < std::tuple(other.cost, other.members.size(), other.server);
}

/// What leaves a server so that `devices` of it are free for a member: again and again the member that failed least
/// often among those in the way.
std::optional<RunSearch::Ejection> RunSearch::ejectionFrom(size_t server, size_t member, unsigned devices) {
  if (cluster.servers[servers[server]].devices < devices)
    return std::nullopt;
  auto [from, until] = span[member];
  std::vector<unsigned> room(free[server].begin() + static_cast<int64_t>(from),
                             free[server].begin() + static_cast<int64_t>(until));
  steps -= static_cast<int64_t>(until - from);
  Ejection ejection{0, {}, servers[server]};
  for (size_t cell = from; cell < until; ++cell)
    while (room[cell - from] < devices) {
      std::optional<size_t> chosen;
      for (size_t other : holders[server]) {
        steps -= 1;
        if (other == member || span[other].first > cell || span[other].second <= cell ||
            std::ranges::count(ejection.members, other))
          continue;
        auto key = [&](size_t m) { return std::tuple(failures[m], requests[members[m]].devices, m); };
        if (!chosen || key(other) < key(*chosen))
          chosen = other;
      }
      if (!chosen)
        return std::nullopt;
      ejection.members.push_back(*chosen);
      ejection.cost += 1 + failures[*chosen];
      for (const ServerShare &share : placements[*chosen])
        if (share.server == servers[server])
          for (size_t c = std::max(from, span[*chosen].first); c < std::min(until, span[*chosen].second); ++c)
            room[c - from] += share.devices;
    }
  return ejection;
}

/// Gives a member the servers from which it is cheapest to eject others, which then wait.
bool RunSearch::placeByEjection(size_t member, std::vector<size_t> &waiting) {
  unsigned left = requests[members[member]].devices, largest = 0;
  for (unsigned server : servers)
    largest = std::max(largest, cluster.servers[server].devices);
  JobPlacement taken;
  while (left > 0) {
    const unsigned devices = std::min(left, largest);
    std::optional<Ejection> best;
    size_t bestServer = 0;
    for (size_t s = 0; s < servers.size(); ++s) {
      if (std::ranges::any_of(taken, [&](const ServerShare &share) { return share.server == servers[s]; }))
        continue;
      if (auto ejection = ejectionFrom(s, member, devices); ejection && (!best || *ejection < *best))
        best = std::move(ejection), bestServer = s;
    }
    if (!best)
      return false;
    for (size_t out : best->members) {
      for (const ServerShare &share : placements[out])
        std::erase(holders[std::lower_bound(servers.begin(), servers.end(), share.server) - servers.begin()], out);
      while (!placements[out].empty())
        release(out);
      waiting.push_back(out);
    }
    taken.push_back({servers[bestServer], devices});
    use(member, taken.back());
    holders[bestServer].push_back(member);
    left -= devices;
  }
  return true;
}

/// Places members without room where the others that have to leave failed least often, and these again (guided
/// ejection search; Nagata and Braeysy, Operations Research Letters 37, 2009). Keeps the best it has seen.
void RunSearch::eject(int64_t budget) {
  failures.assign(members.size(), 0);
  holders.assign(servers.size(), {});
  std::vector<size_t> waiting;
  auto hold = [&](size_t member) {
    for (const ServerShare &share : placements[member])
      holders[std::lower_bound(servers.begin(), servers.end(), share.server) - servers.begin()].push_back(member);
  };
  for (size_t i = 0; i < members.size(); ++i)
    placements[i].empty() ? waiting.push_back(i) : hold(i);
  std::vector<JobPlacement> best = placements;
  int64_t bestMissing = missing();
  while (!waiting.empty() && budget > 0) {
    const size_t member = waiting.back();
    waiting.pop_back();
    steps = kMaxSteps;
    if (fit(member)) {
      hold(member);
    } else {
      ++failures[member];
      steps = kMaxSteps;
      if (!placeByEjection(member, waiting))
        break;
    }
    budget -= kMaxSteps - steps + static_cast<int64_t>(members.size());
    if (const int64_t now = missing(); now < bestMissing)
      bestMissing = now, best = placements;
  }
  placements = std::move(best);
}

RunSearch::Found RunSearch::find(const std::vector<JobPlacement> &where, const std::vector<int64_t> &before) {
  preferred = where;
  std::map<size_t, size_t> memberOf;
  for (size_t i = 0; i < members.size(); ++i)
    memberOf[members[i]] = i;
  memberBefore.assign(members.size(), -1);
  for (size_t i = 0; i < members.size(); ++i)
    if (before[members[i]] >= 0)
      if (auto found = memberOf.find(before[members[i]]); found != memberOf.end())
        memberBefore[i] = static_cast<int64_t>(found->second);
  auto devices = [&](size_t i) { return int64_t(requests[members[i]].devices); };
  auto begin = [&](size_t i) { return requests[members[i]].begin; };
  auto length = [&](size_t i) { return requests[members[i]].end - begin(i); };
  using Key = std::tuple<int64_t, int64_t, int64_t, size_t>;
  const auto keys = std::initializer_list<Key (*)(int64_t, int64_t, int64_t, size_t)>{
      [](int64_t b, int64_t d, int64_t l, size_t i) -> Key { return {b, -d, -l, i}; },
      [](int64_t b, int64_t d, int64_t l, size_t i) -> Key { return {-d, b, -l, i}; },
      [](int64_t b, int64_t d, int64_t l, size_t i) -> Key { return {-l, -d, b, i}; }};
  Found best;
  int64_t bestMissing = -1;
  bool through = isOverfull();
  for (auto key : keys) {
    order.resize(members.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return key(begin(a), devices(a), length(a), a) < key(begin(b), devices(b), length(b), b);
    });
    byBegin = key == *keys.begin();
    if (byBegin && !through) {
      const Outcome outcome = descend();
      if (outcome == Outcome::Complete)
        return {placements, false};
      through = outcome == Outcome::Through;
    }
    fill();
    if (bestMissing < 0 || missing() < bestMissing)
      best.placements = placements, bestMissing = missing();
    if (bestMissing == 0)
      break;
  }
  if (bestMissing > 0) {
    clear();
    byBegin = false;
    for (size_t member = 0; member < members.size(); ++member)
      for (const ServerShare &share : best.placements[member])
        use(member, share);
    // Where not all can have a place, a short search is enough.
    const int64_t each = through ? 10'000 : 400'000;
    eject(std::min(kMaxEjectionSteps, static_cast<int64_t>(members.size()) * each));
    best.placements = placements;
  }
  best.through = through;
  return best;
}

} // namespace accord::jobs
