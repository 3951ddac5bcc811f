#include "lib/service/engines/local/PodmanEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/local/ProcessTree.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {
namespace {

/// Seconds between SIGTERM and SIGKILL.
constexpr int kKillSeconds = 5;
/// So long a call waits for a command that somebody began who has died; it is ended after the second time.
constexpr double kLeftOverSeconds = 2, kHangSeconds = 60;
/// The exit code of Podman where it fails itself.
constexpr int kPodmanFailed = 125;

struct Container {
  std::string state; ///< in Podman's words
  int64_t exitCode = -1;
  double started = 0, ended = 0;
  pid_t process = 0;

  bool isOver() const { return state == "exited" || state == "stopped" || state == "dead" || state == "removing"; }
  bool isNew() const { return state == "created" || state == "configured" || state == "initialized"; }
};
using Containers = std::map<std::string, Container>;

Error unreadable(const std::string &why, const std::string &said) {
  return Error{Code::EngineFailed, fmt::format("'podman ps' {}: {}", why, firstLineOf(said))};
}

/// What `podman ps --format json` prints. Times before 1970 stand for none.
Result<Containers> containersOf(const std::string &text) {
  Containers containers;
  if (llvm::StringRef(text).trim().empty()) // so says an old Podman where there are none
    return containers;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return unreadable("did not print JSON", text);
  }
  const llvm::json::Array *all = value->getAsArray();
  if (!all && value->kind() != llvm::json::Value::Null)
    return unreadable("did not print a list", text);
  for (size_t i = 0; all && i < all->size(); ++i) {
    const llvm::json::Object *one = (*all)[i].getAsObject();
    const llvm::json::Array *names = one ? one->getArray("Names") : nullptr;
    std::optional<llvm::StringRef> state = one ? one->getString("State") : std::nullopt;
    if (!names || !state)
      return unreadable("printed a container without 'Names' or 'State'", text);
    Container container;
    container.state = state->lower();
    container.exitCode = one->getInteger("ExitCode").value_or(-1);
    container.started = double(std::max<int64_t>(one->getInteger("StartedAt").value_or(0), 0));
    container.ended = double(std::max<int64_t>(one->getInteger("ExitedAt").value_or(0), 0));
    container.process = pid_t(one->getInteger("Pid").value_or(0));
    for (const llvm::json::Value &name : *names)
      if (auto shown = name.getAsString())
        containers[shown->str()] = container;
  }
  return containers;
}

/// Variables that Podman itself, or the runtime of its language, reads.
bool isOfPodman(llvm::StringRef name) {
  for (llvm::StringRef start : {"LD_", "XDG_", "CONTAINER", "STORAGE_", "BUILDAH_", "PODMAN_", "DBUS_", "GO", "LC_"})
    if (name.starts_with(start))
      return true;
  for (llvm::StringRef one : {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TZ", "NOTIFY_SOCKET"})
    if (name == one)
      return true;
  return name.ends_with_insensitive("_proxy") || name.starts_with("_CONTAINERS");
}

class PodmanEngine final : public FolderEngine {
public:
  explicit PodmanEngine(PodmanOptions options) : FolderEngine(options.local), podman_(std::move(options)) {}
  using FolderEngine::open;
  std::string kind() const override { return "podman"; }

protected:
  Result<void> start(FolderTask &task) override {
    ACCORD_TRY(containers, list());
    return startMissing(task, containers);
  }

  Result<void> look(std::vector<FolderTask *> &tasks) override {
    ACCORD_TRY(containers, list());
    for (FolderTask *task : tasks)
      if (Result<void> done = lookAt(*task, containers); !done)
        return done;
    return {};
  }

  Result<void> end(FolderTask &task) override {
    ACCORD_TRY(stop, readStop(task.folder));
    ACCORD_TRY(containers, list());
    for (size_t i = 0; i < task.assignment->ranks.size(); ++i) {
      auto at = containers.find(nameOf(task, i));
      if (at == containers.end() || at->second.isOver())
        continue;
      if (!stop || !stop->hasNotice || uptime() >= stop->deadline) {
        endContainer(at->first);
      } else if (!task.isStopping && at->second.state == "running") {
        (void)runCommand(words({"kill", "--signal", "USR1", at->first}));
        signalHandlers(descendantsOf(at->second.process), SIGUSR1);
      }
    }
    return {};
  }

  /// Not the network of the first container for the others: Podman would start that again where it has ended.
  std::string addressOf(const TaskOrder &order) const override {
    return podman_.network == "host" ? FolderEngine::addressOf(order) : order.name;
  }

  Result<void> remove(FolderTask &task) override {
    Command command = words({"rm", "--force", "--ignore"});
    for (size_t i = 0; i < task.order.nodes.size(); ++i)
      command.words.push_back(nameOf(task, i));
    auto removed = outputOf(command);
    std::lock_guard guard(mutex_);
    for (size_t i = 0; i < task.order.nodes.size(); ++i)
      ending_.erase(nameOf(task, i));
    return removed ? Result<void>() : Result<void>(removed.takeError());
  }

private:
  /// Podman keeps processes of its own, which go on.
  Command words(std::vector<std::string> more) const {
    Command command{.words = {podman_.program}, .timeLimit = options().timeLimit, .leavesProcesses = true};
    if (!podman_.runtime.empty())
      command.words.push_back("--runtime=" + podman_.runtime);
    command.words.insert(command.words.end(), more.begin(), more.end());
    return command;
  }

  static std::string nameOf(const FolderTask &task, size_t rank) {
    return rank == 0 ? task.order.name : fmt::format("{}.{}", task.order.name, rank);
  }
  std::string labelOfEngine() const { return "accord.engine=" + options().folder; }
  static std::string labelOfRank(const FolderTask &task, size_t rank) {
    return fmt::format("--label=accord.task={}/{}", task.folder, rank);
  }

  Result<Containers> list() const {
    ACCORD_TRY(text, outputOf(words({"ps", "--all", "--format", "json", "--filter", "label=" + labelOfEngine()})));
    return containersOf(text);
  }

  Result<Command> runOf(const FolderTask &task, size_t index) const {
    const TaskRank &rank = task.assignment->ranks[index];
    const std::string name = nameOf(task, index);
    Command command =
        words({"run", "--detach", "--pull=never", "--name=" + name, labelOfRank(task, index),
               "--label=" + labelOfEngine(), "--log-driver=passthrough", "--workdir", task.assignment->directory});
    auto add = [&](const std::string &word) { command.words.push_back(word); };
    add("--network=" + podman_.network);
    std::vector<std::string> folders{task.assignment->folder};
    if (task.assignment->directory != folders[0])
      folders.push_back(task.assignment->directory);
    for (const std::string &folder : folders) {
      if (folder.find(':') != std::string::npos)
        return Error{Code::EngineFailed, fmt::format("'{}' cannot be mounted: there is ':' in it", folder)};
      add(fmt::format("--volume={0}:{0}", folder));
    }
    if (!podman_.device.empty())
      for (int64_t device : rank.devices)
        add(fmt::format("--device={}={}", podman_.device, device));
    for (const auto &[variable, value] : rank.environment) {
      // In a container with devices of its own they have other numbers.
      if (!podman_.device.empty() && (variable == "CUDA_VISIBLE_DEVICES" || variable == "ROCR_VISIBLE_DEVICES"))
        continue;
      if (isOfPodman(variable)) {
        add("--env=" + variable + "=" + value);
      } else { // others on this machine read the words of commands, but not their variables
        add("--env=" + variable);
        command.environment.emplace_back(variable, value);
      }
    }
    command.words.insert(command.words.end(), podman_.options.begin(), podman_.options.end());
    add(podman_.image);
    command.words.insert(command.words.end(), rank.words.begin(), rank.words.end());
    return command;
  }

  /// Starts the containers of a task that are not there.
  Result<void> startMissing(FolderTask &task, Containers &containers) {
    bool isFound = false;
    if (!hasNoLeftOver(task, isFound))
      return {};
    if (isFound) { // it has made one since the list
      ACCORD_TRY(now, list());
      containers = std::move(now);
    }
    for (size_t i = 0; i < task.assignment->ranks.size() && !task.end; ++i) {
      auto at = containers.find(nameOf(task, i));
      if (at != containers.end() && !at->second.isNew())
        continue;
      if (Result<void> done = startRank(task, i, at == containers.end() ? "" : at->second.state); !done)
        return done;
    }
    if (task.end)
      return {};
    task.state = EngineTask::State::Running;
    task.started = wallTime();
    return writeRecord(task.folder + "/began", {"began", bootId(), fmt::format("{}", wallTime())},
                       task.folder + "/.began");
  }

  /// Commands that start containers of a task may go on when the scheduler has died: a second one would start one
  /// twice. False if they are still there; they are ended if they hang.
  bool hasNoLeftOver(const FolderTask &task, bool &isFound) {
    for (double begin = uptime(); uptime() < begin + kLeftOverSeconds; usleep(20'000)) {
      std::vector<pid_t> processes;
      for (size_t rank = 0; rank < task.assignment->ranks.size(); ++rank)
        for (pid_t one : processesWithArgument(labelOfRank(task, rank)))
          processes.push_back(one);
      std::lock_guard guard(mutex_);
      if (processes.empty()) {
        leftOver_.erase(task.order.name);
        return true;
      }
      isFound = true;
      if (uptime() > leftOver_.try_emplace(task.order.name, uptime()).first->second + kHangSeconds)
        signalAll(processes, SIGKILL);
    }
    return false;
  }

  /// `state`: of a container that was made and not started, as one whose command was killed; empty: there is none. Up
  /// to "created" nothing of it can have run; then it may have, and Podman would start it again where it has ended.
  Result<void> startRank(FolderTask &task, size_t rank, const std::string &state) {
    if (!state.empty())
      if (auto removed = outputOf(words({"rm", "--force", "--ignore", nameOf(task, rank)})); !removed)
        return removed.takeError();
    if (state == "initialized")
      return giveUp(task, {EngineTask::State::Lost, -1, 0, wallTime(), "its start was interrupted"});
    for (bool isAgain = false;; isAgain = true) {
      ACCORD_TRY(command, runOf(task, rank));
      std::string why;
      ACCORD_TRY(exitCode, exitCodeOf(task, std::move(command), why));
      if (exitCode == 0)
        return {};
      bool isLeftOver = false;
      if (exitCode == kPodmanFailed && llvm::StringRef(why).contains("already in use")) {
        ACCORD_TRY(own, list());
        if (own.contains(nameOf(task, rank)))
          return {};
        ACCORD_TRY(text, outputOf(words({"ps", "--all", "--external", "--format", "json"})));
        ACCORD_TRY(all, containersOf(text));
        auto at = all.find(nameOf(task, rank));
        isLeftOver = at != all.end() && at->second.state == "storage"; // its command was killed before it was one
      }
      if (!isLeftOver || isAgain)
        return giveUp(task, {EngineTask::State::Failed, exitCode, 0, wallTime(), why});
      if (auto removed = outputOf(words({"rm", "--force", "--ignore", nameOf(task, rank)})); !removed)
        return removed.takeError();
    }
  }

  /// If Podman refuses, that is the end of the task: it would do so again.
  Result<void> giveUp(FolderTask &task, const TaskEnd &end) {
    ACCORD_TRY(own, list());
    Command command = words({"rm", "--force", "--ignore"});
    const size_t before = command.words.size();
    for (size_t i = 0; i < task.assignment->ranks.size(); ++i)
      if (own.contains(nameOf(task, i)))
        command.words.push_back(nameOf(task, i));
    if (command.words.size() > before)
      if (auto removed = outputOf(command); !removed)
        return removed.takeError();
    return finish(task, end);
  }

  /// Of a command that starts a container, whose output is that of the command.
  Result<int> exitCodeOf(const FolderTask &task, Command command, std::string &why) {
    const std::string output = task.assignment->folder + "/output";
    command.words.insert(command.words.begin(), {"sh", "-c", "exec >>\"$0\" 2>&1 && exec \"$@\"", output});
    struct stat before{};
    if (stat(output.c_str(), &before) != 0)
      before.st_size = 0;
    ACCORD_TRY(said, runCommand(command));
    why = said.error.empty() ? errorIn(output, before.st_size) : firstLineOf(said.error);
    return said.exitCode;
  }

  /// What Podman said last behind a place of a file; with this log driver, the runtime says why it failed in the line
  /// before.
  static std::string errorIn(const std::string &path, off_t begin) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(size_t{1} << 16, '\0');
    ssize_t count = file ? pread(file.number(), text.data(), text.size(), begin) : 0;
    text.resize(size_t(std::max<ssize_t>(count, 0)));
    llvm::StringRef said = llvm::StringRef(text).trim();
    auto [before, last] = said.rsplit('\n');
    if (last.contains("no logs from conmon"))
      last = before.rsplit('\n').second.empty() ? before : before.rsplit('\n').second;
    last = last.empty() ? said : last;
    last.consume_front("Error: ");
    return last.empty() ? "podman gives no reason" : firstLineOf(last.str());
  }

  Result<void> lookAt(FolderTask &task, Containers &containers) {
    ACCORD_TRY(began, readRecord(task.folder + "/began"));
    if (!began)
      return task.isStopping ? endBeforeStart(task, containers) : startMissing(task, containers);
    if (began->size() == 3)
      std::from_chars((*began)[2].data(), (*began)[2].data() + (*began)[2].size(), task.started);
    task.state = EngineTask::State::Running;
    size_t over = 0, lost = 0;
    TaskEnd end{EngineTask::State::Succeeded, 0, task.started, 0, {}};
    double firstFailure = 0;
    for (size_t i = 0; i < task.assignment->ranks.size(); ++i) {
      auto at = containers.find(nameOf(task, i));
      // One that was running when the machine went down is said to be new.
      if (at == containers.end() || at->second.isNew() || (at->second.isOver() && at->second.exitCode < 0)) {
        ++lost;
        continue;
      }
      if (!at->second.isOver())
        continue;
      ++over;
      end.ended = std::max(end.ended, at->second.ended);
      if (at->second.exitCode != 0 && (firstFailure == 0 || at->second.ended < firstFailure)) {
        firstFailure = std::max(at->second.ended, 1.0);
        end.exitCode = int(at->second.exitCode);
        end.reason = fmt::format("rank {} on '{}' ended with {}", i, task.order.nodes[i], at->second.exitCode);
      }
    }
    if (over + lost == task.assignment->ranks.size())
      return conclude(task, end, lost > 0);
    if (lost > 0 || end.exitCode != 0 || isDue(task))
      endAll(task, containers);
    return {};
  }

  /// It was told to end while it was being started.
  Result<void> endBeforeStart(FolderTask &task, const Containers &containers) {
    bool isFound = false, isThere = !hasNoLeftOver(task, isFound);
    for (size_t i = 0; i < task.assignment->ranks.size(); ++i) {
      auto at = containers.find(nameOf(task, i));
      isThere |= at != containers.end() && !at->second.isOver() && !at->second.isNew();
    }
    if (!isThere && !isFound) // what was found may have started one since the list: in the next call
      return finish(task, {EngineTask::State::Stopped, -1, 0, wallTime(), "stopped before it started"});
    endAll(task, containers);
    return {};
  }

  Result<void> conclude(FolderTask &task, TaskEnd end, bool isLost) {
    end.ended = end.ended > 0 ? std::max(end.ended, end.started) : wallTime();
    if (end.exitCode != 0)
      end.state = EngineTask::State::Failed;
    if (isLost) {
      end = {EngineTask::State::Lost, -1, end.started, wallTime(), "its container is not there any more"};
    } else if (task.isStopping) {
      end.state = EngineTask::State::Stopped;
    } else if (end.exitCode != 0 && wasOutOfMemory(task)) {
      end.reason = "OOMKilled";
    }
    return finish(task, end);
  }

  bool wasOutOfMemory(const FolderTask &task) const {
    Command command = words({"inspect", "--type=container", "--format={{.State.OOMKilled}}"});
    for (size_t i = 0; i < task.order.nodes.size(); ++i)
      command.words.push_back(nameOf(task, i));
    auto said = outputOf(command);
    return said && llvm::StringRef(*said).contains("true");
  }

  static bool isDue(const FolderTask &task) {
    auto stop = readStop(task.folder);
    return stop && *stop && uptime() >= (*stop)->deadline;
  }

  void endAll(const FolderTask &task, const Containers &containers) {
    for (size_t i = 0; i < task.assignment->ranks.size(); ++i)
      if (auto at = containers.find(nameOf(task, i)); at != containers.end() && !at->second.isOver())
        endContainer(at->first);
  }

  /// Nobody waits for it; asked again if it is still there when it should have ended.
  void endContainer(const std::string &name) {
    {
      std::lock_guard guard(mutex_);
      auto [at, isFirst] = ending_.try_emplace(name, 0);
      if (!isFirst && uptime() < at->second + 2 * kKillSeconds)
        return;
      at->second = uptime();
    }
    (void)startDetached(words({"stop", "--time", std::to_string(kKillSeconds), name}), "");
  }

  PodmanOptions podman_;
  std::mutex mutex_;
  std::map<std::string, double> ending_;   ///< when containers were told to end by this engine
  std::map<std::string, double> leftOver_; ///< since when it sees commands of others that start a task
};

} // namespace

Result<std::unique_ptr<Engine>> podmanEngine(PodmanOptions options) {
  if (options.image.empty() || options.image[0] == '-')
    return Error{Code::EngineFailed, fmt::format("the image '{}' is none", firstLineOf(options.image))};
  if (options.network.empty())
    return Error{Code::EngineFailed, "the network is empty; allowed are host, none, or a name"};
  auto engine = std::make_unique<PodmanEngine>(std::move(options));
  if (Result<void> done = engine->open(); !done)
    return done.takeError();
  return std::unique_ptr<Engine>(std::move(engine));
}

} // namespace accord::service
