// Words of the formulas of row operations.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"

namespace accord::microarchitecture {

struct FormulaWord {
  enum class Kind : uint8_t { Number, Name, Operation, Square, Negate } kind = Kind::Name;
  double number = 0;
  std::string name;
  Role role = Role::None; ///< of an operation
};

/// The words of a formula in order. Every word that is neither a number nor an operation is a name.
std::vector<FormulaWord> wordsOf(const std::string &formula);

} // namespace accord::microarchitecture
