#include "lib/sparsity/verify/Dataflow.h"
#include "lib/sparsity/verify/FabricProof.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr double kTolerance = 1e-9;

bool near(double a, double b) { return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

/// A layer in numbers that its foldings divide.
class LayerProof {
public:
  LayerProof(const DataflowLayer &layer, const DataflowFabric &fabric)
      : layer(layer), window(layer.kernelRows * layer.kernelColumns), channels(layer.channels / layer.groups),
        filters(layer.filters / layer.groups) {
    auto pieces = [](int64_t bits, int64_t width) { return bits / width + (bits % width != 0); };
    each = pieces(layer.weightBits, fabric.multiplierColumns) * pieces(layer.activationBits, fabric.multiplierRows);
  }

  /// Steps of a window with so many products at once, zeros left out.
  double steps(int64_t fine, const DataflowSparsity *sparsity) const {
    if (!sparsity)
      return std::ceil(double(window) / fine);
    double mean = 0;
    for (int64_t left = 1; left <= window; ++left)
      mean += std::ceil(double(left) / fine) * sparsity->windows[window - left];
    return mean;
  }

  /// Cycles of an image with `parts` of the channels (with groups) and of the filters one after another.
  double cycles(double channelParts, double filterParts, double groupParts, double steps) const {
    double results = (layer.rows * layer.columns) * groupParts * filterParts;
    double enters = (layer.inputRows * layer.inputColumns) * groupParts;
    return std::max({results * channelParts * steps, results, enters * channelParts});
  }

  /// The fewest multipliers with an interval below `max` cycles; nothing is negative.
  int64_t minMultipliers(const DataflowSparsity *sparsity, double max) const {
    int64_t best = -1;
    for (int64_t g = 1; g <= layer.groups; ++g)
      for (int64_t in = 1; layer.groups % g == 0 && in <= channels; ++in)
        for (int64_t out = 1; channels % in == 0 && out <= filters; ++out) {
          if (filters % out != 0)
            continue;
          double groupParts = layer.groups / g;
          double in1 = channels / in, out1 = filters / out;
          if (cycles(in1, out1, groupParts, 0) >= max)
            continue; // streams

          if (sparsity && !sparsity->channels.empty()) {
            for (int64_t fine = 1; fine <= window; ++fine)
              if (proof::cyclesOf(layer, {g, in, out, fine}, sparsity).max() < max) {
                int64_t count = multipliers(g, in, out, fine);
                best = best < 0 ? count : std::min(best, count);
                break;
              }
            continue;
          }
          // More at once are never slower: the fewest by halving, then what is allowed.
          int64_t low = 1, high = window;
          if (cycles(in1, out1, groupParts, steps(high, sparsity)) >= max)
            continue;
          while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (cycles(in1, out1, groupParts, steps(middle, sparsity)) < max)
              high = middle;
            else
              low = middle + 1;
          }
          while (!sparsity && window % low != 0)
            ++low;
          int64_t count = multipliers(g, in, out, low);
          if (best < 0 || count < best)
            best = count;
        }
    return best;
  }

  /// Many more than any device has count as 2^40.
  int64_t multipliers(int64_t g, int64_t in, int64_t out, int64_t fine) const {
    return std::min(__int128(g) * in * out * fine * each, __int128(1) << 40);
  }

  const DataflowLayer &layer;
  int64_t window, channels, filters;
  int64_t each = 1; ///< multipliers of a product
};

class DataflowChecker {
public:
  DataflowChecker(const DataflowProblem &problem, const DataflowResult &result, uint64_t effort)
      : problem(problem), result(result), effort(effort) {}

  Verification run() {
    if (std::string wrong = check(problem); !wrong.empty()) {
      find(Code::MemoryExceeded, wrong);
      return std::move(out);
    }
    for (const DataflowLayer &layer : problem.layers)
      layers.emplace_back(layer, problem.fabric);
    if (result.feasible)
      stages();
    if (out.holds() && result.feasible)
      resources();
    if (!out.holds())
      return std::move(out);
    if (problem.together)
      intervalOfEach();
    else if (problem.resources.isStated())
      intervalWithResources();
    else
      interval();
    return std::move(out);
  }

private:
  const DataflowProblem &problem;
  const DataflowResult &result;
  uint64_t effort;
  std::vector<LayerProof> layers;
  Verification out;

  void find(Code code, std::string text) { out.findings.push_back({code, std::move(text), {}, {}}); }

  /// The zeros that a stage skips; false: the layer has none of this name.
  bool sparsityOf(size_t l, const DataflowSparsity *&sparsity) const {
    const DataflowStage &stage = result.stages[l];
    sparsity = nullptr;
    for (const DataflowSparsity &one : problem.layers[l].sparsity)
      if (one.label == stage.label)
        sparsity = &one;
    return stage.sparse == (sparsity != nullptr) && (sparsity || stage.label == "dense");
  }

  void stages() {
    if (result.stages.size() != layers.size())
      return find(Code::MemoryExceeded,
                  fmt::format("{} layers, of which {} are laid out", layers.size(), result.stages.size()));
    double slowest = 0;
    int64_t multipliers = 0, loss = 0;
    for (size_t l = 0; l < layers.size(); ++l) {
      const DataflowStage &stage = result.stages[l];
      const DataflowFolding &of = stage.folding;
      const LayerProof &layer = layers[l];
      const std::string &name = problem.layers[l].name;
      const DataflowSparsity *sparsity = nullptr;
      if (!sparsityOf(l, sparsity))
        return find(Code::MemoryExceeded, fmt::format("layer '{}' has no zeros '{}'", name, stage.label));
      if (std::min({of.groups, of.in, of.out, of.fine}) < 1 || of.fine > layer.window ||
          layer.layer.groups % of.groups != 0 || layer.channels % of.in != 0 || layer.filters % of.out != 0 ||
          (!sparsity && layer.window % of.fine != 0))
        return find(Code::MemoryExceeded, fmt::format("layer '{}' is not folded by {} x {} x {} x {}", name, of.groups,
                                                      of.in, of.out, of.fine));
      int64_t count = layer.multipliers(of.groups, of.in, of.out, of.fine);
      const DataflowCycles parts = proof::cyclesOf(layer.layer, of, sparsity);
      const double cycles = parts.max();
      if (count != stage.multipliers || !near(cycles, stage.cycles.max()))
        find(Code::WrongObjective,
             fmt::format("layer '{}' has {} multipliers and takes {} cycles; stated are {} and {}", name, count, cycles,
                         stage.multipliers, stage.cycles.max()));
      else if (!near(parts.products, stage.cycles.products) || !near(parts.input, stage.cycles.input) ||
               !near(parts.output, stage.cycles.output) || !near(stage.busy * result.interval, cycles))
        find(Code::WrongObjective,
             fmt::format("products, input and output of layer '{}' take {}, {} and {} cycles, of {}; stated are {}, {} "
                         "and {}, and {} of them",
                         name, parts.products, parts.input, parts.output, result.interval, stage.cycles.products,
                         stage.cycles.input, stage.cycles.output, stage.busy));
      multipliers += count;
      loss += sparsity ? sparsity->loss : 0;
      slowest = std::max(slowest, cycles);
    }
    if (problem.resources.isStated())
      slowest = std::max(slowest, transfers());
    if (multipliers > problem.fabric.multipliers || loss > problem.lossBudget)
      find(Code::MemoryExceeded,
           fmt::format("{} multipliers of {}, losses of {}", multipliers, problem.fabric.multipliers, loss));
    if (multipliers != result.multipliers || loss != result.loss || !near(slowest, result.interval))
      find(Code::WrongObjective,
           fmt::format("{} multipliers, losses of {} and {} cycles; stated are {}, {} and {}", multipliers, loss,
                       slowest, result.multipliers, result.loss, result.interval));
    if (!near(result.imagesPerSecond * slowest, problem.hertz))
      find(Code::WrongObjective, fmt::format("{} cycles at {} Hz are not {} images a second", slowest, problem.hertz,
                                             result.imagesPerSecond));
    out.checked.push_back(fmt::format("{} layers, their cycles and multipliers", layers.size()));
  }

  /// Cycles that the stated places of weights cost at the memory beside the chip.
  double transfers() const {
    const double bandwidth = problem.resources.bytesPerSecond;
    if (!(bandwidth > 0))
      return 0;
    double bits = static_cast<double>(proof::imageBits(problem));
    for (size_t l = 0; l < layers.size(); ++l)
      if (const DataflowStage &stage = result.stages[l];
          proof::isWay(problem.layers[l], stage.folding, stage.sparse, stage.memory, problem.resources))
        bits += static_cast<double>(
            proof::useOf(problem.layers[l], stage.folding, stage.sparse, stage.memory, problem.fabric).bits);
    return bits / (8 * bandwidth) * problem.hertz;
  }

  /// Memories, look-up tables and transfers of each layer, their sums, and what there is; zeros of one name.
  void resources() {
    std::string label;
    for (const DataflowStage &stage : result.stages) {
      if (problem.together && stage.sparse && !label.empty() && label != stage.label)
        return find(Code::MemoryExceeded,
                    fmt::format("layers take zeros '{}' and '{}', and they were measured apart", label, stage.label));
      if (stage.sparse)
        label = stage.label;
    }
    if (!problem.resources.isStated()) {
      if (result.use != FabricUse{})
        find(Code::WrongObjective, "the device states no memories, and some are stated to be used");
      return;
    }
    FabricUse sum;
    sum.bits = proof::imageBits(problem);
    for (size_t l = 0; l < layers.size(); ++l) {
      const DataflowStage &stage = result.stages[l];
      const DataflowLayer &layer = problem.layers[l];
      if (!proof::isWay(layer, stage.folding, stage.sparse, stage.memory, problem.resources))
        return find(Code::MemoryExceeded, fmt::format("weights of layer '{}' do not lie {} with {} passes", layer.name,
                                                      name(stage.memory.weights), stage.memory.passes));
      const FabricUse use = proof::useOf(layer, stage.folding, stage.sparse, stage.memory, problem.fabric);
      if (use != stage.use)
        find(Code::WrongObjective,
             fmt::format("layer '{}' takes {}; stated are {}", layer.name, text(use), text(stage.use)));
      sum.multipliers += use.multipliers, sum.luts += use.luts, sum.blockRams += use.blockRams;
      sum.ultraRams += use.ultraRams, sum.bits += use.bits;
    }
    const FabricResources &has = problem.resources;
    if (sum.blockRams > has.blockRams || sum.ultraRams > has.ultraRams || (has.luts > 0 && sum.luts > has.luts))
      find(Code::MemoryExceeded, fmt::format("{} are taken, of {} block RAMs, {} UltraRAMs and {} look-up tables",
                                             text(sum), has.blockRams, has.ultraRams, has.luts));
    if (sum != result.use)
      find(Code::WrongObjective, fmt::format("layers take {}; stated are {}", text(sum), text(result.use)));
    out.checked.push_back(fmt::format("{} layers take {}", layers.size(), text(sum)));
  }

  static std::string text(const FabricUse &use) {
    return fmt::format("{} multipliers, {} block RAMs, {} UltraRAMs, {} look-up tables and {} bits an image",
                       use.multipliers, use.blockRams, use.ultraRams, use.luts, use.bits);
  }

  /// Where all layers take zeros of one name: of each name by itself, no layout is faster.
  void intervalOfEach() {
    std::vector<std::string> labels = {"dense"};
    for (const DataflowLayer &layer : problem.layers)
      for (const DataflowSparsity &sparsity : layer.sparsity)
        if (std::find(labels.begin(), labels.end(), sparsity.label) == labels.end())
          labels.push_back(sparsity.label);
    for (const std::string &label : labels) {
      DataflowProblem one = problem;
      one.together = false;
      for (DataflowLayer &layer : one.layers)
        std::erase_if(layer.sparsity, [&](const DataflowSparsity &sparsity) { return sparsity.label != label; });
      DataflowChecker of(one, result, effort);
      for (const DataflowLayer &layer : one.layers)
        of.layers.emplace_back(layer, one.fabric);
      if (one.resources.isStated())
        of.intervalWithResources();
      else
        of.interval();
      for (const std::string &checked : of.out.checked)
        out.checked.push_back(fmt::format("{}: {}", label, checked));
      out.trusted.insert(out.trusted.end(), of.out.trusted.begin(), of.out.trusted.end());
      out.findings.insert(out.findings.end(), of.out.findings.begin(), of.out.findings.end());
    }
  }

  /// No layout has a shorter interval than is claimed, with its memories.
  void intervalWithResources() {
    double claimed = result.feasible ? result.minInterval : HUGE_VAL;
    if (result.feasible && (result.proven ? !near(claimed, result.interval) : claimed > result.interval))
      return find(Code::WrongObjective,
                  fmt::format("no interval is stated to be below {} cycles, and this one has {}{}", claimed,
                              result.interval, result.proven ? ", proven the shortest" : ""));
    if (!result.feasible && !result.proven) {
      out.trusted.push_back("that nothing fits the device is not stated to be proven");
      return;
    }
    double max = claimed * (1 - kTolerance);
    std::string claim = fmt::format("no layout with its memories has an interval below {} cycles", max);
    switch (proof::excludeBelow(problem, max, effort)) {
    case proof::FabricVerdict::Excluded:
      out.checked.push_back(claim);
      return;
    case proof::FabricVerdict::Possible:
      return find(Code::BoundNotProved, fmt::format("{} is stated, and one has", claim));
    case proof::FabricVerdict::Unknown:
      out.trusted.push_back(fmt::format("{} (not proved in {} branches)", claim, effort));
      return;
    }
  }

  void interval() {
    double max = result.feasible ? result.interval * (1 - kTolerance) : HUGE_VAL;
    if (!result.proven) {
      out.trusted.push_back("the interval is not stated to be the shortest");
      return;
    }
    SelectionProblem below;
    below.byteBudget = problem.fabric.multipliers;
    below.lossBudget = problem.lossBudget;
    std::string claim = fmt::format("no layout has an interval below {} cycles", max);
    for (size_t l = 0; l < layers.size(); ++l) {
      SelectionOperation &operation = below.operations.emplace_back();
      operation.name = problem.layers[l].name;
      operation.stage = 0;
      add(operation, "dense", layers[l].minMultipliers(nullptr, max), 0);
      for (const DataflowSparsity &sparsity : problem.layers[l].sparsity)
        add(operation, sparsity.label, layers[l].minMultipliers(&sparsity, max), sparsity.loss);
      if (operation.options.empty()) {
        out.checked.push_back(fmt::format("{}: '{}' has none", claim, operation.name));
        return;
      }
    }
    SelectionResult none;
    none.bound = SelectionProblem::kUnlimited;
    Verification proof = verify(below, none, effort);
    for (const Error &error : proof.findings)
      find(Code::BoundNotProved, fmt::format("{} is stated: {}", claim, error.message));
    if (!proof.trusted.empty())
      out.trusted.push_back(fmt::format("{} (not proved in {} branches)", claim, effort));
    else if (out.holds())
      out.checked.push_back(claim);
  }

  static void add(SelectionOperation &operation, const std::string &label, int64_t multipliers, int64_t loss) {
    if (multipliers < 0)
      return;
    SelectionOption option;
    option.label = label;
    option.bytes = multipliers;
    option.loss = loss;
    operation.options.push_back(option);
  }
};

} // namespace

Verification verify(const DataflowProblem &problem, const DataflowResult &result, uint64_t effort) {
  return DataflowChecker(problem, result, effort).run();
}

} // namespace accord
