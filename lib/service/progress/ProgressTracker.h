// How far a run is, how fast, and when it will be done, by what it reported itself.
#pragma once
#include "lib/service/problem/ServedJob.h"
#include "lib/support/Result.h"
#include <string_view>

namespace accord::service {

/// A number with its 90 % interval; 0 or less: not known.
struct Interval {
  double value = 0, low = 0, high = 0;
};

/// Of one run. Times are seconds since 1970. Reports may come late, twice, out of order, or with numbers that go back
/// (the program went on from its last checkpoint): the last one by its time counts.
class ProgressTracker {
public:
  ProgressTracker() = default;
  /// `work`: samples of the whole job; `at`: of them, those that were done when the run began at `began` (0: not yet);
  /// `planned`: samples a second by the plan, 0 where nothing is known.
  ProgressTracker(double work, double at, double began, double planned);

  void begin(double time);
  void setPlanned(double rate) { planned = rate; }
  void add(const ProgressReport &report, double now);
  bool hasReports() const { return reports > 0; }

  /// Samples that are done at a time: the last report and what its speed adds since, at most the work; without reports
  /// what the plan says.
  double samples(double now) const;
  /// Of them, those that a checkpoint has; a program that reports none has saved nothing.
  double saved() const { return savedSamples; }
  /// Samples a second while it makes progress.
  Interval rate() const;
  /// Seconds until the work is done at this speed.
  Interval timeLeft(double now) const;
  /// Its speed against the plan: -0.1 is a tenth slower; 0 while that is not sure.
  double deviation() const;
  double batch = 0, noise = 0, loss = 0, last = 0; ///< as reported; `last`: when

private:
  double work = 0, start = 0, began = 0, planned = 0, savedSamples = 0;
  size_t reports = 0;
  double lastSamples = 0, firstTime = 0, firstSamples = 0;
  double mean = 0, variance = 0, weight = 0; ///< of rates between reports
};

/// Whole lines of JSON: {"samples": 51200, "saved": 50000, "time": 1.7e9, "batch": 256, "noise": 900, "loss": 2.1}.
/// Error A1208 with the number of the line.
Result<std::vector<ProgressReport>> parseProgress(std::string_view text);

} // namespace accord::service
