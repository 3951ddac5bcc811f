#include "lib/exploration/solve/MiningRun.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <ctime>

namespace accord {
namespace {

/// Of a design that a stop came before: nothing is known of it.
const DesignEvaluation kNotEvaluated{INFINITY, 0};

class ThreadExecutor : public Executor {
public:
  ThreadExecutor(unsigned threads, const std::atomic<bool> *stop) : threadPool_(threads), stop_(stop) {}

  MiningResult search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) override {
    return strategy(problem, options);
  }

  std::vector<DesignEvaluation> results(MiningProblem &problem, const EvaluationTask &task,
                                        const std::vector<DesignBox> &boxes) override {
    std::vector<DesignEvaluation> found(boxes.size());
    // Threads are woken for microseconds of work, so they take some bounds at a time.
    size_t stretch = task.query == EvaluationTask::Query::Bound ? 16 : 1;
    threadPool_.each((boxes.size() + stretch - 1) / stretch, [&](size_t number) {
      for (size_t i = number * stretch; i < std::min(boxes.size(), (number + 1) * stretch); ++i)
        found[i] = stop_ && *stop_ ? kNotEvaluated : runEvaluationTask(problem, task, boxes[i]);
    });
    return found;
  }

private:
  ThreadPool threadPool_;
  const std::atomic<bool> *stop_;
};

} // namespace

double processorSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

size_t DesignHash::operator()(const Design &design) const {
  uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a, by words
  for (uint32_t choice : design)
    hash = (hash ^ choice) * 0x100000001b3ull;
  return hash ^ (hash >> 32);
}

double boundOf(MiningProblem &problem, const DesignBox &box) {
  double bound = problem.bound(box);
  return bound > 0 ? bound : 0;
}

double tightenedBound(MiningProblem &problem, const Design &design, unsigned level) {
  double bound = problem.tightenBound(design, level);
  return bound > 0 ? bound : 0;
}

DesignEvaluation evaluationOf(MiningProblem &problem, const Design &design, double below) {
  DesignEvaluation known = problem.evaluate(design, below);
  if (!(known.value >= 0))
    known.value = INFINITY;
  known.lowerBound = known.lowerBound > 0 ? std::min(known.lowerBound, known.value) : 0;
  return known;
}

std::vector<BoxHalves> halvesOf(const DesignBox &box) {
  std::vector<BoxHalves> all;
  for (size_t p = 0; p < box.low.size(); ++p) {
    uint32_t width = box.high[p] - box.low[p];
    if (width == 0)
      continue;
    BoxHalves &halves = all.emplace_back(width, box, box);
    halves.high.low[p] = (halves.low.high[p] = box.low[p] + width / 2) + 1;
  }
  return all;
}

std::vector<Design> validDesigns(const std::vector<DesignParameter> &parameters, std::vector<Design> designs) {
  std::erase_if(designs, [&](const Design &design) { return !isValidDesign(design, parameters); });
  return designs;
}

MiningRun::MiningRun(MiningProblem &problem, const MiningOptions &options, std::string strategy,
                     uint64_t defaultEvaluations)
    : problem_(problem), options_(options),
      limit_(options.evaluations == UINT64_MAX ? defaultEvaluations : options.evaluations), evaluatedBound_(INFINITY),
      sample_(problem.parameters(), problem.costNames()),
      own_(options.executor ? nullptr : makeThreadExecutor(options.threads, options.stop)),
      executor_(options.executor ? *options.executor : *own_), startTime_(processorSeconds()) {
  result_.strategy = std::move(strategy);
  result_.value = INFINITY;
  size_ = designsOf(parameters());
  empty_ = size_ == 0;
  if (empty_)
    result_.bound = INFINITY;
  else if (options_.bounds > 0)
    result_.bound = bounds({wholeOf(parameters())})[0];
  empty_ |= result_.bound == INFINITY;
  recordConvergence(true);
}

static std::vector<double> boundsOf(const std::vector<DesignEvaluation> &results) {
  std::vector<double> bounds;
  for (const DesignEvaluation &answer : results)
    bounds.push_back(answer.lowerBound);
  return bounds;
}

double MiningRun::seconds() const { return processorSeconds() - startTime_; }

bool MiningRun::stopped() const {
  return options_.stopped() || (options_.seconds > 0 && seconds() >= options_.seconds);
}

std::vector<double> MiningRun::bounds(const std::vector<DesignBox> &boxes) {
  result_.bounds += boxes.size();
  return boundsOf(executor_.results(problem_, {EvaluationTask::Query::Bound}, boxes));
}

std::vector<double> MiningRun::tightenBoxes(const std::vector<DesignBox> &boxes) {
  result_.bounds += boxes.size();
  return boundsOf(executor_.results(problem_, {EvaluationTask::Query::TightenBox}, boxes));
}

std::vector<double> MiningRun::tightenBound(const std::vector<Design> &designs, unsigned level) {
  std::vector<DesignBox> boxes;
  for (const Design &design : designs)
    boxes.push_back({design, {}});
  result_.bounds += boxes.size();
  return boundsOf(executor_.results(problem_, {EvaluationTask::Query::TightenBound, level}, boxes));
}

std::optional<Design> MiningRun::possibleNear(const Design &wanted, MiningRandom &random,
                                              std::optional<size_t> kept) const {
  if (problem_.mayHold({wanted, wanted}))
    return wanted;
  std::vector<size_t> order;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (i != kept)
      order.push_back(i);
  for (size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
  if (kept)
    order.insert(order.begin(), *kept);
  DesignBox box = wholeOf(parameters());
  for (size_t i : order) {
    const uint32_t last = box.high[i];
    bool found = false;
    for (uint32_t away = 0; away <= last && !found; ++away)
      for (bool up : {false, true}) {
        if (found || (away == 0 && up) || (up ? last - wanted[i] < away : wanted[i] < away))
          continue;
        box.low[i] = box.high[i] = up ? wanted[i] + away : wanted[i] - away;
        found = problem_.mayHold(box);
        if (!found && i == kept)
          return std::nullopt;
      }
    if (!found)
      return std::nullopt;
  }
  return box.low;
}

std::vector<size_t> MiningRun::unknown(const std::vector<Design> &designs) {
  std::vector<size_t> fresh;
  std::vector<DesignBox> boxes;
  KnownDesigns seen;
  for (size_t i = 0; i < designs.size(); ++i)
    if (!remembersDesigns_ || (!known_.contains(designs[i]) && seen.emplace(designs[i], 0).second)) {
      fresh.push_back(i);
      boxes.push_back({designs[i], designs[i]});
    }
  if (!screensInfeasible_ || boxes.size() > boundsLeft())
    return fresh;
  std::vector<double> min = bounds(boxes);
  std::vector<size_t> possible;
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (min[i] < INFINITY)
      possible.push_back(fresh[i]);
    else if (remembersDesigns_)
      known_.emplace(designs[fresh[i]], DesignEvaluation{INFINITY, INFINITY});
  }
  return possible;
}

std::vector<double> MiningRun::values(const std::vector<Design> &designs) {
  std::vector<size_t> counted = unknown(designs), asked;
  isTruncated_ |= counted.size() > left();
  counted.resize(std::min<uint64_t>(counted.size(), left()));
  std::vector<DesignEvaluation> found(designs.size(), {INFINITY, INFINITY});
  std::vector<DesignBox> boxes;
  for (size_t i : counted) {
    if (auto before = earlier_.find(designs[i]); before != earlier_.end()) {
      found[i] = before->second;
    } else {
      asked.push_back(i);
      boxes.push_back({designs[i], {}});
    }
  }
  EvaluationTask task{EvaluationTask::Query::Evaluate};
  // A design that is worth as much as the incumbent may come before it.
  task.below = usesEvaluations_ ? std::nextafter(result_.value, INFINITY) : INFINITY;
  std::vector<DesignEvaluation> results = executor_.results(problem_, task, boxes);
  for (size_t i = 0; i < asked.size(); ++i)
    if (found[asked[i]] = std::move(results[i]); !usesEvaluations_)
      found[asked[i]].lowerBound = found[asked[i]].value;
  bool isStopped = stopped();
  for (size_t i : counted) {
    if (isStopped && found[i].value == INFINITY && found[i].lowerBound == 0) {
      evaluatedBound_ = 0;
      isTruncated_ = true;
      continue;
    }
    ++result_.evaluations;
    if (remembersDesigns_)
      known_.emplace(designs[i], found[i]);
    double value = found[i].value;
    if (std::isfinite(value))
      sample_.add(designs[i], found[i], problem_.costs({designs[i], designs[i]}));
    evaluatedBound_ = std::min(evaluatedBound_, found[i].lowerBound);
    bool better = value < result_.value;
    bool earlier = result_.best && value == result_.value && designs[i] < *result_.best;
    if (better || earlier) {
      result_.value = value;
      result_.best = designs[i];
      recordConvergence(better);
    }
  }
  std::vector<double> values;
  for (size_t i = 0; i < designs.size(); ++i) {
    auto known = remembersDesigns_ ? known_.find(designs[i]) : known_.end();
    values.push_back(known != known_.end() ? known->second.value : found[i].value);
  }
  if (saved && !counted.empty())
    saved(false);
  return values;
}

void MiningRun::leaveUnsettled(double unevaluated) {
  for (const auto &[design, known] : known_)
    if (known.lowerBound < result_.value)
      result_.unsettled.emplace_back(known.lowerBound, design);
  std::sort(result_.unsettled.begin(), result_.unsettled.end());
  result_.unevaluatedBound = evaluatedBound_ > 0 ? unevaluated : 0; // else a value was not waited for
}

void MiningRun::prove(double bound) {
  result_.bound = std::max(result_.bound, std::min(bound, result_.value));
  recordConvergence(false);
}

void MiningRun::recordConvergence(bool always) {
  double bound = std::min(result_.bound, result_.value);
  if (!result_.convergence.empty()) {
    const ConvergencePoint &last = result_.convergence.back();
    if (!always && last.incumbent == result_.value &&
        (bound == last.bound || std::abs(bound - last.bound) <= 1e-4 * std::abs(last.bound)))
      return;
  }
  result_.convergence.push_back(
      {result_.evaluations, result_.bounds, result_.value, bound, options_.timed ? seconds() : 0});
  if (options_.progress)
    options_.progress({"", result_.value, bound});
}

MiningResult MiningRun::finish(std::string proof) {
  result_.bound = std::min(result_.bound, result_.value);
  const ConvergencePoint &last = result_.convergence.back();
  if (last.evaluations != result_.evaluations || last.bounds != result_.bounds || last.bound != result_.bound)
    recordConvergence(true);
  result_.proof = std::move(proof);
  result_.evaluated = sample_.finish();
  result_.seconds = options_.timed ? seconds() : 0;
  if (saved)
    saved(true);
  return std::move(result_);
}

MiningResult MiningRun::conclude(bool all) {
  result_.isOptimal = all && result_.best;
  if (all)
    prove(evaluatedBound_);
  return finish(result_.bound == INFINITY ? "no design can be"
                : all                     ? "every design was evaluated"
                : result_.bounds > 0      ? "the bound of the whole space"
                                          : "");
}

MiningResult MiningRun::refuse(std::string error) {
  result_.refused = true;
  result_.error = std::move(error);
  return std::move(result_);
}

DesignEvaluation runEvaluationTask(MiningProblem &problem, const EvaluationTask &task, const DesignBox &box) {
  switch (task.query) {
  case EvaluationTask::Query::Bound: {
    double bound = boundOf(problem, box);
    return {bound, bound};
  }
  case EvaluationTask::Query::TightenBox: {
    double bound = problem.tightenBox(box);
    bound = bound > 0 ? bound : 0;
    return {bound, bound};
  }
  case EvaluationTask::Query::TightenBound: {
    double bound = tightenedBound(problem, box.low, task.level);
    return {bound, bound};
  }
  case EvaluationTask::Query::Evaluate:
    break;
  }
  return evaluationOf(problem, box.low, task.below);
}

std::unique_ptr<Executor> makeThreadExecutor(unsigned threads, const std::atomic<bool> *stop) {
  return std::make_unique<ThreadExecutor>(threads, stop);
}

Design MiningRandom::design(const std::vector<DesignParameter> &parameters) {
  Design drawn;
  drawn.reserve(parameters.size());
  for (const DesignParameter &parameter : parameters)
    drawn.push_back(below(parameter.labels.size()));
  return drawn;
}

Shuffled::Shuffled(uint64_t size, uint64_t seed) : size_(size) {
  MiningRandom random(seed ^ 0x5bd1e995u);
  for (uint64_t &key : keys_)
    key = random.next();
  while (half_ < 32 && (uint64_t(1) << (2 * half_)) < size)
    ++half_;
}

uint64_t Shuffled::once(uint64_t x) const {
  uint64_t mask = (uint64_t(1) << half_) - 1, left = x >> half_, right = x & mask;
  for (uint64_t key : keys_) {
    uint64_t mixed = left ^ (MiningRandom(key ^ right).next() & mask);
    left = right;
    right = mixed;
  }
  return left << half_ | right;
}

uint64_t Shuffled::at(uint64_t index) const {
  // The network permutes a power of 4, less than four times the size: outside of it, again.
  uint64_t x = once(index);
  while (x >= size_)
    x = once(x);
  return x;
}

} // namespace accord
