// Which exchange of a plan each collective of a trace is, and which collective of one rank is which of another.
#pragma once
#include "lib/comparison/problem/ClusterComparison.h"

namespace accord::comparison {

/// A measured step of one rank of a plan.
struct MeasuredRank {
  int64_t rank = 0;
  MeasuredStep step;
};

/// What `ExchangeMatcher` finds of one collective.
struct MatchedCollective {
  Purpose purpose = Purpose::Unplanned;
  std::vector<int64_t> ranks; ///< that take part, as in `ExchangeRow`
  bool spansStages = false;   ///< ranks of several stages take part
  bool isAligned = false;     ///< it was seen on another rank, too
  double waiting = 0;         ///< seconds of its kernel until the last rank that is given came
  int64_t last = -1;          ///< that rank; -1: not known
};

/// Matches by kind, by ranks (of the trace, else by their number) and, where several exchanges are possible, by bytes.
///
/// Collectives of one communicator come in one order on all of its ranks, so the n-th of one rank is the n-th of the
/// others; messages from a to b likewise. All ranks move bytes from the time when the last of them has come, so the
/// shortest of the kernels has no wait, and what another one takes more is waiting. This needs no common clock. Where
/// kinds or bytes of the n-th differ, the rest of the communicator is not aligned. Of messages whose other end is not
/// given, what is beyond the planned transfer is waiting.
class ExchangeMatcher {
public:
  ExchangeMatcher(const PlannedCluster &plan, const std::vector<MeasuredRank> &ranks);

  /// By position in `ranks` and in MeasuredStep::collectives.
  const std::vector<std::vector<MatchedCollective>> &collectives() const { return made; }
  std::vector<std::string> notes;

private:
  void findPurposes(size_t r);
  Purpose purposeOf(const PlannedRank &plan, const MeasuredStep &step, const std::vector<uint32_t> &members,
                    std::vector<int64_t> &ranks) const;
  void findMessage(const PlannedRank &plan, const MeasuredCollective &one, MatchedCollective &match) const;
  void align();
  void alignOne(const std::string &key, const std::vector<std::pair<size_t, std::vector<uint32_t>>> &sides);
  void splitAlone(size_t r);

  const PlannedCluster &plan;
  const std::vector<MeasuredRank> &ranks;
  std::vector<std::vector<MatchedCollective>> made;
};

} // namespace accord::comparison
