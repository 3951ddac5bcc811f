// What the engine and the tasks themselves say, and what follows for jobs and runs.
#include "lib/service/control/SchedulerState.h"
#include "lib/service/problem/ServiceJson.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {

using State = JobRunRecord::State;
using Outcome = JobRunRecord::Outcome;

constexpr size_t kMaxRead = size_t(1) << 20;
constexpr uint64_t kMaxBehind = 8 * kMaxRead; ///< of a file that grew by more, the end alone is read

/// Numbers with which no sum or quotient leaves the range of numbers.
bool isPlausible(const ProgressReport &report) {
  return std::ranges::all_of(
      std::array{report.samples, report.saved, report.time, report.batch, report.noise, report.loss},
      [](double number) { return std::abs(number) <= kMaxSamples; });
}

bool ClusterNodes::isSame(const ClusterNodes &other) const {
  return names == other.names && cluster.types == other.cluster.types &&
         std::ranges::equal(cluster.servers, other.cluster.servers, [](const jobs::Server &a, const jobs::Server &b) {
           return a.type == b.type && a.devices == b.devices;
         });
}

ClusterNodes clusterOf(const std::vector<EngineNode> &nodes, const std::vector<std::string> &types,
                       const std::map<std::string, DrainRecord> &drained) {
  ClusterNodes made;
  made.cluster.types = types;
  std::vector<std::string> labels;
  for (const std::string &type : types)
    labels.push_back(labelOf(type, "t-", 60));
  made.engineTypes = labels;
  for (const EngineNode &node : nodes) {
    if (node.devices <= 0)
      continue;
    unsigned type = 0;
    const std::string name = node.deviceType.empty() ? "device" : node.deviceType, label = labelOf(name, "t-", 60);
    while (type < made.cluster.types.size() && made.cluster.types[type] != name && labels[type] != label)
      ++type;
    if (type == made.cluster.types.size()) {
      made.cluster.types.push_back(name), labels.push_back(label);
      made.engineTypes.push_back(node.deviceType);
    }
    made.engineTypes[type] = node.deviceType;
    if (node.state != EngineNode::State::Up || drained.contains(node.name))
      made.away.push_back(made.cluster.servers.size());
    made.cluster.servers.push_back({type, static_cast<unsigned>(node.devices)});
    made.names.push_back(node.name);
  }
  return made;
}

bool hasFailed(const JobRunRecord &run) {
  // Whom others end, as a time limit of the engine does, has failed unless it got further than before.
  return run.outcome == Outcome::Failed ||
         (run.outcome == Outcome::Stopped && run.stopping <= 0 && run.samplesAtEnd <= run.samplesAtStart);
}

double retryTime(const ServedJob &job, const JobRunRecord &last, double delay, double now) {
  constexpr int64_t kMaxDoublings = 10;
  if (!hasFailed(last))
    return 0;
  const int64_t doublings = std::clamp<int64_t>(job.failures - 1, 0, kMaxDoublings);
  return std::min(last.ended, now) + delay * static_cast<double>(int64_t(1) << doublings);
}

bool keptNothing(const JobRunRecord &run) {
  return run.outcome == Outcome::Stopped && run.started > 0 && run.stopping > run.started &&
         run.samplesAtEnd <= run.samplesAtStart;
}

bool OpenJob::mayMove() const {
  if (job.submission.elasticity != jobs::Elasticity::Malleable)
    return false;
  if (!run || run->started <= 0 || tracker.saved() > 0)
    return true; // it has nothing to lose, or saves
  return tracker.hasReports() && !hasLostWork;
}

void OpenJob::takePast(const std::vector<JobRunRecord> &past, double delay, double now) {
  for (const JobRunRecord &one : past) {
    if (one.state != State::Ended)
      continue;
    hasLostWork |= keptNothing(one);
    notBefore = retryTime(job, one, delay, now); // of the last one
    if (isLearned(job.submission) && one.ended > one.started && one.started > 0 &&
        one.samplesAtEnd > one.samplesAtStart)
      speeds.push_back({one.deviceType, one.devices,
                        (one.samplesAtEnd - one.samplesAtStart) / (one.ended - one.started), one.ended - one.started});
  }
}

/// Asks the engine; false where it does not answer, so that nothing is known.
bool EngineObserver::lookAtEngine() {
  auto tasks = engine->tasks();
  auto found = tasks ? engine->nodes() : Result<std::vector<EngineNode>>(tasks.error());
  std::string health = found ? "" : found.error().message;
  if (tasks) // the engine goes by the prefix alone, which those of a cluster with a longer name have, too
    std::erase_if(*tasks, [&](const EngineTask &task) { return !jobOfTask(task.name); });
  bool isNew = false; // an engine that fails in another way each time is said to fail once
  {
    std::scoped_lock lock(memory);
    isNew = seen.at == 0 || seen.isHealthy != health.empty();
    seen.isHealthy = health.empty(), seen.health = health, seen.at = now();
    if (found)
      seen.tasks = std::move(*tasks), seen.nodes = std::move(*found);
  }
  if (isNew) {
    StoreChange change;
    change.events.push_back(event("engine", nullptr,
                                  health.empty() ? fmt::format("{} answers", engine->kind())
                                                 : fmt::format("{} does not answer: {}", engine->kind(), health)));
    std::scoped_lock lock(changing);
    commit(std::move(change));
  }
  return health.empty();
}

/// Nodes that came, went, or changed; drains of ours that the engine lost are stated again.
void EngineObserver::takeNodes() {
  std::unique_lock lock(changing);
  std::vector<std::string> again;
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    ClusterNodes found = clusterOf(seen.nodes, options.types, drained);
    for (const EngineNode &node : seen.nodes)
      if (auto drain = drained.find(node.name); drain != drained.end() && node.state == EngineNode::State::Up)
        again.push_back(node.name);
    if (!nodes.isSame(found)) {
      plan = nullptr; // its servers are others
      ++generation;
      for (auto &[id, one] : open) {
        one.model.reset(), one.cannotModel.clear(); // its configurations, too
        needModel(one);
      }
      needPlan("the nodes of the cluster changed");
    } else if (nodes.away != found.away) {
      for (unsigned server = 0; server < found.names.size(); ++server) {
        const bool was = std::ranges::count(nodes.away, server) > 0, is = std::ranges::count(found.away, server) > 0;
        if (was != is)
          change.events.push_back(
              event("node", nullptr,
                    fmt::format("node '{}' {}", found.names[server], is ? "takes no tasks" : "takes tasks again")));
      }
      needPlan("a node went or came back");
    }
    nodes = std::move(found);
  }
  commit(std::move(change));
  lock.unlock();
  drainAgain(again);
}

/// Nodes that are drained by us and not by the engine; what fails is asked again in the next cycle.
void EngineObserver::drainAgain(const std::vector<std::string> &names) {
  const std::unique_lock lock(draining, std::try_to_lock);
  if (!lock)
    return; // an operator is about it
  for (const std::string &node : names) {
    std::string reason;
    {
      std::scoped_lock inner(memory);
      const auto found = drained.find(node);
      if (found == drained.end())
        continue; // it takes tasks again meanwhile
      reason = found->second.reason;
    }
    if (!engine->setDrained(node, true, reason))
      return;
  }
}

/// Compares open runs with the tasks of the engine.
void EngineObserver::observe() {
  std::unique_lock lock(changing);
  std::map<std::string, EngineTask> tasks;
  std::vector<OpenJob> running;
  {
    std::scoped_lock inner(memory);
    for (const EngineTask &task : seen.tasks)
      tasks.emplace(task.name, task);
    for (const auto &[id, one] : open)
      if (one.run)
        running.push_back(one);
  }
  std::vector<EngineTask> ended;
  for (OpenJob &one : running) {
    StoreChange change;
    auto task = tasks.find(one.run->task);
    const EngineTask *found = task == tasks.end() ? nullptr : &task->second;
    if (!observeRun(one, found, change))
      continue;
    const bool isOver = one.run->state == State::Ended;
    const JobRunRecord run = *one.run;
    if (!commit(std::move(change)))
      continue; // in the next cycle again
    std::scoped_lock inner(memory);
    if (isOver) {
      if (found)
        ended.push_back(*found);
      const double seconds = std::max(0.0, run.ended - (run.started > 0 ? run.started : run.ended));
      deviceSeconds[one.job.submission.tenant] += seconds * static_cast<double>(run.devices);
      if (auto at = open.find(one.job.id); at != open.end())
        at->second.notBefore = one.notBefore, at->second.pace = one.pace, at->second.hasLostWork = one.hasLostWork;
      needPlan(fmt::format("a run of job {} ended", one.job.id));
      isUrgent = true;
    } else if (run.state == State::Running) {
      if (auto at = open.find(one.job.id); at != open.end())
        at->second.tracker.begin(run.started + std::max(0.0, one.job.submission.restart));
    }
  }
  lock.unlock();
  for (const EngineTask &task : ended)
    (void)engine->forget(task);
}

/// What follows for a run; true if something does.
bool EngineObserver::observeRun(OpenJob &one, const EngineTask *task, StoreChange &change) {
  JobRunRecord &run = *one.run;
  if (!task) {
    if (run.state == State::Intended)
      return false; // the engine is asked again, or it is dropped
    endRun(one, run.state == State::Stopping ? Outcome::Stopped : Outcome::Lost, nullptr, change);
    return true;
  }
  if (isOver(task->state)) {
    const Outcome outcome = task->state == EngineTask::State::Succeeded ? Outcome::Succeeded
                            : task->state == EngineTask::State::Failed  ? Outcome::Failed
                            : task->state == EngineTask::State::Lost    ? Outcome::Lost
                                                                        : Outcome::Stopped;
    endRun(one, outcome, task, change);
    return true;
  }
  // What waits may be handed in by half, by a call that failed or a life that ended: it is handed in again.
  if (run.state == State::Intended && task->state == EngineTask::State::Waiting)
    return false;
  State state = run.state == State::Stopping                ? State::Stopping
                : task->state == EngineTask::State::Waiting ? State::Submitted
                                                            : State::Running;
  if (state == run.state && run.engineId == task->id)
    return false;
  run.engineId = task->id;
  if (state == State::Running && run.started == 0) {
    // An engine that counts whole seconds may say that a task began before it was handed in.
    run.started = task->started > 0 ? std::max(task->started, run.intended) : now();
    if (one.job.started == 0)
      one.job.started = run.started;
    change.events.push_back(event("started", &one.job,
                                  fmt::format("job {} '{}' runs on {} {} of {}", one.job.id, one.job.submission.name,
                                              run.devices, run.deviceType, fmt::join(run.nodes, ", "))));
    change.jobs.push_back(one.job);
  }
  run.state = state;
  change.runs.push_back(run);
  return true;
}

/// The last line that a run said, and where all of them are; empty where the engine keeps its output elsewhere.
std::string EngineObserver::lastWordsOf(const JobRunRecord &run) const {
  constexpr std::streamoff kTail = 4096;
  constexpr size_t kMaxLine = 240;
  const std::string path = fmt::format("{}/{}/output", options.folder, run.task);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return "";
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kTail));
  std::string tail(kTail, '\0');
  file.read(tail.data(), kTail);
  tail.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  std::string line = llvm::StringRef(tail).rtrim().rsplit('\n').second.str();
  if (line.empty()) // one line alone
    line = llvm::StringRef(tail).trim().str();
  for (char &c : line)
    if (c >= 0 && (c < ' ' || c == 127))
      c = ' ';
  line = llvm::json::fixUTF8(llvm::StringRef(line).trim().take_front(kMaxLine));
  return line.empty() ? "" : fmt::format("it said last: {} (all of it is in '{}')", line, path);
}

/// How far a run that is over was when.
void EngineObserver::keepHistory(OpenJob &one) {
  constexpr size_t kKept = 120; // it is stored with the job
  std::vector<ProgressPoint> &history = one.job.progress.history;
  if (one.run->started > 0)
    history.push_back({one.run->started, one.run->samplesAtStart});
  history.insert(history.end(), one.tracker.history().begin(), one.tracker.history().end());
  if (one.run->started > 0)
    history.push_back({one.run->ended, one.run->samplesAtEnd});
  std::ranges::sort(history, {}, &ProgressPoint::time);
  history = thinned(history, kKept);
}

/// What guards say, as the reason of a run.
static std::string sentencesOf(const std::map<std::string, std::string> &refusals) {
  std::string text;
  for (const auto &[node, sentence] : refusals)
    text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

/// A run is over: what is kept of it.
void EngineObserver::endRun(OpenJob &one, Outcome outcome, const EngineTask *task, StoreChange &change) {
  JobRunRecord &run = *one.run;
  ServedJob &job = one.job;
  const bool wasStopping = run.state == State::Stopping;
  readProgressOf(one);
  run.state = State::Ended;
  // What began and ended between two looks has begun all the same.
  if (task && task->started > 0 && run.started == 0 && !wasStopping)
    run.started = std::max(task->started, run.intended);
  run.ended = task && task->ended > 0 ? std::max({task->ended, run.started, run.intended}) : now();
  run.exitCode = task ? task->exitCode : -1;
  run.reason = task ? task->reason : "the engine does not know it any more";
  const bool reports = one.tracker.hasReports();
  const bool isAll = job.samples > 0 && reports && job.progress.samples >= job.samples * (1 - 1e-9);
  // Who is told to save and ends well has not done all of its work, unless it says so.
  if (outcome == Outcome::Succeeded && wasStopping && !isAll)
    outcome = Outcome::Stopped;
  if (wasStopping && outcome == Outcome::Failed)
    outcome = Outcome::Stopped; // ended by the signal
  if (outcome == Outcome::Failed && !task->refusals.empty())
    outcome = Outcome::Refused, run.reason = sentencesOf(task->refusals);
  if (outcome == Outcome::Failed)
    if (const std::string said = lastWordsOf(run); !said.empty())
      run.reason += (run.reason.empty() ? "" : "; ") + said;
  run.outcome = outcome;
  // All that it said if it is complete, else what a checkpoint has.
  double kept = run.samplesAtStart;
  if (outcome == Outcome::Succeeded)
    kept = std::max(job.samples, job.progress.samples);
  else if (reports)
    kept = job.progress.saved;
  run.samplesAtEnd = job.progress.samples = job.progress.saved = kept;
  keepHistory(one);
  job.runs = run.number;
  one.hasLostWork |= keptNothing(run);
  settleJob(one, task, change);
  change.jobs.push_back(job);
  change.runs.push_back(run);
}

static std::string timesOf(int64_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{} times", count);
}

/// What becomes of a job whose run is over: it is complete, waits again, or is given up.
void EngineObserver::settleJob(OpenJob &one, const EngineTask *task, StoreChange &change) {
  JobRunRecord &run = *one.run;
  ServedJob &job = one.job;
  const std::string name = fmt::format("job {} '{}'", job.id, job.submission.name);
  const bool failed = hasFailed(run);
  auto say = [&](const char *kind, const std::string &text) { change.events.push_back(event(kind, &job, text)); };
  if (run.outcome == Outcome::Succeeded) {
    job.phase = JobPhase::Complete, job.ended = run.ended;
    return say("complete", name + " is complete");
  }
  if (job.phase == JobPhase::Stopping && !job.reason.empty()) {
    job.phase = JobPhase::Cancelled, job.ended = run.ended;
    return say("cancelled", fmt::format("{} is cancelled: {}", name, job.reason));
  }
  if (run.outcome == Outcome::Refused) {
    job.phase = JobPhase::Queued;
    std::vector<std::string> refused;
    for (const auto &[node, sentence] : task->refusals) {
      change.drained.push_back({node, "the guard found other devices than planned: " + sentence, "", now()});
      refused.push_back(node);
    }
    return say("refused", fmt::format("the guard refused run {} of {} on {}: other devices than planned", run.number,
                                      name, fmt::join(refused, ", ")));
  }
  if (failed && ++job.failures >= job.submission.maxFailures) {
    job.phase = JobPhase::Failed, job.ended = run.ended;
    job.reason = fmt::format("it failed {}, last with exit code {}{}", timesOf(job.failures), run.exitCode,
                             run.reason.empty() ? "" : ": " + run.reason);
    return say("failed", fmt::format("{} is given up: {}", name, job.reason));
  }
  job.phase = JobPhase::Queued;
  const char *how = run.outcome == Outcome::Failed ? "failed"
                    : run.outcome == Outcome::Lost ? "was lost"
                                                   : "was stopped";
  one.notBefore = retryTime(job, run, options.retryDelay, now());
  say("stopped", fmt::format("run {} of {} {}{}; it waits again", run.number, name, how,
                             run.reason.empty() ? "" : ": " + run.reason));
}

/// New whole lines of the file in which a run says how far it is.
void EngineObserver::readProgressOf(OpenJob &one) const {
  const std::string path = fmt::format("{}/{}/progress", options.folder, one.run->task);
  // A task may have put anything there: a pipe that nobody writes is not waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return;
  struct stat status{};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    // Lines that say no time are of the moment when the file was written, however late they are read.
    const double written =
        static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
    if (readLinesOf(one, file, static_cast<uint64_t>(status.st_size), options.clock ? now() : std::min(now(), written)))
      takeProgress(one);
  }
  ::close(file);
}

/// True if a report was among them.
bool EngineObserver::readLinesOf(OpenJob &one, int file, uint64_t size, double written) const {
  bool isAny = false;
  if (size < one.read)
    one.read = 0; // it was written anew
  if (size - one.read > kMaxBehind)
    one.read = size - kMaxRead; // what comes before the first line's end is passed over
  while (one.read < size) {
    std::string text(std::min<uint64_t>(kMaxRead, size - one.read), '\0');
    const ssize_t got = ::pread(file, text.data(), text.size(), static_cast<off_t>(one.read));
    if (got <= 0)
      return isAny;
    text.resize(static_cast<size_t>(got));
    const size_t end = text.rfind('\n');
    if (end == std::string::npos) {
      if (text.size() == kMaxRead)
        one.read += kMaxRead; // a line without an end
      return isAny;
    }
    text.resize(end + 1);
    one.read += text.size();
    for (size_t at = 0; at < text.size();) {
      const size_t stop = text.find('\n', at);
      auto reports = parseProgress(std::string_view(text).substr(at, stop - at));
      if (reports) // a line that cannot be read is passed over
        for (const ProgressReport &report : *reports)
          if (isPlausible(report))
            one.tracker.add(report, report.time > 0 ? now() : written), isAny = true;
      at = stop + 1;
    }
  }
  return isAny;
}

/// What the tracker of a run says, in its job.
void EngineObserver::takeProgress(OpenJob &one) {
  JobProgressState &progress = one.job.progress;
  progress.samples = one.tracker.reported();
  progress.saved = std::max(one.run->samplesAtStart, one.tracker.saved());
  progress.reported = one.tracker.last;
  const Interval rate = one.tracker.rate();
  progress.rate = rate.value, progress.rateLow = rate.low, progress.rateHigh = rate.high;
  progress.batch = one.tracker.batch, progress.noise = one.tracker.noise, progress.loss = one.tracker.loss;
}

void EngineObserver::takeReport(OpenJob &one, const ProgressReport &report) {
  one.tracker.add(report, now());
  takeProgress(one);
  compareSpeed(one);
}

/// What the engine was told of a run that says nothing else: whole percents, mostly.
void EngineObserver::takeShare(OpenJob &one, const EngineTask &task) {
  if (task.share < 0 || one.job.samples <= 0 || (one.tracker.hasReports() && !one.isByEngine) ||
      one.tracker.last >= std::max(task.shareAt, 1.0))
    return;
  ProgressReport report;
  report.samples = std::min(1.0, task.share) * one.job.samples, report.time = task.shareAt;
  one.isByEngine = true;
  takeReport(one, report);
}

void EngineObserver::readProgress() {
  std::scoped_lock lock(changing);
  std::vector<OpenJob> running;
  {
    std::scoped_lock inner(memory);
    for (const EngineTask &task : seen.tasks)
      if (task.share >= 0)
        for (auto &[id, one] : open)
          if (one.run && one.run->task == task.name && one.run->state >= State::Running)
            takeShare(one, task);
    for (const auto &[id, one] : open)
      if (one.run && one.run->state >= State::Running)
        running.push_back(one);
  }
  for (OpenJob &one : running) {
    const uint64_t before = one.read;
    readProgressOf(one);
    if (one.read == before)
      continue;
    // Not written each time: the files say it again after a crash.
    std::scoped_lock inner(memory);
    auto found = open.find(one.job.id);
    if (found == open.end() || !found->second.run || found->second.run->task != one.run->task)
      continue;
    found->second.tracker = one.tracker, found->second.read = one.read;
    found->second.isByEngine = false;
    found->second.job.progress = one.job.progress;
    compareSpeed(found->second);
  }
}

void EngineObserver::compareSpeed(OpenJob &one) {
  if (isLearned(one.job.submission))
    learn(one);
  else
    compareWithPlan(one);
}

/// The speed of a run, of a job that nobody described, becomes known, or another one.
void EngineObserver::learn(OpenJob &one) {
  constexpr double kChange = 0.05;
  double rate = one.tracker.isSettled() ? one.tracker.rate().value : 0;
  if (rate <= 0 && one.trace.steps > 0) // its profiler knows before many reports do
    rate = one.tracker.batch / one.trace.seconds;
  if (rate <= 0)
    return;
  const double communication = one.trace.communication;
  if (one.isSpeedSeen && std::abs(rate / one.speeds.back().rate - 1) < kChange &&
      communication == one.speeds.back().communication)
    return;
  if (!one.isSpeedSeen)
    one.speeds.emplace_back();
  one.speeds.back() = {one.run->deviceType, one.run->devices, rate, std::max(1.0, now() - one.run->started),
                       communication};
  one.isSpeedSeen = true;
  one.planned = rate;
  one.tracker.setPlanned(rate);
  one.isStale = true;
  needModel(one);
  needPlan(fmt::format("the speed of job {} became known", one.job.id));
}

/// A job whose speed is not what its table says is planned anew with the speed that it has.
void EngineObserver::compareWithPlan(OpenJob &one) {
  const double deviation = one.tracker.deviation();
  if (std::abs(deviation) <= options.maxDeviation)
    return;
  one.pace *= 1 + deviation;
  one.tracker.setPlanned(one.tracker.rate().value);
  needPlan(fmt::format("job {} runs {:.0f} % {} than planned", one.job.id, 100 * std::abs(deviation),
                       deviation > 0 ? "faster" : "slower"));
}

/// Tasks of ours that no open run knows: of a life before a backup was restored, or handed in twice. They are ended.
/// Those that are over are of a life that ended before it could have the engine forget them.
void EngineObserver::stopStrays() {
  std::vector<EngineTask> found, over;
  {
    std::scoped_lock lock(memory);
    std::set<std::string> known, there;
    for (const EngineTask &task : seen.tasks)
      there.insert(task.name);
    std::erase_if(strays, [&](const std::string &task) { return !there.contains(task); });
    for (const auto &[id, one] : open)
      if (one.run)
        known.insert(one.run->task);
    for (const EngineTask &task : seen.tasks)
      if (known.contains(task.name))
        continue;
      else if (isOver(task.state))
        over.push_back(task);
      else if (strays.insert(task.name).second)
        found.push_back(task);
  }
  for (const EngineTask &task : over)
    (void)engine->forget(task); // in the next cycle again, if it is still there
  for (const EngineTask &task : found) {
    const bool isDone = bool(engine->stop(task, 0));
    audit("engine", "", fmt::format("task '{}' is of no open run and is ended", task.name));
    if (!isDone) {
      std::scoped_lock lock(memory);
      strays.erase(task.name);
    }
  }
}

} // namespace accord::service
