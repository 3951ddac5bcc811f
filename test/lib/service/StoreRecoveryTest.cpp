// What the state is after crashes, on broken and full disks, from damaged files and older versions, and who may open
// it.
#include "FailingDisk.h"
#include "StoreFixture.h"
#include "lib/service/store/Migrations.h"
#include "lib/support/SplitMix.h"
#include <csignal>
#include <fstream>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace accord::service {
namespace {

using namespace testing;
namespace fs = std::filesystem;

std::string contentOf(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void put(const fs::path &path, const std::string &content) { std::ofstream(path, std::ios::binary) << content; }

/// A child process that runs `body` with the end of a pipe for writing; the other end is for the parent.
class Child {
public:
  template <typename Body> explicit Child(Body body) {
    int ends[2];
    if (pipe(ends) != 0)
      abort();
    number = fork();
    if (number == 0) {
      close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    from = ends[0];
  }
  ~Child() {
    end();
    close(from);
  }
  void end() {
    if (number > 0) {
      kill(number, SIGKILL);
      waitpid(number, nullptr, 0);
    }
    number = -1;
  }
  /// Whether something can be read within a time.
  bool waits(int milliseconds) const {
    pollfd one{from, POLLIN, 0};
    return poll(&one, 1, milliseconds) > 0;
  }
  pid_t number;
  int from;
};

/// What a child says when the state has confirmed something: job `id` has `samples`, and its text of an event is there.
struct Confirmed {
  int64_t id = 0;
  double samples = 0;
};

void writeForEver(const std::string &url, int to) {
  auto store = ServiceStore::open(url);
  if (!store)
    _exit(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (;;) {
        auto added = (*store)->addJob(someJob("a"), someEvent("new"));
        if (!added)
          _exit(2);
        ServedJob job = added->first;
        for (int step = 0; step < 3; ++step) {
          Confirmed said{job.id, job.progress.samples};
          if (write(to, &said, sizeof(said)) != sizeof(said))
            _exit(3);
          StoreChange change;
          job.progress.samples += 1;
          change.jobs = {job};
          change.events = {someEvent("progress")};
          if (!(*store)->apply(change))
            _exit(4);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(StoreRecovery, ConfirmedStaysWhenTheProcessIsKilled) {
  TestFolder folder;
  std::string url = folder.file("state.db");
  SplitMix random(11);
  std::map<int64_t, double> confirmed;
  for (int round = 0; round < 100; ++round) {
    {
      Child child([&](int to) { writeForEver(url, to); });
      if (round % 4 != 0) // else it may be killed while it opens
        ASSERT_TRUE(child.waits(20'000));
      std::this_thread::sleep_for(std::chrono::microseconds(random.next() % 12'000));
      child.end();
      for (Confirmed one; read(child.from, &one, sizeof(one)) == sizeof(one);)
        confirmed[one.id] = std::max(confirmed[one.id], one.samples);
    }
    auto store = openStore(url);
    ASSERT_TRUE(store);
    std::map<int64_t, double> found;
    for (const ServedJob &job : must(store->openJobs()))
      found[job.id] = job.progress.samples;
    for (const auto &[id, samples] : confirmed) {
      ASSERT_TRUE(found.contains(id)) << id;
      EXPECT_GE(found[id], samples);
      EXPECT_LE(found[id], 3);
    }
    if (round % 10 == 9)
      EXPECT_EQ(must(store->check()), std::vector<std::string>());
  }
  EXPECT_GT(confirmed.size(), 100u);
}

bool addChange(ServiceStore &store, int i) {
  std::string name = "change" + std::to_string(i);
  ServedJob job = someJob(name);
  job.submission.files = {{"main", std::string(6'000, char('a' + i))}};
  job.submission.main = "main";
  return bool(store.addJob(job, someEvent(name)));
}

/// Four changes, and which of them were confirmed.
std::vector<bool> fourChanges(const std::string &url) {
  std::vector<bool> done(4, false);
  auto store = ServiceStore::open(url);
  for (int i = 0; store && i < 4; ++i)
    done[i] = addChange(**store, i);
  return done;
}

/// The same in a process that dies after the last of them, without closing the state.
std::vector<bool> fourChangesAndCrash(const std::string &url) {
  Child child([&](int to) {
    auto store = ServiceStore::open(url);
    for (char i = 0; store && i < 4; ++i) {
      char said = addChange(**store, i) ? 'y' : 'n';
      if (write(to, &said, 1) != 1)
        _exit(1);
    }
    _exit(0);
  });
  std::vector<bool> done;
  for (char said; read(child.from, &said, 1) == 1;)
    done.push_back(said == 'y');
  done.resize(4, false);
  return done;
}

/// Whether a change is there; it is there in all tables or in none.
bool isThere(ServiceStore &store, int change) {
  std::string name = "change" + std::to_string(change);
  JobFilter filter;
  filter.name = name;
  auto jobs = must(store.jobs(filter));
  size_t events = 0;
  for (const ServiceEvent &event : must(store.events(0, "", 100)))
    events += event.text == name;
  EXPECT_EQ(jobs.size(), events);
  EXPECT_LE(jobs.size(), 1u);
  if (!jobs.empty())
    EXPECT_EQ(must(store.job(jobs[0].id))->submission.files.at("main").size(), 6'000u);
  return !jobs.empty();
}

void breakTheDisk(bool isNew) {
  FailingDisk disk;
  TestFolder folder;
  std::string first = folder.file("first.db");
  if (!isNew)
    must(openStore(first)->addJob(someJob("before"), someEvent("before")));
  auto copy = [&](const std::string &name) {
    std::string path = folder.file(name);
    if (!isNew)
      fs::copy_file(first, path);
    return path;
  };
  disk.fail(0, false, 0);
  EXPECT_EQ(fourChanges(copy("count.db")), std::vector<bool>(4, true));
  int operations = disk.operations();
  ASSERT_GT(operations, 10);
  int refused = 0, count = 0;
  for (auto [forever, crashes] : {std::pair(false, false), std::pair(false, true), std::pair(true, true)})
    for (int at = 1; at <= operations; at += isNew ? 3 : 1 + crashes) {
      std::string url = copy(std::to_string(++count) + ".db");
      disk.fail(at, forever, at % 2 ? SQLITE_FULL : SQLITE_IOERR);
      std::vector<bool> done = crashes ? fourChangesAndCrash(url) : fourChanges(url);
      disk.fail(0, false, 0);
      auto store = openStore(url);
      ASSERT_TRUE(store);
      for (int i = 0; i < 4; ++i) {
        bool there = isThere(*store, i);
        refused += !done[i];
        if (done[i] || !forever) // what failed on a disk that then works again did not happen
          EXPECT_EQ(there, done[i]) << "operation " << at << ", change " << i;
      }
      EXPECT_EQ(must(store->check()), std::vector<std::string>()) << at;
      store = nullptr;
      for (const char *end : {"", "-wal", "-shm", ".lock"})
        fs::remove(url + end);
    }
  EXPECT_GT(refused, 20);
}

TEST(StoreRecovery, BrokenDiskIsAllOrNothing) { breakTheDisk(false); }
TEST(StoreRecovery, BrokenDiskWhileTablesAreMade) { breakTheDisk(true); }

TEST(StoreRecovery, FullDiskRefusesAndGoesOnLater) {
  TestFolder folder;
  std::string url = folder.file("state.db");
  auto store = openStore(url);
  must(store->addJob(someJob("first"), someEvent("e")));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 600'000;
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<int64_t> ids;
  std::string message;
  for (int i = 0; i < 2'000 && message.empty(); ++i) {
    auto added = store->addJob(someJob("a"), someEvent(std::string(900, 'x')));
    if (added)
      ids.push_back(added->first.id);
    else
      message = added.error().message;
  }
  auto reads = store->openJobs();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_NE(message, "");
  EXPECT_EQ(must(std::move(reads)).size(), ids.size() + 1);
  must(store->addJob(someJob("last"), someEvent("e")));
  store = nullptr;
  store = openStore(url);
  EXPECT_EQ(must(store->openJobs()).size(), ids.size() + 2);
  EXPECT_EQ(must(store->check()), std::vector<std::string>());
}

TEST(StoreRecovery, SecondProcessIsRefusedUntilTheFirstEnds) {
  TestFolder folder;
  std::string url = folder.file("state.db");
  {
    Child child([&](int to) {
      auto store = ServiceStore::open(url);
      char said = store ? 'y' : 'n';
      if (write(to, &said, 1) == 1)
        pause();
    });
    ASSERT_TRUE(child.waits(20'000));
    auto second = ServiceStore::open(url);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::StateFailed);
    EXPECT_NE(second.error().message.find("in use by process " + std::to_string(child.number)), std::string::npos)
        << second.error().message;
    fs::create_symlink(folder.path, folder.file("other"));
    EXPECT_FALSE(ServiceStore::open(folder.file("other/state.db"))); // the same file by another path
  }
  auto store = openStore(url);
  EXPECT_TRUE(store);
  EXPECT_FALSE(ServiceStore::open(url)); // also within a process
  struct stat about = {};
  ASSERT_EQ(stat(url.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST(StoreRecovery, PathsThatCannotBeAreErrors) {
  TestFolder folder;
  put(folder.file("file"), "");
  for (const std::string &bad : {std::string(), folder.file("none/state.db"), folder.file("file/state.db"),
                                 std::string("/proc/state.db"), std::string("a\0b", 3), std::string("/dev/null"),
                                 std::string("postgresql://localhost:1/none?connect_timeout=1")}) {
    auto opened = ServiceStore::open(bad);
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error().code, Code::StateFailed);
  }
  auto secret = ServiceStore::open("postgresql://me:hidden@localhost:1/none");
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().message.find("hidden"), std::string::npos) << secret.error().message;
  EXPECT_TRUE(openStore(folder.path));
  EXPECT_TRUE(fs::exists(folder.file("state.db")));
  EXPECT_TRUE(openStore(folder.file("new/")));
  EXPECT_TRUE(fs::exists(folder.file("new/state.db")));
}

TEST(StoreRecovery, FolderThatCannotBeWrittenIsAnError) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root writes everywhere";
  TestFolder folder;
  must(openStore(folder.file("state.db"))->addJob(someJob("a"), someEvent("e")));
  std::string before = contentOf(folder.file("state.db"));
  ASSERT_EQ(chmod(folder.path.c_str(), 0500), 0);
  EXPECT_FALSE(ServiceStore::open(folder.file("other.db")));
  auto opened = ServiceStore::open(folder.file("state.db")); // its log cannot be made
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::StateFailed);
  ASSERT_EQ(chmod(folder.path.c_str(), 0700), 0);
  EXPECT_EQ(contentOf(folder.file("state.db")), before);
  EXPECT_EQ(must(openStore(folder.file("state.db"))->openJobs()).size(), 1u);
}

TEST(StoreRecovery, DamagedFilesAreFound) {
  TestFolder folder;
  std::string url = folder.file("state.db");
  {
    auto store = openStore(url);
    for (int i = 0; i < 60; ++i) {
      ServedJob job = someJob("a");
      job.submission.files = {{"main", std::string(2'000, char('a' + i % 26))}};
      job.submission.main = "main";
      must(store->addJob(job, someEvent("e")));
    }
  }
  std::string sound = contentOf(url);
  auto refused = [&](const std::string &content) {
    put(url, content);
    auto opened = ServiceStore::open(url);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::StateFailed);
    EXPECT_EQ(contentOf(url), content); // left as it is
  };
  refused("this is a text, and no database, of more than a hundred bytes: " + std::string(200, 'x'));
  refused(sound.substr(0, sound.size() / 2));
  refused(sound.substr(0, 100) + std::string(4'000, '\xff') + sound.substr(4'100));
  SplitMix random(3);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bad = sound;
    for (int k = 0; k < 8; ++k)
      bad[random.next() % bad.size()] = char(random.next());
    put(url, bad);
    auto store = ServiceStore::open(url);
    auto wrong = store ? (*store)->check() : std::vector<std::string>{"it cannot be opened"};
    found += !wrong || !wrong->empty();
    if (store) { // no crash
      (void)(*store)->openJobs();
      (void)(*store)->events(0, "", 1000);
      (void)(*store)->addJob(someJob("b"), someEvent("e"));
    }
  }
  EXPECT_GT(found, 40);
}

TEST(StoreRecovery, BackupIsAState) {
  TestFolder folder;
  std::string url = folder.file("state.db"), copy = folder.file("copy.db");
  auto store = openStore(url);
  std::atomic<bool> ends = false;
  std::jthread writer([&] {
    while (!ends)
      must(store->addJob(someJob("a"), someEvent("e")));
  });
  size_t before = 0;
  for (int i = 0; i < 5; ++i) {
    before = must(store->openJobs()).size();
    must(store->backup(copy)); // over the one before
  }
  ends = true;
  writer.join();
  const std::string other = folder.file("other.db"); // by another process, which does not open it
  EXPECT_TRUE(copyDatabase(url, other));
  EXPECT_EQ(must(openStore(other)->openJobs()).size(), must(store->openJobs()).size());
  EXPECT_FALSE(copyDatabase(folder.file("none.db"), other));
  EXPECT_FALSE(fs::exists(folder.file("none.db")));
  EXPECT_FALSE(copyDatabase("postgresql://localhost/none", other));
  auto copied = openStore(copy);
  EXPECT_GE(must(copied->openJobs()).size(), before);
  EXPECT_EQ(must(copied->check()), std::vector<std::string>());
  EXPECT_FALSE(store->backup(copy)); // in use
  EXPECT_FALSE(store->backup(url));
  EXPECT_FALSE(store->backup(""));
  EXPECT_FALSE(store->backup(folder.file("none/copy.db")));
  EXPECT_FALSE(store->backup(folder.path));
  copied = nullptr;
  for (const auto &entry : fs::directory_iterator(folder.path))
    EXPECT_EQ(entry.path().string().find("partial"), std::string::npos) << entry.path();
}

/// Version 1 as the first program wrote it, with a job that ran.
const char *const kVersionOne[] = {
    "create table accord_version (version bigint not null)",
    "insert into accord_version values (1)",
    "create table counters (name text primary key, value bigint not null)",
    "insert into counters values ('job', 5), ('event', 1)",
    "create table jobs (id NUMBERED, tenant text not null, name text not null, submission_key text not null, phase "
    "bigint not null, reason text not null, submitted double precision not null, started double precision not null, "
    "ended double precision not null, samples double precision not null, runs bigint not null, failures bigint not "
    "null, submitter text not null, submission text not null, progress text not null)",
    "create index jobs_by_phase on jobs (phase, id)",
    "create index jobs_by_tenant on jobs (tenant, id)",
    "create unique index jobs_by_key on jobs (tenant, submission_key) where submission_key <> ''",
    "create table job_after (job bigint not null references jobs (id) on delete cascade, earlier bigint not null, "
    "primary key (job, earlier))",
    "create index job_after_by_earlier on job_after (earlier)",
    "create table files (hash text primary key, content text not null)",
    "create table job_files (job bigint not null references jobs (id) on delete cascade, path text not null, hash text "
    "not null references files (hash), primary key (job, path))",
    "create index job_files_by_hash on job_files (hash)",
    "create table runs (job bigint not null references jobs (id) on delete cascade, number bigint not null, state "
    "bigint not null, outcome bigint not null, task text not null, engine_id text not null, device_type text not null, "
    "devices bigint not null, devices_per_node bigint not null, configuration text not null, plan text not null, nodes "
    "text not null, planned double precision not null, planned_end double precision not null, intended double "
    "precision not null, started double precision not null, stopping double precision not null, ended double precision "
    "not null, samples_at_start double precision not null, samples_at_end double precision not null, reason text not "
    "null, primary key (job, number))",
    "create index runs_by_state on runs (state)",
    "create index runs_by_end on runs (ended)",
    "create unique index runs_by_task on runs (task) where task <> ''",
    "create table events (number NUMBERED, time double precision not null, kind text not null, job bigint not null, "
    "tenant text not null, who text not null, text text not null)",
    "create table drains (node text primary key, reason text not null, who text not null, since double precision not "
    "null)",
    "create table tokens (hash text primary key, name text not null, tenant text not null, role bigint not null, "
    "created double precision not null, expires double precision not null, is_revoked bigint not null)",
    "create table settings (name text primary key, value text not null)",
    "insert into jobs values (5, 'team', 'old', 'k', 2, '', 10, 20, 0, 1000, 1, 0, 'me', "
    "'{\"command\": [\"x\"], \"key\": \"k\", \"name\": \"old\", \"samples\": 1000, \"tenant\": \"team\"}', "
    "'{\"samples\": 12.5}')",
    "insert into runs values (5, 1, 2, 0, 'job-5-1', '77', 'a100', 8, 4, '8 a100', 'data 8', '[\"n1\", \"n2\"]', 15, "
    "90, 16, 20, 0, 0, 0, 0, '')",
    "insert into events values (1, 10, 'submitted', 5, 'team', 'me', 'job 5 was submitted')",
};

class StoreVersions : public ::testing::TestWithParam<std::string> {
protected:
  TestState state{GetParam()};
  void run(const std::vector<std::string> &statements) {
    auto database = must(openDatabase(state.url));
    ASSERT_TRUE(database);
    for (std::string statement : statements) {
      if (size_t at = statement.find("NUMBERED"); at != std::string::npos)
        statement.replace(at, 8, GetParam() == "sqlite" ? "integer primary key" : "bigint primary key");
      must(database->transaction([&](Connection &connection) { return connection.run(statement); }));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, StoreVersions, ::testing::ValuesIn(testKinds()),
                         [](const auto &info) { return info.param; });

TEST_P(StoreVersions, FirstVersionBecomesTheNewest) {
  run({std::begin(kVersionOne), std::end(kVersionOne)});
  for (int i = 0; i < 2; ++i) {
    auto store = openStore(state.url);
    ASSERT_TRUE(store);
    auto job = *must(store->job(5));
    EXPECT_EQ(job.submission.name, "old");
    EXPECT_EQ(job.phase, JobPhase::Running);
    EXPECT_EQ(job.progress.samples, 12.5);
    auto run = must(store->runsOf(5)).at(0);
    EXPECT_EQ(run.nodes, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(run.exitCode, -1);
    EXPECT_EQ(run.plannedEnd, 90);
    EXPECT_EQ(must(store->eventsOf(5, 10)).size(), 1u + i);
    EXPECT_EQ(must(store->check()), std::vector<std::string>());
    StoreChange change;
    change.runs = {run};
    ServiceEvent event = someEvent("e");
    event.job = 5;
    change.events = {event};
    must(store->apply(change));
  }
  auto store = openStore(state.url);
  EXPECT_EQ(must(store->addJob(someJob("new"), someEvent("e"))).first.id, 6);
}

TEST_P(StoreVersions, OldAndNewStatesHaveTheSameTables) {
  auto tablesOf = [](const std::string &url) {
    auto database = must(openDatabase(url));
    std::vector<Row> rows;
    must(database->read([&](Connection &connection) -> Result<void> {
      rows = must(connection.query(
          database->kind() == "sqlite"
              ? "select m.type, m.name, c.name, c.type, c.pk from sqlite_master m left join pragma_table_info(m.name) "
                "c "
                "order by 1, 2, 3"
              : "select c.relname::text, a.attname::text, a.atttypid::bigint from pg_class c join pg_attribute a "
                "on a.attrelid = c.oid where c.relnamespace = current_schema()::regnamespace and a.attnum > 0 "
                "order by 1, 2"));
      return {};
    }));
    return rows;
  };
  run({std::begin(kVersionOne), std::end(kVersionOne)});
  openStore(state.url) = nullptr;
  TestState fresh(GetParam());
  openStore(fresh.url) = nullptr;
  EXPECT_GT(tablesOf(fresh.url).size(), 60u);
  EXPECT_EQ(tablesOf(state.url), tablesOf(fresh.url));
}

TEST_P(StoreVersions, VersionsOfTheFutureAreLeftAlone) {
  openStore(state.url) = nullptr;
  run({"update accord_version set version = 99", "create table novelty (a bigint)"});
  auto opened = ServiceStore::open(state.url);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::StateFailed);
  EXPECT_NE(opened.error().message.find("version 99"), std::string::npos) << opened.error().message;
  run({"insert into novelty values (1)",
       fmt::format("update accord_version set version = {} where version = 99", kStateVersion)});
  EXPECT_TRUE(openStore(state.url));
}

TEST_P(StoreVersions, TablesOfOthersAreRefused) {
  run({"create table jobs (mine bigint)", "insert into jobs values (5)"});
  EXPECT_FALSE(ServiceStore::open(state.url));
  run({"insert into jobs values (6)", "create table runs (mine bigint)"}); // nothing was made beside them
}

} // namespace
} // namespace accord::service
