// What looking up rows of an embedding table costs, from the shapes alone.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include <cstdint>
#include <optional>

namespace accord {

/// All tables of one kind together; `pooling` rows are summed into each result.
struct EmbeddingShape {
  int64_t samples = 1;   ///< B
  int64_t tables = 1;    ///< T, each with a result per sample
  int64_t pooling = 1;   ///< P, lookups per result
  int64_t tableRows = 1; ///< of each table
  Bytes row;             ///< D * w
  Bytes index{4};
  /// Exponent of Zipf's law of the ids; without it every lookup reads a row of its own.
  std::optional<double> skew;
};

/// How the memory reaches rows.
struct RowMemory {
  BytesPerSecond bandwidth;
  Bytes sector;        ///< smallest piece, 0: any
  Seconds latency;     ///< of one row
  double inFlight = 1; ///< rows asked for at a time, at least 1
};

struct EmbeddingCost {
  double lookups = 0;    ///< B T P
  double distinct = 0;   ///< different rows among them, over all tables
  double efficiency = 1; ///< useful bytes of a row over bytes moved for it
  Bytes read, written;
  Seconds time;
  bool latencyBound = false;
};

/// Bytes moved for a row: ceil(row / sector) * sector; rows start at a sector.
Bytes bytesMovedPerRow(Bytes row, Bytes sector);

/// Reads index and row of each lookup (with a skew, each different row once: the others hit a
/// cache), writes a row per result. time = max(bytes / bandwidth, rows * latency / rows in flight)
/// (Little, A proof for the queuing formula L = lambda W, 1961). Error A0302 for a size below one,
/// a negative or infinite number.
Result<EmbeddingCost> embeddingForward(const EmbeddingShape &, const RowMemory &);

/// Reads the gradient of each result and the indices, then reads and writes each different row and
/// its optimizer states of `stateRows` rows each.
Result<EmbeddingCost> embeddingBackward(const EmbeddingShape &, const RowMemory &, double stateRows = 0);

/// Different rows that two successive batches share: 2 U(n) - U(2 n) for U(n) different rows among
/// n lookups. What `RowsAhead::shared` asks for, of all tables.
double sharedRows(const EmbeddingShape &shape);

} // namespace accord
