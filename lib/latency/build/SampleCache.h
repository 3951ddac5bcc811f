// The sizes at which a training is sampled for its latency model.
#pragma once
#include "lib/latency/build/LatencyModelFit.h"
#include <memory>

namespace accord {

/// A model through samples at these (microbatch, sequence), or why there is none.
using FitAt = std::function<Result<LatencyModel>(const std::vector<std::pair<int64_t, int64_t>> &points,
                                                 const LatencyFitOptions &options)>;
/// As `latencyModelOf` says: first for any micro-batch and sequence up to the plan's; where that has no model, for
/// sequences in steps, for any micro-batch, by tables, last for the plan's own sizes alone.
Result<LatencyModel> fitOverGrids(int64_t microbatch, std::optional<int64_t> sequence, const FitAt &fitAt,
                                  const LatencyTable &table = {});

/// Of steps of one micro-batch, and of several; `again` is empty where `once` is of the plan's own.
struct SampledSizes {
  std::vector<LatencySample> single, accumulated;
};

/// Each size is sampled once, whatever asks for it again.
class SampleCache {
public:
  struct Sampled {
    int64_t microbatch, microbatches, sequence;
    SampledWork work;
  };
  /// `sequence`: of the plan, which is sampled without one.
  SampleCache(int64_t sequence, SampleAt sampleAt) : sequence(sequence), sampleAt(std::move(sampleAt)) {}
  /// Null, and why.
  const Sampled *at(int64_t microbatch, int64_t microbatches, int64_t at, std::string &error);
  /// They stay where they are as long as this. A0707: not defined at one of the sizes.
  Result<SampledSizes> of(const std::vector<std::pair<int64_t, int64_t>> &points, const Plan &plan);

private:
  int64_t sequence;
  SampleAt sampleAt;
  std::vector<std::unique_ptr<Sampled>> sampled;
};

} // namespace accord
