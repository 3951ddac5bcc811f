// From a row to the training job it describes: a model of the catalogue with the row's dimensions.
#pragma once
#include "lib/machine/calibration/Rows.h"
#include <cstdint>

namespace accord::calibrate {

/// A `.dnn` text with one `train` named `row`, and what is done to its graph.
struct Workload {
  std::string text;
  std::string recompute = "none";       ///< policy of the pass `recompute`
  int64_t tensor = 1;                   ///< devices of the tensor axis
  bool sequence = false;                ///< sequence parallel
  int64_t context = 1;                  ///< devices that divide each sample along its sequence
  std::string exchange;                 ///< of keys and values: "ring", "all_gather" or "all_to_all"
  int64_t data = 1;                     ///< replicas that divide embedding tables
  std::string tables;                   ///< how: "rows" or "columns"
  bool fused = false;                   ///< a compiler joins element-wise work with products
  double wordsPerSample = 0;            ///< where rates count words and not samples; else 0
  bool batchInWords = false;            ///< the row's batches count words
  std::vector<std::string> assumptions; ///< what the row leaves open and was assumed
};

/// Which network of the catalogue a row means. Error A0465: no such network (by `family` and
/// `model`), or dimensions are missing or do not fit (heads do not divide hidden, devices do not
/// divide heads).
Result<Workload> workloadOf(const Row &row);

/// Whether the row is a timing of one all-reduce: `metric` allreduce_time, `model` "16777216".
bool isCollective(const Row &row);

} // namespace accord::calibrate
