// Tasks with precedences on renewable resources (RCPSP with delays): check the input, solve, verify
// the answer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

class SchedulingProblem {
public:
  struct Resource {
    std::string name;     ///< "core tc", "memory hbm bandwidth"
    int64_t capacity = 1; ///< cores: instances; bandwidth: 1000000 (ppm)
  };
  struct Usage {
    uint32_t resource;
    int64_t amount;
  };
  struct Task {
    int64_t duration = 0; ///< picoseconds
    std::vector<Usage> usage;
  };
  struct Precedence {
    uint32_t before, after;
    int64_t delay = 0; ///< start(after) >= end(before) + delay
  };

  uint32_t addResource(std::string name, int64_t capacity);
  uint32_t addTask(int64_t duration, std::vector<Usage> usage);
  void addPrecedence(uint32_t before, uint32_t after, int64_t delay = 0);

  /// Sentences about what is wrong with the input: ids, cycles, negative numbers, more than
  /// capacity, overflow. Empty: solvable.
  std::vector<std::string> check() const;

  struct Bound {
    int64_t length = 0;
    std::string proof; ///< "critical path" or the resource's name
  };
  struct Solution {
    std::vector<int64_t> start; ///< by task
    int64_t length = 0;
    Bound bound;
  };
  struct Options {
    unsigned improvements =
        4; ///< forward-backward rounds at most; stops when the bound is met or nothing improves
  };
  /// Needs a checked problem. Parallel list scheduling by longest tail, then forward-backward
  /// improvement (Tormos, Lova 2001). Deterministic: ties by task number.
  Solution solve(const Options &options) const;
  Solution solve() const { return solve(Options()); }

  /// No schedule is shorter: the longest chain; each resource's work between the least head and
  /// tail around it; for unit resources the preemptive one-machine bound (Carlier 1982).
  Bound lowerBound() const;
  int64_t longestChain() const;

  /// Sentences about what is wrong with a solution. Empty: it is feasible and its length and bound
  /// are consistent.
  std::vector<std::string> verify(const Solution &) const;

  const std::vector<Task> &tasks() const { return tasks_; }
  const std::vector<Resource> &resources() const { return resources_; }
  const std::vector<Precedence> &precedences() const { return precedences_; }

private:
  std::vector<Task> tasks_;
  std::vector<Resource> resources_;
  std::vector<Precedence> precedences_;
};

} // namespace accord
