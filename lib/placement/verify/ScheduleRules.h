// What the verifier knows of each schedule, written without the solver's classes on purpose.
#pragma once
#include "lib/placement/verify/PipelineReplay.h"

namespace accord {

struct ScheduleRule {
  const char *label; ///< in what `accord verify` prints
  /// Stages of each device group: one, a number that the problem lists, or two.
  enum class Stages : uint8_t { One, Listed, Two } stages;
  /// Gradients of weights are passes of their own, and these run when the group would wait.
  bool splitsWeights, delaysWeights;
  bool inRounds;   ///< micro-batches go in rounds of as many as there are groups, which divide them
  bool turnsAtEnd; ///< no backward pass runs before the last forward pass of the last stage
  /// Forward passes that a group runs ahead of its backward passes; nullptr: see `order`.
  int64_t (*window)(const ReplayInput &pipeline, int64_t group);
  /// Micro-batches that the one stage of a group holds at most, `behind` groups from the end; nullptr: of several.
  int64_t (*held)(int64_t microbatches, int64_t groups, int64_t behind);
  /// The group of a stage. The first stages are on groups 0, 1, ….
  size_t (*groupOf)(size_t stage, size_t groups);
  /// All passes of a group that have their place in an order.
  std::vector<ReplayPass> (*order)(const ReplayInput &pipeline, int64_t group);
};
const ScheduleRule &ruleOf(PipelineSchedule schedule);

/// Numbers of stages that a group may have, ascending.
std::vector<int64_t> stagesOfGroups(const PlacementProblem &problem, PipelineSchedule schedule);
/// Whether so many micro-batches can run on so many groups.
bool runsOn(PipelineSchedule schedule, int64_t groups, int64_t microbatches);
/// Whether some schedule of the problem computes gradients of weights apart.
bool maySplitWeights(const PlacementProblem &problem);

/// Walks micro-batches in rounds of as many as there are groups, each round through stage after stage of a group.
struct RoundCursor {
  int64_t p, virtualStages, max;
  bool last; ///< the last stage first
  int64_t base = 0, microbatch = 0, turn = 0;

  bool done() const { return microbatch >= max; }
  int64_t virtualStage() const { return last ? virtualStages - 1 - turn : turn; }
  void next();
};
RoundCursor cursorOf(const ReplayInput &pipeline, bool backward);

} // namespace accord
