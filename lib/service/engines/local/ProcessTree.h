// Which processes belong to a task, as /proc says, and signals for all of them.
#pragma once
#include <csignal>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace accord::service {

/// All processes below one, without itself, ascending. Those that have ended and wait to be reaped are left out. None
/// for 0, which stands for no process: it is above all.
std::vector<pid_t> descendantsOf(pid_t ancestor);

/// Processes that have an entry "NAME=VALUE" in the environment with which their program began, those in a session of
/// one of them, and all below them; ascending, without the caller.
std::vector<pid_t> processesWith(const std::string &variable);

/// Sends a signal to processes. One that has ended meanwhile is fine.
void signalAll(const std::vector<pid_t> &processes, int signal);

/// Sends a signal to those of them that handle it. The others go on, whatever the signal does by itself.
void signalHandlers(const std::vector<pid_t> &processes, int signal);

/// Processes of which an argument of the command is exactly this one, ascending, without the caller.
std::vector<pid_t> processesWithArgument(const std::string &argument);

/// Kills what `processesWith` names until there is none. False if some are still there after `seconds`.
bool killProcessesWith(const std::string &variable, double seconds);

} // namespace accord::service
