// The pass: weight gradients of all steps as one product.
#include "lib/training/differentiate/GradientGatherer.h"
#include "passes/train/Passes.h"

namespace accord {
#define GEN_PASS_DEF_GATHERGRADIENTS
#include "passes/train/Passes.h.inc"

namespace {

struct GatherGradients : impl::GatherGradientsBase<GatherGradients> {
  void runOnOperation() override { gatherGradients(getOperation()); }
};

} // namespace
} // namespace accord
