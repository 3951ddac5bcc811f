#include "lib/service/engines/TaskGuard.h"
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include <algorithm>

namespace accord::service {

std::optional<GuardMode> guardModeFrom(const std::string &word) {
  constexpr std::pair<const char *, GuardMode> kModes[] = {
      {"off", GuardMode::Off}, {"on", GuardMode::On}, {"virtual", GuardMode::Virtual}, {"auto", GuardMode::Auto}};
  for (const auto &[name, mode] : kModes)
    if (word == name)
      return mode;
  return std::nullopt;
}

void addGuard(TaskRequest &task, GuardMode mode, const std::string &engineType) {
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

} // namespace accord::service
