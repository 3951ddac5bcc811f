// A contraction as a batch of matrix products.
#pragma once
#include "lib/machine/array/LoopRoles.h"

namespace accord {

/// `batch` products of (m x k) by (k x n). Each extent is at least 1; one that would pass 2^63 - 1
/// stays there.
struct Gemm {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  friend bool operator==(const Gemm &, const Gemm &) = default;
};

/// The extent of a product that loops of this role multiply.
int64_t &extentOf(Gemm &gemm, LoopRole role);

/// The product that a loop nest over two tensors computes; batch * m * n * k is the number of
/// points of the domain. The roles of loops are those of `loopRoles`. A convolution comes out as
/// its im2col product: forward m = images * output pixels, n = filters, k = channels * window;
/// gradient of the input m = images * output pixels, n = channels * window, k = filters; gradient
/// of the weight m = channels * window, n = filters, k = images * output pixels (Chellapilla et
/// al., High Performance Convolutional Neural Networks for Document Processing, 2006). Groups, and
/// the channels of a depthwise convolution, are the batch. Nothing where `loopRoles` has nothing.
std::optional<Gemm> gemmOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors);

/// Without tensors: reductions are k, the last parallel loop n, the others m.
Gemm gemmOf(const std::vector<Loop> &domain);

} // namespace accord
