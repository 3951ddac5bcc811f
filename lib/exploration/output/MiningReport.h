// report.html of mined designs: one self-contained page.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// The page: lib/emit/report/mining.{html,js} with style and numbers of the other reports.
std::string toReport(const MiningPlan &plan);

} // namespace accord
