#include "lib/microarchitecture/text/ImportAssembly.h"
#include "lib/microarchitecture/text/AssemblyLines.h"
#include "lib/microarchitecture/text/TripCount.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr size_t kMaxNesting = 64;
constexpr int64_t kEffort = 16; ///< instructions that are executed to find loops, for each that the program may have

/// What a register holds: a sum of constants times iterations of the loops around, by depth. None is not known.
struct Value {
  std::optional<LinearForm> form;
  int64_t setBy = -1; ///< line that made it unknown; -1: nobody set it
};
using State = std::vector<Value>;

/// Why something could not be proved.
struct Reason {
  TextPlace place;
  std::string message;
  Code code = Code::NotConstant;
};

class AssemblyWalk {
public:
  AssemblyWalk(AssemblyText text, const std::string &file, const Microarchitecture &machine,
               const AssemblyOptions &options)
      : lines(std::move(text.lines)), labels(std::move(text.labels)), file(file), machine(machine), options(options),
        back(lines.size() + 1) {
    for (size_t line = 0; line < lines.size(); ++line)
      if (isBranch(line) && lines[line].target <= line)
        back[lines[line].target].insert(back[lines[line].target].begin(), line);
    program.name = options.name;
  }

  Result<InstructionProgram, Errors> run() {
    State state;
    for (const RegisterFile &registers : machine.registers)
      state.resize(state.size() + registers.count);
    for (const AssemblyOptions::Known &known : options.values)
      state[flatRegister(known.of, machine)].form = LinearForm{known.value, {}};
    isZero.assign(state.size(), 0);
    for (const Register &zero : options.zero) {
      isZero[flatRegister(zero, machine)] = 1;
      state[flatRegister(zero, machine)].form = LinearForm{};
    }
    if (!walk(0, lines.size(), 0, state, program.body, nullptr))
      return error();
    for (const ValueRange &range : ranges)
      if (const std::string wrong = range.wrong(); !wrong.empty())
        return Errors{Error{Code::OutOfRange, fmt::format("'{}' {}", opcodeOf(range.line), wrong), at(range.line)}};
    if (Errors errors = check(program, machine); !errors.empty())
      return errors;
    return std::move(program);
  }

private:
  /// A conditional branch out of a loop that ends with a jump.
  struct Exit {
    size_t line = 0;
    LinearForm difference;
    bool isTaken = false; ///< seen
  };

  SourceLocation at(size_t line) const { return {file, lines[line].place.line, lines[line].place.column}; }
  bool isFence(size_t line) const { return lines[line].is.opcode == kNone; }
  std::string opcodeOf(size_t line) const {
    return isFence(line) ? "fence" : machine.opcodes[lines[line].is.opcode].name;
  }
  bool isBranch(size_t line) const { return lines[line].meaning && *lines[line].meaning >= IntegerMeaning::IfEqual; }
  bool isJump(size_t line) const { return lines[line].meaning == IntegerMeaning::Always; }

  bool fail(size_t line, std::string message, Code code = Code::NotConstant) {
    why = Reason{lines[line].place, std::move(message), code};
    return false;
  }

  Errors error() {
    Error made{why.code, why.message, {file, why.place.line, why.place.column}};
    if (isTooMuch && !unproved.empty()) {
      const auto &[branch, reason] = *unproved.begin();
      made.notes.push_back({{file, reason.place.line, reason.place.column},
                            fmt::format("'{}' of line {} ends no loop that could be proved: {}", opcodeOf(branch),
                                        lines[branch].place.line, reason.message)});
    }
    return {std::move(made)};
  }

  std::string unknown(int64_t flat, const State &state) const {
    Register of{0, 0};
    int64_t rest = flat;
    while (rest >= machine.registers[of.file].count)
      rest -= machine.registers[of.file++].count;
    of.number = Index(rest);
    const Value &value = state[flat];
    return value.setBy < 0
               ? fmt::format("the value of '{}' is not known here: nothing set it", registerText(of, machine))
               : fmt::format("the value of '{}' is not known here: '{}' of line {} set it", registerText(of, machine),
                             opcodeOf(value.setBy), lines[value.setBy].place.line);
  }

  /// Instructions from one line until another is reached, which is not executed. Control stays in [low, end]. `exit`:
  /// where one branch that depends on the innermost loop may leave.
  bool walk(size_t from, size_t end, size_t low, State &state, Body &into, Exit *exit) {
    for (size_t line = from; line != end;) {
      if (line < low || line > end)
        return fail(last, fmt::format("'{}' leaves the loop", opcodeOf(last)));
      if (std::optional<size_t> behind = loops(line, end, state, into)) {
        line = *behind;
        continue;
      }
      if (isTooMuch || !emit(line, state, into))
        return false;
      last = line;
      bool isTaken = false;
      if (isBranch(line) && !decide(line, low, end, state, exit, isTaken))
        return false;
      compute(line, state);
      line = isTaken ? lines[line].target : line + 1;
    }
    return true;
  }

  bool emit(size_t line, const State &state, Body &into) {
    if (++executed > kEffort * options.maxInstructions ||
        int64_t(program.instructions.size()) >= options.maxInstructions) {
      isTooMuch = true;
      return fail(line,
                  int64_t(program.instructions.size()) >= options.maxInstructions
                      ? fmt::format("more than {} instructions would be unrolled", options.maxInstructions)
                      : fmt::format("more than {} instructions were executed to find loops", executed - 1),
                  Code::NoRecurrence);
    }
    if (isFence(line)) {
      into.push_back({kFence, kNone});
      return true;
    }
    Instruction made = lines[line].is;
    for (size_t o = 0; o < made.memory.size(); ++o) {
      LinearForm sum{lines[line].addresses[o].base, {}};
      for (auto [flat, coefficient] : lines[line].addresses[o].terms) {
        if (!state[flat].form)
          return fail(line, unknown(flat, state));
        if (!addTo(sum, *state[flat].form, coefficient))
          return fail(line, "a number of this address is beyond 2^62", Code::NumberTooLarge);
      }
      made.memory[o].address.base = sum.base;
      for (auto [depth, stride] : sum.terms) {
        made.memory[o].address.strides.resize(depth + 1, 0);
        made.memory[o].address.strides[depth] = stride;
      }
    }
    into.push_back({Index(program.instructions.size()), kNone});
    program.instructions.push_back(std::move(made));
    return true;
  }

  /// The registers that a line writes.
  void compute(size_t line, State &state) {
    const AssemblyLine &is = lines[line];
    std::optional<LinearForm> result;
    if (is.meaning && !isBranch(line))
      result = evaluate(is, state);
    for (const Register &one : is.is.writes) {
      const int64_t flat = flatRegister(one, machine);
      if (isZero[flat])
        continue;
      state[flat] = {result, int64_t(line)};
      if (result)
        ranges.push_back(ValueRange(line, machine.registers[one.file].bits, *result));
    }
  }

  std::optional<LinearForm> evaluate(const AssemblyLine &is, const State &state) const {
    std::vector<LinearForm> sources;
    for (const Register &one : is.is.reads) {
      const Value &value = state[flatRegister(one, machine)];
      if (!value.form)
        return {};
      sources.push_back(*value.form);
    }
    for (int64_t immediate : is.is.immediates)
      sources.push_back({immediate, {}});
    LinearForm &left = sources[0];
    switch (*is.meaning) {
    case IntegerMeaning::Add:
    case IntegerMeaning::Subtract:
      if (!addTo(left, sources[1], is.meaning == IntegerMeaning::Add ? 1 : -1))
        return {};
      return left;
    case IntegerMeaning::Multiply:
      if (!left.terms.empty())
        std::swap(left, sources[1]);
      if (!left.terms.empty() || !scaleBy(sources[1], left.base))
        return {};
      return sources[1];
    case IntegerMeaning::ShiftLeft:
      if (!sources[1].terms.empty() || sources[1].base < 0 || sources[1].base > 61 ||
          !scaleBy(left, int64_t(1) << sources[1].base))
        return {};
      return left;
    default:
      return left;
    }
  }

  /// What a branch compares, left minus right.
  bool compared(size_t line, const State &state, LinearForm &difference) {
    const std::vector<Register> &reads = lines[line].is.reads;
    LinearForm sides[2];
    for (size_t i = 0; i < reads.size(); ++i) {
      const int64_t flat = flatRegister(reads[i], machine);
      if (!state[flat].form)
        return fail(line, unknown(flat, state));
      sides[i] = *state[flat].form;
    }
    const bool isSigned =
        lines[line].meaning == IntegerMeaning::IfLess || lines[line].meaning == IntegerMeaning::IfNotLess;
    ranges.push_back(ValueRange(line, machine.registers[reads[0].file].bits, sides[0], sides[1], isSigned));
    difference = sides[0];
    return addTo(difference, sides[1], -1) || fail(line, "the difference that it compares is beyond 2^62");
  }

  bool decide(size_t line, size_t low, size_t end, const State &state, Exit *exit, bool &isTaken) {
    if (isJump(line)) {
      isTaken = true;
      return true;
    }
    LinearForm difference;
    if (!compared(line, state, difference))
      return false;
    if (difference.terms.empty()) {
      isTaken = holds(*lines[line].meaning, difference.base);
      return true;
    }
    const size_t target = lines[line].target;
    if (exit && !exit->isTaken && (target < low || target > end)) {
      *exit = {line, difference, true};
      return true;
    }
    return fail(line, fmt::format("'{}' does not go the same way in each iteration", opcodeOf(line)));
  }

  /// Tries the branches back to a line, the last one first; the line behind what became a loop.
  std::optional<size_t> loops(size_t head, size_t end, State &state, Body &into) {
    for (size_t branch : back[head])
      if (branch < end && !isTooMuch) {
        if (loop(head, branch, state, into)) {
          unproved.erase(branch);
          return isJump(branch) ? head : branch + 1;
        }
        if (!isTooMuch)
          unproved[branch] = why;
      }
    return {};
  }

  struct Mark {
    size_t instructions, loops, ranges;
  };
  Mark mark() const { return {program.instructions.size(), program.loops.size(), ranges.size()}; }
  void undo(const Mark &mark) {
    program.instructions.resize(mark.instructions), program.loops.resize(mark.loops);
    ranges.erase(ranges.begin() + mark.ranges, ranges.end());
  }

  bool loop(size_t head, size_t branch, State &state, Body &into) {
    if (around.size() == kMaxNesting)
      return fail(branch, fmt::format("more than {} loops are in each other", kMaxNesting), Code::NestedTooDeep);
    const Mark start = mark();
    const int64_t depth = int64_t(around.size());
    Body body;
    // One iteration from what is known shows how registers move; from then on that is an assumption, until it holds.
    State once = state;
    executed += int64_t(state.size()) / 64;
    const bool walked = walk(head, branch, head, once, body, nullptr);
    undo(start);
    if (!walked)
      return false;
    State heads = state;
    std::vector<int64_t> moves(state.size(), 0);
    for (size_t r = 0; r < state.size(); ++r)
      assume(state[r], once[r], depth, heads[r], moves[r]);
    around.push_back(head);
    bool isProved = false;
    Exit exit;
    State now;
    while (!isProved) {
      undo(start), body.clear(), exit = {};
      now = heads;
      if (!walk(head, branch, head, now, body, isJump(branch) ? &exit : nullptr))
        break;
      isProved = true;
      for (size_t r = 0; r < state.size(); ++r)
        isProved &= keeps(heads[r], now[r], moves[r]);
    }
    const int64_t count = isProved ? close(branch, body, now, exit) : 0;
    around.pop_back();
    if (count == 0) {
      undo(start);
      return false;
    }
    into.push_back({kNone, Index(program.loops.size())});
    program.loops.push_back({nameOf(head), count, std::move(body), at(head)});
    for (size_t r = start.ranges; r < ranges.size(); ++r)
      ranges[r].close(depth, count);
    for (size_t r = 0; r < state.size(); ++r) {
      // Behind a jump back stands the next head, or what the last iteration left.
      const bool isHead = isJump(branch) && heads[r].form;
      state[r] = isHead ? heads[r] : now[r];
      if (state[r].form && !leave(*state[r].form, depth, isHead ? count : count - 1))
        state[r].form.reset();
    }
    return true;
  }

  /// What a register is at the head of a loop in each iteration, from its values at the heads of the first two.
  static void assume(const Value &first, const Value &second, int64_t depth, Value &head, int64_t &move) {
    if (!first.form && second.setBy == first.setBy)
      return; // it stays what it was, unknown
    head.setBy = second.setBy;
    if (!first.form || !second.form) {
      head.form.reset();
      return;
    }
    LinearForm difference = *second.form;
    if (!addTo(difference, *first.form, -1) || !difference.terms.empty()) {
      head.form.reset();
      return;
    }
    move = difference.base;
    if (move != 0)
      head.form->terms[depth] = move;
  }

  /// Whether the value behind an iteration is that at the next head; else the head is not known.
  static bool keeps(Value &head, const Value &behind, int64_t move) {
    if (!head.form)
      return true;
    LinearForm next = *head.form;
    next.base += move;
    if (behind.form && *behind.form == next)
      return true;
    head = {std::nullopt, behind.setBy};
    return false;
  }

  /// The number of iterations; 0 where it is not known. Adds the branch to the body.
  int64_t close(size_t branch, Body &body, State &now, const Exit &exit) {
    Exit found = exit;
    if (!isJump(branch)) {
      if (!compared(branch, now, found.difference))
        return 0;
      found.line = branch, found.isTaken = true;
    }
    if (!found.isTaken)
      return fail(branch, "the loop has no way out"), 0;
    const int64_t depth = int64_t(around.size()) - 1;
    for (auto [symbol, coefficient] : found.difference.terms)
      if (symbol != depth)
        return fail(found.line, "the number of iterations depends on a loop around it"), 0;
    if (!emit(branch, now, body))
      return 0;
    const auto term = found.difference.terms.find(depth);
    const int64_t move = term == found.difference.terms.end() ? 0 : term->second;
    // A jump back is taken as often as the exit is not; a branch back once less than the loop has iterations.
    const int64_t count = isJump(branch)
                              ? iterationsUntil(*lines[found.line].meaning, true, found.difference.base, move)
                              : iterationsUntil(*lines[branch].meaning, false, found.difference.base, move) + 1;
    if (count == 1)
      return fail(found.line, "the loop has one iteration"), 0;
    if (count < 1 || count > int64_t(1) << 46)
      return fail(found.line, "the loop does not end within 2^46 iterations"), 0;
    return count;
  }

  /// A value behind a loop: its iteration is a number now.
  static bool leave(LinearForm &form, int64_t depth, int64_t iteration) {
    const auto at = form.terms.find(depth);
    if (at == form.terms.end())
      return true;
    const __int128 base = form.base + __int128(at->second) * iteration;
    form.terms.erase(at);
    form.base = int64_t(base);
    return base <= int64_t(1) << 62 && base >= -(int64_t(1) << 62);
  }

  std::string nameOf(size_t head) const {
    const std::string label = labels.at(head);
    const auto same = llvm::count(around, head);
    return same == 0 ? label : fmt::format("{}_{}", label, same + 1);
  }

  const std::vector<AssemblyLine> lines;
  const std::map<size_t, std::string> labels;
  const std::string &file;
  const Microarchitecture &machine;
  const AssemblyOptions &options;
  std::vector<std::vector<size_t>> back; ///< by line: the branches back to it, the last one first
  std::vector<char> isZero;              ///< by register
  InstructionProgram program;
  std::vector<size_t> around; ///< heads of the loops around
  std::vector<ValueRange> ranges;
  int64_t executed = 0;
  size_t last = 0; ///< line that was executed
  bool isTooMuch = false;
  Reason why;
  std::map<size_t, Reason> unproved; ///< by branch back: why it ends no loop
};

} // namespace

Result<InstructionProgram, Errors> importAssembly(StringRef text, const std::string &file,
                                                  const Microarchitecture &machine, const AssemblyOptions &options) {
  Errors errors;
  AssemblyText read = readAssembly(text, file, machine, options, errors);
  if (!errors.empty())
    return errors;
  return AssemblyWalk(std::move(read), file, machine, options).run();
}

} // namespace accord::microarchitecture
