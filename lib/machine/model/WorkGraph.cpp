#include "lib/machine/model/WorkGraph.h"
#include "lib/machine/model/Lookups.h"
#include <cmath>

namespace accord {

const char *name(Phase phase) {
  constexpr const char *kNames[] = {"forward", "data_gradient", "weight_gradient",
                                    "update",  "communication", "recompute"};
  static_assert(std::size(kNames) == static_cast<size_t>(Phase::Recompute) + 1);
  return kNames[static_cast<unsigned>(phase)];
}

const char *name(CoreKind kind) {
  constexpr const char *kNames[] = {"none", "tensor", "vector", "network"};
  static_assert(std::size(kNames) == static_cast<size_t>(CoreKind::Network) + 1);
  return kNames[static_cast<unsigned>(kind)];
}

const char *name(Category category) {
  constexpr const char *kNames[] = {"weights", "gradients", "optimizer_states", "activations", "temporaries",
                                    "buffers", "inputs"};
  static_assert(std::size(kNames) == kCategories);
  return kNames[static_cast<unsigned>(category)];
}

Count WorkGraph::executions(OperationId id) const {
  Count times = 1;
  RegionId region = operations[id].region;
  for (; region != kMicrobatchRegion && region != kUpdateRegion; region = regions[region].parent)
    times *= regions[region].count;
  return region == kUpdateRegion ? times : times * microbatches;
}

namespace {

double bytesOf(const std::string &type) {
  if (type == "fp64" || type == "int64")
    return 8;
  if (type == "bf16" || type == "fp16" || type == "int16")
    return 2;
  if (type == "fp8" || type == "int8")
    return 1;
  return 4;
}

} // namespace

std::optional<LookupRows> lookupRows(const Operation &op) {
  if (!op.kind.starts_with("embedding") && !op.kind.starts_with("gather"))
    return std::nullopt; // nearly all operations
  bool gradient = op.kind.ends_with("_grad");
  std::string forward = gradient ? op.kind.substr(0, op.kind.size() - 5) : op.kind;
  bool gather = forward == "gather";
  if ((!gather && forward != "embedding" && forward != "embedding_bag") || op.domain.empty())
    return std::nullopt;
  double lookups = 1;
  for (size_t i = 0; i + 1 < op.domain.size(); ++i)
    lookups *= op.domain[i].extent;
  LookupRows out;
  out.written = gradient;
  out.rowBytes = op.domain.back().extent * bytesOf(op.type);
  if (!(out.rowBytes > 0) || !(lookups > 0))
    return std::nullopt;
  if (gather)
    out.rows = lookups;
  else if (gradient)
    out.rows = op.bytesWritten / out.rowBytes;
  else
    for (double index : {8.0, 4.0}) { // the width with which whole rows are left
      double touched = op.bytesRead - lookups * index;
      if (touched >= 0 && std::fmod(touched, out.rowBytes) == 0)
        out.rows = touched / out.rowBytes;
    }
  if (out.rows < 0 || out.rows > lookups)
    return std::nullopt;
  return out;
}

double sectorOverhead(const LookupRows &lookup, double sectorBytes) {
  if (!(sectorBytes > 0))
    return 0;
  double moved = std::ceil(lookup.rowBytes / sectorBytes) * sectorBytes;
  return lookup.rows * (moved - lookup.rowBytes) * (lookup.written ? 2 : 1);
}

} // namespace accord
