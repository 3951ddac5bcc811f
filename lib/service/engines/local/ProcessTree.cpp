#include "lib/service/engines/local/ProcessTree.h"
#include "lib/service/engines/local/TaskFolder.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unistd.h>

namespace accord::service {
namespace {

struct Process {
  pid_t parent = 0, session = 0;
  char state = '?';
};

/// What stands behind the name, which may have any characters.
bool readProcess(pid_t number, Process &process) {
  std::optional<std::string> text = smallFile("/proc/" + std::to_string(number) + "/stat");
  if (!text)
    return false;
  auto [name, rest] = llvm::StringRef(*text).rsplit(") ");
  auto [state, afterState] = rest.split(' ');
  auto [parent, afterParent] = afterState.split(' ');
  auto [group, afterGroup] = afterParent.split(' ');
  llvm::StringRef session = afterGroup.split(' ').first;
  process.state = state.empty() ? '?' : state[0];
  return !parent.getAsInteger(10, process.parent) && !session.getAsInteger(10, process.session);
}

std::map<pid_t, Process> allProcesses() {
  std::map<pid_t, Process> all;
  std::error_code failure;
  for (std::filesystem::directory_iterator at("/proc", failure), end; !failure && at != end; at.increment(failure)) {
    pid_t number = 0;
    Process process;
    if (!llvm::StringRef(at->path().filename().native()).getAsInteger(10, number) && readProcess(number, process) &&
        process.state != 'Z' && process.state != 'X')
      all.emplace(number, process);
  }
  return all;
}

/// Adds all that are below a member.
void addDescendants(const std::map<pid_t, Process> &all, std::set<pid_t> &members) {
  std::multimap<pid_t, pid_t> children;
  for (const auto &[number, process] : all)
    children.emplace(process.parent, number);
  std::vector<pid_t> open(members.begin(), members.end());
  while (!open.empty()) {
    auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (; first != last; ++first)
      if (members.insert(first->second).second)
        open.push_back(first->second);
  }
}

/// Whether a file of strings that end with zero bytes has this one: "environ", "cmdline".
bool hasString(pid_t number, const char *file, const std::string &variable) {
  std::optional<std::string> text = smallFile(fmt::format("/proc/{}/{}", number, file), size_t{8} << 20);
  if (!text)
    return false;
  llvm::StringRef rest(*text);
  while (!rest.empty()) {
    auto [one, others] = rest.split('\0');
    if (one == variable)
      return true;
    rest = others;
  }
  return false;
}

/// Whether a program has a function of its own for a signal.
bool handles(pid_t number, int signal) {
  std::optional<std::string> text = smallFile(fmt::format("/proc/{}/status", number));
  auto [before, after] = llvm::StringRef(text ? *text : "").split("\nSigCgt:");
  uint64_t mask = 0;
  return !after.split('\n').first.trim().getAsInteger(16, mask) && (mask >> (signal - 1) & 1) != 0;
}

} // namespace

std::vector<pid_t> descendantsOf(pid_t ancestor) {
  if (ancestor <= 0)
    return {};
  std::set<pid_t> members{ancestor};
  addDescendants(allProcesses(), members);
  members.erase(ancestor);
  return {members.begin(), members.end()};
}

std::vector<pid_t> processesWith(const std::string &variable) {
  std::map<pid_t, Process> all = allProcesses();
  std::set<pid_t> members, sessions;
  for (const auto &[number, process] : all)
    if (hasString(number, "environ", variable)) {
      members.insert(number);
      sessions.insert(process.session);
    }
  // A process that was started with an environment of the user's own is in the session of one that was not.
  sessions.erase(getsid(0));
  sessions.erase(0);
  for (const auto &[number, process] : all)
    if (sessions.contains(process.session))
      members.insert(number);
  addDescendants(all, members);
  members.erase(getpid());
  return {members.begin(), members.end()};
}

void signalAll(const std::vector<pid_t> &processes, int signal) {
  for (pid_t number : processes)
    if (number > 1)
      kill(number, signal);
}

void signalHandlers(const std::vector<pid_t> &processes, int signal) {
  for (pid_t number : processes)
    if (number > 1 && handles(number, signal))
      kill(number, signal);
}

std::vector<pid_t> processesWithArgument(const std::string &argument) {
  std::vector<pid_t> found;
  for (const auto &[number, process] : allProcesses())
    if (number != getpid() && hasString(number, "cmdline", argument))
      found.push_back(number);
  return found;
}

bool killProcessesWith(const std::string &variable, double seconds) {
  for (double end = uptime() + seconds;;) {
    std::vector<pid_t> processes = processesWith(variable);
    if (processes.empty())
      return true;
    signalAll(processes, SIGKILL);
    if (uptime() >= end)
      return false;
    usleep(5000);
  }
}

} // namespace accord::service
