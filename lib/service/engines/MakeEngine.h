// An engine from its kind and options, as `accord serve` has them.
#pragma once
#include "lib/service/engines/Engine.h"
#include <map>

namespace accord::service {

using EngineOptions = std::map<std::string, std::string>;

/// A kind of engine: its options, and how one is made of them.
struct EngineKind {
  std::string name; ///< "local"
  std::vector<std::string> options;
  Result<std::unique_ptr<Engine>> (*make)(const EngineOptions &options) = nullptr;
};
/// All, by name.
const std::vector<EngineKind> &engineKinds();

/// Errors: A1203 for a kind or an option that there is not, with those that there are, for a value that is none, and
/// for what the engine refuses. An empty value is no value.
Result<std::unique_ptr<Engine>> makeEngine(const std::string &kind, const EngineOptions &options);

} // namespace accord::service
