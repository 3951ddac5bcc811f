#include "lib/service/engines/local/LocalEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/local/ProcessTree.h"
#include "lib/service/engines/local/TaskSupervisor.h"
#include <charconv>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

namespace accord::service {
namespace {

/// Until a supervisor that was started has its lock: it is not started again so soon.
constexpr double kBeginSeconds = 3;
/// What is left of a lost task is killed within this, or asked again in the next call.
constexpr double kCleanSeconds = 1;

class LocalEngine final : public FolderEngine {
public:
  explicit LocalEngine(LocalOptions options) : FolderEngine(std::move(options)) {}
  using FolderEngine::open;
  std::string kind() const override { return "local"; }

protected:
  Result<void> start(FolderTask &task) override {
    {
      std::lock_guard guard(mutex_);
      double &last = started_[task.order.name];
      if (last > 0 && uptime() < last + kBeginSeconds)
        return {};
      last = uptime();
    }
    Command command{.words = {"/proc/self/exe", "supervises", task.order.name},
                    .environment = {{"ACCORD_SUPERVISE", task.folder}, {kTaskVariable, task.folder}},
                    .directory = "/"};
    auto begun = startDetached(command, "");
    return begun ? Result<void>() : Result<void>(begun.takeError());
  }

  Result<void> look(std::vector<FolderTask *> &tasks) override {
    const std::string boot = bootId();
    for (FolderTask *task : tasks)
      if (Result<void> done = lookAt(*task, boot); !done)
        return done;
    return {};
  }

  Result<void> end(FolderTask &task) override {
    auto held = takeLock(task.folder + "/lock", 0);
    if (!held || !*held)
      return {}; // its supervisor reads `stop`
    if (access((task.folder + "/began").c_str(), F_OK) == 0 || access((task.folder + "/end").c_str(), F_OK) == 0)
      return {};
    return finish(task, {EngineTask::State::Stopped, -1, 0, wallTime(), "stopped before it started"});
  }

  Result<void> remove(FolderTask &task) override {
    std::lock_guard guard(mutex_);
    started_.erase(task.order.name);
    return {};
  }

private:
  Result<void> lookAt(FolderTask &task, const std::string &boot) {
    // Before the files: what a supervisor wrote is there when it has let go of the lock.
    const bool hasSupervisor = isLocked(task.folder + "/lock");
    ACCORD_TRY(ended, readRecord(task.folder + "/end"));
    if (ended && (task.end = endOf(*ended)))
      return {};
    ACCORD_TRY(began, readRecord(task.folder + "/began"));
    if (!began) // one that was told to end does not begin, as after a start of the machine in between
      return hasSupervisor ? Result<void>() : task.isStopping ? end(task) : start(task);
    if (began->size() == 3)
      std::from_chars((*began)[2].data(), (*began)[2].data() + (*began)[2].size(), task.started);
    task.state = EngineTask::State::Running;
    if (hasSupervisor)
      return {};
    const bool isSameStart = began->size() == 3 && (*began)[1] == boot;
    if (isSameStart && !killProcessesWith(std::string(kTaskVariable) + "=" + task.folder, kCleanSeconds)) {
      task.state = EngineTask::State::Ending;
      return {};
    }
    return finish(task, {EngineTask::State::Lost, -1, task.started, wallTime(),
                         isSameStart ? "its supervisor was killed" : "the machine was started again"});
  }

  std::mutex mutex_;
  std::map<std::string, double> started_; ///< when supervisors were started by this engine
};

} // namespace

Result<std::unique_ptr<Engine>> localEngine(LocalOptions options) {
  auto engine = std::make_unique<LocalEngine>(std::move(options));
  if (Result<void> done = engine->open(); !done)
    return done.takeError();
  return std::unique_ptr<Engine>(std::move(engine));
}

} // namespace accord::service
