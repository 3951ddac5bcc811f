#include "lib/language/machines/OperationsFile.h"
#include "lib/machine/cost/OperationsModel.h"
#include "lib/machine/operations/File.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace accord {
namespace {

std::string symbolOf(llvm::StringRef device) {
  std::string out;
  for (char c : device)
    out += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  return out;
}

} // namespace

bool applyOperations(accel::AcceleratorOp machine, FileId file, llvm::StringRef name, SourceRange at,
                     Diagnostics &diags) {
  auto read = operations::readFile(diags.sources().text(file), diags.sources().path(file).str());
  if (!read) {
    for (const Error &error : read.error())
      diags
          .error(Code::BadCalibration, diags.sources().at(file, {error.location.line, error.location.column}),
                 error.message)
          .note(at, "it is read here");
    return false;
  }
  std::vector<std::string> known;
  for (auto &[device, sheet] : read->sheets) {
    known.push_back(symbolOf(device));
    if (known.back() != machine.getSymName())
      continue;
    NamedAttrList entries(machine.getEntriesAttr());
    if (!entries.get("cost_model"))
      entries.set("cost_model",
                  StringAttr::get(machine.getContext(), registerOperationsModel(*read, sheet, name.str())));
    machine.setEntriesAttr(entries.getDictionary(machine.getContext()));
    return true;
  }
  if (known.empty() && !read->sparse.empty()) {
    diags
        .error(Code::BadCalibration, at,
               fmt::format("'{}' has 2:4 products alone, and nothing of dense operations", name.str()))
        .help(fmt::format("`accord prune` reads it: kernels from \"{}\" in `sparsity for …`", name.str()));
    return false;
  }
  diags
      .error(Code::BadCalibration, at,
             fmt::format("'{}' has the devices {}, and this machine is '{}'", name.str(), fmt::join(known, ", "),
                         machine.getSymName().str()))
      .help("name the machine as one of them, or fit a table that has its data sheet");
  return false;
}

} // namespace accord
