#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;
using Use = Composition::Use;

constexpr int64_t kSegment = 16; ///< entries of a segment, which the graph does not say

/// Products of a sparse matrix in rows with a dense one. Letters: q the dense rows again and again, p rows that reach
/// them once, e entries of a row, w the width.
class SparseProduct {
public:
  SparseProduct(const Operation &operation, const Microarchitecture &machine) : made(operation.name, machine) {}

  Result<LoopKernel> run(llvm::StringRef kind, const LoopTensor &rowsOf, const LoopTensor &offsets,
                         const LoopTensor &columns, const LoopTensor &dense) {
    made.assume("every row of a sparse matrix has as many entries, whose columns are in order, and none waits for its "
                "column");
    width = std::max<int64_t>(rowsOf.sizes.back(), 1), rows = elementsOf(rowsOf) / width;
    entries = elementsOf(columns), height = std::max<int64_t>(elementsOf(dense) / width, 1);
    bytes = bytesOf(dense), idBytes = bytesOf(columns);
    made.extent('w', width), made.extent('o', elementsOf(offsets));
    made.tensor("offsets", {elementsOf(offsets)}, bytesOf(offsets)); // where rows begin
    made.rows("o", "", {{"offsets", "o"}}, {{false, {{Kind::Let, "offset", "offsets"}}}}, true);
    const LookUp all{kind == "spmm_dense_grad" ? height : rows, 1, 1, width, bytes, idBytes, bytes};
    if (kind != "spmm_values_grad")
      clearTable(made, all, kind == "spmm" ? "y" : "dense");
    const int64_t each = rows > 0 ? entries / rows : 0;
    for (int64_t done = 0; done < each;) { // no more at once than there are dense rows
      const int64_t part = std::min(each - done, height);
      block(kind, rows, part, done * rows);
      done += part;
    }
    if (entries > each * rows)
      block(kind, entries - each * rows, 1, each * rows);
    return made.finish();
  }

private:
  /// `each` entries of so many rows, of which `first` are done.
  void block(llvm::StringRef kind, int64_t count, int64_t each, int64_t first) {
    const int64_t once = std::max<int64_t>(height / each, 1), whole = count / once, rest = count - whole * once;
    made.extent('e', each);
    made.tensor("dense", {once, each, width}, bytes);
    for (bool isRest : {false, true}) {
      const int64_t again = isRest ? 1 : whole, p = isRest ? rest : once, before = isRest ? whole * once : 0;
      if (again == 0 || p == 0)
        continue;
      made.extent('q', again), made.extent('p', p);
      made.tensor("y", {again, p, width}, bytes);
      for (const char *name : {"ids", "values"})
        made.tensor(name, {again, p, each}, name[0] == 'i' ? idBytes : bytes);
      const Use y{"y", "qpw", before * width}, dense{"dense", "pew"};
      const Use ids{"ids", "qpe", first + before * each}, values{"values", "qpe", first + before * each};
      const RowPass id{false, {{Kind::Let, "id", "ids"}}};
      if (kind == "spmm")
        made.rows("qpe", "w", {ids, values, dense, y}, {id, {true, {{Kind::Store, "y", "dense values y fma"}}}}, true);
      else if (kind == "spmm_dense_grad")
        made.rows("qpe", "w", {ids, values, y, dense}, {id, {true, {{Kind::Store, "dense", "y values dense fma"}}}},
                  true);
      else
        made.rows("qpe", "w", {ids, y, dense, values},
                  {id, {true, {{Kind::Sum, "sum", "y dense *"}}}, {false, {{Kind::Store, "values", "sum"}}}}, true);
    }
  }

  Composition made;
  int64_t width = 1, rows = 1, entries = 1, height = 1;
  int32_t bytes = 4, idBytes = 4;
};

/// Softmax of the entries of each segment. Letters: s segments, l entries of one, w the width.
Result<LoopKernel> segmentSoftmax(const Operation &operation, const Microarchitecture &machine, bool isGradient) {
  const LoopTensor &x = operation.tensors[0], &ids = operation.tensors[isGradient ? 2 : 1];
  const int64_t all = elementsOf(x), entries = std::max<int64_t>(elementsOf(ids), 1), width = all / entries;
  Composition made(operation.name, machine);
  made.assume(fmt::format("segments have {} entries, one behind the other", kSegment));
  made.extent('w', width);
  for (bool isRest : {false, true}) {
    const int64_t segments = isRest ? entries % kSegment != 0 : entries / kSegment;
    const int64_t length = isRest ? entries % kSegment : kSegment;
    const int64_t first = isRest ? entries - length : 0;
    if (segments == 0)
      continue;
    made.extent('s', segments), made.extent('l', length);
    for (const char *name : {"dy", "x", "y", "dx"})
      made.tensor(name, {segments, length, width}, bytesOf(x));
    made.tensor("ids", {segments, length}, bytesOf(ids));
    auto use = [&](const char *name) { return Use{name, "slw", first * width}; };
    const RowStatement id{Kind::Let, "id", "ids"};
    if (isGradient)
      made.rows("sw", "l", {use("dy"), use("y"), {"ids", "sl", first}, use("dx")},
                {{true, {id, {Kind::Sum, "dot", "dy y *"}}}, {true, {{Kind::Store, "dx", "dy dot - y *"}}}});
    else
      made.rows("sw", "l", {use("x"), {"ids", "sl", first}, use("y")},
                {{true, {id, {Kind::Max, "top", "x"}}},
                 {true, {{Kind::Let, "e", "x top - exp"}, {Kind::Sum, "sum", "e"}, {Kind::Store, "y", "e"}}},
                 {true, {{Kind::Store, "y", "y sum /"}}}});
  }
  return made.finish();
}

} // namespace

MaybeKernel sparseKernelOf(const Operation &operation, const Microarchitecture &machine) {
  const llvm::StringRef kind = operation.kind;
  const auto &t = operation.tensors;
  const bool isProduct = kind == "spmm" || kind == "spmm_values_grad" || kind == "spmm_dense_grad";
  const bool isSoftmax = kind == "segment_softmax" || kind == "segment_softmax_grad";
  if (!isProduct && !isSoftmax)
    return std::nullopt;
  if (isProduct ? !hasRanks(operation, {1, 1, 1, 1, 1}) : !hasRanks(operation, {1, 1, 1}))
    return refused(operation, "its tensors are not known");
  if (isSoftmax)
    return segmentSoftmax(operation, machine, kind != "segment_softmax");
  const LoopTensor &rows = t[kind == "spmm" ? 4 : 0];
  const LoopTensor &offsets = t[kind == "spmm" ? 0 : 1], &columns = t[kind == "spmm" ? 1 : 2];
  const LoopTensor &dense = t[kind == "spmm_dense_grad" ? 4 : 3];
  return SparseProduct(operation, machine).run(kind, rows, offsets, columns, dense);
}

} // namespace accord::microarchitecture
