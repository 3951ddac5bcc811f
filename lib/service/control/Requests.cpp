// What clients change: tokens, jobs that come or are cancelled, nodes that are drained, progress that is reported.
#include "lib/service/control/SchedulerState.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace accord::service {
namespace {

using State = JobRunRecord::State;

constexpr size_t kMaxName = 60, kMaxWords = 1000, kMaxText = 100'000, kMaxFiles = 100, kMaxFileBytes = size_t(4) << 20;
constexpr unsigned kAuditsPerSecond = 20; ///< of what was refused
constexpr double kMaxNumber = 1e15;

std::string roleName(Role role) {
  return role == Role::Operator ? "an operator" : role == Role::Submitter ? "a submitter" : "a viewer";
}

/// What is wrong with a submission; errors begin with the key.
class SubmissionCheck {
public:
  explicit SubmissionCheck(const Submission &from, const jobs::JobsRequest &operation)
      : from(from), operation(operation) {}

  Errors run() {
    name();
    command();
    tenant();
    numbers();
    files();
    return std::move(errors);
  }

private:
  void wrong(const std::string &key, const std::string &text) {
    errors.push_back({Code::WrongServiceRequest, fmt::format("{}: {}", key, text)});
  }
  static bool isPlain(const std::string &text) {
    return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
  }

  void name() {
    const bool isRight =
        !from.name.empty() && from.name.size() <= kMaxName &&
        std::ranges::all_of(from.name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.'; });
    if (!isRight)
      wrong("name", fmt::format("expected 1 to {} letters, digits, '_', '-' and '.', found '{}'", kMaxName,
                                from.name.substr(0, 2 * kMaxName)));
    if (from.key.size() > 200 || !isPlain(from.key))
      wrong("key", "expected at most 200 printable characters");
  }

  void command() {
    if (from.command.empty() || from.command.front().empty())
      wrong("command", "expected the program that the job runs, and its arguments, found none");
    if (from.command.size() > kMaxWords)
      wrong("command", fmt::format("expected at most {} words, found {}", kMaxWords, from.command.size()));
    size_t length = 0;
    for (const std::string &word : from.command)
      length += word.size();
    if (length > kMaxText)
      wrong("command", fmt::format("expected at most {} characters, found {}", kMaxText, length));
    for (const std::string &word : from.command)
      if (word.find('\0') != std::string::npos)
        wrong("command", "a word has a NUL");
    if (!from.directory.empty() && (from.directory.front() != '/' || !isPlain(from.directory)))
      wrong("directory", fmt::format("expected an absolute path, found '{}'", from.directory));
    for (const auto &[key, value] : from.environment) {
      const bool isName = !key.empty() && !llvm::isDigit(key[0]) &&
                          std::ranges::all_of(key, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!isName || value.find('\0') != std::string::npos)
        wrong("environment", fmt::format("expected names of letters, digits and '_', found '{}'", key));
      else if (llvm::StringRef(key).starts_with("ACCORD_"))
        wrong("environment", fmt::format("'{}' is set by the scheduler itself", key));
    }
  }

  void tenant() {
    if (from.tenant.empty() || operation.tenants.empty())
      return;
    std::vector<std::string> known;
    for (const jobs::JobsRequest::Tenant &one : operation.tenants)
      known.push_back(one.name);
    if (std::ranges::count(known, from.tenant) == 0) {
      wrong("tenant", fmt::format("expected one of {}, found '{}'", fmt::join(known, ", "), from.tenant));
      errors.back().suggestion = nearest(from.tenant, known);
    }
  }

  void number(const char *key, double value, double min, double max) {
    if (!std::isfinite(value) || value < min || value > max)
      wrong(key, fmt::format("expected a number from {:g} to {:g}, found {:g}", min, max, value));
  }
  void numbers() {
    number("samples", from.samples, 0, kMaxNumber);
    number("priority", from.priority, 1e-3, 1000);
    number("restart", from.restart, -1, 1e6);
    number("notice", from.notice, 0, 3600);
    number("deadline", from.deadline, 0, 1e11), number("due", from.due, 0, 1e11);
    number("late_price", from.latePrice, 0, 1e6);
    number("min_devices", static_cast<double>(from.minDevices), 1, 1e6);
    number("max_devices", static_cast<double>(from.maxDevices), 0, 1e6);
    number("max_failures", static_cast<double>(from.maxFailures), 1, 1000);
    if (from.maxDevices > 0 && from.maxDevices < from.minDevices)
      wrong("max_devices",
            fmt::format("expected at least min_devices, {}, found {}", from.minDevices, from.maxDevices));
    if (from.measured.empty() && from.files.empty() && from.samples <= 0)
      wrong("samples", "expected how many samples the job trains on: neither a training nor a measurement says it");
    if (!from.measured.empty() && !from.files.empty())
      wrong("measured", "expected either a description of the training or what was measured, found both");
    if (!from.measured.empty() && from.samples <= 0)
      wrong("samples", "expected more than 0 beside what was measured");
    for (const MeasuredConfiguration &one : from.measured) {
      number("measured.rate", one.rate, 1e-9, kMaxNumber);
      number("measured.devices", static_cast<double>(one.devices), 1, 1e6);
    }
    if (from.measured.size() > 1000)
      wrong("measured", "expected at most 1000 configurations");
  }

  void files() {
    if (from.files.empty())
      return;
    if (from.files.size() > kMaxFiles)
      wrong("files", fmt::format("expected at most {}, found {}", kMaxFiles, from.files.size()));
    size_t bytes = 0;
    for (const auto &[path, text] : from.files) {
      bytes += text.size();
      llvm::SmallVector<llvm::StringRef> parts;
      llvm::StringRef(path).split(parts, '/');
      const bool isRight =
          !path.empty() && path.size() < 200 && isPlain(path) &&
          std::ranges::all_of(parts, [](llvm::StringRef part) { return !part.empty() && part != "." && part != ".."; });
      if (!isRight)
        wrong("files", fmt::format("expected relative paths without '..', found '{}'", sanitized(path.substr(0, 100))));
      if (text.find('\0') != std::string::npos)
        wrong("files", fmt::format("'{}' has a NUL", sanitized(path)));
    }
    if (bytes > kMaxFileBytes)
      wrong("files", fmt::format("expected at most {} bytes in all, found {}", kMaxFileBytes, bytes));
    if (!from.files.contains(from.main))
      wrong("main", fmt::format("expected one of the files, found '{}'", sanitized(from.main)));
  }

  const Submission &from;
  const jobs::JobsRequest &operation;
  Errors errors;
};

Error notAllowed(const Caller &by, Role needed, const std::string &what) {
  return {Code::NotAllowed,
          fmt::format("{} needs a token of {}; '{}' is of {}", what, roleName(needed), by.name, roleName(by.role))};
}

} // namespace

std::optional<Caller> SchedulerCore::callerOf(const std::string &token) const {
  if (token.empty())
    return options.isOpen ? std::optional<Caller>({"local", "", Role::Operator}) : std::nullopt;
  const std::string hash = sha256Of(token);
  std::scoped_lock lock(memory);
  const auto found = tokens.find(hash);
  if (found == tokens.end() || found->second.isRevoked || (found->second.expires > 0 && found->second.expires < now()))
    return std::nullopt;
  return found->second.caller;
}

Result<std::string> SchedulerCore::makeToken(const Caller &by, const Caller &of, double expires) {
  if (by.role != Role::Operator)
    return notAllowed(by, Role::Operator, "making a token");
  if (of.name.empty() || of.name.size() > kMaxName)
    return Error{Code::WrongServiceRequest, fmt::format("name: expected 1 to {} characters", kMaxName)};
  std::random_device device;
  std::string token = "accord.";
  for (int i = 0; i < 8; ++i)
    token += fmt::format("{:08x}", device());
  TokenRecord record{sha256Of(token), of, now(), expires, false};
  std::scoped_lock lock(changing);
  {
    std::scoped_lock inner(memory);
    for (const auto &[hash, one] : tokens)
      if (one.caller.name == of.name && !one.isRevoked)
        return Error{Code::WrongServiceRequest, fmt::format("name: there is a token '{}' already", of.name)};
  }
  StoreChange change;
  change.tokens.push_back(record);
  change.events.push_back(
      event("token", nullptr, fmt::format("token '{}' of {} was made", of.name, roleName(of.role)), by.name));
  if (!commit(std::move(change)))
    return Error{Code::StateFailed, storeHealth};
  std::scoped_lock inner(memory);
  tokens[record.hash] = record;
  return std::move(token);
}

Result<void> SchedulerCore::revokeToken(const Caller &by, const std::string &name) {
  if (by.role != Role::Operator)
    return notAllowed(by, Role::Operator, "revoking a token");
  std::scoped_lock lock(changing);
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    for (const auto &[hash, one] : tokens)
      if (one.caller.name == name && !one.isRevoked) {
        change.tokens.push_back(one);
        change.tokens.back().isRevoked = true;
      }
  }
  if (change.tokens.empty())
    return Error{Code::NotServed, fmt::format("there is no token '{}'", name)};
  change.events.push_back(event("token", nullptr, fmt::format("token '{}' was revoked", name), by.name));
  const std::vector<TokenRecord> revoked = change.tokens;
  if (!commit(std::move(change)))
    return Error{Code::StateFailed, storeHealth};
  std::scoped_lock inner(memory);
  for (const TokenRecord &one : revoked)
    tokens[one.hash] = one;
  return {};
}

Result<std::pair<int64_t, bool>, Errors> SchedulerCore::submit(const Caller &by, const Submission &submission) {
  if (by.role == Role::Viewer)
    return Errors{notAllowed(by, Role::Submitter, "submitting a job")};
  ServedJob job;
  job.submission = submission;
  Submission &from = job.submission;
  if (from.tenant.empty())
    from.tenant = by.tenant;
  if (!by.tenant.empty() && from.tenant != by.tenant)
    return Errors{{Code::NotAllowed, fmt::format("tenant: the token '{}' is of tenant '{}', not of '{}'", by.name,
                                                 by.tenant, from.tenant)}};
  Errors errors = SubmissionCheck(from, options.operation).run();
  for (int64_t before : from.after) {
    std::scoped_lock lock(memory);
    if (!open.contains(before) && !ended.contains(before)) {
      auto found = store->job(before);
      if (found && *found && (by.tenant.empty() || (*found)->submission.tenant == by.tenant))
        ended[before] = (*found)->phase;
      else
        errors.push_back({Code::WrongServiceRequest, fmt::format("after: there is no job {}", before)});
    }
  }
  if (!errors.empty())
    return std::move(errors);
  std::ranges::sort(from.after);
  job.submitted = now(), job.user = by.name, job.samples = from.samples;
  job.phase = JobPhase::Modelling;
  ServiceEvent said =
      event("submitted", &job, fmt::format("job '{}' of {} was submitted", from.name, by.name), by.name);
  auto added = store->addJob(job, said);
  if (!added)
    return Errors{added.error()};
  auto &[stored, isNew] = *added;
  const int64_t id = stored.id;
  if (isNew) {
    std::scoped_lock lock(memory);
    open[id].job = std::move(stored);
    ++lastEvent;
    changed.notify_all();
  }
  return std::pair(id, isNew);
}

Result<void> SchedulerCore::cancel(const Caller &by, int64_t id) {
  if (by.role == Role::Viewer)
    return notAllowed(by, Role::Submitter, "cancelling a job");
  OpenJob one;
  {
    std::scoped_lock lock(changing);
    StoreChange change;
    {
      std::scoped_lock inner(memory);
      const auto found = open.find(id);
      if (found == open.end() || (!by.tenant.empty() && found->second.job.submission.tenant != by.tenant))
        return Error{Code::NotServed,
                     ended.contains(id) ? fmt::format("job {} is over", id) : fmt::format("there is no job {}", id)};
      one = found->second;
    }
    one.job.reason = fmt::format("cancelled by {}", by.name);
    if (one.run) {
      one.job.phase = JobPhase::Stopping;
      one.run->state = State::Stopping, one.run->stopping = now(), one.run->reason = one.job.reason;
      change.runs.push_back(*one.run);
      change.events.push_back(event("stopping", &one.job, fmt::format("job {} is being cancelled", id), by.name));
    } else {
      one.job.phase = JobPhase::Cancelled, one.job.ended = now();
      change.events.push_back(
          event("cancelled", &one.job, fmt::format("job {} '{}' is cancelled", id, one.job.submission.name), by.name));
    }
    change.jobs.push_back(one.job);
    if (!commit(std::move(change)))
      return Error{Code::StateFailed, storeHealth};
    std::scoped_lock inner(memory);
    needPlan(fmt::format("job {} was cancelled", id));
    isUrgent = true;
  }
  return {}; // the next cycle tells the engine
}

Result<void> SchedulerCore::drain(const Caller &by, const std::string &node, bool isDrained,
                                  const std::string &reason) {
  if (by.role != Role::Operator)
    return notAllowed(by, Role::Operator, "draining a node");
  std::scoped_lock lock(changing);
  StoreChange change;
  DrainRecord record{node, reason.substr(0, 200), by.name, now()};
  {
    std::scoped_lock inner(memory);
    std::vector<std::string> known;
    for (const EngineNode &one : seen.nodes)
      known.push_back(one.name);
    if (std::ranges::count(known, node) == 0 && !drained.contains(node)) {
      Error error{Code::NotServed, fmt::format("there is no node '{}'", sanitized(node))};
      error.suggestion = nearest(node, known);
      return error;
    }
  }
  if (isDrained)
    change.drained.push_back(record);
  else
    change.undrained.push_back(node);
  change.events.push_back(event("drained", nullptr,
                                isDrained ? fmt::format("node '{}' was drained: {}", node, record.reason)
                                          : fmt::format("node '{}' takes tasks again", node),
                                by.name));
  if (!commit(std::move(change)))
    return Error{Code::StateFailed, storeHealth};
  {
    std::scoped_lock inner(memory);
    if (isDrained)
      drained[node] = record;
    else
      drained.erase(node);
    needPlan(fmt::format("node '{}' was {}", node, isDrained ? "drained" : "resumed"));
    isUrgent = true;
  }
  changed.notify_all();
  return engine->setDrained(node, isDrained, record.reason);
}

Result<void> SchedulerCore::report(const std::string &taskToken, const ProgressReport &report) {
  std::scoped_lock lock(changing);
  std::scoped_lock inner(memory);
  for (auto &[id, one] : open)
    if (one.run && tokenOfTask(one.run->task) == taskToken) {
      if (!std::isfinite(report.samples) || !std::isfinite(report.saved) || report.samples > kMaxNumber)
        return Error{Code::WrongProgress, "samples: expected a number"};
      takeReport(one, report);
      return {};
    }
  return Error{Code::NotAllowed, "the token is of no task that runs"};
}

void SchedulerCore::audit(const std::string &kind, const std::string &who, const std::string &text) {
  {
    std::scoped_lock lock(memory);
    if (now() - lastAudit >= 1)
      lastAudit = now(), audits = 0;
    if (++audits > kAuditsPerSecond)
      return; // whoever floods does not fill the disk
  }
  StoreChange change;
  change.events.push_back(event(kind, nullptr, sanitized(text.substr(0, 500)), who));
  std::scoped_lock lock(changing);
  commit(std::move(change));
}

} // namespace accord::service
