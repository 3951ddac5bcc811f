// `accord schedule` of a project of PSPLIB.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace accord {

struct ProjectOptions {
  std::string file;
  std::string gap = "0";          ///< a share: "2%", "0.02"
  std::string timeLimit = "none"; ///< or a time: "30 s"
  std::string output;             ///< folder for the certificate, or ""
  unsigned effort = 10;
  bool json = false;
};

/// By its ending, .sm or .mm.
bool isProject(llvm::StringRef path);

/// Prints the schedule. Exit status: 0, 1 the input is wrong, 2 infeasible, or no schedule found.
int scheduleProject(const ProjectOptions &options);

} // namespace accord
