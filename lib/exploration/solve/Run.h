// What all strategies share: counts and limits, the incumbent, values known, moments.
#pragma once
#include "lib/exploration/solve/Crew.h"
#include <unordered_map>

namespace accord {

struct DesignHash {
  size_t operator()(const Design &design) const;
};
using KnownDesigns = std::unordered_map<Design, Appraisal, DesignHash>;

/// `bound`, or `value`, with what may not be said put right.
double boundOf(MiningProblem &problem, const DesignBox &box);
double valueOf(MiningProblem &problem, const Design &design);
double deepened(MiningProblem &problem, const Design &design, unsigned tier);
Appraisal appraisalOf(MiningProblem &problem, const Design &design, double below);
/// Those that choose something there is for each parameter.
std::vector<Design> designsAmong(const std::vector<DesignParameter> &parameters,
                                 std::vector<Design> designs);

class MiningRun {
public:
  /// Bounds the whole space. `usual`: evaluations if no limit is set.
  MiningRun(MiningProblem &problem, const MiningOptions &options, std::string strategy,
            uint64_t usual = UINT64_MAX);

  const std::vector<DesignParameter> &parameters() const { return problem_.parameters(); }
  MiningProblem &problem() const { return problem_; }
  const MiningOptions &options() const { return options_; }
  /// A parameter has no choices, or no design can be.
  bool empty() const { return empty_; }
  bool stopped() const;
  /// Every design is known.
  bool complete() const { return size_ && *size_ == known_.size(); }
  /// No evaluation is left, or nothing to spend one on, or `stop`.
  bool spent() const { return stopped() || left() == 0 || complete(); }
  bool cut() const { return cut_; } ///< a design that was to be valued was beyond the limit
  uint64_t left() const { return limit_ - result_.evaluations; }
  uint64_t limit() const { return limit_; }
  uint64_t boundsLeft() const { return options_.bounds - result_.bounds; }

  /// In parallel; the incumbent as though one after the other. Of designs that are known (where
  /// they are remembered) or twice in the list only one counts. Beyond the limit: infinite. `stop`
  /// does not break it off.
  std::vector<double> values(const std::vector<Design> &designs);
  double value(const Design &design) { return values({design})[0]; }
  /// Of many boxes, in parallel. Not above the limit: that is the caller's to see to.
  std::vector<double> bounds(const std::vector<DesignBox> &boxes);
  /// Of many designs, in parallel; as many bounds count.
  std::vector<double> deepen(const std::vector<Design> &designs, unsigned tier);

  /// Valued before, where designs are remembered.
  bool known(const Design &design) const { return known_.contains(design); }
  void forget() { remembers_ = false; } ///< designs come once only
  /// From now on a design whose bound is infinite is known, and not valued.
  void screen() { screens_ = true; }
  KnownDesigns &knowledge() { return known_; }
  /// Values of an earlier search, which count when they are asked for.
  void resume(KnownDesigns earlier) { earlier_ = std::move(earlier); }
  const KnownDesigns &earlier() const { return earlier_; }
  /// From now on designs are appraised, and need not be told from each other where they are worth
  /// more than the incumbent at the beginning of the round.
  void appraise() { appraises_ = true; }
  /// Least bound of what was appraised.
  double appraised() const { return appraised_; }
  /// Called after each round of evaluations, and when the search ends.
  std::function<void(bool last)> saved;

  double incumbent() const { return result_.value; }
  const std::optional<Design> &best() const { return result_.best; }
  double bound() const { return result_.bound; }
  /// No design is worth less than this (or than the incumbent, which is the bound then).
  void prove(double bound);
  MiningResult finish(std::string proof);
  /// Of a strategy that proves nothing unless it has valued every design.
  MiningResult conclude(bool all);
  MiningResult refuse(std::string why);
  MiningResult &result() { return result_; }

private:
  double seconds() const; ///< of processor time since the search began
  void moment(bool always);
  /// Where in the list designs are that have to be valued, each once.
  std::vector<size_t> unknown(const std::vector<Design> &designs);

  MiningProblem &problem_;
  MiningOptions options_;
  uint64_t limit_;
  bool remembers_ = true, screens_ = false, appraises_ = false, cut_ = false, empty_ = false;
  double appraised_;
  std::optional<uint64_t> size_;
  KnownDesigns known_, earlier_;
  std::unique_ptr<Crew> own_; ///< where the options name none
  Crew &crew_;
  double begun_; ///< processor time
  MiningResult result_;
};

} // namespace accord
