// Proofs of bounds: true ones are accepted, and whatever is accepted is below the optimum.
#include "SchedulingFamilies.h"
#include "SchedulingProver.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace accord;
using namespace accord::testing;
using Id = SchedulingProblem::Id;
using Mode = SchedulingProblem::Mode;
using Kind = SchedulingBound::Kind;

namespace {

constexpr unsigned kSeeds = 120;

int64_t optimumOf(const SchedulingProblem &problem) {
  auto best = BruteForce(problem).best;
  return best ? best->makespan : INT64_MAX;
}
bool accepted(const SchedulingProblem &problem, const SchedulingBound &bound) {
  Errors errors = verify(problem, bound);
  for (const Error &error : errors)
    EXPECT_EQ(error.code, Code::BoundNotProved);
  return errors.empty();
}

/// Chains and work by recursion over the lists of the problem.
struct Naive {
  const SchedulingProblem &p;

  bool fits(const SchedulingProblem::Mode &mode) const {
    bool fits = true;
    for (const auto &use : mode.usage)
      fits &= use.amount <= p.resources[use.of].capacity;
    for (const auto &use : mode.spends)
      fits &= use.amount <= p.budgets[use.of].capacity;
    return fits;
  }
  int64_t duration(Id t) const {
    int64_t min = INT64_MAX;
    for (const auto &mode : p.tasks[t].modes)
      min = fits(mode) ? std::min(min, mode.duration) : min;
    return min;
  }
  int64_t work(Id t, Id r) const {
    int64_t min = INT64_MAX;
    for (const auto &mode : p.tasks[t].modes) {
      int64_t here = 0;
      for (const auto &use : mode.usage)
        here = use.of == r ? use.amount * mode.duration : here;
      min = fits(mode) ? std::min(min, here) : min;
    }
    return min;
  }
  /// The longest chain from the end of a task on, or up to its start.
  int64_t chain(Id t, bool ahead, std::vector<Id> *list = nullptr) const {
    int64_t longest = 0;
    for (const auto &e : p.precedences) {
      Id next = ahead ? e.after : e.before;
      if ((ahead ? e.before : e.after) != t || p.optional(next))
        continue;
      std::vector<Id> rest;
      int64_t here = e.delay + duration(next) + chain(next, ahead, &rest);
      if (here > longest || (list && list->empty())) {
        longest = here;
        if (list)
          *list = rest, list->push_back(next);
      }
    }
    return longest;
  }
  /// What a bound of kind Path or Set proves; -1 if it is no proof.
  int64_t proves(const SchedulingBound &b) const {
    if (std::set<Id>(b.tasks.begin(), b.tasks.end()).size() != b.tasks.size())
      return -1;
    for (Id t : b.tasks)
      if (t >= p.tasks.size() || p.optional(t))
        return -1;
    int64_t sum = 0;
    if (b.kind == Kind::Path) {
      for (size_t i = 0; i < b.tasks.size(); ++i) {
        int64_t delay = i == 0 ? 0 : -1;
        for (const auto &e : p.precedences)
          if (i > 0 && e.before == b.tasks[i - 1] && e.after == b.tasks[i])
            delay = std::max(delay, e.delay);
        if (delay < 0)
          return -1;
        sum += delay + duration(b.tasks[i]);
      }
      return sum;
    }
    if (b.resource >= p.resources.size() || b.tasks.empty())
      return -1;
    int64_t head = INT64_MAX, tail = INT64_MAX;
    for (Id t : b.tasks) {
      if (work(t, b.resource) == 0)
        return -1;
      sum += work(t, b.resource);
      head = std::min(head, chain(t, false)), tail = std::min(tail, chain(t, true));
    }
    int64_t length = 0; // rounded up by counting
    while (length * p.resources[b.resource].capacity < sum)
      ++length;
    return head + length + tail;
  }
};

/// The longest path, the set of all users of each resource, and what the prover finds.
std::vector<SchedulingBound> boundsOf(const SchedulingProblem &p, int64_t optimum) {
  std::vector<SchedulingBound> bounds;
  Naive naive{p};
  SchedulingBound path;
  path.kind = Kind::Path;
  for (Id t = 0; t < p.tasks.size(); ++t) {
    std::vector<Id> rest;
    int64_t length = p.optional(t) ? 0 : naive.duration(t) + naive.chain(t, true, &rest);
    if (length > path.value) {
      rest.push_back(t);
      path.value = length, path.tasks.assign(rest.rbegin(), rest.rend());
    }
  }
  bounds.push_back(path);
  for (Id r = 0; r < p.resources.size(); ++r) {
    SchedulingBound set;
    set.kind = Kind::Set, set.resource = r;
    for (Id t = 0; t < p.tasks.size(); ++t)
      if (!p.optional(t) && naive.work(t, r) > 0)
        set.tasks.push_back(t);
    set.value = naive.proves(set);
    if (set.value > 0)
      bounds.push_back(set);
  }
  for (int64_t value = std::min<int64_t>(optimum, 25); value > 0; --value)
    if (NaiveProver prover(p, value - 1); prover.run()) {
      SchedulingBound windows;
      windows.kind = Kind::Windows, windows.value = value, windows.steps = prover.steps;
      bounds.push_back(windows);
      break;
    }
  return bounds;
}

/// One resource that tasks share in parts, each after a delay and with a delay to the end: windows
/// are narrow, and what counts is the energy of intervals.
SchedulingProblem narrow(unsigned seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t min, int64_t max) {
    return min + static_cast<int64_t>(random() % static_cast<uint64_t>(max - min + 1));
  };
  SchedulingProblem p;
  int64_t capacity = pick(2, 5);
  Id shared = p.addResource("shared", capacity);
  Id source = p.addTask("source", 0, {}), sink = p.addTask("sink", 0, {});
  for (int64_t i = pick(4, 6); i-- > 0;) {
    Id t = p.addTask("t", pick(1, 4), {{shared, pick(1, capacity)}});
    p.addPrecedence(source, t, pick(0, 4));
    p.addPrecedence(t, sink, pick(0, 4));
  }
  return p;
}

TEST(SchedulingBound, ProofsAreAcceptedAndNotOneMore) {
  std::map<Kind, unsigned> counts;
  std::map<ProofStep::Rule, unsigned> rules;
  unsigned aboveSimple = 0, problems = 0;
  auto look = [&](const SchedulingProblem &p) {
    int64_t optimum = optimumOf(p), simple = 0;
    if (optimum < INT64_MAX) // else the prover may be right beyond it
      EXPECT_FALSE(NaiveProver(p, optimum).run());
    for (SchedulingBound &bound : boundsOf(p, optimum)) {
      EXPECT_LE(bound.value, optimum);
      Errors errors = verify(p, bound);
      EXPECT_TRUE(errors.empty()) << errors[0].message << " " << int(bound.kind);
      ++counts[bound.kind];
      if (bound.kind != Kind::Windows)
        simple = std::max(simple, bound.value);
      else
        aboveSimple += bound.value > simple;
      for (const ProofStep &step : bound.steps)
        ++rules[step.rule];
      ++bound.value;
      if (bound.kind != Kind::Windows || bound.value > optimum)
        EXPECT_FALSE(accepted(p, bound));
    }
    ++problems;
  };
  for (Family family : kFamilies)
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(nameOf(family) + std::to_string(seed));
      look(FamilyMember(family, seed).problem);
    }
  for (unsigned seed = 0; seed < 2 * kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    look(narrow(seed));
  }
  EXPECT_GE(counts[Kind::Path], problems / 2);
  EXPECT_GE(counts[Kind::Set], problems / 2);
  EXPECT_GE(counts[Kind::Windows], problems / 2);
  EXPECT_GE(aboveSimple, problems / 10); // the rules say more than chains and sets
  for (auto rule :
       {ProofStep::Rule::Chain, ProofStep::Rule::Pair, ProofStep::Rule::Compulsory, ProofStep::Rule::Energy})
    EXPECT_GE(rules[rule], 50u) << int(rule);
  RecordProperty("above", static_cast<int>(aboveSimple));
  RecordProperty("energy", static_cast<int>(rules[ProofStep::Rule::Energy]));
  RecordProperty("compulsory", static_cast<int>(rules[ProofStep::Rule::Compulsory]));
}

/// Named ways to spoil a bound; false where there is nothing to change.
using Spoil = bool (*)(const SchedulingProblem &, SchedulingBound &, std::mt19937_64 &);
template <typename List> size_t some(const List &list, std::mt19937_64 &random) { return random() % list.size(); }
template <typename Change> Spoil step(Change) {
  return [](const SchedulingProblem &p, SchedulingBound &b, std::mt19937_64 &random) {
    return b.steps.empty() ? false : (Change{}(p, b.steps[some(b.steps, random)], random), true);
  };
}
using P = const SchedulingProblem &;
using B = SchedulingBound &;
using S = ProofStep &;
using R = std::mt19937_64 &;
const std::pair<const char *, Spoil> kSpoils[] = {
    {"one above", [](P, B b, R) { return ++b.value, true; }},
    {"far above", [](P, B b, R random) { return b.value += int64_t(random() >> 2), true; }},
    {"largest number", [](P, B b, R) { return b.value = INT64_MAX, true; }},
    {"chain or set with a gap",
     [](P, B b, R random) {
       if (b.tasks.size() < 3)
         return false;
       b.tasks.erase(b.tasks.begin() + 1 + ptrdiff_t(random() % (b.tasks.size() - 2)));
       return true;
     }},
    {"backwards", [](P, B b, R) { return std::reverse(b.tasks.begin(), b.tasks.end()), b.tasks.size() > 1; }},
    {"two swapped",
     [](P, B b, R random) {
       if (b.tasks.size() < 2)
         return false;
       std::swap(b.tasks[some(b.tasks, random)], b.tasks[some(b.tasks, random)]);
       return true;
     }},
    {"task that is not in it",
     [](P p, B b, R random) {
       b.tasks.push_back(static_cast<Id>(some(p.tasks, random)));
       return b.kind != Kind::Windows;
     }},
    {"task exchanged",
     [](P p, B b, R random) {
       if (b.tasks.empty())
         return false;
       b.tasks[some(b.tasks, random)] = static_cast<Id>(some(p.tasks, random));
       return true;
     }},
    {"task twice",
     [](P, B b, R random) {
       if (b.tasks.empty())
         return false;
       b.tasks.push_back(b.tasks[some(b.tasks, random)]);
       return true;
     }},
    {"task out of range",
     [](P p, B b, R) {
       b.tasks.push_back(static_cast<Id>(p.tasks.size()));
       return b.kind != Kind::Windows;
     }},
    {"nobody", [](P, B b, R) { return b.tasks.clear(), b.kind != Kind::Windows; }},
    {"other resource",
     [](P p, B b, R) {
       b.resource = (b.resource + 1) % static_cast<Id>(p.resources.size());
       return b.kind == Kind::Set;
     }},
    {"resource out of range", [](P, B b, R) { return b.resource = ~0u, b.kind == Kind::Set; }},
    {"other kind",
     [](P, B b, R random) {
       b.kind = static_cast<Kind>(random() % 4);
       return true;
     }},
    {"unknown kind", [](P, B b, R) { return b.kind = static_cast<Kind>(77), true; }},
    {"no step", [](P, B b, R) { return b.steps.clear(), b.kind == Kind::Windows; }},
    {"step left out",
     [](P, B b, R random) {
       if (b.steps.empty())
         return false;
       b.steps.erase(b.steps.begin() + ptrdiff_t(some(b.steps, random)));
       return true;
     }},
    {"steps in another order",
     [](P, B b, R random) {
       if (b.steps.size() < 2)
         return false;
       std::swap(b.steps[some(b.steps, random)], b.steps[some(b.steps, random)]);
       return true;
     }},
    {"step with a longer interval", step([](P, S s, R) { ++s.to; })},
    {"step with an earlier interval", step([](P, S s, R) { --s.from, --s.to; })},
    {"step with a later interval", step([](P, S s, R) { ++s.from; })},
    {"step with no interval", step([](P, S s, R) { s.to = s.from; })},
    {"step with extreme interval", step([](P, S s, R) { s.from = INT64_MIN, s.to = INT64_MAX; })},
    {"step that claims more", step([](P, S s, R) { s.time += s.early ? 1 : -1; })},
    {"step that claims all", step([](P, S s, R) { s.time = s.early ? INT64_MAX : INT64_MIN; })},
    {"step in the other direction", step([](P, S s, R) { s.early = !s.early; })},
    {"step by another rule", step([](P, S s, R random) { s.rule = static_cast<ProofStep::Rule>(random() % 5); })},
    {"step for another task", step([](P p, S s, R random) { s.task = static_cast<Id>(some(p.tasks, random)); })},
    {"step against another", step([](P p, S s, R random) { s.other = static_cast<Id>(some(p.tasks, random)); })},
    {"step with others beside it",
     step([](P p, S s, R random) { s.tasks.push_back(static_cast<Id>(some(p.tasks, random))); })},
    {"step with ids out of range", step([](P, S s, R) { s.task = s.other = ~0u; })},
};

TEST(SchedulingBound, SpoiltProofsProveNothingWrong) {
  std::map<std::string, unsigned> rejected;
  for (Family family : kFamilies)
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      SchedulingProblem p = seed % 2 && family == Family::Projects ? narrow(seed) : FamilyMember(family, seed).problem;
      int64_t optimum = optimumOf(p);
      std::mt19937_64 random(seed * 31 + static_cast<unsigned>(family));
      for (const SchedulingBound &bound : boundsOf(p, optimum))
        for (const auto &[name, spoil] : kSpoils)
          for (unsigned again = 0; again < 3; ++again) {
            SchedulingBound b = bound;
            if (again == 2) // a wrong value, and a proof that is wrong for it
              b.value = optimum < INT64_MAX ? optimum + 1 : bound.value;
            if (!spoil(p, b, random))
              continue;
            bool holds = accepted(p, b);
            SCOPED_TRACE(std::string(name) + " " + nameOf(family) + std::to_string(seed));
            if (holds)
              EXPECT_LE(b.value, optimum);
            if (b.kind == Kind::Path || b.kind == Kind::Set)
              EXPECT_EQ(holds, b.value <= std::max<int64_t>(0, Naive{p}.proves(b)));
            rejected[name] += !holds;
          }
    }
  for (const auto &[name, spoil] : kSpoils)
    EXPECT_GE(rejected[name], 50u) << name;
}

TEST(SchedulingBound, RandomStepsProveNothingWrong) {
  unsigned proofs = 0;
  for (Family family : kFamilies)
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      SchedulingProblem p = seed % 2 && family == Family::Projects ? narrow(seed) : FamilyMember(family, seed).problem;
      int64_t optimum = optimumOf(p);
      std::mt19937_64 random(seed);
      if (p.tasks.empty() || optimum > 25)
        continue;
      for (int64_t value : {optimum - 1, optimum, optimum + 1})
        for (unsigned again = 0; again < 20; ++again) {
          // Steps that are accepted, one after the other, among many that are not.
          SchedulingBound b;
          b.kind = Kind::Windows, b.value = value;
          for (unsigned tries = 0; tries < 40; ++tries) {
            ProofStep s{static_cast<ProofStep::Rule>(random() % 4),
                        static_cast<Id>(some(p.tasks, random)),
                        static_cast<Id>(random() % (p.tasks.size() + 1)),
                        (random() & 1) != 0,
                        static_cast<int64_t>(random() % static_cast<uint64_t>(optimum + 2)),
                        static_cast<int64_t>(random() % static_cast<uint64_t>(optimum + 2)),
                        static_cast<int64_t>(random() % static_cast<uint64_t>(optimum + 2)),
                        {}};
            while (s.tasks.size() < p.tasks.size() && random() % 3 == 0)
              s.tasks.push_back(static_cast<Id>(some(p.tasks, random)));
            b.steps.push_back(s);
            Errors errors = verify(p, b);
            if (errors.empty())
              break;
            if (errors[0].message.find("does not follow") != std::string::npos)
              b.steps.pop_back();
          }
          if (accepted(p, b)) {
            EXPECT_LE(value, optimum) << nameOf(family) << seed;
            ++proofs;
          }
        }
    }
  EXPECT_GE(proofs, 500u);
}

/// A task of 5 on a core and one of 3 on all of a bus that the first needs, too: 8 in a row, unless
/// the second may run in another way.
TEST(SchedulingBound, EnergyOfWhatRunsBesideNoUser) {
  auto proves = [](int64_t value, std::vector<Mode> others, std::vector<Id> tasks) {
    SchedulingProblem p;
    p.addResource("core", 1), p.addResource("bus", 10);
    p.addTask("on core", 5, {{0, 1}, {1, 1}});
    p.addTask("on bus", 3, {{1, 10}});
    for (Mode &mode : others)
      p.tasks[1].modes.push_back(std::move(mode));
    SchedulingBound b;
    b.kind = Kind::Windows, b.value = value;
    b.steps.push_back({ProofStep::Rule::Energy, 0, 0, true, 0, 0, value - 1, std::move(tasks)});
    return accepted(p, b);
  };
  EXPECT_TRUE(proves(8, {}, {1}));
  EXPECT_FALSE(proves(9, {}, {1}));
  EXPECT_FALSE(proves(8, {}, {}));
  EXPECT_FALSE(proves(11, {}, {1, 1}));
  EXPECT_FALSE(proves(13, {}, {0, 1}));
  EXPECT_FALSE(proves(8, {{"beside", 7, {{1, 9}}, {}, false}}, {1}));
  EXPECT_TRUE(proves(8, {{"too long", 8, {{1, 9}}, {}, false}}, {1}));
  EXPECT_FALSE(proves(8, {{"not", 0, {}, {}, true}}, {1}));
}

TEST(SchedulingBound, ClaimsOfASolverAreNamedAndResultsAreConsistent) {
  SchedulingProblem p;
  p.addTask("a", 3, {});
  SchedulingResult r;
  r.status = SchedulingResult::Status::Feasible;
  r.solution = {{0}, {0}, 3};
  r.bound.kind = Kind::Solver, r.bound.value = 3, r.bound.proof = "z3";
  std::vector<std::string> trusted;
  EXPECT_TRUE(verify(p, r, &trusted).empty());
  ASSERT_EQ(trusted.size(), 1u);
  EXPECT_EQ(trusted[0], "that no schedule of at most 2 exists is the answer of a solver (z3)");
  r.bound.value = 4; // above a schedule
  ASSERT_EQ(verify(p, r).size(), 1u);
  EXPECT_EQ(verify(p, r)[0].code, Code::BoundNotProved);
  r.bound.value = 3, r.conflict = {"memory"};
  EXPECT_EQ(verify(p, r)[0].code, Code::WrongVerdict);
  r.status = SchedulingResult::Status::Infeasible;
  EXPECT_TRUE(verify(p, r).empty());
  r.conflict.clear();
  EXPECT_EQ(verify(p, r)[0].code, Code::WrongVerdict);
  r.status = SchedulingResult::Status::Unknown;
  EXPECT_TRUE(verify(p, r).empty());
  EXPECT_TRUE(verify({}, SchedulingResult{}).empty());
}

} // namespace
