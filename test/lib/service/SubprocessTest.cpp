// Commands that end, fail, hang, answer for ever, leave children, or cannot be started: from one thread and from many.
#include "lib/service/engines/Subprocess.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace accord::service {
namespace {

Command shell(const std::string &script, double timeLimit = 20) {
  return {.words = {"sh", "-c", script}, .timeLimit = timeLimit};
}

size_t openDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto &one : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

bool hasChildren() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Whether a process is there and has not ended.
bool isAlive(int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t end = text.rfind(") ");
  return end != std::string::npos && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

template <class Test> bool becomes(Test test) {
  for (int i = 0; i < 500 && !test(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return test();
}

class FolderTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "accord-subprocess-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string &name) const { return folder_ + "/" + name; }
  std::string content(const std::string &name) const {
    std::ifstream file(path(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string folder_;
};
using Subprocess = FolderTest;

TEST_F(Subprocess, SeparatesOutputErrorsAndExitCode) {
  auto said = runCommand(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->output, "out\n");
  EXPECT_EQ(said->error, "err\n");
  EXPECT_EQ(said->exitCode, 7);
  auto killed = runCommand(shell("kill -TERM $$"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->exitCode, 128 + SIGTERM);
}

TEST_F(Subprocess, PassesWordsEnvironmentInputAndFolderAsTheyAre) {
  const std::string hostile = "a b;$(touch x)`'\"\\*\n\xc3\xa4";
  auto said = runCommand({.words = {"printf", "%s|", hostile, "", "-n"}});
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output, hostile + "||-n|");
  Command command = shell("printf '%s|' \"$ONE\" \"$HOME\"; pwd; cat");
  command.environment = {{"ONE", "first"}, {"HOME", hostile}, {"ONE", "last"}};
  command.directory = folder_;
  command.input = std::string(3 << 20, 'x'); // more than a pipe holds
  said = runCommand(command);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output,
            "last|" + hostile + "|" + std::filesystem::canonical(folder_).string() + "\n" + command.input);
  command = shell("exit 0"); // who does not read its input is no trouble
  command.input = std::string(3 << 20, 'x');
  EXPECT_TRUE(runCommand(command));
  EXPECT_EQ(*outputOf({.words = {"cat"}}), "");
}

TEST_F(Subprocess, SaysWhyItCannotBeStarted) {
  for (const auto &[words, reason] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "without words"},
           {{""}, "without words"},
           {{"accord-no-such-program"}, "no program of this name on PATH"},
           {{folder_ + "/nothing"}, "no such file or directory"},
           {{folder_}, "permission denied"},
           {{"echo", std::string("a\0b", 3)}, "zero byte"}}) {
    auto said = runCommand({.words = words});
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().code, Code::EngineFailed);
    EXPECT_NE(said.error().message.find(reason), std::string::npos) << said.error().message;
    auto started = startDetached({.words = words}, "");
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message.find(reason), std::string::npos) << started.error().message;
  }
  auto said = runCommand({.words = {"true"}, .directory = path("nothing")});
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().message.find("no such file"), std::string::npos);
  EXPECT_FALSE(runCommand({.words = {"true"}, .environment = {{"PATH", folder_}}}));
  EXPECT_FALSE(hasChildren());
}

TEST_F(Subprocess, EndsAtItsTimeLimitWithAllOfItsGroup) {
  auto said = runCommand(shell("sleep 1000 & echo $! > " + path("pid") + "; echo before; echo why >&2; wait", 0.3));
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().message.find("did not end within 0.3 s: why"), std::string::npos) << said.error().message;
  EXPECT_TRUE(becomes([&] { return !isAlive(std::stoll(content("pid"))); }));
  said = runCommand(shell("trap '' TERM INT HUP USR1; while :; do :; done", 0.2));
  EXPECT_FALSE(said);
  said = runCommand(shell("exec >&- 2>&-; sleep 1000", 0.2)); // nothing to read, but it runs
  EXPECT_FALSE(said);
  EXPECT_FALSE(runCommand(shell("sleep 1000", 0)));
  EXPECT_FALSE(runCommand(shell("sleep 1000", -5)));
  EXPECT_FALSE(hasChildren());
}

TEST_F(Subprocess, EndsAtItsLimitOfOutput) {
  for (const char *script : {"yes", "yes >&2", "head -c 1001 /dev/zero"}) {
    Command command = shell(script);
    command.maxOutput = 1000;
    auto said = runCommand(command);
    ASSERT_FALSE(said);
    EXPECT_NE(said.error().message.find("answered more than 1000 bytes"), std::string::npos);
  }
  Command command = shell("head -c 1000 /dev/zero");
  command.maxOutput = 1000;
  auto said = runCommand(command);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output, std::string(1000, '\0'));
  EXPECT_FALSE(hasChildren());
}

TEST_F(Subprocess, DoesNotWaitForWhatACommandLeaves) {
  auto said = runCommand(shell("sleep 1000 & echo $!", 500));
  ASSERT_TRUE(said);
  int64_t left = std::stoll(said->output);
  EXPECT_TRUE(becomes([&] { return !isAlive(left); }));
  said = runCommand(shell("setsid sleep 1000 & echo $!; sleep 0.1", 500)); // has its pipes, and cannot be killed
  ASSERT_TRUE(said);
  kill(pid_t(std::stoll(said->output)), SIGKILL);
  Command command = shell("sleep 1000 >&- 2>&- & echo $!", 500);
  command.leavesProcesses = true;
  said = runCommand(command);
  ASSERT_TRUE(said);
  left = std::stoll(said->output);
  EXPECT_TRUE(isAlive(left));
  kill(pid_t(left), SIGKILL);
}

TEST_F(Subprocess, DiesWithItsCaller) {
  pid_t caller = fork();
  if (caller == 0) {
    (void)runCommand(shell(
        "echo $$ > " + path("pid.new") + "; mv " + path("pid.new") + " " + path("pid") + "; exec sleep 1000", 1000));
    _exit(0);
  }
  ASSERT_GT(caller, 0);
  ASSERT_TRUE(becomes([&] { return std::filesystem::exists(path("pid")); }));
  int64_t child = std::stoll(content("pid"));
  EXPECT_TRUE(isAlive(child));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  EXPECT_TRUE(becomes([&] { return !isAlive(child); }));
}

TEST_F(Subprocess, StartsWhatOutlivesItsCaller) {
  pid_t caller = fork();
  if (caller == 0) {
    Command command = shell("read line; echo \"$line\"; echo err >&2; exec sleep 1000");
    command.input = "given\n";
    auto started = startDetached(command, path("output"));
    std::ofstream(path("pid.new")) << (started ? *started : -1);
    std::filesystem::rename(path("pid.new"), path("pid"));
    pause();
  }
  ASSERT_TRUE(becomes([&] { return std::filesystem::exists(path("pid")); }));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  int64_t started = std::stoll(content("pid"));
  ASSERT_GT(started, 0);
  EXPECT_TRUE(becomes([&] { return content("output") == "given\nerr\n"; }));
  EXPECT_TRUE(isAlive(started));
  EXPECT_EQ(getpgid(pid_t(started)), started);
  kill(-pid_t(started), SIGKILL);
  EXPECT_FALSE(startDetached(shell("true"), folder_ + "/no/such/folder"));
  EXPECT_FALSE(hasChildren());
}

TEST_F(Subprocess, InheritsNothing) {
  int open[2];
  ASSERT_EQ(pipe(open), 0); // without O_CLOEXEC
  auto said = runCommand(shell("ls /proc/self/fd"));
  close(open[0]);
  close(open[1]);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output, "0\n1\n2\n3\n"); // 3: the folder that ls reads
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto old = std::signal(SIGPIPE, SIG_IGN);
  said = runCommand(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  std::signal(SIGPIPE, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(Subprocess, IsSafeFromManyThreads) {
  (void)runCommand(shell("true"));
  const size_t before = openDescriptors();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; ++i) {
        const std::string number = std::to_string(100 * t + i);
        auto said = runCommand(
            {.words = {"sh", "-c", "cat; echo $N >&2; exit 3"}, .environment = {{"N", number}}, .input = number});
        wrong += !said || said->output != number || said->error != number + "\n" || said->exitCode != 3;
        wrong += bool(runCommand({.words = {"sleep", "1000"}, .timeLimit = 0.01}));
        wrong += bool(runCommand({.words = {folder_ + "/nothing"}}));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(openDescriptors(), before);
  EXPECT_FALSE(hasChildren());
}

TEST(SubprocessTexts, AreOneShortLine) {
  EXPECT_EQ(commandText({"sbatch", "--comment=a b", ""}), "sbatch \"--comment=a b\" \"\"");
  EXPECT_EQ(commandText({"a\nb"}), "\"a b\"");
  EXPECT_LT(commandText({std::string(100000, 'x')}).size(), 200u);
  EXPECT_EQ(firstLineOf("\n  \n\x1b[1mone\xff\r\ntwo"), " [1mone?");
  EXPECT_EQ(firstLineOf(""), "");
  EXPECT_LT(firstLineOf(std::string(100000, 'x')).size(), 300u);
  Error error = commandFailed({.words = {"x"}}, {.exitCode = 1, .output = "", .error = ""});
  EXPECT_EQ(error.message, "'x' ended with 1: it said nothing");
}

} // namespace
} // namespace accord::service
