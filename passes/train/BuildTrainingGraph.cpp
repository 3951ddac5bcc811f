// The pass: which optimizer and precision, then one training graph per model.
#include "dialects/dnn/Dnn.h"
#include "passes/train/Passes.h"
namespace accord {
#define GEN_PASS_DEF_BUILDTRAININGGRAPH
#include "passes/train/Passes.h.inc"
namespace {
struct BuildTrainingGraph : impl::BuildTrainingGraphBase<BuildTrainingGraph> {
  using BuildTrainingGraphBase::BuildTrainingGraphBase;
  void runOnOperation() override {}
};
} // namespace
} // namespace accord
