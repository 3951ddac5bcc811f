#include "lib/tuning/output/PriceOutput.h"
#include "lib/support/documents/TextTable.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::tuning {
namespace {

void describeLimit(JsonFields &f, BrokenLimit &one) {
  f.about("as written, or its label; or the memory of the device")
      .field("limit", one.limit)
      .about("the block that states it")
      .field("block", one.block)
      .about("with the numbers of both sides")
      .field("detail", one.detail);
}

void describeDevices(JsonFields &f, DevicePrice &one) {
  f.field("devices", one.devices, kFromOne)
      .about("of a unit")
      .field("unit_s", one.unitSeconds)
      .field("step_s", one.stepSeconds)
      .about("bytes of each device at the peak")
      .field("memory", one.memory)
      .about("the largest that fits")
      .field("microbatch", one.microbatch, kFromOne)
      .about("whether no limit is broken")
      .field("fits", one.fits)
      .maybe("broken", one.broken, describeLimit);
}

void describeInference(JsonFields &f, InferencePrice &one) {
  f.about("of a batch")
      .field("latency_s", one.latency)
      .about("bytes at the peak")
      .field("memory", one.memory)
      .about("of a batch; 0: the machine does not say")
      .field("energy_J", one.energy)
      .maybe("broken", one.broken, describeLimit);
}

void describePrice(JsonFields &f, Price &price) {
  f.about("by number of devices")
      .field("training", price.training, describeDevices)
      .maybe("inference", price.inference, describeInference)
      .about("trained scalars")
      .field("parameters", price.parameters);
}

std::string secondsText(double value) {
  return value >= 1      ? fmt::format("{:.4g} s", value)
         : value >= 1e-3 ? fmt::format("{:.4g} ms", value * 1e3)
                         : fmt::format("{:.4g} us", value * 1e6);
}

} // namespace

void describe(JsonFields &f, PricedTuning &priced) {
  f.about("the `train` block whose network is priced")
      .field("training", priced.training)
      .field("machine", priced.machine)
      .about("the `infer` block of what is deployed")
      .maybe("inference", priced.inference)
      .maybe("inference_machine", priced.inferenceMachine)
      .about("hyper-parameters that change prices")
      .field("bound", priced.bound)
      .about("on how many devices a trial may run")
      .field("devices", priced.devices, kFromOne)
      .about("bytes of a device")
      .field("capacity", priced.capacity)
      .about("of the trials, in their order")
      .field("trials", priced.trials, describePrice)
      .about("configurations that were looked at before they began")
      .field("proposed", priced.proposed)
      .about("those that broke a limit")
      .field("rejected", priced.rejected)
      .about("how many each limit rejected, each configuration once")
      .field("rejected_by", priced.rejectedBy)
      .about("of the largest configuration that a device does not hold")
      .maybe("largest_memory", priced.largestMemory)
      .maybe("largest", priced.largest)
      .about("whether these are all configurations that there are")
      .field("exhaustive", priced.isExhaustive)
      .about("trials of which no other is as good in value and latency, or in value and time of a unit")
      .field("front", priced.front);
}

void addPriceLines(SummaryLines &lines, const PricedTuning &priced) {
  lines.add("prices", fmt::format("training '{}' on {}{}; changed by {}", priced.training, priced.machine,
                                  priced.inference.empty() ? ""
                                                           : fmt::format(", inference '{}' on {}", priced.inference,
                                                                         priced.inferenceMachine),
                                  priced.bound.empty() ? "no hyper-parameter"
                                                       : fmt::format("{}", fmt::join(priced.bound, ", "))));
  if (priced.rejected == 0)
    return;
  std::string by;
  for (const auto &[limit, count] : priced.rejectedBy)
    by += fmt::format("{}{} by {}", by.empty() ? "" : ", ", count, limit);
  lines.add("rejected", fmt::format("{} of {}{} configurations before they began: {}", priced.rejected,
                                    priced.isExhaustive ? "all " : "", priced.proposed, by));
  if (!priced.largest.empty())
    lines.add("largest", priced.largest);
}

std::string frontText(const TuningProblem &problem, const TuningResult &result, const PricedTuning &priced,
                      const TextStyle &style) {
  if (priced.front.empty())
    return "";
  const bool isDeployed = !priced.inference.empty();
  TextTable table("rrrl", {problem.objective, isDeployed ? "latency" : "a unit takes", "parameters", "configuration"});
  for (unsigned trial : priced.front)
    table.row(
        {fmt::format("{:.4g}", bestValue(problem, result.trials[trial])), secondsText(frontCost(priced.trials[trial])),
         fmt::format("{}", priced.trials[trial].parameters),
         fmt::format("trial {}: {}", trial, configurationText(problem.space, result.trials[trial].configuration))});
  return fmt::format("\n  No other trial is as good in both:\n") + table.text(style);
}

} // namespace accord::tuning
