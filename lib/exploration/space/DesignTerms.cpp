#include "lib/exploration/space/DesignTerms.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/exploration/space/IntervalArithmetic.h"
#include "lib/support/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

constexpr size_t kMaxTerms = 20000;

bool isOneOf(const std::string &word, std::initializer_list<const char *> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool isComparison(const std::string &f) { return isOneOf(f, {"<", "<=", ">", ">=", "==", "!="}); }
bool isLogic(const std::string &f) { return isOneOf(f, {"and", "or", "not"}); }

/// A power that is no whole number has a unit where all exponents of it are whole: area^0.5.
Result<Quantity> rooted(const Quantity &a, double exponent) {
  Dimension dimension;
  for (size_t i = 0; i < dimension.exponents.size(); ++i) {
    double power = a.dimension.exponents[i] * exponent;
    if (std::round(power) != power || std::abs(power) > 32)
      return Error{Code::BadExponent, fmt::format("a {} to the power of {} has no unit: divide it by one first",
                                                  describe(a.dimension), exponent)};
    dimension.exponents[i] = static_cast<int8_t>(power);
  }
  return Quantity(Rational(1), dimension);
}

} // namespace

int DesignTerms::push(Term term) {
  std::set<size_t> all(term.parameters.begin(), term.parameters.end());
  for (int operand : term.operands)
    all.insert((*this)[operand].parameters.begin(), (*this)[operand].parameters.end());
  term.parameters.assign(all.begin(), all.end());
  terms.push_back(std::move(term));
  return static_cast<int>(terms.size()) - 1;
}

int DesignTerms::number(const Quantity &value) {
  Term term;
  term.value = value.value, term.dimension = value.dimension;
  return push(std::move(term));
}

int DesignTerms::truth(bool holds) {
  Term term;
  term.value = Rational(holds), term.truth = true;
  return push(std::move(term));
}

int DesignTerms::parameter(size_t index, Dimension dimension, std::vector<Rational> numbers) {
  Term term;
  term.kind = Kind::Parameter, term.dimension = dimension;
  term.parameter = index, term.parameters = {index};
  for (const Rational &one : numbers)
    nearValues[index].push_back(one.toDouble());
  values[index] = std::move(numbers);
  return push(std::move(term));
}

int DesignTerms::words(size_t index, std::vector<std::string> words) {
  std::vector<Rational> places;
  for (size_t i = 0; i < words.size(); ++i)
    places.push_back(Rational(i));
  chosen[index] = std::move(words);
  int term = parameter(index, {}, std::move(places));
  terms[term].word = true;
  return term;
}

int DesignTerms::figure(Kind kind, Dimension dimension) {
  Term term;
  term.kind = kind, term.dimension = dimension;
  return push(std::move(term));
}

Result<int> DesignTerms::add(mlir::Attribute value, const Resolve &resolve) {
  if (terms.size() >= kMaxTerms)
    return Error{Code::NestedTooDeep, fmt::format("more than {} numbers follow from each other", kMaxTerms)};
  if (auto quantity = mlir::dyn_cast<accel::QuantityAttr>(value))
    return number(quantity.quantity());
  if (auto truthful = mlir::dyn_cast<mlir::BoolAttr>(value))
    return truth(truthful.getValue());
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
    if (!integer.getType().isInteger(64))
      return Error{Code::WrongType, "this is no integer of 64 bits"};
    return number(Quantity::number(integer.getInt()));
  }
  if (auto reference = mlir::dyn_cast<accel::ReferenceAttr>(value))
    return resolve(reference.getPath().str());
  auto application = mlir::dyn_cast<accel::ApplyAttr>(value);
  if (!application)
    return Error{Code::WrongType, "this is neither a number nor an expression over numbers"};
  std::string function = application.getFunction().str();
  auto operands = application.getOperands();
  if ((function == "==" || function == "!=") && operands.size() == 2) {
    Result<int> compared = compareWord(function, operands[0], operands[1], resolve);
    if (!compared || *compared >= 0)
      return compared;
  }
  std::vector<int> all;
  for (mlir::Attribute operand : operands) {
    Result<int> one = add(operand, resolve);
    if (!one)
      return one;
    all.push_back(*one);
  }
  return apply(function, std::move(all));
}

/// `tc.dataflow == weight_stationary`; -1 where neither side is a choice of words.
Result<int> DesignTerms::compareWord(const std::string &function, mlir::Attribute a, mlir::Attribute b,
                                     const Resolve &resolve) {
  for (int side = 0; side < 2; ++side, std::swap(a, b)) {
    auto path = mlir::dyn_cast<accel::ReferenceAttr>(a);
    auto word = mlir::dyn_cast<accel::ReferenceAttr>(b);
    if (!path || !word || !path.getPath().contains('.') || word.getPath().contains('.'))
      continue;
    Result<int> left = resolve(path.getPath().str());
    if (!left || !(*this)[*left].word)
      continue;
    const std::vector<std::string> &known = chosen.at((*this)[*left].parameter);
    std::string wanted = word.getPath().str();
    auto found = std::find(known.begin(), known.end(), wanted);
    if (found == known.end())
      return Error{Code::UnknownChoice,
                   fmt::format("'{}' is never '{}' in this space", path.getPath().str(), wanted),
                   {},
                   {},
                   nearest(wanted, known)};
    int place = number(Quantity::number(found - known.begin()));
    terms[place].word = true;
    return apply(function, {*left, place});
  }
  return -1;
}

Result<int> DesignTerms::apply(const std::string &function, std::vector<int> operands) {
  Term term;
  term.kind = Kind::Apply, term.function = function;
  bool fold = isOneOf(function, {"min", "max", "sum"});
  size_t min = isOneOf(function, {"-", "not", "pow2", "log2"}) || fold ? 1 : 2;
  size_t max = fold ? operands.size() : isOneOf(function, {"not", "pow2", "log2"}) ? 1 : 2;
  bool known = fold || isComparison(function) || isLogic(function) ||
               isOneOf(function, {"+", "-", "*", "/", "%", "^", "pow2", "log2", "ceil_div", "floor_div"});
  if (!known)
    return Error{Code::UnknownFunction, fmt::format("'{}' cannot be computed in a design space", function)};
  if (operands.size() < min || operands.size() > max)
    return Error{Code::WrongOperandCount,
                 fmt::format("'{}' takes {} operands, not {}", function, min, operands.size())};
  auto truthful = [&](int operand) { return (*this)[operand].truth; };
  auto isWord = [&](int operand) { return (*this)[operand].word; };
  bool logic = isLogic(function);
  for (int operand : operands)
    if (truthful(operand) != logic || (isWord(operand) && !isWord(operands[0])))
      return Error{Code::WrongType,
                   fmt::format("'{}' is between {}", function,
                               logic ? "conditions, and this is a number" : "numbers, and this is none")};
  if (isWord(operands[0]) && !(function == "==" || function == "!="))
    return Error{Code::WrongType, fmt::format("'{}' has no meaning for words", function)};
  term.truth = logic || isComparison(function);
  term.operands = std::move(operands);
  if (term.truth && logic)
    return push(std::move(term));
  std::vector<Quantity> ones; // dimensions alone: the values come with the parameters
  for (int operand : term.operands)
    ones.push_back(Quantity(Rational(1), (*this)[operand].dimension));
  const Quantity &a = ones[0], &b = ones.back();
  Result<Quantity> result = a;
  if (function == "*")
    result = multiply(a, b);
  else if (isOneOf(function, {"/", "floor_div", "ceil_div"}))
    result = divide(a, b);
  else if (function == "^") {
    const Term &exponent = (*this)[term.operands[1]];
    bool stated = exponent.kind == Kind::Number;
    if (!stated && !a.dimensionless())
      return Error{Code::BadExponent, "a power of what has a unit needs an exponent that is a number"};
    result = stated && !exponent.value.isInteger() && exponent.dimension.dimensionless()
                 ? rooted(a, exponent.value.toDouble())
                 : power(a, stated ? Quantity(exponent.value, exponent.dimension) : b);
  } else if (function == "pow2" || function == "log2") {
    result = function == "pow2" ? powerOfTwo(a) : logTwo(a);
  } else {
    for (const Quantity &one : ones)
      if (result && one.dimension != a.dimension)
        result = accord::add(a, one);
  }
  if (!result)
    return result.error();
  term.dimension = term.truth ? Dimension{} : result->dimension;
  return push(std::move(term));
}

template <class Number, class Leaf>
std::optional<DesignInterval<Number>> DesignTerms::evaluate(int root, Leaf leaf) const {
  // Operands stand before what they are used in, so one pass over those that are needed is enough.
  std::map<int, DesignInterval<Number>> done;
  std::set<int, std::greater<>> waiting{root};
  llvm::SmallVector<int, 16> order;
  while (!waiting.empty()) {
    int next = *waiting.begin();
    waiting.erase(waiting.begin());
    order.push_back(next);
    for (int operand : (*this)[next].operands)
      waiting.insert(operand);
  }
  for (int next : llvm::reverse(order)) {
    const Term &term = (*this)[next];
    if (term.kind != Kind::Apply) {
      done.emplace(next, leaf(term));
      continue;
    }
    std::vector<DesignInterval<Number>> of;
    for (int operand : term.operands)
      of.push_back(done.at(operand));
    auto result = intervals::applied(term.function, of);
    if (!result || !intervals::usable(result->low) || !intervals::usable(result->high))
      return std::nullopt;
    done.emplace(next, std::move(*result));
  }
  return done.at(root);
}

std::optional<DesignInterval<Rational>> DesignTerms::exact(int term, const DesignBox &box) const {
  return evaluate<Rational>(term, [&](const Term &leaf) -> DesignInterval<Rational> {
    if (leaf.kind != Kind::Parameter)
      return {leaf.value, leaf.value};
    const std::vector<Rational> &all = values.at(leaf.parameter);
    return {all[box.low[leaf.parameter]], all[box.high[leaf.parameter]]};
  });
}

DesignInterval<double> DesignTerms::nearly(int term, const DesignBox &box, const DesignFigures &figures) const {
  auto result = evaluate<double>(term, [&](const Term &leaf) -> DesignInterval<double> {
    double value = 0;
    switch (leaf.kind) {
    case Kind::Area:
      return figures.area;
    case Kind::Power:
      return figures.power;
    case Kind::Step:
      return figures.step;
    case Kind::Energy:
      return figures.energy;
    case Kind::Batch:
      return figures.batch;
    case Kind::Parameter: {
      const std::vector<double> &all = nearValues.at(leaf.parameter);
      return {all[box.low[leaf.parameter]], all[box.high[leaf.parameter]]};
    }
    case Kind::Number:
    case Kind::Apply:
      value = leaf.value.toDouble();
      break;
    }
    return {value, value};
  });
  if (result)
    return *result;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return (*this)[term].truth ? DesignInterval<double>{0, 1} : DesignInterval<double>{-kInfinite, kInfinite};
}

} // namespace accord
