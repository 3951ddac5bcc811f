// What `accord compile` leaves in a folder for a cluster.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

/// plan.json, certificate/placement.json, trace.json, report.html, and what proves the bound beside the certificate.
/// `model`: the latency model as JavaScript, for the page.
AnswerFiles filesOf(const PlacementPlan &plan, llvm::StringRef model = {});

} // namespace accord
