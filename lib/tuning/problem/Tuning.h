// A tuning of hyper-parameters: the problem, and what was run, as plain data.
//
// A trial is a training with one configuration. It runs in units (epochs, or a number of steps), and after each unit
// says the value of the objective. Times are seconds of the plan: a unit takes as long as the problem expects of it, so
// the same seed gives the same trials in the same order, whatever the clock of a machine says.
#pragma once
#include "lib/tuning/problem/ScaleRules.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace accord::tuning {

/// How new configurations are proposed.
enum class Proposals : uint8_t {
  Random,  ///< evenly from the space
  Density, ///< where good ones are dense and bad ones are not (BOHB)
  Priced   ///< by density for each second that a unit is expected to take
};
/// When trials are stopped before their end.
enum class Stops : uint8_t {
  Halving, ///< at rungs, where others are better
  Curves,  ///< where a trial's curve does not come to the best value
  Both
};
/// How devices are given to trials.
enum class Sharing : uint8_t {
  Joint, ///< decided anew whenever a trial reaches a rung: those that came further get more
  Fixed  ///< each trial has the same number as long as it runs
};

/// On how much a trial may run, and how fast it is there: 1 is the speed of one whole device.
struct Width {
  int64_t slots = 1;
  double speed = 1; ///< above 0; where trials share a device, that of one beside as many as fit
};

/// Population-based training (Jaderberg et al., arXiv 1711.09846): hyper-parameters change while trainings run.
///
/// So many members run side by side, all for `every` units: a generation. Then the worst are replaced by children of
/// the best: a child is a new trial that begins with its parent's state, and with hyper-parameters near its parent's.
struct Population {
  int64_t members = 8;   ///< 2 or more
  int64_t every = 1;     ///< units of a generation; the last one may be shorter
  double replaced = 0.2; ///< share of the members that are replaced, rounded up; above 0, at most a half
  double redrawn = 0.25; ///< how probable it is that a hyper-parameter of a child is drawn anew from its range
  std::vector<double> factors{0.8, 1.25}; ///< by one of these a number that is not drawn anew is multiplied
  std::vector<std::string> fixed = {};    ///< hyper-parameters that a child takes as they are
};

struct TuningProblem {
  std::string name;
  std::string objective = "value"; ///< as the program calls it
  bool maximizes = true;
  SearchSpace space;
  ScaleRules scales = {};             ///< how programs get what is scaled by a batch or a width
  int64_t minUnits = 1, maxUnits = 1; ///< before a trial may be stopped, and of a complete one
  int64_t reduction = 3;              ///< of so many trials that reach a rung one goes on; 2 or more
  /// So many trials, the first, go on behind the lowest rung whatever they say there, to tell whether it says anything:
  /// where ranks at the rung and at the next one agree less than `kMinAgreement`, nobody is stopped at it, and the
  /// first ones go on to tell the same of the next. 0: all rungs count.
  int64_t probes = 0;
  Stops stops = Stops::Halving;
  /// With curves: a trial is stopped when it is less probable than that that its last value is better than the best
  /// one.
  double stopBelow = 0.05;
  int64_t trials = 1;                ///< at most
  int64_t devices = 1;               ///< of the cluster
  int64_t devicesPerNode = 1;        ///< more devices than that are whole nodes
  int64_t slotsPerDevice = 1;        ///< so many trials may share a device
  std::vector<Width> widths{{1, 1}}; ///< on how much a trial may run, ascending; `slotsPerDevice` slots are a device
  double restart = 0;     ///< seconds without progress at each start of a trial and each change of its devices
  double unitSeconds = 1; ///< of a unit on one device, where nothing else says it
  Proposals proposals = Proposals::Density;
  Sharing sharing = Sharing::Joint;
  int64_t fixedSlots = 1;            ///< of each trial, with `Sharing::Fixed`: one of `widths`
  double maxSeconds = 0;             ///< nothing begins later; 0: no limit
  std::optional<double> target = {}; ///< the tuning ends when a value is as good
  uint64_t seed = 1;
  std::vector<Configuration> first = {}; ///< proposed before all others: what was good in earlier tunings
  /// All members run to the end: `minUnits` is `maxUnits`, and `reduction`, `probes` and `stops` say nothing.
  std::optional<Population> population = {};
  /// Where hyper-parameters act from a unit on (`HyperParameter::from`, each a rung): so many trials have the state
  /// there of one that goes on, itself among them. The others begin at that unit, with its earlier hyper-parameters.
  int64_t branches = 1;
};

/// What a trial said after a unit.
struct Report {
  int64_t unit = 0;
  double value = 0; ///< infinite: the training has diverged
  double time = 0;  ///< seconds of the plan
};

/// A trial on its devices for a while.
struct Segment {
  unsigned trial = 0;
  int64_t from = 0, to = 0; ///< units done before and behind it
  int64_t slots = 1;
  std::vector<int64_t> devices = {}; ///< numbers from 0; the devices of a node follow each other
  double start = 0, end = 0;
};

/// From whose state a trial begins: a child in a population, or a branch.
struct Origin {
  unsigned trial = 0;
  int64_t unit = 0;                      ///< after which the state was taken
  std::vector<std::string> redrawn = {}; ///< hyper-parameters that were drawn anew
};

struct Trial {
  enum class State : uint8_t {
    Paused,   ///< others were better at its rung
    Complete, ///< all units
    Diverged, ///< a value that is not finite
    Failed,   ///< the program ended without a value
    Stopped,  ///< its curve does not come to the best value
    Replaced  ///< by a child of a better member of its population
  } state = State::Paused;
  Configuration configuration;
  double unitSeconds = 1;               ///< expected of a unit on one device
  std::vector<Report> reports = {};     ///< by unit, of those that it has run itself
  std::string reason = {};              ///< of one that failed
  std::vector<PassedValue> passed = {}; ///< what the program got in other than base terms
  std::optional<Origin> origin = {};    ///< nothing: it begins at unit 0

  /// Units that it did not run, since it began with the state of another one.
  int64_t inherited() const { return origin ? origin->unit : 0; }
  /// What it said itself after a unit; null: nothing.
  const Report *at(int64_t unit) const {
    const int64_t index = unit - inherited() - 1;
    return index >= 0 && index < std::ssize(reports) ? &reports[static_cast<size_t>(index)] : nullptr;
  }
};

/// The best value so far.
struct Incumbent {
  double time = 0;
  unsigned trial = 0;
  int64_t unit = 0;
  double value = 0;
};

struct TuningResult {
  std::vector<Trial> trials;         ///< in the order in which they were proposed, so behind those they begin from
  std::vector<Segment> segments;     ///< by start, then trial
  std::vector<Incumbent> incumbents; ///< each better than the one before
  double seconds = 0;                ///< until the last segment has ended
  double deviceSeconds = 0;          ///< shares of devices times seconds, of all segments
  int64_t units = 0;                 ///< that all trials have run; what is inherited does not count
};

/// The values of a training after each unit, with those of the trials with whose state it began.
inline std::vector<double> curveOf(const TuningResult &result, unsigned trial) {
  std::vector<double> out;
  for (const Report &report : result.trials[trial].reports)
    out.push_back(report.value);
  for (auto origin = result.trials[trial].origin; origin && origin->trial < trial; // as it is unless a document lies
       trial = origin->trial, origin = result.trials[trial].origin) {
    std::vector<double> before;
    for (const Report &report : result.trials[origin->trial].reports)
      if (report.unit <= origin->unit)
        before.push_back(report.value);
    out.insert(out.begin(), before.begin(), before.end());
  }
  return out;
}

/// Rungs: units after which the trials that go on are chosen; the last is `maxUnits`. Of a population they are the ends
/// of its generations.
inline std::vector<int64_t> rungs(const TuningProblem &problem) {
  std::vector<int64_t> out;
  if (const auto &population = problem.population) {
    for (int64_t units = population->every; units < problem.maxUnits; units += population->every)
      out.push_back(units);
    out.push_back(problem.maxUnits);
    return out;
  }
  for (int64_t units = problem.minUnits; units < problem.maxUnits; units *= problem.reduction)
    out.push_back(units);
  out.push_back(problem.maxUnits);
  return out;
}

/// Of so many members so many are replaced, and so many may be parents: the share rounded up, at most a half.
inline size_t numReplaced(const Population &population, size_t members) {
  const double share = population.replaced * static_cast<double>(members);
  return std::min(static_cast<size_t>(std::ceil(share - 1e-9)), members > 1 ? members / 2 : 1);
}

/// Spearman's correlation of ranks from which on a rung counts.
constexpr double kMinAgreement = 0.5;

/// Whether `a` is better than `b`; what is not finite is worse than all that is.
inline bool isBetter(const TuningProblem &problem, double a, double b) {
  const bool goodA = a - a == 0, goodB = b - b == 0;
  if (!goodA || !goodB)
    return goodA && !goodB;
  return problem.maximizes ? a > b : a < b;
}

} // namespace accord::tuning
