// A plan beside a measured step, as plain data: which operation of the plan is which of the trace, and what each takes.
#pragma once
#include "lib/comparison/problem/MeasuredStep.h"
#include <map>

namespace accord::comparison {

/// How an operation of the trace was recognized, the surest first.
enum class MatchKind : uint8_t {
  Name,     ///< an annotation or module around it has the name of the operation
  Sequence, ///< it is the gradient of a recognized operation, by the number of the automatic differentiation
  Shapes,   ///< the same work on tensors of the same size, in the same order
  Order,    ///< the same class of work at the same place between operations that were recognized
  None
};
constexpr unsigned kMatchKinds = 5;
inline const char *nameOf(MatchKind kind) {
  constexpr const char *names[kMatchKinds] = {"name", "sequence", "shapes", "order", "none"};
  return names[static_cast<unsigned>(kind)];
}

/// One operation of a plan in one execution, in the order in which the graph states them.
struct PlannedExecution {
  uint32_t operation = 0; ///< index into PlannedStep::operations
  int64_t microbatch = 0;
  int64_t layer = 0; ///< iteration of the repeats around it, counted through
};
struct PlannedOperation {
  std::string name;            ///< "gpt_logits.block.mlp.linear"
  std::string kind;            ///< "linear", "contract"
  std::string group;           ///< the repeat that it is in, or ""
  std::string bound;           ///< what limits it: "compute", "bandwidth hbm"
  std::vector<Signature> work; ///< of a fused operation, of each of its parts; else one
  Part part = Part::Forward;
  int64_t forward = -1; ///< of a gradient: the operation that it is the gradient of
  bool isWeightGradient = false;
  double seconds = 0;     ///< of one execution
  double flops = 0;       ///< of one execution
  double bytes = 0;       ///< of one execution, of the memory of the device
  double peak = 0;        ///< FLOP/s of the core that it runs on; 0: of none
  int64_t executions = 0; ///< in a step
  /// What a row of measured operations says of it: operation, batch, m, n, k, width, type. Empty: no row can.
  std::map<std::string, std::string> columns;
};
struct PlannedStep {
  std::string model, machine, job;
  double seconds = 0;    ///< of the step
  double bandwidth = 0;  ///< bytes a second of the memory of the device
  double modelFlops = 0; ///< of a step
  int64_t microbatches = 1, batch = 1;
  std::vector<PlannedOperation> operations;
  std::vector<PlannedExecution> executions;
  std::map<std::string, std::string> columns; ///< what a row of measured steps says of it
};

/// Operations of the plan that were recognized together, over all their executions in a step.
struct Row {
  std::vector<uint32_t> operations;  ///< of the plan; several where one call of the trace does the work of all
  MatchKind match = MatchKind::None; ///< the least sure of all executions; None: the trace does not have it
  double planned = 0;                ///< seconds of a step
  double measured = 0;               ///< seconds of a step
  double exposed = 0;                ///< of `measured`, what belongs to this row alone
  double flops = 0, bytes = 0;       ///< of a step, by the plan
  double peak = 0;                   ///< FLOP/s; 0: none
  int64_t executions = 0;            ///< of the plan
  int64_t calls = 0, kernels = 0;    ///< of the trace
  int64_t missing = 0;               ///< executions that the trace does not have
  std::string call, kernel;          ///< the name of the first call, its longest kernel
};

/// Work of the trace that no operation of the plan is.
struct Extra {
  std::string name; ///< "aten::mul"
  WorkClass workClass = WorkClass::Other;
  Part part = Part::Forward;
  std::string scope; ///< annotation or module around the first
  double exposed = 0;
  int64_t calls = 0;
};

struct Comparison {
  PlannedStep plan;
  MeasuredStep measured; ///< its groups are moved to `groups`, with those that come from matching
  std::vector<Row> rows; ///< in the order of the plan; those without a match, too
  std::vector<MeasuredGroup> groups;
  std::vector<Extra> extra; ///< by time, longest first
  double unexplained = 0;   ///< seconds of the step: the sum of `extra`
  std::vector<std::string> notes;
};

/// Share of the measured step that rows and groups explain.
inline double explainedShare(const Comparison &comparison) {
  double explained = 0;
  for (const Row &row : comparison.rows)
    explained += row.exposed;
  for (const MeasuredGroup &group : comparison.groups)
    explained += group.seconds;
  const double all = explained + comparison.unexplained;
  return all > 0 ? explained / all : 1;
}

} // namespace accord::comparison
