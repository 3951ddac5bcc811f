#include "lib/driver/exploration/MineStages.h"
#include "lib/driver/exploration/MinePlacement.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace accord {
namespace {

/// Behind the brace that closes the one at `open`; npos where none does.
size_t behindBlock(const std::string &text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0)
      return at + 1;
  }
  return std::string::npos;
}

} // namespace

bool mayMineStages(const MineOptions &options, MineJobs &jobs) {
  if (options.stages == 0)
    return true;
  Session &session = jobs.first();
  auto refused = [&](SourceRange at, const std::string &what, const std::string &help) {
    session.diagnostics().error(Code::NotSupported, at, "not supported yet: " + what).help(help);
    return false;
  };
  if (jobs.size() > 1)
    return refused({}, "a design for each stage of several files", "mine one file with --stages");
  if (!jobs.placed(0))
    return refused(session.job().targetAt, "stages of a job on one device, which has no pipeline",
                   "train on a cluster, or leave out --stages");
  if (jobs.minesClusters())
    return refused(session.job().targetAt, "stages on a cluster that leaves numbers open",
                   "state the numbers of the cluster, or leave out --stages");
  if (jobs.metric() == MiningMetric::Expression)
    return refused(session.job().expression ? session.job().expression->at : SourceRange{},
                   "a design for each stage by an expression",
                   "--metric step_time, tdp_time or area_time, or leave out --stages");
  const PlacementSpace &placementSpace = jobs.placements(0, {})->job().request.space;
  auto pipes = [](PipelineSchedule one) { return one == PipelineSchedule::GPipe || one == PipelineSchedule::OneFOneB; };
  if (std::none_of(placementSpace.schedules.begin(), placementSpace.schedules.end(), pipes))
    return refused(session.job().targetAt, "a design for each stage of schedules other than gpipe and one_f_one_b",
                   "add one of them: schedule = one_f_one_b");
  if (!placementSpace.groups.empty() && placementSpace.groups.back().max == 1)
    return refused(session.job().targetAt, "stages where the search space has no pipeline",
                   "add pipeline_parallel above 1, or leave out --stages");
  return true;
}

std::optional<MinedStages> minedStages(const MineOptions &options, MineJobs &jobs, const PlacedBest &placed,
                                       const Design &common, const std::atomic<bool> *stop) {
  StageOptions how;
  how.each = options.stages;
  how.threads = options.session.threads;
  how.stop = stop;
  DesignSpace &space = jobs.space();
  auto found = mineStages(space, *jobs.placements(0, {}), jobs.metric(), common, placed, how);
  if (!found)
    return std::nullopt;
  MinedStages mined;
  mined.value = found->value, mined.common = found->common, mined.bound = found->bound;
  mined.candidates = found->candidates, mined.evaluations = found->valued;
  mined.bounds = found->bounds, mined.proof = found->proof;
  const PlacementProblem &problem = found->problem;
  PlacedBest best;
  best.value = found->value, best.bound = found->bound;
  best.plan = found->plan, best.metrics = found->metrics;
  best.parallelConfig = problem.parallelConfigs[found->plan.stages.front().parallelConfig];
  size_t groups = found->metrics.memory.size();
  std::vector<ClusterDeviceType> deviceTypes;
  for (const PlacementProblem::DeviceType &deviceType : problem.deviceTypes)
    deviceTypes.push_back({deviceType.name, 0});
  for (size_t s = 0; s < found->plan.stages.size(); ++s) {
    const PlacedStage &stage = found->plan.stages[s];
    const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[stage.parallelConfig];
    for (size_t i = 0; i < stage.layers.size(); ++i)
      ++best.recomputePolicies
            [problem.cost(stage.layers[i], stage.parallelConfig)->recomputeChoices[stage.recomputeChoices[i]].policy];
    const StageTimes &times = found->metrics.times[s];
    MinedStage one;
    one.design = parallelConfig.deviceType;
    one.first = problem.layers[stage.layers.front()].name;
    one.last = problem.layers[stage.layers.back()].name;
    one.layers = stage.layers.size();
    one.devices = parallelConfig.devices();
    one.forward = times.forward * 1e-12;
    one.backward = (times.backward + times.weight) * 1e-12;
    one.finish = times.stepTail * 1e-12;
    one.bytes = found->metrics.memory[s % groups];
    mined.stages.push_back(std::move(one));
    if (s < groups)
      deviceTypes[parallelConfig.deviceType].devices += parallelConfig.devices();
  }
  const MiningJob &job = jobs.jobs().front();
  mined.step = minedStep(job.name, job.batch, best);
  mined.text = fmt::format("/// {}: {:.6g} s a step of {}, {}; a design for each stage.\n", job.name, mined.step.step,
                           mined.step.batch, mined.step.alternative);
  for (size_t deviceType = 0; deviceType < deviceTypes.size(); ++deviceType) {
    MinedDesign &design = mined.designs.emplace_back();
    design.name = deviceTypes[deviceType].accelerator;
    auto machine = space.machine(found->designs[deviceType]);
    if (auto *known = machine.get())
      design.machine = std::move(*known);
    for (size_t i = 0; i < found->designs[deviceType].size(); ++i)
      design.chosen.push_back(space.parameters()[i].labels[found->designs[deviceType][i]]);
    std::string text = space.text(found->designs[deviceType]), head = "accelerator " + space.name();
    if (size_t at = text.find(head); at != std::string::npos)
      text.replace(at, head.size(), "accelerator " + design.name);
    mined.text += text + "\n";
  }
  auto cluster = clusterOfDeviceTypes(jobs.session(0).target().clusterText({}), space.name(),
                                      problem.deviceTypes.front().devicesPerNode, deviceTypes);
  if (cluster)
    mined.text += *cluster;
  else
    mined.text.clear(),
        mined.left = "its cluster is not one kind of servers with one of devices, or has a price per device";
  return mined;
}

std::optional<std::string> clusterOfDeviceTypes(const std::string &text, const std::string &accelerator,
                                                int64_t devicesPerNode,
                                                const std::vector<ClusterDeviceType> &deviceTypes) {
  static const std::regex server(R"(\bserver\s+(\w+)\s*(\[[^\]]*\])?\s*\{)");
  const std::regex device(R"(\bdevice\s+(\w+)\s*(\[[^\]]*\])?\s*:\s*)" + accelerator + R"(\b)");
  std::smatch head;
  if (!std::regex_search(text, head, server))
    return std::nullopt;
  auto begin = static_cast<size_t>(head.position());
  size_t open = begin + static_cast<size_t>(head.length()) - 1, end = behindBlock(text, open);
  if (end == std::string::npos)
    return std::nullopt;
  std::string name = head[1], body = text.substr(open, end - open), rest = text.substr(end);
  std::smatch found;
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
    std::string block =
        fmt::format("{}device {}[{}] : {}{}", before, chip, each, deviceTypes[deviceType].accelerator, after);
    for (const std::string &one : declared)
      block = std::regex_replace(block, std::regex(R"(\b)" + one + R"(\b)"), fmt::format("{}_{}", one, deviceType + 1));
    servers += fmt::format("{}server {}[{}] {}", deviceType ? "\n  " : "", names.back(),
                           (deviceTypes[deviceType].devices + each - 1) / each, block);
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
    auto from = static_cast<size_t>(inner.position());
    size_t to = behindBlock(body, from + static_cast<size_t>(inner.length()) - 1);
    if (to == std::string::npos)
      return std::nullopt;
    std::string block = body.substr(from, to - from);
    block = std::regex_replace(block, std::regex(R"(network\s+\w+)"), "network between_servers",
                               std::regex_constants::format_first_only);
    block = std::regex_replace(block, std::regex(R"(\bconnects\s*=\s*\w+)"), list);
    servers += "\n  " + block;
  }
  return text.substr(0, begin) + servers + rest;
}

} // namespace accord
