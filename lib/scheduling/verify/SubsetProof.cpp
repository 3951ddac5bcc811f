#include "lib/scheduling/verify/SubsetProof.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kMaxSubsets = 20'000'000;

/// A mode of a task, as a share of the time for each unit of time in which it runs.
struct Share {
  uint32_t task = 0;
  long double share = 0;
  std::vector<int64_t> takes; ///< by resource
  int64_t copies = 1;         ///< that may run at once
};

class HeaviestSubset {
public:
  HeaviestSubset(const ConcurrentWork &work, const SubsetWeights &weights, const ApartInTime &apart,
                 const TaskName &name)
      : work_(work), weights_(weights), apart_(apart), name_(name), room_(work.capacities) {}

  /// Why a subset may be heavier than 1, or "".
  std::string run() {
    for (uint32_t t = 0; t < work_.tasks.size(); ++t)
      if (weights_.weights[t] > 0 && work_.tasks[t].times > 0)
        if (std::string error = collect(t); !error.empty())
          return error;
    std::sort(shares_.begin(), shares_.end(), [](const Share &a, const Share &b) { return a.share > b.share; });
    std::vector<size_t> open;
    for (size_t i = 0; i < shares_.size(); ++i)
      open.push_back(i);
    visit(open, 0);
    return error_;
  }

private:
  std::string collect(uint32_t task) {
    for (const SchedulingProblem::Mode &mode : *work_.tasks[task].modes) {
      if (mode.absent)
        return fmt::format("its proof counts '{}', which may not happen", name_(task));
      Share one;
      one.task = task;
      one.takes.resize(room_.size());
      bool possible = true;
      for (const auto &use : mode.usage)
        one.takes[use.of] += use.amount;
      for (size_t r = 0; r < room_.size(); ++r)
        possible = possible && one.takes[r] <= room_[r];
      if (!possible)
        continue;
      if (mode.duration <= 0)
        return fmt::format("its proof counts '{}', which may take no time", name_(task));
      one.share = static_cast<long double>(weights_.weights[task]) / weights_.unit / mode.duration;
      if (one.share > 1)
        return fmt::format("its proof gives '{}' a weight of {} for the {} that it runs", name_(task),
                           weights_.weights[task] / weights_.unit, mode.duration);
      one.copies = work_.tasks[task].times;
      for (size_t r = 0; r < room_.size(); ++r)
        if (one.takes[r] > 0)
          one.copies = std::min(one.copies, room_[r] / one.takes[r]);
      if (one.copies > 1 && apart_(task, task))
        one.copies = 1;
      shares_.push_back(std::move(one));
    }
    return "";
  }

  /// No more than this can be added from `open`, by the resource of which there is the least.
  long double rest(const std::vector<size_t> &open) const {
    long double sum = 0;
    for (size_t i : open)
      sum += shares_[i].share * shares_[i].copies;
    for (size_t r = 0; r < room_.size(); ++r) {
      std::vector<std::pair<long double, size_t>> dense;
      long double here = 0, left = room_[r];
      for (size_t i : open)
        if (shares_[i].takes[r] > 0)
          dense.emplace_back(shares_[i].share / shares_[i].takes[r], i);
        else
          here += shares_[i].share * shares_[i].copies;
      std::sort(dense.rbegin(), dense.rend());
      for (const auto &[density, i] : dense) {
        long double wanted = static_cast<long double>(shares_[i].takes[r]) * shares_[i].copies;
        here += density * std::min(wanted, left);
        left -= std::min(wanted, left);
      }
      sum = std::min(sum, here);
    }
    return sum;
  }

  void visit(const std::vector<size_t> &open, long double sum) {
    if (!error_.empty())
      return;
    if (sum > 1) {
      error_ = "tasks of its proof that may run at once have more than their share of the time: ";
      for (size_t i = 0; i < members_.size(); ++i)
        error_ += fmt::format("{}'{}'", i ? ", " : "", name_(members_[i]));
      return;
    }
    if (sum + rest(open) <= 1)
      return;
    if (++visited_ > kMaxSubsets) {
      error_ = fmt::format("more than {} subsets would have to be looked at", kMaxSubsets);
      return;
    }
    for (size_t k = 0; k < open.size() && error_.empty(); ++k) {
      const Share &next = shares_[open[k]];
      members_.push_back(next.task);
      for (size_t r = 0; r < room_.size(); ++r)
        room_[r] -= next.takes[r];
      std::vector<size_t> later;
      for (size_t j = k; j < open.size(); ++j)
        if (mayJoin(shares_[open[j]]))
          later.push_back(open[j]);
      visit(later, sum + next.share);
      for (size_t r = 0; r < room_.size(); ++r)
        room_[r] += next.takes[r];
      members_.pop_back();
    }
  }

  /// Beside all members, the last of which is new; the others were looked at before.
  bool mayJoin(const Share &share) const {
    for (size_t r = 0; r < room_.size(); ++r)
      if (share.takes[r] > room_[r])
        return false;
    if (std::count(members_.begin(), members_.end(), share.task) >= work_.tasks[share.task].times)
      return false;
    return !apart_(members_.back(), share.task);
  }

  const ConcurrentWork &work_;
  const SubsetWeights &weights_;
  const ApartInTime &apart_;
  const TaskName &name_;
  std::vector<int64_t> room_;
  std::vector<Share> shares_;
  std::vector<uint32_t> members_;
  int64_t visited_ = 0;
  std::string error_;
};

} // namespace

Result<int64_t, std::string> provedBySubsets(const ConcurrentWork &work, const SubsetWeights &weights,
                                             const ApartInTime &apart, const TaskName &name) {
  if (weights.weights.size() != work.tasks.size())
    return fmt::format("its proof has {} weights for {} tasks", weights.weights.size(), work.tasks.size());
  if (weights.unit < 1)
    return fmt::format("its weights count in units of {}", weights.unit);
  __int128 sum = 0;
  for (size_t t = 0; t < work.tasks.size(); ++t) {
    if (weights.weights[t] < 0)
      return fmt::format("its proof gives '{}' a weight of {}", name(static_cast<uint32_t>(t)), weights.weights[t]);
    sum += static_cast<__int128>(weights.weights[t]) * work.tasks[t].times;
  }
  if (std::string error = HeaviestSubset(work, weights, apart, name).run(); !error.empty())
    return error;
  return static_cast<int64_t>(std::min<__int128>((sum + weights.unit - 1) / weights.unit, INT64_MAX));
}

} // namespace accord
