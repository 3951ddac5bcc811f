#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/cost/KeyBytes.h"
#include "lib/machine/cost/MappingCache.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <functional>

namespace accord {
namespace {

/// Beyond so many all are forgotten: some hundred megabytes.
constexpr size_t kMax = 100000;

} // namespace

template <int T, int B, int F, int C, int E> static KeyBytes &operator<<(KeyBytes &row, Unit<T, B, F, C, E> unit) {
  return row << unit.value;
}
static KeyBytes &operator<<(KeyBytes &row, const Loop &loop) { return row << loop.extent << loop.kind; }
static KeyBytes &operator<<(KeyBytes &row, const LoopTensor::Term &term) { return row << term.loop << term.stride; }
static KeyBytes &operator<<(KeyBytes &row, const LoopTensor &tensor) {
  return row << tensor.elementBits << tensor.written << tensor.sizes << tensor.dimensions;
}
static KeyBytes &operator<<(KeyBytes &row, const FusedPart &part) {
  return row << part.name << part.kind << part.core << part.type << part.flops << part.contraction << part.domain
             << part.tensors;
}

namespace microarchitecture { // parts without their names and places, on which no time depends
static KeyBytes &operator<<(KeyBytes &row, const CycleExpression::Term &term) { return row << term.kind << term.value; }
static KeyBytes &operator<<(KeyBytes &row, const CycleExpression &expression) { return row << expression.terms; }
static KeyBytes &operator<<(KeyBytes &row, const Opcode &opcode) {
  return row << opcode.reads << opcode.writes << opcode.immediates << opcode.loads << opcode.stores << opcode.redirects
             << opcode.role.does << opcode.role.lanes << opcode.role.m << opcode.role.n << opcode.role.k;
}
static KeyBytes &operator<<(KeyBytes &row, const Stage &stage) {
  return row << stage.capacity << stage.width << stage.latency << stage.to << stage.units;
}
static KeyBytes &operator<<(KeyBytes &row, const UnitOperation &operation) {
  return row << operation.opcode << operation.latency << operation.interval;
}
static KeyBytes &operator<<(KeyBytes &row, const Unit &unit) {
  return row << unit.count << unit.entries << unit.operations << unit.reads << unit.writes << unit.loadsFrom
             << unit.storesTo;
}
static KeyBytes &operator<<(KeyBytes &row, const RegisterFile &file) {
  return row << file.count << file.bits << file.readPorts << file.writePorts << file.renamed << file.counts;
}
static KeyBytes &operator<<(KeyBytes &row, const Storage &storage) {
  row << storage.begin << storage.end << storage.portBytes << storage.ports << storage.banks << storage.requests
      << storage.readLatency << storage.writeLatency << storage.rows.bytes << storage.rows.miss
      << storage.cache.has_value();
  if (const auto &cache = storage.cache)
    row << cache->sets << cache->ways << cache->lineBytes << cache->replacement << cache->writeBack
        << cache->allocatesOnWrite << cache->criticalWordFirst << cache->behind;
  return row;
}
static KeyBytes &operator<<(KeyBytes &row, const Microarchitecture &core) {
  return row << core.window << core.fetch.width << core.fetch.buffer << core.fetch.latency << core.fetch.to
             << core.opcodes << core.stages << core.units << core.registers << core.storages;
}
} // namespace microarchitecture

static KeyBytes &operator<<(KeyBytes &row, const Core &core) {
  row << bool(core.microarchitecture);
  if (core.microarchitecture)
    row << *core.microarchitecture;
  return row << core.name << core.kind << core.count << core.rows << core.cols << core.lanes << core.dataflow
             << core.reads << core.efficiency << core.halfPerformanceWork << core.overlapFill << core.overlapDrain
             << core.perInstanceMapping << core.anyMapping << core.origins.count("efficiency") << core.peak
             << core.cyclesOf;
}
static KeyBytes &operator<<(KeyBytes &row, const Memory &memory) {
  return row << memory.name << memory.kind << memory.capacity << memory.bandwidth << memory.latency << memory.energy
             << memory.doubleBuffered << memory.ports << memory.banks << memory.portBytesPerCycle << memory.efficiency
             << memory.sector;
}

PriceCache::PriceCache(Detail detail) : detail_(detail), mappings_(std::make_unique<MappingCache>()) {
  if (detail == Detail::Numbers)
    mappings_->keepTimings();
}
PriceCache::~PriceCache() = default;

std::string PriceCache::keyOf(const Operation &op) {
  KeyBytes row;
  row << op.kind << op.type << op.core << op.flops << op.bytesRead << op.bytesWritten << op.contraction << op.domain
      << op.tensors << op.parts;
  return std::move(row.text);
}

std::string PriceCache::keyOf(const Machine &machine, int core, const std::string &model) {
  KeyBytes row;
  row << model << machine.clock << machine.host.kernel << machine.energyPerFlop << machine.energyPerFlopOf
      << machine.memories << core;
  for (size_t i = 0; i < machine.cores.size(); ++i)
    if (core < 0 || i == size_t(core))
      row << machine.cores[i];
  return std::move(row.text);
}

std::string PriceCache::keyOf(const microarchitecture::Microarchitecture &machine) {
  KeyBytes row;
  row << machine;
  return std::move(row.text);
}

uint32_t PriceCache::numberOf(const std::string &key) {
  std::lock_guard lock(mutex_);
  return numbers_.try_emplace(key, numbers_.size()).first->second;
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

void PriceCache::insert(const PriceKey &priceKey, const std::shared_ptr<const Priced> &priced) {
  std::lock_guard lock(mutex_);
  if (prices_.size() >= kMax)
    prices_.clear();
  prices_.try_emplace(priceKey, priced);
}

} // namespace accord
