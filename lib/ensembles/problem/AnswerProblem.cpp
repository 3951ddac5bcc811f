#include "lib/ensembles/problem/AnswerProblem.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {

const char *name(AnswerObjective objective) {
  constexpr const char *kNames[] = {"answer_energy", "answer_latency", "answer_error"};
  return kNames[llvm::to_underlying(objective)];
}

std::vector<PlacedVote> placedVotes(const std::vector<AnsweringDevice> &devices) {
  std::vector<PlacedVote> members;
  for (size_t on = 0; on < devices.size(); ++on)
    for (unsigned kind : devices[on].kinds)
      members.push_back({kind, on});
  std::ranges::sort(members, {}, [](const PlacedVote &member) { return std::pair(member.kind, member.on); });
  return members;
}

std::vector<unsigned> kindCounts(const AnswerProblem &problem, const std::vector<AnsweringDevice> &devices) {
  std::vector<unsigned> counts(problem.kinds.size(), 0);
  for (const AnsweringDevice &device : devices)
    for (unsigned kind : device.kinds)
      ++counts[kind];
  return counts;
}

namespace {

constexpr int64_t kMaxTime = int64_t(1) << 56;
constexpr size_t kMaxQuantiles = 16;

bool isProbability(const Rational &share) { return share.sign() >= 0 && share <= Rational(1); }

std::string checkLatency(const TimeQuantiles &latency) {
  if (latency.size() > kMaxQuantiles)
    return fmt::format("{} quantiles of a latency: at most {} are looked at", latency.size(), kMaxQuantiles);
  for (size_t i = 0; i < latency.size(); ++i) {
    if (latency[i].share.sign() <= 0 || latency[i].share > Rational(1) || latency[i].time < 0 ||
        latency[i].time > kMaxTime)
      return "a quantile of a latency is of a share up to 1 and of a time";
    if (i > 0 && (latency[i].share <= latency[i - 1].share || latency[i].time <= latency[i - 1].time))
      return "quantiles of a latency ascend in share and time";
  }
  return "";
}

std::string checkDevice(const AnswerProblem::Device &device) {
  if (device.count < 1 || device.count > 63)
    return fmt::format("there are {}: from 1 to 63 can vote", device.count);
  if (device.memory < 0 || !isProbability(device.lost) || !isProbability(device.corrupted))
    return "its memory or a probability is out of range";
  if (device.levels.empty() || device.levels.size() > 16)
    return fmt::format("it has {} levels: from 1 to 16 are tried", device.levels.size());
  return checkLatency(device.network);
}

std::string checkRun(const MemberRun &run) {
  if (!(run.joules >= 0) || run.joules > 1e30 || run.memory < 0 || !isProbability(run.corrupted))
    return "an energy, a memory or a probability is out of range";
  return checkLatency(run.latency);
}

std::string checkNumbers(const AnswerProblem &problem) {
  constexpr int64_t kMaxMembers = 63, kMaxWeight = 1 << 20;
  if (problem.minSize < 1 || problem.maxSize < problem.minSize || problem.maxSize > kMaxMembers)
    return fmt::format("sizes from {} to {}: from 1 to {} can vote", problem.minSize, problem.maxSize, kMaxMembers);
  if (problem.membersPerDevice < 1 || problem.membersPerDevice > 4)
    return fmt::format("{} members on a device: from 1 to 4 are tried", problem.membersPerDevice);
  if (problem.timeout < 0 || problem.timeout > kMaxTime || problem.deviceFailures < 0 ||
      (problem.quorum && *problem.quorum < 1))
    return "a time-out, a quorum or a number of failures is out of range";
  double devices = 0, failures = 1, uses = 1;
  for (int64_t i = 1; i <= problem.membersPerDevice; ++i)
    uses *= (double(problem.kinds.size()) + double(i)) / double(i);
  constexpr double kMaxUses = 10'000;
  for (const AnswerProblem::Device &device : problem.devices)
    if (uses * double(device.levels.size()) > kMaxUses)
      return fmt::format("there are {:.0f} ways to use a device '{}': at most {} are tried",
                         uses * double(device.levels.size()), device.name, kMaxUses);
  for (const AnswerProblem::Device &device : problem.devices)
    devices += double(device.count);
  for (int64_t i = 0; i < std::min<int64_t>(problem.deviceFailures, 63); ++i)
    failures *= std::max(1.0, devices - double(i)) / double(i + 1);
  constexpr double kMaxFailures = 2000;
  if (devices > 63 || failures > kMaxFailures)
    return fmt::format("{} failures of {} devices: at most 63 devices, and {} ways in which they fail, are looked at",
                       problem.deviceFailures, devices, kMaxFailures);
  for (const AnswerProblem::Kind &kind : problem.kinds)
    if (kind.weight < 1 || kind.weight > kMaxWeight)
      return fmt::format("member '{}' has a weight of {}: from 1 to {} count", kind.name, kind.weight, kMaxWeight);
  for (const LatencyLimit &limit : problem.limits)
    if (!isProbability(limit.share) || limit.time < 0 || limit.time > kMaxTime)
      return "a limit of the latency is out of range";
  return "";
}

} // namespace

std::string check(const AnswerProblem &problem) {
  if (problem.kinds.empty() || problem.devices.empty())
    return "an ensemble needs members and devices";
  if (std::string wrong = checkNumbers(problem); !wrong.empty())
    return wrong;
  for (const AnswerProblem::Device &device : problem.devices)
    if (std::string wrong = checkDevice(device); !wrong.empty())
      return fmt::format("devices '{}': {}", device.name, wrong);
  if (problem.runs.size() != problem.kinds.size())
    return "not every member says where it runs";
  for (size_t k = 0; k < problem.kinds.size(); ++k) {
    if (problem.runs[k].size() != problem.devices.size())
      return fmt::format("member '{}' does not say where it runs", problem.kinds[k].name);
    for (size_t d = 0; d < problem.devices.size(); ++d) {
      if (problem.runs[k][d].size() != problem.devices[d].levels.size())
        return fmt::format("member '{}' does not say at which levels it runs", problem.kinds[k].name);
      for (const MemberRun &run : problem.runs[k][d])
        if (std::string wrong = checkRun(run); !wrong.empty())
          return fmt::format("member '{}' on '{}': {}", problem.kinds[k].name, problem.devices[d].name, wrong);
    }
  }
  return "";
}

} // namespace accord
