// What the processes of a search say to each other.
#pragma once
#include "lib/exploration/solve/Executor.h"
#include <string_view>

namespace accord {

/// In the order of a search: a rank says who it is (`Hello`); the leader begins a search (`Begin`), and the rank says
/// which problem it has (`Ready`); chunks of rounds are asked for (`Work`) and answered (`Answer`); the leader tells
/// what was found (`End`). `Failed`: the rank has no problem to serve; `Bye`: it is done.
struct RankMessage {
  enum class Kind : uint8_t { Hello, Begin, Ready, Work, Answer, End, Failed, Bye };
  Kind kind = Kind::Hello;
  uint64_t number = 0;                        ///< of the search; of Work and Answer: of the round
  uint64_t chunk = 0;                         ///< Work, Answer
  uint32_t threads = 1;                       ///< Hello
  uint64_t process = 0;                       ///< Hello: its number in the system
  std::string text = {};                      ///< Hello: host; Begin, Ready: digest; Failed: why
  EvaluationTask task = {};                   ///< Work
  std::vector<DesignBox> boxes = {};          ///< Work
  std::vector<DesignEvaluation> results = {}; ///< Answer
  MiningResult result = {};                   ///< End; without its moments
};

/// The problem's digest and the number of this protocol, which grows whenever a message is read in another way.
std::string sharedDigest(MiningProblem &problem);
std::string encoded(RankMessage message);
/// Nothing: malformed.
std::optional<RankMessage> decoded(std::string_view text);

} // namespace accord
