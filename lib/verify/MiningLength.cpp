// How long a region of a step is at least.
#include "lib/verify/MiningStep.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// Shares of a bandwidth are rounded to such parts.
constexpr double kShare = 1e-9;
/// A share that cannot be lost in the rounding of one beside it that takes a nanosecond or more.
constexpr double kSeen = 1e-2, kLong = 1e-9;
/// Of looking again with fewer forms, at most.
constexpr unsigned kRounds = 6;
/// Of more operations not all subsets are looked at.
constexpr size_t kMostSubsets = 1000;

/// Work of one after the other, each with what is before it and behind it at least.
class Load {
public:
  void add(double work, double before, double behind) {
    if (work > 0)
      all_.push_back({before, work, behind});
  }
  /// Least head + all work + least tail.
  double length() const {
    double sum = 0, head = INFINITY, tail = INFINITY;
    for (const One &one : all_)
      sum += one.work, head = std::min(head, one.head), tail = std::min(tail, one.tail);
    return sum > 0 ? head + sum + tail : 0;
  }
  /// The most of that over those with at least some head and some tail (Carlier 1982, proposition
  /// 1).
  double subset() {
    std::sort(all_.begin(), all_.end(), [](const One &a, const One &b) { return a.tail > b.tail; });
    double most = 0;
    for (const One &first : all_) {
      double sum = 0;
      for (const One &one : all_)
        if (one.head >= first.head)
          sum += one.work, most = std::max(most, first.head + sum + one.tail);
    }
    return most;
  }

private:
  struct One {
    double head, work, tail;
  };
  std::vector<One> all_;
};

/// Least of the forms that are left.
template <typename Forms, typename Of> double leastOf(const Forms &forms, uint32_t left, Of of) {
  double least = INFINITY;
  for (size_t f = 0; f < forms.size(); ++f)
    if (left >> f & 1)
      least = std::min(least, of(forms[f]));
  return least;
}

} // namespace

/// `below`: a length of this or more is as good as infinite.
double StepFloor::length(RegionId r, const Machine &machine, double below) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size();
  Laid &at = found_[r];
  at.forms.assign(size, 0);
  for (size_t i = 0; i < size; ++i)
    if (items[i].body == kNone)
      at.forms[i] = static_cast<uint32_t>((uint64_t{1} << priceOf(items[i]).forms.size()) - 1);
    else if (!std::isfinite(below))
      lengths_[items[i].body] = length(items[i].body, machine, INFINITY);
  for (unsigned round = 0;; ++round) {
    double most = longest(r, machine, std::isfinite(below));
    if (most >= below || !std::isfinite(below) || round == kRounds)
      return most;
    bool less = false;
    for (size_t i = 0; i < size; ++i) {
      double room = (below - at.heads[i] - at.tails[i]) * (1 + 1e-12);
      if (items[i].body != kNone) {
        double count = static_cast<double>(graph_.regions[items[i].body].count);
        double &known = lengths_[items[i].body];
        double now = count > 0 ? length(items[i].body, machine, room / count) : 0;
        less |= now > known * (1 + 1e-9);
        known = std::max(known, now);
        continue;
      }
      const std::vector<Form> &forms = priceOf(items[i]).forms;
      for (size_t f = 0; f < forms.size(); ++f)
        if ((at.forms[i] >> f & 1) && forms[f].time > room)
          at.forms[i] &= ~(uint32_t{1} << f), less = true;
      if (!at.forms[i])
        return INFINITY;
    }
    if (!less)
      return most;
  }
}

double StepFloor::longest(RegionId r, const Machine &machine, bool closely) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size(), cores = machine.cores.size(), memories = machine.memories.size();
  Laid &at = found_[r];
  at.times.assign(size, 0), at.heads.assign(size, 0), at.tails.assign(size, 0);
  double longest = 0;
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    at.times[i] =
        item.body == kNone
            ? leastOf(priceOf(item).forms, at.forms[i], [](const Form &f) { return f.time; })
            : static_cast<double>(graph_.regions[item.body].count) * lengths_[item.body];
    for (uint32_t before : item.before)
      at.heads[i] = std::max(at.heads[i], at.heads[before] + at.times[before]);
    longest = std::max(longest, at.heads[i] + at.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : items[i].before)
      at.tails[before] = std::max(at.tails[before], at.tails[i] + at.times[i]);

  std::vector<Load> loads(cores + memories);
  std::vector<double> &sums = sums_[r];
  sums.assign(cores + memories, 0);
  double shared = 1 - std::min(1.0, kShare * static_cast<double>(size));
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    auto add = [&](size_t resource, double work) {
      loads[resource].add(work, at.heads[i], at.tails[i]);
      sums[resource] += work;
    };
    if (item.body != kNone) { // iterations one after the other
      for (size_t resource = 0; resource < loads.size(); ++resource)
        add(resource,
            static_cast<double>(graph_.regions[item.body].count) * sums_[item.body][resource]);
      continue;
    }
    const Price &price = priceOf(item);
    if (price.core >= 0)
      add(static_cast<size_t>(price.core),
          leastOf(price.forms, at.forms[i], [](const Form &f) { return f.work; }));
    for (int core : price.holds)
      add(static_cast<size_t>(core), at.times[i]);
    for (size_t m = 0; m < memories; ++m)
      add(cores + m, shared * leastOf(price.forms, at.forms[i],
                                      [m](const Form &f) { return f.transfers[m]; }));
  }
  for (Load &load : loads)
    longest = std::max(longest, closely && size <= kMostSubsets ? load.subset() : load.length());

  // One after the other: what holds all of a core, and what takes all of a memory's bandwidth that
  // the others use, too. Closed forms say nothing of the latter: less time is a larger share.
  for (size_t c = 0; c < cores; ++c)
    for (size_t m = 0; m < memories && !byKind_; ++m) {
      Load load;
      bool filled = false;
      for (size_t i = 0; i < size; ++i) {
        if (items[i].body != kNone)
          continue;
        const Price &price = priceOf(items[i]);
        bool fills = true, holds = true, uses = true;
        for (size_t f = 0; f < price.forms.size(); ++f)
          if (const Form &form = price.forms[f]; at.forms[i] >> f & 1) {
            fills &= form.time > kLong && form.transfers[m] >= form.time;
            holds &= form.whole;
            uses &= form.transfers[m] > kSeen * form.time;
          }
        holds = price.holds.empty() ? holds && price.core == static_cast<int>(c)
                                    : std::find(price.holds.begin(), price.holds.end(),
                                                static_cast<int>(c)) != price.holds.end();
        filled |= fills;
        if (fills || (holds && uses))
          load.add(at.times[i], at.heads[i], at.tails[i]);
      }
      if (filled)
        longest =
            std::max(longest, closely && size <= kMostSubsets ? load.subset() : load.length());
    }
  return longest;
}

} // namespace accord
