// Commands of an engine, which may fail, hang, or answer for ever: each ends within its limits.
//
//   auto said = runCommand({.words = {"scontrol", "show", "node", "--oneliner"}, .timeLimit = 10});
//   if (!said) …                    // A1203: it could not be started, or a limit was reached
//   if (said->exitCode == 0) use(said->output);
//
// No shell is involved. A command sees no descriptor of its caller but its standard input, output and error, and is the
// leader of a session and process group of its own. All functions may be called from several threads at once; no one
// waits for the command of another, and none throws.
#pragma once
#include "lib/support/Result.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accord::service {

struct Command {
  /// The program, which is looked up on PATH if it has no "/", and its arguments. At least one, without zero bytes.
  std::vector<std::string> words;
  /// Variables beside those of the caller; they replace those of the same name. PATH counts for the look-up.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string directory = {};          ///< where it runs; empty: where the caller does
  std::string input = {};              ///< its standard input
  double timeLimit = 10;               ///< seconds; its process group is killed then
  size_t maxOutput = size_t{64} << 20; ///< bytes of its output, and again of its errors; it is killed beyond
  /// What it leaves behind in its group goes on when it has ended, and when the caller dies. Otherwise both end it.
  bool leavesProcesses = false;
};

struct CommandOutput {
  int exitCode = 0; ///< of the program, or 128 and the number of the signal that ended it
  std::string output, error;
};

/// Runs a command to its end. A1203 if it could not be started, or reached its time limit or that of its output.
Result<CommandOutput> runCommand(const Command &command);

/// What a command prints. Also A1203 if its exit code is not 0.
Result<std::string> outputOf(const Command &command);

/// Starts a command that outlives its caller and is no child of it: its output and errors are appended to a file, or
/// lost if `outputFile` is empty. Limits and `leavesProcesses` do not count. Returns the number of its process, which
/// is that of its group, too. A1203 if it could not be started.
Result<int64_t> startDetached(const Command &command, const std::string &outputFile);

/// A1203 of a command that ended with something else than 0: the command, its exit code, and the start of what it said.
Error commandFailed(const Command &command, const CommandOutput &said);

/// The words on one line, those with other characters than usual in double quotes, cut where it is long.
std::string commandText(const std::vector<std::string> &words);

/// The first line that says something, in printable ASCII, cut where it is long.
std::string firstLineOf(const std::string &text);

} // namespace accord::service
