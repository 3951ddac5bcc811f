#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/cost/StepDataLoading.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace accord {
namespace {

bool isTime(Seconds time) { return std::isfinite(time.value) && time.value >= 0; }

std::optional<Error> wrong(const DataLoaderStages &stages, int64_t prefetch) {
  auto error = [](std::string message) { return Error{Code::NoDataLoadingTime, std::move(message), {}, {}}; };
  if (!isTime(stages.load) || !isTime(stages.copy) || !isTime(stages.compute))
    return error(fmt::format("loading takes {:g} s, copying {:g} s and computing {:g} s, and none "
                             "may be negative or infinite",
                             stages.load.value, stages.copy.value, stages.compute.value));
  if (stages.workers < 1)
    return error(fmt::format("{} workers load nothing", stages.workers));
  if (prefetch < 0)
    return error(fmt::format("a queue holds no {} batches", prefetch));
  return std::nullopt;
}

Seconds loadOf(const DataLoaderStages &stages) { return stages.load / static_cast<double>(stages.workers); }

} // namespace

Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch) {
  if (auto error = wrong(stages, prefetch))
    return *error;
  if (!std::isfinite(batch.value) || batch.value < 0)
    return Error{Code::NoDataLoadingTime, fmt::format("a batch has no {:g} B", batch.value), {}, {}};
  Seconds load = loadOf(stages), copy = stages.copy, compute = stages.compute;
  DataLoaderStep out;
  out.startup = load + copy;
  out.serial = out.startup + compute;
  out.queue = batch * static_cast<double>(prefetch);
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
    if (prefetch == 1) {
      slower(load + copy, "load and copy");
    } else {
      slower(load, "load");
      slower(copy, "copy");
    }
  }
  if (!std::isfinite(out.serial.value) || !std::isfinite(out.queue.value))
    return Error{Code::NoDataLoadingTime, "the times of loading add up beyond any number", {}, {}};
  out.gain = out.step.value > 0 ? out.serial / out.step : 1;
  return out;
}

Result<std::vector<DataLoaderBatch>> simulateDataLoader(const std::vector<DataLoaderStages> &batches,
                                                        int64_t prefetch) {
  std::vector<DataLoaderBatch> ends(batches.size());
  for (size_t n = 0; n < batches.size(); ++n) {
    if (auto error = wrong(batches[n], prefetch))
      return *error;
    Seconds load, copy, compute; // the earliest start of each
    if (n > 0) {
      load = prefetch == 0 ? ends[n - 1].computed : ends[n - 1].loaded;
      copy = ends[n - 1].copied;
      compute = ends[n - 1].computed;
    }
    if (prefetch > 0 && n >= static_cast<size_t>(prefetch))
      load = std::max(load, ends[n - static_cast<size_t>(prefetch)].copied);
    if (n >= 2)
      copy = std::max(copy, ends[n - 2].computed);
    DataLoaderBatch &end = ends[n];
    end.loaded = load + loadOf(batches[n]);
    end.copied = std::max(end.loaded, copy) + batches[n].copy;
    end.computed = std::max(end.copied, compute) + batches[n].compute;
  }
  if (!ends.empty() && !std::isfinite(ends.back().computed.value))
    return Error{Code::NoDataLoadingTime, "the times of loading add up beyond any number", {}, {}};
  return ends;
}

Seconds stallTime(const std::vector<DataLoaderStages> &batches, const std::vector<DataLoaderBatch> &ends) {
  Seconds computing;
  for (const DataLoaderStages &batch : batches)
    computing += batch.compute;
  return ends.empty() ? Seconds() : std::max(Seconds(), ends.back().computed - computing);
}

Result<RowPrefetchStep> prefetchRows(const RowPrefetch &batch, int64_t lookahead) {
  bool sizes = std::isfinite(batch.rows) && std::isfinite(batch.row.value) && batch.row.value >= 0 &&
               batch.shared >= 0 && batch.shared <= batch.rows;
  if (!sizes || !(batch.bandwidth.value > 0) || !std::isfinite(batch.bandwidth.value))
    return Error{Code::NoDataLoadingTime,
                 fmt::format("{:g} rows of {:g} B, {:g} of them shared, are fetched at {:g} B/s", batch.rows,
                             batch.row.value, batch.shared, batch.bandwidth.value),
                 {},
                 {}};
  Seconds shared = batch.row * batch.shared / batch.bandwidth,
          fresh = batch.row * (batch.rows - batch.shared) / batch.bandwidth;
  auto step = dataLoaderStep({fresh, 1, Seconds(), shared + batch.compute}, lookahead, batch.row * batch.rows);
  if (!step)
    return step.takeError();
  RowPrefetchStep out{*step, {}, shared};
  out.cache = out.step.queue;
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
