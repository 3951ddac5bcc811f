#include "lib/jobs/simulate/SimulationEvents.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace accord::jobs {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMinBetween = 60; ///< seconds between failures, so that not too many are drawn

/// Another stream for each pair of numbers.
SplitMix stream(uint64_t seed, uint64_t first, uint64_t second = 0) {
  SplitMix random(seed ^ (first + 1) * 0xd1342543de82ef95ull);
  return SplitMix(random.next() ^ (second + 1) * 0x2545f4914f6cdd1dull);
}

bool isTime(double seconds) { return seconds >= 0 && seconds < kNever; }

} // namespace

double drawNormal(SplitMix &random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

double SpeedNoise::factor(uint64_t seed, size_t job, size_t round) const {
  double logarithm = 0;
  auto add = [&](double deviation, SplitMix random) {
    if (deviation > 0)
      logarithm += deviation * drawNormal(random) - deviation * deviation / 2;
  };
  add(ofJob, stream(seed, 2 * job));
  add(ofRound, stream(seed, 2 * job + 1, round));
  return std::exp(logarithm);
}

Result<void> checkEvents(const Cluster &cluster, const SimulationEvents &events) {
  auto wrong = [](std::string message) { return Error{Code::WrongJobSchedule, std::move(message)}; };
  auto noServer = [&](unsigned server) {
    return wrong(fmt::format("an event names server {} of {}", server, cluster.servers.size()));
  };
  for (const ServerOutage &outage : events.outages) {
    if (outage.server >= cluster.servers.size())
      return noServer(outage.server);
    if (!isTime(outage.from) || !(outage.until >= outage.from))
      return wrong(fmt::format("an outage is from {} to {}", outage.from, outage.until));
  }
  for (const CapacityStep &step : events.capacity) {
    if (step.server >= cluster.servers.size())
      return noServer(step.server);
    if (!isTime(step.at))
      return wrong(fmt::format("a step of capacity is at {}", step.at));
  }
  for (const PowerStep &step : events.power)
    if (!isTime(step.at) || !(step.watts >= 0))
      return wrong(fmt::format("a step of power is {} watts at {}", step.watts, step.at));
  if (std::ranges::any_of(events.deviceWatts, [](double watts) { return !isTime(watts); }))
    return wrong("a device draws less than 0 watts");
  const double between = events.meanTimeBetweenFailures;
  if (!isTime(between) || (between > 0 && between < kMinBetween) || !(events.repairSeconds >= 1) ||
      !isTime(events.repairSeconds))
    return wrong(fmt::format("servers fail every {} seconds and are repaired in {}, but at least {} and 1 are expected",
                             between, events.repairSeconds, kMinBetween));
  return {};
}

ClusterTimeline::ClusterTimeline(const Cluster &cluster, const SimulationEvents &events, uint64_t seed)
    : cluster(cluster), events(events), now(cluster), outages(cluster.servers.size()),
      drawnUntil(cluster.servers.size(), 0) {
  for (const ServerOutage &outage : events.outages)
    outages[outage.server].push_back(outage);
  for (size_t server = 0; server < cluster.servers.size(); ++server)
    random.push_back(stream(~seed, server));
}

void ClusterTimeline::draw(unsigned server, double until) {
  if (events.meanTimeBetweenFailures <= 0)
    return;
  while (drawnUntil[server] <= until) {
    const double wait = -std::log(1 - random[server].unit()) * events.meanTimeBetweenFailures,
                 from = drawnUntil[server] + wait;
    drawnUntil[server] = from + events.repairSeconds;
    if (drawnUntil[server] > last)
      outages[server].push_back({server, from, drawnUntil[server], true});
  }
}

const Cluster &ClusterTimeline::at(double time) {
  last = time;
  for (unsigned server = 0; server < cluster.servers.size(); ++server) {
    draw(server, time);
    std::erase_if(outages[server], [&](const ServerOutage &outage) { return outage.until <= time; });
    now.servers[server].devices = cluster.servers[server].devices;
    if (std::ranges::any_of(outages[server], [&](const ServerOutage &outage) { return outage.from <= time; }))
      now.servers[server].devices = 0;
  }
  std::vector<double> latest(cluster.servers.size(), -1);
  std::vector<unsigned> limit(cluster.servers.size(), ~0u);
  for (const CapacityStep &step : events.capacity)
    if (step.at <= time && step.at >= latest[step.server])
      latest[step.server] = step.at, limit[step.server] = step.devices;
  double watts = kNever, since = -1;
  for (const PowerStep &step : events.power)
    if (step.at <= time && step.at >= since)
      since = step.at, watts = step.watts;
  for (unsigned server = 0; server < now.servers.size(); ++server) {
    Server &one = now.servers[server];
    one.devices = std::min(one.devices, limit[server]);
    const double each = one.type < events.deviceWatts.size() ? events.deviceWatts[one.type] : 0;
    if (each > 0 && each * one.devices > watts)
      one.devices = static_cast<unsigned>(watts / each);
    watts -= each * one.devices;
  }
  return now;
}

double ClusterTimeline::failureOf(unsigned server, double from, double until) {
  draw(server, until);
  double first = kNever;
  for (const ServerOutage &outage : outages[server])
    if (outage.isFailure && outage.from > from && outage.from <= until)
      first = std::min(first, outage.from);
  return first;
}

} // namespace accord::jobs
