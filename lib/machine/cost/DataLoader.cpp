#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/cost/StepDataLoading.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch) {
  auto refuse = [](std::string message) { return Error{Code::NoDataLoadingTime, std::move(message)}; };
  auto good = [](double number) { return std::isfinite(number) && number >= 0; };
  auto [load, copy, compute] = stages;
  if (!good(load.value) || !good(copy.value) || !good(compute.value))
    return refuse(
        fmt::format("loading takes {:g} s, copying {:g} s and computing {:g} s, and none may be negative or infinite",
                    load.value, copy.value, compute.value));
  if (prefetch < 0)
    return refuse(fmt::format("a queue holds no {} batches", prefetch));
  if (!good(batch.value))
    return refuse(fmt::format("a batch has no {:g} B", batch.value));
  DataLoaderStep out;
  out.serial = load + copy + compute;
  out.queue = batch * prefetch;
  auto slower = [&](Seconds time, const char *stage) {
    if (time > out.step) {
      out.step = time;
      out.bound = stage;
    }
  };
  if (prefetch == 0) {
    out.step = out.serial;
  } else {
    out.bound = "compute";
    out.step = compute;
    slower(prefetch == 1 ? load + copy : load, prefetch == 1 ? "load and copy" : "load");
    slower(copy, "copy");
  }
  if (!std::isfinite(out.serial.value) || !std::isfinite(out.queue.value))
    return refuse("the times of loading add up beyond any number");
  out.gain = out.step.value > 0 ? out.serial / out.step : 1;
  return out;
}

Result<StepDataLoading> stepDataLoading(const WorkGraph &graph, const Machine &machine, const DataLoader &dataLoader,
                                        Seconds compute) {
  StepDataLoading out;
  double bytes = 0;
  for (const Value &value : graph.values)
    if (value.category == Category::Inputs && value.region == kMicrobatchRegion && value.alias == kNone)
      bytes += value.bytes;
  out.batch = Bytes(bytes * graph.microbatches);
  out.compute = compute;
  out.load = bytes > 0 ? out.batch / dataLoader.rate : Seconds();
  if (machine.hostBandwidth.value > 0)
    out.copy = out.batch / machine.hostBandwidth;
  else
    out.assumptions.push_back(
        fmt::format("'{}' states no host_bandwidth: copying input to it takes no time", machine.name));
  ACCORD_TRY(step, dataLoaderStep({out.load, out.copy, compute}, dataLoader.prefetch, out.batch));
  out.step = step;
  out.assumptions.push_back("the loader's bytes are those of the model's inputs, after decoding");
  out.assumptions.push_back(
      dataLoader.prefetch == 0
          ? fmt::format("nothing is prefetched: a step loads, copies and computes in turn, {:.4g} s",
                        out.step.step.value)
          : fmt::format("{} batches of {:.0f} B wait in host memory; a step takes the longest of loading {:.4g} s, "
                        "copying {:.4g} s and computing {:.4g} s ({})",
                        dataLoader.prefetch, out.batch.value, out.load.value, out.copy.value, out.compute.value,
                        out.step.bound));
  return out;
}

} // namespace accord
