// Measured times of single operations: one row of a table is one operation on one device.
#pragma once
#include "lib/machine/operations/Device.h"
#include <array>

namespace accord::operations {

enum class Kind : uint8_t { Gemm, BatchedGemm, Softmax, LayerNorm, ElementWise };
/// "linear", "bmm", "softmax", "layer_norm", "element-wise".
const char *nameOf(Kind kind);

struct Operation {
  std::string name; ///< as the table has it: "gelu"
  Kind kind = Kind::ElementWise;
  /// Of a product: m x k times k x n, `batch` times. `batch` is also the number of rows of other operations.
  double batch = 1, m = 0, n = 0, k = 0;
  double width = 0;    ///< elements of a row, of operations that are no product
  double operands = 1; ///< tensors that an element-wise operation reads
};

struct Row {
  Operation operation;
  std::string device;
  double seconds = 0;
  unsigned tile = 0; ///< bit of `kTiles` (Time.h) that the kernel's name states; 0 if it states none of them
  SourceLocation location;
};

/// What one operation computes and moves at least: FLOP, and bytes of fp32 with each operand read and written once.
double flopsOf(const Operation &operation);
double bytesOf(const Operation &operation);

/// Rows with the columns operation, batch, m, n, k, width, type, device, latency_ms, kernel (of which only
/// the tile is read: "volta_sgemm_128x64_tn"), bytes and watts (which are not read). The columns name the sizes of a
/// product as NeuSight's tables do: m x n times n x k, so that the column n is `Operation::k`. Rows of `attention` and
/// `all_reduce` are left out: no term of the model describes them. Errors, at most 20, each with line and column: A0460
/// no table; A0461 a column that is unknown, twice there or missing; A0462 an operation, a type or a device that is not
/// known (with a suggestion), a size that the operation needs or does not have, a number that is none; A0463 faster
/// than the device's peak or bandwidth allow, if nothing of it fits the L2.
Result<std::vector<Row>, Errors> readRows(std::string_view text, const std::string &path, const Devices &devices);

} // namespace accord::operations
