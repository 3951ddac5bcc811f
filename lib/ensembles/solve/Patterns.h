// The linear program over all patterns of wrong members (Kuncheva, Whitaker, Shipp and Duin,
// Pattern Analysis and Applications 6, 2003, for equal members; Hailperin, American Mathematical
// Monthly 72, 1965, for all), in exact fractions.
#pragma once
#include "lib/ensembles/problem/VoteCertificate.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace accord {

struct VoteOptions {
  Rational confidence = Rational(19) / Rational(20); ///< above 0, below 1
  /// Limits that have to hold together at this confidence: of all candidates among which a choice
  /// is made with the same samples. 0: as many as these facts have.
  int64_t tests = 0;
  std::vector<unsigned> kinds; ///< as in VoteCertificate
};

struct VoteRate {
  Rational rate;
  bool exact = true; ///< else at most
};

/// Facts with limits in place of what was seen. Sets that are none of 1 … `members` ascending
/// members are left out, as are rates that are not known.
class VoteRates {
public:
  VoteRates(const ErrorStatistics &statistics, const VoteOptions &options);

  unsigned members = 0;
  std::map<std::vector<unsigned>, VoteRate> known;
  int64_t tests = 1;             ///< stated, or counted
  std::vector<VoteLimit> limits; ///< that are in `known`
  /// Of any set: known, or at most the least of its known subsets, or 1.
  VoteRate of(const std::vector<unsigned> &set) const;
  /// Error of each limit.
  Rational delta;
};

/// Members that can change places without any rate changing, in groups; with `alike`, those of which it says so as
/// well.
std::vector<std::vector<unsigned>> interchangeable(const VoteRates &rates,
                                                   llvm::function_ref<bool(unsigned, unsigned)> alike = nullptr);

/// How many members of each group are in a set.
std::vector<unsigned> countsByGroup(const std::vector<std::vector<unsigned>> &groups, const std::vector<unsigned> &set);

struct PatternBound {
  std::vector<std::vector<unsigned>> groups;
  /// Some joint distribution has these rates. If none: `multipliers` are those of a contradiction.
  bool feasible = true;
  /// False: the program was too much work; `value` is a bound that may not be the least.
  bool complete = true;
  Rational value; ///< of a contradiction the negative sum
  Rational constant;
  std::vector<VoteTerm> multipliers, attained; ///< as in VoteCertificate
};

/// Programs of more patterns than this are not solved.
constexpr uint64_t kMaxPatterns = 512; // nine different members

/// The most that P(`enough` or more are wrong) can be, and a distribution where it is that.
/// Nothing: too many patterns. The program of a million members' votes is that of their groups.
std::optional<PatternBound> maxFailureProbability(const VoteRates &rates, unsigned enough);

/// The same where a pattern fails with a share from 0 to 1, by wrong members of each of these groups, in which members
/// can change places; a share with more than 12 digits counts as the next one of 12. Nothing: too many patterns.
std::optional<PatternBound> maxFailureShare(const VoteRates &rates, const std::vector<std::vector<unsigned>> &groups,
                                            llvm::function_ref<Rational(const std::vector<unsigned> &)> share);

/// The same with all members in one group, by the sums of rates of sets of one, two, … members
/// (binomial moments: Prekopa, Operations Research 36, 1988): any number of members, but weaker. Of
/// sets of three and more where all of a size are known. It has no `attained`.
PatternBound maxFailureProbabilityByMoments(const VoteRates &rates, unsigned enough);

/// Rates that contradict each other: no joint distribution has them all, but one has any of them
/// without one.
struct VoteConflict {
  std::vector<std::vector<unsigned>> sets; ///< in order of size
  /// With all of `sets` but the last, its rate would be from `low` to `high`; nothing where too
  /// many patterns are told apart.
  std::optional<std::pair<Rational, Rational>> range;
  bool independent = false;    ///< because errors are said to be independent
  VoteCertificate certificate; ///< proves it; of `independent` there is nothing but the product
};
/// Nothing: some joint distribution has these rates; with too many patterns, none is excluded by
/// their moments. Of at most kMaxEnsembleMembers members.
std::optional<VoteConflict> conflictOf(const ErrorStatistics &statistics, const VoteOptions &options);
/// "no joint distribution has error of a = 0.1 and of a and b together = 0.15: the last is 0 to 0.1
/// at that". By member a name.
std::string text(const VoteConflict &conflict, const std::vector<std::string> &names);

} // namespace accord
