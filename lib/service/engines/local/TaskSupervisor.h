// The process that runs a task of the local machine, and outlives the scheduler.
//
// It is this program, started again with ACCORD_SUPERVISE=FOLDER of the task in its environment (`TaskFolder.h`): then
// `main` is not reached. Whatever program uses the engine, no second one has to be found, and one that is replaced
// while tasks run is still the same for them.
//
// It holds `lock` for as long as it lives, so the kernel says whether a task has a supervisor: no number of a process
// has to be believed. `began` is made once, under the lock, before anything is started: two supervisors of a task, or
// one that is started again, do nothing. All processes of the task stay below it, those too that leave their session or
// lose their parent (PR_SET_CHILD_SUBREAPER), so signals reach all of them, and none is left when it writes `end`.
#pragma once
#include <string>

namespace accord::service {

/// In the environment of a supervisor and of all that it starts: the folder of the task.
constexpr const char *kTaskVariable = "ACCORD_TASK_FOLDER";

/// Runs the task of a folder to its end. Returns the status with which the process ends: 0 where `end` is written, or
/// another supervisor has the task.
int superviseTask(const std::string &taskFolder);

} // namespace accord::service
