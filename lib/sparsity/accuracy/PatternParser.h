// Patterns of zeros in files of accuracies, as the language writes them.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include <optional>
#include <string>
#include <string_view>

namespace accord {

struct PatternText {
  SparsityPattern pattern;
  std::optional<double> density; ///< that the text states, or the pattern itself (n of m)
  std::string error;             ///< what is wrong with the text; empty: nothing
};
/// "nm(2, 4)", "nm(2, 4, along = output) transposable", "unstructured", "unstructured(density = 0.5)", "block(4, 4)",
/// "banded(8)", "dense"; `static` or `dynamic` behind or inside of them.
PatternText parsePattern(std::string_view text, GemmOperand of);

} // namespace accord
