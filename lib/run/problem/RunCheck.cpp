#include "lib/run/problem/TrainingRun.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

Errors check(const RunProblem &p) {
  Errors found;
  auto refuse = [&](const std::string &what) { found.push_back({Code::OutOfRange, what, {}, {}}); };
  auto finite = [&](const char *what, double value, bool positive) {
    if (!std::isfinite(value) || value < 0 || (positive && value == 0))
      refuse(fmt::format("{} of a training is {}, but it has to be a {} number", what, value,
                         positive ? "positive" : "non-negative"));
  };
  auto input = [&](const char *what, const RunInput &one, bool positive) {
    for (double value : {one.value, one.low, one.high})
      finite(what, value, positive);
    if (!(one.low <= one.value && one.value <= one.high))
      refuse(fmt::format("{} of a training has the median {} outside of its interval, {} to {}", what, one.value,
                         one.low, one.high));
  };
  finite("the number of samples", p.samples, false);
  finite("the number of steps", p.steps, true);
  input("the step time", p.step, true);
  input("the slowdown", p.slowdown, false);
  input("the failure rate", p.failureRate, false);
  input("the detection time", p.detection, false);
  input("the restart time", p.restart, false);
  input("the checkpoint bandwidth", p.checkpointBandwidth, false);
  input("the blocking time", p.blocking, false);
  input("the repair time", p.repair, false);
  finite("the size of a checkpoint", p.checkpointBytes, false);
  finite("the checkpoint interval", p.interval, false);
  input("the energy of a step", p.joulesPerStep, false);
  finite("the idle power", p.idleWatts, false);
  finite("the price", p.pricePerSecond, false);
  finite("the grid intensity", p.gramsPerJoule, false);
  if (p.devices < 1 || p.servers < 1 || p.servers > p.devices)
    refuse(fmt::format("a training runs on {} devices in {} servers", p.devices, p.servers));
  if (p.spareServers < -1)
    refuse(fmt::format("there are {} spare servers", p.spareServers));
  if (!(p.repairShare >= 0 && p.repairShare <= 1))
    refuse(fmt::format("the share of failures that need a repair is {}, but it is 0 to 1", p.repairShare));
  return found;
}

bool isBounded(const RunEstimate &e) {
  for (const RunValue &value : {e.goodput, e.interruptions, e.time, e.deviceHours, e.energy, e.price, e.carbon})
    if (!std::isfinite(value.value) || !std::isfinite(value.low) || !std::isfinite(value.high))
      return false;
  for (double part : {e.interval, e.checkpointTime, e.stepTime, e.stragglerTime, e.blockedTime, e.lostTime,
                      e.outageTime, e.repairTime})
    if (!std::isfinite(part))
      return false;
  return e.goodput.value >= 1e-4 && e.stepTime >= 1e-4 * e.time.value;
}

} // namespace accord
