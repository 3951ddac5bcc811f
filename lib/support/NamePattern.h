// Names with `*`: `block.*`, `*conv*`.
#pragma once
#include <string_view>

namespace accord {

/// Whether a pattern means a name; `*` stands for any letters, points included, or none. Steps of
/// the order of pattern times name at most.
inline bool matchesPattern(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) { // the last star takes one letter more
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

} // namespace accord
