// Puts the steps of all parallel degrees into one latency model.
#pragma once
#include "lib/latency/build/ClusterLatencyModel.h"
#include "lib/latency/build/CollectiveNodes.h"
#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/SampleCache.h"

namespace accord {

/// The plans of one tensor degree whose operations are the same but for whom they exchange data with: they are priced
/// once, with factors by data degree.
struct PricingGroup {
  int64_t tensor = 1;
  std::vector<const DegreePlan *> plans; ///< by ascending data degree; samples are of the first
};

class ClusterBuilder {
public:
  /// `samples`: by group.
  ClusterBuilder(const ClusterJob &job, const std::vector<PricingGroup> &groups, std::vector<SampledSizes> samples,
                 const LatencyFitOptions &options, CollectiveTermsCache &terms);
  std::optional<Error> prepare();
  Result<LatencyModel> build(int64_t maxMicrobatch);
  /// A0707: at the plan's micro-batch and sequence the model is not what a plan says.
  std::optional<Error> compare(const LatencyModel &model) const;

private:
  /// Plans of a group whose schedules have one order and one sequence of live tensors.
  struct Step {
    std::vector<const DegreePlan *> plans;
    std::unique_ptr<LatencyBuilder> builder; ///< of the first
  };
  struct Group {
    const PricingGroup *of;
    std::vector<Step> steps;
  };
  std::vector<LatencyArgument> sizes(int64_t maxMicrobatch) const;
  const DegreePlan &initialPlan() const;
  /// By tensor degree and within it by data degree, where `of` gives each plan's node.
  NodeId selectByDegrees(Expressions &e, NodeId StepNodes::*field) const;
  NodeId hasPlan(Expressions &e) const;
  void guards(LatencyModel &model, NodeId samples) const;

  const ClusterJob &job;
  std::vector<SampledSizes> samples;
  const LatencyFitOptions &options;
  CollectiveTermsCache &terms;
  std::vector<Group> groups;
  std::vector<int64_t> tensorDegrees, dataDegrees;
  std::map<std::pair<int64_t, int64_t>, StepNodes> steps; ///< of the model that is being built
  int64_t longest = 0;
};

/// The plans by tensor degree, those of the same operations together. `sameAt`: at another size too.
std::vector<PricingGroup> pricingGroups(const ClusterJob &job,
                                        const std::function<bool(const DegreePlan &, const DegreePlan &)> &same);
/// Whether operations and sizes are the same but for exchanges among other numbers of devices.
bool sameWork(const WorkGraph &a, const WorkGraph &b);

} // namespace accord
