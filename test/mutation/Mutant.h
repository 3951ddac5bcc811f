// Which of the mutants of a build is there: see mutate.py.
#pragma once
#include <cstdlib>

namespace accord {

/// Whether this is the mutant that the environment names.
inline bool mutant(int number) {
  static const int chosen = [] {
    const char *text = std::getenv("ACCORD_MUTANT"); // NOLINT(concurrency-mt-unsafe)
    return text ? std::atoi(text) : -1;              // NOLINT(cert-err34-c)
  }();
  return number == chosen;
}

} // namespace accord
