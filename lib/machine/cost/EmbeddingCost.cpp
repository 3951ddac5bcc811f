#include "lib/machine/cost/EmbeddingCost.h"
#include "dialects/dnn/WorkHelpers.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

std::optional<Error> wrong(const EmbeddingShape &shape, const RowMemory &memory, double stateRows) {
  auto good = [](double number) { return std::isfinite(number) && number >= 0; };
  double lookups = static_cast<double>(shape.samples) * shape.pooling * 2;
  std::string what;
  if (shape.samples < 1 || shape.tables < 1 || shape.pooling < 1 || shape.tableRows < 1)
    what = "samples, tables, pooling and rows of a table are at least 1";
  else if (lookups > 0x1p62)
    what = "the lookups of two batches pass 2^62";
  else if (!good(shape.row.value) || !good(shape.index.value) || shape.row.value == 0)
    what = "a row and an index have a size";
  else if (shape.skew && !good(*shape.skew))
    what = "a skew is not negative";
  else if (!good(memory.bandwidth.value) || memory.bandwidth.value == 0)
    what = "a memory has a bandwidth";
  else if (!good(memory.sector.value) || !good(memory.latency.value) || !good(memory.inFlight) || memory.inFlight < 1)
    what = "sector and latency are not negative, and one row at least is in flight";
  else if (!good(stateRows))
    what = "there are no fewer than 0 optimizer states";
  if (what.empty())
    return std::nullopt;
  return Error{Code::OutOfRange, what, {}, {}};
}

double lookupsOfOne(const EmbeddingShape &shape) { return static_cast<double>(shape.samples) * shape.pooling; }

/// Of one table, among `times` as many lookups.
double distinctOfOne(const EmbeddingShape &shape, int64_t times) {
  return dnn::distinctRows(shape.samples * shape.pooling * times, shape.tableRows, shape.skew.value_or(0));
}

EmbeddingCost started(const EmbeddingShape &shape, const RowMemory &memory) {
  double tables = shape.tables;
  EmbeddingCost cost;
  cost.lookups = lookupsOfOne(shape) * tables;
  cost.distinct = distinctOfOne(shape, 1) * tables;
  cost.efficiency = shape.row / bytesMovedPerRow(shape.row, memory.sector);
  return cost;
}

void finish(EmbeddingCost &cost, const RowMemory &memory, double rows) {
  Seconds streaming = (cost.read + cost.written) / memory.bandwidth,
          waiting = memory.latency * (rows / memory.inFlight);
  cost.latencyBound = waiting > streaming;
  cost.time = cost.latencyBound ? waiting : streaming;
}

} // namespace

Bytes bytesMovedPerRow(Bytes row, Bytes sector) { return sector.value > 0 ? sector * std::ceil(row / sector) : row; }

Result<EmbeddingCost> embeddingForward(const EmbeddingShape &shape, const RowMemory &memory) {
  if (auto error = wrong(shape, memory, 0))
    return *error;
  EmbeddingCost cost = started(shape, memory);
  double rows = shape.skew ? cost.distinct : cost.lookups, results = static_cast<double>(shape.samples) * shape.tables;
  cost.read = shape.index * cost.lookups + bytesMovedPerRow(shape.row, memory.sector) * rows;
  cost.written = shape.row * results;
  finish(cost, memory, rows);
  return cost;
}

Result<EmbeddingCost> embeddingBackward(const EmbeddingShape &shape, const RowMemory &memory, double stateRows) {
  if (auto error = wrong(shape, memory, stateRows))
    return *error;
  EmbeddingCost cost = started(shape, memory);
  double results = static_cast<double>(shape.samples) * shape.tables, rows = cost.distinct * (1 + stateRows);
  Bytes touched = bytesMovedPerRow(shape.row, memory.sector) * rows;
  cost.read = shape.row * results + shape.index * cost.lookups + touched;
  cost.written = touched;
  finish(cost, memory, rows);
  return cost;
}

double sharedRows(const EmbeddingShape &shape) {
  double one = distinctOfOne(shape, 1), two = distinctOfOne(shape, 2);
  return std::max(0.0, 2 * one - two) * shape.tables;
}

} // namespace accord
