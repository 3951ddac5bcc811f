// States before the iterations of a loop, among which a recurrence is looked for.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <array>
#include <unordered_map>

namespace accord::microarchitecture {

/// Additive counters of an engine, in one list.
using Counters = std::vector<__int128>;
/// What is known where a state was seen.
struct Marks {
  Cycles base = 0;
  Counters counts;
};

/// States are kept as a whole up to a limit of numbers that all loops around each other share. Beyond, hashes are kept,
/// and the state at the second of two equal hashes; where it is seen again, it recurs.
class SeenStates {
public:
  SeenStates(int64_t &kept, int64_t limit) : kept(kept), limit(limit) {}
  SeenStates(const SeenStates &) = delete;
  SeenStates &operator=(const SeenStates &) = delete;
  ~SeenStates() { kept -= own; }

  struct Seen {
    int64_t iteration = 0;
    Marks marks;
    std::vector<int64_t> state; ///< empty: not kept
  };
  /// The place at which an equal state was seen; otherwise notes this one, and gives nothing.
  template <class Marker> const Seen *find(std::vector<int64_t> state, int64_t iteration, Marker marks) {
    numbersLooked += int64_t(state.size());
    auto [at, isNew] = all.try_emplace(hash(state));
    if (!isNew && at->second.state == state)
      return &at->second;
    if (!isNew && reference.state == state)
      return &reference;
    // A reference stays for as long as its period seems to be.
    if (!isNew && iteration <= until)
      return nullptr;
    if (!isNew)
      until = iteration + (iteration - at->second.iteration);
    Seen made{iteration, marks(), std::move(state)};
    const int64_t numbers = int64_t(made.state.size() + 2 * made.marks.counts.size());
    if (isNew && kept + numbers <= limit) {
      kept += numbers, own += numbers;
      at->second = std::move(made);
    } else if (isNew) {
      at->second.iteration = iteration;
    } else {
      reference = std::move(made);
    }
    return nullptr;
  }
  int64_t size() const { return int64_t(all.size()); }
  int64_t looked() const { return numbersLooked; } ///< numbers of all states

private:
  /// Numbers mixed as by splitmix64 (G. Steele et al., OOPSLA 2014).
  static uint64_t hash(const std::vector<int64_t> &state) {
    constexpr size_t kRows = 4; // none of which waits for another
    std::array<uint64_t, kRows> rows{state.size(), 1, 2, 3};
    auto mix = [](uint64_t &mixed, uint64_t number) {
      mixed = (mixed ^ number) + 0x9e3779b97f4a7c15ull;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
      mixed ^= mixed >> 27;
    };
    size_t i = 0;
    for (; i + kRows <= state.size(); i += kRows)
      for (size_t row = 0; row < kRows; ++row)
        mix(rows[row], uint64_t(state[i + row]));
    for (; i < state.size(); ++i)
      mix(rows[0], uint64_t(state[i]));
    for (size_t row = 1; row < kRows; ++row)
      mix(rows[0], rows[row]);
    return rows[0];
  }

  int64_t &kept;
  int64_t limit, own = 0, numbersLooked = 0;
  std::unordered_map<uint64_t, Seen> all; ///< by hash; looked up, never walked
  Seen reference;
  int64_t until = -1; ///< iteration up to which the reference stays
};

} // namespace accord::microarchitecture
