// report.html of a plan for a cluster: one self-contained page.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace accord {

struct PlacementReportOptions {
  std::optional<int64_t> sequence; ///< tokens per sample, when the model has such a thing
};

/// The page: lib/report/page/placement.{html,js} with style and numbers of the other report.
std::string toReport(const PlacementPlan &plan, const PlacementReportOptions &options = {});

/// What the page's script reads.
llvm::json::Value reportData(const PlacementPlan &plan, const PlacementReportOptions &options);

} // namespace accord
