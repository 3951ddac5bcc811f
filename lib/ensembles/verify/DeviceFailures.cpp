#include "lib/ensembles/verify/DeviceFailures.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

/// Whether each kind has no more votes than members that are left, an odd number in all.
bool isQuorum(const std::vector<unsigned> &quorum, const std::vector<unsigned> &left) {
  for (size_t k = 0; k < left.size(); ++k)
    if (quorum[k] > left[k])
      return false;
  return std::accumulate(quorum.begin(), quorum.end(), 0u) % 2 == 1;
}

} // namespace

Errors verifyDeviceFailures(const MemberProblem &problem, const MemberChoice &choice,
                            const std::map<std::vector<unsigned>, Rational> &proven, uint64_t &numFailures) {
  std::map<std::pair<unsigned, int64_t>, size_t> number; // of devices that are used
  for (const PlacedMember &member : choice.members) {
    int64_t devices = problem.kinds[member.kind].alternatives[member.device][member.alternative].devices;
    for (int64_t d = 0; d < devices; ++d)
      number.try_emplace({member.device, member.first + d}, number.size());
  }
  size_t used = number.size();
  // Which devices are lost: all sets of so many, as flags in their order.
  std::vector<bool> deviceFailures(used, false);
  std::fill_n(deviceFailures.begin(), std::min<size_t>(problem.deviceFailures, used), true);
  do {
    ++numFailures;
    std::vector<unsigned> left(problem.kinds.size(), 0);
    for (const PlacedMember &member : choice.members) {
      int64_t devices = problem.kinds[member.kind].alternatives[member.device][member.alternative].devices;
      bool gone = false;
      for (int64_t d = 0; d < devices; ++d)
        gone |= deviceFailures[number.at({member.device, member.first + d})];
      left[member.kind] += !gone;
    }
    Rational min = 1;
    for (const auto &[quorum, error] : proven)
      if (error < min && isQuorum(quorum, left))
        min = error;
    if (min > choice.errorAfterFailures)
      return {{Code::BoundNotProved,
               fmt::format("after a loss of {} devices an error of {} is proven, {} is stated", problem.deviceFailures,
                           min.print(), choice.errorAfterFailures.print()),
               {},
               {}}};
  } while (std::prev_permutation(deviceFailures.begin(), deviceFailures.end()));
  return {};
}

} // namespace accord
