#include "lib/service/store/StoreCheck.h"
#include "lib/service/store/StoreRows.h"
#include <fmt/format.h>

namespace accord::service {
namespace {

/// Each finds numbers of which a sentence holds. Phases and states stand there by their numbers: phases 2 running, 3
/// stopping, from 4 on over; states 3 stopping, 4 ended; outcome 0 none.
struct Rule {
  const char *statement;
  const char *sentence; ///< with "{}" for the number
};
constexpr Rule kRules[] = {
    {"select distinct job from runs where not exists (select 1 from jobs where jobs.id = runs.job) order by job limit "
     "20",
     "a run is of job {}, which there is not"},
    {"select job from runs where state < 4 group by job having count(*) > 1 order by job limit 20",
     "job {} has more than one open run"},
    {"select id from jobs where phase in (2, 3) and not exists (select 1 from runs where job = id and state < 4) "
     "order by id limit 20",
     "job {} runs or stops, and has no open run"},
    {"select id from jobs where phase < 2 and exists (select 1 from runs where job = id and state < 4) "
     "order by id limit 20",
     "job {} waits, and has an open run"},
    {"select id from jobs where phase >= 4 and exists (select 1 from runs where job = id and state < 3) "
     "order by id limit 20",
     "job {} is over, and has a run that is not stopping"},
    {"select id from jobs where phase >= 4 and ended = 0 order by id limit 20", "job {} is over, and has no end"},
    {"select job from runs where (state = 4) <> (outcome <> 0) order by job, number limit 20",
     "job {} has a run that has ended without an outcome, or an outcome without an end"},
    {"select id from jobs where id < 1 or id > (select value from counters where name = 'job') order by id limit 20",
     "job {} has a number that was not given"},
    {"select jobs.id from jobs where phase < 4 and exists (select 1 from job_after a where a.job = jobs.id and "
     "not exists (select 1 from jobs earlier where earlier.id = a.earlier)) order by jobs.id limit 20",
     "job {} waits for a job that there is not"},
    {"select max(number) from events having count(*) > 0 and max(number) - min(number) + 1 <> count(*)",
     "events up to number {} have holes"},
    {"select max(number) from events having count(*) > 0 and max(number) <> (select value from counters where name = "
     "'event')",
     "the last event is number {}, which is not the last that was given"},
    {"select count(*) from files where not exists (select 1 from job_files where job_files.hash = files.hash) "
     "having count(*) > 0",
     "{} files are of no job"},
};

Result<void> checkRules(Connection &connection, std::vector<std::string> &wrong) {
  for (const Rule &rule : kRules) {
    ACCORD_TRY(rows, connection.query(rule.statement));
    for (const Row &row : rows)
      if (const auto *number = std::get_if<int64_t>(&row[0]))
        wrong.push_back(fmt::format(fmt::runtime(rule.sentence), *number));
  }
  return {};
}

/// Rows that cannot be read, a page at a time.
template <typename T>
Result<void> checkRows(Connection &connection, const std::string &table, const char *columns, const std::string &key,
                       Result<T> (*read)(const Row &), std::vector<std::string> &wrong) {
  constexpr int64_t kPage = 1'000;
  size_t found = 0;
  for (int64_t from = 0; found < 20; from += kPage) {
    ACCORD_TRY(rows,
               connection.query(fmt::format("select {} from {} order by {} limit ? offset ?", columns, table, key),
                                {kPage, from}));
    for (const Row &row : rows)
      if (auto one = read(row); !one && found++ < 20)
        wrong.push_back(one.error().message);
    if (int64_t(rows.size()) < kPage)
      break;
  }
  return {};
}

Result<void> checkFiles(Connection &connection, std::vector<std::string> &wrong) {
  ACCORD_TRY(hashes, connection.query("select hash from files"));
  size_t found = 0;
  for (const Row &row : hashes) {
    ACCORD_TRY(content, connection.query("select content from files where hash = ?", {row[0]}));
    const auto *hash = std::get_if<std::string>(&row[0]);
    const auto *text = content.empty() ? nullptr : std::get_if<std::string>(&content[0][0]);
    if ((!hash || !text || contentHash(*text) != *hash) && found++ < 20)
      wrong.push_back(fmt::format("the file with the hash {} has another content", hash ? *hash : "?"));
  }
  return {};
}

} // namespace

Result<std::vector<std::string>> checkStore(Database &database) {
  ACCORD_TRY(own, database.check());
  std::vector<std::string> said;
  auto done = database.read([&](Connection &connection) -> Result<void> {
    said.clear();
    if (auto rules = checkRules(connection, said); !rules)
      return rules;
    if (auto jobs = checkRows(connection, "jobs", kJobColumns, "id", jobOf, said); !jobs)
      return jobs;
    if (auto runs = checkRows(connection, "runs", kRunColumns, "job, number", runOf, said); !runs)
      return runs;
    if (auto tunings = checkRows(connection, "tunings", kTuningColumns, "id", tuningOf, said); !tunings)
      return tunings;
    return checkFiles(connection, said);
  });
  std::vector<std::string> wrong = std::move(own);
  if (!done) {
    if (wrong.empty())
      return done.takeError();
    wrong.push_back(done.error().message); // of a database that is damaged
  }
  wrong.insert(wrong.end(), said.begin(), said.end());
  return wrong;
}

} // namespace accord::service
