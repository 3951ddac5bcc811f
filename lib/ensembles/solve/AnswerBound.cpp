#include "lib/ensembles/solve/AnswerBound.h"
#include "lib/support/ClopperPearson.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace accord {
namespace {

/// What arrived so far: weight of right votes, of wrong ones, and of right ones that count for the quorum alone.
struct VotesThere {
  int64_t right = 0, wrong = 0, quorumOnly = 0;
  auto operator<=>(const VotesThere &) const = default;
  int64_t all() const { return right + wrong + quorumOnly; }
};
using Arrived = std::map<VotesThere, Rational>;

void add(Arrived &to, const VotesThere &votes, const Rational &probability) {
  if (probability.sign() > 0) {
    Rational &sum = to[votes];
    sum = sum + probability;
  }
}

/// What has arrived, and one vote more that is wrong with such a probability; with `isDoubtful` of a device of which is
/// not known whether it is late.
Arrived withVote(const Arrived &before, int64_t weight, const Rational &wrong, bool isDoubtful) {
  Arrived after;
  for (const auto &[votes, probability] : before) {
    VotesThere isWrong = votes, isRight = votes;
    isWrong.wrong += weight;
    (isDoubtful ? isRight.quorumOnly : isRight.right) += weight;
    add(after, isWrong, probability * wrong);
    add(after, isRight, probability * (Rational(1) - wrong));
  }
  return after;
}

/// `wrong`: by member, the probability that its vote is wrong if it arrives. `withDoubt`: with the devices of which is
/// not known whether they are late, else these are.
Arrived arrivals(const VoteDelivery &delivery, const std::vector<Rational> &wrong, bool withDoubt) {
  Arrived all{{{}, 1}};
  for (unsigned device = 0; device < delivery.undelivered.size(); ++device) {
    const Rational &max = delivery.undelivered[device];
    const Rational &min = withDoubt && !delivery.minUndelivered.empty() ? delivery.minUndelivered[device] : max;
    Arrived next;
    for (const auto &[votes, probability] : all)
      add(next, votes, probability * min);
    for (bool isDoubtful : {false, true}) {
      Rational share = isDoubtful ? max - min : Rational(1) - max;
      Arrived arrives;
      for (const auto &[votes, probability] : all)
        add(arrives, votes, probability * share);
      for (unsigned i = 0; i < wrong.size(); ++i)
        if (delivery.device[i] == device)
          arrives = withVote(arrives, delivery.weights[i], wrong[i], isDoubtful);
      for (const auto &[votes, probability] : arrives)
        add(next, votes, probability);
    }
    all = std::move(next);
  }
  return all;
}

/// Whether these votes may be an answer that is wrong. What the quorum lacks of other votes, right ones that may be
/// late have to be there for, and these count against the wrong ones: so those are half of the quorum or more.
bool isWrongAnswer(const VotesThere &votes, int64_t quorum) {
  return votes.all() >= quorum && votes.wrong >= votes.right && 2 * votes.wrong >= quorum;
}
/// Whether they decide: all are there, or so many right ones that the others change nothing.
bool decides(const VotesThere &votes, int64_t quorum, int64_t all) {
  return votes.all() >= all || (votes.all() >= quorum && 2 * votes.right > all);
}

AnswerShares sharesOf(const VoteDelivery &delivery, const std::vector<Rational> &wrong) {
  const int64_t weight = std::accumulate(delivery.weights.begin(), delivery.weights.end(), int64_t{0});
  AnswerShares shares{0, 0, 0, 0};
  auto sum = [](Rational &share, const Rational &probability) { share = share + probability; };
  for (const auto &[votes, probability] : arrivals(delivery, wrong, /*withDoubt=*/false)) {
    if (votes.all() < delivery.quorum)
      sum(shares.none, probability);
    if (!decides(votes, delivery.quorum, weight))
      sum(shares.undecided, probability);
  }
  for (const auto &[votes, probability] : arrivals(delivery, wrong, /*withDoubt=*/true))
    if (isWrongAnswer(votes, delivery.quorum))
      sum(shares.wrong, probability);
  shares.right = std::max(Rational(0), Rational(1) - shares.wrong - shares.none);
  return shares;
}

Rational claimed(const VoteDelivery &delivery, const AnswerShares &shares) {
  return delivery.isUndecided ? shares.undecided : shares.wrong;
}

/// Whether two members can change places as far as the delivery goes: they are on one device, or each alone on one.
bool alike(const VoteDelivery &delivery, unsigned a, unsigned b) {
  auto isAlone = [&](unsigned member) { return llvm::count(delivery.device, delivery.device[member]) == 1; };
  bool sameDevice = delivery.device[a] == delivery.device[b];
  bool equalDevices = isAlone(a) && isAlone(b) &&
                      delivery.undelivered[delivery.device[a]] == delivery.undelivered[delivery.device[b]] &&
                      (delivery.minUndelivered.empty() ||
                       delivery.minUndelivered[delivery.device[a]] == delivery.minUndelivered[delivery.device[b]]);
  return (sameDevice || equalDevices) && delivery.weights[a] == delivery.weights[b] &&
         delivery.corrupted[a] == delivery.corrupted[b];
}

/// The first so many members of each group.
std::vector<bool> wrongOf(const std::vector<std::vector<unsigned>> &groups, const std::vector<unsigned> &counts,
                          size_t members) {
  std::vector<bool> wrong(members);
  for (size_t g = 0; g < groups.size(); ++g)
    for (unsigned k = 0; k < counts[g]; ++k)
      wrong[groups[g][k]] = true;
  return wrong;
}

/// `isFast`: by `fastAnswerShare`, where it can.
void byIndependence(const VoteRates &rates, AnswerGuarantee &guarantee, bool isFast) {
  VoteDelivery delivery = *guarantee.certificate.delivery;
  std::vector<Rational> wrong;
  for (unsigned i = 0; i < rates.members; ++i) {
    Rational error = rates.of({i}).rate;
    wrong.push_back(error + (Rational(1) - error) * delivery.corrupted[i]);
  }
  guarantee.certificate.proof = VoteCertificate::Proof::Independence;
  if (isFast) {
    delivery.corrupted = wrong;
    if (auto share = fastAnswerShare(delivery, std::vector<bool>(rates.members))) {
      guarantee.certificate.value = Rational::ofDouble(*share);
      return;
    }
  }
  guarantee.certificate.value = claimed(delivery, sharesOf(*guarantee.certificate.delivery, wrong));
}

using PatternShare = std::function<Rational(const std::vector<bool> &wrong)>;

/// Members by device, those of equal devices in one class: how many devices of each class have which members wrong.
/// Shares depend on nothing else.
class DeviceClasses {
public:
  explicit DeviceClasses(const VoteDelivery &delivery) {
    for (unsigned device = 0; device < delivery.undelivered.size(); ++device) {
      Device made{delivery.undelivered[device],
                  delivery.minUndelivered.empty() ? delivery.undelivered[device] : delivery.minUndelivered[device],
                  {}};
      members.emplace_back();
      for (unsigned i = 0; i < delivery.device.size(); ++i)
        if (delivery.device[i] == device) {
          members.back().push_back(i);
          made.votes.push_back({delivery.weights[i], delivery.corrupted[i]});
        }
      auto known = std::ranges::find(classes, made);
      classOf.push_back(known - classes.begin());
      if (known == classes.end())
        classes.push_back(std::move(made));
    }
  }
  /// Of each device its class and which of its members are wrong, in order.
  using Key = std::vector<std::pair<size_t, uint64_t>>;
  Key key(const std::vector<bool> &wrong) const {
    Key made;
    for (size_t device = 0; device < members.size(); ++device) {
      uint64_t bits = 0;
      for (unsigned member : members[device])
        bits = bits << 1 | (wrong[member] ? 1 : 0);
      made.push_back({classOf[device], bits});
    }
    std::ranges::sort(made);
    return made;
  }

private:
  struct Device {
    Rational max, min;
    std::vector<std::pair<int64_t, Rational>> votes;
    bool operator==(const Device &) const = default;
  };
  std::vector<Device> classes;
  std::vector<size_t> classOf;
  std::vector<std::vector<unsigned>> members; ///< by device
};

void byTable(const VoteOptions &options, AnswerGuarantee &guarantee, const PatternShare &shareOf) {
  VoteCertificate &certificate = guarantee.certificate;
  const DeviceClasses classes(*certificate.delivery);
  std::map<DeviceClasses::Key, Rational> known;
  std::map<Rational, int64_t> byShare;
  int64_t samples = 0;
  for (auto [pattern, count] : certificate.statistics.votes) {
    std::vector<bool> wrong;
    for (size_t i = 0; i < certificate.statistics.memberErrors.size(); ++i)
      wrong.push_back(pattern >> i & 1);
    auto [slot, isNew] = known.try_emplace(classes.key(wrong));
    if (isNew)
      slot->second = shareOf(wrong);
    byShare[slot->second] += count;
    samples += count;
  }
  int64_t levels = byShare.size() - byShare.contains(Rational(0));
  certificate.tests = std::max<int64_t>(1, options.tests) * std::max<int64_t>(1, levels);
  certificate.proof = VoteCertificate::Proof::Table;
  Rational delta = (Rational(1) - certificate.confidence) / Rational(certificate.tests), before = 0, sum = 0;
  int64_t left = samples;
  for (const auto &[share, count] : byShare) {
    if (share.sign() > 0) {
      Rational limit = upperLimit(left, samples, delta);
      certificate.limits.push_back({left, samples, limit});
      sum = sum + (share - before) * limit;
      before = share;
    }
    left -= count;
  }
  certificate.value = sum;
}

} // namespace

AnswerShares answerShares(const VoteDelivery &delivery, const std::vector<bool> &wrong) {
  std::vector<Rational> votes;
  for (size_t i = 0; i < wrong.size(); ++i)
    votes.push_back(wrong[i] ? Rational(1) : delivery.corrupted[i]);
  return sharesOf(delivery, votes);
}

namespace {

std::optional<AnswerGuarantee> guaranteeOf(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                           const VoteOptions &options, const PatternShare &share, bool isFast) {
  AnswerGuarantee guarantee;
  VoteRates rates(statistics, options);
  VoteCertificate &certificate = guarantee.certificate;
  certificate.statistics = statistics;
  certificate.kinds = options.kinds;
  certificate.confidence = options.confidence;
  certificate.tests = rates.tests;
  certificate.limits = rates.limits;
  certificate.delivery = delivery;
  if (!statistics.votes.empty()) {
    certificate.limits.clear();
    byTable(options, guarantee, share);
    return guarantee;
  }
  if (statistics.independent) {
    byIndependence(rates, guarantee, isFast);
    return guarantee;
  }
  auto groups = interchangeable(rates, [&](unsigned a, unsigned b) { return alike(delivery, a, b); });
  auto bound = maxFailureShare(rates, groups, [&](const std::vector<unsigned> &counts) {
    return share(wrongOf(groups, counts, rates.members));
  });
  if (!bound)
    return std::nullopt;
  if (!bound->feasible)
    guarantee.conflict.emplace();
  certificate.proof = VoteCertificate::Proof::Multipliers;
  certificate.value = bound->value;
  certificate.groups = std::move(bound->groups);
  certificate.constant = bound->constant;
  certificate.multipliers = std::move(bound->multipliers);
  certificate.attained = std::move(bound->attained);
  return guarantee;
}

} // namespace

std::optional<AnswerGuarantee> answerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                               const VoteOptions &options) {
  if (auto conflict = conflictOf(statistics, options)) {
    AnswerGuarantee guarantee;
    guarantee.conflict = std::move(conflict);
    return guarantee;
  }
  auto guarantee = guaranteeOf(
      statistics, delivery, options,
      [&](const std::vector<bool> &wrong) { return claimed(delivery, answerShares(delivery, wrong)); },
      /*isFast=*/false);
  if (guarantee) {
    guarantee->certificate.attained.clear(); // its shares may be rounded
    guarantee->none = answerShares(delivery, std::vector<bool>(delivery.device.size())).none;
  }
  return guarantee;
}

std::optional<AnswerGuarantee> fastAnswerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                                   const VoteOptions &options) {
  return guaranteeOf(
      statistics, delivery, options,
      [&](const std::vector<bool> &wrong) {
        auto share = fastAnswerShare(delivery, wrong);
        return share ? Rational::ofDouble(*share) : claimed(delivery, answerShares(delivery, wrong));
      },
      /*isFast=*/true);
}

namespace {

/// By right weight, wrong weight and weight for the quorum alone, of numbers that are few enough for a table.
class TallyTable {
public:
  TallyTable(const VoteDelivery &delivery, const std::vector<bool> &wrong)
      : delivery(delivery), wrong(wrong),
        all(std::accumulate(delivery.weights.begin(), delivery.weights.end(), int64_t{0})),
        hasDoubt(!delivery.isUndecided && !delivery.minUndelivered.empty() &&
                 delivery.minUndelivered != delivery.undelivered) {}

  std::optional<double> share() {
    constexpr int64_t kMaxCells = 1 << 15;
    const int64_t side = all + 1;
    if (all > 180 || (hasDoubt ? side * side * side : side * side) > kMaxCells)
      return std::nullopt;
    cells.assign(hasDoubt ? side * side * side : side * side, 0);
    cells[0] = 1;
    for (unsigned device = 0; device < delivery.undelivered.size(); ++device) {
      const double max = delivery.undelivered[device].toDouble(),
                   min = hasDoubt ? delivery.minUndelivered[device].toDouble() : max;
      std::vector<double> next = cells;
      for (double &cell : next)
        cell *= min;
      addArrival(next, device, 1 - max, /*isDoubtful=*/false);
      if (hasDoubt && max > min)
        addArrival(next, device, max - min, /*isDoubtful=*/true);
      cells = std::move(next);
    }
    double sum = 0;
    for (int64_t quorumOnly = 0; quorumOnly < (hasDoubt ? side : 1); ++quorumOnly)
      for (int64_t bad = 0; bad < side; ++bad)
        for (int64_t good = 0; good < side; ++good) {
          VotesThere votes{good, bad, quorumOnly};
          if (delivery.isUndecided ? !decides(votes, delivery.quorum, all) : isWrongAnswer(votes, delivery.quorum))
            sum += cells[(quorumOnly * side + bad) * side + good];
        }
    constexpr double kGuard = 1e-13; // some hundred roundings of numbers up to 1
    return std::min(1.0, sum + kGuard);
  }

private:
  void addArrival(std::vector<double> &to, unsigned device, double share, bool isDoubtful) const {
    std::vector<double> arrives = cells;
    for (double &cell : arrives)
      cell *= share;
    const int64_t side = all + 1;
    for (unsigned i = 0; i < wrong.size(); ++i) {
      if (delivery.device[i] != device)
        continue;
      const int64_t weight = delivery.weights[i], asWrong = weight * side,
                    asRight = isDoubtful ? weight * side * side : weight;
      const double isWrong = wrong[i] ? 1 : delivery.corrupted[i].toDouble();
      const int64_t size = static_cast<int64_t>(arrives.size());
      std::vector<double> after(size, 0);
      for (int64_t cell = 0; cell < size; ++cell) { // no sum of weights is above all of them
        if (arrives[cell] == 0)
          continue;
        if (isWrong > 0)
          after[cell + asWrong] += arrives[cell] * isWrong;
        if (isWrong < 1)
          after[cell + asRight] += arrives[cell] * (1 - isWrong);
      }
      arrives = std::move(after);
    }
    for (size_t cell = 0; cell < arrives.size(); ++cell)
      to[cell] += arrives[cell];
  }

  const VoteDelivery &delivery;
  const std::vector<bool> &wrong;
  const int64_t all;
  const bool hasDoubt;
  std::vector<double> cells;
};

} // namespace

std::optional<double> fastAnswerShare(const VoteDelivery &delivery, const std::vector<bool> &wrong) {
  return TallyTable(delivery, wrong).share();
}

std::string check(const VoteDelivery &delivery, size_t members) {
  constexpr int64_t kMaxWeight = 1 << 20;
  auto isProbability = [](const Rational &p) { return p.sign() >= 0 && p <= Rational(1); };
  if (delivery.device.size() != members || delivery.corrupted.size() != members || delivery.weights.size() != members)
    return fmt::format("the delivery is not of {} members", members);
  int64_t sum = 0;
  for (size_t i = 0; i < members; ++i) {
    if (delivery.device[i] >= delivery.undelivered.size())
      return fmt::format("member {} is on a device that is not there", i);
    if (delivery.weights[i] < 1 || delivery.weights[i] > kMaxWeight)
      return fmt::format("member {} has a weight of {}: from 1 to {} count", i, delivery.weights[i], kMaxWeight);
    sum += delivery.weights[i];
  }
  if (!llvm::all_of(delivery.undelivered, isProbability) || !llvm::all_of(delivery.corrupted, isProbability))
    return "a probability is from 0 to 1";
  if (!delivery.minUndelivered.empty()) {
    if (delivery.minUndelivered.size() != delivery.undelivered.size())
      return "not every device has a smallest share of lost votes";
    for (size_t d = 0; d < delivery.undelivered.size(); ++d)
      if (delivery.minUndelivered[d].sign() < 0 || delivery.minUndelivered[d] > delivery.undelivered[d])
        return "a smallest share of lost votes is above the largest";
  }
  if (delivery.quorum < 1 || delivery.quorum > sum)
    return fmt::format("a quorum of {}, but all votes together have a weight of {}", delivery.quorum, sum);
  return "";
}

} // namespace accord
