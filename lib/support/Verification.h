// What a verifier says of an answer, whatever its subject.
#pragma once
#include "lib/support/Result.h"

namespace accord {

struct Verification {
  Errors findings;                        ///< what is wrong, sentences with both numbers; empty: the answer holds
  std::vector<std::string> checked;       ///< what was proved: "412 operations each have one slot"
  std::vector<std::string> trusted;       ///< what the proof rests on: "times of 3 operations by cost model 'mine' are
                                          ///< taken as given"
  std::vector<std::string> solverAnswers; ///< what only a solver or a search says, without a proof that could be
                                          ///< replayed: "the bound 9 assumes the answer of a solver alone"
  bool holds() const { return findings.empty(); }
};

} // namespace accord
