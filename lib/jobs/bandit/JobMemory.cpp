#include "lib/jobs/bandit/JobMemory.h"
#include "lib/jobs/simulate/Seeds.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace accord::jobs {
namespace {

/// Progress at the rates that were seen.
class RememberedProgress : public JobProgress {
public:
  RememberedProgress(std::shared_ptr<const std::vector<DeviceOption>> options, double work)
      : options(std::move(options)), left(work) {}

  void place(const Cluster &cluster, const JobPlacement &placement) override {
    now = rate(cluster, cluster.servers[placement.front().server].type, devicesOf(placement));
  }
  std::optional<double> run(double seconds) override {
    if (now <= 0)
      return std::nullopt;
    const double needed = left / now;
    if (needed <= seconds) {
      done += left, left = 0;
      return needed;
    }
    done += now * seconds, left -= now * seconds;
    return std::nullopt;
  }
  double workDone() const override { return done; }
  double workLeft() const override { return left; }
  double rate(const Cluster &, unsigned type, unsigned devices) const override {
    for (const DeviceOption &option : *options)
      if (option.type == type && option.devices == devices)
        return option.rate;
    return 0;
  }

private:
  std::shared_ptr<const std::vector<DeviceOption>> options;
  double left, done = 0, now = 0;
};

} // namespace

double RememberedJob::bestRate() const {
  double best = 0;
  for (const DeviceOption &option : options)
    best = std::max(best, option.rate);
  return best;
}

void JobMemory::look(const Cluster &cluster, const std::vector<JobView> &jobs) {
  for (const JobView &view : jobs) {
    if (!view.progress->knowsSpeed())
      continue;
    RememberedJob &job = remembered[view.job];
    if (job.rounds == 0) {
      job.description = *view.description;
      job.description.progress = nullptr;
    }
    job.work = view.progress->workDone();
    if (!std::has_single_bit(++job.rounds))
      continue;
    ++job.looks;
    for (const DeviceOption &seen : deviceOptions(cluster, view)) {
      const auto known = std::ranges::find_if(
          job.options, [&](const DeviceOption &one) { return one.type == seen.type && one.devices == seen.devices; });
      if (known == job.options.end())
        job.options.push_back({seen.type, seen.devices, seen.rate, false});
      else
        known->rate += (seen.rate - known->rate) / static_cast<double>(job.looks);
    }
  }
}

void JobMemory::complete(const JobView &view, double work) {
  const auto found = remembered.find(view.job);
  if (found == remembered.end())
    return; // its speed was never known
  RememberedJob &job = found->second;
  job.work = work, job.isComplete = true;
  ++completions;
  known.add({job.description.application, work, job.bestRate()});
}

WorkHistory JobMemory::completeJobs() const {
  WorkHistory complete = history;
  for (const auto &[number, job] : remembered)
    if (job.isComplete)
      complete.add({job.description.application, job.work, job.bestRate()});
  return complete;
}

double JobMemory::drawWork(const RememberedJob &job, SplitMix &random) const {
  if (job.isComplete)
    return job.work;
  /// One of the totals above a bound; nothing where the one more case is drawn.
  auto drawAbove = [&](const std::vector<double> &totals, double bound) -> std::optional<double> {
    std::vector<double> above;
    std::ranges::copy_if(totals, std::back_inserter(above), [&](double total) { return total > bound; });
    const uint64_t drawn = random.below(above.size() + 1);
    return drawn < above.size() ? std::optional(above[drawn]) : std::nullopt;
  };
  const std::string &application = job.description.application;
  if (const auto same = known.workOf().find(application); same != known.workOf().end())
    if (const auto drawn = drawAbove(same->second, job.work))
      return *drawn;
  const double rate = job.bestRate();
  if (const auto drawn = drawAbove(known.secondsFor(application), job.work / rate))
    return *drawn * rate;
  return job.work - std::max(job.work, minExpected * rate) * std::log1p(-random.unit());
}

BelievedTrace JobMemory::believe(SplitMix &random, size_t maxJobs) const {
  std::vector<const RememberedJob *> halves;
  std::vector<double> arrivals;
  for (const auto &[number, job] : remembered)
    if (job.bestRate() > 0)
      halves.push_back(&job), arrivals.push_back(job.description.arrival);
  for (size_t i = halves.size(); i > 1; --i)
    std::swap(halves[i - 1], halves[random.below(i)]);
  const size_t half = (halves.size() + 1) / 2;
  BelievedTrace trace;
  trace.history = history;
  for (size_t i = half; i < halves.size(); ++i)
    if (halves[i]->isComplete)
      trace.history.add({halves[i]->description.application, halves[i]->work, halves[i]->bestRate()});
  for (const DrawnJob &one : drawTrace(arrivals, std::min(halves.size(), maxJobs), 1, random.next())) {
    const RememberedJob &job = *halves[random.below(half)];
    SimulatedJob made = job.description;
    made.arrival = one.arrival;
    made.progress = [options = std::make_shared<const std::vector<DeviceOption>>(job.options),
                     work = drawWork(job, random)] { return std::make_unique<RememberedProgress>(options, work); };
    trace.jobs.push_back(std::move(made));
  }
  return trace;
}

} // namespace accord::jobs
