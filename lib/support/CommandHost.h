// What a command has to do with the process that it runs in: where it prints, which texts it reads that are not on
// disk, and who may stop it. The program `accord` prints to its standard streams, reads the disk alone and takes
// signals. A program that embeds Accord (lib/driver/Accord.h) gets what is printed, and keeps its signals.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
}

namespace accord {
struct ReportedDiagnostic;

/// What a program that embeds Accord takes over while a command runs.
struct CommandHost {
  llvm::raw_ostream *output = nullptr, *error = nullptr; ///< instead of the standard streams
  std::map<std::string, std::string> files;              ///< texts by path; they hide what is on disk
  std::function<bool()> stop;                            ///< asked from another thread; may be empty
  std::function<void(ReportedDiagnostic)> reported;      ///< gets each that is printed; may be empty
};

/// While it lives, commands of this process run for `host`. There is one at a time.
class HostScope {
public:
  explicit HostScope(CommandHost &host);
  ~HostScope();
  HostScope(const HostScope &) = delete;
};

/// Of the command that runs now; null in the program `accord`.
const CommandHost *currentHost();
/// Where answers are printed.
llvm::raw_ostream &standardOutput();
/// Where diagnostics and what goes on are printed.
llvm::raw_ostream &standardError();
/// Tells the host, if there is one, of an error or a warning that is printed.
void reportToHost(ReportedDiagnostic diagnostic);
/// The text that stands for a file; nothing if the disk has it, or nobody. "./a.dnn" is "a.dnn".
std::optional<llvm::StringRef> givenText(llvm::StringRef path);
/// Whether a path is on disk, or stands for a text.
bool isReadable(llvm::StringRef path);

} // namespace accord
