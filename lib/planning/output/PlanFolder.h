// What `accord compile` leaves in a folder for one device.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

/// plan.json, trace.json and report.html, in which `model` runs: the latency model as JavaScript, if there is one.
AnswerFiles filesOf(const Plan &plan, llvm::StringRef model = {});

} // namespace accord
