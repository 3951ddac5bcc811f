// What a thread of a long-lived process is for: its name, its priority, and that signals are not for it.
#pragma once
#include <csignal>
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

/// Runs `work` in a thread of its own behind all others, and waits for it. The caller keeps its priority: who computes
/// at a low one must hold no lock, for those who want the lock would wait for a processor with it.
template <typename Work> void runBehind(const char *name, const Work &work) {
  std::thread thread([&] {
    nameThread(name);
    lowerPriority();
    work();
  });
  thread.join();
}

} // namespace accord
