// Layers side by side on a dataflow device as JSON, with what is proved from it.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"
#include "llvm/Support/JSON.h"

namespace accord {

llvm::json::Value toJson(const DataflowProblem &problem, const DataflowResult &result);
/// Problem and answer of what `toJson` wrote; reports at `path` what is of another form. The problem of the choice
/// (`DataflowResult::problem`) and words are not read.
bool readDataflow(const llvm::json::Value &value, DataflowProblem &problem, DataflowResult &result,
                  llvm::json::Path path);

} // namespace accord
