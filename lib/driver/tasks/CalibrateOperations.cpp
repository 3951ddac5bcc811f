#include "lib/driver/tasks/CalibrateOperations.h"
#include "lib/driver/Documents.h"
#include "lib/driver/Workspace.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/operations/File.h"
#include "lib/machine/operations/Score.h"
#include "lib/machine/operations/SparseProducts.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {
namespace {
using namespace operations;

struct NamedParameter {
  std::string device, name, unit; // no device: shared
  double value = 0;
};
struct OperationsDocument {
  std::vector<NamedParameter> parameters;
  std::vector<ErrorTable> tables;
};

void describeParameter(JsonFields &f, NamedParameter &one) {
  f.about("absent: of a device that no row is of").maybe("device", one.device).field("name", one.name);
  f.about("empty for a plain number").field("unit", one.unit).field("value", one.value);
}
void describeSummary(JsonFields &f, ErrorSummary &one) {
  f.about("an operation, a device, a class of measured times, or all").field("group", one.group);
  f.field("rows", one.rows).about("mean of |computed / measured - 1|").field("mean_error", one.meanError);
  f.about("mean of computed / measured - 1").field("bias", one.bias);
}
void describeTable(JsonFields &f, ErrorTable &table) {
  f.about("which rows the predictions had seen").field("title", table.title);
  f.field("groups", table.groups, describeSummary);
}
void describeDocument(JsonFields &f, OperationsDocument &document) {
  f.head("calibrate").field("parameters", document.parameters, describeParameter);
  f.field("tables", document.tables, describeTable);
}
llvm::json::Value operationsSchema() {
  OperationsDocument document; // a bias may be negative
  return describeJson([&](JsonVisitor &v) { visitValue(v, document, describeDocument); }, JsonRule::Open);
}
const DocumentEntry kDocument("operations", "accord calibrate --operations --json",
                              "Parameters of the times of single operations, and how far predicted times are from "
                              "measured ones. Errors are shares: 0.05 is 5 %.",
                              operationsSchema);

OperationsDocument documentOf(const Fit &fit, std::vector<ErrorTable> tables) {
  OperationsDocument document{{}, std::move(tables)};
  auto add = [&](const std::string &device, const Parameters &values) {
    for (size_t i = 0; i < kParameters; ++i)
      document.parameters.push_back({device, info(i).name, info(i).unit, values[i]});
  };
  if (fit.sparse.empty() || !fit.device.empty())
    add("", fit.shared);
  for (auto &[name, values] : fit.device)
    add(name, values);
  return document;
}

class Task {
public:
  explicit Task(const CalibrateOperationsOptions &options) : options(options), diags(sources) {}

  int run() {
    std::string path = options.devices.empty() ? catalogFolder() + "/devices.csv" : options.devices;
    auto devices = read(path, [&](std::string_view text) { return readDevices(text, path); });
    if (!devices)
      return finish();
    auto rows = read(options.rows, [&](std::string_view text) { return readRows(text, options.rows, *devices); });
    if (!rows)
      return finish();
    auto sparse = read(options.rows, [&](std::string_view text) { return readSparseRows(text, options.rows); });
    if (!sparse)
      return finish();
    return options.check.empty() ? fitAll(*rows, *devices, std::move(*sparse)) : checkAll(*rows, *devices, *sparse);
  }

private:
  template <typename Function>
  auto read(const std::string &path, Function parse) -> std::optional<std::decay_t<decltype(*parse({}))>> {
    auto file = accord::readFile(diags, path);
    if (!file)
      return std::nullopt;
    auto result = parse(sources.text(*file));
    if (auto *value = result.get())
      return std::move(*value);
    for (const Error &error : result.error())
      report(error);
    return std::nullopt;
  }

  int fitAll(const std::vector<Row> &rows, const Devices &devices, std::vector<SparseKernelTable> sparse) {
    // Of a table with 2:4 products alone there is no model of dense ones to fit.
    auto made = rows.empty() && !sparse.empty() ? Result<Fit>(Fit{}) : fit(rows, devices);
    if (!made) {
      report(made.error());
      return finish();
    }
    made->sparse = std::move(sparse);
    if (!options.output.empty() && !writeFile(diags, options.output, write(*made)))
      return finish();
    std::vector<ErrorTable> tables;
    if (!rows.empty()) {
      tables.push_back(summarize("seen", predictions(*made, rows, devices)));
      if (auto half = predictOtherHalf(rows, devices))
        tables.push_back(summarize("other half", *half));
      if (auto others = leaveDevicesOut(rows, devices))
        tables.push_back(summarize("device left out", *others));
    }
    if (!made->sparse.empty())
      for (ErrorTable &table : sparseErrors(made->sparse))
        tables.push_back(std::move(table));
    return show(*made, std::move(tables));
  }

  int checkAll(const std::vector<Row> &rows, const Devices &devices, const std::vector<SparseKernelTable> &sparse) {
    auto made = read(options.check, [&](std::string_view text) { return operations::readFile(text, options.check); });
    if (!made)
      return finish();
    std::vector<ErrorTable> tables;
    if (!rows.empty())
      tables.push_back(summarize("checked", predictions(*made, rows, devices)));
    if (!sparse.empty())
      tables.push_back(checkSparse(made->sparse, sparse));
    return show(*made, std::move(tables));
  }

  int show(const Fit &made, std::vector<ErrorTable> tables) {
    if (options.json)
      standardOutput() << jsonText(toDocument(documentOf(made, std::move(tables)), describeDocument)) << "\n";
    else
      standardOutput() << toText(tables);
    return finish();
  }

  void report(const Error &error) {
    auto builder = diags.error(error.code, rangeOf(diags, error.location), error.message);
    builder.suggest(error.suggestion);
  }
  int finish() { return accord::finish(diags, kDone, options.json, "calibrate"); }

  const CalibrateOperationsOptions &options;
  SourceManager sources;
  Diagnostics diags;
};

} // namespace

int calibrateOperations(const CalibrateOperationsOptions &options) { return Task(options).run(); }

} // namespace accord
