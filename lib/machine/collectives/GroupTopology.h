// How the groups that exchange data stand in a fabric.
#pragma once
#include "lib/machine/collectives/Collective.h"

namespace accord {

/// Levels in which members of one group differ, and how many endpoints of one network take part.
struct RankSpan {
  std::vector<int> levels;
  std::vector<int64_t> peers;
};

RankSpan rankSpanOf(const Fabric &fabric, const Groups &groups);

GroupTopology groupTopologyOf(const Fabric &fabric, const Groups &groups, const RankSpan &rankSpan);

/// Peers of a grid in an order in which neighbours are neighbours, the last and the first one too
/// wherever a grid without wrapping links has such a circle: where some extent is even and there
/// are two dimensions.
std::vector<int64_t> ringOrder(const std::vector<int64_t> &grid);

/// Runs of the devices of one network of the level `inner`, and those that are at the same place of
/// each run; empty unless the runs of all groups are equally long, longer than one device, and
/// several.
std::pair<Groups, Groups> splitAtLevel(const Fabric &fabric, const Groups &groups, int inner);

/// How a group stands along one level: `peers` endpoints of a network, each `stride` behind the one before.
struct LevelRow {
  int level = 0;
  int64_t stride = 1, peers = 1;
  friend bool operator==(const LevelRow &, const LevelRow &) = default;
};

/// The levels in which members differ, innermost first, where every group is a row along each of these (all places of
/// one row beside all of the others) and the rows divide the networks; else empty.
std::vector<LevelRow> rowsOf(const Fabric &fabric, const Groups &groups);

} // namespace accord
