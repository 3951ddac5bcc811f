#include "lib/driver/instructions/TimeProgramFile.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/instructions/InstructionMachine.h"
#include "lib/language/syntax/Parser.h"
#include "lib/microarchitecture/output/PipelineTrace.h"
#include "lib/microarchitecture/output/TimingDocument.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/text/ImportAssembly.h"
#include "lib/microarchitecture/text/Operands.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

using namespace microarchitecture;

const DocumentEntry kDocument("time", "accord time --json, time.json",
                              "How long a program of instructions takes on a machine, and what its cycles wait for.",
                              timingSchema);

/// What stands before the body of a text: whether it is a program, and on which machine.
struct ProgramHead {
  bool isProgram = false;
  std::string on;
};

ProgramHead headOf(llvm::StringRef text) {
  Errors unused;
  ProgramHead head;
  std::vector<Token> words;
  // A program is told by its first words: what follows need not be read for that.
  for (Token &token : tokens(text.take_until([](char c) { return c == '{'; }), "", false, unused))
    if (token.kind != Token::Kind::Line)
      words.push_back(std::move(token));
  head.isProgram = words[0].isWord("program") || words[0].kind == Token::Kind::End;
  if (head.isProgram && words.size() > 3 && words[2].isWord("on"))
    head.on = words[3].text;
  return head;
}

class ProgramTask {
public:
  explicit ProgramTask(const TimeOptions &options) : options(options) {}

  int run() {
    auto place = machineFileOf(options.machine);
    if (!place)
      return refuse(place.error().code, place.error().message, options.json, "time", place.error().suggestion);
    Options files;
    files.file = place->file, files.json = options.json;
    Workspace workspace(files);
    diags = &workspace.diagnostics();
    const bool isRead = workspace.read();
    auto file = readFile(*diags, options.file);
    auto finish = [&](int status) { return workspace.finish(status, "time"); };
    if (!isRead || !file || diags->hasErrors())
      return finish(kWrongInput);
    const llvm::StringRef text = diags->sources().text(*file);
    const ProgramHead head = headOf(text);
    auto machine = instructionMachineOf(workspace, place->name, options.microarchitecture, head.on);
    if (!machine)
      return finish(kWrongInput);
    answer.machine = std::move(machine->machine), answer.clock = machine->clock;
    if (!(head.isProgram ? readProgram(text, head) : readAssembly(text)) || !time())
      return finish(kWrongInput);
    return finish(write());
  }

private:
  bool report(const Errors &errors, llvm::StringRef help = "") {
    for (const Error &error : errors) {
      auto made = diags->error(error.code, rangeOf(*diags, error.location), error.message);
      for (const auto &[location, message] : error.notes)
        made.note(rangeOf(*diags, location), message);
      made.suggest(error.suggestion);
      if (!help.empty())
        made.help(help.str());
    }
    return errors.empty();
  }
  bool wrongOption(std::string message) { return report({{Code::BadCommandLine, std::move(message)}}); }

  /// A program for another machine is refused, unless the option says that this one is meant.
  bool readProgram(llvm::StringRef text, const ProgramHead &head) {
    if (!options.registers.empty() || !options.zero.empty())
      return wrongOption("--register and --zero are for assembly only: a program has no values in its registers");
    const std::string name = answer.machine.name;
    if (!options.microarchitecture.empty() && !head.on.empty())
      answer.machine.name = head.on;
    auto read = parseProgram(text, options.file, answer.machine);
    answer.machine.name = name;
    if (!read)
      return report(read.error());
    answer.program = std::move(*read);
    return true;
  }

  std::optional<Register> registerNamed(llvm::StringRef name, const char *option) {
    const std::vector<Register> meant = registersOf(name, answer.machine);
    if (meant.size() == 1)
      return meant.front();
    std::vector<std::string> files;
    for (const RegisterFile &one : answer.machine.registers)
      files.push_back(one.count == 1 ? one.name : fmt::format("{}0", one.name));
    report({{Code::UnknownName,
             fmt::format("{}: '{}' has {} '{}'", option, answer.machine.name,
                         meant.empty() ? "no register" : "several registers", name.str()),
             {},
             {},
             nearest(name, files)}});
    return std::nullopt;
  }

  /// Assembly as a program of loops, as its text reads back.
  bool readAssembly(llvm::StringRef text) {
    AssemblyOptions how;
    how.name = llvm::sys::path::stem(options.file).str();
    for (llvm::StringRef given : options.registers) {
      auto [name, value] = given.split('=');
      AssemblyOptions::Known known;
      if (value.getAsInteger(0, known.value))
        return wrongOption(
            fmt::format("--register: expected a register and its value, as in r1=0x1000, found '{}'", given.str()));
      auto of = registerNamed(name, "--register");
      if (!of)
        return false;
      known.of = *of;
      how.values.push_back(known);
    }
    for (const std::string &name : options.zero) {
      auto of = registerNamed(name, "--zero");
      if (!of)
        return false;
      how.zero.push_back(*of);
    }
    auto imported = importAssembly(text, options.file, answer.machine, how);
    if (!imported)
      return report(imported.error());
    auto read = parseProgram(printProgram(*imported, answer.machine), options.file, answer.machine);
    if (!read)
      return report(read.error());
    answer.program = std::move(*read);
    return true;
  }

  bool time() {
    TimingLimits limits;
    limits.evaluated = options.maxEvaluated, limits.recurrences = !options.full;
    limits.waits = limits.bounds = true;
    const SourceLocation start{options.file, 1, 1};
    auto timing = timeProgram(answer.machine, answer.program, limits);
    if (!timing) {
      Error error = timing.takeError();
      if (error.location.file.empty())
        error.location = start;
      return report({std::move(error)});
    }
    if (timing->bounds)
      return report({{Code::NoRecurrence,
                      fmt::format("the time of '{}' is not known after {} instructions: it is from {} to {} cycles",
                                  answer.program.name, options.maxEvaluated, timing->bounds->low, timing->bounds->high),
                      start}},
                    options.full ? "leave out --full, so that loops are found to recur"
                                 : "--max-evaluated N allows more instructions");
    answer.timing = std::move(*timing);
    return true;
  }

  int write() {
    if (!options.trace.empty() &&
        !writeFile(*diags, options.trace,
                   jsonLine(pipelineTrace(answer.machine, answer.program, {options.traced})) + "\n"))
      return kWrongInput;
    if (!options.output.empty()) {
      AnswerFolder folder(*diags, options.output);
      if (!folder.write(filesOf(answer)).commit())
        return kWrongInput;
    }
    TextStyle style = TextStyle::of(standardOutput());
    style.unicode &= style.colour;
    standardOutput() << (options.json ? jsonText(timingDocument(answer)) + "\n" : timingText(answer, style));
    return kDone;
  }

  const TimeOptions &options;
  Diagnostics *diags = nullptr;
  TimedProgram answer;
};

} // namespace

int timeProgramFile(const TimeOptions &options) { return ProgramTask(options).run(); }

} // namespace accord
