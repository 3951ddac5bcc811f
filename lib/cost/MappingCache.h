// Mappings that were found before: a step has hundreds of operations of few shapes.
#pragma once
#include "lib/tile/Mapping.h"
#include <map>
#include <mutex>
#include <optional>

namespace accord {

/// What the mapping of an operation follows from on one machine.
struct MappingKey {
  tile::Nest nest;
  int core;
  std::string type;
  double compute, feed, besides; ///< seconds of the whole operation; bytes to the core, and besides
                                 ///< the tiles
  auto operator<=>(const MappingKey &) const = default;
};

/// For one machine and one cost model; safe to share between threads.
class MappingCache {
public:
  std::optional<tile::Mapping> find(const MappingKey &key) {
    std::lock_guard lock(mutex_);
    auto found = mappings_.find(key);
    return found == mappings_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(MappingKey key, const tile::Mapping &mapping) {
    std::lock_guard lock(mutex_);
    mappings_.emplace(std::move(key), mapping);
  }

private:
  std::mutex mutex_;
  std::map<MappingKey, tile::Mapping> mappings_;
};

} // namespace accord
