#include "lib/driver/certificates/LayerCosts.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/placement/builder/ParallelConfigCosts.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace accord {
namespace {

using Problem = PlacementProblem;

/// As its schedule has it: what exchanges on the network holds its links.
std::optional<Schedule> scheduled(const WorkGraph &graph, const Machine &machine, Costs &costs) {
  WorkGraph exchanging = graph;
  for (Operation &op : exchanging.operations)
    if (op.core == CoreKind::None && op.givenSeconds) {
      op.core = CoreKind::Network;
      op.givenSeconds.reset();
    }
  ScheduleOptions brief;
  brief.effort = 0;
  auto made = scheduleStep(exchanging, machine, costs, brief);
  auto *schedule = made.get();
  return schedule ? std::optional(std::move(*schedule)) : std::nullopt;
}

class LayerCostVerifier {
public:
  LayerCostVerifier(const CertificateCluster &cluster, const Machine &machine,
                    std::function<std::optional<Costs>(size_t step)> prices, PriceCache &structures)
      : cluster_(cluster), machine_(machine), prices_(std::move(prices)), structures_(structures),
        uses_(cluster.steps.size()) {}

  std::string differs(const Problem &stated) {
    EstimateOptions options;
    options.prices = &structures_;
    auto priced = estimate(cluster_.structure, machine_, options);
    auto *costs = priced.get();
    auto schedule = costs ? scheduled(cluster_.structure, machine_, *costs) : std::nullopt;
    if (!schedule)
      return "the step of one device has no price";
    layering_ = Layering::of(cluster_.structure, *schedule);
    if (std::string other = layers(stated); !other.empty())
      return other;
    for (size_t f = 0; f < stated.parallelConfigs.size(); ++f)
      if (std::string other = costsOf(stated, f); !other.empty())
        return fmt::format("tensor {}, data {}, micro-batch {}: {}", stated.parallelConfigs[f].tensor,
                           stated.parallelConfigs[f].data, stated.parallelConfigs[f].microbatch, other);
    return "";
  }

private:
  std::string layers(const Problem &stated) const {
    std::vector<Problem::Id> of;
    bool same = stated.classes.size() == layering_.classes.size();
    for (uint32_t c = 0; same && c < layering_.classes.size(); ++c) {
      same = stated.classes[c].name == layering_.classes[c].name;
      of.insert(of.end(), size_t(layering_.classes[c].count), c);
    }
    same = same && std::equal(of.begin(), of.end(), stated.layers.begin(), stated.layers.end(),
                              [](auto cls, const auto &layer) { return layer.of == cls; });
    if (!same)
      return fmt::format("{} layers in {} classes, by its schedule the step has {} in {}", stated.layers.size(),
                         stated.classes.size(), layering_.layers(), layering_.classes.size());
    if (!std::equal(
            stated.edges.begin(), stated.edges.end(), layering_.edges.begin(), layering_.edges.end(),
            [](const auto &a, const auto &b) { return a.from == b.from && a.to == b.to && a.bytes == b.bytes; }))
      return "other tensors go from layer to layer than by its schedule";
    std::vector<std::pair<uint32_t, uint32_t>> tied;
    for (const SharedParameter &shared : sharedParameters(layering_, cluster_.structure))
      for (size_t i = 1; i < shared.classes.size(); ++i)
        tied.push_back({layering_.firstOf(shared.classes[i - 1]), layering_.firstOf(shared.classes[i])});
    for (const Problem::Tie &tie : stated.ties)
      if (std::find(tied.begin(), tied.end(), std::pair(tie.a, tie.b)) == tied.end())
        return fmt::format("layers {} and {} have no parameter in common", tie.a, tie.b);
    return "";
  }

  /// Null: it has no price.
  const std::vector<LayerUse> *usesOf(size_t step) {
    if (!uses_[step]) {
      const WorkGraph &graph = cluster_.steps[step].graph;
      auto costs = prices_(step);
      auto schedule = costs ? scheduled(graph, machine_, *costs) : std::nullopt;
      if (schedule)
        uses_[step] = layerUses(layering_, graph, *costs, *schedule);
    }
    return uses_[step] ? &*uses_[step] : nullptr;
  }

  /// Steps by policy, divided as the configuration divides, or not at all.
  std::vector<size_t> stepsOf(const Problem::ParallelConfig &config, bool divided) const {
    bool divides = divided && (config.expert > 1 || config.tables != Problem::Tables::Whole);
    int64_t data = !divides ? 1 : config.expert > 1 ? config.expert : config.data;
    std::vector<size_t> steps;
    for (size_t s = 0; s < cluster_.steps.size(); ++s)
      if (const CertificateStep &step = cluster_.steps[s];
          step.tensor == config.tensor && step.sequence == config.sequence && step.microbatch == config.microbatch &&
          step.data == data && step.experts == (divides ? config.expert : 1) &&
          step.tables == (divides ? config.tables : Problem::Tables::Whole))
        steps.push_back(s);
    return steps;
  }

  std::string costsOf(const Problem &stated, size_t f) {
    const Problem::ParallelConfig &parallelConfig = stated.parallelConfigs[f];
    std::vector<size_t> steps = stepsOf(parallelConfig, true), whole = stepsOf(parallelConfig, false);
    if (steps.empty() || whole.empty())
      return "there is no such step";
    for (size_t step : steps)
      if (!usesOf(step))
        return "its step has no price";
    const std::vector<LayerUse> *undivided = steps == whole ? nullptr : usesOf(whole.front());
    ParallelConfigCosts how;
    how.parallelConfig = &parallelConfig, how.batch = stated.batch;
    for (size_t q = 0; q < steps.size(); ++q) {
      how.recomputePolicies.push_back(cluster_.steps[steps[q]].recompute);
      how.recomputeChoices.push_back({q, false});
    }
    for (size_t q = 0; q < steps.size() && cluster_.offloads; ++q)
      how.recomputeChoices.push_back({q, true});
    double rate = machine_.hostBandwidth.value;
    how.hostPerByte = rate > 0 ? 1e12 / rate : 0;
    // All layers are in one group of devices, which has a parameter of several of them once.
    bool hasOneGroup = parallelConfig.oneGroup || (stated.groups.size() == 1 && stated.groups.front().max == 1);
    for (size_t c = 0; c < stated.classes.size(); ++c) {
      if (!stated.classes[c].costs[f])
        return fmt::format("'{}' is said not to run so", stated.classes[c].name);
      auto useOf = [&](const std::vector<LayerUse> &uses) { return hasOneGroup ? withoutCopy(uses[c]) : uses[c]; };
      std::vector<LayerUse> policies;
      for (size_t step : steps)
        policies.push_back(useOf(*uses_[step]));
      std::optional<LayerUse> wholeUse;
      if (undivided)
        wholeUse = useOf(*undivided);
      Problem::Cost is = costOf(how, policies, wholeUse ? &*wholeUse : nullptr);
      if (std::string other = differs(*stated.classes[c].costs[f], is, choicesOf(stated, f, c)); !other.empty())
        return fmt::format("'{}': {}", stated.classes[c].name, other);
    }
    return "";
  }

  /// The choices of all configurations of the same degrees.
  static std::vector<Problem::RecomputeChoice> choicesOf(const Problem &stated, size_t f, size_t c) {
    std::vector<Problem::RecomputeChoice> choices;
    auto degrees = [](const Problem::ParallelConfig &one) {
      return std::tie(one.tensor, one.sequence, one.data, one.zero, one.microbatch, one.expert, one.expertTensor,
                      one.tables, one.context, one.contextExchange, one.ringOverlap, one.hostStates, one.hostWeights,
                      one.order);
    };
    for (size_t g = 0; g < stated.parallelConfigs.size(); ++g)
      if (degrees(stated.parallelConfigs[g]) == degrees(stated.parallelConfigs[f]) && stated.classes[c].costs[g])
        llvm::append_range(choices, stated.classes[c].costs[g]->recomputeChoices);
    return choices;
  }

  static std::string differs(const Problem::Cost &said, const Problem::Cost &is,
                             const std::vector<Problem::RecomputeChoice> &choices) {
    for (auto [what, field] : {std::pair{"forward", &Problem::Cost::forward},
                               {"backward", &Problem::Cost::backward},
                               {"weight", &Problem::Cost::weight},
                               {"update", &Problem::Cost::update},
                               {"static memory", &Problem::Cost::staticMemory},
                               {"host's static memory", &Problem::Cost::hostStaticMemory},
                               {"gradients", &Problem::Cost::gradients},
                               {"experts' gradients", &Problem::Cost::expertGradients},
                               {"weights", &Problem::Cost::weights},
                               {"tied", &Problem::Cost::tied}})
      if (said.*field != is.*field)
        return fmt::format("{}: {} is stated, by its schedule it is {}", what, said.*field, is.*field);
    auto numbers = [](const Problem::RecomputeChoice &one) {
      return std::array{one.recomputeTime, one.activations, one.workspace, one.hostActivations};
    };
    for (const Problem::RecomputeChoice &one : said.recomputeChoices)
      if (llvm::none_of(is.recomputeChoices, [&](const Problem::RecomputeChoice &other) {
            return one.policy == other.policy && numbers(one) == numbers(other);
          }))
        return fmt::format("recomputation '{}' with {} bytes of activations and {} ps of recomputation is none of its "
                           "schedules",
                           one.policy, one.activations, one.recomputeTime);
    for (const Problem::RecomputeChoice &one : is.recomputeChoices)
      if (llvm::none_of(choices, [&](const Problem::RecomputeChoice &other) {
            return std::ranges::equal(numbers(other), numbers(one), std::ranges::less_equal());
          }))
        return fmt::format("recomputation '{}' is left out", one.policy);
    return "";
  }

  const CertificateCluster &cluster_;
  const Machine &machine_;
  std::function<std::optional<Costs>(size_t step)> prices_;
  PriceCache &structures_;
  Layering layering_;
  std::vector<std::optional<std::vector<LayerUse>>> uses_;
};

} // namespace

void priceExchanges(const WorkGraph &graph, const Machine &machine, Costs &costs) {
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.core != CoreKind::None || !op.givenSeconds)
      continue;
    OperationCost &cost = costs.operations[id];
    cost.core = -1;
    cost.time = Seconds(*op.givenSeconds);
    cost.model = "network given";
    if (machine.memories.empty())
      continue;
    const Memory &memory = machine.memories.front();
    Bytes bytes(double(op.bytesRead) + op.bytesWritten);
    if (bytes.value > 0 && memory.bandwidth.value > 0)
      cost.transfer.front() = memory.latency + bytes / (memory.bandwidth * memory.efficiency);
    cost.time = std::max(cost.time, cost.transfer.front());
  }
}

std::string differsByScheduling(const CertificateCluster &cluster, size_t job, const Problem &stated,
                                const Machine &machine, const CertificatePrices &prices, PriceCache &structures) {
  return LayerCostVerifier(
             cluster, machine, [&](size_t step) { return prices(job, cluster.first + step, machine); }, structures)
      .differs(stated);
}

} // namespace accord
