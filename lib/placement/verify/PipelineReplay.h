// A pipeline of passes, event by event: what verify(PlacementProblem, …) measures steps with.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

struct ReplayInput {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t groups = 1, virtualStages = 1, microbatches = 1;
  std::vector<StageTimes> stages;           ///< groups * virtual stages
  std::vector<std::vector<uint32_t>> feeds; ///< by stage: stages whose output it needs, ascending
};

/// A pass of a group, apart from when it runs.
struct ReplayPass {
  size_t stage;
  bool backward;
  int64_t microbatch;
  bool weight = false; ///< of the gradients of weights alone
};

/// Of a group whose virtual stages keep `activations` bytes of a micro-batch each: the most bytes that all of them hold
/// together after any of its passes, and what each holds then; of several such moments the one with most of the first
/// virtual stage, then of the second.
std::pair<int64_t, std::vector<int64_t>> peakOf(const ReplayInput &pipeline, int64_t group,
                                                const std::vector<int64_t> &activations);

/// What the group's virtual stages hold after so many of its forward passes, one at least.
std::vector<int64_t> heldAfter(const ReplayInput &pipeline, int64_t group, int64_t passes);

/// `ScheduleRule::order`.
std::vector<ReplayPass> orderOf(const ReplayInput &pipeline, int64_t group);

struct PipelineReplay {
  bool ends = false;             ///< else passes wait for each other for ever
  int64_t step = 0;              ///< the last group's end, with `finish` of its stages
  std::vector<int64_t> groupEnd; ///< without `finish`
  std::vector<int64_t> inFlight; ///< by stage, as happened
};

/// Events ordered by time: a pass ends, a tensor arrives. A group that is free runs what its rule says is next, once
/// that has arrived: forward while it holds less than its window, else backward. Outputs leave a stage one after the
/// other, forward and backward apart, each taking `send` of the earlier of both stages. Weight gradients of ZB-H1:
/// those that end before the next pass can start, those without which more than min(m, p) micro-batches would be held,
/// and the rest at the end. O(n log n) of n = passes * stages that feed one.
PipelineReplay replay(const ReplayInput &pipeline);

} // namespace accord
