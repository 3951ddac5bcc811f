// report.html of a tuning of hyper-parameters: one self-contained page.
#pragma once
#include "lib/tuning/output/TuningOutput.h"

namespace accord::tuning {

/// The page: the best value over time and units, ways that were compared, learning curves, devices over time,
/// hyper-parameters against values, their importance, a population's members, prices and limits. `document` is
/// tune.json of the report, whose SHA-256 the page states. Of many trials it has `kMaxPageTrials`, and says so.
std::string tuningPage(const TuningReport &report, const llvm::json::Value &document);

/// Trials whose curves a page has: a third of them the best ones, the others evenly in the order of their proposal.
constexpr size_t kMaxPageTrials = 450;
/// Times that a trial ran which a page has: the longest.
constexpr size_t kMaxPageSegments = 20'000;

/// Which trials a page has, ascending: all where they are few. Those from whose state the best value came are among
/// them.
std::vector<unsigned> pageTrials(const TuningReport &report);

} // namespace accord::tuning
