// Operands of one instruction as text: `r3, file[3], dmem[0x1000 + 4*i : 4 B], 8(r1), -5, label`.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "lib/microarchitecture/text/Tokens.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <optional>

namespace accord::microarchitecture {

/// base + sum of coefficient * symbol.
struct LinearForm {
  int64_t base = 0;
  std::map<int64_t, int64_t> terms; ///< by symbol; none is 0
  bool operator==(const LinearForm &) const = default;
};

/// Adds `times` times a form; scales a form. False where a number is beyond 2^62: then the form is not to be used.
bool addTo(LinearForm &form, const LinearForm &other, int64_t times = 1);
bool scaleBy(LinearForm &form, int64_t by);

struct TextOperand {
  enum class Kind : uint8_t { Register, Memory, Immediate, Label };
  Kind kind = Kind::Register;
  TextPlace place;
  Register reg;
  Index storage = kNone; ///< of a memory operand; kNone: `8(r1)` names none
  LinearForm address;
  int64_t bytes = 0;     ///< 0: not said
  int64_t immediate = 0; ///< of an immediate
  std::string label;
};

/// The registers that a word alone may mean: `r3` is number 3 of the file `r`, `sp` that of a file of one register.
std::vector<Register> registersOf(llvm::StringRef word, const Microarchitecture &machine);
/// The shortest text that means a register: `r3` where nothing else is called so, else `r[3]`.
std::string registerText(Register of, const Microarchitecture &machine);

/// What an opcode takes, for messages: "1 register written, 2 registers read, 1 immediate".
std::string signature(const Opcode &opcode);

class OperandReader {
public:
  /// Symbols of addresses: the number of a name, or none; `names` are those that there are, for suggestions.
  struct Symbols {
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> number;
    llvm::ArrayRef<std::string> names;
    const char *what; ///< "loop around the instruction"
  };

  OperandReader(const std::vector<Token> &all, const Microarchitecture &machine, const std::string &file, bool assembly,
                Errors &errors)
      : all(all), machine(machine), file(file), assembly(assembly), errors(errors) {}

  const Token &token() const { return all[at]; }
  const Token &ahead() const { return all[std::min(at + 1, all.size() - 1)]; }
  void next() { at += at + 1 < all.size(); }
  void skipLine();

  /// The opcode at the token; an error (A1304) with a suggestion otherwise.
  std::optional<Index> opcode();
  /// Operands up to the end of the line, or `}`; none after an error.
  std::optional<std::vector<TextOperand>> operands(const Symbols &symbols);
  /// A number with its sign.
  std::optional<int64_t> integer(const char *what);
  /// Whether the token is this sign; moves on. Otherwise an error that says what else is allowed.
  bool expect(char sign, const char *allowed);
  void error(TextPlace place, std::string message, Code code = Code::SyntaxError, std::string suggestion = "");
  SourceLocation location(TextPlace place) const { return {file, place.line, place.column}; }

private:
  bool operand(const Symbols &symbols, TextOperand &into);
  bool bracketed(const Token &name, const Symbols &symbols, TextOperand &into);
  bool baseAndRegister(int64_t base, const Symbols &symbols, TextOperand &into);
  bool resolve(const Token &name, TextOperand &into);
  bool unknown(const Token &name, bool isIndexed);
  bool bytes(TextOperand &into);
  bool sum(const Symbols &symbols, LinearForm &into, int depth);
  bool product(const Symbols &symbols, LinearForm &into, int depth);
  bool factor(const Symbols &symbols, LinearForm &into, int depth);
  bool fits(bool does, TextPlace place);

  const std::vector<Token> &all;
  const Microarchitecture &machine;
  const std::string &file;
  const bool assembly;
  Errors &errors;
  size_t at = 0;
};

} // namespace accord::microarchitecture
