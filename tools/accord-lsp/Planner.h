// `accord compile` as a process of its own, for the command accord.plan of editors.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/OpenFiles.h"

namespace accord::editor {

struct PlanAnswer {
  std::string error;  ///< why there is no answer; empty if there is one
  std::string status; ///< "optimal", "feasible", "infeasible"
  std::string folder, report;
  std::vector<Finding> conflicts; ///< of an infeasible training
};

/// Plans a training of a file into out/TRAINING beside the file. `stop` is asked again and again; where it is true, the
/// process is stopped.
PlanAnswer planTraining(const std::string &path, const std::string &training, const std::function<bool()> &stop);

/// Whether the disk has the text of the editor.
bool isSaved(const OpenFiles::File &file);

} // namespace accord::editor
