#include "lib/support/CommandHost.h"
#include "lib/support/ReportedDiagnostic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>

namespace accord {
namespace {

/// One for all threads: those of a search print, too.
std::atomic<const CommandHost *> theHost = nullptr;

/// Without "." and "..", as two ways to write one path.
std::string plain(llvm::StringRef path) {
  llvm::SmallString<256> text(path);
  llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
  return text.str().str();
}

} // namespace

HostScope::HostScope(CommandHost &host) {
  std::map<std::string, std::string> files;
  for (auto &[path, text] : host.files)
    files[plain(path)] = std::move(text);
  host.files = std::move(files);
  theHost = &host;
}

HostScope::~HostScope() { theHost = nullptr; }

const CommandHost *currentHost() { return theHost; }

llvm::raw_ostream &standardOutput() {
  const CommandHost *host = theHost;
  return host && host->output ? *host->output : llvm::outs();
}

llvm::raw_ostream &standardError() {
  const CommandHost *host = theHost;
  return host && host->error ? *host->error : llvm::errs();
}

void reportToHost(ReportedDiagnostic diagnostic) {
  if (const CommandHost *host = theHost; host && host->reported)
    host->reported(std::move(diagnostic));
}

std::optional<llvm::StringRef> givenText(llvm::StringRef path) {
  const CommandHost *host = theHost;
  if (!host || host->files.empty())
    return std::nullopt;
  auto found = host->files.find(plain(path));
  return found == host->files.end() ? std::nullopt : std::optional<llvm::StringRef>(found->second);
}

bool isReadable(llvm::StringRef path) { return givenText(path) || llvm::sys::fs::exists(path); }

} // namespace accord
