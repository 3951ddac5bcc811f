// plan.json: the whole plan, written and read back without loss.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SearchStatus.h"
#include "llvm/Support/Error.h"

namespace accord {

/// The document of `accord compile --json` and `out/plan.json`; print it with `jsonText`.
llvm::json::Value toJson(const Plan &plan);
llvm::json::Value planSchema();

/// Reads what `toJson` writes. Everything verification needs comes back bit for bit. `path` names
/// the file in errors: "plan.json: expected integer at graph.operations[3].flops". Refuses, beside
/// wrong types, every index that points nowhere (operations, values, regions, cores), regions or
/// aliases in a circle, and per-operation lists of another length than the operations, so that a
/// reader may index freely. Derived keys (gap, stages, …) are not read.
llvm::Expected<Plan> planFromJson(llvm::StringRef text, llvm::StringRef path);

/// The work alone, as it stands in plan.json, and back: of what is in a larger document.
llvm::json::Value toJson(const WorkGraph &graph);
bool readWorkGraph(const llvm::json::Value &value, WorkGraph &graph, llvm::json::Path path);
void describe(JsonFields &f, Conflict &conflict);
void describe(JsonFields &f, StepEstimate &estimate);
void describe(JsonFields &f, WhatIf &what);
void describe(JsonFields &f, ModelArchitecture &architecture);
/// Which activations are computed again.
Words recomputeWords();

/// What `planFromJson` refuses beyond wrong types; reports at the path.
bool checkIndices(const Plan &plan, llvm::json::Path path);
bool checkGraph(const WorkGraph &graph, llvm::json::Path path);

/// What `plan.objective` is measured in and which way is better.
struct ObjectiveKind {
  const char *unit;
  bool maximize;
};
ObjectiveKind objectiveKind(llvm::StringRef name);
/// Distance to the bound as a share, in [0, 1]: 1 - value/bound when maximizing, 1 - bound/value
/// when minimizing; 0 when they meet, 1 when there is no bound.
double gapOf(const Plan &plan);
/// Infeasible: bounds exclude every plan. Unknown: the plans that were looked at break the conflicts' limits.
SearchStatus statusOf(const Plan &plan);

} // namespace accord
