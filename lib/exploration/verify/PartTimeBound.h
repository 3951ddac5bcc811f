// What operations of a step take on a machine at least, in closed form: the arithmetic of the cost
// models again, in a few lines of its own.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Machine.h"
#include <array>
#include <optional>

namespace accord {

/// Extents of a product: `batch` times (m x k) by (k x n).
struct ProductExtents {
  double batch = 1, m = 1, n = 1, k = 1;
  /// Bytes of an element of both operands and of the result; 0: not known.
  std::array<double, 3> widths{};
};
/// Of two operands, or of three and more none; by which of the tensors a loop indexes: left and result rows, right and
/// result columns, both operands depth, all three the batch; one operand alone is summed over, the result alone are
/// rows. A reduction that all three have makes two products in a row, and what one operand alone has is an extent of
/// the first. Without tensors reductions are depth, the last parallel loop the columns, the others the rows.
std::optional<ProductExtents> extentsOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors);

/// Arithmetic of one operation, or of a part of a fused one.
struct BoundedPart {
  std::string kind, type;
  CoreKind core = CoreKind::None;
  double flops = 0;
  std::optional<ProductExtents> product;  ///< of a contraction
  bool contraction = false, empty = true; ///< no domain
  double rows = 1, length = 1;            ///< of the domain: parallel points, reduced ones
};

/// What it takes of a core: seconds on all instances, and on one; bytes that arrays take from the nearest memory.
struct PartTimeBound {
  double spread = 0, single = 0, feed = 0;
};
/// Systolic arrays: cycles of folds as in SCALE-Sim v3 (arXiv 2504.15377, systolic_compute_*.py),
/// R x C of them at a time, each load + stream + R + C - 2; row stationary at its peak. Lanes: an
/// element each, rows with 2^i lanes each that are combined pairwise. Else at the peak.
/// `type`: arithmetic. 0 where the core's model is none of the built-in ones.
PartTimeBound partTimeBound(const BoundedPart &part, const Machine &machine, const Core &core, const std::string &type);

/// Whether what an operation takes on the core is the time of its program with the plain schedule.
bool timesPrograms(const Machine &machine, const Core &core);

/// Cores that may run it, and in which arithmetic: of the first of (its type on the kind of core
/// that it asks for, and for a contraction then on vector cores) that there is; where no core has
/// its type all of both kinds, each in any type.
struct EligibleCores {
  std::vector<int> cores;
  std::string type; ///< empty: any
};
EligibleCores eligibleCores(const BoundedPart &part, const Machine &machine);

/// All that times on a core follow from, and on the whole machine: whatever it has but the capacity of its memories, of
/// which it only matters that there is one.
std::string timesKey(const Machine &machine, const Core &core);
std::string timesKey(const Machine &machine);

} // namespace accord
