#include "lib/comparison/solve/ClusterFindings.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

namespace accord::comparison {
namespace {

constexpr double kOfStep = 0.005, kOfReference = 0.02;

double of(const ShareSeconds &shares, StepShare share) { return shares[static_cast<unsigned>(share)]; }
std::string time(double seconds) { return std::fabs(seconds) < 1e-12 ? "0 s" : formatSi(seconds, "s"); }
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

double medianOf(std::vector<double> values) {
  llvm::sort(values);
  const size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// An exchange of one purpose, kind and set of ranks, over the ranks that are given.
struct Link {
  Purpose purpose = Purpose::Unplanned;
  CommunicationKind kind = CommunicationKind::Other;
  std::vector<int64_t> ranks;
  std::vector<const ExchangeRow *> rows;
  double transfer = 0; ///< mean of the rows
  double bytes = 0;
  bool isAligned = false;
};

class Finder {
public:
  explicit Finder(const ClusterComparison &comparison)
      : comparison(comparison), threshold(kOfStep * comparison.seconds) {
    for (const RankComparison &rank : comparison.ranks)
      stages[rank.plan.stage].push_back(&rank);
  }

  std::vector<Finding> run() {
    links();
    for (const auto &[stage, ranks] : stages) {
      stragglers(stage, ranks);
      slower(stage, ranks);
      operations(stage, ranks);
    }
    for (const auto &[stage, ranks] : stages)
      replicas(stage, ranks);
    waits();
    accord::stableSort(made, [](const Finding &a, const Finding &b) { return a.seconds > b.seconds; });
    return std::move(made);
  }

private:
  using Ranks = std::vector<const RankComparison *>;

  void add(FindingKind kind, double seconds, std::vector<int64_t> ranks, std::string text) {
    made.push_back({kind, seconds, std::move(ranks), std::move(text)});
  }
  bool counts(double seconds, double reference) const {
    return seconds > threshold && seconds > kOfReference * reference;
  }
  static std::vector<int64_t> numbersOf(const Ranks &ranks) {
    std::vector<int64_t> numbers;
    for (const RankComparison *rank : ranks)
      numbers.push_back(rank->plan.rank);
    return numbers;
  }
  static double median(const Ranks &ranks, const RankComparison *without,
                       llvm::function_ref<double(const RankComparison &)> value) {
    std::vector<double> values;
    for (const RankComparison *rank : ranks)
      if (rank != without)
        values.push_back(value(*rank));
    return medianOf(std::move(values));
  }

  /// Ranks of one stage do the same work: who takes longer, and with what.
  void stragglers(int64_t stage, const Ranks &ranks) {
    if (ranks.size() < 2)
      return;
    for (const RankComparison *rank : ranks) {
      const double others = median(ranks, rank, [](const RankComparison &one) { return one.computation(); });
      const double longer = rank->computation() - others;
      const bool isStraggler = counts(longer, others);
      if (isStraggler)
        add(FindingKind::Straggler, longer, {rank->plan.rank},
            fmt::format("rank {} computes {} ({} more than the median of the other ranks of stage {}), and others wait "
                        "{} for it",
                        rank->plan.rank, time(rank->computation()), percent(longer / std::max(others, 1e-12)), stage,
                        time(rank->waitedFor)));
      else if (rank->waitedFor > threshold && !hasSlowLink(*rank) &&
               rank->waitedFor > 2 * median(ranks, rank, [](const RankComparison &one) { return one.waitedFor; }))
        add(FindingKind::LateRank, rank->waitedFor, {rank->plan.rank},
            fmt::format("others wait {} for rank {}, which computes as long as they do: it comes late to collectives",
                        time(rank->waitedFor), rank->plan.rank));
      const double host = of(rank->shares, StepShare::Host),
                   otherHost =
                       median(ranks, rank, [](const RankComparison &one) { return of(one.shares, StepShare::Host); });
      if (counts(host - otherHost, otherHost))
        add(FindingKind::Host, host - otherHost, {rank->plan.rank},
            fmt::format("the device of rank {} waits {} for its host, the median of the other ranks of stage {} {}",
                        rank->plan.rank, time(host), stage, time(otherHost)));
      extraWork(*rank, ranks);
    }
  }

  /// Whether slow links of a rank explain half of what others wait for it.
  bool hasSlowLink(const RankComparison &rank) const {
    double sum = 0;
    for (const Finding &finding : made)
      if (finding.kind == FindingKind::SlowLink && llvm::is_contained(finding.ranks, rank.plan.rank))
        sum += finding.seconds;
    return 2 * sum > rank.waitedFor;
  }

  void extraWork(const RankComparison &rank, const Ranks &peers) {
    using Key = std::tuple<std::string, WorkClass, Part>;
    auto find = [](const RankComparison &one, const Key &key) {
      auto found =
          llvm::find_if(one.work, [&](const WorkRow &row) { return Key(row.name, row.workClass, row.part) == key; });
      return found == one.work.end() ? nullptr : &*found;
    };
    for (const WorkRow &row : rank.work) {
      const Key key(row.name, row.workClass, row.part);
      double calls = median(peers, &rank, [&](const RankComparison &one) {
        const WorkRow *found = find(one, key);
        return found ? static_cast<double>(found->calls) : 0.0;
      });
      double seconds = median(peers, &rank, [&](const RankComparison &one) {
        const WorkRow *found = find(one, key);
        return found ? found->exposed : 0.0;
      });
      if (static_cast<double>(row.calls) > calls && counts(row.exposed - seconds, seconds))
        add(FindingKind::ExtraWork, row.exposed - seconds, {rank.plan.rank},
            fmt::format("rank {} runs {} {} times ({}, {}), the others of its stage {}: {} more", rank.plan.rank,
                        row.name, row.calls, nameOf(row.part), nameOf(row.workClass),
                        calls > 0 ? fmt::format("{:.0f} times", calls) : "never", time(row.exposed - seconds)));
    }
  }

  static double passes(const ShareSeconds &shares) {
    double sum = 0;
    for (StepShare share : {StepShare::Forward, StepShare::Backward, StepShare::Recompute, StepShare::Computation,
                            StepShare::Unexplained})
      sum += of(shares, share);
    return sum;
  }

  /// Passes of a stage, with the collectives inside of layers: the median, so that one straggler is none of it.
  void slower(int64_t stage, const Ranks &ranks) {
    const double planned = passes(ranks.front()->plan.shares),
                 measured = median(ranks, nullptr, [](const RankComparison &one) { return passes(one.shares); });
    if (counts(measured - planned, planned))
      add(FindingKind::Slower, measured - planned, numbersOf(ranks),
          fmt::format("the passes of stage {} take {} instead of {} ({} more), {} of it exchanges inside of layers",
                      stage, time(measured), time(planned), percent(measured / std::max(planned, 1e-12) - 1),
                      time(median(ranks, nullptr, [](const RankComparison &one) { return one.layerExchanges; }))));
    const double update = of(ranks.front()->plan.shares, StepShare::Update),
                 took = median(ranks, nullptr,
                               [](const RankComparison &one) { return of(one.shares, StepShare::Update); });
    if (counts(took - update, update))
      add(FindingKind::Slower, took - update, numbersOf(ranks),
          fmt::format("the update of stage {} takes {} instead of {}", stage, time(took), time(update)));
  }

  /// Operations that take longer than planned, and calls that no operation of the plan is: the median of the ranks.
  void operations(int64_t stage, const Ranks &ranks) {
    std::map<std::vector<uint32_t>, std::pair<double, std::vector<double>>> rows; // planned, and measured by rank
    std::map<std::string, std::vector<double>> extra;
    for (const RankComparison *rank : ranks) {
      if (!rank->operations)
        return;
      for (const Row &row : rank->operations->rows)
        if (row.calls > 0) {
          auto &[planned, measured] = rows[row.operations];
          planned = row.planned, measured.push_back(row.exposed);
        }
      std::map<std::string, double> ofRank;
      for (const Extra &one : rank->operations->extra)
        ofRank[one.name] += one.exposed;
      for (const auto &[name, seconds] : ofRank)
        extra[name].push_back(seconds);
    }
    const std::vector<PlannedOperation> &plan = ranks.front()->operations->plan.operations;
    for (auto &[ids, row] : rows) {
      auto &[planned, measured] = row;
      measured.resize(ranks.size());
      if (const double took = medianOf(measured); counts(took - planned, planned))
        add(FindingKind::Slower, took - planned, numbersOf(ranks),
            fmt::format("stage {}: {}{} takes {} instead of {}, {:.2f} times as long", stage, plan[ids.front()].name,
                        ids.size() > 1 ? fmt::format(" and {} more", ids.size() - 1) : "", time(took), time(planned),
                        took / std::max(planned, 1e-12)));
    }
    for (auto &[name, measured] : extra) {
      measured.resize(ranks.size());
      llvm::sort(measured); // on most of the ranks
      if (const double took = measured[(measured.size() - 1) / 2]; counts(took, 0))
        add(FindingKind::ExtraWork, took, numbersOf(ranks),
            fmt::format("stage {}: {} is no operation of the plan and takes {}", stage, name, time(took)));
    }
  }

  const PlannedExchange *plannedOf(const RankComparison &rank, Purpose purpose) const {
    auto found = llvm::find_if(rank.plan.exchanges,
                               [&](const PlannedExchange &exchange) { return exchange.purpose == purpose; });
    return found == rank.plan.exchanges.end() ? nullptr : &*found;
  }

  /// Exchanges that take longer a byte than the others of their purpose and kind.
  void links() {
    std::map<std::tuple<Purpose, CommunicationKind, std::vector<int64_t>>, Link> all;
    for (const RankComparison &rank : comparison.ranks)
      for (const ExchangeRow &row : rank.exchanges)
        if (row.ranks.size() > 1 && row.purpose != Purpose::Unplanned) {
          Link &link = all[{row.purpose, row.kind, row.ranks}];
          link.purpose = row.purpose, link.kind = row.kind, link.ranks = row.ranks;
          link.rows.push_back(&row);
          link.isAligned |= row.aligned > 0;
        }
    for (auto &[key, link] : all) {
      const auto count = static_cast<double>(link.rows.size());
      for (const ExchangeRow *row : link.rows)
        link.transfer += row->transfer() / count, link.bytes += static_cast<double>(row->bytes) / count;
    }
    for (const auto &[key, link] : all) {
      std::vector<double> others; // seconds that each other one would take for these bytes
      for (const auto &[otherKey, other] : all)
        if (&other != &link && other.purpose == link.purpose && other.kind == link.kind &&
            other.isAligned == link.isAligned && other.bytes > 0 && other.ranks.size() == link.ranks.size())
          others.push_back(other.transfer * link.bytes / other.bytes);
      if (others.empty() || link.bytes <= 0 || !link.isAligned)
        continue;
      const double usual = medianOf(others), more = link.transfer - usual;
      if (counts(more, usual))
        add(FindingKind::SlowLink, more, link.ranks,
            fmt::format("{} ({}) {} take {} for {}, {:.2f} times as long as the others of their kind: {} more",
                        nameOf(link.purpose), nameOf(link.kind), placeOf(link), time(link.transfer),
                        formatBytes(link.bytes), link.transfer / std::max(usual, 1e-12), time(more)));
    }
  }

  static std::string placeOf(const Link &link) {
    return link.kind == CommunicationKind::Message && link.ranks.size() == 2
               ? fmt::format("from rank {} to rank {}", link.ranks[0], link.ranks[1])
               : fmt::format("among ranks {}", fmt::join(link.ranks, ", "));
  }

  /// Exchanges of a stage against the plan: how long, how much of it hidden, of how many bytes.
  void replicas(int64_t stage, const Ranks &ranks) {
    for (Purpose purpose : {Purpose::Replicas, Purpose::Stages, Purpose::Tensor, Purpose::Context, Purpose::Experts}) {
      const PlannedExchange *planned = plannedOf(*ranks.front(), purpose);
      if (!planned || planned->seconds <= 0)
        continue;
      auto sum = [&](const RankComparison &rank, llvm::function_ref<double(const ExchangeRow &)> value) {
        double all = 0;
        for (const ExchangeRow &row : rank.exchanges)
          all += row.purpose == purpose ? value(row) : 0;
        return all;
      };
      auto middle = [&](llvm::function_ref<double(const ExchangeRow &)> value) {
        return median(ranks, nullptr, [&](const RankComparison &rank) { return sum(rank, value); });
      };
      const double transfer = middle([](const ExchangeRow &row) { return row.transfer(); }),
                   exposed = middle([](const ExchangeRow &row) { return row.exposedTransfer(); }),
                   calls = middle([](const ExchangeRow &row) { return static_cast<double>(row.calls); });
      if (calls == 0) {
        add(FindingKind::OtherBytes, planned->seconds, numbersOf(ranks),
            fmt::format("stage {}: the traces have none of the planned {} ({})", stage, nameOf(purpose),
                        time(planned->seconds)));
        continue;
      }
      if (counts(transfer - planned->seconds, planned->seconds))
        add(FindingKind::SlowLink, transfer - planned->seconds, numbersOf(ranks),
            fmt::format("stage {}: {} take {} of transfer instead of {}, {:.2f} times as long as planned", stage,
                        nameOf(purpose), time(transfer), time(planned->seconds), transfer / planned->seconds));
      // Of what is planned to be hidden, the part that is not; a longer transfer is the finding above.
      const double hidden = transfer - exposed, planHides = planned->seconds - planned->exposed,
                   lost = std::min(planHides - hidden, exposed - planned->exposed);
      if (counts(lost, planHides))
        add(FindingKind::LostOverlap, lost, numbersOf(ranks),
            fmt::format("stage {}: {} of the {} of {} run beside computation, the plan hides {}: {} more are exposed",
                        stage, time(hidden), time(transfer), nameOf(purpose), time(planHides), time(lost)));
      otherBytes(stage, ranks, *planned, sum);
    }
  }

  template <typename Sum>
  void otherBytes(int64_t stage, const Ranks &ranks, const PlannedExchange &planned, const Sum &sum) {
    for (const auto &[kind, bytes] : planned.bytes) {
      const double measured = median(ranks, nullptr, [&, kind = kind](const RankComparison &rank) {
        return sum(rank,
                   [&](const ExchangeRow &row) { return row.kind == kind ? static_cast<double>(row.bytes) : 0.0; });
      });
      const auto stated = static_cast<double>(bytes);
      if (stated <= 0 || measured <= 0 || std::fabs(measured / stated - 1) <= 0.05)
        continue;
      const double share =
          std::fabs(measured / stated - 1) * planned.seconds / static_cast<double>(planned.bytes.size());
      if (share > threshold)
        add(FindingKind::OtherBytes, share, numbersOf(ranks),
            fmt::format("stage {}: {} by {} are {}, the plan has {}", stage, nameOf(planned.purpose), nameOf(kind),
                        formatBytes(measured), formatBytes(stated)));
    }
  }

  void waits() {
    for (const auto &[stage, ranks] : stages) {
      const double planned = of(ranks.front()->plan.shares, StepShare::StageWaits),
                   measured = median(ranks, nullptr,
                                     [](const RankComparison &one) { return of(one.shares, StepShare::StageWaits); });
      if (counts(measured - planned, planned))
        add(FindingKind::Bubble, measured - planned, numbersOf(ranks),
            fmt::format("stage {} waits {} for other stages instead of {}", stage, time(measured), time(planned)));
      const double host = of(ranks.front()->plan.shares, StepShare::Host),
                   took = median(ranks, nullptr,
                                 [](const RankComparison &one) { return of(one.shares, StepShare::Host); });
      if (counts(took - host, host))
        add(FindingKind::Host, took - host, numbersOf(ranks),
            fmt::format("the devices of stage {} wait {} for their hosts instead of {}", stage, time(took),
                        time(host)));
    }
  }

  const ClusterComparison &comparison;
  const double threshold;
  std::map<int64_t, Ranks> stages;
  std::vector<Finding> made;
};

} // namespace

std::vector<Finding> findingsOf(const ClusterComparison &comparison) { return Finder(comparison).run(); }

} // namespace accord::comparison
