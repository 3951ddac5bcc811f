#include "lib/machine/collectives/CollectiveRounds.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {

namespace {

constexpr const char *kNames[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send"};
static_assert(std::size(kNames) == kCollectives);

using Rounds = std::vector<Round>;

int64_t mod(int64_t value, int64_t n) { return (value % n + n) % n; }

/// n - 1 rounds in which each peer hands on a part: of a reduce-scatter or an all-gather.
Rounds ring(int64_t n, bool isBidirectional) {
  Round round;
  round.times = n - 1;
  for (int64_t i = 0; i < n; ++i) {
    double share = 1.0 / n;
    round.messages.push_back({i, mod(i + 1, n), isBidirectional ? share / 2 : share});
    if (isBidirectional)
      round.messages.push_back({i, mod(i - 1, n), share / 2});
  }
  return {round};
}

Rounds direct(int64_t n, bool hasLinkPerPair) {
  Round round;
  round.latencies = hasLinkPerPair ? 1 : n - 1;
  round.messages.reserve(n * (n - 1));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j)
        round.messages.push_back({i, j, 1.0 / n});
  return {round};
}

/// Of the first p = 2^k peers: partners at distance 1, 2, 4, … exchange a half, a quarter, an
/// eighth.
Rounds halving(int64_t p) {
  Rounds rounds;
  double share = 0.5;
  for (int64_t distance = 1; distance < p; distance *= 2, share /= 2) {
    Round &round = rounds.emplace_back();
    for (int64_t i = 0; i < p; ++i)
      round.messages.push_back({i, i ^ distance, share});
  }
  return rounds;
}

Rounds halvingDoubling(Collective collective, int64_t n) {
  int64_t p = 1;
  while (p * 2 <= n)
    p *= 2;
  Rounds down = halving(p), up(down.rbegin(), down.rend());
  if (collective == Collective::ReduceScatter)
    return p == n ? down : Rounds{};
  if (collective == Collective::AllGather)
    return p == n ? up : Rounds{};
  Rounds rounds;
  Round fold, unfold; // peers p .. n-1 hand their data to 0 .. n-p-1
  for (int64_t i = p; i < n; ++i) {
    fold.messages.push_back({i, i - p, 1});
    unfold.messages.push_back({i - p, i, 1});
  }
  if (p < n)
    rounds.push_back(fold);
  llvm::append_range(rounds, down);
  llvm::append_range(rounds, up);
  if (p < n)
    rounds.push_back(unfold);
  return rounds;
}

Rounds doubleTreeRounds(Collective collective, int64_t n) {
  // Of a broadcast, the trees are those of the others, and peer 0 is above both.
  int64_t outside = collective == Collective::Broadcast ? 1 : 0;
  auto [one, two] = doubleTree(n - outside);
  Round up, down;
  for (const auto *parents : {&one, &two})
    for (int64_t i = 0; i < n - outside; ++i) {
      int64_t parent = (*parents)[i] < 0 ? -outside : (*parents)[i];
      if (parent < 0 && !outside)
        continue;
      up.messages.push_back({i + outside, parent + outside, 0.5});
      down.messages.push_back({parent + outside, i + outside, 0.5});
    }
  if (outside)
    return {down};
  return {up, down};
}

Rounds tree(int64_t n) {
  Rounds rounds;
  for (int64_t have = 1; have < n; have *= 2) {
    Round &round = rounds.emplace_back();
    for (int64_t i = 0; i < have && i + have < n; ++i)
      round.messages.push_back({i, i + have, 1});
  }
  return rounds;
}

/// Calls `each` with every peer of the grid, its coordinate in dimension `d`, the peer of its row at 0, and the stride.
template <typename Each> void forEachInRows(const std::vector<int64_t> &grid, size_t d, Each each) {
  int64_t stride = 1, n = 1;
  for (size_t e = 0; e < grid.size(); ++e) {
    if (e < d)
      stride *= grid[e];
    n *= grid[e];
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = i / stride % grid[d];
    each(i, at, i - at * stride, stride);
  }
}

/// Rings along dimension `d` in all rows of the grid, each over `share` of the payload.
Round rowRings(const std::vector<int64_t> &grid, size_t d, double share) {
  Round round;
  round.times = grid[d] - 1;
  double part = share / grid[d] / 2;
  forEachInRows(grid, d, [&](int64_t i, int64_t at, int64_t row, int64_t stride) {
    round.messages.push_back({i, row + mod(at + 1, grid[d]) * stride, part});
    round.messages.push_back({i, row + mod(at - 1, grid[d]) * stride, part});
  });
  return round;
}

/// All-to-all in the rows of one dimension: `1 / extent` of all that a peer has goes to each of its row.
Round rowDirect(const std::vector<int64_t> &grid, size_t d) {
  Round round;
  round.latencies = grid[d] - 1;
  forEachInRows(grid, d, [&](int64_t i, int64_t at, int64_t row, int64_t stride) {
    for (int64_t other = 0; other < grid[d]; ++other)
      if (other != at)
        round.messages.push_back({i, row + other * stride, 1.0 / grid[d]});
  });
  return round;
}

Rounds dimensions(Collective collective, const std::vector<int64_t> &grid) {
  std::vector<size_t> wide;
  for (size_t d = 0; d < grid.size(); ++d)
    if (grid[d] > 1)
      wide.push_back(d);
  if (wide.size() < 2)
    return {};
  Rounds down;
  if (collective == Collective::AllToAll) {
    for (size_t d : wide)
      down.push_back(rowDirect(grid, d));
    return down;
  }
  bool equal = std::all_of(wide.begin(), wide.end(), [&](size_t d) { return grid[d] == grid[wide[0]]; });
  size_t copies = equal ? wide.size() : 1;
  double share = 1;
  for (size_t phase = 0; phase < wide.size(); ++phase) {
    Round round;
    for (size_t copy = 0; copy < copies; ++copy) {
      Round one = rowRings(grid, wide[(phase + copy) % wide.size()], share / copies);
      round.times = one.times;
      round.messages.insert(round.messages.end(), one.messages.begin(), one.messages.end());
    }
    down.push_back(std::move(round));
    share /= grid[wide[phase]];
  }
  Rounds up(down.rbegin(), down.rend());
  if (collective == Collective::ReduceScatter)
    return down;
  if (collective == Collective::AllGather)
    return up;
  llvm::append_range(down, up);
  return down;
}

} // namespace

const char *name(Collective collective) { return kNames[static_cast<size_t>(collective)]; }

std::optional<Collective> collectiveOf(const std::string &word) {
  const auto *found = std::ranges::find(kNames, word);
  return found == std::end(kNames) ? std::nullopt : std::optional(static_cast<Collective>(found - kNames));
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> doubleTree(int64_t n) {
  // In-order tree: a peer whose lowest set bit is b is b above its subtree's first leaf, and its
  // parent's lowest bit is 2 b. Peer 0 is above all. Odd peers are leaves.
  std::vector<int64_t> first(n, -1), second(n, -1);
  for (int64_t i = 1; i < n; ++i) {
    int64_t bit = i & -i, below = i - bit, parent = below | (2 * bit);
    first[i] = parent < n ? parent : below;
  }
  // The second one is the first with peers renamed so that even and odd ones change places: from
  // the other end, or where n is odd by one further.
  auto renamed = [&](int64_t i) { return n % 2 == 0 ? n - 1 - i : mod(i + 1, n); };
  for (int64_t i = 0; i < n; ++i)
    second[renamed(i)] = first[i] < 0 ? -1 : renamed(first[i]);
  return {first, second};
}

int64_t depthOf(const std::vector<int64_t> &parents) {
  int64_t max = 0;
  for (size_t i = 0; i < parents.size(); ++i) {
    int64_t depth = 0;
    for (int64_t at = i; parents[at] >= 0; at = parents[at])
      ++depth;
    max = std::max(max, depth);
  }
  return max;
}

std::vector<Round> roundsOf(Algorithm algorithm, Collective collective, int64_t n, const GroupTopology &groupTopology) {
  if (n < 2)
    return {};
  if (collective == Collective::Send) {
    if (algorithm != Algorithm::Direct)
      return {};
    return {Round{{{0, n - 1, 1}}, 1, 1}};
  }
  bool reduces = collective == Collective::AllReduce;
  bool halves = collective == Collective::ReduceScatter || collective == Collective::AllGather;
  Rounds rounds;
  switch (algorithm) {
  case Algorithm::Ring:
    if (reduces || halves)
      rounds = ring(n, groupTopology.isBidirectional);
    if (reduces)
      rounds[0].times *= 2;
    return rounds;
  case Algorithm::HalvingDoubling:
    return reduces || halves ? halvingDoubling(collective, n) : rounds;
  case Algorithm::DoubleTree:
    return reduces || collective == Collective::Broadcast ? doubleTreeRounds(collective, n) : rounds;
  case Algorithm::Direct:
    if (collective == Collective::Broadcast || n > (collective == Collective::AllToAll ? kMaxAllToAll : kMaxDirect))
      return rounds;
    rounds = direct(n, groupTopology.hasLinkPerPair);
    if (reduces)
      rounds[0].times = 2;
    return rounds;
  case Algorithm::Tree:
    return collective == Collective::Broadcast ? tree(n) : rounds;
  case Algorithm::Dimensions:
    return collective == Collective::Broadcast ? rounds : dimensions(collective, groupTopology.grid);
  case Algorithm::InSwitch: { // who sends to the next and hears from the last loads the same links
    if (!groupTopology.canReduceInSwitch || !reduces)
      return rounds;
    Round round;
    for (int64_t i = 0; i < n; ++i)
      round.messages.push_back({i, mod(i + 1, n), 1});
    return {round};
  }
  case Algorithm::Hierarchical: // made of others: see Collective.cpp
    return rounds;
  }
  return rounds;
}

} // namespace accord
