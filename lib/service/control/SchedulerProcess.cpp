// A scheduler process from its start to its end: what is written is read again, and cycles go on.
#include "lib/service/control/SchedulerProcess.h"
#include "lib/service/control/SchedulerState.h"
#include "lib/support/Number.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <random>

namespace accord::service {

Result<std::unique_ptr<SchedulerProcess>> SchedulerProcess::open(SchedulerOptions options,
                                                                 std::unique_ptr<ServiceStore> store,
                                                                 std::unique_ptr<Engine> engine,
                                                                 std::shared_ptr<JobModeller> modeller) {
  auto made =
      std::make_unique<SchedulerCore>(std::move(options), std::move(store), std::move(engine), std::move(modeller));
  if (auto loaded = made->load(); !loaded)
    return loaded.takeError();
  return std::unique_ptr<SchedulerProcess>(std::move(made));
}

double SchedulerData::now() const {
  if (options.clock)
    return options.clock();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

static std::string randomText() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format("{:08x}", device());
  return text;
}

Result<void> SchedulerData::load() {
  ACCORD_TRY(settings, store->settings());
  StoreChange first;
  if (!settings.contains("epoch"))
    first.settings["epoch"] = settings["epoch"] = fmt::format("{:.3f}", now());
  if (!settings.contains("secret"))
    first.settings["secret"] = settings["secret"] = randomText();
  if (!first.isEmpty())
    if (auto written = store->apply(first); !written)
      return written;
  const auto began = parseReal(settings["epoch"]);
  if (!began || *began < 0)
    return Error{Code::StateFailed, fmt::format("the state is damaged: 'epoch' is '{}'", settings["epoch"])};
  epoch = *began, secret = settings["secret"];
  ACCORD_TRY(jobs, store->openJobs());
  for (ServedJob &job : jobs) {
    OpenJob &one = open[job.id];
    one.job = std::move(job);
    one.job.submission.files.clear(); // read again where they are needed
  }
  for (const auto &[id, one] : open)
    for (int64_t before : one.job.submission.after)
      if (!open.contains(before)) {
        ACCORD_TRY(found, store->job(before));
        if (!found || found->phase != JobPhase::Complete)
          ended[before] = found ? found->phase : JobPhase::Cancelled;
      }
  for (auto &[id, one] : open)
    if (one.job.runs > 0) {
      ACCORD_TRY(past, store->runsOf(id));
      one.takePast(past, options.retryDelay, now());
    }
  ACCORD_TRY(runs, store->openRuns());
  for (JobRunRecord &run : runs) {
    auto found = open.find(run.job);
    if (found == open.end())
      return Error{Code::StateFailed,
                   fmt::format("run {} of job {} is open, and the job is over", run.number, run.job)};
    OpenJob &one = found->second;
    one.row = kNoRow; // until its table is there
    const double began = run.started > 0 ? run.started + std::max(0.0, one.job.submission.restart) : 0;
    one.tracker = ProgressTracker(one.job.samples, run.samplesAtStart, began, 0);
    one.run = std::move(run);
  }
  ACCORD_TRY(drains, store->drained());
  for (DrainRecord &drain : drains)
    drained[drain.node] = std::move(drain);
  ACCORD_TRY(all, store->tokens());
  for (TokenRecord &token : all)
    tokens[token.hash] = std::move(token);
  ACCORD_TRY(last, store->lastEvent());
  lastEvent = last;
  for (const auto &[id, one] : open)
    needModel(one);
  needPlan("the scheduler started");
  return {};
}

bool SchedulerData::commit(StoreChange change) {
  if (change.isEmpty())
    return true;
  std::vector<ServedJob> jobs = change.jobs;
  std::vector<JobRunRecord> runs = change.runs;
  const std::vector<DrainRecord> drains = change.drained;
  const std::vector<std::string> undrained = change.undrained;
  const size_t events = change.events.size();
  auto written = store->apply(std::move(change));
  std::scoped_lock lock(memory);
  if (!written) {
    storeHealth = written.error().message;
    return false;
  }
  storeHealth.clear();
  for (ServedJob &job : jobs)
    if (isOver(job.phase)) {
      open.erase(job.id), toModel.erase(job.id);
      if (job.phase != JobPhase::Complete)
        ended[job.id] = job.phase;
    } else {
      open[job.id].job = std::move(job);
    }
  for (JobRunRecord &run : runs) {
    if (run.state == JobRunRecord::State::Ended)
      retryAt.erase(run.task);
    auto found = open.find(run.job);
    if (found == open.end())
      continue;
    if (run.state == JobRunRecord::State::Ended)
      found->second.run.reset(), found->second.read = 0;
    else
      found->second.run = std::move(run);
  }
  for (const DrainRecord &drain : drains)
    drained[drain.node] = drain;
  for (const std::string &node : undrained)
    drained.erase(node);
  lastEvent += static_cast<int64_t>(events);
  changed.notify_all();
  return true;
}

void SchedulerData::needPlan(const std::string &why) {
  if (planReason.empty())
    planReason = why;
}

void SchedulerData::needModel(const OpenJob &one) {
  if (one.needsModel())
    toModel.insert(one.job.id);
}

ServiceEvent SchedulerData::event(const std::string &kind, const ServedJob *job, const std::string &text,
                                  const std::string &who) const {
  ServiceEvent made;
  made.time = now(), made.kind = kind, made.text = text, made.who = who;
  if (job)
    made.job = job->id, made.tenant = job->submission.tenant;
  return made;
}

std::string SchedulerData::taskName(int64_t job, int64_t run) const {
  return prefixOf(options.cluster) + fmt::format("{}-{}", job, run);
}

std::optional<int64_t> SchedulerData::jobOfTask(const std::string &task) const {
  llvm::StringRef rest(task);
  int64_t job = 0, run = 0;
  if (!rest.consume_front(prefixOf(options.cluster)) || rest.consumeInteger(10, job) || !rest.consume_front("-") ||
      rest.consumeInteger(10, run) || !rest.empty() || taskName(job, run) != task)
    return std::nullopt; // of a cluster with a longer name, too
  return job;
}

std::string SchedulerProcess::prefixOf(const std::string &cluster) {
  return labelOf(fmt::format("accord-{}", cluster), "accord-", 36) + "-";
}

std::string SchedulerData::tokenOfTask(const std::string &task) const {
  return fmt::format("task.{}.{}", task, sha256Of(secret + task).substr(0, 32));
}

/// Where the system's clock went back, what waits for a time does not wait for so much longer.
void SchedulerCore::followClock() {
  constexpr double kJitter = 1;
  std::scoped_lock lock(memory);
  const double time = now(), back = lastStep - time;
  lastStep = time;
  if (back <= kJitter)
    return;
  for (auto &[id, one] : open)
    one.notBefore = std::max(0.0, one.notBefore - back), one.tracker.shift(-back), one.lookAt = 0;
  retryAt.clear();
  planAgainAt = lastAudit = forgot = 0;
  planned = std::min(planned, time);
  needPlan("the clock went back");
}

void SchedulerCore::step() {
  followClock();
  if (lookAtEngine()) {
    takeNodes();
    observe();
    readProgress();
    stopStrays();
  }
  if (options.isInline)
    readSources();
  while (options.isInline && modelNext())
    ;
  planIfNeeded();
  if (seen.isHealthy)
    decide();
  forgetOld();
}

/// Once an hour, jobs that ended long ago are forgotten, with their events and the folders of their tasks.
void SchedulerCore::forgetOld() {
  constexpr double kHour = 3600;
  if (now() - forgot < kHour)
    return;
  forgot = now();
  (void)store->prune(forgot - options.keep); // tried again in an hour
  std::error_code error;
  const auto oldest = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(std::llround(options.keep));
  for (auto at = std::filesystem::directory_iterator(options.folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error))
    if (std::error_code none; std::filesystem::last_write_time(at->path(), none) < oldest && !none &&
                              isForgotten(at->path().filename().string()))
      std::filesystem::remove_all(at->path(), none);
}

/// Whether a name is of a task whose job is not known any more.
bool SchedulerCore::isForgotten(const std::string &task) const {
  const std::optional<int64_t> id = jobOfTask(task);
  if (!id)
    return false;
  const auto found = store->job(*id);
  return found && !*found;
}

void SchedulerCore::run(const std::atomic<bool> &stop) {
  std::thread models([&] { work(stop, true); }), plans([&] { work(stop, false); }),
      sources([&] { watchSources(stop); });
  while (!stop) {
    const auto began = std::chrono::steady_clock::now();
    step();
    std::unique_lock lock(memory);
    const auto until = began + std::chrono::duration<double>(options.interval);
    // Woken by what has to be done at once: a new plan, a cancelled job.
    changed.wait_until(lock, std::chrono::time_point_cast<std::chrono::steady_clock::duration>(until),
                       [&] { return stop || std::exchange(isUrgent, false); });
  }
  changed.notify_all();
  models.join();
  plans.join();
  sources.join();
}

Result<std::vector<std::string>> SchedulerData::check() {
  ACCORD_TRY(found, store->check());
  ACCORD_TRY(jobs, store->openJobs());
  std::set<int64_t> stored;
  std::scoped_lock lock(memory);
  for (const ServedJob &job : jobs)
    if (stored.insert(job.id); !open.contains(job.id))
      found.push_back(fmt::format("job {} is open on the disk and unknown in memory", job.id));
  for (const auto &[id, one] : open) {
    if (!stored.contains(id))
      found.push_back(fmt::format("job {} is in memory and not on the disk", id));
    if (one.run.has_value() != (one.job.phase == JobPhase::Running || one.job.phase == JobPhase::Stopping))
      found.push_back(fmt::format("the phase of job {} contradicts its run", id));
  }
  return std::move(found);
}

} // namespace accord::service
