// Which of the mutants of a build is there, and which of them a test reaches: see mutate.py and run.py.
#pragma once
#include <array>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace accord {

/// Writes the number of a mutant that a test reached for the first time into the file that ACCORD_REACHED names. Each
/// line is one write at the end of the file, so that threads, children and processes that end abruptly lose none.
inline void reached(int number, const char *path) {
  static std::array<std::atomic<bool>, 1 << 16> before;
  if (before[number].load(std::memory_order_relaxed) || before[number].exchange(true))
    return;
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644); // NOLINT(cppcoreguidelines-pro-type-vararg)
  std::string line = std::to_string(number) + "\n";
  if (file < 0 || write(file, line.data(), line.size()) < 0)
    std::abort();
  close(file);
}

/// Whether this is the mutant that ACCORD_MUTANT names.
inline bool mutant(int number) {
  static const int chosen = [] {
    const char *text = std::getenv("ACCORD_MUTANT"); // NOLINT(concurrency-mt-unsafe)
    return text ? std::atoi(text) : -1;              // NOLINT(cert-err34-c)
  }();
  static const char *const path = std::getenv("ACCORD_REACHED"); // NOLINT(concurrency-mt-unsafe)
  if (path)
    reached(number, path);
  return number == chosen;
}

} // namespace accord
