#include "lib/machine/collectives/Collective.h"
#include "lib/machine/collectives/GroupTopology.h"
#include "lib/machine/collectives/LinkLoads.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>

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

namespace {

/// A network of one byte a second and one second a message, alone: what a level's costs are multiples of. What links
/// are loaded with follows from it.
Network unitOf(const Network &level, const Network::Variant &variant) {
  Network unit;
  unit.name = level.name;
  unit.endpoints = level.endpoints, unit.shape = level.shape;
  // Measured bandwidths replace the links.
  unit.topology = level.bandwidthByPeers.empty() ? variant.topology : Topology::Switch;
  unit.algorithm = variant.algorithm;
  unit.oversubscription = level.oversubscription, unit.leaf = level.leaf;
  unit.inSwitchReduction = level.inSwitchReduction;
  unit.bandwidth = BytesPerSecond(1), unit.latency = Seconds(1);
  return unit;
}

} // namespace

/// One model for each unit network and row, for the whole process: there are few, and many fabrics that a search looks
/// at differ in bandwidths and latencies alone. Of a box without ways that another one beats at every payload.
Result<const CollectiveModel *> CollectiveModel::ofUnit(const Network &level, Collective collective,
                                                        const LevelRow &row) {
  static std::mutex mutex;
  static std::map<std::vector<double>, CollectiveModel> known;
  std::vector<Network::Variant> variants = level.variants;
  if (variants.empty())
    variants.push_back({level.topology, level.algorithm});
  std::vector<double> key{
      double(level.endpoints),   level.oversubscription, double(level.leaf), double(level.inSwitchReduction),
      double(collective),        double(row.stride),     double(row.peers),  double(!level.bandwidthByPeers.empty()),
      double(level.shape.size())};
  key.insert(key.end(), level.shape.begin(), level.shape.end());
  for (const Network::Variant &variant : variants)
    key.push_back(double(variant.topology)), key.push_back(variant.algorithm ? double(*variant.algorithm) : -1);
  std::scoped_lock lock(mutex);
  if (auto found = known.find(key); found != known.end())
    return &found->second;
  Groups rows = groupsAlong(
      {{"before", row.stride}, {"row", row.peers}, {"behind", level.endpoints / (row.stride * row.peers)}}, "row");
  CollectiveModel all;
  for (const Network::Variant &variant : variants) {
    Fabric alone;
    alone.levels = {unitOf(level, variant)};
    ACCORD_TRY(made, make(alone, collective, rows));
    all.alternatives.insert(all.alternatives.end(), made.alternatives.begin(), made.alternatives.end());
  }
  CollectiveModel model;
  for (size_t w = 0; w < all.alternatives.size(); ++w) {
    const Alternative &way = *all.alternatives[w];
    double alpha = way.usage.alpha.value * static_cast<double>(std::max<int64_t>(way.depth, 1));
    bool isBeaten = false;
    for (size_t v = 0; v < all.alternatives.size() && variants.size() > 1; ++v) {
      const Alternative &other = *all.alternatives[v];
      bool isEqual = other.usage.alpha.value == alpha && other.usage.perByte == way.usage.perByte;
      isBeaten |= v != w && other.depth == 0 && other.usage.alpha.value <= alpha &&
                  other.usage.perByte <= way.usage.perByte && (!isEqual || v < w || way.depth > 0);
    }
    if (!isBeaten)
      model.alternatives.push_back(all.alternatives[w]);
  }
  return &known.emplace(std::move(key), std::move(model)).first->second;
}

Result<CollectiveModel> CollectiveModel::ofLevel(const Fabric &fabric, Collective collective, const LevelRow &row) {
  const Network &level = fabric.levels[row.level];
  size_t levels = fabric.levels.size(), l = row.level;
  int64_t inside = 1; // devices of an endpoint
  for (size_t below = 0; below < l; ++below)
    inside *= fabric.levels[below].endpoints;
  double sharers = static_cast<double>(inside / level.planes);
  double perByte = sharers / endpointBandwidth(level, row.peers).value, latency = level.latency.value;
  CollectiveModel model;
  model.peers = row.peers;
  for (const Network &one : fabric.levels)
    model.networks.push_back(one.name);
  ACCORD_TRY(unit, ofUnit(level, collective, row));
  for (const auto &of : unit->alternatives) {
    auto made = std::make_shared<Alternative>(*of);
    Usage &usage = made->usage;
    auto spread = [&](double value) {
      std::vector<double> all(levels);
      all[l] = value;
      return all;
    };
    usage.latencies = LevelSum(levels), usage.latencies.perLevel[l] = of->usage.latencies.perLevel[0];
    usage.seconds = LevelSum(levels), usage.seconds.perLevel[l] = of->usage.seconds.perLevel[0] * perByte;
    usage.alpha = of->usage.alpha * latency;
    usage.perByte = of->usage.perByte * perByte;
    usage.sent = spread(of->usage.sent[0]), usage.traffic = spread(of->usage.traffic[0]);
    usage.level = static_cast<int>(l);
    made->energy = spread(level.energy.value);
    model.alternatives.push_back(std::move(made));
  }
  return model;
}

Result<CollectiveModel> CollectiveModel::makeByLevel(const Fabric &fabric, Collective collective,
                                                     const std::vector<LevelRow> &rows) {
  using enum Collective;
  if (rows.size() == 1)
    return ofLevel(fabric, collective, rows.front());
  std::vector<std::tuple<Collective, size_t, double>> parts;
  auto inwards = [&](Collective kind) { // from the level before the outermost
    double share = 1;
    for (const LevelRow &row : rows)
      share /= static_cast<double>(row.peers);
    share *= static_cast<double>(rows.back().peers);
    for (size_t i = rows.size() - 1; i-- > 0;)
      share *= static_cast<double>(rows[i].peers), parts.emplace_back(kind, i, share);
  };
  auto outwards = [&](Collective kind, Collective last) {
    double share = 1;
    for (size_t i = 0; i < rows.size(); ++i) {
      parts.emplace_back(i + 1 < rows.size() ? kind : last, i, share);
      share /= static_cast<double>(rows[i].peers);
    }
  };
  switch (collective) {
  case AllReduce:
    outwards(ReduceScatter, AllReduce), inwards(AllGather);
    break;
  case ReduceScatter:
    outwards(ReduceScatter, ReduceScatter);
    break;
  case AllGather:
    outwards(AllGather, AllGather);
    std::reverse(parts.begin(), parts.end());
    break;
  case AllToAll:
  case Broadcast:
    for (size_t i = rows.size(); i-- > 0;)
      parts.emplace_back(collective, i, 1);
    break;
  case Send:
    return ofLevel(fabric, Send, rows.back());
  }
  CollectiveModel model;
  model.peers = 1;
  for (const Network &level : fabric.levels)
    model.networks.push_back(level.name);
  auto alternative = std::make_shared<Alternative>();
  alternative->algorithm = Algorithm::Hierarchical;
  for (const auto &[kind, i, scale] : parts) {
    ACCORD_TRY(part, ofLevel(fabric, kind, rows[i]));
    alternative->parts.push_back({std::move(part), scale});
  }
  for (const LevelRow &row : rows)
    model.peers *= row.peers;
  model.alternatives.push_back(std::move(alternative));
  return model;
}

/// Of groups that are not used by level, or are no rows along levels: nothing.
std::optional<Result<CollectiveModel>> CollectiveModel::levelByLevel(const Fabric &fabric, Collective collective,
                                                                     const Groups &groups,
                                                                     std::optional<Algorithm> only) {
  if (!fabric.byLevel)
    return std::nullopt;
  std::vector<LevelRow> rows = rowsOf(fabric, groups);
  if (!rows.empty() && !only)
    return makeByLevel(fabric, collective, rows);
  // Of other groups a box of networks says nothing: they are routed over all levels at once.
  if (std::any_of(fabric.levels.begin(), fabric.levels.end(), [](const Network &one) { return !one.variants.empty(); }))
    return CollectiveModel();
  return std::nullopt;
}

/// Of a hierarchical one: what is done inside of runs of devices and across, of which share.
static std::vector<std::tuple<Collective, const Groups *, double>>
partsOf(Collective collective, const Groups &intraNode, const Groups &interNode) {
  using enum Collective;
  auto g = static_cast<double>(intraNode[0].size());
  switch (collective) {
  case AllReduce:
    return {{ReduceScatter, &intraNode, 1}, {AllReduce, &interNode, 1 / g}, {AllGather, &intraNode, 1}};
  case ReduceScatter:
    return {{ReduceScatter, &intraNode, 1}, {ReduceScatter, &interNode, 1 / g}};
  case AllGather:
    return {{AllGather, &interNode, 1 / g}, {AllGather, &intraNode, 1}};
  case AllToAll:
    return {{AllToAll, &intraNode, 1}, {AllToAll, &interNode, 1}};
  case Broadcast:
  case Send:
    break;
  }
  return {};
}

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
  if (auto byLevel = levelByLevel(fabric, collective, groups, only))
    return *byLevel;
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
      for (auto &[kind, subgroups, scale] : partsOf(collective, intraNode, interNode)) {
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

double CollectiveModel::seconds(double bytes) const {
  if (alternatives.empty() || !(bytes > 0) || !std::isfinite(bytes))
    return 0;
  double min = INFINITY;
  for (const auto &alternative : alternatives) {
    const Usage &usage = alternative->usage;
    double alpha = usage.alpha.value, beta = usage.perByte * bytes;
    if (alternative->depth > 0) { // as in `all`
      double kinds = usage.messages;
      int64_t m = piecesFor(alternative->depth, alpha / kinds, beta / kinds);
      double rounds = static_cast<double>(alternative->depth + m - 1);
      alpha *= rounds, beta = beta / static_cast<double>(m) * rounds;
    }
    double time = alpha + beta;
    for (const Alternative::Part &part : alternative->parts)
      time += part.model.seconds(bytes * part.scale);
    min = std::min(min, time);
  }
  return min;
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

std::vector<CollectiveModel::PartTerms> CollectiveModel::termsByPart() const {
  std::vector<PartTerms> parts;
  if (alternatives.size() == 1)
    for (const Alternative::Part &part : alternatives.front()->parts)
      parts.push_back({part.scale, part.model.terms()});
  return parts;
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
