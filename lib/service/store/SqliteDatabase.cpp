// SQLite: one connection writes, others read beside it from their snapshots (write-ahead log). A commit is flushed to
// the disk before it is confirmed (synchronous=FULL).
#include "lib/service/store/OpenDatabase.h"
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {
namespace {

constexpr size_t kReaders = 4, kMaxPrepared = 256;
constexpr int kBusyMilliseconds = 5'000;

class SqliteConnection final : public Connection {
public:
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string &path, bool reads);
  ~SqliteConnection() override {
    forget();
    sqlite3_close_v2(handle);
  }

  Result<std::vector<Row>> query(const std::string &statement, const Row &parameters) override;
  Result<void> run(const std::string &statement, const Row &parameters) override {
    auto rows = query(statement, parameters);
    return rows ? Result<void>() : Result<void>(rows.takeError());
  }

  /// Whether the last statement that failed did so because another connection held a lock.
  bool wasBusy() const { return failed == SQLITE_BUSY || failed == SQLITE_LOCKED; }
  void clearFailure() { failed = SQLITE_OK; }
  /// Whether a transaction is open. SQLite ends one by itself if the disk is full.
  bool inTransaction() const { return !sqlite3_get_autocommit(handle); }
  sqlite3 *get() const { return handle; }

private:
  Result<sqlite3_stmt *> prepare(const std::string &statement);
  Result<void> bind(sqlite3_stmt *prepared, const std::string &statement, const Row &parameters);
  Error failure(const std::string &statement) {
    failed = sqlite3_errcode(handle);
    return statementError(sqlite3_errmsg(handle), statement);
  }
  void forget() {
    for (auto &[text, one] : prepared)
      sqlite3_finalize(one);
    prepared.clear();
  }

  sqlite3 *handle = nullptr;
  int failed = SQLITE_OK;
  std::map<std::string, sqlite3_stmt *> prepared;
};

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string &path, bool reads) {
  auto one = std::make_unique<SqliteConnection>();
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &one->handle, flags, nullptr) != SQLITE_OK)
    return stateError(
        fmt::format("cannot open '{}': {}", path, one->handle ? sqlite3_errmsg(one->handle) : "out of memory"));
  sqlite3_extended_result_codes(one->handle, 0);
  sqlite3_busy_timeout(one->handle, kBusyMilliseconds);
  sqlite3_db_config(one->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  for (const char *pragma : {"pragma synchronous = full", "pragma foreign_keys = on", "pragma temp_store = memory",
                             "pragma cell_size_check = on", "pragma trusted_schema = off", "pragma cache_size = -16384",
                             "pragma journal_size_limit = 67108864"})
    if (auto done = one->run(pragma, {}); !done)
      return done.takeError();
  if (reads)
    if (auto done = one->run("pragma query_only = on", {}); !done)
      return done.takeError();
  return one;
}

Result<sqlite3_stmt *> SqliteConnection::prepare(const std::string &statement) {
  if (auto found = prepared.find(statement); found != prepared.end())
    return found->second;
  if (prepared.size() >= kMaxPrepared)
    forget();
  sqlite3_stmt *made = nullptr;
  const char *rest = nullptr;
  if (sqlite3_prepare_v3(handle, statement.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &made, &rest) != SQLITE_OK)
    return failure(statement);
  if (!made || (rest && rest[strspn(rest, " \n\t;")])) {
    sqlite3_finalize(made);
    return statementError("there is not one statement", statement);
  }
  return prepared[statement] = made;
}

Result<void> SqliteConnection::bind(sqlite3_stmt *one, const std::string &statement, const Row &parameters) {
  if (size_t(sqlite3_bind_parameter_count(one)) != parameters.size())
    return statementError(
        fmt::format("{} parameters where {} are needed", parameters.size(), sqlite3_bind_parameter_count(one)),
        statement);
  if (auto sound = checkParameters(statement, parameters); !sound)
    return sound;
  for (size_t i = 0; i < parameters.size(); ++i) {
    int at = int(i) + 1, code = SQLITE_OK;
    if (const auto *number = std::get_if<int64_t>(&parameters[i]))
      code = sqlite3_bind_int64(one, at, *number);
    else if (const auto *real = std::get_if<double>(&parameters[i]))
      code = sqlite3_bind_double(one, at, *real);
    else if (const auto *text = std::get_if<std::string>(&parameters[i]))
      code = sqlite3_bind_text64(one, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    else
      code = sqlite3_bind_null(one, at);
    if (code != SQLITE_OK)
      return failure(statement);
  }
  return {};
}

Cell cellOf(sqlite3_stmt *one, int column) {
  switch (sqlite3_column_type(one, column)) {
  case SQLITE_INTEGER:
    return int64_t(sqlite3_column_int64(one, column));
  case SQLITE_FLOAT:
    return sqlite3_column_double(one, column);
  case SQLITE_NULL:
    return std::monostate();
  default:
    const unsigned char *text = sqlite3_column_text(one, column);
    return text ? std::string(reinterpret_cast<const char *>(text), sqlite3_column_bytes(one, column)) : std::string();
  }
}

Result<std::vector<Row>> SqliteConnection::query(const std::string &statement, const Row &parameters) {
  ACCORD_TRY(one, prepare(statement));
  auto bound = bind(one, statement, parameters);
  std::vector<Row> rows;
  int code = SQLITE_DONE;
  if (bound)
    while ((code = sqlite3_step(one)) == SQLITE_ROW) {
      Row &row = rows.emplace_back();
      row.reserve(sqlite3_column_count(one));
      for (int column = 0; column < sqlite3_column_count(one); ++column)
        row.push_back(cellOf(one, column));
    }
  std::optional<Error> error;
  if (!bound)
    error = bound.takeError();
  else if (code != SQLITE_DONE)
    error = failure(statement);
  sqlite3_reset(one);
  sqlite3_clear_bindings(one);
  if (error)
    return *error;
  return rows;
}

class SqliteDatabase final : public Database {
public:
  SqliteDatabase(std::string path, ProcessLock lock, std::unique_ptr<SqliteConnection> writer)
      : path(std::move(path)), lock(std::move(lock)), writer(std::move(writer)) {}

  std::string kind() const override { return "sqlite"; }
  Result<void> transaction(const std::function<Result<void>(Connection &)> &work) override;
  Result<void> read(const std::function<Result<void>(Connection &)> &work) override;
  Result<void> backup(const std::string &to) override;
  Result<std::vector<std::string>> check() override;

private:
  /// One try; `again` says whether another one may help.
  Result<void> attempt(const std::function<Result<void>(Connection &)> &work, bool &again);
  void undo();

  const std::string path;
  ProcessLock lock; ///< released after the connections, which are closed first
  std::mutex mutex;
  std::unique_ptr<SqliteConnection> writer;
  ConnectionPool<SqliteConnection> readers{kReaders};
};

void SqliteDatabase::undo() {
  if (writer->inTransaction())
    (void)writer->run("rollback", {});
}

Result<void> SqliteDatabase::attempt(const std::function<Result<void>(Connection &)> &work, bool &again) {
  writer->clearFailure();
  if (auto begun = writer->run("begin immediate", {}); !begun) {
    again = writer->wasBusy();
    return begun;
  }
  Result<void> done = work(*writer);
  if (done && !writer->inTransaction())
    done = stateError(fmt::format("a failure has ended the transaction in '{}'", path));
  if (!done) {
    again = writer->wasBusy();
    undo();
    return done;
  }
  if (auto committed = writer->run("commit", {}); !committed) {
    again = writer->wasBusy();
    undo();
    // Frames that were written before the flush failed would come back at a recovery: the log is emptied.
    (void)writer->run("pragma wal_checkpoint(truncate)", {});
    return committed;
  }
  return {};
}

Result<void> SqliteDatabase::transaction(const std::function<Result<void>(Connection &)> &work) {
  std::lock_guard guard(mutex);
  for (int tries = 0;; ++tries) {
    bool again = false;
    Result<void> done = attempt(work, again);
    if (done || !again || tries == kDatabaseRetries)
      return done;
    waitBeforeRetry(tries);
  }
}

Result<void> SqliteDatabase::read(const std::function<Result<void>(Connection &)> &work) {
  std::unique_ptr<SqliteConnection> one = readers.take();
  if (!one) {
    auto opened = SqliteConnection::open(path, true);
    if (!opened) {
      readers.give(nullptr);
      return opened.takeError();
    }
    one = std::move(*opened);
  }
  Result<void> done;
  for (int tries = 0;; ++tries) {
    one->clearFailure();
    done = one->run("begin", {});
    if (done)
      done = work(*one);
    if (one->inTransaction())
      (void)one->run("rollback", {});
    if (done || !one->wasBusy() || tries == kDatabaseRetries)
      break;
    waitBeforeRetry(tries);
  }
  readers.give(std::move(one));
  return done;
}

/// Copies the pages of a database into a new file, which is on the disk when this returns.
Result<void> copyPages(sqlite3 *from, const std::string &to) {
  sqlite3 *handle = nullptr;
  int code =
      sqlite3_open_v2(to.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code == SQLITE_OK)
    code = sqlite3_exec(handle, "pragma synchronous = full", nullptr, nullptr, nullptr);
  sqlite3_backup *backup = code == SQLITE_OK ? sqlite3_backup_init(handle, "main", from, "main") : nullptr;
  if (backup) {
    sqlite3_backup_step(backup, -1); // its failure is what `finish` returns
    code = sqlite3_backup_finish(backup);
  } else if (code == SQLITE_OK) {
    code = sqlite3_errcode(handle);
  }
  std::string why = code == SQLITE_OK ? "" : sqlite3_errstr(code);
  if (sqlite3_close(handle) != SQLITE_OK && code == SQLITE_OK)
    why = "it cannot be closed";
  if (why.empty())
    return {};
  return stateError(fmt::format("cannot write a copy to '{}': {}", to, why));
}

Result<void> flushFolder(const std::filesystem::path &folder) {
  int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool done = file >= 0 && fsync(file) == 0;
  int reason = errno;
  if (file >= 0)
    close(file);
  if (done)
    return {};
  return stateError(fmt::format("cannot flush the folder '{}': {}", folder.string(), std::strerror(reason)));
}

Result<void> copyFile(const std::string &path, const std::string &to) {
  namespace fs = std::filesystem;
  std::error_code problem;
  fs::path target = fs::absolute(to, problem);
  if (to.empty() || problem || !target.has_filename())
    return stateError(fmt::format("'{}' is no path for a copy", to));
  if (fs::exists(target.string() + "-wal", problem) || fs::equivalent(target, path, problem))
    return stateError(fmt::format("'{}' is a database in use, and no place for a copy", to));
  std::string partial = fmt::format("{}.partial-{}", target.string(), getpid());
  fs::remove(partial, problem);
  int made = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0)
    return stateError(fmt::format("cannot write a copy to '{}': {}", to, std::strerror(errno)));
  close(made);
  auto source = SqliteConnection::open(path, true);
  Result<void> done = source ? copyPages((*source)->get(), partial) : Result<void>(source.takeError());
  if (done && std::rename(partial.c_str(), target.c_str()) != 0)
    done = stateError(fmt::format("cannot rename a copy to '{}': {}", to, std::strerror(errno)));
  if (!done) {
    fs::remove(partial, problem);
    return done;
  }
  return flushFolder(target.parent_path());
}

Result<void> SqliteDatabase::backup(const std::string &to) { return copyFile(path, to); }

Result<std::vector<std::string>> SqliteDatabase::check() {
  std::vector<std::string> wrong;
  auto done = read([&](Connection &connection) -> Result<void> {
    wrong.clear();
    ACCORD_TRY(pages, connection.query("pragma integrity_check(100)"));
    for (const Row &row : pages)
      if (const auto *text = std::get_if<std::string>(&row[0]); text && *text != "ok")
        wrong.push_back(*text);
    ACCORD_TRY(keys, connection.query("pragma foreign_key_check"));
    for (const Row &row : keys) {
      const auto *table = std::get_if<std::string>(&row[0]), *parent = std::get_if<std::string>(&row[2]);
      wrong.push_back(fmt::format("a row of {} is of no row of {}", table ? *table : "?", parent ? *parent : "?"));
    }
    return {};
  });
  if (!done)
    return done.takeError();
  return wrong;
}

/// The absolute path of the file.
Result<std::string> pathOf(const std::string &given) {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (given.empty() || given.find('\0') != std::string::npos)
    return stateError(fmt::format("'{}' is no path for the state", given.c_str()));
  fs::path path = fs::absolute(given, problem);
  if (!path.has_filename())
    fs::create_directory(path, problem);
  if (!path.has_filename() || fs::is_directory(path, problem))
    path /= "state.db";
  if (fs::path real = fs::weakly_canonical(path, problem); !problem)
    path = real;
  return path.string();
}

/// Makes a file that others cannot read, if there is none.
Result<void> makeFile(const std::string &path) {
  // SQLite has not opened it yet: closing any descriptor of a file would end the locks of this process on it.
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return stateError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  struct stat about = {};
  bool isFile = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  close(file);
  if (!isFile)
    return stateError(fmt::format("'{}' is no file", path));
  return {};
}

} // namespace

Result<void> copySqlite(const std::string &given, const std::string &to) {
  ACCORD_TRY(path, pathOf(given));
  if (std::error_code none; !std::filesystem::exists(path, none))
    return stateError(fmt::format("there is no state '{}'", path));
  return copyFile(path, to);
}

Result<std::unique_ptr<Database>> openSqlite(const std::string &given) {
  ACCORD_TRY(path, pathOf(given));
  ACCORD_TRY(lock, ProcessLock::take(path + ".lock", path));
  if (auto made = makeFile(path); !made)
    return made.takeError();
  ACCORD_TRY(writer, SqliteConnection::open(path, false));
  ACCORD_TRY(mode, writer->query("pragma journal_mode = wal", {}));
  if (mode.empty() || mode[0].empty() || mode[0][0] != Cell(std::string("wal")))
    return stateError(fmt::format("'{}' cannot have a write-ahead log, which needs a local disk", path));
  ACCORD_TRY(sound, writer->query("pragma quick_check(1)", {}));
  const auto *first = sound.empty() ? nullptr : std::get_if<std::string>(&sound[0][0]);
  if (!first || *first != "ok")
    return stateError(fmt::format("'{}' is damaged: {}", path, first ? *first : "no answer"));
  return std::make_unique<SqliteDatabase>(path, std::move(lock), std::move(writer));
}

} // namespace accord::service
