#include "lib/ensembles/problem/Members.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace accord {
namespace {

constexpr unsigned kMaxMembers = 63;
constexpr int64_t kLargest = int64_t(1) << 56; // 63 of them and more can be added
constexpr double kMaxJoules = 1e30;
constexpr int64_t kWidest = 1024; // devices of a member

constexpr double kMaxCases = 100'000;

/// Ways to take k of n, nearly.
double binomial(double n, double k) {
  double number = 1;
  for (double i = 1; i <= k && number <= kMaxCases; ++i)
    number *= (n - k + i) / i;
  return number;
}

/// Ensembles and losses are gone through one by one.
std::string checkCases(const MemberProblem &problem) {
  double devices = 0, size = problem.sizes.back();
  for (const MemberProblem::Device &device : problem.devices)
    devices += device.count;
  if (binomial(problem.kinds.size() - 1 + size, size) > kMaxCases)
    return fmt::format("there are more than {} ensembles of {} members of {} kinds", kMaxCases, size,
                       problem.kinds.size());
  double widest = 1; // devices of a member
  for (const MemberProblem::Kind &kind : problem.kinds)
    for (const auto &alternatives : kind.alternatives)
      for (const MemberCost &alternative : alternatives)
        widest = std::max<double>(widest, alternative.devices);
  double used = std::min(devices, widest * size), deviceFailures = std::min<double>(problem.deviceFailures, used);
  if (binomial(used, deviceFailures) > kMaxCases)
    return fmt::format("there are more than {} losses of {} of {} devices", kMaxCases, deviceFailures, used);
  return "";
}

std::string checkAlternative(const MemberCost &alternative, const MemberProblem::Device &device) {
  for (int64_t number : {alternative.time, alternative.state, alternative.activations})
    if (number < 0 || number > kLargest)
      return "a time or size that is negative or too large";
  if (alternative.devices < 1 || alternative.devices > std::min(device.count, kWidest))
    return fmt::format("{} devices of {}", alternative.devices, device.count);
  if (!(alternative.joules >= 0) || alternative.joules > kMaxJoules)
    return "an energy that is negative or too large";
  return "";
}

std::string checkDevice(const MemberProblem::Device &device) {
  if (device.count < 1)
    return "there are none";
  if (device.memory < 0)
    return "its memory is negative";
  if (!(device.pricePerHour >= 0) || device.pricePerHour > kMaxJoules)
    return "its price is negative or too large";
  return "";
}

std::string checkSizes(const std::vector<unsigned> &sizes) {
  if (sizes.empty())
    return "no size is asked for";
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] % 2 == 0 || sizes[i] > kMaxMembers || (i > 0 && sizes[i] <= sizes[i - 1]))
      return fmt::format("sizes are odd, ascending and at most {}, found {}", kMaxMembers, sizes[i]);
  return "";
}

} // namespace

const char *name(MemberObjective objective) {
  constexpr const char *kNames[] = {"step_time", "energy", "memory", "price"};
  return kNames[llvm::to_underlying(objective)];
}

double valueOf(const MemberChoice &choice, MemberObjective objective) {
  const double values[] = {double(choice.time), choice.joules, double(choice.memory), choice.price};
  return values[llvm::to_underlying(objective)];
}

std::string membersText(const MemberProblem &problem, const std::vector<unsigned> &counts) {
  std::string text;
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[k], problem.kinds[k].name);
  return text;
}

double MembersResult::gap(MemberObjective objective) const {
  if (!best)
    return 0;
  double value = valueOf(*sizes[*best].shown(), objective);
  return value > 0 ? std::max(0.0, 1 - bound / value) : 0;
}

MemberChoice evaluateMembers(const MemberProblem &problem, std::vector<PlacedMember> members) {
  struct Load {
    int64_t time = 0, state = 0, activations = 0;
  };
  std::ranges::sort(members, {},
                    [](const PlacedMember &m) { return std::tuple(m.kind, m.device, m.alternative, m.first); });
  MemberChoice choice;
  choice.counts.assign(problem.kinds.size(), 0);
  std::map<std::pair<unsigned, int64_t>, Load> loads;
  for (const PlacedMember &member : members) {
    const MemberCost &alternative = problem.kinds[member.kind].alternatives[member.device][member.alternative];
    ++choice.counts[member.kind];
    choice.joules += alternative.joules;
    for (int64_t d = 0; d < alternative.devices; ++d) {
      Load &load = loads[{member.device, member.first + d}];
      load.time += alternative.time;
      load.state += alternative.state;
      load.activations = std::max(load.activations, alternative.activations);
    }
  }
  double rent = 0;
  for (const auto &[device, load] : loads) {
    choice.time = std::max(choice.time, load.time);
    choice.memory = std::max(choice.memory, load.state + load.activations);
    rent += problem.devices[device.first].pricePerHour;
  }
  choice.price = rent * (choice.time * 1e-12 / 3600);
  choice.members = std::move(members);
  return choice;
}

std::string check(const MemberProblem &problem) {
  if (problem.kinds.empty() || problem.devices.empty())
    return "an ensemble needs members and devices";
  std::set<std::string> names;
  for (const MemberProblem::Device &device : problem.devices) {
    if (std::string wrong = checkDevice(device); !wrong.empty())
      return fmt::format("devices '{}': {}", device.name, wrong);
    if (!names.insert(device.name).second)
      return fmt::format("devices '{}' are there twice", device.name);
  }
  names.clear();
  for (const MemberProblem::Kind &kind : problem.kinds) {
    if (!names.insert(kind.name).second)
      return fmt::format("member '{}' is there twice", kind.name);
    if (kind.alternatives.size() != problem.devices.size())
      return fmt::format("member '{}' has ways for {} kinds of devices of {}", kind.name, kind.alternatives.size(),
                         problem.devices.size());
    for (size_t d = 0; d < kind.alternatives.size(); ++d)
      for (const MemberCost &alternative : kind.alternatives[d])
        if (std::string wrong = checkAlternative(alternative, problem.devices[d]); !wrong.empty())
          return fmt::format("member '{}' on '{}': {}", kind.name, problem.devices[d].name, wrong);
  }
  std::string wrong = checkSizes(problem.sizes);
  return wrong.empty() ? checkCases(problem) : wrong;
}

} // namespace accord
