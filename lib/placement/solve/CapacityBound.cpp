#include "lib/placement/solve/CapacityBound.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {
namespace {

/// Most layers with sum x_k time_k <= time and sum x_k bytes_k <= bytes over the ways k to keep them: a linear program
/// of two rows, whose best vertex uses at most two ways.
double maxLayersWithin(const std::vector<std::pair<double, double>> &alternatives, double time, double bytes) {
  if (time < 0 || bytes < 0)
    return -1;
  double max = 0;
  auto ratio = [](double have, double each) { return each > 0 ? have / each : INFINITY; };
  for (size_t i = 0; i < alternatives.size(); ++i) {
    auto [ti, bi] = alternatives[i];
    max = std::max(max, std::min(ratio(time, ti), ratio(bytes, bi)));
    for (size_t j = i + 1; j < alternatives.size(); ++j) {
      auto [tj, bj] = alternatives[j];
      double determinant = ti * bj - tj * bi;
      if (determinant == 0)
        continue;
      double x = (time * bj - tj * bytes) / determinant, y = (ti * bytes - time * bi) / determinant;
      if (x >= 0 && y >= 0)
        max = std::max(max, x + y);
    }
  }
  return max;
}

int64_t minTimeOf(const PlacementProblem::Cost &cost) {
  return cost.forward + cost.backward + cost.weight + cost.minOf(&RecomputeChoice::recomputeTime);
}

} // namespace

CapacityBound::CapacityBound(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                             const Configuration &configuration, SearchState &searchState)
    : ConfigurationContext(lattice, recomputeSolver, configuration, searchState), counts_(problem_.classes.size()) {
  for (const PlacementProblem::Layer &layer : problem_.layers)
    ++counts_[layer.of];
  unit_ = std::ranges::max_element(counts_) - counts_.begin();
  if (kinds_.size() > 1) {
    limits_ = maxGroupsOfKinds();
    searchState_.budget -= groups_;
  }
}

/// `ends`: what else the group has to hold.
CapacityBound::Capacity CapacityBound::capacityOf(Id parallelConfig, int64_t inFlight,
                                                  const std::vector<Id> &ends) const {
  int64_t time = 0, bytes = 0, memory = problem_.deviceTypeOf(parallelConfig).memory;
  for (Id layer : ends) {
    const auto &cost = problem_.cost(layer, parallelConfig);
    if (problem_.layers[layer].of == unit_ || !cost)
      continue;
    time += minTimeOf(*cost);
    bytes += cost->staticMemory + inFlight * cost->minOf(&RecomputeChoice::activations);
  }
  Capacity capacity;
  capacity.fixed = time + problem_.hostOverheadPerMicrobatch * configuration_.virtualStages;
  const auto &cost = problem_.classes[unit_].costs[parallelConfig];
  if (cost)
    for (const RecomputeChoice &choice : cost->recomputeChoices)
      capacity.alternatives.emplace_back(cost->forward + cost->backward + cost->weight + choice.recomputeTime,
                                         cost->staticMemory + inFlight * choice.activations);
  // A group without any of these layers needs no room to work on them.
  capacity.bytes = std::max<int64_t>(0, memory - bytes - (cost ? cost->minOf(&RecomputeChoice::workspace) : 0));
  return capacity;
}

/// Leaves of each kind those parallel configurations that hold more than others somewhere. None that is left out holds
/// more than one that takes no more time and memory, of the frequent layer in some way to keep it for each of its ways,
/// and of the ends of a chain.
void CapacityBound::prune() {
  constexpr size_t kFew = 4;
  struct Needs {
    size_t position = 0;
    int64_t room = 0;
    std::vector<std::array<int64_t, 3>> choices{}, ends{}; ///< time, static memory, activations of a layer
  };
  auto isLess = [](const std::array<int64_t, 3> &a, const std::array<int64_t, 3> &b) {
    return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2];
  };
  auto dominates = [&](const Needs &a, const Needs &b) {
    return a.room >= b.room && isLess(a.ends[0], b.ends[0]) && isLess(a.ends[1], b.ends[1]) &&
           std::ranges::all_of(b.choices, [&](const auto &its) {
             return std::ranges::any_of(a.choices, [&](const auto &mine) { return isLess(mine, its); });
           });
  };
  for (std::vector<size_t> &kind : kinds_) {
    std::vector<Needs> left;
    for (size_t position : kind) {
      Id parallelConfig = configuration_.parallelConfigs[position];
      const auto &cost = problem_.classes[unit_].costs[parallelConfig];
      if (!cost || kind.size() < kFew)
        continue;
      Needs needs{position, problem_.deviceTypeOf(parallelConfig).memory - cost->minOf(&RecomputeChoice::workspace)};
      for (const RecomputeChoice &choice : cost->recomputeChoices)
        needs.choices.push_back({cost->forward + cost->backward + cost->weight + choice.recomputeTime,
                                 cost->staticMemory, choice.activations});
      for (Id layer : {Id{0}, static_cast<Id>(problem_.layers.size() - 1)}) {
        const auto &end = problem_.cost(layer, parallelConfig);
        needs.ends.push_back({0, 0, 0});
        if (end && problem_.layers[layer].of != unit_)
          needs.ends.back() = {minTimeOf(*end), end->staticMemory, end->minOf(&RecomputeChoice::activations)};
      }
      if (std::ranges::any_of(left, [&](const Needs &other) { return dominates(other, needs); }))
        continue;
      std::erase_if(left, [&](const Needs &other) { return dominates(needs, other); });
      left.push_back(std::move(needs));
    }
    if (left.empty())
      continue;
    kind.clear();
    for (const Needs &one : left)
      kind.push_back(one.position);
  }
}

void CapacityBound::listGroups() {
  Id end = problem_.layers.size() - 1;
  bool onlyEnds = lattice_.chain; // layers of other classes are the first and the last one alone
  for (Id layer = 1; layer < end; ++layer)
    onlyEnds &= problem_.layers[layer].of == unit_;
  bool isRange = configuration_.min < configuration_.max;
  int64_t lastInFlight = -1, lastGroup = groupOf(stages_ - 1);
  for (int64_t g = 0; g < groups_; ++g) {
    int64_t inFlight = 0;
    for (const auto &held : held_[g])
      inFlight = std::max(inFlight, *std::ranges::min_element(held));
    bool special = lattice_.chain && (g == 0 || g == lastGroup);
    if (!special && inFlight == lastInFlight && !byGroup_.back().mayBeEmpty) {
      byGroup_.push_back(byGroup_.back());
      continue;
    }
    lastInFlight = special ? -1 : inFlight;
    std::vector<Id> ends;
    if (lattice_.chain && g == 0 && !isRange)
      ends.push_back(0);
    if (lattice_.chain && g == lastGroup && end > 0)
      ends.push_back(end);
    Group &group = byGroup_.emplace_back();
    if (configuration_.virtualStages > 1 && !problem_.uniformClass) {
      // Stages have equally many layers, or one more; those of other classes are in this group at worst.
      int64_t each = (end + int64_t{1}) / stages_, v = configuration_.virtualStages;
      group.max = (each + ((end + int64_t{1}) % stages_ != 0)) * v;
      group.min = std::max<int64_t>(0, each * v - (onlyEnds ? ends.size() : end + 1 - counts_[unit_]));
    }
    group.mayBeEmpty = !onlyEnds || g <= groups_ - configuration_.min || g == lastGroup;
    for (const std::vector<size_t> &kind : kinds_) {
      group.capacities.emplace_back();
      for (size_t position : kind)
        group.capacities.back().push_back(capacityOf(configuration_.parallelConfigs[position], inFlight, ends));
    }
  }
}

/// Least time of each class of layers; of the frequent one by kind, behind the others.
std::vector<double> CapacityBound::timesOfKinds() const {
  std::vector<double> times(counts_.size() + kinds_.size(), INFINITY);
  for (size_t k = 0; k < kinds_.size(); ++k)
    for (size_t position : kinds_[k])
      for (Id of = 0; of < counts_.size(); ++of)
        if (const auto &cost = problem_.classes[of].costs[configuration_.parallelConfigs[position]]) {
          double time = minTimeOf(*cost);
          times[of] = std::min(times[of], time);
          if (of == unit_)
            times[counts_.size() + k] = std::min(times[counts_.size() + k], time);
        }
  return times;
}

/// What groups before and behind each one take at least: all but as many as there are layers of other classes hold a
/// frequent layer, on the fastest devices.
void CapacityBound::waits(const std::vector<double> &min) {
  if (limits_.empty() || !lattice_.chain || configuration_.virtualStages > 1 || splitsWeights_)
    return;
  std::vector<double> times; // of a frequent layer, by group
  int64_t others = problem_.layers.size() - counts_[unit_], minGroups = configuration_.min;
  for (size_t k = 0; k < limits_.size(); ++k)
    times.insert(times.end(), limits_[k], min[counts_.size() + k]);
  std::sort(times.begin(), times.end());
  std::vector<double> sums(groups_ + 1); // of so many groups together
  for (int64_t n = 1; n <= groups_; ++n)
    sums[n] = sums[n - 1] + problem_.hostOverheadPerMicrobatch +
              (n <= others                                        ? 0
               : n - others <= static_cast<int64_t>(times.size()) ? times[n - others - 1]
                                                                  : INFINITY);
  all_ = sums[minGroups];
  for (Id of = 0; of < counts_.size(); ++of)
    if (int64_t more = counts_[of] - (of == unit_ ? std::max<int64_t>(0, minGroups - others) : 0); more > 0)
      all_ += more * min[of];
  for (int64_t g = 0; g < groups_; ++g) {
    byGroup_[g].before = sums[std::max<int64_t>(0, g - (groups_ - minGroups))];
    byGroup_[g].behind = sums[groups_ - 1 - g];
  }
  waits_ = true;
}

/// Time of a micro-batch that a step leaves a group.
double CapacityBound::timeWithin(size_t group, double step) const {
  double m = microbatches_, time = step / m;
  if (!waits_)
    return time;
  const Group &one = byGroup_[group];
  time = (step - one.before) / m;
  if (double n = m - groups_ + group; configuration_.schedule == PipelineSchedule::OneFOneB && n >= 1)
    time = std::min(time, (step - all_ - one.behind) / n);
  if (configuration_.schedule == PipelineSchedule::GPipe && m > 1)
    time = std::min(time, (step - all_) / (m - 1));
  return time;
}

/// Layers that a group holds within a time.
double CapacityBound::layersWithin(const Capacity &one, double time) {
  double max = std::max(0.0, maxLayersWithin(one.alternatives, time - one.fixed, one.bytes));
  return std::isinf(max) ? max : std::floor(max * (1 + 1e-12) + 1e-9);
}

/// Whether the groups hold all layers of the class within a step.
bool CapacityBound::holdWithin(double step) const {
  auto count = static_cast<double>(counts_[unit_]);
  if (limits_.empty()) {
    double sum = 0;
    for (size_t g = 0; g < byGroup_.size() && sum < count; ++g) {
      double max = 0, time = timeWithin(g, step);
      for (const Capacity &one : byGroup_[g].capacities[0])
        max = std::max(max, layersWithin(one, time));
      sum += max;
    }
    return sum >= count;
  }
  if (waits_ && step < all_)
    return false;
  GroupAssignment all{{}, limits_};
  for (size_t g = 0; g < byGroup_.size(); ++g) {
    double time = timeWithin(g, step);
    std::vector<double> layers;
    for (const std::vector<Capacity> &kind : byGroup_[g].capacities) {
      double held = 0;
      for (const Capacity &one : kind)
        held = std::max(held, layersWithin(one, time));
      held = std::min({held, byGroup_[g].max, count});
      layers.push_back(held < byGroup_[g].min || (held < 1 && !byGroup_[g].mayBeEmpty) ? -INFINITY : held);
    }
    all.holds.push_back(std::move(layers));
  }
  return all.max() >= count;
}

double CapacityBound::bound() {
  bool isRange = configuration_.min < configuration_.max;
  if (isRange && (configuration_.virtualStages > 1 || splitsWeights_))
    return 0;
  if (!isRange && !mayHold(stages_, lattice_.last())) // a layer is constrained to a stage that is not there
    return INFINITY;
  std::vector<double> times = timesOfKinds();
  prune();
  listGroups();
  waits(times);
  double high = std::min(1.0 * longest(), 4e18 * microbatches_);
  if (!holdWithin(high))
    return std::isinf(searchState_.value) && high < 4e18 * microbatches_ ? INFINITY : searchState_.cutoff();
  double low = 0, m = microbatches_, near = configuration_.splits() ? 4e-3 : 2e-4; // of what is looked at again, less
  if (problem_.objective == PlacementObjective::StepTime)                          // what is known already
    low = std::clamp(configuration_.bound - problem_.hostOverheadPerStep, 0.0, high);
  while (high - low > std::max(0.5 * m, high * near)) {
    double middle = high > 4 * low + 4 * m ? std::sqrt((low + m) * (high + m)) : low + (high - low) / 2;
    (holdWithin(middle) ? high : low) = middle;
  }
  return value(low * (1 - 1e-12), minRatesOf({}));
}

} // namespace accord::placing
