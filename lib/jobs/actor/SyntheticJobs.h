// Jobs and clusters that are drawn at random, on which actors are trained: none of it is of a trace that anybody
// measured.
#pragma once
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

/// A drawn simulation: its cluster, its jobs and how they are simulated.
struct DrawnSimulation {
  Cluster cluster;
  std::vector<SimulatedJob> jobs;
  SimulationOptions options;
};

enum class SyntheticFamily {
  /// Elastic jobs, one device type: trainings of an application have nearly the same work (log-normal, sigma 0.1), more
  /// devices bring less and less (Amdahl's law), and a change of devices costs 10 to 120 s.
  Alike,
  /// Rigid jobs, two to four device types: the work of each job is log-uniform from 5 minutes to 50 hours whatever its
  /// application, speeds on the types differ by application, and a change of devices costs nothing or up to 60 s.
  Varied
};

/// Draws a cluster of a few to 68 devices, 3 to 8 applications and `jobs` jobs, which arrive as a Poisson process that
/// offers 0.6 to 2 (alike) or 1 to 3 times (varied) the work that the cluster can do while they arrive. The same
/// arguments draw the same.
DrawnSimulation drawSynthetic(SyntheticFamily family, size_t jobs, uint64_t seed);

/// Of the first family if the seed is even, else of the second.
DrawnSimulation drawSynthetic(size_t jobs, uint64_t seed);

} // namespace accord::jobs
