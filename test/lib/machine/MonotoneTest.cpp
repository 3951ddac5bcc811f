// More of anything never makes an operation slower: random machines and operations, every
// number of the machine doubled in turn. And no traffic is below the compulsory bytes.
#include "lib/machine/cost/Estimate.h"
#include "test/support/Random.h"
#include "test/support/RandomMachine.h"
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>

namespace accord {
namespace {

using testing::Draw, testing::randomMachine, testing::randomOperation;

Result<Costs, Errors> price(const Operation &op, const Machine &m) {
  WorkGraph g;
  g.regions.resize(2);
  g.operations = {op};
  g.regions[0].operations = {0};
  return estimate(g, m);
}

/// Every number of the machine of which there can be more, doubled.
std::vector<std::pair<std::string, std::function<void(Machine &)>>> doublings(const Machine &m) {
  std::vector<std::pair<std::string, std::function<void(Machine &)>>> all;
  all.emplace_back("clock", [](Machine &more) {
    more.clock = more.clock * 2;
    for (Core &core : more.cores) // of a data sheet: its peak is at the clock
      for (auto &[type, peak] : core.peak)
        peak = peak * 2;
  });
  for (size_t i = 0; i < m.memories.size(); ++i) {
    all.emplace_back("bandwidth " + m.memories[i].name,
                     [i](Machine &more) { more.memories[i].bandwidth = more.memories[i].bandwidth * 2; });
    all.emplace_back("capacity " + m.memories[i].name,
                     [i](Machine &more) { more.memories[i].capacity = more.memories[i].capacity * 2; });
  }
  for (size_t i = 0; i < m.cores.size(); ++i)
    all.emplace_back("count " + m.cores[i].name, [i](Machine &more) { more.cores[i].count *= 2; });
  return all;
}

TEST(Monotone, MoreOfAnythingIsNeverSlower) {
  Draw draw(7);
  const int64_t count = cases(600);
  int priced = 0, inexact = 0, all = 0;
  for (int64_t i = 0; i < count; ++i) {
    Machine m = randomMachine(draw);
    Operation op = randomOperation(draw);
    auto before = price(op, m);
    auto *costs = before.get();
    if (!costs)
      continue; // a memory that holds no tile is refused
    ++priced;
    const OperationCost &cost = costs->operations[0];
    for (size_t l = 0; l < cost.bytes.size(); ++l)
      ASSERT_GE(cost.bytes[l].value, static_cast<double>(op.bytesRead + op.bytesWritten) * (1 - 1e-12))
          << i << ": " << m.memories[l].name << ": " << cost.formula;
    for (const auto &[what, change] : doublings(m)) {
      ++all;
      Machine more = m;
      change(more);
      auto after = price(op, more);
      ASSERT_TRUE(after) << i << " " << what;
      const OperationCost &now = after->operations[0];
      // One memory on the chip is always searched to the end.
      inexact += now.gap > 0;
      if (m.memories.size() < 3)
        ASSERT_EQ(now.gap, 0) << i << ": twice the " << what;
      // What is not proven best is no slower either.
      ASSERT_LE(now.time.value, cost.time.value * (1 + 1e-12)) << i << ": twice the " << what << "\n"
                                                               << cost.formula << "\n"
                                                               << now.formula;
    }
  }
  EXPECT_GT(priced, count * 8 / 10);
  EXPECT_LT(inexact, all / 150);
  std::printf("%d of %d answers are not proven optimal\n", inexact, all);
}

} // namespace
} // namespace accord
