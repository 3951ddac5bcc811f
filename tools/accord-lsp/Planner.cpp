#include "tools/accord-lsp/Planner.h"
#include "lib/editor/Actions.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <thread>

namespace accord::editor {
namespace {

std::string textOf(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// The program `accord` lies beside this one.
std::string compiler() {
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable("accord-lsp", &anchor);
  llvm::SmallString<256> path(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(path, "accord");
  return path.str().str();
}

/// The last line that says what is wrong, for a message on one line.
std::string firstError(llvm::StringRef errors) {
  llvm::SmallVector<llvm::StringRef> lines;
  errors.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.contains("error"))
      return line.trim().str();
  return errors.trim().str();
}

} // namespace

bool isSaved(const OpenFiles::File &file) { return textOf(file.path) == file.text; }

PlanAnswer planTraining(const std::string &path, const std::string &training, const std::function<bool()> &stop) {
  PlanAnswer answer;
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(path)), output, errors;
  llvm::sys::path::append(folder, "out", training);
  answer.folder = folder.str().str();
  if (llvm::sys::fs::createTemporaryFile("accord-plan", "json", output) ||
      llvm::sys::fs::createTemporaryFile("accord-plan", "txt", errors)) {
    answer.error = "no temporary file can be made";
    return answer;
  }
  const std::string program = compiler();
  std::vector<llvm::StringRef> arguments{program, "compile", path, "--train", training, "-o", answer.folder, "--json"};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), output.str(), errors.str()};
  llvm::sys::ProcessInfo process =
      llvm::sys::ExecuteNoWait(program, arguments, std::nullopt, redirects, 0, &answer.error);
  while (answer.error.empty()) {
    llvm::sys::ProcessInfo ended = llvm::sys::Wait(process, 0u, nullptr, nullptr, /*Polling=*/true);
    if (ended.Pid != 0) {
      std::string text = textOf(output);
      if (auto json = llvm::json::parse(text)) {
        const llvm::json::Object *object = json->getAsObject();
        answer.status = object ? object->getString("status").value_or("").str() : "";
      } else {
        llvm::consumeError(json.takeError());
      }
      if (ended.ReturnCode == 0 || ended.ReturnCode == 2)
        answer.conflicts = conflictsOf(text, path);
      else
        answer.error = firstError(textOf(errors));
      break;
    }
    if (stop()) {
      kill(process.Pid, SIGTERM);
      llvm::sys::Wait(process, std::nullopt);
      answer.error = "the planning was stopped";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (const auto &file : {output, errors})
    if (llvm::sys::fs::remove(file))
      continue; // it lies in the folder of temporary files
  llvm::SmallString<256> report(answer.folder);
  llvm::sys::path::append(report, "report.html");
  answer.report = report.str().str();
  return answer;
}

} // namespace accord::editor
