// report.html: one self-contained page that opens without a network.
#pragma once
#include "lib/planning/solve/SingleDevice.h"
#include <optional>

namespace accord {

/// One row of the what-if table: the same job with one thing changed.
struct WhatIf {
  std::string change; ///< "hbm bandwidth x 2"
  Seconds step;
  double throughput = 0; ///< samples per second
  int64_t memory = 0;    ///< peak bytes
  bool feasible = true;
  std::string note; ///< what binds then
};

/// "What would help?": the best plan with one resource improved, searched anew.
std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request);

struct ReportOptions {
  std::optional<int64_t> sequence; ///< tokens per sample, when the model has such a thing
};

/// The page; its parts are in lib/report/page.
std::string toReport(const Plan &plan, const std::vector<WhatIf> &whatIf = {}, const ReportOptions &options = {});

} // namespace accord
