#include "lib/launch/LaunchProgram.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// Fit for the text of "${NAME:?…}".
std::string harmless(const std::string &text) {
  std::string out = sanitized(text);
  std::erase(out, '\'');
  return out;
}

std::string lines(const std::vector<std::string> &all, const char *before, const char *after) {
  std::string text;
  for (const std::string &one : all)
    text += before + one + after;
  return text;
}

/// What computing all of a layer again takes.
int64_t timeOfFull(const PlacementProblem::Cost &cost) {
  for (const RecomputeChoice &choice : cost.recomputeChoices)
    if (choice.policy == "full")
      return choice.recomputeTime;
  return cost.forward;
}

/// `count` times `time`, as text; beyond 64 bits it is the largest number.
std::string timeText(int64_t count, int64_t time) {
  const __int128 product = static_cast<__int128>(count) * time;
  return fmt::format("{:.3g} ms", static_cast<double>(product) * 1e-9);
}

} // namespace

std::string LaunchProgram::ask(const PlacementPlan &plan, const std::string &name, const std::string &what) {
  if (std::ranges::find(needed, name, &Variable::name) == needed.end())
    needed.push_back(
        {name, fmt::format("{} of {}, which the plan does not say", harmless(what), harmless(plan.model))});
  return "${" + name + "}";
}

std::string torchrunText(const LaunchLayout &shape) {
  return fmt::format("torchrun --nnodes={} --nproc-per-node={} --node-rank=\"$NODE_RANK\" \\\n"
                     "  --master-addr=\"$MASTER_ADDR\" --master-port=\"$MASTER_PORT\"",
                     shape.nodes, shape.perNode);
}

std::string rendezvousText(const LaunchLayout &shape) {
  return fmt::format("# Ranks follow the order of the servers, because the plan does: hence "
                     "numbers, not discovery.\n"
                     ": \"${{NODE_RANK:=${{SLURM_NODEID:-{}}}}}\"\n"
                     ": \"${{NODE_RANK:?number of this server, from 0 to {}}}\"\n"
                     ": \"${{MASTER_ADDR{}}}\"\n"
                     ": \"${{MASTER_PORT:={}}}\"\n",
                     shape.nodes == 1 ? "0" : "", shape.nodes - 1,
                     shape.nodes == 1 ? ":=127.0.0.1" : ":?name or address of server 0", kRendezvousPort);
}

std::string programText(const LaunchLayout &shape, const LaunchProgram &program) {
  std::string needed, files, remarks, arguments;
  for (const LaunchProgram::Variable &one : program.needed)
    needed += fmt::format(": \"${{{}:?{}}}\"\n", one.name, one.what);
  if (!program.files.empty())
    files = "folder=${ACCORD_FOLDER:-$(mktemp -d)}\n";
  for (const LaunchProgram::File &one : program.files)
    files += fmt::format("cat >\"$folder/{}\" <<END\n{}END\n", one.name, one.text);
  for (const std::string &remark : program.remarks)
    remarks += "# " + sanitized(remark) + "\n";
  if (!program.arguments.empty())
    arguments = fmt::format("arguments=(\n{})\n", lines(program.arguments, "  ", "\n"));
  std::string start = lines(program.start, "  ", " \\\n");
  return fmt::format("#!/usr/bin/env bash\n# {}\n"
                     "# Run on each of {} servers with {} devices: {}{}bash SCRIPT ARGUMENTS\n"
                     "# ARGUMENTS are those that the plan does not decide: data, tokenizer, learning rate, length of "
                     "the run.\n"
                     "{}set -euo pipefail\n{}{}{}{}{}{}{}exec {}  {}\"$@\"\n",
                     shape.title, shape.nodes, shape.perNode, program.meets ? "NODE_RANK=0 MASTER_ADDR=server0 " : "",
                     program.usage, remarks, needed, program.meets ? rendezvousText(shape) : "", exportsOf(shape),
                     files, lines(program.exports, "", "\n"), arguments, guardLines(shape), start.substr(2),
                     program.arguments.empty() ? "" : "\"${arguments[@]}\" ");
}

BlockRecompute blockRecompute(const PlacementPlan &plan) {
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  const std::vector<bool> isBlock = blocksOf(plan);
  BlockRecompute made;
  std::vector<int64_t> more(std::max<size_t>(1, placement.groups()));
  made.stages.resize(more.size());
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    const PlacedStage &stage = placement.stages[s];
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      const RecomputeChoice &choice = problem.choiceOf(stage, i);
      made.onHost |= choice.hostActivations > 0;
      if (!isBlock[stage.layers[i]])
        continue;
      ++made.blocks, ++made.stages[placement.groupOf(s)].blocks;
      std::string_view policy = choice.policy;
      policy = policy.substr(0, policy.find('+'));
      made.stages[placement.groupOf(s)].recomputed += policy != "none";
      ++(policy == "none" ? made.none : policy == "full" ? made.full : made.selective);
      if (const auto &cost = problem.cost(stage.layers[i], stage.parallelConfig))
        more[placement.groupOf(s)] += std::max<int64_t>(0, timeOfFull(*cost) - choice.recomputeTime);
    }
  }
  const __int128 step = static_cast<__int128>(*std::ranges::max_element(more)) * placement.microbatches;
  made.untilFull = static_cast<int64_t>(std::min<__int128>(step, INT64_MAX));
  return made;
}

StageBlocks stageBlocks(const PlacementPlan &plan) {
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  const std::vector<bool> isBlock = blocksOf(plan);
  const auto first = static_cast<Id>(std::ranges::find(isBlock, true) - isBlock.begin());
  const auto last =
      static_cast<Id>(isBlock.size() - (std::find(isBlock.rbegin(), isBlock.rend(), true) - isBlock.rbegin()));
  StageBlocks made;
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    const std::vector<Id> &all = placement.stages[s].layers;
    StageBlocks::Stage stage;
    if (all.empty() || all.back() - all.front() + 1 != all.size()) {
      made.refusal = fmt::format("gives each stage layers in a row; stage {} has others between", s);
      return made;
    }
    stage.front = all.front() < first, stage.back = all.back() >= last;
    if ((stage.front && s > 0) || (stage.back && s + 1 < placement.stages.size())) {
      made.refusal = fmt::format("has all that is no block in the first stage or the last one; '{}' is in stage {}",
                                 problem.layers[stage.front ? all.front() : all.back()].name, s);
      return made;
    }
    const Id from = std::clamp(all.front(), first, last), to = std::clamp(all.back() + 1, first, last);
    stage.first = from - first, stage.end = to - first;
    made.stages.push_back(stage);
  }
  const bool isTransformer = plan.architecture && plan.architecture->family != ModelArchitecture::Family::Other;
  if (placement.stages.size() > 1 && isTransformer && last - first != plan.architecture->layers)
    made.refusal = fmt::format("cuts between blocks; {} of them are {} equal layers of the plan",
                               plan.architecture->layers, last - first);
  return made;
}

void remarkExchanges(LaunchProgram &program, const PlacementPlan &plan) {
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  if (placement.microbatches < 2)
    return;
  int64_t longest = 0;
  std::map<size_t, int64_t> bytes;
  for (size_t s = 0; s < placement.stages.size(); ++s)
    for (Id layer : placement.stages[s].layers)
      if (const auto &cost = problem.cost(layer, placement.stages[s].parallelConfig))
        bytes[placement.groupOf(s)] += cost->gradients;
  for (const auto &[group, of] : bytes)
    for (const GradientSync &sync : problem.parallelConfigs[placement.stages[group].parallelConfig].gradientSyncs)
      longest = std::max(longest, minTime(sync.alternatives, static_cast<double>(of)));
  if (longest > 0)
    program.remarks.push_back(fmt::format(
        "slower than planned by {} a step at most: gradients are exchanged after each of {} micro-batches, the plan "
        "does it after the last one",
        timeText(placement.microbatches - 1, longest), placement.microbatches));
}

void remarkFramework(LaunchProgram &program, const PlacementPlan &plan, const char *framework) {
  if (plan.deviceMemory && plan.deviceMemory->framework != framework)
    program.remarks.push_back(fmt::format("memory was planned with framework '{}'", plan.deviceMemory->framework));
}

void remarkCapacity(LaunchProgram &program, const ModelArchitecture &model, const char *launcher) {
  if (model.expertCapacity > 0)
    program.remarks.push_back(fmt::format("other work than planned: {} drops no token, so that experts with more than "
                                          "their share are slower; the plan gives each {:g} times its even share",
                                          launcher, model.expertCapacity));
}

void remarkPredictions(LaunchProgram &program, const PlacementPlan &plan) {
  if (plan.architecture && plan.architecture->predictedPositions > 0)
    program.remarks.push_back(fmt::format("more work than planned: the head is computed of all {} tokens of a sample, "
                                          "the plan has {} of them",
                                          plan.architecture->sequence, plan.architecture->predictedPositions));
}

PlannedPrecision precisionOf(const PlacementPlan &plan) {
  for (const char *type : {"fp8", "bf16", "fp16", "tf32", "fp32"}) // of "mixed(fp8)" values are bf16
    if (plan.precision.find(type) != std::string::npos)
      return {type, plan.precision.starts_with("mixed")};
  return {plan.precision, false};
}

int64_t sizeOf(const PlacementPlan &plan, const char *name) {
  for (const auto &[size, value] : plan.sizes)
    if (size == name)
      return std::max<int64_t>(0, value);
  return 0;
}

int64_t sequenceOf(const PlacementPlan &plan) {
  if (plan.architecture && plan.architecture->sequence > 0)
    return plan.architecture->sequence;
  return plan.sequence > 0 ? plan.sequence : sizeOf(plan, "seq");
}

} // namespace accord
