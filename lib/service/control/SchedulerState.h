// What a scheduler process has in memory, shared by the files that implement it.
#pragma once
#include "lib/service/control/SchedulerProcess.h"
#include "lib/service/progress/LearnedTable.h"
#include "lib/service/progress/ProgressTracker.h"
#include "lib/service/progress/StepTrace.h"
#include "lib/support/ThreadRole.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace accord::service {

constexpr unsigned kNoRow = ~0u;

/// The row of a table in which a run is, by its devices and, of those, its plan; `kNoRow`: there is none.
unsigned rowOfRun(const JobRunRecord &run, const jobs::JobTable &table, const std::vector<std::string> &types);

/// A job that is not over.
struct OpenJob {
  ServedJob job;
  std::shared_ptr<const ModelledJob> model; ///< null: not yet
  bool isStale = false;                     ///< more is known than `model` has
  bool needsModel() const { return (!model || isStale) && cannotModel.empty(); }
  std::optional<JobRunRecord> run;  ///< that has not ended
  ProgressTracker tracker;          ///< of the run
  uint64_t read = 0;                ///< bytes of its file of progress that were read
  double notBefore = 0;             ///< it may not run earlier: it failed
  double planned = 0;               ///< samples a second, by the plan that started its run; 0: it is not known
  std::string cannotModel;          ///< why its configurations cannot be priced; empty: they can, or nobody tried
  unsigned row = 0;                 ///< of its table, of its run; `kNoRow`: it has none like it
  std::vector<SeenSpeed> speeds;    ///< of a job that nobody described; that of its run is the last, once it is known
  bool isSpeedSeen = false;         ///< that of its run is among them
  std::string trouble;              ///< what the engine said when it refused its run
  double pace = 1;                  ///< its speed against its table, as it was seen
  StepTrace trace;                  ///< of its run, as it was profiled; no steps: it was not
  std::string traceRead;            ///< the file of it, with its size and time
  double lookAt = 0, lookPause = 0; ///< when its metrics and traces are looked at again; how long after a failure
  std::string sourceTrouble;        ///< why they cannot be read; empty: they can, or there are none
  bool isByEngine = false;          ///< its run tells the engine alone how far it is
  bool hasLostWork = false;         ///< a run of it that was told to save kept nothing
  /// Whether its run may end before its work is done, so that it goes on elsewhere: a malleable job of which there is
  /// reason to believe that it saves. It said so, or it says how far it is and was never told to save.
  bool mayMove() const;
  /// Takes over what runs that are over tell: why it has to wait, whether it saves. `past`: by number; `delay`: seconds
  /// that it waits after a first failure.
  void takePast(const std::vector<JobRunRecord> &past, double delay, double now);
};

/// Samples a second of a job in the row of its run, at its pace; 0: not known, as of a job that nobody described and
/// that did not run yet.
double plannedRate(const OpenJob &one);

/// Whether no sum or quotient with the numbers of a report leaves the range of numbers.
bool isPlausible(const ProgressReport &report);

/// Whether a run failed by itself, or was ended by somebody else than the scheduler before it got further.
bool hasFailed(const JobRunRecord &run);
/// When a job runs again whose last run is this one: `delay` seconds after its end, doubled with each failure. 0: at
/// once, it did not fail.
double retryTime(const ServedJob &job, const JobRunRecord &last, double delay, double now);
/// Whether a run was told to save, and nothing of what it did was kept.
bool keptNothing(const JobRunRecord &run);

/// What the engine said last.
struct EngineView {
  bool isHealthy = false;
  std::string health = "the engine was not asked yet";
  double at = 0;
  std::vector<EngineTask> tasks;
  std::vector<EngineNode> nodes;
};

/// Nodes with the devices of a described type, as servers.
struct ClusterNodes {
  jobs::Cluster cluster;
  std::vector<std::string> names;       ///< of servers, as the engine calls them
  std::vector<std::string> engineTypes; ///< of `cluster.types`, as the engine calls them
  std::vector<unsigned> away;           ///< servers that take no tasks now
  bool isSame(const ClusterNodes &other) const;
};
ClusterNodes clusterOf(const std::vector<EngineNode> &nodes, const std::vector<std::string> &types,
                       const std::map<std::string, DrainRecord> &drained);

/// What all parts of the process share. Parts are classes over the same data, each in a file of its own.
class SchedulerData : public SchedulerProcess {
public:
  SchedulerData(SchedulerOptions options, std::unique_ptr<ServiceStore> store, std::unique_ptr<Engine> engine,
                std::shared_ptr<JobModeller> modeller)
      : options(std::move(options)), store(std::move(store)), engine(std::move(engine)), modeller(std::move(modeller)) {
  }
  Result<void> load();
  Result<std::vector<std::string>> check() override;
  void setUrl(const std::string &to) override { url = to; }

protected:
  double now() const;
  /// Seconds since the clock of the cluster began; 0 where the system's clock went back behind that.
  double clusterTime() const { return std::max(0.0, now() - epoch); }
  std::string taskName(int64_t job, int64_t run) const;
  /// The job of a task by the name that `taskName` gives it; nothing for names that it never gives.
  std::optional<int64_t> jobOfTask(const std::string &task) const;
  std::string tokenOfTask(const std::string &task) const;
  /// Writes a change to the disk, and if that succeeds takes it into memory. Callers hold `changing`.
  bool commit(StoreChange change);
  ServiceEvent event(const std::string &kind, const ServedJob *job, const std::string &text,
                     const std::string &who = "") const;
  /// Callers hold `memory`.
  void needPlan(const std::string &why);
  /// Has a job priced (anew) if it needs that. Callers hold `memory`.
  void needModel(const OpenJob &one);

  const SchedulerOptions options;
  const std::unique_ptr<ServiceStore> store;
  const std::unique_ptr<Engine> engine;
  const std::shared_ptr<JobModeller> modeller;
  double epoch = 0;   ///< when the clock of the cluster began
  std::string url;    ///< at which tasks reach this process; empty: they do not
  std::string secret; ///< of tokens of tasks

  std::mutex draining; ///< who tells the engine of drains, which may take long; taken before `changing`
  std::mutex changing; ///< who changes jobs, runs or nodes; taken before `memory`. Nobody waits for the engine under it
  mutable std::mutex memory;
  mutable std::condition_variable changed; ///< of events, plans to make, jobs to model
  std::map<int64_t, OpenJob> open;
  std::set<int64_t> toModel;         ///< open jobs of which `needsModel` holds
  std::map<int64_t, JobPhase> ended; ///< jobs that are over and not complete: what comes after them never runs
  std::map<std::string, DrainRecord> drained;
  std::map<std::string, TokenRecord> tokens;   ///< by hash
  std::map<std::string, double> deviceSeconds; ///< of tenants
  EngineView seen;
  ClusterNodes nodes;
  uint64_t generation = 0; ///< of `nodes`: plans and models of an earlier one say nothing of these
  std::shared_ptr<const ClusterPlan> plan;
  double planned = 0, planSeconds = 0; ///< when, and how long it took
  std::string planReason, planHealth;  ///< why a plan is due (empty: none is); why there is none
  std::string lastReason;              ///< of the last plan
  double planAgainAt = 0;
  int64_t lastEvent = 0;
  std::string storeHealth; ///< why the last change could not be written; empty: it was
  bool isUrgent = false;   ///< the next cycle is to begin at once
  double lastAudit = 0;
  unsigned audits = 0;
  double lastStep = 0;                   ///< when the last cycle was
  std::set<std::string> strays;          ///< tasks that were told to end
  std::map<std::string, double> retryAt; ///< tasks of which the engine refused something
};

/// What the engine and the tasks say (Observe.cpp).
class EngineObserver : public virtual SchedulerData {
protected:
  bool lookAtEngine();
  void takeNodes();
  void observe();
  void readProgress();
  void stopStrays();
  static void takeProgress(OpenJob &open);
  /// What a report says, and what it changes in what is planned. Callers hold `changing` and `memory`.
  void takeReport(OpenJob &open, const ProgressReport &report);
  /// What a report changes in what is planned. Callers hold `memory`.
  void compareSpeed(OpenJob &open);

private:
  void drainAgain(const std::vector<std::string> &nodes);
  bool observeRun(OpenJob &open, const EngineTask *task, StoreChange &change);
  void endRun(OpenJob &open, JobRunRecord::Outcome outcome, const EngineTask *task, StoreChange &change);
  std::string lastWordsOf(const JobRunRecord &run) const;
  void settleJob(OpenJob &open, const EngineTask *task, StoreChange &change);
  void readProgressOf(OpenJob &open) const;
  void takeShare(OpenJob &open, const EngineTask &task);
  bool readLinesOf(OpenJob &open, int file, uint64_t size, double written) const;
  static void keepHistory(OpenJob &open);
  void learn(OpenJob &open);
  void compareWithPlan(OpenJob &open);
};

/// What has to be fetched to be known: metrics of programs, traces of their profilers (Sources.cpp).
class ProgressSources : public virtual EngineObserver {
protected:
  /// Looks at those whose time it is. Takes seconds where they do not answer; nothing is locked then.
  void readSources();
  /// A thread that does so every second.
  void watchSources(const std::atomic<bool> &stop);

private:
  void readMetrics(const OpenJob &one);
  void readTraces(const OpenJob &one);
  OpenJob *runOf(const OpenJob &one);
};

/// What is done next (Decide.cpp).
class RunStarter : public virtual SchedulerData {
protected:
  void decide();

private:
  void startDue();
  void askAgain();
  bool isLate() const;
  bool hasItsNodes(const JobRunRecord &run) const;
  void hand(const OpenJob &one);
  void start(const PlannedRun &planned, OpenJob one);
  void end(OpenJob one, const std::string &why);
  bool mayEnd(const OpenJob &one, const std::map<int64_t, PlannedRun> &due) const;
  bool isReady(const OpenJob &one) const;
  bool areComplete(const OpenJob &one) const;
  bool takesTasks(unsigned server) const;
  bool waitsForNode(const OpenJob &one) const;
  std::string engineType(const std::string &type) const;
  TaskRequest requestOf(const OpenJob &open, const JobRunRecord &run) const;

  std::chrono::steady_clock::time_point askUntil; ///< after that, the engine is asked for nothing more in this cycle
  int64_t askedLast = 0;                          ///< the job of whose run it was asked again last
};

/// When a plan is due, and what it is made of (Planning.cpp).
class PlanMaker : public virtual SchedulerData {
protected:
  bool modelNext();
  void planIfNeeded();
  /// A thread that prices jobs, or makes plans, when there is something to do.
  void work(const std::atomic<bool> &stop, bool models);

private:
  std::optional<int64_t> settleModels(int64_t from);
  void planNow();
  void cancelOrphans();
  PlannerInput plannerInput() const;
  void takePlan(Result<ClusterPlan, Errors> made, uint64_t of, double seconds);
  bool isLate(const OpenJob &open) const;
  int64_t secondsThatStay(const std::string &node) const;

  ThreadBehind tables{"tables"}, plans{"plans"};
};

/// What clients change (Requests.cpp).
class SchedulerRequests : public virtual EngineObserver {
public:
  Result<std::optional<std::string>> firstToken(const std::function<Result<void>(const std::string &)> &keep) override;
  std::optional<Caller> callerOf(const std::string &token) const override;
  Result<std::string> makeToken(const Caller &by, const Caller &of, double expires) override;
  Result<void> revokeToken(const Caller &by, const std::string &name) override;
  Result<std::pair<int64_t, bool>, Errors> submit(const Caller &by, const Submission &submission) override;
  Result<void> cancel(const Caller &by, int64_t job, const std::string &reason) override;
  Result<int64_t> keepTuning(const Caller &by, TuningRecord record) override;
  Result<void> drain(const Caller &by, const std::string &node, bool drained, const std::string &reason) override;
  Result<void> report(const std::string &taskToken, const ProgressReport &report) override;
  void audit(const std::string &kind, const std::string &who, const std::string &text) override;

private:
  Result<void> addToken(const std::string &token, const Caller &by, const Caller &of, double expires);
};

/// What clients see (Views.cpp).
class SchedulerViews : public virtual SchedulerData {
public:
  Result<JobView> job(const Caller &by, int64_t id) const override;
  Result<std::vector<JobView>> jobs(const Caller &by, const JobFilter &filter) const override;
  Result<std::vector<std::string>> explain(const Caller &by, int64_t job) const override;
  Result<std::vector<TuningRecord>> tunings(const Caller &by, const std::string &name, size_t limit) const override;
  Result<TuningRecord> tuning(const Caller &by, int64_t id) const override;
  Result<std::vector<RunView>> runs(const Caller &by, const RunFilter &filter) const override;
  ClusterView cluster(const Caller &by) const override;
  Result<std::vector<ServiceEvent>> events(const Caller &by, int64_t after, size_t limit,
                                           std::chrono::milliseconds wait) const override;
  std::string metrics() const override;

private:
  // Callers hold `memory`.
  JobView viewOf(const ServedJob &job) const;
  void addRun(JobView &view, const OpenJob &one) const;
  void addTimes(JobView &view, const OpenJob &one) const;
  std::string waitOf(const OpenJob &one) const;
  bool hasLaterRuns(int64_t job) const;
  void addNodes(ClusterView &view) const;
  void addTenants(ClusterView &view, const Caller &by) const;
};

class SchedulerCore final : public RunStarter,
                            public PlanMaker,
                            public ProgressSources,
                            public SchedulerRequests,
                            public SchedulerViews {
public:
  SchedulerCore(SchedulerOptions options, std::unique_ptr<ServiceStore> store, std::unique_ptr<Engine> engine,
                std::shared_ptr<JobModeller> modeller)
      : SchedulerData(std::move(options), std::move(store), std::move(engine), std::move(modeller)) {}
  void run(const std::atomic<bool> &stop) override;
  void step() override;

private:
  void forgetOld();
  bool isForgotten(const std::string &task) const;
  double forgot = 0; ///< when that was done last
  void followClock();
};

} // namespace accord::service
