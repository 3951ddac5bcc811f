#include "lib/driver/traces/Compare.h"
#include "lib/comparison/output/ComparisonOutput.h"
#include "lib/comparison/solve/Compare.h"
#include "lib/comparison/solve/PlannedStep.h"
#include "lib/comparison/trace/StepExtractor.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextStyle.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {
using namespace comparison;

const DocumentEntry
    kDocument("compare", "accord compare --json",
              "A plan beside a step that PyTorch's profiler measured: which operation is which, what each "
              "takes, and what is not explained. Times in _s are seconds of one step.",
              comparisonSchema);

/// The traces of a list of files and folders; of a folder those whose names end in .json or .json.gz, by name.
Result<std::vector<std::string>> tracesOf(const std::vector<std::string> &given) {
  std::vector<std::string> files;
  for (const std::string &one : given) {
    if (!llvm::sys::fs::is_directory(one)) {
      files.push_back(one);
      continue;
    }
    std::vector<std::string> found;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator at(one, error), end; at != end && !error; at.increment(error))
      if (llvm::StringRef path = at->path(); path.ends_with(".json") || path.ends_with(".json.gz"))
        found.push_back(path.str());
    if (error)
      return Error{Code::CannotRead, fmt::format("cannot read '{}': {}", one, error.message())};
    if (found.empty())
      return Error{Code::CannotRead,
                   fmt::format("the folder '{}' has no trace: no file ends in .json or .json.gz", one)};
    llvm::sort(found);
    llvm::append_range(files, found);
  }
  return files;
}

} // namespace

int refuseTrace(const Error &error, bool json) {
  const SourceLocation &at = error.location;
  std::string place = at.file.empty() || at.line == 0 ? "" : fmt::format("{}:{}:{}: ", at.file, at.line, at.column);
  return refuse(error.code, place + error.message, json, "compare", error.suggestion);
}

int comparePlan(const CompareOptions &options) {
  auto files = tracesOf(options.traces);
  if (!files)
    return refuseTrace(files.error(), options.json);
  if (holdsPlacement(options.plan))
    return compareCluster(options, *files);
  if (!options.from.empty())
    return refuse(
        Code::BadCommandLine,
        fmt::format("'{}' is the plan of one device, which has its operations: leave out --from", options.plan),
        options.json, "compare");
  if (files->size() > 1)
    return refuse(Code::BadCommandLine,
                  fmt::format("'{}' is the plan of one device: it is compared with one trace, not with {}",
                              options.plan, files->size()),
                  options.json, "compare");
  auto plan = readPlan(options.plan, options.json, "compare");
  if (!plan)
    return kWrongInput;
  auto planned = plannedStepOf(*plan);
  if (!planned)
    return refuse(planned.error().code, options.plan + ": " + planned.error().message, options.json, "compare");
  auto events = readTraceEvents(files->front());
  if (!events)
    return refuseTrace(events.error(), options.json);
  auto step = extractStep(*events, {options.step, options.device});
  if (!step)
    return refuseTrace(step.error(), options.json);
  const Comparison both = compare(std::move(*planned), std::move(*step));
  return writeComparison(options, {[&] { return comparisonPage(both); }, [&] { return stepRows(both); },
                                   [&] { return operationRows(both); }, [&] { return jsonText(toJson(both)); },
                                   [&](const TextStyle &style) { return comparisonText(both, options.all, style); }});
}

int writeComparison(const CompareOptions &options, const ComparisonWriters &writers) {
  SourceManager sources;
  Diagnostics diags(sources);
  for (const auto &[file, text] : {std::pair(options.report, writers.page),
                                   {options.rows, writers.steps},
                                   {options.operations, writers.operations}})
    if (!file.empty() && !writeFile(diags, file, text()))
      return finish(diags, kWrongInput, options.json, "compare");
  if (options.json)
    standardOutput() << writers.json() << "\n";
  else
    standardOutput() << writers.text(TextStyle::of(standardOutput()));
  return kDone;
}

} // namespace accord
