// Mined designs for people and scripts.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/planning/output/Summary.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// What `accord mine` prints.
std::string miningSummary(const MiningPlan &plan, const std::string &folder, const TextStyle &style);
/// report.html of mined designs: one self-contained page.
std::string toReport(const MiningPlan &plan);
/// By docs/schema/mine.schema.json.
llvm::json::Value toJson(const MiningPlan &plan);
/// Strategy, evaluations, bounds, incumbent and bound of every moment of every search, a line each.
std::string convergenceCsv(const MiningPlan &plan);
/// Of strategies that were compared, a line each: what they found, how far it is above what is
/// proven, and after how many evaluations (and seconds, compared by time) they were within 1 %.
std::string comparisonCsv(const MiningPlan &plan);

/// The front: value, throughput of each job, area, TDP and all parameters of each design.
std::string paretoFrontCsv(const MiningPlan &plan);
/// Front and findings, into the document of `toJson`.
void addFindings(llvm::json::Object &document, const MiningPlan &plan);
/// Designs of stages, into the document of `toJson` and for `miningSummary`.
void addStages(llvm::json::Object &document, const MiningPlan &plan);
std::string stagesSummary(const MiningPlan &plan, const TextStyle &style);
/// A value in the unit of the metric; ratios have none.
std::string miningValue(const MiningPlan &plan, double value, bool ratio);
/// One design with what the jobs take on it, as it stands in the document.
llvm::json::Object toJson(const MiningPlan &plan, const MinedDesign &design);

} // namespace accord
