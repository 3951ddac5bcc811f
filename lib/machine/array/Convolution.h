// A contraction as a batch of convolutions: what a row-stationary array needs to know beyond
// `Gemm`.
#pragma once
#include "lib/machine/array/Gemm.h"

namespace accord {

/// For each group, image and filter a plane of outRows x outCols results, each the sum over
/// `channels` planes and a window of filterRows x filterCols; windows start `stride` apart,
/// elements of a window lie `dilation` apart. Each extent is at least 1 and at most 2^63 - 1, as in
/// `Gemm`. The product of all extents is the number of multiply-accumulates.
struct Convolution {
  int64_t groups = 1, images = 1, filters = 1, channels = 1;
  int64_t filterRows = 1, filterCols = 1, outRows = 1, outCols = 1;
  int64_t rowStride = 1, colStride = 1, rowDilation = 1, colDilation = 1;
};

/// A matrix product slides a window of one element along its m rows: filters n, channels k, outCols
/// m.
Convolution convolutionOf(const Gemm &gemm);

/// The convolution in a loop nest over two tensors: a position of the input that two loops index
/// together (oh * stride + kh) is one dimension of the window; the loop that the result has is its
/// `out`, the loop that is summed over its `filter` (in the gradient of the weight the two change
/// places). Where the result is indexed so (gradient of the input), the loop of the first operand
/// is `out`, and partial results move along the diagonals instead of the operand: as many cycles.
/// Of more than two window dimensions the last two are rows and columns, one alone is columns;
/// without any it is the matrix product. Nothing where `gemmOf` has nothing.
std::optional<Convolution> convolutionOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors);

} // namespace accord
