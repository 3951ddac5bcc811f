#include "lib/placement/solve/PlaceStages.h"
#include "lib/placement/solve/PlaceConfigurations.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
using namespace placing;

double leastByCuts(const PlacementProblem &problem, double below) {
  Space space(problem, MostSets);
  Configurations all(space);
  Keeps keeps(space);
  double least = all.complete ? all.left : 0;
  auto later = [](const Configuration &a, const Configuration &b) { return a.bound > b.bound; };
  std::vector<Configuration> heap = std::move(all.list);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Configuration one = std::move(heap.back());
    heap.pop_back();
    if (one.bound >= std::min(least, below)) {
      least = std::min(least, one.bound);
      break;
    }
    if (one.fewest < one.most) {
      Configuration low = one, high = one;
      low.most = one.fewest + (one.most - one.fewest) / 2;
      high.fewest = low.most + 1;
      for (Configuration *half : {&low, &high}) {
        half->bound = std::max(one.bound, all.boundOf(*half));
        heap.push_back(std::move(*half));
        std::push_heap(heap.begin(), heap.end(), later);
      }
      continue;
    }
    Answer answer; // of its own: what is judged on the way says nothing here
    answer.value = std::min(least, below);
    answer.budget = int64_t{1} << 40;
    Shape shape(space, keeps, one, answer);
    double bound = std::max(one.bound, shape.capacityBound());
    if (bound < std::min(least, below))
      bound = std::max(bound, shape.table());
    least = std::min(least, bound);
  }
  return least;
}

namespace {

constexpr size_t MostJudged = 6'000;
constexpr int Bottlenecks = 128;

class StagePlans {
public:
  StagePlans(const PlacementProblem &problem, double below)
      : problem_(problem), space_(problem, MostSets), keeps_(space_) {
    best_.value = below;
    line_.push_back(0);
    while (line_.back() != space_.last())
      line_.push_back(space_.above(line_.back()).empty() ? line_.back() + 1
                                                         : space_.above(line_.back()).front());
  }

  PlacementResult run() {
    const PlacementProblem::Form &form = problem_.forms.front();
    int64_t samples = form.data * form.microbatch, devices = 0;
    for (const PlacementProblem::Kind &kind : problem_.kinds)
      devices = std::max(devices, kind.devices);
    if (problem_.limits.devices > 0)
      devices = std::min(devices, problem_.limits.devices);
    m_ = problem_.batch / samples;
    auto layers = static_cast<int64_t>(problem_.layers.size());
    for (PipelineSchedule schedule : problem_.schedules)
      for (int64_t p = 1; p <= std::min(layers, devices / form.devices()); ++p)
        if (schedule != PipelineSchedule::Interleaved && problem_.mayHaveGroups(p) &&
            problem_.mayHaveStages(p) && p <= MostPasses / m_)
          groups(schedule, p);
    for (Start &start : starts_)
      if (start.worth.value < best_.worth.value * 1.05)
        improve(std::move(start));
    PlacementResult result;
    result.plan = best_.plan;
    result.worth = best_.worth;
    result.value = best_.plan ? best_.value : 0;
    result.examined = judged_;
    return result;
  }

private:
  struct Way {
    int64_t time = 0;
    double cost = 0;
    Id form = 0;
  };
  struct Start {
    std::vector<uint32_t> cuts; ///< positions on the line, by stage: where it begins; then the end
    std::vector<Id> forms;
    PipelineSchedule schedule = PipelineSchedule::OneFOneB;
    PlacementWorth worth;
  };
  struct Best {
    double value = INFINITY;
    std::optional<Placement> plan;
    PlacementWorth worth;
  };

  double costOf(Id form) const {
    return problem_.objective == PlacementObjective::TdpTime
               ? problem_.kinds[problem_.forms[form].kind].tdpWatts
               : 0;
  }

  /// Forms for a stage of these layers, from the fastest on, each cheaper than those before it.
  const std::vector<Way> &ways(int64_t inFlight, uint32_t from, uint32_t to) {
    auto [at, isNew] = ways_.try_emplace({inFlight, from, to});
    if (!isNew)
      return at->second;
    std::vector<Way> all;
    for (Id form = 0; form < problem_.forms.size(); ++form) {
      Sums sums = space_.between(form, line_[from], line_[to]);
      if (sums.cannot)
        continue;
      auto again = keeps_.leastAgain(form, line_[from], line_[to], inFlight,
                                     problem_.kinds[problem_.forms[form].kind].memory);
      if (again)
        all.push_back({sums.time() - sums.again + *again, costOf(form), form});
    }
    std::sort(all.begin(), all.end(), [](const Way &a, const Way &b) {
      return std::tie(a.time, a.cost, a.form) < std::tie(b.time, b.cost, b.form);
    });
    for (const Way &way : all)
      if (at->second.empty() || way.cost < at->second.back().cost)
        at->second.push_back(way);
    return at->second;
  }

  void groups(PipelineSchedule schedule, int64_t p) {
    auto count = static_cast<uint32_t>(line_.size() - 1);
    auto stages = static_cast<size_t>(p);
    std::vector<int64_t> inFlight = inFlightOf({schedule, p, 1, m_});
    double total = 0, longest = 0, slowest = 0;
    for (const PlacementProblem::Layer &layer : problem_.layers) {
      double least = INFINITY, most = 0;
      for (Id form = 0; form < problem_.forms.size(); ++form)
        if (const auto &cost = problem_.classes[layer.of].costs[form]) {
          auto time = static_cast<double>(cost->forward + cost->backward + cost->weight);
          least = std::min(least, time), most = std::max(most, time);
        }
      total += least, longest = std::max(longest, least), slowest += most;
    }
    if (!std::isfinite(total))
      return;
    double low = std::max(total / static_cast<double>(p), longest);
    if (problem_.objective == PlacementObjective::StepTime &&
        low * static_cast<double>(m_) >= best_.value)
      return;
    // From even stages of the fastest forms to uneven ones of the slowest, if they are cheaper.
    double range = 2.5;
    if (problem_.objective == PlacementObjective::TdpTime && total > 0)
      range *= slowest / total;
    std::set<std::pair<std::vector<uint32_t>, std::vector<Id>>> seen;
    std::optional<Start> found;
    for (int i = 0; i <= Bottlenecks; ++i) {
      auto limit =
          static_cast<int64_t>(low * std::pow(range, static_cast<double>(i) / Bottlenecks)) + 1;
      struct Cell {
        double cost = INFINITY, time = INFINITY;
        uint32_t next = 0;
        Id form = 0;
      };
      std::vector<std::vector<Cell>> cells(stages + 1, std::vector<Cell>(count + 1));
      cells[stages][count] = {0, 0, 0, 0};
      for (size_t s = stages; s-- > 0;)
        for (auto from = static_cast<uint32_t>(s); from + (stages - s) <= count; ++from) {
          if (s == 0 && from > 0)
            break;
          Cell &cell = cells[s][from];
          for (uint32_t to = from + 1; to + (stages - s - 1) <= count; ++to) {
            const std::vector<Way> &all = ways(inFlight[s], from, to);
            const Way *chosen = nullptr;
            for (const Way &way : all) // the cheapest that is not too slow
              if (way.time <= limit)
                chosen = &way;
            if (!chosen)
              break;
            const Cell &behind = cells[s + 1][to];
            if (std::isinf(behind.time) || !holds(s + 1, stages, to))
              continue;
            double cost = behind.cost + chosen->cost,
                   time = behind.time + static_cast<double>(chosen->time);
            if (std::pair(cost, time) < std::pair(cell.cost, cell.time))
              cell = {cost, time, to, chosen->form};
          }
        }
      if (std::isinf(cells[0][0].time))
        continue;
      Start start;
      start.schedule = schedule;
      uint32_t at = 0;
      for (size_t s = 0; s < stages; ++s) {
        start.cuts.push_back(at), start.forms.push_back(cells[s][at].form);
        at = cells[s][at].next;
      }
      start.cuts.push_back(count);
      if (seen.emplace(start.cuts, start.forms).second && judgeOf(start) &&
          (!found || start.worth.value < found->worth.value))
        found = std::move(start);
    }
    if (found)
      starts_.push_back(std::move(*found));
  }

  bool holds(size_t some, size_t stages, uint32_t at) const {
    return space_.mayHold(static_cast<int64_t>(some), line_[at]) &&
           space_.evenlyHeld(static_cast<int64_t>(some), static_cast<int64_t>(stages), line_[at]);
  }

  /// False where it is no plan.
  bool judgeOf(Start &start) {
    if (judged_ >= MostJudged)
      return false;
    auto p = static_cast<int64_t>(start.forms.size());
    const std::vector<Held> &held = keeps_.held({start.schedule, p, 1, m_});
    Placement plan;
    plan.schedule = start.schedule;
    plan.microbatches = m_;
    for (size_t s = 0; s < start.forms.size(); ++s) {
      Id form = start.forms[s];
      Part part{line_[start.cuts[s]], line_[start.cuts[s + 1]]};
      if (space_.between(form, part.from, part.to).cannot)
        return false;
      auto options =
          keeps_.options(form, {part}, held[s], problem_.kinds[problem_.forms[form].kind].memory,
                         Keeps::Which::Least);
      if (options.list.empty())
        return false;
      plan.stages.push_back(
          {space_.layersBetween(part.from, part.to), form, options.list.front().keeps.front()});
    }
    if (!faults(problem_, plan).empty())
      return false;
    ++judged_;
    start.worth = judge(problem_, plan);
    if (!start.worth.fits || !meets(problem_, start.worth))
      return false;
    if (start.worth.value < best_.value) {
      best_.value = start.worth.value;
      best_.worth = start.worth;
      best_.plan = std::move(plan);
    }
    return true;
  }

  void improve(Start at) {
    for (bool better = true; better && judged_ < MostJudged;) {
      better = false;
      std::optional<Start> next;
      auto consider = [&](Start &&other) {
        if (judgeOf(other) && other.worth.value < (next ? next->worth.value : at.worth.value))
          next = std::move(other);
      };
      for (size_t s = 0; s < at.forms.size(); ++s)
        for (Id form = 0; form < problem_.forms.size(); ++form)
          if (form != at.forms[s]) {
            Start other = at;
            other.forms[s] = form;
            consider(std::move(other));
          }
      for (size_t s = 1; s < at.forms.size(); ++s)
        for (bool more : {false, true}) {
          Start other = at;
          other.cuts[s] += more ? 1 : -1;
          if (other.cuts[s] > other.cuts[s - 1] && other.cuts[s] < other.cuts[s + 1] &&
              holds(s, at.forms.size(), other.cuts[s]))
            consider(std::move(other));
        }
      if (next)
        at = std::move(*next), better = true;
    }
  }

  const PlacementProblem &problem_;
  Space space_;
  Keeps keeps_;
  std::vector<uint32_t> line_; ///< nodes, each a layer more than the one before it
  int64_t m_ = 1;
  std::map<std::tuple<int64_t, uint32_t, uint32_t>, std::vector<Way>> ways_;
  std::vector<Start> starts_;
  Best best_;
  size_t judged_ = 0;
};

} // namespace

PlacementResult placeStages(const PlacementProblem &problem, double below) {
  if (problem.forms.empty() || problem.layers.empty())
    return {};
  return StagePlans(problem, below).run();
}

} // namespace accord
