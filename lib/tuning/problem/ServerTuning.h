// Parameters of a server that are tuned while a training runs: the problem, and what was measured, as plain data.
//
// A training reports the samples that it has done. Time is cut into intervals of the training's own clock; in each one
// the server has one setting. The baseline is the setting that runs before, which is known to be safe; progress is
// stated as a ratio to that of the baseline. No interval is to be below `floor` of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord::tuning {

/// A parameter with the values that it may have: numbers in SI units (watts, bytes, seconds), or words.
struct ServerParameter {
  std::string name;
  std::string unit;               ///< as values are printed: "W", "B", "s", "Hz"; empty: plain numbers
  std::vector<double> values;     ///< ascending, each once, one step from the next; empty where it has words
  std::vector<std::string> words; ///< none of which is nearer to another one
  size_t size() const { return words.empty() ? values.size() : words.size(); }
};

/// Of each parameter the index of its value.
using Setting = std::vector<int64_t>;

enum class ServerObjective : uint8_t { SamplesPerSecond, SamplesPerJoule };

/// Which settings are tried.
enum class ServerStrategy : uint8_t {
  Safe,   ///< only those whose lower confidence bound of progress is above the floor, watched, with rollback
  Unsafe, ///< those with the largest upper confidence bound of the objective, wherever they are, unwatched
  Random  ///< evenly from all, unwatched
};

struct ServerProblem {
  std::string name;
  ServerObjective objective = ServerObjective::SamplesPerSecond;
  std::vector<ServerParameter> parameters;
  Setting baseline;
  double floor = 0.95;         ///< of the baseline's progress, 0 to 1
  double confidence = 0.9;     ///< with which no interval is below the floor, under the model
  double intervalSeconds = 30; ///< of the training's clock
  double silenceSeconds = 60;  ///< of the clock: a training that reports nothing for longer has failed
  double settleSeconds = 3;    ///< at the start of each interval, not measured; less than the interval
  int64_t intervals = 40;      ///< in all, those of the baseline too
  ServerStrategy strategy = ServerStrategy::Safe;
  uint64_t seed = 1; ///< of random settings, and of the noise of a table
};

/// A part of an interval, as a training reported it.
struct ServerWindow {
  double seconds = 0; ///< more than 0
  double samples = 0; ///< 0 or more
  double joules = 0;  ///< 0 where the training does not say it
};

/// The scales under which a setting was chosen; a posterior follows from them and from the intervals before.
struct ServerScales {
  double signal = 0, noise = 0;
  std::vector<double> lengths;
};

struct ServerInterval {
  enum class Kind : uint8_t {
    Baseline, ///< the baseline is measured, first and now and then
    Trial,    ///< a setting that was chosen
    Recovery  ///< the best setting known to be safe, behind a trial that was rolled back or failed
  } kind = Kind::Baseline;
  enum class Outcome : uint8_t {
    Complete,
    RolledBack, ///< progress was below the floor with confidence before the interval ended
    Failed      ///< the program died, was silent, or reported what cannot be
  } outcome = Outcome::Complete;
  Setting setting;
  double lower = 0;                   ///< of a trial: lower confidence bound of the ratio when it was chosen
  double mean = 0;                    ///< and the ratio that was expected
  double reference = 0;               ///< samples per second of the baseline, as known when it began; 0: not yet
  std::optional<ServerScales> scales; ///< of a trial that was chosen by a posterior
  std::vector<ServerWindow> windows;
  std::string reason; ///< of one that failed

  double seconds() const;
  double samples() const;
  double joules() const;
  /// Samples per second; 0 where nothing was measured.
  double rate() const;
};

/// What is taken from a tuning.
struct ServerResult {
  std::vector<ServerInterval> intervals;
  Setting best;    ///< the setting that stays: of the best expected objective among those known to be safe
  double gain = 0; ///< expected objective over that of the baseline, less 1
  double gainLow = 0, gainHigh = 0; ///< interval of 95 % of the posterior
  int64_t trials = 0, rollbacks = 0, failures = 0;
  std::optional<ServerScales> scales, objectiveScales; ///< behind the last interval; of the objective if it is another
  double lostSamples = 0;   ///< by which intervals that were rolled back or failed are behind the baseline
  double gainedSamples = 0; ///< by which all other intervals are ahead of it; negative: behind
};

// ---- Constants that a solver and a verifier share, since they are the rules of the record

constexpr int64_t kFirstBaselines = 3; ///< intervals
constexpr int64_t kBaselineEvery = 6;  ///< intervals between two of the baseline, at most
constexpr size_t kWindows = 12;        ///< of an interval
constexpr int64_t kMaxSettings = 65'536, kMinIntervals = 5, kMaxIntervals = 200;
/// Logarithms of ratios: that of a failed interval, and the smallest of a window, which may be 0.
constexpr double kFailedLog = -0.5, kMinWindowLog = -2.302585092994046;
/// With which an interval that is not below the floor is rolled back, whenever it is looked at.
constexpr double kFalseRollback = 0.01;
/// Weight of a baseline that is this number of intervals away: 1/e.
constexpr double kReferenceReach = 6;
/// The machine has changed where a baseline differs by so many standard deviations, and by this logarithm.
constexpr double kJumpDeviations = 4, kMinJump = 0.03;
/// A trial is at most so many steps, summed over parameters, from a setting that ran and is safe.
constexpr int64_t kMaxSteps = 2;
/// Medians of the priors: progress differs by 15 %, over 16 steps of a number, so that one step changes it by 1.2 %
/// (standard deviation). A safe tuner takes no smaller signal and no larger lengths.
constexpr double kSignalMedian = 0.15, kLengthMedian = 16, kWordLength = 1;
constexpr double kInterval95 = 1.959964; ///< standard deviations
constexpr int64_t kMaxFailures = 5;      ///< a tuning with more of them ends

// ---- Values and settings

/// The value of a parameter: "250 W", "64 MB", "8", "adam".
std::string valueText(const ServerParameter &parameter, int64_t index);
/// "power_cap 250 W, loader_workers 8".
std::string settingText(const std::vector<ServerParameter> &parameters, const Setting &setting);
int64_t numSettings(const std::vector<ServerParameter> &parameters); ///< at most kMaxSettings + 1
/// Settings by number, the last parameter running fastest.
Setting settingOf(const std::vector<ServerParameter> &parameters, int64_t number);
/// Where a setting lies: the index of each value, so that steps are equally far.
std::vector<double> pointOf(const Setting &setting);
/// Values between two settings, summed over parameters; another word is one step.
int64_t stepsBetween(const std::vector<ServerParameter> &parameters, const Setting &a, const Setting &b);
/// Whether each index is that of a value.
bool isSetting(const std::vector<ServerParameter> &parameters, const Setting &setting);

} // namespace accord::tuning
