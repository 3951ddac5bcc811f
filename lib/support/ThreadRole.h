// What a thread of a long-lived process is for: its name, its priority, and that signals are not for it.
#pragma once
#include <csignal>
#include <pthread.h>
#include <sys/resource.h>

namespace accord {

/// Signals are for the threads of the program, not for those of a library.
inline void blockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// The calling thread has this name, at most 15 bytes, in `top -H` and in /proc/PID/task/*/comm.
inline void nameThread(const char *name) { pthread_setname_np(pthread_self(), name); }

/// The calling thread, and those that it makes, leave the processors to others that want them ("nice 10", which Linux
/// keeps for each thread).
inline void lowerPriority() {
  constexpr int kNice = 10;
  if (getpriority(PRIO_PROCESS, 0) < kNice) // one that is lower stays so
    (void)setpriority(PRIO_PROCESS, 0, kNice);
}

} // namespace accord
