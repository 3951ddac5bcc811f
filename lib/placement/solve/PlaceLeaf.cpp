// Plans whose stages are chosen: what each group keeps, a last bound, and the judge.
#include "lib/placement/solve/Place.h"
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>

namespace accord::placing {

/// Lower bound of the simulated step from the exact times of the stages: each is a path through
/// what any run of the schedule must do one after the other.
int64_t Shape::stepAtLeast(const PlacementWorth &worth, const StageEdges &edges) const {
  auto p = static_cast<size_t>(groups_), v = static_cast<size_t>(configuration_.chunks);
  int64_t m = microbatches_;
  bool split = configuration_.schedule == PipelineSchedule::ZeroBubble;
  const auto &times = worth.times;
  // Longest paths of first forward passes to, and of last backward passes from, each stage.
  std::vector<int64_t> head(times.size()), tail(times.size());
  for (size_t s = 0; s < times.size(); ++s)
    for (uint32_t from : edges[s]) {
      head[s] = std::max(head[s], head[from] + times[from].forward + times[from].send);
      int64_t back = times[from].backward + (split ? 0 : times[from].weight);
      tail[s] = std::max(tail[s], tail[from] + back + times[from].send);
    }
  // From a stage's last backward pass until its own and all earlier groups have finished.
  std::vector<int64_t> after(times.size());
  for (size_t s = 0; s < p; ++s) {
    after[s] = times[s].finish;
    for (uint32_t from : edges[s])
      after[s] = std::max(after[s], times[from].send + times[from].backward + times[from].weight +
                                        (split ? times[from].finish : after[from]));
    if (split)
      for (uint32_t from : edges[s])
        after[s] = std::max(after[s], times[from].send + times[from].backward + after[from]);
  }
  int64_t step = 0;
  for (size_t g = 0; g < p; ++g) {
    int64_t work = 0, mine = 0, weights = 0;
    for (size_t c = 0; c < v; ++c)
      work += times[c * p + g].forward + times[c * p + g].backward + times[c * p + g].weight,
          weights += times[c * p + g].weight;
    if (split) {
      int64_t held = std::min(m, groups_);
      step = std::max({step, head[g] + m * work + times[g].finish,
                       head[g] + m * work - held * weights + after[g],
                       head[g] + m * work - held * weights + weights + times[g].finish});
    } else {
      step = std::max(step, head[g] + m * work + after[g]);
    }
    // Interleaved, micro-batch 0 reaches chunk c of a group when the first group has run m' = p
    // micro-batches through all chunks before, which this group, too, has done by then.
    if (v > 1 && space_.chain && m >= groups_) {
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
  }
  if (configuration_.schedule != PipelineSchedule::GPipe && space_.chain) {
    // `Span`, with the exact times, and its like for chunks: before a group's first backward pass
    // micro-batch 0 goes forward through all stages and back to the group; after its last forward
    // pass the last micro-batch goes on to the last stage and back through all. Between are all
    // passes but the first and the last `warm`, chunk after chunk, p at a time.
    int64_t through = times[0].finish;
    for (size_t s = 0; s < times.size(); ++s)
      through += times[s].forward + times[s].backward + (split ? 0 : times[s].weight) +
                 (s + 1 < times.size() ? 2 * times[s].send : 0);
    for (size_t g = 0; g < p; ++g) {
      auto behind = static_cast<int64_t>(p - g - 1), all = m * static_cast<int64_t>(v);
      int64_t warm = v > 1 ? 2 * behind + static_cast<int64_t>((v - 1) * p) + 1 : behind + 1;
      if (warm >= all)
        continue;
      int64_t between = through;
      for (size_t c = 0; c < v; ++c) {
        const StageTimes &time = times[c * p + g];
        auto round = static_cast<int64_t>(p * v), first = static_cast<int64_t>(c * p);
        int64_t left =
            v == 1 ? warm
                   : warm / round * groups_ + std::clamp<int64_t>(warm % round - first, 0, groups_);
        between += (m - left) * (time.forward + time.backward + (split ? 0 : time.weight));
      }
      for (size_t s = (v - 1) * p + g + 1; s < times.size(); ++s)
        between += times[s].forward + times[s].backward + (split ? 0 : times[s].weight) +
                   2 * times[s - 1].send;
      step = std::max(step, between);
    }
  }
  if (configuration_.schedule == PipelineSchedule::GPipe && space_.chain) {
    // All forward passes leave the last stage before any backward pass: two flow shops in a row.
    int64_t forward = 0, backward = 0, mostForward = 0, mostBackward = 0;
    for (const StageTimes &time : times) {
      forward += time.forward + time.send;
      backward += time.backward + time.weight + time.send;
      mostForward = std::max(mostForward, time.forward);
      mostBackward = std::max(mostBackward, time.backward + time.weight);
    }
    forward -= times.back().send, backward -= times.back().send;
    step = std::max(step, forward + backward + (m - 1) * (mostForward + mostBackward));
  }
  return step;
}

double Shape::leaf(const std::vector<Placed> &stages, bool exhaustive) {
  auto p = static_cast<size_t>(groups_);
  if (configuration_.each)
    for (Id form : configuration_.forms)
      if (std::none_of(stages.begin(), stages.end(), [&](auto &one) { return one.form == form; }))
        return INFINITY;
  for (size_t s = 0; s < stages.size(); ++s)
    if (!mayHold(static_cast<int64_t>(s) + 1, stages[s].to))
      return INFINITY;
  Placement plan;
  plan.schedule = configuration_.schedule;
  plan.chunks = configuration_.chunks;
  plan.microbatches = microbatches_;
  for (const Placed &stage : stages)
    plan.stages.push_back({space_.layersBetween(stage.from, stage.to), stage.form, {}});
  // With a fixed order of passes, less recomputation never makes a step longer: its last pass is
  // that of the first chunk, and what it hides less of the exchange it takes less itself.
  bool monotone = configuration_.schedule != PipelineSchedule::ZeroBubble &&
                  problem_.limits.watts <= 0 && problem_.hidden <= 1 &&
                  (problem_.hidden <= 0 || configuration_.chunks == 1);
  bool energy = problem_.objective == PlacementObjective::Energy || problem_.limits.joules > 0 ||
                problem_.limits.watts > 0;
  std::vector<Keeps::Options> options;
  for (size_t g = 0; g < p; ++g) {
    std::vector<uint64_t> key{g, stages[g].form};
    for (size_t s = g; s < stages.size(); s += p)
      key.push_back(space_.classesOf(stages[s].from, stages[s].to));
    if (auto found = known_.find(key); !exhaustive && even_ && found != known_.end()) {
      options.push_back(found->second);
      --answer_.budget;
      if (options.back().list.empty())
        return INFINITY;
      continue;
    }
    std::vector<Part> parts;
    for (size_t s = g; s < stages.size(); s += p)
      parts.push_back({stages[s].from, stages[s].to});
    const PlacementProblem::Form &form = problem_.forms[stages[g].form];
    options.push_back(keeps_.options(stages[g].form, parts, held_[g],
                                     problem_.kinds[form.kind].memory,
                                     !exhaustive           ? Keeps::Which::Least
                                     : !monotone && energy ? Keeps::Which::All
                                     : !monotone           ? Keeps::Which::Distinct
                                     : energy              ? Keeps::Which::Front
                                                           : Keeps::Which::Times));
    complete_ &= options.back().exact;
    answer_.budget -= 20 + options.back().work;
    work_ -= options.back().work;
    if (!exhaustive && even_)
      known_.emplace(std::move(key), options.back());
    if (options.back().list.empty())
      return INFINITY;
  }
  return choose(stages, plan, options, exhaustive);
}

/// What each group keeps, group after group: the least times of those to come bound what is left.
double Shape::choose(const std::vector<Placed> &stages, Placement &plan,
                     const std::vector<Keeps::Options> &options, bool exhaustive) {
  auto p = static_cast<size_t>(groups_);
  auto keep = [&](size_t g, const KeepOption &option) {
    for (size_t c = 0; c < option.keeps.size(); ++c)
      plan.stages[c * p + g].keeps = option.keeps[c];
  };
  for (size_t g = 0; g < p; ++g)
    keep(g, options[g].list[0]);
  StageEdges edges;
  PlacementWorth worth = stagesOf(problem_, plan, edges);
  std::vector<StageTimes> &times = worth.times;
  answer_.budget -= static_cast<int64_t>(10 * stages.size());
  std::vector<StageWork> works(p);
  std::vector<double> joules(p + 1, worth.joules); // of the work, and of all again from g on
  for (const Keeps::Options &of : options)
    joules[p] -= of.list[0].joules;
  for (size_t s = 0; s < stages.size(); ++s) {
    Sums sums = space_.between(stages[s].form, stages[s].from, stages[s].to);
    StageWork &work = works[s % p];
    work.backward += sums.backward, work.weight += sums.weight;
    work.update += sums.update, work.gradients += sums.gradients;
    work.expertGradients += sums.expertGradients;
    times[s].backward -= options[s % p].list[0].again[s / p];
  }
  std::vector<int64_t> tied(p); // with what another group keeps
  for (size_t g = 0; g < p; ++g) {
    StageWork work = works[g];
    for (int64_t again : options[g].list[0].again)
      work.backward += again;
    tied[g] = times[g].finish - finishOf(problem_, stages[g].form, work,
                                         togetherOf(problem_, stages[g].form, groups_));
  }
  std::vector<StageTimes> bare = times;
  auto finish = [&](size_t g, const KeepOption &option) {
    StageWork work = works[g];
    for (int64_t again : option.again)
      work.backward += again;
    return tied[g] +
           finishOf(problem_, stages[g].form, work, togetherOf(problem_, stages[g].form, groups_));
  };
  auto put = [&](size_t g, const std::vector<int64_t> &again, int64_t finishes) {
    for (size_t c = 0; c < again.size(); ++c)
      times[c * p + g].backward = bare[c * p + g].backward + again[c];
    times[g].finish = finishes;
  };
  std::vector<KeepOption> least(p);
  std::vector<int64_t> leastFinish(p, INT64_MAX);
  for (size_t g = p; g-- > 0;) {
    least[g] = options[g].list[0];
    for (const KeepOption &option : options[g].list) {
      for (size_t c = 0; c < option.again.size(); ++c)
        least[g].again[c] = std::min(least[g].again[c], option.again[c]);
      least[g].joules = std::min(least[g].joules, option.joules);
      leastFinish[g] = std::min(leastFinish[g], finish(g, option));
    }
    joules[g] = joules[g + 1] + least[g].joules;
    put(g, least[g].again, leastFinish[g]);
  }
  double best = INFINITY;
  Rates rates = ratesAtLeast(stages);
  auto useless = [&](int64_t step, double energy) {
    double bound = valueOf(problem_, static_cast<double>(step + problem_.perStep), rates, energy,
                           space_.mostTdpTime);
    if (!answer_.useless(bound))
      return false;
    best = std::min(best, bound);
    return true;
  };
  auto simulated = [&] {
    return simulate({configuration_.schedule, groups_, configuration_.chunks, microbatches_}, times,
                    edges)
        .step;
  };
  std::function<void(size_t, double)> next = [&](size_t g, double energy) {
    if (exhaustive && answer_.over()) {
      complete_ = false;
      return;
    }
    answer_.budget -= static_cast<int64_t>(stages.size());
    work_ -= static_cast<int64_t>(stages.size());
    bool changed = g == 0 || options[g - 1].list.size() > 1;
    if (changed && useless(stepAtLeast(worth, edges), energy + joules[g]))
      return;
    if (g < p) {
      for (const KeepOption &option : options[g].list) {
        keep(g, option);
        put(g, option.again, finish(g, option));
        next(g + 1, energy + option.joules);
      }
      put(g, least[g].again, leastFinish[g]);
      return;
    }
    ++answer_.examined;
    answer_.budget -= static_cast<int64_t>(stages.size()) * microbatches_;
    if (useless(simulated(), energy + joules[p]))
      return;
    PlacementWorth judged = judge(problem_, plan);
    if (!judged.fits || !meets(problem_, judged) ||
        (space_.mostTdpTime > 0 && tdpTimeOf(problem_, plan, judged) > space_.mostTdpTime))
      return;
    best = std::min(best, judged.value);
    if (answer_.seen)
      answer_.seen(plan, judged);
    if (judged.value < answer_.value) {
      answer_.value = judged.value;
      answer_.plan = plan;
      answer_.worth = std::move(judged);
    }
  };
  next(0, 0);
  return best;
}

} // namespace accord::placing
