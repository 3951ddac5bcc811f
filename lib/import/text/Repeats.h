// Where a sequence of statements repeats itself. Plain data, so that it is tested without a file of
// any format. Internal to lib/import.
#pragma once
#include <cstdint>
#include <vector>

namespace accord::import {

/// A statement, or an input, of a sequence in which everything is made before it is read.
struct Step {
  uint32_t kind = 0;          ///< equal: same operation, attributes, and shapes of operands and result
  uint32_t type = 0;          ///< of the result; 0: no value that one copy could hand to the next
  std::vector<int> operands;  ///< earlier steps
  bool shared = false;        ///< a trained tensor: copies that read the same one stay as they are
  bool kept = false;          ///< read behind the last step: by a loss
  int lines = 1;              ///< of text; 0: written where it is read
  std::vector<uint32_t> path; ///< its name's words: copies differ in one before the last
};

/// The steps [start, start + period * count) are `count` copies of one body. A copy reads itself,
/// what is the same for all, and of the copy before it the `carried` steps, which alone are read
/// behind the last copy.
struct Repeat {
  struct Carried {
    int place = 0;   ///< in the body
    int initial = 0; ///< the step that the first copy reads instead
    int reads = 0;   ///< how often it does
  };
  int start = 0, period = 0, count = 0;
  std::vector<Carried> carried;
  int end() const { return start + period * count; }
};

/// The repeats worth writing as such, the one that saves most first where they overlap, in the
/// order of their starts. Those in a body lie in its second copy, whose operands tell what is
/// carried from what all copies read. Takes O(n log n) steps but for bodies that nearly repeat.
std::vector<Repeat> findRepeats(const std::vector<Step> &steps);

} // namespace accord::import
