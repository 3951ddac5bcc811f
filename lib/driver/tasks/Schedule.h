// When each operation of a step runs on which core, and when each task of a project runs.
#pragma once
#include "lib/driver/Options.h"
#include "llvm/ADT/StringRef.h"

namespace accord {

/// Where the answer goes beside standard output; each is empty where it is not asked for.
struct ScheduleFiles {
  std::string html;    ///< the page
  std::string problem; ///< of a project a file, .mlir or .json; of a training a folder, with a file for each region
};

/// Plans the step of `options.file` on its machine and prints the schedule. Returns the exit status of `accord
/// schedule`.
int scheduleTraining(const Options &options, const PlanSearchLimits &limits, const ScheduleFiles &files);

struct ProjectOptions {
  std::string file;
  std::string gap = "0";          ///< a share: "2%", "0.02"
  std::string timeLimit = "none"; ///< or a time: "30 s"
  std::string output;             ///< folder for the certificate, or ""
  ScheduleFiles files;
  unsigned effort = kThoroughEffort;
  bool json = false;
};

/// Endings of projects, for help and messages: PSPLIB and MMLIB (.sm, .mm), Patterson, ProGen/max, job shops and
/// flexible ones, `plan.problem` as text (.mlir) or as JSON.
constexpr const char *kProjectFormats = ".sm, .mm, .rcp, .sch, .jss, .fjs, .mlir, .json";

/// Whether a path has one of these endings, or another one of a job shop (.jsp, .txt).
bool isProject(llvm::StringRef path);

/// Prints the schedule. Exit status: 0, 1 the input is wrong, 2 infeasible, or no schedule found.
int scheduleProject(const ProjectOptions &options);

} // namespace accord
