#include "lib/tuning/solve/DeviceShares.h"
#include <algorithm>
#include <limits>
#include <set>

namespace accord::tuning {

/// Of the time of a trial, so much is waited for: the others go on meanwhile.
static constexpr double kLatencyShare = 0.1;

std::vector<int64_t> shareSlots(const TuningProblem &problem, double backlog,
                                const std::vector<ShareRequest> &requests) {
  const int64_t all = problem.devices * problem.slotsPerDevice;
  std::set<size_t> distinct;
  for (const ShareRequest &request : requests)
    distinct.insert(request.rung);
  const auto rungs = static_cast<int64_t>(distinct.size());
  int64_t left = all;
  std::vector<int64_t> out(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const ShareRequest &request = requests[i];
    double smallest = std::numeric_limits<double>::infinity();
    for (const Width &width : problem.widths) {
      if (width.slots > left || (width.slots > problem.slotsPerDevice && width.slots * rungs > all))
        break;
      const double queue = backlog * static_cast<double>(width.slots) / static_cast<double>(all);
      const double lost = width.slots == request.slots ? 0 : problem.restart;
      const double seconds = (kLatencyShare * request.seconds + queue) / width.speed + lost;
      if (seconds < smallest)
        smallest = seconds, out[i] = width.slots;
    }
    left -= out[i];
  }
  return out;
}

std::optional<std::vector<int64_t>> DevicePool::take(int64_t slots) {
  const int64_t each = problem_.slotsPerDevice, devices = slots / each;
  auto taken = [&](int64_t device) -> int64_t & { return taken_[static_cast<size_t>(device)]; };
  if (devices == 0) { // the fullest device that has room
    std::optional<int64_t> best;
    for (int64_t device = 0; device < problem_.devices; ++device)
      if (taken(device) + slots <= each && (!best || taken(device) > taken(*best)))
        best = device;
    if (!best)
      return std::nullopt;
    taken(*best) += slots;
    return std::vector<int64_t>{*best};
  }
  const int64_t perNode = std::min(problem_.devicesPerNode, problem_.devices);
  std::vector<std::pair<size_t, std::vector<int64_t>>> nodes; // free devices of each node, and how many they are
  for (int64_t first = 0; first < problem_.devices; first += perNode) {
    std::vector<int64_t> free;
    for (int64_t device = first; device < std::min(first + perNode, problem_.devices); ++device)
      if (taken(device) == 0)
        free.push_back(device);
    nodes.emplace_back(free.size(), std::move(free));
  }
  std::vector<int64_t> out;
  if (devices <= perNode) {
    const std::vector<int64_t> *best = nullptr;
    for (const auto &[size, free] : nodes)
      if (static_cast<int64_t>(size) >= devices && (!best || size < best->size()))
        best = &free;
    if (!best)
      return std::nullopt;
    out.assign(best->begin(), best->begin() + devices);
  } else {
    for (const auto &[size, free] : nodes)
      if (static_cast<int64_t>(size) == perNode && static_cast<int64_t>(out.size()) < devices)
        out.insert(out.end(), free.begin(), free.end());
    if (static_cast<int64_t>(out.size()) < devices)
      return std::nullopt;
    out.resize(static_cast<size_t>(devices));
  }
  for (int64_t device : out)
    taken(device) = each;
  return out;
}

void DevicePool::release(const std::vector<int64_t> &devices, int64_t slots) {
  for (int64_t device : devices)
    taken_[static_cast<size_t>(device)] -= std::min(slots, problem_.slotsPerDevice);
}

} // namespace accord::tuning
