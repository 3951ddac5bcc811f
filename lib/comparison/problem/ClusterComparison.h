// A plan of a cluster beside the measured steps of its ranks, as plain data.
#pragma once
#include "lib/comparison/problem/ClusterPlan.h"
#include "lib/comparison/problem/Comparison.h"
#include <optional>

namespace accord::comparison {

/// What one rank exchanged for one purpose with one set of ranks, in a step. Times are seconds.
struct ExchangeRow {
  Purpose purpose = Purpose::Unplanned;
  CommunicationKind kind = CommunicationKind::Other;
  std::vector<int64_t> ranks; ///< that take part, ascending; of messages the one that sends, then the one that receives
  std::string kernel;         ///< of the longest call
  int64_t calls = 0;
  int64_t aligned = 0;       ///< calls that were seen on another rank, too
  int64_t bytes = 0;         ///< of whole tensors; 0: the trace does not say
  double seconds = 0;        ///< of its kernels: waiting and transfer
  double waiting = 0;        ///< of `seconds`, until the last rank that is given came
  double exposed = 0;        ///< of `seconds`, what nothing hides
  double exposedWaiting = 0; ///< of `exposed`
  double transfer() const { return seconds - waiting; }
  double exposedTransfer() const { return exposed - exposedWaiting; }
};

/// Work of one name on one rank, in a step.
struct WorkRow {
  std::string name; ///< "aten::linear"
  WorkClass workClass = WorkClass::Other;
  Part part = Part::Forward;
  std::string kernel; ///< the longest
  int64_t calls = 0;
  double exposed = 0; ///< seconds that belong to it alone
};

struct RankComparison {
  PlannedRank plan;
  std::string trace, step, device;
  bool onProcessor = false;
  double seconds = 0;        ///< of the measured step
  ShareSeconds shares{};     ///< measured; they add up to `seconds`
  double layerExchanges = 0; ///< seconds of `shares`: exposed collectives inside of layers
  double waitedFor = 0;      ///< the most that another rank was exposed to waiting for this one in collectives
  std::vector<ExchangeRow> exchanges;
  std::vector<WorkRow> work; ///< longest first
  /// Its operations, where those of the plan are known; collectives are not among them. Its plan has no executions.
  std::optional<Comparison> operations;
  double computation() const {
    double sum = -layerExchanges;
    for (StepShare share : {StepShare::Forward, StepShare::Backward, StepShare::Recompute, StepShare::Update,
                            StepShare::Computation, StepShare::Unexplained})
      sum += shares[static_cast<unsigned>(share)];
    return sum;
  }
};

/// Something that explains a difference, with its size.
enum class FindingKind : uint8_t {
  Straggler,   ///< a rank computes longer than the others of its stage
  LateRank,    ///< others wait for a rank that computes as long as they do
  SlowLink,    ///< an exchange takes longer than planned, or than its like
  LostOverlap, ///< less of an exchange runs beside computation than planned
  ExtraWork,   ///< work that the other ranks of the stage, or the plan, do not have
  OtherBytes,  ///< an exchange of other bytes than planned, or none
  Slower,      ///< passes of a stage take longer than planned
  Bubble,      ///< a stage waits longer for others than planned
  Host         ///< a rank waits longer for its host than planned
};
constexpr unsigned kFindingKinds = 9;
inline const char *nameOf(FindingKind kind) {
  constexpr const char *names[kFindingKinds] = {"straggler",   "late rank", "slow link", "lost overlap", "extra work",
                                                "other bytes", "slower",    "bubble",    "host"};
  return names[static_cast<unsigned>(kind)];
}
struct Finding {
  FindingKind kind = FindingKind::Slower;
  double seconds = 0;         ///< of a step of the ranks
  std::vector<int64_t> ranks; ///< that it is on
  std::string text;           ///< a sentence
};

struct ClusterComparison {
  PlannedCluster plan;
  std::vector<RankComparison> ranks;  ///< those that are given, ascending
  double seconds = 0;                 ///< mean of the measured steps
  ShareSeconds planned{}, measured{}; ///< means over the ranks that are given
  std::vector<Finding> findings;      ///< by size, largest first
  std::vector<std::string> notes;
};

/// Share of the measured steps that has a name.
inline double explainedShare(const ClusterComparison &comparison) {
  double all = 0;
  for (double share : comparison.measured)
    all += share;
  return all > 0 ? 1 - comparison.measured[static_cast<unsigned>(StepShare::Unexplained)] / all : 1;
}

} // namespace accord::comparison
