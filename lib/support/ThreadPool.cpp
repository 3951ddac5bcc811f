#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace accord {

struct ThreadPool::Pool {
  std::mutex mutex;
  std::condition_variable begun, done;
  std::vector<std::thread> threads;
  const std::function<void(size_t)> *task = nullptr;
  size_t count = 0, busy = 0, round = 0;
  std::atomic<size_t> next = 0;
  bool ending = false;
  std::exception_ptr thrown; ///< by a task: the first one

  void work() {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      try {
        (*task)(i);
      } catch (...) { // the round ends, and its caller gets it
        next = count;
        std::lock_guard lock(mutex);
        if (!thrown)
          thrown = std::current_exception();
      }
  }
  void wait() {
    std::unique_lock lock(mutex);
    for (size_t seen = 0;;) {
      begun.wait(lock, [&] { return ending || round != seen; });
      if (ending)
        return;
      seen = round;
      lock.unlock();
      work();
      lock.lock();
      if (--busy == 0)
        done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(unsigned threads) : pool_(std::make_unique<Pool>()) {
  for (unsigned i = 1; i < std::min(threads, 256u); ++i) {
    try {
      pool_->threads.emplace_back([pool = pool_.get()] { pool->wait(); });
    } catch (const std::system_error &) {
      break; // fewer than asked for will do
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(pool_->mutex);
    pool_->ending = true;
  }
  pool_->begun.notify_all();
  for (std::thread &thread : pool_->threads)
    thread.join();
}

void ThreadPool::each(size_t count, const std::function<void(size_t)> &task) {
  Pool &pool = *pool_;
  if (count < 2 || pool.threads.empty()) {
    for (size_t i = 0; i < count; ++i)
      task(i);
    return;
  }
  {
    std::lock_guard lock(pool.mutex);
    pool.task = &task;
    pool.count = count;
    pool.thrown = nullptr;
    pool.next = 0;
    pool.busy = pool.threads.size();
    ++pool.round;
  }
  pool.begun.notify_all();
  pool.work();
  std::unique_lock lock(pool.mutex);
  pool.done.wait(lock, [&] { return pool.busy == 0; });
  if (pool.thrown)
    std::rethrow_exception(std::exchange(pool.thrown, nullptr));
}

} // namespace accord
