#include "lib/machine/array/LoopRoles.h"
#include "lib/machine/array/Gemm.h"
#include "lib/machine/array/SaturatingArithmetic.h"
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
      span += (extentOf(domain[term.loop]) - 1) * std::abs(double(term.stride));
    elements *= span;
  }
  return elements;
}

/// Which loops index which tensors.
struct Incidence {
  Indexed result;               ///< of all tensors that are written
  std::vector<Indexed> of;      ///< by tensor that is read
  std::vector<size_t> operands; ///< the tensors that are read
};

/// Nothing where a term names a loop that is not there, nothing is written, or fewer than two tensors are read.
std::optional<Incidence> incidenceOf(size_t loops, const std::vector<LoopTensor> &tensors) {
  Incidence found{Indexed(loops), std::vector<Indexed>(tensors.size(), Indexed(loops)), {}};
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!mark(tensors[t], tensors[t].written ? found.result : found.of[t]))
      return std::nullopt;
    if (!tensors[t].written)
      found.operands.push_back(t);
  }
  if (found.operands.size() == tensors.size() || found.operands.size() < 2)
    return std::nullopt;
  return found;
}

bool reduces(const Loop &loop) { return loop.kind == IteratorKind::Reduction; }

/// The two tensors that are multiplied: those that together span most points, of which most are summed.
void chooseFactors(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors, const Incidence &indexed,
                   LoopRoles &found) {
  std::tuple<double, double, double> best{-1, -1, -1};
  for (size_t i = 0; i < indexed.operands.size(); ++i)
    for (size_t j = i + 1; j < indexed.operands.size(); ++j) {
      size_t a = indexed.operands[i], b = indexed.operands[j];
      const Indexed &ofA = indexed.of[a], &ofB = indexed.of[b];
      double points = 1, summed = 1;
      for (size_t l = 0; l < domain.size(); ++l) {
        if (ofA[l] || ofB[l])
          points *= extentOf(domain[l]);
        if (ofA[l] && ofB[l] && (!indexed.result[l] || reduces(domain[l])))
          summed *= extentOf(domain[l]);
      }
      std::tuple rank{points, summed, elementsOf(tensors[a], domain) + elementsOf(tensors[b], domain)};
      if (rank > best) {
        best = rank;
        found.lhs = a;
        found.rhs = b;
      }
    }
}

/// `sums`: a loop that reduces is in both factors and in the result.
LoopRole roleOf(const Loop &loop, bool lhs, bool rhs, bool result, bool sums) {
  if (lhs && rhs)
    return result && !reduces(loop) ? LoopRole::Batch : LoopRole::Depth;
  if (lhs || rhs)
    return !result && !sums ? LoopRole::Depth : lhs ? LoopRole::Rows : LoopRole::Columns;
  if (result)
    return LoopRole::Rows;
  return reduces(loop) ? LoopRole::Depth : LoopRole::Batch;
}

} // namespace

std::optional<LoopRoles> loopRoles(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  std::optional<Incidence> indexed = incidenceOf(domain.size(), tensors);
  if (!indexed)
    return std::nullopt;
  LoopRoles found;
  chooseFactors(domain, tensors, *indexed, found);
  const Indexed &lhs = indexed->of[found.lhs], &rhs = indexed->of[found.rhs], &result = indexed->result;
  bool sums = false;
  for (size_t l = 0; l < domain.size(); ++l)
    sums |= lhs[l] && rhs[l] && result[l] && reduces(domain[l]) && domain[l].extent > 1;
  for (size_t l = 0; l < domain.size(); ++l)
    found.roles.push_back(roleOf(domain[l], lhs[l], rhs[l], result[l], sums));
  return found;
}

int64_t &extentOf(Gemm &gemm, LoopRole role) {
  return role == LoopRole::Batch     ? gemm.batch
         : role == LoopRole::Rows    ? gemm.m
         : role == LoopRole::Columns ? gemm.n
                                     : gemm.k;
}

std::optional<Gemm> gemmOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  auto roles = loopRoles(domain, tensors);
  if (!roles)
    return std::nullopt;
  Gemm gemm;
  for (size_t l = 0; l < domain.size(); ++l) {
    int64_t &extent = extentOf(gemm, roles->roles[l]);
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
