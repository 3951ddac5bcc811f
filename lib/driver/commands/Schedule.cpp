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
  static const std::set<std::string> kBoth = {"help", "effort", "threads", "json", "gap", "time-limit", "html"};
  for (const std::string &name : command.given())
    if (!kBoth.contains(name) && (name == "output") != project)
      return "--" + name;
  return "";
}

const CommandEntry
    kEntry("schedule", "When each operation runs on which core, or each job of a project", [](Command &command) {
      auto options = Command::values<Options>();
      auto limits = Command::values<PlanSearchLimits>();
      auto output = Command::values<std::string>(), html = Command::values<std::string>();
      addProgramOptions(command, *options);
      command.find("file").describe("A .dnn file, or a project of PSPLIB: .sm, .mm");
      command.find("--effort")
          .describe(fmt::format("Work of the search: 0 is a first answer, each step about doubles it, at most {} "
                                "(default: {}, of .sm and .mm {})",
                                kMaxEffort, kQuickEffort, kThoroughEffort));
      addLimits(command, *limits, "the best schedule so far is printed");
      command.option("-o,--output", *output, "Of .sm, .mm: folder for problem.mlir and what `accord verify` needs");
      addPage(command, *html);
      command.example("accord schedule gpt2.dnn --target tpu_like\n"
                      "         accord schedule j301_1.sm --gap 2% --html schedule.html\n"
                      "Ctrl-C prints the best schedule so far, with its gap.");
      command.action([command, options, limits, output, html] {
        bool project = isProject(options->file);
        if (std::string option = foreignOption(command, project); !option.empty())
          return refuse(Code::BadCommandLine,
                        option +
                            (project ? " says nothing about a project (.sm, .mm)" : " is for projects (.sm, .mm) only"),
                        options->json, "schedule");
        if (!project)
          return scheduleTraining(*options, *limits, *html);
        ProjectOptions how{options->file, limits->gap, limits->timeLimit, *output, *html};
        how.json = options->json;
        if (isGiven(command, "effort"))
          how.effort = options->effort;
        return scheduleProject(how);
      });
    });

} // namespace
} // namespace accord
