#include "lib/machine/array/LoopRoles.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accord {
namespace {

using Indexed = std::vector<bool>; ///< by loop: whether it is in the tensor

double extentOf(const Loop &loop) { return std::max<int64_t>(loop.extent, 1); }

/// False if a term names a loop that is not there.
bool mark(const LoopTensor &tensor, Indexed &loops) {
  for (const auto &position : tensor.dimensions)
    for (const LoopTensor::Term &term : position) {
      if (term.loop >= loops.size())
        return false;
      if (term.stride != 0)
        loops[term.loop] = true;
    }
  return true;
}

/// Elements between the first and the last that are touched, dimension by dimension.
double elementsOf(const LoopTensor &tensor, const std::vector<Loop> &domain) {
  double elements = 1;
  for (const auto &position : tensor.dimensions) {
    double span = 1;
    for (const LoopTensor::Term &term : position)
      span += (extentOf(domain[term.loop]) - 1) * std::abs(static_cast<double>(term.stride));
    elements *= span;
  }
  return elements;
}

} // namespace

std::optional<LoopRoles> loopRoles(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  size_t loops = domain.size();
  Indexed result(loops);
  std::vector<Indexed> of(tensors.size(), Indexed(loops));
  std::vector<size_t> operands;
  bool written = false;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!mark(tensors[t], tensors[t].written ? result : of[t]))
      return std::nullopt;
    if (tensors[t].written)
      written = true;
    else
      operands.push_back(t);
  }
  if (!written || operands.size() < 2)
    return std::nullopt;

  auto reduces = [&](size_t l) { return domain[l].kind == IteratorKind::Reduction; };
  LoopRoles found;
  std::tuple<double, double, double> best{-1, -1, -1};
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t j = i + 1; j < operands.size(); ++j) {
      size_t a = operands[i], b = operands[j];
      double points = 1, summed = 1;
      for (size_t l = 0; l < loops; ++l) {
        if (of[a][l] || of[b][l])
          points *= extentOf(domain[l]);
        if (of[a][l] && of[b][l] && (!result[l] || reduces(l)))
          summed *= extentOf(domain[l]);
      }
      std::tuple rank{points, summed, elementsOf(tensors[a], domain) + elementsOf(tensors[b], domain)};
      if (rank > best) {
        best = rank;
        found.lhs = a;
        found.rhs = b;
      }
    }

  const Indexed &lhs = of[found.lhs], &rhs = of[found.rhs];
  bool twice = false;
  for (size_t l = 0; l < loops; ++l)
    twice |= lhs[l] && rhs[l] && result[l] && reduces(l) && domain[l].extent > 1;
  for (size_t l = 0; l < loops; ++l) {
    LoopRole role = LoopRole::Depth;
    if (lhs[l] && rhs[l])
      role = result[l] && !reduces(l) ? LoopRole::Batch : LoopRole::Depth;
    else if (lhs[l])
      role = result[l] || twice ? LoopRole::Rows : LoopRole::Depth;
    else if (rhs[l])
      role = result[l] || twice ? LoopRole::Columns : LoopRole::Depth;
    else if (result[l])
      role = LoopRole::Rows;
    else
      role = reduces(l) ? LoopRole::Depth : LoopRole::Batch;
    found.roles.push_back(role);
  }
  return found;
}

} // namespace accord
