#include "lib/driver/tasks/ServiceCommands.h"
#include "lib/driver/Documents.h"
#include "lib/driver/service/SubmissionFiles.h"
#include "lib/driver/simulation/JobEvents.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace accord {
namespace {
using namespace service;

template <class T> DocumentEntry documentOf(const char *name, const char *command, const char *about) {
  return DocumentEntry(name, command, about, [] { return schemaOf<T>(); });
}
const DocumentEntry kSubmitted =
    documentOf<SubmitAnswer>("job_submitted", "accord run --json", "The number of a job that a scheduler took in.");
const DocumentEntry kQueue = documentOf<JobList>("job_queue", "accord queue --json",
                                                 "Jobs of a scheduler: phase, progress, time left, why they wait.");
const DocumentEntry kCluster = documentOf<ClusterView>("cluster_view", "accord top --json",
                                                       "A cluster that is scheduled: nodes, types, tenants, the plan.");
const DocumentEntry kEvent =
    documentOf<ServiceEvent>("service_event", "accord watch --json", "One event of a scheduler, a line for each.");
const DocumentEntry kWhy = documentOf<Explanation>("job_explained", "accord explain JOB --json",
                                                   "What a scheduler decided of a job, in sentences.");

int fail(const Error &error, bool json, const char *command) {
  return refuse(error.code, error.message, json, command, error.suggestion);
}
int fail(const Errors &errors, bool json, const char *command) {
  for (size_t i = 0; i + 1 < errors.size(); ++i)
    refuse(errors[i].code, errors[i].message, false, command, errors[i].suggestion);
  return fail(errors.back(), json, command);
}

double wallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string shortTime(double seconds) { return seconds < 0 ? "" : jobs::timeText(std::max(0.0, seconds)); }

// ------------------------------------------------------------- run

/// What the words of the command line say, in a submission.
class SubmissionBuilder {
public:
  explicit SubmissionBuilder(RunCommandOptions &options) : options(options), out(options.submission) {}

  Result<void> build() {
    if (options.job.empty() && out.samples == 0)
      return Error{Code::BadCommandLine, "nothing says how long the job trains: --samples N, the number of samples "
                                         "after which it is complete, or --job FILE.dnn, whose `train` block says it"};
    if (!out.progressFrom.empty() && out.progressMetric.empty())
      out.progressMetric = "samples_total";
    if (out.name.empty())
      out.name = nameOf(out.command.empty() ? "" : out.command.front());
    if (auto taken = times(); !taken)
      return taken;
    if (auto taken = pairs(); !taken)
      return taken;
    if (options.elastic == "malleable")
      out.elasticity = jobs::Elasticity::Malleable;
    else if (options.elastic == "rigid")
      out.maxDevices = out.minDevices = std::max(out.minDevices, out.maxDevices);
    if (out.directory.empty()) {
      llvm::SmallString<256> folder;
      if (!llvm::sys::fs::current_path(folder))
        out.directory = folder.str().str();
    }
    start();
    return {};
  }

private:
  static std::string nameOf(llvm::StringRef command) {
    std::string name;
    for (char c : command.rsplit('/').second.empty() ? command : command.rsplit('/').second)
      name += llvm::isAlnum(c) || c == '_' || c == '-' || c == '.' ? c : '_';
    return name.substr(0, kMaxNameLength);
  }

  Result<void> time(const char *option, const std::string &text, bool fromNow, double &to) {
    if (text.empty())
      return {};
    const auto seconds = readSeconds(text);
    if (!seconds)
      return Error{Code::BadCommandLine,
                   fmt::format("--{}: expected a time, as in 6h or 90 s, found '{}'", option, text)};
    to = fromNow ? wallClock() + *seconds : *seconds;
    return {};
  }
  Result<void> times() {
    for (auto [option, text, fromNow, to] :
         {std::tuple("deadline", &options.deadline, true, &out.deadline),
          std::tuple("due", &options.due, true, &out.due), std::tuple("notice", &options.notice, false, &out.notice),
          std::tuple("restart", &options.restart, false, &out.restart)})
      if (auto taken = time(option, *text, fromNow, *to); !taken)
        return taken;
    return {};
  }

  Result<void> pairs() {
    for (const std::string &text : options.environment) {
      const auto [name, value] = llvm::StringRef(text).split('=');
      const bool isStated = name.size() < text.size();
      const char *here = isStated ? nullptr : std::getenv(text.c_str());
      if (name.empty() || (!isStated && !here))
        return Error{Code::BadCommandLine,
                     fmt::format("--env: expected NAME=VALUE, or NAME of a variable that is set, found '{}'", text)};
      out.environment[name.str()] = here ? here : value.str();
    }
    for (const std::string &text : options.measured) {
      const auto [type, rest] = llvm::StringRef(text).split('=');
      const auto [devices, rate] = rest.split(':');
      MeasuredConfiguration one;
      one.deviceType = type.str();
      if (type.empty() || devices.getAsInteger(10, one.devices) || rate.getAsDouble(one.rate) ||
          !(one.rate > 0 && std::isfinite(one.rate)))
        return Error{Code::BadCommandLine,
                     fmt::format("--measured: expected TYPE=DEVICES:SAMPLES_PER_SECOND, found '{}'", text)};
      out.measured.push_back(std::move(one));
    }
    return {};
  }

  /// A Python program with a plan is started by torchrun, and one without by Python.
  void start() {
    const bool isPython = !out.command.empty() && llvm::StringRef(out.command.front()).ends_with(".py");
    const std::string word = !options.start.empty()             ? options.start
                             : isPython && !options.job.empty() ? "torchrun"
                                                                : "plain";
    out.start = word == "torchrun" ? Start::Torchrun : word == "megatron" ? Start::Megatron : Start::Plain;
    if (isPython && out.start == Start::Plain)
      out.command.insert(out.command.begin(), "python3");
  }

  RunCommandOptions &options;
  Submission &out;
};

/// Says what happens to a job until it is over.
int follow(const ApiClient &client, int64_t id, bool json, const char *command) {
  if (auto found = client.job(id); !found) // nothing would ever happen to it
    return fail(found.error(), json, command);
  bool isComplete = false;
  auto watched = client.watch(0, [&](const ServiceEvent &event) {
    if (event.job != id)
      return true;
    if (json)
      standardOutput() << jsonLine(toDocument(event)) << "\n";
    else
      standardOutput() << event.text << "\n";
    standardOutput().flush();
    isComplete = event.kind == "complete";
    return event.kind != "complete" && event.kind != "failed" && event.kind != "cancelled";
  });
  if (!watched)
    return fail(watched.error(), json, command);
  return isComplete ? kDone : kWrongInput;
}

// ------------------------------------------------------------- queue and top

std::string phaseInk(const TextStyle &style, JobPhase phase) {
  std::string word(nameOf(phase));
  switch (phase) {
  case JobPhase::Running:
    return inked(style, Ink::Green, word);
  case JobPhase::Failed:
  case JobPhase::Cancelled:
    return inked(style, Ink::Red, word);
  case JobPhase::Stopping:
    return inked(style, Ink::Yellow, word);
  default:
    return word;
  }
}

std::string leftOf(const JobView &view) {
  if (view.timeLeft < 0 || isOver(view.job.phase))
    return "";
  return view.timeLeftLow < 0 ? shortTime(view.timeLeft)
                              : fmt::format("{} ({} to {})", shortTime(view.timeLeft), shortTime(view.timeLeftLow),
                                            shortTime(view.timeLeftHigh));
}

std::string queueText(const std::vector<JobView> &views, const TextStyle &style) {
  TextTable table("rllrlrll",
                  {"job", "name", "tenant", "done", "phase", "samples/s", "left", "where, or why it waits"});
  for (const JobView &view : views) {
    std::string where = !view.deviceType.empty()
                            ? fmt::format("{} {}{}", view.devices, view.deviceType,
                                          view.nodes.size() == 1 ? ", " + view.nodes.front() : "") +
                                  (view.wait.empty() ? "" : ": " + view.wait)
                        : !view.wait.empty() ? view.wait
                                             : view.job.reason;
    table.row({std::to_string(view.job.id), view.job.submission.name, view.job.submission.tenant,
               view.job.samples > 0 ? fmt::format("{:.1f} %", 100 * view.share) : "", phaseInk(style, view.job.phase),
               view.goodput > 0 ? fmt::format("{:.4g}", view.goodput) : "", leftOf(view), where});
  }
  return table.text(style);
}

std::string clusterText(const ClusterView &view, const TextStyle &style) {
  std::string text = fmt::format("{}, by {}", inked(style, Ink::Bold, view.name), view.engine);
  if (!view.isHealthy)
    text += ": " + inked(style, Ink::Red, view.health);
  text += "\n";
  for (const TypeView &type : view.types)
    text += fmt::format(
        "  {:>5} of {:<5} {} {} in use{}\n", type.used, type.up, type.name,
        shareBar(style, type.up > 0 ? static_cast<double>(type.used) / static_cast<double>(type.up) : 0, 20),
        type.up < type.devices ? fmt::format(", {} are away", type.devices - type.up) : "");
  for (const TenantView &tenant : view.tenants)
    if (!tenant.name.empty())
      text += fmt::format("  {}: {} devices, {} jobs run, {} wait\n", tenant.name, tenant.devices, tenant.running,
                          tenant.queued);
  for (const NodeView &node : view.nodes)
    if (node.state != "up")
      text += fmt::format("  node {} is {}{}\n", node.name, inked(style, Ink::Yellow, node.state),
                          node.reason.empty() ? "" : ": " + node.reason);
  if (!view.planStatus.empty())
    text += fmt::format("  the plan is {} ({}{}), made in {:.2f} s\n", view.planStatus, view.objective,
                        view.planGap > 0 ? fmt::format(", at most {:.1f} % from optimal", 100 * view.planGap) : "",
                        view.planSeconds);
  return text;
}

Result<JobList> openJobs(const ApiClient &client, JobFilter filter) {
  if (filter.phases.empty())
    filter.phases = {JobPhase::Modelling, JobPhase::Queued, JobPhase::Running, JobPhase::Stopping};
  return client.jobs(filter);
}

} // namespace

int runJob(RunCommandOptions options) {
  if (auto built = SubmissionBuilder(options).build(); !built)
    return fail(built.error(), options.json, "run");
  if (!options.job.empty()) {
    SourceManager sources;
    Diagnostics diags(sources);
    auto files = submissionFiles(diags, options.job);
    if (!files)
      return finish(diags, kWrongInput, options.json, "run");
    options.submission.files = std::move(*files);
    options.submission.main = llvm::StringRef(options.job).rsplit('/').second.str();
    if (options.submission.main.empty())
      options.submission.main = options.job;
  }
  auto client = ApiClient::open(options.client);
  if (!client)
    return fail(client.error(), options.json, "run");
  auto answer = client->submit(options.submission);
  if (!answer)
    return fail(answer.error(), options.json, "run");
  if (options.json)
    standardOutput() << jsonText(toDocument(*answer)) << "\n";
  else
    standardOutput() << fmt::format("job {} {}\n", answer->id, answer->isNew ? "is submitted" : "was submitted before");
  standardOutput().flush();
  return options.waits ? follow(*client, answer->id, options.json, "run") : kDone;
}

int showQueue(QueueOptions options) {
  for (const std::string &word : options.phases) {
    const auto phase = jobPhase(word);
    if (!phase)
      return fail(Error{Code::BadCommandLine, fmt::format("--phase: there is no phase '{}'", word)}, options.json,
                  "queue");
    options.filter.phases.push_back(*phase);
  }
  auto client = ApiClient::open(options.client);
  if (!client)
    return fail(client.error(), options.json, "queue");
  auto list = options.all ? client->jobs(options.filter) : openJobs(*client, options.filter);
  if (!list)
    return fail(list.error(), options.json, "queue");
  if (options.json) {
    standardOutput() << jsonText(toDocument(*list)) << "\n";
    return kDone;
  }
  const TextStyle style = TextStyle::of(standardOutput());
  standardOutput() << (list->jobs.empty() ? "no jobs\n" : queueText(list->jobs, style));
  if (list->next > 0)
    standardOutput() << fmt::format("there are more: --after {}\n", list->next);
  return kDone;
}

int watchEvents(const WatchOptions &options) {
  auto client = ApiClient::open(options.client);
  if (!client)
    return fail(client.error(), options.json, "watch");
  if (options.job > 0)
    return follow(*client, options.job, options.json, "watch");
  auto watched = client->watch(options.after, [&](const ServiceEvent &event) {
    standardOutput() << (options.json ? jsonLine(toDocument(event)) : event.text) << "\n";
    standardOutput().flush();
    return true;
  });
  return watched ? kDone : fail(watched.error(), options.json, "watch");
}

int showTop(const TopOptions &options) {
  auto client = ApiClient::open(options.client);
  if (!client)
    return fail(client.error(), options.json, "top");
  for (;;) {
    auto cluster = client->cluster();
    if (!cluster)
      return fail(cluster.error(), options.json, "top");
    if (options.json) {
      standardOutput() << jsonText(toDocument(*cluster)) << "\n";
      return kDone;
    }
    JobFilter filter;
    filter.limit = 40;
    auto list = openJobs(*client, filter);
    if (!list)
      return fail(list.error(), options.json, "top");
    const TextStyle style = TextStyle::of(standardOutput());
    if (!options.once)
      standardOutput() << "\x1b[H\x1b[2J";
    standardOutput() << clusterText(*cluster, style) << "\n"
                     << (list->jobs.empty() ? "no jobs\n" : queueText(list->jobs, style));
    standardOutput().flush();
    if (options.once)
      return kDone;
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
}

int explainJob(const ClientOptions &where, int64_t job, bool json) {
  auto client = ApiClient::open(where);
  if (!client)
    return fail(client.error(), json, "explain");
  auto sentences = client->explain(job);
  if (!sentences)
    return fail(sentences.error(), json, "explain");
  if (json)
    standardOutput() << jsonText(toDocument(Explanation{*sentences})) << "\n";
  else
    for (const std::string &sentence : *sentences)
      standardOutput() << sentence << "\n";
  return kDone;
}

int cancelJobs(const ClientOptions &where, const std::vector<int64_t> &jobs, const std::string &reason) {
  auto client = ApiClient::open(where);
  if (!client)
    return fail(client.error(), false, "cancel");
  int status = kDone;
  for (int64_t job : jobs)
    if (auto done = client->cancel(job, reason); !done)
      status = fail(done.error(), false, "cancel");
    else
      standardOutput() << fmt::format("job {} is cancelled\n", job);
  return status;
}

int drainNode(const ClientOptions &where, const std::string &node, bool resumes, const std::string &reason) {
  auto client = ApiClient::open(where);
  if (!client)
    return fail(client.error(), false, "drain");
  auto done = resumes ? client->resume(node) : client->drain(node, reason);
  if (!done)
    return fail(done.error(), false, "drain");
  standardOutput() << fmt::format("node '{}' {}\n", node, resumes ? "takes tasks again" : "takes no new tasks");
  return kDone;
}

int makeToken(const ClientOptions &where, const Caller &of, const std::string &expires) {
  double until = 0;
  if (!expires.empty()) {
    const auto seconds = readSeconds(expires);
    if (!seconds)
      return fail(
          Error{Code::BadCommandLine, fmt::format("--expires: expected a time, as in 30d, found '{}'", expires)}, false,
          "token");
    until = wallClock() + *seconds;
  }
  auto client = ApiClient::open(where);
  if (!client)
    return fail(client.error(), false, "token");
  auto token = client->makeToken(of, until);
  if (!token)
    return fail(token.error(), false, "token");
  standardOutput() << *token << "\n";
  return kDone;
}

int revokeToken(const ClientOptions &where, const std::string &name) {
  auto client = ApiClient::open(where);
  if (!client)
    return fail(client.error(), false, "token");
  auto done = client->revokeToken(name);
  return done ? kDone : fail(done.error(), false, "token");
}

} // namespace accord
