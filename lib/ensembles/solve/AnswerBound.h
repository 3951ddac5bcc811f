// What is guaranteed of an answer where votes may be lost, late or wrong on their way.
#pragma once
#include "lib/ensembles/problem/VoteDelivery.h"
#include "lib/ensembles/solve/Patterns.h"

namespace accord {

/// What becomes of a sample whose wrong members are known: shares of all that may happen to devices and votes. Three
/// numbers from 0 to 1 whose sum is 1.
struct AnswerShares {
  Rational right; ///< more than half of the weight that arrives is right
  Rational wrong; ///< an answer of which half of the weight or more is wrong: a tie, too
  Rational none;  ///< less than the quorum arrives; the same for all patterns of wrong members
};

/// `wrong`: by member. Devices one after the other, by weights that have arrived so far.
AnswerShares answerShares(const VoteDelivery &delivery, const std::vector<bool> &wrong);

struct AnswerGuarantee {
  std::optional<VoteConflict> conflict; ///< rates contradict each other; then there is nothing else
  Rational none;                        ///< probability that there is no answer, exactly
  VoteCertificate certificate;          ///< its `value`: an answer is given and wrong with at most this probability
};

/// The least bound on wrong answers that follows from what is known: of a table of votes by limits of how many samples
/// are answered wrongly with at least each share that occurs; of independent errors exactly; else by the linear program
/// over patterns of wrong members, whose objective is the share of wrong answers of each pattern (rounded up to 12
/// digits where it has more). Nothing: too many patterns are told apart (kMaxPatterns).
std::optional<AnswerGuarantee> answerGuarantee(const ErrorStatistics &statistics, const VoteDelivery &delivery,
                                               const VoteOptions &options);

/// What is wrong with a delivery for so many members: sizes, probabilities, weights or a quorum that no votes reach.
/// Empty: nothing.
std::string check(const VoteDelivery &delivery, size_t members);

} // namespace accord
