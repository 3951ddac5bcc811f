#include "lib/service/engines/slurm/TaskRecord.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace accord::service {
namespace {

Error cannot(const std::string &what, const std::string &path) {
  return Error{Code::EngineFailed,
               fmt::format("'{}' cannot be {}: {}", path, what, llvm::StringRef(std::strerror(errno)).lower())};
}

bool writeAll(int file, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += size_t(count);
  }
  return fsync(file) == 0;
}

} // namespace

Result<void> writeWhole(const std::string &path, const std::string &text) {
  std::string pattern = path + ".XXXXXX"; // two writers must not meet in one
  int file = mkostemp(pattern.data(), O_CLOEXEC);
  if (file < 0)
    return cannot("written", path);
  bool isWritten = writeAll(file, text) && fchmod(file, 0644) == 0;
  int reason = errno;
  close(file);
  if (!isWritten || rename(pattern.c_str(), path.c_str()) != 0) {
    reason = isWritten ? errno : reason;
    unlink(pattern.c_str());
    errno = reason;
    return cannot("written", path);
  }
  std::string folder = path.substr(0, path.rfind('/') + 1);
  if (int parent = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); parent >= 0) {
    fsync(parent);
    close(parent);
  }
  return {};
}

std::string readWhole(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return {};
  std::string text;
  char piece[4096];
  for (ssize_t count = 1; count != 0 && text.size() < (1u << 20);) {
    count = ::read(file, piece, sizeof piece);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    text.append(piece, size_t(count));
  }
  close(file);
  return llvm::StringRef(text).rtrim().str();
}

TaskLock::TaskLock(TaskLock &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
TaskLock &TaskLock::operator=(TaskLock &&other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
TaskLock::~TaskLock() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

bool TaskRecord::exists() const {
  std::error_code ignored;
  return std::filesystem::is_directory(folder_, ignored);
}

std::vector<std::string> TaskRecord::lines(const char *file) const {
  std::string text = read(file);
  std::vector<std::string> lines;
  llvm::StringRef rest(text);
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    lines.push_back(line.str());
    rest = others;
  }
  return lines;
}

Result<void> TaskRecord::write(const char *file, const std::string &text) const {
  if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
    return cannot("made", folder_);
  return writeWhole(folder_ + "/" + file, text);
}

Result<TaskLock> TaskRecord::lock(double timeLimit) const {
  if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
    return cannot("made", folder_);
  const std::string path = folder_ + "/lock";
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return cannot("opened", path);
  TaskLock lock(file);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(timeLimit, 1e6));
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > until)
      return cannot("locked", path);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return lock;
}

void TaskRecord::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int TaskRecord::exitCode() const {
  int code = -1;
  const std::string folder = read("folder");
  return folder.empty() || llvm::StringRef(readWhole(folder + "/exit")).getAsInteger(10, code) || code < 0 || code > 255
             ? -1
             : code;
}

double TaskRecord::exitTime() const {
  struct stat about{};
  const std::string folder = read("folder");
  if (folder.empty() || stat((folder + "/exit").c_str(), &about) != 0)
    return 0;
  return double(about.st_mtim.tv_sec) + double(about.st_mtim.tv_nsec) * 1e-9;
}

Result<std::vector<std::string>> recordedTasks(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error)
    return Error{Code::EngineFailed, fmt::format("the folder '{}' cannot be read: {}", folder, error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace accord::service
