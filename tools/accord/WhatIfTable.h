// "What would help?": the best plan with one resource improved, searched anew.
#pragma once
#include "lib/emit/Report.h"
#include "lib/place/SingleDevice.h"

namespace accord {
std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request);
} // namespace accord
