#include "passes/Passes.h"
#include "passes/train/Passes.h"

void accord::registerAllPasses() { registerTrainPasses(); }
