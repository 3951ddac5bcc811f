// A sparsity pattern and a storage format for each layer of a training.
#pragma once
#include "lib/driver/Options.h"
#include "lib/placement/builder/LayerSparsity.h"
#include "lib/sparsity/solve/SparsityPlan.h"

namespace accord {

class Session;

/// What `accord prune` takes beside the file, for a device that runs layers side by side.
struct PruneOptions {
  double confidence = 0;                      ///< of limits of times and memory; 0: as the file says
  std::string traces = {}, thresholds = {};   ///< paths of tables; empty: none
  int64_t weightBits = 0, activationBits = 0; ///< 0: as the training has them
};

/// The patterns that the `sparsity for` block of a prepared session allows, with what proves the choice. The session
/// must have been made to look at the block (`ElaborateOptions::prunes`). Nothing after errors.
std::optional<SparsityPlan> chooseSparsity(Session &session, const PruneOptions &pruning);

/// The patterns, groups and budgets of accuracy that the block of a prepared session allows on a machine: what a search
/// of designs chooses from. Nothing after errors.
std::optional<PlacementSparsityRequest> zerosToMine(Session &session, const Machine &machine);

/// Chooses the patterns that the file's `sparsity for` block allows, writes the folder `options.output` and prints a
/// summary. On a cluster the placement is chosen together with them, within the limits, and the answer is that of
/// `accord compile`. Returns the exit status of `accord prune`.
int prune(Options options, const PruneOptions &pruning, const PlanSearchLimits &limits);

} // namespace accord
