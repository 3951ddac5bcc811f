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
    for (size_t r = firstAfter(from); r < runs.size(); ++r) {
      const Run &run = runs[r];
      if (run.begin > from || run.used + amount <= capacity)
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
      for (size_t r = firstAfter(at); r < runs.size() && runs[r].begin < end; ++r)
        if (runs[r].used >= capacity)
          end = runs[r].begin;
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

  /// Nothing is taken from this cycle on; 0 if nothing is taken at all.
  int64_t end() const { return runs.empty() ? 0 : runs.back().end; }

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
    const size_t first = firstAfter(begin - 1); // with one that may grow
    size_t after = first;
    while (after < runs.size() && runs[after].begin <= end)
      ++after;
    std::vector<Run> &all = scratch;
    all.clear();
    auto push = [&](int64_t from, int64_t to, int32_t used) {
      if (from >= to)
        return;
      if (!all.empty() && all.back().end == from && all.back().used == used)
        all.back().end = to;
      else
        all.push_back({from, to, used});
    };
    int64_t at = begin; // up to here the new places are in `all`
    for (size_t r = first; r < after; ++r) {
      const Run run = runs[r];
      push(run.begin, std::min(run.end, begin), run.used);
      if (run.end <= begin)
        continue;
      push(at, std::min(std::max(at, run.begin), end), amount);
      const int64_t from = std::max(run.begin, begin), to = std::min(run.end, end);
      push(from, to, run.used + amount);
      at = std::max(at, std::min(run.end, end));
      if (run.begin >= end)
        push(run.begin, run.end, run.used);
      else
        push(end, run.end, run.used);
    }
    push(at, end, amount);
    splice(first, after);
  }

  /// The first run that ends behind a cycle.
  size_t firstAfter(int64_t cycle) const {
    if (runs.size() <= 8) {
      size_t r = 0;
      while (r < runs.size() && runs[r].end <= cycle)
        ++r;
      return r;
    }
    return size_t(std::partition_point(runs.begin(), runs.end(), [&](const Run &run) { return run.end <= cycle; }) -
                  runs.begin());
  }

  /// Puts `scratch` in the place of some runs.
  void splice(size_t first, size_t after) {
    const size_t common = std::min(scratch.size(), after - first);
    std::copy(scratch.begin(), scratch.begin() + int64_t(common), runs.begin() + int64_t(first));
    if (common < scratch.size())
      runs.insert(runs.begin() + int64_t(first + common), scratch.begin() + int64_t(common), scratch.end());
    else
      runs.erase(runs.begin() + int64_t(first + common), runs.begin() + int64_t(after));
  }

  int32_t capacity;
  std::vector<Run> runs; ///< in order, apart, with used > 0
  std::vector<Run> scratch;
};

} // namespace accord::microarchitecture
