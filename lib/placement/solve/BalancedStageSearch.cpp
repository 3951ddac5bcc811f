#include "lib/placement/solve/BalancedStageSearch.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace accord::placing {
namespace {

/// Least recomputation of a group if layers may be split between two ways to keep them, as a linear program: less is
/// kept where it costs the least time per byte (Sinha and Zoltners, The multiple-choice knapsack problem, Operations
/// Research 27(3), 1979). Nothing if none fits.
std::optional<int64_t> minRecomputeTime(const DownSetLattice &lattice, Id parallelConfig,
                                        const std::vector<Part> &parts, const std::vector<int64_t> &inFlight,
                                        int64_t memory) {
  struct Step {
    double time, bytes;
  };
  std::vector<Step> steps;
  double recomputeTime = 0, bytes = 0;
  int64_t workspace = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part &part = parts[i];
    bytes += lattice.between(parallelConfig, part.from, part.to).staticMemory;
    for (Id layer : lattice.layersBetween(part.from, part.to)) {
      const auto &recomputeChoices = lattice.problem.cost(layer, parallelConfig)->recomputeChoices;
      size_t at = 0; // the fastest, of equal ones the smallest
      int64_t room = INT64_MAX;
      for (size_t k = 0; k < recomputeChoices.size(); ++k) {
        room = std::min(room, recomputeChoices[k].workspace);
        if (std::pair(recomputeChoices[k].recomputeTime, recomputeChoices[k].activations) <
            std::pair(recomputeChoices[at].recomputeTime, recomputeChoices[at].activations))
          at = k;
      }
      workspace = std::max(workspace, room);
      recomputeTime += recomputeChoices[at].recomputeTime;
      double held = inFlight[i];
      bytes += held * recomputeChoices[at].activations;
      for (;;) { // along the lower hull
        size_t best = at;
        double ratio = 0;
        for (size_t k = 0; k < recomputeChoices.size(); ++k)
          if (recomputeChoices[k].activations < recomputeChoices[at].activations) {
            double one = static_cast<double>(recomputeChoices[k].recomputeTime - recomputeChoices[at].recomputeTime) /
                         (recomputeChoices[at].activations - recomputeChoices[k].activations);
            if (best == at || one < ratio)
              best = k, ratio = one;
          }
        if (best == at)
          break;
        steps.push_back({static_cast<double>(recomputeChoices[best].recomputeTime - recomputeChoices[at].recomputeTime),
                         held * (recomputeChoices[at].activations - recomputeChoices[best].activations)});
        at = best;
      }
    }
  }
  double over = bytes + workspace - memory;
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return a.time * b.bytes < b.time * a.bytes; });
  for (const Step &step : steps) {
    if (over <= 0)
      break;
    double part = std::min(1.0, over / step.bytes);
    recomputeTime += part * step.time, over -= part * step.bytes;
  }
  if (over > 1)
    return std::nullopt;
  return static_cast<int64_t>(recomputeTime * (1 - 1e-12));
}

} // namespace

BalancedStageSearch::BalancedStageSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                                         const Configuration &configuration, SearchState &searchState)
    : StagePlanner(lattice, recomputeSolver, configuration, searchState), layers_(problem_.layers.size()),
      minSize_(layers_ / stages_), larger_(layers_ % stages_) {
  if (configuration.schedule == PipelineSchedule::Interleaved)
    middle_ = middle();
  if (problem_.uniformClass && !(middle_ && onlyCut()))
    middle_.reset();
  balanced_ = middle_.has_value();
}

bool BalancedStageSearch::canBeBalanced(uint32_t from, uint32_t to, int64_t left) const {
  if (configuration_.virtualStages == 1 || problem_.uniformClass)
    return true;
  int64_t max = minSize_ + (larger_ ? 1 : 0), size = lattice_.count(from, to);
  int64_t rest = lattice_.count(to, lattice_.last());
  return size >= minSize_ && size <= max && rest >= left * minSize_ && rest <= left * max;
}

std::optional<std::vector<int64_t>> BalancedStageSearch::onlyCut() const {
  std::vector<int64_t> sizes;
  auto all = lattice_.last();
  uint32_t from = 0;
  for (int64_t s = 1; s <= stages_; ++s) {
    uint32_t to = s == stages_ ? all : from + 1;
    while (to < all && !mayHold(s, to))
      ++to;
    bool several = to < all && mayHold(s, to + 1);
    int64_t size = int64_t{to} - from;
    if (!lattice_.linear || !mayHold(s, to) || several || size < minSize_ || size > minSize_ + 1)
      return std::nullopt;
    sizes.push_back(size);
    from = to;
  }
  return sizes;
}

/// The equal layers in the middle of a chain: after `first` others, and before `last` others. Nothing where a first or
/// last stage could not hold the others.
std::optional<BalancedStageSearch::Middle> BalancedStageSearch::middle() const {
  if (!lattice_.chain || (configuration_.parallelConfigs.size() != 1 && !configuration_.each))
    return std::nullopt;
  auto mayRun = [&](Id layer) {
    return std::ranges::all_of(configuration_.parallelConfigs, [&](Id parallelConfig) {
      return mayRunOn(problem_, layer, problem_.parallelConfigs[parallelConfig].deviceType);
    });
  };
  const auto &layers = problem_.layers;
  int64_t size = layers_;
  Id of = layers[layers.size() / 2].of;
  Middle found;
  while (found.first < size && layers[found.first].of != of)
    ++found.first;
  while (found.last < size && layers[size - 1 - found.last].of != of)
    ++found.last;
  for (int64_t i = found.first; i < size - found.last; ++i)
    if (layers[i].of != of || !mayRun(i))
      return std::nullopt;
  if (stages_ < 2 || minSize_ < std::max(found.first, found.last))
    return std::nullopt;
  return found;
}

/// Least bytes that cross into a stage, wherever it begins.
int64_t BalancedStageSearch::minCrossing(int64_t stage) const {
  int64_t low = stage * minSize_, high = std::min(layers_, low + std::min(stage, larger_)), bytes = INT64_MAX;
  for (int64_t node = low; node <= high; ++node)
    bytes = std::min(bytes, lattice_.crossing(node));
  return bytes;
}

/// Some place of a stage; all have layers of the same classes.
Part BalancedStageSearch::partOf(int64_t stage, int64_t size) const {
  int64_t from = stage * minSize_;
  if (stage > 0 && stage + 1 == stages_)
    from = layers_ - size;
  else if (stage > 0)
    from = std::clamp(from, middle_->first, std::max(middle_->first, layers_ - middle_->last - size));
  return {static_cast<uint32_t>(from), static_cast<uint32_t>(from + size)};
}

StageBound BalancedStageSearch::boundOf(Id parallelConfig, const Part &part, int64_t stage) const {
  Sums sums = lattice_.between(parallelConfig, part.from, part.to);
  return ConfigurationContext::boundOf(parallelConfig, sums, sums.recomputeTime, stage, minCrossing(stage),
                                       stage + 1 < stages_ ? minCrossing(stage + 1) : 0);
}

int64_t BalancedStageSearch::minTiesOf(Id parallelConfig, int64_t group) const {
  if (group == 0)
    return minTies(parallelConfig, 0, 1);
  return group + 1 == groups_ ? minTies(parallelConfig, lattice_.last() - 1, lattice_.last()) : 0;
}

/// Bounds of the step by number of the group's stages that have one layer more, as many as fit. `front` and `drain`:
/// the first stages of the groups before, until its first pass and after its last one. Nothing if a layer cannot run.
std::optional<std::vector<int64_t>> BalancedStageSearch::balancedSteps(Id parallelConfig, int64_t group, int64_t front,
                                                                       int64_t drain) {
  int64_t memory = problem_.deviceTypeOf(parallelConfig).memory;
  std::vector<int64_t> stages;
  for (int64_t s = group; s < stages_; s += groups_)
    stages.push_back(s);
  const auto &held = held_[group].front();
  auto order = stages; // which get a layer more
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return std::pair(held[a / groups_], a) < std::pair(held[b / groups_], b); });
  std::vector<int64_t> steps;
  for (int64_t n = 0; n <= std::min(larger_, configuration_.virtualStages); ++n) {
    std::vector<Part> parts;
    StageWork work;
    int64_t pass = 0, recomputeTime = 0;
    for (int64_t s : stages) {
      bool larger = std::find(order.begin(), order.begin() + n, s) != order.begin() + n;
      parts.push_back(partOf(s, minSize_ + larger));
      Sums sums = lattice_.between(parallelConfig, parts.back().from, parts.back().to);
      if (sums.cannot)
        return std::nullopt;
      pass += boundOf(parallelConfig, parts.back(), s).work(), recomputeTime += sums.recomputeTime;
      work += sums;
      work.backward += problem_.overlapFraction <= 1 ? sums.recomputeTime : sums.maxRecomputeTime;
    }
    auto must = minRecomputeTime(lattice_, parallelConfig, parts, held, memory);
    searchState_.budget -= layers_ / groups_;
    if (!must)
      break; // nor with more layers
    // More recomputation hides more of the exchange, but not more than it takes.
    int64_t rest = std::max<int64_t>(0, *must - recomputeTime);
    pass += rest, work.backward += problem_.overlapFraction <= 1 ? rest : 0;
    int64_t stepTail =
        exposedStepTail(problem_, parallelConfig, work, countReplicasPerNode(problem_, parallelConfig, groups_)) +
        minTiesOf(parallelConfig, group);
    steps.push_back(front + microbatches_ * pass + std::max(drain, stepTail));
  }
  return steps;
}

/// Stages of a group with a layer more that end within a step; -1: not even without any.
static int64_t largerWithin(const std::vector<int64_t> &steps, int64_t step) {
  return std::upper_bound(steps.begin(), steps.end(), step) - steps.begin() - 1;
}

GroupAssignment BalancedStageSearch::largerStagesWithin(int64_t step) const {
  GroupAssignment all{{}, maxGroupsOfKinds()};
  for (const auto &group : steps_) {
    all.holds.emplace_back();
    for (const std::vector<int64_t> &mine : group) {
      int64_t larger = largerWithin(mine, step);
      all.holds.back().push_back(larger < 0 ? -INFINITY : static_cast<double>(larger));
    }
  }
  return all;
}

/// Whether groups can take all larger stages within a step.
bool BalancedStageSearch::takeWithin(int64_t step) const {
  return largerStagesWithin(step).max() >= static_cast<double>(larger_);
}

/// The least step within which groups can take all larger stages, by `steps_`; nothing: there is none.
std::optional<int64_t> BalancedStageSearch::minBalancedStep() const {
  std::vector<int64_t> tried;
  for (const auto &group : steps_)
    for (const std::vector<int64_t> &mine : group)
      tried.insert(tried.end(), mine.begin(), mine.end());
  std::sort(tried.begin(), tried.end());
  auto enough = std::ranges::partition_point(tried, [&](int64_t step) { return !takeWithin(step); });
  return enough == tried.end() ? std::nullopt : std::optional(*enough);
}

double BalancedStageSearch::balancedBound() {
  if (!balanced_)
    return 0;
  steps_.clear();
  int64_t front = 0, drain = 0;
  for (int64_t g = 0; g < groups_; ++g) {
    steps_.emplace_back();
    int64_t minFront = INT64_MAX, minDrain = INT64_MAX;
    for (Id parallelConfig : configuration_.parallelConfigs) {
      auto mine = balancedSteps(parallelConfig, g, front, drain);
      if (!mine)
        return 0;
      steps_.back().push_back(std::move(*mine));
      StageBound first = boundOf(parallelConfig, partOf(g, minSize_), g);
      minFront = std::min(minFront, first.forward + first.send);
      minDrain = std::min(minDrain, first.send + first.backward + first.weight);
    }
    if (std::ranges::all_of(steps_.back(), &std::vector<int64_t>::empty))
      return searchState_.value; // nothing fits
    front += minFront, drain += minDrain;
  }
  maxLarger_.clear();
  for (const auto &group : steps_)
    maxLarger_.push_back(largerWithin(group[0], longest()));
  auto step = minBalancedStep();
  return step ? value(*step, minRatesOf({})) : searchState_.value;
}

// --- Plans that are made without search. ---

double BalancedStageSearch::evaluateSizes(const std::vector<int64_t> &sizes, const std::vector<size_t> &kinds) {
  std::vector<StagePlacement> stages;
  size_t at = 0;
  for (int64_t size : sizes) {
    size_t to = at + size, group = stages.size() % groups_;
    Id parallelConfig = configuration_.parallelConfigs[kinds.empty() ? 0 : kinds[group]];
    stages.push_back({line_[at], line_[to], parallelConfig});
    if (lattice_.between(parallelConfig, line_[at], line_[to]).cannot)
      return INFINITY;
    at = to;
  }
  return planStages(stages, false);
}

std::vector<int64_t> BalancedStageSearch::uniformSizes() const {
  std::vector<int64_t> sizes;
  for (int64_t s = 1, at = 0, to = 1; s <= stages_; ++s, at = to++) {
    while (to < layers_ && (s == stages_ || !mayHold(s, line_[to])))
      ++to;
    if (to > layers_)
      return {};
    sizes.push_back(to - at);
  }
  return sizes;
}

void BalancedStageSearch::seedBalanced(bool moves) {
  if (configuration_.parallelConfigs.size() != 1)
    return seedMixed();
  if (problem_.uniformClass) {
    if (auto sizes = uniformSizes(); !sizes.empty())
      evaluateSizes(sizes);
    return;
  }
  std::vector<int64_t> best;
  double value = INFINITY;
  for (int way = 0; way < (larger_ ? 4 : 1); ++way) {
    std::vector<int64_t> sizes(stages_, minSize_);
    for (int64_t i = 0; i < larger_; ++i)
      ++sizes[way == 0   ? (i % 2 ? stages_ - 1 - i / 2 : i / 2)
              : way == 1 ? i
              : way == 2 ? stages_ - 1 - i
                         : i * stages_ / larger_];
    if (double now = evaluateSizes(sizes); now < value)
      value = now, best = std::move(sizes);
  }
  if (moves && !best.empty() && larger_ > 0)
    moveLayers(std::move(best), value);
}

/// Of each group so many larger stages, those that hold the fewest micro-batches.
std::vector<int64_t> BalancedStageSearch::sizesOf(const std::vector<int64_t> &larger) const {
  std::vector<int64_t> sizes(stages_, minSize_);
  for (int64_t g = 0; g < groups_; ++g) {
    const auto &held = held_[g].front();
    std::vector<int64_t> order(configuration_.virtualStages);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return std::pair(held[a], a) < std::pair(held[b], b); });
    for (int64_t i = 0; i < larger[g]; ++i)
      ++sizes[stageOf(g, order[i])];
  }
  return sizes;
}

void BalancedStageSearch::seedMixed() {
  if (configuration_.schedule != PipelineSchedule::Interleaved || balancedBound() >= searchState_.cutoff())
    return;
  auto minStep = minBalancedStep();
  if (!balanced_ || !minStep)
    return;
  for (double longer : {1.0, 1.03, 1.08}) {
    auto step = static_cast<int64_t>(static_cast<double>(*minStep) * longer);
    std::vector<size_t> kinds = largerStagesWithin(step).kinds();
    searchState_.budget -= 20;
    if (kinds.empty())
      return;
    std::vector<int64_t> larger;
    int64_t sum = 0;
    for (int64_t g = 0; g < groups_; ++g)
      larger.push_back(largerWithin(steps_[g][kinds[g]], step)), sum += larger.back();
    for (; sum > larger_; --sum) { // less for the group that takes longest
      size_t slowest = 0;
      int64_t longest = -1;
      for (size_t g = 0; g < larger.size(); ++g)
        if (larger[g] > 0 && steps_[g][kinds[g]][larger[g]] > longest)
          slowest = g, longest = steps_[g][kinds[g]][larger[g]];
      --larger[slowest];
    }
    if (sum == larger_)
      evaluateSizes(sizesOf(larger), kinds);
  }
}

/// Moves a layer from a larger stage to another one while that makes the value less; bounds need most of the work left.
void BalancedStageSearch::moveLayers(std::vector<int64_t> sizes, double value) {
  int64_t enough = searchState_.budget - searchState_.budget / 4;
  for (bool better = true; better && !searchState_.isExhausted() && searchState_.budget > enough;) {
    better = false;
    for (size_t from = 0; from < sizes.size() && !better; ++from)
      for (size_t to = 0; to < sizes.size() && !better && sizes[from] > minSize_; ++to) {
        if (sizes[to] > minSize_ || searchState_.isExhausted() || searchState_.budget <= enough)
          continue;
        auto moved = sizes;
        --moved[from], ++moved[to];
        if (double now = evaluateSizes(moved); now < value)
          value = now, sizes = std::move(moved), better = true;
      }
  }
}

// --- The minimax path bound. ---

/// Nothing where a layer cannot run in the parallel configuration.
std::optional<BalancedPlans> BalancedStageSearch::balancedPlans() const {
  Id parallelConfig = configuration_.parallelConfigs[0];
  if (lattice_.all(parallelConfig).cannot)
    return std::nullopt;
  const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
  BalancedPlans plans;
  plans.shape = shape();
  plans.more = larger_;
  plans.memory = problem_.deviceTypeOf(parallelConfig).memory;
  plans.overlapFraction = problem_.overlapFraction, plans.maxOverlap = problem_.maxOverlap;
  std::map<Id, size_t> classes;
  auto classOf = [&](int64_t layer) {
    Id of = problem_.layers[layer].of;
    auto [found, added] = classes.emplace(of, plans.classes.size());
    if (added) {
      const auto &cost = *problem_.classes[of].costs[parallelConfig];
      plans.classes.push_back({static_cast<double>(cost.staticMemory), cost.recomputeChoices});
      auto &recomputeChoices = plans.classes.back().recomputeChoices;
      std::sort(recomputeChoices.begin(), recomputeChoices.end(),
                [](const auto &a, const auto &b) { return a.workspace < b.workspace; });
    }
    return found->second;
  };
  plans.middle = classOf(middle_->first);
  uint32_t extra = middle_->first;
  Sums layer = lattice_.between(parallelConfig, extra, extra + 1);
  auto gather = [&](int64_t weights) { return minTime(one.gather, weights); };
  std::vector<StageWork> works(groups_);
  for (int64_t s = 0; s < stages_; ++s) {
    Part part = partOf(s, minSize_);
    Sums sums = lattice_.between(parallelConfig, part.from, part.to);
    StageBound bound = boundOf(parallelConfig, part, s);
    int64_t longer = gather(sums.weights + layer.weights) - gather(sums.weights);
    BalancedPlans::Stage stage;
    stage.forward = bound.forward;
    stage.backward = bound.backward + bound.weight - sums.recomputeTime;
    stage.moreForward = layer.forward + longer;
    stage.moreBackward = layer.backward + layer.weight + longer;
    plans.send.push_back(bound.send);
    for (int64_t i = part.from; i < part.to; ++i) {
      size_t of = classOf(i);
      auto found = std::ranges::find(stage.classes, of, &std::pair<size_t, double>::first);
      if (found == stage.classes.end())
        stage.classes.push_back({of, 1});
      else
        found->second += 1;
    }
    plans.stages.push_back(std::move(stage));
    works[s % groups_] += sums;
  }
  int64_t replicasPerNode = countReplicasPerNode(problem_, parallelConfig, groups_);
  for (int64_t g = 0; g < groups_; ++g) {
    BalancedPlans::Group group{held_[g], {}, {}, {}};
    int64_t tied = minTiesOf(parallelConfig, g);
    StageWork work = works[g];
    for (int64_t n = 0; n <= std::min(plans.more, configuration_.virtualStages); ++n, work += layer) {
      group.exchange.push_back(gradientSyncTime(problem_, parallelConfig, work, replicasPerNode));
      group.overlapTime.push_back(work.backward + work.weight);
      group.update.push_back(work.update + tied);
    }
    plans.groups.push_back(std::move(group));
  }
  return plans;
}

/// What the branch and bound over the balanced cuts of one configuration shares.
struct BalancedStageSearch::Minimax {
  const BalancedPlans &plans;
  Rates rates;
  MinimaxPathBound game{plans};
  MinimaxProofTree proofs{};
  std::set<std::vector<char>> seen{};
  size_t vain = 0;     ///< plans in a row that were not nearly as good as the best one known
  int64_t charged = 0; ///< of the work of `game`
};

struct BalancedStageSearch::Node {
  BalancedSubset part;
  double bound = 0;
  size_t proof = 0; ///< in `Minimax::proofs`
  std::vector<double> larger;

  friend bool operator<(const Node &a, const Node &b) {
    return a.bound > b.bound;
  } ///< of a heap: the least bound first
};

/// Halves of a part at what is most between two whole numbers: layers of a group, or else of a stage. Empty: there is
/// only one cut. `how`: as a certificate says it.
std::vector<BalancedSubset> BalancedStageSearch::split(const Node &node, PathBound::Part &how) {
  size_t p = node.part.groups.size(), group = p, stage = node.larger.size();
  double max = 1e-6, n = 0;
  for (size_t g = 0; g < p; ++g) {
    double sum = 0;
    for (size_t s = g; s < node.larger.size(); s += p)
      sum += node.larger[s];
    if (double apart = std::abs(sum - std::round(sum)); apart > max)
      max = apart, group = g, n = sum;
  }
  if (group < p) {
    std::vector<BalancedSubset> halves(2, node.part);
    halves[0].groups[group].second = static_cast<int64_t>(std::floor(n));
    halves[1].groups[group].first = static_cast<int64_t>(std::floor(n)) + 1;
    how.fork = PathBound::Part::Split::Group, how.of = group;
    how.max = halves[0].groups[group].second;
    return halves;
  }
  for (size_t s = 0; s < node.larger.size(); ++s)
    if (double apart = std::min(node.larger[s], 1 - node.larger[s]); node.part.stages[s] < 0 && apart > max)
      max = apart, stage = s;
  // All whole: the part may have other cuts all the same.
  for (size_t s = 0; s < node.larger.size() && stage == node.larger.size(); ++s)
    if (node.part.stages[s] < 0)
      stage = s;
  if (stage == node.larger.size())
    return {};
  std::vector<BalancedSubset> halves(2, node.part);
  halves[0].stages[stage] = 0, halves[1].stages[stage] = 1;
  how.fork = PathBound::Part::Split::Stage, how.of = stage;
  return halves;
}

/// All cuts that may be better than the best plan known; nothing if there are none.
std::optional<BalancedSubset> BalancedStageSearch::rootSubset() const {
  BalancedSubset root;
  root.groups.assign(groups_, {0, std::min(larger_, configuration_.virtualStages)});
  root.stages.assign(stages_, -1);
  if (problem_.uniformClass) {
    auto sizes = *onlyCut();
    for (auto &range : root.groups)
      range = {0, 0};
    for (size_t s = 0; s < sizes.size(); ++s) {
      root.stages[s] = sizes[s] > minSize_;
      auto &[min, max] = root.groups[s % groups_];
      min += root.stages[s], max += root.stages[s];
    }
  }
  int64_t room = 0;
  for (size_t g = 0; g < maxLarger_.size(); ++g) {
    int64_t &max = root.groups[g].second;
    max = std::min(max, maxLarger_[g]);
    if (max < root.groups[g].first)
      return std::nullopt;
    room += max;
  }
  return room < larger_ ? std::nullopt : std::optional(root);
}

/// Evaluates the plan that is nearest to the mean plan of the game.
void BalancedStageSearch::evaluateMean(Minimax &minimax) {
  constexpr size_t kMaxVain = 8; // a plan takes longer to make than a bound
  if (minimax.vain >= kMaxVain)
    return;
  const std::vector<double> &mean = minimax.game.mean().larger;
  std::vector<size_t> order(mean.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return mean[a] != mean[b] ? mean[a] > mean[b] : a < b; });
  std::vector<char> larger(order.size());
  for (int64_t i = 0; i < larger_; ++i)
    larger[order[i]] = 1;
  if (!minimax.seen.insert(larger).second)
    return;
  std::vector<StagePlacement> stages;
  uint32_t at = 0;
  for (char more : larger) {
    uint32_t to = at + minSize_ + (more ? 1 : 0);
    stages.push_back({at, to, configuration_.parallelConfigs[0]});
    at = to;
  }
  double nearly = searchState_.value + 0.01 * std::abs(searchState_.value);
  minimax.vain = planStages(stages, false) <= nearly ? 0 : minimax.vain + 1;
}

void BalancedStageSearch::tighten(Minimax &minimax, Node &node, size_t rounds) {
  double step = minimax.game.bound(node.part, longest(), rounds, minimax.proofs.proofOf(node.proof));
  searchState_.budget -= (minimax.game.work() - minimax.charged) / 64;
  minimax.charged = minimax.game.work();
  double proved = value(step, minimax.rates);
  minimax.proofs.prove(node.proof, minimax.game.proof(), proved);
  node.bound = std::max(node.bound, proved);
  if (std::isinf(step) || node.bound >= searchState_.cutoff())
    return;
  node.larger = minimax.game.mean().larger;
  evaluateMean(minimax);
}

/// Least bound of the subsets into which the root is split; infinite if no plan is left in any.
double BalancedStageSearch::branch(Minimax &minimax, Node root, size_t maxSubsets) {
  std::vector<Node> heap{std::move(root)};
  double closed = INFINITY;
  int64_t enough = searchState_.budget - searchState_.budget / 2; // left for other configurations
  for (size_t looked = 1; !heap.empty() && looked < maxSubsets && !searchState_.isExhausted(); looked += 2) {
    if (searchState_.budget <= enough)
      break;
    std::pop_heap(heap.begin(), heap.end());
    Node node = std::move(heap.back());
    heap.pop_back();
    if (node.bound >= std::min(closed, searchState_.cutoff())) {
      closed = std::min(closed, node.bound);
      break;
    }
    PathBound::Part how;
    auto halves = split(node, how);
    if (halves.empty()) {
      closed = std::min(closed, node.bound);
      continue;
    }
    size_t proof = minimax.proofs.split(node.proof, std::move(how));
    for (BalancedSubset &half : halves) {
      Node next{std::move(half), node.bound, proof++, {}};
      tighten(minimax, next, 24);
      if (std::isinf(next.bound)) { // no plan of better value is in it
        closed = std::min(closed, searchState_.cutoff());
        continue;
      }
      heap.push_back(std::move(next));
      std::push_heap(heap.begin(), heap.end());
    }
  }
  for (const Node &node : heap)
    closed = std::min(closed, node.bound);
  return closed;
}

double BalancedStageSearch::minimaxBound(size_t maxSubsets) {
  if (configuration_.parallelConfigs.size() != 1)
    return balancedBound();
  auto plans = balanced_ ? balancedPlans() : std::nullopt;
  if (!plans)
    return 0;
  double simple = balancedBound();
  if (simple >= searchState_.cutoff())
    return simple;
  auto subset = rootSubset();
  if (!subset)
    return searchState_.cutoff();
  Minimax minimax{*plans, minRatesOf({})};
  Node root{std::move(*subset), simple, 0, {}};
  tighten(minimax, root, maxSubsets > 1 ? 100 : 16);
  double rootBound = root.bound, bound = branch(minimax, std::move(root), maxSubsets);
  if (std::isinf(bound))
    bound = std::max(searchState_.cutoff(), rootBound);
  ProvedPathBound &proved =
      searchState_.proved[{microbatches_, configuration_.virtualStages, groups_, configuration_.parallelConfigs[0]}];
  if (bound > proved.bound)
    proved = {simple, bound, minimax.proofs.written(plans->shape, configuration_.parallelConfigs[0], held_)};
  return bound;
}

} // namespace accord::placing
