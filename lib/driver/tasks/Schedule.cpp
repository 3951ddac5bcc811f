#include "lib/driver/tasks/Schedule.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Session.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/import/projects/Projects.h"
#include "lib/language/syntax/Parser.h"
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/ScheduleOutput.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/scheduling/output/SchedulingJson.h"
#include "lib/scheduling/output/SchedulingMlir.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

using Reader = std::optional<PsplibImport> (*)(Diagnostics &, FileId);

std::optional<PsplibImport> reported(Diagnostics &diags, FileId file, Result<SchedulingProblem, Errors> read) {
  if (read)
    return PsplibImport{std::move(*read), {}};
  auto range = [&](const SourceLocation &at) {
    return at.line == 0 ? SourceRange{file, 0, 0} : diags.sources().at(file, {at.line, at.column});
  };
  for (const Error &error : read.error()) {
    auto builder = diags.error(error.code, range(error.location), error.message);
    builder.suggest(error.suggestion);
    for (const auto &[at, note] : error.notes)
      builder.note(range(at), note);
  }
  return std::nullopt;
}

std::optional<PsplibImport> readMlir(Diagnostics &diags, FileId file) {
  auto read = readSchedulingMlir(diags.sources().text(file).str(), diags.sources().path(file).str());
  if (read)
    return PsplibImport{std::move(read->problem), {}};
  return reported(diags, file, Errors{read.error()});
}

std::optional<PsplibImport> readJson(Diagnostics &diags, FileId file) {
  return reported(diags, file, readSchedulingJson(diags.sources().text(file).str(), diags.sources().path(file).str()));
}

struct Format {
  llvm::StringLiteral ending;
  Reader read;
};
constexpr Format kFormats[] = {{".sm", importPsplib},     {".mm", importPsplib},           {".rcp", importPatterson},
                               {".sch", importProgenMax}, {".jss", importJobShop},         {".jsp", importJobShop},
                               {".txt", importJobShop},   {".fjs", importFlexibleJobShop}, {".mlir", readMlir},
                               {".json", readJson}};

const Format *formatOf(llvm::StringRef path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  for (const Format &format : kFormats)
    if (ending.equals_insensitive(format.ending))
      return &format;
  return nullptr;
}

/// Letters, digits, '-' and '_' of a name; '.' for anything else.
std::string fileNameOf(const std::string &name) {
  std::string made = name;
  for (char &c : made)
    if (!llvm::isAlnum(c) && c != '-' && c != '_')
      c = '.';
  return made;
}

/// Writes the problems of the plan's regions: FOLDER/0-microbatch.json, … False after errors.
bool exportRegions(const Plan &plan, Session &session, const std::string &folder) {
  SingleDeviceRequest request = session.request();
  request.batch = plan.graph.microbatch * plan.graph.microbatches;
  std::map<RegionId, SchedulingProblem> problems;
  request.observe = [&](RegionId region, const SchedulingProblem &problem) { problems[region] = problem; };
  auto again = planFor(plan.graph, session.machine(), request);
  if (!again) {
    for (const Error &error : again.error())
      session.report(error);
    return false;
  }
  AnswerFiles files;
  for (auto &[region, problem] : problems) {
    problem.name = fmt::format("{} {}", plan.job, plan.graph.regions[region].name);
    files.push_back(
        {fmt::format("{}-{}.json", region, fileNameOf(plan.graph.regions[region].name)), schedulingJson(problem)});
  }
  return makeFolder(session.diagnostics(), folder) && writeFiles(session.diagnostics(), folder, files);
}

/// A file that PSPLIB's sections tell is read as one whatever its ending.
std::optional<PsplibImport> readProject(Diagnostics &diags, FileId file) {
  const Format *format = formatOf(diags.sources().path(file));
  bool sections = diags.sources().text(file).contains("REQUESTS/DURATIONS");
  return (sections || !format ? importPsplib : format->read)(diags, file);
}

/// Writes a problem as the ending of the path says. Returns what is wrong, or "".
std::string writeProblem(const SchedulingProblem &problem, const std::string &path) {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  bool json = ending.equals_insensitive(".json");
  if (!json && !ending.equals_insensitive(".mlir"))
    return fmt::format("--export-problem: expected a file that ends in .mlir or .json, found '{}'", path);
  SourceManager sources;
  Diagnostics diags(sources);
  if (!writeFile(diags, path, json ? schedulingJson(problem) : schedulingMlir(problem)))
    return diags.sorted().front().message;
  return "";
}

} // namespace

bool isProject(llvm::StringRef path) { return formatOf(path) != nullptr; }

int scheduleTraining(const Options &options, const PlanSearchLimits &limits, const ScheduleFiles &files) {
  auto monitor = SolverMonitor::ofCommand("schedule", "planning", limits, options.json);
  if (!monitor)
    return kWrongInput;
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "schedule");
  std::optional<Plan> plan = planUnder(*monitor, session);
  if (!plan)
    return session.finish(kWrongInput, "schedule");
  if (!files.problem.empty() && !exportRegions(*plan, session, files.problem))
    return session.finish(kWrongInput, "schedule");
  const llvm::json::Value document = scheduleJson(*plan);
  if (!files.html.empty() && !writePage(files.html, scheduleReport(document), options.json, "schedule"))
    return kWrongInput;
  standardOutput() << (options.json ? jsonText(document) + "\n" : scheduleTable(*plan));
  return session.finish(exitOf(statusOf(*plan)), "schedule");
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
  auto project = file ? readProject(diags, *file) : std::nullopt;
  printDiagnostics(diags);
  if (!project) {
    if (options.json)
      standardOutput() << jsonText(errorDocument(diags, "schedule")) << "\n";
    return kWrongInput;
  }
  for (const std::string &note : project->notes)
    standardError() << fmt::format("accord: {}\n", note);
  if (!options.files.problem.empty())
    if (std::string message = writeProblem(project->problem, options.files.problem); !message.empty())
      return wrong(message);
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
  if (!options.files.html.empty() && !writePage(options.files.html, scheduleReport(document), options.json, "schedule"))
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
