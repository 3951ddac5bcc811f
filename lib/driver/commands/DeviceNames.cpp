// Options of commands that ask for the devices of a plan, or look at them.
#include "lib/driver/CommandLine.h"
#include "lib/launch/Launch.h"
#include "lib/launch/Products.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace accord {
namespace {

/// "" of a name of a type as Slurm and labels of Kubernetes may have it.
std::string wrongName(const std::string &name) {
  const bool isName = !name.empty() && name.size() <= 63 && llvm::isAlnum(name.front()) && llvm::isAlnum(name.back()) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; });
  return isName ? "" : "expected at most 63 letters, digits, '-', '_' and '.', found '" + name + "'";
}

/// "" of what may be a part of a product's name.
std::string wrongProduct(const std::string &name) {
  return wordsOf(name).empty() ? "expected a name as in 'A100-SXM4-80GB', found '" + name + "'" : "";
}

} // namespace

void addDeviceNames(Command &command, LaunchOptions &launch) {
  command
      .option("--device-name", launch.deviceName,
              "What Slurm (gres/gpu:NAME) or the label of servers calls the devices (default: the plan's type, in "
              "lower case with '-')")
      .check(wrongName);
  command
      .option("--product", launch.product,
              "What nvidia-smi or its like call the devices, for the guard (default: by the catalogue, or the plan's "
              "type)")
      .check(wrongProduct);
  command.flag("--virtual", launch.isVirtual,
               "There are no devices, as in tests: the guard compares names of the scheduler alone");
}

} // namespace accord
