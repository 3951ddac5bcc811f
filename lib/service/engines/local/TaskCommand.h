// What a task starts on each of its nodes: words and variables.
#pragma once
#include "lib/service/engines/local/TaskFolder.h"

namespace accord::service {

/// Whether a name is that of a task: at most 60 lower case letters, digits and "-", a letter first.
bool isTaskName(const std::string &name);

/// Checks a request and says what of it is kept. `directory` is where it runs if it says nothing. A1203 for a name that
/// is none, no node or one twice, no command, a zero byte, a name of a variable with other characters than letters,
/// digits and "_", a folder that is not absolute, and arguments of Megatron-LM that the plan does not have.
/// `sharesPerDevice`: into how many its devices are divided; A1203 for shares that a device does not have.
Result<TaskOrder> orderFrom(const TaskRequest &request, const std::string &directory, int64_t sharesPerDevice = 1);

/// The ranks of a task with its devices. Each has, as torchrun and Slurm give them, NODE_RANK, NNODES, MASTER_ADDR,
/// MASTER_PORT and WORLD_SIZE (its devices on all nodes); and CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and
/// ACCORD_DEVICES (numbers on the machine), ACCORD_NODE (its name); of a task with shares ACCORD_DEVICE_SHARE.
std::vector<TaskRank> ranksOf(const TaskOrder &order, const std::vector<std::vector<int64_t>> &devices,
                              const std::string &address, int64_t port, int64_t sharesPerDevice = 1);

} // namespace accord::service
