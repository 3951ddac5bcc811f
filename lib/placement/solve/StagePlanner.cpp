#include "lib/placement/solve/StagePlanner.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>

namespace accord::placing {

/// When each stage may begin its first forward pass, and how long it takes from its last backward pass until it and all
/// earlier groups have finished, against all that the group runs in between.
int64_t StagePlanner::minStepOfGroups(const std::vector<StageTimes> &times, const StageEdges &edges) const {
  size_t p = groups_, v = configuration_.virtualStages;
  int64_t m = microbatches_;
  bool split = splitsWeights_, interleaves = configuration_.schedule == PipelineSchedule::Interleaved;
  std::vector<int64_t> head(times.size()), after(times.size());
  for (size_t s = 0; s < times.size(); ++s)
    for (uint32_t from : edges[s])
      head[s] = std::max(head[s], head[from] + times[from].forward + times[from].send);
  for (size_t s = 0; s < p; ++s) {
    after[s] = times[s].stepTail;
    for (uint32_t from : edges[s]) {
      const StageTimes &before = times[from];
      int64_t back = before.send + before.backward;
      if (split)
        after[s] = std::max({after[s], back + before.weight + before.stepTail, back + after[from]});
      else
        after[s] = std::max(after[s], back + before.weight + after[from]);
    }
  }
  int64_t step = 0;
  for (size_t g = 0; g < p; ++g) {
    int64_t work = 0, mine = 0, weights = 0;
    for (size_t c = 0; c < v; ++c) {
      const StageTimes &time = times[stageOf(g, c)];
      work += time.forward + time.backward + time.weight, weights += time.weight;
    }
    if (split) {
      int64_t held = std::min(m, groups_);
      step = std::max({step, head[g] + m * work + times[g].stepTail, head[g] + m * work - held * weights + after[g],
                       head[g] + m * work - held * weights + weights + times[g].stepTail});
    } else {
      step = std::max(step, head[g] + m * work + after[g]);
    }
    // Interleaved, micro-batch 0 reaches virtual stage c of a group when the first group has run p micro-batches
    // through all virtual stages before, which this group, too, has done by then.
    if (!interleaves || !lattice_.chain || m < groups_)
      continue;
    int64_t first = 0;
    for (size_t c = 0; c < v; ++c) {
      int64_t reach = first - mine;
      for (size_t other = 0; other < g; ++other)
        reach += times[c * p + other].forward + times[c * p + other].send;
      step = std::max(step, reach + m * work + after[g]);
      first += groups_ * times[c * p].forward;
      mine += groups_ * times[c * p + g].forward;
    }
  }
  return step;
}

/// `SuffixBound` with the exact times, and its like for virtual stages: before a group's first backward pass
/// micro-batch 0 goes forward through all stages and back to the group; after its last forward pass the last
/// micro-batch goes on to the last stage and back through all. Between are all passes but the first and the last
/// `warm`, virtual stage after virtual stage, p at a time.
int64_t StagePlanner::minStepThroughChain(const std::vector<StageTimes> &times) const {
  size_t p = groups_, v = configuration_.virtualStages;
  int64_t step = 0, through = times[0].stepTail;
  auto passes = [&](const StageTimes &time) {
    return time.forward + time.backward + (splitsWeights_ ? 0 : time.weight);
  };
  for (size_t s = 0; s < times.size(); ++s)
    through += passes(times[s]) + (s + 1 < times.size() ? 2 * times[s].send : 0);
  for (size_t g = 0; g < p; ++g) {
    int64_t behind = p - g - 1, all = microbatches_ * configuration_.virtualStages;
    int64_t warm = v > 1 ? 2 * behind + (configuration_.virtualStages - 1) * groups_ + 1 : behind + 1;
    if (warm >= all)
      continue;
    int64_t between = through;
    for (size_t c = 0; c < v; ++c) {
      int64_t round = p * v, first = c * p;
      int64_t left = v == 1 ? warm : warm / round * groups_ + std::clamp<int64_t>(warm % round - first, 0, groups_);
      between += (microbatches_ - left) * passes(times[c * p + g]);
    }
    for (size_t s = (v - 1) * p + g + 1; s < times.size(); ++s)
      between += passes(times[s]) + 2 * times[s - 1].send;
    step = std::max(step, between);
  }
  return step;
}

/// All forward passes leave the last stage before any backward pass: two flow shops in a row.
int64_t StagePlanner::minStepOfGPipe(const std::vector<StageTimes> &times) const {
  int64_t forward = 0, backward = 0, maxForward = 0, maxBackward = 0;
  for (const StageTimes &time : times) {
    forward += time.forward + time.send;
    backward += time.backward + time.weight + time.send;
    maxForward = std::max(maxForward, time.forward);
    maxBackward = std::max(maxBackward, time.backward + time.weight);
  }
  forward -= times.back().send, backward -= times.back().send;
  return forward + backward + (microbatches_ - 1) * (maxForward + maxBackward);
}

int64_t StagePlanner::minStepOf(const PlanMetrics &metrics, const StageEdges &edges) const {
  int64_t step = minStepOfGroups(metrics.times, edges);
  if (!lattice_.chain)
    return step;
  if (configuration_.schedule == PipelineSchedule::GPipe)
    return std::max(step, minStepOfGPipe(metrics.times));
  if (configuration_.virtualStages == 1 || configuration_.schedule == PipelineSchedule::Interleaved)
    return std::max(step, minStepThroughChain(metrics.times));
  return step;
}

double StagePlanner::planStages(const std::vector<StagePlacement> &stages, bool exhaustive) {
  size_t p = groups_, v = configuration_.virtualStages;
  if (configuration_.each)
    for (Id parallelConfig : configuration_.parallelConfigs)
      if (std::none_of(stages.begin(), stages.end(), [&](auto &one) { return one.parallelConfig == parallelConfig; }))
        return INFINITY;
  for (size_t s = 0; s < stages.size(); ++s)
    if (!mayHold(s + 1, stages[s].to))
      return INFINITY;
  Placement plan;
  plan.schedule = configuration_.schedule;
  plan.virtualStages = configuration_.virtualStages;
  plan.microbatches = microbatches_;
  for (const StagePlacement &stage : stages)
    plan.stages.push_back({lattice_.layersBetween(stage.from, stage.to), stage.parallelConfig, {}});
  // With a fixed order of passes, less recomputation never makes a step longer: its last pass is that of the first
  // virtual stage, and what it hides less of the exchange it takes less itself.
  bool monotone = model_.hasFixedOrder() && problem_.limits.watts <= 0 && problem_.overlapFraction <= 1 &&
                  (problem_.overlapFraction <= 0 || configuration_.virtualStages == 1);
  bool energy = formulaOf(problem_.objective).countsJoules || problem_.limits.joules > 0 || problem_.limits.watts > 0;
  std::vector<RecomputeSolver::Options> options;
  for (size_t g = 0; g < p; ++g) {
    std::vector<uint64_t> key{g, stages[g].parallelConfig};
    for (size_t c = 0; c < v; ++c)
      key.push_back(lattice_.classesOf(stages[stageOf(g, c)].from, stages[stageOf(g, c)].to));
    if (auto found = known_.find(key); !exhaustive && balanced_ && found != known_.end()) {
      options.push_back(found->second);
      --searchState_.budget;
      if (options.back().list.empty())
        return INFINITY;
      continue;
    }
    std::vector<Part> parts;
    for (size_t c = 0; c < v; ++c)
      parts.push_back({stages[stageOf(g, c)].from, stages[stageOf(g, c)].to});
    options.push_back(recomputeSolver_.options(stages[g].parallelConfig, parts, held_[g],
                                               problem_.deviceTypeOf(stages[g].parallelConfig).memory,
                                               !exhaustive           ? RecomputeSolver::Which::MinTime
                                               : !monotone && energy ? RecomputeSolver::Which::All
                                               : !monotone           ? RecomputeSolver::Which::Distinct
                                               : energy              ? RecomputeSolver::Which::ParetoFront
                                                                     : RecomputeSolver::Which::ParetoTimes));
    complete_ &= options.back().exact;
    searchState_.budget -= 20 + options.back().work;
    work_ -= options.back().work;
    if (!exhaustive && balanced_)
      known_.emplace(std::move(key), options.back());
    if (options.back().list.empty())
      return INFINITY;
  }
  return chooseRecomputation(stages, plan, options, exhaustive);
}

/// What each group recomputes, group after group: the least times of those to come bound what is left.
double StagePlanner::chooseRecomputation(const std::vector<StagePlacement> &stages, Placement &plan,
                                         const std::vector<RecomputeSolver::Options> &options, bool exhaustive) {
  size_t p = groups_;
  auto recomputeChoice = [&](size_t g, const GroupRecomputeChoice &option) {
    for (size_t c = 0; c < option.recomputeChoices.size(); ++c)
      plan.stages[stageOf(g, c)].recomputeChoices = option.recomputeChoices[c];
  };
  for (size_t g = 0; g < p; ++g)
    recomputeChoice(g, options[g].list[0]);
  StageEdges edges;
  PlanMetrics metrics = evaluateStages(problem_, plan, edges);
  std::vector<StageTimes> &times = metrics.times;
  searchState_.budget -= 10 * stages.size();
  std::vector<StageWork> works(p);
  std::vector<double> joules(p + 1, metrics.joules); // of the work, and of all again from g on
  for (const RecomputeSolver::Options &of : options)
    joules[p] -= of.list[0].joules;
  for (size_t s = 0; s < stages.size(); ++s)
    works[groupOf(s)] += lattice_.between(stages[s].parallelConfig, stages[s].from, stages[s].to);
  for (size_t g = 0; g < p; ++g)
    for (size_t c = 0; c < options[g].list[0].recomputeTime.size(); ++c)
      times[stageOf(g, c)].backward -= options[g].list[0].recomputeTime[c];
  auto exposed = [&](size_t g, const GroupRecomputeChoice &option) {
    StageWork work = works[g];
    for (int64_t recomputeTime : option.recomputeTime)
      work.backward += recomputeTime;
    return exposedStepTail(problem_, stages[g].parallelConfig, work,
                           countReplicasPerNode(problem_, stages[g].parallelConfig, groups_));
  };
  std::vector<int64_t> tied(p); // with layers of another group
  for (size_t g = 0; g < p; ++g)
    tied[g] = times[g].stepTail - exposed(g, options[g].list[0]);
  std::vector<StageTimes> bare = times;
  auto stepTail = [&](size_t g, const GroupRecomputeChoice &option) { return tied[g] + exposed(g, option); };
  auto put = [&](size_t g, const std::vector<int64_t> &recomputeTime, int64_t finishes) {
    for (size_t c = 0; c < recomputeTime.size(); ++c)
      times[stageOf(g, c)].backward = bare[stageOf(g, c)].backward + recomputeTime[c];
    times[g].stepTail = finishes;
  };
  std::vector<GroupRecomputeChoice> min(p);
  std::vector<int64_t> minStepTail(p, INT64_MAX);
  for (size_t g = p; g-- > 0;) {
    min[g] = options[g].list[0];
    for (const GroupRecomputeChoice &option : options[g].list) {
      for (size_t c = 0; c < option.recomputeTime.size(); ++c)
        min[g].recomputeTime[c] = std::min(min[g].recomputeTime[c], option.recomputeTime[c]);
      min[g].joules = std::min(min[g].joules, option.joules);
      minStepTail[g] = std::min(minStepTail[g], stepTail(g, option));
    }
    joules[g] = joules[g + 1] + min[g].joules;
    put(g, min[g].recomputeTime, minStepTail[g]);
  }
  double best = INFINITY;
  Rates rates = minRatesOf(stages);
  auto canPrune = [&](int64_t step, double energy) {
    double bound = valueOf(problem_, step + problem_.hostOverheadPerStep, rates, energy, lattice_.maxTdpTime);
    if (!searchState_.canPrune(bound))
      return false;
    best = std::min(best, bound);
    return true;
  };
  std::function<void(size_t, double)> next = [&](size_t g, double energy) {
    if (exhaustive && searchState_.isExhausted()) {
      complete_ = false;
      return;
    }
    searchState_.budget -= stages.size();
    work_ -= stages.size();
    bool changed = g == 0 || options[g - 1].list.size() > 1;
    if (changed && canPrune(minStepOf(metrics, edges), energy + joules[g]))
      return;
    if (g < p) {
      for (const GroupRecomputeChoice &option : options[g].list) {
        recomputeChoice(g, option);
        put(g, option.recomputeTime, stepTail(g, option));
        next(g + 1, energy + option.joules);
      }
      put(g, min[g].recomputeTime, minStepTail[g]);
      return;
    }
    ++searchState_.examined;
    searchState_.budget -= stages.size() * microbatches_;
    if (canPrune(simulate(shape(), times, edges).step, energy + joules[p]))
      return;
    PlanMetrics evaluated = evaluate(problem_, plan);
    if (!isFeasible(problem_, plan, evaluated, lattice_.maxTdpTime))
      return;
    best = std::min(best, evaluated.value);
    if (evaluated.value < searchState_.value)
      searchState_.take(plan, std::move(evaluated));
  };
  next(0, 0);
  return best;
}

} // namespace accord::placing
