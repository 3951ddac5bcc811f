#include "lib/machine/collectives/Collective.h"
#include "lib/machine/collectives/GroupTopology.h"
#include "lib/machine/collectives/LinkLoads.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

namespace {

/// What an algorithm does to the links, per byte of payload.
struct Usage {
  LevelSum latencies, seconds; ///< of all rounds: see CollectiveTerms
  Seconds alpha;
  double perByte = 0, messages = 0, factor = 0;
  int level = -1;
  int64_t flows = 0;
  double busiest = 0;
  std::vector<double> sent, traffic; ///< per device
};

void addRound(Usage &usage, const Fabric &fabric, const Round &round, const Groups &groups,
              const std::vector<int64_t> &order, const std::vector<int64_t> &peers) {
  Links links(fabric, peers);
  std::vector<double> out(groups[0].size());
  for (const Round::Message &message : round.messages) {
    out[message.from] += message.share;
    for (const auto &group : groups) {
      int64_t from = order.empty() ? message.from : order[message.from];
      int64_t to = order.empty() ? message.to : order[message.to];
      links.send(group[from], group[to], message.share);
    }
  }
  double times = round.times;
  Links::BottleneckLink bottleneckLink = links.bottleneckLink();
  const std::vector<int64_t> &hops = links.hopsByLevel();
  usage.latencies.add(std::vector<double>(hops.begin(), hops.end()), times * round.latencies);
  usage.seconds.add(links.bottleneckTimeByLevel(), times);
  usage.messages += times * round.latencies;
  usage.factor += times * *std::max_element(out.begin(), out.end());
  if (double part = bottleneckLink.time.value * times; part > usage.busiest) {
    usage.busiest = part;
    usage.level = bottleneckLink.level;
    usage.flows = bottleneckLink.flows;
  }
  double devices = groups.size() * groups[0].size();
  usage.sent.resize(fabric.levels.size());
  usage.traffic.resize(fabric.levels.size());
  for (size_t l = 0; l < fabric.levels.size(); ++l) {
    usage.sent[l] += links.sent()[l] * times / devices;
    usage.traffic[l] += links.traffic()[l] * times / devices;
  }
}

/// The formula of an algorithm in symbols, as in Collective.h; "" of a hierarchical one.
const char *formulaOf(Algorithm algorithm, Collective collective, const GroupTopology &groupTopology, bool powerOfTwo) {
  bool twice = collective == Collective::AllReduce, allToAll = collective == Collective::AllToAll;
  switch (algorithm) {
  case Algorithm::Ring:
    return twice ? "2(n-1) a + 2(n-1)/n S/B" : "(n-1) a + (n-1)/n S/B";
  case Algorithm::HalvingDoubling:
    if (!powerOfTwo)
      return "(2k+2) a + (2(2^k-1)/2^k + 2) S/B, k = floor(log2 n)";
    return twice ? "2 log2(n) a + 2(n-1)/n S/B" : "log2(n) a + (n-1)/n S/B";
  case Algorithm::DoubleTree:
    return twice ? "2(d+m-1) (a + S/(m B))" : "(d+m-1) (a + S/(m B))";
  case Algorithm::Direct:
    if (collective == Collective::Send)
      return "a + S/B";
    if (groupTopology.hasLinkPerPair)
      return twice ? "2 a + 2(n-1)/n S/B" : "a + (n-1)/n S/B";
    return twice ? "2(n-1) a + 2(n-1)/n S/B" : "(n-1) a + (n-1)/n S/B";
  case Algorithm::Tree:
    return "ceil(log2 n) (a + S/B)";
  case Algorithm::Dimensions:
    if (allToAll)
      return "sum(d_i-1) a + sum((d_i-1)/d_i) S/B";
    return twice ? "2 sum(d_i-1) a + 2(n-1)/n S/B" : "sum(d_i-1) a + (n-1)/n S/B";
  case Algorithm::InSwitch:
    return "a + S/B";
  case Algorithm::Hierarchical:
    break;
  }
  return "";
}

} // namespace

struct CollectiveModel::Alternative {
  Algorithm algorithm = Algorithm::Ring;
  std::string symbols;
  Usage usage;                ///< all rounds, of a double tree those of one piece
  int64_t depth = 0;          ///< of a double tree, else 0
  std::vector<double> energy; ///< J per byte over a link, by level
  struct Part {
    CollectiveModel model;
    double scale; ///< of the payload
  };
  std::vector<Part> parts; ///< of a hierarchical one
};

static Error badGroup(const std::string &error) { return {Code::TooFewDevices, error}; }

static std::optional<Error> checkGroups(const Fabric &fabric, const Groups &groups) {
  for (const auto &group : groups) {
    if (group.empty() || group.size() != groups[0].size())
      return badGroup("groups of devices that exchange data are equally large");
    for (size_t i = 0; i < group.size(); ++i) {
      if (group[i] < 0 || group[i] >= fabric.devices())
        return badGroup(fmt::format("device {} exchanges data, but there are {} devices", group[i], fabric.devices()));
      if (i > 0 && group[i] <= group[i - 1])
        return badGroup("devices of a group stand in ascending order, each once");
    }
  }
  return std::nullopt;
}

Result<CollectiveModel> CollectiveModel::make(const Fabric &fabric, Collective collective, const Groups &groups,
                                              std::optional<Algorithm> only) {
  if (auto issues = check(fabric); !issues.empty())
    return issues.front();
  if (auto issue = checkGroups(fabric, groups))
    return *issue;
  CollectiveModel model;
  for (const Network &level : fabric.levels)
    model.networks.push_back(level.name);
  if (groups.empty() || groups[0].size() < 2)
    return model;
  model.peers = groups[0].size();
  int64_t n = groups[0].size();
  RankSpan rankSpan = rankSpanOf(fabric, groups);
  GroupTopology groupTopology = groupTopologyOf(fabric, groups, rankSpan);
  if (!only)
    only = fabric.levels[rankSpan.levels.back()].algorithm;
  std::vector<double> energy, latencies;
  for (const Network &level : fabric.levels) {
    energy.push_back(level.energy.value);
    latencies.push_back(level.latency.value);
  }
  for (unsigned a = 0; a < kAlgorithms; ++a) {
    Algorithm algorithm = static_cast<Algorithm>(a);
    auto alternative = std::make_shared<Alternative>();
    alternative->algorithm = algorithm;
    alternative->energy = energy;
    if (algorithm == Algorithm::Hierarchical) {
      if (rankSpan.levels.size() < 2)
        continue;
      auto [intraNode, interNode] = splitAtLevel(fabric, groups, rankSpan.levels[0]);
      if (intraNode.empty())
        continue;
      double g = intraNode[0].size();
      std::vector<std::tuple<Collective, const Groups *, double>> parts;
      using enum Collective;
      if (collective == AllReduce)
        parts = {{ReduceScatter, &intraNode, 1}, {AllReduce, &interNode, 1 / g}, {AllGather, &intraNode, 1}};
      else if (collective == ReduceScatter)
        parts = {{ReduceScatter, &intraNode, 1}, {ReduceScatter, &interNode, 1 / g}};
      else if (collective == AllGather)
        parts = {{AllGather, &interNode, 1 / g}, {AllGather, &intraNode, 1}};
      else if (collective == AllToAll)
        parts = {{AllToAll, &intraNode, 1}, {AllToAll, &interNode, 1}};
      for (auto &[kind, subgroups, scale] : parts) {
        ACCORD_TRY(part, make(fabric, kind, *subgroups));
        alternative->parts.push_back({std::move(part), scale});
      }
      if (!alternative->parts.empty())
        model.alternatives.push_back(std::move(alternative));
      continue;
    }
    std::vector<Round> rounds = roundsOf(algorithm, collective, n, groupTopology);
    if (rounds.empty())
      continue;
    std::vector<int64_t> order;
    if (algorithm == Algorithm::Ring && groupTopology.grid.size() > 1)
      order = ringOrder(groupTopology.grid);
    Usage &usage = alternative->usage;
    usage.latencies = usage.seconds = LevelSum(fabric.levels.size());
    for (const Round &round : rounds)
      addRound(usage, fabric, round, groups, order, rankSpan.peers);
    usage.alpha = Seconds(usage.latencies.at(latencies));
    usage.perByte = usage.seconds.at(std::vector<double>(fabric.levels.size(), 1));
    if (algorithm == Algorithm::DoubleTree) {
      int64_t outside = collective == Collective::Broadcast ? 1 : 0; // the root is above both trees
      auto [one, two] = doubleTree(n - outside);
      alternative->depth = std::max(depthOf(one), depthOf(two)) + outside;
    }
    alternative->symbols = formulaOf(algorithm, collective, groupTopology, (n & (n - 1)) == 0);
    model.alternatives.push_back(std::move(alternative));
  }
  if (model.alternatives.empty())
    return badGroup(fmt::format("{} among {} devices: at most {} are routed", name(collective), n, kMaxAllToAll));
  bool possible = only && std::any_of(model.alternatives.begin(), model.alternatives.end(),
                                      [&](const auto &alternative) { return alternative->algorithm == *only; });
  if (possible)
    std::erase_if(model.alternatives, [&](const auto &alternative) { return alternative->algorithm != *only; });
  return model;
}

std::vector<CollectiveCost> CollectiveModel::all(Bytes payload) const {
  double bytes = std::isfinite(payload.value) && payload.value > 0 ? payload.value : 0;
  std::vector<CollectiveCost> costs;
  for (const auto &alternative : alternatives) {
    CollectiveCost cost;
    cost.algorithm = alternative->algorithm;
    cost.sent.resize(networks.size());
    Seconds longest;
    for (const Alternative::Part &part : alternative->parts) {
      CollectiveCost one = part.model.cost(Bytes(bytes * part.scale));
      cost.alpha += one.alpha;
      cost.beta += one.beta;
      cost.energy += one.energy;
      for (size_t l = 0; l < one.sent.size() && l < cost.sent.size(); ++l)
        cost.sent[l] += one.sent[l];
      cost.formula += (cost.formula.empty() ? "" : " + ") + fmt::format("[{}]", one.formula);
      cost.parts += fmt::format("{}{} in {}", cost.parts.empty() ? "" : ", ", name(one.algorithm), one.network);
      if (one.time > longest || cost.bound.empty()) {
        longest = one.time;
        cost.bound = one.bound;
        cost.network = one.network;
        cost.flows = one.flows;
      }
    }
    if (alternative->parts.empty()) {
      const Usage &usage = alternative->usage;
      double moved = usage.perByte * bytes;
      cost.alpha = usage.alpha;
      cost.beta = Seconds(moved);
      std::string pieces;
      if (alternative->depth > 0) {
        // Each kind of round (up, down) takes depth + m - 1 of them.
        double kinds = usage.messages;
        int64_t m = piecesFor(alternative->depth, usage.alpha.value / kinds, moved / kinds);
        double rounds = alternative->depth + m - 1;
        cost.alpha = usage.alpha * rounds;
        cost.beta = Seconds(moved / m * rounds);
        pieces = fmt::format(", d = {}, m = {}", alternative->depth, m);
      }
      for (size_t l = 0; l < usage.sent.size(); ++l) {
        cost.sent[l] = Bytes(usage.sent[l] * bytes);
        cost.energy += Joules(usage.traffic[l] * bytes * alternative->energy[l]);
      }
      cost.flows = usage.flows;
      if (usage.level >= 0)
        cost.network = networks[usage.level];
      cost.bound = (cost.alpha > cost.beta ? "latency " : "network ") + cost.network;
      cost.formula = fmt::format(
          "{}: {} with n = {}, a = {:.6g} s, S = {:.6g} B, B = {:.6g} B/s{}{}", name(alternative->algorithm),
          alternative->symbols, peers, usage.alpha.value / usage.messages, bytes,
          usage.perByte > 0 ? usage.factor / usage.perByte : 0, pieces,
          usage.flows > 1 ? fmt::format(", {} messages at once on a link of '{}'", usage.flows, cost.network) : "");
    } else {
      cost.formula = fmt::format("hierarchical: {}", cost.formula);
    }
    cost.time = cost.alpha + cost.beta;
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::vector<CollectiveTerms> CollectiveModel::terms() const {
  size_t levels = networks.size();
  auto empty = [&] { return CollectiveTerms{LevelSum(levels), LevelSum(levels), {}}; };
  std::vector<CollectiveTerms> all;
  for (const auto &alternative : alternatives) {
    CollectiveTerms one = empty();
    const Usage &usage = alternative->usage;
    if (alternative->parts.empty() && alternative->depth > 0) {
      // Rounds of a kind have one piece each: all kinds together are one round of the formula.
      one.trees.push_back({usage.latencies, usage.seconds, alternative->depth});
      all.push_back(std::move(one));
      continue;
    }
    if (alternative->parts.empty()) {
      one.alpha = usage.latencies, one.beta = usage.seconds;
      all.push_back(std::move(one));
      continue;
    }
    std::vector<CollectiveTerms> made = {std::move(one)}; // every choice for the parts so far
    for (const Alternative::Part &part : alternative->parts) {
      std::vector<CollectiveTerms> longer;
      for (const CollectiveTerms &before : made)
        for (const CollectiveTerms &next : part.model.terms()) {
          CollectiveTerms &both = longer.emplace_back(before);
          both.alpha.add(next.alpha, 1), both.beta.add(next.beta, part.scale);
          for (const CollectiveTerms::Tree &tree : next.trees) {
            LevelSum scaled(levels);
            scaled.add(tree.beta, part.scale);
            both.trees.push_back({tree.alpha, std::move(scaled), tree.depth});
          }
        }
      made = nondominated(longer);
    }
    all.insert(all.end(), made.begin(), made.end());
  }
  return nondominated(all);
}

CollectiveCost CollectiveModel::cost(Bytes payload) const {
  CollectiveCost best;
  best.sent.resize(networks.size());
  best.bound = best.formula = "nothing to exchange";
  if (alternatives.empty() || !(payload.value > 0) || !std::isfinite(payload.value))
    return best;
  bool first = true;
  for (CollectiveCost &cost : all(payload))
    if (first || cost.time < best.time) {
      best = std::move(cost);
      first = false;
    }
  return best;
}

} // namespace accord
