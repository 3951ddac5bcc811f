// Schedules of a pipeline: in which order a device group runs the passes of its stages, and what it holds meanwhile.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// The schedules. PipelineSchedule.cpp says of each, in one class, all that solvers, summaries and launchers ask.
/// - `GPipe`: all forward, then all backward (Huang et al., NeurIPS 2019).
/// - `OneFOneB`: p - s forward passes in stage s (from 0) of p, then one backward and one forward in turn
///   (PipeDream-Flush; Narayanan et al., ICML 2021, section 2.2).
/// - `Interleaved`: v virtual stages per device, stage c * p + s is number c of device s; micro-batches in groups of p
///   (Narayanan et al., Megatron-LM, SC 2021, section 2.2). m is a multiple of p, which is 2 at least. Stages are
///   balanced, as launchers cut them: their numbers of layers differ by one at most, unless
///   `PlacementProblem::uniformClass` says what is equal.
/// - `ZeroBubble`: as OneFOneB, but weight gradients wait for when nothing else can run (ZB-H1; Qi et al., ICLR 2024):
///   at most p micro-batches in flight in every stage.
/// - `ZeroBubbleV`: two stages per device in a V, s and 2 p - 1 - s on device s, and weight gradients in their place of
///   the order (ZB-V; Qi et al., NeurIPS 2024, "Pipeline Parallelism with Controllable Memory"). From 2 p - 1
///   micro-batches on, no device waits between its passes if all take equally long; each holds the activations of at
///   most p micro-batches of both stages, as the first stage of 1F1B. Stages are balanced as those of Interleaved.
enum class PipelineSchedule : uint8_t { GPipe, OneFOneB, Interleaved, ZeroBubble, ZeroBubbleV };

enum class Pass : uint8_t {
  Forward,
  Backward, ///< gradients of activations; of weights, too, where the schedule does not split them off
  Weight    ///< gradients of weights
};

struct PipelinePass {
  Pass pass = Pass::Forward;
  uint32_t stage = 0;
  uint32_t microbatch = 0;
};

/// Shape of a pipeline: `groups` p device groups with `virtualStages` v stages each, `microbatches` m. p, v, m >= 1;
/// they go with the schedule (see `ScheduleModel`).
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t groups = 1, virtualStages = 1, microbatches = 1;
};

/// What a device group's stages hold at once, by virtual stage: numbers of micro-batches whose activations are in
/// memory.
using InFlightStates = std::vector<std::vector<int64_t>>;

/// One schedule.
class ScheduleModel {
public:
  /// How many stages each device group has: one, a number that the problem lists, or two.
  enum class VirtualStages : uint8_t { One, Listed, Two };
  /// When gradients of weights are computed: within the backward pass, in a pass that runs when the group would wait
  /// for something else, or in a pass with its place in the order.
  enum class WeightGradients : uint8_t { WithBackward, WhenIdle, InOrder };

  ScheduleModel(PipelineSchedule schedule, const char *name, const char *label, VirtualStages virtualStages,
                WeightGradients weightGradients)
      : schedule(schedule), name(name), label(label), virtualStages(virtualStages), weightGradients(weightGradients) {}
  virtual ~ScheduleModel() = default;

  const PipelineSchedule schedule;
  const char *const name;  ///< in both languages, in documents and for launchers: "one_f_one_b"
  const char *const label; ///< in summaries: "1F1B"
  const VirtualStages virtualStages;
  const WeightGradients weightGradients;

  bool splitsWeights() const { return weightGradients != WeightGradients::WithBackward; }
  /// Whether the passes of a group have one order, whatever they take. Then a longer pass never makes a step shorter.
  bool hasFixedOrder() const { return weightGradients != WeightGradients::WhenIdle; }
  /// Whether a group may run m micro-batches on p groups. False: the schedule has no such pipeline.
  virtual bool allows(int64_t groups, int64_t microbatches) const;
  /// The device group of a stage. The first p stages are on groups 0 to p - 1.
  virtual int64_t groupOf(int64_t stage, int64_t groups) const { return stage % groups; }
  /// The stage that is number `index` of a group, from the model's first layer on.
  virtual int64_t stageOf(int64_t group, int64_t index, int64_t groups) const { return index * groups + group; }
  /// Pairs of neighbouring stages on one group, between which nothing is sent.
  virtual int64_t turns() const { return 0; }
  /// What one group runs, in order: m v forward and m v backward passes, and the passes `Weight` if they are in order.
  virtual std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) const = 0;
  /// Vectors of what a group's stages hold, none of them below another. What any moment of its passes holds is no more
  /// than a mean of these, so that sums over the stages are largest at one of them.
  virtual InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group) const = 0;
};

/// All schedules, in the order of the enumeration.
const std::vector<const ScheduleModel *> &scheduleModels();
const ScheduleModel &modelOf(PipelineSchedule schedule);
/// The schedule of that name; nullptr: there is none.
const ScheduleModel *findSchedule(llvm::StringRef name);

const char *name(PipelineSchedule schedule); ///< `ScheduleModel::name`

/// `ScheduleModel::passesOf` of the shape's schedule.
std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group);
/// `ScheduleModel::inFlightStatesOf` of the shape's schedule. In group s of p, GPipe m; 1F1B min(m, p - s); zero bubble
/// min(m, p). Interleaved: min(m v, 2 (p - s - 1) + (v - 1) p + 1) pieces in each vector, on the first group
/// 1 + (p - 1) / (p v) times p micro-batches of all virtual stages (Narayanan et al., SC 2021, section 2.2; Korthikanti
/// et al., 2022, section 4.2.3), at most 2 v + 2 vectors in O(v^3).
InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group);
/// Of each stage by itself: the most that `inFlightStatesOf` has for it. Stages of a group do not peak together.
std::vector<int64_t> inFlightOf(const PipelineShape &shape);
/// The same, of what `inFlightStatesOf` says of each group.
std::vector<int64_t> inFlightOf(const PipelineShape &shape, const std::vector<InFlightStates> &byGroup);
/// When a group's stages hold most bytes, where each keeps `activations` of a micro-batch: one of `held`, of equal ones
/// that with most of the first stage, then of the next.
std::vector<int64_t> peakOf(const InFlightStates &held, const std::vector<int64_t> &activations);

} // namespace accord
