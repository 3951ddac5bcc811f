// Z3, in this process, asked whether an SMT-LIB script can be satisfied.
#pragma once
#include <string>

namespace accord {

struct SatResult {
  std::string answer; ///< "unsat", "sat", "unknown" (beyond the work), or what Z3 says is wrong
  std::string solver; ///< "Z3" and its version
};

/// The assertions of a script without commands besides declarations, definitions and assertions
/// (`check-sat` is ignored). `work` is in Z3's own units, so the same script gives the same answer.
SatResult checkSat(const std::string &script, unsigned work = 50'000'000);

} // namespace accord
