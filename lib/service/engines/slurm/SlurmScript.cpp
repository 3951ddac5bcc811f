// Scripts of a task for Slurm.
#include "lib/service/engines/slurm/SlurmEngine.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {

std::string shellQuoted(const std::string &word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string slurmTaskLaunch(const TaskRequest &task) {
  LaunchLayout shape = task.layout;
  shape.job = task.name;
  shape.title = sanitized(shape.title);
  shape.nodes = int64_t(task.nodes.size());
  shape.perNode = task.devicesPerNode;
  if (shape.pools.empty())
    shape.pools.push_back({.name = task.deviceType});
  shape.pools.resize(1);
  shape.pools[0].nodes = shape.nodes;
  shape.pools[0].perNode = shape.perNode;
  if (!task.nodes.empty())
    shape.environment.emplace_back("MASTER_ADDR", task.nodes[0]); // not the first by name
  LaunchOptions options;
  options.batch = task.batch;
  options.batch->torchrun = task.start != Start::Plain;
  options.batch->requeue = false;
  options.batch->begin = 0;
  // Programs that do not know the signal must not die of it, so there always is a notice; Slurm takes so many seconds.
  options.batch->notice = int64_t(std::clamp(std::ceil(task.notice), 1.0, 65535.0));
  return slurmText(shape, options);
}

std::string slurmTaskScript(const TaskRequest &task, const std::string &launch, const std::string &setup) {
  std::string head = "#!/usr/bin/env bash\n";
  llvm::StringRef rest(launch);
  // Devices are asked for by type where the job is handed in, and the adapter itself sends the signal before a limit.
  while (rest.starts_with("#")) {
    auto [line, others] = rest.split('\n');
    rest = others;
    if (line.starts_with("#SBATCH ") && !line.starts_with("#SBATCH --gpus-per-node") &&
        !line.starts_with("#SBATCH --signal"))
      head += line.str() + "\n";
  }
  const std::string folder = shellQuoted(task.folder);
  std::string text = head + "# Ends when its program does, and says last how that ended.\ntrap '' USR1 TERM INT HUP\n"
                            "unset LC_ALL SLURM_TIME_FORMAT # of the scheduler's commands\n";
  for (const auto &[name, value] : task.environment)
    text += "export " + name + "=" + shellQuoted(value) + "\n";
  text += fmt::format("export {}={}\n", kGuardMarkVariable, shellQuoted(guardMarkOf(task.folder)));
  if (!setup.empty())
    text += "source " + shellQuoted(setup) + "\n";
  if (task.nodes.size() > 1) // ranks in the order of the plan, not of names
    text += fmt::format("export SLURM_HOSTFILE={}/hosts SLURM_DISTRIBUTION=arbitrary\n", folder);
  std::vector<std::string> words = task.command;
  if (task.start == Start::Megatron && std::find(words.begin(), words.end(), "@megatron") == words.end())
    words.push_back("@megatron");
  text += fmt::format("bash {}/launch", folder);
  for (const std::string &word : words)
    text += " " + shellQuoted(word);
  return text + fmt::format("\ncode=$?\nprintf '%s\\n' \"$code\" > {0}/exit.new && mv -f {0}/exit.new {0}/exit\n"
                            "exit \"$code\"\n",
                            folder);
}

} // namespace accord::service
