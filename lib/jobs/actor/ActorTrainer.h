// Trains an actor by evolution strategies on drawn simulations.
//
// Why not by gradients of the policy: between the weights and the outcome stands an exact allocation, which no gradient
// passes, and a weight shows its use hours later, in the completion of other jobs. The outcome of a whole simulation is
// exact and has no noise of its own; and simulations of one generation are independent. That is where evolution
// strategies do well (Salimans et al., arXiv 1703.03864). As a simulation says one number, and a change of weights
// moves it by a percent where chance moves it by two, few parameters can be told apart: the last layer alone is
// trained, and the layers before stay as they were drawn (random features; Rahimi and Recht, NeurIPS 2007).
#pragma once
#include "lib/jobs/actor/ActorNetwork.h"
#include "lib/jobs/actor/SyntheticJobs.h"
#include "lib/jobs/simulate/Seeds.h"

namespace accord::jobs {

/// Seeds of the simulations that train and validate begin here, so that those from 0 on are left for evaluation.
constexpr uint64_t kValidationSeeds = 500'000'000, kTrainingSeeds = 1'000'000'000;

struct TrainingOptions {
  size_t budget = 20'000; ///< simulations, those of validation included
  uint64_t seed = 0;      ///< of the initial parameters, the perturbations and the drawn simulations
  size_t hidden = 8;      ///< units of a layer
  size_t pairs = 12;      ///< antithetic pairs of perturbed parameters of a generation
  size_t traces = 6;      ///< simulations of each of them
  size_t validations = 48;
  size_t every = 10;    ///< generations between two validations
  double sigma = 0.15;  ///< of the perturbation of a parameter
  double rate = 0.02;   ///< of Adam at the beginning; it falls linearly to 0 with the budget
  unsigned threads = 1; ///< the result does not depend on it
  unsigned effort = 6;  ///< of each allocation
};

/// The change of the mean completion against the policy without weights (`KnownWork::Learned`), over the simulations of
/// validation: 0 means as good, below 0 is shorter.
struct TrainingStep {
  size_t generation = 0, simulations = 0;
  double change = 0;
};

struct TrainedActor {
  ActorGraph graph;      ///< of the generation with the shortest validation
  size_t generation = 0; ///< that it is of; 0: the initial one, which weighs all jobs alike
  size_t generations = 0, simulations = 0;
  MeanInterval validation; ///< of `graph`: its change, with the bootstrap interval of 95 %. It was chosen by it
  std::vector<TrainingStep> steps;
};

using DrawSimulation = std::function<Result<DrawnSimulation>(uint64_t seed)>;

/// Trains until the budget is spent. Each simulation is one of the actor, without a shield. The first of all is as good
/// as the policy without weights, as its last layer is 0. The same arguments give the same actor, to the last bit.
/// Errors: of drawing and of simulations; A1101 where the budget does not allow a generation and its validation.
Result<TrainedActor> trainActor(const DrawSimulation &draw, const TrainingOptions &options);

} // namespace accord::jobs
