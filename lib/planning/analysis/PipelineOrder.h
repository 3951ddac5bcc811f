// In which order a stage of a pipeline executes its micro-batches, and how many it holds meanwhile.
#pragma once
#include <cstdint>
#include <vector>

namespace accord {

enum class PipelineKind : uint8_t {
  GPipe,       ///< all forward, then all backward (Huang et al., 2019)
  OneFOneB,    ///< one forward, one backward (Narayanan et al., PipeDream-Flush, 2021)
  Interleaved, ///< the same with several chunks of layers per stage (Narayanan et al., SC 2021,
               ///< section 2.2)
};

struct Pipeline {
  PipelineKind kind = PipelineKind::OneFOneB;
  int64_t stages = 1;
  int64_t microbatches = 1;  ///< interleaved: a multiple of `stages`
  int64_t virtualStages = 1; ///< per stage; above 1 for Interleaved only
};

struct PipelineTask {
  bool backward = false;
  int64_t microbatch = 0, virtualStage = 0; ///< chunk c of stage s has layers of place c * stages + s
};

/// The tasks of one stage (0 is the first) in order. Warm-up of stage s: 1F1B min(m, p-s-1) forward
/// tasks; interleaved 2 (p-s-1) + (v-1) p of them, in groups of p micro-batches per chunk.
std::vector<PipelineTask> stageOrder(const Pipeline &pipeline, int64_t stage);

/// Most chunks whose forward has run and whose backward has not, on one stage: what each keeps for
/// its backward pass is held so many times.
int64_t maxInFlight(const Pipeline &pipeline, int64_t stage);

} // namespace accord
