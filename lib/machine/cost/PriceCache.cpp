#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/cost/MappingCache.h"
#include <bit>
#include <functional>

namespace accord {
namespace {

/// Beyond so many all are forgotten: some hundred megabytes.
constexpr size_t kMax = 100000;

/// Numbers and words in a row; no two different rows are the same bytes.
class Row {
public:
  std::string text;
  Row &operator<<(int64_t number) {
    text.append(reinterpret_cast<const char *>(&number), sizeof number);
    return *this;
  }
  Row &operator<<(double number) { return *this << std::bit_cast<int64_t>(number); }
  Row &operator<<(const std::string &word) {
    *this << static_cast<int64_t>(word.size());
    text += word;
    return *this;
  }
  Row &operator<<(const std::vector<Loop> &domain) {
    *this << static_cast<int64_t>(domain.size());
    for (const Loop &loop : domain)
      *this << loop.extent << static_cast<int64_t>(loop.kind);
    return *this;
  }
  Row &operator<<(const std::vector<LoopTensor> &tensors) {
    *this << static_cast<int64_t>(tensors.size());
    for (const LoopTensor &tensor : tensors) {
      *this << tensor.elementBits << int64_t{tensor.written} << static_cast<int64_t>(tensor.sizes.size());
      for (int64_t size : tensor.sizes)
        *this << size;
      *this << static_cast<int64_t>(tensor.dimensions.size());
      for (const auto &terms : tensor.dimensions) {
        *this << static_cast<int64_t>(terms.size());
        for (const LoopTensor::Term &term : terms)
          *this << int64_t{term.loop} << term.stride;
      }
    }
    return *this;
  }
  Row &operator<<(const Core &core) {
    *this << core.name << static_cast<int64_t>(core.kind) << core.count << core.rows << core.cols << core.lanes
          << core.dataflow << int64_t{core.reads} << core.efficiency << core.halfPerformanceWork.value
          << int64_t{core.overlapFill | core.overlapDrain << 1 | core.perInstanceMapping << 2 | core.anyMapping << 3}
          << static_cast<int64_t>(core.origins.count("efficiency")) << static_cast<int64_t>(core.peak.size());
    for (const auto &[type, peak] : core.peak)
      *this << type << peak.value;
    *this << static_cast<int64_t>(core.cyclesOf.size());
    for (const auto &[kind, cycles] : core.cyclesOf)
      *this << kind << cycles;
    return *this;
  }
  Row &operator<<(const Memory &memory) {
    return *this << memory.name << memory.kind << memory.capacity.value << memory.bandwidth.value
                 << memory.latency.value << memory.energy.value << int64_t{memory.doubleBuffered} << memory.ports
                 << memory.banks << memory.portBytesPerCycle << memory.efficiency << memory.sector.value;
  }
};

} // namespace

PriceCache::PriceCache(Detail detail) : detail_(detail), mappings_(std::make_unique<MappingCache>()) {}
PriceCache::~PriceCache() = default;

std::string PriceCache::keyOf(const Operation &op) {
  Row row;
  row << op.kind << op.type << static_cast<int64_t>(op.core) << op.flops << op.bytesRead << op.bytesWritten
      << int64_t{op.contraction} << op.domain << op.tensors << static_cast<int64_t>(op.parts.size());
  for (const FusedPart &part : op.parts)
    row << part.name << part.kind << static_cast<int64_t>(part.core) << part.type << part.flops
        << int64_t{part.contraction} << part.domain << part.tensors;
  return std::move(row.text);
}

std::string PriceCache::keyOf(const Machine &machine, int core, const std::string &model) {
  Row row;
  row << model << machine.clock.value << machine.host.kernel.value << machine.energyPerFlop.value
      << static_cast<int64_t>(machine.energyPerFlopOf.size());
  for (const auto &[type, energy] : machine.energyPerFlopOf)
    row << type << energy.value;
  row << static_cast<int64_t>(machine.memories.size());
  for (const Memory &memory : machine.memories)
    row << memory;
  row << int64_t{core};
  for (int i = 0; i < static_cast<int>(machine.cores.size()); ++i)
    if (core == i || core < 0)
      row << machine.cores[i];
  return std::move(row.text);
}

uint32_t PriceCache::numberOf(const std::string &key) {
  std::lock_guard lock(mutex_);
  return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
}

uint32_t PriceCache::numberOf(const Operation &operation) {
  std::less<> before;
  const Operation *first = operations_.data();
  if (!operations_.empty() && !before(&operation, first) && before(&operation, first + operations_.size()))
    return ofOperations_[&operation - first];
  return numberOf(keyOf(operation));
}

void PriceCache::registerGraph(const WorkGraph &graph) {
  for (const Operation &operation : graph.operations)
    ofOperations_.push_back(numberOf(keyOf(operation)));
  operations_ = graph.operations;
}

size_t PriceCache::Hash::operator()(const PriceKey &priceKey) const {
  uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a, by words
  for (uint32_t word : {priceKey.operation, priceKey.machine, priceKey.type, priceKey.core})
    hash = (hash ^ word) * 0x100000001b3ull;
  return hash ^ (hash >> 32);
}

std::shared_ptr<const PriceCache::Priced> PriceCache::find(const PriceKey &priceKey) {
  std::lock_guard lock(mutex_);
  auto found = prices_.find(priceKey);
  return found == prices_.end() ? nullptr : found->second;
}

void PriceCache::insert(const PriceKey &priceKey, std::shared_ptr<const Priced> priced) {
  std::lock_guard lock(mutex_);
  if (prices_.size() >= kMax)
    prices_.clear();
  prices_.try_emplace(priceKey, std::move(priced));
}

} // namespace accord
