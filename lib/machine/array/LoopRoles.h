// What each loop of a product of two tensors does: the classes of a tensor contraction (Kolda,
// Bader: Tensor Decompositions and Applications, SIAM Review 51(3), 2009, section 2; Springer,
// Bientinesi: GEMM-like tensor-tensor multiplication, TOMS 44(3), 2018).
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include <optional>
#include <vector>

namespace accord {

/// `Batch`: separate products. `Rows`, `Columns`: of the result. `Depth`: summed over.
enum class LoopRole : uint8_t { Batch, Rows, Columns, Depth };

struct LoopRoles {
  size_t lhs = 0, rhs = 0;     ///< indices of the two operands in the list of tensors, lhs < rhs
  std::vector<LoopRole> roles; ///< by loop of the domain
};

/// The roles of the loops, by which tensors they index (the result: any tensor that is written):
///
/// - lhs and result: rows.
/// - rhs and result: columns.
/// - lhs and rhs: depth.
/// - lhs, rhs and result: batch.
/// - one operand alone: depth (it is summed over, the other operand being the same each time).
/// - the result alone: rows (the same rows of lhs are multiplied again for each of its points).
/// - none: depth if it is a reduction, else batch.
///
/// A reduction that indexes both operands and the result makes two products in a row, as attention
/// does: depth in the first (queries by keys), and what one operand alone has then is the other
/// extent of that first product (rows of lhs, columns of rhs).
///
/// Of more than two operands: the pair that together has the most points of the domain, then that
/// is summed over the most, then that has the most elements, then the first. Extents below 1 count
/// as 1. Nothing with fewer than two operands, without a result, or when a tensor names a loop that
/// is not there.
std::optional<LoopRoles> loopRoles(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors);

} // namespace accord
