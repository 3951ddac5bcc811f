#include "lib/service/engines/Subprocess.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace accord::service {
namespace {

using Clock = std::chrono::steady_clock;

/// A descriptor that is closed when it goes out of scope.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0)
      ::close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

/// The same file above the three standard numbers, so that it cannot be in their way in the child.
Descriptor aboveStandard(int number) {
  Descriptor given(number);
  if (number < 0 || number > STDERR_FILENO)
    return given;
  return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct Pipe {
  Descriptor read, write;
  explicit operator bool() const { return read && write; }
};

Pipe makePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {};
  return {aboveStandard(ends[0]), aboveStandard(ends[1])};
}

/// A file in memory with the input: whoever does not read it is no trouble, unlike with a pipe.
Descriptor inputFile(const std::string &text) {
  if (text.empty())
    return aboveStandard(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor file = aboveStandard(memfd_create("accord-input", MFD_CLOEXEC));
  for (size_t at = 0; file && at < text.size();) {
    ssize_t count = ::write(file.number(), text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Descriptor();
    at += size_t(count);
  }
  if (file && lseek(file.number(), 0, SEEK_SET) != 0)
    return Descriptor();
  return file;
}

/// All that the child needs, made before there is one: between its start and exec nothing may be allocated.
struct Prepared {
  std::string program;
  std::vector<std::string> words, environment;
  std::vector<char *> argv, envp;
  const char *directory = nullptr;
  int input = -1, output = -1, error = -1, report = -1;
  bool detached = false, diesWithCaller = true;
  pid_t caller = 0;
};

std::string lookUp(const std::string &program, const std::vector<std::string> &environment) {
  if (program.find('/') != std::string::npos)
    return program;
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string &variable : environment)
    if (llvm::StringRef(variable).starts_with("PATH="))
      path = variable.substr(5);
  llvm::StringRef rest(path);
  while (!rest.empty()) {
    auto [folder, others] = rest.split(':');
    rest = others;
    std::string file = (folder.empty() ? "." : folder.str()) + "/" + program;
    if (access(file.c_str(), X_OK) == 0)
      return file;
  }
  return {};
}

std::vector<std::string> environmentOf(const Command &command) {
  std::vector<std::string> variables;
  auto isReplaced = [&](llvm::StringRef variable) {
    return std::any_of(command.environment.begin(), command.environment.end(),
                       [&](const auto &own) { return variable.split('=').first == own.first; });
  };
  for (char **one = environ; one && *one; ++one)
    if (!isReplaced(*one))
      variables.emplace_back(*one);
  for (size_t i = 0; i < command.environment.size(); ++i) { // the last one of a name counts
    const auto &[name, value] = command.environment[i];
    if (std::none_of(command.environment.begin() + ptrdiff_t(i) + 1, command.environment.end(),
                     [&name = name](const auto &later) { return later.first == name; }))
      variables.push_back(name + "=" + value);
  }
  return variables;
}

/// Fit for a message, whatever the bytes.
std::string printable(llvm::StringRef text) {
  std::string shown;
  for (char c : text)
    shown += llvm::isPrint(c) ? c : static_cast<unsigned char>(c) < 0x20 ? ' ' : '?';
  return shown;
}

Error engineFailed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

Result<void> prepare(const Command &command, Prepared &prepared) {
  if (command.words.empty() || command.words[0].empty())
    return engineFailed("a command without words cannot be started");
  prepared.words = command.words;
  prepared.environment = environmentOf(command);
  auto hasZero = [](const std::string &text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(prepared.words.begin(), prepared.words.end(), hasZero) ||
      std::any_of(prepared.environment.begin(), prepared.environment.end(), hasZero) || hasZero(command.directory))
    return engineFailed(fmt::format("'{}' cannot be started: a zero byte in it", commandText(command.words)));
  prepared.program = lookUp(command.words[0], prepared.environment);
  if (prepared.program.empty())
    return engineFailed(fmt::format("'{}' cannot be started: no program of this name on PATH", command.words[0]));
  for (std::string &word : prepared.words)
    prepared.argv.push_back(word.data());
  for (std::string &variable : prepared.environment)
    prepared.envp.push_back(variable.data());
  prepared.argv.push_back(nullptr);
  prepared.envp.push_back(nullptr);
  prepared.directory = command.directory.empty() ? nullptr : command.directory.c_str();
  prepared.diesWithCaller = !command.leavesProcesses;
  prepared.caller = getpid();
  return {};
}

/// No descriptor of the caller is left for the program, whoever forgot to say so where it was opened.
void closeOthersAtExec() {
  if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0)
    return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = int(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int number = STDERR_FILENO + 1; number < end; ++number)
    fcntl(number, F_SETFD, FD_CLOEXEC);
}

/// Runs in the child, whose memory is that of the caller until it has become the program.
[[noreturn]] void becomeProgram(const Prepared &prepared) {
  auto fail = [&] {
    int reason = errno;
    [[maybe_unused]] ssize_t count = ::write(prepared.report, &reason, sizeof reason);
    _exit(127);
  };
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    sigaction(signal, &usual, nullptr); // SIGKILL and those of the C library refuse, which is right
  setsid();
  if (prepared.diesWithCaller && !prepared.detached) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != prepared.caller && getppid() != 0) // it died before; 0: it is outside of this container
      _exit(127);
  }
  if (dup2(prepared.input, STDIN_FILENO) < 0 || dup2(prepared.output, STDOUT_FILENO) < 0 ||
      dup2(prepared.error, STDERR_FILENO) < 0)
    fail();
  if (prepared.directory && chdir(prepared.directory) != 0)
    fail();
  closeOthersAtExec();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  fail();
  _exit(127);
}

/// The number of the child, or -1. Signals are blocked meanwhile: a handler must not run in the child.
[[gnu::noinline]] pid_t startChild(const Prepared &prepared) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = vfork(); // NOLINT(bugprone-unsafe-functions): posix_spawn sets no parent-death signal
  if (child == 0) {
    if (!prepared.detached)
      becomeProgram(prepared);
    pid_t grandchild = vfork(); // NOLINT(bugprone-unsafe-functions): as above
    if (grandchild == 0)
      becomeProgram(prepared);
    int failed = grandchild < 0 ? errno : 0;
    int report[2] = {0, int(grandchild)};
    [[maybe_unused]] ssize_t count =
        failed ? ::write(prepared.report, &failed, sizeof failed) : ::write(prepared.report, report, sizeof report);
    _exit(0);
  }
  int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return child;
}

/// Waits for a child that is about to end.
void reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR)
    ;
}

/// Children that were killed and did not end, as in a file system that hangs: asked again by later calls.
void reapLater(pid_t child) {
  static std::mutex mutex;
  static std::vector<pid_t> children;
  std::lock_guard lock(mutex);
  if (child > 0)
    children.push_back(child);
  std::erase_if(children, [](pid_t one) {
    pid_t ended = waitpid(one, nullptr, WNOHANG);
    return ended == one || (ended < 0 && errno == ECHILD);
  });
}

/// What a child reported before it became the program: numbers, of which the first is an error.
std::vector<int> reportOf(Descriptor &read) {
  std::vector<int> numbers;
  for (int number = 0;;) {
    ssize_t count = ::read(read.number(), &number, sizeof number);
    if (count < 0 && errno == EINTR)
      continue;
    if (count != ssize_t(sizeof number))
      return numbers;
    numbers.push_back(number);
  }
}

Error cannotStart(const Command &command, int reason) {
  return engineFailed(fmt::format("'{}' cannot be started: {}", commandText(command.words),
                                  llvm::StringRef(std::strerror(reason)).lower()));
}

/// A child that runs, and the ends of its pipes.
class Watch {
public:
  Watch(const Command &command, pid_t child, Descriptor output, Descriptor error)
      : command_(command), child_(child), process_(int(syscall(SYS_pidfd_open, child, 0))),
        pipes_{std::move(output), std::move(error)} {
    for (Descriptor &one : pipes_)
      fcntl(one.number(), F_SETFL, O_NONBLOCK);
    double limit = command.timeLimit >= 0 ? std::min(command.timeLimit, 1e6) : 0;
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  }

  Result<CommandOutput> toTheEnd() {
    reapLater(0);
    std::string failure;
    while (failure.empty() && !isDone()) {
      waitForNews();
      for (int i = 0; i < 2; ++i)
        if (!readAll(i))
          failure = fmt::format("answered more than {} bytes", command_.maxOutput);
      if (!ended_ && hasEnded())
        atEnd();
      if (failure.empty() && !ended_ && Clock::now() >= deadline_)
        failure = fmt::format("did not end within {} s", command_.timeLimit);
    }
    if (!failure.empty() || !command_.leavesProcesses)
      kill(-child_, SIGKILL); // the child is not yet reaped, so the number is still its own
    if (!failure.empty() && !endsSoon()) {
      reapLater(child_);
      child_ = -1;
    }
    int status = 0;
    if (child_ > 0)
      while (waitpid(child_, &status, 0) < 0)
        if (errno != EINTR) {
          failure = failure.empty() ? "was waited for by somebody else" : failure;
          break;
        }
    if (!failure.empty())
      return engineFailed(failureText(failure));
    said_.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return std::move(said_);
  }

private:
  bool isDone() const { return ended_ && ((!pipes_[0] && !pipes_[1]) || Clock::now() >= deadline_); }

  bool hasEnded() const {
    siginfo_t info{};
    int answer = waitid(P_PID, id_t(child_), &info, WEXITED | WNOHANG | WNOWAIT);
    return answer != 0 ? errno != EINTR : info.si_pid != 0;
  }

  /// Others may have its pipes: what is in them is read, but nobody is waited for longer than this.
  void atEnd() {
    ended_ = true;
    if (!command_.leavesProcesses)
      kill(-child_, SIGKILL);
    deadline_ = std::min(deadline_, Clock::now() + std::chrono::milliseconds(command_.leavesProcesses ? 50 : 200));
  }

  void waitForNews() const {
    std::array<pollfd, 3> news{{{pipes_[0].number(), POLLIN, 0},
                                {pipes_[1].number(), POLLIN, 0},
                                {ended_ ? -1 : process_.number(), POLLIN, 0}}};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (!ended_ && !process_)
      left = std::min<int64_t>(left, 10); // an old kernel: it is asked from time to time
    poll(news.data(), news.size(), int(std::clamp<int64_t>(left, 0, 60000)));
  }

  bool readAll(int which) {
    std::string &text = which == 0 ? said_.output : said_.error;
    std::array<char, 65536> piece;
    while (pipes_[which]) {
      ssize_t count = ::read(pipes_[which].number(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        break;
      if (count <= 0) {
        pipes_[which].close();
        break;
      }
      if (size_t(count) > command_.maxOutput - text.size())
        return false;
      text.append(piece.data(), size_t(count));
      if (Clock::now() >= deadline_)
        break;
    }
    return true;
  }

  /// After SIGKILL.
  bool endsSoon() const {
    for (int i = 0; i < 200; ++i) {
      if (hasEnded())
        return true;
      pollfd news{process_.number(), POLLIN, 0};
      poll(&news, 1, 10);
    }
    return false;
  }

  std::string failureText(const std::string &failure) const {
    std::string start = firstLineOf(said_.error);
    if (start.empty())
      start = firstLineOf(said_.output);
    return fmt::format("'{}' {}{}{}", commandText(command_.words), failure, start.empty() ? "" : ": ", start);
  }

  const Command &command_;
  pid_t child_;
  Descriptor process_;
  std::array<Descriptor, 2> pipes_;
  Clock::time_point deadline_;
  CommandOutput said_;
  bool ended_ = false;
};

} // namespace

Result<CommandOutput> runCommand(const Command &command) {
  Prepared prepared;
  if (Result<void> done = prepare(command, prepared); !done)
    return done.takeError();
  Descriptor input = inputFile(command.input);
  Pipe output = makePipe(), error = makePipe(), report = makePipe();
  if (!input || !output || !error || !report)
    return cannotStart(command, errno);
  prepared.input = input.number();
  prepared.output = output.write.number();
  prepared.error = error.write.number();
  prepared.report = report.write.number();
  pid_t child = startChild(prepared);
  if (child < 0)
    return cannotStart(command, errno);
  output.write.close();
  error.write.close();
  report.write.close();
  if (std::vector<int> reported = reportOf(report.read); !reported.empty()) {
    reap(child);
    return cannotStart(command, reported[0]);
  }
  return Watch(command, child, std::move(output.read), std::move(error.read)).toTheEnd();
}

Result<std::string> outputOf(const Command &command) {
  ACCORD_TRY(said, runCommand(command));
  if (said.exitCode != 0)
    return commandFailed(command, said);
  return std::move(said.output);
}

Result<int64_t> startDetached(const Command &command, const std::string &outputFile) {
  Prepared prepared;
  if (Result<void> done = prepare(command, prepared); !done)
    return done.takeError();
  prepared.detached = true;
  Descriptor input = inputFile(command.input);
  const char *file = outputFile.empty() ? "/dev/null" : outputFile.c_str();
  Descriptor output = aboveStandard(open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!output)
    return engineFailed(fmt::format("'{}' cannot be started: its output file '{}': {}", commandText(command.words),
                                    outputFile, llvm::StringRef(std::strerror(errno)).lower()));
  Pipe report = makePipe();
  if (!input || !report)
    return cannotStart(command, errno);
  prepared.input = input.number();
  prepared.output = prepared.error = output.number();
  prepared.report = report.write.number();
  pid_t child = startChild(prepared);
  if (child < 0)
    return cannotStart(command, errno);
  report.write.close();
  std::vector<int> reported = reportOf(report.read);
  reap(child);
  if (reported.size() % 2 == 1) // an error alone, before 0 and the number, or after them
    return cannotStart(command, reported[0] != 0 ? reported[0] : reported.back());
  if (reported.size() < 2)
    return cannotStart(command, ECHILD);
  return int64_t(reported[1]);
}

Error commandFailed(const Command &command, const CommandOutput &said) {
  std::string start = firstLineOf(said.error);
  if (start.empty())
    start = firstLineOf(said.output);
  return engineFailed(fmt::format("'{}' ended with {}: {}", commandText(command.words), said.exitCode,
                                  start.empty() ? "it said nothing" : start));
}

std::string commandText(const std::vector<std::string> &words) {
  constexpr size_t kMax = 160;
  std::string text;
  for (const std::string &word : words) {
    bool isUsual = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return llvm::isAlnum(c) || llvm::StringRef("_-.,:/=@%+").contains(c);
    });
    std::string shown = printable(llvm::StringRef(word).take_front(kMax));
    text += (text.empty() ? "" : " ") + (isUsual ? shown : "\"" + shown + "\"");
    if (text.size() > kMax)
      return text.substr(0, kMax) + "...";
  }
  return text;
}

std::string firstLineOf(const std::string &text) {
  constexpr size_t kMax = 200;
  llvm::StringRef rest(text);
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    rest = others;
    line = line.trim();
    if (!line.empty())
      return printable(line.take_front(kMax)) + (line.size() > kMax ? "..." : "");
  }
  return {};
}

} // namespace accord::service
