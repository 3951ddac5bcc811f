// What clients change: tokens, jobs that come or are cancelled, nodes that are drained, progress that is reported.
#include "lib/service/control/SchedulerState.h"
#include "lib/service/problem/ServiceJson.h"
#include "lib/service/progress/Metrics.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace accord::service {
namespace {

using State = JobRunRecord::State;

constexpr double kMaxPriority = 1000, kMaxNotice = 3600;
constexpr size_t kMaxReason = 200;        ///< bytes
constexpr unsigned kAuditsPerSecond = 20; ///< of what was refused

std::string roleName(Role role) {
  return role == Role::Operator ? "an operator" : role == Role::Submitter ? "a submitter" : "a viewer";
}

/// What of a submission this cluster cannot take.
Errors wrongHere(const Submission &from, const jobs::JobsRequest &operation) {
  Errors errors = checkSubmission(from);
  std::vector<std::string> known;
  for (const jobs::JobsRequest::Tenant &one : operation.tenants)
    known.push_back(one.name);
  if (!known.empty() && std::ranges::count(known, from.tenant) == 0) {
    errors.push_back({Code::WrongServiceRequest,
                      fmt::format("'tenant' is '{}', allowed is one of {}", from.tenant, fmt::join(known, ", "))});
    errors.back().suggestion = nearest(from.tenant, known);
  }
  if (from.priority > kMaxPriority) // else sums over jobs would leave their range
    errors.push_back({Code::WrongServiceRequest,
                      fmt::format("'priority' is {:g}, allowed is above 0 to {:g}", from.priority, kMaxPriority)});
  if (from.notice > kMaxNotice)
    errors.push_back(
        {Code::WrongServiceRequest, fmt::format("'notice_s' is {:g}, allowed is 0 to {:g}", from.notice, kMaxNotice)});
  if (!from.progressFrom.empty()) {
    if (auto place = metricsPlace(from.progressFrom, "node"); !place)
      errors.push_back({Code::WrongServiceRequest, "progress_from: " + place.error().message});
    if (auto metric = checkMetric(from.progressMetric); !metric)
      errors.push_back({Code::WrongServiceRequest, "progress_metric: " + metric.error().message});
  }
  if (!from.measured.empty() && !from.files.empty())
    errors.push_back({Code::WrongServiceRequest, "'measured' stands beside 'files', allowed is one of them"});
  return errors;
}

std::string randomToken() {
  std::random_device device;
  std::string token = "accord.";
  for (int i = 0; i < 8; ++i)
    token += fmt::format("{:08x}", device());
  return token;
}

Error notAllowed(const Caller &by, Role needed, const std::string &what) {
  return {Code::NotAllowed,
          fmt::format("{} needs a token of {}; '{}' is of {}", what, roleName(needed), by.name, roleName(by.role))};
}

} // namespace

Result<std::optional<std::string>>
SchedulerRequests::firstToken(const std::function<Result<void>(const std::string &)> &keep) {
  {
    std::scoped_lock lock(memory);
    if (!tokens.empty())
      return std::optional<std::string>();
  }
  std::string token = randomToken();
  if (auto kept = keep(token); !kept)
    return kept.takeError();
  const Caller first{"operator", "", Role::Operator};
  if (auto added = addToken(token, {"", "", Role::Operator}, first, 0); !added)
    return added.takeError();
  return std::optional<std::string>(std::move(token));
}

std::optional<Caller> SchedulerRequests::callerOf(const std::string &token) const {
  if (token.empty())
    return options.isOpen ? std::optional<Caller>({"local", "", Role::Operator}) : std::nullopt;
  const std::string hash = sha256Of(token);
  std::scoped_lock lock(memory);
  const auto found = tokens.find(hash);
  if (found == tokens.end() || found->second.isRevoked || (found->second.expires > 0 && found->second.expires < now()))
    return std::nullopt;
  return found->second.caller;
}

Result<std::string> SchedulerRequests::makeToken(const Caller &by, const Caller &of, double expires) {
  if (by.role != Role::Operator)
    return notAllowed(by, Role::Operator, "making a token");
  if (of.name.empty() || of.name.size() > kMaxNameLength)
    return Error{Code::WrongServiceRequest, fmt::format("name: expected 1 to {} characters", kMaxNameLength)};
  std::string token = randomToken();
  if (auto added = addToken(token, by, of, expires); !added)
    return added.takeError();
  return std::move(token);
}

Result<void> SchedulerRequests::addToken(const std::string &token, const Caller &by, const Caller &of, double expires) {
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
  return {};
}

Result<void> SchedulerRequests::revokeToken(const Caller &by, const std::string &name) {
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

Result<std::pair<int64_t, bool>, Errors> SchedulerRequests::submit(const Caller &by, const Submission &submission) {
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
  Errors errors = wrongHere(from, options.operation);
  for (int64_t before : from.after) {
    auto found = store->job(before);
    const bool isThere = found && *found && (by.tenant.empty() || (*found)->submission.tenant == by.tenant);
    std::scoped_lock lock(memory);
    if (!found)
      errors.push_back(found.error());
    else if (!isThere)
      errors.push_back({Code::WrongServiceRequest, fmt::format("after: there is no job {}", before)});
    else if (isOver((*found)->phase) && (*found)->phase != JobPhase::Complete)
      ended[before] = (*found)->phase;
  }
  if (!errors.empty())
    return std::move(errors);
  std::ranges::sort(from.after);
  job.submitted = now(), job.user = by.name, job.samples = from.samples;
  job.progress.samples = job.progress.saved = from.done;
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
    stored.submission.files.clear();
    OpenJob &one = open[id];
    one.job = std::move(stored);
    needModel(one);
    ++lastEvent;
    changed.notify_all();
  }
  return std::pair(id, isNew);
}

Result<void> SchedulerRequests::cancel(const Caller &by, int64_t id, const std::string &reason) {
  if (by.role == Role::Viewer)
    return notAllowed(by, Role::Submitter, "cancelling a job");
  OpenJob one;
  {
    std::scoped_lock lock(changing);
    StoreChange change;
    {
      std::scoped_lock inner(memory);
      const auto found = open.find(id);
      if (found == open.end()) {
        const auto past = store->job(id);
        const bool isKnown = past && *past && (by.tenant.empty() || (*past)->submission.tenant == by.tenant);
        return Error{Code::NotServed,
                     isKnown ? fmt::format("job {} is over", id) : fmt::format("there is no job {}", id)};
      }
      if (!by.tenant.empty() && found->second.job.submission.tenant != by.tenant)
        return Error{Code::NotServed, fmt::format("there is no job {}", id)};
      one = found->second;
    }
    const std::string told = sanitized(reason.substr(0, kMaxReason));
    one.job.reason = fmt::format("cancelled by {}{}{}", by.name, told.empty() ? "" : ": ", told);
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
    changed.notify_all();
  }
  return {}; // the next cycle tells the engine
}

Result<int64_t> SchedulerRequests::keepTuning(const Caller &by, TuningRecord record) {
  if (by.role == Role::Viewer)
    return notAllowed(by, Role::Submitter, "keeping a tuning");
  if (record.tenant.empty())
    record.tenant = by.tenant;
  if (!by.tenant.empty() && record.tenant != by.tenant)
    return Error{Code::NotAllowed, fmt::format("tenant: the token '{}' is of tenant '{}', not of '{}'", by.name,
                                               by.tenant, record.tenant)};
  if (record.document.empty() || record.document.size() > kMaxTuningBytes)
    return Error{Code::WrongServiceRequest, fmt::format("'document' is of {} bytes, allowed are 1 to {}",
                                                        record.document.size(), kMaxTuningBytes)};
  record.time = now(), record.user = by.name;
  return store->addTuning(std::move(record));
}

Result<void> SchedulerRequests::drain(const Caller &by, const std::string &node, bool isDrained,
                                      const std::string &reason) {
  if (by.role != Role::Operator)
    return notAllowed(by, Role::Operator, "draining a node");
  std::scoped_lock telling(draining);
  std::unique_lock lock(changing);
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
    needPlan(fmt::format("node '{}' was {}", node, isDrained ? "drained" : "resumed"));
    isUrgent = true;
  }
  changed.notify_all();
  lock.unlock();
  return engine->setDrained(node, isDrained, record.reason);
}

Result<void> SchedulerRequests::report(const std::string &taskToken, const ProgressReport &report) {
  // The token names its task, and that its job: one is looked up, whoever asks.
  const llvm::StringRef task = llvm::StringRef(taskToken).split('.').second.rsplit('.').first;
  int64_t job = 0;
  if (task.rsplit('-').first.rsplit('-').second.getAsInteger(10, job))
    return Error{Code::NotAllowed, "the token is of no task"};
  std::scoped_lock lock(changing);
  std::scoped_lock inner(memory);
  const auto found = open.find(job);
  // Compared by hash, so that the time that it takes says nothing.
  if (found == open.end() || !found->second.run || found->second.run->task != task ||
      sha256Of(tokenOfTask(found->second.run->task)) != sha256Of(taskToken))
    return Error{Code::NotAllowed, "the token is of no task that runs"};
  if (!isPlausible(report))
    return Error{Code::WrongProgress, fmt::format("samples: expected numbers of at most {:g}", kMaxSamples)};
  takeReport(found->second, report);
  return {};
}

void SchedulerRequests::audit(const std::string &kind, const std::string &who, const std::string &text) {
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
