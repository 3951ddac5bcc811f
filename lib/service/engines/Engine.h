// What runs tasks: Slurm, Kubernetes, Podman, the local machine. One adapter for each, with the same contract.
//
//   auto engine = slurmEngine({.partition = "batch"});
//   auto id = (*engine)->submit(task);          // again with the same name: the same task
//   for (const EngineTask &one : *(*engine)->tasks()) …
//
// Every call ends within the time limit of the engine, whatever the commands behind it do: hang, fail, answer garbage,
// answer for ever. What cannot be read is an error (A1203) with the command and the start of what it said, and means
// that nothing is known: callers never conclude from an error that a task has ended. No call throws.
#pragma once
#include "lib/launch/Launch.h"
#include "lib/service/problem/ServedJob.h"
#include "lib/support/Result.h"
#include <map>
#include <memory>

namespace accord::service {

/// What a task does and how fast, for an engine that plans by itself when it runs and on what.
struct TaskWork {
  double samples = 0, done = 0;         ///< its work, 0: not known; of it, what a checkpoint has before it starts
  std::map<int64_t, double> rates = {}; ///< samples a second by numbers of devices; those of the task are among them
  double restart = 0;                   ///< seconds without progress at each start
};

/// A run of a job on nodes that the plan names.
struct TaskRequest {
  std::string name; ///< unique for ever: at most 60 lower case letters, digits and "-", a letter first
  int64_t job = 0, run = 0;
  std::string tenant;
  std::vector<std::string> nodes; ///< as the engine calls them, in the order of ranks
  std::string deviceType;         ///< of the cluster: "a100_80g"
  int64_t devicesPerNode = 1;
  int64_t shares = 0;               ///< 0: whole devices; else so many shares of one device, on one node
  std::vector<std::string> command; ///< words, to be started as `start` says
  Start start = Start::Plain;
  std::string directory; ///< absolute; empty: `folder`
  /// ACCORD_… of the plan, ACCORD_JOB, ACCORD_RUN, ACCORD_SAMPLES, ACCORD_PROGRESS (a file for lines of progress),
  /// ACCORD_NOTICE (seconds), and those of the user.
  std::vector<std::pair<std::string, std::string>> environment;
  /// An existing folder of this task, which engines that share a file system with the scheduler use: script, `output`
  /// (standard output and error), `refused` (marks of guards), `exit` (the exit code, written when it has ended: last).
  std::string folder;
  double notice = 30; ///< seconds from the signal to save (SIGUSR1) to the end
  /// For the scripts of lib/launch: layout, degrees, names of tenants in the engine.
  LaunchLayout layout;
  BatchOptions batch;
  TaskWork work = {};
};

struct EngineTask {
  enum class State : uint8_t {
    Waiting, ///< the engine has it and will start it
    Running,
    Ending,    ///< it was told to end, or cleans up
    Succeeded, ///< all of its processes ended with 0
    Failed,    ///< one did not
    Stopped,   ///< somebody ended it: `stop`, or a person
    Lost       ///< a node of it failed, or the engine took it for others
  } state = State::Waiting;
  std::string name, id;
  std::vector<std::string> nodes; ///< empty: none yet
  double started = 0, ended = 0;  ///< seconds since 1970; 0: not yet, or not known
  int exitCode = -1;              ///< -1: not known
  std::string reason;             ///< in the engine's words: "Resources", "OOMKilled"; empty: none
  /// Of a task that failed: what the guard said on nodes that have other devices than planned, by node. They are known
  /// by the guard's own mark (lib/launch/Guard.h), not by an exit status that a program may have, too.
  std::map<std::string, std::string> refusals = {};
  double share = -1,
         shareAt = 0; ///< of its job that it has done, as the engine was told, and when; -1: it was not told
};
constexpr bool isOver(EngineTask::State state) { return state >= EngineTask::State::Succeeded; }

struct EngineNode {
  enum class State : uint8_t {
    Up,
    Drained, ///< takes no new tasks; those that run may end
    Down     ///< what ran there is lost
  } state = State::Up;
  std::string name;
  std::string deviceType; ///< as the engine calls it; empty: it does not say
  int64_t devices = 0;
  std::string reason; ///< of a node that is not up
  /// Into so many equal shares each of its devices is divided for tasks that want no whole one; 1: none is shared.
  int64_t sharesPerDevice = 1;
};

class Engine {
public:
  virtual ~Engine() = default;
  /// "slurm", "kubernetes", "podman", "local".
  virtual std::string kind() const = 0;

  /// All nodes with devices, by name.
  virtual Result<std::vector<EngineNode>> nodes() = 0;
  /// All tasks of this scheduler (by the prefix of their names) that wait or run, and those that ended as long as the
  /// engine or its folder of a task remembers; each name once, by name.
  virtual Result<std::vector<EngineTask>> tasks() = 0;

  /// Starts a task on exactly its nodes with exactly its devices, or queues it there until they are free. A name that
  /// the engine knows is not started again: it gives the id of that task. This holds if the caller dies at any moment
  /// in between and calls again, and if two calls overlap: at most one task of a name ever runs.
  ///
  /// A task with `shares` has that part of one device of its node, which the engine chooses, and its program finds the
  /// part in ACCORD_DEVICE_SHARE ("0.25"). Tasks on a device never have more shares than it is divided into, and a
  /// device of which a task has a share is nobody's whole device. The part is a promise about who else is there:
  /// nothing keeps a program from taking more of the memory. An engine that cannot share refuses such a task.
  virtual Result<std::string> submit(const TaskRequest &task) = 0;
  /// Asks a task to save (SIGUSR1 to all of its processes) and ends it after `notice` seconds (SIGTERM, and SIGKILL
  /// after 5 s more) if it has not ended by itself; 0: at once. Returns before it has ended. A task that has ended, or
  /// that the engine does not know, is fine. May be called again; a later end does not replace an earlier one.
  virtual Result<void> stop(const EngineTask &task, double notice) = 0;
  /// No new tasks on a node, or again.
  virtual Result<void> setDrained(const std::string &node, bool drained, const std::string &reason) = 0;
  /// Forgets a task that has ended, whose end the scheduler has stored.
  virtual Result<void> forget(const EngineTask &task) = 0;
};

} // namespace accord::service
