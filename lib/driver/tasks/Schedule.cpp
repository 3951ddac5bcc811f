#include "lib/driver/tasks/Schedule.h"
#include "lib/driver/Session.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/import/psplib/Psplib.h"
#include "lib/language/syntax/Parser.h"
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/ScheduleOutput.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
int scheduleTraining(const Options &options, const PlanSearchLimits &limits) {
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "schedule");
  std::optional<Plan> plan = planInterruptibly(session, limits);
  if (!plan)
    return session.finish(kWrongInput, "schedule");
  llvm::outs() << (options.json ? jsonText(scheduleJson(*plan)) + "\n" : scheduleTable(*plan));
  return session.finish(plan->feasible ? kDone : kInfeasible, "schedule");
}

bool isProject(llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  return ending.equals_insensitive(".sm") || ending.equals_insensitive(".mm");
}

int scheduleProject(const ProjectOptions &options) {
  auto wrong = [&](const std::string &message) {
    return refuse(Code::BadCommandLine, message, options.json, "schedule");
  };
  auto parsedLimits = SolverMonitor::parsedLimits(options.gap, options.timeLimit);
  if (auto *message = std::get_if<std::string>(&parsedLimits))
    return wrong(*message);
  auto [gap, seconds] = std::get<SolverMonitor::ParsedLimits>(parsedLimits);
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
  std::vector<std::string> unproved;
  std::optional<Error> error;
  {
    SolverMonitor watch("makespan", {true, seconds});
    SolveOptions solve;
    solve.effort = std::min(options.effort, kMaxEffort);
    solve.gap = gap;
    solve.stop = watch.stop();
    solve.progress = [&](const SolveProgress &progress) { watch.reportProgress(progress); };
    result = schedule(project->problem, solve);
    if (result.stopped == "interrupted")
      result.stopped = watch.reason();
    if (!options.output.empty()) {
      ProofSearchOptions proof;
      proof.stop = watch.stop();
      error = writeCertificate(options.output, project->problem, result, proof, unproved);
    }
  }
  for (const std::string &sentence : unproved)
    fmt::print(stderr, "accord: {}\n", sentence);
  if (error)
    return wrong(error->message);
  TextStyle style = TextStyle::of(llvm::outs());
  style.unicode &= style.colour;
  if (options.json)
    llvm::outs() << jsonText(projectScheduleJson(project->problem, result)) << "\n";
  else
    llvm::outs() << projectScheduleText(project->problem, result, style);
  return result.status == SchedulingResult::Status::Feasible ? kDone : kInfeasible;
}

} // namespace accord
