// accord schedule: operations on the cores of one accelerator, or tasks of a project, as slots.
#include "lib/driver/tasks/Schedule.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

bool isGiven(const Command &command, const char *option) {
  std::vector<std::string> given = command.given();
  return std::find(given.begin(), given.end(), option) != given.end();
}

/// An option on the command line that says nothing about this kind of file, or "".
std::string foreignOption(const Command &command, bool project) {
  static const std::set<std::string> kBoth = {"help", "effort",     "threads", "json",
                                              "gap",  "time-limit", "html",    "export-problem"};
  for (const std::string &name : command.given())
    if (!kBoth.contains(name) && (name == "output") != project)
      return "--" + name;
  return "";
}

const CommandEntry
    kEntry("schedule", "When each operation runs on which core, or each job of a project", [](Command &command) {
      auto options = Command::values<Options>();
      auto limits = Command::values<PlanSearchLimits>();
      auto output = Command::values<std::string>();
      auto files = Command::values<ScheduleFiles>();
      addProgramOptions(command, *options);
      command.find("file").describe(fmt::format(
          "A .dnn file, a project or shop of a public library, or a problem that was exported: {}", kProjectFormats));
      command.find("--effort")
          .describe(fmt::format("Work of the search: 0 is a first answer, each step about doubles it, at most {} "
                                "(default: {}, of projects {})",
                                kMaxEffort, kQuickEffort, kThoroughEffort));
      addLimits(command, *limits, "the best schedule so far is printed");
      command.option("-o,--output", *output, "Of projects: folder for problem.mlir and what `accord verify` needs");
      addPage(command, files->html);
      command.option("--export-problem", files->problem,
                     "Of projects: file for the problem, .mlir or .json; of .dnn: folder for one .json a region");
      command.example("accord schedule gpt2.dnn --target tpu_like\n"
                      "         accord schedule j301_1.sm --gap 2% --html schedule.html\n"
                      "         accord schedule gpt2.dnn --target tpu_like --export-problem regions/\n"
                      "         accord schedule regions/0-microbatch.json --effort 12\n"
                      "Ctrl-C prints the best schedule so far, with its gap.");
      command.action([command, options, limits, output, files] {
        bool project = isProject(options->file);
        if (std::string option = foreignOption(command, project); !option.empty())
          return refuse(Code::BadCommandLine,
                        option + (project ? " says nothing about a project (.sm, .mm, …)"
                                          : " is for projects (.sm, .mm, …) only"),
                        options->json, "schedule");
        if (!project)
          return scheduleTraining(*options, *limits, *files);
        ProjectOptions how{options->file, limits->gap, limits->timeLimit, *output, *files};
        how.json = options->json;
        if (isGiven(command, "effort"))
          how.effort = options->effort;
        return scheduleProject(how);
      });
    });

} // namespace
} // namespace accord
