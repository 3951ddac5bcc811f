#include "lib/service/client/ServiceEngine.h"
#include "lib/service/engines/TaskShares.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <thread>

namespace accord::service {
namespace {

using Clock = std::chrono::steady_clock;
using State = EngineTask::State;

constexpr auto kPause = std::chrono::milliseconds(500);
constexpr double kClusterSeconds = 30; ///< until a service that was just started knows its nodes
constexpr size_t kPage = 1000;

Error refused(std::string message) { return {Code::EngineFailed, std::move(message)}; }

/// Errors of a service that is there again later, or whose engine or disk is.
bool mayPass(Code code) {
  return code == Code::SchedulerUnreachable || code == Code::StateFailed || code == Code::EngineFailed;
}

State stateOf(const JobView &view) {
  switch (view.job.phase) {
  case JobPhase::Running:
    return view.wait.empty() && view.job.started > 0 ? State::Running : State::Waiting;
  case JobPhase::Stopping:
    return State::Ending;
  case JobPhase::Complete:
    return State::Succeeded;
  case JobPhase::Failed:
    return State::Failed;
  case JobPhase::Cancelled:
    return State::Stopped;
  default:
    return State::Waiting;
  }
}

class ServiceEngine final : public Engine {
public:
  ServiceEngine(ServiceEngineOptions options, ApiClient client)
      : options_(std::move(options)), client_(std::move(client)) {}
  std::string kind() const override { return "serve"; }

  Result<std::vector<EngineNode>> nodes() override {
    ACCORD_TRY(caller, ask([&] { return client_.caller(); }));
    if (auto checked = checkCaller(caller); !checked)
      return checked.takeError();
    const std::string tenant = options_.tenant.empty() ? caller.tenant : options_.tenant;
    ACCORD_TRY(cluster, knownCluster());
    ACCORD_TRY(type, typeOf(cluster));
    if (auto checked = checkDevices(cluster, *type, tenant); !checked)
      return checked.takeError();
    int64_t perNode = 1;
    for (const NodeView &node : cluster.nodes)
      if (node.deviceType == type->name)
        perNode = std::max(perNode, node.devices);
    perNode = std::min(perNode, options_.devices);
    const int64_t count = options_.devices / perNode, left = options_.devices % perNode;
    if (left > 0)
      return refused(fmt::format("option 'devices' is {}, and nodes with '{}' have {} each; allowed are {} or {}",
                                 options_.devices, type->name, perNode, count * perNode, (count + 1) * perNode));
    std::vector<EngineNode> nodes;
    for (int64_t node = 0; node < count; ++node)
      nodes.push_back(
          {.name = fmt::format("share-{:04}", node), .deviceType = type->name, .devices = perNode, .reason = {}});
    return std::move(nodes);
  }

  /// Jobs that are over are asked for once: their ids end below `settled_`, but for those behind one that is not.
  Result<std::vector<EngineTask>> tasks() override {
    std::map<std::string, EngineTask> all = over_;
    bool isSettled = true;
    for (JobFilter filter = ownJobs();;) {
      ACCORD_TRY(list, ask([&] { return client_.jobs(filter); }));
      for (const JobView &view : list.jobs) {
        const std::string &name = view.job.submission.name;
        const bool isDone = isOver(view.job.phase);
        if (isDone && !over_.contains(name)) {
          ACCORD_TRY(ended, endedTask(view));
          over_.emplace(name, ended);
          all.insert_or_assign(name, std::move(ended));
        } else if (!isDone) {
          all.emplace(name, taskOf(view));
        }
        isSettled &= isDone;
        if (isSettled)
          settled_ = view.job.id;
      }
      if (list.next == 0)
        break;
      filter.after = list.next;
    }
    std::vector<EngineTask> tasks;
    for (auto &[name, task] : all)
      tasks.push_back(std::move(task));
    return std::move(tasks);
  }

  Result<std::string> submit(const TaskRequest &task) override {
    if (const std::string error = sharesError(task, 1, "jobs of a service have whole devices"); !error.empty())
      return refused(fmt::format("task '{}': {}", task.name, error));
    const Submission job = jobOf(task);
    ACCORD_TRY(answer, ask([&]() -> Result<SubmitAnswer> {
                 auto made = client_.submit(job);
                 if (!made)
                   return joined(made.takeError());
                 return *made;
               }));
    return std::to_string(answer.id);
  }

  /// The notice is that with which the task was handed in.
  Result<void> stop(const EngineTask &task, double /*notice*/) override {
    EngineTask known = task;
    if (known.id.empty()) {
      ACCORD_TRY(found, tasks());
      const auto at = std::ranges::find(found, task.name, &EngineTask::name);
      if (at == found.end())
        return {};
      known = *at;
    }
    if (known.state == State::Ending || isOver(known.state))
      return {}; // it was told
    ACCORD_TRY(id, parseWhole(known.id, {1}));
    auto done = ask([&] { return client_.cancel(id, "who handed it in needs no more of it"); });
    const bool isFine = done || done.error().code == Code::NotServed || done.error().code == Code::WrongServiceRequest;
    return isFine ? Result<void>() : std::move(done);
  }

  Result<void> setDrained(const std::string &node, bool, const std::string &) override {
    return refused(fmt::format("node '{}' is none of the cluster: 'accord drain' takes those out of service", node));
  }
  /// The service keeps jobs as long as its operator says.
  Result<void> forget(const EngineTask &) override { return {}; }

private:
  bool isStopping() const { return options_.stop && options_.stop->load(); }

  /// Asks once more where the service has answered before and may come back, until patience ends.
  template <typename Request> auto ask(const Request &request) -> decltype(request()) {
    const auto until = Clock::now() + std::chrono::duration<double>(hasAnswered_ ? options_.patience : 0);
    for (;;) {
      auto answer = request();
      if (answer)
        hasAnswered_ = true;
      if (answer || !mayPass(answer.error().code) || isStopping() || Clock::now() >= until)
        return answer;
      std::this_thread::sleep_for(kPause);
    }
  }

  /// All that is wrong with a job, as one error.
  static Error joined(const Errors &errors) {
    Error all = errors.empty() ? refused("the service refuses the job, and says nothing") : errors.front();
    for (size_t i = 1; i < errors.size(); ++i)
      all.message += "; " + errors[i].message;
    return all;
  }

  Result<void> checkCaller(const Caller &caller) const {
    if (caller.role == Role::Viewer)
      return Error{Code::NotAllowed,
                   fmt::format("the token '{}' reads, and does not hand in jobs: an operator makes one that does "
                               "with 'accord token'",
                               caller.name)};
    if (!caller.tenant.empty() && !options_.tenant.empty() && caller.tenant != options_.tenant)
      return Error{Code::NotAllowed, fmt::format("option 'tenant' is '{}', and the token '{}' is of tenant '{}'",
                                                 options_.tenant, caller.name, caller.tenant)};
    return {};
  }

  Result<ClusterView> knownCluster() {
    const auto until = Clock::now() + std::chrono::duration<double>(std::min(kClusterSeconds, options_.patience));
    for (;;) {
      ACCORD_TRY(cluster, ask([&] { return client_.cluster(); }));
      if (!cluster.types.empty())
        return std::move(cluster);
      if (isStopping() || Clock::now() >= until)
        return refused(fmt::format("the cluster of the service has no devices{}",
                                   cluster.health.empty() ? "" : ": " + cluster.health));
      std::this_thread::sleep_for(kPause);
    }
  }

  Result<const TypeView *> typeOf(const ClusterView &cluster) const {
    std::vector<std::string> names;
    for (const TypeView &type : cluster.types) {
      names.push_back(type.name);
      if (type.name == options_.deviceType || (options_.deviceType.empty() && cluster.types.size() == 1))
        return &type;
    }
    if (options_.deviceType.empty())
      return refused(
          fmt::format("the cluster has several device types: option 'type' names one of {}", fmt::join(names, ", ")));
    Error error = refused(
        fmt::format("option 'type' is '{}', allowed is one of {}", options_.deviceType, fmt::join(names, ", ")));
    error.suggestion = nearest(options_.deviceType, names);
    return error;
  }

  Result<void> checkDevices(const ClusterView &cluster, const TypeView &type, const std::string &tenant) const {
    if (options_.devices > type.devices)
      return refused(fmt::format("option 'devices' is {}, and the cluster has {} '{}'", options_.devices, type.devices,
                                 type.name));
    for (const TenantView &one : cluster.tenants)
      if (one.name == tenant)
        for (const auto &[of, max] : one.quota)
          if ((of.empty() || of == type.name) && options_.devices > max)
            return refused(fmt::format("option 'devices' is {}, and tenant '{}' may have {}{} at once",
                                       options_.devices, tenant, max, of.empty() ? "" : " '" + of + "'"));
    return {};
  }

  JobFilter ownJobs() const {
    JobFilter filter{.phases = {}, .tenant = options_.tenant, .name = {}, .prefix = options_.prefix};
    filter.after = settled_, filter.limit = kPage;
    return filter;
  }

  static EngineTask taskOf(const JobView &view) {
    EngineTask task;
    task.state = stateOf(view);
    task.name = view.job.submission.name, task.id = std::to_string(view.job.id);
    task.nodes = view.nodes, task.started = view.job.started, task.ended = view.job.ended;
    task.reason = view.job.reason.empty() ? view.wait : view.job.reason;
    return task;
  }

  /// With what its last run said.
  Result<EngineTask> endedTask(const JobView &view) {
    EngineTask task = taskOf(view);
    RunFilter filter;
    filter.job = view.job.id, filter.limit = kPage;
    ACCORD_TRY(runs, ask([&] { return client_.runs(filter); }));
    const auto last = std::ranges::max_element(runs, {}, &RunView::run);
    if (last != runs.end())
      task.nodes = last->nodes, task.exitCode = last->exitCode;
    return task;
  }

  Submission jobOf(const TaskRequest &task) const {
    const int64_t devices = task.devicesPerNode * static_cast<int64_t>(task.nodes.size());
    Submission job;
    job.name = job.key = task.name;
    job.tenant = options_.tenant, job.priority = options_.priority;
    job.start = task.start, job.directory = task.directory, job.notice = task.notice;
    job.command = commandOf(task);
    for (const auto &[name, value] : task.environment)
      if (!isOwn(name))
        job.environment[name] = value;
    job.deviceTypes = {task.deviceType};
    job.maxFailures = 1; // who handed it in decides what a failure means
    job.restart = task.work.restart;
    std::map<int64_t, double> rates = task.work.rates;
    const auto above = rates.upper_bound(devices);
    if (task.work.samples > task.work.done && above != rates.begin()) {
      job.samples = task.work.samples, job.done = task.work.done;
      rates.try_emplace(devices, std::prev(above)->second); // whole nodes: as fast as what it asked for
    } else {
      job.samples = 1, rates = {{devices, 1.0}}; // nobody knows
    }
    for (const auto &[count, rate] : rates)
      if (count == devices || (options_.isElastic && count < devices))
        job.measured.push_back({task.deviceType, count, rate});
    job.minDevices = job.measured.front().devices, job.maxDevices = devices;
    job.elasticity = job.minDevices < devices ? jobs::Elasticity::Malleable : jobs::Elasticity::Moldable;
    return job;
  }

  static bool isOwn(llvm::StringRef name) { return name.starts_with("ACCORD_"); }

  /// What the service does by itself for a job of its own is said by words: variables of ACCORD_, output in the folder
  /// of the task. Values that a trial says are its progress, too.
  static std::vector<std::string> commandOf(const TaskRequest &task) {
    std::vector<std::string> words{"env"};
    for (const auto &[name, value] : task.environment)
      if (isOwn(name) && name != "ACCORD_GUARD") // the service compares devices with its plan
        words.push_back(name + "=" + value);
    words.insert(words.end(), {"sh", "-c",
                               "mkdir -p -- \"$0\" && exec >\"$0/output\" 2>&1\n"
                               "[ -z \"$ACCORD_VALUES\" ] || ln -sf -- \"$ACCORD_VALUES\" \"$ACCORD_PROGRESS\"\n"
                               "exec \"$@\"",
                               task.folder});
    words.insert(words.end(), task.command.begin(), task.command.end());
    return words;
  }

  const ServiceEngineOptions options_;
  const ApiClient client_;
  std::atomic<bool> hasAnswered_ = false;
  std::map<std::string, EngineTask> over_; ///< by name
  int64_t settled_ = 0;                    ///< all jobs up to this one are in `over_`
};

std::string valueOf(const EngineOptions &options, const std::string &name) {
  const auto at = options.find(name);
  return at == options.end() ? "" : at->second;
}

Error wrongValue(const std::string &name, const std::string &value, const std::string &allowed) {
  return refused(fmt::format("option '{}' is '{}', and has to be {}", name, value, allowed));
}

/// The first line of a file.
Result<std::string> tokenIn(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || llvm::StringRef(line).trim().empty())
    return refused(fmt::format("option 'token-file' is '{}', which has no token that can be read", path));
  return llvm::StringRef(line).trim().str();
}

} // namespace

Result<ServiceEngineOptions> serviceEngineOptions(const EngineOptions &options) {
  if (auto checked = checkOptions("serve", options,
                                  {"server", "token-file", "authority", "tenant", "type", "devices", "priority",
                                   "elastic", "patience", "prefix"});
      !checked)
    return checked.takeError();
  ServiceEngineOptions read;
  read.client.server = valueOf(options, "server"), read.client.origin = "--engine-option server";
  read.client.authority = valueOf(options, "authority");
  if (const std::string file = valueOf(options, "token-file"); !file.empty()) {
    ACCORD_TRY(token, tokenIn(file));
    read.client.token = std::move(token);
  }
  read.tenant = valueOf(options, "tenant"), read.deviceType = valueOf(options, "type");
  read.prefix = valueOf(options, "prefix");
  const std::string devices = valueOf(options, "devices");
  if (devices.empty())
    return refused("engine 'serve' needs option 'devices': how many its tasks may have at once");
  Result<int64_t> count = parseWhole(devices, {1, kMaxServedDevices});
  if (!count)
    return wrongValue("devices", devices, "a whole number of 1 or more");
  read.devices = *count;
  for (auto [name, to] : {std::pair("priority", &read.priority), std::pair("patience", &read.patience)})
    if (const std::string text = valueOf(options, name); !text.empty()) {
      Result<double> number = parseReal(text);
      if (!number || !(*number > 0) || *number > kMaxSpan)
        return wrongValue(name, text, "a number above 0");
      *to = *number;
    }
  const std::string elastic = valueOf(options, "elastic");
  if (!elastic.empty() && elastic != "yes" && elastic != "no")
    return wrongValue("elastic", elastic, "yes or no");
  read.isElastic = elastic == "yes";
  return read;
}

Result<std::unique_ptr<Engine>> serviceEngine(ServiceEngineOptions options) {
  ACCORD_TRY(client, ApiClient::open(options.client));
  return std::make_unique<ServiceEngine>(std::move(options), std::move(client));
}

} // namespace accord::service
