#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/cost/BoundedQueue.h"
#include "lib/machine/cost/StepDataLoading.h"
#include "lib/support/FirstWhere.h"
#include "lib/support/documents/TextStyle.h"
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace accord {

namespace {

constexpr double kTolerance = 0.01; ///< of a step whose loading varies: no finite queue hides all of it
constexpr double kRounding = 1e-12;
constexpr int64_t kMaxDepth = 1024;

Error refuse(std::string message) { return Error{Code::NoDataLoadingTime, std::move(message)}; }

std::optional<Error> checkStages(const DataLoaderStages &stages, int64_t prefetch, Bytes batch, double variation) {
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
  if (!good(variation))
    return refuse(fmt::format("times of loading have no variation of {:g}", variation));
  const double cycles = 0x1p17; // so many batches are added up where loading varies
  if (!std::isfinite((load + copy + compute).value * cycles) || !std::isfinite((batch * double(prefetch)).value))
    return refuse("the times of loading add up beyond any number");
  return std::nullopt;
}

/// The step at depths of one training, whose checks are done.
class LoadingLine {
public:
  LoadingLine(DataLoaderStages stages, Bytes batch, const BoundedQueue *queue)
      : stages_(stages), batch_(batch), queue_(queue) {}

  DataLoaderStep at(int64_t prefetch) const {
    auto [load, copy, compute] = stages_;
    DataLoaderStep out;
    out.serial = load + copy + compute;
    out.queue = batch_ * double(prefetch);
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
      if (queue_) {
        BoundedQueue::Mean mean = queue_->mean(stages_, prefetch);
        if (mean.step > out.step * (1 + kTolerance))
          out.bound = "variation";
        out.step = std::max(out.step, std::min(mean.step, out.serial));
        out.error = mean.error;
      }
    }
    out.gain = out.step.value > 0 ? out.serial / out.step : 1;
    return out;
  }
  Seconds step(int64_t prefetch) const { return at(prefetch).step; }
  double tolerance() const { return queue_ ? kTolerance : kRounding; }
  /// Steps up to this are hidden.
  Seconds hidden() const { return std::max(stages_.copy, stages_.compute) * (1 + tolerance()); }

private:
  DataLoaderStages stages_;
  Bytes batch_;
  const BoundedQueue *queue_; ///< null: times are constant
};

/// What was chosen, and why.
std::vector<std::string> reasonsOf(const DataLoader &loader, const LoaderChoice &choice, Seconds copy,
                                   Seconds compute) {
  std::vector<std::string> out;
  const char *longer = copy > compute ? "copying" : "computing";
  const std::string by = fmt::format("{} {} of {}", choice.workers, choice.workers == 1 ? "worker" : "workers",
                                     formatSi(loader.rate.value, "B/s"));
  const bool loads = choice.load > std::max(copy, compute);
  if (loader.workers == DataLoader::kAuto)
    out.push_back(
        choice.hidden
            ? fmt::format("workers = auto: {}, the smallest number with which loading hides behind {}", by, longer)
            : fmt::format("workers = auto: {}, as many as 'max_workers' allows, and loading is not hidden", by));
  if (loader.prefetch == DataLoader::kAuto)
    out.push_back(fmt::format("prefetch = auto: {}, the smallest depth {}", choice.prefetch,
                              choice.hidden    ? fmt::format("that hides loading behind {}", longer)
                              : choice.limited ? "that is as fast as any that 'memory' allows"
                              : loads          ? "at which loading alone binds: no depth hides it"
                                               : "that is as fast as the deepest"));
  if (loader.variation > 0)
    out.push_back(fmt::format("times of loading a batch are lognormal with a variation of {:g}, drawn 32768 times with "
                              "a fixed seed: the step is a mean, off by {:.2g} % (two standard errors), and loading "
                              "counts as hidden up to 1 %",
                              loader.variation, 100 * choice.step.error));
  return out;
}

} // namespace

Result<DataLoaderStep> dataLoaderStep(const DataLoaderStages &stages, int64_t prefetch, Bytes batch, double variation) {
  if (auto error = checkStages(stages, prefetch, batch, variation))
    return *error;
  std::optional<BoundedQueue> queue;
  if (variation > 0)
    queue.emplace(variation);
  return LoadingLine(stages, batch, queue ? &*queue : nullptr).at(prefetch);
}

Result<LoaderChoice> chooseLoader(const DataLoader &loader, Bytes batch, Seconds copy, Seconds compute) {
  const bool isOpen = loader.prefetch == DataLoader::kAuto, isLimited = loader.memory.value > 0;
  const int64_t maxWorkers = loader.workers == DataLoader::kAuto ? loader.maxWorkers : loader.workers;
  auto load = [&](int64_t workers) { return batch.value > 0 ? batch / (loader.rate * double(workers)) : Seconds(); };
  if (auto error = checkStages({load(1), copy, compute}, isOpen ? 0 : loader.prefetch, batch, loader.variation))
    return *error;
  int64_t deepest = isOpen ? kMaxDepth : loader.prefetch;
  if (isLimited && batch.value > 0) {
    const double held = std::floor(loader.memory / batch);
    if (held < double(isOpen ? 1 : std::max<int64_t>(1, deepest)))
      return Error{Code::OutOfRange,
                   fmt::format("{} {} in host memory, but 'memory' is {}",
                               isOpen || deepest <= 1 ? "a batch takes" : fmt::format("{} batches take", deepest),
                               formatBytes(batch.value * double(isOpen ? 1 : std::max<int64_t>(1, deepest))),
                               formatBytes(loader.memory.value))};
    deepest = std::min(deepest, held < double(kMaxDepth) ? int64_t(held) : kMaxDepth);
  }
  std::optional<BoundedQueue> queue;
  if (loader.variation > 0)
    queue.emplace(loader.variation);
  auto line = [&](int64_t workers) {
    return LoadingLine({load(workers), copy, compute}, batch, queue ? &*queue : nullptr);
  };
  auto hides = [&](int64_t workers) {
    LoadingLine now = line(workers);
    return now.step(deepest) <= now.hidden();
  };
  LoaderChoice out;
  out.workers = loader.workers == DataLoader::kAuto ? firstWhere(int64_t(1), maxWorkers, hides) : maxWorkers;
  out.load = load(out.workers);
  const LoadingLine chosen = line(out.workers);
  const Seconds best = chosen.step(deepest);
  const Seconds target = best <= chosen.hidden() ? chosen.hidden() : best * (1 + chosen.tolerance());
  out.prefetch =
      isOpen ? firstWhere(int64_t(0), deepest, [&](int64_t depth) { return chosen.step(depth) <= target; }) : deepest;
  out.step = chosen.at(out.prefetch);
  out.hidden = out.step.step <= chosen.hidden();
  out.limited = isLimited && !out.hidden && chosen.step(kMaxDepth) * (1 + chosen.tolerance()) < out.step.step;
  std::set<int64_t> depths{0, 1, 2, out.prefetch, std::max<int64_t>(0, out.prefetch - 1)};
  for (int64_t depth = 4; queue && depth <= std::min(kMaxDepth, 2 * out.prefetch); depth *= 2)
    depths.insert(depth);
  for (int64_t depth : depths)
    out.depths.push_back({depth, chosen.step(depth), batch * double(depth)});
  out.reasons = reasonsOf(loader, out, copy, compute);
  return out;
}

std::vector<std::string> loaderReasons(const DataLoader &loader, Seconds load, Seconds step) {
  const bool isOpen = loader.prefetch == DataLoader::kAuto || loader.workers == DataLoader::kAuto;
  if (!(load.value > 0) || (!isOpen && loader.variation == 0))
    return {};
  const bool waits = load >= step;
  auto choice =
      chooseLoader(loader, loader.rate * double(loader.maxWorkers) * load, Seconds(), waits ? Seconds() : step);
  if (!choice)
    return {};
  if (choice->step.step > std::max(load, step) * (1 + kTolerance))
    choice->reasons.push_back(fmt::format("with times of loading that vary, a step takes {:.4g} s in the mean: the "
                                          "plan's times are without what it waits for slow batches",
                                          choice->step.step.value));
  return std::move(choice->reasons);
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
  if (machine.hostBandwidth.value > 0)
    out.copy = out.batch / machine.hostBandwidth;
  else
    out.assumptions.push_back(
        fmt::format("'{}' states no host_bandwidth: copying input to it takes no time", machine.name));
  ACCORD_TRY(choice, chooseLoader(dataLoader, out.batch, out.copy, compute));
  out.load = choice.load;
  out.step = choice.step;
  out.choice = choice;
  out.assumptions.push_back("the loader's bytes are those of the model's inputs, after decoding");
  out.assumptions.insert(out.assumptions.end(), choice.reasons.begin(), choice.reasons.end());
  out.assumptions.push_back(
      choice.prefetch == 0
          ? fmt::format("nothing is prefetched: a step loads, copies and computes in turn, {:.4g} s",
                        out.step.step.value)
          : fmt::format("{} batches of {:.0f} B wait in host memory; a step takes {} loading {:.4g} s, "
                        "copying {:.4g} s and computing {:.4g} s ({})",
                        choice.prefetch, out.batch.value,
                        dataLoader.variation > 0 ? fmt::format("{:.4g} s with", out.step.step.value)
                                                 : std::string("the longest of"),
                        out.load.value, out.copy.value, out.compute.value, out.step.bound));
  return out;
}

} // namespace accord
