// The guard (lib/launch/Guard.h) before the program of a task.
#pragma once
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include "lib/service/engines/Engine.h"
#include <algorithm>
#include <optional>

namespace accord::service {

/// How a task looks at the devices of its nodes before it starts.
enum class GuardMode : uint8_t {
  Off,     ///< it does not
  On,      ///< a tool on the node has to show what was planned; the name of a type that the catalogue does not have is
           ///< taken for that of a product
  Virtual, ///< there are no devices: names of the engine alone are compared
  Auto     ///< On, for types of the catalogue and where there is a tool; else Virtual
};

/// "off", "on", "virtual", "auto"; nothing for another word.
inline std::optional<GuardMode> guardModeFrom(const std::string &word) {
  constexpr std::pair<const char *, GuardMode> kModes[] = {
      {"off", GuardMode::Off}, {"on", GuardMode::On}, {"virtual", GuardMode::Virtual}, {"auto", GuardMode::Auto}};
  for (const auto &[name, mode] : kModes)
    if (word == name)
      return mode;
  return std::nullopt;
}

/// Makes the layout of a task one pool that says what its devices are called, so that launchers put the guard before it
/// (`LaunchLayout::Pool`). `engineType`: as the engine calls the type; empty: it has no names for types, so there is
/// nothing to compare and no guard.
inline void addGuard(TaskRequest &task, GuardMode mode, const std::string &engineType) {
  if (mode == GuardMode::Off || engineType.empty() || task.devicesPerNode <= 0)
    return;
  LaunchLayout &shape = task.layout;
  if (shape.pools.empty())
    shape.pools.push_back({.name = task.deviceType});
  shape.pools.resize(1);
  LaunchLayout::Pool &pool = shape.pools[0];
  pool.nodes = shape.nodes = static_cast<int64_t>(task.nodes.size());
  pool.perNode = shape.perNode = task.devicesPerNode;
  pool.deviceName = engineType;
  describeDevices(pool, "");
  shape.isVirtual = mode == GuardMode::Virtual || (mode == GuardMode::Auto && productsOf(pool.name).empty());
  const bool isSaid =
      std::ranges::any_of(task.environment, [](const auto &variable) { return variable.first == "ACCORD_GUARD"; });
  if (mode == GuardMode::Auto && !shape.isVirtual && !isSaid)
    task.environment.emplace_back("ACCORD_GUARD", "auto");
}

/// The file of a task's folder where its guards leave their marks.
inline std::string guardMarkOf(const std::string &folder) { return folder + "/refused"; }
/// Marks of nodes of a task; of others there are none.
inline std::map<std::string, std::string> refusalsOf(llvm::StringRef marks, const std::vector<std::string> &nodes) {
  std::map<std::string, std::string> refusals = guardRefusals(marks);
  std::erase_if(refusals, [&](const auto &one) { return std::ranges::find(nodes, one.first) == nodes.end(); });
  return refusals;
}

} // namespace accord::service
