// What repeats in a sequence of statements, held against the definition; and that long ones take
// no longer than they should.
#include "lib/import/text/Repeats.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace accord::import;

namespace {

/// The header's definition, looked up step by step and copy by copy.
void expectRepeats(const std::vector<Step> &steps, const std::vector<Repeat> &repeats) {
  auto at = [&](int i) -> const Step & { return steps[static_cast<size_t>(i)]; };
  for (const Repeat &repeat : repeats) {
    ASSERT_GE(repeat.count, 2);
    ASSERT_LE(repeat.end(), static_cast<int>(steps.size()));
    std::map<int, int> initial;
    for (const Repeat::Carried &one : repeat.carried)
      initial[one.place] = one.initial;
    auto copyOf = [&](int i) {
      return i < repeat.start || i >= repeat.end() ? -1 : (i - repeat.start) / repeat.period;
    };
    // What the statement at `i` of the first copy reads, as the body sees it.
    using Read = std::pair<char, int>;
    auto read = [&](int i, size_t k) -> Read {
      int from = at(i).operands[k], copy = copyOf(i);
      if (copyOf(from) == copy)
        return {'b', (from - repeat.start) % repeat.period};
      if (copyOf(from) >= 0 && copyOf(from) == copy - 1)
        return {'c', (from - repeat.start) % repeat.period};
      EXPECT_EQ(copyOf(from), -1) << "a copy reads one that is not before it";
      return {'o', from};
    };
    for (int i = repeat.start + repeat.period; i < repeat.end(); ++i) {
      int first = repeat.start + (i - repeat.start) % repeat.period;
      ASSERT_EQ(at(i).kind, at(first).kind);
      ASSERT_EQ(at(i).operands.size(), at(first).operands.size());
      for (size_t k = 0; k < at(i).operands.size(); ++k) {
        Read one = read(i, k);
        if (one.first == 'c') {
          ASSERT_TRUE(initial.count(one.second));
          EXPECT_EQ(at(first).operands[k], initial[one.second]);
          EXPECT_LT(initial[one.second], repeat.start);
          EXPECT_NE(at(repeat.start + one.second).type, 0u);
          EXPECT_EQ(at(initial[one.second]).type, at(repeat.start + one.second).type);
        } else {
          EXPECT_EQ(read(first, k), one);
          EXPECT_FALSE(one.first == 'o' && at(one.second).shared);
        }
        if (copyOf(i) > 1) {
          EXPECT_EQ(read(i - repeat.period, k), one);
        }
      }
    }
    // Read behind it: only what the last copy hands on.
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      if (i < repeat.end() && copyOf(i) >= 0)
        EXPECT_TRUE(!at(i).kept ||
                    (copyOf(i) == repeat.count - 1 && initial.count((i - repeat.start) % repeat.period)));
      for (int from : at(i).operands)
        if (copyOf(from) >= 0 && i >= repeat.end()) {
          EXPECT_EQ(copyOf(from), repeat.count - 1);
          EXPECT_TRUE(initial.count((from - repeat.start) % repeat.period));
        }
    }
  }
  // One behind the other, or in the second copy of another's body.
  for (const Repeat &a : repeats)
    for (const Repeat &b : repeats)
      if (&a != &b && a.start <= b.start && b.start < a.end())
        EXPECT_TRUE(b.start >= a.start + a.period && b.end() <= a.start + 2 * a.period);
}

Step step(uint32_t kind, std::vector<int> operands) {
  Step one;
  one.kind = kind;
  one.type = 1;
  one.operands = std::move(operands);
  return one;
}

/// Bodies copied at random places of random graphs, some with a step that differs.
std::vector<Step> randomSteps(std::mt19937 &random, int sections) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Step> steps{step(1, {}), step(2, {})};
  for (int section = 0; section < sections; ++section) {
    int length = 1 + below(6), copies = 1 + below(5);
    std::vector<std::tuple<int, int, int>> body;
    for (int i = 0; i < length; ++i)
      body.emplace_back(3 + below(3), below(length + 2), below(12));
    for (int copy = 0; copy < copies; ++copy)
      for (auto [kind, near, far] : body) {
        int size = static_cast<int>(steps.size());
        std::vector<int> operands{size - 1 - std::min(near, size - 1)};
        if (far < 2)
          operands.push_back(far);
        steps.push_back(step(static_cast<uint32_t>(below(60) ? kind : 6), operands));
        steps.back().shared = below(80) == 0;
        steps.back().kept = below(150) == 0;
        steps.back().type = below(80) ? 1 : 0;
      }
  }
  steps.back().kept = true;
  return steps;
}

TEST(Repeats, FollowTheirDefinition) {
  std::mt19937 random(1);
  size_t found = 0, inner = 0;
  for (int round = 0; round < 6000; ++round) {
    std::vector<Step> steps = randomSteps(random, 1 + round % 9);
    std::vector<Repeat> repeats = findRepeats(steps);
    expectRepeats(steps, repeats);
    if (HasFatalFailure() || HasNonfatalFailure())
      FAIL() << "in round " << round;
    found += repeats.size();
    for (size_t i = 1; i < repeats.size(); ++i)
      inner += repeats[i].end() <= repeats[i - 1].start + 2 * repeats[i - 1].period;
  }
  EXPECT_GT(found, 1000u);
  EXPECT_GT(inner, 10u);
}

/// Bodies of different operations, so that no part of one repeats: the one that was written.
TEST(Repeats, FindWhatWasCopied) {
  for (int length = 2; length < 40; ++length)
    for (int copies : {2, 3, 12}) {
      std::vector<Step> steps{step(1, {}), step(2, {0})};
      for (int copy = 0; copy < copies; ++copy)
        for (int i = 0; i < length; ++i)
          steps.push_back(step(10 + static_cast<uint32_t>(i), {static_cast<int>(steps.size()) - 1, 0}));
      steps.push_back(step(3, {static_cast<int>(steps.size()) - 1}));
      steps.back().kept = true;
      std::vector<Repeat> repeats = findRepeats(steps);
      ASSERT_EQ(repeats.size(), 1u);
      EXPECT_EQ(repeats[0].start, 2);
      EXPECT_EQ(repeats[0].period, length);
      EXPECT_EQ(repeats[0].count, copies);
      ASSERT_EQ(repeats[0].carried.size(), 1u);
      EXPECT_EQ(repeats[0].carried[0].place, length - 1);
      EXPECT_EQ(repeats[0].carried[0].initial, 1);
    }
}

/// 100,000 statements in a chain: equal ones, random ones, layers, layers in stages, a Fibonacci
/// word (which has as many repetitions as a word can), and one long body of random ones.
TEST(Repeats, TakeLittleTime) {
  constexpr int kMany = 100'000;
  std::mt19937 random(1);
  std::vector<bool> fibonacci{false}, next{false, true};
  while (next.size() < kMany) {
    std::vector<bool> sum = next;
    sum.insert(sum.end(), fibonacci.begin(), fibonacci.end());
    fibonacci = std::move(next);
    next = std::move(sum);
  }
  std::vector<uint32_t> body;
  for (int i = 0; i < kMany / 4; ++i)
    body.push_back(random() % 3);
  std::map<std::string, std::function<uint32_t(int)>> kinds = {
      {"equal", [](int) { return 0u; }},
      {"random", [&](int) { return static_cast<uint32_t>(random() % 2); }},
      {"layers", [](int i) { return static_cast<uint32_t>(i % 20); }},
      {"stages", [](int i) { return i % 243 == 0 ? 30u : static_cast<uint32_t>(i % 9); }},
      {"fibonacci", [&](int i) { return static_cast<uint32_t>(next[static_cast<size_t>(i)]); }},
      {"long", [&](int i) { return body[static_cast<size_t>(i % (kMany / 4))]; }}};
  for (const auto &[name, kind] : kinds) {
    std::vector<Step> steps{step(100, {})};
    for (int i = 0; i < kMany; ++i)
      steps.push_back(step(kind(i), {i}));
    steps.back().kept = true;
    // What is quadratic takes hours here.
    EXPECT_GT(findRepeats(steps).size(), 0u) << name;
  }
}

} // namespace
