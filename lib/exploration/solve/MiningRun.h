// What all strategies share: counts and limits, the incumbent, values known, moments.
#pragma once
#include "lib/exploration/solve/DesignSample.h"
#include "lib/exploration/solve/Executor.h"
#include "lib/exploration/solve/MiningRandom.h"
#include <unordered_map>

namespace accord {

struct DesignHash {
  size_t operator()(const Design &design) const;
};
using KnownDesigns = std::unordered_map<Design, DesignEvaluation, DesignHash>;

/// What the problem says, with what may not be said put right.
double boundOf(MiningProblem &problem, const DesignBox &box);
double tightenedBound(MiningProblem &problem, const Design &design, unsigned level);
DesignEvaluation evaluationOf(MiningProblem &problem, const Design &design, double below);
/// A box halved at a parameter of `width` + 1 choices.
struct BoxHalves {
  uint32_t width;
  DesignBox low, high;
};
/// At each parameter that it leaves open.
std::vector<BoxHalves> halvesOf(const DesignBox &box);
/// Those that choose something there is for each parameter.
std::vector<Design> validDesigns(const std::vector<DesignParameter> &parameters, std::vector<Design> designs);

double processorSeconds(); ///< of all threads of the process

class MiningRun {
public:
  /// Bounds the whole space. `defaultEvaluations`: evaluations if no limit is set.
  MiningRun(MiningProblem &problem, const MiningOptions &options, std::string strategy,
            uint64_t defaultEvaluations = UINT64_MAX);

  const std::vector<DesignParameter> &parameters() const { return problem_.parameters(); }
  MiningProblem &problem() const { return problem_; }
  const MiningOptions &options() const { return options_; }
  /// A parameter has no choices, or no design can be.
  bool empty() const { return empty_; }
  bool stopped() const;
  /// Every design is known.
  bool complete() const { return size_ && *size_ == known_.size(); }
  /// No evaluation is left, or nothing to spend one on, or `stop`.
  bool isExhausted() const { return stopped() || left() == 0 || complete(); }
  bool isTruncated() const { return isTruncated_; } ///< a design that was to be valued was beyond the limit
  uint64_t left() const { return limit_ - result_.evaluations; }
  uint64_t limit() const { return limit_; }
  uint64_t boundsLeft() const { return options_.bounds - result_.bounds; }

  /// In parallel; the incumbent as though one after the other. Of designs that are known (where they are remembered) or
  /// twice in the list only one counts. Beyond the limit: infinite. `stop` does not break it off.
  std::vector<double> values(const std::vector<Design> &designs);
  double value(const Design &design) { return values({design})[0]; }
  /// Of many boxes, in parallel. Not above the limit: that is the caller's to see to.
  std::vector<double> bounds(const std::vector<DesignBox> &boxes);
  std::vector<double> tightenBoxes(const std::vector<DesignBox> &boxes); ///< as `bounds`
  /// Of many designs, in parallel; as many bounds count.
  std::vector<double> tightenBound(const std::vector<Design> &designs, unsigned level);

  /// What may be (`MiningProblem::mayHold`) and differs little from `wanted`: its own choices one after the other, in
  /// an order that is drawn and begins with `kept`; where one may not be with those before it, the nearest that may.
  /// Nothing: with the choice of `kept` nothing may be, or it was not found.
  std::optional<Design> possibleNear(const Design &wanted, MiningRandom &random, std::optional<size_t> kept = {}) const;
  /// Valued before, where designs are remembered.
  bool known(const Design &design) const { return known_.contains(design); }
  void forget() { remembersDesigns_ = false; } ///< designs come once only
  /// From now on a design whose bound is infinite is known, and not valued.
  void screenInfeasible() { screensInfeasible_ = true; }
  KnownDesigns &knownDesigns() { return known_; }
  /// Values of an earlier search, which count when they are asked for.
  void resume(KnownDesigns earlier) { earlier_ = std::move(earlier); }
  const KnownDesigns &earlier() const { return earlier_; }
  /// From now on designs are evaluated, and need not be told from each other where they are worth
  /// more than the incumbent at the beginning of the round.
  void useEvaluations() { usesEvaluations_ = true; }
  /// Least bound of what was evaluated.
  double evaluatedBound() const { return evaluatedBound_; }
  /// Called after each round of evaluations, and when the search ends.
  std::function<void(bool last)> saved;

  double incumbent() const { return result_.value; }
  const std::optional<Design> &best() const { return result_.best; }
  double bound() const { return result_.bound; }
  /// What is said of the evaluated designs that the result leaves open. `unevaluated`: no other design is below.
  void leaveUnsettled(double unevaluated);
  /// No design is worth less than this (or than the incumbent, which is the bound then).
  void prove(double bound);
  MiningResult finish(std::string proof);
  /// Of a strategy that proves nothing unless it has valued every design.
  MiningResult conclude(bool all);
  MiningResult refuse(std::string error);
  MiningResult &result() { return result_; }

private:
  double seconds() const; ///< of processor time since the search began
  void recordConvergence(bool always);
  /// Where in the list designs are that have to be valued, each once.
  std::vector<size_t> unknown(const std::vector<Design> &designs);

  MiningProblem &problem_;
  MiningOptions options_;
  uint64_t limit_;
  bool remembersDesigns_ = true, screensInfeasible_ = false, usesEvaluations_ = false, isTruncated_ = false,
       empty_ = false;
  double evaluatedBound_;
  std::optional<uint64_t> size_;
  KnownDesigns known_, earlier_;
  DesignSample sample_;
  std::unique_ptr<Executor> own_; ///< where the options name none
  Executor &executor_;
  double startTime_; ///< processor time
  MiningResult result_;
};

} // namespace accord
