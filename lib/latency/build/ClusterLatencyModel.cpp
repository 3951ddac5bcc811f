#include "lib/latency/build/ClusterLatencyModel.h"
#include "lib/latency/build/ClusterBuilder.h"
#include <cmath>

namespace accord {

Result<LatencyModel> clusterLatencyModelOf(const ClusterJob &job, std::optional<int64_t> sequence,
                                           const DegreeSampleAt &sampleAt, const DegreeGraphAt &graphAt) {
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<SampleCache>> sampled; // by degrees
  auto samplesOf = [&](const DegreePlan &one) -> SampleCache & {
    auto &slot = sampled[{one.tensor, one.data}];
    if (!slot)
      slot = std::make_unique<SampleCache>(sequence.value_or(1),
                                           [&sampleAt, &one](int64_t b, int64_t of, std::optional<int64_t> s) {
                                             auto work = sampleAt(one.tensor, one.data, b, of, s);
                                             if (work)
                                               work->graph.microbatches = one.plan.graph.microbatches;
                                             return work;
                                           });
    return *slot;
  };
  // Equal at one micro-batch and number of them is no proof; equal at three leaves no line between.
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, std::optional<WorkGraph>> graphs;
  auto graphOf = [&](const DegreePlan &one, int64_t microbatch, int64_t of) {
    auto [slot, fresh] = graphs.try_emplace({one.tensor, one.data, microbatch, of});
    if (fresh)
      slot->second = graphAt(one.tensor, one.data, microbatch, of);
    return slot->second ? &*slot->second : nullptr;
  };
  auto same = [&](const DegreePlan &a, const DegreePlan &b) {
    for (auto [microbatch, of] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {1, 2}}) {
      const WorkGraph *x = graphOf(a, microbatch, of), *y = graphOf(b, microbatch, of);
      if (!x || !y || !sameWork(*x, *y))
        return false;
    }
    return true;
  };
  std::vector<PricingGroup> groups = pricingGroups(job, same);
  CollectiveTermsCache terms(*job.fabric);
  auto fit = [&](const std::vector<std::pair<int64_t, int64_t>> &points,
                 const LatencyFitOptions &options) -> Result<LatencyModel> {
    std::vector<SampledSizes> samples;
    for (const PricingGroup &group : groups) {
      auto found = samplesOf(*group.plans.front()).of(points, group.plans.front()->plan);
      if (!found)
        return found.error();
      samples.push_back(std::move(*found));
    }
    ClusterBuilder builder(job, groups, std::move(samples), options, terms);
    if (auto error = builder.prepare())
      return *error;
    auto model =
        buildWithinInt64(job.plans.front().plan.graph.microbatch, [&](int64_t max) { return builder.build(max); });
    auto *built = model.get();
    if (!built)
      return model;
    if (auto error = builder.compare(*built))
      return *error;
    double own = evaluate(*built, built->initial()).result.step;
    built->exact = std::fabs(own - built->planStep) <= 1e-12 * built->planStep;
    addSamples(*built, 24);
    return model;
  };
  return fitOverGrids(job.plans.front().plan.graph.microbatch, sequence, fit);
}

} // namespace accord
