// A file that one process at a time holds. It is released by the end of the process, however it ends.
#pragma once
#include "lib/support/Result.h"

namespace accord::service {

class ProcessLock {
public:
  /// `path` is made and gets the number of this process; `what` is named in the refusal: "'…' is in use by process 17"
  /// (A1204).
  static Result<ProcessLock> take(const std::string &path, const std::string &what);
  ProcessLock(ProcessLock &&other) noexcept : file(std::exchange(other.file, -1)) {}
  ProcessLock &operator=(ProcessLock &&) = delete;
  ~ProcessLock();

private:
  explicit ProcessLock(int file) : file(file) {}
  int file;
};

} // namespace accord::service
