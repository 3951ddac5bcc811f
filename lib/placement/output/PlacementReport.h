// report.html of a plan for a cluster: one self-contained page.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// The page: lib/report/page/placement.{html,js} with style and numbers of the other report. `model`: the latency
/// model as JavaScript, which sliders run.
std::string toReport(const PlacementPlan &plan, llvm::StringRef model = {});

/// What the page's script reads.
llvm::json::Value reportData(const PlacementPlan &plan);

} // namespace accord
