#include "lib/tuning/solve/Tuner.h"
#include "lib/support/StableSort.h"
#include "lib/tuning/problem/CurveModel.h"
#include "lib/tuning/solve/DensityModel.h"
#include "lib/tuning/solve/DeviceShares.h"
#include "lib/tuning/solve/LearningCurve.h"
#include "lib/tuning/solve/Population.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::tuning {
namespace {

/// Of proposals by density, so many are drawn evenly (as BOHB does), so that nothing is excluded for ever.
constexpr double kEvenShare = 1.0 / 3;
/// So many configurations that may not be tried one after the other end the proposals: what is allowed is too rare to
/// be found so.
constexpr int kMaxDraws = 1000;
/// The same of branches of one state, which may have few values left to draw.
constexpr int kMaxBranchDraws = 30;
/// Of so many points that are drawn evenly, priced proposals take the one of the lowest price.
constexpr int kEvenDraws = 3;

/// Spearman's correlation of ranks, those that are equal sharing theirs; 0 of fewer than three pairs or equal values.
double rankCorrelation(const std::vector<double> &a, const std::vector<double> &b) {
  auto ranks = [](const std::vector<double> &values) {
    std::vector<double> out;
    for (double value : values) {
      double rank = 0;
      for (double other : values)
        rank += other < value ? 1 : other == value ? 0.5 : 0;
      out.push_back(rank - static_cast<double>(values.size()) / 2);
    }
    return out;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i)
    xy += x[i] * y[i], xx += x[i] * x[i], yy += y[i] * y[i];
  return x.size() < 3 || xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

class Tuning {
public:
  Tuning(const TuningProblem &problem, TrialRunner &runner)
      : problem_(problem), runner_(runner), rungs_(rungs(problem)), atRung_(rungs_.size()), pool_(problem) {}

  Result<TuningResult> run(const std::atomic<bool> *stop);

private:
  enum class State : uint8_t {
    New,     ///< may begin
    Waiting, ///< may go on
    Running,
    AtRung, ///< waits until it is among the best
    Ended
  };
  struct Course {
    State state = State::New;
    size_t rung = 0; ///< to which it runs
    int64_t done = 0;
    int64_t slots = 0;
    double unitEnd = 0;
    size_t segment = 0;
    bool isCut = false;        ///< its devices change at the end of its unit
    std::vector<Width> widths; ///< on which it may run
  };

  double unitSeconds(unsigned trial, int64_t slots) const {
    return result_.trials[trial].unitSeconds / std::ranges::find(courses_[trial].widths, slots, &Width::slots)->speed;
  }
  /// The width of a trial that was given so many slots: where it may not run on them, the next larger one that it may
  /// run on, else its largest.
  int64_t slotsOf(unsigned trial, int64_t slots) const {
    const std::vector<Width> &widths = courses_[trial].widths;
    const auto next = std::ranges::lower_bound(widths, slots, {}, &Width::slots);
    return next == widths.end() ? widths.back().slots : next->slots;
  }
  bool isOver() const { return problem_.maxSeconds > 0 && now_ >= problem_.maxSeconds; }

  bool propose();
  std::optional<CubePoint> proposal(SplitMix &random) const;
  double priceOf(const CubePoint &point) const;
  bool halves() const { return problem_.stops != Stops::Curves; }
  bool isBehind(unsigned trial) const;
  bool mayStillBegin() const { return static_cast<int64_t>(result_.trials.size()) < problem_.trials && !isExhausted_; }
  void add(Configuration configuration);
  struct Branching {
    unsigned trial;
    int64_t unit, left;
  };
  std::vector<Branching *> branchings();
  std::optional<Configuration> draw(const Branching *from);
  bool branch();

  std::vector<unsigned> candidates() const;
  bool isProbe(unsigned trial) const {
    return static_cast<int64_t>(trial) < std::min(problem_.probes, problem_.trials);
  }
  void judgeRung();
  ShareRequest requestOf(unsigned trial) const;
  double backlog() const;
  void share();
  void shareEvenly();
  bool begin(int64_t slots);
  void startOnAtMost(unsigned trial, int64_t slots);
  void goOnWithTheBest();
  void beginPopulation();
  bool isGenerationOver() const;
  void endGeneration();
  void replace(size_t member, unsigned parent, SplitMix random);
  void shareAmongMembers();
  bool start(unsigned trial, int64_t slots);
  void release(unsigned trial);
  Result<void> endUnit(unsigned trial);
  void report(unsigned trial, double value);

  const TuningProblem &problem_;
  TrialRunner &runner_;
  const std::vector<int64_t> rungs_;
  TuningResult result_;
  std::vector<Course> courses_;
  std::vector<std::vector<unsigned>> atRung_; ///< trials that have a value there, or diverged before
  DevicePool pool_;
  bool isReleased_ = false; ///< something became free
  bool isReached_ = false;  ///< the target
  double now_ = 0;
  bool isExhausted_ = false;
  size_t silent_ = 0;     ///< rungs, from the lowest on, that say nothing: nobody is stopped there
  bool isJudged_ = false; ///< whether all above are known to count
  bool isStopped_ = false;
  std::vector<unsigned> members_;   ///< trials of a population, of those that live or have just died
  std::vector<CubePoint> founders_; ///< where its first members begin, behind `first` of the problem
  size_t generation_ = 0;           ///< to whose rung they run
  std::vector<Branching> kept_;     ///< states from which trials may begin, and how many more of them
  std::optional<Error> error_;
};

// ---- New trials

/// The next trial, of those that may be tried, or of the branches of a state; nothing where none is found.
std::optional<Configuration> Tuning::draw(const Branching *from) {
  const size_t number = result_.trials.size();
  SplitMix random(problem_.seed * 0x9e3779b97f4a7c15ull + number);
  for (int draw = 0; draw < (from ? kMaxBranchDraws : kMaxDraws); ++draw) {
    CubePoint point = drawPoint(problem_.space, random);
    if (problem_.proposals == Proposals::Priced)
      for (int i = 1; i < kEvenDraws; ++i)
        if (CubePoint other = drawPoint(problem_.space, random); priceOf(other) < priceOf(point))
          point = std::move(other);
    if (number < problem_.first.size() && draw == 0)
      point = toCube(problem_.space, problem_.first[number]);
    else if (problem_.population) {
      if (draw == 0)
        point = founders_[number - problem_.first.size()];
    } else if (problem_.proposals != Proposals::Random && random.unit() >= kEvenShare)
      if (auto better = proposal(random))
        point = *better;
    Configuration proposed = fromCube(problem_.space, point);
    for (size_t i = 0; from && i < proposed.size(); ++i)
      if (problem_.space[i].from < from->unit)
        proposed[i] = result_.trials[from->trial].configuration[i];
    if (from && std::ranges::find(result_.trials, proposed, &Trial::configuration) != result_.trials.end())
      continue; // one that is drawn again would be trained again
    if (runner_.admits(proposed))
      return from ? runner_.acceptBranch(std::move(proposed), from->unit) : runner_.accept(std::move(proposed));
  }
  return std::nullopt;
}

/// Adds a trial; false where there is none any more.
bool Tuning::propose() {
  if (!mayStillBegin())
    return false;
  if (branch())
    return true;
  auto configuration = draw(nullptr);
  if (!configuration) {
    isExhausted_ = true;
    return false;
  }
  add(std::move(*configuration));
  return true;
}

/// States from which trials may begin, the furthest first, then the best. The first trials all begin at unit 0: they
/// tell which rungs say anything.
std::vector<Tuning::Branching *> Tuning::branchings() {
  std::vector<Branching *> out;
  const size_t next = result_.trials.size();
  for (Branching &one : kept_)
    if (one.left > 0 && isJudged_ && next >= problem_.first.size() && !isProbe(static_cast<unsigned>(next)))
      out.push_back(&one);
  stableSort(out, [&](const Branching *a, const Branching *b) {
    return a->unit > b->unit || (a->unit == b->unit && isBetter(problem_, result_.trials[a->trial].at(a->unit)->value,
                                                                result_.trials[b->trial].at(b->unit)->value));
  });
  return out;
}

/// Adds a trial that begins with the state of another one; false where none may.
bool Tuning::branch() {
  for (Branching *from : branchings()) {
    auto configuration = draw(from);
    if (!configuration) {
      from->left = 0;
      continue;
    }
    --from->left;
    const auto number = static_cast<unsigned>(result_.trials.size());
    add(std::move(*configuration));
    Course &course = courses_.back();
    course.done = from->unit;
    course.rung = static_cast<size_t>(std::ranges::find(rungs_, from->unit) - rungs_.begin()) + 1;
    result_.trials.back().origin = {.trial = from->trial, .unit = from->unit};
    if (auto inherited = runner_.inherit(number, *result_.trials.back().origin); !inherited && !error_)
      error_ = inherited.takeError();
    return true;
  }
  return false;
}

/// A trial that the runner has accepted.
void Tuning::add(Configuration configuration) {
  const double seconds = runner_.unitSeconds(configuration).value_or(problem_.unitSeconds);
  courses_.emplace_back();
  courses_.back().widths = runner_.widths(configuration);
  if (courses_.back().widths.empty())
    courses_.back().widths = problem_.widths;
  result_.trials.push_back({.configuration = std::move(configuration), .unitSeconds = seconds});
}

/// Seconds of a unit that are expected of a configuration before it runs.
double Tuning::priceOf(const CubePoint &point) const {
  return runner_.unitSeconds(fromCube(problem_.space, point)).value_or(problem_.unitSeconds);
}

/// By the values of the highest rung that has enough of them.
std::optional<CubePoint> Tuning::proposal(SplitMix &random) const {
  const bool isPriced = problem_.proposals == Proposals::Priced;
  for (size_t rung = rungs_.size(); rung-- > silent_;) {
    if (atRung_[rung].size() < minDensityPoints(problem_.space))
      continue;
    std::vector<ScoredPoint> points;
    for (unsigned trial : atRung_[rung]) {
      const Trial &one = result_.trials[trial];
      const Report *report = one.at(rungs_[rung]);
      const double value = report ? report->value : std::numeric_limits<double>::quiet_NaN();
      points.push_back({toCube(problem_.space, one.configuration), problem_.maximizes ? -value : value});
    }
    return proposeByDensity(problem_.space, std::move(points), random, runner_.candidates(),
                            [&](const CubePoint &point) { return isPriced ? priceOf(point) : 1; });
  }
  return std::nullopt;
}

// ---- Devices

/// Trials that may go on, those that came further first, then by number: those that wait, and of each rung those that
/// are among its best 1/reduction.
std::vector<unsigned> Tuning::candidates() const {
  std::vector<unsigned> out;
  for (unsigned trial = 0; trial < courses_.size(); ++trial)
    if (courses_[trial].state == State::Waiting || courses_[trial].state == State::New)
      out.push_back(trial);
  for (size_t rung = 0; rung + 1 < rungs_.size(); ++rung) {
    if (rung < silent_ || !isJudged_ || !halves()) {
      for (unsigned trial : atRung_[rung])
        if (courses_[trial].state == State::AtRung && courses_[trial].rung == rung &&
            (rung < silent_ || !halves() || (rung == silent_ && isProbe(trial))))
          out.push_back(trial);
      continue;
    }
    std::vector<unsigned> best = atRung_[rung];
    auto value = [&](unsigned trial) {
      const Report *report = result_.trials[trial].at(rungs_[rung]);
      return report ? report->value : std::numeric_limits<double>::quiet_NaN();
    };
    std::sort(best.begin(), best.end(), [&](unsigned a, unsigned b) {
      return isBetter(problem_, value(a), value(b)) || (!isBetter(problem_, value(b), value(a)) && a < b);
    });
    best.resize(best.size() / static_cast<size_t>(problem_.reduction));
    for (unsigned trial : best)
      if (courses_[trial].state == State::AtRung && courses_[trial].rung == rung)
        out.push_back(trial);
  }
  auto rungOf = [&](unsigned trial) { return courses_[trial].rung + (courses_[trial].state == State::AtRung); };
  stableSort(out, [&](unsigned a, unsigned b) { return std::pair(rungOf(b), a) < std::pair(rungOf(a), b); });
  return out;
}

/// Looks at the lowest rung that may count, once the first trials have values there and at the next one, or have ended.
void Tuning::judgeRung() {
  while (!isJudged_) {
    if (problem_.probes == 0 || !halves() || silent_ + 1 >= rungs_.size()) {
      isJudged_ = true;
      return;
    }
    const auto here = static_cast<size_t>(rungs_[silent_]) - 1, next = static_cast<size_t>(rungs_[silent_ + 1]) - 1;
    std::vector<double> first, second;
    for (unsigned trial = 0; isProbe(trial); ++trial) {
      if (trial >= courses_.size())
        return;
      const auto &reports = result_.trials[trial].reports;
      if (next < reports.size() && std::isfinite(reports[next].value))
        first.push_back(reports[here].value), second.push_back(reports[next].value);
      else if (courses_[trial].state != State::Ended)
        return;
    }
    if (rankCorrelation(first, second) >= kMinAgreement)
      isJudged_ = true;
    else
      ++silent_;
  }
}

ShareRequest Tuning::requestOf(unsigned trial) const {
  const Course &course = courses_[trial];
  const size_t rung = course.rung + (course.state == State::AtRung);
  return {.rung = rung,
          .seconds = static_cast<double>(rungs_[rung] - course.done) * result_.trials[trial].unitSeconds,
          .slots = course.state == State::Running ? course.slots : 0};
}

/// Seconds on one device of the work that is expected to come, for each rung: as much again as was done, at least what
/// it takes on average until one more trial is complete, and at most what the trials that are left will take.
double Tuning::backlog() const {
  double perTrial = 0, reaching = 1;
  for (size_t rung = 0; rung < rungs_.size(); ++rung, reaching /= static_cast<double>(problem_.reduction))
    perTrial += reaching * static_cast<double>(rungs_[rung] - (rung ? rungs_[rung - 1] : 0));
  const double complete = perTrial / reaching / static_cast<double>(problem_.reduction);
  const double left = perTrial * static_cast<double>(problem_.trials - static_cast<int64_t>(courses_.size()));
  return std::min(std::max(static_cast<double>(result_.units), complete), left) * problem_.unitSeconds /
         static_cast<double>(rungs_.size());
}

void Tuning::share() {
  if (!problem_.population)
    judgeRung();
  if (isOver()) {
    for (Course &course : courses_)
      course.isCut |= course.state == State::Running;
    return;
  }
  if (problem_.population)
    return shareAmongMembers();
  if (problem_.sharing == Sharing::Fixed)
    return shareEvenly();
  std::vector<unsigned> trials = candidates();
  for (unsigned trial = 0; trial < courses_.size(); ++trial)
    if (courses_[trial].state == State::Running)
      trials.push_back(trial);
  auto rungOf = [&](unsigned trial) { return courses_[trial].rung + (courses_[trial].state == State::AtRung); };
  stableSort(trials, [&](unsigned a, unsigned b) { return rungOf(a) > rungOf(b); });
  std::vector<ShareRequest> requests;
  for (unsigned trial : trials)
    requests.push_back(requestOf(trial));
  const int64_t left =
      std::min(problem_.devices * problem_.slotsPerDevice, problem_.trials - static_cast<int64_t>(courses_.size()));
  std::vector<int64_t> from; // at which unit new trials begin
  for (const Branching *one : branchings())
    from.insert(from.end(), static_cast<size_t>(one->left), one->unit);
  from.resize(static_cast<size_t>(std::max<int64_t>(left, 0)));
  for (int64_t i = 0; i < left && mayStillBegin(); ++i) { // not drawn before it is known that they begin
    const int64_t unit = from[static_cast<size_t>(i)];
    const auto rung = static_cast<size_t>(std::ranges::upper_bound(rungs_, unit) - rungs_.begin());
    requests.push_back({.rung = rung, .seconds = static_cast<double>(rungs_[rung] - unit) * problem_.unitSeconds});
  }
  const std::vector<int64_t> slots = shareSlots(problem_, backlog(), requests);
  for (size_t i = 0; i < trials.size(); ++i) {
    Course &course = courses_[trials[i]];
    if (course.state == State::Running)
      course.isCut = (slots[i] ? slotsOf(trials[i], slots[i]) : 0) != course.slots;
    else if (slots[i] > 0)
      startOnAtMost(trials[i], slots[i]);
  }
  for (size_t i = trials.size(); i < requests.size(); ++i) {
    const size_t before = courses_.size();
    if (slots[i] > 0 && !begin(slots[i]) && (courses_.size() > before || !begin(problem_.widths[0].slots)))
      break;
  }
}

void Tuning::startOnAtMost(unsigned trial, int64_t slots) {
  for (size_t i = problem_.widths.size(); i-- > 0;)
    if (problem_.widths[i].slots <= slots && start(trial, problem_.widths[i].slots))
      return;
}

void Tuning::shareEvenly() {
  for (unsigned trial : candidates())
    if (!start(trial, problem_.fixedSlots))
      return;
  while (begin(problem_.fixedSlots)) {
  }
}

/// A new trial runs on so many slots; false where there are none, or there is no trial.
bool Tuning::begin(int64_t slots) {
  auto devices = pool_.take(slots);
  if (!devices)
    return false;
  pool_.release(*devices, slots);
  return propose() && start(static_cast<unsigned>(courses_.size()) - 1, slots);
}

/// Nothing runs, and none of those that are left is among the best 1/reduction: the one that came furthest goes on
/// until it is complete, unless one is.
void Tuning::goOnWithTheBest() {
  std::optional<unsigned> best;
  for (unsigned trial = 0; trial < courses_.size(); ++trial) {
    if (result_.trials[trial].state == Trial::State::Complete)
      return;
    if (courses_[trial].state != State::AtRung)
      continue;
    const auto key = [&](unsigned one) { return courses_[one].rung; };
    const auto last = [&](unsigned one) { return result_.trials[one].reports.back().value; };
    if (!best || key(trial) > key(*best) || (key(trial) == key(*best) && isBetter(problem_, last(trial), last(*best))))
      best = trial;
  }
  if (!best)
    return;
  const ShareRequest request = requestOf(*best);
  start(*best, problem_.sharing == Sharing::Fixed ? problem_.fixedSlots : shareSlots(problem_, 0, {request})[0]);
}

// ---- Populations

void Tuning::beginPopulation() {
  const auto members = static_cast<size_t>(problem_.population->members);
  SplitMix random(problem_.seed);
  founders_ = latinHypercube(problem_.space, members - std::min(members, problem_.first.size()), random);
  while (members_.size() < members && propose())
    members_.push_back(static_cast<unsigned>(courses_.size()) - 1);
}

/// All members have come to the end of the generation or have died, and another one follows.
bool Tuning::isGenerationOver() const {
  return !members_.empty() && generation_ + 1 < rungs_.size() && std::ranges::all_of(members_, [&](unsigned trial) {
    const Course &course = courses_[trial];
    return course.state == State::Ended || (course.state == State::AtRung && course.rung == generation_);
  });
}

/// Replaces the worst, who end, and those that have died. Children have their parents' state before anybody goes on.
void Tuning::endGeneration() {
  std::vector<Member> members;
  for (unsigned trial : members_) {
    const bool lives = courses_[trial].state == State::AtRung;
    const double dead = std::numeric_limits<double>::quiet_NaN();
    members.push_back({trial, lives ? result_.trials[trial].reports.back().value : dead});
  }
  const std::vector<Replacement> all = selectReplacements(problem_, members, generation_);
  ++generation_;
  if (std::ranges::none_of(members, [](const Member &one) { return std::isfinite(one.value); }))
    return members_.clear();
  for (const Replacement &one : all) {
    if (Course &course = courses_[members_[one.member]]; course.state == State::AtRung) {
      course.state = State::Ended;
      result_.trials[members_[one.member]].state = Trial::State::Replaced;
    }
    replace(one.member, members_[one.parent], one.random);
  }
}

/// A child of the trial `parent` takes the place of a member. Where nothing that it draws may run, it goes on as its
/// parent does.
void Tuning::replace(size_t member, unsigned parent, SplitMix random) {
  const auto number = static_cast<unsigned>(result_.trials.size());
  const Configuration from = result_.trials[parent].configuration;
  ChildConfiguration child = childOf(problem_, from, random);
  for (int draw = 1; draw <= kMaxDraws && !runner_.admits(child.configuration); ++draw)
    child = draw < kMaxDraws ? childOf(problem_, from, random) : ChildConfiguration{from};
  if (auto accepted = runner_.accept(child.configuration))
    child.configuration = std::move(*accepted);
  const int64_t unit = rungs_[generation_ - 1];
  add(std::move(child.configuration));
  result_.trials.back().origin = {parent, unit, std::move(child.redrawn)};
  courses_.back().rung = generation_, courses_.back().done = unit;
  members_[member] = number;
  if (auto inherited = runner_.inherit(number, *result_.trials.back().origin); !inherited && !error_)
    error_ = inherited.takeError();
}

/// Members that wait begin where slots are free, and a new generation where the last one is over.
void Tuning::shareAmongMembers() {
  if (members_.empty() && courses_.empty())
    beginPopulation();
  if (isGenerationOver())
    endGeneration();
  if (error_)
    return;
  std::vector<unsigned> waiting;
  int64_t freeSlots = problem_.devices * problem_.slotsPerDevice;
  for (unsigned trial : members_) {
    const Course &course = courses_[trial];
    if (course.state == State::Running)
      freeSlots -= course.slots;
    else if (course.state == State::New || course.state == State::Waiting ||
             (course.state == State::AtRung && course.rung < generation_))
      waiting.push_back(trial);
  }
  std::ranges::sort(waiting);
  auto left = static_cast<int64_t>(waiting.size());
  for (unsigned trial : waiting) {
    const bool isFixed = problem_.sharing == Sharing::Fixed;
    const int64_t slots = isFixed ? problem_.fixedSlots : memberSlots(problem_, left, freeSlots);
    for (auto width = problem_.widths.rbegin(); width != problem_.widths.rend(); ++width)
      if (width->slots <= slots && (!isFixed || width->slots == slots) && start(trial, width->slots)) {
        freeSlots -= courses_[trial].slots, --left;
        break;
      }
  }
}

// ---- Segments

/// False where the slots are not free.
bool Tuning::start(unsigned trial, int64_t given) {
  const int64_t slots = slotsOf(trial, given);
  auto devices = pool_.take(slots);
  if (!devices)
    return false;
  Course &course = courses_[trial];
  const std::vector<int64_t> units = branchUnits(problem_.space);
  if (problem_.branches > 1 && result_.trials[trial].at(course.done) &&
      std::ranges::binary_search(units, course.done)) {
    kept_.push_back({trial, course.done, problem_.branches - 1});
    if (auto kept = runner_.keep(trial, course.done); !kept && !error_)
      error_ = kept.takeError();
  }
  course.rung += course.state == State::AtRung;
  course.state = State::Running, course.slots = slots, course.isCut = false;
  course.unitEnd = now_ + problem_.restart + unitSeconds(trial, slots);
  course.segment = result_.segments.size();
  result_.segments.push_back({trial, course.done, course.done, slots, std::move(*devices), now_, now_});
  if (auto started = runner_.start(result_.segments.back(), result_.trials[trial].configuration, rungs_[course.rung]);
      !started && !error_)
    error_ = started.takeError();
  return true;
}

void Tuning::release(unsigned trial) {
  Course &course = courses_[trial];
  Segment &segment = result_.segments[course.segment];
  segment.to = course.done, segment.end = now_;
  pool_.release(segment.devices, segment.slots);
  course.slots = 0, course.isCut = false;
  isReleased_ = true;
  runner_.pause(trial);
}

// ---- Values

void Tuning::report(unsigned trial, double value) {
  result_.trials[trial].reports.push_back({courses_[trial].done, value, now_});
  ++result_.units;
  if (std::isfinite(value) &&
      (result_.incumbents.empty() || isBetter(problem_, value, result_.incumbents.back().value)))
    result_.incumbents.push_back({now_, trial, courses_[trial].done, value});
  isReached_ |= problem_.target && std::isfinite(value) && !isBetter(problem_, *problem_.target, value);
}

/// Whether a trial's curve does not come to the best value, which is another one's. While it is measured which rungs
/// count, all go on.
bool Tuning::isBehind(unsigned trial) const {
  const Incumbent &best = result_.incumbents.back();
  if (problem_.stops == Stops::Halving || !isJudged_ ||
      courses_[trial].done < std::max(kMinCurveUnits, problem_.minUnits) || best.trial == trial)
    return false;
  std::vector<double> last;
  for (const Trial &other : result_.trials)
    if (!other.reports.empty() && std::isfinite(other.reports.back().value))
      last.push_back(other.reports.back().value);
  const double below =
      predictCurve(curveOf(result_, trial), problem_.maxUnits, quartileDistance(std::move(last))).below(best.value);
  return (problem_.maximizes ? 1 - below : below) < problem_.stopBelow;
}

Result<void> Tuning::endUnit(unsigned trial) {
  Course &course = courses_[trial];
  Trial &one = result_.trials[trial];
  ACCORD_TRY(said, runner_.value(trial, one.configuration, course.done + 1));
  if (said.isStopped) {
    isStopped_ = true;
    return {};
  }
  if (!said.value) {
    one.state = Trial::State::Failed, one.reason = said.reason;
    course.state = State::Ended;
    release(trial);
    return {};
  }
  ++course.done;
  const bool hasDiverged = !std::isfinite(*said.value);
  report(trial, hasDiverged ? std::numeric_limits<double>::infinity() : *said.value);
  if (hasDiverged) {
    one.state = Trial::State::Diverged;
    course.state = State::Ended;
    atRung_[course.rung].push_back(trial);
  } else if (course.done < problem_.maxUnits && isBehind(trial)) {
    one.state = Trial::State::Stopped;
    course.state = State::Ended;
    atRung_[course.rung].push_back(trial);
  } else if (course.done == rungs_[course.rung]) {
    atRung_[course.rung].push_back(trial);
    const bool isComplete = course.done == problem_.maxUnits;
    course.state = isComplete ? State::Ended : State::AtRung;
    if (isComplete)
      one.state = Trial::State::Complete;
  } else if (course.isCut) {
    course.state = State::Waiting;
  } else {
    course.unitEnd = now_ + unitSeconds(trial, course.slots);
    return {};
  }
  release(trial);
  return {};
}

Result<TuningResult> Tuning::run(const std::atomic<bool> *stop) {
  share();
  if (error_)
    return std::move(*error_);
  while (!(stop && stop->load(std::memory_order_relaxed))) {
    double next = std::numeric_limits<double>::infinity();
    for (const Course &course : courses_)
      if (course.state == State::Running)
        next = std::min(next, course.unitEnd);
    if (!std::isfinite(next)) {
      if (isOver())
        break;
      const size_t before = result_.segments.size();
      share();
      if (result_.segments.size() == before && !problem_.population)
        goOnWithTheBest();
      if (result_.segments.size() == before)
        break;
      if (error_)
        return std::move(*error_);
      continue;
    }
    now_ = next;
    isReleased_ = false;
    for (unsigned trial = 0; trial < courses_.size() && !isStopped_; ++trial)
      if (courses_[trial].state == State::Running && courses_[trial].unitEnd == now_)
        if (auto ended = endUnit(trial); !ended)
          return ended.takeError();
    if (isReached_ || isStopped_)
      break;
    if (isReleased_)
      share();
    if (error_)
      return std::move(*error_);
  }
  for (unsigned trial = 0; trial < courses_.size(); ++trial)
    if (courses_[trial].state == State::Running) // interrupted
      release(trial);
  for (const Segment &segment : result_.segments) {
    result_.seconds = std::max(result_.seconds, segment.end);
    result_.deviceSeconds += static_cast<double>(segment.slots) / static_cast<double>(problem_.slotsPerDevice) *
                             (segment.end - segment.start);
  }
  return std::move(result_);
}

} // namespace

Result<TuningResult> tune(const TuningProblem &problem, TrialRunner &runner, const std::atomic<bool> *stop) {
  return Tuning(problem, runner).run(stop);
}

} // namespace accord::tuning
