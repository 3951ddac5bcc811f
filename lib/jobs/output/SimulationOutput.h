// What simulated policies did to the jobs of a trace: as JSON, as CSV and for the terminal.
#pragma once
#include "lib/jobs/bandit/RegretCurve.h"
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord::jobs {

/// One job under one policy. Times are seconds from the start of the trace.
struct JobReport {
  std::string name;
  double arrival = 0, start = 0, completion = 0;
  unsigned restarts = 0;    ///< changes of its devices, without the first start
  double deviceSeconds = 0; ///< that it held
  std::optional<double> deadline = {};
  unsigned failures = 0;  ///< of a server while it ran there
  double lostSeconds = 0; ///< in which it ran, and which failures undid
};

/// A job on its devices for a while.
struct SpanReport {
  std::string job;
  double start = 0, end = 0;
  JobPlacement placement;
};

struct PolicyReport {
  std::string policy, knows;      ///< its name, and what it knows of the jobs
  std::vector<SeedOutcome> seeds; ///< of each seed, at least one; all below is of the first
  std::vector<JobReport> jobs;
  std::vector<SpanReport> spans;
  double busy = 0; ///< device-seconds held
  int64_t rounds = 0;
  std::optional<double> maxGap; ///< of its allocations: (bound - value) / bound; nothing where it proves no bound
  std::optional<ShieldCount> shield = {}; ///< of all seeds; of a policy with an actor
  /// Mean completion over that of the policy that it is compared with, less 1: the mean over seeds, each with its own
  /// ratio, and the percentile bootstrap of 95 %.
  std::optional<MeanInterval> change = {};
  std::vector<SeedCompletions> completions = {}; ///< of each seed; where regret is asked for
  bool isFixed = false;                          ///< it knows no work and learns nothing

  /// Completion minus arrival: the mean, and the `share` quantile (the smallest value that so many jobs do not exceed);
  /// 0 without jobs.
  double meanCompletion() const;
  double completionQuantile(double share) const;
  double makespan() const; ///< the last completion
  double restartsPerJob() const;
  /// Of the seeds: the mean of a number, with Student's interval of 90 %.
  MeanInterval overSeeds(double SeedOutcome::*number) const;
  /// The share of the jobs with a deadline that are complete then; nothing if none has one.
  std::optional<double> deadlinesMet() const;
};

/// The regret of a policy against another one.
struct RegretReport {
  std::string policy, against;
  bool isBestFixed = false; ///< the other one is the best of the fixed policies in hindsight
  RegretCurve curve;
};

struct SimulationReport {
  std::string trace;
  Cluster cluster;
  double round = 0, restart = 0; ///< seconds
  std::vector<PolicyReport> policies;
  bool hasEvents = false; ///< servers failed, or came and went
  /// No schedule has a mean completion or a makespan below these, whatever its policy; 0: none was proved.
  double meanFloor = 0, makespanFloor = 0;
  std::string reference = {}; ///< the policy that the others are compared with, or ""

  std::vector<RegretReport> regrets = {};

  /// Compares the policies with that of this name; of "", and of a name that is not there, none.
  void compareWith(const std::string &policy);
  /// Adds the regret of each policy against the reference, and of those that are not fixed against the fixed one with
  /// the shortest mean completion over all seeds, if there is any.
  void addRegrets();
  /// Device-seconds held / device-seconds there until the makespan.
  double utilization(const PolicyReport &policy) const;
};

llvm::json::Value simulationJson(const SimulationReport &report);
llvm::json::Value simulationSchema();

/// A row for each policy: mean, median and 99th percentile of completion, makespan, use of the devices, restarts.
std::string simulationText(const SimulationReport &report, const TextStyle &style);

/// policy,job,start_s,end_s,devices,type,servers: a row for each time that a job holds the same devices.
std::string simulationCsv(const SimulationReport &report);

/// report.html: each policy against the reference and its mean, with intervals; regrets with bands; how many jobs are
/// complete within a time. `document` is `simulationJson`, whose SHA-256 the page states.
std::string simulationPage(const SimulationReport &report, const llvm::json::Value &document);

/// simulation.json, simulation.txt, report.html, and the CSV as schedule.csv.
AnswerFiles filesOf(const SimulationReport &report);

} // namespace accord::jobs
