#include "lib/training/fuse/Fusion.h"
#include <algorithm>

namespace accord {
namespace {

using Family = FusionNode::Family;

constexpr uint32_t kNowhere = ~0u;

struct Group {
  std::vector<uint32_t> members; ///< ascending
  Family anchor = Family::Barrier;
  uint32_t place = 0; ///< in the order in which groups run: one of a member
};

class Fuser {
public:
  Fuser(const std::vector<FusionNode> &nodes, const FusionOptions &options)
      : nodes_(nodes), options_(options), groups_(nodes.size()), group_(nodes.size()), needs_(nodes.size()),
        users_(nodes.size()) {
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      groups_[n] = {{n}, nodes[n].family, n};
      group_[n] = n;
      needs_[n] = nodes[n].operands;
      for (uint32_t p : nodes[n].operands)
        users_[p].push_back(n);
    }
  }

  std::vector<std::vector<uint32_t>> run() {
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].family == Family::Elementwise || nodes_[n].family == Family::Normalization)
        join(n);
    return inOrder();
  }

private:
  void join(uint32_t n) {
    std::vector<uint32_t> candidates;
    for (uint32_t p : nodes_[n].along)
      if (std::find(candidates.begin(), candidates.end(), group_[p]) == candidates.end())
        candidates.push_back(group_[p]);
    // A contraction's group first, then the one that runs last.
    std::sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
      bool ca = groups_[a].anchor == Family::Contraction, cb = groups_[b].anchor == Family::Contraction;
      return ca != cb ? ca : groups_[a].place > groups_[b].place;
    });
    for (uint32_t g : candidates) {
      uint32_t mine = group_[n];
      if (!fits(g, mine))
        continue;
      bool before = groups_[g].place < groups_[mine].place;
      uint32_t place = before ? placeFor(g, mine) : placeFor(mine, g);
      if (place != kNowhere)
        merge(g, mine, place);
    }
  }

  /// Two groups may be one group, whatever lies between them.
  bool fits(uint32_t a, uint32_t b) const {
    const Group &x = groups_[a], &y = groups_[b];
    if (a == b || x.anchor == Family::Barrier || y.anchor == Family::Barrier ||
        nodes_[x.members[0]].zone != nodes_[y.members[0]].zone || x.members.size() + y.members.size() > options_.max)
      return false;
    bool plainA = x.anchor == Family::Elementwise, plainB = y.anchor == Family::Elementwise;
    if (!plainA && !plainB)
      return false;
    if (!onlyAlong(x, b) || !onlyAlong(y, a))
      return false;
    Family anchor = plainA ? y.anchor : x.anchor;
    return anchor == Family::Contraction     ? options_.contractions
           : anchor == Family::Normalization ? options_.normalizations
                                             : options_.elementwise;
  }

  /// What nodes read of the other group, they read element by element. So nothing runs before a contraction inside its
  /// loop.
  bool onlyAlong(const Group &group, uint32_t other) const {
    for (uint32_t member : group.members)
      for (uint32_t p : nodes_[member].operands)
        if (group_[p] == other &&
            std::find(nodes_[member].along.begin(), nodes_[member].along.end(), p) == nodes_[member].along.end())
          return false;
    return true;
  }

  /// Where both can run as one without a cycle, every group still after those it needs: at the place of the later, if
  /// nobody else needs the earlier before; at that of the earlier, if all that the later needs is there by then.
  /// kNowhere if neither.
  uint32_t placeFor(uint32_t earlier, uint32_t later) const {
    auto others = [&](const Group &group, const std::vector<std::vector<uint32_t>> &edges, auto fine) {
      for (uint32_t member : group.members)
        for (uint32_t n : edges[member])
          if (uint32_t g = group_[n]; g != earlier && g != later && !fine(groups_[g].place))
            return false;
      return true;
    };
    uint32_t from = groups_[earlier].place, to = groups_[later].place;
    if (others(groups_[earlier], users_, [&](uint32_t place) { return place > to; }))
      return to;
    if (others(groups_[later], needs_, [&](uint32_t place) { return place < from; }))
      return from;
    return kNowhere;
  }

  void merge(uint32_t into, uint32_t from, uint32_t place) {
    Group &a = groups_[into], &b = groups_[from];
    if (a.anchor == Family::Elementwise)
      a.anchor = b.anchor;
    a.place = place;
    for (uint32_t member : b.members)
      group_[member] = into;
    std::vector<uint32_t> both(a.members.size() + b.members.size());
    std::merge(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(), both.begin());
    a.members = std::move(both);
    b.members.clear();
  }

  std::vector<std::vector<uint32_t>> inOrder() const {
    std::vector<const std::vector<uint32_t> *> at(groups_.size()); // places are those of nodes
    for (const Group &group : groups_)
      if (!group.members.empty())
        at[group.place] = &group.members;
    std::vector<std::vector<uint32_t>> order;
    for (const std::vector<uint32_t> *members : at)
      if (members)
        order.push_back(*members);
    return order;
  }

  const std::vector<FusionNode> &nodes_;
  const FusionOptions &options_;
  std::vector<Group> groups_;                        ///< by number of the first that was in it; merged ones are empty
  std::vector<uint32_t> group_;                      ///< by node
  std::vector<std::vector<uint32_t>> needs_, users_; ///< by node
};

} // namespace

std::vector<std::vector<uint32_t>> fuse(const std::vector<FusionNode> &nodes, const FusionOptions &options) {
  return Fuser(nodes, options).run();
}

} // namespace accord
