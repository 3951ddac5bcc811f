#include "tools/accord/VerifyPlacements.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/placement/builder/OfferCosts.h"
#include "lib/planning/solve/ScheduleStep.h"
#include <algorithm>
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
  auto *schedule = std::get_if<Schedule>(&made);
  return schedule ? std::optional(std::move(*schedule)) : std::nullopt;
}

class Costing {
public:
  Costing(const ClaimedCluster &cluster, const Machine &machine,
          std::function<std::optional<Costs>(size_t step)> prices, PriceCache &structures)
      : cluster_(cluster), machine_(machine), prices_(std::move(prices)), structures_(structures),
        uses_(cluster.steps.size()) {}

  std::string differs(const Problem &stated) {
    EstimateOptions options;
    options.prices = &structures_;
    auto priced = estimate(cluster_.structure, machine_, options);
    auto *costs = std::get_if<Costs>(&priced);
    auto schedule = costs ? scheduled(cluster_.structure, machine_, *costs) : std::nullopt;
    if (!schedule)
      return "the step of one device has no price";
    layering_ = Layering::of(cluster_.structure, *schedule);
    if (std::string other = layers(stated); !other.empty())
      return other;
    for (size_t f = 0; f < stated.forms.size(); ++f)
      if (std::string other = costsOf(stated, f); !other.empty())
        return fmt::format("tensor {}, data {}, micro-batch {}: {}", stated.forms[f].tensor,
                           stated.forms[f].data, stated.forms[f].microbatch, other);
    return "";
  }

private:
  std::string layers(const Problem &stated) const {
    std::vector<Problem::Id> of;
    bool same = stated.classes.size() == layering_.classes.size();
    for (uint32_t c = 0; same && c < layering_.classes.size(); ++c) {
      same = stated.classes[c].name == layering_.classes[c].name;
      of.insert(of.end(), static_cast<size_t>(layering_.classes[c].count), c);
    }
    same = same && std::equal(of.begin(), of.end(), stated.layers.begin(), stated.layers.end(),
                              [](auto cls, const auto &layer) { return layer.of == cls; });
    if (!same)
      return fmt::format("{} layers in {} classes, by its schedule the step has {} in {}",
                         stated.layers.size(), stated.classes.size(), layering_.layers(),
                         layering_.classes.size());
    if (!std::equal(stated.edges.begin(), stated.edges.end(), layering_.edges.begin(),
                    layering_.edges.end(), [](const auto &a, const auto &b) {
                      return a.from == b.from && a.to == b.to && a.bytes == b.bytes;
                    }))
      return "other tensors go from layer to layer than by its schedule";
    std::vector<std::pair<uint32_t, uint32_t>> tied;
    for (const SharedParameter &shared : sharedParameters(layering_, cluster_.structure))
      for (size_t i = 1; i < shared.classes.size(); ++i)
        tied.push_back(
            {layering_.firstOf(shared.classes[i - 1]), layering_.firstOf(shared.classes[i])});
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

  /// Steps by policy, divided as the form divides, or not at all.
  std::vector<size_t> stepsOf(const Problem::Form &form, bool divided) const {
    bool divides = divided && (form.expert > 1 || form.tables != Problem::Tables::Whole);
    int64_t data = !divides ? 1 : form.expert > 1 ? form.expert : form.data;
    std::vector<size_t> steps;
    for (size_t s = 0; s < cluster_.steps.size(); ++s)
      if (const ClaimedStep &step = cluster_.steps[s];
          step.tensor == form.tensor && step.sequence == form.sequence &&
          step.microbatch == form.microbatch && step.data == data &&
          step.experts == (divides ? form.expert : 1) &&
          step.tables == (divides ? form.tables : Problem::Tables::Whole))
        steps.push_back(s);
    return steps;
  }

  std::string costsOf(const Problem &stated, size_t f) {
    const Problem::Form &form = stated.forms[f];
    std::vector<size_t> steps = stepsOf(form, true), whole = stepsOf(form, false);
    if (steps.empty() || whole.empty())
      return "there is no such step";
    for (size_t step : steps)
      if (!usesOf(step))
        return "its step has no price";
    const std::vector<LayerUse> *undivided = steps == whole ? nullptr : usesOf(whole.front());
    FormCosts how;
    how.form = &form, how.batch = stated.batch;
    for (size_t q = 0; q < steps.size(); ++q) {
      how.recomputes.push_back(cluster_.steps[steps[q]].recompute);
      how.keeps.push_back({q, false});
    }
    for (size_t q = 0; q < steps.size() && cluster_.offloads; ++q)
      how.keeps.push_back({q, true});
    double rate = machine_.hostBandwidth.value;
    how.hostPerByte = rate > 0 ? 1e12 / rate : 0;
    for (size_t c = 0; c < stated.classes.size(); ++c) {
      if (!stated.classes[c].costs[f])
        return fmt::format("'{}' is said not to run so", stated.classes[c].name);
      std::vector<LayerUse> policies;
      for (size_t step : steps)
        policies.push_back((*uses_[step])[c]);
      Problem::Cost is = costOf(how, policies, undivided ? &(*undivided)[c] : nullptr);
      if (std::string other = differs(*stated.classes[c].costs[f], is, alike(stated, f, c));
          !other.empty())
        return fmt::format("'{}': {}", stated.classes[c].name, other);
    }
    return "";
  }

  /// What forms of the same degrees keep.
  static std::vector<Problem::Keep> alike(const Problem &stated, size_t f, size_t c) {
    std::vector<Problem::Keep> keeps;
    auto degrees = [](const Problem::Form &one) {
      return std::tie(one.tensor, one.sequence, one.data, one.zero, one.microbatch, one.expert,
                      one.tables, one.ringOverlap, one.hostStates, one.hostWeights, one.order);
    };
    for (size_t g = 0; g < stated.forms.size(); ++g)
      if (degrees(stated.forms[g]) == degrees(stated.forms[f]) && stated.classes[c].costs[g])
        for (const Problem::Keep &keep : stated.classes[c].costs[g]->keeps)
          keeps.push_back(keep);
    return keeps;
  }

  static std::string differs(const Problem::Cost &said, const Problem::Cost &is,
                             const std::vector<Problem::Keep> &offered) {
    for (auto [what, field] : {std::pair{"forward", &Problem::Cost::forward},
                               {"backward", &Problem::Cost::backward},
                               {"weight", &Problem::Cost::weight},
                               {"update", &Problem::Cost::update},
                               {"resident", &Problem::Cost::resident},
                               {"host's resident", &Problem::Cost::hostResident},
                               {"gradients", &Problem::Cost::gradients},
                               {"experts' gradients", &Problem::Cost::expertGradients},
                               {"weights", &Problem::Cost::weights},
                               {"tied", &Problem::Cost::tied}})
      if (said.*field != is.*field)
        return fmt::format("{}: {} is stated, by its schedule it is {}", what, said.*field,
                           is.*field);
    auto same = [](const Problem::Keep &a, const Problem::Keep &b) {
      return a.policy == b.policy && a.again == b.again && a.kept == b.kept &&
             a.working == b.working && a.hostKept == b.hostKept;
    };
    for (const Problem::Keep &keep : said.keeps)
      if (std::none_of(is.keeps.begin(), is.keeps.end(),
                       [&](const auto &other) { return same(keep, other); }))
        return fmt::format("recomputation '{}' with {} bytes kept and {} ps again is none of its "
                           "schedules",
                           keep.policy, keep.kept, keep.again);
    for (const Problem::Keep &keep : is.keeps)
      if (std::none_of(offered.begin(), offered.end(), [&](const auto &other) {
            return other.again <= keep.again && other.kept <= keep.kept &&
                   other.working <= keep.working && other.hostKept <= keep.hostKept;
          }))
        return fmt::format("recomputation '{}' is left out", keep.policy);
    return "";
  }

  const ClaimedCluster &cluster_;
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
    Bytes bytes(static_cast<double>(op.bytesRead) + static_cast<double>(op.bytesWritten));
    if (bytes.value > 0 && memory.bandwidth.value > 0)
      cost.transfer.front() = memory.latency + bytes / (memory.bandwidth * memory.efficiency);
    cost.time = std::max(cost.time, cost.transfer.front());
  }
}

std::string differsByScheduling(const ClaimedCluster &cluster, size_t job, const Problem &stated,
                                const Machine &machine, const ClaimedPrices &prices,
                                PriceCache &structures) {
  return Costing(
             cluster, machine,
             [&](size_t step) { return prices(job, cluster.first + step, machine); }, structures)
      .differs(stated);
}

} // namespace accord
