#include "lib/service/store/OpenDatabase.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace accord::service {

Error stateError(std::string message) { return {Code::StateFailed, std::move(message)}; }

Error statementError(const std::string &message, const std::string &statement) {
  constexpr size_t kMaxShown = 120;
  std::string shown = statement.substr(0, kMaxShown);
  if (statement.size() > kMaxShown)
    shown += "…";
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  return stateError(fmt::format("{} in '{}'", message, shown));
}

Result<void> checkParameters(const std::string &statement, const Row &parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *number = std::get_if<double>(&parameters[i]);
    const auto *text = std::get_if<std::string>(&parameters[i]);
    if (number && std::isnan(*number))
      return statementError(fmt::format("parameter {} is no number", i + 1), statement);
    if (text && text->find('\0') != std::string::npos)
      return statementError(fmt::format("parameter {} is a text with NUL", i + 1), statement);
    if (text && !llvm::json::isUTF8(*text))
      return statementError(fmt::format("parameter {} is a text that is not UTF-8", i + 1), statement);
  }
  return {};
}

void waitBeforeRetry(int attempt) { std::this_thread::sleep_for(std::chrono::milliseconds(20 << (2 * attempt))); }

ProcessLock::~ProcessLock() {
  if (file >= 0)
    close(file);
}

Result<ProcessLock> ProcessLock::take(const std::string &path, const std::string &what) {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return stateError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  ProcessLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return stateError(fmt::format("cannot lock '{}': {}", path, std::strerror(errno)));
    char holder[32] = {};
    ssize_t read = pread(file, holder, sizeof(holder) - 1, 0);
    size_t digits = read > 0 ? strspn(holder, "0123456789") : 0;
    return stateError(fmt::format("'{}' is in use by {}", what,
                                  digits > 0 ? "process " + std::string(holder, digits) : "another process"));
  }
  std::string number = fmt::format("{}\n", getpid());
  if (ftruncate(file, 0) != 0 || pwrite(file, number.data(), number.size(), 0) != ssize_t(number.size()))
    return stateError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  return lock;
}

static bool isPostgres(const std::string &url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

Result<std::unique_ptr<Database>> openDatabase(const std::string &url) {
  return isPostgres(url) ? openPostgres(url) : openSqlite(url);
}

Result<void> copyDatabase(const std::string &url, const std::string &to) {
  return isPostgres(url) ? stateError("a database of PostgreSQL is copied by pg_dump, not by the scheduler")
                         : copySqlite(url, to);
}

} // namespace accord::service
