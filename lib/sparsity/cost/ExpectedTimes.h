// What kernels are expected to make of 2:4 zeros, beside what the core could: measured on the device, or published.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/sparsity/problem/PruneStep.h"

namespace accord {

/// Whether kernels of libraries compute this core's zeros: half of the elements are kept, at a rate that the data sheet
/// states. A core that is described by what it skips and by the words that it is fed with is not slower than that.
bool runsSparseKernels(const SparseCore &core);

/// Sets `expected`, `min` and `max` of a product from its shape, type and seconds: dense / speed-up, never below
/// `ideal`. The speed-up is `sparseSpeedup` of the table of the type. Without one it is published: 1.56 (5 to 95
/// %: 1.18 to 1.79) where rows, depth and columns are 1,024 or more, from 64 on 1.32 (0.78 to 1.69), below 1 (0.11
/// to 1.69). The first two are quantiles of 533 and 352 products in bf16 and fp16 on A100 80 GB PCIe, H100 PCIe and
/// B200, the fastest of cuSPARSELt's algorithms over the fastest of cuBLASLt (results of arXiv:2603.05232, CUDA 12.9,
/// January 2026). Of fewer than 64 rows only this is known: one row times 4096 x 4096 took nine times as long as dense
/// on an A100 (pytorch/pytorch issue 111339).
void expectKernels(SparseProductTime &product, const std::vector<SparseKernelTable> &kernels);

/// Sets `seconds`, `min` and `max`: matrices / period times `maskSeconds` of the table of the type. Without one, times
/// what copying the elements takes (read and written at the memory's bandwidth), times 1.9 (1.7 to 2.4): the
/// transposable search of PyTorch took 1.72 to 2.34 times a copy on an A100 (pytorch/ao pull request 184,
/// facebookresearch/xformers issue 975; five sizes from 16 to 90 MB). Measured masks have no interval.
void expectMaskSearch(MaskSearchTime &masks, const std::vector<SparseKernelTable> &kernels);

} // namespace accord
