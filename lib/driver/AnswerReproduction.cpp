// The command of an answer, run again.
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/ExitStatus.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace accord {
namespace {

namespace fs = std::filesystem;
using File = AnswerManifest::File;

Error violation(Code code, std::string message) { return {code, std::move(message), {}, {}}; }

/// A folder that is gone when its owner is.
class Scratch {
public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "accord-verify-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) ? name : "";
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty())
      fs::remove_all(path_, error);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

/// Exit status of a program in `folder`, without its output; -1 where it was ended or could not be started.
int run(const std::string &program, const std::vector<std::string> &arguments, const std::string &folder) {
  std::vector<char *> words{const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    int none = ::open("/dev/null", O_RDWR);
    if (none < 0 || ::dup2(none, 1) < 0 || ::dup2(none, 2) < 0 || ::chdir(folder.c_str()) != 0)
      ::_exit(127);
    ::execv(program.c_str(), words.data());
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The command of an answer with other sources, and the folder in which names of files mean what they meant.
struct Command {
  std::vector<std::string> arguments;
  std::string folder = ".";
  std::map<std::string, std::string> named; ///< what a source is called now, to what it was called
};

Result<Command> commandOf(const AnswerManifest &answer, const std::vector<std::string> &sources) {
  Command command;
  command.arguments = answer.arguments;
  auto next = sources.begin();
  for (std::string &argument : command.arguments) {
    bool isSource = llvm::any_of(answer.sources, [&](const File &file) { return file.name == argument; });
    if (!isSource || next == sources.end())
      continue;
    std::error_code error;
    std::string real = fs::absolute(*next++, error).lexically_normal().string();
    if (llvm::StringRef(real).ends_with("/" + argument)) { // paths of the answer begin in that folder
      command.folder = real.substr(0, real.size() - argument.size());
      continue;
    }
    command.named[real] = argument;
    argument = real;
  }
  if (next != sources.end())
    return violation(Code::SourceChanged,
                     fmt::format("the answer was not made from so many files as '{}' and others", sources.front()));
  return command;
}

Errors sourceViolations(const AnswerManifest &answer, const AnswerManifest &now) {
  Errors found;
  for (size_t i = 0; i < std::max(answer.sources.size(), now.sources.size()); ++i)
    if (i >= now.sources.size())
      found.push_back(violation(Code::SourceChanged, fmt::format("'{}' is not read any more", answer.sources[i].name)));
    else if (i >= answer.sources.size())
      found.push_back(violation(Code::SourceChanged, fmt::format("'{}' is read, too", now.sources[i].name)));
    else if (answer.sources[i].sha256 != now.sources[i].sha256)
      found.push_back(violation(Code::SourceChanged,
                                fmt::format("'{}' is not what the answer was made from", answer.sources[i].name)));
  return found;
}

/// Whether two files say the same but for what sources are called.
bool isSame(const std::string &before, const std::string &after, const Command &command) {
  auto a = llvm::MemoryBuffer::getFile(before), b = llvm::MemoryBuffer::getFile(after);
  if (!a || !b)
    return false;
  std::string text = (*b)->getBuffer().str();
  for (const auto &[now, then] : command.named)
    for (size_t at = text.find(now); at != std::string::npos; at = text.find(now, at + then.size()))
      text.replace(at, now.size(), then);
  return (*a)->getBuffer() == text;
}

} // namespace

Errors reproductionViolations(const AnswerManifest &answer, const std::string &folder, const std::string &program,
                              const std::vector<std::string> &sources) {
  auto one = [](Code code, std::string message) { return Errors{violation(code, std::move(message))}; };
  if (answer.arguments.empty())
    return one(Code::NotReproduced, "the manifest names no command");
  auto command = commandOf(answer, sources);
  if (!command)
    return Errors{command.error()};
  Scratch scratch;
  std::vector<std::string> arguments = command->arguments;
  arguments.insert(arguments.end(), {"-o", scratch.path() + "/answer"});
  int status = scratch.path().empty() ? -1 : run(program, arguments, command->folder);
  std::string words = fmt::format("accord {}", llvm::join(command->arguments, " "));
  auto now = readManifest(scratch.path() + "/answer");
  if ((status != kDone && status != kInfeasible && status != kUnknown) || !now)
    return one(Code::SourceChanged, fmt::format("'{}' ends with status {} and writes no answer", words, status));
  Errors found = sourceViolations(answer, *now);
  if (!found.empty())
    return found;
  std::map<std::string, std::string> then, again;
  for (const File &file : answer.files)
    then[file.name] = file.sha256;
  for (const File &file : now->files)
    again[file.name] = file.sha256;
  for (const auto &[name, hash] : then)
    if (auto other = again.find(name); other == again.end())
      found.push_back(violation(Code::NotReproduced, fmt::format("'{}' does not write '{}'", words, name)));
    else if (other->second != hash &&
             (command->named.empty() || !isSame(folder + "/" + name, scratch.path() + "/answer/" + name, *command)))
      found.push_back(violation(Code::NotReproduced, fmt::format("'{}' writes another '{}'", words, name)));
  for (const auto &[name, hash] : again)
    if (!then.contains(name))
      found.push_back(violation(Code::NotReproduced, fmt::format("'{}' writes '{}', too", words, name)));
  return found;
}

} // namespace accord
