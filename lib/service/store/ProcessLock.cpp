#include "lib/service/store/ProcessLock.h"
#include "lib/service/store/OpenDatabase.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace accord::service {

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

} // namespace accord::service
