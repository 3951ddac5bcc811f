// Prices of operations that were found before: on machines that differ in one core, only its
// operations are priced again.
#pragma once
#include "lib/cost/CostModel.h"
#include <memory>
#include <mutex>
#include <unordered_map>

namespace accord {

/// For machines of all kinds and the cost models that ship; safe to share between threads. What it
/// gives is what `estimate` finds without it.
class PriceCache {
public:
  struct Priced {
    OperationCost cost;
    Assumptions words;
  };
  /// All of an operation that its price follows from, in bytes.
  static std::string keyOf(const Operation &operation);
  /// All of a machine that the price of an operation on this core follows from; -1: of a fused
  /// operation, whose parts may run on any.
  static std::string keyOf(const Machine &machine, int core, const std::string &model);

  /// A number that stands for a key of `keyOf`.
  uint32_t numberOf(const std::string &key);
  /// Null: not known.
  std::shared_ptr<const Priced> find(uint32_t operation, uint32_t machine);
  void keep(uint32_t operation, uint32_t machine, std::shared_ptr<const Priced> priced);

private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<uint64_t, std::shared_ptr<const Priced>> prices_;
};

} // namespace accord
