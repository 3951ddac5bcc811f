// Which cores can run an operation, and in which arithmetic.
#include "lib/machine/cost/Estimate.h"
#include <map>

namespace accord {
namespace {

/// FLOP/s of one instance for a type; 0 if the core cannot do it.
double rateOf(const Machine &machine, const Core &core, const std::string &type) {
  // An array or lanes without types do whatever type is asked for.
  if (!core.peak.empty() && !core.peak.count(type))
    return 0;
  return peakOfOne(machine, core, type).value * core.efficiency;
}

} // namespace

std::vector<std::string> fallbackTypes(const std::string &type) {
  static const std::map<std::string, std::vector<std::string>> wider = {
      {"fp4", {"fp8", "fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"fp8", {"fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"bf16", {"fp16", "tf32", "fp32", "fp64"}},
      {"fp16", {"bf16", "tf32", "fp32", "fp64"}},
      {"tf32", {"fp32", "fp64"}},
      {"fp32", {"fp64"}},
      {"int4", {"int8", "int16", "int32", "int64", "fp32"}},
      {"int8", {"int16", "int32", "int64", "fp32"}},
      {"int16", {"int32", "int64", "fp32"}},
      {"int32", {"int64", "fp32"}},
      {"int64", {"fp32"}},
  };
  std::vector<std::string> order{type};
  if (auto more = wider.find(type); more != wider.end())
    order.insert(order.end(), more->second.begin(), more->second.end());
  return order;
}

std::vector<CoreChoice> chooseCores(const Operation &operation, const Machine &machine) {
  std::vector<CoreKind> kinds{operation.core};
  if (operation.core == CoreKind::Tensor)
    kinds.push_back(CoreKind::Vector);
  for (const std::string &type : fallbackTypes(operation.type))
    for (CoreKind kind : kinds) {
      std::vector<CoreChoice> able;
      for (size_t i = 0; i < machine.cores.size(); ++i)
        if (machine.cores[i].kind == kind && rateOf(machine, machine.cores[i], type) > 0)
          able.push_back({static_cast<int>(i), type});
      if (!able.empty())
        return able;
    }
  return {};
}

} // namespace accord
