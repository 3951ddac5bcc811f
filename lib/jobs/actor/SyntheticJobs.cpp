#include "lib/jobs/actor/SyntheticJobs.h"
#include "lib/jobs/actor/NormalDraw.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// What the jobs of an application have in common.
struct Application {
  std::vector<double> speeds; ///< on one device of each type, of the fastest
  double serial = 0;          ///< Amdahl's share that more devices do not shorten
  double seconds = 0;         ///< of the work on one device of the fastest type
  double restart = 0;         ///< seconds
};

/// Work counts in seconds on one device of the fastest type.
class SyntheticProgress : public JobProgress {
public:
  SyntheticProgress(const Application &application, unsigned min, unsigned max, double work)
      : application(application), min(min), max(max), left(work) {}

  void place(const Cluster &cluster, const JobPlacement &placement) override {
    now = rate(cluster, typeOf(cluster, placement), devicesOf(placement));
  }
  std::optional<double> run(double seconds) override {
    if (now <= 0)
      return std::nullopt;
    const double step = std::min(left, now * seconds), needed = left / now;
    done += step;
    if (needed <= seconds * (1 + 1e-12)) {
      left = 0;
      return std::min(needed, seconds);
    }
    left -= step;
    return std::nullopt;
  }
  double workDone() const override { return done; }
  double workLeft() const override { return left; }
  double rate(const Cluster &, unsigned type, unsigned devices) const override {
    if (devices < min || devices > max)
      return 0;
    return application.speeds[type] / (application.serial + (1 - application.serial) / devices);
  }
  std::unique_ptr<JobProgress> copy() const override { return std::make_unique<SyntheticProgress>(*this); }

private:
  Application application;
  unsigned min, max;
  double left, done = 0, now = 0;
};

class Draw {
public:
  Draw(SyntheticFamily family, uint64_t seed) : isAlike(family == SyntheticFamily::Alike), random(seed) {
    random.next();
  }

  DrawnSimulation draw(size_t count) {
    addServers();
    const size_t numApplications = 3 + random.below(6);
    for (size_t i = 0; i < numApplications; ++i)
      addApplication();
    made.options.round = isAlike ? 120 : 360;
    made.options.endsEarly = !isAlike;
    double demand = 0; // seconds of all devices
    for (size_t i = 0; i < count; ++i)
      demand += addJob();
    const double load = isAlike ? between(0.6, 2) : between(1, 3), window = demand / load;
    double now = 0;
    for (SimulatedJob &job : made.jobs) {
      job.arrival = now;
      now -= window / static_cast<double>(count) * std::log1p(-random.unit());
    }
    return std::move(made);
  }

private:
  double between(double low, double high) { return low + (high - low) * random.unit(); }
  double betweenLogs(double low, double high) { return low * std::pow(high / low, random.unit()); }

  void addServers() {
    const size_t numTypes = isAlike ? 1 : 2 + random.below(3);
    const unsigned devices = isAlike ? 4 : 1u << random.below(3);
    for (size_t type = 0; type < numTypes; ++type) {
      made.cluster.types.push_back(fmt::format("type{}", type));
      const size_t servers = (isAlike ? 2 + random.below(15) : random.below(13) * 4 / devices) / numTypes + 1;
      for (size_t i = 0; i < servers; ++i)
        made.cluster.servers.push_back({static_cast<unsigned>(type), devices});
    }
  }

  void addApplication() {
    Application &one = applications.emplace_back();
    for (size_t type = 0; type < made.cluster.types.size(); ++type)
      one.speeds.push_back(type == 0 ? 1 : betweenLogs(0.1, 1));
    // The fastest type differs in its number, too.
    std::swap(one.speeds[0], one.speeds[random.below(one.speeds.size())]);
    one.serial = isAlike ? betweenLogs(0.01, 0.3) : betweenLogs(0.005, 0.1);
    one.seconds = betweenLogs(600, 200'000);
    one.restart = isAlike ? between(10, 120) : random.below(2) ? 0 : between(0, 60);
  }

  /// Returns the seconds of the whole cluster that it needs about.
  double addJob() {
    const size_t which = static_cast<size_t>(random.below(applications.size()));
    const Application &application = applications[which];
    const unsigned largest = made.cluster.largestServer(0);
    unsigned asked = isAlike ? 1u << random.below(4) : std::min<unsigned>(largest, 1u << random.below(3));
    const unsigned max = isAlike ? static_cast<unsigned>(std::min<int64_t>(16, made.cluster.devices())) : asked;
    asked = std::min(asked, max);
    const unsigned min = isAlike ? 1 : asked;
    const double work =
        isAlike ? application.seconds * std::exp(0.1 * drawNormal(random)) : betweenLogs(300, 180'000) * asked;
    SimulatedJob job;
    job.name = fmt::format("job {}", made.jobs.size() + 1);
    job.devices = asked, job.maxDevices = max;
    job.restartSeconds = application.restart;
    job.application = fmt::format("application {}", which);
    job.progress = [application, min, max, work] {
      return std::make_unique<SyntheticProgress>(application, min, max, work);
    };
    double speed = 0;
    for (const Server &server : made.cluster.servers)
      speed += application.speeds[server.type] * server.devices;
    made.jobs.push_back(std::move(job));
    return work / speed;
  }

  const bool isAlike;
  SplitMix random;
  DrawnSimulation made;
  std::vector<Application> applications;
};

} // namespace

DrawnSimulation drawSynthetic(SyntheticFamily family, size_t jobs, uint64_t seed) {
  return Draw(family, seed).draw(jobs);
}

DrawnSimulation drawSynthetic(size_t jobs, uint64_t seed) {
  return drawSynthetic(seed % 2 ? SyntheticFamily::Varied : SyntheticFamily::Alike, jobs, seed);
}

} // namespace accord::jobs
