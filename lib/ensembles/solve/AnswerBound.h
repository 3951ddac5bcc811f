// What is guaranteed of an answer where votes may be lost, late or wrong on their way.
#pragma once
#include "lib/ensembles/problem/VoteDelivery.h"
#include "lib/ensembles/solve/Patterns.h"

namespace accord {

/// What becomes of a sample whose wrong members are known: shares of all that may happen to devices and votes. Where a
/// delivery says exactly how likely votes are late or lost, the first three are exact, and their sum is 1. Else each
/// holds for all probabilities within what is said: devices that may or may not be late send wrong votes, and right
/// votes that count for the quorum alone.
struct AnswerShares {
  Rational right;     ///< at least: more than half of the weight that arrives is right
  Rational wrong;     ///< at most: an answer of which half of the weight or more is wrong: a tie, too
  Rational none;      ///< at most: less than the quorum arrives; the same for all patterns of wrong members
  Rational undecided; ///< at most: see VoteDelivery::isUndecided
};

/// `wrong`: by member. Devices one after the other, by weights that have arrived so far.
AnswerShares answerShares(const VoteDelivery &delivery, const std::vector<bool> &wrong);
/// The one that a delivery claims, nearly: no less, and at most 10^-11 more, at a small part of the work. Nothing where
/// weights are too large for that.
std::optional<double> fastAnswerShare(const VoteDelivery &delivery, const std::vector<bool> &wrong);

struct AnswerGuarantee {
  std::optional<VoteConflict> conflict; ///< rates contradict each other; then there is nothing else
  Rational none;                        ///< probability that there is no answer, as AnswerShares has it
  VoteCertificate certificate;          ///< its `value`: what the delivery claims has at most this probability
};

/// The least bound on wrong answers that follows from what is known: of a table of votes by limits of how many samples
/// are answered wrongly with at least each share that occurs; of independent errors exactly; else by the linear program
/// over patterns of wrong members, whose objective is the share of wrong answers of each pattern (rounded up to 12
/// digits where it has more). Nothing: too many patterns are told apart (kMaxPatterns).
std::optional<AnswerGuarantee> answerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                               const VoteOptions &options);
/// The same, of rates that may be known to have no conflict, with shares of `fastAnswerShare`: what a search asks for.
/// If the rates do contradict each other, that is the `conflict`, without a text. Its certificate has a distribution
/// that attains the bound, where the linear program found it.
std::optional<AnswerGuarantee> fastAnswerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                                   const VoteOptions &options);

/// What is wrong with a delivery for so many members: sizes, probabilities, weights or a quorum that no votes reach.
/// Empty: nothing.
std::string check(const VoteDelivery &delivery, size_t members);

} // namespace accord
