// Accord within another program: its commands, with what they print as texts and with descriptions that need not be on
// disk. This header needs nothing of LLVM.
#pragma once
#include "lib/support/ReportedDiagnostic.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace accord {

/// What a command answers, byte for byte as the program `accord` does.
struct Answer {
  /// 0 done, 1 the input is wrong, 2 infeasible, 3 internal error, 4 stopped before there was an answer.
  int status = 0;
  std::string output;   ///< what it prints to standard output: a table, or with --json a document
  std::string messages; ///< what it prints to standard error
  std::vector<ReportedDiagnostic> diagnostics; ///< the errors and warnings among them

  bool stopped = false; ///< the host or a time limit ended its search, so that another run may answer better

  /// Whether the status is 0.
  explicit operator bool() const { return status == 0; }
};

struct RunOptions {
  /// Texts by path, which commands read as if they were files. They hide files on disk.
  std::map<std::string, std::string> files = {};
  /// Asked ten times a second by another thread. Once it returns true, a search ends with its best answer so far, or
  /// with its first.
  std::function<bool()> stop = {};
};

/// Runs a command: {"compile", "gpt2.dnn", "--json"}. The process goes on whatever comes, keeps its signals, and its
/// standard streams stay untouched. Any thread may call it; the calls are served one after the other. Commands that end
/// only with their process (serve, watch, top, run --wait) are refused with A0801.
Answer run(const std::vector<std::string> &arguments, RunOptions options = {});

/// Version of Accord: "0.1.0".
std::string version();
/// Folder of the machines, models and tables that are shipped.
std::string catalogFolder();

} // namespace accord
