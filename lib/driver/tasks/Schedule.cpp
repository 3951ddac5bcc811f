#include "lib/driver/tasks/Schedule.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Session.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/import/psplib/Psplib.h"
#include "lib/language/syntax/Parser.h"
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/ScheduleOutput.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
int scheduleTraining(const Options &options, const PlanSearchLimits &limits, const std::string &html) {
  auto monitor = SolverMonitor::ofCommand("schedule", "planning", limits, options.json);
  if (!monitor)
    return kWrongInput;
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "schedule");
  std::optional<Plan> plan = planUnder(*monitor, session);
  if (!plan)
    return session.finish(kWrongInput, "schedule");
  const llvm::json::Value document = scheduleJson(*plan);
  if (!html.empty() && !writePage(html, scheduleReport(document), options.json, "schedule"))
    return kWrongInput;
  standardOutput() << (options.json ? jsonText(document) + "\n" : scheduleTable(*plan));
  return session.finish(exitOf(statusOf(*plan)), "schedule");
}

bool isProject(llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  return ending.equals_insensitive(".sm") || ending.equals_insensitive(".mm");
}

/// A stop may come before the proof of what a solver claims. What remains is what needs none: bounds of arithmetic.
static void withdrawClaim(const SchedulingProblem &problem, SchedulingResult &result, const std::string &reason) {
  SolveOptions brief;
  brief.effort = 0;
  result.bound = schedule(problem, brief).bound;
  if (result.status == SchedulingResult::Status::Infeasible)
    result.status = SchedulingResult::Status::Unknown, result.conflict.clear();
  result.stopped = reason;
}

int scheduleProject(const ProjectOptions &options) {
  auto wrong = [&](const std::string &message) {
    return refuse(Code::BadCommandLine, message, options.json, "schedule");
  };
  auto monitor = SolverMonitor::ofCommand("schedule", "makespan", {options.gap, options.timeLimit}, options.json,
                                          /*picoseconds=*/false);
  if (!monitor)
    return kWrongInput;
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = readFile(diags, options.file);
  auto project = file ? importPsplib(diags, *file) : std::nullopt;
  printDiagnostics(diags);
  if (!project) {
    if (options.json)
      standardOutput() << jsonText(errorDocument(diags, "schedule")) << "\n";
    return kWrongInput;
  }
  for (const std::string &note : project->notes)
    standardError() << fmt::format("accord: {}\n", note);
  SolveOptions solve;
  solve.effort = std::min(options.effort, kMaxEffort);
  solve.gap = monitor->gap();
  solve.stop = monitor->stop();
  solve.progress = [&](const SolveProgress &progress) { monitor->reportProgress(progress); };
  SchedulingResult result = schedule(project->problem, solve);
  monitor->found();
  if (result.status == SchedulingResult::Status::Feasible)
    result.solution = leftJustified(project->problem, std::move(result.solution));
  if (result.stopped == "interrupted")
    result.stopped = monitor->reason();
  if (!options.output.empty()) {
    std::optional<AnswerFolder> answer(std::in_place, diags, options.output);
    ProofSearchOptions proof;
    proof.stop = monitor->stop();
    std::vector<std::string> unproved;
    auto writeAll = [&] {
      return *answer ? writeCertificate(answer->path(), project->problem, result, proof, unproved) : std::nullopt;
    };
    auto error = writeAll();
    if (!error && !unproved.empty() && *monitor->stop()) {
      withdrawClaim(project->problem, result, monitor->reason());
      unproved.clear();
      answer.emplace(diags, options.output);
      error = writeAll();
    }
    if (error)
      return wrong(error->message);
    for (const std::string &sentence : unproved)
      standardError() << fmt::format("accord: {}\n", sentence);
    if (!answer->commit()) {
      printDiagnostics(diags);
      return kWrongInput;
    }
  }
  const llvm::json::Value document = projectScheduleJson(project->problem, result);
  if (!options.html.empty() && !writePage(options.html, scheduleReport(document), options.json, "schedule"))
    return kWrongInput;
  TextStyle style = TextStyle::of(standardOutput());
  style.unicode &= style.colour;
  if (options.json)
    standardOutput() << jsonText(document) << "\n";
  else
    standardOutput() << projectScheduleText(project->problem, result, style);
  using enum SchedulingResult::Status;
  return exitOf(statusOf(result.status == Feasible, result.gap(), result.status == Infeasible));
}

} // namespace accord
