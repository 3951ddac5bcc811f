#include "lib/machine/array/Convolution.h"
#include "lib/machine/array/LoopRoles.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include <algorithm>
#include <limits>

namespace accord {
namespace {

/// A position that two loops index together.
struct Window {
  LoopTensor::Term out, filter;
};

int64_t strideOf(const LoopTensor::Term &term) {
  return term.stride == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
         : term.stride < 0                                  ? -term.stride
                                                            : term.stride;
}

} // namespace

Convolution convolutionOf(const Gemm &gemm) {
  Convolution conv;
  conv.groups = gemm.batch, conv.filters = gemm.n, conv.channels = gemm.k, conv.outCols = gemm.m;
  return conv;
}

std::optional<Convolution> convolutionOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  auto found = loopRoles(domain, tensors);
  if (!found)
    return std::nullopt;
  const std::vector<LoopRole> &roles = found->roles;
  std::vector<Window> windows;
  // The operand that slides has its own extent of the product as `images`, the other one's are the
  // filters.
  LoopRole slides = LoopRole::Rows;
  for (size_t t = 0; t < tensors.size() && windows.empty(); ++t) {
    const LoopTensor &tensor = tensors[t];
    if (!tensor.written && t != found->lhs && t != found->rhs)
      continue;
    LoopRole own = t == found->rhs ? LoopRole::Columns : LoopRole::Rows,
             other = tensor.written ? LoopRole::Columns : LoopRole::Depth;
    for (const auto &position : tensor.dimensions) {
      if (position.size() != 2 || position[0].loop == position[1].loop)
        continue;
      for (auto [a, b] : {std::pair<size_t, size_t>(0, 1), {1, 0}})
        if (roles[position[a].loop] == own && roles[position[b].loop] == other)
          windows.push_back({position[a], position[b]});
    }
    if (!windows.empty())
      slides = own;
  }
  if (windows.empty())
    return convolutionOf(*gemmOf(domain, tensors));

  Convolution conv;
  std::vector<int64_t *> into(domain.size());
  for (size_t l = 0; l < domain.size(); ++l)
    into[l] = roles[l] == LoopRole::Batch   ? &conv.groups
              : roles[l] == LoopRole::Depth ? &conv.channels
              : roles[l] == slides          ? &conv.images
                                            : &conv.filters;
  const Window &cols = windows.back();
  into[cols.out.loop] = &conv.outCols, into[cols.filter.loop] = &conv.filterCols;
  conv.colStride = strideOf(cols.out), conv.colDilation = strideOf(cols.filter);
  if (windows.size() > 1) {
    const Window &rows = windows[windows.size() - 2];
    into[rows.out.loop] = &conv.outRows, into[rows.filter.loop] = &conv.filterRows;
    conv.rowStride = strideOf(rows.out), conv.rowDilation = strideOf(rows.filter);
  }
  for (size_t l = 0; l < domain.size(); ++l)
    *into[l] = saturatingMultiply64(*into[l], std::max<int64_t>(domain[l].extent, 1));
  return conv;
}

} // namespace accord
