// A trace of jobs that is replayed: its cluster, its jobs, and the policies that they allow.
#pragma once
#include "lib/driver/simulation/Jobs.h"
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// A policy that can replay a trace: a new simulation gets new jobs and a new policy.
struct ReplayPolicy {
  std::string name, knows;
  bool isRigid = false; ///< jobs run on all the devices that they ask for, or wait
  std::function<std::vector<jobs::SimulatedJob>()> jobs;
  std::function<std::unique_ptr<jobs::Policy>()> make;
  bool isShown = true;     ///< where no policy is named
  bool seesChanges = true; ///< it can run where servers come and go
};

class JobsReplay {
public:
  /// The options and the diagnostics have to stay.
  JobsReplay(const JobsOptions &options, Diagnostics &diags);
  ~JobsReplay();

  /// Reads cluster, trace, profiles, events, the actor of `--actor`, and the jobs as they are. False after errors,
  /// which are reported.
  bool read();

  const jobs::Cluster &cluster() const;
  const jobs::SimulationOptions &simulation() const;
  double restart() const;                            ///< seconds; the mean where applications differ
  double meanFloor() const;                          ///< that no policy is below; 0: none was proved
  double makespanFloor() const;                      ///< likewise
  const std::vector<ReplayPolicy> &policies() const; ///< all that the jobs allow
  const ReplayPolicy *policy(const std::string &name) const;

  /// Puts jobs that the seed draws (`--draw`) in the place of those that were. False after errors.
  bool draw(uint64_t seed);
  /// The jobs as they are now, for new simulations of a policy.
  std::vector<jobs::SimulatedJob> jobs(const ReplayPolicy &policy) const;
  /// What `learned` and `actor` begin with.
  jobs::WorkHistory &history();
  /// The options of `learned`, with its history.
  jobs::AllocationOptions learned() const;

  /// Reports an error, at its place if its file can be read.
  void add(const Error &error);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace accord
