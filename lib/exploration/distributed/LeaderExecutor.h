// The process that leads a search: shares out its rounds over this and other processes.
#pragma once
#include "lib/exploration/distributed/ChunkQueue.h"
#include "lib/exploration/distributed/Link.h"
#include "lib/exploration/solve/Executor.h"

namespace accord {

struct LeaderOptions {
  unsigned threads = 1; ///< of this process
  /// After which what a rank was asked for is done by another, too (or after four times the longest that a chunk took
  /// so far, if that is longer), and for how long ranks are waited for before a search.
  std::chrono::milliseconds patience{10'000}, gathering{60'000};
};

/// What the processes did.
struct LeaderStatistics {
  struct Rank {
    size_t rank = 0;
    std::string host = {}; ///< empty: it never said
    uint64_t process = 0;  ///< its number there
  };
  uint64_t messages = 0; ///< sent and received
  /// By rank, from 0: boxes and designs whose answer counted.
  std::vector<uint64_t> bounds, values;
  std::vector<Rank> lost;
};

/// The search runs here. A rank that is lost, or does not answer in time, loses nothing: what it
/// was asked for is done by others. A rank with another problem (other files, another version) ends
/// the search before it begins; one that comes too late for that is not used.
class LeaderExecutor : public Executor {
public:
  LeaderExecutor(LeaderLink &link, const LeaderOptions &options);
  ~LeaderExecutor() override;
  MiningResult search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) override;
  std::vector<DesignEvaluation> results(MiningProblem &problem, const EvaluationTask &task,
                                        const std::vector<DesignBox> &boxes) override;
  LeaderStatistics statistics() const;
  /// Waits until every rank that is left has said goodbye, at most as long as a rank may be silent.
  /// Those that have not.
  std::vector<LeaderStatistics::Rank> dismiss();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace accord
