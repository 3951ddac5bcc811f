// A `jobs` block of a file, from its text to a schedule: its cluster, configuration tables by Accord's own latency
// models, the problem in whole numbers, and the solved schedule.
#pragma once
#include "lib/driver/JobTarget.h"
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/jobs/schedule/KeptPlan.h"
#include "lib/jobs/solve/NoisePredictor.h"
#include "lib/search/SearchLimits.h"

namespace accord {
class TrainingPlans;
struct DeviceCountPlan;

struct JobsPlan {
  jobs::JobsRequest request;
  jobs::Cluster cluster;
  std::vector<jobs::JobTable> tables; ///< of each job of the request
  jobs::BuiltSchedule built;
  jobs::JobSchedule schedule;
  std::optional<jobs::JobConflict> conflict; ///< of an infeasible problem
  std::vector<std::string> assumptions;      ///< in words, each once
};

/// A plan that runs, which is planned again from a moment.
struct RunningPlan {
  jobs::JobAnswer plan;
  jobs::RunningState planned, state; ///< as planned, and after the events
  std::vector<jobs::JobEvent> events;
};

class JobsPlanner {
public:
  /// Of the options, file, cluster (--target), block and effort are looked at.
  explicit JobsPlanner(const Options &options);

  /// Reads the file, finds block and cluster. False after errors, which are reported.
  bool prepare();
  /// The problem is what is left of a plan that runs, where `build` comes later.
  void goOn(RunningPlan running) { theRunning = std::move(running); }
  /// Builds tables and problem. False after errors.
  bool build();
  void solve(const SearchControl &control);
  /// What was found, as people read it: servers of each run, reasons of waiting, a conflict in words.
  jobs::JobAnswer answer() const;

  const JobsPlan &plan() const { return thePlan; }
  Diagnostics &diagnostics() { return workspace.diagnostics(); }
  void report(const Error &error) { workspace.report(error); }
  int finish(int status) const { return workspace.finish(status, "jobs"); }

private:
  bool takeCluster();
  /// A job that runs a training: as its own, or as a choice.
  struct TrainingUse {
    size_t job = 0;
    unsigned family = 0;                       ///< 0: its own
    const jobs::JobsRequest::Choice *choice{}; ///< null: nothing is stated of it
    std::vector<int64_t> batches;              ///< that it may run at
    double samples = 0;                        ///< its work
  };
  std::map<std::string, std::vector<TrainingUse>> usesOfTrainings() const;
  bool predictNoise(TrainingPlans &plans, const TrainingUse &use);
  bool planTraining(const std::string &train, std::vector<TrainingUse> &uses);
  bool settleUses(const std::string &train, TrainingPlans &plans, std::vector<TrainingUse> &uses);
  bool planType(TrainingPlans &plans, unsigned type, const std::vector<TrainingUse> &uses);
  void addRows(const TrainingUse &use, unsigned type, const std::vector<DeviceCountPlan> &plans, int64_t batch,
               int64_t own, const std::string &level);
  void weighChoices(const std::vector<TrainingUse> &uses);
  jobs::ConfigurationWords configurationWords(const jobs::ScheduledPart &part, unsigned row) const;
  std::vector<PowerLevel> levelsOf(unsigned type);
  void takeProfiled(size_t job);
  void assume(const std::string &text);
  void note(const std::string &text);
  std::vector<std::string> risks() const;
  bool buildRemaining();
  std::vector<std::string> movedJobs() const;
  std::vector<jobs::JobWords> words() const;
  void addConflict(jobs::JobAnswer &made) const;

  const Options options;
  Workspace workspace;
  JobTarget target;
  JobsPlan thePlan;
  std::map<std::string, std::string> optimizers; ///< of trainings
  std::unique_ptr<jobs::NoisePredictor> noises;  ///< null: nothing was predicted yet
  std::optional<RunningPlan> theRunning;
  std::vector<std::string> theNotes; ///< of a plan that goes on, in words, each once
  jobs::JobsRequest theBlock;        ///< whole, where a plan goes on
  std::vector<jobs::JobTable> theTables;
  jobs::RemainingSchedule theLeft; ///< of it
  jobs::KeptPlan theKept;
};

} // namespace accord
