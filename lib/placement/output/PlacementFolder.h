// What `accord compile` leaves in a folder for a cluster.
#pragma once
#include "lib/placement/output/PlacementReport.h"

namespace accord {

/// Writes plan.json, certificate/placement.json, trace.json and report.html; makes the folder. A0803 where something
/// cannot be written.
std::optional<Error> writePlacement(const std::string &folder, const PlacementPlan &plan,
                                    const PlacementReportOptions &options = {});

} // namespace accord
