// An ensemble that runs, as plain data: who votes, how votes are counted, and when there is no answer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord::voting {

enum class VoteRule : uint8_t {
  Majority, ///< the label of most members
  Weighted, ///< the label with the largest sum of weights
  Soft,     ///< the label with the largest mean of the members' probabilities, by weight
};

struct VotingMember {
  std::string name;
  std::string url; ///< "http://HOST:PORT"
  int64_t weight = 1;
  std::string model = {}; ///< a file, for whoever starts the member; empty: none is stated
};

/// What a plan states of answers, as shares of all requests.
struct PlannedAnswer {
  double wrong = 1; ///< there is an answer and it is wrong: at most
  double none = 0;  ///< there is no answer: at most
};

struct VotingConfig {
  std::string name;
  int64_t classes = 2; ///< labels are 0 to `classes` - 1
  VoteRule rule = VoteRule::Majority;
  int64_t quorum = 1;   ///< weight of votes without which there is no answer; with `Majority`, their number
  double timeout = 100; ///< milliseconds from a request to its answer; what arrives later does not count
  std::vector<VotingMember> members;
  std::optional<PlannedAnswer> planned = std::nullopt;

  int64_t weightOf(size_t member) const { return rule == VoteRule::Majority ? 1 : members[member].weight; }
  int64_t totalWeight() const {
    int64_t total = 0;
    for (size_t i = 0; i < members.size(); ++i)
      total += weightOf(i);
    return total;
  }
};

constexpr size_t kMaxVotingMembers = 63;
constexpr int64_t kMaxClasses = 1 << 20, kMaxVoteWeight = 1 << 20;

} // namespace accord::voting
