// What feeding a training step costs: read and decode, copy to the device, compute, with batches
// fetched ahead into a bounded queue.
//
// Model: a batch is loaded into a host buffer by all workers together (L), copied to the device
// (H) and computed on (C), each stage one batch at a time and in order. There are K host buffers
// (`prefetch`), each held from the start of the load to the end of the copy, and two on the device,
// each held from the start of the copy to the end of the computation. K = 0: nothing overlaps.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include <cstdint>

namespace accord {

/// What a training says about its data: bytes of input per second that all workers read and decode
/// together, and how many batches are loaded ahead.
struct DataLoader {
  BytesPerSecond rate;
  int64_t prefetch = 2;
};

/// Of one batch. None negative, none infinite.
struct DataLoaderStages {
  Seconds load;    ///< L: read and decode
  Seconds copy;    ///< H: from the host to the device
  Seconds compute; ///< C
};

struct DataLoaderStep {
  Seconds serial;  ///< L + H + C
  Seconds step;    ///< in steady state
  Bytes queue;     ///< host memory that waiting batches take: K of them
  double gain = 1; ///< serial / step, at most 3
  /// The stage that binds: "load", "copy", "compute", "load and copy" (one host buffer) or
  /// "serial".
  const char *bound = "serial";
};

/// Steady state: K = 0 serial; K = 1 max(L + H, C), for the one host buffer is loaded and copied
/// from in turn; K >= 2 max(L, H, C), for buffers taken in turn hold nothing up: (L + H)/K and
/// (H + C)/2 are below the maximum. A step of no time has gain 1. Error A0486 on a negative or
/// infinite time, a negative depth or size.
Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch);

} // namespace accord
