// A database as the scheduler needs it: statements with parameters in transactions that survive a crash. SQLite by a
// path, PostgreSQL by a URL; both give the same rows for the same statements.
//
//   auto database = openDatabase("/var/lib/accord/state.db");   // or "postgresql://user@host/accord"
//   auto done = (*database)->transaction([&](Connection &connection) -> Result<void> {
//     ACCORD_TRY(rows, connection.query("select id, name from jobs where tenant = ?", {tenant}));
//     return connection.run("update jobs set name = ? where id = ?", {name, rows[0][0]});
//   });
#pragma once
#include "lib/support/Result.h"
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace accord::service {

/// Null, a whole number, a number, or a text (UTF-8, without NUL).
using Cell = std::variant<std::monostate, int64_t, double, std::string>;
using Row = std::vector<Cell>;

class Connection {
public:
  virtual ~Connection() = default;
  /// Statements have "?" for parameters, also in PostgreSQL. Errors: A1204, with the statement.
  virtual Result<std::vector<Row>> query(const std::string &statement, const Row &parameters = {}) = 0;
  virtual Result<void> run(const std::string &statement, const Row &parameters = {}) = 0;
};

class Database {
public:
  virtual ~Database() = default;
  /// "sqlite" or "postgresql".
  virtual std::string kind() const = 0;
  /// Runs `work` in one transaction. If it returns an error, or the end of the transaction fails, nothing of it
  /// happened and the error is returned; else it is on the disk when this returns. From one thread at a time or from
  /// several: they wait for each other. What another writer or a lost connection breaks is tried again three times, so
  /// `work` may be called again. If PostgreSQL is lost in a commit and does not come back, or a disk fails for good,
  /// the error cannot say whether it was written: it is then there as a whole, or not at all, at the next opening.
  virtual Result<void> transaction(const std::function<Result<void>(Connection &)> &work) = 0;
  /// Reads in one consistent state; may run beside a transaction.
  virtual Result<void> read(const std::function<Result<void>(Connection &)> &work) = 0;
  /// A consistent copy as a file (SQLite's backup; of PostgreSQL an error that names pg_dump).
  virtual Result<void> backup(const std::string &path) = 0;
  /// What the database says of its own integrity; empty: it is sound.
  virtual Result<std::vector<std::string>> check() = 0;
};

/// Opens or makes one; a folder has it as "state.db". A second process that opens the same one is refused, with the
/// number of the first. Error A1204.
Result<std::unique_ptr<Database>> openDatabase(const std::string &url);

/// Writes a consistent copy to a file, whether or not a process has the database open. Error A1204: there is none, the
/// file cannot be written, or it is of PostgreSQL, which has pg_dump for this.
Result<void> copyDatabase(const std::string &url, const std::string &to);

} // namespace accord::service
