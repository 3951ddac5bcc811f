#include "test/fuzz/Crash.h"
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// Weak: there only when the sanitizers are linked in.
// NOLINTBEGIN(bugprone-reserved-identifier): names of the sanitizers.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// LLVM's allocators poison what they have not handed out, and only code that is built with the
// sanitizer lifts that again: the libraries of LLVM are not.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
// NOLINTEND(bugprone-reserved-identifier)

namespace accord::fuzz {

// Only what a signal handler may touch: plain memory and system calls.
static char folderPath[512], filePath[1024];
static const char *input = nullptr;
static size_t inputSize = 0;
static unsigned hangAfter = 0;

static void print(const char *text) { (void)!write(2, text, strlen(text)); }

static void dump() {
  if (!input)
    return;
  int file = open(filePath, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t done = 0; file >= 0 && done < inputSize;) {
    ssize_t wrote = write(file, input + done, inputSize - done);
    if (wrote <= 0)
      break;
    done += static_cast<size_t>(wrote);
  }
  if (file >= 0)
    close(file);
  input = nullptr;
  print("accord-fuzz: the input is in ");
  print(filePath);
  print("\n");
}

static void handle(int number) {
  print(number == SIGALRM ? "accord-fuzz: no answer in time\n" : "accord-fuzz: crashed\n");
  dump();
  signal(number, SIG_DFL);
  if (number == SIGALRM)
    _exit(1);
  raise(number);
}

void guard(const std::string &folder, unsigned hangSeconds) {
  snprintf(folderPath, sizeof folderPath, "%s", folder.c_str());
  mkdir(folderPath, 0755);
  hangAfter = hangSeconds;
  // A stack of its own: the commonest crash of a parser is one that has used up the other.
  static char stack[64 << 10];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  bool sanitized = __sanitizer_set_death_callback != nullptr;
  if (sanitized)
    __sanitizer_set_death_callback(dump);
  for (int number : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    if (!sanitized || number == SIGALRM || number == SIGABRT)
      sigaction(number, &action, nullptr);
}

void underTest(const std::string &text, const std::string &fileName) {
  input = nullptr;
  snprintf(filePath, sizeof filePath, "%s/%s", folderPath, fileName.c_str());
  inputSize = text.size();
  input = text.data();
  alarm(hangAfter);
}

std::string keep() {
  dump();
  return filePath;
}

} // namespace accord::fuzz
