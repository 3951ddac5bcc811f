// What a placement problem takes for granted, in words.
#include "lib/placement/builder/ParallelConfigCosts.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

/// Of what is in the search space besides degrees.
void others(const PlacementProblemRequest &request, const PlacementProblem &p, std::vector<std::string> &all) {
  auto assume = [&](const char *text) { all.push_back(text); };
  bool ring = false, host = request.space.offloadActivations, divided = false;
  for (const ParallelConfig &parallelConfig : p.parallelConfigs) {
    ring |= parallelConfig.ringOverlap;
    host |= parallelConfig.hostStates || parallelConfig.hostWeights;
    divided |= parallelConfig.expert > 1 || parallelConfig.tables != Tables::Whole;
  }
  if (ring)
    assume("tensor_overlap ring: products in as many pieces as devices take no longer, and "
           "exchanging a piece takes no core from them");
  if (host)
    assume("offload: the link to the host carries both directions at once, and nothing but what "
           "is offloaded; two buffers of a layer are on the device");
  if (divided)
    assume("experts and tables that replicas divide are as busy on each of them");
}

} // namespace

std::vector<std::string> assumptionsOf(const PlacementProblemRequest &request,
                                       const std::vector<std::optional<CalibratedPrices>> &prices, size_t numDominated,
                                       const PlacementProblem &p) {
  std::vector<std::string> all;
  auto assume = [&](std::string text) { all.push_back(std::move(text)); };
  bool replicas = false, divided = false, late = false, shards = false;
  for (const ParallelConfig &parallelConfig : p.parallelConfigs) {
    replicas |= parallelConfig.data > 1;
    divided |= parallelConfig.zero > 0 && parallelConfig.data > 1;
    late |= parallelConfig.zero > 1 && parallelConfig.data > 1;
    shards |= parallelConfig.tensor > 1;
  }
  for (const auto &fitted : prices)
    if (fitted)
      assume(fmt::format("times of operations, transfers and exchanges: by the parameters of the "
                         "calibration '{}'",
                         fitted->source()));
  if (replicas)
    assume(fmt::format("gradients are exchanged behind up to {:.0f} % of the last micro-batch's "
                       "backward pass",
                       100 * p.overlapFraction));
  if (divided)
    assume("ZeRO divides states and update evenly among the replicas of a stage");
  if (late)
    assume("ZeRO 2 and 3 scatter gradients in each micro-batch, ZeRO 3 gathers the stage's "
           "weights before each pass; " +
           std::string(prices.front() ? "what hides of either is the calibration's" : "neither is hidden"));
  assume(fmt::format("transfers between stages {}; each device sends its part, and the devices of "
                     "a server share its network",
                     p.blockingTransfers ? "stop the stage that receives them"
                                         : "run beside its passes, one after the other"));
  if (p.uniformClass)
    assume(fmt::format("stages = uniform: each has equally many layers '{}'", p.classes[*p.uniformClass].name));
  if (request.space.uniformRecompute)
    assume("recompute_granularity = model: all layers of a device type save equally what their backward "
           "pass needs, but for those whose recomputation saves nothing");
  if (numDominated > 0)
    assume(fmt::format("{} dominated parallel configurations are pruned: another of the same degrees takes no more of "
                       "anything",
                       numDominated));
  others(request, p, all);
  if (shards)
    assume("what a stage receives in parts is put together without more time");
  for (const Cluster &group : request.groups)
    for (const std::string &text : group.assumptions)
      assume(text);
  return all;
}

std::optional<Error> requireUniformStages(const PlacementProblemRequest &request, const Layering &layering,
                                          PlacementProblem &problem) {
  if (!request.space.uniformStages)
    return std::nullopt;
  int64_t max = 0;
  std::string name;
  for (size_t cls = 0; cls < layering.classes.size(); ++cls)
    if (const Layering::Class &one = layering.classes[cls]; one.iterated && one.count > max)
      max = one.count, name = one.name, problem.uniformClass = cls;
  if (max == 0)
    return Error{Code::NothingToPlace,
                 "stages = uniform: there is no repeat whose iterations stages could share",
                 request.location,
                 {}};
  bool any = request.space.groups.empty();
  for (const PlacementProblem::GroupRange &range : request.space.groups)
    for (int64_t p = range.min; p <= std::min(max, range.max); ++p)
      any |= max % p == 0;
  if (any)
    return std::nullopt;
  return Error{Code::NothingToPlace,
               fmt::format("stages = uniform: no pipeline_parallel in the search space divides the {} "
                           "layers '{}'",
                           max, name),
               request.location,
               {}};
}

Error noDegreesDivide(const PlacementProblemRequest &request, const PlacementProblem &problem) {
  int64_t devices = 0;
  std::vector<int64_t> tensor;
  for (const PlacementSpace::TensorSharding &sharding : request.space.tensorShardings)
    if (tensor.empty() || tensor.back() != sharding.tensor)
      tensor.push_back(sharding.tensor);
  for (const DeviceType &deviceType : problem.deviceTypes)
    devices = std::max(devices, deviceType.devices);
  return {Code::NothingToPlace,
          fmt::format("no choice of tensor_parallel {}, data_parallel {}{} and micro-batch {} "
                      "divides the batch of {} among {} devices",
                      fmt::join(tensor, ", "),
                      request.space.data.empty() ? std::string("any")
                                                 : fmt::format("{}", fmt::join(request.space.data, ", ")),
                      request.space.experts == std::vector<int64_t>{1}
                          ? std::string()
                          : fmt::format(", expert_parallel {} of them", fmt::join(request.space.experts, ", ")),
                      fmt::join(request.space.microbatches, ", "), request.batch, devices),
          request.location,
          {}};
}

std::optional<Error> tooManyPasses(const PlacementProblemRequest &request, const PlacementProblem &problem) {
  int64_t min = INT64_MAX;
  for (const ParallelConfig &parallelConfig : problem.parallelConfigs)
    min = std::min(min, request.batch / parallelConfig.samples());
  if (min <= kMaxSearchedPasses)
    return std::nullopt;
  return Error{Code::NothingToPlace,
               fmt::format("the batch of {} makes {} micro-batches or more with the replicas and "
                           "micro-batches that divide it; at most {} are looked at",
                           request.batch, min, kMaxSearchedPasses),
               request.location,
               {}};
}

} // namespace accord
