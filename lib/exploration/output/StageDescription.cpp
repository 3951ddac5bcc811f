#include "lib/exploration/output/StageDescription.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace accord {
namespace {

/// A kind of devices of a cluster, by the name of its accelerator.
struct ClusterDeviceType {
  std::string accelerator;
  int64_t devices = 1;
};

/// Up to the brace that closes the block whose head, with its opening brace, the pattern matches; empty: there is none.
std::string blockAt(const std::string &text, const std::smatch &head) {
  size_t begin = head.position(), at = begin + head.length();
  for (int depth = 1; depth > 0; ++at) {
    if (at == text.size())
      return "";
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
  }
  return text.substr(begin, at - begin);
}

/// The text of a cluster of one kind of servers with devices `accelerator`, with as many servers of
/// devices of each of the kinds as they need. Nothing where it is not of that form.
std::optional<std::string> clusterOfDeviceTypes(const std::string &text, const std::string &accelerator,
                                                int64_t devicesPerNode,
                                                const std::vector<ClusterDeviceType> &deviceTypes) {
  static const std::regex server(R"(\bserver\s+(\w+)\s*(\[[^\]]*\])?\s*\{)");
  const std::regex device(R"(\bdevice\s+(\w+)\s*(\[[^\]]*\])?\s*:\s*)" + accelerator + R"(\b)");
  std::smatch head, found;
  if (!std::regex_search(text, head, server))
    return std::nullopt;
  std::string block = blockAt(text, head), name = head[1], rest = text.substr(head.position() + block.size());
  std::string body = block.substr(std::min<size_t>(block.size(), head.length() - 1));
  if (!std::regex_search(body, found, device) || std::regex_search(rest, server))
    return std::nullopt;
  std::string before = found.prefix(), chip = found[1], after = found.suffix();
  if (std::regex_search(after, std::regex(R"(\bdevice\s)")))
    return std::nullopt;
  if (std::regex_search(rest, std::regex(R"(\bper\s+)" + chip + R"(\b)"))) // of which of them?
    return std::nullopt;
  // What a server declares has a name of its own in each of them.
  std::vector<std::string> declared{chip};
  static const std::regex network(R"(\bnetwork\s+(\w+)\s*\{)");
  for (std::sregex_iterator at(body.begin(), body.end(), network), last; at != last; ++at)
    declared.push_back((*at)[1]);
  std::string servers;
  std::vector<std::string> names;
  for (size_t deviceType = 0; deviceType < deviceTypes.size(); ++deviceType) {
    int64_t each = std::min(devicesPerNode, deviceTypes[deviceType].devices);
    names.push_back(fmt::format("{}_{}", name, deviceType + 1));
    std::string own =
        fmt::format("{}device {}[{}] : {}{}", before, chip, each, deviceTypes[deviceType].accelerator, after);
    for (const std::string &one : declared)
      own = std::regex_replace(own, std::regex(R"(\b)" + one + R"(\b)"), fmt::format("{}_{}", one, deviceType + 1));
    servers += fmt::format("{}server {}[{}] {}", deviceType ? "\n  " : "", names.back(),
                           (deviceTypes[deviceType].devices + each - 1) / each, own);
  }
  // The network between servers; of one server, one like that inside of it.
  const std::regex between(R"(\bconnects\s*=\s*\{?\s*)" + name + R"(\b\s*\}?)");
  std::string list = fmt::format("connects = {{{}}}", fmt::join(names, ", "));
  if (std::regex_search(rest, between)) {
    rest = std::regex_replace(rest, between, list, std::regex_constants::format_first_only);
  } else if (deviceTypes.size() > 1 || deviceTypes.front().devices > devicesPerNode) {
    std::smatch inner;
    if (!std::regex_search(body, inner, network))
      return std::nullopt;
    std::string like = blockAt(body, inner);
    if (like.empty())
      return std::nullopt;
    like = std::regex_replace(like, std::regex(R"(network\s+\w+)"), "network between_servers",
                              std::regex_constants::format_first_only);
    servers += "\n  " + std::regex_replace(like, std::regex(R"(\bconnects\s*=\s*\w+)"), list);
  }
  return head.prefix().str() + servers + rest;
}

} // namespace

MinedStages describeStages(const DesignSpace &space, const std::string &job, int64_t batch, const StagedDesigns &found,
                           const std::string &cluster) {
  MinedStages mined;
  static_cast<StageSearch &>(mined) = found;
  const PlacementProblem &problem = found.problem;
  PlacedBest best{found.value,
                  found.bound,
                  found.plan,
                  found.metrics,
                  problem.parallelConfigs[found.plan.stages.front().parallelConfig],
                  recomputedLayers(problem, found.plan)};
  size_t groups = found.metrics.memory.size();
  std::vector<ClusterDeviceType> deviceTypes;
  for (const PlacementProblem::DeviceType &deviceType : problem.deviceTypes)
    deviceTypes.push_back({deviceType.name, 0});
  for (size_t s = 0; s < found.plan.stages.size(); ++s) {
    const PlacedStage &stage = found.plan.stages[s];
    const PlacementProblem::ParallelConfig &config = problem.parallelConfigs[stage.parallelConfig];
    const StageTimes &times = found.metrics.times[s];
    MinedStage &one = mined.stages.emplace_back();
    one.design = config.deviceType;
    one.first = problem.layers[stage.layers.front()].name;
    one.last = problem.layers[stage.layers.back()].name;
    one.layers = stage.layers.size();
    one.devices = config.devices();
    one.forward = times.forward * 1e-12;
    one.backward = (times.backward + times.weight) * 1e-12;
    one.finish = times.stepTail * 1e-12;
    one.bytes = found.metrics.memory[s % groups];
    if (s < groups)
      deviceTypes[config.deviceType].devices += config.devices();
  }
  mined.step = minedStep(job, batch, best);
  mined.text = fmt::format("/// {}: {:.6g} s a step of {}, {}; a design for each stage.\n", job, mined.step.step,
                           mined.step.batch, mined.step.alternative);
  for (auto [deviceType, chosen] : llvm::zip(deviceTypes, found.designs)) {
    MinedDesign &design = mined.designs.emplace_back();
    design.name = deviceType.accelerator;
    if (auto machine = space.machine(chosen))
      design.machine = std::move(*machine);
    design.chosen = labelsOf(space.parameters(), chosen);
    std::string text = space.text(chosen), head = "accelerator " + space.name();
    if (size_t at = text.find(head); at != std::string::npos)
      text.replace(at, head.size(), "accelerator " + design.name);
    mined.text += text + "\n";
  }
  auto own = clusterOfDeviceTypes(cluster, space.name(), problem.deviceTypes.front().devicesPerNode, deviceTypes);
  if (own)
    mined.text += *own;
  else
    mined.text.clear(),
        mined.left = "its cluster is not one kind of servers with one of devices, or has a price per device";
  return mined;
}

} // namespace accord
