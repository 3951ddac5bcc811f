#include "lib/placement/verify/DeviceMemoryRules.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Bytes on a device whose tensors take so many.
long double bytesOnDevice(const DeviceMemory &with, int64_t tensors) {
  long double reserved =
      std::ceil(static_cast<long double>(with.reservedRatio * static_cast<double>(tensors + with.buckets)));
  return reserved + with.context + with.communication;
}

bool fitsOn(const DeviceMemory &with, const DeviceMemory::Type &type, int64_t tensors) {
  long double bytes = bytesOnDevice(with, tensors);
  bool limited = type.limit <= 0 || bytes <= type.limit;
  return limited && bytes <= std::floor(static_cast<double>(type.capacity) / (1 + with.margin));
}

} // namespace

Errors deviceMemoryViolations(const PlacementPlan &plan) {
  Errors errors;
  if (!plan.deviceMemory)
    return errors;
  const DeviceMemory &with = *plan.deviceMemory;
  for (size_t i = 0; i < plan.problem.deviceTypes.size(); ++i) {
    const DeviceType &type = plan.problem.deviceTypes[i];
    bool none = type.memory == 0 && !fitsOn(with, with.types[i], 1); // what lies beside tensors takes all
    bool max = fitsOn(with, with.types[i], type.memory) && !fitsOn(with, with.types[i], type.memory + 1);
    if (!none && !max)
      errors.push_back({Code::WrongMemory,
                        fmt::format("{} bytes are stated to be left to tensors on '{}', by '{}' it is another number",
                                    type.memory, type.name, with.framework),
                        type.location,
                        {}});
  }
  if (!plan.result.plan)
    return errors;
  for (size_t g = 0; g < plan.result.metrics.memory.size() && g < plan.result.plan->stages.size(); ++g) {
    size_t of = plan.problem.parallelConfigs[plan.result.plan->stages[g].parallelConfig].deviceType;
    int64_t tensors = plan.result.metrics.memory[g];
    if (!fitsOn(with, with.types[of], tensors))
      errors.push_back(
          {Code::MemoryExceeded,
           fmt::format("group {} has {:.0f} bytes on each '{}' with '{}', which has {}, and a margin of {}", g,
                       static_cast<double>(bytesOnDevice(with, tensors)), plan.problem.deviceTypes[of].name,
                       with.framework, with.types[of].capacity, with.margin),
           plan.problem.deviceTypes[of].location,
           {}});
  }
  return errors;
}

} // namespace accord
