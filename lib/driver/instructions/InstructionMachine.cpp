#include "lib/driver/instructions/InstructionMachine.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/syntax/Ast.h"
#include "lib/language/syntax/Sources.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

/// A microarchitecture, and the core that has it if one does.
struct Candidate {
  accel::MicroarchitectureOp op;
  std::string symbol; ///< its name in the module
  std::string accelerator, core;
  double clock = 0;

  std::string name() const { return accelerator.empty() ? symbol : accelerator + "." + core; }
  bool isNamed(const std::string &text) const { return text == name() || text == symbol; }
  bool isPart(const std::string &text) const { return text == core || text == accelerator; }
};

double clockOf(accel::AcceleratorOp accelerator) {
  auto clock = accelerator.getEntries().getAs<accel::QuantityAttr>("clock");
  return clock ? clock.quantity().value.toDouble() : 0;
}

/// Cores of accelerators in their order, then what no core has.
std::vector<Candidate> candidatesOf(mlir::ModuleOp module) {
  std::vector<Candidate> all;
  llvm::SmallPtrSet<mlir::Operation *, 8> ofCores;
  for (auto accelerator : module.getOps<accel::AcceleratorOp>())
    accelerator->walk([&](accel::CoreOp core) {
      auto symbol = core->getAttrOfType<mlir::FlatSymbolRefAttr>(kMicroarchitectureAttribute);
      auto op = symbol ? module.lookupSymbol<accel::MicroarchitectureOp>(symbol.getValue()) : nullptr;
      if (!op)
        return;
      ofCores.insert(op);
      all.push_back(
          {op, op.getSymName().str(), accelerator.getSymName().str(), core.getSymName().str(), clockOf(accelerator)});
    });
  for (auto op : module.getOps<accel::MicroarchitectureOp>())
    if (!ofCores.contains(op))
      all.push_back({op, op.getSymName().str(), "", ""});
  return all;
}

std::vector<std::string> namesOf(const std::vector<Candidate> &all) {
  std::vector<std::string> names;
  for (const Candidate &one : all)
    names.push_back(one.name());
  return names;
}

/// Those of a whole name, `chip.core`, else of a core or accelerator; all where no name is given.
std::vector<Candidate> called(const std::string &text, const std::vector<Candidate> &all) {
  if (text.empty())
    return all;
  std::vector<Candidate> meant;
  llvm::copy_if(all, std::back_inserter(meant), [&](const Candidate &one) { return one.isNamed(text); });
  if (meant.empty())
    llvm::copy_if(all, std::back_inserter(meant), [&](const Candidate &one) { return one.isPart(text); });
  return meant;
}

/// Says why not exactly one is meant.
void reportChoice(Workspace &workspace, const std::vector<Candidate> &all, const std::vector<Candidate> &meant,
                  const std::string &name) {
  Diagnostics &diags = workspace.diagnostics();
  const ast::File &main = *workspace.program().main();
  const SourceRange start{main.id, 0, 0};
  const std::string path = diags.sources().path(main.id).str();
  if (all.empty()) {
    diags.error(Code::NoTarget, start, fmt::format("'{}' describes no core at the level of instructions", path))
        .help("for example: core c : vector { … microarchitecture { … } }, or microarchitecture NAME { … }");
  } else if (meant.empty()) {
    diags.error(Code::UnknownName, start, fmt::format("'{}' has no microarchitecture '{}'", path, name))
        .suggest(nearest(name, namesOf(all)))
        .help(fmt::format("it has {}", fmt::join(namesOf(all), ", ")));
  } else {
    auto error = diags.error(Code::AmbiguousTarget, start,
                             fmt::format("'{}' has {} microarchitectures{}, and one is needed", path, meant.size(),
                                         name.empty() ? "" : " called '" + name + "'"));
    error.help(fmt::format("choose one with --microarchitecture: {}", fmt::join(namesOf(meant), ", ")));
    for (const Candidate &one : meant)
      error.note(rangeOf(diags, sourceOf(accel::blockLocation(one.op))), fmt::format("'{}'", one.name()));
  }
}

} // namespace

Result<MachineFile> machineFileOf(llvm::StringRef written) {
  auto [file, name] = written.rsplit(':');
  if (written.ends_with(".accel"))
    return MachineFile{written.str(), ""};
  if (file.ends_with(".accel"))
    return MachineFile{file.str(), name.str()};
  const std::string folder = catalogFolder();
  const std::map<std::string, std::string> declared = microarchitecturesIn(folder);
  if (auto found = declared.find(written.str()); found != declared.end())
    return MachineFile{found->second, found->first};
  SourceManager none;
  Diagnostics unused(none);
  const Sources catalog(unused, folder);
  if (auto found = catalog.catalogFileOf(written))
    return MachineFile{*found, written.str()};
  if (std::string missing = missingCatalog(folder); !missing.empty())
    return Error{Code::CannotRead, missing};
  std::vector<std::string> names, known = catalog.catalogMachines(false);
  for (const auto &[name, file] : declared)
    names.push_back(name);
  known.insert(known.begin(), names.begin(), names.end());
  return Error{Code::UnknownName,
               fmt::format("--on: unknown machine '{}'; at the level of instructions the catalogue has {}; a file is "
                           "FILE.accel",
                           written.str(), fmt::join(names, ", ")),
               {},
               {},
               nearest(written, known)};
}

std::optional<InstructionMachine> instructionMachineOf(Workspace &workspace, const std::string &name,
                                                       const std::string &wanted, const std::string &hint) {
  const std::vector<Candidate> all = candidatesOf(workspace.program().module());
  std::vector<Candidate> meant = called(wanted, called(name, all));
  if (meant.size() > 1)
    if (std::vector<Candidate> hinted = called(hint, meant); !hinted.empty())
      meant = std::move(hinted);
  if (meant.size() != 1) {
    reportChoice(workspace, all, meant, wanted.empty() ? name : wanted);
    return std::nullopt;
  }
  auto machine = microarchitectureFrom(meant.front().op);
  if (mlir::failed(machine))
    return std::nullopt;
  return InstructionMachine{std::move(*machine), meant.front().clock};
}

} // namespace accord
