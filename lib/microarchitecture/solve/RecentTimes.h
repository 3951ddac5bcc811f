// The last times of something that has so many places, and the numbers of what was used, in the order of first use.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <algorithm>
#include <unordered_map>

namespace accord::microarchitecture {

/// The last `size` of some times. A time that is not after the present cycle binds nobody any more, so that it may be
/// forgotten, and counts as 0: no more room is taken than there are times ahead.
class RecentTimes {
public:
  explicit RecentTimes(int64_t size = 1) : times(size_t(std::min<int64_t>(size, kAtOnce)), 0), size(size) {}

  /// The time `size` places before the next one.
  Cycles oldest() const { return int64_t(times.size()) == size ? times[next] : 0; }
  void push(Cycles time, Cycles now) {
    if (times[next] > now && int64_t(times.size()) < size)
      grow();
    times[next] = time;
    next = next + 1 == times.size() ? 0 : next + 1;
  }
  /// Adds to all that is after a cycle.
  void shift(Cycles by, Cycles after) {
    for (Cycles &time : times)
      time += time > after ? by : 0;
  }
  Cycles latest() const { return *std::max_element(times.begin(), times.end()); }
  /// How many are ahead of `base`, from the oldest of those on, and by how much.
  template <class Out> void write(Cycles base, Out &out) const {
    size_t left = times.size(), at = next;
    while (left > 0 && times[at] <= base)
      at = at + 1 == times.size() ? 0 : at + 1, --left;
    out(int64_t(left));
    for (; left > 0; --left, at = at + 1 == times.size() ? 0 : at + 1)
      out(std::max<Cycles>(times[at] - base, 0));
  }

private:
  static constexpr int64_t kAtOnce = 16;
  void grow() {
    std::rotate(times.begin(), times.begin() + int64_t(next), times.end());
    times.insert(times.begin(), size_t(std::min<int64_t>(size - int64_t(times.size()), int64_t(times.size()))), 0);
    next = 0;
  }

  std::vector<Cycles> times; ///< a ring, oldest first from `next` on
  size_t next = 0;
  int64_t size;
};

/// Numbers below a limit by the order in which they were used first.
class FirstUses {
public:
  explicit FirstUses(int64_t limit) : direct(limit <= kDirect ? size_t(limit) : 0, kNone) {}
  /// The place of a number; kNone if it was not used yet.
  Index find(int64_t number) const {
    if (!direct.empty())
      return direct[size_t(number)];
    const auto found = places.find(number);
    return found == places.end() ? kNone : found->second;
  }
  Index add(int64_t number) {
    Index &place = direct.empty() ? places.try_emplace(number, kNone).first->second : direct[size_t(number)];
    if (place == kNone)
      place = Index(numbers.size()), numbers.push_back(number);
    return place;
  }
  std::vector<int64_t> numbers; ///< by place

private:
  static constexpr int64_t kDirect = 1 << 14;
  std::vector<Index> direct;
  std::unordered_map<int64_t, Index> places; ///< looked up, never walked
};

} // namespace accord::microarchitecture
