// What the operations of a whole step take of a core, alone and together with what excludes it, and
// what follows for the step's length whatever forms they take.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/planning/solve/OperationVariants.h"

namespace accord {

/// What one execution of an operation takes, in each of its forms.
struct Workload {
  int64_t duration = 0;
  int64_t work = 0; ///< of it, as picoseconds of the whole
};

/// By OperationId: its forms' workloads; empty: it takes none, or may.
struct Workloads {
  std::string name; ///< "core mxu", "core mxu and memory hbm bandwidth"
  std::vector<std::vector<Workload>> of;
  int64_t min(OperationId id) const; ///< work that it takes in any form
  bool choice() const;               ///< the work of some operation depends on its form
};

/// For each core, and for each core and memory where some operations fill the memory's bandwidth:
/// while one of these runs, none can that uses the core and the memory in any of its forms. So all
/// of them share the core as one resource, of which the former take the whole.
std::vector<Workloads> workloadsOf(const WorkGraph &graph, const Machine &machine, const OperationVariants &variants);

/// Picoseconds that one iteration of a top region takes at least, whatever the forms of operations:
/// with any chain P and any share s = k / kAllotmentShares of the work,
///   (1 - s) * (time of P) + s * (work of all) >= sum over all of s * (least work)
///       + sum over P of (least of (1 - s) * time + s * work) - s * (least work),
/// and the step is not below the left side. The best s; the chain is that of `CriticalPath`, so
/// iterations may overlap. The dual of the linear program by which malleable tasks under precedence
/// constraints get their processors (Lepère, Trystram and Woeginger, Int. J. Found. Comput. Sci.
/// 13(4), 2002, section 3). The sum of work is below `kLongestStep`.
int64_t allotmentBound(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
                       const Workloads &workloads, RegionId top);

constexpr int64_t kAllotmentShares = 32;

} // namespace accord
