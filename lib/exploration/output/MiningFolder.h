// What `accord mine` leaves in a folder, but for certificate and plans.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

/// mine.json, convergence.csv, report.html; compared.csv of compared strategies; best.accel, and common.accel where
/// stages have designs of their own, JOB.accel of several jobs; front.csv and front/NN.accel of a front.
AnswerFiles filesOf(const MiningPlan &plan);

/// A design as a description: what its jobs take on it, the accelerator with the choices made, and the clusters, each
/// once, that `clusters` are the texts of.
std::string designText(const DesignSpace &space, const Design &design, const std::vector<MinedStep> &steps,
                       const std::vector<std::string> &clusters);

} // namespace accord
