// What the verifier knows of each schedule, written without the solver's classes on purpose.
#pragma once
#include "lib/placement/verify/PipelineReplay.h"

namespace accord {

/// Forward while less than the window of the schedule is held, else backward.
std::vector<ReplayPass> orderByWindow(const ReplayInput &pipeline, int64_t group);

struct ScheduleRule {
  const char *label = ""; ///< in what `accord verify` prints
  /// Stages of each device group: one, a number that the problem lists, or two.
  enum class Stages : uint8_t { One, Listed, Two } stages = Stages::One;
  /// Gradients of weights are passes of their own, and these run when the group would wait.
  bool splitsWeights = false, delaysWeights = false;
  bool inRounds = false;   ///< micro-batches go in rounds of as many as there are groups, which divide them
  bool turnsAtEnd = false; ///< no backward pass runs before the last forward pass of the last stage
  /// Forward passes that a group runs ahead of its backward passes; nullptr: see `order`.
  int64_t (*window)(const ReplayInput &pipeline, int64_t group) = nullptr;
  /// Micro-batches that the one stage of a group holds at most, `behind` groups from the end; nullptr: of several.
  int64_t (*held)(int64_t microbatches, int64_t groups, int64_t behind) = nullptr;
  /// The group of a stage. The first stages are on groups 0, 1, ….
  size_t (*groupOf)(size_t stage, size_t groups) = [](size_t stage, size_t groups) { return stage % groups; };
  /// All passes of a group that have their place in an order.
  std::vector<ReplayPass> (*order)(const ReplayInput &pipeline, int64_t group) = orderByWindow;
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
