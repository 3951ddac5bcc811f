#include "lib/driver/AnswerManifest.h"
#include "lib/driver/Documents.h"
#include "lib/support/SourceManager.h"
#include "lib/support/Version.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using File = AnswerManifest::File;
namespace fs = std::filesystem;

std::vector<std::string> &commandLine() {
  static std::vector<std::string> arguments;
  return arguments;
}

std::atomic<bool> theStop = false;

File fileOf(std::string name, llvm::StringRef text) {
  return {std::move(name), static_cast<int64_t>(text.size()), sha256Of(text)};
}

/// A file of a folder as it is now; nothing where there is no regular file.
std::optional<File> fileIn(const std::string &folder, const std::string &name) {
  std::error_code error;
  if (fs::symlink_status(fs::path(folder) / name, error).type() != fs::file_type::regular)
    return std::nullopt;
  auto text = llvm::MemoryBuffer::getFile(folder + "/" + name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return text ? std::optional(fileOf(name, (*text)->getBuffer())) : std::nullopt;
}

Error violation(Code code, std::string message) { return {code, std::move(message), {}, {}}; }

std::map<std::string, const File *> byName(const std::vector<File> &files) {
  std::map<std::string, const File *> all;
  for (const File &file : files)
    all[file.name] = &file;
  return all;
}

} // namespace

void describe(JsonFields &f, AnswerManifest::File &file) {
  f.field("name", file.name).field("bytes", file.bytes);
  f.about("of its content", {{"pattern", "^[0-9a-f]{64}$"}}).field("sha256", file.sha256);
}

void describe(JsonFields &f, AnswerManifest &manifest) {
  f.constant("command", "manifest", "no manifest of an answer");
  f.about("version of accord that wrote this").field("version", manifest.version);
  f.constant("status", "done", "no manifest of an answer");
  f.about("of the command line, but for -o, --html, --threads and --json").field("arguments", manifest.arguments);
  f.about("a signal or a time limit ended the search: the command may give another answer")
      .maybe("stopped", manifest.stopped);
  f.about("from which the answer was made").field("sources", manifest.sources);
  f.about("of the answer, but for this one").field("files", manifest.files);
}

static const DocumentEntry kDocument("manifest", "manifest.json",
                                     "The files of an answer, and the sources from which they were made, with hashes.",
                                     [] { return schemaOf<AnswerManifest>(); });

Result<std::vector<std::string>> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->symlink_status(error).type() != fs::file_type::directory)
      names.push_back(fs::relative(at->path(), folder, error).string());
  if (error)
    return violation(Code::CannotWrite, fmt::format("'{}' cannot be listed: {}", folder, error.message()));
  llvm::sort(names);
  return names;
}

void rememberCommandLine(const std::vector<std::string> &arguments) {
  std::vector<std::string> &kept = commandLine();
  kept.clear();
  theStop = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i], name = argument.split('=').first;
    bool binds = name != "-o" && name != "--output" && name != "--threads" && name != "--html";
    if (!binds && name == argument)
      ++i; // its value
    else if (binds && argument != "--json" && !(argument.starts_with("-o") && argument.size() > 2))
      kept.push_back(arguments[i]);
  }
}

void rememberStop() { theStop = true; }
bool wasStopped() { return theStop; }

Result<AnswerManifest> manifestOf(const std::string &folder, const SourceManager &sources) {
  AnswerManifest made;
  made.version = kVersion;
  made.arguments = commandLine();
  made.stopped = wasStopped();
  ACCORD_TRY(names, filesIn(folder));
  for (const std::string &name : names) {
    auto file = fileIn(folder, name);
    if (!file)
      return violation(Code::CannotWrite, fmt::format("'{}/{}' cannot be read back", folder, name));
    made.files.push_back(std::move(*file));
  }
  for (uint32_t i = 0; i < sources.size(); ++i)
    made.sources.push_back(fileOf(sources.path(FileId{i}).str(), sources.text(FileId{i})));
  return made;
}

std::string manifestText(const AnswerManifest &manifest) { return jsonText(toDocument(manifest)) + "\n"; }

Result<AnswerManifest> readManifest(const std::string &folder) {
  std::string path = folder + "/" + kManifestFile;
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return violation(Code::WrongManifest, fmt::format("'{}' cannot be read: {}", path, text.getError().message()));
  auto document = parseJson((*text)->getBuffer(), path);
  if (!document)
    return violation(Code::WrongManifest, llvm::toString(document.takeError()));
  AnswerManifest manifest;
  llvm::json::Path::Root root(kManifestFile);
  if (!readDocument(*document, manifest, root))
    return violation(Code::WrongManifest, fmt::format("{}: {}", path, llvm::toString(root.getError())));
  return manifest;
}

Errors manifestViolations(const AnswerManifest &manifest, const std::string &folder) {
  Errors found;
  auto add = [&](const std::string &name, const char *what) {
    found.push_back(violation(Code::WrongManifest, fmt::format("'{}/{}' {}", folder, name, what)));
  };
  std::map<std::string, const File *> listed = byName(manifest.files);
  for (const auto &[name, stated] : listed) {
    std::error_code error;
    auto type = fs::symlink_status(fs::path(folder) / name, error).type();
    auto now = fileIn(folder, name);
    if (type == fs::file_type::not_found)
      add(name, "is missing");
    else if (!now)
      add(name, "is no regular file");
    else if (now->sha256 != stated->sha256)
      add(name, "was changed after the answer was written");
  }
  // A folder within that has a manifest, and nothing of this answer, is another answer.
  auto isOfAnother = [&](const std::string &name) {
    for (fs::path parent = fs::path(name).parent_path(); !parent.empty(); parent = parent.parent_path()) {
      const std::string before = parent.string() + "/";
      auto own = listed.lower_bound(before);
      if ((own == listed.end() || !own->first.starts_with(before)) &&
          fs::exists(fs::path(folder) / before / kManifestFile))
        return true;
    }
    return false;
  };
  // What lies beside a certificate is read as a part of it.
  auto names = filesIn(folder);
  if (!names)
    found.push_back(names.error());
  for (const std::string &name : names ? *names : std::vector<std::string>())
    if (fs::path(name).parent_path().filename() == "certificate" && !listed.contains(name) && !isOfAnother(name))
      add(name, "is not of this answer");
  return found;
}

} // namespace accord
