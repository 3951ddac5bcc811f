#include "lib/microarchitecture/text/Operands.h"
#include "lib/support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxNumber = int64_t(1) << 62;
constexpr int kMaxDepth = 64; // brackets in an address

template <class Part> Index indexOf(const std::vector<Part> &parts, StringRef name) {
  const auto found = find_if(parts, [&](const Part &part) { return part.name == name; });
  return found == parts.end() ? kNone : Index(found - parts.begin());
}
template <class Part> void addNames(const std::vector<Part> &parts, std::vector<std::string> &names) {
  for (const Part &part : parts)
    names.push_back(part.name);
}
StringRef withoutDigits(StringRef word) { return word.rtrim("0123456789"); }

std::string counted(int64_t count, StringRef one, StringRef behind = "") {
  return fmt::format("{} {}{}{}", count, one.str(), count == 1 ? "" : "s", behind.str());
}

} // namespace

bool addTo(LinearForm &form, const LinearForm &other, int64_t times) {
  auto sum = [&](int64_t &into, int64_t what) {
    const __int128 value = into + __int128(times) * what;
    into = int64_t(value);
    return value <= kMaxNumber && value >= -kMaxNumber;
  };
  bool fits = sum(form.base, other.base);
  for (auto [symbol, coefficient] : other.terms) {
    int64_t &into = form.terms[symbol];
    fits &= sum(into, coefficient);
    if (into == 0)
      form.terms.erase(symbol);
  }
  return fits;
}

bool scaleBy(LinearForm &form, int64_t by) {
  LinearForm scaled;
  const bool fits = addTo(scaled, form, by);
  form = std::move(scaled);
  return fits;
}

std::vector<Register> registersOf(StringRef word, const Microarchitecture &machine) {
  std::vector<Register> all;
  for (Index f = 0; f < Index(machine.registers.size()); ++f) {
    const RegisterFile &file = machine.registers[f];
    if (word == file.name) {
      if (file.count == 1)
        all.push_back({f, 0});
      continue;
    }
    StringRef digits = word;
    Index number = 0;
    if (digits.consume_front(file.name) && !(digits.size() > 1 && digits[0] == '0') && all_of(digits, isDigit) &&
        !digits.getAsInteger(10, number) && number < file.count)
      all.push_back({f, number});
  }
  return all;
}

std::string registerText(Register of, const Microarchitecture &machine) {
  const RegisterFile &file = machine.registers[of.file];
  for (const std::string &word : {file.name, fmt::format("{}{}", file.name, of.number)})
    if (const std::vector<Register> all = registersOf(word, machine);
        isPlainWord(word) && all.size() == 1 && all[0] == of)
      return word;
  return fmt::format("{}[{}]", nameText(file.name), of.number);
}

std::string signature(const Opcode &opcode) {
  std::string text;
  auto add = [&](int64_t count, StringRef one, StringRef behind = "") {
    if (count > 0)
      text += (text.empty() ? "" : ", ") + counted(count, one, behind);
  };
  add(opcode.writes, "register", " written"), add(opcode.stores, "memory operand", " stored");
  add(opcode.reads, "register", " read"), add(opcode.loads, "memory operand", " loaded");
  add(opcode.immediates, "immediate");
  return text.empty() ? "no operands" : text;
}

void OperandReader::skipLine() {
  while (!token().ends())
    next();
}

void OperandReader::error(TextPlace place, std::string message, Code code, std::string suggestion) {
  if (errors.size() < 100)
    errors.push_back({code, std::move(message), location(place), {}, std::move(suggestion)});
}

bool OperandReader::expect(char sign, const char *allowed) {
  if (!token().is(sign)) {
    error(token().place, fmt::format("found {}; allowed here: {}", found(token()), allowed));
    return false;
  }
  next();
  return true;
}

std::optional<Index> OperandReader::opcode() {
  const Token &name = token();
  if (!name.isName()) {
    error(name.place, fmt::format("found {}; allowed here: an opcode{}", found(name),
                                  assembly ? ", 'fence' or a label" : ", 'loop', 'fence' or '}'"));
    return {};
  }
  const Index opcode = indexOf(machine.opcodes, name.text);
  if (opcode == kNone) {
    std::vector<std::string> names;
    if (!assembly)
      names.push_back("loop");
    names.push_back("fence");
    addNames(machine.opcodes, names);
    error(name.place, fmt::format("machine '{}' has no opcode '{}'", machine.name, name.text), Code::WrongInstruction,
          nearest(name.text, names));
    return {};
  }
  next();
  return opcode;
}

std::optional<std::vector<TextOperand>> OperandReader::operands(const Symbols &symbols) {
  std::vector<TextOperand> all;
  if (token().ends() || token().is('}'))
    return all;
  for (;;) {
    all.emplace_back().place = token().place;
    if (!operand(symbols, all.back()))
      return {};
    if (token().ends() || token().is('}'))
      return all;
    if (!expect(',', "',' and another operand, or the end of the line"))
      return {};
  }
}

std::optional<int64_t> OperandReader::integer(const char *what) {
  const TextPlace place = token().place;
  const bool isNegative = token().is('-');
  if (isNegative)
    next();
  if (token().kind != Token::Kind::Number) {
    error(token().place, fmt::format("found {}; allowed here: {}", found(token()), what));
    return {};
  }
  const uint64_t value = token().value;
  if (!isNegative && value == uint64_t(1) << 63) {
    error(place, "a number without a sign is at most 2^63 - 1", Code::NumberTooLarge);
    return {};
  }
  next();
  return int64_t(isNegative ? 0 - value : value);
}

bool OperandReader::operand(const Symbols &symbols, TextOperand &into) {
  const Token &first = token();
  if (first.isName()) {
    next();
    if (token().is('['))
      return bracketed(first, symbols, into);
    return resolve(first, into);
  }
  if (assembly && first.is('('))
    return baseAndRegister(0, symbols, into);
  const std::optional<int64_t> value =
      integer(assembly ? "a register, a memory operand, an immediate or a label"
                       : "a register, a memory operand 'memory[address : bytes]' or an immediate");
  if (!value)
    return false;
  if (assembly && token().is('('))
    return baseAndRegister(*value, symbols, into);
  into.kind = TextOperand::Kind::Immediate, into.immediate = *value;
  return true;
}

/// `file[3]` or `memory[address : bytes]`.
bool OperandReader::bracketed(const Token &name, const Symbols &symbols, TextOperand &into) {
  const Index file = indexOf(machine.registers, name.text);
  into.storage = indexOf(machine.storages, name.text);
  if (file == kNone && into.storage == kNone)
    return unknown(name, true);
  next();
  const TextPlace inside = token().place;
  if (into.storage == kNone) {
    const std::optional<int64_t> number = integer("the number of a register");
    if (!number)
      return false;
    if (*number < 0 || *number >= machine.registers[file].count) {
      error(inside,
            fmt::format("register file '{}' has the registers 0 to {}, not {}", name.text,
                        machine.registers[file].count - 1, *number),
            Code::WrongInstruction);
      return false;
    }
    into.reg = {file, Index(*number)};
    return expect(']', "']'");
  }
  if (!sum(symbols, into.address, 0))
    return false;
  if (token().is(':')) {
    into.kind = TextOperand::Kind::Memory;
    return bytes(into) && expect(']', "']'");
  }
  if (assembly && token().is(']')) {
    into.kind = TextOperand::Kind::Memory;
    next();
    return true;
  }
  // A file and a memory of the same name are told apart by the bytes.
  if (file != kNone && token().is(']') && into.address.terms.empty() && into.address.base >= 0 &&
      into.address.base < machine.registers[file].count) {
    into.reg = {file, Index(into.address.base)};
    next();
    return true;
  }
  error(token().place, fmt::format("found {}; allowed here: '+', '-', '*' or ': ' and the bytes that are moved, as in "
                                   "'{}[0x1000 : 4 B]'",
                                   found(token()), name.text));
  return false;
}

/// `8(r1)` from the bracket on: an address in the only memory.
bool OperandReader::baseAndRegister(int64_t base, const Symbols &symbols, TextOperand &into) {
  next();
  into.kind = TextOperand::Kind::Memory;
  return sum(symbols, into.address, 0) && fits(addTo(into.address, {base, {}}), into.place) && expect(')', "')'");
}

bool OperandReader::resolve(const Token &name, TextOperand &into) {
  const std::vector<Register> meant = registersOf(name.text, machine);
  if (meant.size() == 1) {
    into.reg = meant[0];
    return true;
  }
  if (meant.size() > 1) {
    std::string ways;
    for (const Register &one : meant)
      ways +=
          fmt::format("{}{}[{}]", ways.empty() ? "" : " or ", nameText(machine.registers[one.file].name), one.number);
    error(name.place, fmt::format("'{}' may be {}", name.text, ways), Code::AmbiguousName);
    return false;
  }
  if (assembly) {
    into.kind = TextOperand::Kind::Label, into.label = name.text;
    return true;
  }
  return unknown(name, false);
}

bool OperandReader::unknown(const Token &name, bool isIndexed) {
  const StringRef word = name.text, stem = withoutDigits(word), digits = word.drop_front(stem.size());
  if (!isIndexed)
    if (const Index file = indexOf(machine.registers, word.take_front(stem.size())); file != kNone) {
      const RegisterFile &is = machine.registers[file];
      error(name.place,
            digits.empty()
                ? fmt::format("register file '{}' needs the number of a register, 0 to {}", is.name, is.count - 1)
                : fmt::format("register file '{}' has the registers 0 to {}, not {}", is.name, is.count - 1,
                              digits.str()),
            Code::WrongInstruction);
      return false;
    }
  if (const Index storage = indexOf(machine.storages, word); storage != kNone) {
    error(name.place, fmt::format("memory '{}' needs an address, as in '{}[0x1000 : 4 B]'", word.str(), word.str()),
          Code::WrongInstruction);
    return false;
  }
  std::vector<std::string> files, all;
  addNames(machine.registers, files);
  all = files;
  addNames(machine.storages, all);
  std::string near = nearest(word, all);
  if (!isIndexed && !digits.empty())
    if (const std::string file = nearest(stem, files);
        !file.empty() && !registersOf(file + digits.str(), machine).empty())
      near = file + digits.str();
  error(name.place,
        fmt::format("machine '{}' has no {} '{}'", machine.name,
                    isIndexed ? "register file or memory" : "register or memory", word.str()),
        Code::WrongInstruction, near);
  return false;
}

/// `: 4 B`.
bool OperandReader::bytes(TextOperand &into) {
  next();
  const TextPlace place = token().place;
  const std::optional<int64_t> count = integer("a number of bytes, as '4 B'");
  if (!count)
    return false;
  const Token &unit = token();
  const StringRef units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  const auto *known = unit.kind == Token::Kind::Word ? find(units, unit.text) : std::end(units);
  if (known == std::end(units)) {
    if (unit.kind == Token::Kind::Word)
      error(unit.place, fmt::format("bytes have no unit '{}'; allowed here: B, KiB, MiB, GiB, TiB", unit.text),
            Code::UnknownUnit);
    else
      error(unit.place, fmt::format("found {}; a number of bytes needs its unit, as '{} B'", found(unit), *count),
            Code::MissingUnit);
    return false;
  }
  const int shift = 10 * int(known - std::begin(units));
  if (*count < 1 || *count > (int64_t(1) << 40) >> shift) {
    error(place, fmt::format("an operand moves from 1 B to 1 TiB, not {} {}", *count, unit.text),
          Code::WrongInstruction);
    return false;
  }
  into.bytes = *count << shift;
  next();
  return true;
}

bool OperandReader::fits(bool does, TextPlace place) {
  if (!does)
    error(place, "a number of this address is beyond 2^62", Code::NumberTooLarge);
  return does;
}

bool OperandReader::sum(const Symbols &symbols, LinearForm &into, int depth) {
  int64_t sign = 1;
  if (token().is('-'))
    sign = -1, next();
  for (;;) {
    const TextPlace place = token().place;
    LinearForm part;
    if (!product(symbols, part, depth) || !fits(addTo(into, part, sign), place))
      return false;
    if (!token().is('+') && !token().is('-'))
      return true;
    sign = token().is('-') ? -1 : 1;
    next();
  }
}

bool OperandReader::product(const Symbols &symbols, LinearForm &into, int depth) {
  if (!factor(symbols, into, depth))
    return false;
  while (token().is('*')) {
    next();
    const TextPlace place = token().place;
    LinearForm other;
    if (!factor(symbols, other, depth))
      return false;
    if (!into.terms.empty() && !other.terms.empty()) {
      error(place, fmt::format("a term of an address has one {} at most, found a product", symbols.what),
            Code::WrongInstruction);
      return false;
    }
    if (other.terms.empty())
      std::swap(into, other);
    if (!fits(scaleBy(other, into.base), place))
      return false;
    into = std::move(other);
  }
  return true;
}

bool OperandReader::factor(const Symbols &symbols, LinearForm &into, int depth) {
  const Token &first = token();
  if (first.kind == Token::Kind::Number) {
    if (first.value > uint64_t(kMaxNumber)) {
      error(first.place, "a number of this address is beyond 2^62", Code::NumberTooLarge);
      return false;
    }
    into.base = int64_t(first.value);
    next();
    return true;
  }
  if (first.isName()) {
    const std::optional<int64_t> symbol = symbols.number(first.text);
    if (!symbol) {
      error(first.place, fmt::format("'{}' is no {}", first.text, symbols.what), Code::UnknownName,
            nearest(first.text, symbols.names));
      return false;
    }
    into.terms[*symbol] = 1;
    next();
    return true;
  }
  if (first.is('(') && depth < kMaxDepth) {
    next();
    return sum(symbols, into, depth + 1) && expect(')', "'+', '-', '*' or ')'");
  }
  if (first.is('('))
    error(first.place, "an address has more than 64 brackets in each other", Code::NestedTooDeep);
  else
    error(first.place, fmt::format("found {}; allowed here: a number, a {}, or '('", found(first), symbols.what));
  return false;
}

} // namespace accord::microarchitecture
