// What the stages of a pipeline are chosen for.
#pragma once
#include <cstdint>

namespace accord {

/// - `Load`: the time of the stage that a pipeline waits for with every micro-batch, which limits its throughput.
/// - `Latency`: the time of one micro-batch on its own through all stages, one after another.
/// - `Makespan`: the time of a whole step, in which the pipeline fills and drains.
enum class PipelineObjective : uint8_t { Load, Latency, Makespan };

constexpr const char *kPipelineObjectives[] = {"load", "latency", "makespan"};

} // namespace accord
