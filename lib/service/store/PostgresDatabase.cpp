// PostgreSQL by libpqxx: one session writes and holds an advisory lock against other schedulers, others read beside it.
//
// A connection that is lost before a commit is asked for has written nothing, and the transaction is tried again. If it
// is lost while the answer to a commit is awaited, the new session asks what became of the transaction by its number
// (txid_status), and tries again only what was not committed.
#include "lib/service/store/OpenDatabase.h"
#include "lib/service/store/PostgresSession.h"
#include <fmt/format.h>

namespace accord::service {
namespace {

constexpr size_t kReaders = 4;
constexpr int kStatusTries = 6;

/// The first cell of the first row as a whole number.
std::optional<int64_t> wholeOf(const std::vector<Row> &rows) {
  if (rows.empty() || rows[0].empty() || !std::holds_alternative<int64_t>(rows[0][0]))
    return std::nullopt;
  return valueOf<int64_t>(rows[0][0]);
}

class PostgresDatabase final : public Database {
public:
  explicit PostgresDatabase(PostgresAddress address) : address(std::move(address)) {}

  std::string kind() const override { return "postgresql"; }
  Result<void> transaction(const std::function<Result<void>(Connection &)> &work) override;
  Result<void> read(const std::function<Result<void>(Connection &)> &work) override;
  Result<void> backup(const std::string &) override {
    return stateError(fmt::format("'{}' is copied by pg_dump, not by the scheduler", address.shown));
  }
  Result<std::vector<std::string>> check() override;

  /// Opens the session that writes, if there is none, and takes the lock.
  Result<void> openWriter();

private:
  enum class End : uint8_t { Done, Failed, Again };
  /// One try of a transaction.
  End attempt(const std::function<Result<void>(Connection &)> &work, Result<void> &done);
  /// What became of a transaction whose commit was not answered.
  End askStatus(int64_t number, Result<void> &done);
  Result<void> lockSession(PostgresSession &session);
  Result<void> countOpening(PostgresSession &session);

  const PostgresAddress address;
  std::mutex mutex;
  std::unique_ptr<PostgresSession> writer;
  /// Counts the processes that opened it, so that one that lost its lock knows whether another one wrote since.
  std::optional<int64_t> generation;
  ConnectionPool<PostgresSession> readers{kReaders};
};

/// Tries to take the lock. An own session of before that the server still has is ended; another
/// process that stays is named.
Result<void> PostgresDatabase::lockSession(PostgresSession &session) {
  constexpr const char *kKey = "1094927183, hashtext(current_schema()::text)";
  constexpr const char *kHolder =
      "select l.pid, coalesce(a.application_name, '') from pg_locks l join pg_stat_activity a on a.pid = l.pid "
      "where l.locktype = 'advisory' and l.granted and l.classid = 1094927183 and l.database = "
      "(select oid from pg_database where datname = current_database()) "
      "and l.objid = (hashtext(current_schema()::text)::bigint & 4294967295)::oid";
  std::string holder = "another process";
  for (int tries = 0; tries < kStatusTries; ++tries) {
    ACCORD_TRY(taken, session.query(fmt::format("select pg_try_advisory_lock({})::int", kKey), {}));
    if (wholeOf(taken) == 1)
      return {};
    ACCORD_TRY(rows, session.query(kHolder, {}));
    if (const auto *name = rows.empty() ? nullptr : std::get_if<std::string>(&rows[0][1])) {
      holder = *name;
      if (*name == address.process)
        (void)session.query("select pg_terminate_backend(?)::int", {valueOf<int64_t>(rows[0][0])});
      else if (tries > 1) // one that ended a moment ago may still be there
        break;
    }
    waitBeforeRetry(tries > 2 ? 2 : tries);
  }
  return stateError(fmt::format("'{}' is in use by {}", address.shown, holder));
}

Result<void> PostgresDatabase::countOpening(PostgresSession &session) {
  if (!generation)
    for (const char *statement : {"create table if not exists accord_opened (one bigint primary key, number bigint)",
                                  "insert into accord_opened values (1, 0) on conflict (one) do nothing",
                                  "update accord_opened set number = number + 1"})
      if (auto done = session.run(statement, {}); !done)
        return done;
  ACCORD_TRY(rows, session.query("select number from accord_opened", {}));
  std::optional<int64_t> found = wholeOf(rows);
  if (!found || (generation && *generation != *found))
    return stateError(fmt::format("another process has used '{}' while the connection was lost", address.shown));
  generation = found;
  return {};
}

Result<void> PostgresDatabase::openWriter() {
  if (writer && writer->isOpen())
    return {};
  writer = nullptr;
  ACCORD_TRY(session, PostgresSession::open(address));
  if (auto locked = lockSession(*session); !locked)
    return locked;
  if (auto counted = countOpening(*session); !counted)
    return counted;
  writer = std::move(session);
  return {};
}

PostgresDatabase::End PostgresDatabase::askStatus(int64_t number, Result<void> &done) {
  for (int tries = 0; tries < kStatusTries; ++tries) {
    waitBeforeRetry(tries > 3 ? 3 : tries);
    if (auto opened = openWriter(); !opened)
      continue;
    auto rows = writer->query("select coalesce(txid_status(?), 'too old')", {number});
    if (!rows || rows->empty())
      continue;
    const auto *status = std::get_if<std::string>(&(*rows)[0][0]);
    if (status && *status == "committed")
      return done = {}, End::Done;
    if (status && *status == "aborted")
      return End::Again;
    if (!status || *status != "in progress")
      break;
  }
  done = stateError(fmt::format("the connection to '{}' was lost in a commit: it is not known whether it was written",
                                address.shown));
  return End::Failed;
}

PostgresDatabase::End PostgresDatabase::attempt(const std::function<Result<void>(Connection &)> &work,
                                                Result<void> &done) {
  if (done = openWriter(); !done)
    return !writer && generation ? End::Again : End::Failed;
  writer->clearFailure();
  std::optional<int64_t> number;
  done = writer->run("begin", {});
  if (done)
    done = work(*writer);
  if (done) {
    // Fails, too, where a statement failed and `work` did not say so: a commit would then write nothing in silence.
    auto rows = writer->query("select txid_current_if_assigned()", {});
    done = rows ? Result<void>() : Result<void>(rows.takeError());
    if (rows)
      number = wholeOf(*rows);
  }
  if (!done) {
    bool again = writer->mayBeTriedAgain();
    if (writer->isOpen())
      (void)writer->run("rollback", {});
    return again ? End::Again : End::Failed;
  }
  done = writer->run("commit", {});
  if (done)
    return End::Done;
  if (!number || writer->isOpen()) { // it wrote nothing, or the server says that the commit failed
    bool again = writer->mayBeTriedAgain();
    if (writer->isOpen())
      (void)writer->run("rollback", {});
    return again ? End::Again : End::Failed;
  }
  return askStatus(*number, done);
}

Result<void> PostgresDatabase::transaction(const std::function<Result<void>(Connection &)> &work) {
  std::lock_guard guard(mutex);
  Result<void> done;
  for (int tries = 0;; ++tries) {
    End end = attempt(work, done);
    if (end != End::Again || tries == kDatabaseRetries)
      return done;
    waitBeforeRetry(tries);
  }
}

Result<void> PostgresDatabase::read(const std::function<Result<void>(Connection &)> &work) {
  std::unique_ptr<PostgresSession> one = readers.take();
  Result<void> done;
  for (int tries = 0;; ++tries) {
    if (!one || !one->isOpen()) {
      auto opened = PostgresSession::open(address);
      one = opened ? std::move(*opened) : nullptr;
      done = opened ? Result<void>() : Result<void>(opened.takeError());
    }
    if (one) {
      one->clearFailure();
      done = one->run("begin isolation level repeatable read read only", {});
      if (done)
        done = work(*one);
      if (one->isOpen())
        (void)one->run("rollback", {});
    }
    if (done || (one && !one->mayBeTriedAgain()) || tries == kDatabaseRetries)
      break;
    waitBeforeRetry(tries);
  }
  readers.give(one && one->isOpen() ? std::move(one) : nullptr);
  return done;
}

Result<std::vector<std::string>> PostgresDatabase::check() {
  std::vector<std::string> wrong;
  auto done = read([&](Connection &connection) -> Result<void> {
    wrong.clear();
    ACCORD_TRY(rows, connection.query("select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid "
                                      "join pg_class t on t.oid = i.indrelid where not i.indisvalid and "
                                      "t.relnamespace = current_schema()::regnamespace"));
    for (const Row &row : rows)
      wrong.push_back(fmt::format("the index {} is not valid", valueOf<std::string>(row[0])));
    ACCORD_TRY(keys, connection.query("select conname::text from pg_constraint where not convalidated and "
                                      "connamespace = current_schema()::regnamespace"));
    for (const Row &row : keys)
      wrong.push_back(fmt::format("the constraint {} is not valid", valueOf<std::string>(row[0])));
    return {};
  });
  if (!done)
    return done.takeError();
  return wrong;
}

} // namespace

Result<std::unique_ptr<Database>> openPostgres(const std::string &url) {
  auto database = std::make_unique<PostgresDatabase>(postgresAddress(url));
  if (auto opened = database->openWriter(); !opened)
    return opened.takeError();
  return database;
}

} // namespace accord::service
