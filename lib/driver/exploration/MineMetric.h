// What is made least by `accord mine`: a word, or an expression over a design and its step.
#pragma once
#include "lib/driver/exploration/Mine.h"
#include "lib/exploration/steps/StepProblem.h"

namespace accord {

class DesignSpace;
class Session;

/// As the command line says, else the file of the session; an expression is what the space measures
/// from now on. Nothing after errors.
std::optional<MiningMetric> minedMetric(const MineOptions &options, Session &session, DesignSpace &space);
/// Whether the best placement on a cluster is known by its step alone; false after an error.
bool placesBy(MiningMetric metric, Session &session, const DesignSpace &space);

} // namespace accord
