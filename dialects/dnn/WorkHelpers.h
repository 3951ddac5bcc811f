// Iteration domains of the operations that are not contractions.
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "dialects/interfaces/WorkOpInterface.h"

namespace accord::dnn {

/// A map to a tensor of `rank` dimensions with every position left open.
mlir::AffineMap openMap(unsigned rank, unsigned dims, mlir::MLIRContext *context);
/// Domain and maps as an operation states them; the result's map is the last.
Work statedWork(llvm::ArrayRef<int64_t> domain, mlir::ArrayAttr maps);
/// (copy, element) of a parameter, or (sample, lookup, column) of a table with a sparse gradient.
Work stepWork(mlir::RankedTensorType type, int64_t copies, RowsAttr rows);

/// Domain: `over` (the first result if null). A tensor's map is, in this order: the identity; right-aligned broadcast;
/// the leading dimensions; else constant 0 (position left open). All iterators parallel.
Work pointwiseWork(mlir::Operation *op, mlir::RankedTensorType over = {});

/// Domain `over`; `dimensions` (of the tensor, batch included) are reductions unless `reduces` is false. Tensors that
/// lack exactly these dimensions are projections.
Work reduceWork(mlir::Operation *op, mlir::RankedTensorType over, llvm::ArrayRef<int64_t> dimensions,
                bool reduces = true);

/// As reduceWork over the one per-sample `axis`.
Work alongWork(mlir::Operation *op, mlir::RankedTensorType over, int64_t axis);

/// A permutation of the per-sample dimensions.
Work transposeWork(mlir::Operation *op, llvm::ArrayRef<int64_t> permutation);

/// Domain `whole`. The slices' map is the number of the slice (`dimension` of the whole), then the position in it.
Work stackWork(mlir::Operation *op, mlir::RankedTensorType whole, int64_t dimension);

/// Normalizations and their gradients; operand `x` is the normalized tensor. Scale and offset lie along the last
/// dimension (layer_norm, rms_norm) or the channel.
Work normWork(mlir::Operation *op, unsigned x);

/// Stride, padding and dilation of a convolution, as it states them.
struct WindowAttributes {
  mlir::Attribute stride, padding, dilation;
};
/// A convolution, a depthwise or a transposed one with operands x, weight and perhaps a bias: the domain (n, [g,] k, c,
/// p, .., r, ..) with a p and an r for each spatial dimension, where the wide tensor (x; transposed: y) is walked at
/// p*stride + r*dilation - padding and the narrow one at (p, ..). `g` is there when groups > 1. Depthwise: g are the
/// channels, k and c are 1 and left out.
Work convolutionWork(mlir::Operation *op, int64_t groups, const WindowAttributes &window);

/// Pooling windows: (n, c, p, .., r, ..). A global pool reduces all that is behind the channel.
Work globalPoolWork(mlir::Operation *op, mlir::RankedTensorType in);
Work windowWork(mlir::Operation *op, mlir::RankedTensorType in, mlir::RankedTensorType out, mlir::Attribute kernel,
                mlir::Attribute stride, mlir::Attribute padding);

/// FLOPs of one element of a linear resampling of x[n, c, ..]: a product and a sum for each of two neighbours along
/// each spatial dimension.
int64_t neighbourFlops(mlir::RankedTensorType x);

/// Element by element over x; vectors lie along its channel.
Work channelWork(mlir::Operation *op, mlir::RankedTensorType x);
/// Element by element over the first result, which reads neighbouring channels.
Work neighbourWork(mlir::Operation *op);

/// The same work with the positions of these maps left open (data dependent).
Work dataDependentWork(Work work, llvm::ArrayRef<unsigned> opened);

/// (n, pair, d); (.., bag, dim); (non-zero, column); (n, seq, directions*gates*hidden, in+hidden); loss.
Work interactionWork(mlir::Operation *op, mlir::RankedTensorType pairs, mlir::RankedTensorType x);
Work bagWork(mlir::Operation *op, mlir::RankedTensorType ids, mlir::RankedTensorType y);
Work spmmWork(mlir::Operation *op, mlir::RankedTensorType columns, mlir::RankedTensorType dense);
Work recurrentWork(mlir::Operation *op, mlir::RankedTensorType x, mlir::RankedTensorType wIh,
                   mlir::RankedTensorType wHh);
Work lossWork(mlir::Operation *op);

/// Domain: the samples alone. Nobody knows what happens inside one; what has no batch is read or summed over all.
Work sampleWork(mlir::Operation *op);

/// What one kind of core does of an operation that keeps two kinds busy.
struct AttentionPart {
  llvm::StringRef name;
  WorkCore core;
  bool contraction; ///< of model FLOPs: not what is computed again
  int64_t flopsPerPoint;
  llvm::SmallVector<int64_t> domain;
};
/// (n, query, key head, group, key, d), which reduces the last two; values of another width than d have a loop behind
/// it. The domain has all keys, whatever a window leaves out.
Work attentionWork(mlir::Operation *op, mlir::RankedTensorType q, mlir::RankedTensorType k, mlir::RankedTensorType v);

/// Of a selective scan and its gradient: (n, step, channel, state). `dimensions` of each operand and result: 1 the
/// step, 2 the channel, 3 the state; what lies along the steps has the batch, too.
Work scanWork(mlir::Operation *op, llvm::ArrayRef<llvm::SmallVector<unsigned, 2>> dimensions);

/// Of experts and their gradients: (.., token, expert, d) of the gate; (.., expert, slot, weights*inner, d), where one
/// product sums over d and another gives it; (.., expert, slot, d). Which token sits in a slot depends on data.
Work dispatchWork(mlir::Operation *op, mlir::RankedTensorType x, mlir::RankedTensorType gate);
Work expertsWork(mlir::Operation *op, mlir::RankedTensorType slots, mlir::RankedTensorType w1, bool gated);
Work combineWork(mlir::Operation *op, mlir::RankedTensorType y);

/// Iterator kinds of a contraction: a dimension is parallel when its points reach different elements of the result,
/// that is when it stands in one expression of `result` only and the terms of that expression do not overlap (mixed
/// radix).
llvm::SmallVector<mlir::utils::IteratorType> kindsOf(mlir::AffineMap result, llvm::ArrayRef<int64_t> domain);

/// Least and largest value, over the domain, of a sum of multiples of its positions; nullopt for anything else, for the
/// batch, or when it could pass 2^62.
std::optional<std::pair<int64_t, int64_t>> rangeOf(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> domain);

/// Rows touched by a lookup: elements of `ids` times bytes of one row of `table`; nullopt on overflow.
/// `skew`: only different rows, as many as are expected when ids follow Zipf's law with that exponent (see
/// distinctRows); null: every lookup.
std::optional<int64_t> touchedBytes(mlir::RankedTensorType ids, mlir::RankedTensorType table, int64_t batch,
                                    mlir::FloatAttr skew = {});

/// Expected number of different ids among `lookups` independent ones, the id of rank r = 1..rows being drawn with
/// probability r^-skew / sum of all: the sum over r of 1 - (1 - p_r)^lookups. Ranks above 4096 are taken together in
/// steps of 1 %: off by less than 0.1 %.
double distinctRows(int64_t lookups, int64_t rows, double skew);

} // namespace accord::dnn
