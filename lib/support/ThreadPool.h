// Threads that wait for work, so that a round of microseconds need not start any.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace accord {

class ThreadPool {
public:
  /// `threads` with the caller's own; 0 is 1, more than 256 are 256.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  /// `task` for 0 .. count-1, each once, in any order; returns when all are done. What a task
  /// throws is thrown again here, the first of several; tasks that have not begun are left out.
  void each(size_t count, const std::function<void(size_t)> &task);

private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

} // namespace accord
