// A process that serves a search which another one leads.
#pragma once
#include "lib/exploration/solve/Crew.h"
#include "lib/exploration/distributed/Link.h"

namespace accord {

/// Goes the same way as the leader from search to search, with the same problems; what each found
/// comes from there (without its moments).
class CrewServer : public Crew {
public:
  /// `host`, `process`: where this one is found.
  CrewServer(ServerLink &link, unsigned threads, const std::string &host, uint64_t process);
  ~CrewServer() override;

  /// Works until the leader says what was found. Refused: the leader is lost.
  MiningResult search(MiningStrategy strategy, MiningProblem &problem,
                      const MiningOptions &options) override;
  /// Not asked for: this process does not search.
  std::vector<Appraisal> answers(MiningProblem &problem, const CrewTask &task,
                                 const std::vector<DesignBox> &boxes) override;
  /// Tells the leader that this process has no problem to serve, and why; waits until it has ended.
  void fail(const std::string &why);

private:
  ServerLink &link_;
  unsigned threads_;
  uint64_t searches_ = 0;
  bool lost_ = false;
};

} // namespace accord
