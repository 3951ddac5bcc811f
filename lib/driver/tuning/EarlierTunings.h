// Earlier tunings with whose best configurations a new one begins.
#pragma once
#include "lib/support/Result.h"
#include "lib/tuning/output/TuningOutput.h"

namespace accord {

class EarlierTunings {
public:
  /// `problem` is the new tuning, which outlives this.
  explicit EarlierTunings(const tuning::TuningProblem &problem) : problem_(problem) {}

  /// Ranks the configurations of an earlier tuning that are in the space of the new one, some of them carried there by
  /// rules of scaling. Of trials that began with the state of others it is the configuration of the first of these,
  /// since a new trial begins at unit 0, too. Error A0801 where a trial has no configuration of its own tuning's space.
  Result<void> add(const tuning::TuningReport &earlier, const std::string &label);

  /// The best of each earlier tuning in turn, five of each: first the best ones of all, each configuration once, and no
  /// more than trials may begin.
  std::vector<tuning::Configuration> first() const;
  /// How many there are, which were carried, and why others were left out.
  std::vector<std::string> sentences() const;
  size_t size() const { return ranked_.size(); } ///< earlier tunings

private:
  template <class Each> void each(const Each &visit) const;
  std::string whyOutside(const tuning::TuningReport &earlier, const tuning::CarriedConfiguration &made) const;

  const tuning::TuningProblem &problem_;
  std::vector<std::vector<tuning::CarriedConfiguration>> ranked_; ///< by earlier tuning, the best first
  std::map<std::string, size_t> left_;                            ///< configurations that were left out, by reason
};

} // namespace accord
