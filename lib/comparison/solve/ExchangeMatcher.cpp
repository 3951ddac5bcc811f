#include "lib/comparison/solve/ExchangeMatcher.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

namespace accord::comparison {
namespace {

/// Collectives that one communicator ran, as far as the trace tells communicators apart.
using CommunicatorKey = std::tuple<std::string, std::vector<int64_t>, int64_t, CommunicationKind>;

CommunicatorKey keyOf(const MeasuredCollective &one) {
  // A name, or the ranks, say which communicator it is; else the kind has to do.
  const bool isKnown = !one.group.empty() || !one.ranks.empty();
  return {one.group, one.ranks, one.groupSize, isKnown ? CommunicationKind::Other : one.kind};
}

bool isPartOf(const std::vector<int64_t> &part, const std::vector<int64_t> &whole) {
  return part.size() > 1 && std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

} // namespace

ExchangeMatcher::ExchangeMatcher(const PlannedCluster &plan, const std::vector<MeasuredRank> &ranks)
    : plan(plan), ranks(ranks), made(ranks.size()) {
  for (size_t r = 0; r < ranks.size(); ++r)
    findPurposes(r);
  align();
  for (size_t r = 0; r < ranks.size(); ++r)
    splitAlone(r);
}

void ExchangeMatcher::findPurposes(size_t r) {
  const MeasuredStep &step = ranks[r].step;
  const PlannedRank &planned = plan.ranks[ranks[r].rank];
  made[r].resize(step.collectives.size());
  std::map<CommunicatorKey, std::vector<uint32_t>> communicators;
  for (uint32_t i = 0; i < step.collectives.size(); ++i) {
    if (step.collectives[i].kind == CommunicationKind::Message)
      findMessage(planned, step.collectives[i], made[r][i]);
    if (made[r][i].purpose == Purpose::Unplanned)
      communicators[keyOf(step.collectives[i])].push_back(i);
  }
  for (const auto &[key, members] : communicators) {
    std::map<CommunicationKind, std::vector<uint32_t>> byKind;
    for (uint32_t i : members)
      byKind[step.collectives[i].kind].push_back(i);
    for (const auto &[kind, some] : byKind) {
      std::vector<int64_t> taking;
      const Purpose purpose = purposeOf(planned, step, some, taking);
      for (uint32_t i : some)
        made[r][i].purpose = purpose, made[r][i].ranks = taking;
    }
  }
}

/// Of collectives of one kind and communicator.
Purpose ExchangeMatcher::purposeOf(const PlannedRank &planned, const MeasuredStep &step,
                                   const std::vector<uint32_t> &members, std::vector<int64_t> &taking) const {
  const MeasuredCollective &first = step.collectives[members.front()];
  double bytes = 0;
  for (uint32_t i : members)
    bytes += static_cast<double>(step.collectives[i].bytes);
  taking = first.ranks;
  const PlannedExchange *best = nullptr;
  double bestScore = 0;
  for (const PlannedExchange &exchange : planned.exchanges) {
    auto kind = exchange.bytes.find(first.kind);
    if (kind == exchange.bytes.end() || exchange.purpose == Purpose::Stages)
      continue;
    // Surest: the same ranks; then part of the replicas, as those with the same experts; then as many.
    double score = 0;
    if (!first.ranks.empty())
      score = first.ranks == exchange.ranks                                                    ? 4
              : exchange.purpose == Purpose::Replicas && isPartOf(first.ranks, exchange.ranks) ? 2
                                                                                               : 0;
    else if (first.groupSize > 0)
      score = first.groupSize == static_cast<int64_t>(exchange.ranks.size()) ? 3 : 0;
    else
      score = 1;
    if (score == 0)
      continue;
    // Of equals, the one whose bytes the plan has.
    const auto planned = static_cast<double>(kind->second);
    if (planned > 0 && bytes > 0 && std::fabs(std::log(bytes / planned)) < std::log(1.5))
      score += 0.5;
    else if (planned > 0 && bytes > 0)
      score -= 0.25;
    if (!best || score > bestScore)
      best = &exchange, bestScore = score;
  }
  if (best && taking.empty())
    taking = best->ranks;
  return best ? best->purpose : Purpose::Unplanned;
}

/// A message between stages, with both ends as far as trace and plan tell.
void ExchangeMatcher::findMessage(const PlannedRank &planned, const MeasuredCollective &one,
                                  MatchedCollective &match) const {
  auto stages = llvm::find_if(planned.exchanges,
                              [](const PlannedExchange &exchange) { return exchange.purpose == Purpose::Stages; });
  if (stages == planned.exchanges.end())
    return;
  int64_t from = one.from, to = one.to;
  const bool sends = llvm::StringRef(one.call).contains("send"), receives = llvm::StringRef(one.call).contains("recv");
  std::vector<int64_t> others;
  for (int64_t rank : stages->ranks)
    if (rank != planned.rank)
      others.push_back(rank);
  // Within a group of ranks, as those that share a sample, a message is no message between stages.
  if (!one.ranks.empty() && llvm::none_of(others, [&](int64_t rank) { return llvm::is_contained(one.ranks, rank); }))
    return;
  if (sends && !receives)
    from = planned.rank;
  if (receives && !sends)
    to = planned.rank;
  if (others.size() == 1 && from == planned.rank && to < 0)
    to = others.front();
  if (others.size() == 1 && to == planned.rank && from < 0)
    from = others.front();
  if (from >= 0 && to >= 0 && !llvm::is_contained(others, from == planned.rank ? to : from))
    return;
  match.purpose = Purpose::Stages;
  if (from >= 0 && to >= 0)
    match.ranks = {from, to};
  else if (others.size() == 1) // both ways in one kernel
    match.ranks = {std::min(planned.rank, others.front()), std::max(planned.rank, others.front())};
}

void ExchangeMatcher::align() {
  for (std::vector<MatchedCollective> &ofRank : made)
    for (MatchedCollective &match : ofRank)
      match.spansStages = match.purpose == Purpose::Stages || llvm::any_of(match.ranks, [&](int64_t rank) {
                            return rank < static_cast<int64_t>(plan.ranks.size()) &&
                                   match.ranks.front() < static_cast<int64_t>(plan.ranks.size()) &&
                                   plan.ranks[rank].stage != plan.ranks[match.ranks.front()].stage;
                          });
  std::map<std::string, std::vector<std::pair<size_t, std::vector<uint32_t>>>> sides;
  for (size_t r = 0; r < ranks.size(); ++r) {
    std::map<std::string, std::vector<uint32_t>> ofRank;
    for (uint32_t i = 0; i < made[r].size(); ++i) {
      const MatchedCollective &match = made[r][i];
      const MeasuredCollective &one = ranks[r].step.collectives[i];
      if (match.ranks.size() < 2)
        continue;
      const bool isMessage = one.kind == CommunicationKind::Message;
      const bool bothWays = isMessage && (one.from < 0 || one.to < 0) && one.call != "send" && one.call != "recv";
      ofRank[isMessage ? fmt::format("{}{}{}", match.ranks[0], bothWays ? "-" : ">", match.ranks[1])
                       : fmt::format("{} {} {}", one.group, fmt::join(match.ranks, ","),
                                     one.group.empty() ? nameOf(one.kind) : "")]
          .push_back(i);
    }
    for (auto &[key, list] : ofRank)
      sides[key].emplace_back(r, std::move(list));
  }
  for (const auto &[key, one] : sides)
    if (one.size() > 1)
      alignOne(key, one);
}

void ExchangeMatcher::alignOne(const std::string &key,
                               const std::vector<std::pair<size_t, std::vector<uint32_t>>> &sides) {
  size_t count = SIZE_MAX, max = 0;
  for (const auto &[r, list] : sides)
    count = std::min(count, list.size()), max = std::max(max, list.size());
  auto at = [&](size_t side, size_t i) -> const MeasuredCollective & {
    return ranks[sides[side].first].step.collectives[sides[side].second[i]];
  };
  auto nameOfKey = [&] { return fmt::format("{}", fmt::join(made[sides[0].first][sides[0].second[0]].ranks, ", ")); };
  if (count != max)
    notes.push_back(fmt::format("ranks {} have from {} to {} collectives among them: the first {} are aligned",
                                nameOfKey(), count, max, count));
  for (size_t i = 0; i < count; ++i) {
    double shortest = at(0, i).seconds;
    size_t last = 0;
    for (size_t side = 1; side < sides.size(); ++side) {
      const MeasuredCollective &one = at(side, i), &first = at(0, i);
      if (one.kind != first.kind || (one.bytes != first.bytes && one.bytes > 0 && first.bytes > 0)) {
        notes.push_back(fmt::format("number {} of the collectives among ranks {} is {} of {} bytes on rank {}, and {} "
                                    "of {} bytes on rank {}: from there on they are not aligned",
                                    i + 1, nameOfKey(), nameOf(first.kind), first.bytes, ranks[sides[0].first].rank,
                                    nameOf(one.kind), one.bytes, ranks[sides[side].first].rank));
        return;
      }
      if (one.seconds < shortest)
        shortest = one.seconds, last = side;
    }
    for (size_t side = 0; side < sides.size(); ++side) {
      MatchedCollective &match = made[sides[side].first][sides[side].second[i]];
      match.isAligned = true;
      match.waiting = at(side, i).seconds - shortest;
      match.last = ranks[sides[last].first].rank;
    }
  }
}

/// Messages whose other end is not given.
void ExchangeMatcher::splitAlone(size_t r) {
  const PlannedRank &planned = plan.ranks[ranks[r].rank];
  double perByte = 0;
  for (const PlannedExchange &exchange : planned.exchanges)
    if (exchange.purpose == Purpose::Stages)
      for (const auto &[kind, bytes] : exchange.bytes)
        if (bytes > 0)
          perByte = exchange.seconds / static_cast<double>(bytes);
  size_t count = 0;
  for (uint32_t i = 0; i < made[r].size(); ++i) {
    MatchedCollective &match = made[r][i];
    const MeasuredCollective &one = ranks[r].step.collectives[i];
    if (match.purpose != Purpose::Stages || match.isAligned || one.bytes <= 0)
      continue;
    match.waiting = std::max(0.0, one.seconds - perByte * static_cast<double>(one.bytes));
    ++count;
  }
  if (count > 0)
    notes.push_back(
        fmt::format("rank {}: the other ends of {} messages are not among the traces; what they take beyond "
                    "the plan counts as waiting for stages",
                    planned.rank, count));
}

} // namespace accord::comparison
