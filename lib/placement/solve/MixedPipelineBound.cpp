#include "lib/placement/solve/MixedPipelineBound.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {
namespace {

constexpr size_t kMaxStates = 4'000;

/// Numbers of groups of each kind, as digits of one number.
class GroupCounts {
public:
  GroupCounts(const std::vector<GroupKind> &kinds, int64_t groups) : kinds_(kinds), groups_(groups) {
    for (const GroupKind &kind : kinds) {
      strides_.push_back(states_);
      max_.push_back(std::min(kind.groups, groups));
      states_ *= max_.back() + 1;
      if (states_ > kMaxStates)
        return;
    }
    used_.assign(states_, 0);
    for (size_t state = 0; state < states_; ++state) {
      int64_t sum = 0;
      for (size_t k = 0; k < kinds.size(); ++k)
        sum += digit(state, k);
      used_[state] = sum;
    }
  }

  bool tooMany() const { return states_ > kMaxStates; }

  /// The most that `next` (sum so far, groups so far, rate) makes of 0 over all orders of so many groups.
  template <typename Next> double maxOfOrders(Next next) {
    sums_.assign(states_, -1);
    sums_[0] = 0;
    double max = 0;
    for (size_t state = 1; state < states_; ++state) {
      if (used_[state] > groups_)
        continue;
      bool all = true;
      for (size_t k = 0; k < kinds_.size(); ++k) {
        if (digit(state, k) == 0) {
          all = false;
          continue;
        }
        double before = sums_[state - strides_[k]];
        sums_[state] = std::max(sums_[state], next(before, used_[state] - 1, kinds_[k].rate));
      }
      if (all && used_[state] == groups_)
        max = std::max(max, sums_[state]);
    }
    return max;
  }

private:
  int64_t digit(size_t state, size_t kind) const {
    return static_cast<int64_t>(state / strides_[kind]) % (max_[kind] + 1);
  }

  const std::vector<GroupKind> &kinds_;
  int64_t groups_;
  size_t states_ = 1;
  std::vector<size_t> strides_;
  std::vector<int64_t> max_, used_;
  std::vector<double> sums_;
};

/// Of groups that are all busy equally long.
double evenThroughput(int64_t microbatches, int64_t groups, std::vector<GroupKind> kinds) {
  std::sort(kinds.begin(), kinds.end(), [](const GroupKind &a, const GroupKind &b) { return a.rate > b.rate; });
  double sum = 0;
  int64_t left = groups - static_cast<int64_t>(kinds.size());
  for (const GroupKind &kind : kinds) {
    int64_t more = std::clamp<int64_t>(kind.groups - 1, 0, std::max<int64_t>(left, 0));
    sum += static_cast<double>(1 + more) * kind.rate, left -= more;
  }
  return sum / static_cast<double>(microbatches + groups - 1);
}

} // namespace

double maxMixedThroughput(PipelineSchedule schedule, int64_t microbatches, int64_t groups,
                          const std::vector<GroupKind> &kinds) {
  GroupCounts counts(kinds, groups);
  if (counts.tooMany())
    return INFINITY;
  double m = microbatches, alone = counts.maxOfOrders([&](double behind, int64_t, double rate) {
    return behind + std::max(0.0, rate - behind) / m;
  });
  bool turns = schedule == PipelineSchedule::GPipe && microbatches > 1;
  if (!turns && (schedule != PipelineSchedule::OneFOneB || microbatches <= groups))
    return alone;
  double left = microbatches - groups;
  auto isEnough = [&](double all) {
    return counts.maxOfOrders([&](double before, int64_t at, double rate) {
      return turns ? before + std::max(0.0, rate - all) / (m - 1)
                   : before + std::max(0.0, rate - all - before) / (left + at);
    }) <= all;
  };
  double even = evenThroughput(microbatches, groups, kinds) * (1 + 1e-12), low = 0, high = alone;
  if (even < high && isEnough(even))
    return even;
  while (high - low > 1e-4 * high) { // `high` is known to be enough
    double middle = (low + high) / 2;
    (isEnough(middle) ? high : low) = middle;
  }
  return high;
}

} // namespace accord::placing
