// What feeding a training step costs: read and decode, copy to the device, compute, with batches
// fetched ahead into a bounded queue. The same pipeline carries embedding rows fetched ahead.
//
// Model: a batch is loaded into a host buffer by all workers together (L/W), copied to the device
// (H) and computed on (C), each stage one batch at a time and in order. There are K host buffers
// (`prefetch`), each held from the start of the load to the end of the copy, and two on the device,
// each held from the start of the copy to the end of the computation. K = 0: nothing overlaps.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include <cstdint>
#include <vector>

namespace accord {

/// What a training says about its data: bytes of input per second that all workers read and decode
/// together, and how many batches are loaded ahead.
struct DataLoader {
  BytesPerSecond rate;
  int64_t prefetch = 2;
};

/// Of one batch. None negative, none infinite; one worker at least.
struct DataLoaderStages {
  Seconds load; ///< L: read and decode by one worker
  int64_t workers = 1;
  Seconds copy;    ///< H: from the host to the device
  Seconds compute; ///< C
};

struct DataLoaderStep {
  Seconds serial;  ///< L/W + H + C
  Seconds step;    ///< in steady state
  Seconds startup; ///< until the first computation: L/W + H
  Bytes queue;     ///< host memory that waiting batches take: K of them
  double gain = 1; ///< serial / step, at most 3
  /// The stage that binds: "load", "copy", "compute", "load and copy" (one host buffer) or
  /// "serial".
  const char *bound = "serial";
};

/// Steady state: K = 0 serial; K = 1 max(L/W + H, C), for the one host buffer is loaded and copied
/// from in turn; K >= 2 max(L/W, H, C), for buffers taken in turn hold nothing up: (L/W + H)/K and
/// (H + C)/2 are below the maximum. A step of no time has gain 1. Error A0486 on a negative or
/// infinite time, no worker, a negative depth or size.
Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch);

/// When each stage of each batch ends.
struct DataLoaderBatch {
  Seconds loaded, copied, computed;
};

/// Batches with times of their own (`load` as if by one worker), by the max-plus recursion of a
/// line of stages with blocking before service (Baccelli et al., Synchronization and Linearity,
/// 1992, chapter 2; with one stage it is Lindley's recursion for the waiting time, 1952):
///   loaded[n]   = max(loaded[n-1], copied[n-K]) + L[n]/W       (K = 0: computed[n-1] + L[n]/W)
///   copied[n]   = max(loaded[n], copied[n-1], computed[n-2]) + H[n]
///   computed[n] = max(copied[n], computed[n-1]) + C[n]
/// Error A0486 as above.
Result<std::vector<DataLoaderBatch>> simulateDataLoader(const std::vector<DataLoaderStages> &batches, int64_t prefetch);

/// Time in which the device waits for data: the last `computed`, less all computation.
Seconds stallTime(const std::vector<DataLoaderStages> &batches, const std::vector<DataLoaderBatch> &ends);

/// Rows of an embedding table fetched from slow memory for the next batches.
struct RowPrefetch {
  double rows = 0;   ///< different rows of one batch
  double shared = 0; ///< of these, in the batch before too: updated there, so fetched after it
  Bytes row;
  BytesPerSecond bandwidth; ///< of the memory that rows come from
  Seconds compute;          ///< of one batch, its rows there
};
struct RowPrefetchStep {
  DataLoaderStep step;
  Bytes cache;     ///< rows that wait: lookahead * rows * row
  Seconds exposed; ///< fetching shared rows, which no lookahead hides
};
/// Rows not shared with batches in flight are fetched ahead as in `loadedStep`, into a cache of
/// `lookahead` batches' rows; shared ones after the update that changes them, before the
/// computation. Without lookahead all is serial. Error A0486 as above, and for `shared` above
/// `rows` or no bandwidth.
Result<RowPrefetchStep> prefetchRows(const RowPrefetch &batch, int64_t lookahead);

} // namespace accord
