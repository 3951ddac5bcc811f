// A state in PostgreSQL whose connections are lost: nothing is lost with them, and nothing happens twice.
// $ACCORD_TEST_POSTGRES_CUT is the port of a server in between that cuts a connection before it passes on the answer to
// each commit that follows the word "cut" in a statement.
#include "StoreFixture.h"
#include <set>

namespace accord::service {
namespace {

using namespace testing;

class StorePostgres : public ::testing::Test {
protected:
  void SetUp() override {
    if (!std::getenv("ACCORD_TEST_POSTGRES"))
      GTEST_SKIP() << "no PostgreSQL in ACCORD_TEST_POSTGRES";
    state = std::make_unique<TestState>("postgresql");
  }
  std::unique_ptr<TestState> state;
};

/// Ends the sessions of this process but the own one, as a server that restarts does.
Result<void> cutOthers(Connection &connection) {
  return connection.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name like ? "
                        "and pid <> pg_backend_pid() and datname = current_database()",
                        {"process " + std::to_string(getpid()) + " on %"});
}

int64_t countOf(Database &database, const std::string &table) {
  int64_t count = -1;
  must(database.read([&](Connection &connection) -> Result<void> {
    ACCORD_TRY(rows, connection.query("select count(*) from " + table));
    count = std::get<int64_t>(rows[0][0]);
    return {};
  }));
  return count;
}

TEST_F(StorePostgres, ConnectsAgainBetweenTransactions) {
  auto store = openStore(state->url);
  for (int i = 0; i < 3; ++i) {
    must(store->addJob(someJob("a"), someEvent("e")));
    auto killer = must(openDatabase(std::getenv("ACCORD_TEST_POSTGRES")));
    must(killer->read(cutOthers));
  }
  must(store->addJob(someJob("a"), someEvent("e")));
  EXPECT_EQ(must(store->openJobs()).size(), 4u);
  EXPECT_EQ(must(store->check()), std::vector<std::string>());
}

TEST_F(StorePostgres, TriesAgainWhatWasCutInTheMiddle) {
  auto database = must(openDatabase(state->url));
  must(database->transaction([](Connection &connection) { return connection.run("create table t (a bigint)"); }));
  int calls = 0;
  must(database->transaction([&](Connection &connection) -> Result<void> {
    if (auto done = connection.run("insert into t values (1)"); !done)
      return done;
    if (++calls <= 2)
      must(database->read(cutOthers));
    return connection.run("insert into t values (2)");
  }));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(countOf(*database, "t"), 2);
  // A reader that is cut reads again.
  calls = 0;
  must(database->read([&](Connection &connection) -> Result<void> {
    if (++calls == 1)
      must(database->read(cutOthers));
    ACCORD_TRY(rows, connection.query("select a from t order by a"));
    EXPECT_EQ(rows.size(), 2u);
    return {};
  }));
  EXPECT_EQ(calls, 2);
}

TEST_F(StorePostgres, CommitThatFailsWritesNothing) {
  auto database = must(openDatabase(state->url));
  must(database->transaction([](Connection &connection) -> Result<void> {
    for (const char *statement : {"create table t (a bigint)", "create table cuts (a bigint)",
                                  "create function cut() returns trigger language plpgsql as "
                                  "'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'",
                                  "create constraint trigger cut after insert on cuts deferrable initially deferred "
                                  "for each row execute function cut()"})
      if (auto done = connection.run(statement); !done)
        return done;
    return {};
  }));
  int calls = 0;
  auto cut = [&](int times) {
    calls = 0;
    return database->transaction([&, times](Connection &connection) -> Result<void> {
      if (++calls <= times)
        if (auto done = connection.run("insert into cuts values (1)"); !done)
          return done;
      return connection.run("insert into t values (1)");
    });
  };
  must(cut(1));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(countOf(*database, "t"), 1);
  auto failed = cut(100);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::StateFailed);
  EXPECT_EQ(countOf(*database, "t"), 1);
  EXPECT_EQ(countOf(*database, "cuts"), 0);
  // A statement that failed, and that the work passes over, is no success.
  EXPECT_FALSE(database->transaction([](Connection &connection) -> Result<void> {
    must(connection.run("insert into t values (1)"));
    (void)connection.run("insert into nowhere values (1)");
    return {};
  }));
  EXPECT_EQ(countOf(*database, "t"), 1);
}

TEST_F(StorePostgres, AnswerThatIsCutIsNoSecondTransaction) {
  const char *port = std::getenv("ACCORD_TEST_POSTGRES_CUT");
  if (!port)
    GTEST_SKIP() << "no server in between in ACCORD_TEST_POSTGRES_CUT";
  std::string url = state->url;
  size_t at = url.find('@'), colon = url.find(':', at), end = url.find('/', at);
  ASSERT_TRUE(at != std::string::npos && colon < end);
  url.replace(colon + 1, end - colon - 1, port);
  auto database = must(openDatabase(url));
  ASSERT_TRUE(database);
  must(database->transaction([](Connection &connection) { return connection.run("create table t (a bigint)"); }));
  int calls = 0;
  std::set<int64_t> sessions;
  for (int64_t i = 0; i < 5; ++i)
    must(database->transaction([&](Connection &connection) -> Result<void> {
      ++calls;
      ACCORD_TRY(rows, connection.query("select pg_backend_pid()"));
      sessions.insert(std::get<int64_t>(rows[0][0]));
      return connection.run("insert into t select 1 where 'cut' <> ''");
    }));
  EXPECT_EQ(sessions.size(), 5u);
  EXPECT_EQ(calls, 5); // each was committed, though nobody said so
  EXPECT_EQ(countOf(*database, "t"), 5);
}

TEST_F(StorePostgres, SecondSchedulerIsRefused) {
  auto first = must(openDatabase(state->url));
  auto second = openDatabase(state->url);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use by process " + std::to_string(getpid()) + " on "), std::string::npos)
      << second.error().message;
  EXPECT_FALSE(ServiceStore::open(state->url));
  first = nullptr;
  EXPECT_TRUE(openStore(state->url));
}

TEST_F(StorePostgres, SchedulerThatLostItsPlaceStops) {
  auto first = openStore(state->url);
  must(first->addJob(someJob("a"), someEvent("e")));
  auto killer = must(openDatabase(std::getenv("ACCORD_TEST_POSTGRES")));
  must(killer->read(cutOthers));
  must(openStore(state->url)->addJob(someJob("b"), someEvent("e")));
  auto added = first->addJob(someJob("c"), someEvent("e"));
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("another process has used"), std::string::npos) << added.error().message;
  EXPECT_EQ(must(first->openJobs()).size(), 2u);
}

} // namespace
} // namespace accord::service
