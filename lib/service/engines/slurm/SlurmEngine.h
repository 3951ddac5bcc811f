// Slurm (22.05 to 24.11) as an engine, by its commands.
//
// A task is a batch job of its name. `submit` hands it in held, writes down its number, and only then releases it; a
// held job whose number is not written down is one of a caller that died, and is released or cancelled by the next
// call. So at most one job of a name ever runs. What is written down, a folder for each task, is the adapter's only
// state: it has no threads, and ends of tasks that are due are carried out by `tasks`.
#pragma once
#include "lib/service/engines/TaskGuard.h"
#include <map>

namespace accord::service {

struct SlurmOptions {
  std::string prefix; ///< of the names of all tasks: the cluster's, as "lab-"
  std::string folder; ///< where the adapter writes down what it did; absolute, made if it is not there
  std::string partition = {}, account = {}; ///< empty: Slurm's default
  std::vector<std::string> sbatch = {};     ///< further options of sbatch: "--qos=low"
  std::string gres = "gpu";                 ///< what Slurm calls devices
  /// By which word the devices of a type are recognized: a feature of their nodes, the type of their gres, or the name
  /// of the gres where it has no types. Others are called as their gres calls them.
  std::map<std::string, std::string> types = {};
  GuardMode guard = GuardMode::Off; ///< a step that looks at all nodes of a task before it starts
  std::string setup = {};           ///< a file for bash that tasks read first: modules, PATH; empty: none
  double timeLimit = 20;            ///< seconds of a command
  std::string tools = {};           ///< folder of squeue, sbatch, ...; empty: they are on PATH
  std::vector<std::pair<std::string, std::string>> environment = {}; ///< of commands: SLURM_CONF
};

/// A1203 if the options are wrong or the folder cannot be made.
Result<std::unique_ptr<Engine>> slurmEngine(const SlurmOptions &options);

/// The batch script of a task: what the launcher for Slurm (lib/launch) asks for, the variables of the task, and its
/// words, which `folder`/launch starts. It hears no signal, so that it can write the exit code to `folder`/exit last.
/// `setup` is read when the variables are set, and may change them; empty: nothing is.
std::string slurmTaskScript(const TaskRequest &task, const std::string &launch, const std::string &setup = {});

/// The script of lib/launch for a task, with its ranks in the order of its nodes.
std::string slurmTaskLaunch(const TaskRequest &task);

/// The word in quotes for a shell, whatever it contains.
std::string shellQuoted(const std::string &word);

} // namespace accord::service
