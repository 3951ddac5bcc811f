#include "lib/driver/AnswerFolder.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/ExitStatus.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/PageLinks.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accord {

namespace {

namespace fs = std::filesystem;

std::error_code lastError() { return {errno, std::generic_category()}; }

/// Writes to the disk what the system holds of a file or a folder.
std::error_code sync(const fs::path &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return lastError();
  std::error_code error = ::fsync(file) == 0 || errno == EINVAL ? std::error_code() : lastError();
  ::close(file);
  return error;
}

/// All files and folders below a folder, then the folder. Folders get the rights that it has.
std::error_code syncAll(const fs::path &folder) {
  std::error_code error;
  fs::perms rights = fs::status(folder, error).permissions();
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error))
      fs::permissions(at->path(), rights, error);
    if (std::error_code failed = error ? error : sync(at->path()))
      return failed;
  }
  return error ? error : sync(folder);
}

/// Gives a file, or a link to one, a further name.
std::error_code linkFile(const fs::path &from, const fs::path &to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error && fs::is_symlink(from, error))
    fs::copy_symlink(from, to, error);
  else if (!error)
    fs::create_hard_link(from, to, error);
  return error;
}

/// Without links, and where it will be if it is not there yet.
std::string realPath(const std::string &path) {
  std::error_code error;
  std::string real = fs::weakly_canonical(fs::absolute(path.empty() ? "." : path, error), error).string();
  while (real.size() > 1 && real.back() == '/')
    real.pop_back();
  return real;
}

/// The files of the answer in a folder, its manifest among them; none without a manifest.
std::set<std::string> answerIn(const std::string &folder) {
  std::set<std::string> names;
  if (auto manifest = readManifest(folder)) {
    names.insert(kManifestFile);
    for (const AnswerManifest::File &file : manifest->files)
      names.insert(file.name);
  }
  return names;
}

/// Names of the files in a folder itself that may be pages, sorted; at most 200.
std::vector<std::string> pageNamesIn(const fs::path &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && names.size() < 200; at.increment(error))
    if (at->path().extension() == ".html" && at->is_regular_file(error))
      names.push_back(at->path().filename().string());
  llvm::sort(names);
  return names;
}

} // namespace

AnswerFolder::AnswerFolder(Diagnostics &diags, std::string path) : diags_(diags), path_(realPath(path)) {
  fs::path folder(path_), beside = folder.parent_path();
  std::error_code error;
  fs::create_directories(beside, error);
  if (!error && fs::exists(folder, error) && !fs::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    diags_.error(Code::CannotWrite, {}, fmt::format("folder '{}' cannot be made: {}", path, error.message()));
    isWhole_ = false;
    return;
  }
  std::string hidden = "." + folder.filename().string() + ".accord";
  struct stat above, own;
  bool isRoot = ::stat(beside.c_str(), &above) == 0 && ::stat(path_.c_str(), &own) == 0 &&
                (above.st_dev != own.st_dev || above.st_ino == own.st_ino);
  if (isRoot || ::access(beside.c_str(), W_OK) != 0)
    beside = folder;
  std::string lock = (beside / (hidden + ".lock")).string();
  do { // until the file that is locked is still the one of that name
    if (lock_ >= 0)
      ::close(lock_);
    lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX) != 0 || ::fstat(lock_, &own) != 0) {
      fail(path, lastError());
      return;
    }
  } while (own.st_nlink == 0);
  staged_ = (beside / hidden).string();
  fs::remove_all(staged_, error); // of a run that was killed
  if (!error)
    fs::create_directory(staged_, error);
  if (error)
    fail(path, error);
}

AnswerFolder::~AnswerFolder() {
  std::error_code error;
  if (!staged_.empty())
    fs::remove_all(staged_, error);
  if (lock_ < 0)
    return;
  ::unlink((staged_ + ".lock").c_str());
  ::close(lock_);
}

bool AnswerFolder::fail(const std::string &what, std::error_code why) {
  diags_.error(Code::CannotWrite, {}, fmt::format("'{}' cannot be written: {}", what, why.message()));
  return isWhole_ = false;
}

AnswerFolder &AnswerFolder::write(llvm::StringRef name, llvm::StringRef text) {
  isWhole_ = isWhole_ && writeFile(diags_, staged_ + "/" + name.str(), text);
  return *this;
}

AnswerFolder &AnswerFolder::write(const AnswerFiles &files) {
  isWhole_ = isWhole_ && writeFiles(diags_, staged_, files);
  return *this;
}

/// Whether the folder has to stay the one that it is.
bool AnswerFolder::isAtWork() const {
  std::error_code error;
  std::string here = fs::current_path(error).string();
  return error || llvm::StringRef(staged_).starts_with(path_ + "/") || here == path_ ||
         llvm::StringRef(here).starts_with(path_ + "/");
}

/// Puts what no answer wrote into the new folder, too.
bool AnswerFolder::keepFilesOfOthers() {
  std::set<std::string> old = answerIn(path_);
  std::error_code error;
  auto names = filesIn(path_);
  if (!names)
    return false;
  for (const std::string &name : *names)
    if (fs::path to = fs::path(staged_) / name; !old.contains(name) &&
                                                fs::symlink_status(to, error).type() == fs::file_type::not_found &&
                                                linkFile(fs::path(path_) / name, to))
      return false;
  return true;
}

/// The two folders change their names in one step.
bool AnswerFolder::exchange() {
  std::error_code error;
  if (fs::symlink_status(path_, error).type() == fs::file_type::not_found)
    return ::rename(staged_.c_str(), path_.c_str()) == 0;
  return keepFilesOfOthers() && ::renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0;
}

bool AnswerFolder::moveInto(const std::vector<std::string> &made) {
  fs::path folder(path_);
  std::error_code error;
  std::set<std::string> old = answerIn(path_);
  fs::remove(folder / kManifestFile, error); // from here on the folder is not whole
  for (const std::string &name : old) {
    fs::remove(folder / name, error);
    for (fs::path above = (folder / name).parent_path(); above != folder && fs::remove(above, error);)
      above = above.parent_path(); // as long as nothing else is in it
  }
  auto move = [&](const std::string &name) {
    error.clear();
    fs::create_directories((folder / name).parent_path(), error);
    if (!error)
      fs::rename(fs::path(staged_) / name, folder / name, error);
    return error ? fail((folder / name).string(), error) : true;
  };
  for (const std::string &name : made)
    if (name != kManifestFile && !move(name))
      return false;
  return move(kManifestFile);
}

/// Gives each page of the answer links to the others.
bool AnswerFolder::linkPages() {
  auto names = filesIn(staged_);
  if (!names)
    return diags_.error(Code::CannotWrite, {}, names.error().message), isWhole_ = false;
  write(linkedPages(staged_, *names));
  return isWhole_;
}

bool AnswerFolder::commit() {
  if (!isWhole_ || !linkPages())
    return false;
  auto manifest = manifestOf(staged_, diags_.sources());
  if (!manifest)
    return diags_.error(Code::CannotWrite, {}, manifest.error().message), isWhole_ = false;
  if (!write(kManifestFile, manifestText(*manifest)))
    return false;
  if (std::error_code error = syncAll(staged_))
    return fail(path_, error);
  auto made = filesIn(staged_);
  if (!made)
    return diags_.error(Code::CannotWrite, {}, made.error().message), isWhole_ = false;
  if ((isAtWork() || !exchange()) && !moveInto(*made))
    return false;
  (void)sync(fs::path(path_).parent_path());
  return true;
}

Errors fileViolations(const AnswerFiles &given, const std::string &folder, bool all) {
  Errors found;
  for (const AnswerFile &file : given) {
    std::string path = (folder.empty() ? "." : folder) + "/" + file.name;
    auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!text && (all || text.getError() != std::errc::no_such_file_or_directory))
      found.push_back({Code::CertificateDisagrees,
                       fmt::format("'{}' cannot be read: {}", path, text.getError().message()),
                       {},
                       {}});
    else if (auto other = text ? differenceFrom(file, (*text)->getBuffer(), path) : std::nullopt)
      found.push_back({Code::CertificateDisagrees, *other, {}, {}});
  }
  return found;
}

bool hasResultFile(const std::string &path, const std::string &name) {
  return llvm::sys::fs::is_directory(path) ? llvm::sys::fs::exists(path + "/" + name)
                                           : llvm::sys::path::filename(path) == name && llvm::sys::fs::exists(path);
}

std::string resultFile(const std::string &path, const std::string &name) {
  return llvm::sys::fs::is_directory(path) ? path + "/" + name : path;
}

std::optional<std::string> readText(const std::string &file, bool json, const char *command) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return refused(Code::CannotRead, fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()), json,
                   command);
  return (*buffer)->getBuffer().str();
}

std::optional<ResultFile> readResultFile(const std::string &path, const std::string &name, bool json,
                                         const char *command) {
  std::string file = resultFile(path, name);
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  auto document = parseJson(*text, file);
  if (!document)
    return refused(Code::BadPlan, llvm::toString(document.takeError()), json, command);
  return ResultFile{std::move(file), std::move(*document)};
}

std::optional<Plan> readPlan(const std::string &path, bool json, const char *command) {
  std::string file = resultFile(path, "plan.json");
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  auto plan = planFromJson(*text, file);
  if (!plan)
    return refused(Code::BadPlan, llvm::toString(plan.takeError()), json, command);
  return std::move(*plan);
}

bool writePage(const std::string &file, const std::string &page, bool json, const char *command) {
  if (file.empty())
    return true;
  SourceManager sources;
  Diagnostics diags(sources);
  fs::path folder = fs::path(file).parent_path();
  std::string name = fs::path(file).filename().string(), beside = folder.empty() ? "." : folder.string();
  if (writeFile(diags, file, withPageLinks(page, name, pagesAmong(beside, pageNamesIn(beside)))))
    return true;
  refuse(Code::CannotWrite, diags.sorted().front().message, json, command);
  return false;
}

std::string reportLink(const std::string &answer, const std::string &file) {
  std::error_code error;
  fs::path folder = std::filesystem::is_directory(answer, error) ? std::filesystem::path(answer)
                                                                 : std::filesystem::path(answer).parent_path();
  fs::path report = std::filesystem::absolute(folder / "report.html", error).lexically_normal();
  if (error || !std::filesystem::exists(report, error))
    return "";
  return report.lexically_relative(std::filesystem::absolute(file, error).lexically_normal().parent_path())
      .generic_string();
}

} // namespace accord
