// What engines of one machine have in common: tasks in folders, a queue for devices, drained nodes. Each adds how a
// task is started, seen and ended.
//
// All that changes something happens under the lock of the folder, so that several engines, threads and processes may
// use it at once; a process that dies under it leaves what the next one takes on from. Tasks that wait start when some
// engine is asked for something after their devices have become free: the scheduler asks all the time.
#pragma once
#include "lib/service/engines/TaskGuard.h"
#include "lib/service/engines/local/NodeQueue.h"

namespace accord::service {

struct LocalOptions {
  std::vector<LocalNode> nodes;     ///< parts of this machine; empty: the machine with the GPUs that nvidia-smi counts
  std::string folder;               ///< absolute: its own state, for nobody else; made if it is not there
  std::string prefix;               ///< of the names of its tasks
  double timeLimit = 10;            ///< seconds for a call
  GuardMode guard = GuardMode::Off; ///< on each node of a task, before its program
  int64_t shares = 1;               ///< into so many each device is divided for tasks that want no whole one
};

/// A task as its folder says.
struct FolderTask {
  std::string folder; ///< FOLDER/tasks/NAME
  TaskOrder order;
  std::optional<TaskAssignment> assignment;
  std::optional<TaskEnd> end;
  bool isStopping = false;
  /// Of those that are assigned and have not ended: what the engine sees of them.
  EngineTask::State state = EngineTask::State::Waiting;
  double started = 0;
  std::string reason; ///< why it waits
};

class FolderEngine : public Engine {
public:
  Result<std::vector<EngineNode>> nodes() final;
  Result<std::vector<EngineTask>> tasks() final;
  Result<std::string> submit(const TaskRequest &request) final;
  Result<void> stop(const EngineTask &task, double notice) final;
  Result<void> setDrained(const std::string &node, bool drained, const std::string &reason) final;
  Result<void> forget(const EngineTask &task) final;

protected:
  explicit FolderEngine(LocalOptions options) : options_(std::move(options)) {}
  /// Makes the folder; removes what a process left that died while it handed in a task. A1203 if it cannot be used.
  Result<void> open();

  const LocalOptions &options() const { return options_; }
  /// Starts a task that is assigned and was not yet started, as far as this engine knows. Again: the same task.
  virtual Result<void> start(FolderTask &task) = 0;
  /// Finds out how tasks stand that are assigned and have not ended: `state`, `started`, or `end` where that has come,
  /// which is written down by `finish`.
  virtual Result<void> look(std::vector<FolderTask *> &tasks) = 0;
  /// `stop` is written: tells a task that is assigned and has not ended.
  virtual Result<void> end(FolderTask &task) = 0;
  /// Where the first rank of a task is met by the others.
  virtual std::string addressOf(const TaskOrder &order) const { return "127.0.0.1"; }
  /// Removes what the engine keeps of a task that has ended, before its folder goes.
  virtual Result<void> remove(FolderTask &task) = 0;

  static Result<void> finish(FolderTask &task, const TaskEnd &end);

private:
  Result<FileDescriptor> lock() const;
  std::string tasksFolder() const { return options_.folder + "/tasks"; }
  Result<std::optional<FolderTask>> read(const std::string &name) const;
  /// By name.
  Result<std::vector<FolderTask>> readAll() const;
  /// Reads all, looks at those that run, and starts whose turn it is.
  Result<std::vector<FolderTask>> proceed();
  Result<void> assign(std::vector<FolderTask> &tasks);
  Result<void> make(const TaskOrder &order) const;
  Result<std::map<std::string, std::string>> drained() const;
  std::vector<LocalNode> presentNodes() const;

  LocalOptions options_;
};

} // namespace accord::service
