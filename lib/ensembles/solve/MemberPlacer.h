// Members of one ensemble on devices.
#pragma once
#include "lib/ensembles/solve/ChooseMembers.h"

namespace accord {

/// Error of the best vote of those that are left, by kind.
using QuorumError = std::function<Rational(const std::vector<unsigned> &left)>;

/// Places multisets of members by branch and bound: kinds by falling time, on the devices of equal
/// kind and load only once, members of a kind in one order. What a partial placement can still
/// become is bounded by its own value and by its weighted loads: for any weights w of devices, the
/// slowest one takes at least the weighted sum of all members' least weighted times over the sum of
/// all weights (the dual of the fractional assignment; Lenstra, Shmoys and Tardos, Mathematical
/// Programming 46, 1990).
class MemberPlacer {
public:
  /// `left`: of use where devices may be lost.
  MemberPlacer(const MemberProblem &problem, QuorumError left, uint64_t effort);

  /// No placement of these members is below; infinite: one of them runs nowhere.
  double bound(const std::vector<unsigned> &counts) const;

  struct Result {
    std::optional<MemberChoice> best; ///< below the limit; without errors
    bool complete = true;             ///< else there may be a better one
  };
  /// The best placement whose value is below `limit`.
  Result place(const std::vector<unsigned> &counts, double limit) const;
  uint64_t maxSteps() const { return effort; }

private:
  struct Search;
  double weightedBound(const std::vector<unsigned> &counts, const std::vector<double> &weights) const;
  std::vector<double> weightsFor(const std::vector<unsigned> &counts) const;
  double amountOf(const MemberCost &alternative) const;

  const MemberProblem &problem;
  QuorumError left;
  uint64_t effort;
  std::vector<unsigned> order; ///< kinds, as they are placed
};

} // namespace accord
