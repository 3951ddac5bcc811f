// What each operation of the dnn dialect computes, written down as plainly as its definition says it: the ground truth
// that gradients, fusions and shardings are held against. Nothing here reads indexing maps, except for `dnn.contract`
// and `dnn.custom`, which are defined by them.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/training/interpret/Array.h"
#include "lib/training/interpret/Devices.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <functional>
#include <type_traits>

namespace accord::interpret {

using Inputs = llvm::ArrayRef<const Array *>; ///< null: an optional operand that is not there
using Outputs = llvm::MutableArrayRef<Array>; ///< of the results' shapes, filled with zeros

/// By operation name. A kernel gets one input per operand of the definition and, if it takes it, the device that it
/// runs on.
class Kernels {
public:
  using Kernel = std::function<void(mlir::Operation *, Inputs, Outputs, const Device &)>;

  template <typename OpTy, typename Compute> void add(Compute compute) {
    table[OpTy::getOperationName()] = [compute](mlir::Operation *op, Inputs in, Outputs out, const Device &device) {
      if constexpr (std::is_invocable_v<Compute, OpTy, Inputs, Outputs, const Device &>)
        compute(llvm::cast<OpTy>(op), in, out, device);
      else
        compute(llvm::cast<OpTy>(op), in, out);
    };
  }
  const Kernel *find(llvm::StringRef name) const {
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  /// All operations that can be interpreted.
  static const Kernels &all();

private:
  llvm::StringMap<Kernel> table;
};

void addAttention(Kernels &kernels);
void addContractions(Kernels &kernels);
void addElementwise(Kernels &kernels);
void addNormalizations(Kernels &kernels);
void addMovement(Kernels &kernels);
void addWindows(Kernels &kernels);
void addLookups(Kernels &kernels);
void addRecurrent(Kernels &kernels);
void addScans(Kernels &kernels);
void addExperts(Kernels &kernels);

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// Standard normal distribution: cumulative, and its density.
inline double cdf(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }
inline double pdf(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }

/// The dimension of an array that a per-sample axis of its type means.
inline int64_t dimensionOf(int64_t axis, mlir::Value value) {
  return dnn::tensorDimension(axis, llvm::cast<mlir::RankedTensorType>(value.getType()));
}
/// Dimensions of an operand before its per-sample ones: 1 if it has a batch.
inline int64_t batchRankOf(mlir::Value value) {
  return dnn::batchRank(llvm::cast<mlir::RankedTensorType>(value.getType()));
}

} // namespace accord::interpret
