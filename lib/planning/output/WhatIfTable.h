// "What would help?": the best plan with one resource improved, searched anew.
#pragma once
#include "lib/planning/output/Report.h"
#include "lib/planning/solve/SingleDevice.h"

namespace accord {
std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request);
} // namespace accord
