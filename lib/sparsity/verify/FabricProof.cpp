#include "lib/sparsity/verify/FabricProof.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace accord::proof {
namespace {

using Wide = __int128;
constexpr Wide kLimit = Wide(1) << 52; ///< more than any device has

Wide roundedUp(Wide a, Wide b) { return a / b + (a % b != 0); }
int64_t cut(Wide value) { return static_cast<int64_t>(std::min(value, kLimit)); }

/// Ceil of the binary logarithm.
int64_t bitsFor(Wide count) {
  int64_t bits = 0;
  for (Wide reach = 1; reach < count; reach *= 2)
    ++bits;
  return bits;
}

/// One memory: so many bits at once, so many times; where it lies if it is large.
struct Ram {
  Wide bits = 0, words = 0;
  bool ultra = false;
};

void count(const Ram &ram, Wide &tables, Wide &blocks, Wide &ultras) {
  if (ram.bits == 0 || ram.words == 0)
    return;
  if (ram.words <= 32 || std::min(ram.bits, kLimit) * std::min(ram.words, kLimit) <= 1024) {
    tables += ram.bits * roundedUp(ram.words, 32);
    return;
  }
  if (ram.ultra) {
    ultras += roundedUp(ram.bits, 72) * roundedUp(ram.words, 4096);
    return;
  }
  // A block RAM has 16 Kibit of data, and from nine bits on the bits of parity, too.
  Wide min = kLimit;
  for (int64_t width : {1, 2, 4, 9, 18, 36}) {
    const int64_t depth = width < 9 ? 16384 / width : 18432 / width;
    min = std::min(min, roundedUp(ram.bits, width) * roundedUp(ram.words, depth));
  }
  blocks += min;
}

/// A layer in parts of a folding.
struct Parts {
  Wide inputs, results, engines, window; ///< streams of either side, windows at once, products of one
  Wide groups, channels, filters;        ///< one after another
  Wide eachChannels;                     ///< of a stream
};

Parts partsOf(const DataflowLayer &layer, const DataflowFolding &of) {
  Parts out;
  out.inputs = Wide(of.groups) * of.in;
  out.results = Wide(of.groups) * of.out;
  out.engines = out.inputs * of.out;
  out.window = Wide(layer.kernelRows) * layer.kernelColumns;
  out.groups = layer.groups / of.groups;
  out.channels = layer.channels / layer.groups / of.in;
  out.filters = layer.filters / layer.groups / of.out;
  out.eachChannels = layer.channels / out.inputs;
  return out;
}

/// Rows of the input that a layer holds back, and its memories.
struct Held {
  Wide rows = 0;
  std::vector<Ram> rams;
};

Held heldOf(const DataflowLayer &layer, const DataflowFolding &of, bool skipsZeros, const DataflowMemory &memory,
            Wide sumBits) {
  const Parts p = partsOf(layer, of);
  const bool buffers = memory.ultraBuffers, streams = memory.weights == WeightPlace::Streamed;
  const bool byPosition = !streams || memory.passes > layer.rows;
  Held held;
  const Wide turns = streams ? 2 : p.groups * p.channels * p.filters;
  held.rams.push_back({p.engines * (skipsZeros ? p.window : Wide(of.fine)) * layer.weightBits,
                       skipsZeros ? turns : p.window / of.fine * turns, memory.weights == WeightPlace::UltraRam});
  if (byPosition) {
    held.rows = layer.kernelRows - 1;
    held.rams.push_back({p.inputs * layer.activationBits * held.rows, layer.inputColumns * p.eachChannels, buffers});
    held.rams.push_back(
        {p.inputs * layer.activationBits * layer.kernelRows * (layer.kernelColumns - 1), p.eachChannels, buffers});
    if (p.channels > 1)
      held.rams.push_back({p.results * sumBits, p.filters, buffers});
    return held;
  }
  const Wide rows = roundedUp(layer.rows, memory.passes);
  const Wide enter = roundedUp(Wide(layer.inputRows) * rows, layer.rows);
  held.rows = std::min<Wide>(2 * Wide(layer.inputRows), 2 * enter + layer.kernelRows - 1);
  held.rams.push_back({p.inputs * layer.activationBits * layer.kernelRows,
                       roundedUp(held.rows, layer.kernelRows) * layer.inputColumns * p.eachChannels, buffers});
  if (p.channels > 1)
    held.rams.push_back({p.results * sumBits, rows * layer.columns, buffers});
  if (p.groups * p.filters != 1)
    held.rams.push_back({p.results * layer.activationBits, 2 * rows * layer.columns * p.groups * p.filters, buffers});
  return held;
}

/// Steps of a window of which zeros are left out.
double steps(const std::vector<double> &windows, int64_t fine) {
  const int64_t window = std::ssize(windows) - 1;
  double mean = 0;
  for (int64_t left = 1; left <= window; ++left)
    mean += std::ceil(double(left) / fine) * windows[window - left];
  return mean;
}

double ofChannels(const DataflowLayer &layer, const DataflowFolding &of, const DataflowSparsity &sparsity) {
  const Parts p = partsOf(layer, of);
  const int64_t streams = static_cast<int64_t>(p.inputs), inGroup = layer.channels / layer.groups;
  std::vector<double> sums(streams, 0.0);
  std::vector<std::pair<double, int64_t>> order; // by steps, the most first
  for (int64_t c = 0; c < layer.channels; ++c)
    order.emplace_back(-steps(sparsity.channels[c], of.fine), c);
  const bool free = layer.groups == 1 || inGroup == 1;
  if (free)
    std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < layer.channels; ++i) {
    int64_t stream = i % (2 * streams);
    if (stream >= streams)
      stream = 2 * streams - 1 - stream;
    if (!free)
      stream = i / inGroup % of.groups * of.in + i % inGroup % of.in;
    sums[stream] -= order[i].first;
  }
  return *std::max_element(sums.begin(), sums.end());
}

} // namespace

DataflowCycles cyclesOf(const DataflowLayer &layer, const DataflowFolding &of, const DataflowSparsity *sparsity) {
  const Parts p = partsOf(layer, of);
  const double results = double(layer.rows) * layer.columns, filters = double(p.filters);
  const double inputs = double(layer.inputRows) * layer.inputColumns * double(p.groups * p.channels);
  double turns = double(p.groups * p.channels);
  if (!sparsity)
    turns *= double(roundedUp(p.window, of.fine));
  else if (sparsity->channels.empty())
    turns *= steps(sparsity->windows, of.fine);
  else
    turns = ofChannels(layer, of, *sparsity);
  return {results * filters * turns, inputs, results * double(p.groups) * filters};
}

FabricUse useOf(const DataflowLayer &layer, const DataflowFolding &of, bool skipsZeros, const DataflowMemory &memory,
                const DataflowFabric &fabric) {
  const Parts p = partsOf(layer, of);
  const Wide sumBits = layer.weightBits + layer.activationBits + bitsFor(p.window * (layer.channels / layer.groups));
  const Wide pieces =
      roundedUp(layer.activationBits, fabric.multiplierRows) * roundedUp(layer.weightBits, fabric.multiplierColumns);
  const Wide lanes = p.engines * of.fine;
  Wide tables = p.engines * sumBits + lanes * (pieces - 1) * sumBits + (p.inputs + p.results) * layer.activationBits;
  if (skipsZeros)
    tables += lanes * (layer.weightBits + layer.activationBits) * std::max<Wide>(1, roundedUp(p.window - 1, 3)) +
              lanes * p.window;
  Held held = heldOf(layer, of, skipsZeros, memory, sumBits);
  const bool isGate = layer.inputRows == 1 && layer.inputColumns == 1;
  Wide moved = 0;
  for (const DataflowDetour &detour : layer.detours) {
    if (memory.evicts) {
      moved += Wide(2) * detour.rows * detour.columns * detour.channels * detour.bits;
      continue;
    }
    const Wide line = Wide(detour.columns) * detour.channels;
    const Wide rows = std::min<Wide>(2 * Wide(detour.rows),
                                     isGate ? Wide(detour.rows) : roundedUp(held.rows * detour.rows, layer.inputRows));
    const Wide own = Wide(layer.inputRows) * layer.inputColumns * p.eachChannels;
    const Wide atOnce = isGate ? std::max<Wide>(1, 72 / detour.bits) : roundedUp(line * detour.rows, own);
    held.rams.push_back({atOnce * detour.bits, roundedUp(rows * line, atOnce), memory.ultraBuffers});
  }
  Wide blocks = 0, ultras = 0;
  for (const Ram &ram : held.rams)
    count(ram, tables, blocks, ultras);
  FabricUse use;
  use.multipliers = cut(lanes * pieces);
  use.luts = cut(tables), use.blockRams = cut(blocks), use.ultraRams = cut(ultras);
  if (memory.weights == WeightPlace::Streamed)
    moved += Wide(memory.passes) * (layer.channels / layer.groups) * layer.filters * p.window * layer.weightBits;
  use.bits = cut(moved);
  return use;
}

bool isWay(const DataflowLayer &layer, const DataflowFolding &of, bool skipsZeros, const DataflowMemory &memory,
           const FabricResources &resources) {
  const int64_t window = layer.kernelRows * layer.kernelColumns;
  if (std::min({of.groups, of.in, of.out, of.fine}) < 1 || of.fine > window || layer.groups % of.groups != 0 ||
      layer.channels / layer.groups % of.in != 0 || layer.filters / layer.groups % of.out != 0 ||
      (!skipsZeros && window % of.fine != 0))
    return false;
  const bool usesUltra = memory.ultraBuffers || memory.weights == WeightPlace::UltraRam;
  if (usesUltra && resources.ultraRams == 0)
    return false;
  const bool hasBandwidth = resources.bytesPerSecond > 0;
  if (memory.evicts && (!hasBandwidth || layer.detours.empty()))
    return false;
  if (memory.weights != WeightPlace::Streamed)
    return memory.passes == 0;
  const bool isHalved = memory.passes >= 1 && memory.passes <= layer.rows && (memory.passes & (memory.passes - 1)) == 0;
  return hasBandwidth && (isHalved || (layer.columns > 1 && memory.passes == layer.rows * layer.columns));
}

int64_t imageBits(const DataflowProblem &problem) {
  const DataflowLayer &first = problem.layers.front(), &last = problem.layers.back();
  return cut(Wide(first.inputRows) * first.inputColumns * first.channels * first.activationBits) +
         cut(Wide(last.rows) * last.columns * last.filters * last.activationBits);
}

namespace {

constexpr size_t kLimits = 6;
using Row = std::array<double, kLimits>; ///< shares of what there is

/// Ways of each layer that are fast enough, as shares of what there is.
class FasterLayouts {
public:
  FasterLayouts(const DataflowProblem &problem, double max, uint64_t effort)
      : problem(problem), max(max), effort(effort) {
    const FabricResources &has = problem.resources;
    const double none = HUGE_VAL;
    available = {double(problem.fabric.multipliers),
                 has.luts > 0 ? double(has.luts) : none,
                 double(has.blockRams),
                 double(has.ultraRams),
                 problem.lossBudget == SelectionProblem::kUnlimited ? none : double(problem.lossBudget),
                 has.bytesPerSecond > 0 ? max * 8 * has.bytesPerSecond / problem.hertz - double(imageBits(problem))
                                        : none};
  }

  FabricVerdict run() {
    for (double limit : available)
      if (limit < 0)
        return FabricVerdict::Excluded;
    std::vector<size_t> firsts; // a layer of each kind
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      size_t kind = 0;
      while (kind < firsts.size() && !isAlike(problem.layers[firsts[kind]], problem.layers[l]))
        ++kind;
      if (kind == firsts.size()) {
        firsts.push_back(l);
        rows.push_back(waysOf(problem.layers[l]));
        counts.push_back(0);
      }
      ++counts[kind];
      if (rows[kind].empty())
        return FabricVerdict::Excluded;
    }
    if (priced())
      return FabricVerdict::Excluded;
    return searched();
  }

private:
  const DataflowProblem &problem;
  double max;
  uint64_t effort;
  Row available = {};
  std::vector<std::vector<Row>> rows; ///< by kind of layers
  std::vector<int64_t> counts;        ///< of layers of a kind
  Row weights = {};                   ///< a sum of limits that bounds what is left

  static bool isAlike(const DataflowLayer &a, const DataflowLayer &b) {
    if (a.detours.size() != b.detours.size() || a.sparsity.size() != b.sparsity.size())
      return false;
    for (size_t d = 0; d < a.detours.size(); ++d)
      if (a.detours[d].rows != b.detours[d].rows || a.detours[d].columns != b.detours[d].columns ||
          a.detours[d].channels != b.detours[d].channels || a.detours[d].bits != b.detours[d].bits)
        return false;
    for (size_t z = 0; z < a.sparsity.size(); ++z)
      if (a.sparsity[z].windows != b.sparsity[z].windows || a.sparsity[z].channels != b.sparsity[z].channels ||
          a.sparsity[z].loss != b.sparsity[z].loss)
        return false;
    return a.channels == b.channels && a.filters == b.filters && a.groups == b.groups && a.inputRows == b.inputRows &&
           a.inputColumns == b.inputColumns && a.rows == b.rows && a.columns == b.columns &&
           a.kernelRows == b.kernelRows && a.kernelColumns == b.kernelColumns && a.weightBits == b.weightBits &&
           a.activationBits == b.activationBits;
  }

  std::vector<Row> waysOf(const DataflowLayer &layer) const {
    std::vector<int64_t> passes = {0, layer.rows * layer.columns};
    for (int64_t halved = 1; halved <= layer.rows; halved *= 2)
      if (halved != passes[1])
        passes.push_back(halved);
    std::vector<DataflowMemory> memories;
    for (WeightPlace place : {WeightPlace::BlockRam, WeightPlace::UltraRam, WeightPlace::Streamed})
      for (int64_t times : passes)
        for (bool ultra : {false, true})
          for (bool evicts : {false, true})
            if (DataflowMemory memory{place, times, ultra, evicts}; isWay(layer, {}, true, memory, problem.resources))
              memories.push_back(memory);
    std::vector<Row> all;
    const int64_t channels = layer.channels / layer.groups, filters = layer.filters / layer.groups;
    const int64_t window = layer.kernelRows * layer.kernelColumns;
    for (int64_t g = layer.groups; g >= 1; --g)
      for (int64_t in = channels; layer.groups % g == 0 && in >= 1; --in)
        for (int64_t out = filters; channels % in == 0 && out >= 1; --out)
          for (int64_t fine = 1; filters % out == 0 && fine <= window; ++fine)
            addWay(layer, {g, in, out, fine}, memories, all);
    // What another way takes no more of is not needed.
    std::sort(all.begin(), all.end(), [](const Row &a, const Row &b) {
      return std::pair(std::accumulate(a.begin(), a.end(), 0.0), a) <
             std::pair(std::accumulate(b.begin(), b.end(), 0.0), b);
    });
    std::vector<Row> kept;
    for (const Row &row : all) {
      bool needed = true;
      for (size_t k = 0; needed && k < kept.size(); ++k)
        needed = !std::equal(kept[k].begin(), kept[k].end(), row.begin(), std::less_equal<>());
      if (needed)
        kept.push_back(row);
    }
    return kept;
  }

  void addWay(const DataflowLayer &layer, const DataflowFolding &of, const std::vector<DataflowMemory> &memories,
              std::vector<Row> &all) const {
    if (double(of.groups) * of.in * of.out * of.fine > available[0])
      return;
    for (size_t z = 0; z <= layer.sparsity.size(); ++z) {
      const DataflowSparsity *sparsity = z > 0 ? &layer.sparsity[z - 1] : nullptr;
      if ((!sparsity && (layer.kernelRows * layer.kernelColumns) % of.fine != 0) ||
          !(cyclesOf(layer, of, sparsity).max() < max))
        continue;
      std::vector<Row> found; // with this folding
      for (const DataflowMemory &memory : memories) {
        const FabricUse use = useOf(layer, of, sparsity, memory, problem.fabric);
        const Row takes = {double(use.multipliers),
                           double(use.luts),
                           double(use.blockRams),
                           double(use.ultraRams),
                           double(sparsity ? sparsity->loss : 0),
                           double(use.bits)};
        Row row;
        bool fits = true;
        for (size_t k = 0; k < kLimits; ++k) {
          fits &= takes[k] <= available[k];
          row[k] = std::isinf(available[k]) || takes[k] == 0 ? 0 : takes[k] / available[k];
        }
        if (fits)
          found.push_back(row);
      }
      for (size_t a = 0; a < found.size(); ++a) {
        bool needed = true;
        for (size_t b = 0; needed && b < found.size(); ++b)
          needed = a == b || (found[a] == found[b] && a < b) ||
                   !std::equal(found[b].begin(), found[b].end(), found[a].begin(), std::less_equal<>());
        if (needed)
          all.push_back(found[a]);
      }
    }
  }

  static double product(const Row &a, const Row &b) {
    double sum = 0;
    for (size_t k = 0; k < kLimits; ++k)
      sum += a[k] * b[k];
    return sum;
  }

  /// A sum of limits, each with a weight, that even the least of each layer exceeds. Weights follow what is exceeded,
  /// by steps that become smaller (a subgradient method).
  bool priced() {
    Row at;
    at.fill(1.0 / kLimits);
    double best = -1;
    for (unsigned step = 1; step <= 1500; ++step) {
      Row used = {};
      double sum = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        const Row *cheapest = nullptr;
        double price = HUGE_VAL;
        for (const Row &way : rows[i])
          if (double of = product(way, at); of < price)
            price = of, cheapest = &way;
        sum += price * double(counts[i]);
        for (size_t k = 0; k < kLimits; ++k)
          used[k] += (*cheapest)[k] * double(counts[i]);
      }
      if (sum > best)
        best = sum, weights = at;
      if (sum > 1 + 1e-9)
        return true;
      double total = 0;
      for (size_t k = 0; k < kLimits; ++k) {
        at[k] = std::max(0.0, at[k] + 0.3 / std::sqrt(double(step)) * std::clamp(used[k] - 1, -0.5, 0.5));
        total += at[k];
      }
      if (total == 0)
        return false;
      for (double &weight : at)
        weight /= total;
    }
    return false;
  }

  FabricVerdict searched() {
    // The weighted sum, then each limit by itself.
    std::vector<Row> by = {weights};
    for (size_t k = 0; k < kLimits; ++k) {
      Row one = {};
      one[k] = 1;
      by.push_back(one);
    }
    auto price = [&](const Row &row) { return product(row, weights); };
    for (std::vector<Row> &ways : rows)
      std::sort(ways.begin(), ways.end(), [&](const Row &a, const Row &b) { return price(a) < price(b); });
    std::vector<std::pair<double, size_t>> spread;
    for (size_t i = 0; i < rows.size(); ++i)
      spread.emplace_back(price(rows[i].front()) - price(rows[i].back()), i);
    std::sort(spread.begin(), spread.end());
    for (const auto &[of, kind] : spread)
      order.insert(order.end(), counts[kind], kind);
    left.assign(order.size() + 1, std::vector<double>(by.size(), 0.0));
    for (size_t l = order.size(); l-- > 0;)
      for (size_t b = 0; b < by.size(); ++b) {
        double min = HUGE_VAL;
        for (const Row &way : rows[order[l]])
          min = std::min(min, product(way, by[b]));
        left[l][b] = left[l + 1][b] + min;
      }
    bounds = by;
    return branch(0, 0, Row{});
  }

  std::vector<Row> bounds;
  std::vector<size_t> order;             ///< kinds of the layers, equal ones behind each other
  std::vector<std::vector<double>> left; ///< from a layer on, the smallest sums by each bound

  /// Equal layers take their ways in one order.
  FabricVerdict branch(size_t layer, size_t from, const Row &used) {
    if (layer == order.size())
      return FabricVerdict::Possible;
    const std::vector<Row> &ways = rows[order[layer]];
    for (size_t w = layer > 0 && order[layer - 1] == order[layer] ? from : 0; w < ways.size(); ++w) {
      if (effort == 0)
        return FabricVerdict::Unknown;
      --effort;
      Row sum = used;
      for (size_t k = 0; k < kLimits; ++k)
        sum[k] += ways[w][k];
      bool fits = true;
      for (size_t b = 0; fits && b < bounds.size(); ++b) {
        fits = product(sum, bounds[b]) + left[layer + 1][b] <= 1 + 1e-9;
        if (!fits && b == 0)
          return FabricVerdict::Excluded; // the others cost more
      }
      if (!fits)
        continue;
      if (FabricVerdict found = branch(layer + 1, w, sum); found != FabricVerdict::Excluded)
        return found;
    }
    return FabricVerdict::Excluded;
  }
};

} // namespace

FabricVerdict excludeBelow(const DataflowProblem &problem, double max, uint64_t effort) {
  return FasterLayouts(problem, max, effort).run();
}

} // namespace accord::proof
