// How long a region of a step is at least.
#include "lib/exploration/verify/StepLowerBound.h"
#include <algorithm>
#include <cmath>
#include <queue>

namespace accord {
namespace {

/// Shares of a bandwidth are rounded to such parts.
constexpr double kShare = 1e-9;
/// A share that cannot be lost in the rounding of one beside it that takes 100 ns or more.
constexpr double kSeen = 1e-4, kLong = 1e-7;
/// Seconds of an iteration beyond which something is used, however times are rounded.
constexpr double kUsed = 2e-12;
/// Longer than any step.
constexpr double kEndless = 1e300;
/// Of looking again with fewer forms, at most.
constexpr unsigned kRounds = 6;
/// More operations are not looked at closely.
constexpr size_t kMaxSubsets = 5000;

/// Work of one after the other, each with what is before it and behind it at least.
class Load {
public:
  /// `listed`: for `subset`.
  void add(double work, double before, double behind, bool listed = true) {
    if (!(work > 0))
      return;
    sum_ += work, head_ = std::min(head_, before), tail_ = std::min(tail_, behind);
    if (listed)
      all_.push_back({before, work, behind});
  }
  /// Least head + all work + least tail.
  double length() const { return sum_ > 0 ? head_ + sum_ + tail_ : 0; }
  /// The most of that over all subsets: what comes first is what has most behind it, whenever that
  /// is there (Jackson's preemptive schedule; Carlier 1982, proposition 1 and section 3).
  double subset() {
    std::sort(all_.begin(), all_.end(), [](const One &a, const One &b) { return a.head < b.head; });
    auto behind = [](const One &a, const One &b) { return a.tail < b.tail; };
    std::priority_queue<One, std::vector<One>, decltype(behind)> there(behind);
    double now = 0, max = 0;
    for (size_t next = 0; next < all_.size() || !there.empty();) {
      if (there.empty())
        now = std::max(now, all_[next].head);
      for (; next < all_.size() && all_[next].head <= now; ++next)
        there.push(all_[next]);
      One one = there.top();
      there.pop();
      double until = next < all_.size() ? all_[next].head : INFINITY;
      if (now + one.work > until) { // another one comes meanwhile
        one.work -= until - now, now = until;
        there.push(one);
      } else {
        now += one.work;
        max = std::max(max, now + one.tail);
      }
    }
    return max;
  }

private:
  struct One {
    double head, work, tail;
  };
  std::vector<One> all_;
  double sum_ = 0, head_ = INFINITY, tail_ = INFINITY;
};

/// Least of the forms that are left.
template <typename Forms, typename Of> double minOf(const Forms &alternatives, uint32_t left, Of of) {
  double min = INFINITY;
  for (size_t f = 0; f < alternatives.size(); ++f)
    if (left >> f & 1)
      min = std::min(min, of(alternatives[f]));
  return min;
}

} // namespace

/// `below`: a length of this or more is as good as infinite.
double StepLowerBound::length(RegionId r, const Machine &machine, double below) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size();
  Laid &at = found_[r];
  at.alternatives.assign(size, 0);
  for (size_t i = 0; i < size; ++i)
    if (items[i].body == kNone)
      at.alternatives[i] = static_cast<uint32_t>((uint64_t{1} << priceOf(items[i]).alternatives.size()) - 1);
    else // of all forms; closely where this is
      lengths_[items[i].body] = length(items[i].body, machine, std::isfinite(below) ? kEndless : INFINITY);
  for (unsigned round = 0;; ++round) {
    double max = longest(r, machine, std::isfinite(below));
    if (max >= below || !std::isfinite(below) || round == kRounds)
      return max;
    bool less = false;
    for (size_t i = 0; i < size; ++i) {
      double room = (below - at.heads[i] - at.tails[i]) * (1 + 1e-12);
      if (items[i].body != kNone) {
        double count = graph_.regions[items[i].body].count;
        double &known = lengths_[items[i].body];
        double now = count > 0 ? length(items[i].body, machine, room / count) : 0;
        less |= now > known * (1 + 1e-9);
        known = std::max(known, now);
        continue;
      }
      const std::vector<Alternative> &alternatives = priceOf(items[i]).alternatives;
      for (size_t f = 0; f < alternatives.size(); ++f)
        if ((at.alternatives[i] >> f & 1) && alternatives[f].time > room)
          at.alternatives[i] &= ~(uint32_t{1} << f), less = true;
      if (!at.alternatives[i])
        return INFINITY;
    }
    if (!less)
      return max;
  }
}

double StepLowerBound::longest(RegionId r, const Machine &machine, bool closely) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size(), cores = machine.cores.size(), memories = machine.memories.size();
  Laid &at = found_[r];
  at.times.assign(size, 0), at.heads.assign(size, 0), at.tails.assign(size, 0);
  double longest = 0;
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    at.times[i] = item.body == kNone ? minOf(priceOf(item).alternatives, at.alternatives[i],
                                             [](const Alternative &f) { return f.time; })
                                     : graph_.regions[item.body].count * lengths_[item.body];
    for (uint32_t before : item.before)
      at.heads[i] = std::max(at.heads[i], at.heads[before] + at.times[before]);
    longest = std::max(longest, at.heads[i] + at.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : items[i].before)
      at.tails[before] = std::max(at.tails[before], at.tails[i] + at.times[i]);

  closely = closely && size <= kMaxSubsets;
  std::vector<Load> loads(cores + memories);
  std::vector<double> &sums = sums_[r];
  sums.assign(cores + memories, 0);
  double shared = 1 - std::min(1.0, kShare * size);
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    auto add = [&](size_t resource, double work) {
      loads[resource].add(work, at.heads[i], at.tails[i], closely);
      sums[resource] += work;
    };
    if (item.body != kNone) { // one unit, that holds all the while what its body uses
      for (size_t resource = 0; resource < loads.size(); ++resource)
        if (sums_[item.body][resource] > kUsed)
          add(resource, at.times[i]);
      continue;
    }
    const Price &price = priceOf(item);
    if (price.core >= 0)
      add(price.core, minOf(price.alternatives, at.alternatives[i], [](const Alternative &f) { return f.work; }));
    for (int core : price.holds)
      add(core, at.times[i]);
    for (size_t m = 0; m < memories; ++m)
      add(cores + m,
          shared * minOf(price.alternatives, at.alternatives[i], [m](const Alternative &f) { return f.transfers[m]; }));
  }
  for (Load &load : loads)
    longest = std::max(longest, closely ? load.subset() : load.length());
  for (size_t c = 0; c < cores && closely; ++c) {
    longest = std::max(longest, together(r, machine, c, -1));
    for (size_t m = 0; m < memories && !byKind_; ++m)
      longest = std::max(longest, together(r, machine, c, m));
  }
  return longest;
}

double StepLowerBound::together(RegionId r, const Machine &machine, size_t core, int memory) const {
  const std::vector<Item> &items = regions_[r];
  const Laid &at = found_[r];
  size_t size = items.size(), m = std::max(memory, 0);
  std::vector<double> min(size, 0);  // work in any form
  std::vector<char> choice(size, 0); // it depends on the form
  size_t held = memory < 0 ? core : machine.cores.size() + m;
  Load load;
  double work = 0;
  for (size_t i = 0; i < size; ++i) {
    if (items[i].body != kNone) {
      if (sums_[items[i].body][held] > kUsed)
        min[i] = at.times[i];
    } else {
      const Price &price = priceOf(items[i]);
      bool fills = memory >= 0, uses = true;
      for (size_t f = 0; f < price.alternatives.size() && memory >= 0; ++f)
        if (const Alternative &alternative = price.alternatives[f]; at.alternatives[i] >> f & 1) {
          fills &= alternative.time > kLong && alternative.transfers[m] >= alternative.time;
          uses &= alternative.transfers[m] > kSeen * alternative.time;
        }
      fills |= uses && std::find(price.holds.begin(), price.holds.end(), static_cast<int>(core)) != price.holds.end();
      choice[i] = !fills && uses && price.core == static_cast<int>(core);
      if (fills)
        min[i] = at.times[i];
      else if (choice[i])
        min[i] = minOf(price.alternatives, at.alternatives[i], [](const Alternative &f) { return f.work; });
    }
    load.add(min[i], at.heads[i], at.tails[i]);
    work += min[i];
  }
  double longest = load.subset();
  std::vector<double> ends(size);
  for (unsigned k = 1; k < kMeans; ++k) {
    double share = static_cast<double>(k) / kMeans, chain = 0;
    for (size_t i = 0; i < size; ++i) {
      double beyond = (1 - share) * at.times[i]; // of the mean beyond its share of the least work
      if (choice[i])
        beyond = minOf(priceOf(items[i]).alternatives, at.alternatives[i],
                       [share](const Alternative &f) { return (1 - share) * f.time + share * f.work; }) -
                 share * min[i];
      ends[i] = 0;
      for (uint32_t before : items[i].before)
        ends[i] = std::max(ends[i], ends[before]);
      ends[i] += std::max(0.0, beyond);
      chain = std::max(chain, ends[i]);
    }
    longest = std::max(longest, chain + share * work);
  }
  return longest;
}

} // namespace accord
