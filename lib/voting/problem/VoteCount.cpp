#include "lib/voting/problem/VoteCount.h"
#include <algorithm>

namespace accord::voting {

VoteCount::VoteCount(const VotingConfig &config)
    : config_(config), votes_(config.members.size()), has_(config.members.size()), open_(config.totalWeight()) {}

void VoteCount::add(size_t member, MemberVote vote) {
  const int64_t weight = config_.weightOf(member);
  arrived_ += weight;
  open_ -= weight;
  has_[member] = true;
  votes_[member] = std::move(vote);
}

std::vector<double> VoteCount::scores() const {
  const bool isSoft = config_.rule == VoteRule::Soft;
  std::vector<double> sums(static_cast<size_t>(config_.classes), 0);
  for (size_t i = 0; i < votes_.size(); ++i) {
    if (!has_[i])
      continue;
    const auto weight = static_cast<double>(config_.weightOf(i));
    if (!isSoft) {
      sums[static_cast<size_t>(votes_[i].label)] += weight;
      continue;
    }
    for (size_t label = 0; label < sums.size(); ++label)
      sums[label] += weight * votes_[i].probabilities[label];
  }
  return sums;
}

VoteCount::Leader VoteCount::leader() const {
  if (config_.rule != VoteRule::Soft) { // by the few labels that have a vote, whatever the number of classes
    std::vector<std::pair<int64_t, int64_t>> sums;
    for (size_t i = 0; i < votes_.size(); ++i) {
      if (!has_[i])
        continue;
      auto found = std::ranges::find(sums, votes_[i].label, &std::pair<int64_t, int64_t>::first);
      if (found == sums.end())
        found = sums.insert(found, {votes_[i].label, 0});
      found->second += config_.weightOf(i);
    }
    if (sums.empty())
      return {};
    std::ranges::sort(sums, [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return {sums[0].first, static_cast<double>(sums[0].second - (sums.size() > 1 ? sums[1].second : 0))};
  }
  const std::vector<double> sums = scores();
  size_t best = 0;
  for (size_t label = 1; label < sums.size(); ++label)
    if (sums[label] > sums[best])
      best = label;
  double second = 0;
  for (size_t label = 0; label < sums.size(); ++label)
    if (label != best)
      second = std::max(second, sums[label]);
  return {static_cast<int64_t>(best), sums[best] - second};
}

bool VoteCount::isCertain() const {
  if (!hasQuorum())
    return false;
  // A vote that is awaited adds its weight to one other label at most. Sums of probabilities are rounded, and
  // probabilities of a member may add up to a little more than 1.
  const double slack = config_.rule == VoteRule::Soft ? 2e-3 * static_cast<double>(config_.totalWeight()) : 0;
  return open_ == 0 || leader().lead > static_cast<double>(open_) + slack;
}

std::vector<double> VoteCount::shares() const {
  std::vector<double> sums = scores();
  if (arrived_ > 0)
    for (double &sum : sums)
      sum /= static_cast<double>(arrived_);
  return sums;
}

} // namespace accord::voting
