// Timing graphs against longest paths from their definition.
#include "lib/planning/analysis/CriticalPath.h"
#include "lib/planning/analysis/TimingGraph.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace accord {
namespace {

using Edge = TimingGraph::Edge;

/// Longest paths by recursion over predecessors and successors.
struct Longest {
  std::vector<int64_t> head, tail;
  int64_t length = 0;
  Longest(const std::vector<int64_t> &durations, const std::vector<Edge> &edges)
      : head(durations.size(), -1), tail(durations.size(), -1) {
    std::vector<std::vector<Edge>> in(durations.size()), out(durations.size());
    for (const Edge &e : edges) {
      in[e.after].push_back(e);
      out[e.before].push_back(e);
    }
    std::function<int64_t(uint32_t)> headOf = [&](uint32_t op) {
      if (head[op] < 0) {
        int64_t at = 0;
        for (const Edge &e : in[op])
          at = std::max(at, headOf(e.before) + durations[e.before] + e.delay);
        head[op] = at;
      }
      return head[op];
    };
    std::function<int64_t(uint32_t)> tailOf = [&](uint32_t op) {
      if (tail[op] < 0) {
        int64_t rest = 0;
        for (const Edge &e : out[op])
          rest = std::max(rest, tailOf(e.after) + durations[e.after] + e.delay);
        tail[op] = rest;
      }
      return tail[op];
    };
    for (uint32_t op = 0; op < durations.size(); ++op) {
      tailOf(op);
      length = std::max(length, headOf(op) + durations[op]);
    }
  }
};

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  std::mt19937 &random() { return random_; }

private:
  std::mt19937 random_;
};

struct Input {
  std::vector<int64_t> durations;
  std::vector<Edge> edges;
};

/// A chain with other edges over at most `reach` operations, in several strands, numbered at
/// random; and far edges, as from a forward to the backward pass.
Input draw(Draw &d, int64_t operations, int64_t reach, int64_t strands, int64_t extra, int64_t far, int64_t delays) {
  Input in;
  std::vector<uint32_t> number(static_cast<size_t>(operations));
  for (uint32_t i = 0; i < number.size(); ++i)
    number[i] = i;
  std::shuffle(number.begin(), number.end(), d.random());
  in.durations.resize(number.size());
  auto edge = [&](int64_t a, int64_t b) {
    in.edges.push_back(
        {number[static_cast<size_t>(a)], number[static_cast<size_t>(b)], delays ? d.pick(0, delays) : 0});
  };
  for (int64_t i = 0; i < operations; ++i) {
    in.durations[static_cast<size_t>(i)] = d.pick(0, 3) ? d.pick(0, 1000) : 0;
    if (i >= strands)
      edge(i - strands, i);
    for (int64_t k = d.pick(0, extra); k > 0 && i > 0; --k)
      edge(i - d.pick(1, std::min(i, reach)), i);
    if (i > operations / 2 && d.pick(0, 99) < far)
      edge(operations - 1 - i, i);
  }
  return in;
}

void expectEqual(const TimingGraph &graph, const Input &in, unsigned seed) {
  Longest longest(in.durations, in.edges);
  ASSERT_EQ(graph.length(), longest.length) << seed;
  for (uint32_t op = 0; op < in.durations.size(); ++op) {
    ASSERT_EQ(graph.earliest(op), longest.head[op]) << seed << " " << op;
    ASSERT_EQ(graph.tail(op), longest.tail[op]) << seed << " " << op;
    ASSERT_EQ(graph.latest(op), longest.length - longest.tail[op] - in.durations[op]) << seed;
  }
  // The critical path is one: each waits for the one before, and it takes as long as everything.
  std::vector<uint32_t> path = graph.criticalPath();
  int64_t at = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    int64_t delay = -1;
    for (const Edge &e : in.edges)
      if (i && e.before == path[i - 1] && e.after == path[i])
        delay = std::max(delay, e.delay);
    ASSERT_GE(i ? delay : 0, 0) << seed;
    at += (i ? delay : 0) + in.durations[path[i]];
  }
  ASSERT_EQ(at, longest.length) << seed;
}

TEST(Timing, EqualsLongestPaths) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Draw d(seed);
    Input in = draw(d, d.pick(1, 1500), d.pick(1, 40), d.pick(1, 3) == 3 ? d.pick(1, 40) : 1, d.pick(0, 2),
                    d.pick(0, 100), d.pick(0, 1) * 20);
    expectEqual(*TimingGraph::of(in.durations, in.edges), in, seed);
  }
}

TEST(Timing, KnowsTheLengthForEachDurationOfEachOperation) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    Draw d(seed);
    Input in = draw(d, d.pick(1, 60), d.pick(1, 8), d.pick(1, 4), d.pick(0, 2), d.pick(0, 50), d.pick(0, 1) * 20);
    TimingGraph graph = *TimingGraph::of(in.durations, in.edges);
    std::vector<int64_t> avoiding = graph.avoiding();
    for (uint32_t op = 0; op < in.durations.size(); ++op) {
      for (int64_t duration : {int64_t{0}, in.durations[op] / 2, in.durations[op] + 700}) {
        Input changed = in;
        changed.durations[op] = duration;
        EXPECT_EQ(std::max(avoiding[op], graph.through(op) + duration), Longest(changed.durations, in.edges).length)
            << seed << " " << op;
      }
    }
  }
}

TEST(Timing, EmptyGraphAndZeroDurations) {
  TimingGraph none = *(TimingGraph::of({}, {}));
  EXPECT_EQ(none.length(), 0);
  EXPECT_TRUE(none.criticalPath().empty());
  EXPECT_TRUE(none.avoiding().empty());
  TimingGraph zero = *(TimingGraph::of({0, 0}, {{0, 1}, {0, 1}, {0, 1, 3}}));
  EXPECT_EQ(zero.length(), 3);
  EXPECT_EQ(zero.criticalPath(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(zero.avoiding(), (std::vector<int64_t>{0, 0}));
}

TEST(Timing, RefusesWhatHasNoTimes) {
  auto message = [](std::vector<int64_t> durations, const std::vector<Edge> &edges) {
    auto graph = TimingGraph::of(std::move(durations), edges, {"a", "b", "c", "d"});
    Error *error = graph.getError();
    return error ? numberOf(error->code) + " " + error->message : "none";
  };
  EXPECT_EQ(message({1, 1, 1, 1}, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}),
            "A0920 operations wait for each other: 'b' -> 'c' -> 'b'");
  EXPECT_EQ(message({1}, {{0, 0}}), "A0920 operations wait for each other: 'a' -> 'a'");
  EXPECT_EQ(message({1}, {{0, 4}}), "A0920 an edge names operation 4, there are 1");
  EXPECT_EQ(message({1, -1}, {}), "A0920 'b' has a negative duration");
  EXPECT_EQ(message({1, 1}, {{0, 1, -1}}), "A0920 a negative delay between 'a' and 'b'");
  EXPECT_EQ(message({kLongestStep - 2, 1}, {}), "none");
  EXPECT_EQ(message({kLongestStep - 1, 1}, {}), "A0920 durations and delays together are 2^61 or more, at 'b'");
  EXPECT_EQ(message({INT64_MAX, INT64_MAX}, {}), "A0920 durations and delays together are 2^61 or more, at 'a'");
  EXPECT_EQ(message({1, 1}, {{0, 1, INT64_MAX}}),
            "A0920 durations and delays together are 2^61 or more, between 'a' and 'b'");
}

} // namespace
} // namespace accord
