// report.html: one self-contained page that opens without a network.
#pragma once
#include "lib/planning/solve/SingleDevice.h"

namespace accord {

/// "What would help?": the best plan with one resource improved, searched anew.
std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request);

/// The page; its parts are in lib/report/page.
std::string toReport(const Plan &plan);

} // namespace accord
