// Tasks that are jobs of a service: the contract of engines, with a scheduler of this process on the local engine, and
// what is said to the service, with one in memory.
#include "lib/service/client/ServiceEngine.h"
#include "EngineContract.h"
#include "FakeScheduler.h"
#include "StoreFixture.h"
#include "lib/service/control/SchedulerProcess.h"
#include "lib/service/engines/local/LocalEngine.h"
#include "lib/service/http/ApiServer.h"

namespace accord::service {
namespace {

ServiceEngineOptions optionsFor(const ApiServer &server, int64_t devices) {
  ServiceEngineOptions options;
  options.client = {.server = fmt::format("http://localhost:{}", server.port()), .tries = 1};
  options.prefix = "contract-", options.devices = devices, options.patience = 5;
  return options;
}

std::unique_ptr<Engine> opened(ServiceEngineOptions options) {
  auto engine = serviceEngine(std::move(options));
  EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
  return engine ? std::move(*engine) : nullptr;
}

/// A scheduler on two nodes, called as the engine calls its shares of the cluster.
class ServedCluster : public EngineCluster {
public:
  ~ServedCluster() override {
    isStopping = true;
    if (server)
      server->stop();
    if (thread.joinable())
      thread.join();
  }
  std::unique_ptr<Engine> open() override {
    if (!server)
      begin();
    return server ? opened(optionsFor(*server, 4)) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"share-0000", "share-0001"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 2; }
  std::string differs(const std::string &test) override {
    if (test == "KeepsTheOrderOfNodes" || test == "WaitsForDevices" || test == "EndsTasksThatWait" ||
        test == "DrainsNodes" || test == "KnowsRefusalsByTheMarkOfTheGuard" || test == "TellsOfLostNodes")
      return "the service decides on which nodes a job runs, and again after one is lost";
    if (test == "EndsTasksAtTheEndOfTheirNotice" || test == "EndsTasksAtOnce")
      return "a job has the notice with which it was handed in";
    return test == "ForgetsTasks" ? "the service keeps jobs that are over" : "";
  }
  /// Programs end at SIGUSR1, or after some seconds where that came before they began, so that none keeps its devices
  /// until the end of its notice.
  std::vector<std::string> command(const ContractProgram &stated, const std::string &folder) override {
    ContractProgram program = stated;
    program.seconds = std::min(program.seconds, 8.0);
    std::vector<std::string> words = EngineCluster::command(program, folder);
    if (const size_t at = words.back().find("trap '' USR1\n"); at != std::string::npos)
      words.back().erase(at, llvm::StringRef("trap '' USR1\n").size());
    return words;
  }

private:
  void begin() {
    SchedulerOptions options;
    options.cluster = "lab", options.folder = folderOf("tasks"), options.isOpen = true, options.interval = 0.05;
    options.planner.limits.effort = 1;
    std::filesystem::create_directories(options.folder);
    auto engine = localEngine({.nodes = {{"share-0000", "a100", 2, 0, {}}, {"share-0001", "a100", 2, 2, {}}},
                               .folder = folderOf("state"),
                               .prefix = SchedulerProcess::prefixOf("lab")});
    ASSERT_TRUE(engine) << engine.error().message;
    auto made = SchedulerProcess::open(options, testing::openStore(folderOf("state.db")), std::move(*engine), nullptr);
    ASSERT_TRUE(made) << made.error().message;
    process = std::move(*made);
    thread = std::thread([this] { process->run(isStopping); });
    auto started = ApiServer::start(*process, {});
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  std::atomic<bool> isStopping = false;
  std::unique_ptr<SchedulerProcess> process;
  std::unique_ptr<ApiServer> server;
  std::thread thread;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Serve, EngineContract, ServedCluster);

class ServiceEngineTest : public ::testing::Test {
protected:
  ServiceEngineTest() {
    scheduler.isOpen = true;
    begin(0);
  }
  void begin(int port) {
    ApiOptions options;
    options.http.port = port;
    auto started = ApiServer::start(scheduler, options);
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  static TaskRequest taskOn(int64_t devices) {
    TaskRequest task;
    task.name = "contract-a-1", task.folder = "/trials/00001", task.command = {"train", "a b"};
    task.nodes = {"share-0000"}, task.deviceType = "a100", task.devicesPerNode = devices, task.notice = 5;
    task.environment = {{"ACCORD_GUARD", "off"}, {"ACCORD_UNITS", "9"}, {"SEED", "3"}};
    task.work = {.samples = 9, .done = 3, .rates = {{1, 2.0}, {2, 3.5}, {4, 6.0}}, .restart = 0.5};
    return task;
  }
  FakeScheduler scheduler;
  std::unique_ptr<ApiServer> server;
};

TEST_F(ServiceEngineTest, SaysWhatATaskDoes) {
  auto engine = opened(optionsFor(*server, 8));
  ASSERT_TRUE(engine->submit(taskOn(2)));
  const Submission rigid = scheduler.all.at(0).submission;
  EXPECT_EQ(rigid.key, "contract-a-1");
  EXPECT_EQ(rigid.samples, 9);
  EXPECT_EQ(rigid.done, 3);
  EXPECT_EQ(rigid.minDevices, 2);
  EXPECT_EQ(rigid.maxDevices, 2);
  EXPECT_EQ(rigid.restart, 0.5);
  EXPECT_EQ(rigid.notice, 5);
  EXPECT_EQ(rigid.maxFailures, 1);
  ASSERT_EQ(rigid.measured.size(), 1u);
  EXPECT_EQ(rigid.measured[0].rate, 3.5);
  EXPECT_EQ(rigid.environment, (std::map<std::string, std::string>{{"SEED", "3"}})); // a service has ACCORD_ itself
  EXPECT_EQ((std::vector<std::string>(rigid.command.begin(), rigid.command.begin() + 3)),
            (std::vector<std::string>{"env", "ACCORD_UNITS=9", "sh"}));
  EXPECT_EQ(rigid.command.back(), "a b");

  ServiceEngineOptions elastic = optionsFor(*server, 8);
  elastic.isElastic = true, elastic.priority = 3;
  TaskRequest task = taskOn(3); // as fast as two, as nobody said more
  task.name = "contract-b-1";
  ASSERT_TRUE(opened(elastic)->submit(task));
  const Submission malleable = scheduler.all.at(1).submission;
  EXPECT_EQ(malleable.elasticity, jobs::Elasticity::Malleable);
  EXPECT_EQ(malleable.minDevices, 1);
  EXPECT_EQ(malleable.maxDevices, 3);
  EXPECT_EQ(malleable.priority, 3);
  std::map<int64_t, double> rates;
  for (const MeasuredConfiguration &one : malleable.measured)
    rates[one.devices] = one.rate;
  EXPECT_EQ(rates, (std::map<int64_t, double>{{1, 2.0}, {2, 3.5}, {3, 3.5}}));
}

TEST_F(ServiceEngineTest, ListsItsOwnTasksAlone) {
  auto engine = opened(optionsFor(*server, 8));
  ServiceEngineOptions others = optionsFor(*server, 8);
  others.prefix = "other-";
  TaskRequest task = taskOn(1);
  task.name = "other-1";
  ASSERT_TRUE(opened(others)->submit(task));
  auto id = engine->submit(taskOn(1));
  ASSERT_TRUE(id);
  auto tasks = engine->tasks();
  ASSERT_TRUE(tasks);
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->at(0).id, *id);
  EXPECT_EQ(tasks->at(0).state, EngineTask::State::Waiting);
  // Who cancels it says why.
  ASSERT_TRUE(scheduler.cancel({"ops", "", Role::Operator}, 2, "cancelled by ops: fans"));
  tasks = engine->tasks();
  ASSERT_TRUE(tasks);
  EXPECT_EQ(tasks->at(0).state, EngineTask::State::Stopped);
  EXPECT_EQ(tasks->at(0).reason, "cancelled by ops: fans");
  EXPECT_TRUE(engine->stop(tasks->at(0), 5)); // it is over, which is fine
}

TEST_F(ServiceEngineTest, WaitsForAServiceThatGoesAway) {
  const int port = server->port();
  std::atomic<bool> stop = false;
  ServiceEngineOptions options = optionsFor(*server, 8);
  options.patience = 20, options.stop = &stop;
  auto engine = opened(options);
  ASSERT_TRUE(engine->tasks());
  server->stop();
  server = nullptr;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    begin(port);
  });
  EXPECT_TRUE(engine->tasks());
  later.join();
  server->stop();
  server = nullptr;
  stop = true; // nobody waits any more
  auto tasks = engine->tasks();
  ASSERT_FALSE(tasks);
  EXPECT_EQ(tasks.error().code, Code::SchedulerUnreachable);
  // One that never answered is not waited for.
  stop = false;
  EXPECT_FALSE(opened(options)->nodes());
}

TEST(ServiceEngineOptions, AreRead) {
  auto read =
      serviceEngineOptions({{"server", "http://lab:1"}, {"devices", "8"}, {"elastic", "yes"}, {"patience", "9"}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->client.server, "http://lab:1");
  EXPECT_EQ(read->devices, 8);
  EXPECT_TRUE(read->isElastic);
  EXPECT_EQ(read->patience, 9);
  for (const EngineOptions &wrong :
       {EngineOptions{}, EngineOptions{{"devices", "0"}}, EngineOptions{{"devices", "2"}, {"elastic", "maybe"}},
        EngineOptions{{"devices", "2"}, {"priority", "0"}}, EngineOptions{{"devices", "2"}, {"nodes", "2"}},
        EngineOptions{{"devices", "2"}, {"token-file", "/nowhere"}}})
    EXPECT_FALSE(serviceEngineOptions(wrong));
}

} // namespace
} // namespace accord::service
