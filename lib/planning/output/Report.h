// report.html: one self-contained page that opens without a network.
#pragma once
#include "lib/machine/model/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace accord {

/// One row of the what-if table: the same job with one thing changed, computed by the caller.
struct WhatIf {
  std::string change; ///< "hbm bandwidth x 2"
  Seconds step;
  double throughput = 0; ///< samples per second
  int64_t memory = 0;    ///< peak bytes
  bool feasible = true;
  std::string note; ///< what binds then
};

struct ReportOptions {
  std::optional<int64_t> sequence; ///< tokens per sample, when the model has such a thing
};

/// The page. Its parts are lib/emit/report/report.{html,css,js}, embedded when Accord is built.
std::string toReport(const Plan &plan, llvm::ArrayRef<WhatIf> whatIf = {}, const ReportOptions &options = {});

/// What the page's script reads: headline, operations, regions with slots, memory points, tables.
llvm::json::Value reportData(const Plan &plan, llvm::ArrayRef<WhatIf> whatIf, const ReportOptions &options);

} // namespace accord
