#include "lib/jobs/output/TenantQueues.h"
#include "lib/launch/Guard.h"
#include "lib/launch/LaunchProgram.h"
#include "lib/placement/output/PlacementFigures.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

std::string jobName(const std::string &text) {
  static const std::set<std::string> values{"true", "false", "null", "yes", "no",
                                            "on",   "off",   "y",    "n"}; // of YAML, not text
  std::string label = labelOf(text, "train-", 50); // a pod's name has its index besides, and at most 63 characters
  return values.count(label) ? "train-" + label : label;
}

std::string plainText(const LaunchLayout &shape) {
  return fmt::format("#!/usr/bin/env bash\n# {}\n"
                     "# Run on each of {} servers with {} devices: "
                     "NODE_RANK=0 MASTER_ADDR=server0 ./torchrun.sh train.py ARGUMENTS\n"
                     "set -euo pipefail\n{}{}{}exec {} \\\n  \"$@\"\n",
                     shape.title, shape.nodes, shape.perNode, rendezvousText(shape), exportsOf(shape),
                     guardLines(shape), torchrunText(shape));
}

std::string megatronText(const LaunchLayout &shape, const MegatronArguments &megatron) {
  std::string arguments, remarks;
  for (const std::string &argument : megatron.arguments)
    arguments += "  " + argument + "\n";
  for (const std::string &remark : megatron.remarks)
    remarks += "# " + sanitized(remark) + "\n";
  return fmt::format("#!/usr/bin/env bash\n# {}\n"
                     "# Run on each of {} servers with {} devices: NODE_RANK=0 MASTER_ADDR=server0 "
                     "MEGATRON=/path ./megatron.sh ARGUMENTS\n"
                     "# ARGUMENTS are those that the plan does not decide: data, learning rate, "
                     "length of the run.\n"
                     "{}set -euo pipefail\n"
                     ": \"${{MEGATRON:?folder of Megatron-LM}}\"\n{}{}"
                     "# Megatron-LM asks for it where tensor parallel exchanges overlap with products.\n"
                     "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                     "arguments=(\n{})\n{}exec {} \\\n  \"$MEGATRON/{}\" "
                     "\"${{arguments[@]}}\" \"$@\"\n",
                     shape.title, shape.nodes, shape.perNode, remarks, rendezvousText(shape), exportsOf(shape),
                     arguments, guardLines(shape), torchrunText(shape), megatron.script);
}

} // namespace

std::string guardLines(const LaunchLayout &shape) {
  if (shape.pools.front().products.empty())
    return "";
  return "# What has to be there, on each server, before anything starts; ACCORD_GUARD=off starts unchecked.\n" +
         guardText(guardOf(shape)) + "accord_guard || exit\n";
}

std::string exportsOf(const LaunchLayout &shape) {
  std::string text;
  for (const auto &[key, value] : shape.environment)
    text += fmt::format("export {}=\"{}\"\n", key, value);
  return text;
}

std::string sanitized(const std::string &text) {
  std::string out;
  for (char c : text)
    out += llvm::isAlnum(c) || llvm::StringRef(" _-.,:;()[]+*/%=|'").contains(c) ? c : '_';
  return out;
}

std::string labelOf(const std::string &text, const std::string &prefix, size_t max) {
  std::string out;
  for (char c : text)
    if (llvm::isAlnum(c))
      out += llvm::toLower(c);
    else if (!out.empty() && out.back() != '-')
      out += '-';
  if (out.empty() || !llvm::isAlpha(out[0]))
    out = prefix + out;
  return llvm::StringRef(out).take_front(max).rtrim('-').str();
}

std::vector<bool> blocksOf(const PlacementPlan &plan) {
  const auto &layers = plan.problem.layers;
  std::vector<bool> isBlock(layers.size());
  size_t first = 0, last = 0;
  bool all = plan.architecture && plan.architecture->family == ModelArchitecture::Family::EncoderDecoder;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end].of == layers[i].of)
      ++end;
    if (all && end - i > 1)
      std::fill(isBlock.begin() + i, isBlock.begin() + end, true);
    if (end - i > last - first)
      first = i, last = end;
    i = end;
  }
  std::fill(isBlock.begin() + first, isBlock.begin() + last, true);
  return isBlock;
}

/// Blocks in a row of layers, where the model is a transformer of them; else all.
static int64_t countedLayers(const PlacementPlan &plan, const std::vector<bool> &isBlock,
                             const std::vector<PlacementProblem::Id> &layers) {
  int64_t blocks = std::count(isBlock.begin(), isBlock.end(), true);
  bool isKnown = plan.architecture && plan.architecture->family != ModelArchitecture::Family::Other;
  if (!isKnown || blocks != plan.architecture->layers + plan.architecture->encoderLayers)
    return static_cast<int64_t>(layers.size());
  return std::ranges::count_if(layers, [&](PlacementProblem::Id i) { return isBlock[i]; });
}

/// Where in the network the groups are of a plan with one parallel configuration, from the inside out.
static void addSpans(LaunchLayout &shape, const ParallelConfig &parallel, int64_t groups) {
  struct Level {
    const char *what;
    int64_t degree, devices; ///< from the first to the last one of a group
  };
  const int64_t all = parallel.devices() * groups;
  const bool isReplicaInside = parallel.order == RankOrder::TensorPipelineData;
  const Level data{"data", parallel.data, isReplicaInside ? all : parallel.devices()};
  const Level pipeline{"pipeline", groups, isReplicaInside ? parallel.tensor * groups : all};
  for (const Level &level : {Level{"tensor", parallel.tensor, parallel.tensor}, isReplicaInside ? pipeline : data,
                             isReplicaInside ? data : pipeline}) {
    if (level.degree == 1)
      continue;
    const int64_t servers = (level.devices + shape.perNode - 1) / shape.perNode;
    shape.spans += fmt::format("{}{} parallel {} in {}", shape.spans.empty() ? "" : ", ", level.what, level.degree,
                               servers == 1 ? "a server" : fmt::format("{} servers", servers));
    if (servers > 1 && shape.groupNodes == 1 && level.devices % shape.perNode == 0)
      shape.groupNodes = servers;
  }
}

Result<LaunchLayout> launchLayout(const PlacementPlan &plan, bool allowMixedDeviceTypes) {
  auto cannot = [&](std::string error) { return Error{Code::LauncherCannot, std::move(error), plan.location, {}}; };
  if (!plan.result.plan)
    return Error{Code::NotAPlacement, "there is no plan to launch: the job is infeasible", plan.location, {}};
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  size_t groups = placement.groups();
  LaunchLayout shape;
  const ParallelConfig &first = problem.parallelConfigs[placement.stages[0].parallelConfig];
  std::string tensor, data, sequence, zero, layers, stageRanks;
  auto add = [](std::string &list, int64_t number) { list += fmt::format("{}{}", list.empty() ? "" : " ", number); };
  std::vector<int64_t> used(problem.deviceTypes.size()), within; // devices by type, and before each group
  const std::vector<bool> isBlock = blocksOf(plan);
  bool same = true;
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    const ParallelConfig &parallelConfig = problem.parallelConfigs[placement.stages[s].parallelConfig];
    if (parallelConfig.deviceType != first.deviceType && !allowMixedDeviceTypes)
      return cannot(fmt::format("stages are on '{}' and '{}': one launch starts servers of one "
                                "kind (JobSets of Kubernetes have several)",
                                problem.deviceTypes[first.deviceType].name,
                                problem.deviceTypes[parallelConfig.deviceType].name));
    add(layers, countedLayers(plan, isBlock, placement.stages[s].layers));
    if (s >= groups)
      continue;
    same &= placement.stages[s].parallelConfig == placement.stages[0].parallelConfig;
    within.push_back(used[parallelConfig.deviceType]);
    used[parallelConfig.deviceType] += parallelConfig.devices();
    add(tensor, parallelConfig.tensor);
    add(data, parallelConfig.data / parallelConfig.context);
    add(sequence, parallelConfig.sequence);
    add(zero, parallelConfig.zero);
  }
  std::vector<int64_t> before(problem.deviceTypes.size()); // ranks of other device types
  int64_t ranks = 0;
  for (size_t k = 0; k < used.size(); ++k) {
    before[k] = ranks;
    ranks += used[k];
    if (used[k] == 0)
      continue;
    int64_t devicesPerNode = problem.deviceTypes[k].devicesPerNode, perNode = std::min(used[k], devicesPerNode);
    if (used[k] % perNode != 0)
      return cannot(fmt::format("{} devices do not fill servers of {}: a launcher starts as many "
                                "on each server",
                                used[k], devicesPerNode));
    const bool isStated = plan.deviceMemory && k < plan.deviceMemory->types.size();
    const int64_t memory = isStated ? plan.deviceMemory->types[k].capacity : problem.deviceTypes[k].memory;
    shape.pools.push_back({problem.deviceTypes[k].name, used[k] / perNode, perNode, memory, "", {}});
    shape.pools.back().devicesPerNode =
        problem.deviceTypes[k].devices > 1 ? devicesPerNode : 0; // one is a part of a server
    shape.nodes += used[k] / perNode;
  }
  shape.perNode = shape.pools.front().perNode;
  if (same)
    addSpans(shape, first, static_cast<int64_t>(groups));
  for (size_t g = 0; g < groups; ++g)
    add(stageRanks, before[problem.parallelConfigs[placement.stages[g].parallelConfig].deviceType] + within[g]);
  shape.job = jobName(plan.job.empty() ? plan.model : plan.job);
  shape.title = sanitized(
      fmt::format("{} on {}: {}; accord {}", plan.model, plan.cluster, degreesText(problem, placement), plan.version));
  auto one = [&](const std::string &all) { return same ? all.substr(0, all.find(' ')) : all; };
  shape.environment = {{"ACCORD_TENSOR_PARALLEL", one(tensor)},
                       {"ACCORD_PIPELINE_PARALLEL", std::to_string(groups)},
                       {"ACCORD_DATA_PARALLEL", one(data)},
                       {"ACCORD_SEQUENCE_PARALLEL", one(sequence)},
                       {"ACCORD_ZERO", one(zero)},
                       {"ACCORD_MICROBATCH", std::to_string(first.microbatch)},
                       {"ACCORD_MICROBATCHES", std::to_string(placement.microbatches)},
                       {"ACCORD_GLOBAL_BATCH", std::to_string(problem.batch)},
                       {"ACCORD_SCHEDULE", name(placement.schedule)},
                       {"ACCORD_VIRTUAL_STAGES", std::to_string(placement.virtualStages)},
                       {"ACCORD_STAGE_LAYERS", layers}};
  if (shape.pools.size() > 1) // ranks of a device type follow those of another, whatever the stages
    shape.environment.push_back({"ACCORD_STAGE_RANKS", stageRanks});
  // What is said only where it is not as usual.
  auto also = [&](bool is, const char *variable, std::string value) {
    if (same && is)
      shape.environment.push_back({variable, std::move(value)});
  };
  also(first.order != RankOrder::TensorDataPipeline, "ACCORD_RANK_ORDER", name(first.order));
  also(first.context > 1, "ACCORD_CONTEXT_PARALLEL", std::to_string(first.context));
  also(first.context > 1, "ACCORD_CONTEXT_EXCHANGE", name(first.contextExchange));
  also(first.expert > 1, "ACCORD_EXPERT_PARALLEL", std::to_string(first.expertDegree()));
  also(first.tables != Tables::Whole, "ACCORD_TABLE_PARALLEL", name(first.tables));
  also(first.ringOverlap, "ACCORD_TENSOR_OVERLAP", "ring");
  also(first.hostStates || first.hostWeights, "ACCORD_OFFLOAD",
       first.hostStates && first.hostWeights ? "optimizer weights"
       : first.hostStates                    ? "optimizer"
                                             : "weights");
  return shape;
}

Result<LaunchLayout> describedLayout(LaunchLayout shape, Launcher launcher, const LaunchOptions &options) {
  if (shape.pools.size() > 1 && !(options.deviceName.empty() && options.product.empty()))
    return Error{Code::LauncherCannot, fmt::format("the plan has '{}' and '{}', and there is one name for both",
                                                   shape.pools[0].name, shape.pools[1].name)};
  jobs::SystemNames names = launcher == Launcher::Kubernetes ? jobs::kueueNames({}) : jobs::slurmNames({});
  for (LaunchLayout::Pool &pool : shape.pools) {
    pool.deviceName = options.deviceName.empty() ? names.types.of(pool.name) : options.deviceName;
    describeDevices(pool, options.product);
  }
  shape.isVirtual = options.isVirtual;
  return shape;
}

/// Groups of servers can be asked for where the launcher knows what is between them.
static std::optional<Error> wrongGroups(Launcher launcher, const LaunchOptions &options) {
  if (options.groupTopology.empty())
    return std::nullopt;
  if (launcher == Launcher::Slurm && options.groupTopology != "block")
    return Error{Code::LauncherCannot, fmt::format("Slurm places groups of servers in a 'block' of topology/block "
                                                   "alone, found '{}'",
                                                   sanitized(options.groupTopology))};
  if (launcher == Launcher::Kubernetes && options.queue.empty())
    return Error{Code::LauncherCannot, fmt::format("Kueue alone places groups of servers in a '{}', and no queue is "
                                                   "stated",
                                                   sanitized(options.groupTopology))};
  return std::nullopt;
}

Result<std::string> launchText(const PlacementPlan &plan, Launcher launcher, const LaunchOptions &options) {
  if (auto wrong = wrongGroups(launcher, options))
    return *wrong;
  bool jobset = launcher == Launcher::Kubernetes && options.kind == KubernetesKind::JobSet;
  ACCORD_TRY(bare, launchLayout(plan, jobset));
  ACCORD_TRY(shape, describedLayout(std::move(bare), launcher, options));
  auto text = [&](Result<LaunchProgram> program) -> Result<std::string> {
    if (!program)
      return program.error();
    return programText(shape, *program);
  };
  switch (launcher) {
  case Launcher::Torchrun:
    return plainText(shape);
  case Launcher::Slurm:
    return slurmText(shape, options);
  case Launcher::Kubernetes:
    return kubernetesText(shape, options);
  case Launcher::Accelerate:
    return text(accelerateProgram(plan, shape));
  case Launcher::DeepSpeed:
    return text(deepSpeedProgram(plan, shape));
  case Launcher::Titan:
    return text(titanProgram(plan, shape));
  case Launcher::MaxText:
    return text(maxTextProgram(plan, shape));
  case Launcher::Megatron:
    break;
  }
  ACCORD_TRY(megatron, megatronArguments(plan));
  return megatronText(shape, megatron);
}

} // namespace accord
