#include "lib/machine/model/WorkGraph.h"

namespace accord {

const char *name(Phase phase) {
  switch (phase) {
  case Phase::Forward:
    return "forward";
  case Phase::DataGradient:
    return "data_gradient";
  case Phase::WeightGradient:
    return "weight_gradient";
  case Phase::Update:
    return "update";
  case Phase::Communication:
    return "communication";
  case Phase::Recompute:
    return "recompute";
  }
  return "unknown";
}

const char *name(CoreKind kind) {
  switch (kind) {
  case CoreKind::None:
    return "none";
  case CoreKind::Tensor:
    return "tensor";
  case CoreKind::Vector:
    return "vector";
  case CoreKind::Network:
    return "network";
  }
  return "unknown";
}

const char *name(Category category) {
  switch (category) {
  case Category::Weights:
    return "weights";
  case Category::Gradients:
    return "gradients";
  case Category::OptimizerStates:
    return "optimizer_states";
  case Category::Activations:
    return "activations";
  case Category::Temporaries:
    return "temporaries";
  case Category::Buffers:
    return "buffers";
  case Category::Inputs:
    return "inputs";
  }
  return "unknown";
}

Count WorkGraph::executions(OperationId id) const {
  Count times = 1;
  RegionId region = operations[id].region;
  for (; region != kMicrobatchRegion && region != kUpdateRegion; region = regions[region].parent)
    times *= regions[region].count;
  return region == kUpdateRegion ? times : times * microbatches;
}

} // namespace accord
