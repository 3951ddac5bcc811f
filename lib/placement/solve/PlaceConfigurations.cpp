#include "lib/placement/solve/PlaceConfigurations.h"
#include "lib/placement/solve/Place.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::placing {

Configurations::Configurations(const Space &space)
    : space_(space), problem_(space.problem), counts_(problem_.classes.size()) {
  for (const PlacementProblem::Layer &layer : problem_.layers)
    ++counts_[layer.of];
  listTogether();
  for (uint32_t node = 1; node < space.last(); ++node)
    crossing_ = node == 1 ? space.crossing(node) : std::min(crossing_, space.crossing(node));
  std::map<int64_t, std::vector<Id>> bySamples;
  for (Id form = 0; form < problem_.forms.size(); ++form) {
    rates_.push_back(ratesOf(problem_, form));
    const PlacementProblem::Form &one = problem_.forms[form];
    if (one.data > 0 && one.microbatch > 0 && one.data <= problem_.batch / one.microbatch &&
        problem_.batch % (one.data * one.microbatch) == 0 &&
        one.devices() <= problem_.kinds[one.kind].devices)
      bySamples[one.data * one.microbatch].push_back(form);
  }
  for (const auto &[samples, with] : bySamples)
    forms(samples, with);
}

void Configurations::listTogether() {
  std::map<std::pair<int64_t, Id>, std::vector<Id>> sets; // by stage, or by pin
  for (Id layer = 0; layer < problem_.layers.size(); ++layer)
    for (Id id : problem_.layers[layer].pins) {
      const PlacementProblem::Pin &pin = problem_.pins[id];
      if (pin.stage)
        sets[{*pin.stage, 0}].push_back(layer);
      if (pin.together)
        sets[{-1, id}].push_back(layer);
    }
  for (auto &[key, layers] : sets) {
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    if (space_.linear) { // what is between them, too
      Id first = layers.front(), last = layers.back();
      layers.clear();
      for (Id layer = first; layer <= last; ++layer)
        layers.push_back(layer);
    }
    holds_.emplace_back();
    for (Id form = 0; form < problem_.forms.size(); ++form)
      holds_.back().push_back(fits(layers, form));
  }
}

/// With one micro-batch in flight, and as little kept as can be.
bool Configurations::fits(const std::vector<Id> &layers, Id form) const {
  const PlacementProblem::Kind &kind = problem_.kinds[problem_.forms[form].kind];
  int64_t bytes = 0, working = 0;
  for (Id layer : layers) {
    const auto &cost = problem_.cost(layer, form);
    if (!cost || cost->keeps.empty() || !mayRunOn(problem_, layer, problem_.forms[form].kind))
      return false;
    int64_t kept = INT64_MAX, room = INT64_MAX;
    for (const PlacementProblem::Keep &keep : cost->keeps)
      kept = std::min(kept, keep.kept), room = std::min(room, keep.working);
    bytes += cost->resident + kept, working = std::max(working, room);
  }
  return bytes + working <= kind.memory;
}

/// Which forms groups may have together: one of each kind, or any.
void Configurations::forms(int64_t samples, const std::vector<Id> &with) {
  int64_t microbatches = problem_.batch / samples;
  auto alone = [&](Id form) { // has to be the form of all groups
    return problem_.forms[form].order == PlacementProblem::RankOrder::TensorPipelineData;
  };
  if (!problem_.sameForm) {
    std::vector<Id> mixed;
    for (Id form : with)
      if (alone(form))
        add(microbatches, {form}, true);
      else
        mixed.push_back(form);
    if (!mixed.empty())
      add(microbatches, mixed, false);
    return;
  }
  std::vector<std::vector<Id>> byKind(problem_.kinds.size());
  for (Id form : with)
    byKind[problem_.forms[form].kind].push_back(form);
  std::vector<Id> chosen;
  size_t tried = 0;
  std::function<void(size_t)> choose = [&](size_t kind) {
    if (++tried > 400'000) {
      complete = false;
      return;
    }
    if (kind == byKind.size()) {
      if (!chosen.empty())
        add(microbatches, chosen, true);
      return;
    }
    choose(kind + 1);
    for (Id form : byKind[kind]) {
      if (!chosen.empty() && (alone(form) || alone(chosen.front())))
        continue;
      chosen.push_back(form);
      choose(kind + 1);
      chosen.pop_back();
    }
  };
  choose(0);
}

void Configurations::add(int64_t microbatches, const std::vector<Id> &forms, bool each) {
  auto layers = static_cast<int64_t>(problem_.layers.size());
  // Groups: each takes the devices of the smallest form of its kind at least.
  int64_t most = 0, fewestDevices = INT64_MAX;
  for (size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
    int64_t smallest = 0;
    for (Id form : forms)
      if (problem_.forms[form].kind == kind)
        smallest = smallest ? std::min(smallest, problem_.forms[form].devices())
                            : problem_.forms[form].devices();
    if (smallest)
      most += problem_.kinds[kind].devices / smallest,
          fewestDevices = std::min(fewestDevices, smallest);
  }
  if (problem_.limits.devices > 0)
    most = std::min(most, problem_.limits.devices / fewestDevices);
  int64_t fewest = each ? static_cast<int64_t>(forms.size()) : 1;
  auto within = [&](PipelineSchedule schedule, int64_t chunks, int64_t from, int64_t to) {
    int64_t most = MostPasses / chunks / microbatches;
    if (to > most) {
      Configuration beyond{
          schedule, microbatches, chunks, std::max(from, most + 1), to, forms, each, 0, 0};
      if (beyond.fewest <= to)
        left = std::min(left, boundOf(beyond));
      to = most;
    }
    if (from > to)
      return;
    Configuration one{schedule, microbatches, chunks, from, to, forms, each, 0, 0};
    one.bound = boundOf(one);
    if (!std::isinf(one.bound))
      list.push_back(std::move(one));
  };
  std::function<void(PipelineSchedule, int64_t, int64_t, int64_t)> put =
      [&](PipelineSchedule schedule, int64_t chunks, int64_t from, int64_t to) {
        if (problem_.evenly && from < to) { // each number for itself
          for (; from <= to; ++from)
            put(schedule, chunks, from, from);
          return;
        }
        if (!problem_.mayHaveStages(from * chunks))
          return;
        if (problem_.groups.empty())
          within(schedule, chunks, from, to);
        for (const PlacementProblem::GroupRange &range : problem_.groups)
          within(schedule, chunks, std::max(from, range.fewest), std::min(to, range.most));
      };
  auto schedules = problem_.schedules;
  std::sort(schedules.begin(), schedules.end());
  schedules.erase(std::unique(schedules.begin(), schedules.end()), schedules.end());
  auto chunks = problem_.chunks;
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  for (PipelineSchedule schedule : schedules) {
    if (schedule != PipelineSchedule::Interleaved) {
      put(schedule, 1, fewest, std::min(most, layers));
      continue;
    }
    for (int64_t v : chunks)
      if (v >= 2)
        for (int64_t p = std::max<int64_t>(fewest, 2);
             p <= std::min({most, layers / v, microbatches}); ++p)
          if (microbatches % p == 0)
            put(schedule, v, p, p);
  }
}

/// Time of one micro-batch if all devices shared the work evenly: each layer takes time * devices
/// of its form from the devices of its kind. For any weights of the kinds, the weighted sum over
/// the layers, each in its least form, is at most time * the weighted sum of the devices; a kind's
/// weight is one over what it would take for all layers.
double Configurations::deviceTime(const Configuration &configuration) const {
  size_t kinds = problem_.kinds.size();
  std::vector<std::vector<double>> least(counts_.size(), std::vector<double>(kinds, INFINITY));
  std::vector<double> all(kinds), devices(kinds), shares(kinds, 1);
  for (Id form : configuration.forms) {
    const PlacementProblem::Form &one = problem_.forms[form];
    auto n = static_cast<double>(one.devices());
    // Of one form, no more than the groups take.
    auto use = static_cast<double>(problem_.kinds[one.kind].devices);
    if (configuration.each)
      use = n * std::min(std::floor(use / n), static_cast<double>(configuration.most));
    devices[one.kind] = std::max(devices[one.kind], use);
    for (Id of = 0; of < counts_.size(); ++of)
      if (const auto &cost = problem_.classes[of].costs[form]; cost && !cost->keeps.empty()) {
        int64_t again = INT64_MAX;
        for (const PlacementProblem::Keep &keep : cost->keeps)
          again = std::min(again, keep.again);
        double time =
            n * static_cast<double>(cost->forward + cost->backward + cost->weight + again);
        least[of][one.kind] = std::min(least[of][one.kind], time);
      }
  }
  double most = 0, total = 0, work = 0;
  for (size_t kind = 0; kind < kinds; ++kind) {
    if (devices[kind] <= 0)
      continue;
    for (Id of = 0; of < counts_.size(); ++of)
      if (counts_[of] > 0 && !std::isinf(least[of][kind]))
        all[kind] += static_cast<double>(counts_[of]) * least[of][kind];
    if (all[kind] > 0)
      shares[kind] = 1 / all[kind];
    most = std::max(most, shares[kind]);
    total += shares[kind] * devices[kind];
  }
  if (problem_.limits.devices > 0)
    total = std::min(total, most * static_cast<double>(problem_.limits.devices));
  for (Id of = 0; of < counts_.size(); ++of) {
    double best = INFINITY;
    for (size_t kind = 0; kind < kinds; ++kind)
      if (devices[kind] > 0)
        best = std::min(best, shares[kind] * least[of][kind]);
    if (counts_[of] > 0)
      work += static_cast<double>(counts_[of]) * best;
  }
  return total > 0 ? work / total : 0;
}

/// Stages wait for each other's tensors on the best link between two of them, each gathers its
/// weights, and each exchanges its gradients. Times of a sum of bytes are no more than the sum of
/// the times. With what is hidden behind the last backward pass left out, m passes and what is
/// exposed are no less for any longer passes, for m >= 1 >= hidden.
Configurations::Outside Configurations::outsideOf(const Configuration &configuration) const {
  Outside outside;
  if (configuration.forms.size() != 1)
    return outside;
  Id id = configuration.forms.front();
  const PlacementProblem::Form &form = problem_.forms[id];
  const PlacementProblem::Link &link =
      problem_.links[form.kind * problem_.kinds.size() + form.kind];
  int64_t stages = configuration.fewest * configuration.chunks;
  if (problem_.blockingTransfers && configuration.fewest > 1 && crossing_ > 0) {
    double bytes = static_cast<double>(crossing_) *
                   static_cast<double>(form.data * form.microbatch) /
                   static_cast<double>(form.devices());
    int64_t takes = timeOf({link.across}, bytes);
    bool apart = form.order == PlacementProblem::RankOrder::TensorDataPipeline &&
                 2 * form.devices() > problem_.kinds[form.kind].perServer;
    if (!apart)
      takes = std::min(takes, timeOf({link.inside}, bytes));
    outside.passes += 2 * static_cast<double>(stages - 1) * static_cast<double>(takes);
  }
  double weights = 0, gradients = 0, behind = 0, update = 0;
  for (Id of = 0; of < counts_.size(); ++of)
    if (const auto &cost = problem_.classes[of].costs[id]; cost && counts_[of] > 0) {
      auto n = static_cast<double>(counts_[of]);
      weights += n * static_cast<double>(cost->weights);
      gradients += n * static_cast<double>(cost->gradients);
      update += n * static_cast<double>(cost->update);
      int64_t again = INT64_MAX;
      for (const PlacementProblem::Keep &keep : cost->keeps)
        again = std::min(again, keep.again);
      behind += n * static_cast<double>(cost->backward + cost->weight + again);
    }
  outside.passes += 2 * static_cast<double>(timeOf(form.gather, weights));
  double exchange = INFINITY;
  for (const PlacementProblem::Sync &sync : form.syncs)
    exchange = std::min(exchange, static_cast<double>(timeOf(sync.ways, gradients)));
  if (form.syncs.empty())
    exchange = 0;
  exchange = std::max(0.0, exchange - 1); // rounded up
  outside.exposed = update + std::max({0.0, exchange - problem_.hidden * behind,
                                       exchange * (1 - std::min(1.0, problem_.hides))});
  return outside;
}

double Configurations::boundOf(const Configuration &configuration) const {
  for (const std::vector<char> &holds : holds_)
    if (std::none_of(configuration.forms.begin(), configuration.forms.end(),
                     [&](Id form) { return holds[form] != 0; }))
      return INFINITY;
  // The least of each layer in any of the forms.
  double total = 0, most = 0, joules = 0, resident = 0, ratio = 1, memory = 0;
  for (Id form : configuration.forms)
    memory =
        std::max(memory, static_cast<double>(problem_.kinds[problem_.forms[form].kind].memory));
  bool split = configuration.schedule == PipelineSchedule::ZeroBubble;
  for (Id of = 0; of < counts_.size(); ++of) {
    if (counts_[of] == 0)
      continue;
    double time = INFINITY, energy = INFINITY, bytes = INFINITY;
    for (Id form : configuration.forms) {
      const auto &cost = problem_.classes[of].costs[form];
      if (!cost || cost->keeps.empty())
        continue;
      int64_t again = INT64_MAX, working = INT64_MAX;
      for (const PlacementProblem::Keep &keep : cost->keeps)
        again = std::min(again, keep.again), working = std::min(working, keep.kept + keep.working);
      auto all = static_cast<double>(cost->forward + cost->backward + cost->weight + again);
      time = std::min(time, all);
      energy = std::min(energy, cost->joules);
      bytes = std::min(bytes, static_cast<double>(cost->resident));
      if (all > 0) // of ZeroBubble the weight gradients may end beside later groups' passes
        ratio = std::min(ratio, split ? static_cast<double>(cost->forward) / all : 1);
      if (cost->resident + working > problem_.kinds[problem_.forms[form].kind].memory &&
          configuration.forms.size() == 1)
        return INFINITY;
    }
    if (std::isinf(time))
      return INFINITY;
    auto n = static_cast<double>(counts_[of]);
    total += n * time, joules += n * energy, resident += n * bytes;
    most = std::max(most, time);
  }
  auto fewest = configuration.fewest, groups = configuration.most;
  if (resident > static_cast<double>(groups) * memory)
    return INFINITY;
  auto m = static_cast<double>(configuration.microbatches), p = static_cast<double>(groups);
  Outside outside = outsideOf(configuration);
  total += outside.passes;
  total += static_cast<double>(fewest * configuration.chunks * problem_.perMicrobatch);
  // Where each stage waits for the one before: a step takes m w_s + rho * sum of the w before s,
  // for each s, where rho is the share of a stage's work that is on that way. Its least over all
  // shares w of the total makes all of these equal: total * rho / (1 - (1 - rho / m)^p).
  double factor = m / p;
  if (space_.chain && configuration.chunks == 1 && ratio > 1e-9)
    factor = std::max(factor, ratio / (1 - std::pow(1 - ratio / m, p)));
  // See `Span` for where even stages are known to be best.
  if (space_.chain && (configuration.schedule == PipelineSchedule::GPipe ||
                       (configuration.schedule == PipelineSchedule::OneFOneB && m > p)))
    factor = std::max(factor, (m + p - 1) / p);
  double step =
      std::max({total * factor, (total * m + outside.exposed) / p, m * deviceTime(configuration),
                m * (most + static_cast<double>(configuration.chunks * problem_.perMicrobatch))});
  Rates rates, smallest = rates_[configuration.forms[0]];
  for (Id form : configuration.forms)
    smallest = least(smallest, rates_[form]);
  int64_t left = fewest;
  if (configuration.each)
    for (Id form : configuration.forms)
      rates += rates_[form], --left;
  left = std::max<int64_t>(left, 0);
  auto n = static_cast<double>(left);
  rates += {n * smallest.watts, n * smallest.price, n * smallest.tdp, left * smallest.devices};
  return valueOf(problem_, step * (1 - 1e-12) + static_cast<double>(problem_.perStep), rates,
                 joules, space_.mostTdpTime);
}

double Configurations::leastOf(Configuration one, double until) const {
  auto later = [](const Configuration &a, const Configuration &b) { return a.bound > b.bound; };
  std::vector<Configuration> heap{std::move(one)};
  for (;;) {
    Configuration first = std::move(heap.front());
    if (first.fewest == first.most || first.bound >= until)
      return first.bound;
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    Configuration low = first, high = first;
    low.most = first.fewest + (first.most - first.fewest) / 2;
    high.fewest = low.most + 1;
    for (Configuration *half : {&low, &high}) {
      half->bound = std::max(first.bound, boundOf(*half));
      heap.push_back(std::move(*half));
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
}

} // namespace accord::placing

namespace accord {

double leastValue(const PlacementProblem &problem) {
  placing::Space space(problem, placing::MostSets);
  placing::Configurations all(space);
  double least = all.complete ? all.left : 0;
  std::sort(all.list.begin(), all.list.end(),
            [](const auto &a, const auto &b) { return a.bound < b.bound; });
  for (const placing::Configuration &one : all.list) {
    if (one.bound >= least)
      break;
    least = std::min(least, all.leastOf(one, least));
  }
  return least;
}

std::vector<double> leastByForm(const PlacementProblem &problem) {
  placing::Space space(problem, placing::MostSets);
  placing::Configurations all(space);
  std::vector<double> least(problem.forms.size(), all.complete ? all.left : 0);
  for (const placing::Configuration &one : all.list) {
    double until = 0;
    for (PlacementProblem::Id form : one.forms)
      until = std::max(until, least[form]);
    double bound = one.bound < until ? all.leastOf(one, until) : until;
    for (PlacementProblem::Id form : one.forms)
      least[form] = std::min(least[form], bound);
  }
  return least;
}

} // namespace accord
