#include "lib/service/engines/slurm/SlurmEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/TaskShares.h"
#include "lib/service/engines/slurm/SlurmAnswers.h"
#include "lib/service/engines/slurm/TaskRecord.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <unistd.h>

namespace accord::service {
namespace {

using llvm::StringRef;
using State = EngineTask::State;

constexpr const char *kNeedsShards =
    "its node needs shards beside the devices in slurm.conf (Gres=gpu:4,shard:8), as many for each of one type";
constexpr double kSecondsAfterSignal = 5; // from SIGTERM to SIGKILL, and from there to the end of what is left

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

bool isName(StringRef text) {
  return !text.empty() && text.size() <= 255 && text.front() != '-' && text.front() != '.' &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || StringRef("_.-").contains(c); });
}

bool isTaskName(StringRef text) {
  return !text.empty() && text.size() <= 60 && llvm::isLower(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '-'; });
}

Result<void> checkTask(const TaskRequest &task, const std::string &prefix) {
  auto wrong = [&](std::string what) { return failed(fmt::format("task '{}' for Slurm: {}", task.name, what)); };
  if (!isTaskName(task.name) || !StringRef(task.name).starts_with(prefix))
    return wrong(fmt::format("its name is not of lower case letters, digits and '-' after '{}'", prefix));
  if (task.nodes.empty() || task.devicesPerNode < 1 || task.command.empty())
    return wrong("it has no nodes, no devices or no command");
  if (!llvm::all_of(task.nodes, isName) ||
      std::set<std::string>(task.nodes.begin(), task.nodes.end()).size() != task.nodes.size())
    return wrong("a node is named twice, or its name is not of letters, digits, '_', '.' and '-'");
  std::error_code ignored;
  if (!StringRef(task.folder).starts_with("/") || !std::filesystem::is_directory(task.folder, ignored))
    return wrong(fmt::format("there is no folder '{}'", task.folder));
  if (!task.directory.empty() && task.directory[0] != '/')
    return wrong(fmt::format("the directory '{}' is not absolute", task.directory));
  auto hasZero = [](const std::string &text) { return text.find('\0') != std::string::npos; };
  bool isWrong = llvm::any_of(task.command, hasZero) || hasZero(task.directory) || hasZero(task.folder);
  for (const auto &[name, value] : task.environment)
    isWrong |= name.empty() || llvm::isDigit(name[0]) || hasZero(value) ||
               !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  return isWrong ? wrong("a zero byte, or a variable whose name is not of letters, digits and '_'") : Result<void>();
}

class SlurmEngine : public Engine {
public:
  explicit SlurmEngine(const SlurmOptions &options) : options_(options) {}

  std::string kind() const override { return "slurm"; }
  Result<std::vector<EngineNode>> nodes() override;
  Result<std::vector<EngineTask>> tasks() override;
  Result<std::string> submit(const TaskRequest &task) override;
  Result<void> stop(const EngineTask &task, double notice) override;
  Result<void> setDrained(const std::string &node, bool drained, const std::string &reason) override;
  Result<void> forget(const EngineTask &task) override;

private:
  Command command(std::vector<std::string> words) const;
  TaskRecord record(const std::string &name) const { return TaskRecord(options_.folder, name); }
  Result<std::vector<SlurmJob>> jobs(const std::string &name = {}) const;
  Result<void> done(const std::vector<std::string> &words) const;
  Result<std::string> gresOf(TaskRequest &task);
  Result<std::string> handIn(TaskRequest task);
  Result<void> release(const std::string &id, const std::string &name) const;
  Result<void> endBeforeLimit(const TaskRecord &record, const SlurmJob &job) const;
  Result<void> carryOn(const TaskRecord &record, const SlurmJob &job) const;
  Result<void> signal(const SlurmJob &job, const TaskRecord &record, const char *which, const char *mark) const;
  EngineTask taskOf(const SlurmJob &job, const TaskRecord &record) const;
  Result<std::optional<EngineTask>> forgottenBySlurm(const TaskRecord &record) const;

  const SlurmOptions options_;
  std::mutex mutex_;
  std::map<std::string, SlurmNode> nodes_; ///< as Slurm said last; guarded by `mutex_`
};

/// A command of Slurm with nothing of the scheduler's own variables, which a job would inherit: they may be secret.
Command SlurmEngine::command(std::vector<std::string> words) const {
  Command command{.words = {"env", "-i", "LC_ALL=C", "SLURM_TIME_FORMAT=%s"}, .timeLimit = options_.timeLimit};
  for (const char *name : {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LD_LIBRARY_PATH", "SLURM_CONF"})
    if (const char *value = std::getenv(name))
      command.words.push_back(std::string(name) + "=" + value);
  for (const auto &[name, value] : options_.environment)
    command.words.push_back(name + "=" + value);
  if (!options_.tools.empty())
    words[0] = options_.tools + "/" + words[0];
  command.words.insert(command.words.end(), words.begin(), words.end());
  return command;
}

/// A command that changes something, and says nothing if it did: whatever else it says is a failure, whatever its exit
/// code; warnings among its errors are none.
Result<void> SlurmEngine::done(const std::vector<std::string> &words) const {
  const Command asked = command(words);
  ACCORD_TRY(said, runCommand(asked));
  const bool complains = !StringRef(said.output).trim().empty() || StringRef(said.error).contains("error");
  return said.exitCode != 0 || complains ? Result<void>(commandFailed(asked, said)) : Result<void>();
}

/// All jobs of this user, or those of a name.
Result<std::vector<SlurmJob>> SlurmEngine::jobs(const std::string &name) const {
  std::vector<std::string> words{"squeue",
                                 "--noheader",
                                 "--all",
                                 "--states=all",
                                 "--user=" + std::to_string(geteuid()),
                                 "--Format=" + std::string(kSlurmJobFields)};
  if (!name.empty())
    words.push_back("--name=" + name);
  ACCORD_TRY(text, outputOf(command(words)));
  return slurmJobs(text);
}

Result<std::vector<EngineNode>> SlurmEngine::nodes() {
  ACCORD_TRY(text, outputOf(command({"scontrol", "show", "node", "--oneliner"})));
  ACCORD_TRY(found, slurmNodes(text, options_.gres, options_.types));
  if (found.empty())
    return failed(fmt::format("no node of Slurm has devices of gres '{}' (option 'gres')", options_.gres));
  std::scoped_lock lock(mutex_);
  nodes_.clear();
  for (const SlurmNode &node : found)
    nodes_[node.name] = node;
  return std::vector<EngineNode>(found.begin(), found.end());
}

/// What is asked of Slurm for a task: "gpu:a100:4", without a type where the gres of its nodes has none or several; or
/// "shard:1", for which Slurm 22.05 starts no step where its type is named. Puts the guard before the task, and says
/// its part of a device.
Result<std::string> SlurmEngine::gresOf(TaskRequest &task) {
  auto areKnown = [&] {
    std::scoped_lock lock(mutex_);
    return llvm::all_of(task.nodes, [&](const std::string &node) { return nodes_.contains(node); });
  };
  if (!areKnown())
    if (auto asked = this->nodes(); !asked)
      return asked.takeError();
  std::set<std::string> types;
  int64_t sharesPerDevice = 1;
  {
    std::scoped_lock lock(mutex_);
    for (const std::string &node : task.nodes)
      if (auto at = nodes_.find(node); at != nodes_.end())
        types.insert(at->second.gresType), sharesPerDevice = at->second.sharesPerDevice;
  }
  const std::string type = types.size() == 1 ? *types.begin() : std::string();
  if (const std::string error = sharesError(task, sharesPerDevice, kNeedsShards); !error.empty())
    return failed(fmt::format("task '{}' for Slurm: {}", task.name, error));
  // A guard without a tool compares "gpu:TYPE", which has to be there.
  if (options_.guard == GuardMode::On || (!type.empty() && options_.gres == "gpu"))
    addGuard(task, options_.guard, type.empty() && options_.types.contains(task.deviceType) ? task.deviceType : type);
  if (task.shares == 0)
    return fmt::format("{}:{}{}{}", options_.gres, type, type.empty() ? "" : ":", task.devicesPerNode);
  task.environment.push_back(shareVariable(task.shares, sharesPerDevice));
  return fmt::format("shard:{}", task.shares);
}

/// The job that stands for a task: the one that is written down, else one that was released, else the first.
const SlurmJob *chosen(const std::vector<const SlurmJob *> &jobs, const std::string &recorded) {
  auto rank = [&](const SlurmJob *job) {
    const int order = job->id == recorded                               ? 0
                      : job->state == "CANCELLED" && job->nodes.empty() ? 3
                      : job->isHeld()                                   ? 2
                                                                        : 1;
    return std::make_tuple(order, job->id.size(), job->id);
  };
  auto first = std::min_element(jobs.begin(), jobs.end(), [&](auto *a, auto *b) { return rank(a) < rank(b); });
  return first == jobs.end() ? nullptr : *first;
}

Result<std::string> SlurmEngine::handIn(TaskRequest task) {
  ACCORD_TRY(gres, gresOf(task));
  std::string launch = slurmTaskLaunch(task), hosts;
  for (const std::string &node : task.nodes)
    hosts += node + "\n";
  for (const auto &[file, text] :
       {std::pair{"launch", launch}, {"hosts", hosts}, {"script", slurmTaskScript(task, launch, options_.setup)}})
    if (Result<void> done = writeWhole(task.folder + "/" + file, text); !done)
      return done.takeError();
  std::string output = task.folder + "/output"; // "%" begins a pattern there
  for (size_t at = 0; (at = output.find('%', at)) != std::string::npos; at += 2)
    output.insert(at, "%");
  std::vector<std::string> words{"sbatch"};
  words.insert(words.end(), options_.sbatch.begin(), options_.sbatch.end());
  for (std::string word :
       {std::string("--parsable"), std::string("--hold"), std::string("--no-requeue"),
        std::string("--open-mode=append"), "--job-name=" + task.name,
        "--nodelist=" + fmt::format("{}", fmt::join(task.nodes, ",")), fmt::format("--nodes={}", task.nodes.size()),
        std::string("--ntasks-per-node=1"), "--gres=" + gres, "--output=" + output,
        "--chdir=" + (task.directory.empty() ? task.folder : task.directory)})
    words.push_back(std::move(word));
  if (!options_.partition.empty())
    words.push_back("--partition=" + options_.partition);
  if (!options_.account.empty())
    words.push_back("--account=" + options_.account);
  words.push_back(task.folder + "/script");
  const Command asked = command(words);
  ACCORD_TRY(said, runCommand(asked));
  if (said.exitCode != 0)
    return commandFailed(asked, said);
  std::string id = slurmJobId(said.output);
  if (id.empty())
    return failed(fmt::format("sbatch gives no number for task '{}': {}", task.name,
                              firstLineOf(said.output.empty() ? said.error : said.output)));
  return id;
}

Result<void> SlurmEngine::release(const std::string &id, const std::string &name) const {
  Result<void> released = done({"scontrol", "release", id});
  if (released)
    return {};
  ACCORD_TRY(known, jobs(name)); // it may have been released before, or be over
  for (const SlurmJob &job : known)
    if (job.id == id && !job.isHeld())
      return {};
  return released.takeError();
}

Result<std::string> SlurmEngine::submit(const TaskRequest &task) {
  if (Result<void> right = checkTask(task, options_.prefix); !right)
    return right.takeError();
  const TaskRecord record = this->record(task.name);
  const Result<TaskLock> lock = record.lock(3 * options_.timeLimit);
  if (!lock)
    return lock.error();
  std::string id = record.read("id");
  ACCORD_TRY(known, jobs(task.name));
  std::vector<const SlurmJob *> same;
  for (const SlurmJob &job : known)
    if (job.name == task.name)
      same.push_back(&job);
  const SlurmJob *job = chosen(same, id);
  if (id.empty()) {
    for (const auto &[file, text] : {std::pair{"folder", task.folder},
                                     {"nodes", fmt::format("{}", fmt::join(task.nodes, "\n"))},
                                     {"notice", fmt::format("{:.3f}", task.notice)}})
      if (Result<void> done = record.write(file, text); !done)
        return done.takeError();
    if (job) {
      id = job->id;
    } else {
      ACCORD_TRY(fresh, handIn(task));
      id = fresh;
    }
    if (Result<void> done = record.write("id", id); !done)
      return done.takeError();
  } else if (!job || job->id != id || !job->isHeld())
    return id;                       // it was released
  for (const SlurmJob *other : same) // they are held, since only a number that is written down is released
    if (other->id != id && !isOver(slurmTaskState(other->state)))
      if (Result<void> cancelled = done({"scancel", other->id}); !cancelled)
        return cancelled.takeError();
  if (!record.read("stop").empty()) { // it was stopped before it began
    Result<void> cancelled = done({"scancel", id});
    return cancelled ? Result<std::string>(id) : Result<std::string>(cancelled.takeError());
  }
  if (Result<void> done = release(id, task.name); !done)
    return done.takeError();
  return id;
}

/// Of a task that failed: what its guards left in its folder.
void addRefusals(EngineTask &task, const TaskRecord &record) {
  if (task.state == State::Failed)
    task.refusals = refusalsOf(readWhole(guardMarkOf(record.read("folder"))), task.nodes);
}

EngineTask SlurmEngine::taskOf(const SlurmJob &job, const TaskRecord &record) const {
  EngineTask task;
  task.name = job.name;
  task.id = job.id;
  task.state = slurmTaskState(job.state);
  task.reason = job.reason;
  if (!job.nodes.empty() && job.nodes != "(null)") {
    task.nodes = record.lines("nodes");
    if (task.nodes.empty())
      task.nodes = slurmHosts(job.nodes).value_or(std::vector<std::string>());
  }
  const bool over = isOver(task.state), isWaiting = task.state == State::Waiting;
  task.started = isWaiting || task.nodes.empty() ? 0 : job.started;
  task.ended = over ? job.ended : 0;
  if (over && task.state != State::Lost && !task.nodes.empty())
    task.exitCode = record.exitCode() >= 0 ? record.exitCode() : job.exitCode;
  const bool wasStopped = !record.read("told").empty();
  if (wasStopped && !record.read("limited").empty())
    task.reason = "its time limit in Slurm";
  if (wasStopped && (task.state == State::Succeeded || task.state == State::Failed))
    task.state = State::Stopped;
  else if (!over && !isWaiting && wasStopped)
    task.state = State::Ending;
  else if (task.state == State::Failed && task.reason == "NonZeroExitCode")
    task.reason.clear(); // the exit code says more
  addRefusals(task, record);
  return task;
}

/// A task that was handed in and that `squeue` does not list any more. Nothing: it never was.
Result<std::optional<EngineTask>> SlurmEngine::forgottenBySlurm(const TaskRecord &record) const {
  EngineTask task;
  task.name = record.name();
  task.id = record.read("id");
  if (task.id.empty())
    return std::optional<EngineTask>();
  task.nodes = record.lines("nodes");
  task.exitCode = record.exitCode();
  const bool wasStopped = !record.read("told").empty();
  if (task.exitCode >= 0) {
    task.state = wasStopped ? State::Stopped : task.exitCode == 0 ? State::Succeeded : State::Failed;
    task.ended = record.exitTime();
    addRefusals(task, record);
    return std::optional(task);
  }
  task.reason = "Slurm does not know it any more";
  task.state = wasStopped ? State::Stopped : State::Lost;
  if (!record.read("unknown").empty())
    return std::optional(task);
  // A list may lack it for other reasons: it is lost only if Slurm says of its number that there is none.
  const Command asked = command({"scontrol", "show", "job", "--oneliner", task.id});
  ACCORD_TRY(said, runCommand(asked));
  const std::string text = said.error + said.output, name = " JobName=" + task.name + " ";
  const bool isUnknown = said.exitCode != 0 && StringRef(text).contains("Invalid job id specified");
  const bool isAnothers = said.exitCode == 0 && StringRef(said.output).starts_with("JobId=" + task.id + " JobName=") &&
                          !StringRef(said.output).contains(name); // Slurm began to count anew
  if (!isUnknown && !isAnothers)
    return failed(fmt::format("squeue does not list job {} of task '{}', and scontrol says: {}", task.id, task.name,
                              firstLineOf(text)));
  if (Result<void> done = record.write("unknown", "1"); !done)
    return done.takeError();
  return std::optional(task);
}

Result<std::vector<EngineTask>> SlurmEngine::tasks() {
  ACCORD_TRY(names, recordedTasks(options_.folder)); // before Slurm is asked: a task that comes in between is left out
  ACCORD_TRY(known, jobs());
  std::map<std::string, std::vector<const SlurmJob *>> byName;
  for (const SlurmJob &job : known)
    if (StringRef(job.name).starts_with(options_.prefix) && isTaskName(job.name))
      byName[job.name].push_back(&job);
  std::vector<EngineTask> tasks;
  bool isAnswered = true;
  for (const auto &[name, same] : byName) {
    const TaskRecord record = this->record(name);
    const SlurmJob *job = chosen(same, record.read("id"));
    EngineTask task = taskOf(*job, record);
    if (isOver(task.state) && record.isForgotten())
      continue;
    if (isAnswered && !isOver(task.state)) // the next call tries again, and none waits for many limits of time
      isAnswered = endBeforeLimit(record, *job) && (record.read("stop").empty() || carryOn(record, *job));
    tasks.push_back(std::move(task));
  }
  for (const std::string &name : names) {
    const TaskRecord record = this->record(name);
    if (byName.count(name) || !StringRef(name).starts_with(options_.prefix))
      continue;
    if (record.isForgotten()) {
      record.remove();
      continue;
    }
    ACCORD_TRY(task, forgottenBySlurm(record));
    if (task)
      tasks.push_back(std::move(*task));
  }
  std::sort(tasks.begin(), tasks.end(), [](const EngineTask &a, const EngineTask &b) { return a.name < b.name; });
  return tasks;
}

/// Sends a signal to all processes of a job, once: `mark` says that it was sent. A job that is over is fine. SIGTERM
/// goes to steps alone, since srun kills its step when it gets one; SIGKILL to each step by its number (a script of
/// lib/launch has two at most), since to a job it is a cancellation, which waits for KillWait.
Result<void> SlurmEngine::signal(const SlurmJob &job, const TaskRecord &record, const char *which,
                                 const char *mark) const {
  if (!record.read(mark).empty())
    return {};
  const StringRef name(which);
  std::vector<std::string> words{"scancel", std::string("--signal=") + which};
  if (StringRef(which) == "USR1")
    words.push_back("--full");
  if (StringRef(which) == "KILL")
    words.insert(words.end(), {job.id + ".0", job.id + ".1"});
  else
    words.push_back(job.id);
  if (Result<void> sent = done(words); !sent) {
    StringRef text(sent.error().message);
    bool isOverNow = text.contains("Invalid job id") || text.contains("already completing") ||
                     text.contains("already finished") || text.contains("already completed");
    // It is over, or has no steps, so that the next signal is due.
    return isOverNow ? record.write(mark, fmt::format("{:.3f}", now())) : sent;
  }
  for (const char *one : {"told", mark})
    if (Result<void> written = record.write(one, fmt::format("{:.3f}", now())); !written)
      return written;
  return {};
}

/// A job that Slurm will end at its limit of time is to save before, and to end a little earlier.
Result<void> SlurmEngine::endBeforeLimit(const TaskRecord &record, const SlurmJob &job) const {
  if (job.state != "RUNNING" || job.ended <= job.started || !record.read("stop").empty())
    return {};
  const double end = job.ended - kSecondsAfterSignal, left = std::max(end - job.started, 0.0);
  const double notice = std::strtod(record.read("notice").c_str(), nullptr);
  if (now() < end - std::min(notice, left / 2))
    return {};
  if (Result<void> done = record.write("limited", "1"); !done)
    return done;
  return record.write("stop", fmt::format("{:.3f}", end));
}

/// Does what is due for a task that is to end; again, nothing more.
Result<void> SlurmEngine::carryOn(const TaskRecord &record, const SlurmJob &job) const {
  const double end = std::strtod(record.read("stop").c_str(), nullptr), time = now();
  const State state = slurmTaskState(job.state);
  if (state == State::Waiting) { // only if it still waits: one that has begun meanwhile has its notice
    return done({"scancel", "--state=PENDING", job.id});
  }
  if (time < end)
    return signal(job, record, "USR1", "signalled");
  const std::string terminated = record.read("terminated");
  if (terminated.empty())
    return signal(job, record, "TERM", "terminated");
  auto isPast = [&](const std::string &moment) {
    return time >= std::strtod(moment.c_str(), nullptr) + kSecondsAfterSignal;
  };
  const std::string killed = record.read("killed");
  if (killed.empty())
    return isPast(terminated) ? signal(job, record, "KILL", "killed") : Result<void>();
  return isPast(killed) && state != State::Ending ? done({"scancel", job.id}) : Result<void>();
}

Result<void> SlurmEngine::stop(const EngineTask &task, double notice) {
  if (!isTaskName(task.name) || !StringRef(task.name).starts_with(options_.prefix))
    return failed(fmt::format("'{}' is no task of '{}'", task.name, options_.prefix));
  ACCORD_TRY(known, jobs(task.name));
  const TaskRecord record = this->record(task.name);
  std::vector<const SlurmJob *> same;
  for (const SlurmJob &job : known)
    if (job.name == task.name)
      same.push_back(&job);
  const SlurmJob *job = chosen(same, record.read("id"));
  if (!job && record.read("id").empty() && record.read("folder").empty())
    return {}; // nobody knows it
  if (job && isOver(slurmTaskState(job->state)))
    return {};
  const Result<TaskLock> lock = record.lock(3 * options_.timeLimit);
  if (!lock)
    return lock.error();
  const double end = now() + (std::isfinite(notice) ? std::max(notice, 0.0) : 0.0);
  const std::string before = record.read("stop");
  if (before.empty() || std::strtod(before.c_str(), nullptr) > end)
    if (Result<void> done = record.write("stop", fmt::format("{:.3f}", end)); !done)
      return done;
  return job ? carryOn(record, *job) : Result<void>();
}

Result<void> SlurmEngine::setDrained(const std::string &node, bool drained, const std::string &reason) {
  if (!isName(node))
    return failed(fmt::format("'{}' is no name of a node", node));
  std::vector<std::string> words{"scontrol", "update", "NodeName=" + node, drained ? "State=DRAIN" : "State=UNDRAIN"};
  if (drained) {
    std::string shown;
    for (char c : StringRef(reason).take_front(200))
      shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    words.push_back("Reason=" + (StringRef(shown).trim().empty() ? "drained" : shown));
  }
  Result<void> changed = done(words);
  if (changed)
    return {};
  ACCORD_TRY(all, nodes()); // it may be as it should be: Slurm refuses to change what is no change
  for (const EngineNode &one : all)
    if (one.name == node && (one.state == EngineNode::State::Drained) == drained &&
        one.state != EngineNode::State::Down)
      return {};
  return changed.takeError();
}

Result<void> SlurmEngine::forget(const EngineTask &task) {
  if (!isTaskName(task.name) || !StringRef(task.name).starts_with(options_.prefix))
    return failed(fmt::format("'{}' is no task of '{}'", task.name, options_.prefix));
  const TaskRecord record = this->record(task.name);
  return record.exists() ? record.write("forgotten", "1") : Result<void>();
}

} // namespace

Result<std::unique_ptr<Engine>> slurmEngine(const SlurmOptions &options) {
  if (!isTaskName(options.prefix) || options.prefix.size() > 40)
    return failed(
        fmt::format("the prefix '{}' of names of tasks is not of lower case letters, digits and '-', a letter "
                    "first, at most 40",
                    options.prefix));
  if (!StringRef(options.folder).starts_with("/"))
    return failed(fmt::format("the folder '{}' of the adapter for Slurm is not absolute", options.folder));
  if (!options.setup.empty() && options.setup[0] != '/')
    return failed(fmt::format("the file 'setup' of tasks, '{}', is not absolute", options.setup));
  if (!isName(options.gres))
    return failed(fmt::format("'{}' is no name of a gres", options.gres));
  std::set<std::string> words;
  for (const auto &[type, word] : options.types)
    if (!isName(word) || !words.insert(word).second)
      return failed(fmt::format("option 'types': '{}' {}", word,
                                isName(word) ? "is said of two device types"
                                             : "is no feature of nodes or type of a gres of Slurm"));
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error)
    return failed(fmt::format("the folder '{}' cannot be made: {}", options.folder, error.message()));
  return std::unique_ptr<Engine>(std::make_unique<SlurmEngine>(options));
}

} // namespace accord::service
