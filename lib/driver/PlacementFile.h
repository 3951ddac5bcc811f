// Reading the finished plan of a cluster, and proving it.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/planning/verify/Verify.h"
#include <optional>
#include <string>

namespace accord {

/// Whether a folder, or its plan.json, holds the plan of a cluster.
bool holdsPlacement(const std::string &path);

/// Reads certificate/placement.json beside a plan.json. Prints why not as `readPlan` does.
std::optional<PlacementPlan> readPlacementCertificate(const std::string &path, bool json, const char *command);
/// The same where plan.json has to be what the certificate gives.
std::optional<PlacementPlan> readPlacement(const std::string &path, bool json, const char *command);

/// A plan to launch: that of a cluster as above, or that of one device as a server with one device (`placementOf`).
std::optional<PlacementPlan> readLaunchedPlan(const std::string &path, bool json, const char *command);
/// The plan of one device as a placement of one stage: blocks are the iterations of the longest repeat of its forward
/// pass, with a layer before and one behind; costs other than the policy of recomputation are 0.
PlacementPlan placementOf(const Plan &plan);

/// Takes in certificate/paths.json beside them, if it is there; false: it is malformed, as above.
bool readPlacementPaths(PlacementPlan &plan, const std::string &path, bool json, const char *command);

/// Plan, worth and bound again.
Verification verifyPlacement(const PlacementPlan &plan, const PlacementProof &how = {});
/// Whether the folder's claim of its arithmetic is that of the plan; and asks a solver, if one is
/// named.
void verifyPlacementSmtQuery(Verification &proof, const PlacementPlan &plan, const std::string &folder,
                             const std::string &solver);

} // namespace accord
