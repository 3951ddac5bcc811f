// "What would help?": the plan's step with one resource improved, all else equal.
#pragma once
#include "lib/emit/Report.h"

namespace accord {
std::vector<WhatIf> whatIfTable(const Plan &plan);
} // namespace accord
