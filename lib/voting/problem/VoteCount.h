// The votes of one input, as they arrive.
#pragma once
#include "lib/voting/problem/VotingConfig.h"
#include <vector>

namespace accord::voting {

/// One member's vote.
struct MemberVote {
  int64_t label = 0;
  std::vector<double> probabilities = {}; ///< by label; may be empty unless votes are soft
};

/// Counts votes by the rule of an ensemble. The label is the one with the largest score, of equal ones the smallest.
/// So it is right wherever more than half of the weight that arrives is right, which is what a plan bounds; what is
/// decided before all votes are there is what all of them would decide.
class VoteCount {
public:
  explicit VoteCount(const VotingConfig &config);

  /// The vote of a member of which nothing was said before. Its label, and the number of probabilities, are of the
  /// ensemble's classes.
  void add(size_t member, MemberVote vote);
  /// There will be no vote of this member.
  void drop(size_t member) { open_ -= config_.weightOf(member); }

  int64_t weight() const { return arrived_; } ///< of votes that are there
  bool hasQuorum() const { return arrived_ >= config_.quorum; }
  /// Whether no vote is awaited any more.
  bool isComplete() const { return open_ == 0; }
  /// Whether there is a quorum, and no vote that is still awaited changes the label.
  bool isCertain() const;
  /// Whether there will be no quorum, whatever arrives.
  bool isHopeless() const { return arrived_ + open_ < config_.quorum; }
  int64_t label() const { return leader().label; }
  /// By label: sums of weights, or of weights times probabilities, over the weight that arrived. All 0: no vote.
  std::vector<double> shares() const;

private:
  struct Leader {
    int64_t label = 0;
    double lead = 0; ///< above the second
  };
  Leader leader() const;
  /// By label that has a score, in the order of members, so that sums are the same in whatever order votes arrive.
  std::vector<double> scores() const;

  const VotingConfig &config_;
  std::vector<MemberVote> votes_;
  std::vector<bool> has_;
  int64_t arrived_ = 0, open_ = 0;
};

} // namespace accord::voting
