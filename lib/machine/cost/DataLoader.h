// What feeding a training step costs: read and decode, copy to the device, compute, with batches
// fetched ahead into a bounded queue.
//
// Model: a batch is loaded into a host buffer by all workers together (L), copied to the device
// (H) and computed on (C), each stage one batch at a time and in order. There are K host buffers
// (`prefetch`), each held from the start of the load to the end of the copy, and two on the device,
// each held from the start of the copy to the end of the computation. K = 0: nothing overlaps.
// L may vary from batch to batch; H and C are constant.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include <cstdint>
#include <vector>

namespace accord {

/// What a training says about its data.
struct DataLoader {
  static constexpr int64_t kAuto = -1;
  BytesPerSecond rate;    ///< of input that one worker reads and decodes; of all where the file states no workers
  int64_t prefetch = 2;   ///< batches loaded ahead; kAuto: chosen
  int64_t workers = 1;    ///< kAuto: chosen
  int64_t maxWorkers = 1; ///< where they are chosen; else as `workers`
  double variation = 0;   ///< standard deviation over mean of the time to load a batch
  Bytes memory;           ///< of the host, for batches that wait; 0: no limit
};

/// Of one batch, in the mean. None negative, none infinite.
struct DataLoaderStages {
  Seconds load;    ///< L: read and decode
  Seconds copy;    ///< H: from the host to the device
  Seconds compute; ///< C
};

struct DataLoaderStep {
  Seconds serial;   ///< L + H + C
  Seconds step;     ///< in steady state
  Bytes queue;      ///< host memory that waiting batches take: K of them
  double gain = 1;  ///< serial / step, at most 3
  double error = 0; ///< of `step`, relative: two standard errors of the simulation; 0 where it is exact
  /// What binds: the stage "load", "copy" or "compute"; "load and copy" (one host buffer); "variation" (a slow load
  /// outlasts the queue); or "serial".
  const char *bound = "serial";
};

/// Steady state of constant times: K = 0 serial; K = 1 max(L + H, C), for the one host buffer is loaded and copied
/// from in turn; K >= 2 max(L, H, C), for buffers taken in turn hold nothing up: (L + H)/K and
/// (H + C)/2 are below the maximum. A step of no time has gain 1. Where L varies, the mean over a cycle of lognormal
/// times by Lindley's recursion (see BoundedQueue.h). Error A0486 on a negative or infinite time, a negative depth,
/// size or variation.
Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch,
                                      double variation = 0);

/// Workers and depth, those that the file leaves open chosen.
struct LoaderChoice {
  int64_t workers = 1, prefetch = 2;
  Seconds load; ///< by so many workers
  DataLoaderStep step;
  bool hidden = false;  ///< the step is as long as computing or copying alone; 1 % longer where loading varies
  bool limited = false; ///< a deeper queue would help, but the host's memory does not hold it
  /// What other depths give: 0, 1, 2, 4, ..., the chosen one and one less, ascending.
  struct Depth {
    int64_t prefetch;
    Seconds step;
    Bytes queue;
  };
  std::vector<Depth> depths;
  std::vector<std::string> reasons; ///< what was chosen and why, and what is assumed of times that vary
};

/// The smallest number of workers with which loading can be hidden by a depth that is allowed, at most `maxWorkers`,
/// and then the smallest depth that hides it; where none does, the smallest that gets within 1 % of what the deepest
/// gives (exactly to it, where times are constant). At most 1024 batches. Error A0302 where the stated depth needs
/// more memory than is stated, or not one batch fits in; A0486 as dataLoaderStep.
Result<LoaderChoice> chooseLoader(const DataLoader &loader, Bytes batch, Seconds copy, Seconds compute);

/// What a plan for a cluster chooses: its step is `step`, all workers that there may be load a batch in `load`, and
/// copying takes no time. Nothing where the file leaves nothing open and times are constant.
std::vector<std::string> loaderReasons(const DataLoader &loader, Seconds load, Seconds step);

} // namespace accord
