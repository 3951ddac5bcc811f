// Holds what people read of a choice against the problem that was proved.
#pragma once
#include "lib/sparsity/problem/PruneStep.h"
#include "lib/sparsity/verify/Selection.h"

namespace accord {

/// What is shown of a selection.
struct ReportedSelection {
  const PruneStep &step;
  std::string objective;
  bool proven;
  double gap;
};

/// Layers, options and choice are those of the problem: times, energies and bytes in its integers (rounded to the next
/// one on either side), losses as they are counted; parts add up; totals are sums; what is called proven has no gap.
/// What is expected of kernels and masks follows from the measured products that are stated, or from published figures
/// (`findWrongExpectations`). A0905.
Errors verify(const SelectionProblem &problem, const SelectionResult &result, const ReportedSelection &shown);

} // namespace accord
