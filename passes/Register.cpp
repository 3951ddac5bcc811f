#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/analyze/Passes.h"
#include "passes/interpret/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"
#include "passes/simplify/Passes.h"
#include "passes/train/Passes.h"

void accord::registerAllPasses() {
  registerAnalyzePasses();
  registerInterpretPasses();
  registerSchedulePasses();
  registerShardPasses();
  registerSimplifyPasses();
  registerTrainPasses();
  registerPipelines();
}
