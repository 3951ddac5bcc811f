// What limits a search, and what it tells while it runs: the same for every subject.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace accord {

/// How far a search is. What the numbers count in is for the search to say.
struct SolveProgress {
  std::string phase;     ///< "bounds", "lists", "z3", "windows"
  int64_t incumbent = 0; ///< 0 if there is none
  int64_t bound = 0;
};

} // namespace accord
