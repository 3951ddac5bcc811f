#include "lib/service/store/Migrations.h"
#include "lib/service/store/OpenDatabase.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::service {
namespace {

/// Statements that both databases take, each with ";" behind it. "NUMBERED" stands for a primary key of whole numbers:
/// in SQLite `integer primary key` is the number of the row itself.
constexpr StringLiteral kVersions[] = {
    R"(create table counters (name text primary key, value bigint not null);
insert into counters values ('job', 0), ('event', 0);
create table jobs (id NUMBERED, tenant text not null, name text not null, submission_key text not null, phase
  bigint not null, reason text not null, submitted double precision not null, started double precision not null,
  ended double precision not null, samples double precision not null, runs bigint not null, failures bigint
  not null, submitter text not null, submission text not null, progress text not null);
create index jobs_by_phase on jobs (phase, id);
create index jobs_by_tenant on jobs (tenant, id);
create unique index jobs_by_key on jobs (tenant, submission_key) where submission_key <> '';
create table job_after (job bigint not null references jobs (id) on delete cascade, earlier bigint not null,
  primary key (job, earlier));
create index job_after_by_earlier on job_after (earlier);
create table files (hash text primary key, content text not null);
create table job_files (job bigint not null references jobs (id) on delete cascade, path text not null, hash
  text not null references files (hash), primary key (job, path));
create index job_files_by_hash on job_files (hash);
create table runs (job bigint not null references jobs (id) on delete cascade, number bigint not null, state
  bigint not null, outcome bigint not null, task text not null, engine_id text not null, device_type text
  not null, devices bigint not null, devices_per_node bigint not null, configuration text not null, plan text
  not null, nodes text not null, planned double precision not null, planned_end double precision not null,
  intended double precision not null, started double precision not null, stopping double precision not null,
  ended double precision not null, samples_at_start double precision not null, samples_at_end double precision
  not null, reason text not null, primary key (job, number));
create index runs_by_state on runs (state);
create index runs_by_end on runs (ended);
create unique index runs_by_task on runs (task) where task <> '';
create table events (number NUMBERED, time double precision not null, kind text not null, job bigint not null,
  tenant text not null, who text not null, text text not null);
create table drains (node text primary key, reason text not null, who text not null, since double precision
  not null);
create table tokens (hash text primary key, name text not null, tenant text not null, role bigint not null,
  created double precision not null, expires double precision not null, is_revoked bigint not null);
create table settings (name text primary key, value text not null);)",
    R"(alter table runs add column exit_code bigint not null default -1;
create index jobs_by_name on jobs (name, id);
create index events_by_job on events (job, number);)",
    R"(insert into counters values ('tuning', 0);
create table tunings (id NUMBERED, tenant text not null, name text not null, hash text not null, submitter text not
  null, time double precision not null, document text not null);
create unique index tunings_by_name on tunings (tenant, name, hash);)",
};

/// 0: the database has no tables of ours.
Result<int64_t> versionOf(Database &database) {
  std::string tables = database.kind() == "sqlite" ? "select count(*) from sqlite_master where name = 'accord_version'"
                                                   : "select count(*) from pg_tables where schemaname = "
                                                     "current_schema() and tablename = 'accord_version'";
  int64_t version = 0;
  auto done = database.read([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(found, connection.query(tables));
    if (found.empty() || found[0][0] == Cell(int64_t(0)))
      return {};
    ACCORD_TRY(rows, connection.query("select version from accord_version"));
    const auto *stored = rows.size() == 1 ? std::get_if<int64_t>(&rows[0][0]) : nullptr;
    if (!stored || *stored < 1)
      return stateError("the state is damaged: its version cannot be read");
    version = *stored;
    return {};
  });
  if (!done)
    return done.takeError();
  return version;
}

Result<void> advance(Database &database, int64_t version) {
  std::string number = database.kind() == "sqlite" ? "integer primary key" : "bigint primary key";
  return database.transaction([&](Connection &connection) -> Result<void> {
    if (version == 1)
      if (auto made = connection.run("create table accord_version (version bigint not null)"); !made)
        return made;
    SmallVector<StringRef> statements;
    kVersions[version - 1].split(statements, ';', -1, false);
    for (StringRef one : statements) {
      std::string statement = one.trim().str();
      if (size_t at = statement.find("NUMBERED"); at != std::string::npos)
        statement.replace(at, strlen("NUMBERED"), number);
      if (auto done = connection.run(statement); !done)
        return done;
    }
    if (auto cleared = connection.run("delete from accord_version"); !cleared)
      return cleared;
    return connection.run("insert into accord_version values (?)", {version});
  });
}

} // namespace

Result<void> migrate(Database &database) {
  ACCORD_TRY(found, versionOf(database));
  if (found > kStateVersion)
    return stateError(
        fmt::format("the state is of version {}, and this program knows versions up to {}", found, kStateVersion));
  for (int64_t version = found + 1; version <= kStateVersion; ++version)
    if (auto done = advance(database, version); !done)
      return done;
  return {};
}

} // namespace accord::service
