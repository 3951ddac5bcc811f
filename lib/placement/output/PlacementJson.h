// plan.json of a cluster (docs/schema/placement.schema.json), and the whole problem and answer from which it follows
// (certificate/placement.json), written and read back without loss.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SearchStatus.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// The document of `accord compile --json` and `out/plan.json` for a cluster: what people and scripts read. Its "kind"
/// is "placement"; the plan of one device has no such key.
llvm::json::Value toJson(const PlacementPlan &plan);
/// Its JSON schema.
llvm::json::Value placementSchema();

/// Parallel configurations, classes, layers, links, limits, the plan by index, and all else that `toJson` needs.
llvm::json::Value placementCertificate(const PlacementPlan &plan);

/// The problem alone: as strict, but for what `check` (lib/placement/problem/Placement.h) finds.
void describe(JsonVisitor &v, PlacementProblem &problem);
void describe(JsonVisitor &v, Tables &tables);
void describe(JsonVisitor &v, ContextExchange &exchange);
void describe(JsonVisitor &v, RankOrder &order);
void describe(JsonVisitor &v, PipelineSchedule &schedule);
void describe(JsonVisitor &v, PlacementObjective &objective);
void describe(JsonVisitor &v, LinkTraffic::Kind &kind);
constexpr llvm::StringLiteral kPlacementCertificate = "certificate/placement.json";

/// Of the bound, for `accord verify` alone: means of paths (lib/placement/problem/PlacementPaths.h) of the
/// configurations that nothing simpler bounds. Empty: there are none.
std::string placementPaths(const std::vector<PathBound> &paths);
/// Reads what that writes, as strictly as `placementFromCertificate`.
llvm::Expected<std::vector<PathBound>> placementPathsFrom(llvm::StringRef text, llvm::StringRef path);
constexpr llvm::StringLiteral kPlacementPaths = "certificate/paths.json";

/// Whether a document that is JSON calls itself a placement; nothing else is looked at.
bool isPlacement(llvm::StringRef text);

/// Reads what `placementCertificate` writes, bit for bit. `path` names the file in errors: "certificate/placement.json:
/// expected integer at placement.problem.device_types[0].devices". Refuses, beside unknown keys and wrong types, every
/// index that points nowhere, plans with violations, numbers that could overflow and more passes than anybody can look
/// at, so that a reader may evaluate, simulate and print freely.
llvm::Expected<PlacementPlan> placementFromCertificate(llvm::StringRef text, llvm::StringRef path);

/// Whether plan.json says what its certificate gives; else where it does not: "plan.json: 8 at pipeline_parallel, the
/// certificate gives 4". Unknown keys and missing ones are such places.
llvm::Error agrees(const PlacementPlan &plan, llvm::StringRef text, llvm::StringRef path);

/// (value - bound) / value, within [0, 1]; 0 without a plan.
double gapOf(const PlacementPlan &plan);
/// Infeasible where the bound is infinite, which says that no plan fits.
SearchStatus statusOf(const PlacementPlan &plan);

} // namespace accord
