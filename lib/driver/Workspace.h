// The file of a user with all that it imports: its program, the training that is meant, and what was reported.
#pragma once
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Options.h"
#include "mlir/IR/MLIRContext.h"

namespace accord {

class Workspace {
public:
  /// `options` are kept by reference.
  explicit Workspace(const Options &options) : options(options), diags(sources) {}

  /// Loads plugins, reads the file and checks what stands there. False if there is no whole program.
  bool read();
  /// The same, and finds its training. False after errors.
  bool readTraining();
  /// The same, and what the training runs on.
  bool open();

  Program &program() { return *theProgram; }
  TrainingJob &job() { return *theJob; }
  const TrainingJob &job() const { return *theJob; }
  /// The accelerator that the job's target is, or is made of.
  accel::AcceleratorOp accelerator();
  mlir::MLIRContext &context() { return *theContext; }
  Diagnostics &diagnostics() { return diags; }

  /// Reports an error at its place, with its code.
  void report(const Error &error, llvm::StringRef help = {});
  /// The errors of several, and whether there are any.
  bool reportAll(llvm::ArrayRef<Error> errors);
  /// `finish` of the diagnostics.
  int finish(int status, llvm::StringRef command) const;

  const Options &options;

private:
  bool loadPlugins();
  void warnOfClusterLimits();

  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<mlir::MLIRContext> theContext;
  std::unique_ptr<Program> theProgram;
  std::optional<TrainingJob> theJob;
  mlir::Operation *theAccelerator = nullptr;
};

/// Where a location of a file that was read is; of another one nowhere.
SourceRange rangeOf(const Diagnostics &diags, const SourceLocation &location);
/// Path of what is installed with the library, whichever program has loaded it: "bin/accord". In the build tree as when
/// installed, its folder lies beside that of libaccord.so.
std::string installedPath(llvm::StringRef name);
/// Folder of the shipped descriptions; ACCORD_CATALOG overrides it.
std::string catalogFolder();

} // namespace accord
