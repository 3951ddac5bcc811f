#include "lib/ensembles/solve/AnswerBound.h"
#include "lib/support/ClopperPearson.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

/// Weight of right votes, weight of wrong ones -> probability.
using Arrived = std::map<std::pair<int64_t, int64_t>, Rational>;

void add(Arrived &to, std::pair<int64_t, int64_t> weights, const Rational &probability) {
  if (probability.sign() > 0) {
    Rational &sum = to[weights];
    sum = sum + probability;
  }
}

/// What has arrived, and one vote more that is wrong with such a probability.
Arrived withVote(const Arrived &before, int64_t weight, const Rational &wrong) {
  Arrived after;
  for (const auto &[weights, probability] : before) {
    add(after, {weights.first, weights.second + weight}, probability * wrong);
    add(after, {weights.first + weight, weights.second}, probability * (Rational(1) - wrong));
  }
  return after;
}

/// `wrong`: by member, the probability that its vote is wrong if it arrives.
AnswerShares sharesOf(const VoteDelivery &delivery, const std::vector<Rational> &wrong) {
  Arrived all{{{0, 0}, 1}};
  for (unsigned device = 0; device < delivery.undelivered.size(); ++device) {
    Arrived arrives;
    for (const auto &[weights, probability] : all)
      add(arrives, weights, probability * (Rational(1) - delivery.undelivered[device]));
    for (unsigned i = 0; i < wrong.size(); ++i)
      if (delivery.device[i] == device)
        arrives = withVote(arrives, delivery.weights[i], wrong[i]);
    for (auto &[weights, probability] : all)
      add(arrives, weights, probability * delivery.undelivered[device]);
    all = std::move(arrives);
  }
  AnswerShares shares{0, 0, 0};
  for (const auto &[weights, probability] : all) {
    Rational &share = weights.first + weights.second < delivery.quorum ? shares.none
                      : weights.first > weights.second                 ? shares.right
                                                                       : shares.wrong;
    share = share + probability;
  }
  return shares;
}

/// Whether two members can change places as far as the delivery goes: they are on one device, or each alone on one.
bool alike(const VoteDelivery &delivery, unsigned a, unsigned b) {
  auto isAlone = [&](unsigned member) { return llvm::count(delivery.device, delivery.device[member]) == 1; };
  bool sameDevice = delivery.device[a] == delivery.device[b];
  bool equalDevices =
      isAlone(a) && isAlone(b) && delivery.undelivered[delivery.device[a]] == delivery.undelivered[delivery.device[b]];
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

void byIndependence(const VoteRates &rates, AnswerGuarantee &guarantee) {
  const VoteDelivery &delivery = *guarantee.certificate.delivery;
  std::vector<Rational> wrong;
  for (unsigned i = 0; i < rates.members; ++i) {
    Rational error = rates.of({i}).rate;
    wrong.push_back(error + (Rational(1) - error) * delivery.corrupted[i]);
  }
  guarantee.certificate.proof = VoteCertificate::Proof::Independence;
  guarantee.certificate.value = sharesOf(delivery, wrong).wrong;
}

void byTable(const VoteOptions &options, AnswerGuarantee &guarantee) {
  VoteCertificate &certificate = guarantee.certificate;
  std::map<Rational, int64_t> byShare;
  int64_t samples = 0;
  for (auto [pattern, count] : certificate.statistics.votes) {
    std::vector<bool> wrong;
    for (size_t i = 0; i < certificate.statistics.memberErrors.size(); ++i)
      wrong.push_back(pattern >> i & 1);
    byShare[answerShares(*certificate.delivery, wrong).wrong] += count;
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

std::optional<AnswerGuarantee> answerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                               const VoteOptions &options) {
  AnswerGuarantee guarantee;
  if ((guarantee.conflict = conflictOf(statistics, options)))
    return guarantee;
  VoteRates rates(statistics, options);
  VoteCertificate &certificate = guarantee.certificate;
  certificate.statistics = statistics;
  certificate.kinds = options.kinds;
  certificate.confidence = options.confidence;
  certificate.tests = rates.tests;
  certificate.limits = rates.limits;
  certificate.delivery = delivery;
  guarantee.none = answerShares(delivery, std::vector<bool>(rates.members)).none;
  if (!statistics.votes.empty()) {
    certificate.limits.clear();
    byTable(options, guarantee);
    return guarantee;
  }
  if (statistics.independent) {
    byIndependence(rates, guarantee);
    return guarantee;
  }
  auto groups = interchangeable(rates, [&](unsigned a, unsigned b) { return alike(delivery, a, b); });
  auto bound = maxFailureShare(rates, groups, [&](const std::vector<unsigned> &counts) {
    return answerShares(delivery, wrongOf(groups, counts, rates.members)).wrong;
  });
  if (!bound)
    return std::nullopt;
  certificate.proof = VoteCertificate::Proof::Multipliers;
  certificate.value = bound->value;
  certificate.groups = std::move(bound->groups);
  certificate.constant = bound->constant;
  certificate.multipliers = std::move(bound->multipliers);
  return guarantee;
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
  if (delivery.quorum < 1 || delivery.quorum > sum)
    return fmt::format("a quorum of {}, but all votes together have a weight of {}", delivery.quorum, sum);
  return "";
}

} // namespace accord
