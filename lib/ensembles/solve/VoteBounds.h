// Bounds of the error of a majority vote.
#pragma once
#include "lib/ensembles/solve/Patterns.h"

namespace accord {

/// e_i: error of member i; e_ij: both wrong; S1, S2: their sums over members and pairs; N members
/// of which t = ceil(N/2) wrong ones fail.
enum class VoteBoundKind {
  PoissonBinomial, ///< B1: exact for independent errors
  Hoeffding,       ///< B2: exp(-2N(1/2 - S1/N)^2), independent
  FirstOrder,      ///< B3: 2 S1 / N
  SecondOrder,     ///< B4: 4 (S1 + 2 S2) / N^2
  Cantelli,        ///< B5: (m2 - mu^2) / (m2 - mu + 1/4), the C-bound
  PairMarkov,      ///< B6: S2 / C(t,2)
  Marginals,       ///< B9: min over j < t of the sum of the N-j least e / (t-j)
  BinomialMoments, ///< B7: linear program over the number of wrong members
  Patterns,        ///< B8: linear program over the patterns of wrong members
  Table,           ///< B10: Clopper-Pearson limit of wrong votes that were seen
};
constexpr unsigned kNumVoteBounds = 10;

struct VoteBoundDescription {
  const char *name;        ///< "B6 pairs (Markov)"
  const char *formula;     ///< in the terms above
  const char *assumptions; ///< besides that the rates are right
};
VoteBoundDescription describe(VoteBoundKind kind);

struct VoteBound {
  VoteBoundKind kind;
  VoteCertificate certificate; ///< its `value`, at most 1, and what proves it (lib/ensembles/verify/Vote.h)
};

/// What a guarantee rests on.
enum class GuaranteeBasis {
  Table,        ///< votes that were seen
  Measured,     ///< rates seen in samples, some of them
  Asserted,     ///< rates stated as exact
  Independence, ///< errors stated to be independent
  None,         ///< no rate counts: the guarantee is 1
};
const char *describe(GuaranteeBasis basis);

struct VoteGuarantee {
  std::optional<VoteConflict> conflict; ///< then there is nothing else
  std::vector<VoteBound> bounds;        ///< all that apply, in the order of kinds
  size_t min = 0;                       ///< of `bounds`: the strongest
  /// The least that is guaranteed of one member alone, at the same confidence: a vote that is not
  /// below gains nothing that is certain.
  Rational best = 1;
  GuaranteeBasis basis = GuaranteeBasis::None; ///< of the strongest
  /// Numbers the strongest was computed from, and what is assumed, in words; members by name, the
  /// first ones of each kind.
  std::vector<std::string> inputs, assumptions;

  const VoteBound &strongest() const { return bounds[min]; }
  const Rational &value() const { return strongest().certificate.value; }
  bool improvesOnBestMember() const { return value() < best; }
};

/// All bounds that apply to the vote of all members; with none, or more than kMaxEnsembleMembers, 1. Rates
/// that were seen in samples count with their upper limits, which hold together with a probability
/// of `confidence`; with a table of votes only the table does. Taking the least is allowed: all
/// hold at once. `names` of members are for the words alone; missing ones are numbers.
VoteGuarantee strongest(const ErrorStatistics &statistics, const VoteOptions &options,
                        const std::vector<std::string> &names = {});

/// The value of `strongest` alone, at less work: B1, B8 (or B7 and B9) and B10. Nothing: rates
/// contradict each other. What a search asks for.
std::optional<Rational> guaranteed(const ErrorStatistics &statistics, const VoteOptions &options);

/// "joint error of 'wide' and 'thin'"; members without a name are numbers, from 1.
std::string nameOf(const std::vector<unsigned> &set, const std::vector<std::string> &names);
/// The numbers that a bound was computed from: "error of 'wide' at most 0.0861 (80 of 1000 wrong)".
std::vector<std::string> inputsOf(const VoteBound &bound, const VoteRates &rates,
                                  const std::vector<std::string> &names);
/// What has to hold for it besides arithmetic.
std::vector<std::string> assumptionsOf(const VoteBound &bound, const VoteRates &rates);

} // namespace accord
