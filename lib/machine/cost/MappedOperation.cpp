#include "lib/machine/cost/MappedOperation.h"
#include "lib/machine/cost/KeyBytes.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <typeinfo>

namespace accord {
namespace {

size_t levelsOf(const CostQuery &query) { return accord::levelsOf(query.machine, query.machine.cores[query.core]); }

/// Nodes of a search: nearly all with one memory on the chip end before this, of those with more
/// most do.
constexpr int64_t kNodesOfOne = 200000, kNodesOfMore = 40000;

std::vector<tile::Level> levelsFor(const CostQuery &query) {
  std::vector<tile::Level> levels;
  for (size_t i = 0; i < levelsOf(query); ++i) {
    const Memory &memory = query.machine.memories[i];
    tile::Level level;
    level.name = memory.name;
    level.capacity = memory.capacity;
    level.bandwidth = memory.bandwidth * memory.efficiency;
    level.latency = memory.latency;
    level.doubleBuffered = overlapsTransfers(memory);
    levels.push_back(level);
  }
  return levels;
}

/// Each element of the tensors once.
double bytesOf(const tile::Nest &nest) {
  std::vector<int64_t> extents;
  for (const tile::NestLoop &loop : nest.loops)
    extents.push_back(loop.extent);
  double bytes = 0;
  for (const tile::NestTensor &tensor : nest.tensors)
    bytes += tile::elements(tensor, extents) * tensor.elementBits / 8;
  return bytes;
}

/// How far a mapping can be from the best: no tiles compute less than the whole at once, and no
/// link carries less than each element of the tensors once.
double gapOf(const tile::Mapping &mapping, const std::vector<tile::Level> &levels, Seconds whole,
             const tile::SearchLimits &limits, double tensors) {
  Seconds bound = std::max(whole, limits.minCompute);
  for (size_t l = levels.size() - 1; l > 0; --l) {
    const tile::Level &behind = levels[l - 1];
    Seconds link = behind.bandwidth.value > 0
                       ? behind.latency + (Bytes(tensors) + levels[l].otherBytes) / behind.bandwidth
                       : Seconds(0);
    bound = levels[l].doubleBuffered ? std::max(bound, link) : bound + link;
  }
  return mapping.time > bound ? 1 - bound / mapping.time : 0;
}

/// "vmem 256x512x128, m n k outside in: A 2x".
std::string textOf(const tile::Nest &nest, const std::vector<tile::Level> &levels, const tile::Mapping &mapping,
                   double gap) {
  std::string text = fmt::format("{}", fmt::join(tile::describe(nest, levels, mapping), "; "));
  if (!mapping.exact)
    text += fmt::format("; the best takes at most {:.2g} % less", 100 * gap);
  return text;
}

/// All of a machine that tiles follow from besides what the operation takes whole. Bandwidth of the
/// nearest memory is none of it where the arithmetic takes longer than its transfer, in any tiles.
std::string keyOf(const CostQuery &query, const CostModel &model, const std::vector<tile::Level> &levels, Seconds whole,
                  const tile::SearchLimits &limits) {
  KeyBytes key;
  for (size_t l = 0; l < levels.size(); ++l)
    key << (l > 0 ? levels[l].capacity.value : 0.0) << levels[l].latency.value
        << (l + 1 < levels.size() ? levels[l].bandwidth.value : 0.0) << levels[l].doubleBuffered;
  const Core &core = query.machine.cores[query.core];
  key << (limits.minCompute.value < whole.value * (1 - 1e-6) ? 0.0 : limits.minCompute.value) << core.rows << core.cols
      << core.lanes << core.count << core.overlapFill << core.overlapDrain << core.perInstanceMapping << core.dataflow
      << std::string(typeid(model).name());
  return std::move(key.text);
}

} // namespace

bool isMapped(const CostQuery &query) {
  const Operation &op = query.operation;
  size_t levels = levelsOf(query);
  if (!op.contraction || !op.parts.empty() || op.tensors.empty() || levels < 2)
    return false;
  for (size_t i = 1; i < levels; ++i)
    if (query.machine.memories[i].capacity.value <= 0)
      return false;
  return std::all_of(op.domain.begin(), op.domain.end(), [](const Loop &loop) { return loop.extent > 0; });
}

Result<MappedOperation> mapOperation(const CostQuery &query, const ComputeTime &whole, const CostModel &model,
                                     Assumptions &assumptions) {
  const Operation &op = query.operation;
  tile::GroupedNest grouped = tile::grouped(tile::nestOf(op.domain, op.tensors));
  std::vector<tile::Level> levels = levelsFor(query);
  double tensors = bytesOf(grouped.nest);
  // What the operation moves besides its tensors: gradients that are added up where they lie.
  Bytes otherBytes(std::max(0.0, compulsoryBytes(op).value - tensors));
  for (size_t l = 1; l < levels.size(); ++l)
    levels[l].otherBytes = otherBytes;
  Bytes feed = model.feed(query);
  const Memory &nearest = query.machine.memories[levels.size() - 1];
  tile::SearchLimits limits;
  limits.nodes = levels.size() == 2 ? kNodesOfOne : kNodesOfMore;
  if (nearest.bandwidth.value > 0)
    limits.minCompute = nearest.latency + feed / (nearest.bandwidth * nearest.efficiency);
  limits.floor = model.tileFloor(query, whole, grouped.members);

  MappingKey key{grouped.nest,
                 query.core,
                 query.type,
                 whole.time.value,
                 feed.value,
                 otherBytes.value,
                 keyOf(query, model, levels, whole.time, limits)};
  std::optional<tile::Mapping> best;
  if (query.mappings)
    best = query.mappings->find(key);
  if (!best) {
    auto found = tile::bestMapping(grouped.nest, levels, model.tileTime(query, whole, grouped.members), limits);
    if (!found) {
      found.error().message = fmt::format("'{}': {}", op.name, found.error().message);
      found.error().location = op.location;
      return found.takeError();
    }
    best = std::move(*found);
    if (query.mappings)
      query.mappings->insert(std::move(key), *best);
  }

  MappedOperation mapped;
  mapped.compute = {best->compute, whole.formula};
  if (best->compute.value > whole.time.value * (1 + 1e-9))
    mapped.compute.formula += fmt::format(", in tiles {:.6g} times as long", best->compute / whole.time);
  mapped.traffic.gap = best->exact ? 0 : std::min(best->gap, gapOf(*best, levels, whole.time, limits, tensors));
  mapped.traffic.text = textOf(grouped.nest, levels, *best, mapped.traffic.gap);
  mapped.traffic.bytes.resize(query.machine.memories.size());
  mapped.traffic.bytes[levels.size() - 1] = feed;
  for (size_t l = 0; l < best->levels.size(); ++l) {
    const tile::LevelMapping &level = best->levels[l];
    mapped.traffic.bytes[l] = level.bytes + otherBytes;
    mapped.traffic.tiles.push_back({int(l) + 1, grouped.members, level.tile, level.order});
  }
  if (!best->exact)
    assumptions.insert("tiles of some operations are not proven optimal: the search ended at its work limit, the "
                       "formula says how far from the best at most");
  return mapped;
}

} // namespace accord
