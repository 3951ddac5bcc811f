#include "lib/machine/cost/StepDataLoading.h"
#include <fmt/format.h>

namespace accord {

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
  auto step = dataLoaderStep({out.load, 1, out.copy, compute}, dataLoader.prefetch, out.batch);
  if (!step)
    return step.takeError();
  out.step = *step;
  out.assumptions.push_back("the loader's bytes are those of the model's inputs, after decoding");
  out.assumptions.push_back(
      dataLoader.prefetch == 0
          ? fmt::format("nothing is prefetched: a step loads, copies and computes in turn, {:.4g} s",
                        out.step.step.value)
          : fmt::format("{} batches of {:.0f} B wait in host memory; a step takes the longest of "
                        "loading {:.4g} s, copying {:.4g} s and computing {:.4g} s ({})",
                        dataLoader.prefetch, out.batch.value, out.load.value, out.copy.value, out.compute.value,
                        out.step.bound));
  return out;
}

} // namespace accord
