#include "lib/service/store/ServiceStore.h"
#include "lib/service/store/GroupCommit.h"
#include "lib/service/store/Migrations.h"
#include "lib/service/store/OpenDatabase.h"
#include "lib/service/store/StoreCheck.h"
#include "lib/service/store/StoreRows.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::service {
namespace {

/// Phases from here on are over.
constexpr int64_t kOver = int64_t(JobPhase::Complete);
constexpr int64_t kEnded = int64_t(JobRunRecord::State::Ended);

int64_t limitOf(size_t limit) { return int64_t(std::min<size_t>(limit, 1'000'000'000)); }

/// A row of a job with what stands in other tables.
struct PreparedJob {
  Row row;
  std::vector<int64_t> after;
  std::vector<StoredFile> files;
};

Result<PreparedJob> prepare(ServedJob &job) {
  ACCORD_TRY(row, rowOf(job));
  return PreparedJob{std::move(row), job.submission.after, filesOf(job.submission)};
}

/// A change as rows, so that threads make them beside each other.
struct PreparedChange {
  std::vector<PreparedJob> jobs;
  std::vector<Row> runs, events, drained, tokens;
  std::vector<std::string> undrained;
  std::map<std::string, std::string> settings;
};

template <typename T> Result<void> prepareRows(std::vector<T> &items, std::vector<Row> &rows) {
  for (T &item : items) {
    ACCORD_TRY(row, rowOf(item));
    rows.push_back(std::move(row));
  }
  return {};
}

Result<PreparedChange> prepare(StoreChange &change) {
  PreparedChange prepared;
  for (ServedJob &job : change.jobs) {
    if (job.id < 1)
      return stateError(fmt::format("a job has the number {}, allowed are 1 or more", job.id));
    ACCORD_TRY(one, prepare(job));
    prepared.jobs.push_back(std::move(one));
  }
  for (Result<void> done : {prepareRows(change.runs, prepared.runs), prepareRows(change.events, prepared.events),
                            prepareRows(change.drained, prepared.drained), prepareRows(change.tokens, prepared.tokens)})
    if (!done)
      return done.takeError();
  prepared.undrained = std::move(change.undrained);
  prepared.settings = std::move(change.settings);
  return prepared;
}

/// Counts on and returns the last number; 0 more: the last one that was given.
Result<int64_t> countOn(Connection &connection, const char *counter, int64_t more) {
  ACCORD_TRY(rows, connection.query("update counters set value = value + ? where name = ? returning value",
                                    {more, std::string(counter)}));
  const auto *value = rows.size() == 1 ? std::get_if<int64_t>(&rows[0][0]) : nullptr;
  if (!value)
    return stateError(fmt::format("the state is damaged: there is no counter '{}'", counter));
  return *value;
}

Result<void> writeRows(Connection &connection, const std::string &statement, const std::vector<Row> &rows) {
  for (const Row &row : rows)
    if (auto done = connection.run(statement, row); !done)
      return done;
  return {};
}

Result<void> writeEvents(Connection &connection, const std::vector<Row> &events) {
  static const std::string kInsert = insertText("events", kEventColumns);
  if (events.empty())
    return {};
  ACCORD_TRY(last, countOn(connection, "event", int64_t(events.size())));
  int64_t number = last - int64_t(events.size());
  for (Row row : events) {
    row[0] = ++number;
    if (auto done = connection.run(kInsert, row); !done)
      return done;
  }
  return {};
}

Result<void> writeJob(Connection &connection, const PreparedJob &job) {
  static const std::string kUpsert = upsertText("jobs", kJobColumns, "id");
  if (auto done = connection.run(kUpsert, job.row); !done)
    return done;
  for (int64_t earlier : job.after)
    if (auto done = connection.run("insert into job_after (job, earlier) values (?, ?) on conflict do nothing",
                                   {job.row[0], earlier});
        !done)
      return done;
  for (const StoredFile &file : job.files) {
    if (auto done = connection.run("insert into files (hash, content) values (?, ?) on conflict do nothing",
                                   {file.hash, file.content});
        !done)
      return done;
    if (auto done = connection.run("insert into job_files (job, path, hash) values (?, ?, ?) on conflict do nothing",
                                   {job.row[0], file.path, file.hash});
        !done)
      return done;
  }
  return {};
}

Result<void> writeChange(Connection &connection, const PreparedChange &change) {
  static const std::string kRun = upsertText("runs", kRunColumns, "job, number"),
                           kDrain = upsertText("drains", kDrainColumns, "node"),
                           kToken = upsertText("tokens", kTokenColumns, "hash");
  int64_t highest = 0;
  for (const PreparedJob &job : change.jobs) {
    highest = std::max(highest, valueOf<int64_t>(job.row[0]));
    if (auto done = writeJob(connection, job); !done)
      return done;
  }
  if (highest > 0)
    if (auto done =
            connection.run("update counters set value = ? where name = 'job' and value < ?", {highest, highest});
        !done)
      return done;
  if (auto done = writeRows(connection, kRun, change.runs); !done)
    return done;
  if (auto done = writeEvents(connection, change.events); !done)
    return done;
  if (auto done = writeRows(connection, kDrain, change.drained); !done)
    return done;
  for (const std::string &node : change.undrained)
    if (auto done = connection.run("delete from drains where node = ?", {node}); !done)
      return done;
  if (auto done = writeRows(connection, kToken, change.tokens); !done)
    return done;
  for (const auto &[name, value] : change.settings)
    if (auto done = connection.run(upsertText("settings", "name, value", "name"), {name, value}); !done)
      return done;
  return {};
}

Result<void> readFiles(Connection &connection, ServedJob &job) {
  ACCORD_TRY(rows, connection.query("select f.path, c.content from job_files f join files c on c.hash = f.hash "
                                    "where f.job = ?",
                                    {job.id}));
  for (const Row &row : rows)
    job.submission.files[valueOf<std::string>(row[0])] = valueOf<std::string>(row[1]);
  return {};
}

Result<std::optional<ServedJob>> readJob(Connection &connection, const std::string &where, const Row &parameters) {
  ACCORD_TRY(rows, connection.query(fmt::format("select {} from jobs where {}", kJobColumns, where), parameters));
  if (rows.empty())
    return std::optional<ServedJob>();
  ACCORD_TRY(job, jobOf(rows[0]));
  if (auto read = readFiles(connection, job); !read)
    return read.takeError();
  return std::optional<ServedJob>(std::move(job));
}

class StoreInDatabase final : public ServiceStore {
public:
  explicit StoreInDatabase(std::unique_ptr<Database> opened) : database(std::move(opened)), group(*database) {}

  Result<void> apply(StoreChange change) override {
    if (change.isEmpty())
      return {};
    ACCORD_TRY(prepared, prepare(change));
    return group.run([&](Connection &connection) { return writeChange(connection, prepared); });
  }
  Result<std::pair<ServedJob, bool>> addJob(ServedJob job, ServiceEvent event) override;
  Result<std::optional<ServedJob>> job(int64_t id) override;
  Result<std::vector<ServedJob>> jobs(const JobFilter &filter) override;
  Result<std::vector<ServedJob>> openJobs() override {
    return list(jobOf, kJobColumns, "jobs where phase < ? order by id", {kOver});
  }
  Result<std::vector<JobRunRecord>> runsOf(int64_t job) override {
    return list(runOf, kRunColumns, "runs where job = ? order by number", {job});
  }
  Result<std::vector<JobRunRecord>> openRuns() override {
    return list(runOf, kRunColumns, "runs where state < ? order by job, number", {kEnded});
  }
  Result<std::vector<NamedRun>> runsBetween(const RunFilter &filter) override;
  Result<std::vector<ServiceEvent>> events(int64_t after, const std::string &tenant, size_t limit) override;
  Result<int64_t> lastEvent() override;
  Result<std::vector<ServiceEvent>> eventsOf(int64_t job, size_t limit) override;
  Result<std::vector<DrainRecord>> drained() override;
  Result<std::vector<TokenRecord>> tokens() override;
  Result<std::map<std::string, std::string>> settings() override;
  Result<std::map<JobPhase, int64_t>> counts() override;
  Result<void> prune(double time) override;
  Result<int64_t> addTuning(TuningRecord record) override;
  Result<std::vector<TuningRecord>> tunings(const std::string &tenant, const std::string &name, size_t limit) override;
  Result<std::optional<TuningRecord>> tuning(int64_t id) override;
  Result<void> backup(const std::string &path) override { return database->backup(path); }
  Result<std::vector<std::string>> check() override { return checkStore(*database); }

  /// Whether all tables have all columns.
  Result<void> probe();

private:
  /// Rows of "select COLUMNS from `what`".
  template <typename T>
  Result<std::vector<T>> list(Result<T> (*read)(const Row &), const char *columns, const std::string &what,
                              const Row &parameters = {}) {
    std::vector<Row> rows;
    auto done = database->read([&](Connection &connection) -> Result<void> {
      ACCORD_TRY(found, connection.query(fmt::format("select {} from {}", columns, what), parameters));
      rows = std::move(found);
      return {};
    });
    if (!done)
      return done.takeError();
    std::vector<T> all;
    all.reserve(rows.size());
    for (const Row &row : rows) {
      ACCORD_TRY(one, read(row));
      all.push_back(std::move(one));
    }
    return all;
  }
  Result<int64_t> pruneJobs(double time);
  Result<int64_t> pruneEvents(double time);

  std::unique_ptr<Database> database;
  GroupCommit group;
};

Result<std::pair<ServedJob, bool>> StoreInDatabase::addJob(ServedJob job, ServiceEvent event) {
  job.id = 0;
  ACCORD_TRY(prepared, prepare(job));
  ACCORD_TRY(eventRow, rowOf(event));
  bool isNew = true;
  ServedJob stored;
  auto done = group.run([&](Connection &connection) -> Result<void> {
    isNew = true;
    const Submission &submission = job.submission;
    if (!submission.key.empty()) {
      ACCORD_TRY(known, readJob(connection, "tenant = ? and submission_key = ? and submission_key <> ''",
                                {submission.tenant, submission.key}));
      if (known) {
        isNew = false;
        stored = std::move(*known);
        return {};
      }
    }
    ACCORD_TRY(id, countOn(connection, "job", 1));
    prepared.row[0] = id;
    eventRow[3] = id;
    if (auto written = writeJob(connection, prepared); !written)
      return written;
    return writeEvents(connection, {eventRow});
  });
  if (!done)
    return done.takeError();
  if (!isNew)
    return std::pair(std::move(stored), false);
  job.id = valueOf<int64_t>(prepared.row[0]);
  return std::pair(std::move(job), true);
}

Result<std::optional<ServedJob>> StoreInDatabase::job(int64_t id) {
  std::optional<ServedJob> found;
  auto done = database->read([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(one, readJob(connection, "id = ?", {id}));
    found = std::move(one);
    return {};
  });
  if (!done)
    return done.takeError();
  return found;
}

Result<std::vector<ServedJob>> StoreInDatabase::jobs(const JobFilter &filter) {
  std::string where;
  Row parameters;
  auto add = [&](const std::string &condition, Cell value) {
    where += (where.empty() ? "where " : " and ") + condition;
    parameters.push_back(std::move(value));
  };
  if (!filter.phases.empty()) {
    std::string marks;
    for (JobPhase phase : filter.phases) {
      marks += marks.empty() ? "?" : ", ?";
      parameters.push_back(int64_t(phase));
    }
    where = fmt::format("where phase in ({})", marks);
  }
  if (!filter.tenant.empty())
    add("tenant = ?", filter.tenant);
  if (!filter.name.empty())
    add("name = ?", filter.name);
  if (!filter.prefix.empty()) // names are ASCII; what a range of texts has depends on the database
    add(fmt::format("substr(name, 1, {}) = ?", filter.prefix.size()), filter.prefix);
  if (filter.after > 0 || !filter.newestFirst)
    add(filter.newestFirst ? "id < ?" : "id > ?", filter.after);
  parameters.push_back(limitOf(filter.limit));
  return list(jobOf, kJobColumns,
              fmt::format("jobs {} order by id {} limit ?", where, filter.newestFirst ? "desc" : ""), parameters);
}

Result<std::vector<NamedRun>> StoreInDatabase::runsBetween(const RunFilter &filter) {
  // A run that has not started was there since it was intended; an open one has no end.
  constexpr const char *kStart = "(case when started > 0 then started else intended end)";
  std::string more;
  Row parameters = {kEnded, filter.from, filter.until};
  if (filter.job > 0) {
    more += " and job = ?";
    parameters.emplace_back(filter.job);
  }
  if (!filter.tenant.empty()) {
    more += " and exists (select 1 from jobs where id = job and tenant = ?)";
    parameters.emplace_back(filter.tenant);
  }
  parameters.emplace_back(limitOf(filter.limit));
  return list(namedRunOf, fmt::format("{}, {}", kRunColumns, kRunNames).c_str(),
              fmt::format("runs where (state < ? or ended > ?) and {} < ?{} order by {}, job, number limit ?", kStart,
                          more, kStart),
              parameters);
}

Result<std::vector<ServiceEvent>> StoreInDatabase::events(int64_t after, const std::string &tenant, size_t limit) {
  if (tenant.empty())
    return list(eventOf, kEventColumns, "events where number > ? order by number limit ?", {after, limitOf(limit)});
  return list(eventOf, kEventColumns, "events where number > ? and (tenant = ? or tenant = '') order by number limit ?",
              {after, tenant, limitOf(limit)});
}

Result<int64_t> StoreInDatabase::lastEvent() {
  ACCORD_TRY(last, list(eventOf, kEventColumns, "events order by number desc limit 1", {}));
  return last.empty() ? 0 : last.front().number;
}

Result<std::vector<ServiceEvent>> StoreInDatabase::eventsOf(int64_t job, size_t limit) {
  auto newest =
      list(eventOf, kEventColumns, "events where job = ? order by number desc limit ?", {job, limitOf(limit)});
  if (newest)
    std::reverse(newest->begin(), newest->end());
  return newest;
}

Result<std::vector<DrainRecord>> StoreInDatabase::drained() {
  auto all = list(drainOf, kDrainColumns, "drains");
  if (all) // databases order texts in different ways
    std::sort(all->begin(), all->end(), [](const auto &a, const auto &b) { return a.node < b.node; });
  return all;
}

Result<std::vector<TokenRecord>> StoreInDatabase::tokens() {
  auto all = list(tokenOf, kTokenColumns, "tokens");
  if (all)
    std::sort(all->begin(), all->end(), [](const auto &a, const auto &b) { return a.hash < b.hash; });
  return all;
}

Result<std::map<std::string, std::string>> StoreInDatabase::settings() {
  std::map<std::string, std::string> all;
  auto done = database->read([&](Connection &connection) -> Result<void> {
    all.clear();
    ACCORD_TRY(rows, connection.query("select name, value from settings"));
    for (const Row &row : rows)
      all[valueOf<std::string>(row[0])] = valueOf<std::string>(row[1]);
    return {};
  });
  if (!done)
    return done.takeError();
  return all;
}

Result<std::map<JobPhase, int64_t>> StoreInDatabase::counts() {
  std::map<JobPhase, int64_t> all;
  auto done = database->read([&](Connection &connection) -> Result<void> {
    all.clear();
    ACCORD_TRY(rows, connection.query("select phase, count(*) from jobs group by phase"));
    for (const Row &row : rows) {
      int64_t phase = valueOf<int64_t>(row[0]);
      if (phase >= 0 && phase <= int64_t(JobPhase::Cancelled))
        all[static_cast<JobPhase>(phase)] = valueOf<int64_t>(row[1]);
    }
    return {};
  });
  if (!done)
    return done.takeError();
  return all;
}

Result<int64_t> StoreInDatabase::addTuning(TuningRecord record) {
  const std::string hash = contentHash(record.document);
  int64_t id = 0;
  auto done = group.run([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(known, connection.query("select id from tunings where tenant = ? and name = ? and hash = ?",
                                       {record.tenant, record.name, hash}));
    if (!known.empty()) {
      id = valueOf<int64_t>(known[0][0]);
      return {};
    }
    ACCORD_TRY(next, countOn(connection, "tuning", 1));
    id = next;
    if (auto written =
            connection.run(insertText("tunings", "id, tenant, name, hash, submitter, time, document"),
                           {id, record.tenant, record.name, hash, record.user, record.time, record.document});
        !written)
      return written;
    return connection.run("delete from tunings where tenant = ? and id not in (select id from tunings where tenant = ? "
                          "order by id desc limit ?)",
                          {record.tenant, record.tenant, limitOf(kMaxTunings)});
  });
  if (!done)
    return done.takeError();
  return id;
}

Result<std::vector<TuningRecord>> StoreInDatabase::tunings(const std::string &tenant, const std::string &name,
                                                           size_t limit) {
  return list(tuningOf, "id, tenant, name, submitter, time, ''",
              "tunings where (tenant = ? or ? = '') and (name = ? or ? = '') order by id desc limit ?",
              {tenant, tenant, name, name, limitOf(limit)});
}

Result<std::optional<TuningRecord>> StoreInDatabase::tuning(int64_t id) {
  ACCORD_TRY(found, list(tuningOf, kTuningColumns, "tunings where id = ?", {id}));
  return found.empty() ? std::optional<TuningRecord>() : std::optional(std::move(found.front()));
}

/// Returns how many were removed, at most as many as one transaction should.
Result<int64_t> StoreInDatabase::pruneJobs(double time) {
  int64_t removed = 0;
  auto done = group.run([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(rows, connection.query("select id from jobs where phase >= ? and ended > 0 and ended < ? "
                                      "and not exists (select 1 from runs where runs.job = jobs.id and runs.state < ?) "
                                      "and not exists (select 1 from job_after a join jobs later on later.id = a.job "
                                      "where a.earlier = jobs.id and later.phase < ?) order by id limit 500",
                                      {kOver, time, kEnded, kOver}));
    for (const Row &row : rows)
      if (auto gone = connection.run("delete from jobs where id = ?", {row[0]}); !gone)
        return gone;
    removed = int64_t(rows.size());
    if (rows.empty())
      return {};
    return connection.run("delete from files where not exists (select 1 from job_files where job_files.hash = "
                          "files.hash)");
  });
  if (!done)
    return done.takeError();
  return removed;
}

/// Events before the first of `time` or later, so that none is missing between those that stay.
Result<int64_t> StoreInDatabase::pruneEvents(double time) {
  int64_t removed = 0;
  auto done = group.run([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(rows, connection.query("select coalesce(min(number), 0), coalesce((select min(number) from events where "
                                      "time >= ?), (select value + 1 from counters where name = 'event')) from events",
                                      {time}));
    int64_t first = valueOf<int64_t>(rows[0][0]), keep = valueOf<int64_t>(rows[0][1]);
    int64_t end = std::min(keep, first + 20'000);
    removed = first > 0 ? std::max<int64_t>(end - first, 0) : 0;
    return removed > 0 ? connection.run("delete from events where number < ?", {end}) : Result<void>();
  });
  if (!done)
    return done.takeError();
  return removed;
}

Result<void> StoreInDatabase::prune(double time) {
  for (auto step : {&StoreInDatabase::pruneJobs, &StoreInDatabase::pruneEvents})
    for (bool more = true; more;) {
      ACCORD_TRY(removed, (this->*step)(time));
      more = removed > 0;
    }
  return {};
}

Result<void> StoreInDatabase::probe() {
  return database->read([&](Connection &connection) -> Result<void> {
    for (auto [table, columns] :
         std::initializer_list<std::pair<const char *, const char *>>{{"jobs", kJobColumns},
                                                                      {"runs", kRunColumns},
                                                                      {"events", kEventColumns},
                                                                      {"drains", kDrainColumns},
                                                                      {"tokens", kTokenColumns},
                                                                      {"settings", "name, value"},
                                                                      {"tunings", kTuningColumns},
                                                                      {"counters", "name, value"},
                                                                      {"files", "hash, content"},
                                                                      {"job_files", "job, path, hash"},
                                                                      {"job_after", "job, earlier"}})
      if (auto read = connection.run(fmt::format("select {} from {} limit 0", columns, table)); !read)
        return read;
    return {};
  });
}

} // namespace

bool StoreChange::isEmpty() const {
  return jobs.empty() && runs.empty() && events.empty() && drained.empty() && undrained.empty() && tokens.empty() &&
         settings.empty();
}

Result<std::unique_ptr<ServiceStore>> ServiceStore::open(const std::string &url) {
  ACCORD_TRY(database, openDatabase(url));
  if (auto migrated = migrate(*database); !migrated)
    return migrated.takeError();
  auto store = std::make_unique<StoreInDatabase>(std::move(database));
  if (auto probed = store->probe(); !probed)
    return probed.takeError();
  return store;
}

} // namespace accord::service
