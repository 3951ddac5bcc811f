#include "lib/ensembles/verify/MembersLost.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

/// Whether each kind has no more votes than members that are left, an odd number in all.
bool canVote(const std::vector<unsigned> &quorum, const std::vector<unsigned> &left) {
  for (size_t k = 0; k < left.size(); ++k)
    if (quorum[k] > left[k])
      return false;
  return std::accumulate(quorum.begin(), quorum.end(), 0u) % 2 == 1;
}

} // namespace

std::vector<Issue> verifyLosses(const MemberProblem &problem, const MemberChoice &choice,
                                const std::map<std::vector<unsigned>, Rational> &proven,
                                uint64_t &losses) {
  std::map<std::pair<unsigned, int64_t>, size_t> number; // of devices that are used
  for (const PlacedMember &member : choice.members) {
    int64_t devices = problem.kinds[member.kind].ways[member.device][member.way].devices;
    for (int64_t d = 0; d < devices; ++d)
      number.try_emplace({member.device, member.first + d}, number.size());
  }
  size_t used = number.size();
  // Which devices are lost: all sets of so many, as flags in their order.
  std::vector<bool> lost(used, false);
  std::fill_n(lost.begin(), std::min<size_t>(problem.lost, used), true);
  do {
    ++losses;
    std::vector<unsigned> left(problem.kinds.size(), 0);
    for (const PlacedMember &member : choice.members) {
      int64_t devices = problem.kinds[member.kind].ways[member.device][member.way].devices;
      bool gone = false;
      for (int64_t d = 0; d < devices; ++d)
        gone |= lost[number.at({member.device, member.first + d})];
      left[member.kind] += !gone;
    }
    Rational least = 1;
    for (const auto &[quorum, error] : proven)
      if (error < least && canVote(quorum, left))
        least = error;
    if (least > choice.afterLoss)
      return {{"A0906",
               fmt::format("after a loss of {} devices an error of {} is proven, {} is stated",
                           problem.lost, least.print(), choice.afterLoss.print()),
               {},
               {}}};
  } while (std::prev_permutation(lost.begin(), lost.end()));
  return {};
}

} // namespace accord
