#include "lib/placement/solve/HeterogeneousStages.h"
#include "lib/placement/solve/Configurations.h"
#include "lib/search/BestFirstQueue.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
using namespace placing;

double lowerBoundByCuts(const PlacementProblem &problem, double below) {
  DownSetLattice lattice(problem, kMaxDownSets);
  Configurations all(lattice);
  RecomputeSolver recomputeChoices(lattice);
  double min = all.complete ? all.left : 0;
  auto later = [](const Configuration &a, const Configuration &b) { return a.bound > b.bound; };
  BestFirstQueue open(later, std::move(all.list));
  while (!open.empty()) {
    Configuration one = open.pop();
    if (one.bound >= std::min(min, below)) {
      min = std::min(min, one.bound);
      break;
    }
    if (one.splits()) {
      for (Configuration &half : all.halvesOf(one))
        open.push(std::move(half));
      continue;
    }
    SearchState searchState; // of its own: what is evaluated on the way says nothing here
    searchState.value = std::min(min, below);
    searchState.budget = int64_t{1} << 40;
    ConfigurationSearch shape(lattice, recomputeChoices, one, searchState);
    double bound = std::max(one.bound, shape.capacityBound());
    if (bound < std::min(min, below))
      bound = std::max(bound, shape.table());
    min = std::min(min, bound);
  }
  return min;
}

namespace {

constexpr size_t kMaxEvaluated = 6'000;
constexpr int Bottlenecks = 128;

class StagePlans {
public:
  StagePlans(const PlacementProblem &problem, double below)
      : problem_(problem), lattice_(problem, kMaxDownSets), recomputeSolver_(lattice_), line_(lattice_.line()) {
    best_.value = below;
  }

  PlacementResult run() {
    const ParallelConfig &parallelConfig = problem_.parallelConfigs.front();
    int64_t samples = parallelConfig.samples(), devices = 0;
    for (const DeviceType &deviceType : problem_.deviceTypes)
      devices = std::max(devices, deviceType.devices);
    if (problem_.limits.devices > 0)
      devices = std::min(devices, problem_.limits.devices);
    m_ = problem_.batch / samples;
    int64_t layers = problem_.layers.size();
    for (PipelineSchedule schedule : problem_.schedules)
      for (int64_t p = 1; p <= std::min(layers, devices / parallelConfig.devices()); ++p)
        if (modelOf(schedule).virtualStages == ScheduleModel::VirtualStages::One && problem_.mayHaveGroups(p) &&
            problem_.mayHaveStages(p) && p <= kMaxSearchedPasses / m_)
          groups(schedule, p);
    for (Start &start : starts_)
      if (start.metrics.value < best_.metrics.value * 1.05)
        improve(std::move(start));
    PlacementResult result;
    result.plan = best_.plan;
    result.metrics = best_.metrics;
    result.value = best_.plan ? best_.value : 0;
    result.examined = judged_;
    return result;
  }

private:
  struct Way {
    int64_t time = 0;
    double cost = 0;
    Id parallelConfig = 0;
  };
  struct Start {
    std::vector<uint32_t> cuts; ///< positions on the line, by stage: where it begins; then the end
    std::vector<Id> parallelConfigs;
    PipelineSchedule schedule = PipelineSchedule::OneFOneB;
    PlanMetrics metrics;
  };

  double costOf(Id parallelConfig) const {
    return problem_.objective == PlacementObjective::TdpTime ? problem_.deviceTypeOf(parallelConfig).tdpWatts : 0;
  }

  /// Parallel configurations for a stage of these layers, from the fastest on, each cheaper than those before it.
  const std::vector<Way> &alternatives(int64_t inFlight, uint32_t from, uint32_t to) {
    auto [at, isNew] = ways_.try_emplace({inFlight, from, to});
    if (!isNew)
      return at->second;
    std::vector<Way> all;
    for (Id parallelConfig = 0; parallelConfig < problem_.parallelConfigs.size(); ++parallelConfig) {
      Sums sums = lattice_.between(parallelConfig, line_[from], line_[to]);
      if (sums.cannot)
        continue;
      auto recomputeTime = recomputeSolver_.minRecomputeTime(parallelConfig, line_[from], line_[to], inFlight,
                                                             problem_.deviceTypeOf(parallelConfig).memory);
      if (recomputeTime)
        all.push_back({sums.time() - sums.recomputeTime + *recomputeTime, costOf(parallelConfig), parallelConfig});
    }
    std::sort(all.begin(), all.end(), [](const Way &a, const Way &b) {
      return std::tie(a.time, a.cost, a.parallelConfig) < std::tie(b.time, b.cost, b.parallelConfig);
    });
    for (const Way &way : all)
      if (at->second.empty() || way.cost < at->second.back().cost)
        at->second.push_back(way);
    return at->second;
  }

  void groups(PipelineSchedule schedule, int64_t p) {
    uint32_t count = line_.size() - 1;
    size_t stages = p;
    std::vector<int64_t> inFlight = inFlightOf({schedule, p, 1, m_});
    double total = 0, longest = 0, slowest = 0;
    for (const PlacementProblem::Layer &layer : problem_.layers) {
      double min = INFINITY, max = 0;
      for (Id parallelConfig = 0; parallelConfig < problem_.parallelConfigs.size(); ++parallelConfig)
        if (const auto &cost = problem_.classes[layer.of].costs[parallelConfig]) {
          double time = cost->forward + cost->backward + cost->weight;
          min = std::min(min, time), max = std::max(max, time);
        }
      total += min, longest = std::max(longest, min), slowest += max;
    }
    if (!std::isfinite(total))
      return;
    double low = std::max(total / p, longest);
    if (problem_.objective == PlacementObjective::StepTime && low * m_ >= best_.value)
      return;
    // From even stages of the fastest parallel configurations to uneven ones of the slowest, if they are cheaper.
    double range = 2.5;
    if (problem_.objective == PlacementObjective::TdpTime && total > 0)
      range *= slowest / total;
    std::set<std::pair<std::vector<uint32_t>, std::vector<Id>>> seen;
    std::optional<Start> found;
    for (int i = 0; i <= Bottlenecks; ++i) {
      auto limit = static_cast<int64_t>(low * std::pow(range, 1.0 * i / Bottlenecks)) + 1;
      struct Cell {
        double cost = INFINITY, time = INFINITY;
        uint32_t next = 0;
        Id parallelConfig = 0;
      };
      std::vector<std::vector<Cell>> cells(stages + 1, std::vector<Cell>(count + 1));
      cells[stages][count] = {0, 0, 0, 0};
      for (size_t s = stages; s-- > 0;)
        for (uint32_t from = s; from + (stages - s) <= count; ++from) {
          if (s == 0 && from > 0)
            break;
          Cell &cell = cells[s][from];
          for (uint32_t to = from + 1; to + (stages - s - 1) <= count; ++to) {
            const std::vector<Way> &all = alternatives(inFlight[s], from, to);
            const Way *chosen = nullptr;
            for (const Way &way : all) // the cheapest that is not too slow
              if (way.time <= limit)
                chosen = &way;
            if (!chosen)
              break;
            const Cell &behind = cells[s + 1][to];
            if (std::isinf(behind.time) || !holds(s + 1, stages, to))
              continue;
            double cost = behind.cost + chosen->cost, time = behind.time + chosen->time;
            if (std::pair(cost, time) < std::pair(cell.cost, cell.time))
              cell = {cost, time, to, chosen->parallelConfig};
          }
        }
      if (std::isinf(cells[0][0].time))
        continue;
      Start start;
      start.schedule = schedule;
      uint32_t at = 0;
      for (size_t s = 0; s < stages; ++s) {
        start.cuts.push_back(at), start.parallelConfigs.push_back(cells[s][at].parallelConfig);
        at = cells[s][at].next;
      }
      start.cuts.push_back(count);
      if (seen.emplace(start.cuts, start.parallelConfigs).second && evaluateStart(start) &&
          (!found || start.metrics.value < found->metrics.value))
        found = std::move(start);
    }
    if (found)
      starts_.push_back(std::move(*found));
  }

  bool holds(size_t some, size_t stages, uint32_t at) const {
    return lattice_.mayHold(some, line_[at]) && lattice_.isUniformPrefix(some, stages, line_[at]);
  }

  /// False where it is no plan.
  bool evaluateStart(Start &start) {
    if (judged_ >= kMaxEvaluated)
      return false;
    int64_t p = start.parallelConfigs.size();
    const std::vector<InFlightStates> &held = recomputeSolver_.held({start.schedule, p, 1, m_});
    Placement plan;
    plan.schedule = start.schedule;
    plan.microbatches = m_;
    for (size_t s = 0; s < start.parallelConfigs.size(); ++s) {
      Id parallelConfig = start.parallelConfigs[s];
      Part part{line_[start.cuts[s]], line_[start.cuts[s + 1]]};
      if (lattice_.between(parallelConfig, part.from, part.to).cannot)
        return false;
      auto options =
          recomputeSolver_.options(parallelConfig, {part}, held[s], problem_.deviceTypeOf(parallelConfig).memory,
                                   RecomputeSolver::Which::MinTime);
      if (options.list.empty())
        return false;
      plan.stages.push_back(
          {lattice_.layersBetween(part.from, part.to), parallelConfig, options.list.front().recomputeChoices.front()});
    }
    if (!findViolations(problem_, plan).empty())
      return false;
    ++judged_;
    start.metrics = evaluate(problem_, plan);
    if (!isFeasible(problem_, plan, start.metrics, 0))
      return false;
    if (start.metrics.value < best_.value)
      best_.take(plan, start.metrics);
    return true;
  }

  void improve(Start at) {
    for (bool better = true; better && judged_ < kMaxEvaluated;) {
      better = false;
      std::optional<Start> next;
      auto consider = [&](Start &&other) {
        if (evaluateStart(other) && other.metrics.value < (next ? next->metrics.value : at.metrics.value))
          next = std::move(other);
      };
      for (size_t s = 0; s < at.parallelConfigs.size(); ++s)
        for (Id parallelConfig = 0; parallelConfig < problem_.parallelConfigs.size(); ++parallelConfig)
          if (parallelConfig != at.parallelConfigs[s]) {
            Start other = at;
            other.parallelConfigs[s] = parallelConfig;
            consider(std::move(other));
          }
      for (size_t s = 1; s < at.parallelConfigs.size(); ++s)
        for (bool more : {false, true}) {
          Start other = at;
          other.cuts[s] += more ? 1 : -1;
          if (other.cuts[s] > other.cuts[s - 1] && other.cuts[s] < other.cuts[s + 1] &&
              holds(s, at.parallelConfigs.size(), other.cuts[s]))
            consider(std::move(other));
        }
      if (next)
        at = std::move(*next), better = true;
    }
  }

  const PlacementProblem &problem_;
  DownSetLattice lattice_;
  RecomputeSolver recomputeSolver_;
  std::vector<uint32_t> line_; ///< nodes, each a layer more than the one before it
  int64_t m_ = 1;
  std::map<std::tuple<int64_t, uint32_t, uint32_t>, std::vector<Way>> ways_;
  std::vector<Start> starts_;
  SearchState best_;
  size_t judged_ = 0;
};

} // namespace

PlacementResult placeStages(const PlacementProblem &problem, double below) {
  if (problem.parallelConfigs.empty() || problem.layers.empty())
    return {};
  return StagePlans(problem, below).run();
}

} // namespace accord
