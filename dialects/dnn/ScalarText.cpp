// Scalar expressions as text: of the IR, and as the language writes them.
#include "dialects/dnn/Scalar.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;

namespace accord::dnn {

using Kind = ScalarKind;

constexpr unsigned kMaxNesting = 100;

namespace {
/// What is used more than once is written once and named, and so is what would be nested too deep.
class NamedSteps {
public:
  explicit NamedSteps(ScalarAttr body) {
    llvm::DenseMap<Attribute, unsigned> uses;
    SmallVector<ScalarAttr> steps = stepsOf(body);
    for (ScalarAttr step : steps)
      for (Attribute operand : step.getOperands())
        ++uses[operand];
    llvm::DenseMap<Attribute, unsigned> depths;
    for (ScalarAttr step : steps) {
      unsigned depth = 0;
      for (Attribute operand : step.getOperands())
        depth = std::max(depth, depths.lookup(operand) + 1);
      if (!step.isLeaf() && (uses.lookup(step) > 1 || depth == kMaxNesting)) {
        names.insert({step, "t" + std::to_string(names.size())});
        depth = 0;
      }
      depths[step] = depth;
    }
  }
  llvm::MapVector<Attribute, std::string> names;
};
} // namespace

static void print(AsmPrinter &printer, ScalarAttr step, const NamedSteps &named, bool definition) {
  auto name = named.names.find(step);
  if (name != named.names.end() && !definition) {
    printer << name->second;
    return;
  }
  if (step.getKind() == Kind::Number)
    return printer.printFloat(step.getNumber().getValue());
  printer << stringifyScalarKind(step.getKind());
  if (step.isLeaf()) {
    printer << step.getIndex();
    return;
  }
  printer << "(";
  llvm::interleaveComma(step.getOperands(), printer,
                        [&](Attribute operand) { print(printer, cast<ScalarAttr>(operand), named, false); });
  printer << ")";
}

void ScalarAttr::print(AsmPrinter &printer) const {
  NamedSteps named(*this);
  printer << "<";
  for (auto &[step, name] : named.names) {
    printer << name << " = ";
    dnn::print(printer, cast<ScalarAttr>(step), named, true);
    printer << ", ";
  }
  dnn::print(printer, *this, named, true);
  printer << ">";
}

namespace {
class ScalarParser {
public:
  explicit ScalarParser(AsmParser &parser) : parser(parser) {}

  ScalarAttr run() {
    if (parser.parseLess())
      return {};
    while (true) {
      StringRef word;
      SMLoc at = parser.getCurrentLocation();
      bool isWord = succeeded(parser.parseOptionalKeyword(&word));
      if (isWord && succeeded(parser.parseOptionalEqual())) {
        ScalarAttr value = expression(0);
        if (!value || parser.parseComma())
          return {};
        named[word] = value;
        continue;
      }
      ScalarAttr value = isWord ? after(word, at, 0) : number();
      return value && succeeded(parser.parseGreater()) ? value : ScalarAttr();
    }
  }

private:
  ScalarAttr number() {
    double value = 0;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseFloat(value))
      return {};
    if (!std::isfinite(value))
      return parser.emitError(at, "a number of an expression is finite"), ScalarAttr();
    return count(scalarNumber(parser.getContext(), value), at);
  }
  ScalarAttr expression(unsigned depth) {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    return succeeded(parser.parseOptionalKeyword(&word)) ? after(word, at, depth) : number();
  }
  ScalarAttr after(StringRef word, SMLoc at, unsigned depth) {
    if (ScalarAttr known = named.lookup(word))
      return known;
    unsigned index = 0;
    if ((word[0] == 'x' || word[0] == 'i') && !word.drop_front().getAsInteger(10, index) && index < 65536)
      return count(
          word[0] == 'x' ? scalarOperand(parser.getContext(), index) : scalarPosition(parser.getContext(), index), at);
    std::optional<Kind> kind = symbolizeScalarKind(word);
    if (!kind || arityOf(*kind) == 0)
      return parser.emitError(at) << "'" << word << "' is no function, operand (x0) or position (i0) of an expression",
             ScalarAttr();
    if (depth > 2 * kMaxNesting)
      return parser.emitError(at, "an expression is nested too deep: name parts of it, t0 = …"), ScalarAttr();
    SmallVector<ScalarAttr, 3> operands;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
          operands.push_back(expression(depth + 1));
          return success(operands.back() != nullptr);
        }))
      return {};
    if (operands.size() != arityOf(*kind))
      return parser.emitError(at) << "'" << word << "' takes " << arityOf(*kind) << " operands, found "
                                  << operands.size(),
             ScalarAttr();
    // Not simplified: what was written is what is printed.
    SmallVector<Attribute> list(operands.begin(), operands.end());
    return count(ScalarAttr::get(parser.getContext(), *kind, list, 0, FloatAttr()), at);
  }
  ScalarAttr count(ScalarAttr step, SMLoc at) {
    if (++steps <= kMaxScalarSteps)
      return step;
    return parser.emitError(at) << "an expression of more than " << kMaxScalarSteps << " steps", ScalarAttr();
  }

  AsmParser &parser;
  llvm::StringMap<ScalarAttr> named;
  unsigned steps = 0;
};
} // namespace

Attribute ScalarAttr::parse(AsmParser &parser, Type) { return ScalarParser(parser).run(); }

namespace {
/// How tightly a step binds in the language; what binds looser than its place needs brackets.
enum Binding { kLoosest, kCompared, kSummed, kMultiplied, kSigned, kRaised, kAtom };

class TextWriter {
public:
  TextWriter(llvm::function_ref<std::string(unsigned)> operand, llvm::function_ref<std::string(unsigned)> position)
      : operand(operand), position(position) {}

  std::string write(ScalarAttr step, Binding min) {
    if (text > 4000)
      return "…";
    auto [written, binding] = inner(step);
    text += written.size();
    return binding < min ? "(" + written + ")" : written;
  }

private:
  std::pair<std::string, Binding> infix(ScalarAttr step, const char *sign, Binding binding, bool ordered) {
    return {write(step.operand(0), binding) + sign +
                write(step.operand(1), ordered ? static_cast<Binding>(binding + 1) : binding),
            binding};
  }
  std::pair<std::string, Binding> inner(ScalarAttr step) {
    switch (step.getKind()) {
    case Kind::Operand:
      return {operand(step.getIndex()), kAtom};
    case Kind::Position:
      return {position(step.getIndex()), kAtom};
    case Kind::Number: {
      SmallString<24> digits;
      step.getNumber().getValue().toString(digits, 6, 6);
      return {std::string(digits), digits[0] == '-' ? kSigned : kAtom};
    }
    case Kind::Negate:
      return {"-" + write(step.operand(0), kSigned), kSigned};
    case Kind::Add:
      return infix(step, " + ", kSummed, false);
    case Kind::Subtract:
      return infix(step, " - ", kSummed, true);
    case Kind::Multiply:
      return infix(step, " * ", kMultiplied, false);
    case Kind::Divide:
      return infix(step, " / ", kMultiplied, true);
    case Kind::Power:
      return {write(step.operand(0), kAtom) + " ^ " + write(step.operand(1), kAtom), kRaised};
    case Kind::Less:
      return infix(step, " < ", kCompared, true);
    case Kind::LessEqual:
      return infix(step, " <= ", kCompared, true);
    case Kind::Equal:
      return infix(step, " == ", kCompared, true);
    case Kind::Select:
      return {"if " + write(step.operand(0), kCompared) + " then " + write(step.operand(1), kLoosest) + " else " +
                  write(step.operand(2), kLoosest),
              kLoosest};
    default: {
      std::string result = stringifyScalarKind(step.getKind()).str() + "(";
      for (auto [i, each] : llvm::enumerate(step.getOperands()))
        result += (i ? ", " : "") + write(cast<ScalarAttr>(each), kLoosest);
      return {result + ")", kAtom};
    }
    }
  }

  llvm::function_ref<std::string(unsigned)> operand, position;
  size_t text = 0;
};
} // namespace

std::string scalarText(ScalarAttr body, llvm::function_ref<std::string(unsigned)> operand,
                       llvm::function_ref<std::string(unsigned)> position) {
  return TextWriter(operand, position).write(body, kLoosest);
}

} // namespace accord::dnn
