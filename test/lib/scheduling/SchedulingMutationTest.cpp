// Schedules corrupted in named ways: the replay says of each what occupancy by units of time says.
#include "SchedulingFamilies.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>
#include <map>

using namespace accord;
using namespace accord::testing;
using Id = SchedulingProblem::Id;

namespace {

/// A problem, a schedule of it, and ways to spoil either.
class Spoiler {
public:
  Spoiler(SchedulingProblem problem, SchedulingSolution solution, uint64_t seed)
      : p(std::move(problem)), s(std::move(solution)), random(seed) {}

  SchedulingProblem p;
  SchedulingSolution s;

  /// Each returns false where it has nothing to change.
  bool startsOneEarlier() {
    Id t = task();
    return mode(t).absent ? false : (--s.start[t], measure(), true);
  }
  bool startsBeforeZero() {
    s.start[task()] = -1;
    return true;
  }
  bool startsBeyondTime() {
    s.start[task()] = INT64_MAX;
    return true;
  }
  bool startsLater() {
    Id t = task();
    if (mode(t).absent)
      return false;
    s.start[t] += pick(1, 3);
    measure();
    return true;
  }
  bool twoTasksSwapped() {
    Id a = task(), b = task();
    if (mode(a).absent || mode(b).absent || s.start[a] == s.start[b])
      return false;
    std::swap(s.start[a], s.start[b]);
    measure();
    return true;
  }
  bool startsWithItsPredecessor() {
    return edge([&](auto &e) { s.start[e.after] = s.start[e.before]; });
  }
  bool delayIgnored() {
    return edge([&](auto &e) { s.start[e.after] = s.start[e.before] + mode(e.before).duration; });
  }
  bool otherMode() {
    Id t = task();
    if (p.tasks[t].modes.size() < 2)
      return false;
    s.mode[t] = (s.mode[t] + 1) % static_cast<Id>(p.tasks[t].modes.size());
    if (mode(t).absent)
      s.start[t] = 0;
    measure();
    return true;
  }
  bool modeOutOfRange() {
    Id t = task();
    s.mode[t] = static_cast<Id>(p.tasks[t].modes.size()) + static_cast<Id>(pick(0, 1) << 31);
    return true;
  }
  bool modesSwapped() {
    Id a = task(), b = task();
    if (s.mode[a] == s.mode[b] || s.mode[b] >= p.tasks[a].modes.size() || s.mode[a] >= p.tasks[b].modes.size())
      return false;
    std::swap(s.mode[a], s.mode[b]);
    for (Id t : {a, b})
      if (mode(t).absent)
        s.start[t] = 0;
    measure();
    return true;
  }
  bool makespanUnderstated() { return --s.makespan, true; }
  bool makespanOverstated() { return ++s.makespan, true; }
  bool allLaterButNotTheMakespan() {
    later();
    return true;
  }
  bool allLater() {
    later();
    measure();
    return true;
  }
  bool taskMissing() {
    s.start.pop_back(), s.mode.pop_back();
    return true;
  }
  bool taskTooMany() {
    s.start.push_back(0), s.mode.push_back(0);
    return true;
  }
  bool modeMissing() { return s.mode.pop_back(), true; }
  bool neededTaskAbsent() {
    return optional(false, [&](Id t, Id absent) { s.mode[t] = absent, s.start[t] = 0; });
  }
  bool bothCopies() {
    return optional(true, [&](Id t, Id absent) {
      s.mode[t] = (absent + 1) % static_cast<Id>(p.tasks[t].modes.size());
      s.start[t] = pick(0, s.makespan);
    });
  }
  bool absentTaskStarts() {
    Id t = task();
    return mode(t).absent ? (s.start[t] = pick(1, 3), true) : false;
  }
  bool pairingBroken() {
    if (p.pairings.empty())
      return false;
    const auto &pairing = p.pairings[index(p.pairings)];
    for (Id t : {pairing.a, pairing.b}) {
      s.mode[t] = static_cast<Id>(index(p.tasks[t].modes));
      if (mode(t).absent)
        s.start[t] = 0;
    }
    measure();
    return true;
  }
  bool pairingNarrowed() {
    if (p.pairings.empty())
      return false;
    auto &allowed = p.pairings[index(p.pairings)].allowed;
    if (!allowed.empty())
      allowed.erase(allowed.begin() + static_cast<ptrdiff_t>(index(allowed)));
    return true;
  }
  bool resourceOneSmaller() { return smaller(p.resources); }
  bool budgetOneSmaller() { return smaller(p.budgets); }
  bool memoryOneSmaller() { return smaller(p.memories); }
  bool bufferOneLarger() { return p.buffers.empty() ? false : (++p.buffers[index(p.buffers)].bytes, true); }
  bool bufferReleasedEarly() { // for one that reads it, too
    if (p.buffers.empty())
      return false;
    p.buffers[index(p.buffers)].readers.push_back({task(), SchedulingProblem::kNoTask});
    return true;
  }
  bool persistentBufferReleased() {
    return p.buffers.empty() ? false : (p.buffers[index(p.buffers)].persistent = true);
  }
  bool readsThisCopyAfterAll() {
    for (auto &buffer : p.buffers)
      for (auto &reader : buffer.readers)
        if (reader.unless != SchedulingProblem::kNoTask && !mode(reader.unless).absent) {
          reader.unless = SchedulingProblem::kNoTask;
          return true;
        }
    return false;
  }
  bool inputMadeLater() {
    if (p.buffers.empty())
      return false;
    p.buffers[index(p.buffers)].producer = SchedulingProblem::kNoTask;
    return true;
  }
  bool takesOneLonger() {
    Id t = task();
    if (mode(t).absent)
      return false;
    ++p.tasks[t].modes[s.mode[t]].duration;
    measure();
    return true;
  }
  bool delayOneLonger() { return p.precedences.empty() ? false : (++p.precedences[index(p.precedences)].delay, true); }
  bool usesOneMore() {
    auto &usage = p.tasks[task()].modes[0].usage;
    return usage.empty() ? false : (++usage[index(usage)].amount, true);
  }

private:
  int64_t pick(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(random() % static_cast<uint64_t>(max - min + 1));
  }
  template <typename List> size_t index(const List &list) { return random() % list.size(); }
  Id task() { return static_cast<Id>(index(p.tasks)); }
  const SchedulingProblem::Mode &mode(Id t) const { return p.tasks[t].modes[s.mode[t]]; }
  void measure() {
    s.makespan = 0;
    for (Id t = 0; t < p.tasks.size(); ++t)
      if (!mode(t).absent)
        s.makespan = std::max(s.makespan, s.start[t] + mode(t).duration);
  }
  void later() {
    for (Id t = 0; t < p.tasks.size(); ++t)
      s.start[t] += !mode(t).absent;
  }
  template <typename Change> bool edge(Change change) {
    if (p.precedences.empty())
      return false;
    const auto &e = p.precedences[index(p.precedences)];
    if (mode(e.before).absent || mode(e.after).absent)
      return false;
    change(e);
    measure();
    return true;
  }
  template <typename Change> bool optional(bool isAbsent, Change change) {
    Id t = task();
    for (Id m = 0; m < p.tasks[t].modes.size(); ++m)
      if (p.tasks[t].modes[m].absent && (s.mode[t] == m) == isAbsent && p.tasks[t].modes.size() > 1) {
        change(t, m);
        measure();
        return true;
      }
    return false;
  }
  template <typename List> bool smaller(List &list) {
    if (list.empty())
      return false;
    auto &one = list[index(list)];
    return one.capacity > 0 ? (--one.capacity, true) : false;
  }

  std::mt19937_64 random;
};

struct Kind {
  const char *name;
  bool (Spoiler::*spoil)();
  bool harmless = false; ///< never invalid by itself
};
constexpr Kind kKinds[] = {
    {"starts one earlier", &Spoiler::startsOneEarlier},
    {"starts before zero", &Spoiler::startsBeforeZero},
    {"starts beyond time", &Spoiler::startsBeyondTime},
    {"starts later", &Spoiler::startsLater},
    {"two tasks swapped", &Spoiler::twoTasksSwapped},
    {"starts with its predecessor", &Spoiler::startsWithItsPredecessor},
    {"delay ignored", &Spoiler::delayIgnored},
    {"other mode", &Spoiler::otherMode},
    {"mode out of range", &Spoiler::modeOutOfRange},
    {"modes swapped", &Spoiler::modesSwapped},
    {"makespan understated", &Spoiler::makespanUnderstated},
    {"makespan overstated", &Spoiler::makespanOverstated},
    {"all later but not the makespan", &Spoiler::allLaterButNotTheMakespan},
    {"all later", &Spoiler::allLater, true},
    {"task missing", &Spoiler::taskMissing},
    {"task too many", &Spoiler::taskTooMany},
    {"mode missing", &Spoiler::modeMissing},
    {"needed task absent", &Spoiler::neededTaskAbsent},
    {"both copies", &Spoiler::bothCopies},
    {"absent task starts", &Spoiler::absentTaskStarts},
    {"pairing broken", &Spoiler::pairingBroken},
    {"pairing narrowed", &Spoiler::pairingNarrowed},
    {"resource overfull by one", &Spoiler::resourceOneSmaller},
    {"budget overspent by one", &Spoiler::budgetOneSmaller},
    {"memory overfull by one", &Spoiler::memoryOneSmaller},
    {"buffer one larger", &Spoiler::bufferOneLarger},
    {"buffer released early", &Spoiler::bufferReleasedEarly},
    {"kept buffer released", &Spoiler::persistentBufferReleased},
    {"reads this copy after all", &Spoiler::readsThisCopyAfterAll},
    {"input made later", &Spoiler::inputMadeLater},
    {"takes one longer", &Spoiler::takesOneLonger},
    {"delay one longer", &Spoiler::delayOneLonger},
    {"uses one more", &Spoiler::usesOneMore},
};

TEST(SchedulingMutation, ReplayAgreesWithOccupancy) {
  std::map<std::string, std::pair<unsigned, unsigned>> counts; // invalid, still valid
  for (Family family : kFamilies)
    for (unsigned seed = 0; seed < 120; ++seed) {
      SchedulingProblem problem = FamilyMember(family, seed).problem;
      auto best = BruteForce(problem).best;
      if (!best || problem.tasks.empty())
        continue;
      for (const Kind &kind : kKinds)
        for (uint64_t again = 0; again < 4; ++again) {
          Spoiler spoiler(problem, *best, 977 * seed + 31 * again + static_cast<uint64_t>(family));
          // Not only shortest schedules, and not only one thing wrong.
          if (again == 3 && !spoiler.startsLater())
            continue;
          if (!(spoiler.*kind.spoil)() || !check(spoiler.p).empty())
            continue;
          bool valid = occupancyAllows(spoiler.p, spoiler.s);
          Errors errors = verify(spoiler.p, spoiler.s);
          EXPECT_EQ(errors.empty(), valid) << kind.name << " of " << nameOf(family) << " " << seed << " "
                                           << (errors.empty() ? "" : errors[0].message);
          auto &count = counts[kind.name];
          ++(valid ? count.second : count.first);
        }
    }
  for (const Kind &kind : kKinds) {
    EXPECT_GE(counts[kind.name].first, kind.harmless ? 0u : 20u) << kind.name;
    RecordProperty(kind.name, static_cast<int>(counts[kind.name].first));
  }
  EXPECT_GE(counts["all later"].second, 100u);
}

/// The code that each kind of mistake is reported with, on one small problem.
TEST(SchedulingMutation, CodesNameTheMistake) {
  SchedulingProblem p;
  Id core = p.addResource("core", 1);
  p.memories = {{"hbm", 5}};
  p.budgets = {{"energy", 3}};
  Id a = p.addTask("a", 2, {{core, 1}}), b = p.addTask("b", 3, {{core, 1}}), c = p.addTask("c", 1, {});
  p.tasks[c].modes.push_back({"not", 0, {}, {}, true});
  p.tasks[c].modes.push_back({"dear", 1, {}, {{0, 4}}, false});
  p.tasks[c].modes[0].spends = {{0, 3}};
  p.tasks[b].modes.push_back({"fast", 1, {{core, 1}}, {{0, 1}}, false});
  p.addPrecedence(a, c, 2);
  p.buffers.push_back({"x", 3, 0, a, {{c, SchedulingProblem::kNoTask}}, false});
  p.buffers.push_back({"y", 3, 0, b, {}, false});
  p.pairings.push_back({b, c, {{0, 0}, {0, 1}, {0, 2}, {1, 1}}});
  ASSERT_TRUE(check(p).empty());
  SchedulingSolution good{{0, 5, 4}, {0, 0, 0}, 8};
  EXPECT_TRUE(verify(p, good).empty());
  EXPECT_TRUE(occupancyAllows(p, good));
  auto codes = [&](SchedulingSolution s) {
    std::string text;
    for (const Error &error : verify(p, s))
      text += numberOf(error.code) + " ";
    return text;
  };
  EXPECT_EQ(codes({{0, 5, 3}, {0, 0, 0}, 8}), "A0902 ");
  EXPECT_EQ(codes({{0, 1, 4}, {0, 0, 1}, 4}), "A0932 A0903 A0904 ");
  EXPECT_EQ(codes({{0, 4, 4}, {0, 0, 0}, 7}), "A0904 ");
  EXPECT_EQ(codes({{0, 5, 4}, {0, 0, 0}, 9}), "A0912 ");
  EXPECT_EQ(codes({{0, 5, 4}, {0, 0, 2}, 8}), "A0933 ");
  EXPECT_EQ(codes({{0, 5, 4}, {0, 1, 0}, 6}), "A0933 A0934 ");
  EXPECT_EQ(codes({{0, 5, 4}, {0, 3, 0}, 8}), "A0931 ");
  EXPECT_EQ(codes({{0, 5}, {0, 0}, 8}), "A0909 ");
  EXPECT_EQ(codes({{0, -5, 4}, {0, 0, 0}, 8}), "A0932 ");
  Errors late = verify(p, SchedulingSolution{{0, 5, 3}, {0, 0, 0}, 8});
  EXPECT_EQ(late[0].message, "task 'c' starts at 3, but 'a' ends at 2 and 2 must pass");
  EXPECT_EQ(late[0].notes.size(), 1u);
  p.precedences.push_back({c, a, 0});
  EXPECT_EQ(codes(good), "A0930 ");
}

} // namespace
