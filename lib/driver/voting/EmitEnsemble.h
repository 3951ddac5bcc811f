// What `accord emit ensemble` does.
#pragma once
#include "lib/voting/emit/EnsembleScripts.h"
#include <string>

namespace accord {

struct EmitEnsembleOptions {
  std::string answer, output; ///< a folder that `accord vote` wrote, or its vote.json; a folder
  bool json = false;
  voting::EnsembleScriptOptions scripts = {};
};

/// Writes ensemble.json and the scripts into a folder; prints how to go on. Returns the exit status.
int emitEnsemble(const EmitEnsembleOptions &options);

} // namespace accord
