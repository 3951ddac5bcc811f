// Which cycles of something with so many places a cycle are taken, from some cycle on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace accord::microarchitecture {

class Calendar {
public:
  explicit Calendar(int32_t capacity) : capacity(capacity) {}

  /// The first cycle from `from` on in which `amount` places are free.
  int64_t firstFree(int64_t from, int32_t amount = 1) const {
    for (const Run &run : runs) {
      if (run.end <= from)
        continue;
      if (run.begin > from)
        return from;
      if (run.used + amount <= capacity)
        return from;
      from = run.end;
    }
    return from;
  }

  /// Takes places of one cycle, which must be free.
  void take(int64_t cycle, int32_t amount = 1) { add(cycle, cycle + 1, amount); }

  /// Takes one place in each of the first `count` cycles from `from` on that have one; at least one. The first and the
  /// last of them.
  std::pair<int64_t, int64_t> takeFirst(int64_t from, int64_t count) {
    int64_t first = firstFree(from), at = first;
    for (;;) {
      // The end of what is free from `at` on.
      int64_t end = at + count;
      for (const Run &run : runs)
        if (run.end > at && run.begin < end && run.used >= capacity) {
          end = run.begin;
          break;
        }
      add(at, end, 1);
      count -= end - at;
      if (count == 0)
        return {first, end - 1};
      at = firstFree(end);
    }
  }

  /// Forgets what is before a cycle: nobody will ask for it.
  void forget(int64_t before) {
    size_t gone = 0;
    while (gone < runs.size() && runs[gone].end <= before)
      ++gone;
    if (gone)
      runs.erase(runs.begin(), runs.begin() + gone);
  }

  void shift(int64_t by) {
    for (Run &run : runs)
      run.begin += by, run.end += by;
  }

  /// What is taken from `base` on, relative to it.
  template <class Out> void write(int64_t base, Out &out) const {
    for (const Run &run : runs)
      if (run.end > base)
        out(std::max<int64_t>(run.begin - base, 0)), out(run.end - base), out(run.used);
    out(-1);
  }

private:
  struct Run {
    int64_t begin, end;
    int32_t used;
  };

  void add(int64_t begin, int64_t end, int32_t amount) {
    // The common case: behind all, or right behind the last.
    if (runs.empty() || runs.back().end <= begin) {
      if (!runs.empty() && runs.back().end == begin && runs.back().used == amount)
        runs.back().end = end;
      else
        runs.push_back({begin, end, amount});
      return;
    }
    std::vector<Run> all;
    all.reserve(runs.size() + 2);
    auto push = [&](int64_t from, int64_t to, int32_t used) {
      if (from >= to)
        return;
      if (!all.empty() && all.back().end == from && all.back().used == used)
        all.back().end = to;
      else
        all.push_back({from, to, used});
    };
    int64_t at = begin; // up to here the new places are in `all`
    for (const Run &run : runs) {
      if (run.end <= begin) {
        push(run.begin, run.end, run.used);
        continue;
      }
      if (run.begin >= end) {
        push(at, end, amount), at = end;
        push(run.begin, run.end, run.used);
        continue;
      }
      push(run.begin, std::min(run.end, begin), run.used);
      push(at, std::max(at, run.begin), amount);
      int64_t from = std::max(run.begin, begin), to = std::min(run.end, end);
      push(from, to, run.used + amount);
      at = std::max(at, to);
      push(std::max(run.begin, end), run.end, run.used);
    }
    push(at, end, amount);
    runs.swap(all);
  }

  int32_t capacity;
  std::vector<Run> runs; ///< in order, apart, with used > 0
};

} // namespace accord::microarchitecture
