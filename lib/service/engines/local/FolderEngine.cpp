#include "lib/service/engines/local/FolderEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/local/TaskCommand.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {
namespace {

namespace fs = std::filesystem;

/// Below the ports that systems give to connections.
constexpr int64_t kLastPort = 32000;

bool isFreePort(int64_t port) {
  FileDescriptor one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  int yes = 1;
  setsockopt(one.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return one && bind(one.number(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

int64_t freePort(const std::set<int64_t> &used) {
  for (int64_t port = kRendezvousPort; port < kLastPort; ++port)
    if (!used.contains(port) && isFreePort(port))
      return port;
  return kRendezvousPort;
}

EngineTask taskOf(const FolderTask &task) {
  EngineTask seen;
  seen.name = task.order.name;
  seen.id = task.order.name;
  if (task.assignment)
    seen.nodes = task.order.nodes;
  if (task.end) {
    seen.state = task.end->state;
    seen.started = task.end->started;
    seen.ended = task.end->ended;
    seen.exitCode = task.end->exitCode;
    seen.reason = task.end->reason;
    if (seen.state == EngineTask::State::Failed)
      seen.refusals = refusalsOf(smallFile(guardMarkOf(task.order.folder)).value_or(""), task.order.nodes);
    return seen;
  }
  seen.started = task.started;
  seen.state = task.isStopping && task.assignment ? EngineTask::State::Ending : task.state;
  seen.reason = seen.state == EngineTask::State::Waiting ? task.reason : "";
  return seen;
}

/// Entries of a folder, by name.
Result<std::vector<std::string>> entriesOf(const std::string &folder) {
  std::error_code failure;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    names.push_back(at->path().filename().string());
  if (failure)
    return fileError("read", folder, failure.value());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

Result<void> FolderEngine::open() {
  if (options_.folder.empty() || options_.folder[0] != '/')
    return Error{Code::EngineFailed,
                 fmt::format("the folder of the engine is '{}', and has to be absolute", firstLineOf(options_.folder))};
  if (!options_.prefix.empty() && !isTaskName(options_.prefix))
    return Error{Code::EngineFailed,
                 fmt::format("the prefix '{}' has other characters than lower case letters, digits and '-'",
                             firstLineOf(options_.prefix))};
  std::error_code failure;
  fs::create_directories(tasksFolder(), failure);
  if (failure)
    return fileError("made", tasksFolder(), failure.value());
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(names, entriesOf(tasksFolder()));
  for (const std::string &name : names)
    if (!isTaskName(name))
      fs::remove_all(tasksFolder() + "/" + name, failure);
  return {};
}

Result<FileDescriptor> FolderEngine::lock() const {
  const std::string path = options_.folder + "/lock";
  ACCORD_TRY(held, takeLock(path, options_.timeLimit));
  if (!held)
    return Error{Code::EngineFailed,
                 fmt::format("'{}' is held by somebody else for more than {} s", path, options_.timeLimit)};
  return std::move(held);
}

Result<std::optional<FolderTask>> FolderEngine::read(const std::string &name) const {
  FolderTask task;
  task.folder = tasksFolder() + "/" + name;
  ACCORD_TRY(request, readRecord(task.folder + "/request"));
  if (!request)
    return std::optional<FolderTask>();
  std::optional<TaskOrder> order = orderOf(*request);
  if (!order || order->name != name)
    return Error{Code::EngineFailed, fmt::format("'{}/request' is not the request of a task", task.folder)};
  task.order = std::move(*order);
  ACCORD_TRY(assigned, readRecord(task.folder + "/assigned"));
  if (assigned && !(task.assignment = assignmentOf(*assigned)))
    return Error{Code::EngineFailed, fmt::format("'{}/assigned' does not say what a task got", task.folder)};
  ACCORD_TRY(ended, readRecord(task.folder + "/end"));
  if (ended && !(task.end = endOf(*ended)))
    return Error{Code::EngineFailed, fmt::format("'{}/end' does not say how a task ended", task.folder)};
  task.isStopping = access((task.folder + "/stop").c_str(), F_OK) == 0;
  return std::optional<FolderTask>(std::move(task));
}

Result<std::vector<FolderTask>> FolderEngine::readAll() const {
  ACCORD_TRY(names, entriesOf(tasksFolder()));
  std::vector<FolderTask> tasks;
  for (const std::string &name : names) {
    if (!isTaskName(name))
      continue;
    ACCORD_TRY(task, read(name));
    if (task)
      tasks.push_back(std::move(*task));
  }
  return tasks;
}

Result<void> FolderEngine::finish(FolderTask &task, const TaskEnd &end) {
  if (Result<void> done = writeEnd(task.folder, task.order.folder, end); !done)
    return done;
  task.end = end;
  return {};
}

std::vector<LocalNode> FolderEngine::presentNodes() const {
  return options_.nodes.empty() ? nodesOfThisMachine(options_.timeLimit / 2) : options_.nodes;
}

Result<std::map<std::string, std::string>> FolderEngine::drained() const {
  std::map<std::string, std::string> reasons;
  ACCORD_TRY(record, readRecord(options_.folder + "/drained"));
  for (size_t i = 0; record && i + 1 < record->size(); i += 2)
    reasons[(*record)[i]] = (*record)[i + 1];
  return reasons;
}

Result<std::vector<EngineNode>> FolderEngine::nodes() {
  ACCORD_TRY(reasons, drained());
  std::vector<EngineNode> all;
  for (const LocalNode &node : presentNodes()) {
    EngineNode one{EngineNode::State::Up, node.name, node.deviceType, node.devices, node.reason, options_.shares};
    if (!node.reason.empty())
      one.state = EngineNode::State::Down;
    else if (auto at = reasons.find(node.name); at != reasons.end())
      one.state = EngineNode::State::Drained, one.reason = at->second.empty() ? "drained" : at->second;
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(), [](const EngineNode &a, const EngineNode &b) { return a.name < b.name; });
  return all;
}

Result<void> FolderEngine::assign(std::vector<FolderTask> &tasks) {
  std::vector<FolderTask *> waiting;
  for (FolderTask &task : tasks)
    if (!task.assignment && !task.end)
      waiting.push_back(&task);
  if (waiting.empty())
    return {};
  NodeQueue queue(presentNodes(), options_.shares);
  ACCORD_TRY(reasons, drained());
  for (const auto &[node, reason] : reasons)
    queue.setDrained(node);
  std::set<int64_t> ports;
  for (const FolderTask &task : tasks)
    if (task.assignment && !task.end) {
      ports.insert(task.assignment->port);
      for (const TaskRank &rank : task.assignment->ranks)
        queue.use(rank.node, rank.devices, task.assignment->shares, task.assignment->sharesPerDevice);
    }
  std::sort(waiting.begin(), waiting.end(),
            [](const FolderTask *a, const FolderTask *b) { return a->order.sequence < b->order.sequence; });
  for (FolderTask *task : waiting) {
    auto devices = queue.next(task->order.nodes, task->order.devicesPerNode, task->reason, task->order.shares);
    if (!devices)
      continue;
    TaskAssignment assignment{freePort(ports), task->order.directory, task->order.folder, task->order.notice, {}};
    assignment.shares = task->order.shares, assignment.sharesPerDevice = options_.shares;
    ports.insert(assignment.port);
    assignment.ranks = ranksOf(task->order, *devices, addressOf(task->order), assignment.port, options_.shares);
    Result<void> done = writeRecord(task->folder + "/assigned", recordOf(assignment));
    if (done) {
      task->assignment = std::move(assignment);
      done = start(*task);
    }
    if (!done) // it is tried again
      task->reason = done.error().message;
  }
  return {};
}

Result<std::vector<FolderTask>> FolderEngine::proceed() {
  ACCORD_TRY(tasks, readAll());
  std::vector<FolderTask *> running;
  for (FolderTask &task : tasks)
    if (task.assignment && !task.end)
      running.push_back(&task);
  if (!running.empty())
    if (Result<void> done = look(running); !done)
      return done.takeError();
  if (Result<void> done = assign(tasks); !done)
    return done.takeError();
  return std::move(tasks);
}

Result<std::vector<EngineTask>> FolderEngine::tasks() {
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(all, proceed());
  std::vector<EngineTask> seen;
  for (const FolderTask &task : all)
    if (llvm::StringRef(task.order.name).starts_with(options_.prefix))
      seen.push_back(taskOf(task));
  return seen;
}

Result<void> FolderEngine::make(const TaskOrder &order) const {
  std::string made = tasksFolder() + "/.new-XXXXXX";
  if (!mkdtemp(made.data()))
    return fileError("made", made, errno);
  auto fill = [&]() -> Result<void> {
    for (const char *spare : {"/.end", "/.began", "/.stop1", "/.stop2"})
      if (Result<void> done = writeSpare(made + spare); !done)
        return done;
    if (Result<void> done = writeRecord(made + "/request", recordOf(order)); !done)
      return done;
    syncFolder(made);
    const std::string path = tasksFolder() + "/" + order.name;
    if (rename(made.c_str(), path.c_str()) != 0)
      return fileError("made", path, errno);
    syncFolder(tasksFolder());
    return {};
  };
  Result<void> done = fill();
  std::error_code ignored;
  if (!done)
    fs::remove_all(made, ignored);
  return done;
}

Result<std::string> FolderEngine::submit(const TaskRequest &request) {
  TaskRequest guarded = request;
  addGuard(guarded, options_.guard, request.deviceType);
  ACCORD_TRY(order, orderFrom(guarded, options_.folder, options_.shares));
  if (!llvm::StringRef(order.name).starts_with(options_.prefix))
    return Error{Code::EngineFailed, fmt::format("task '{}' does not begin with '{}'", order.name, options_.prefix)};
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(known, read(order.name));
  if (known)
    return order.name;
  ACCORD_TRY(tasks, readAll());
  for (const FolderTask &task : tasks)
    order.sequence = std::max(order.sequence, task.order.sequence);
  ++order.sequence;
  if (Result<void> done = make(order); !done)
    return done.takeError();
  (void)proceed(); // the task is there, whatever becomes of others
  return order.name;
}

Result<void> FolderEngine::stop(const EngineTask &task, double notice) {
  if (!isTaskName(task.name))
    return {};
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(known, read(task.name));
  if (!known || known->end)
    return {};
  if (!known->assignment)
    return finish(*known, {EngineTask::State::Stopped, -1, 0, wallTime(), "stopped before it started"});
  std::vector<FolderTask *> looked{&*known};
  if (Result<void> done = look(looked); !done)
    return done;
  if (known->end) // by itself, before this
    return {};
  if (Result<void> done = writeStop(known->folder, notice); !done)
    return done;
  return end(*known);
}

Result<void> FolderEngine::setDrained(const std::string &node, bool isDrained, const std::string &reason) {
  auto all = presentNodes();
  if (std::none_of(all.begin(), all.end(), [&](const LocalNode &one) { return one.name == node; }))
    return Error{Code::EngineFailed, fmt::format("there is no node '{}'", firstLineOf(node))};
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(reasons, drained());
  if (isDrained)
    reasons[node] = firstLineOf(reason);
  else
    reasons.erase(node);
  Record record;
  for (const auto &[name, why] : reasons)
    record.insert(record.end(), {name, why});
  return writeRecord(options_.folder + "/drained", record);
}

Result<void> FolderEngine::forget(const EngineTask &task) {
  if (!isTaskName(task.name))
    return {};
  auto held = lock();
  if (!held)
    return held.takeError();
  ACCORD_TRY(known, read(task.name));
  if (!known)
    return {};
  if (!known->end)
    return Error{Code::EngineFailed, fmt::format("task '{}' has not ended, and cannot be forgotten", task.name)};
  if (Result<void> done = remove(*known); !done)
    return done;
  const std::string gone = tasksFolder() + "/.gone-" + task.name;
  std::error_code failure;
  fs::rename(known->folder, gone, failure);
  if (failure)
    return fileError("removed", known->folder, failure.value());
  fs::remove_all(gone, failure); // what is left is removed when the next engine begins
  return {};
}

} // namespace accord::service
