// accord schedule FILE.sm | FILE.mm: a project of PSPLIB.
#include "tools/accord/ScheduleProject.h"
#include "lib/planning/output/Certificate.h"
#include "lib/support/documents/JsonText.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/import/psplib/Psplib.h"
#include "lib/language/syntax/Parser.h"
#include "tools/accord/Session.h"
#include "tools/accord/SolveWatch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// More doubles nothing that could still end.
constexpr unsigned kMostEffort = 40;

} // namespace

bool isProject(llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  return ending.equals_insensitive(".sm") || ending.equals_insensitive(".mm");
}

int scheduleProject(const ProjectOptions &options) {
  auto wrong = [&](const std::string &message) {
    return refuse(Code::BadCommandLine, message, options.json, "schedule");
  };
  auto asked = SolveWatch::asked(options.gap, options.timeLimit);
  if (auto *message = std::get_if<std::string>(&asked))
    return wrong(*message);
  auto [gap, seconds] = std::get<SolveWatch::Asked>(asked);
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = readFile(diags, options.file);
  auto project = file ? importPsplib(diags, *file) : std::nullopt;
  diags.render(llvm::errs(), llvm::errs().has_colors());
  if (!project) {
    if (options.json)
      llvm::outs() << jsonText(errorDocument(diags, "schedule")) << "\n";
    return kWrongInput;
  }
  for (const std::string &note : project->notes)
    fmt::print(stderr, "accord: {}\n", note);
  SchedulingResult result;
  {
    SolveWatch watch("makespan", {true, seconds});
    SolveOptions solve;
    solve.effort = std::min(options.effort, kMostEffort);
    solve.gap = gap;
    solve.stop = watch.stop();
    solve.progress = [&](const SolveProgress &progress) { watch.tell(progress); };
    result = schedule(project->problem, solve);
    if (result.stopped == "interrupted")
      result.stopped = watch.reason();
  }
  if (!options.output.empty())
    if (auto issue = writeCertificate(options.output, project->problem, result))
      return wrong(issue->message);
  TextStyle style = TextStyle::of(llvm::outs());
  style.unicode &= style.colour;
  if (options.json)
    llvm::outs() << jsonText(projectScheduleJson(project->problem, result)) << "\n";
  else
    llvm::outs() << projectScheduleText(project->problem, result, style);
  return result.status == SchedulingResult::Status::Feasible ? kDone : kInfeasible;
}

} // namespace accord
