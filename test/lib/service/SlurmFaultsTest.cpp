// The adapter for Slurm on commands that play one from files, and fail, hang, answer garbage, cut their answer short,
// or kill their caller at the n-th call, before or after they did what was asked: for all n.
#include "lib/service/engines/slurm/SlurmAnswers.h"
#include "lib/service/engines/slurm/SlurmEngine.h"
#include "test/lib/service/EngineContract.h"
#include <csignal>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>

namespace accord::service {
namespace {

constexpr const char *kStandIn = R"sh(#!/bin/sh
# jobs/ID has "NAME STATE NODES"; PENDING is held. `fault` has a number of a call and what goes wrong there.
tool=${0##*/}
printf x >> "$FAKE/calls"
call=$(wc -c < "$FAKE/calls")
kind=none
if [ -f "$FAKE/fault" ]; then
  read -r at which < "$FAKE/fault"
  [ "$call" = "$at" ] && kind=$which
fi
set_state() { printf '%s %s %s\n' "$2" "$3" "$4" > "$FAKE/new" && mv "$FAKE/new" "$FAKE/jobs/$1"; }
option() { # the value of --NAME=
  name=$1; shift
  for word in "$@"; do case "$word" in --"$name"=*) printf '%s' "${word#*=}"; return ;; esac; done
}
last() { for word in "$@"; do :; done; printf '%s' "$word"; }
act() {
  case "$tool" in
  squeue)
    wanted=$(option name "$@")
    for file in "$FAKE"/jobs/*; do
      [ -f "$file" ] || continue
      read -r name state nodes < "$file"
      [ -n "$wanted" ] && [ "$wanted" != "$name" ] && continue
      reason=None; [ "$state" = PENDING ] && { reason=JobHeldUser; nodes=; }
      end=1700000100; [ "$state" = RUNNING ] && end=$(cat "$FAKE/limit" 2>/dev/null || echo N/A)
      echo "${file##*/}|$state|0|1700000000|$end|$nodes|$reason|$name|"
    done ;;
  sbatch)
    [ -f "$(last "$@")" ] || { echo "sbatch: error: no script" >&2; return 1; }
    set -- "$@"
    id=1000; for file in "$FAKE"/jobs/*; do [ -f "$file" ] && id=$((id + 1)); done
    option gres "$@" > "$FAKE/gres"
    set_state "$id" "$(option job-name "$@")" PENDING "$(option nodelist "$@")"
    echo "$id" ;;
  scancel)
    id=$(last "$@"); signal=$(option signal "$@")
    [ -f "$FAKE/jobs/$id" ] || { echo "scancel: error: Kill job error on job id $id: Invalid job id specified" >&2; return 1; }
    read -r name state nodes < "$FAKE/jobs/$id"
    if [ -n "$signal" ]; then echo "$signal" >> "$FAKE/signals"
    else set_state "$id" "$name" CANCELLED ""; fi ;;
  scontrol)
    case "$1 $2" in
    release*)
      read -r name state nodes < "$FAKE/jobs/$2" || return 1
      [ "$state" = PENDING ] && { echo "$2" >> "$FAKE/released"; set_state "$2" "$name" RUNNING "$nodes"; } ;;
    "show node")
      if [ -f "$FAKE/nodes" ]; then cat "$FAKE/nodes"
      else echo "NodeName=a1 Gres=gpu:a100:4 State=IDLE Partitions=batch CfgTRES=cpu=8"; fi ;;
    "show job")
      id=$(last "$@")
      if [ -f "$FAKE/jobs/$id" ]; then read -r name rest < "$FAKE/jobs/$id"; echo "JobId=$id JobName=$name JobState=X"
      else echo "slurm_load_jobs error: Invalid job id specified" >&2; return 1; fi ;;
    esac ;;
  esac
}
case "$kind" in
*-after|cut) answer=$(act "$@"); code=$? ;;
esac
case "$kind" in
none) act "$@"; exit $? ;;
fail*) echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1 ;;
hang*) exec sleep 1000 ;;
garbage*) printf 'slurm_load_jobs error: Unable to contact slurm controller\n\001\377|||\n'; exit 0 ;;
cut) printf '%s' "$answer" | head -c $((${#answer} / 2)); exit $code ;;
noise*) printf '\001\377|||\n'; exit 0 ;;
die*) kill -9 "$PPID"; exec sleep 1000 ;;
esac
)sh";

class StandIn {
public:
  StandIn() {
    std::string pattern = std::filesystem::temp_directory_path() / "accord-slurm-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    for (const char *part : {"/bin", "/jobs", "/task"})
      std::filesystem::create_directory(folder_ + part);
    std::ofstream(folder_ + "/bin/slurm") << kStandIn;
    chmod((folder_ + "/bin/slurm").c_str(), 0755);
    for (const char *tool : {"squeue", "sbatch", "scontrol", "scancel"})
      std::filesystem::create_symlink("slurm", folder_ + "/bin/" + tool);
  }
  ~StandIn() { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Engine> open(double timeLimit = 10, const std::map<std::string, std::string> &types = {}) const {
    auto engine = slurmEngine({.prefix = "lab-",
                               .folder = folder_ + "/adapter",
                               .types = types,
                               .timeLimit = timeLimit,
                               .tools = folder_ + "/bin",
                               .environment = {{"FAKE", folder_}}});
    return engine ? std::move(*engine) : nullptr;
  }
  TaskRequest task() const {
    TaskRequest task;
    task.name = "lab-17-1";
    task.nodes = {"a2", "a1"};
    task.deviceType = "a100";
    task.devicesPerNode = 4;
    task.command = {"true"};
    task.folder = folder_ + "/task";
    task.layout.title = "test";
    return task;
  }
  void setFault(size_t call, const std::string &kind) const {
    std::ofstream(folder_ + "/fault") << call << " " << kind << "\n";
  }
  size_t calls() const { return std::filesystem::file_size(folder_ + "/calls"); }
  std::vector<std::string> lines(const std::string &file) const {
    std::ifstream in(folder_ + "/" + file);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);)
      found.push_back(line);
    return found;
  }
  std::map<std::string, std::string> jobs() const { ///< state by number
    std::map<std::string, std::string> found;
    for (const auto &one : std::filesystem::directory_iterator(folder_ + "/jobs")) {
      std::string name, state;
      std::ifstream(one.path()) >> name >> state;
      found[one.path().filename()] = state;
    }
    return found;
  }
  void setJob(const std::string &id, const std::string &name, const std::string &state) const {
    std::ofstream(folder_ + "/jobs/" + id) << name << " " << state << " a1,a2\n";
  }
  /// Nodes a1, a2, ... by their gres and features.
  void setNodes(const std::vector<std::pair<std::string, std::string>> &nodes) const {
    std::ofstream file(folder_ + "/nodes");
    int number = 0;
    for (const auto &[gres, features] : nodes)
      file << "NodeName=a" << ++number << " AvailableFeatures=" << features << " ActiveFeatures=" << features
           << " Gres=" << gres << " State=IDLE Partitions=batch CfgTRES=cpu=8\n";
  }
  void setLimit(time_t end) const { std::ofstream(folder_ + "/limit") << end << "\n"; }
  void forgetJobs() const {
    for (const auto &[id, state] : jobs())
      std::filesystem::remove(folder_ + "/jobs/" + id);
  }
  void writeExit(const std::string &code) const { std::ofstream(folder_ + "/task/exit") << code << "\n"; }

private:
  std::string folder_;
};

/// A scheduler that asks again until it is answered. The number of a step that is wrong, or 0.
int submitsAndStops(const StandIn &slurm, double timeLimit) {
  auto engine = slurm.open(timeLimit);
  const TaskRequest task = slurm.task();
  auto again = [](auto ask) {
    auto answer = ask();
    for (int i = 0; i < 10 && !answer; ++i)
      answer = ask();
    return answer;
  };
  auto one = [&]() -> std::optional<EngineTask> {
    auto tasks = again([&] { return engine->tasks(); });
    return tasks && tasks->size() == 1 ? std::optional((*tasks)[0]) : std::nullopt;
  };
  auto id = again([&] { return engine->submit(task); });
  if (!id)
    return 1;
  auto before = one();
  if (!before || before->id != *id || isOver(before->state) || before->name != task.name)
    return 2;
  auto nodes = again([&] { return engine->nodes(); });
  if (!nodes || nodes->size() != 1)
    return 3;
  EngineTask asked;
  asked.name = task.name;
  if (!again([&] { return engine->stop(asked, 1000); }))
    return 4;
  auto after = one();
  return after && after->state == EngineTask::State::Ending && after->nodes == task.nodes ? 0 : 5;
}

/// The same in processes of their own, each of which may be killed.
int submitsAndStopsInChildren(const StandIn &slurm, double timeLimit) {
  for (int i = 0; i < 5; ++i) {
    pid_t child = fork();
    if (child == 0)
      _exit(submitsAndStops(slurm, timeLimit));
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
      return WEXITSTATUS(status);
  }
  return 6;
}

void expectOneRun(const StandIn &slurm, const std::string &where) {
  EXPECT_EQ(slurm.lines("released").size(), 1u) << where;
  std::map<std::string, std::string> jobs = slurm.jobs();
  size_t live = 0;
  for (const auto &[id, state] : jobs)
    live += state != "CANCELLED";
  EXPECT_EQ(live, 1u) << where;
  std::vector<std::string> signals = slurm.lines("signals");
  EXPECT_GE(signals.size(), 1u) << where;
  EXPECT_EQ(std::set<std::string>(signals.begin(), signals.end()), std::set<std::string>{"USR1"}) << where;
  // It ends, is told of as often as somebody asks, and is forgotten when that is asked for.
  auto engine = slurm.open();
  slurm.setJob(slurm.lines("released")[0], "lab-17-1", "COMPLETED");
  slurm.writeExit("0");
  auto tasks = engine->tasks();
  ASSERT_TRUE(tasks) << where << tasks.error().message;
  ASSERT_EQ(tasks->size(), 1u) << where;
  EXPECT_EQ(tasks->front().state, EngineTask::State::Stopped) << where;
  EXPECT_EQ(tasks->front().exitCode, 0) << where;
  EXPECT_TRUE(engine->forget(tasks->front()));
  tasks = engine->tasks();
  ASSERT_TRUE(tasks);
  EXPECT_TRUE(tasks->empty()) << where;
}

class SlurmFaults : public ::testing::TestWithParam<const char *> {};

TEST_P(SlurmFaults, AtAnyCallLeaveOneRun) {
  const std::string kind = GetParam();
  size_t calls = 0;
  {
    StandIn slurm;
    ASSERT_EQ(submitsAndStops(slurm, 10), 0);
    calls = slurm.calls();
    expectOneRun(slurm, "no fault");
  }
  EXPECT_GE(calls, 8u);
  for (size_t at = 1; at <= calls; ++at) {
    StandIn slurm;
    slurm.setFault(at, kind);
    const double timeLimit = kind.starts_with("hang") ? 0.25 : 10;
    const std::string where = kind + " at call " + std::to_string(at);
    EXPECT_EQ(kind.starts_with("die") ? submitsAndStopsInChildren(slurm, timeLimit) : submitsAndStops(slurm, timeLimit),
              0)
        << where;
    slurm.setFault(0, "none");
    expectOneRun(slurm, where);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlurmFaults,
                         ::testing::Values("fail-before", "fail-after", "hang-before", "hang-after", "garbage-before",
                                           "noise-before", "garbage-after", "cut", "die-before", "die-after"));

TEST(SlurmTasks, AreLostOnlyIfSlurmSaysSo) {
  StandIn slurm;
  auto engine = slurm.open();
  ASSERT_TRUE(engine->submit(slurm.task()));
  std::string id = slurm.lines("released")[0];
  slurm.setJob(id, "somebody-elses", "RUNNING"); // slurmctld lost its state and counts anew
  auto tasks = engine->tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->front().state, EngineTask::State::Lost);

  StandIn other;
  engine = other.open();
  ASSERT_TRUE(engine->submit(other.task()));
  other.forgetJobs();
  other.setFault(other.calls() + 2, "fail-before"); // the list lacks it, and the second question is not answered
  EXPECT_FALSE(engine->tasks());
  other.writeExit("7"); // Slurm forgot it after it had ended
  tasks = engine->tasks();
  ASSERT_TRUE(tasks);
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->front().state, EngineTask::State::Failed);
  EXPECT_EQ(tasks->front().exitCode, 7);
  EXPECT_GT(tasks->front().ended, 1e9);
  EXPECT_EQ(*engine->submit(other.task()), tasks->front().id);
  EXPECT_TRUE(other.jobs().empty());
}

/// Device types as an operator calls them, and what is asked of Slurm for a task on nodes of them.
TEST(SlurmTasks, AreAskedForAsTheGresOfTheirNodesIsCalled) {
  using Types = std::map<std::string, std::string>;
  struct Case {
    std::vector<std::pair<std::string, std::string>> nodes;
    Types types;
    std::vector<std::string> found;
    std::string asked;
  };
  for (const Case &one :
       std::vector<Case>{{{{"gpu:a100:4", "(null)"}, {"gpu:a100:4", "(null)"}}, {}, {"a100", "a100"}, "gpu:a100:4"},
                         {{{"gpu:a100:4", "ib"}, {"gpu:a100:4", "ib"}},
                          {{"a100_80g", "a100"}},
                          {"a100_80g", "a100_80g"},
                          "gpu:a100:4"},
                         {{{"gpu:4", "(null)"}, {"gpu:4(S:0-1)", "(null)"}}, {}, {"", ""}, "gpu:4"},
                         {{{"gpu:4", "ib"}, {"gpu:4", "ib"}}, {{"a100_80g", "gpu"}}, {"a100_80g", "a100_80g"}, "gpu:4"},
                         {{{"gpu:4", "80gb,ib"}, {"gpu:4", "40gb"}},
                          {{"a100_40g", "40gb"}, {"a100_80g", "80gb"}},
                          {"a100_80g", "a100_40g"},
                          "gpu:4"},
                         {{{"gpu:a100:4", "80gb"}, {"gpu:4", "80gb"}},
                          {{"a100_40g", "a100"}, {"a100_80g", "80gb"}},
                          {"a100_80g", "a100_80g"},
                          "gpu:4"}}) {
    StandIn slurm;
    slurm.setNodes(one.nodes);
    auto engine = slurm.open(10, one.types);
    ASSERT_TRUE(engine);
    TaskRequest task = slurm.task();
    task.deviceType = one.found[0].empty() ? "device" : one.found[0];
    EXPECT_TRUE(engine->submit(task)); // also before anybody asked for nodes
    EXPECT_EQ(slurm.lines("gres"), std::vector<std::string>{one.asked});
    auto nodes = engine->nodes();
    ASSERT_TRUE(nodes) << nodes.error().message;
    ASSERT_EQ(nodes->size(), 2u);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ((*nodes)[i].deviceType, one.found[i]) << one.asked;
  }
  StandIn none;
  none.setNodes({{"(null)", "ib"}, {"shard:4", "ib"}});
  auto nodes = none.open()->nodes();
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().message, "no node of Slurm has devices of gres 'gpu' (option 'gres')");
  EXPECT_FALSE(StandIn().open(10, {{"a100_80g", "a100"}, {"a100_40g", "a100"}}));
  EXPECT_FALSE(StandIn().open(10, {{"a100_80g", "a100,b"}}));
}

/// Slurm will end it: it is told to save before, is stopped whatever it ends with, and no program of it is complete.
TEST(SlurmTasks, AreToldToSaveBeforeTheirTimeLimit) {
  StandIn slurm;
  auto engine = slurm.open();
  TaskRequest task = slurm.task();
  task.notice = 600;
  auto id = engine->submit(task);
  ASSERT_TRUE(id);
  auto state = [&] {
    auto tasks = engine->tasks(); // tells it
    tasks = engine->tasks();
    return tasks && tasks->size() == 1 ? tasks->front() : EngineTask();
  };
  EXPECT_EQ(state().state, EngineTask::State::Running); // there is no limit
  slurm.setLimit(time(nullptr) + 3600);
  EXPECT_EQ(state().state, EngineTask::State::Running);
  EXPECT_TRUE(slurm.lines("signals").empty());
  slurm.setLimit(time(nullptr) + 300);
  EXPECT_EQ(state().state, EngineTask::State::Ending);
  EXPECT_EQ(slurm.lines("signals"), std::vector<std::string>{"USR1"});
  slurm.setJob(*id, task.name, "COMPLETED");
  slurm.writeExit("0");
  EXPECT_EQ(state().state, EngineTask::State::Stopped);
  EXPECT_EQ(state().reason, "its time limit in Slurm");
  EXPECT_EQ(slurmTaskState("TIMEOUT"), EngineTask::State::Stopped); // the scheduler was away meanwhile
  EXPECT_EQ(slurmTaskScript(task, slurmTaskLaunch(task)).find("--signal"), std::string::npos);
}

TEST(SlurmTasks, OfAKilledCallerAreReleasedOrCancelled) {
  StandIn slurm;
  for (const char *id : {"1003", "1001", "1002"})
    slurm.setJob(id, "lab-17-1", "PENDING");
  auto id = slurm.open()->submit(slurm.task());
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(*id, "1001");
  EXPECT_EQ(slurm.lines("released"), (std::vector<std::string>{"1001"}));
  EXPECT_EQ(slurm.jobs(),
            (std::map<std::string, std::string>{{"1001", "RUNNING"}, {"1002", "CANCELLED"}, {"1003", "CANCELLED"}}));
}

TEST(SlurmTasks, ThatAreWrongAreRefused) {
  StandIn slurm;
  auto engine = slurm.open();
  auto refuses = [&](auto change) {
    TaskRequest task = slurm.task();
    change(task);
    return !engine->submit(task);
  };
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.name = "other-1"; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.name = "lab-../x"; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.name = std::string(61, 'l'); }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.nodes = {}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.nodes = {"a1", "a1"}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.nodes = {"a[1-2]"}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.nodes = {"-a"}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.devicesPerNode = 0; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.command = {}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.folder = "task"; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.folder += "/nothing"; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.environment = {{"A=B", "x"}}; }));
  EXPECT_TRUE(refuses([](TaskRequest &task) { task.environment = {{"A", std::string(1, '\0')}}; }));
  EXPECT_TRUE(slurm.jobs().empty());
  EXPECT_FALSE(engine->setDrained("a1,a2", true, "x"));
  EXPECT_FALSE(slurmEngine({.prefix = "", .folder = "/tmp/x"}));
  EXPECT_FALSE(slurmEngine({.prefix = "lab-", .folder = "relative"}));
}

} // namespace
} // namespace accord::service
