// What a thread of a long-lived process is for: its name, its priority, and that signals are not for it.
#pragma once
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>

namespace accord {

/// Signals are for the threads of the program, not for those of a library.
inline void blockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// The calling thread has this name, at most 15 bytes, in `top -H` and in /proc/PID/task/*/comm.
inline void nameThread(const char *name) { pthread_setname_np(pthread_self(), name); }

/// The calling thread, and those that it makes, leave the processors to others that want them: "nice 10" and
/// SCHED_BATCH, which Linux keeps for each thread.
inline void lowerPriority() {
  constexpr int kNice = 10;
  if (getpriority(PRIO_PROCESS, 0) < kNice) // one that is lower stays so
    (void)setpriority(PRIO_PROCESS, 0, kNice);
  const sched_param none{};
  (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

/// A thread behind all others, for what is computed while no lock is held: who wants the lock would wait for a
/// processor together with it. One that stays, as its memory would be that of a new one each time.
class ThreadBehind {
public:
  explicit ThreadBehind(const char *name) : thread_([this, name] { loop(name); }) {}
  ~ThreadBehind() {
    {
      std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  ThreadBehind(const ThreadBehind &) = delete;
  /// Runs `work` there, and waits for it. One caller at a time.
  void run(const std::function<void()> &work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !work_; });
  }

private:
  void loop(const char *name) {
    nameThread(name);
    lowerPriority();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return work_ || ends_; });
      if (!work_)
        return;
      lock.unlock();
      (*work_)();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()> *work_ = nullptr; ///< null: there is nothing to do
  bool ends_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace accord
