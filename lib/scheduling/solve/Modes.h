// Choices of modes that go together.
#pragma once
#include "lib/scheduling/solve/Instance.h"
#include <optional>
#include <random>

namespace accord::solve {

class Modes {
public:
  explicit Modes(const Instance &instance);

  /// Whether pairings and budgets allow them.
  bool allowed(const std::vector<Id> &modes) const;
  /// The shortest that go together, or something near, by depth-first search with bounded work;
  /// tasks that need not happen do not, where possible. Nothing: none was found.
  std::optional<std::vector<Id>> first() const;
  /// `from` with every task whose slack is above `slack` in its mode of least work (duration times
  /// amounts relative to capacities), where that is allowed: what is not urgent leaves room for
  /// others. Slack at the modes of `from`.
  std::vector<Id> relaxed(const std::vector<Id> &from, int64_t slack) const;
  /// Slacks that differ, about `count` of them, from small to large.
  std::vector<int64_t> slacks(const std::vector<Id> &from, size_t count) const;
  /// Changes the mode of a random task (and of some that are paired with it) if that is allowed.
  void mutate(std::vector<Id> &modes, std::mt19937_64 &random) const;
  bool free() const { return choices.empty(); } ///< nothing to choose

private:
  std::vector<int64_t> slackOf(const std::vector<Id> &modes) const;
  bool fits(std::vector<Id> &modes, Id task, const std::vector<char> &decided) const;
  const Instance &in;
  std::vector<std::vector<Id>> usable;         ///< by task, the preferred first
  std::vector<std::vector<uint32_t>> pairings; ///< by task
  std::vector<Id> choices;                     ///< tasks with several
};

} // namespace accord::solve
