// Mined designs for people and scripts.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/support/documents/SearchStatus.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"
#include <cmath>

namespace accord {

/// Infeasible where the bound is infinite: no design may be.
SearchStatus statusOf(const MiningPlan &plan);
/// What `accord mine` prints.
std::string miningSummary(const MiningPlan &plan, const std::string &folder, const TextStyle &style);
/// report.html of mined designs: one self-contained page.
std::string toReport(const MiningPlan &plan);
/// mine.json, and its JSON schema.
llvm::json::Value toJson(const MiningPlan &plan);
/// Reads mine.json. Of a machine there are its area and design power, of descriptions nothing.
llvm::Expected<MiningPlan> miningFromJson(llvm::StringRef text, llvm::StringRef path);
llvm::json::Value mineSchema();
/// Strategy, evaluations, bounds, incumbent and bound of every moment of every search, a line each.
std::string convergenceCsv(const MiningPlan &plan);
/// Of strategies that were compared, a line each: what they found, how far it is above what is
/// proven, and after how many evaluations (and seconds, compared by time) they were within 1 %.
std::string comparisonCsv(const MiningPlan &plan);
/// The front: value, throughput of each job, area, TDP and all parameters of each design.
std::string paretoFrontCsv(const MiningPlan &plan);

/// What all searches of a problem together know.
struct ComparisonReference {
  explicit ComparisonReference(const MiningPlan &plan);
  bool proven() const { return bound >= best; }
  /// When a search was within 1 % of the best; null: never.
  const ConvergencePoint *converged(const MiningResult &result) const;

  std::vector<const MiningResult *> results; ///< that of the chosen strategy first
  double best = INFINITY;                    ///< least value that was found
  double bound = 0;                          ///< no design of the space is worth less
};

} // namespace accord
