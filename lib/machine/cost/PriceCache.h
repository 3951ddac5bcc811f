// Prices of operations that were found before: on machines that differ in one core, only its
// operations are priced again.
#pragma once
#include "lib/machine/cost/CostModel.h"
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

namespace accord {
class MappingCache;

/// For machines of all kinds and the cost models that ship; safe to share between threads. What it
/// gives is what `estimate` finds without it.
class PriceCache {
public:
  /// What is kept: all, or without what only people read (formulas, tiles, assumptions), which is
  /// most of a price and half of the time that looking it up takes.
  enum class Detail : uint8_t { All, Numbers };
  explicit PriceCache(Detail detail = Detail::All);
  ~PriceCache();
  Detail detail() const { return detail_; }

  struct Priced {
    OperationCost cost;
    Assumptions words;
  };
  /// All of an operation that its price follows from, in bytes.
  static std::string keyOf(const Operation &operation);
  /// All of a machine that the price of an operation on this core follows from; -1: of a fused
  /// operation, whose parts may run on any.
  static std::string keyOf(const Machine &machine, int core, const std::string &model);

  /// All of a microarchitecture that times follow from.
  static std::string keyOf(const microarchitecture::Microarchitecture &machine);

  /// Numbers the operations of a graph, which outlives this cache and stays as it is. Once, before
  /// anything is asked for.
  void registerGraph(const WorkGraph &graph);
  /// A number that stands for a key of `keyOf`, or for that of an operation.
  uint32_t numberOf(const std::string &key);
  uint32_t numberOf(const Operation &operation);

  /// Of an operation on a core, in this arithmetic: numbers of their keys.
  struct PriceKey {
    uint32_t operation = 0, machine = 0, type = 0, core = 0;
    friend bool operator==(const PriceKey &, const PriceKey &) = default;
  };
  /// Null: not known.
  std::shared_ptr<const Priced> find(const PriceKey &priceKey);
  void insert(const PriceKey &priceKey, const std::shared_ptr<const Priced> &priced);

  MappingCache &mappings() { return *mappings_; } ///< of all machines

private:
  struct Hash {
    size_t operator()(const PriceKey &priceKey) const;
  };
  const Detail detail_;
  std::span<const Operation> operations_; ///< of the graph that is known
  std::vector<uint32_t> ofOperations_;
  std::unique_ptr<MappingCache> mappings_;
  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<PriceKey, std::shared_ptr<const Priced>, Hash> prices_;
};

} // namespace accord
