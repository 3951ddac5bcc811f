// The state of a scheduler process in a database: jobs, runs, nodes that were drained, plans, tokens, tenants and the
// log of events. Every change that belongs together is one transaction.
#pragma once
#include "lib/service/problem/ServedJob.h"
#include "lib/service/store/Database.h"
#include <optional>

namespace accord::service {

struct TokenRecord {
  std::string hash; ///< SHA-256 of the token, in hexadecimal; tokens themselves are not stored
  Caller caller;
  double created = 0, expires = 0; ///< 0: never
  bool isRevoked = false;
};

/// A node that an operator drained.
struct DrainRecord {
  std::string node, reason, who;
  double since = 0;
};

/// Changes that happen together or not at all.
struct StoreChange {
  std::vector<ServedJob> jobs;      ///< as they are from now on, by id; `addJob` numbers new ones
  std::vector<JobRunRecord> runs;   ///< by (job, number)
  std::vector<ServiceEvent> events; ///< get their numbers
  std::vector<DrainRecord> drained;
  std::vector<std::string> undrained; ///< nodes
  std::vector<TokenRecord> tokens;    ///< by hash
  std::map<std::string, std::string> settings;
  bool isEmpty() const;
};

struct JobFilter {
  std::vector<JobPhase> phases; ///< empty: all
  std::string tenant, name;     ///< empty: all
  std::string prefix = {};      ///< with which names begin; empty: all
  int64_t after = 0;            ///< ids above it
  size_t limit = 100;
  bool newestFirst = false; ///< then `after`, if above 0, means ids below it
};

/// Runs that were there between two times.
struct RunFilter {
  double from = 0, until = 1e12; ///< seconds since 1970
  int64_t job = 0;               ///< 0: of all
  std::string tenant = {};       ///< empty: of all
  size_t limit = 1000;           ///< the first ones by their start
};

/// A run with what its job is called.
struct NamedRun {
  JobRunRecord run;
  std::string name, tenant;
};

/// The result of a tuning of hyper-parameters, with whose best configurations a later one begins.
struct TuningRecord {
  int64_t id = 0;   ///< counts from 1, never used again
  std::string name; ///< of the tuning
  std::string tenant, user;
  double time = 0;           ///< when it was kept, seconds since 1970
  std::string document = {}; ///< `tune.json` as text; lists leave it out
};
/// Of each tenant the newest ones are kept.
constexpr size_t kMaxTunings = 200, kMaxTuningBytes = size_t(4) << 20;

class ServiceStore {
public:
  /// Opens the database and brings it to the newest version of the tables, each step in a transaction. Error A1204: it
  /// is newer than this program, or damaged.
  static Result<std::unique_ptr<ServiceStore>> open(const std::string &url);
  virtual ~ServiceStore() = default;

  /// Writes all of a change. Many calls from several threads at once share a transaction and one flush to the disk. The
  /// files of a submission are written once, and stay when a job is given without them. Errors: A1204, nothing of it
  /// happened; numbers that are not finite and texts with NUL are refused.
  virtual Result<void> apply(StoreChange change) = 0;
  /// Numbers and writes a new job with the event of its submission. A tenant's job with the same key, if the key is not
  /// empty, is returned instead (`second` false). Shares transactions as `apply` does.
  virtual Result<std::pair<ServedJob, bool>> addJob(ServedJob job, ServiceEvent event) = 0;

  /// With the texts of its files, which lists leave out.
  virtual Result<std::optional<ServedJob>> job(int64_t id) = 0;
  virtual Result<std::vector<ServedJob>> jobs(const JobFilter &filter) = 0;
  /// All that are not over, by id: what the scheduler keeps in memory.
  virtual Result<std::vector<ServedJob>> openJobs() = 0;
  virtual Result<std::vector<JobRunRecord>> runsOf(int64_t job) = 0;
  virtual Result<std::vector<JobRunRecord>> openRuns() = 0;
  /// By start; for pictures of the past.
  virtual Result<std::vector<NamedRun>> runsBetween(const RunFilter &filter) = 0;
  /// Those with a number above `after`, ascending: of a tenant and of none, or with an empty `tenant` all.
  virtual Result<std::vector<ServiceEvent>> events(int64_t after, const std::string &tenant, size_t limit) = 0;
  /// The number of the last event; 0: none.
  virtual Result<int64_t> lastEvent() = 0;
  /// The last ones of a job, ascending.
  virtual Result<std::vector<ServiceEvent>> eventsOf(int64_t job, size_t limit) = 0;
  virtual Result<std::vector<DrainRecord>> drained() = 0;
  virtual Result<std::vector<TokenRecord>> tokens() = 0;
  virtual Result<std::map<std::string, std::string>> settings() = 0;
  /// How many jobs are in each phase.
  virtual Result<std::map<JobPhase, int64_t>> counts() = 0;
  /// Removes events and jobs that were over before `time`, with their runs and files. A job stays while a run of it is
  /// open, or a job that is not over waits for it; of the events, only the first ones go, so that there are no holes.
  virtual Result<void> prune(double time) = 0;
  /// Numbers and keeps the result of a tuning. The same document of a tenant and a name once more is the first one. The
  /// oldest of the tenant above `kMaxTunings` go.
  virtual Result<int64_t> addTuning(TuningRecord record) = 0;
  /// The newest first, of a tenant and of a name, or with an empty one of all.
  virtual Result<std::vector<TuningRecord>> tunings(const std::string &tenant, const std::string &name,
                                                    size_t limit) = 0;
  virtual Result<std::optional<TuningRecord>> tuning(int64_t id) = 0;
  virtual Result<void> backup(const std::string &path) = 0;
  /// What is wrong with the database, or with what it says (a run of no job, two open runs of a job, a phase that its
  /// runs contradict, events with holes); empty: nothing.
  virtual Result<std::vector<std::string>> check() = 0;
};

} // namespace accord::service
