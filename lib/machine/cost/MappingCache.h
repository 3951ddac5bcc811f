// Mappings that were found before: a step has hundreds of operations of few shapes, and machines
// that differ in what no tiles follow from have the same.
#pragma once
#include "lib/machine/cost/InstructionTimings.h"
#include "lib/machine/tiling/Mapping.h"
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace accord {

/// What the mapping of an operation follows from.
struct MappingKey {
  tile::Nest nest;
  int core;
  std::string type;
  double compute, feed, otherBytes; ///< seconds of the whole operation; bytes to the core, and besides
                                    ///< the tiles
  std::string machine;              ///< numbers of its memories and of the core, in bytes
  auto operator<=>(const MappingKey &) const = default;
};

/// For the cost models that ship; safe to share between threads.
class MappingCache {
public:
  std::optional<tile::Mapping> find(const MappingKey &key) {
    std::lock_guard lock(mutex_);
    auto found = mappings_.find(key);
    return found == mappings_.end() ? std::nullopt : std::optional(found->second);
  }
  void insert(MappingKey key, const tile::Mapping &mapping) {
    std::lock_guard lock(mutex_);
    if (mappings_.size() >= kMax)
      mappings_.clear();
    mappings_.emplace(std::move(key), mapping);
  }

  /// Of programs, where many machines are priced that differ in little; null: they are not kept.
  InstructionTimings *timings() { return timings_.get(); }
  void keepTimings() { timings_ = std::make_unique<InstructionTimings>(); }

private:
  static constexpr size_t kMax = 20000; ///< beyond so many all are forgotten: some 40 MB
  std::mutex mutex_;
  std::map<MappingKey, tile::Mapping> mappings_;
  std::unique_ptr<InstructionTimings> timings_;
};

} // namespace accord
