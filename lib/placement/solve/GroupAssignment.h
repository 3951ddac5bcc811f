// Which device groups of a pipeline are of which kind, so that together they hold the most.
#pragma once
#include <cstdint>
#include <vector>

namespace accord::placing {

/// What groups hold: `holds[g][k]` of group g if it is of kind k, -INFINITY where it cannot be. At most `limits[k]`
/// groups are of kind k, and one at least.
struct GroupAssignment {
  std::vector<std::vector<double>> holds;
  std::vector<int64_t> limits;

  /// No assignment holds more; -INFINITY: there is none. It is the most that one holds where the numbers of groups of
  /// all kinds but the last have few combinations, by a dynamic program over these. Else each kind has a price for a
  /// group of it: each group is of the kind that holds the most above its price, and kinds get the price of all that
  /// they may have. No assignment is worth more, whatever the prices (Lagrange); a price at a time is set to the best.
  double max() const;
  /// The kinds of an assignment that holds the most, by group; of equal ones that with the last kind first. Empty:
  /// there is none, or too many numbers of groups to look for one.
  std::vector<size_t> kinds() const;

private:
  double maxByNumbers(std::vector<size_t> *kinds) const;
  double maxByPrices() const;
};

} // namespace accord::placing
