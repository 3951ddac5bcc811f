// The scheduler process as those see it who ask it: HTTP, the command line, tests. All functions may be called from any
// thread; those that change something have written it to the disk when they return.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/service/problem/ServedJob.h"
#include "lib/service/store/ServiceStore.h"
#include "lib/support/Result.h"
#include <chrono>
#include <optional>

namespace accord::service {

/// A job with what the plan says of it.
struct JobView {
  ServedJob job;    ///< without the texts of `submission.files`
  double share = 0; ///< of its work that is done, 0 to 1
  double timeLeft = -1, timeLeftLow = -1,
         timeLeftHigh = -1; ///< seconds of running and waiting, with a 90 % interval; -1: not known
  double deviation = 0;     ///< of its speed from the plan: -0.1 is a tenth slower
  double goodput = 0;       ///< samples a second, weighted by what they are worth at its batch
  std::string deviceType;   ///< where it runs; empty: it does not
  int64_t devices = 0;
  std::string plan; ///< its parallelism, in words
  std::vector<std::string> nodes;
  double plannedStart = 0, plannedEnd = 0; ///< of what is left of it; 0: not planned
  std::string wait;                        ///< why it does not run, one sentence, also of one that the engine has and
                                           ///< lets wait; empty: it runs, is about to, or is over
  int64_t restarts = 0;
  std::vector<ProgressPoint> history; ///< over all runs, by time, at most some hundred; empty in lists of jobs
};

/// A bar of the picture of past and plan.
struct RunView {
  int64_t job = 0, run = 0; ///< run 0: it is planned
  std::string name, tenant, deviceType, configuration;
  int64_t devices = 0;
  std::vector<std::string> nodes;
  double start = 0, end = 0; ///< end 0: it runs
  std::string outcome;       ///< "succeeded", "failed", "stopped", "lost", "refused", "runs", "planned"
  int exitCode = -1;         ///< -1: not known
};

struct NodeView {
  std::string name, deviceType, state, reason; ///< "up", "drained", "down"
  int64_t devices = 0, used = 0;
  std::vector<int64_t> jobs;
};

struct TypeView {
  std::string name;
  int64_t devices = 0, up = 0, used = 0;
  double price =
      0; ///< of one device for an hour, in what the first objective counts: what the last plan would pay for one more
};

struct TenantView {
  std::string name;
  double weight = 1;
  int64_t running = 0, queued = 0, devices = 0; ///< jobs, jobs, devices in use
  double deviceHours = 0;
  std::map<std::string, int64_t> quota = {}; ///< devices at once, by type; "": of all types
};

struct ClusterView {
  std::string name, engine; ///< "lab", "slurm"
  double time = 0;          ///< now
  bool isHealthy = true;    ///< the engine answers
  std::string health;       ///< why it is not
  std::vector<TypeView> types;
  std::vector<NodeView> nodes;
  std::vector<TenantView> tenants;
  std::map<std::string, int64_t> phases; ///< jobs by phase
  double watts = 0, wattsLimit = 0;      ///< of what runs; 0: not known
  double planned = 0;                    ///< when the plan was made
  double planSeconds = 0;                ///< that this took
  std::string planStatus;                ///< "optimal", "feasible", …
  double planGap = 0;                    ///< share, of the first objective
  std::string objective;                 ///< its name
};

class Scheduler {
public:
  virtual ~Scheduler() = default;

  /// The caller of a token; nothing if there is none, or it has expired.
  virtual std::optional<Caller> callerOf(const std::string &token) const = 0;
  /// Makes a token (operators alone): its text, which is not shown again.
  virtual Result<std::string> makeToken(const Caller &by, const Caller &of, double expires) = 0;
  virtual Result<void> revokeToken(const Caller &by, const std::string &name) = 0;

  /// Takes a job in. The number of the job, and whether it is new. Errors: A1201 with the key, A1202.
  virtual Result<std::pair<int64_t, bool>, Errors> submit(const Caller &by, const Submission &submission) = 0;
  /// `reason` is told to those who see the job; empty: none is given.
  virtual Result<void> cancel(const Caller &by, int64_t job, const std::string &reason) = 0;
  /// Keeps the result of a tuning, of `record` its name, tenant and document; its number. Errors as of jobs.
  virtual Result<int64_t> keepTuning(const Caller &by, TuningRecord record) = 0;
  virtual Result<void> drain(const Caller &by, const std::string &node, bool drained, const std::string &reason) = 0;
  /// What a task says of itself, by the token in its environment.
  virtual Result<void> report(const std::string &taskToken, const ProgressReport &report) = 0;

  /// Those that the caller may see: of its tenant, or all.
  virtual Result<JobView> job(const Caller &by, int64_t id) const = 0;
  virtual Result<std::vector<JobView>> jobs(const Caller &by, const JobFilter &filter) const = 0;
  /// Sentences: what was decided of a job and why, what it waits for, its runs.
  virtual Result<std::vector<std::string>> explain(const Caller &by, int64_t job) const = 0;
  /// Results of tunings that the caller may see, of a name where it is not empty, the newest first.
  virtual Result<std::vector<TuningRecord>> tunings(const Caller &by, const std::string &name, size_t limit) const = 0;
  /// With its document.
  virtual Result<TuningRecord> tuning(const Caller &by, int64_t id) const = 0;
  /// Runs of the past, and those that are planned.
  virtual Result<std::vector<RunView>> runs(const Caller &by, const RunFilter &filter) const = 0;
  virtual ClusterView cluster(const Caller &by) const = 0;
  /// Events above a number; waits for one for at most `wait` if there is none.
  virtual Result<std::vector<ServiceEvent>> events(const Caller &by, int64_t after, size_t limit,
                                                   std::chrono::milliseconds wait) const = 0;
  /// Prometheus' text format.
  virtual std::string metrics() const = 0;
  /// Writes a line to the audit log: what was refused, and to whom.
  virtual void audit(const std::string &kind, const std::string &who, const std::string &text) = 0;
};

} // namespace accord::service
