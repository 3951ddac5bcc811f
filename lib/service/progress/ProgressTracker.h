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

/// Of one run. Times are seconds since 1970. Reports may come late, twice, or out of order: one that is older than
/// another says nothing. Where samples go back, the program went on from its last checkpoint, and what was before tells
/// no speed.
class ProgressTracker {
public:
  ProgressTracker() = default;
  /// `work`: samples of the whole job (0: not known); `at`: of them, those that were done when the run began at `began`
  /// (0: not yet); `planned`: samples a second by the plan, 0 where nothing is known.
  ProgressTracker(double work, double at, double began, double planned)
      : work(work), start(at), began(began), planned(planned), savedSamples(at) {}

  void begin(double time) { began = time; }
  void setPlanned(double rate) { planned = rate; }
  void setWork(double samples) { work = samples; }
  void add(const ProgressReport &report, double now);
  /// All times are later by so many seconds: the clock was set.
  void shift(double seconds);
  bool hasReports() const { return !points.empty(); }
  /// What was reported, by time, at most 512 points that are about as far from each other.
  const std::vector<ProgressPoint> &history() const { return points; }

  /// Samples that are done at a time: the last report and what its speed adds since, but no more than two reports would
  /// have said, and at most the work; without reports what the plan says.
  double samples(double now) const;
  /// As the last report says; without one, those at the start.
  double reported() const { return points.empty() ? start : points.back().samples; }
  /// Of them, those that a checkpoint has; a program that reports none has saved nothing.
  double saved() const { return savedSamples; }
  /// Samples a second, with what it loses to checkpoints and the like: over the last third of the run, or a minute. The
  /// interval is that of the mean of the rates of up to 8 equal times in it (batch means; Student's t). The time until
  /// the first progress is that of the start, and tells no speed.
  Interval rate() const;
  /// Seconds until the work is done. The interval counts that the time to come varies as the time before did: samples
  /// of times that do not overlap are taken for independent, so that the error of a time T by n blocks of B seconds is
  /// t s / m sqrt(T^2 / n + T B), with the mean m and the deviation s of their rates.
  Interval timeLeft(double now) const;
  /// Its speed against one that was planned: -0.1 is a tenth slower; 0 while that may be chance, or none was planned.
  double deviationFrom(double rate) const;
  double deviation() const { return deviationFrom(planned); }
  /// Whether its speed is known well enough to plan with: within a tenth.
  bool isSettled() const;
  double batch = 0, noise = 0, loss = 0, last = 0; ///< as reported; `last`: when

private:
  struct Speeds {
    double mean = 0, deviation = 0; ///< of the rates of equal times
    unsigned count = 0;
    double seconds = 0; ///< of each of them
  };
  Speeds speeds() const;
  double samplesAt(double time) const;
  double gap() const;
  void addPoint(ProgressPoint point);

  double work = 0, start = 0, began = 0, planned = 0, savedSamples = 0;
  std::vector<ProgressPoint> points; ///< by time; all but the last are at least `spacing` seconds apart
  double spacing = 0;
  double reports = 0; ///< that the points are of
};

/// At most so many points of a longer history: the first, the last, and others about as far from each other.
std::vector<ProgressPoint> thinned(const std::vector<ProgressPoint> &points, size_t max);

/// Whole lines of JSON: {"samples": 51200, "saved": 50000, "time_s": 1.7e9, "batch": 256, "noise": 900, "loss": 2.1};
/// other keys are passed over. A line of a trial, {"unit": 3, "value": 0.91}, says 3 samples, which are saved. Error
/// A1208 with the number of the line.
Result<std::vector<ProgressReport>> parseProgress(std::string_view text);

} // namespace accord::service
