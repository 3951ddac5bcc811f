#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/microarchitecture/text/Operands.h"
#include "lib/support/StableSort.h"
#include <fmt/format.h>
#include <tuple>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr size_t kMaxNesting = 64;
constexpr int64_t kMaxCount = int64_t(1) << 46;

class ProgramParser {
public:
  ProgramParser(StringRef text, const std::string &file, const Microarchitecture &machine)
      : machine(machine), all(tokens(text, file, false, errors)), reader(all, machine, file, false, errors) {}

  Result<InstructionProgram, Errors> run() {
    lines();
    if (header()) {
      body(program.body, reader.location(start));
      lines();
      if (errors.empty() && reader.token().kind != Token::Kind::End)
        reader.error(reader.token().place,
                     fmt::format("found {} behind the program; allowed here: nothing", found(reader.token())));
    }
    if (errors.empty())
      errors = check(program, machine);
    if (errors.empty())
      return std::move(program);
    stableSort(errors, [](const Error &a, const Error &b) {
      return std::tuple(a.location.line, a.location.column) < std::tuple(b.location.line, b.location.column);
    });
    return std::move(errors);
  }

private:
  void lines() {
    while (reader.token().kind == Token::Kind::Line)
      reader.next();
  }

  bool word(const char *expected) {
    if (!reader.token().isWord(expected)) {
      reader.error(reader.token().place, fmt::format("found {}; allowed here: '{}'", found(reader.token()), expected));
      return false;
    }
    reader.next();
    return true;
  }

  bool name(std::string &into, const char *what) {
    if (!reader.token().isName()) {
      reader.error(reader.token().place, fmt::format("found {}; allowed here: {}", found(reader.token()), what));
      return false;
    }
    into = reader.token().text;
    reader.next();
    return true;
  }

  /// `program NAME on MACHINE {`
  bool header() {
    start = reader.token().place;
    if (!word("program") || !name(program.name, "the name of the program") || !word("on"))
      return false;
    const Token on = reader.token();
    std::string of;
    if (!name(of, "the name of the machine"))
      return false;
    if (of != machine.name) {
      reader.error(on.place, fmt::format("the program is for machine '{}', not for '{}'", of, machine.name),
                   Code::UnknownName, machine.name);
      return false;
    }
    return reader.expect('{', "'{'");
  }

  /// Items up to the '}' that belongs to what opened at `open`.
  void body(Body &into, const SourceLocation &open) {
    for (;;) {
      lines();
      const Token &token = reader.token();
      if (token.kind == Token::Kind::End) {
        reader.error(token.place, "found the end of the text; allowed here: an opcode, 'loop', 'fence' or '}'",
                     Code::UnclosedBracket);
        if (errors.size() < 100)
          errors.back().notes.push_back({open, "opened here"});
        return;
      }
      if (token.is('}'))
        return reader.next();
      if (token.isWord("loop"))
        loop(into);
      else if (token.isWord("fence"))
        fence(into);
      else if (!instruction(into))
        reader.skipLine();
    }
  }

  void fence(Body &into) {
    reader.next();
    if (!reader.token().ends() && !reader.token().is('}')) {
      reader.error(reader.token().place,
                   fmt::format("found {} behind 'fence'; allowed here: the end of the line", found(reader.token())));
      return reader.skipLine();
    }
    into.push_back({kFence, kNone});
  }

  void loop(Body &into) {
    const TextPlace place = reader.token().place;
    const size_t before = errors.size();
    InstructionLoop is;
    is.location = reader.location(place);
    const bool isWhole = loopHeader(is);
    if (!isWhole) {
      // Where the line opens a body all the same, its instructions are read.
      bool opens = false;
      for (; !reader.token().ends(); reader.next())
        opens = reader.token().is('{');
      if (!opens)
        return;
    }
    if (around.size() == kMaxNesting) {
      if (errors.size() == before)
        reader.error(place, fmt::format("more than {} loops are in each other", kMaxNesting), Code::NestedTooDeep);
      return skipBody();
    }
    const Index number = Index(program.loops.size());
    into.push_back({kNone, number});
    const SourceLocation open = is.location;
    program.loops.push_back(is);
    around.push_back(std::move(is));
    Body items;
    body(items, open);
    around.pop_back();
    program.loops[number].body = std::move(items);
  }

  void skipBody() {
    for (size_t open = 1; open > 0 && reader.token().kind != Token::Kind::End; reader.next())
      open = open + reader.token().is('{') - reader.token().is('}');
  }

  /// `loop NAME COUNT {`
  bool loopHeader(InstructionLoop &is) {
    reader.next();
    const TextPlace named = reader.token().place;
    if (!name(is.name, "the name of the loop"))
      return false;
    for (const InstructionLoop &outer : around)
      if (outer.name == is.name) {
        reader.error(named, fmt::format("loop '{}' is in a loop of the same name", is.name), Code::DuplicateName);
        if (errors.size() < 100)
          errors.back().notes.push_back({outer.location, "the outer one"});
        return false;
      }
    const TextPlace counted = reader.token().place;
    const std::optional<int64_t> count = reader.integer("the number of iterations");
    if (!count)
      return false;
    if (*count < 0 || *count > kMaxCount) {
      reader.error(counted, fmt::format("loop '{}' has {} iterations, not from 0 to 2^46", is.name, *count),
                   Code::WrongInstruction);
      return false;
    }
    is.count = *count;
    return reader.expect('{', "'{'");
  }

  std::optional<int64_t> depthOf(StringRef loop) const {
    for (size_t depth = 0; depth < around.size(); ++depth)
      if (around[depth].name == loop)
        return int64_t(depth);
    return {};
  }

  bool instruction(Body &into) {
    const TextPlace place = reader.token().place;
    const std::optional<Index> opcode = reader.opcode();
    if (!opcode)
      return false;
    Instruction made;
    made.opcode = *opcode, made.location = reader.location(place);
    auto number = [&](StringRef name) { return depthOf(name); };
    std::vector<std::string> names;
    for (const InstructionLoop &loop : around)
      names.push_back(loop.name);
    const OperandReader::Symbols symbols{number, names, "loop around the instruction"};
    const std::optional<std::vector<TextOperand>> operands = reader.operands(symbols);
    if (!operands || !sort(*operands, place, made))
      return false;
    into.push_back({Index(program.instructions.size()), kNone});
    program.instructions.push_back(std::move(made));
    return true;
  }

  /// Operands in the order of the text, destinations first, to those of an instruction.
  bool sort(const std::vector<TextOperand> &operands, TextPlace place, Instruction &into) {
    const Opcode &opcode = machine.opcodes[into.opcode];
    int64_t registers = 0, memory = 0, immediates = 0;
    std::vector<MemoryOperand> stores;
    for (const TextOperand &is : operands) {
      const bool isRegister = is.kind == TextOperand::Kind::Register, isMemory = is.kind == TextOperand::Kind::Memory;
      int64_t &count = isRegister ? registers : isMemory ? memory : immediates;
      if (++count > (isRegister ? opcode.writes + opcode.reads
                     : isMemory ? opcode.stores + opcode.loads
                                : opcode.immediates))
        return wrong(is.place, opcode,
                     fmt::format("'{}' takes {}; this {} is one too many", opcode.name, signature(opcode),
                                 isRegister ? "register"
                                 : isMemory ? "memory operand"
                                            : "immediate"));
      if (isRegister)
        (count <= opcode.writes ? into.writes : into.reads).push_back(is.reg);
      else if (!isMemory)
        into.immediates.push_back(is.immediate);
      else if (!address(is, opcode, count <= opcode.stores ? stores : into.memory))
        return false;
    }
    into.memory.insert(into.memory.end(), stores.begin(), stores.end());
    if (registers != opcode.writes + opcode.reads || memory != opcode.stores + opcode.loads ||
        immediates != opcode.immediates)
      return wrong(place, opcode,
                   fmt::format("'{}' takes {}; found {} registers, {} memory operands and {} immediates", opcode.name,
                               signature(opcode), registers, memory, immediates));
    return true;
  }

  bool wrong(TextPlace place, const Opcode &opcode, std::string message) {
    reader.error(place, std::move(message), Code::WrongInstruction);
    if (opcode.location.line > 0 && errors.size() < 100)
      errors.back().notes.push_back({opcode.location, fmt::format("'{}' is declared here", opcode.name)});
    return false;
  }

  bool address(const TextOperand &is, const Opcode &opcode, std::vector<MemoryOperand> &into) {
    MemoryOperand made{is.storage, {is.address.base, {}}, is.bytes};
    for (auto [depth, stride] : is.address.terms) {
      made.address.strides.resize(depth + 1, 0);
      made.address.strides[depth] = stride;
    }
    std::vector<const InstructionLoop *> loops;
    for (const InstructionLoop &loop : around)
      loops.push_back(&loop);
    if (std::optional<Error> outside = wrongAddress(made, loops, machine, opcode.name)) {
      reader.error(is.place, std::move(outside->message), outside->code);
      return false;
    }
    into.push_back(std::move(made));
    return true;
  }

  const Microarchitecture &machine;
  Errors errors;
  std::vector<Token> all;
  OperandReader reader;
  TextPlace start;
  InstructionProgram program;
  std::vector<InstructionLoop> around; ///< heads of the loops around, without their bodies
};

} // namespace

Result<InstructionProgram, Errors> parseProgram(StringRef text, const std::string &file,
                                                const Microarchitecture &machine) {
  return ProgramParser(text, file, machine).run();
}

} // namespace accord::microarchitecture
