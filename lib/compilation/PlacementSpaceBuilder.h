// What a placement of a job may choose: as the training says, with defaults for what it leaves open.
#pragma once
#include "lib/compilation/Target.h"
#include "lib/language/program/Elaborate.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"

namespace accord {

struct PlacementChoices {
  PlacementSpace space;
  std::vector<std::string> assumptions; ///< every default, in words
};

/// The choices of a job on a cluster. Nothing after errors: A0708 and others where nothing in the search space fits.
std::optional<PlacementChoices> placementChoices(const TrainingJob &job, const ClusterTarget &target,
                                                 Diagnostics &diags);

} // namespace accord
