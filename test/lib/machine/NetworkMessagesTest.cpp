// Collectives against a simulation that moves the data block by block.
#include "NetworkFixture.h"
#include <algorithm>

using namespace accord;
using namespace accord::testing;

namespace {

/// Who has contributed to each block that a peer holds.
using Holdings = std::vector<std::vector<std::set<int64_t>>>;
Holdings ownData(int64_t n) {
  Holdings h(n, std::vector<std::set<int64_t>>(n));
  for (int64_t i = 0; i < n; ++i)
    for (auto &block : h[i])
      block = {i};
  return h;
}
bool complete(const Holdings &h) {
  for (auto &peer : h)
    for (auto &block : peer)
      if (block.size() != h.size())
        return false;
  return true;
}

/// Textbook ring all-reduce on blocks, all one way round.
std::vector<Step> ringAllReduce(int64_t n, double bytes) {
  Holdings h = ownData(n);
  std::vector<Step> steps;
  for (int64_t s = 0; s < 2 * (n - 1); ++s) {
    Holdings before = h;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < n; ++i) {
      int64_t block = ((i - s) % n + n) % n, next = (i + 1) % n;
      if (s < n - 1)
        h[next][block].insert(before[i][block].begin(), before[i][block].end());
      else
        h[next][block] = before[i][block];
      step.push_back({i, next, bytes / static_cast<double>(n)});
    }
  }
  EXPECT_TRUE(complete(h)) << n;
  return steps;
}

/// Recursive halving and doubling on blocks of 2^k peers, the others fold onto the first ones.
std::vector<Step> halvingDoublingAllReduce(int64_t n, double bytes) {
  int64_t p = 1;
  while (2 * p <= n)
    p *= 2;
  std::vector<std::set<int64_t>> holds(n); // of the blocks a peer is still in charge of
  std::vector<std::vector<std::set<int64_t>>> data(n, std::vector<std::set<int64_t>>(p));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t b = 0; b < p; ++b)
      data[i][b] = {i};
  std::vector<Step> steps;
  auto merge = [](std::set<int64_t> &into, const std::set<int64_t> &from) { into.insert(from.begin(), from.end()); };
  if (p < n) {
    Step &fold = steps.emplace_back();
    for (int64_t i = p; i < n; ++i) {
      fold.push_back({i, i - p, bytes});
      for (int64_t b = 0; b < p; ++b)
        merge(data[i - p][b], data[i][b]);
    }
  }
  // A block belongs to the peer of its number; with whom one differs in bit d, blocks are divided
  // by bit d.
  std::vector<std::vector<int64_t>> mine(p);
  for (int64_t i = 0; i < p; ++i)
    for (int64_t b = 0; b < p; ++b)
      mine[i].push_back(b);
  for (int64_t d = 1; d < p; d *= 2) {
    auto before = data;
    auto had = mine;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < p; ++i) {
      int64_t partner = i ^ d;
      double sent = 0;
      for (int64_t b : had[i])
        if ((b & d) == (partner & d)) {
          merge(data[partner][b], before[i][b]);
          sent += bytes / static_cast<double>(p);
        }
      std::erase_if(mine[i], [&](int64_t b) { return (b & d) != (i & d); });
      step.push_back({i, partner, sent});
    }
  }
  for (int64_t d = p / 2; d >= 1; d /= 2) {
    auto before = data;
    auto had = mine;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < p; ++i) {
      for (int64_t b : had[i]) {
        data[i ^ d][b] = before[i][b];
        mine[i ^ d].push_back(b);
      }
      step.push_back({i, i ^ d, bytes / static_cast<double>(p) * static_cast<double>(had[i].size())});
    }
  }
  if (p < n) {
    Step &unfold = steps.emplace_back();
    for (int64_t i = p; i < n; ++i) {
      unfold.push_back({i - p, i, bytes});
      data[i] = data[i - p];
    }
  }
  for (auto &peer : data)
    for (auto &block : peer)
      EXPECT_EQ(block.size(), static_cast<size_t>(n));
  return steps;
}

} // namespace

TEST(NetworkMessages, HalvingDoublingIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 5, 6, 7, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost =
          by(Algorithm::HalvingDoubling, allAlternatives({{net}}, Collective::AllReduce, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost) << nameOf(net);
      double simulated = timeOf(net, halvingDoublingAllReduce(n, 1e8));
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

TEST(NetworkMessages, RingIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 5, 6, 7, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost = by(Algorithm::Ring, allAlternatives({{net}}, Collective::AllReduce, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost) << nameOf(net);
      std::vector<Step> steps = ringAllReduce(n, 1e8);
      bool lines = net.topology == Topology::Ring || net.topology == Topology::Mesh || net.topology == Topology::Torus;
      if (!lines) {
        double simulated = timeOf(net, steps);
        EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
        continue;
      }
      if (net.shape.size() > 1)
        continue;                // see below: any order of the peers is a ring
      for (Step &step : steps) { // a mirrored second ring takes half of the data
        Step both;
        for (auto &[from, to, bytes] : step) {
          both.push_back({from, to, bytes / 2});
          both.push_back({to, from, bytes / 2});
        }
        step = both;
      }
      double simulated = timeOf(net, steps);
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

/// The best of all orders of the peers of a small grid is no better than the one that is taken.
TEST(NetworkMessages, RingOnAGridTakesAnOrderThatNoOtherBeats) {
  for (auto [a, b] : {std::pair{2, 2}, {2, 3}, {3, 2}, {2, 4}}) {
    Network net = network(Topology::Mesh, a * b, {a, b});
    net.latency = Seconds(0);
    int64_t n = a * b;
    double bytes = 1e8, min = 1e9;
    std::vector<int64_t> order = firstDevices(n);
    do {
      Step step;
      for (int64_t i = 0; i < n; ++i) {
        double half = bytes / static_cast<double>(2 * n);
        step.push_back({order[i], order[(i + 1) % n], half});
        step.push_back({order[(i + 1) % n], order[i], half});
      }
      double time = timeOf(net, {step});
      std::map<std::string, double> ignored;
      int hops = 0;
      for (auto &[from, to, size] : step)
        hops = std::max(hops, routeOf(net, from, to).hops);
      min = std::min(min, (time - kLatency * hops) * 2 * static_cast<double>(n - 1));
    } while (std::next_permutation(order.begin() + 1, order.end()));
    auto cost = by(Algorithm::Ring, allAlternatives({{net}}, Collective::AllReduce, {firstDevices(n)}, bytes));
    EXPECT_NEAR(cost->time.value, min, 1e-9) << a << "x" << b;
  }
}

TEST(NetworkMessages, AllToAllIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 6, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost = by(Algorithm::Direct, allAlternatives({{net}}, Collective::AllToAll, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost);
      Step step;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (i != j)
            step.push_back({i, j, 1e8 / static_cast<double>(n)});
      int64_t serial = net.topology == Topology::FullyConnected ? 1 : n - 1;
      double simulated = timeOf(net, {step}, serial);
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

TEST(NetworkMessages, BinomialBroadcastReachesAll) {
  for (int64_t n : {2, 3, 5, 8, 12}) {
    Network net = network(Topology::Switch, n);
    std::vector<Step> steps;
    std::set<int64_t> have{0};
    while (static_cast<int64_t>(have.size()) < n) {
      Step &step = steps.emplace_back();
      std::set<int64_t> now = have;
      int64_t next = static_cast<int64_t>(have.size());
      for (int64_t from : have)
        if (next < n) {
          step.push_back({from, next, 1e8});
          now.insert(next++);
        }
      have = now;
    }
    auto cost = by(Algorithm::Tree, allAlternatives({{net}}, Collective::Broadcast, {firstDevices(n)}, 1e8));
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->time.value, timeOf(net, steps), 1e-12) << n;
  }
}

/// Each peer hands a piece to its parent as soon as its children have: counts rounds until the root
/// has all.
TEST(NetworkMessages, TwoTreesNeedDepthPlusPiecesRounds) {
  for (int64_t n = 2; n <= 40; ++n) {
    auto [one, two] = doubleTree(n);
    std::vector<int> forwards(n);
    for (const auto &parents : {one, two}) {
      int64_t depth = depthOf(parents);
      EXPECT_LE(depth, static_cast<int64_t>(std::ceil(std::log2(n)))) << n;
      std::set<int64_t> inner(parents.begin(), parents.end());
      inner.erase(-1);
      for (int64_t i : inner)
        ++forwards[i];
      EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << n;
      std::vector<std::vector<int64_t>> children(n);
      for (int64_t i = 0; i < n; ++i)
        if (parents[i] >= 0)
          children[parents[i]].push_back(i);
      for (auto &c : children)
        EXPECT_LE(c.size(), 2u) << n;
      const int64_t pieces = 5;
      std::vector<int64_t> sent(n); // pieces handed to the parent
      int64_t root = std::find(parents.begin(), parents.end(), -1) - parents.begin(), rounds = 0;
      auto ready = [&](int64_t peer, const std::vector<int64_t> &before) {
        int64_t max = pieces;
        for (int64_t child : children[peer])
          max = std::min(max, before[child]);
        return max;
      };
      for (; ready(root, sent) < pieces; ++rounds) {
        auto before = sent;
        for (int64_t i = 0; i < n; ++i)
          if (i != root && sent[i] < ready(i, before))
            ++sent[i];
      }
      EXPECT_EQ(rounds, depth + pieces - 1) << n;
    }
    // Work is even because (nearly) nobody forwards in both trees.
    EXPECT_LE(std::count(forwards.begin(), forwards.end(), 2), 1) << n;
  }
}

namespace {

/// The same step by several groups of devices at the same time.
std::vector<Step> together(const std::vector<Step> &steps, const Groups &groups) {
  std::vector<Step> all;
  for (const Step &step : steps) {
    Step &merged = all.emplace_back();
    for (const auto &group : groups)
      for (auto &[from, to, bytes] : step)
        merged.push_back({group[from], group[to], bytes});
  }
  return all;
}

} // namespace

/// Neighbours, and devices at a distance: their messages meet on links.
TEST(NetworkMessages, GroupsShareLinksOnEveryTopology) {
  for (int64_t n : {6, 8, 12})
    for (const Network &net : everyTopology(n))
      for (int64_t inner = 2; inner < n; ++inner) {
        if (n % inner != 0)
          continue;
        std::vector<Axis> axes{{"near", inner}, {"far", n / inner}};
        for (const char *axis : {"near", "far"}) {
          Groups groups = groupsAlong(axes, axis);
          int64_t peers = static_cast<int64_t>(groups[0].size());
          auto ar = by(Algorithm::HalvingDoubling, allAlternatives({{net}}, Collective::AllReduce, groups, 1e8));
          ASSERT_TRUE(ar);
          double simulated = timeOf(net, together(halvingDoublingAllReduce(peers, 1e8), groups));
          EXPECT_NEAR(ar->time.value, simulated, 1e-9 * simulated) << nameOf(net) << axis << inner;
          Step step;
          for (int64_t i = 0; i < peers; ++i)
            for (int64_t j = 0; j < peers; ++j)
              if (i != j)
                step.push_back({i, j, 1e8 / static_cast<double>(peers)});
          auto aa = by(Algorithm::Direct, allAlternatives({{net}}, Collective::AllToAll, groups, 1e8));
          ASSERT_TRUE(aa);
          int64_t serial = net.topology == Topology::FullyConnected ? 1 : peers - 1;
          simulated = timeOf(net, together({step}, groups), serial);
          EXPECT_NEAR(aa->time.value, simulated, 1e-9 * simulated) << nameOf(net) << axis << inner;
        }
      }
}

/// DGX SuperPOD and beyond: routes of all groups, in bounded time and space.
TEST(NetworkMessages, LargeFabricsAreRouted) {
  Fabric fabric{{network(Topology::Switch, 8), network(Topology::FatTree, 2048)}};
  std::vector<Axis> axes{{"tensor", 8}, {"data", 2048}};
  auto data = best(fabric, Collective::AllReduce, groupsAlong(axes, "data"), 1e9);
  EXPECT_NEAR(data.beta.value, 2 * 2047.0 / 2048 * 1e9 / (kBandwidth / 8), 1e-6);
  auto all = CollectiveModel::make({{network(Topology::Switch, 5000)}}, Collective::AllToAll, {firstDevices(5000)});
  ASSERT_TRUE(!all);
  EXPECT_EQ(all.error().code, Code::TooFewDevices);
}
