// report.html: one self-contained page that opens without a network.
#pragma once
#include "lib/planning/solve/SingleDevice.h"

namespace accord {

/// "What would help?": the best plan with one resource improved, searched anew.
std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request);

/// The page; its parts are in lib/report/page. `model`: the plan's latency model as JavaScript, if it has one.
std::string toReport(const Plan &plan, llvm::StringRef model = {});

/// microarchitecture.html: the block diagram of each core at the level of instructions that a step uses, with what it
/// uses of them; nothing where there is none. It needs the timings of the plan's costs, which plan.json does not hold.
std::optional<std::string> toCoresPage(const Plan &plan);

} // namespace accord
