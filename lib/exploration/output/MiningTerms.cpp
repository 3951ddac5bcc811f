#include "lib/exploration/output/MiningTerms.h"
#include "lib/machine/energy/Cooling.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace accord {
namespace {

constexpr size_t kMaxChoices = 100000;
constexpr unsigned kMaxDepth = 600;   ///< of values that follow from each other, and expressions
constexpr unsigned kMaxTerms = 20000; ///< that one value is computed from

std::optional<Rational> numberOf(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.quantity().value;
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || isa<BoolAttr>(value) || !integer.getType().isInteger(64))
    return std::nullopt;
  return Rational(integer.getInt());
}

std::vector<Rational> powersOfTwo(const Rational &low, const Rational &high, bool plain) {
  Rational next(1);
  for (int places = -15; places <= 15 && !plain; places += 3) {
    Rational thousands(1);
    for (int i = 0; i < std::abs(places); i += 3)
      thousands = thousands * Rational(1000);
    if (places < 0)
      thousands = Rational(1) / thousands;
    if ((low / thousands).isInteger())
      next = thousands;
  }
  while (plain && next > low)
    next = next / Rational(2);
  while (next < low)
    next = next * Rational(2);
  std::vector<Rational> all;
  for (; next <= high && all.size() < 4096; next = next * Rational(2))
    all.push_back(next);
  return all;
}

Error wrong(const char *message) { return {Code::WrongType, message, {}}; }

/// "min", "max" or "sum" of one or more.
Result<Quantity> fold(llvm::StringRef function, llvm::ArrayRef<Quantity> all) {
  Result<Quantity> result = all.front();
  for (const Quantity &next : all.drop_front()) {
    if (!result)
      break;
    if (function == "sum") {
      result = add(*result, next);
    } else if (Result<int> order = compare(next, *result); !order) {
      return order.error();
    } else if (function == "min" ? *order < 0 : *order > 0) {
      result = next;
    }
  }
  return result;
}

using Binary = Result<Quantity> (*)(const Quantity &, const Quantity &);
constexpr std::pair<llvm::StringLiteral, Binary> kBinary[] = {
    {"+", add},
    {"-", subtract},
    {"*", multiply},
    {"/", divide},
    {"%", modulo},
    {"floor_div", floorDivide},
    {"ceil_div", ceilDivide},
    {"^", power},
};

Result<Quantity> applied(llvm::StringRef function, llvm::ArrayRef<Quantity> all) {
  const Quantity &a = all.front();
  if (function == "pow2")
    return powerOfTwo(a);
  if (function == "log2")
    return logTwo(a);
  if (function == "-" && all.size() == 1)
    return subtract(Quantity(Rational(0), a.dimension), a);
  if (function == "min" || function == "max" || function == "sum")
    return fold(function, all);
  if (all.size() != 2)
    return wrong("a function of other operands");
  for (auto [known, compute] : kBinary)
    if (function == known)
      return compute(a, all.back());
  return wrong("an unknown function");
}

} // namespace

std::string spelled(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.spelled();
  if (auto truth = dyn_cast<BoolAttr>(value))
    return truth.getValue() ? "true" : "false";
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return std::to_string(integer.getInt());
  if (auto word = dyn_cast<StringAttr>(value))
    return word.str();
  auto symbol = dyn_cast<FlatSymbolRefAttr>(value);
  return symbol ? symbol.getValue().str() : "";
}

std::vector<Attribute> choicesOf(accel::ChoiceAttr choice) {
  std::vector<Attribute> members(choice.getValues().begin(), choice.getValues().end()), all;
  if (members.size() > kMaxChoices)
    return {};
  bool numbers = !members.empty() &&
                 std::all_of(members.begin(), members.end(), [](Attribute one) { return numberOf(one).has_value(); });
  if (choice.getKind() == "set") {
    if (numbers)
      std::sort(members.begin(), members.end(), [](Attribute a, Attribute b) {
        Rational x = *numberOf(a), y = *numberOf(b);
        return x == y ? spelled(a) < spelled(b) : x < y;
      });
    for (Attribute member : members)
      if (numbers ? all.empty() || !(*numberOf(all.back()) == *numberOf(member))
                  : std::find(all.begin(), all.end(), member) == all.end())
        all.push_back(member);
    return all;
  }
  if (!numbers || members.size() < 2)
    return {};
  Rational low = *numberOf(members[0]), high = *numberOf(members[1]),
           step = members.size() > 2 ? *numberOf(members[2]) : Rational(1);
  auto first = dyn_cast<accel::QuantityAttr>(members[0]);
  std::vector<Rational> values;
  if (choice.getKind() == "pow2" && low.sign() > 0)
    values = powersOfTwo(low, high, !first || first.getDimension().dimensionless());
  else if (choice.getKind() == "range" && step.sign() > 0 && (high - low) / step < Rational(kMaxChoices))
    for (Rational next = low; next <= high; next = next + step)
      values.push_back(next);
  for (const Rational &value : values) {
    if (first) {
      Quantity quantity(value, first.getDimension());
      all.push_back(accel::QuantityAttr::get(choice.getContext(), quantity, quantity.print(), first.getSource()));
      continue;
    }
    auto whole = value.toInt64();
    if (!whole)
      return {};
    all.push_back(IntegerAttr::get(IntegerType::get(choice.getContext(), 64), *whole));
  }
  return all;
}

Attribute MiningTerms::chosen(const std::string &path, Attribute value) const {
  auto parameter = parameters.find(path);
  return parameter == parameters.end() ? value : parameter->second.choices[(*design)[parameter->second.place]];
}

Result<Quantity> MiningTerms::exact(Attribute value, unsigned depth) const {
  if (!more(depth))
    return wrong("values that follow from each other without end");
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.quantity();
  if (auto number = numberOf(value))
    return Quantity(*number);
  if (auto reference = dyn_cast<accel::ReferenceAttr>(value)) {
    auto found = values.find(reference.getPath().str());
    if (found == values.end())
      return wrong("a reference to nothing");
    return exact(chosen(found->first, found->second), depth + 1);
  }
  auto application = dyn_cast<accel::ApplyAttr>(value);
  if (!application || application.getOperands().empty())
    return wrong("no number");
  std::vector<Quantity> all;
  for (Attribute operand : application.getOperands()) {
    Result<Quantity> one = exact(operand, depth + 1);
    if (!one)
      return one;
    all.push_back(*one);
  }
  return applied(application.getFunction(), all);
}

/// 0.3 / 0.1 is 3.
static double nearInteger(double x, double (*round)(double)) {
  double n = std::round(x);
  return std::abs(x - n) <= 1e-12 * std::max(1.0, std::abs(x)) ? n : round(x);
}
static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
static MetricRange hull(std::initializer_list<double> ends) {
  return llvm::any_of(ends, [](double end) { return std::isnan(end); }) ? MetricRange{}
                                                                        : MetricRange{std::min(ends), std::max(ends)};
}

static MetricRange quotient(MetricRange a, MetricRange b) {
  if (a.from == a.to && b.from == b.to) // a / b itself, where both are one number
    return b.from == 0 ? MetricRange{} : MetricRange{a.from / b.from, a.from / b.from};
  if (!(b.from >= 0 && b.to > 0) && !(b.to < 0)) // changes its sign
    return {};
  double low = 1 / b.to, high = 1 / b.from;
  return hull({times(a.from, low), times(a.from, high), times(a.to, low), times(a.to, high)});
}

static MetricRange raised(MetricRange a, MetricRange b) {
  if (b.from != b.to)
    return {};
  MetricRange ends = hull({std::pow(a.from, b.from), std::pow(a.to, b.from)});
  if (std::isnan(ends.from) || a.from >= 0 || a.to <= 0 || (b.from >= 0 && std::fmod(b.from, 2) == 1))
    return ends;
  return b.from < 0 ? MetricRange{} : MetricRange{0, ends.to}; // turns at 0
}

static MetricRange applied(llvm::StringRef function, llvm::ArrayRef<MetricRange> all) {
  MetricRange a = all.front(), b = all.back();
  if (function == "+" || function == "sum" || function == "min" || function == "max") {
    for (MetricRange next : all.drop_front())
      a = function == "min"   ? MetricRange{std::min(a.from, next.from), std::min(a.to, next.to)}
          : function == "max" ? MetricRange{std::max(a.from, next.from), std::max(a.to, next.to)}
                              : MetricRange{a.from + next.from, a.to + next.to};
    return a;
  }
  if (function == "-")
    return all.size() == 1 ? MetricRange{-a.to, -a.from} : MetricRange{a.from - b.to, a.to - b.from};
  if (function == "*")
    return hull({times(a.from, b.from), times(a.from, b.to), times(a.to, b.from), times(a.to, b.to)});
  if (function == "^")
    return raised(a, b);
  if (function == "log2")
    return a.from > 0 ? MetricRange{std::log2(a.from), std::log2(a.to)} : MetricRange{};
  if (function == "pow2")
    return {std::exp2(a.from), std::exp2(a.to)};
  MetricRange over = quotient(a, b);
  if (function == "/")
    return over;
  if (function == "ceil_div")
    return {nearInteger(over.from, std::ceil), nearInteger(over.to, std::ceil)};
  MetricRange floors{nearInteger(over.from, std::floor), nearInteger(over.to, std::floor)};
  if (function == "floor_div")
    return floors;
  if (function != "%")
    return {};
  if (a.from == a.to && b.from == b.to)
    return {a.from - b.from * floors.from, a.from - b.from * floors.from};
  return {std::min(0.0, b.from), std::max(0.0, b.to)};
}

MetricRange MiningTerms::range(Attribute value, const Machine &machine, const StepUse *step, unsigned depth) const {
  if (!more(depth))
    return {};
  if (auto reference = dyn_cast<accel::ReferenceAttr>(value)) {
    llvm::StringRef path = reference.getPath();
    if (step) { // these four speak of the step, whatever a machine calls its own
      double end = step->orMore ? INFINITY : 0, batch = step->batch;
      if (path == "step_time")
        return {step->seconds, std::max(step->seconds, end)};
      if (path == "energy")
        return {step->joules, std::max(step->joules, end)};
      if (path == "throughput")
        return {step->orMore ? 0 : batch / step->seconds, batch / step->seconds};
      if (path == "batch")
        return {batch, batch};
    }
    if (!values.count(path.str())) {
      double number = path == "area"             ? machine.area.value
                      : path == "power.tdp"      ? machine.tdp.value
                      : path == "power.junction" ? junctionOf(machine)
                                                 : NAN;
      return {number, number};
    }
  }
  auto application = dyn_cast<accel::ApplyAttr>(value);
  if (!application) { // follows from no figure of the machine
    Result<Quantity> number = exact(value, depth + 1);
    return number ? MetricRange{number->toDouble(), number->toDouble()} : MetricRange{};
  }
  llvm::SmallVector<MetricRange> all;
  for (Attribute operand : application.getOperands()) {
    all.push_back(range(operand, machine, step, depth + 1));
    if (std::isnan(all.back().from) || std::isnan(all.back().to))
      return {};
  }
  return all.empty() ? MetricRange{} : applied(application.getFunction(), all);
}

double MiningTerms::metricValue(bool maximize, Attribute expression, const Machine &machine,
                                const StepUse &step) const {
  if (std::isinf(step.seconds))
    return INFINITY;
  MetricRange all = range(expression, machine, &step);
  if (std::isnan(all.from) || std::isnan(all.to))
    return NAN;
  if (!maximize)
    return std::max(0.0, all.from);
  return all.to > 0 ? 1 / all.to : all.to == 0 ? INFINITY : NAN;
}

/// What a word or a choice of words has in the design.
std::optional<std::string> MiningTerms::word(Attribute value) const {
  auto reference = dyn_cast<accel::ReferenceAttr>(value);
  if (!reference)
    return std::nullopt;
  std::string path = reference.getPath().str();
  auto found = values.find(path);
  if (found == values.end())
    return reference.getPath().contains('.') ? std::nullopt : std::optional(path);
  Attribute now = chosen(path, found->second);
  return isa<StringAttr, BoolAttr, FlatSymbolRefAttr>(now) ? std::optional(spelled(now)) : std::nullopt;
}

bool MiningTerms::holds(Attribute condition, const Machine &machine, unsigned depth) const {
  if (auto truth = dyn_cast<BoolAttr>(condition))
    return truth.getValue();
  auto application = dyn_cast<accel::ApplyAttr>(condition);
  if (!application || application.getOperands().empty() || !more(depth))
    return false;
  llvm::StringRef function = application.getFunction();
  auto operands = application.getOperands();
  auto one = [&](Attribute part) { return holds(part, machine, depth + 1); };
  if (function == "not")
    return !one(operands[0]);
  if (function == "and")
    return llvm::all_of(operands, one);
  if (function == "or")
    return llvm::any_of(operands, one);
  if (operands.size() != 2)
    return false;
  auto left = word(operands[0]), right = word(operands[1]);
  if (left && right && (function == "==" || function == "!="))
    return (*left == *right) == (function == "==");
  double a = range(operands[0], machine, nullptr, depth + 1).from,
         b = range(operands[1], machine, nullptr, depth + 1).from;
  if (std::isnan(a) || std::isnan(b))
    return false;
  double slack = 1e-12 * std::max(std::abs(a), std::abs(b));
  bool less = a < b && b - a > slack, more = b < a && a - b > slack;
  return function == "<"    ? less
         : function == "<=" ? !more
         : function == ">"  ? more
         : function == ">=" ? !less
         : function == "==" ? !less && !more
                            : function == "!=" && (less || more);
}

void MiningTerms::follow(Attribute value, std::set<std::string> &paths) const {
  std::set<std::string> seen;
  std::vector<Attribute> open{value};
  while (!open.empty()) {
    Attribute next = open.back();
    open.pop_back();
    if (auto application = dyn_cast<accel::ApplyAttr>(next))
      open.insert(open.end(), application.getOperands().begin(), application.getOperands().end());
    auto reference = dyn_cast<accel::ReferenceAttr>(next);
    if (!reference || !seen.insert(reference.getPath().str()).second)
      continue;
    std::string path = reference.getPath().str();
    if (parameters.count(path))
      paths.insert(path);
    else if (auto found = values.find(path); found != values.end())
      open.push_back(found->second);
  }
}

bool MiningTerms::more(unsigned depth) const {
  if (depth == 0)
    spent_ = 0;
  return depth <= kMaxDepth && ++spent_ <= kMaxTerms;
}

} // namespace accord
