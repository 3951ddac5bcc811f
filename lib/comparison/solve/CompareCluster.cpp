#include "lib/comparison/solve/CompareCluster.h"
#include "lib/comparison/solve/ClusterFindings.h"
#include "lib/comparison/solve/Compare.h"
#include "lib/support/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

namespace accord::comparison {
namespace {

double &of(ShareSeconds &shares, StepShare share) { return shares[static_cast<unsigned>(share)]; }

StepShare shareOf(Part part) {
  switch (part) {
  case Part::Forward:
    return StepShare::Forward;
  case Part::Backward:
  case Part::Accumulation:
    return StepShare::Backward;
  case Part::Recompute:
    return StepShare::Recompute;
  case Part::Update:
    return StepShare::Update;
  case Part::Unknown:
    break;
  }
  return StepShare::Computation;
}

bool isInLayers(Purpose purpose) {
  return purpose == Purpose::Tensor || purpose == Purpose::Context || purpose == Purpose::Experts;
}

StepShare shareOf(Purpose purpose, Part part) {
  return isInLayers(purpose)            ? shareOf(part)
         : purpose == Purpose::Stages   ? StepShare::StageMessages
         : purpose == Purpose::Replicas ? StepShare::Replicas
                                        : StepShare::OtherExchanges;
}

/// When each collective is exposed: no computation runs, no collective of a purpose that comes first, and none of the
/// same that began earlier. What the passes wait for comes first, then messages, then replicas.
std::vector<std::vector<Interval>> exposedTimes(const MeasuredStep &step,
                                                const std::vector<MatchedCollective> &matches) {
  std::vector<std::vector<Interval>> exposed(matches.size());
  Intervals taken;
  auto turnOf = [](Purpose purpose) { return isInLayers(purpose) ? Purpose::Tensor : purpose; };
  for (Purpose turn : {Purpose::Tensor, Purpose::Stages, Purpose::Replicas, Purpose::Unplanned}) {
    std::vector<Interval> now = taken.list();
    double at = 0;
    for (size_t i = 0; i < matches.size(); ++i) {
      if (turnOf(matches[i].purpose) != turn)
        continue;
      for (auto [from, to] : step.collectives[i].alone) {
        for (const Interval &gap : taken.gaps(std::max(from, at), std::max(to, at)))
          exposed[i].push_back(gap);
        now.emplace_back(from, to);
        at = std::max(at, to);
      }
    }
    taken = Intervals(std::move(now));
  }
  return exposed;
}

double lengthOf(const std::vector<Interval> &times, double from, double to) {
  double sum = 0;
  for (auto [begin, end] : times)
    sum += std::max(0.0, std::min(end, to) - std::max(begin, from));
  return sum;
}

class ClusterComparer {
public:
  ClusterComparer(PlannedCluster plan, std::vector<MeasuredRank> ranks, const std::vector<PlannedStep> &stages)
      : measured(std::move(ranks)), stages(stages) {
    made.plan = std::move(plan);
  }

  ClusterComparison run() {
    accord::stableSort(measured, [](const MeasuredRank &a, const MeasuredRank &b) { return a.rank < b.rank; });
    const ExchangeMatcher matcher(made.plan, measured);
    for (size_t r = 0; r < measured.size(); ++r)
      addRank(r, matcher);
    for (RankComparison &rank : made.ranks)
      for (const auto &[other, seconds] : waits[rank.plan.rank])
        rank.waitedFor = std::max(rank.waitedFor, seconds);
    const auto count = static_cast<double>(made.ranks.size());
    for (const RankComparison &rank : made.ranks) {
      made.seconds += rank.seconds / count;
      for (unsigned share = 0; share < kStepShares; ++share) {
        made.planned[share] += rank.plan.shares[share] / count;
        made.measured[share] += rank.shares[share] / count;
      }
    }
    made.notes = matcher.notes;
    addNotes();
    made.findings = findingsOf(made);
    return std::move(made);
  }

private:
  void addRank(size_t r, const ExchangeMatcher &matcher) {
    const MeasuredStep &step = measured[r].step;
    RankComparison &rank = made.ranks.emplace_back();
    rank.plan = made.plan.ranks[measured[r].rank];
    rank.trace = step.source, rank.step = step.step, rank.device = step.device;
    rank.onProcessor = step.onProcessor, rank.seconds = step.seconds;
    addWork(rank, step);
    addOperations(rank, step);
    for (const MeasuredGroup &group : step.groups)
      of(rank.shares, StepShare::Host) += group.seconds;
    std::map<std::tuple<Purpose, CommunicationKind, std::vector<int64_t>>, ExchangeRow> rows;
    const std::vector<std::vector<Interval>> times = exposedTimes(step, matcher.collectives()[r]);
    for (size_t i = 0; i < step.collectives.size(); ++i) {
      const MeasuredCollective &one = step.collectives[i];
      const MatchedCollective &match = matcher.collectives()[r][i];
      ExchangeRow &row = rows[{match.purpose, one.kind, match.ranks}];
      const double exposed = lengthOf(times[i], -INFINITY, INFINITY),
                   waiting = lengthOf(times[i], one.start, one.start + match.waiting);
      if (row.calls == 0)
        row.kernel = one.kernel;
      row.purpose = match.purpose, row.kind = one.kind, row.ranks = match.ranks;
      ++row.calls, row.aligned += match.isAligned;
      row.bytes += one.bytes, row.seconds += one.seconds, row.exposed += exposed;
      row.waiting += match.waiting, row.exposedWaiting += waiting;
      if (!match.spansStages && match.last >= 0)
        waits[match.last][rank.plan.rank] += waiting;
      of(rank.shares, match.spansStages ? StepShare::StageWaits : StepShare::RankWaits) += waiting;
      of(rank.shares, shareOf(match.purpose, one.part)) += exposed - waiting;
      if (isInLayers(match.purpose))
        rank.layerExchanges += exposed - waiting;
    }
    for (auto &[key, row] : rows)
      rank.exchanges.push_back(std::move(row));
  }

  /// Operations without the update and collectives, which are shares and exchanges.
  void addOperations(RankComparison &rank, const MeasuredStep &step) const {
    if (rank.plan.stage >= static_cast<int64_t>(stages.size()))
      return;
    MeasuredStep computed = step;
    llvm::erase_if(computed.operations, [](const MeasuredOperation &op) {
      return op.work.workClass == WorkClass::Communication || op.part == Part::Update;
    });
    computed.groups.clear(), computed.collectives.clear(), computed.notes.clear();
    rank.operations = compare(stages[rank.plan.stage], std::move(computed));
    rank.operations->plan.executions.clear();
    rank.operations->measured.operations.clear();
  }

  static void addWork(RankComparison &rank, const MeasuredStep &step) {
    std::map<std::tuple<std::string, WorkClass, Part>, WorkRow> rows;
    for (const MeasuredOperation &op : step.operations) {
      if (op.work.workClass == WorkClass::Communication) // kernels of collectives have rows of their own
        continue;
      WorkRow &row = rows[{op.name, op.work.workClass, op.part}];
      if (row.calls++ == 0)
        row.name = op.name, row.workClass = op.work.workClass, row.part = op.part, row.kernel = op.kernel;
      row.exposed += op.exposed;
      const bool isKnown = op.work.workClass != WorkClass::Other || op.part == Part::Update;
      of(rank.shares, isKnown ? shareOf(op.part) : StepShare::Unexplained) += op.exposed;
    }
    for (auto &[key, row] : rows)
      rank.work.push_back(std::move(row));
    accord::stableSort(rank.work, [](const WorkRow &a, const WorkRow &b) { return a.exposed > b.exposed; });
  }

  void addNotes() {
    std::vector<int64_t> given;
    for (const MeasuredRank &rank : measured)
      given.push_back(rank.rank);
    if (given.size() < made.plan.ranks.size())
      made.notes.insert(
          made.notes.begin(),
          fmt::format("of {} ranks {} {} compared: {}; waiting for another rank is not told from transfer "
                      "where that one is not given",
                      made.plan.ranks.size(), given.size(), given.size() == 1 ? "is" : "are", fmt::join(given, ", ")));
    for (const RankComparison &rank : made.ranks)
      if (rank.operations && !rank.operations->notes.empty() && &rank == &made.ranks.front())
        for (const std::string &note : rank.operations->notes)
          made.notes.push_back(fmt::format("operations of rank {}: {}", rank.plan.rank, note));
    std::map<std::string, std::vector<int64_t>> notes; // one sentence for all ranks that say the same
    for (const MeasuredRank &rank : measured)
      for (const std::string &note : rank.step.notes)
        notes[note].push_back(rank.rank);
    for (const auto &[note, of] : notes)
      made.notes.push_back(of.size() == measured.size() && of.size() > 1
                               ? "all ranks: " + note
                               : fmt::format("rank {}: {}", fmt::join(of, ", "), note));
  }

  std::vector<MeasuredRank> measured;
  const std::vector<PlannedStep> &stages;
  ClusterComparison made;
  std::map<int64_t, std::map<int64_t, double>> waits; ///< exposed, by the rank that came last and the one that waited
};

} // namespace

ClusterComparison compareCluster(PlannedCluster plan, std::vector<MeasuredRank> ranks,
                                 const std::vector<PlannedStep> &stages) {
  return ClusterComparer(std::move(plan), std::move(ranks), stages).run();
}

} // namespace accord::comparison
