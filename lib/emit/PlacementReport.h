// report.html of a plan for a cluster: one self-contained page.
#pragma once
#include "lib/model/PlacementPlan.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace accord {

/// A plan that no other beats in both of two numbers; less is better in both.
struct FrontPoint {
  std::string label; ///< "tensor 8, pipeline 8, data 16"
  double x = 0, y = 0;
  bool chosen = false;
};

struct PlacementReportOptions {
  std::optional<int64_t> sequence; ///< tokens per sample, when the model has such a thing
  std::vector<FrontPoint> front;   ///< shown if there are two or more
  std::string frontX = "devices", frontY = "step time in seconds";
};

/// The page: lib/emit/report/placement.{html,js} with style and numbers of the other report.
std::string toReport(const PlacementPlan &plan, const PlacementReportOptions &options = {});

/// What the page's script reads.
llvm::json::Value reportData(const PlacementPlan &plan, const PlacementReportOptions &options);

} // namespace accord
