// Kernels by groups of operations; each says nothing (null) of kinds that are not its own.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/microarchitecture/kernels/Composition.h"

namespace accord::microarchitecture {

using MaybeKernel = std::optional<Result<LoopKernel>>;

/// The operation, where it cannot be mapped (A1308).
Error refused(const Operation &operation, std::string why);
/// Elements of a tensor of the graph, at most 2^62; bytes of one of them.
int64_t elementsOf(const LoopTensor &tensor);
int32_t bytesOf(const LoopTensor &tensor);
/// Tensors that are read, or those that are written, in order.
std::vector<const LoopTensor *> tensorsOf(const Operation &operation, bool written);

/// Loops of a domain that go along memory as one are one; parallel ones stand first, in order.
struct Collapsed {
  std::vector<ContractionLoop> loops;
  int64_t outer = 0;                         ///< parallel ones
  std::vector<std::vector<int64_t>> strides; ///< [tensor][loop], tensors being stored in the order of their dimensions
};
Collapsed collapse(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors);
/// A tensor with these strides by loop.
ContractionTensor laidOut(const std::string &name, const std::vector<int64_t> &strides,
                          const std::vector<ContractionLoop> &loops, int32_t bytes);

/// Element-wise operations with broadcasts, reductions, softmax, normalizations, pooling, losses, updates.
MaybeKernel rowKernelOf(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine);
/// What moves data: transposes, joins, pieces, look-ups, rotations of positions.
MaybeKernel movementKernelOf(const Operation &operation, const Microarchitecture &machine);
/// Attention in one operation and its gradient.
MaybeKernel attentionKernelOf(const Operation &operation, const Microarchitecture &machine);
/// LSTM and GRU layers and their gradients.
MaybeKernel recurrentKernelOf(const Operation &operation, const Microarchitecture &machine);
/// Mixtures of experts, and the products of pairs of DLRM.
MaybeKernel expertsKernelOf(const Operation &operation, const Microarchitecture &machine);

} // namespace accord::microarchitecture
