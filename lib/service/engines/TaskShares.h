// Tasks that have a part of a device.
#pragma once
#include "lib/service/engines/Engine.h"
#include <fmt/format.h>

namespace accord::service {

/// The variable in which a program finds its part of the device: a number above 0, at most 1.
constexpr const char *kShareVariable = "ACCORD_DEVICE_SHARE";
inline std::pair<std::string, std::string> shareVariable(int64_t shares, int64_t sharesPerDevice) {
  return {kShareVariable, fmt::format("{}", static_cast<double>(shares) / static_cast<double>(sharesPerDevice))};
}

/// Devices are divided into at most so many shares.
constexpr int64_t kMaxShares = 64;

/// What is wrong with the shares that a task wants of devices that are divided into so many; empty: nothing, or it
/// wants whole devices. `remedy`: what makes such an engine share its devices, or why nothing does.
inline std::string sharesError(const TaskRequest &task, int64_t sharesPerDevice, const std::string &remedy) {
  if (task.shares == 0)
    return {};
  if (task.shares < 0 || task.nodes.size() != 1 || task.devicesPerNode != 1)
    return fmt::format("it wants {} shares of {} devices of {} nodes, and shares are those of one device", task.shares,
                       task.devicesPerNode, task.nodes.size());
  if (sharesPerDevice == 1)
    return "it wants a share of a device, and devices are not shared: " + remedy;
  if (task.shares > sharesPerDevice)
    return fmt::format("it wants {} shares of a device, which has {}", task.shares, sharesPerDevice);
  return {};
}

} // namespace accord::service
