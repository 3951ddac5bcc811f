// What binds the files of an answer together, and to the sources from which they were made: manifest.json.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace accord {
class SourceManager;

constexpr const char *kManifestFile = "manifest.json";

struct AnswerManifest {
  /// A file by its path within the folder; a source by the path that the command was given, "catalog/…" of the
  /// catalogue.
  struct File {
    std::string name;
    int64_t bytes = 0;
    std::string sha256; ///< 64 hexadecimal digits
  };
  std::string version;
  std::vector<std::string> arguments; ///< of the command line, but for -o, --threads and --json; empty: not known
  std::vector<File> sources;          ///< in the order in which they were read
  std::vector<File> files;            ///< by name
  bool stopped = false; ///< a signal or a time limit ended the search, so that its command may give another answer
};

/// The command line of the command that runs, for the manifests of answers that it writes. Nothing stopped it so far.
void rememberCommandLine(const std::vector<std::string> &arguments);
/// A search of this command was ended by a signal or a time limit, which its manifests say from here on.
void rememberStop();
bool wasStopped();

/// Paths of all files below a folder, links among them, within it and in order. Error A0803: it cannot be listed.
Result<std::vector<std::string>> filesIn(const std::string &folder);

/// Of all files in a folder, which came from these sources. Error A0803: a file cannot be read, or the folder
/// not be listed.
Result<AnswerManifest> manifestOf(const std::string &folder, const SourceManager &sources);
std::string manifestText(const AnswerManifest &manifest);
/// Of a folder. Error A0970: there is none, or it is none.
Result<AnswerManifest> readManifest(const std::string &folder);

/// Files of a folder that are not as the manifest says: changed, missing, links, or in a folder `certificate` and not
/// listed. Files of others elsewhere are passed over. A0970 each.
Errors manifestViolations(const AnswerManifest &manifest, const std::string &folder);
/// Runs the command of an answer again, on `sources` in the place of those that it names, and compares what it reads
/// and writes: A0971 for each other source, else A0972 for each other file. `program` is accord itself.
Errors reproductionViolations(const AnswerManifest &answer, const std::string &folder, const std::string &program,
                              const std::vector<std::string> &sources);

} // namespace accord
