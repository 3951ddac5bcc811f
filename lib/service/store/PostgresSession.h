// One session of PostgreSQL as a `Connection`. It never connects again by itself, as its transaction and its locks are
// gone with it.
#pragma once
#include "lib/service/store/Database.h"
#include <map>
#include <optional>
#include <pqxx/connection>
#include <pqxx/nontransaction>

namespace accord::service {

struct PostgresAddress {
  std::string url;     ///< with time limits
  std::string shown;   ///< without password and options
  std::string process; ///< how the server names the sessions of this one: "process 17 on node1", each time another one
};
PostgresAddress postgresAddress(const std::string &url);

/// "select a from t where b = ? and c = '?'" is "select a from t where b = $1::bigint and c = '?'": each parameter has
/// the type of its cell, so that expressions have the same types as in SQLite.
std::string numberedParameters(const std::string &statement, const Row &parameters, size_t &found);

class PostgresSession final : public Connection {
public:
  static Result<std::unique_ptr<PostgresSession>> open(const PostgresAddress &address);

  Result<std::vector<Row>> query(const std::string &statement, const Row &parameters) override;
  Result<void> run(const std::string &statement, const Row &parameters) override {
    auto rows = query(statement, parameters);
    return rows ? Result<void>() : Result<void>(rows.takeError());
  }

  bool isOpen() const { return !isLost && link->is_open(); }
  /// Whether the last failure was the loss of the connection, or a conflict with another writer.
  bool mayBeTriedAgain() const { return isLost || isConflict; }
  void clearFailure() { isConflict = false; }

private:
  Result<std::vector<Row>> execute(const std::string &statement, const Row &parameters);

  std::unique_ptr<pqxx::connection> link;
  std::unique_ptr<pqxx::nontransaction> work;
  std::map<std::string, std::string> prepared; ///< names by statement
  bool isLost = false, isConflict = false;
};

} // namespace accord::service
