#include "lib/driver/Workspace.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <mutex>

namespace accord {

SourceRange rangeOf(const Diagnostics &diags, const SourceLocation &location) {
  if (auto file = diags.sources().find(location.file))
    return diags.sources().at(*file, {location.line, location.column});
  return {};
}

std::string installedPath(llvm::StringRef name) {
  static int anchor;
  Dl_info library{};
  llvm::SmallString<256> self;
  if (dladdr(&anchor, &library) == 0 || llvm::sys::fs::real_path(library.dli_fname, self))
    self = llvm::sys::fs::getMainExecutable("accord", &anchor);
  auto above = [&](unsigned levels) {
    llvm::SmallString<256> path = self;
    for (unsigned i = 0; i < levels; ++i)
      llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  // lib/libaccord.so, or lib/ARCHITECTURE/libaccord.so.
  return !llvm::sys::fs::exists(above(2)) && llvm::sys::fs::exists(above(3)) ? above(3) : above(2);
}

std::string catalogFolder() {
  const char *given = std::getenv("ACCORD_CATALOG");
  return given ? given : installedPath("share/accord/catalog");
}

bool Workspace::loadPlugins() {
  for (const std::string &path : options.plugins) {
    auto plugin = mlir::PassPlugin::load(path);
    if (!plugin) {
      diags.error(Code::PluginNotLoaded, {},
                  fmt::format("plugin '{}' cannot be loaded: {}", path, llvm::toString(plugin.takeError())));
      return false;
    }
    plugin->registerPassRegistryCallbacks();
  }
  return true;
}

/// Of requirements that a cluster states: those of a training alone are looked at.
void Workspace::warnOfClusterLimits() {
  accel::ClusterOp cluster = theProgram->cluster();
  if (!cluster)
    return;
  cluster->walk([&](accel::RequireOp require) {
    if (options.elaborate.mines && ClusterSpace::limits(require)) // a mined one is as it requires
      return;
    diags
        .warning(Code::NotSupported, rangeOf(diags, sourceOf(require.getLoc())),
                 fmt::format("not supported yet: what '{}' requires is not looked at", cluster.getSymName().str()))
        .help("state it where it is trained on: train … { require power <= 1.2 MW }");
  });
}

bool Workspace::read() {
  { // The registry of passes is one for all threads, and a workspace may be read in each.
    static std::mutex registering;
    std::lock_guard<std::mutex> alone(registering);
    if (!loadPlugins())
      return false;
    static std::once_flag once;
    std::call_once(once, [] {
      registerAllPasses();
      mlir::registerTransformsPasses(); // canonicalize and others, for --passes
    });
  }
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  theContext = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  theContext->printOpOnDiagnostic(false);
  theContext->loadAllAvailableDialects();
  ElaborateOptions elaborate = options.elaborate;
  elaborate.catalog = catalogFolder();
  if (!options.readable.empty()) {
    std::vector<std::string> folders = options.readable;
    folders.push_back(elaborate.catalog);
    sources.restrictTo(std::move(folders), options.described);
  }
  theProgram = std::make_unique<Program>(diags, *theContext, options.file, elaborate);
  // What is merely unused hides no other error; without a complete tree all else would be a guess.
  if (!theProgram->main() || !theProgram->main()->complete)
    return false;
  for (const Diagnostic &d : diags.sorted())
    if (d.severity == Severity::Error && d.code != Code::UnusedName && d.code != Code::UnusedInput)
      return false;
  theProgram->checkAll();
  return true;
}

bool Workspace::readTraining() {
  if (!read())
    return false;
  theJob = theProgram->job();
  // Wrong settings must not hide that the machine is wrong, too.
  if (!theJob && options.elaborate.target.empty())
    for (const ast::Declaration &d : theProgram->main()->declarations)
      if (ast::runsModel(d.kind) && !d.target.empty())
        theProgram->machine(d.target.text, d.target.range);
  return theJob && !diags.hasErrors();
}

bool Workspace::open() {
  if (!readTraining())
    return false;
  theAccelerator = theProgram->machineOf(*theJob);
  if (!theAccelerator || diags.hasErrors())
    return false;
  theProgram->reportUnused();
  if (diags.hasErrors())
    return false;
  warnOfClusterLimits();
  return true;
}

accel::AcceleratorOp Workspace::accelerator() { return llvm::cast<accel::AcceleratorOp>(theAccelerator); }

void Workspace::report(const Error &error, llvm::StringRef help) { reportError(diags, error, help); }

bool Workspace::reportAll(llvm::ArrayRef<Error> errors) {
  for (const Error &error : errors)
    report(error);
  return !errors.empty();
}

int Workspace::finish(int status, llvm::StringRef command) const {
  if (options.errors) {
    for (const Diagnostic &one : diags.sorted())
      if (one.severity == Severity::Error)
        options.errors->push_back({one.code, one.help.empty() ? one.message : one.message + "; " + one.help,
                                   diags.sources().location(one.range)});
    return status;
  }
  return accord::finish(diags, status, options.json, command);
}

} // namespace accord
