// How the devices of a cluster are divided among trials.
#pragma once
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// A trial that runs, or may.
struct ShareRequest {
  size_t rung = 0;    ///< to which it runs
  double seconds = 0; ///< that it needs on one device until then
  int64_t slots = 0;  ///< that it has now; 0: none
};

/// The slots of each request, 0 where it gets none; earlier requests choose first.
///
/// More slots end a trial earlier, but the others wait for them, which costs more than it saves where the speed is not
/// proportional. On k of S slots a trial of s seconds ends after s / speed(k). If all trials of a rung, whose work is b
/// seconds, run so, they hold the cluster for (b / S) k / speed(k). Each request takes the width for which
/// (s / 10 + b k / S) / speed(k) is the smallest: a tuning seldom waits for one trial, so that its own time counts a
/// tenth (of 0, 0.1, 0.3 and 1 the best on eight data sets of LCBench, which are named in docs/learning.md). All
/// rungs have the same share of the slots, and no request takes more than that of its rung, unless it is one device. A
/// request that runs changes if that saves more than a restart.
std::vector<int64_t> shareSlots(const TuningProblem &problem, double backlog,
                                const std::vector<ShareRequest> &requests);

/// Which slots of which devices are taken.
class DevicePool {
public:
  explicit DevicePool(const TuningProblem &problem) : problem_(problem), taken_(static_cast<size_t>(problem.devices)) {}
  /// The devices of a trial of a width; nothing where there are none. Part of a device is one that others have a part
  /// of, if it can be; up to a node's devices lie on the fullest node that has them; more are whole nodes.
  std::optional<std::vector<int64_t>> take(int64_t slots);
  void release(const std::vector<int64_t> &devices, int64_t slots);

private:
  const TuningProblem &problem_;
  std::vector<int64_t> taken_; ///< slots, by device
};

} // namespace accord::tuning
