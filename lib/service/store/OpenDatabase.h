// The databases behind `openDatabase`, and what their parts share.
#pragma once
#include "lib/service/store/Database.h"
#include <condition_variable>
#include <mutex>

namespace accord::service {

/// By the path of its file; a folder holds it as "state.db".
Result<std::unique_ptr<Database>> openSqlite(const std::string &path);
/// `copyDatabase` of such a file.
Result<void> copySqlite(const std::string &path, const std::string &to);
/// By a URL "postgresql://user@host:port/name".
Result<std::unique_ptr<Database>> openPostgres(const std::string &url);

/// How often what another writer or a lost connection broke is tried again.
constexpr int kDatabaseRetries = 3;
/// Waits before the next try: 20 ms, 80 ms, 320 ms, …
void waitBeforeRetry(int attempt);

/// Error A1204.
Error stateError(std::string message);
/// The same of a statement, which is shortened.
Error statementError(const std::string &message, const std::string &statement);
/// Refuses what databases keep differently: NaN, texts with NUL or that are not UTF-8.
Result<void> checkParameters(const std::string &statement, const Row &parameters);

/// A file that one process at a time holds. It is released by the end of the process, however it ends.
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

/// The value of a cell; of one of another type, which a damaged database may have, 0 or an empty text.
template <class T> T valueOf(const Cell &cell) {
  const T *value = std::get_if<T>(&cell);
  return value ? *value : T();
}

/// Connections for reading that threads lend each other: at most so many, each used by one thread at a time.
template <class T> class ConnectionPool {
public:
  explicit ConnectionPool(size_t max) : max(max) {}

  /// Nothing: the caller opens one, and gives it back.
  std::unique_ptr<T> take() {
    std::unique_lock lock(mutex);
    returned.wait(lock, [&] { return !idle.empty() || lent < max; });
    ++lent;
    if (idle.empty())
      return nullptr;
    std::unique_ptr<T> one = std::move(idle.back());
    idle.pop_back();
    return one;
  }
  /// Null: it is closed.
  void give(std::unique_ptr<T> one) {
    std::lock_guard lock(mutex);
    --lent;
    if (one)
      idle.push_back(std::move(one));
    returned.notify_one();
  }

private:
  const size_t max;
  size_t lent = 0;
  std::vector<std::unique_ptr<T>> idle;
  std::mutex mutex;
  std::condition_variable returned;
};

} // namespace accord::service
