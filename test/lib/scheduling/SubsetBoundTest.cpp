// The bound by what can run at once: against the program over all subsets, solved exactly, and against the optimum.
#include "lib/scheduling/solve/SubsetBound.h"
#include "SchedulingFamilies.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/SchedulingBruteForce.h"
#include <cmath>
#include <gtest/gtest.h>
#include <z3++.h>

using namespace accord;
using namespace accord::testing;
using Id = SchedulingProblem::Id;
using Mode = SchedulingProblem::Mode;

namespace {

/// min sum x over all sets of modes that may run at once, each set at a time, in fractions.
class AllSubsets {
public:
  explicit AllSubsets(const SchedulingProblem &problem) : p_(problem), room_(problem.resources.size()) {
    for (size_t r = 0; r < room_.size(); ++r)
      room_[r] = p_.resources[r].capacity;
    size_t n = p_.tasks.size();
    before_.assign(n, std::vector<char>(n));
    for (const auto &edge : p_.precedences)
      before_[edge.before][edge.after] = !p_.optional(edge.before) && !p_.optional(edge.after);
    for (size_t by = 0; by < n; ++by)
      for (size_t one = 0; one < n; ++one)
        for (size_t other = 0; other < n; ++other)
          before_[one][other] |= before_[one][by] && before_[by][other];
    collect(0);
  }

  double value() const {
    z3::context context;
    z3::optimize solver(context);
    z3::expr total = context.real_val(0);
    std::vector<z3::expr> done(p_.tasks.size(), context.real_val(0));
    for (size_t i = 0; i < sets_.size(); ++i) {
      z3::expr x = context.real_const(("x" + std::to_string(i)).c_str());
      solver.add(x >= 0);
      total = total + x;
      for (auto [task, mode] : sets_[i])
        done[task] = done[task] + x / context.real_val(p_.tasks[task].modes[mode].duration);
    }
    for (Id t = 0; t < p_.tasks.size(); ++t)
      if (takesTime(t))
        solver.add(done[t] >= 1);
    auto objective = solver.minimize(total);
    EXPECT_EQ(solver.check(), z3::sat);
    return solver.lower(objective).as_double();
  }

private:
  /// In every form that fits, and surely.
  bool takesTime(Id task) const {
    for (const Mode &mode : p_.tasks[task].modes)
      if (mode.absent || (fits(mode) && mode.duration == 0))
        return false;
    return true;
  }
  static int64_t amount(const Mode &mode, Id resource) {
    int64_t sum = 0;
    for (const auto &use : mode.usage)
      sum += use.of == resource ? use.amount : 0;
    return sum;
  }
  bool fits(const Mode &mode) const {
    for (Id r = 0; r < p_.resources.size(); ++r)
      if (amount(mode, r) > p_.resources[r].capacity)
        return false;
    return true;
  }
  void collect(Id task) {
    if (task == p_.tasks.size()) {
      if (!now_.empty())
        sets_.push_back(now_);
      return;
    }
    collect(task + 1);
    if (!takesTime(task) || std::any_of(now_.begin(), now_.end(),
                                        [&](auto one) { return before_[one.first][task] || before_[task][one.first]; }))
      return;
    for (Id m = 0; m < p_.tasks[task].modes.size(); ++m) {
      std::vector<int64_t> room = room_;
      bool enough = true;
      for (Id r = 0; r < room_.size(); ++r)
        enough &= (room_[r] -= amount(p_.tasks[task].modes[m], r)) >= 0;
      if (enough) {
        now_.emplace_back(task, m);
        collect(task + 1);
        now_.pop_back();
      }
      room_ = room;
    }
  }

  const SchedulingProblem &p_;
  std::vector<int64_t> room_;
  std::vector<std::vector<char>> before_;
  std::vector<std::pair<Id, Id>> now_; ///< task, mode
  std::vector<std::vector<std::pair<Id, Id>>> sets_;
};

TEST(SubsetBound, IsTheProgramOverAllSubsetsAndNeverAboveTheOptimum) {
  size_t tight = 0, compared = 0;
  for (Family family : kFamilies)
    for (unsigned seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(std::string(nameOf(family)) + " " + std::to_string(seed));
      SchedulingProblem problem = FamilyMember(family, seed).problem;
      SubsetWeights weights = subsetBound(concurrentWorkOf(problem));
      if (weights.value == 0)
        continue;
      double program = AllSubsets(problem).value();
      EXPECT_LE(static_cast<double>(weights.value), std::ceil(program));
      EXPECT_GE(static_cast<double>(weights.value), std::ceil(program - 1e-4));
      SchedulingBound bound = boundOf(weights);
      EXPECT_TRUE(verify(problem, bound).empty());
      auto best = BruteForce(problem).best;
      EXPECT_LE(weights.value, best ? best->makespan : INT64_MAX);
      tight += best && weights.value == best->makespan;
      ++compared;
    }
  EXPECT_GT(compared, 200u);
  EXPECT_GT(tight, 60u);
}

TEST(SubsetBound, ForgedWeightsAreRefused) {
  size_t refused = 0;
  for (Family family : {Family::Projects, Family::Modes})
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(nameOf(family)) + " " + std::to_string(seed));
      SchedulingProblem problem = FamilyMember(family, seed).problem;
      SchedulingBound bound = boundOf(subsetBound(concurrentWorkOf(problem)));
      auto best = BruteForce(problem).best;
      if (bound.value == 0 || !best)
        continue;
      auto rejects = [&](SchedulingBound forged) { return !verify(problem, forged).empty(); };
      SchedulingBound more = bound;
      ++more.value;
      EXPECT_TRUE(rejects(more));
      SchedulingBound fewer = bound;
      fewer.weights.pop_back();
      EXPECT_TRUE(rejects(fewer));
      SchedulingBound twice = bound;
      twice.tasks.push_back(twice.tasks.back()), twice.weights.push_back(1);
      EXPECT_TRUE(rejects(twice));
      SchedulingBound finer = bound;
      finer.unit /= 2;
      EXPECT_TRUE(rejects(finer));
      SchedulingBound negative = bound;
      negative.weights[0] = -1;
      EXPECT_TRUE(rejects(negative));
      // A task more or less: whatever is believed holds.
      for (size_t i = 0; i < bound.weights.size(); ++i) {
        SchedulingBound heavier = bound;
        heavier.weights[i] += bound.unit;
        ++heavier.value;
        if (rejects(heavier))
          ++refused;
        else
          EXPECT_LE(heavier.value, best->makespan);
      }
    }
  EXPECT_GT(refused, 200u);
}

/// Two executions of the same task may run at once where nothing orders them.
TEST(SubsetBound, CountsExecutions) {
  std::vector<Mode> one{{"one", 10, {{0, 1}}, {}, false}}, all{{"all", 4, {{0, 2}}, {}, false}};
  ConcurrentWork work;
  work.capacities = {2};
  work.tasks = {{&one, 6}, {&all, 3}};
  work.apart.assign(2, llvm::BitVector(2));
  EXPECT_EQ(subsetBound(work).value, 6 * 10 / 2 + 3 * 4);
  work.apart[0].set(0);
  EXPECT_EQ(subsetBound(work).value, 6 * 10 + 3 * 4);
  EXPECT_EQ(subsetBound({{2}, {}, {}}).value, 0);
}

} // namespace
