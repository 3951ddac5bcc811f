#include "lib/exploration/space/DesignTerms.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/exploration/space/IntervalArithmetic.h"
#include "lib/support/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

constexpr size_t kMaxTerms = 20000;

/// What a function makes of the dimensions of its operands.
enum class Role : uint8_t { Logic, Comparison, Sum, Product, Quotient, Power, PowerOfTwo, Logarithm };
struct Function {
  llvm::StringLiteral name;
  Role role;
  size_t min = 2, max = 2; ///< operands
};
constexpr Function kFunctions[] = {
    {"and", Role::Logic},
    {"or", Role::Logic},
    {"not", Role::Logic, 1, 1},
    {"<", Role::Comparison},
    {"<=", Role::Comparison},
    {">", Role::Comparison},
    {">=", Role::Comparison},
    {"==", Role::Comparison},
    {"!=", Role::Comparison},
    {"+", Role::Sum},
    {"-", Role::Sum, 1, 2},
    {"%", Role::Sum},
    {"min", Role::Sum, 1, SIZE_MAX},
    {"max", Role::Sum, 1, SIZE_MAX},
    {"sum", Role::Sum, 1, SIZE_MAX},
    {"*", Role::Product},
    {"/", Role::Quotient},
    {"floor_div", Role::Quotient},
    {"ceil_div", Role::Quotient},
    {"^", Role::Power},
    {"pow2", Role::PowerOfTwo, 1, 1},
    {"log2", Role::Logarithm, 1, 1},
};

/// A power that is no whole number has a unit where all exponents of it are whole: area^0.5.
Result<Quantity> rooted(const Quantity &a, double exponent) {
  Dimension dimension;
  for (size_t i = 0; i < dimension.exponents.size(); ++i) {
    double power = a.dimension.exponents[i] * exponent;
    if (std::round(power) != power || std::abs(power) > 32)
      return Error{Code::BadExponent, fmt::format("a {} to the power of {} has no unit: divide it by one first",
                                                  describe(a.dimension), exponent)};
    dimension.exponents[i] = power;
  }
  return Quantity(Rational(1), dimension);
}

} // namespace

int DesignTerms::push(Term term) {
  std::set<size_t> all(term.parameters.begin(), term.parameters.end());
  for (int operand : term.operands)
    all.insert(terms[operand].parameters.begin(), terms[operand].parameters.end());
  term.parameters.assign(all.begin(), all.end());
  terms.push_back(std::move(term));
  return int(terms.size()) - 1;
}

int DesignTerms::number(const Quantity &value) { return push({.dimension = value.dimension, .value = value.value}); }

int DesignTerms::truth(bool holds) { return push({.truth = true, .value = Rational(holds)}); }

int DesignTerms::parameter(size_t index, Dimension dimension, std::vector<Rational> numbers) {
  for (const Rational &one : numbers)
    nearValues[index].push_back(one.toDouble());
  values[index] = std::move(numbers);
  return push({.kind = Kind::Parameter, .dimension = dimension, .parameter = index, .parameters = {index}});
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

int DesignTerms::figure(Kind kind, Dimension dimension) { return push({.kind = kind, .dimension = dimension}); }

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
    if (!left || !terms[*left].word)
      continue;
    const std::vector<std::string> &known = chosen.at(terms[*left].parameter);
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

/// Of a function of numbers; the values come with the parameters. `exponent`: the last operand.
static Result<Quantity> dimensionOf(Role role, const std::vector<Quantity> &ones, const DesignTerms::Term &exponent) {
  const Quantity &a = ones.front(), &b = ones.back();
  switch (role) {
  case Role::Product:
    return multiply(a, b);
  case Role::Quotient:
    return divide(a, b);
  case Role::PowerOfTwo:
    return powerOfTwo(a);
  case Role::Logarithm:
    return logTwo(a);
  case Role::Power: {
    bool stated = exponent.kind == DesignTerms::Kind::Number;
    if (!stated && !a.dimensionless())
      return Error{Code::BadExponent, "a power of what has a unit needs an exponent that is a number"};
    return stated && !exponent.value.isInteger() && exponent.dimension.dimensionless()
               ? rooted(a, exponent.value.toDouble())
               : power(a, stated ? Quantity(exponent.value, exponent.dimension) : b);
  }
  case Role::Logic:
  case Role::Comparison:
  case Role::Sum:
    break;
  }
  Result<Quantity> result = a;
  for (const Quantity &one : ones)
    if (result && one.dimension != a.dimension)
      result = add(a, one);
  return result;
}

Result<int> DesignTerms::apply(const std::string &name, std::vector<int> operands) {
  const Function *function = llvm::find_if(kFunctions, [&](const Function &one) { return one.name == name; });
  if (function == std::end(kFunctions))
    return Error{Code::UnknownFunction, fmt::format("'{}' cannot be computed in a design space", name)};
  if (operands.size() < function->min || operands.size() > function->max)
    return Error{Code::WrongOperandCount,
                 fmt::format("'{}' takes {} operands, not {}", name, function->min, operands.size())};
  bool logic = function->role == Role::Logic, words = terms[operands[0]].word;
  for (int operand : operands)
    if (terms[operand].truth != logic || (terms[operand].word && !words))
      return Error{Code::WrongType,
                   fmt::format("'{}' is between {}", name,
                               logic ? "conditions, and this is a number" : "numbers, and this is none")};
  if (words && name != "==" && name != "!=")
    return Error{Code::WrongType, fmt::format("'{}' has no meaning for words", name)};
  Term term;
  term.kind = Kind::Apply, term.function = name;
  term.truth = logic || function->role == Role::Comparison;
  if (!logic) {
    std::vector<Quantity> ones;
    for (int operand : operands)
      ones.push_back(Quantity(Rational(1), terms[operand].dimension));
    Result<Quantity> result = dimensionOf(function->role, ones, terms[operands.back()]);
    if (!result)
      return result.error();
    if (!term.truth)
      term.dimension = result->dimension;
  }
  term.operands = std::move(operands);
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
    for (int operand : terms[next].operands)
      waiting.insert(operand);
  }
  for (int next : llvm::reverse(order)) {
    const Term &term = terms[next];
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
      break;
    }
    return {leaf.value.toDouble(), leaf.value.toDouble()};
  });
  if (result)
    return *result;
  return terms[term].truth ? DesignInterval<double>{0, 1} : DesignInterval<double>{-INFINITY, INFINITY};
}

} // namespace accord
