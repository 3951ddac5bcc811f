#include "lib/machine/array/Gemm.h"
#include "lib/machine/array/LoopRoles.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include <algorithm>

namespace accord {

std::optional<Gemm> gemmOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  auto roles = loopRoles(domain, tensors);
  if (!roles)
    return std::nullopt;
  Gemm gemm;
  for (size_t l = 0; l < domain.size(); ++l) {
    LoopRole role = roles->roles[l];
    int64_t &extent = role == LoopRole::Batch     ? gemm.batch
                      : role == LoopRole::Rows    ? gemm.m
                      : role == LoopRole::Columns ? gemm.n
                                                  : gemm.k;
    extent = saturatingMultiply64(extent, std::max<int64_t>(domain[l].extent, 1));
  }
  return gemm;
}

Gemm gemmOf(const std::vector<Loop> &domain) {
  Gemm gemm;
  for (const Loop &loop : domain) {
    int64_t extent = std::max<int64_t>(loop.extent, 1);
    if (loop.kind == IteratorKind::Reduction) {
      gemm.k = saturatingMultiply64(gemm.k, extent);
    } else {
      gemm.m = saturatingMultiply64(gemm.m, gemm.n);
      gemm.n = extent;
    }
  }
  return gemm;
}

} // namespace accord
