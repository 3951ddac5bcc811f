#include "lib/driver/tuning/KeptTunings.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace accord {
namespace {
using namespace service;
namespace fs = std::filesystem;

Error cannot(Code code, const std::string &what, const fs::path &path) {
  return Error{code, fmt::format("'{}' cannot be {}", path.string(), what)};
}

Result<std::vector<KeptTuning>> readKept(const fs::path &folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const fs::directory_entry &one : fs::directory_iterator(folder, failed))
    files.push_back(one.path());
  if (failed)
    return cannot(Code::CannotRead, "read", folder);
  std::ranges::sort(files);
  std::vector<KeptTuning> kept;
  for (const fs::path &file : files) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    kept.push_back({file.string(), text.str()});
    if (kept.back().document.empty())
      return cannot(Code::CannotRead, "read", file);
  }
  return std::move(kept);
}

/// All of them or none: they are written beside, and renamed.
Result<void> writeKept(const std::vector<KeptTuning> &kept, const fs::path &folder) {
  const fs::path beside = folder.string() + ".new";
  std::error_code failed;
  fs::remove_all(beside, failed);
  fs::create_directories(beside, failed);
  for (size_t i = 0; i < kept.size(); ++i)
    if (const fs::path file = beside / fmt::format("{:02}.json", i);
        !(std::ofstream(file, std::ios::binary) << kept[i].document).flush())
      return cannot(Code::CannotWrite, "written", file);
  fs::rename(beside, folder, failed);
  return failed ? Result<void>(cannot(Code::CannotWrite, "written", folder)) : Result<void>();
}

} // namespace

bool namesService(const std::string &history) {
  const llvm::StringRef word = history;
  return word == "serve" || word.starts_with("http://") || word.starts_with("https://");
}

ClientOptions historyPlace(const std::string &history, ClientOptions client) {
  if (history != "serve")
    client.server = history, client.origin = "--history";
  return client;
}

Result<std::vector<KeptTuning>> keptTunings(const ClientOptions &place, const std::string &name,
                                            const std::string &folder) {
  std::error_code none;
  if (!folder.empty() && fs::is_directory(folder, none))
    return readKept(folder);
  ACCORD_TRY(client, ApiClient::open(place));
  ACCORD_TRY(list, client.tunings(name, kMaxKept));
  std::vector<KeptTuning> kept;
  for (const TuningRecord &one : list) {
    ACCORD_TRY(whole, client.tuning(one.id));
    kept.push_back({fmt::format("tuning {} of {}", one.id, client.place().url), std::move(whole.document)});
  }
  if (!folder.empty())
    if (auto written = writeKept(kept, folder); !written)
      return written.takeError();
  return std::move(kept);
}

} // namespace accord
