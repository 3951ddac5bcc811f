// The engine of Podman. With ACCORD_TEST_PODMAN=IMAGE in the environment (test/service/podman.test sets it) its
// contract is tested with containers; else with a program that plays Podman from files.
#include "lib/service/engines/local/PodmanEngine.h"
#include "lib/service/control/MakeEngine.h"
#include "lib/support/SplitMix.h"
#include "test/lib/service/EngineContract.h"
#include <csignal>
#include <sys/wait.h>

namespace accord::service {
namespace {

namespace fs = std::filesystem;

std::string testImage() {
  const char *image = std::getenv("ACCORD_TEST_PODMAN");
  return image ? image : "";
}

/// Podman as a normal user in a container or a small machine: without a network, with the limits of the user.
PodmanOptions testOptions(const std::string &folder, const std::string &prefix) {
  return {.local = {.nodes = {{"p1", "a100", 2, 0, {}}, {"p2", "a100", 2, 2, {}}}, .folder = folder, .prefix = prefix},
          .image = testImage(),
          .runtime = "runc",
          .network = "none",
          .device = {},
          .options = {"--ulimit=host"}};
}

class PodmanCluster : public EngineCluster {
public:
  std::string unavailable() override { return testImage().empty() ? "ACCORD_TEST_PODMAN is not set" : ""; }
  std::unique_ptr<Engine> open() override {
    PodmanOptions options = testOptions(folderOf("state"), "contract-");
    options.local.shares = sharesPerDevice();
    auto engine = podmanEngine(std::move(options));
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"p1", "p2"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 2; }
  int64_t sharesPerDevice() override { return 2; }
  double patience() override { return 40; }
  std::vector<std::string> command(const ContractProgram &program, const std::string &folder) override {
    ContractProgram slower = program; // a container needs half a second to start
    slower.seconds *= 3;
    std::vector<std::string> words = EngineCluster::command(slower, folder);
    return {words.end() - 3, words.end()}; // without env, which busybox has without --default-signal
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Podman, EngineContract, PodmanCluster);

class PodmanEngineTest : public ::testing::Test {
protected:
  PodmanEngineTest() {
    std::string pattern = fs::temp_directory_path() / "accord-podman-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~PodmanEngineTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// A Podman whose containers are files, and whose next answers a test may choose: the first line of `answers`.
  PodmanOptions standIn() {
    std::ofstream(folder_ + "/podman") << R"sh(#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
if [ -s "$here/answers" ]; then
  answer=$(head -n 1 "$here/answers")
  sed -i 1d "$here/answers"
  [ "$answer" = - ] || eval "$answer"
fi
names=
for word; do case $word in --name=*) name=${word#--name=} ;; esac; last=$word; done
case $1 in
ps)
  printf '['
  comma=
  for file in "$here"/containers/*; do
    [ -e "$file" ] || continue
    printf '%s{"Names":["%s"],%s}' "$comma" "${file##*/}" "$(cat "$file")"
    comma=,
  done
  echo ']' ;;
run)
  [ ! -e "$here/containers/$name" ] || { echo "Error: that name is already in use" >&2; exit 125; }
  echo '"State":"running","ExitCode":0,"StartedAt":1700000000,"ExitedAt":-62135596800,"Pid":0' > "$here/containers/$name" ;;
stop) echo '"State":"exited","ExitCode":137,"StartedAt":1700000000,"ExitedAt":1700000009' > "$here/containers/$last" ;;
rm) for word; do rm -f "$here/containers/$word"; done ;;
esac
)sh";
    fs::permissions(folder_ + "/podman", fs::perms::owner_all);
    fs::create_directories(folder_ + "/containers");
    PodmanOptions options = testOptions(folder_ + "/state", "t-");
    options.image = "image";
    options.runtime = {};
    options.program = folder_ + "/podman";
    options.local.timeLimit = 2;
    return options;
  }
  TaskRequest request(const std::string &name, std::vector<std::string> nodes = {"p1"}) {
    TaskRequest task;
    task.name = "t-" + name;
    task.nodes = std::move(nodes);
    task.folder = folder_ + "/" + task.name;
    task.command = {"sh", "-c", "echo $NODE_RANK >> '" + task.folder + "/starts'; sleep 0.2"};
    fs::create_directories(task.folder);
    return task;
  }
  void answer(const std::string &lines) { std::ofstream(folder_ + "/answers") << lines; }
  void setContainer(const std::string &name, const std::string &state) {
    std::ofstream(folder_ + "/containers/" + name) << state;
  }
  static std::vector<std::string> linesOf(const std::string &path) {
    std::ifstream in(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
      lines.push_back(line);
    return lines;
  }
  size_t calls(const std::string &start) {
    auto all = linesOf(folder_ + "/calls");
    return size_t(std::count_if(all.begin(), all.end(), [&](auto &one) { return one.starts_with(start); }));
  }
  static EngineTask taskOf(Engine &engine, const std::string &name) {
    auto tasks = engine.tasks();
    EXPECT_TRUE(tasks) << (tasks ? "" : tasks.error().message);
    for (const EngineTask &task : tasks ? *tasks : std::vector<EngineTask>())
      if (task.name == name)
        return task;
    ADD_FAILURE() << "no task " << name;
    return {};
  }

  std::string folder_;
};

TEST_F(PodmanEngineTest, AnswersThatCannotBeReadSayNothing) {
  auto made = podmanEngine(standIn());
  ASSERT_TRUE(made) << made.error().message;
  Engine &engine = **made;
  ASSERT_TRUE(engine.submit(request("a")));
  EXPECT_EQ(taskOf(engine, "t-a").state, EngineTask::State::Running);
  for (const char *bad :
       {"echo garbage; exit 0", "echo '[{}]'; exit 0", "echo '{\"a\":1}'; exit 0", "echo '[{\"Names\":3}]'; exit 0",
        "echo '[{\"Names\":[\"t-a\"],'; exit 0", "echo \"Error: no\" >&2; exit 125", "kill -9 $$", "exec sleep 100"}) {
    answer(std::string(bad) + "\n");
    auto tasks = engine.tasks();
    ASSERT_FALSE(tasks) << bad;
    EXPECT_EQ(tasks.error().code, Code::EngineFailed);
    EXPECT_EQ(taskOf(engine, "t-a").state, EngineTask::State::Running) << bad;
  }
  EXPECT_EQ(calls("run"), 1u);
}

TEST_F(PodmanEngineTest, ReadsHowContainersEnd) {
  auto made = podmanEngine(standIn());
  ASSERT_TRUE(made);
  Engine &engine = **made;
  struct {
    const char *name, *container;
    EngineTask::State state;
    int exitCode;
  } cases[] = {{"a", "\"State\":\"exited\",\"ExitCode\":0,\"ExitedAt\":4000000000", EngineTask::State::Succeeded, 0},
               {"b", "\"State\":\"exited\",\"ExitCode\":7,\"ExitedAt\":4000000000", EngineTask::State::Failed, 7},
               {"c", "\"State\":\"Exited\",\"ExitCode\":-1", EngineTask::State::Lost, -1},
               {"d", "\"State\":\"created\",\"ExitCode\":0", EngineTask::State::Lost, -1},
               {"e", "", EngineTask::State::Lost, -1}};
  for (const auto &one : cases) {
    std::string name = std::string("t-") + one.name;
    ASSERT_TRUE(engine.submit(request(one.name)));
    EXPECT_EQ(taskOf(engine, name).state, EngineTask::State::Running);
    if (*one.container)
      setContainer(name, one.container);
    else
      fs::remove(folder_ + "/containers/" + name);
    EngineTask task = taskOf(engine, name);
    EXPECT_EQ(task.state, one.state) << one.name;
    EXPECT_EQ(task.exitCode, one.exitCode) << one.name;
    EXPECT_TRUE(engine.forget(task));
    EXPECT_FALSE(fs::exists(folder_ + "/containers/" + name));
  }
}

TEST_F(PodmanEngineTest, TakesOnWhatADeadSchedulerBegan) {
  PodmanOptions options = standIn();
  auto made = podmanEngine(options);
  ASSERT_TRUE(made);
  // The list, then a run that dies when it has made the container.
  answer("-\necho '\"State\":\"created\"' > \"$here/containers/t-a\"; sleep 1; exit 1\n");
  pid_t child = fork();
  if (child == 0) {
    (void)(*made)->submit(request("a"));
    _exit(0);
  }
  for (int i = 0; i < 500 && !fs::exists(folder_ + "/containers/t-a"); ++i)
    usleep(10'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  made = podmanEngine(options);
  EXPECT_EQ(taskOf(**made, "t-a").state, EngineTask::State::Running);
  EXPECT_EQ(calls("run"), 2u); // only made by the first, and removed
  EXPECT_EQ(calls("rm --force --ignore t-a"), 1u);
  // One that may have run does not run again.
  setContainer("t-j", "\"State\":\"initialized\"");
  ASSERT_TRUE((*made)->submit(request("j")));
  EXPECT_EQ(taskOf(**made, "t-j").state, EngineTask::State::Lost);
  // One that is there by its name is the same task.
  setContainer("t-b", "\"State\":\"running\",\"ExitCode\":0,\"StartedAt\":1700000000,\"Pid\":0");
  ASSERT_TRUE((*made)->submit(request("b")));
  EXPECT_EQ(taskOf(**made, "t-b").state, EngineTask::State::Running);
  for (const std::string &call : linesOf(folder_ + "/calls"))
    EXPECT_FALSE(call.starts_with("run") && call.find("--name=t-b") != std::string::npos) << call;
}

TEST_F(PodmanEngineTest, SaysWhyPodmanRefuses) {
  auto made = podmanEngine(standIn());
  ASSERT_TRUE(made);
  answer("-\n-\necho 'Error: image not known' >&2; exit 125\n"); // a list and the run of the first rank before it
  ASSERT_TRUE((*made)->submit(request("a", {"p1", "p2"})));
  EngineTask task = taskOf(**made, "t-a");
  EXPECT_EQ(task.state, EngineTask::State::Failed) << task.reason;
  EXPECT_EQ(task.exitCode, 125);
  EXPECT_EQ(task.reason, "image not known");
  EXPECT_TRUE(fs::is_empty(folder_ + "/containers"));
}

TEST_F(PodmanEngineTest, PassesDevicesFoldersAndVariables) {
  PodmanOptions options = standIn();
  options.device = "nvidia.com/gpu";
  auto made = podmanEngine(options);
  ASSERT_TRUE(made);
  TaskRequest task = request("a", {"p2"});
  task.devicesPerNode = 2;
  task.environment = {{"SECRET", "s3"}, {"PATH", "/opt/bin"}};
  ASSERT_TRUE((*made)->submit(task));
  std::string run;
  for (const std::string &call : linesOf(folder_ + "/calls"))
    if (call.starts_with("run"))
      run = call;
  for (const char *part :
       {" --device=nvidia.com/gpu=2 --device=nvidia.com/gpu=3 ", " --env=SECRET ", " --env=PATH=/opt/bin ",
        " --env=NODE_RANK ", " --network=none ", " --pull=never ", " --ulimit=host image sh -c "})
    EXPECT_NE(run.find(part), std::string::npos) << part << " in " << run;
  EXPECT_EQ(run.find("s3"), std::string::npos);
  EXPECT_EQ(run.find("CUDA_VISIBLE_DEVICES"), std::string::npos);
  EXPECT_NE(run.find("--volume=" + task.folder + ":" + task.folder + " "), std::string::npos);
}

TEST_F(PodmanEngineTest, NothingRunsTwiceWhereSchedulersAreKilled) {
  if (testImage().empty())
    GTEST_SKIP() << "ACCORD_TEST_PODMAN is not set";
  PodmanOptions options = testOptions(folder_ + "/state", "t-");
  SplitMix random(5);
  std::vector<TaskRequest> tasks;
  for (int i = 0; i < 6; ++i)
    tasks.push_back(request("k" + std::to_string(i),
                            i % 2 ? std::vector<std::string>{"p1", "p2"} : std::vector<std::string>{"p2"}));
  for (int round = 0; round < 10; ++round) {
    pid_t child = fork();
    if (child == 0) {
      auto engine = podmanEngine(options);
      for (size_t i = 0; engine;)
        (void)(*engine)->submit(tasks[i++ % tasks.size()]);
      _exit(1);
    }
    usleep(useconds_t(random.below(700'000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  auto made = podmanEngine(options);
  ASSERT_TRUE(made);
  for (const TaskRequest &task : tasks) {
    ASSERT_TRUE((*made)->submit(task));
    EngineTask ended;
    for (int i = 0; i < 300 && !isOver(ended.state); ++i, usleep(50'000))
      ended = taskOf(**made, task.name);
    EXPECT_EQ(ended.state, EngineTask::State::Succeeded) << task.name << " " << ended.reason;
    EXPECT_EQ(linesOf(task.folder + "/starts").size(), task.nodes.size()) << task.name;
    EXPECT_TRUE((*made)->forget(ended));
  }
}

TEST(MakeEngine, MakesEachKindAndSaysWhatIsWrong) {
  std::string pattern = fs::temp_directory_path() / "accord-make-XXXXXX", folder = mkdtemp(pattern.data());
  auto local = makeEngine("local", {{"nodes", "a=a100:2"}, {"folder", folder}, {"prefix", "lab-"}});
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_EQ((*local)->kind(), "local");
  EXPECT_EQ((*local)->nodes()->size(), 1u);
  auto podman = makeEngine("podman", {{"folder", folder}, {"image", "i"}, {"time-limit", "3"}, {"options", "-a  -b"}});
  ASSERT_TRUE(podman) << podman.error().message;
  EXPECT_EQ((*podman)->kind(), "podman");
  auto slurm = makeEngine("slurm", {{"folder", folder}, {"prefix", "lab-"}, {"types", "a100_80g=a100"}});
  ASSERT_TRUE(slurm) << slurm.error().message;
  EXPECT_EQ((*slurm)->kind(), "slurm");
  auto kubernetes = makeEngine("kubernetes", {{"url", "http://127.0.0.1:1"}, {"image", "i"}, {"kind", "jobset"}});
  ASSERT_TRUE(kubernetes) << kubernetes.error().message;
  EXPECT_EQ((*kubernetes)->kind(), "kubernetes");
  EXPECT_TRUE(
      std::is_sorted(engineKinds().begin(), engineKinds().end(), [](auto &a, auto &b) { return a.name < b.name; }));
  struct {
    std::string kind;
    EngineOptions options;
    std::string says;
  } wrong[] = {{"lokal", {}, "there is no engine 'lokal'"},
               {"local", {{"image", "i"}}, "has no option 'image'"},
               {"local", {{"folder", folder}, {"time-limit", "0"}}, "time-limit"},
               {"local", {{"folder", folder}, {"time-limit", "nan"}}, "time-limit"},
               {"local", {{"folder", folder}, {"nodes", "x"}}, "'x' is no node"},
               {"local", {}, "has to be absolute"},
               {"slurm", {{"folder", folder}, {"types", "a100"}}, "'types' is 'a100'"},
               {"slurm", {{"folder", folder}, {"types", "a=b,a=c"}}, "each name once"},
               {"kubernetes", {{"kind", "pod"}}, "job, jobset or trainjob"},
               {"kubernetes", {{"queue-of-tenant", "1"}}, "yes or no"},
               {"kubernetes", {{"keep", "-1"}}, "keep"},
               {"podman", {{"folder", folder}}, "image"},
               {"podman", {{"folder", folder}, {"image", "--privileged"}}, "image"}};
  for (const auto &one : wrong) {
    auto engine = makeEngine(one.kind, one.options);
    ASSERT_FALSE(engine) << one.says;
    EXPECT_EQ(engine.error().code, Code::EngineFailed);
    EXPECT_NE(engine.error().message.find(one.says), std::string::npos) << engine.error().message;
  }
  fs::remove_all(folder);
}

} // namespace
} // namespace accord::service
