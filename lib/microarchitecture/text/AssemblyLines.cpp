#include "lib/microarchitecture/text/AssemblyLines.h"
#include "lib/support/Diagnostics.h"
#include <fmt/format.h>
#include <set>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

using Kind = TextOperand::Kind;

bool branches(IntegerMeaning meaning) { return meaning >= IntegerMeaning::IfEqual; }

class AssemblyReader {
public:
  AssemblyReader(StringRef text, const std::string &file, const Microarchitecture &machine,
                 const AssemblyOptions &options, Errors &errors)
      : machine(machine), options(options), errors(errors), all(tokens(text, file, true, errors)),
        reader(all, machine, file, true, errors) {
    for (Index file = 0; file < Index(machine.registers.size()); ++file)
      for (Index r = 0; r < std::min(machine.registers[file].count, 64); ++r)
        registerNames.push_back(registerText({file, r}, machine));
  }

  AssemblyText run() {
    while (reader.token().kind != Token::Kind::End) {
      const Token &first = reader.token();
      if (first.kind == Token::Kind::Line)
        reader.next();
      else if (first.isName() && reader.ahead().is(':'))
        label();
      else if (first.isWord("fence") &&
               llvm::none_of(machine.opcodes, [](const Opcode &o) { return o.name == "fence"; }))
        fence();
      else if (first.text.starts_with(".") || !instruction()) // a directive, or what was reported
        reader.skipLine();
      else if (!reader.token().ends())
        reader.error(reader.token().place, "found '}'; allowed here: the end of the line"), reader.skipLine();
    }
    targets();
    return std::move(made);
  }

private:
  void label() {
    const Token &name = reader.token();
    auto [at, isNew] = labels.try_emplace(name.text, made.lines.size(), name.place);
    if (!isNew) {
      reader.error(name.place, fmt::format("label '{}' stands twice", name.text), Code::DuplicateName);
      if (errors.size() < 100)
        errors.back().notes.push_back({reader.location(at->second.second), "the first one"});
    }
    reader.next(), reader.next();
  }

  void fence() {
    made.lines.emplace_back().place = reader.token().place;
    reader.next();
    if (reader.token().ends())
      return;
    reader.error(reader.token().place,
                 fmt::format("found {} behind 'fence'; allowed here: the end of the line", found(reader.token())));
    reader.skipLine();
  }

  bool instruction() {
    const TextPlace place = reader.token().place;
    const std::optional<Index> opcode = reader.opcode();
    if (!opcode)
      return false;
    auto number = [&](StringRef name) -> std::optional<int64_t> {
      const std::vector<Register> meant = registersOf(name, machine);
      return meant.size() == 1 ? std::optional(flatRegister(meant[0], machine)) : std::nullopt;
    };
    const OperandReader::Symbols symbols{number, registerNames, "register"};
    const std::optional<std::vector<TextOperand>> operands = reader.operands(symbols);
    if (!operands)
      return false;
    AssemblyLine line;
    line.place = place;
    line.is.opcode = *opcode, line.is.location = reader.location(place);
    for (const auto &[name, meaning] : options.meanings)
      if (name == machine.opcodes[*opcode].name)
        line.meaning = meaning;
    use.reset();
    if (!sort(*operands, line))
      return false;
    if (use)
      uses.push_back(*use);
    made.lines.push_back(std::move(line));
    return true;
  }

  bool wrong(TextPlace place, std::string message) {
    reader.error(place, std::move(message), Code::WrongInstruction);
    return false;
  }

  /// Destinations first; registers of addresses are read last, where the opcode reads more than the text names.
  bool sort(const std::vector<TextOperand> &operands, AssemblyLine &line) {
    const Opcode &opcode = machine.opcodes[line.is.opcode];
    std::vector<Register> registers;
    std::vector<const TextOperand *> memory;
    std::vector<int64_t> addressed; // registers
    const TextOperand *label = nullptr;
    for (const TextOperand &is : operands) {
      if (is.kind == Kind::Register) {
        registers.push_back(is.reg);
      } else if (is.kind == Kind::Immediate) {
        line.is.immediates.push_back(is.immediate);
      } else if (is.kind == Kind::Memory) {
        memory.push_back(&is);
        for (auto [symbol, coefficient] : is.address.terms)
          if (!is_contained(addressed, symbol))
            addressed.push_back(symbol);
      } else if (label || !line.meaning || !branches(*line.meaning)) {
        return notALabel(is, opcode);
      } else {
        label = &is;
      }
    }
    if (!branch(line, label, opcode))
      return false;
    if (int64_t(registers.size() + addressed.size()) == opcode.writes + opcode.reads)
      for (int64_t flat : addressed)
        registers.push_back(registerAt(flat));
    if (int64_t(registers.size()) != opcode.writes + opcode.reads ||
        int64_t(memory.size()) != opcode.stores + opcode.loads ||
        (int64_t(line.is.immediates.size()) != opcode.immediates))
      return wrong(line.place,
                   fmt::format("'{}' takes {}; found {} registers, {} memory operands and {} immediates", opcode.name,
                               signature(opcode), registers.size(), memory.size(), line.is.immediates.size()));
    line.is.writes.assign(registers.begin(), registers.begin() + opcode.writes);
    line.is.reads.assign(registers.begin() + opcode.writes, registers.end());
    // Loads come first in an instruction, stores in its text.
    std::rotate(memory.begin(), memory.begin() + opcode.stores, memory.end());
    for (const TextOperand *is : memory)
      if (!operand(*is, line, opcode))
        return false;
    return line.meaning ? means(line, opcode) : true;
  }

  bool notALabel(const TextOperand &is, const Opcode &opcode) {
    std::vector<std::string> names;
    for (const RegisterFile &file : machine.registers)
      names.push_back(file.name);
    const StringRef word = is.label, stem = word.rtrim("0123456789");
    std::string near = nearest(stem, names);
    if (is_contained(names, stem))
      return wrong(is.place, fmt::format("machine '{}' has no register '{}'", machine.name, is.label));
    if (!near.empty())
      near += word.drop_front(stem.size()).str();
    reader.error(
        is.place,
        fmt::format("machine '{}' has no register '{}', and '{}' takes no label", machine.name, is.label, opcode.name),
        Code::WrongInstruction, registersOf(near, machine).empty() ? "" : near);
    return false;
  }

  /// The target of a branch. An opcode with one immediate more than the text has takes the distance to the label, in
  /// instructions.
  bool branch(AssemblyLine &line, const TextOperand *label, const Opcode &opcode) {
    if (!line.meaning || !branches(*line.meaning)) {
      if (opcode.redirects)
        return wrong(line.place, fmt::format("where the program goes on after '{}' is not known: it redirects, and has "
                                             "no meaning as a branch",
                                             opcode.name));
      return true;
    }
    if (!label)
      return wrong(line.place, fmt::format("'{}' names no label to go on at", opcode.name));
    const bool takesDistance = int64_t(line.is.immediates.size()) + 1 == opcode.immediates;
    if (takesDistance)
      line.is.immediates.push_back(0);
    use = {made.lines.size(), label->label, label->place, takesDistance};
    return true;
  }

  /// Whether the operands are those that the meaning needs.
  bool means(const AssemblyLine &line, const Opcode &opcode) {
    const size_t reads = line.is.reads.size(), sources = reads + line.is.immediates.size();
    bool fits = true;
    switch (*line.meaning) {
    case IntegerMeaning::Set:
    case IntegerMeaning::Move:
      fits = sources == 1;
      break;
    case IntegerMeaning::Always:
      break;
    case IntegerMeaning::IfEqual:
    case IntegerMeaning::IfNotEqual:
    case IntegerMeaning::IfLess:
    case IntegerMeaning::IfNotLess:
      fits = reads == 1 || reads == 2;
      break;
    default:
      fits = sources == 2 && reads > 0;
    }
    if (fits && !branches(*line.meaning))
      fits = line.is.writes.size() == 1;
    return fits || wrong(line.place, fmt::format("'{}' has other operands than its meaning for integers", opcode.name));
  }

  Register registerAt(int64_t flat) const {
    Register at{0, 0};
    while (flat >= machine.registers[at.file].count)
      flat -= machine.registers[at.file++].count;
    at.number = Index(flat);
    return at;
  }

  bool operand(const TextOperand &is, AssemblyLine &line, const Opcode &opcode) {
    const bool isLoad = int64_t(line.is.memory.size()) < opcode.loads;
    MemoryOperand operand{is.storage, {}, is.bytes};
    if (operand.storage == kNone) {
      std::set<Index> reached;
      for (const Unit &unit : machine.units)
        if (any_of(unit.operations, [&](const UnitOperation &o) { return o.opcode == line.is.opcode; }))
          reached.insert((isLoad ? unit.loadsFrom : unit.storesTo).begin(),
                         (isLoad ? unit.loadsFrom : unit.storesTo).end());
      if (reached.size() != 1)
        return wrong(is.place, fmt::format("'{}' reaches {} memories; say which, as in 'memory[r1 + 4]'", opcode.name,
                                           reached.size()));
      operand.storage = *reached.begin();
    }
    if (operand.bytes == 0) {
      const std::vector<Register> &moved = isLoad ? line.is.writes : line.is.reads;
      const int32_t bits =
          moved.empty() || opcode.loads + opcode.stores > 1 ? 0 : machine.registers[moved[0].file].bits;
      if (bits < 8 || bits % 8 != 0)
        return wrong(is.place, fmt::format("the bytes that '{}' moves are not known; say them, as in '{}[r1 : 4 B]'",
                                           opcode.name, machine.storages[operand.storage].name));
      operand.bytes = bits / 8;
    }
    line.is.memory.push_back(std::move(operand));
    line.addresses.push_back(is.address);
    return true;
  }

  void targets() {
    std::vector<std::string> names;
    for (const auto &[name, at] : labels)
      names.push_back(name);
    std::vector<int64_t> numbers{0}; // of instructions, by line; fences are none
    for (const AssemblyLine &line : made.lines)
      numbers.push_back(numbers.back() + (line.is.opcode != kNone));
    for (const Use &use : uses) {
      auto found = labels.find(use.label);
      if (found == labels.end()) {
        reader.error(use.place, fmt::format("no line has the label '{}'", use.label), Code::UnknownName,
                     nearest(use.label, names));
        continue;
      }
      AssemblyLine &line = made.lines[use.line];
      line.target = found->second.first;
      if (use.takesDistance)
        line.is.immediates.back() = numbers[line.target] - numbers[use.line];
      auto [at, isNew] = made.labels.try_emplace(line.target, use.label);
      if (!isNew)
        at->second = std::min(at->second, use.label);
    }
  }

  struct Use {
    size_t line;
    std::string label;
    TextPlace place;
    bool takesDistance;
  };

  const Microarchitecture &machine;
  const AssemblyOptions &options;
  Errors &errors;
  std::vector<Token> all;
  OperandReader reader;
  AssemblyText made;
  std::map<std::string, std::pair<size_t, TextPlace>> labels;
  std::vector<Use> uses;
  std::optional<Use> use;                 ///< of the line that is read
  std::vector<std::string> registerNames; ///< for suggestions
};

} // namespace

AssemblyText readAssembly(StringRef text, const std::string &file, const Microarchitecture &machine,
                          const AssemblyOptions &options, Errors &errors) {
  return AssemblyReader(text, file, machine, options, errors).run();
}

} // namespace accord::microarchitecture
