#include "lib/service/store/StoreRows.h"
#include "lib/service/problem/ServiceJson.h"
#include "lib/service/store/OpenDatabase.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord::service {
namespace {

/// The cells of a row one after the other; a cell of another type makes the row damaged.
class Cells {
public:
  Cells(const Row &row, const char *what, size_t columns) : row(row), what(what), isSound(row.size() == columns) {}

  void next(int64_t &value) { take(value); }
  void next(double &value) {
    int64_t whole = 0;
    if (isSound && std::holds_alternative<int64_t>(row[at]))
      take(whole), value = whole;
    else
      take(value);
  }
  void next(std::string &value) { take(value); }
  void next(int &value) {
    int64_t whole = 0;
    take(whole);
    isSound = isSound && whole == int(whole);
    value = int(whole);
  }
  void next(bool &value) {
    int64_t whole = 0;
    take(whole);
    value = whole != 0;
  }
  template <typename E> void word(E &value, E last) {
    int64_t whole = 0;
    take(whole);
    isSound = isSound && whole >= 0 && whole <= int64_t(last);
    value = isSound ? static_cast<E>(whole) : value;
  }
  /// JSON text. Ranges were checked when it was taken in.
  template <typename T> void json(T &value) {
    std::string text;
    take(text);
    if (!isSound)
      return;
    auto document = readJsonText(text);
    json::Path::Root root;
    isSound = document && readJson(*document, root, [&](JsonVisitor &v) { visitValue(v, value); }, JsonRule::Open);
    if (document && !isSound)
      consumeError(root.getError());
  }
  template <typename... T> void all(T &...values) { (next(values), ...); }

  std::optional<Error> damage() const {
    if (isSound)
      return std::nullopt;
    const auto *key = row.empty() ? nullptr : std::get_if<int64_t>(&row[0]);
    return stateError(key ? fmt::format("the state is damaged: {} {} cannot be read", what, *key)
                          : fmt::format("the state is damaged: {} cannot be read", what));
  }

private:
  template <typename T> void take(T &value) {
    const T *cell = isSound ? std::get_if<T>(&row[at]) : nullptr;
    ++at;
    isSound = cell;
    if (cell)
      value = *cell;
  }

  const Row &row;
  const char *what;
  size_t at = 0;
  bool isSound;
};

Result<Row> finite(Row row, const char *what, int64_t number) {
  for (const Cell &cell : row)
    if (const auto *value = std::get_if<double>(&cell); value && !std::isfinite(*value))
      return stateError(fmt::format("{} {} has a number that is not finite", what, number));
  return row;
}

bool isFinite(const Submission &all) {
  bool isMeasured =
      llvm::all_of(all.measured, [](const MeasuredConfiguration &one) { return std::isfinite(one.rate); });
  return isMeasured && llvm::all_of(ArrayRef<double>{all.samples, all.deadline, all.due, all.latePrice, all.priority,
                                                     all.restart, all.notice},
                                    [](double value) { return std::isfinite(value); });
}

bool isFinite(const JobProgressState &all) {
  return llvm::all_of(ArrayRef<double>{all.samples, all.saved, all.reported, all.rate, all.rateLow, all.rateHigh,
                                       all.batch, all.noise, all.loss},
                      [](double value) { return std::isfinite(value); });
}

SmallVector<StringRef> split(StringRef columns) {
  SmallVector<StringRef> all;
  columns.split(all, ", ");
  return all;
}

} // namespace

std::string insertText(const std::string &table, const std::string &columns) {
  std::string marks;
  for (size_t i = 0; i < split(columns).size(); ++i)
    marks += i ? ", ?" : "?";
  return fmt::format("insert into {} ({}) values ({})", table, columns, marks);
}

std::string upsertText(const std::string &table, const std::string &columns, const std::string &keys) {
  auto isKey = split(keys);
  std::string sets;
  for (StringRef column : split(columns))
    if (!is_contained(isKey, column))
      sets += fmt::format("{}{} = excluded.{}", sets.empty() ? "" : ", ", column.str(), column.str());
  return fmt::format("{} on conflict ({}) do update set {}", insertText(table, columns), keys, sets);
}

std::string contentHash(const std::string &content) {
  return toHex(SHA256::hash(ArrayRef(reinterpret_cast<const uint8_t *>(content.data()), content.size())), true);
}

std::vector<StoredFile> filesOf(const Submission &submission) {
  std::vector<StoredFile> files;
  for (const auto &[path, content] : submission.files)
    files.push_back({path, contentHash(content), content});
  return files;
}

Result<Row> rowOf(ServedJob &job) {
  Submission &submission = job.submission;
  if (!isFinite(submission) || !isFinite(job.progress))
    return stateError(fmt::format("job {} has a number that is not finite", job.id));
  auto files = std::exchange(submission.files, {});
  std::string text = jsonLine(toDocument(submission));
  submission.files = std::move(files);
  return finite({job.id, submission.tenant, submission.name, submission.key, int64_t(job.phase), job.reason,
                 job.submitted, job.started, job.ended, job.samples, job.runs, job.failures, job.user, std::move(text),
                 jsonLine(toDocument(job.progress))},
                "job", job.id);
}

Result<ServedJob> jobOf(const Row &row) {
  ServedJob job;
  std::string tenant, name, key;
  Cells cells(row, "job", 15);
  cells.all(job.id, tenant, name, key);
  cells.word(job.phase, JobPhase::Cancelled);
  cells.all(job.reason, job.submitted, job.started, job.ended, job.samples, job.runs, job.failures, job.user);
  cells.json(job.submission);
  cells.json(job.progress);
  if (auto damage = cells.damage())
    return *damage;
  return job;
}

Result<Row> rowOf(const JobRunRecord &run) {
  return finite({run.job,
                 run.number,
                 int64_t(run.state),
                 int64_t(run.outcome),
                 run.task,
                 run.engineId,
                 run.deviceType,
                 run.devices,
                 run.devicesPerNode,
                 run.configuration,
                 run.plan,
                 jsonLine(toDocument(run.nodes)),
                 run.planned,
                 run.plannedEnd,
                 run.intended,
                 run.started,
                 run.stopping,
                 run.ended,
                 run.samplesAtStart,
                 run.samplesAtEnd,
                 run.reason,
                 int64_t(run.exitCode)},
                "a run of job", run.job);
}

Result<JobRunRecord> runOf(const Row &row) {
  JobRunRecord run;
  Cells cells(row, "a run of job", 22);
  cells.all(run.job, run.number);
  cells.word(run.state, JobRunRecord::State::Ended);
  cells.word(run.outcome, JobRunRecord::Outcome::Refused);
  cells.all(run.task, run.engineId, run.deviceType, run.devices, run.devicesPerNode, run.configuration, run.plan);
  cells.json(run.nodes);
  cells.all(run.planned, run.plannedEnd, run.intended, run.started, run.stopping, run.ended, run.samplesAtStart,
            run.samplesAtEnd, run.reason, run.exitCode);
  if (auto damage = cells.damage())
    return *damage;
  return run;
}

Result<NamedRun> namedRunOf(const Row &row) {
  if (row.size() < 2)
    return stateError("the state is damaged: a run of a job cannot be read");
  ACCORD_TRY(run, runOf(Row(row.begin(), row.end() - 2)));
  return NamedRun{std::move(run), valueOf<std::string>(row[row.size() - 2]), valueOf<std::string>(row.back())};
}

Result<Row> rowOf(const ServiceEvent &event) {
  return finite({event.number, event.time, event.kind, event.job, event.tenant, event.who, event.text},
                "an event of job", event.job);
}

Result<ServiceEvent> eventOf(const Row &row) {
  ServiceEvent event;
  Cells cells(row, "event", 7);
  cells.all(event.number, event.time, event.kind, event.job, event.tenant, event.who, event.text);
  if (auto damage = cells.damage())
    return *damage;
  return event;
}

Result<Row> rowOf(const DrainRecord &drain) {
  return finite({drain.node, drain.reason, drain.who, drain.since}, "a drained node of", 0);
}

Result<DrainRecord> drainOf(const Row &row) {
  DrainRecord drain;
  Cells cells(row, "a drained node", 4);
  cells.all(drain.node, drain.reason, drain.who, drain.since);
  if (auto damage = cells.damage())
    return *damage;
  return drain;
}

Result<TuningRecord> tuningOf(const Row &row) {
  TuningRecord tuning;
  Cells cells(row, "a tuning", 6);
  cells.all(tuning.id, tuning.tenant, tuning.name, tuning.user, tuning.time, tuning.document);
  if (auto damage = cells.damage())
    return *damage;
  return tuning;
}

Result<Row> rowOf(const TokenRecord &token) {
  return finite({token.hash, token.caller.name, token.caller.tenant, int64_t(token.caller.role), token.created,
                 token.expires, int64_t(token.isRevoked)},
                "a token of", 0);
}

Result<TokenRecord> tokenOf(const Row &row) {
  TokenRecord token;
  Cells cells(row, "a token", 7);
  cells.all(token.hash, token.caller.name, token.caller.tenant);
  cells.word(token.caller.role, Role::Operator);
  cells.all(token.created, token.expires, token.isRevoked);
  if (auto damage = cells.damage())
    return *damage;
  return token;
}

} // namespace accord::service
