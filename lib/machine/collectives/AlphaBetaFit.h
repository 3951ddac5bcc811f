// Latency and bandwidth of a collective from measured times.
#pragma once
#include "lib/support/Units.h"
#include <optional>
#include <span>

namespace accord {

struct MeasuredCollective {
  Bytes payload;
  Seconds time;
};

/// time = alpha + factor * payload / beta (Hockney, The communication challenge for MPP, Parallel
/// Computing 20(3), 1994).
struct AlphaBeta {
  Seconds alpha;
  BytesPerSecond beta;
  Seconds time(Bytes payload, double factor) const;
};

/// The line with the least squares of relative errors; through both where there are two. `factor`:
/// what one device sends of the payload, 2(n-1)/n for an all-reduce. Nothing unless two payloads
/// differ, all numbers are positive and finite, and time grows with the payload. An alpha below
/// zero is given as zero, with the best beta for it.
std::optional<AlphaBeta> fitAlphaBeta(std::span<const MeasuredCollective> rows, double factor);

} // namespace accord
