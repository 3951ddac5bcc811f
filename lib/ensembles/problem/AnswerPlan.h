// Members that were chosen to answer, with what is claimed of their answers.
#pragma once
#include "lib/ensembles/problem/AnswerProblem.h"
#include "lib/ensembles/problem/MemberStatistics.h"
#include "lib/ensembles/problem/VoteCertificate.h"

namespace accord {

/// What is claimed of answers of a placement, after a failure of some of its devices, and what proves it.
struct AnswerClaim {
  std::vector<size_t> failed;  ///< indices of devices of the placement
  int64_t time = 0;            ///< ps: votes that are there by then count
  VoteCertificate certificate; ///< with a delivery, which says whether it is of wrong or of undecided votes
};

/// So many inputs are answered, or known to have no answer, after so long.
struct AnswerTime {
  Rational share;
  int64_t decided = 0;       ///< ps, at most: the votes decide, or the time is out
  int64_t quorum = 0;        ///< ps, at most: the quorum is there, or the time is out
  double quorumEstimate = 0; ///< s, by lognormal latencies
};

struct AnswerChoice {
  std::vector<AnsweringDevice> devices; ///< by kind of device, then number
  int64_t quorum = 1;
  double joules = 0;                          ///< of all members, for one input
  Rational wrong = 1, none = 1;               ///< at most
  Rational wrongAfter = 1, noneAfter = 1;     ///< after the worst failure of devices; without one the same
  double wrongEstimate = 0, noneEstimate = 0; ///< `wrong` and `none` by lognormal latencies
  std::vector<AnswerTime> times;              ///< of 50, 99 and 99.9 % of inputs
};

/// A placement with a smaller objective that does not keep what is required, and a claim that is above it.
struct RejectedAnswer {
  std::vector<AnsweringDevice> devices;
  AnswerClaim claim;
};

/// Devices that do nothing.
struct IdleDevice {
  unsigned device = 0;
  int64_t count = 0;
  std::string reason;
};

struct AnswerResult {
  std::optional<AnswerChoice> best;
  uint64_t placements = 0; ///< of all sizes, equal devices taken for one
  uint64_t evaluated = 0;  ///< of these, whose answers were bounded
  bool isComplete = true;  ///< none is left that could be better
  double bound = 0;        ///< J, ps or a probability: no placement that keeps what is required is below
  std::vector<AnswerClaim> claims;
  uint64_t numRejected = 0;             ///< that a linear program, or votes that were seen, exclude below the best
  std::vector<RejectedAnswer> rejected; ///< the first hundred of them
  std::vector<IdleDevice> idle;
  /// Without `best`: of all placements, the smallest bound on wrong answers, and who has it.
  Rational minWrong = 1;
  std::vector<AnsweringDevice> minWrongDevices;
};
double valueOf(const AnswerChoice &choice, AnswerObjective objective); ///< J, ps or a probability

struct AnswerPlan {
  std::string name, train, version;
  AnswerProblem problem;
  MemberStatistics statistics;
  Rational confidence;
  int64_t tests = 1; ///< limits of samples that hold together
  AnswerResult result;
  std::string conflict; ///< why nothing is chosen; empty: something is
  std::vector<std::string> assumptions;
};

} // namespace accord
