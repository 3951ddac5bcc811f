#include "lib/run/output/RunJson.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>

namespace accord {

void describe(JsonFields &f, RunInput &input) {
  f.about("median").field("value", input.value);
  f.about("5 % quantile").field("low", input.low).about("95 % quantile").field("high", input.high);
}
void describe(JsonFields &f, RunValue &value) {
  f.about("mean").field("value", value.value);
  f.about("5 % quantile, or the mean where that is below it").field("low", value.low);
  f.about("95 % quantile, or the mean where that is above it").field("high", value.high);
}

void describe(JsonFields &f, RunProblem &p) {
  f.about("that all steps see together")
      .field("samples", p.samples)
      .field("steps", p.steps)
      .about("without stragglers")
      .field("step_time_s", p.step)
      .about("share by which stragglers lengthen a step")
      .field("slowdown", p.slowdown)
      .field("devices", p.devices)
      .field("servers", p.servers)
      .about("of one device in a second")
      .field("failures_per_s", p.failureRate)
      .field("detection_s", p.detection)
      .field("restart_s", p.restart)
      .field("checkpoint_bytes", p.checkpointBytes)
      .field("checkpoint_bytes_per_s", p.checkpointBandwidth)
      .field("asynchronous", p.asynchronous)
      .about("of an asynchronous checkpoint")
      .field("blocking_s", p.blocking)
      .about("as asked for; 0: the best is chosen")
      .field("interval_s", p.interval)
      .about("-1: always enough")
      .field("spare_servers", p.spareServers, IntegerRange{-1, int64_t(1) << 40})
      .about("of failures", {{"maximum", 1}})
      .field("repair_share", p.repairShare)
      .field("repair_s", p.repair)
      .field("energy_per_step_J", p.joulesPerStep)
      .about("of all devices while no step runs")
      .field("idle_W", p.idleWatts)
      .field("price_per_s", p.pricePerSecond)
      .field("carbon_g_per_J", p.gramsPerJoule);
}

void describe(JsonFields &f, RunEstimate &e) {
  f.about("of training between two checkpoints")
      .field("checkpoint_interval_s", e.interval)
      .about("of writing one")
      .field("checkpoint_s", e.checkpointTime)
      .about("effective training time ratio")
      .field("goodput", e.goodput)
      .about("failures, those during outages among them")
      .field("interruptions", e.interruptions)
      .about("calendar time")
      .field("time_s", e.time)
      .field("device_hours", e.deviceHours)
      .field("energy_J", e.energy)
      .field("price", e.price)
      .field("carbon_g", e.carbon)
      .about("means of what the calendar time consists of: this one and the next five")
      .field("step_s", e.stepTime)
      .field("stragglers_s", e.stragglerTime)
      .field("checkpoints_s", e.blockedTime)
      .field("lost_work_s", e.lostTime)
      .field("outages_s", e.outageTime)
      .field("waiting_for_repair_s", e.repairTime)
      .about("minimum of spare servers with which at most 0.1 % of the time is spent waiting for repair")
      .field("spare_servers_needed", e.sparesNeeded);
}

void describe(JsonFields &f, TrainingRun &run) {
  f.field("estimate", run.estimate).field("problem", run.problem).field("assumptions", run.assumptions);
}

void describeRun(JsonFields &f, std::shared_ptr<const TrainingRun> &run) {
  f.about("all steps, with failures, where the job states how long to train")
      .visit("run", false, run != nullptr, [&](JsonVisitor &v) {
        TrainingRun one = run ? *run : TrainingRun();
        visitValue(v, one);
        if (v.reads())
          run = std::make_shared<TrainingRun>(std::move(one));
      });
}

namespace {
std::string duration(double seconds) {
  return seconds < 120      ? fmt::format("{:.3g} s", seconds)
         : seconds < 7200   ? fmt::format("{:.3g} min", seconds / 60)
         : seconds < 172800 ? fmt::format("{:.3g} h", seconds / 3600)
                            : fmt::format("{:.4g} days", seconds / 86400);
}
} // namespace

void addRunLines(const std::shared_ptr<const TrainingRun> &run, llvm::ArrayRef<std::string> assumptions,
                 SummaryLines &lines) {
  if (!run) {
    for (llvm::StringRef text : assumptions)
      if (text.consume_front(kNoRun))
        lines.add("run", "not estimated: " + text.str());
    return;
  }
  const RunEstimate &e = run->estimate;
  const RunProblem &p = run->problem;
  lines.add("run", fmt::format("{} on average ({} to {}), goodput {:.4g} % ({:.4g} to {:.4g})", duration(e.time.value),
                               duration(e.time.low), duration(e.time.high), e.goodput.value * 100, e.goodput.low * 100,
                               e.goodput.high * 100));
  std::string spares = e.sparesNeeded > 0
                           ? fmt::format(", {} spare server{} needed", e.sparesNeeded, e.sparesNeeded == 1 ? "" : "s")
                           : "";
  lines.add("", fmt::format("{:.3g} interruptions ({:.0f} to {:.0f}), {}checkpoint every {} in {:.3g} s{}",
                            e.interruptions.value, e.interruptions.low, e.interruptions.high,
                            p.asynchronous ? "asynchronous " : "", duration(e.interval), e.checkpointTime, spares));
  std::string costs = fmt::format("{:.4g} device hours", e.deviceHours.value);
  if (e.energy.value > 0)
    costs += fmt::format(", {:.4g} kWh ({:.4g} to {:.4g})", e.energy.value / 3.6e6, e.energy.low / 3.6e6,
                         e.energy.high / 3.6e6);
  if (e.price.value > 0)
    costs += fmt::format(", {:.4g} USD ({:.4g} to {:.4g})", e.price.value, e.price.low, e.price.high);
  if (e.carbon.value > 0)
    costs += fmt::format(", {:.4g} kgCO2e ({:.4g} to {:.4g})", e.carbon.value / 1e3, e.carbon.low / 1e3,
                         e.carbon.high / 1e3);
  lines.add("", costs);
}

} // namespace accord
