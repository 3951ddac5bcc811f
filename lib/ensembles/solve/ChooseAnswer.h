// Which members answer, on which devices, at which levels, and with which quorum.
#pragma once
#include "lib/ensembles/problem/AnswerPlan.h"

namespace accord {

struct AnswerOptions {
  Rational confidence = Rational(19) / Rational(20);
  int64_t tests = 1;        ///< limits that hold together, of all placements: see `answerTests`
  uint64_t effort = 20'000; ///< bounds on answers that are computed at most
};

/// Placements of more than this are refused.
constexpr uint64_t kMaxAnswerPlacements = 300'000;
/// How many there are, of all sizes, equal devices taken for one; kMaxAnswerPlacements + 1: more.
uint64_t answerPlacements(const AnswerProblem &problem);

/// Limits that have to hold together where any placement may be chosen with any quorum, by all its claims: the measured
/// rates, or with a table of votes a limit for each placement, quorum, failure of devices, and requirement.
int64_t answerTests(const AnswerProblem &problem, const MemberStatistics &statistics);

/// The placement that keeps all that is required, and whose objective is the least: exact but where `effort` ends it
/// (`isComplete`). All placements are sorted by a lower bound of their objective (energy; the time until the quorum is
/// there). Of each, the quorum is the largest that keeps what is required of missing and late answers, for a larger
/// quorum has no more wrong answers; where time is minimized, the smallest that keeps the error. The problem passes
/// `check`, and has kMaxAnswerPlacements at most.
AnswerResult chooseAnswer(const AnswerProblem &problem, const MemberStatistics &statistics,
                          const AnswerOptions &options = {});

} // namespace accord
