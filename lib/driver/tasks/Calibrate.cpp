#include "lib/driver/tasks/Calibrate.h"
#include "dialects/Register.h"
#include "lib/driver/GraphProfiler.h"
#include "lib/driver/Workspace.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/calibration/Accuracy.h"
#include "lib/machine/calibration/CalibrationJson.h"
#include "lib/machine/residuals/StepResiduals.h"
#include "lib/placement/output/PublishedRuns.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Passes.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {
using namespace calibrate;

/// Keeps the rows that hold one of the values asked for in every column asked for, each written
/// "column=value". Gives the name of a column that tables do not have; then all rows stay.
std::optional<std::string> keepMatchingRows(std::vector<Row> &rows, const std::vector<std::string> &where) {
  std::map<std::string, std::set<std::string>> wanted;
  std::vector<std::string> columns = columnNames();
  for (const std::string &text : where) {
    size_t equals = text.find('=');
    std::string column = text.substr(0, equals);
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      return column;
    wanted[column].insert(equals == std::string::npos ? "" : text.substr(equals + 1));
  }
  std::erase_if(rows, [&](const Row &row) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto &one) {
      auto cell = row.text.find(one.first);
      return !one.second.count(cell == row.text.end() ? std::string() : cell->second);
    });
  });
  return std::nullopt;
}

StepTimeInterval widest(const StepTimeInterval &a, const StepTimeInterval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

class Calibration {
public:
  explicit Calibration(const CalibrateOptions &options) : options(options), diags(sources) {}

  int run() {
    auto rows = readTable();
    if (!rows || !keep(*rows))
      return finish(kWrongInput);
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    registerAllPasses();
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false);
    context.loadAllAvailableDialects();
    GraphProfiler profiler(context, catalogFolder());
    if (!options.target.empty() && !named(profiler, options.target))
      return finish(kWrongInput);
    progress("building the rows' training graphs");
    prepared = CaseBuilder(profiler, options.target).prepare(*rows);
    for (const Error &issue : prepared.warnings)
      report(issue, /*error=*/false);
    if (prepared.cases.empty())
      return fail(
          {Code::NothingFitted, fmt::format("no row of '{}' is left to fit", options.rows), {options.rows, 1, 1}});
    progress("fitting");
    if (options.accuracy == "unseen") {
      standardOutput() << unseenStepsPage(prepared.cases);
      return finish(kDone);
    }
    if (!options.accuracy.empty()) {
      standardOutput() << accuracyPage(prepared.cases, prepared.warnings, options.accuracy == "gates");
      return finish(kDone);
    }
    if (!options.placements.empty()) {
      PublishedOptions how;
      how.choose = options.placements == "page";
      standardOutput() << publishedPage(profiler, *rows, prepared, how);
      return finish(kDone);
    }
    return options.check.empty() ? fitAll(profiler) : checkAll(profiler);
  }

private:
  static void progress(const char *what) {
    if (llvm::sys::Process::StandardErrIsDisplayed())
      standardError() << fmt::format("accord calibrate: {} …\n", what);
  }

  std::optional<std::vector<Row>> readTable() {
    auto file = readFile(diags, options.rows);
    if (!file)
      return std::nullopt;
    auto read = readRows(sources.text(*file), options.rows);
    if (auto *rows = read.get())
      return std::move(*rows);
    for (const Error &issue : read.error())
      report(issue);
    return std::nullopt;
  }

  /// --where column=value.
  bool keep(std::vector<Row> &rows) {
    auto unknown = keepMatchingRows(rows, options.where);
    if (unknown)
      diags.error(Code::BadCommandLine, {}, fmt::format("--where: no column '{}'", *unknown))
          .suggest(nearest(*unknown, columnNames()));
    return !unknown;
  }

  const Machine *named(GraphProfiler &profiler, const std::string &name) {
    auto read = profiler.hardware(name);
    if (auto *cluster = read.get())
      return &(prepared.machines[cluster->machine.name] = cluster->machine);
    report(read.error());
    return nullptr;
  }

  /// The machine of most rows, the first by name among equals: the file's values are of it, whatever the order of rows.
  const std::string &commonMachine() const {
    std::map<std::string, size_t> rows;
    for (const Case &one : prepared.cases)
      ++rows[one.machine];
    auto common = std::ranges::max_element(rows, {}, &std::pair<const std::string, size_t>::second);
    return prepared.machines.find(common->first)->first;
  }

  /// A calibration from a file; nothing after errors.
  std::optional<CalibrationFile> readCalibrationOf(const std::string &path) {
    auto source = readFile(diags, path);
    if (!source)
      return std::nullopt;
    auto read = readCalibration(sources.text(*source), path);
    if (read)
      return *std::move(read);
    for (const Error &issue : read.error())
      report(issue);
    return std::nullopt;
  }

  /// --prior: what these rows leave open is as that calibration has it, on each machine by the same factors.
  bool usePrior(GraphProfiler &profiler) {
    auto file = readCalibrationOf(options.prior);
    const Machine *machine = file ? named(profiler, file->machine) : nullptr;
    if (!machine)
      return false;
    priorFactors = factorsOf(*file, priorOf(*machine));
    priorIntervals = file->stepTime;
    for (Case &one : prepared.cases)
      one.prior = parametersOf(one.prior, priorFactors);
    return true;
  }

  int fitAll(GraphProfiler &profiler) {
    if (!options.prior.empty() && !usePrior(profiler))
      return finish(kWrongInput);
    if (options.cluster) // one source, whoever measured it
      for (Case &one : prepared.cases)
        one.columns.erase("source");
    weighBySource(prepared.cases);
    constexpr double kOwnPriorWeight = 2; // beside a prior that many rows spoke for
    std::optional<double> weight;         // of one source: the fit's choice
    if (severalSources(prepared.cases))
      weight = options.prior.empty() ? kCarriedPriorWeight : kOwnPriorWeight;
    auto made = fit(prepared.cases, weight);
    if (!made)
      return fail(made.error());
    bool known = options.cluster && prepared.cases.size() >= kMinRowsOfCluster;
    const StepTimeIntervals &withoutRows = options.prior.empty() ? kPriorStepTime : priorIntervals;
    auto intervals =
        known ? unseenRowIntervals(prepared.cases, withoutRows) : unseenSourceIntervals(prepared.cases, withoutRows);
    if (!intervals)
      return fail(intervals.error());
    auto fileOf = [&](const std::string &machine) {
      CalibrationFile file = calibrationOf(machine, parametersOf(priorOf(prepared.machines.at(machine)), priorFactors),
                                           *made, residualsOf(prepared.cases, made->factors), prepared.assumptions);
      file.stepTime = known ? *intervals
                            : StepTimeIntervals{widest(intervals->attending, priorIntervals.attending),
                                                widest(intervals->other, priorIntervals.other)};
      return file;
    };
    CalibrationFile file = fileOf(commonMachine());
    if (llvm::StringRef(options.output).ends_with("/")) { // one for each machine
      for (const auto &[name, machine] : prepared.machines)
        if (!writeFile(diags, options.output + name + ".calibration", write(fileOf(name))))
          return finish(kWrongInput);
    } else if (!options.output.empty() && !writeFile(diags, options.output, write(file))) {
      return finish(kWrongInput);
    }
    return show(file, &*made);
  }

  int checkAll(GraphProfiler &profiler) {
    auto read = readCalibrationOf(options.check);
    if (!read)
      return finish(kWrongInput);
    CalibrationFile file = *std::move(read);
    const Machine *machine = named(profiler, file.machine);
    if (!machine)
      return finish(kWrongInput);
    // Errors at rows that the file was fitted to say little.
    size_t seen = std::erase_if(prepared.cases, [&](const Case &one) {
      return std::ranges::find(file.rows, one.id, &Residual::id) != file.rows.end();
    });
    if (prepared.cases.empty())
      return fail({Code::NothingFitted, "the calibration has seen every row of the table"});
    if (seen > 0)
      standardError() << fmt::format("accord calibrate: {} rows are left out, '{}' was fitted to them\n", seen,
                                     options.check);
    file.rows = residualsOf(prepared.cases, factorsOf(file, priorOf(*machine)));
    return show(file, nullptr);
  }

  int show(const CalibrationFile &file, const Fit *fitted) {
    if (options.json)
      standardOutput() << jsonText(toJson(file, fitted, prepared.warnings)) << "\n";
    else
      standardOutput() << toText(file, fitted);
    return finish(kDone);
  }

  void report(const Error &issue, bool error = true) {
    auto builder = error ? diags.error(issue.code, rangeOf(diags, issue.location), issue.message)
                         : diags.warning(issue.code, rangeOf(diags, issue.location), issue.message);
    for (auto &[location, message] : issue.notes)
      builder.note(rangeOf(diags, location), message);
  }
  int fail(const Error &issue) {
    report(issue);
    return finish(kWrongInput);
  }
  int finish(int status) {
    if (diags.hasErrors() && options.json)
      standardOutput() << jsonText(errorDocument(diags, "calibrate")) << "\n";
    else
      printDiagnostics(diags);
    return diags.hasErrors() ? int(kWrongInput) : status;
  }

  const CalibrateOptions &options;
  SourceManager sources;
  Diagnostics diags;
  Prepared prepared;
  Factors priorFactors = unitFactors();
  StepTimeIntervals priorIntervals; ///< sources that these rows do not have differ as much
};

} // namespace

int calibrateMachine(const CalibrateOptions &options) { return Calibration(options).run(); }

} // namespace accord
