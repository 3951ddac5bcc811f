// When each operation of a step runs on which core, and when each task of a project runs.
#pragma once
#include "lib/driver/Options.h"
#include "llvm/ADT/StringRef.h"

namespace accord {

/// Plans the step of `options.file` on its machine and prints the schedule. `html`: file for the page, or "". Returns
/// the exit status of `accord schedule`.
int scheduleTraining(const Options &options, const PlanSearchLimits &limits, const std::string &html);

struct ProjectOptions {
  std::string file;
  std::string gap = "0";          ///< a share: "2%", "0.02"
  std::string timeLimit = "none"; ///< or a time: "30 s"
  std::string output;             ///< folder for the certificate, or ""
  std::string html;               ///< file for the page, or ""
  unsigned effort = kThoroughEffort;
  bool json = false;
};

/// By its ending, .sm or .mm.
bool isProject(llvm::StringRef path);

/// Prints the schedule. Exit status: 0, 1 the input is wrong, 2 infeasible, or no schedule found.
int scheduleProject(const ProjectOptions &options);

} // namespace accord
