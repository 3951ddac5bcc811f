// Cycles of a program by what they were waited for.
#pragma once
#include "lib/microarchitecture/solve/InstructionEngine.h"

namespace accord::microarchitecture {

/// Parts that a kind of waits tells apart; 1 where it is of none.
size_t partsOf(Wait wait, const Microarchitecture &machine);

/// Counts as WaitedFor says: a cycle is the oldest instruction's from where the ways of all older ones ended. Both
/// counts are additive, and what a step adds is determined by the state of the engine before it.
class CycleStack {
public:
  explicit CycleStack(const Microarchitecture &machine);

  /// The next way of `InstructionEngine::step`, which begins with a fetch.
  void add(Cycles fetch, const std::vector<Stretch> &way) {
    Cycles at = fetch;
    for (size_t s = 0; s + 1 < way.size(); ++s) {
      count(way[s], way[s].until - at);
      at = way[s].until;
    }
    next = way.back(), waited = next.until - fetch, fenced = 0;
    count(next, waited);
  }
  /// A fence behind that: how long the next fetch waits for it.
  void fence(const Stretch &until) {
    const Cycles more = std::max<Cycles>(until.until - next.until, 0);
    count(until, more);
    next.until += more, fenced += more;
  }
  void skip(Cycles by) { frontier += by, next.until += by; }

  /// Of the oldest in the order of kinds and parts, then of all.
  const std::vector<int64_t> &counts() const { return cycles; }
  /// The counts by kind and part, without the fetch behind the end of the program.
  std::vector<WaitedFor> waits(std::vector<__int128> counts, Cycles end) const;

private:
  size_t place(const Stretch &stretch) const { return first[size_t(stretch.wait)] + std::max(stretch.of, 0); }
  void count(const Stretch &stretch, Cycles length) {
    const size_t at = place(stretch);
    cycles[cycles.size() / 2 + at] += length;
    if (stretch.until > frontier)
      cycles[at] += stretch.until - frontier, frontier = stretch.until;
  }

  std::vector<size_t> first; ///< by kind: its first count
  std::vector<int64_t> cycles;
  Cycles frontier = 0, waited = 0, fenced = 0;
  Stretch next; ///< the fetch behind the last instruction, and for how long without and for fences
};

} // namespace accord::microarchitecture
