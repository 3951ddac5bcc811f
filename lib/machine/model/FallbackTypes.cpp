#include "lib/machine/model/FallbackTypes.h"
#include <map>

namespace accord {

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

} // namespace accord
