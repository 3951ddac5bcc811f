// The state on SQLite, and on PostgreSQL where $ACCORD_TEST_POSTGRES names one: what is written is there, also after it
// is opened again; compared with a model in memory.
#include "StoreFixture.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <limits>
#include <set>
#include <thread>

namespace accord::service {
namespace {

using namespace testing;

JobFilter where(void (*set)(JobFilter &)) {
  JobFilter filter;
  set(filter);
  return filter;
}

class StoreTest : public ::testing::TestWithParam<std::string> {
protected:
  TestState state{GetParam()};
  std::unique_ptr<ServiceStore> store = openStore(state.url);
  void reopen() {
    store = nullptr;
    store = openStore(state.url);
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, StoreTest, ::testing::ValuesIn(testKinds()),
                         [](const auto &info) { return info.param; });

TEST_P(StoreTest, EmptyStateHasNothing) {
  for (int i = 0; i < 2; ++i, reopen()) {
    EXPECT_TRUE(must(store->openJobs()).empty());
    EXPECT_TRUE(must(store->openRuns()).empty());
    EXPECT_TRUE(must(store->events(0, "", 10)).empty());
    EXPECT_TRUE(must(store->counts()).empty());
    EXPECT_TRUE(must(store->check()).empty());
    EXPECT_FALSE(must(store->job(1)).has_value());
    must(store->prune(1e9));
    must(store->apply({}));
  }
}

TEST_P(StoreTest, JobsKeepEverything) {
  ServedJob job = someJob("lm");
  job.submission.files = {{"lm.dnn", "a 'quoted' \"model\"\n\t\\ é 漢 🚀"}, {"b/c.dnn", ""}};
  job.submission.main = "lm.dnn";
  job.submission.environment = {{"A", "$HOME; drop table jobs; --"}, {"B", "?"}};
  job.submission.after = {7, 3};
  job.submission.measured = {{"a100", 8, 0.1}, {"h100", 1, 1e-300}};
  job.submission.restart = 0;
  job.phase = JobPhase::Modelling;
  job.progress.history = {{1.5, 0}, {2, 64}};
  job.progress.loss = -1.25;
  job.samples = std::numeric_limits<double>::max();
  job.user = "me";
  auto [added, isNew] = must(store->addJob(job, someEvent("new")));
  EXPECT_TRUE(isNew);
  EXPECT_EQ(added.id, 1);
  job.id = 1;
  EXPECT_EQ(textOf(added), textOf(job));
  reopen();
  EXPECT_EQ(textOf(*must(store->job(1))), textOf(job));
  ServedJob listed = job;
  listed.submission.files.clear();
  EXPECT_EQ(textOf(must(store->openJobs())), textOf(std::vector{listed}));
  // An update without the texts of the files leaves them.
  listed.phase = JobPhase::Queued;
  StoreChange update;
  update.jobs = {listed};
  must(store->apply(update));
  job.phase = JobPhase::Queued;
  EXPECT_EQ(textOf(*must(store->job(1))), textOf(job));
  EXPECT_EQ(must(store->events(0, "", 10)).at(0).job, 1);
}

TEST_P(StoreTest, KeepsTunings) {
  auto add = [&](const std::string &tenant, const std::string &name, const std::string &document) {
    return must(store->addTuning({.name = name, .tenant = tenant, .user = "me", .time = 5, .document = document}));
  };
  EXPECT_EQ(add("vision", "lr", "{\"a\": 'é'}"), 1);
  EXPECT_EQ(add("vision", "lr", "{}"), 2);
  EXPECT_EQ(add("vision", "lr", "{\"a\": 'é'}"), 1); // the same once more
  EXPECT_EQ(add("speech", "lr", "{}"), 3);
  EXPECT_EQ(add("vision", "width", "{}"), 4);
  reopen();
  auto idsOf = [&](const std::string &tenant, const std::string &name, size_t limit = 100) {
    std::vector<int64_t> ids;
    for (const TuningRecord &one : must(store->tunings(tenant, name, limit))) {
      ids.push_back(one.id);
      EXPECT_TRUE(one.document.empty());
    }
    return ids;
  };
  EXPECT_EQ(idsOf("", ""), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(idsOf("vision", "lr"), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(idsOf("vision", "", 1), (std::vector<int64_t>{4}));
  EXPECT_TRUE(idsOf("others", "").empty());
  const TuningRecord first = *must(store->tuning(1));
  EXPECT_EQ(first.document, "{\"a\": 'é'}");
  EXPECT_EQ(first.tenant + first.name + first.user, "visionlrme");
  EXPECT_FALSE(must(store->tuning(5)).has_value());
  EXPECT_TRUE(must(store->check()).empty());
  for (size_t i = 0; i < kMaxTunings; ++i) // the oldest ones of the tenant go
    add("vision", "many", std::to_string(i));
  EXPECT_EQ(idsOf("vision", "", 1000).size(), kMaxTunings);
  EXPECT_FALSE(must(store->tuning(1)).has_value());
  EXPECT_EQ(idsOf("speech", ""), (std::vector<int64_t>{3}));
}

TEST_P(StoreTest, NumbersAtTheirLimits) {
  ServedJob job = someJob("limits");
  job.runs = std::numeric_limits<int64_t>::max();
  job.failures = std::numeric_limits<int64_t>::min();
  job.submitted = std::numeric_limits<double>::denorm_min();
  job.started = -std::numeric_limits<double>::max();
  job.ended = 0.1 + 0.2;
  job.progress.samples = 9007199254740993.0;
  auto added = must(store->addJob(job, someEvent(""))).first;
  reopen();
  auto read = *must(store->job(added.id));
  EXPECT_EQ(read.runs, job.runs);
  EXPECT_EQ(read.failures, job.failures);
  EXPECT_EQ(read.submitted, job.submitted);
  EXPECT_EQ(read.started, job.started);
  EXPECT_EQ(read.ended, job.ended);
  EXPECT_EQ(read.progress.samples, job.progress.samples);
  JobRunRecord run = someRun(added.id, std::numeric_limits<int64_t>::max());
  run.exitCode = std::numeric_limits<int>::min();
  StoreChange change;
  change.runs = {run};
  must(store->apply(change));
  EXPECT_EQ(textOf(must(store->runsOf(added.id))), textOf(std::vector{run}));
  EXPECT_TRUE(must(store->jobs(where([](JobFilter &f) { f.limit = 0; }))).empty());
  EXPECT_EQ(must(store->jobs(where([](JobFilter &f) { f.limit = std::numeric_limits<size_t>::max(); }))).size(), 1u);
}

TEST_P(StoreTest, RefusesWhatCannotBeKept) {
  must(store->addJob(someJob("a"), someEvent("one")));
  auto refused = [&](auto spoil) {
    ServedJob job = someJob("b");
    ServiceEvent event = someEvent("two");
    spoil(job, event);
    auto added = store->addJob(job, event);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::StateFailed);
  };
  using J = ServedJob &;
  using E = ServiceEvent &;
  double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  refused([](J, E event) { event.text = std::string("a\0b", 3); });
  refused([](J, E event) { event.text = "\xff\xfe"; });
  refused([&](J, E event) { event.time = nan; });
  refused([&](J job, E) { job.samples = infinity; });
  refused([&](J job, E) { job.progress.rate = nan; });
  refused([&](J job, E) { job.submission.priority = nan; });
  refused([](J job, E) { job.reason = std::string("\0", 1); });
  StoreChange change;
  change.runs = {someRun(99, 1)}; // of no job
  EXPECT_FALSE(store->apply(change));
  change.runs = {};
  change.jobs = {someJob("c")}; // without a number
  EXPECT_FALSE(store->apply(change));
  EXPECT_EQ(must(store->openJobs()).size(), 1u);
  EXPECT_EQ(must(store->events(0, "", 10)).size(), 1u);
  EXPECT_EQ(must(store->addJob(someJob("d"), someEvent("three"))).first.id, 2);
  EXPECT_TRUE(must(store->check()).empty());
}

TEST_P(StoreTest, KeyIsOfOneJobOfATenant) {
  ServedJob job = someJob("a");
  job.submission.key = "k'1";
  EXPECT_EQ(must(store->addJob(job, someEvent("1"))).first.id, 1);
  auto again = must(store->addJob(job, someEvent("2")));
  EXPECT_EQ(again.first.id, 1);
  EXPECT_FALSE(again.second);
  job.submission.tenant = "other";
  EXPECT_TRUE(must(store->addJob(job, someEvent("3"))).second);
  job.submission.key = "";
  EXPECT_TRUE(must(store->addJob(job, someEvent("4"))).second);
  EXPECT_TRUE(must(store->addJob(job, someEvent("5"))).second);
  EXPECT_EQ(must(store->events(0, "", 10)).size(), 4u);
}

TEST_P(StoreTest, FiltersAndPages) {
  for (int i = 0; i < 30; ++i) {
    ServedJob job = someJob(i % 3 ? "x" : "y");
    job.submission.tenant = i % 2 ? "odd" : "even";
    job.phase = static_cast<JobPhase>(i % 7);
    ServiceEvent event = someEvent("e");
    event.tenant = i % 5 ? job.submission.tenant : "";
    must(store->addJob(job, event));
  }
  auto idsOf = [&](const JobFilter &filter) {
    std::vector<int64_t> ids;
    for (const ServedJob &job : must(store->jobs(filter)))
      ids.push_back(job.id);
    return ids;
  };
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.limit = 3; })), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.after = 28; })), (std::vector<int64_t>{29, 30}));
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.prefix = "y", f.tenant = "odd"; })),
            (std::vector<int64_t>{4, 10, 16, 22, 28}));
  EXPECT_TRUE(idsOf(where([](JobFilter &f) { f.prefix = "y%"; })).empty());
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.limit = 2, f.newestFirst = true; })), (std::vector<int64_t>{30, 29}));
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.after = 3, f.newestFirst = true; })), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.tenant = "odd", f.name = "y"; })),
            (std::vector<int64_t>{4, 10, 16, 22, 28}));
  EXPECT_EQ(idsOf(where([](JobFilter &f) { f.phases = {JobPhase::Modelling, JobPhase::Cancelled}, f.limit = 4; })),
            (std::vector<int64_t>{1, 7, 8, 14}));
  EXPECT_TRUE(idsOf(where([](JobFilter &f) { f.tenant = "' or 1=1 --"; })).empty());
  EXPECT_EQ(must(store->events(0, "odd", 100)).size(), 18u);
  EXPECT_EQ(must(store->events(28, "", 100)).size(), 2u);
  EXPECT_EQ(must(store->counts())[JobPhase::Queued], 5);
}

TEST_P(StoreTest, RunsOfATime) {
  must(store->addJob(someJob("a"), someEvent("e")));
  StoreChange change;
  auto add = [&](int64_t number, double intended, double started, double ended) {
    JobRunRecord run = someRun(1, number);
    run.intended = intended, run.started = started, run.ended = ended;
    run.state = ended > 0 ? JobRunRecord::State::Ended : JobRunRecord::State::Running;
    change.runs.push_back(run);
  };
  add(1, 10, 20, 30), add(2, 40, 0, 45), add(3, 50, 60, 70), add(4, 80, 90, 0);
  must(store->apply(change));
  auto numbers = [&](double from, double until, size_t limit = 10) {
    std::vector<int64_t> all;
    for (const NamedRun &one : must(store->runsBetween({.from = from, .until = until, .limit = limit})))
      all.push_back(one.run.number);
    return all;
  };
  EXPECT_EQ(numbers(0, 1000), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(numbers(0, 20), (std::vector<int64_t>{}));
  EXPECT_EQ(numbers(29, 41), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(numbers(70, 91), (std::vector<int64_t>{4}));
  EXPECT_EQ(numbers(0, 1000, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(must(store->openRuns()).size(), 1u);
  ServedJob other = someJob("b");
  other.submission.tenant = "another";
  other = must(store->addJob(other, someEvent("e"))).first;
  StoreChange more;
  more.runs.push_back(someRun(other.id, 1));
  more.runs.back().intended = 5;
  must(store->apply(more));
  auto first = must(store->runsBetween({.tenant = "another", .limit = 1}));
  ASSERT_EQ(first.size(), 1u) << "those of others do not count against its limit";
  EXPECT_EQ(first[0].run.job, other.id);
  EXPECT_EQ(first[0].name, "b");
  EXPECT_EQ(first[0].tenant, "another");
  EXPECT_EQ(must(store->runsBetween({.job = 1})).size(), 4u);
  EXPECT_EQ(must(store->runsBetween({.job = 1, .tenant = "another"})).size(), 0u);
}

TEST_P(StoreTest, SharesTransactionsOfManyThreads) {
  constexpr int kThreads = 8, kEach = 40;
  std::vector<std::vector<int64_t>> ids(kThreads);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          ServiceEvent event = someEvent("e");
          bool isBad = i % 8 == 3; // fails in the transaction that it shares with others
          if (isBad)
            event.text = "\xff";
          auto added = store->addJob(someJob("j"), event);
          refused += !added;
          if (!added)
            continue;
          ids[t].push_back(added->first.id);
          EXPECT_TRUE(must(store->job(added->first.id)).has_value());
        }
      });
  }
  EXPECT_EQ(refused, kThreads * 5);
  std::set<int64_t> all;
  for (const auto &some : ids) {
    EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
    all.insert(some.begin(), some.end());
  }
  EXPECT_EQ(all.size(), size_t(kThreads * kEach) - refused);
  EXPECT_EQ(*all.rbegin(), int64_t(all.size()));
  auto events = must(store->events(0, "", 1000));
  ASSERT_EQ(events.size(), all.size());
  for (size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i].number, int64_t(i + 1));
  EXPECT_TRUE(must(store->check()).empty());
}

TEST_P(StoreTest, PrunesWhatIsOver) {
  for (int i = 1; i <= 6; ++i) {
    ServedJob job = someJob("a");
    job.submission.files = {{"m", i < 3 ? "shared" : "own " + std::to_string(i)}};
    job.submission.main = "m";
    if (i == 6)
      job.submission.after = {2}; // needs a job that is over
    ServiceEvent event = someEvent("e");
    event.time = i * 10;
    must(store->addJob(job, event));
  }
  StoreChange change;
  for (int64_t id : {1, 2, 3, 4}) {
    ServedJob job = *must(store->job(id));
    job.phase = JobPhase::Complete;
    job.ended = id == 4 ? 1000 : 50 + double(id);
    change.jobs.push_back(job);
    JobRunRecord run = someRun(id, 1);
    run.state = id == 3 ? JobRunRecord::State::Stopping : JobRunRecord::State::Ended;
    run.outcome = id == 3 ? JobRunRecord::Outcome::None : JobRunRecord::Outcome::Succeeded;
    change.runs.push_back(run);
  }
  must(store->apply(change));
  must(store->prune(35));
  EXPECT_EQ(must(store->events(0, "", 10)).at(0).number, 4);
  must(store->prune(500));
  reopen();
  std::vector<int64_t> left;
  for (const ServedJob &job : must(store->jobs({})))
    left.push_back(job.id);
  EXPECT_EQ(left, (std::vector<int64_t>{2, 3, 4, 5, 6})); // 2 is waited for, 3 still has a run, 4 was over later
  EXPECT_TRUE(must(store->runsOf(1)).empty());
  EXPECT_TRUE(must(store->events(0, "", 10)).empty());
  EXPECT_EQ(must(store->job(2))->submission.files.at("m"), "shared");
  EXPECT_TRUE(must(store->check()).empty());
  EXPECT_EQ(must(store->addJob(someJob("new"), someEvent("e"))).first.id, 7);
  EXPECT_EQ(must(store->events(0, "", 10)).at(0).number, 7);
}

TEST_P(StoreTest, CheckFindsContradictions) {
  for (int i = 0; i < 5; ++i)
    must(store->addJob(someJob("a"), someEvent("e")));
  EXPECT_TRUE(must(store->check()).empty());
  StoreChange change;
  change.runs = {someRun(1, 1), someRun(1, 2), someRun(2, 1)};
  ServedJob first = *must(store->job(1)), third = *must(store->job(3)), fourth = *must(store->job(4));
  first.phase = JobPhase::Running;
  third.phase = JobPhase::Stopping;
  fourth.phase = JobPhase::Failed;
  change.jobs = {first, third, fourth};
  must(store->apply(change));
  EXPECT_EQ(must(store->check()),
            (std::vector<std::string>{"job 1 has more than one open run", "job 3 runs or stops, and has no open run",
                                      "job 2 waits, and has an open run", "job 4 is over, and has no end"}));
  store = nullptr;
  {
    auto database = must(openDatabase(state.url));
    must(database->transaction([](Connection &connection) -> Result<void> {
      for (const char *statement :
           {"delete from events where number = 3", "update jobs set submission = '{' where id = 5",
            "insert into files values ('00', 'text')", "update runs set outcome = 1 where job = 2"})
        if (auto done = connection.run(statement); !done)
          return done;
      return {};
    }));
  }
  store = openStore(state.url);
  auto wrong = must(store->check());
  auto says = [&](const std::string &text) { return std::find(wrong.begin(), wrong.end(), text) != wrong.end(); };
  EXPECT_TRUE(says("events up to number 5 have holes"));
  EXPECT_TRUE(says("the state is damaged: job 5 cannot be read"));
  EXPECT_TRUE(says("1 files are of no job"));
  EXPECT_TRUE(says("the file with the hash 00 has another content"));
  EXPECT_TRUE(says("job 2 has a run that has ended without an outcome, or an outcome without an end"));
  EXPECT_FALSE(store->job(5));
  EXPECT_TRUE(must(store->job(4)).has_value());
}

/// What the state should say, in plain containers.
struct Model {
  std::map<int64_t, ServedJob> jobs;
  std::map<std::pair<int64_t, int64_t>, JobRunRecord> runs;
  std::vector<ServiceEvent> events;
  std::map<std::string, DrainRecord> drained;
  std::map<std::string, TokenRecord> tokens;
  std::map<std::string, std::string> settings;

  void apply(const StoreChange &change) {
    for (const ServedJob &job : change.jobs)
      jobs[job.id] = job;
    for (const JobRunRecord &run : change.runs)
      runs[{run.job, run.number}] = run;
    for (ServiceEvent event : change.events) {
      event.number = int64_t(events.size()) + 1;
      events.push_back(event);
    }
    for (const DrainRecord &drain : change.drained)
      drained[drain.node] = drain;
    for (const std::string &node : change.undrained)
      drained.erase(node);
    for (const TokenRecord &token : change.tokens)
      tokens[token.hash] = token;
    for (const auto &[name, value] : change.settings)
      settings[name] = value;
  }
};

std::string draw(SplitMix &random, const std::string &prefix, uint64_t count) {
  static const char *const kOdd[] = {"", "'", "\"", "\\", "é", "漢字", "\n", "?", "$1", "%", "🚀", "\x01"};
  return prefix + std::to_string(random.next() % count) + kOdd[random.next() % std::size(kOdd)];
}

StoreChange randomChange(SplitMix &random, const Model &model) {
  StoreChange change;
  for (const auto &[id, job] : model.jobs)
    if (random.next() % 4 == 0) {
      ServedJob next = job;
      next.phase = static_cast<JobPhase>(random.next() % 7);
      next.reason = draw(random, "reason", 9);
      next.progress.samples = double(random.next() % 1000) / 7;
      next.progress.history.assign(random.next() % 9, {1.5, double(random.next() % 100)});
      change.jobs.push_back(next);
      JobRunRecord run = someRun(id, 1 + int64_t(random.next() % 3));
      run.state = static_cast<JobRunRecord::State>(random.next() % 5);
      run.outcome = static_cast<JobRunRecord::Outcome>(random.next() % 5);
      run.nodes = {draw(random, "n", 4), draw(random, "n", 4)};
      run.exitCode = int(random.next() % 300) - 100;
      run.ended = double(random.next() % 100);
      change.runs.push_back(run);
    }
  for (uint64_t i = random.next() % 4; i > 0; --i) {
    ServiceEvent event = someEvent(draw(random, "event", 99));
    event.job = int64_t(random.next() % 9);
    change.events.push_back(event);
  }
  if (random.next() % 3 == 0)
    change.drained.push_back({draw(random, "node", 3), draw(random, "why", 3), "me", 5});
  if (random.next() % 3 == 0)
    change.undrained.push_back(draw(random, "node", 3));
  if (random.next() % 3 == 0)
    change.tokens.push_back({draw(random, "hash", 3),
                             {draw(random, "name", 3), "team", Role(random.next() % 3)},
                             1,
                             2,
                             random.next() % 2 == 0});
  if (random.next() % 3 == 0)
    change.settings[draw(random, "key", 3)] = draw(random, "value", 1000);
  return change;
}

void compare(ServiceStore &store, const Model &model) {
  std::vector<ServedJob> all, open;
  for (auto [id, job] : model.jobs) {
    EXPECT_EQ(textOf(*must(store.job(id))), textOf(job));
    job.submission.files.clear();
    all.push_back(job);
    if (!isOver(job.phase))
      open.push_back(job);
  }
  EXPECT_EQ(textOf(must(store.jobs(where([](JobFilter &f) { f.limit = 1000; })))), textOf(all));
  EXPECT_EQ(textOf(must(store.openJobs())), textOf(open));
  std::vector<JobRunRecord> openRuns;
  std::map<int64_t, std::vector<JobRunRecord>> runs;
  for (const auto &[key, run] : model.runs) {
    runs[run.job].push_back(run);
    if (run.state != JobRunRecord::State::Ended)
      openRuns.push_back(run);
  }
  EXPECT_EQ(textOf(must(store.openRuns())), textOf(openRuns));
  for (const auto &[id, some] : runs)
    EXPECT_EQ(textOf(must(store.runsOf(id))), textOf(some));
  EXPECT_EQ(textOf(must(store.events(0, "", 10'000))), textOf(model.events));
  std::vector<ServiceEvent> last;
  for (const ServiceEvent &event : model.events)
    if (event.job == 3)
      last.push_back(event);
  last.erase(last.begin(), last.end() - std::min<ptrdiff_t>(5, last.size()));
  EXPECT_EQ(textOf(must(store.eventsOf(3, 5))), textOf(last));
  EXPECT_EQ(must(store.settings()), model.settings);
  auto drained = must(store.drained());
  ASSERT_EQ(drained.size(), model.drained.size());
  size_t at = 0;
  for (const auto &[node, drain] : model.drained) {
    EXPECT_EQ(drained[at].node, node);
    EXPECT_EQ(drained[at++].reason, drain.reason);
  }
  auto tokens = must(store.tokens());
  ASSERT_EQ(tokens.size(), model.tokens.size());
  at = 0;
  for (const auto &[hash, token] : model.tokens) {
    EXPECT_EQ(tokens[at].hash, hash);
    EXPECT_EQ(tokens[at].caller.name, token.caller.name);
    EXPECT_EQ(tokens[at].caller.role, token.caller.role);
    EXPECT_EQ(tokens[at++].isRevoked, token.isRevoked);
  }
}

TEST_P(StoreTest, RandomChangesAreThoseOfAModel) {
  SplitMix random(7);
  Model model;
  for (int step = 0; step < 120; ++step) {
    if (random.next() % 4 == 0) {
      ServedJob job = someJob("job" + std::to_string(random.next() % 5));
      job.submission.files = {{"main", draw(random, "text", 3)}};
      job.submission.main = "main";
      ServiceEvent event = someEvent(draw(random, "new", 9));
      auto added = must(store->addJob(job, event)).first;
      EXPECT_EQ(added.id, int64_t(model.jobs.size()) + 1);
      event.job = job.id = added.id;
      StoreChange change;
      change.jobs = {job}, change.events = {event};
      model.apply(change);
    } else {
      StoreChange change = randomChange(random, model);
      model.apply(change);
      must(store->apply(change));
    }
    if (step % 10 == 9)
      compare(*store, model);
    if (step % 30 == 29) {
      reopen();
      compare(*store, model);
    }
  }
}

TEST_P(StoreTest, DatabaseUndoesWhatFails) {
  store = nullptr;
  auto database = must(openDatabase(state.url));
  EXPECT_EQ(database->kind(), GetParam());
  auto run = [&](const std::string &statement, Row row = {}) {
    return database->transaction([&](Connection &connection) { return connection.run(statement, row); });
  };
  must(run("create table t (a bigint, b double precision, c text)"));
  must(run("insert into t values (?, ?, ?)", {int64_t(1), 0.5, std::string("it's ?")}));
  auto failed = database->transaction([&](Connection &connection) -> Result<void> {
    must(connection.run("insert into t values (2, 1, 'x')"));
    return connection.run("insert into nowhere values (2)");
  });
  EXPECT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("in 'insert into nowhere values (2)'"), std::string::npos);
  Error own{Code::NotServed, "no"};
  EXPECT_EQ(database
                ->transaction([&](Connection &connection) -> Result<void> {
                  must(connection.run("delete from t"));
                  return own;
                })
                .error()
                .code,
            Code::NotServed);
  EXPECT_FALSE(run("insert into t values (?, ?, ?)", {int64_t(1)}));
  EXPECT_FALSE(run("selec 1"));
  std::vector<Row> rows;
  must(database->read([&](Connection &connection) -> Result<void> {
    EXPECT_FALSE(connection.run("delete from t")); // readers only read
    return {};
  }));
  must(database->read([&](Connection &connection) -> Result<void> {
    rows = must(connection.query("select a, b, c, ?, ?, ?, null from t where c = 'it''s ?'",
                                 {int64_t(7), 1.0, std::string("q")}));
    return {};
  }));
  EXPECT_EQ(rows, (std::vector<Row>{
                      {int64_t(1), 0.5, std::string("it's ?"), int64_t(7), 1.0, std::string("q"), std::monostate()}}));
}

TEST_P(StoreTest, ReadersSeeOneState) {
  store = nullptr;
  auto database = must(openDatabase(state.url));
  must(database->transaction([](Connection &connection) -> Result<void> {
    must(connection.run("create table a (n bigint)"));
    return connection.run("create table b (n bigint)");
  }));
  std::atomic<bool> ends = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 6; ++i)
    readers.emplace_back([&] {
      while (!ends)
        must(database->read([](Connection &connection) -> Result<void> {
          auto first = must(connection.query("select count(*) from a"));
          auto second = must(connection.query("select count(*) from b"));
          EXPECT_EQ(first, second);
          return {};
        }));
    });
  for (int64_t i = 0; i < 100; ++i)
    must(database->transaction([&](Connection &connection) -> Result<void> {
      must(connection.run("insert into a values (?)", {i}));
      return connection.run("insert into b values (?)", {i});
    }));
  ends = true;
}

} // namespace
} // namespace accord::service
