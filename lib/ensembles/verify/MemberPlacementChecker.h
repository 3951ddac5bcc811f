// The least that members on devices can take, a device at a time.
#pragma once
#include "lib/ensembles/problem/Members.h"
#include <functional>

namespace accord {

/// Whether members can be placed below a value, for one problem.
class MemberPlacementChecker {
public:
  MemberPlacementChecker(const MemberProblem &problem, uint64_t effort) : problem(problem), effort(effort) {}

  /// Nothing: not known within the effort, which is that of all questions together.
  std::optional<bool> below(const std::vector<unsigned> &counts, double value);

private:
  struct Load { ///< members of one device, and what they take
    std::vector<unsigned> counts;
    int64_t time = 0, state = 0, activations = 0;
    double joules = 0;
    int64_t devices = 1;
  };
  struct Part { ///< of a placement: what a device, or a group of them, has
    size_t state;
    int64_t devices;
    double amount;
  };
  /// Whether every member has a way that is not above a limit by itself.
  bool eachAlone(const std::vector<unsigned> &counts, double limit) const;
  /// Whether members one after the other, each where the value then is least, stay below it.
  bool greedily(const std::vector<unsigned> &counts, double limit) const;
  bool spend(uint64_t steps) { return (used += steps) <= effort; }
  bool loadsOf(unsigned device, const std::vector<unsigned> &counts, std::vector<Load> &loads);
  bool addLoads(unsigned device, unsigned kind, unsigned alternative, Load &load, const std::vector<unsigned> &counts,
                std::vector<Load> &loads);
  /// The least sum over devices of what loads amount to, infinite ones left out.
  std::optional<double> minSum(const std::vector<unsigned> &counts, const std::vector<std::vector<Load>> &loads,
                               const std::function<double(unsigned, const Load &)> &amount);

  const MemberProblem &problem;
  uint64_t effort, used = 0;
};

} // namespace accord
