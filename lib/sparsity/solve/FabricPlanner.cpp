#include "lib/sparsity/solve/FabricPlanner.h"
#include "lib/sparsity/solve/Dataflow.h"
#include "lib/sparsity/solve/FabricAllocation.h"
#include "lib/sparsity/solve/FabricUse.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accord {
namespace {

/// An interval this much shorter tells what is in its way.
constexpr double kShorter = 0.99;
constexpr double kFull = 0.9; ///< of what there is, in use
constexpr uint64_t kExplainEffort = 10'000'000;
constexpr int64_t kManyBits = int64_t(1) << 52;

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= number; ++d)
    if (number % d == 0)
      out.push_back(d);
  return out;
}

/// Whether layers differ in their names alone.
bool isSameShape(const DataflowLayer &a, const DataflowLayer &b) {
  auto figures = [](const DataflowLayer &layer) {
    return std::array{layer.channels,      layer.filters,    layer.groups,        layer.inputRows,
                      layer.inputColumns,  layer.rows,       layer.columns,       layer.kernelRows,
                      layer.kernelColumns, layer.weightBits, layer.activationBits};
  };
  auto sameZeros = [](const DataflowSparsity &x, const DataflowSparsity &y) {
    return x.label == y.label && x.windows == y.windows && x.loss == y.loss && x.channels == y.channels;
  };
  auto sameDetour = [](const DataflowDetour &x, const DataflowDetour &y) {
    return x.rows == y.rows && x.columns == y.columns && x.channels == y.channels && x.bits == y.bits;
  };
  return figures(a) == figures(b) &&
         std::equal(a.sparsity.begin(), a.sparsity.end(), b.sparsity.begin(), b.sparsity.end(), sameZeros) &&
         std::equal(a.detours.begin(), a.detours.end(), b.detours.begin(), b.detours.end(), sameDetour);
}

/// The ways to run a layer that none of the others is at least as good as.
struct LayerWays {
  std::vector<DataflowStage> stages;
  std::vector<AllocationOption> options;
};

class FabricPlanner {
public:
  explicit FabricPlanner(const DataflowProblem &problem) : problem(problem) {}

  FabricLayout run() {
    limits();
    for (const DataflowLayer &layer : problem.layers)
      if (!add(layer)) {
        out.error = unfit(layer);
        return std::move(out);
      }
    const AllocationResult result = allocate(allocation);
    out.feasible = result.feasible, out.proven = result.proven(), out.minInterval = result.minInterval;
    if (!result.feasible) {
      out.limits = infeasible(result);
      return std::move(out);
    }
    out.use.bits = allocation.fixedBits;
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      const DataflowStage &stage = out.stages.emplace_back(ways[allocation.items[l]].stages[result.choice[l]]);
      out.use.multipliers += stage.use.multipliers;
      out.use.luts += stage.use.luts;
      out.use.blockRams += stage.use.blockRams;
      out.use.ultraRams += stage.use.ultraRams;
      out.use.bits += stage.use.bits;
      out.loss += allocation.kinds[allocation.items[l]][result.choice[l]].weights[4];
    }
    out.limits = explanation(result);
    return std::move(out);
  }

private:
  const DataflowProblem &problem;
  FabricLayout out;
  AllocationProblem allocation;
  std::vector<LayerWays> ways; ///< by kind, a layer of each shape
  std::vector<size_t> firsts;  ///< by kind, the first layer of it

  void limits() {
    const FabricResources &has = problem.resources;
    allocation.budgets = {problem.fabric.multipliers, has.luts > 0 ? has.luts : AllocationProblem::kUnlimited,
                          has.blockRams, has.ultraRams, problem.lossBudget};
    allocation.fixedBits = imageBits(problem);
    allocation.cyclesPerBit = has.bytesPerSecond > 0 ? problem.hertz / (8 * has.bytesPerSecond) : 0;
  }

  /// False: nothing fits.
  bool add(const DataflowLayer &layer) {
    for (size_t kind = 0; kind < firsts.size(); ++kind)
      if (isSameShape(problem.layers[firsts[kind]], layer)) {
        allocation.items.push_back(kind);
        return true;
      }
    LayerWays kept = frontOf(allWays(layer));
    if (kept.options.empty())
      return false;
    firsts.push_back(allocation.items.size());
    allocation.items.push_back(ways.size());
    allocation.kinds.push_back(kept.options);
    ways.push_back(std::move(kept));
    return true;
  }

  /// What of the device is too small for a layer alone.
  std::string unfit(const DataflowLayer &layer) {
    std::vector<std::string> small;
    for (size_t k = 0; k < kFabricBudgets; ++k) {
      if (allocation.budgets[k] == AllocationProblem::kUnlimited)
        continue;
      const int64_t budget = std::exchange(allocation.budgets[k], AllocationProblem::kUnlimited);
      if (!allWays(layer).options.empty())
        small.push_back(fmt::format("{} ({})", kNames[k], budget));
      allocation.budgets[k] = budget;
    }
    return fmt::format("layer '{}': no folding of it fits the device and takes less than days{}{}", layer.name,
                       small.empty() ? "" : "; too small for it: ", fmt::join(small, ", or "));
  }

  static LayerWays frontOf(LayerWays all) {
    LayerWays kept;
    for (unsigned w : allocationFront(all.options)) {
      kept.stages.push_back(std::move(all.stages[w]));
      kept.options.push_back(all.options[w]);
    }
    return kept;
  }

  LayerWays allWays(const DataflowLayer &layer) const {
    const std::vector<DataflowMemory> memories = memoryChoices(layer, problem.resources);
    const int64_t window = layer.kernelRows * layer.kernelColumns;
    LayerWays all;
    for (size_t z = 0; z <= layer.sparsity.size(); ++z)
      for (int64_t groups : divisorsOf(layer.groups))
        for (int64_t in : divisorsOf(layer.channels / layer.groups))
          for (int64_t outAtOnce : divisorsOf(layer.filters / layer.groups))
            for (int64_t fine = 1; fine <= window; ++fine) {
              if (z == 0 && window % fine != 0)
                continue;
              const DataflowFolding folding{groups, in, outAtOnce, fine};
              if (multipliersOf(layer, folding, problem.fabric) > problem.fabric.multipliers)
                break; // more at once are more still
              addFolding(layer, folding, z == 0 ? nullptr : &layer.sparsity[z - 1], memories, all);
            }
    return all;
  }

  void addFolding(const DataflowLayer &layer, const DataflowFolding &folding, const DataflowSparsity *sparsity,
                  const std::vector<DataflowMemory> &memories, LayerWays &all) const {
    DataflowStage stage;
    stage.folding = folding;
    stage.label = sparsity ? sparsity->label : "dense";
    stage.sparse = sparsity;
    stage.cycles = cyclesOf(layer, folding, sparsity);
    stage.multipliers = multipliersOf(layer, folding, problem.fabric);
    const double max = std::ldexp(1.0, 59) / problem.layers.size() * problem.hertz / 1e12;
    if (stage.cycles.max() > max)
      return;
    LayerWays found; // with this folding
    for (const DataflowMemory &memory : memories) {
      stage.memory = memory;
      stage.use = useOf(layer, folding, sparsity, memory, problem.fabric);
      const FabricUse &use = stage.use;
      const int64_t loss = sparsity ? sparsity->loss : 0;
      AllocationOption option{
          stage.cycles.max(), {use.multipliers, use.luts, use.blockRams, use.ultraRams, loss}, use.bits};
      bool fits = use.bits < kManyBits;
      for (size_t k = 0; k < kFabricBudgets; ++k)
        fits &= option.weights[k] <= allocation.budgets[k];
      if (!fits)
        continue;
      found.stages.push_back(stage);
      found.options.push_back(option);
    }
    found = frontOf(std::move(found));
    all.stages.insert(all.stages.end(), found.stages.begin(), found.stages.end());
    all.options.insert(all.options.end(), found.options.begin(), found.options.end());
  }

  double shareInUse(size_t k) const {
    const double used[] = {static_cast<double>(out.use.multipliers), static_cast<double>(out.use.luts),
                           static_cast<double>(out.use.blockRams), static_cast<double>(out.use.ultraRams)};
    if (k == kFabricBudgets)
      return transferCycles(problem, out.use.bits) / interval();
    return k == 4 ? 1 : used[k] / std::max(1.0, static_cast<double>(allocation.budgets[k]));
  }

  /// "block RAM (1,820 of 1,824)".
  static constexpr const char *kNames[kFabricBudgets + 1] = {"multipliers", "look-up tables",        "block RAM",
                                                             "UltraRAM",    "the accuracy's budget", "bandwidth"};
  std::string filled(size_t k) const {
    const FabricUse &use = out.use;
    if (k == kFabricBudgets)
      return fmt::format("bandwidth of the memory beside the chip ({:.3g} of {:.3g} GB/s)",
                         static_cast<double>(use.bits) / 8 * problem.hertz / interval() / 1e9,
                         problem.resources.bytesPerSecond / 1e9);
    if (k == 4)
      return kNames[k];
    const int64_t used[] = {use.multipliers, use.luts, use.blockRams, use.ultraRams};
    return fmt::format("{} ({} of {})", kNames[k], used[k], allocation.budgets[k]);
  }
  double interval() const {
    double slowest = transferCycles(problem, out.use.bits);
    for (const DataflowStage &stage : out.stages)
      slowest = std::max(slowest, stage.cycles.max());
    return slowest;
  }

  /// With as much as is wanted of one thing; of bandwidth, too.
  AllocationProblem without(size_t k) const {
    AllocationProblem more = allocation;
    if (k == kFabricBudgets)
      more.cyclesPerBit = 0;
    else
      more.budgets[k] = AllocationProblem::kUnlimited;
    return more;
  }

  std::string explanation(const AllocationResult &result) const {
    std::vector<std::string> full, others; // what shortens it by itself
    for (size_t k = 0; k <= kFabricBudgets; ++k) {
      if (k < kFabricBudgets ? allocation.budgets[k] == AllocationProblem::kUnlimited : allocation.cyclesPerBit == 0)
        continue;
      auto reached = isReachable(without(k), result.interval * kShorter, kExplainEffort);
      if (reached && *reached)
        (shareInUse(k) >= kFull ? full : others).push_back(filled(k));
    }
    const std::string open =
        result.proven()
            ? "No interval is shorter"
            : fmt::format("No shorter interval was found, and none is below {:.6g} cycles", result.minInterval);
    if (full.empty())
      full.swap(others);
    if (!full.empty())
      return fmt::format("{}. What binds: {}; more of {} would shorten it{}.", open, fmt::join(full, "; "),
                         full.size() > 1 ? "any one" : "it",
                         others.empty() ? "" : fmt::format(", and so would more {}", fmt::join(others, " or ")));
    std::vector<std::string> all;
    for (size_t k = 0; k <= kFabricBudgets; ++k)
      if (k != 4 &&
          (k < kFabricBudgets ? allocation.budgets[k] != AllocationProblem::kUnlimited && allocation.budgets[k] > 0
                              : allocation.cyclesPerBit > 0))
        all.push_back(filled(k));
    return fmt::format("{}. What binds: several things, of which more of one alone does not shorten it by 1 %: {}.",
                       open, fmt::join(all, "; "));
  }

  std::string infeasible(const AllocationResult &result) const {
    if (!result.proven())
      return "No layout was found that fits the device, and none was excluded.";
    std::vector<std::string> alone;
    for (size_t k = 0; k < kFabricBudgets; ++k) {
      if (allocation.budgets[k] == AllocationProblem::kUnlimited)
        continue;
      auto reached = isReachable(without(k), AllocationResult::kNever, kExplainEffort);
      if (reached && *reached)
        alone.push_back(fmt::format("{} ({})", kNames[k], allocation.budgets[k]));
    }
    return fmt::format("{} layers do not fit the device{}{}.", problem.layers.size(),
                       alone.empty() ? "" : ": too small for them is ", fmt::join(alone, ", or "));
  }
};

} // namespace

FabricLayout layOut(const DataflowProblem &problem) { return FabricPlanner(problem).run(); }

} // namespace accord
