// Mining problems drawn at random whose designs can all be valued: spaces as descriptions, training
// steps of small networks as models.
#pragma once
#include "lib/exploration/steps/StepProblem.h"
#include <memory>
#include <string>

namespace accord::test {

struct MiningAtRandom {
  std::string spaceText, what; ///< `what`: networks, metric and blend
  std::vector<std::string> modelTexts;
  std::unique_ptr<DesignSpace> space;
  std::vector<MiningJob> jobs;
  MiningMetric metric = MiningMetric::StepTime;
  ObjectiveAggregation aggregation = ObjectiveAggregation::Sum;
  uint64_t designs = 0;

  std::unique_ptr<StepProblem> problem() const {
    return std::make_unique<StepProblem>(*space, jobs, metric, aggregation);
  }
};

/// What is drawn: spaces of `least` to `most` designs. `tight`: all sizes are open, few designs
/// keep the limits, networks are large and device memory is fast, so that arithmetic matters.
struct MiningDraw {
  uint64_t min = 50, max = 3000;
  bool tight = false;
};

/// One or two jobs (layers of linear work, transformers, convolutional and recurrent networks; one
/// or two micro-batch sizes) and a space: counts, arrays, dataflows, lanes, memories, clocks, under
/// limits on area and power that some of the designs keep. The same for the same seed on every
/// machine. A text that is refused fails the test and leaves no space.
MiningAtRandom miningAtRandom(uint64_t seed, const MiningDraw &draw = {});

} // namespace accord::test
