#include "lib/sparsity/solve/Dataflow.h"
#include "lib/search/Knapsack.h"
#include "lib/sparsity/solve/FabricPlanner.h"
#include "lib/sparsity/solve/Select.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr double kPicoseconds = 1e12;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= number; ++d)
    if (number % d == 0)
      out.push_back(d);
  return out;
}

int64_t window(const DataflowLayer &layer) { return layer.kernelRows * layer.kernelColumns; }

/// All of a layer at once.
DataflowFolding unfolded(const DataflowLayer &layer) {
  return {layer.groups, layer.channels / layer.groups, layer.filters / layer.groups, window(layer)};
}

/// Steps of a window with so many products at once.
double stepsOf(const DataflowLayer &layer, int64_t fine, const std::vector<double> *windows) {
  if (!windows)
    return divided(window(layer), fine);
  double each = 0;
  for (int64_t z = 0; z <= window(layer); ++z)
    each += (*windows)[z] * divided(window(layer) - z, fine);
  return each;
}

/// Steps of the stream of channels that has the most. Channels that may be on any stream are dealt out by their steps,
/// the most first, in turn from the first stream to the last and back; of grouped convolutions each is where its number
/// says.
double slowestStream(const DataflowLayer &layer, const DataflowFolding &folding, const DataflowSparsity &sparsity) {
  const int64_t streams = folding.groups * folding.in, each = layer.channels / layer.groups;
  std::vector<double> steps;
  for (const std::vector<double> &windows : sparsity.channels)
    steps.push_back(stepsOf(layer, folding.fine, &windows));
  std::vector<double> sums(streams, 0.0);
  const bool anywhere = layer.groups == 1 || each == 1;
  if (anywhere)
    std::sort(steps.begin(), steps.end(), std::greater<>());
  for (int64_t c = 0; c < std::ssize(steps); ++c) {
    const int64_t round = c / streams, place = c % streams;
    const int64_t stream = anywhere ? (round % 2 == 0 ? place : streams - 1 - place)
                                    : c / each % folding.groups * folding.in + c % each % folding.in;
    sums[stream] += steps[c];
  }
  return *std::max_element(sums.begin(), sums.end());
}

/// A way to run a layer.
struct LayerConfiguration {
  DataflowFolding folding;
  const DataflowSparsity *sparsity = nullptr; ///< none: dense
  DataflowCycles cycles;
  int64_t multipliers = 0;
};

class DataflowPlanner {
public:
  explicit DataflowPlanner(const DataflowProblem &problem) : problem(problem) {}

  std::variant<DataflowResult, std::string> run() {
    if (std::string error = check(problem); !error.empty())
      return error;
    if (problem.resources.isStated())
      return withResources();
    out.problem.objective = SelectionObjective::SlowestStage;
    out.problem.lossBudget = problem.lossBudget;
    out.problem.byteBudget = problem.fabric.multipliers;
    for (const DataflowLayer &layer : problem.layers)
      if (!addLayer(layer))
        return fmt::format("layer '{}': no folding of it has at most {} multipliers and takes less than days",
                           layer.name, problem.fabric.multipliers);
    if (std::string error = check(out.problem); !error.empty())
      return error;
    if (std::string error = fastest(); !error.empty())
      return error;
    out.selection = select(out.problem);
    out.feasible = out.selection.feasible;
    out.proven = out.selection.proven();
    if (out.feasible)
      read();
    else
      out.explanation = infeasible();
    return std::move(out);
  }

private:
  const DataflowProblem &problem;
  DataflowResult out;
  std::vector<std::vector<LayerConfiguration>> configurations; ///< by layer, as its options
  std::vector<double> minCycles;                               ///< by layer
  DataflowCycles saturated; ///< of the saturating layer, without a limit of multipliers

  /// Whole picoseconds, rounded up; negative: too many to add.
  int64_t picoseconds(double cycles) const {
    double time = std::ceil(cycles * kPicoseconds / problem.hertz);
    double max = std::ldexp(1.0, 59) / problem.layers.size();
    return time <= max ? time : -1;
  }

  std::vector<LayerConfiguration> allConfigurations(const DataflowLayer &layer) const {
    std::vector<LayerConfiguration> all;
    for (size_t z = 0; z <= layer.sparsity.size(); ++z)
      for (int64_t groups : divisors(layer.groups))
        for (int64_t in : divisors(layer.channels / layer.groups))
          for (int64_t outAtOnce : divisors(layer.filters / layer.groups))
            for (int64_t fine = 1; fine <= window(layer); ++fine) {
              if (z == 0 && window(layer) % fine != 0)
                continue;
              LayerConfiguration configuration;
              configuration.folding = {groups, in, outAtOnce, fine};
              configuration.sparsity = z == 0 ? nullptr : &layer.sparsity[z - 1];
              configuration.multipliers = multipliersOf(layer, configuration.folding, problem.fabric);
              if (configuration.multipliers > problem.fabric.multipliers)
                break; // more at once are more still
              configuration.cycles = cyclesOf(layer, configuration.folding, configuration.sparsity);
              if (picoseconds(configuration.cycles.max()) >= 0)
                all.push_back(configuration);
            }
    return all;
  }

  SelectionOption optionOf(const LayerConfiguration &configuration) const {
    SelectionOption option;
    const DataflowFolding &of = configuration.folding;
    option.label = fmt::format("{} {}x{}x{}x{}", configuration.sparsity ? configuration.sparsity->label : "dense",
                               of.groups, of.in, of.out, of.fine);
    option.picoseconds = picoseconds(configuration.cycles.max());
    option.bytes = configuration.multipliers;
    option.loss = configuration.sparsity ? configuration.sparsity->loss : 0;
    option.sparse = configuration.sparsity;
    return option;
  }

  std::variant<DataflowResult, std::string> withResources() {
    if (std::string error = fastest(); !error.empty())
      return error;
    FabricLayout layout = layOut(problem);
    if (!layout.error.empty())
      return layout.error;
    out.feasible = layout.feasible, out.proven = layout.proven, out.minInterval = layout.minInterval;
    out.selection.feasible = out.feasible;
    if (!out.feasible) {
      out.selection.bound = layout.proven ? SelectionProblem::kUnlimited : 0;
      out.explanation = layout.limits;
      return std::move(out);
    }
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      DataflowStage &stage = out.stages.emplace_back(std::move(layout.stages[l]));
      stage.minCycles = minCycles[l];
      add(stage);
    }
    out.use = layout.use;
    out.loss = layout.loss;
    out.interval = std::max(out.interval, transferCycles(problem, out.use.bits));
    finish();
    auto whole = [&](double cycles) {
      return static_cast<int64_t>(std::min(cycles * kPicoseconds / problem.hertz, std::ldexp(1.0, 60)));
    };
    out.selection.sums.loss = out.loss;
    out.selection.sums.bytes = out.multipliers;
    out.selection.value = whole(out.interval);
    out.selection.bound = out.proven ? out.selection.value : std::min(out.selection.value - 1, whole(out.minInterval));
    out.selection.sums.slowest = out.selection.value;
    const DataflowLayer &saturating = problem.layers[out.saturating];
    if (out.imagesPerSecond >= out.maxImagesPerSecond)
      out.explanation = saturation();
    else
      out.explanation =
          fmt::format("{}{} With all of it without end '{}' would limit, to {:.1f} images a second: {}", layout.limits,
                      denseShare(), saturating.name, out.maxImagesPerSecond, saturatingLimit());
    return std::move(out);
  }

  void add(const DataflowStage &stage) {
    out.multipliers += stage.multipliers;
    if (stage.cycles.max() > out.interval) {
      out.interval = stage.cycles.max();
      out.bottleneck = out.stages.size() - 1;
    }
  }

  void finish() {
    if (out.interval > 0)
      out.imagesPerSecond = problem.hertz / out.interval;
    for (DataflowStage &stage : out.stages)
      stage.busy = out.interval > 0 ? stage.cycles.max() / out.interval : 0;
  }

  /// Dense ways first, of which the one with the fewest multipliers is always there.
  bool addLayer(const DataflowLayer &layer) {
    std::vector<LayerConfiguration> all = allConfigurations(layer);
    std::vector<KnapsackOption> figures;
    unsigned smallest = all.size();
    for (unsigned w = 0; w < all.size(); ++w) {
      SelectionOption option = optionOf(all[w]);
      figures.push_back({option.picoseconds, {option.bytes, option.loss}});
      if (!all[w].sparsity && (smallest == all.size() || all[w].multipliers < all[smallest].multipliers))
        smallest = w;
    }
    if (smallest == all.size())
      return false;
    std::vector<unsigned> front = paretoFront(figures);
    std::erase(front, smallest);
    front.insert(front.begin(), smallest);
    SelectionOperation &operation = out.problem.operations.emplace_back();
    operation.name = layer.name;
    operation.stage = out.problem.operations.size() - 1;
    std::vector<LayerConfiguration> &kept = configurations.emplace_back();
    for (bool sparse : {false, true})
      for (unsigned w : front)
        if (sparse == (all[w].sparsity != nullptr)) {
          kept.push_back(all[w]);
          operation.options.push_back(optionOf(all[w]));
        }
    return true;
  }

  /// What the network takes with multipliers without end: each layer unfolded.
  std::string fastest() {
    SelectionProblem whole;
    whole.objective = SelectionObjective::SlowestStage;
    whole.lossBudget = problem.lossBudget;
    for (const DataflowLayer &layer : problem.layers) {
      SelectionOperation &operation = whole.operations.emplace_back();
      operation.name = layer.name;
      operation.stage = whole.operations.size() - 1;
      double min = HUGE_VAL;
      for (size_t z = 0; z <= layer.sparsity.size(); ++z) {
        const DataflowSparsity *sparsity = z == 0 ? nullptr : &layer.sparsity[z - 1];
        double cycles = cyclesOf(layer, unfolded(layer), sparsity).max();
        SelectionOption option;
        option.label = sparsity ? sparsity->label : "dense";
        option.picoseconds = picoseconds(cycles);
        option.loss = sparsity ? sparsity->loss : 0;
        option.sparse = sparsity;
        operation.options.push_back(option);
        if (option.loss <= problem.lossBudget)
          min = std::min(min, cycles);
      }
      minCycles.push_back(min);
    }
    if (std::string error = check(whole); !error.empty())
      return error;
    SelectionResult result = select(whole);
    if (!result.feasible)
      return "";
    double slowest = 0;
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      const DataflowLayer &layer = problem.layers[l];
      unsigned z = result.choice[l];
      DataflowCycles cycles = cyclesOf(layer, unfolded(layer), z == 0 ? nullptr : &layer.sparsity[z - 1]);
      if (cycles.max() > slowest) {
        slowest = cycles.max();
        saturated = cycles;
        out.saturating = l;
      }
    }
    out.maxImagesPerSecond = slowest > 0 ? problem.hertz / slowest : 0;
    return "";
  }

  void read() {
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      const LayerConfiguration &configuration = configurations[l][out.selection.choice[l]];
      DataflowStage &stage = out.stages.emplace_back();
      stage.folding = configuration.folding;
      stage.label = configuration.sparsity ? configuration.sparsity->label : "dense";
      stage.sparse = configuration.sparsity;
      stage.cycles = configuration.cycles;
      stage.multipliers = configuration.multipliers;
      stage.minCycles = minCycles[l];
      add(stage);
    }
    out.loss = out.selection.sums.loss;
    finish();
    out.minInterval =
        out.proven ? out.interval : static_cast<double>(out.selection.bound) / kPicoseconds * problem.hertz;
    out.explanation = explanation();
  }

  std::string infeasible() const {
    int64_t needed = 0;
    for (const SelectionOperation &operation : out.problem.operations) {
      int64_t minMultipliers = operation.options.front().bytes;
      for (const SelectionOption &option : operation.options)
        minMultipliers = std::min(minMultipliers, option.bytes);
      needed += minMultipliers;
    }
    if (needed > problem.fabric.multipliers)
      return fmt::format("{} layers need {} multipliers at least, of which there are {}.", problem.layers.size(),
                         needed, problem.fabric.multipliers);
    return "No choice keeps the multipliers and the accuracy.";
  }

  /// What a layer that is unfolded waits for.
  std::string unfoldedLimit(size_t l) const {
    const DataflowLayer &layer = problem.layers[l];
    switch (saturated.limit()) {
    case DataflowBottleneck::Input:
      return fmt::format("its {} {} come as {} streams of one word a cycle, {} x {} words each", layer.channels,
                         layer.channels == 1 ? "channel" : "channels", layer.channels, layer.inputRows,
                         layer.inputColumns);
    case DataflowBottleneck::Output:
      return fmt::format("its {} filters leave as {} streams of one word a cycle, {} x {} words each", layer.filters,
                         layer.filters, layer.rows, layer.columns);
    case DataflowBottleneck::Products:
      return fmt::format("with all products of a window at once it still takes a cycle for each of {} x {} results",
                         layer.rows, layer.columns);
    }
    return "";
  }

  std::string saturatingLimit() const {
    const DataflowLayer &saturating = problem.layers[out.saturating];
    std::string sparsity;
    if (saturated.limit() != DataflowBottleneck::Products)
      sparsity = ", which zeros would not shorten";
    else if (saturating.sparsity.empty())
      sparsity = ", as it has no zeros to skip";
    return fmt::format("{}: {:.0f} cycles{}.", unfoldedLimit(out.saturating), saturated.max(), sparsity);
  }

  std::string saturation() const {
    return fmt::format("'{}' saturates the device: {} Neither more multipliers nor zeros of other layers shorten the "
                       "interval.",
                       problem.layers[out.saturating].name, saturatingLimit());
  }

  std::string explanation() const {
    const DataflowLayer &saturating = problem.layers[out.saturating];
    const std::string limit = saturatingLimit();
    const std::string &bottleneck = problem.layers[out.bottleneck].name;
    if (out.imagesPerSecond >= out.maxImagesPerSecond)
      return saturation();
    std::string dense = denseShare();
    return fmt::format("'{}' takes the interval; {} of {} multipliers are used, and a shorter one {} more.{} With "
                       "multipliers without end '{}' would limit, to {:.1f} images a second: {}",
                       bottleneck, out.multipliers, problem.fabric.multipliers,
                       out.selection.proven() ? "needs" : "was not found, and may need", dense, saturating.name,
                       out.maxImagesPerSecond, limit);
  }

  /// What layers hold that have no zeros, where others have.
  std::string denseShare() const {
    int64_t dense = 0, sparse = 0;
    for (size_t l = 0; l < out.stages.size(); ++l)
      (problem.layers[l].sparsity.empty() ? dense : sparse) += out.stages[l].multipliers;
    if (dense == 0 || sparse == 0)
      return "";
    const DataflowLayer &first = problem.layers.front();
    bool pixels = first.sparsity.empty() && window(first) > 1;
    return fmt::format(" Layers without zeros{} hold {} of the multipliers ({:.1f} %).",
                       pixels ? ", as the first one, which reads pixels," : "", dense,
                       100.0 * dense / (dense + sparse));
  }
};

} // namespace

DataflowCycles cyclesOf(const DataflowLayer &layer, const DataflowFolding &folding, const DataflowSparsity *sparsity) {
  double groups = layer.groups / folding.groups;
  double in = groups * (layer.channels / layer.groups / folding.in);
  double filters = layer.filters / layer.groups / folding.out;
  double results = double(layer.rows) * layer.columns;
  DataflowCycles cycles;
  if (sparsity && !sparsity->channels.empty())
    cycles.products = results * filters * slowestStream(layer, folding, *sparsity);
  else
    cycles.products = results * in * filters * stepsOf(layer, folding.fine, sparsity ? &sparsity->windows : nullptr);
  cycles.input = double(layer.inputRows) * layer.inputColumns * in;
  cycles.output = results * groups * filters;
  return cycles;
}

int64_t multipliersOf(const DataflowLayer &layer, const DataflowFolding &folding, const DataflowFabric &fabric) {
  __int128 count = static_cast<__int128>(divided(layer.activationBits, fabric.multiplierRows)) *
                   divided(layer.weightBits, fabric.multiplierColumns);
  for (int64_t factor : {folding.groups, folding.in, folding.out, folding.fine})
    count = std::min<__int128>(count * factor, SelectionProblem::kUnlimited);
  return count;
}

std::variant<DataflowResult, std::string> planDataflow(const DataflowProblem &problem) {
  if (!problem.together)
    return DataflowPlanner(problem).run();
  std::optional<DataflowResult> best;
  double minInterval = HUGE_VAL, maxImagesPerSecond = 0;
  bool proven = true;
  for (const std::string &label : labelsOf(problem)) {
    const DataflowProblem one = withLabel(problem, label);
    auto result = DataflowPlanner(one).run();
    auto *found = std::get_if<DataflowResult>(&result);
    if (!found)
      return result;
    proven &= found->proven;
    maxImagesPerSecond = std::max(maxImagesPerSecond, found->maxImagesPerSecond);
    if (found->feasible || !found->proven)
      minInterval = std::min(minInterval, found->minInterval);
    if (!best || (found->feasible && (!best->feasible || found->interval < best->interval)))
      best = std::move(*found);
  }
  best->minInterval = minInterval;
  best->proven = proven || (best->feasible && minInterval >= best->interval);
  best->maxImagesPerSecond = maxImagesPerSecond;
  if (!best->proven && best->feasible)
    best->selection.bound =
        std::min(best->selection.value - 1, static_cast<int64_t>(minInterval * kPicoseconds / problem.hertz));
  return std::move(*best);
}

std::vector<std::string> labelsOf(const DataflowProblem &problem) {
  std::vector<std::string> labels;
  for (const DataflowLayer &layer : problem.layers)
    for (const DataflowSparsity &sparsity : layer.sparsity)
      if (std::find(labels.begin(), labels.end(), sparsity.label) == labels.end())
        labels.push_back(sparsity.label);
  labels.insert(labels.begin(), "dense");
  return labels;
}

DataflowProblem withLabel(DataflowProblem problem, const std::string &label) {
  problem.together = false;
  for (DataflowLayer &layer : problem.layers)
    std::erase_if(layer.sparsity, [&](const DataflowSparsity &sparsity) { return sparsity.label != label; });
  return problem;
}

std::vector<double> binomialZeroHistogram(int64_t window, double share) {
  std::vector<double> out = {1.0};
  for (int64_t i = 0; i < window; ++i) {
    out.push_back(0);
    for (size_t z = out.size(); z-- > 1;)
      out[z] = out[z] * (1 - share) + out[z - 1] * share;
    out[0] *= 1 - share;
  }
  return out;
}

} // namespace accord
