// From one process node to another.
#pragma once
#include "lib/machine/energy/Table.h"
#include <optional>

namespace accord {

/// Node and the coefficients of lib/catalog/scaling.csv, from the largest node to the
/// smallest.
struct NodeScaling {
  struct Node {
    double metres, a, b, c, logic = 1; ///< `logic`: area relative to 45 nm
  };
  std::vector<Node> nodes;

  /// `text` in the form of lib/catalog/scaling.csv. Issues as for `Table`; A0302 for nodes that do
  /// not get smaller.
  static Result<NodeScaling> read(std::string_view text, const std::string &file);
  static const NodeScaling &shipped();

  /// Factor on the energy of a switch at 0.8 V: the ratio of two numbers that are each interpolated linearly between
  /// the nodes around (Stillmaker and Baas, Integration 58, 2017). Nodes beyond the table count as its last: what is
  /// smaller than 7 nm is priced as 7 nm. Nodes are positive, in metres.
  double energy(double from, double to) const;
  /// Factor on the area of logic, interpolated likewise.
  double area(double from, double to) const;
  /// Energy of a switch at `share` of the node's nominal supply, over that at all of it, which 0.8 V stands for.
  double supply(double node, double share) const;
  /// The node that is meant for a node: itself, or the nearest in the table's range.
  double within(double metres) const;

private:
  Node at(double metres) const;
};

/// Tables of lib/catalog as text, built into the library.
std::string_view shippedTable(std::string_view name); ///< "energy", "area", …; empty if unknown

} // namespace accord
