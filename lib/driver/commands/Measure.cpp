// accord measure: a script that measures single operations.
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/machine/operations/Script.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {
namespace {

struct MeasureOptions {
  std::string device = "cuda", output;
  bool sparse = false;
};

/// "" of a device as PyTorch writes it: "cuda", "cuda:1".
std::string wrongDevice(const std::string &device) {
  bool isDevice = !device.empty() && llvm::isAlpha(device.front()) &&
                  llvm::all_of(device, [](char c) { return llvm::isAlnum(c) || c == ':'; });
  return isDevice ? "" : "expected a device of PyTorch, as in cuda or cuda:1, found '" + device + "'";
}

int writeScript(const MeasureOptions &options) {
  std::string script = operations::measuringScript(options.device, options.sparse);
  if (options.output.empty()) {
    standardOutput() << script;
    return kDone;
  }
  SourceManager sources;
  Diagnostics diags(sources);
  if (writeFile(diags, options.output, script))
    return kDone;
  printDiagnostics(diags);
  return kWrongInput;
}

const CommandEntry kEntry("measure", "Write a PyTorch script that measures single operations", [](Command &command) {
  auto options = Command::values<MeasureOptions>();
  command.option("--device", options->device, "Device of PyTorch that the script measures")
      .showDefault()
      .check(wrongDevice);
  command.flag("--sparse", options->sparse, "The script measures 2:4 products, and what finding masks takes");
  addOutput(command, options->output, "File to write (default: standard output)");
  command.example("accord measure -o measure.py\n"
                  "         accord measure --sparse -o sparse.py");
  command.action([options] { return writeScript(*options); });
});

} // namespace
} // namespace accord
