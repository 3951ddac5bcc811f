// Kernels by groups of operations; each says nothing (null) of kinds that are not its own.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/microarchitecture/kernels/Composition.h"
#include <functional>

namespace accord::microarchitecture {

using MaybeKernel = std::optional<Result<LoopKernel>>;

/// The operation, where it cannot be mapped (A1308).
Error refused(const Operation &operation, std::string why);
/// Elements of a tensor of the graph, at most 2^62; bytes of one of them.
int64_t elementsOf(const LoopTensor &tensor);
int32_t bytesOf(const LoopTensor &tensor);
/// Tensors that are read, or those that are written, in order.
std::vector<const LoopTensor *> tensorsOf(const Operation &operation, bool written);

/// Whether there are tensors for all of these, of at least so many dimensions each.
bool hasRanks(const Operation &operation, const std::vector<size_t> &ranks);

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

/// Rows of `width` elements of a table at ids.
struct LookUp {
  int64_t rows = 1;             ///< of the table
  int64_t lookups = 1, bag = 1; ///< rows that are looked up, and how many of them make one of the others
  int64_t width = 1;
  int32_t tableBytes = 4, idBytes = 4, otherBytes = 4;
};
/// What is looked up where: a row for each id.
LookUp lookUpOf(const LoopTensor &table, const LoopTensor &ids, const LoopTensor &out);
/// How tensors are reached for each row: "table"; "out" and "other" with a row for each look-up; "ids", "weights" and
/// "dweights" with one element for each.
struct RowUses {
  std::string outer, letters;
  int64_t first = 0, width = 1; ///< look-ups before these
  Composition::Use table(const std::string &name) const { return {name, "rw"}; }
  Composition::Use row(const std::string &name) const { return {name, letters + "w", first * width}; }
  Composition::Use single(const std::string &name) const { return {name, letters, first}; }
};
/// All look-ups in order: the table again and again, and what is left of it. Letter w is the width.
void alongRows(Composition &made, const LookUp &look, const std::function<void(const RowUses &)> &of);
/// A table becomes zero.
void clearTable(Composition &made, const LookUp &look, const std::string &name);

/// Element-wise operations with broadcasts, reductions, softmax, normalizations, pooling, losses, updates.
MaybeKernel rowKernelOf(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine);
/// What moves data: transposes, joins, pieces, look-ups, rotations of positions.
MaybeKernel movementKernelOf(const Operation &operation, const Microarchitecture &machine);
/// Attention in one operation and its gradient.
MaybeKernel attentionKernelOf(const Operation &operation, const Microarchitecture &machine);
/// LSTM and GRU layers and their gradients.
MaybeKernel recurrentKernelOf(const Operation &operation, const Microarchitecture &machine);
/// Products of sparse matrices, and softmax over segments.
MaybeKernel sparseKernelOf(const Operation &operation, const Microarchitecture &machine);
/// Mixtures of experts, and the products of pairs of DLRM.
MaybeKernel expertsKernelOf(const Operation &operation, const Microarchitecture &machine);

} // namespace accord::microarchitecture
