// What has to be fetched to be known of runs: metrics that programs export, traces that their profilers leave.
#include "lib/service/control/SchedulerState.h"
#include "lib/service/progress/Metrics.h"
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace accord::service {
namespace {

using State = JobRunRecord::State;

constexpr double kLookAgain = 2, kMaxPause = 60; ///< seconds between two looks; and after failures
constexpr double kFetchLimit = 2;                ///< seconds for a page of metrics
constexpr size_t kMaxTraces = 1000;              ///< files of a folder that are looked at

/// The newest file of a folder that ends with ".json" and did not change for some seconds, so that it is whole, with
/// its size and time; empty: there is none.
std::pair<std::string, std::string> newestTrace(const std::string &folder) {
  constexpr auto kQuiet = std::chrono::seconds(2);
  namespace fs = std::filesystem;
  std::error_code error;
  std::pair<std::string, std::string> found;
  fs::file_time_type newest = fs::file_time_type::min();
  size_t count = 0;
  for (auto at = fs::directory_iterator(folder, error);
       !error && at != fs::directory_iterator() && ++count < kMaxTraces; at.increment(error)) {
    std::error_code none;
    const auto time = at->last_write_time(none);
    const auto size = none ? 0 : at->file_size(none);
    if (none || at->path().extension() != ".json" || time <= newest || fs::file_time_type::clock::now() - time < kQuiet)
      continue;
    newest = time;
    found = {at->path().string(), fmt::format("{} {} {}", at->path().string(), size, time.time_since_epoch().count())};
  }
  return found;
}

} // namespace

void ProgressSources::readSources() {
  std::vector<OpenJob> due;
  {
    std::scoped_lock lock(memory);
    for (auto &[id, one] : open)
      if (one.run && one.run->state == State::Running && one.lookAt <= now() &&
          (!one.job.submission.progressFrom.empty() || isLearned(one.job.submission))) {
        due.push_back(one);
        one.lookAt = now() + kLookAgain;
      }
  }
  for (const OpenJob &one : due) {
    if (!one.job.submission.progressFrom.empty())
      readMetrics(one);
    if (isLearned(one.job.submission))
      readTraces(one);
  }
}

/// The job of which a copy was taken, if it is still in that run. Callers hold `memory`.
OpenJob *ProgressSources::runOf(const OpenJob &one) {
  const auto found = open.find(one.job.id);
  const bool isSame = found != open.end() && found->second.run && found->second.run->task == one.run->task;
  return isSame ? &found->second : nullptr;
}

void ProgressSources::readMetrics(const OpenJob &one) {
  const Submission &from = one.job.submission;
  auto value = [&]() -> Result<MetricValue> {
    ACCORD_TRY(place, metricsPlace(from.progressFrom, one.run->nodes.empty() ? "localhost" : one.run->nodes.front()));
    ACCORD_TRY(page, fetchMetrics(place, kFetchLimit));
    return readMetric(page, from.progressMetric);
  }();
  std::scoped_lock lock(changing);
  std::scoped_lock inner(memory);
  OpenJob *at = runOf(one);
  if (!at)
    return;
  if (!value) { // looked at less and less often
    at->sourceTrouble = value.error().message;
    at->lookPause = std::clamp(2 * at->lookPause, kLookAgain, kMaxPause);
    at->lookAt = now() + at->lookPause;
    return;
  }
  at->sourceTrouble.clear(), at->lookPause = 0;
  ProgressReport report;
  report.samples = value->value + (value->isCounter ? at->run->samplesAtStart : 0);
  if (isPlausible(report))
    takeReport(*at, report);
}

void ProgressSources::readTraces(const OpenJob &one) {
  const auto [file, which] = newestTrace(fmt::format("{}/{}/traces", options.folder, one.run->task));
  if (file.empty() || which == one.traceRead)
    return;
  auto trace = readStepTrace(file);
  std::scoped_lock lock(changing);
  std::scoped_lock inner(memory);
  OpenJob *at = runOf(one);
  if (!at)
    return;
  at->traceRead = which;
  if (!trace) {
    at->sourceTrouble = fmt::format("{} ({})", trace.error().message, file);
    return;
  }
  at->trace = *trace;
  compareSpeed(*at);
}

void ProgressSources::watchSources(const std::atomic<bool> &stop) {
  while (!stop) {
    readSources();
    std::unique_lock lock(memory);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!stop && changed.wait_until(lock, until) != std::cv_status::timeout)
      ;
  }
}

} // namespace accord::service
