// A process that serves a search which another one leads.
#pragma once
#include "lib/exploration/distributed/Link.h"
#include "lib/exploration/solve/Executor.h"

namespace accord {

/// Goes the same way as the leader from search to search, with the same problems; what each found
/// comes from there (without its moments).
class ServerExecutor : public Executor {
public:
  /// `host`, `process`: where this one is found.
  ServerExecutor(ServerLink &link, unsigned threads, const std::string &host, uint64_t process);
  ~ServerExecutor() override;

  /// Works until the leader says what was found. Refused: the leader is lost.
  MiningResult search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) override;
  /// Not asked for: this process does not search.
  std::vector<DesignEvaluation> results(MiningProblem &problem, const EvaluationTask &task,
                                        const std::vector<DesignBox> &boxes) override;
  /// Tells the leader that this process has no problem to serve, and why; waits until it has ended.
  void fail(const std::string &error);

private:
  ServerLink &link_;
  unsigned threads_;
  uint64_t searches_ = 0;
  bool lost_ = false;
};

} // namespace accord
