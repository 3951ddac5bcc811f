#include "lib/latency/build/CollectiveNodes.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

const std::vector<CollectiveTerms> *CollectiveTermsCache::of(const std::string &collective, const std::string &axis,
                                                             const std::vector<Axis> &axes) {
  std::string key = collective + " along " + axis;
  for (const Axis &one : axes)
    key += fmt::format(" {} {}", one.name, one.devices);
  auto [found, fresh] = known.try_emplace(key);
  if (fresh)
    if (auto kind = collectiveOf(collective)) {
      auto model = CollectiveModel::make(fabric, *kind, groupsAlong(axes, axis));
      if (auto *made = model.get())
        found->second = made->terms();
    }
  return found->second ? &*found->second : nullptr;
}

CollectiveNodes::CollectiveNodes(Expressions &nodes, CollectiveTermsCache &terms,
                                 MachineArguments::NetworkNodes networks, NodeId data, std::vector<Member> members)
    : nodes(nodes), terms(terms), networks(std::move(networks)), data(data), members(std::move(members)) {}

/// In the order of `LevelSum::at`, so that it rounds alike.
NodeId CollectiveNodes::sum(const LevelSum &levels, const std::vector<NodeId> &by) {
  NodeId sum = nodes.real(0);
  for (size_t l = 0; l < levels.perLevel.size(); ++l)
    if (levels.perLevel[l] != 0)
      sum = nodes.add(sum, nodes.multiply(nodes.real(levels.perLevel[l]), by[l]));
  for (const auto &round : levels.maxOverLevels) {
    std::vector<NodeId> each;
    for (size_t l = 0; l < round.size(); ++l)
      if (round[l] != 0)
        each.push_back(nodes.multiply(nodes.real(round[l]), by[l]));
    sum = nodes.add(sum, nodes.maximum(each));
  }
  return sum;
}

/// The factor of each level by member, where no round uses several levels at once: one product for all members.
NodeId CollectiveNodes::chosenSum(const std::vector<const LevelSum *> &of, const std::vector<NodeId> &by) {
  NodeId sum = nodes.real(0);
  for (size_t l = 0; l < by.size(); ++l) {
    std::vector<std::pair<int64_t, NodeId>> cases;
    bool used = false;
    for (size_t m = 0; m < of.size(); ++m) {
      cases.push_back({members[m].data, nodes.real(of[m]->perLevel[l])});
      used |= of[m]->perLevel[l] != 0;
    }
    if (used)
      sum = nodes.add(sum, nodes.multiply(nodes.select(data, cases), by[l]));
  }
  return sum;
}

NodeId CollectiveNodes::alternative(const CollectiveTerms &alternative, NodeId payload) {
  NodeId seconds = nodes.add(sum(alternative.alpha, networks.latencies),
                             nodes.multiply(sum(alternative.beta, networks.ratios), payload));
  for (const CollectiveTerms::Tree &tree : alternative.trees) {
    NodeId a = sum(tree.alpha, networks.latencies);
    NodeId cs = nodes.multiply(sum(tree.beta, networks.ratios), payload);
    // The best number of pieces is a whole number beside sqrt((depth - 1) cs / a).
    auto depth = static_cast<double>(tree.depth);
    NodeId pieces = nodes.squareRoot(a, nodes.multiply(nodes.real(depth - 1), cs));
    std::vector<NodeId> tried;
    for (int64_t more : {0, 1}) {
      NodeId m = nodes.toReal(nodes.add(pieces, nodes.integer(more)));
      tried.push_back(nodes.multiply(nodes.add(m, nodes.real(depth - 1)), nodes.add(a, nodes.divide(cs, m))));
    }
    seconds = nodes.add(seconds, nodes.minimum(tried));
  }
  return seconds;
}

NodeId CollectiveNodes::seconds(const Communication &communication, NodeId payload) {
  std::vector<const std::vector<CollectiveTerms> *> found;
  size_t max = 0;
  bool simple = true;
  for (const Member &member : members) {
    found.push_back(terms.of(communication.kind, communication.axis, member.axes));
    if (!found.back() || found.back()->empty())
      return kNoNode;
    max = std::max(max, found.back()->size());
    for (const CollectiveTerms &one : *found.back())
      simple &= one.trees.empty() && one.alpha.maxOverLevels.empty() && one.beta.maxOverLevels.empty();
  }
  if (!simple) {
    std::vector<std::pair<int64_t, NodeId>> cases;
    for (size_t m = 0; m < members.size(); ++m) {
      std::vector<NodeId> alternatives;
      for (const CollectiveTerms &one : *found[m])
        alternatives.push_back(alternative(one, payload));
      cases.push_back({members[m].data, nodes.minimum(alternatives)});
    }
    return nodes.select(data, cases);
  }
  std::vector<NodeId> alternatives; // who has fewer takes its last one again
  for (size_t i = 0; i < max; ++i) {
    std::vector<const LevelSum *> alpha, beta;
    for (const auto *all : found) {
      const CollectiveTerms &one = (*all)[std::min(i, all->size() - 1)];
      alpha.push_back(&one.alpha), beta.push_back(&one.beta);
    }
    alternatives.push_back(
        nodes.add(chosenSum(alpha, networks.latencies), nodes.multiply(chosenSum(beta, networks.ratios), payload)));
  }
  return nodes.minimum(alternatives);
}

} // namespace accord
