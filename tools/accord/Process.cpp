#include "tools/accord/Process.h"
#include "lib/driver/ExitStatus.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <unistd.h>

namespace accord {
namespace {

/// Neither allocates nor throws: called where there is no memory.
[[noreturn]] void endWith(const char *what, const char *reason) {
  for (const char *text : {"accord: ", what, reason, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  std::_Exit(kInternal);
}

[[noreturn]] void outOfMemory() { endWith("error: out of memory", ""); }

} // namespace

void prepareProcess() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
      // Reading alone: what is written to it fails, and is told.
      int opened = open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
      if (opened >= 0 && opened != stream)
        close(opened);
    }
  std::set_new_handler(outOfMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { outOfMemory(); });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { endWith("internal error: ", reason); });
}

int closeOutput(int status) {
  std::error_code error;
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    error = llvm::outs().error();
    llvm::outs().clear_error(); // told here, not where the stream ends
  }
  errno = 0;
  if (std::fflush(stdout) != 0 && !error)
    error = std::error_code(errno, std::generic_category());
  if (!error)
    return status;
  fmt::print(stderr, "accord: error: standard output cannot be written: {}\n", error.message());
  return status == kInternal ? status : kWrongInput;
}

} // namespace accord
