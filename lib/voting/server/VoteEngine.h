// What computes the votes of a member.
#pragma once
#include "lib/support/Result.h"
#include "lib/voting/problem/ServiceTime.h"
#include "lib/voting/problem/VoteCount.h"
#include "lib/voting/problem/VoteRows.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <memory>

namespace accord::voting {

/// A vote, or why there is none.
struct EngineVote {
  MemberVote vote = {};
  std::string error = {}; ///< empty: there is one
};

class VoteEngine {
public:
  virtual ~VoteEngine() = default;
  /// Votes on an input; `done` is called once or, where the vote is lost, never. From any thread, to any thread.
  virtual void vote(int64_t id, const llvm::json::Value &input, std::function<void(EngineVote)> done) = 0;
};

/// How a stub behaves.
struct StubOptions {
  int64_t classes = 2;
  ServiceTime time;
  size_t parallel = 1; ///< inputs that are computed at once; others wait for their turn. 0: any number
  double lost = 0;     ///< share of inputs that are never answered
  double changed = 0;  ///< share of votes that are wrong whatever the table says
  uint64_t seed = 1;   ///< of times, losses and changes
};

/// A member that is not there: input N is answered by sample N of a table (modulo its samples), in a column. Its
/// probabilities are 1 for its label.
std::unique_ptr<VoteEngine> makeStubEngine(VoteRows rows, size_t column, const StubOptions &options);

/// A process of the user, which runs a network by whatever library it likes: it reads lines
/// {"id": N, "input": …} and writes lines {"id": N, "label": K, "probabilities": […]}, in any order. It is started
/// again, once a second at most, if it ends. Error A0801: it cannot be started.
Result<std::unique_ptr<VoteEngine>> makeProcessEngine(std::vector<std::string> command);

} // namespace accord::voting
