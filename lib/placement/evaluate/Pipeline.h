// In which order device groups run the passes of a pipeline, and when each pass ends.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

enum class Pass : uint8_t {
  Forward,
  Backward, ///< gradients of activations; of weights, too, unless the schedule is ZeroBubble
  Weight    ///< gradients of weights
};

struct PipelinePass {
  Pass pass = Pass::Forward;
  uint32_t stage = 0; ///< chunk * groups + group
  uint32_t microbatch = 0;
};

/// Shape of a pipeline: `groups` p device groups with `chunks` v stages each, `microbatches` m. p,
/// v, m >= 1; v is 1 unless Interleaved, where m is a multiple of p.
struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t groups = 1, virtualStages = 1, microbatches = 1;
};

/// What one group runs, in order: m v forward and m v backward passes. For ZeroBubble without the
/// passes `Weight`, which have no fixed place: `simulate` puts them where the group would wait, and
/// at once where more than p micro-batches (as many as the first group of 1F1B keeps) would be in
/// flight without.
std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group);

/// What a group's stages hold at once, by chunk: vectors of micro-batches whose activations are in
/// memory, none of them below another. What any moment of its passes holds is no more than a mean
/// of these, so that sums over the chunks are largest at one of them. In group s of p, GPipe m;
/// 1F1B min(m, p - s); zero bubble min(m, p). Interleaved: min(m v, 2 (p - s - 1) + (v - 1) p + 1)
/// pieces in each vector, on the first group 1 + (p - 1) / (p v) times p micro-batches of all
/// chunks (Narayanan et al., SC 2021, section 2.2; Korthikanti et al., 2022, section 4.2.3). At
/// most 2 v + 2 vectors; O(v^3).
std::vector<std::vector<int64_t>> inFlightStatesOf(const PipelineShape &shape, int64_t group);
/// Of each stage by itself: the most that `heldOf` has for it. Chunks do not peak together.
std::vector<int64_t> inFlightOf(const PipelineShape &shape); ///< by stage
/// The same, of what `heldOf` says of each group.
std::vector<int64_t> inFlightOf(const PipelineShape &shape,
                                const std::vector<std::vector<std::vector<int64_t>>> &byGroup);
/// When a group's chunks hold most bytes, where each keeps `kept` of a micro-batch: one of
/// `heldOf`, of equal ones that with most of the first chunk, then of the next.
std::vector<int64_t> peakOf(const std::vector<std::vector<int64_t>> &held, const std::vector<int64_t> &activations);

struct SimulatedPass {
  PipelinePass pass;
  int64_t start = 0, end = 0;
};
struct PipelineRun {
  int64_t step = 0;
  std::vector<int64_t> groupEnd; ///< when each group's last pass ends (its stages' `finish` not counted)
  std::vector<int64_t> inFlight; ///< by stage: as happened
  std::vector<std::vector<SimulatedPass>> passes; ///< by group, if asked for
};

/// Which stages a stage waits for in its forward pass, and which wait for it: chains unless the
/// layers branch. Backward passes wait the other way round.
using StageEdges = std::vector<std::vector<uint32_t>>; ///< by stage: stages that feed it, ascending

/// Exact times: a pass starts when its group is free and what it needs has arrived. Without
/// blocking transfers what stage a sends to b arrives `send` of a after its pass ends, transfers of
/// one boundary and direction one after the other. step = max over groups of (groupEnd + finish of
/// its stages). O(m v p) but for ZeroBubble, O(m p log).
PipelineRun simulate(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &edges,
                     bool record = false);
/// Stages in a chain.
StageEdges chainOf(size_t stages);

/// Step of equal stages, where `forward` and `backward` (with weight gradients) are of one stage of
/// a group, all chunks together:
///   GPipe, 1F1B: (m + p - 1) (tF + tB); Interleaved: (m + (p - 1) / v) (tF + tB)  (Narayanan et
///   al., SC 2021, section 2.2) ZeroBubble: m (tF + tB + tW) + (p - 1) (tF + tB - tW), for tW <= tF
///   <= tB and m >= p (Qi et al., ICLR 2024, table 2)
double closedForm(const PipelineShape &shape, double forward, double backward, double weight);

} // namespace accord
