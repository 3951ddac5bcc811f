#include "lib/support/ThreadRole.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/voting/server/VoteEngine.h"
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace json = llvm::json;
namespace accord::voting {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxWaiting = 4096;      ///< inputs that the process has not answered
constexpr size_t kLongestLine = 64 << 20; ///< bytes that it may write without an end of line
constexpr auto kBetweenStarts = std::chrono::seconds(1);

/// A child with its two pipes.
struct Child {
  pid_t pid = -1;
  int in = -1, out = -1; ///< we write, we read
};

Result<Child> spawn(const std::vector<std::string> &command) {
  int toChild[2], fromChild[2];
  if (pipe2(toChild, O_CLOEXEC) != 0)
    return Error{Code::BadCommandLine, fmt::format("no pipe: {}", std::strerror(errno))};
  if (pipe2(fromChild, O_CLOEXEC) != 0) {
    close(toChild[0]), close(toChild[1]);
    return Error{Code::BadCommandLine, fmt::format("no pipe: {}", std::strerror(errno))};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none), sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  Child child{.in = toChild[1], .out = fromChild[0]};
  const int error = posix_spawnp(&child.pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(toChild[0]), close(fromChild[1]);
  if (error == 0)
    return child;
  close(child.in), close(child.out);
  return Error{Code::BadCommandLine, fmt::format("cannot start '{}': {}", command[0], std::strerror(error))};
}

class ProcessEngine final : public VoteEngine {
public:
  explicit ProcessEngine(std::vector<std::string> command) : command_(std::move(command)) {}
  ~ProcessEngine() override {
    std::unique_lock lock(mutex_);
    ends_ = true;
    if (isRunning_)
      kill(child_.pid, SIGKILL);
    lock.unlock();
    changed_.notify_all();
    join();
  }

  Result<void> start() {
    auto child = spawn(command_);
    if (!child)
      return child.takeError();
    child_ = *child;
    isRunning_ = true;
    started_ = Clock::now();
    writer_ = std::thread([this, fd = child_.in] { writeAll(fd); });
    reader_ = std::thread([this, fd = child_.out, pid = child_.pid] { readAll(fd, pid); });
    return {};
  }

  void vote(int64_t id, const json::Value &input, std::function<void(EngineVote)> done) override {
    std::unique_lock lock(mutex_);
    if (!isRunning_ && !isStarting_ && Clock::now() - started_ >= kBetweenStarts) {
      isStarting_ = true;
      lock.unlock();
      join(); // both have ended
      auto started = start();
      lock.lock();
      isStarting_ = false;
      started_ = Clock::now();
      if (!started) {
        lock.unlock();
        return done({.error = started.error().message});
      }
    }
    if (!isRunning_ || awaited_.size() >= kMaxWaiting) {
      const std::string error = isRunning_ ? "the engine is behind by too many inputs" : "the engine has ended";
      lock.unlock();
      return done({.error = error});
    }
    const int64_t number = ++last_; // ids of clients may be there twice
    awaited_[number] = std::move(done);
    lines_.push_back(fmt::format("{{\"id\":{},\"input\":{}}}\n", number, jsonLine(input)));
    lock.unlock();
    changed_.notify_all();
  }

private:
  void join() {
    if (writer_.joinable())
      writer_.join();
    if (reader_.joinable())
      reader_.join();
  }

  void writeAll(int fd) {
    blockSignals(); // SIGPIPE, too: a write says so
    nameThread("to the engine");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !lines_.empty() || ends_ || !isRunning_; });
      if (ends_ || !isRunning_)
        break;
      const std::string line = std::move(lines_.front());
      lines_.pop_front();
      lock.unlock();
      for (size_t at = 0; at < line.size();) {
        const ssize_t count = write(fd, line.data() + at, line.size() - at);
        if (count < 0 && errno == EINTR)
          continue;
        if (count < 0)
          break; // it has ended, and the reader sees that, too
        at += static_cast<size_t>(count);
      }
      lock.lock();
    }
    lock.unlock();
    close(fd);
  }

  void readAll(int fd, pid_t pid) {
    blockSignals();
    nameThread("from the engine");
    std::string text;
    std::vector<char> part(64 << 10);
    for (;;) {
      const ssize_t count = read(fd, part.data(), part.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0 || text.size() > kLongestLine)
        break;
      text.append(part.data(), static_cast<size_t>(count));
      size_t begin = 0;
      for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        take(text.substr(begin, end - begin));
      text.erase(0, begin);
    }
    close(fd);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    std::unique_lock lock(mutex_);
    isRunning_ = false;
    lines_.clear();
    auto left = std::exchange(awaited_, {});
    lock.unlock();
    changed_.notify_all();
    for (auto &[number, done] : left)
      done({.error = "the engine has ended"});
  }

  /// A line that the process wrote. What is no line of an input that it has is passed over.
  void take(const std::string &line) {
    auto value = readJsonText(line);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    const auto number = object ? object->getInteger("id") : std::nullopt;
    if (!number)
      return;
    std::unique_lock lock(mutex_);
    auto found = awaited_.find(*number);
    if (found == awaited_.end())
      return;
    auto done = std::move(found->second);
    awaited_.erase(found);
    lock.unlock();
    EngineVote made;
    const auto label = object->getInteger("label");
    if (const auto error = object->getString("error"); error || !label)
      return done({.error = error ? error->str() : "the engine answers without a label"});
    made.vote.label = *label;
    if (const json::Array *all = object->getArray("probabilities"))
      for (const json::Value &one : *all)
        made.vote.probabilities.push_back(one.getAsNumber().value_or(-1));
    done(std::move(made));
  }

  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Child child_;
  Clock::time_point started_;
  bool isRunning_ = false, isStarting_ = false, ends_ = false;
  int64_t last_ = 0;
  std::map<int64_t, std::function<void(EngineVote)>> awaited_;
  std::deque<std::string> lines_;
  std::thread writer_, reader_;
};

} // namespace

Result<std::unique_ptr<VoteEngine>> makeProcessEngine(std::vector<std::string> command) {
  auto engine = std::make_unique<ProcessEngine>(std::move(command));
  if (auto started = engine->start(); !started)
    return started.takeError();
  return std::unique_ptr<VoteEngine>(std::move(engine));
}

} // namespace accord::voting
