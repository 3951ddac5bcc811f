// Batch scripts of Slurm: of one placement, and of a run of a job.
#include "lib/launch/Guard.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// "1-02:30:00": days, hours, minutes and seconds, as Slurm takes a time limit.
std::string timeLimit(int64_t seconds) {
  const int64_t days = seconds / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}-", days) : "", seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

/// What is asked of Slurm for a run of a job beyond servers and devices.
std::string requestOf(const BatchOptions &batch) {
  std::string text;
  auto add = [&](bool is, const std::string &option) {
    if (is)
      text += "#SBATCH " + option + "\n";
  };
  std::string comment = sanitized(batch.comment);
  std::erase(comment, '\'');
  add(!comment.empty(), fmt::format("--comment=\"{}\"", comment));
  add(!batch.account.empty(), "--account=" + batch.account);
  add(!batch.service.empty(), "--qos=" + batch.service);
  add(batch.coresPerDevice > 0, fmt::format("--cpus-per-gpu={}", batch.coresPerDevice));
  add(batch.begin > 0, fmt::format("--begin=now+{}", batch.begin));
  add(batch.limit > 0, "--time=" + timeLimit(batch.limit));
  add(batch.notice > 0, fmt::format("--signal=USR1@{}", batch.notice));
  add(batch.requeue, "--requeue");
  add(batch.requeue, "--open-mode=append");
  return text;
}

/// Jobs that share a server meet at ports of their own.
constexpr const char *kPortOfJob = "$((20000 + SLURM_JOB_ID % 10000))";

/// Lines that make `command` of the arguments of the script, with those of Megatron-LM where they ask for them.
std::string commandOf(const BatchOptions &batch) {
  std::string megatron;
  if (batch.megatron) {
    for (const std::string &argument : batch.megatron->arguments)
      megatron += "      " + argument + "\n";
    megatron = fmt::format("    export CUDA_DEVICE_MAX_CONNECTIONS=1\n    command+=(\n{}    )\n", megatron);
  } else {
    std::string reason = sanitized(batch.withoutMegatron);
    std::erase(reason, '\'');
    megatron = fmt::format("    echo '@megatron: {}' >&2\n    exit 2\n", reason);
  }
  return fmt::format("command=()\nfor word in \"$@\"; do\n  case \"$word\" in\n  @megatron)\n{}    ;;\n"
                     "  *) command+=(\"${{word//@job/$ACCORD_JOB}}\") ;;\n  esac\ndone\n",
                     megatron);
}

std::string usageOf(const BatchOptions &batch) {
  if (!batch.torchrun)
    return "# sbatch FILE COMMAND ARGUMENTS: the command is started once on each server.\n"
           "# FILL IN the command here where it is always the same: set -- COMMAND ARGUMENTS\n"
           ": \"${1:?the command that the job runs}\"\n";
  return "# sbatch FILE train.py ARGUMENTS: torchrun starts the program; @megatron among the arguments stands for "
         "those\n"
         "# by which Megatron-LM follows the plan, and @job for the name of the job. Other programs follow "
         "ACCORD_....\n"
         ": \"${1:?the program that trains, and its arguments}\"\n";
}

} // namespace

/// Features as Slurm combines them: "nvlink&(rack1|rack2)", "[a*2&b*1]".
static std::string constraintOf(const std::string &features) {
  std::string text;
  for (char c : features)
    text += llvm::isAlnum(c) || llvm::StringRef("_-.,:&|[]()*").contains(c) ? c : '_';
  return text;
}

/// Whether groups of servers are asked for, each in one block of topology/block (Slurm 24.05).
static bool hasSegments(const LaunchLayout &shape, const LaunchOptions &options) {
  return !options.groupTopology.empty() && shape.groupNodes > 1;
}

/// Which groups of devices exchange across servers, and what of it Slurm is not told.
static std::string spansOf(const LaunchLayout &shape, const LaunchOptions &options) {
  if (options.batch || shape.spans.empty())
    return "";
  std::string text = "# Groups: " + shape.spans + ".\n";
  if (options.switches > 0 && !hasSegments(shape, options) && shape.groupNodes > 1 && shape.groupNodes < shape.nodes)
    text += fmt::format("# --switches counts those of the whole job: that each {} servers have one in common is not "
                        "said.\n",
                        shape.groupNodes);
  if (!options.groupTopology.empty() && shape.groupNodes == 1 && shape.nodes > 1)
    text += "# No --segment: no group fills several servers.\n";
  return text;
}

/// Servers and their devices by type, and where in the network the servers are.
static std::string devicesOf(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string name = shape.pools.front().deviceName;
  if (name.empty() && options.batch)
    name = options.batch->deviceType;
  std::string text = fmt::format("#SBATCH --gpus-per-node={}{}{}\n", name, name.empty() ? "" : ":", shape.perNode);
  if (!options.constraint.empty())
    text += fmt::format("#SBATCH --constraint=\"{}\"\n", constraintOf(options.constraint));
  if (options.switches > 0)
    text += fmt::format("#SBATCH --switches={}\n", options.switches);
  if (hasSegments(shape, options))
    text += fmt::format("#SBATCH --segment={}\n", shape.groupNodes);
  return text;
}

/// A step that looks at all servers before any of them starts something.
static std::string guardStep(const LaunchLayout &shape) {
  if (shape.pools.front().products.empty())
    return "";
  return fmt::format("# What has to be there, on each server, before anything starts; ACCORD_GUARD=off starts "
                     "unchecked.\n"
                     "# shellcheck disable=SC2016\n"
                     "guard='{}accord_guard'\n"
                     "srun --kill-on-bad-exit=1 sh -c \"$guard\"\n",
                     guardText(guardOf(shape)));
}

std::string slurmText(const LaunchLayout &shape, const LaunchOptions &options) {
  const BatchOptions *batch = options.batch ? &*options.batch : nullptr;
  const bool isPlain = batch && !batch->torchrun;
  const bool isExclusive = batch ? batch->exclusive : shape.pools.front().fillsServers();
  std::string inner = isPlain ? "exec \"$@\""
                              : fmt::format("exec torchrun --nnodes={} --nproc-per-node={} "
                                            "--node-rank=\"$SLURM_PROCID\" --master-addr=\"$MASTER_ADDR\" "
                                            "--master-port=\"$MASTER_PORT\" \"$@\"",
                                            shape.nodes, shape.perNode);
  std::string remarks;
  if (batch) {
    for (const std::string &remark : batch->remarks)
      remarks += "# " + sanitized(remark) + "\n";
    if (batch->notice > 0) // who does not handle the signal ignores it, torchrun among them
      inner = "trap \"\" USR1; " + inner;
  }
  return fmt::format("#!/usr/bin/env bash\n"
                     "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n"
                     "{}{}{}"
                     "# {}\n{}"
                     "set -euo pipefail\n{}"
                     "mapfile -t hosts < <(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
                     "export MASTER_ADDR=\"${{hosts[0]}}\" MASTER_PORT=\"${{MASTER_PORT:-{}}}\"\n{}{}"
                     "{}# One {} on each server; each variable is that of its server.\n"
                     "# shellcheck disable=SC2016\n"
                     "srun --kill-on-bad-exit=1 bash -c '{}' {} \"{}\"\n",
                     shape.job, shape.nodes, devicesOf(shape, options), isExclusive ? "#SBATCH --exclusive\n" : "",
                     batch ? requestOf(*batch) : "", shape.title,
                     batch ? remarks : spansOf(shape, options) + "# sbatch slurm.sh train.py ARGUMENTS\n",
                     batch ? usageOf(*batch) : "", batch || !isExclusive ? kPortOfJob : std::to_string(kRendezvousPort),
                     exportsOf(shape), batch && !isPlain ? commandOf(*batch) : "", guardStep(shape),
                     isPlain ? "command" : "torchrun", inner, isPlain ? "command" : "torchrun",
                     batch && !isPlain ? "${command[@]}" : "$@");
}

} // namespace accord
