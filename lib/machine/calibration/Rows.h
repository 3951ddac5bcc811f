// Measured step times: one row of a table is one run of one training job on one machine.
#pragma once
#include "lib/support/Result.h"
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord::calibrate {

/// What a row says; a number that the table leaves empty is absent. Columns have these names.
struct Row {
  std::string id;     ///< unique in the table
  std::string family; ///< "llm-dense", "cnn", "bert", …
  std::string model;  ///< as the source names it: "ResNet-50 v1.5"
  std::optional<double> layers, hidden, ffn, heads, kv_heads, vocab, seq_len;
  std::string call; ///< of inference: "llama2(seq = 1, flash = true)", of `file`: "catalog/llama2.dnn"
  std::string file;
  std::string serving;     ///< … and further settings of its block: "phase = decode, context = 132"
  std::string attn_kernel; ///< "unfused", "flash", …
  std::string mlp_kind;    ///< "gelu2", "swiglu3", …
  std::string accelerator; ///< "a100-sxm-80"
  std::optional<double> n_devices, devices_per_node;
  std::optional<double> inter_node_GBps_per_dev; ///< GB/s, one way, of one device
  std::string precision, optimizer;              ///< "fp16", "bf16", "fp32", "tf32", …; "adam", …
  std::optional<double> tp, pp, vpp, dp, cp, ep;
  std::string zero_stage, seq_parallel; ///< "0" … "3", "fsdp"; "yes" or "no"
  std::string recompute;                ///< "none", "selective", "full"
  std::optional<double> global_batch, micro_batch, grad_accum;
  std::string metric, unit;    ///< "step_time", "tokens_per_s"; as published
  std::optional<double> value; ///< as published
  std::optional<double> step_time_s;
  std::optional<double> model_pflop_per_step; ///< 10^15, three times the forward pass
  std::string framework, source, quality;     ///< quality: "A" and "B" are fitted and scored
  std::map<std::string, std::string> text;    ///< every column as written, for --where
  SourceLocation location;                    ///< of the row's first cell
  std::map<std::string, unsigned> columnAt;   ///< where a column's cell starts
};

/// The columns a table may have; `id` and `step_time_s` (or `value`) are required.
std::vector<std::string> columnNames();

/// Rows of a table whose first record names the columns, in any order. Issues, at most 20:
/// A0460 not a table (see Csv.h), empty, or a record with another number of cells;
/// A0461 a column that is unknown, named twice or missing;
/// A0462 a cell that is not a number where one is due, negative, zero where there is a count, not
/// finite, or not whole where only whole numbers have a meaning; an `id` that is empty or used
/// twice.
Result<std::vector<Row>, Errors> readRows(std::string_view text, const std::string &path);

} // namespace accord::calibrate
