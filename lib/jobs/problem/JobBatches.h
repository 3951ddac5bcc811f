// At which batches a job may run, how efficient samples are there, and how the learning rate follows.
//
// A gradient has a noise scale N, in samples: the trace of the covariance of one sample's gradient over the square of
// the gradient's norm. To the same progress, samples at a batch B are to those at a batch B0 as N + B to N + B0
// (McCandlish et al., arXiv 1812.06162, sections 2.2 and 2.3; Qiao et al., OSDI 2021, section 3.1, whose variance is
// N / B0 and whose square is 1). B may be below B0: then fewer samples suffice.
#pragma once
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/jobs/problem/LearningRate.h"

namespace accord::jobs {

/// (noise + own) / (noise + batch): samples at the training's own batch over those at `batch`. `noise` is positive and
/// batches are at least 1.
double sampleEfficiency(double noise, int64_t own, int64_t batch);

/// The batches of a job whose training has the batch `own`, ascending: those of the set; of a range the powers of two
/// times `own`, and its halves as long as they are whole numbers; `own` alone if nothing is stated. Empty: the range
/// has none.
std::vector<int64_t> batchesOf(const JobsRequest::Batches &stated, int64_t own);

/// The rule that a word of the language means for an optimizer, "adascale" that of its kind; an empty one is AdaScale.
/// Error A1107, at the place of the word, if the rule was not derived for it, or the optimizer has none.
Result<LearningRateRule> learningRateRuleOf(const JobsRequest::Batches &stated, std::string_view optimizer);

/// What the learning rate at the batch `own` and its warm-up are multiplied by at `batch`; the optimizer has the rule.
LearningRateScale learningRateAt(LearningRateRule rule, double noise, int64_t own, int64_t batch);

/// A part of a job in which its speed and its noise stay as they are.
struct JobPhase {
  double from = 0;   ///< share of the work at which it begins
  double factor = 1; ///< of its speed
  double noise = 0;  ///< 0: not stated
};
/// At least one; the first is from 0.
std::vector<JobPhase> phasesOf(const JobsRequest::Job &job);

/// Which batches of a training on some devices are not looked at: those that win in no phase, because they would need a
/// rate that a multiple of theirs does not have. A multiple accumulates the same micro-batches, so its rate is no
/// lower, but for the reading of gradients that are added to, which `kMargin` covers. What a slower batch would save of
/// power is not looked at.
class BatchBounds {
public:
  static constexpr double kMargin = 1.05;
  void add(int64_t batch, double rate) { rates[batch] = rate; }
  /// Whether a batch may have the highest goodput in a phase of a job. True if no multiple of it was added, or the job
  /// states no batches.
  bool mayWin(const JobsRequest::Job &job, int64_t own, int64_t batch) const;

private:
  std::map<int64_t, double> rates; ///< samples a second
};

} // namespace accord::jobs
