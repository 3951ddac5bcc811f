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

/// An error of a trace, with its place where it has one.
int refuseTrace(const Error &error, bool json) {
  const SourceLocation &at = error.location;
  std::string place = at.file.empty() || at.line == 0 ? "" : fmt::format("{}:{}:{}: ", at.file, at.line, at.column);
  return refuse(error.code, place + error.message, json, "compare", error.suggestion);
}

} // namespace

int comparePlan(const CompareOptions &options) {
  if (holdsPlacement(options.plan))
    return refuse(
        Code::NotSupported,
        fmt::format("'{}' is the plan of a cluster: a trace is compared with the plan of one device", options.plan),
        options.json, "compare");
  auto plan = readPlan(options.plan, options.json, "compare");
  if (!plan)
    return kWrongInput;
  auto planned = plannedStepOf(*plan);
  if (!planned)
    return refuse(planned.error().code, options.plan + ": " + planned.error().message, options.json, "compare");
  auto events = readTraceEvents(options.trace);
  if (!events)
    return refuseTrace(events.error(), options.json);
  auto step = extractStep(*events, {options.step, options.device});
  if (!step)
    return refuseTrace(step.error(), options.json);
  const Comparison both = compare(std::move(*planned), std::move(*step));
  SourceManager sources;
  Diagnostics diags(sources);
  for (const auto &[file, text] :
       {std::pair(options.report, &comparisonPage), {options.rows, &stepRows}, {options.operations, &operationRows}})
    if (!file.empty() && !writeFile(diags, file, text(both)))
      return finish(diags, kWrongInput, options.json, "compare");
  if (options.json)
    standardOutput() << jsonText(toJson(both)) << "\n";
  else
    standardOutput() << comparisonText(both, options.all, TextStyle::of(standardOutput()));
  return kDone;
}

} // namespace accord
