// The operations of training graphs that are no contraction, by the names that the graph has for them.
#pragma once
#include "lib/microarchitecture/mapping/RowOperation.h"

namespace accord::microarchitecture {

/// Tensors of element-wise operations are named as in the formulas: "x", "a", "b", "dy", "y", …
struct PointFormula {
  std::string kind;
  std::vector<std::string> operands;
  std::vector<std::pair<std::string, std::string>>
      results; ///< name and formula, in order; a result may use earlier ones
};
/// Element-wise operations, their gradients, losses' gradients and optimizer updates; null: none of them.
/// Numbers that the operation has as attributes (rates, slopes, bias corrections) are of usual sizes: times do not
/// depend on them.
const PointFormula *pointFormula(const std::string &kind);
std::vector<std::string> pointKinds();

/// `extents`: of the loops, all of them moving all tensors.
RowOperation pointOperation(const PointFormula &formula, const std::vector<int64_t> &extents);

/// softmax, softmax_grad; layer_norm, rms_norm and their gradients, with scale and offset along the row; cross_entropy
/// and its gradient, with a tensor of positions that labels are compared with; update_rowwise_adagrad, with one state a
/// row (Naumov et al., Deep Learning Recommendation Model, 2019). Rows of `length` elements.
std::optional<RowOperation> lineOperation(const std::string &kind, int64_t rows, int64_t length);

/// batch_norm, group_norm and their gradients on images x groups x channels (of a group) x points; batch_norm has
/// statistics of each channel (groups = 1 there), group_norm of each image and group.
std::optional<RowOperation> channelNorm(const std::string &kind, int64_t images, int64_t groups, int64_t channels,
                                        int64_t points);

/// reduce_sum, reduce_mean, global_avg_pool, reduce_dimensions: to one of each `rows`. mean, mse, smooth_l1,
/// binary_cross_entropy: with rows = 1.
std::optional<RowOperation> reduction(const std::string &kind, int64_t rows, int64_t length);

/// max_pool, avg_pool and their gradients. The gradient of max_pool goes to every element that equals the maximum.
struct PoolShape {
  int64_t images = 1, channels = 1, outRows = 1, outColumns = 1, windowRows = 1, windowColumns = 1;
  int64_t rowStride = 1, columnStride = 1;
  int64_t rows = 1, columns = 1; ///< of the input with its padding
};
std::optional<RowOperation> pool(const std::string &kind, const PoolShape &shape);

} // namespace accord::microarchitecture
