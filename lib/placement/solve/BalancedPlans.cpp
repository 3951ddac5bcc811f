// What the game of even stages is played with.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>

namespace accord::placing {

/// Nothing where a layer cannot run in the form.
std::optional<BalancedPlans> ConfigurationSearch::balancedPlans(const Middle &middle) const {
  Id parallelConfig = configuration_.parallelConfigs[0];
  const PlacementProblem::ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
  auto all = static_cast<int64_t>(problem_.layers.size()), min = all / stages_;
  BalancedPlans plans;
  plans.shape = {configuration_.schedule, groups_, configuration_.virtualStages, microbatches_};
  plans.more = all % stages_;
  plans.memory = problem_.deviceTypes[one.deviceType].memory;
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
  auto crossing = [&](int64_t stage) { // into a stage, wherever it begins
    int64_t low = stage * min, high = std::min(all, low + std::min(stage, plans.more)), bytes = INT64_MAX;
    for (int64_t node = low; node <= high; ++node)
      bytes = std::min(bytes, lattice_.crossing(static_cast<uint32_t>(node)));
    return bytes;
  };
  if (lattice_.all(parallelConfig).cannot)
    return std::nullopt;
  plans.middle = classOf(middle.first);
  std::vector<StageWork> works(groups_);
  for (int64_t s = 0; s < stages_; ++s) {
    // Somewhere: all its places have layers of the same classes.
    int64_t from = s == 0 ? 0
                   : s + 1 == stages_
                       ? all - min
                       : std::clamp(s * min, middle.first, std::max(middle.first, all - middle.last - min));
    Sums sums = lattice_.between(parallelConfig, static_cast<uint32_t>(from), static_cast<uint32_t>(from + min));
    auto extra = static_cast<uint32_t>(middle.first);
    Sums layer = lattice_.between(parallelConfig, extra, extra + 1);
    auto gather = [&](int64_t weights) { return one.gather.empty() ? 0 : minTime(one.gather, weights); };
    int64_t in = s > 0 ? minTransfer(parallelConfig, crossing(s), s - 1) : 0;
    int64_t out = s + 1 < stages_ ? minTransfer(parallelConfig, crossing(s + 1), s) : 0;
    bool blocks = problem_.blockingTransfers;
    int64_t gathers = gather(sums.weights), longer = gather(sums.weights + layer.weights) - gathers;
    BalancedPlans::Stage stage;
    stage.forward = sums.forward + problem_.hostOverheadPerMicrobatch + gathers + (blocks ? in : 0);
    stage.backward = sums.backward + sums.weight + gathers + (blocks ? out : 0);
    stage.moreForward = layer.forward + longer;
    stage.moreBackward = layer.backward + layer.weight + longer;
    plans.send.push_back(blocks ? 0 : static_cast<double>(out));
    for (int64_t i = from; i < from + min; ++i) {
      size_t of = classOf(i);
      auto found =
          std::find_if(stage.classes.begin(), stage.classes.end(), [&](const auto &each) { return each.first == of; });
      if (found == stage.classes.end())
        stage.classes.push_back({of, 1});
      else
        found->second += 1;
    }
    plans.stages.push_back(std::move(stage));
    StageWork &work = works[s % groups_];
    work.backward += sums.backward, work.weight += sums.weight;
    work.update += sums.update, work.gradients += sums.gradients;
    work.expertGradients += sums.expertGradients;
  }
  Sums layer =
      lattice_.between(parallelConfig, static_cast<uint32_t>(middle.first), static_cast<uint32_t>(middle.first) + 1);
  int64_t replicasPerNode = countReplicasPerNode(problem_, parallelConfig, groups_);
  for (size_t g = 0; g < works.size(); ++g) {
    BalancedPlans::Group group{held_[g], {}, {}, {}};
    int64_t tied = 0; // the ends of the chain are in different groups
    if (g == 0)
      tied = minTies(parallelConfig, 0, 1);
    else if (g + 1 == works.size())
      tied = minTies(parallelConfig, lattice_.last() - 1, lattice_.last());
    for (int64_t n = 0; n <= std::min(plans.more, configuration_.virtualStages); ++n) {
      StageWork work;
      work.gradients = works[g].gradients + n * layer.gradients;
      work.expertGradients = works[g].expertGradients + n * layer.expertGradients;
      group.exchange.push_back(gradientSyncTime(problem_, parallelConfig, work, replicasPerNode));
      group.overlapTime.push_back(works[g].backward + works[g].weight + n * (layer.backward + layer.weight));
      group.update.push_back(works[g].update + n * layer.update + tied);
    }
    plans.groups.push_back(std::move(group));
  }
  return plans;
}

} // namespace accord::placing
