// What a search that may end early answers: one of four, in every command and document.
#pragma once
#include "lib/support/documents/Fields.h"

namespace accord {

enum class SearchStatus : uint8_t {
  Optimal,    ///< an answer, and the proof that none is better
  Feasible,   ///< an answer, with a gap to the bound
  Infeasible, ///< a proof that there is no answer
  Unknown     ///< neither: the search ended before it could know
};

inline const char *name(SearchStatus status) {
  static constexpr const char *kNames[] = {"optimal", "feasible", "infeasible", "unknown"};
  return kNames[static_cast<size_t>(status)];
}

/// `found`: there is an answer, whose distance to the bound is `gap` (a share; below 1e-9 it is rounding).
/// `isExcluded`: else that there is none is proved.
inline SearchStatus statusOf(bool found, double gap, bool isExcluded) {
  if (found)
    return gap < 1e-9 ? SearchStatus::Optimal : SearchStatus::Feasible;
  return isExcluded ? SearchStatus::Infeasible : SearchStatus::Unknown;
}

inline void describe(JsonVisitor &v, SearchStatus &status) {
  using enum SearchStatus;
  v.oneOf(status, {Optimal, Feasible, Infeasible, Unknown}, "expected optimal, feasible, infeasible or unknown");
}

} // namespace accord
