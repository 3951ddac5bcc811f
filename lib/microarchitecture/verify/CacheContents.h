// What a cache holds, in program order: sets of ways with time stamps (LRU), numbers of arrival (FIFO) or bits of a
// tree (PLRU). Times are not known here: a line names the fill that brings it by number.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <map>

namespace accord::microarchitecture {

/// Which operand used a place last, and as how many instructions had been executed before its instruction.
struct Touch {
  Index operand = kNone;
  int64_t instruction = -1;
};

/// What an access found, and what it changed.
struct Lookup {
  bool hit = false, fills = false; ///< neither: a store that goes around the cache
  int64_t fill = -1;               ///< number of the fill that brings the line; -1 if neither
  bool writesBack = false;         ///< the line that was replaced goes back
  int64_t victim = 0;              ///< its address in bytes
  Touch victimTouch;
};

class CacheContents {
public:
  explicit CacheContents(const Storage::Cache &cache) : cache(cache) {}

  struct Way {
    bool valid = false, dirty = false;
    int64_t address = 0; ///< of the first byte of the line
    int64_t fill = -1;
    uint64_t used = 0, came = 0;
    Touch touch;
  };
  struct Set {
    std::vector<Way> ways;
    uint32_t tree = 0; ///< bit n of node n, from 1 at the root: 1 if the next victim is on the right
  };

  /// Looks up the line at an address and changes the contents.
  Lookup access(int64_t lineAddress, bool store, Touch touch);
  /// Fills that were begun so far.
  int64_t fills() const { return begun; }

  /// The valid ways of a set in the order in which they would be replaced (LRU, FIFO), or by position (PLRU).
  std::vector<std::pair<int32_t, const Way *>> ordered(const Set &set) const;

  std::map<int64_t, Set> sets; ///< those that were used

private:
  int32_t victimOf(const Set &set) const;
  void use(Set &set, int32_t way);

  Storage::Cache cache;
  uint64_t clock = 0;
  int64_t begun = 0;
};

} // namespace accord::microarchitecture
