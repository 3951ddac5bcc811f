// Checks on values, their elements and their words.
#include "lib/syntax/Evaluate.h"
#include "llvm/ADT/STLExtras.h"

namespace accord {

const Value *MapValue::find(llvm::StringRef key) const {
  for (const Pair &pair : pairs)
    if (pair.key.text == key)
      return &pair.value;
  return nullptr;
}

bool Value::hasChoice() const {
  auto any = [](const std::vector<Value> &values) { return llvm::any_of(values, [](const Value &v) { return v.hasChoice(); }); };
  if (as<SetValue>() || as<RangeValue>() || as<Deferred>())
    return true;
  if (const auto *list = as<ListValue>())
    return any(list->elements);
  if (const auto *shape = as<ShapeValue>())
    return any(shape->dims);
  if (const auto *call = as<CallValue>())
    return llvm::any_of(call->arguments, [](const auto &argument) { return argument.value.hasChoice(); });
  if (const auto *map = as<MapValue>())
    return llvm::any_of(map->pairs, [](const auto &pair) { return pair.value.hasChoice(); });
  return false;
}

std::string describe(const Value &value) {
  struct {
    std::string operator()(const Invalid &) { return "an error"; }
    std::string operator()(const Quantity &q) { return describe(q.dimension); }
    std::string operator()(bool) { return "a truth value"; }
    std::string operator()(const std::string &) { return "a text"; }
    std::string operator()(const Symbol &s) { return "the name '" + s.name + "'"; }
    std::string operator()(const ListValue &) { return "a list"; }
    std::string operator()(const MapValue &) { return "a map"; }
    std::string operator()(const ShapeValue &) { return "a shape"; }
    std::string operator()(const SetValue &) { return "a choice"; }
    std::string operator()(const RangeValue &) { return "a choice"; }
    std::string operator()(const CallValue &c) { return "'" + c.name + "(…)'"; }
    std::string operator()(const Deferred &) { return "a value that depends on a choice"; }
  } words;
  return std::visit(words, value.node);
}

static std::string joined(const std::vector<Value> &values, llvm::StringRef separator) {
  std::string result;
  for (const Value &value : values)
    result += (result.empty() ? "" : separator.str()) + print(value);
  return result;
}

std::string print(const Value &value) {
  struct {
    std::string operator()(const Invalid &) { return "?"; }
    std::string operator()(const Quantity &q) { return q.print(); }
    std::string operator()(bool b) { return b ? "true" : "false"; }
    std::string operator()(const std::string &s) { return "\"" + s + "\""; }
    std::string operator()(const Symbol &s) { return s.name; }
    std::string operator()(const ListValue &l) { return "[" + joined(l.elements, ", ") + "]"; }
    std::string operator()(const MapValue &m) {
      std::string result;
      for (const auto &pair : m.pairs)
        result += (result.empty() ? "" : ", ") + pair.key.text + ": " + print(pair.value);
      return "{" + result + "}";
    }
    std::string operator()(const ShapeValue &s) { return joined(s.dims, " x "); }
    std::string operator()(const SetValue &s) { return "{" + joined(s.elements, ", ") + "}"; }
    std::string operator()(const RangeValue &r) {
      std::string result = (r.powersOfTwo ? "pow2 " : "") + r.low.print() + ".." + r.high.print();
      return r.powersOfTwo || r.step == r.unit ? result : result + " step " + r.step.print();
    }
    std::string operator()(const CallValue &c) {
      std::string result;
      for (const auto &argument : c.arguments)
        result += (result.empty() ? "" : ", ") + (argument.name.empty() ? "" : argument.name.text + " = ") + print(argument.value);
      return c.name + "(" + result + ")";
    }
    std::string operator()(const Deferred &) { return "…"; }
  } words;
  return std::visit(words, value.node);
}

std::optional<std::vector<Value>> expand(const Value &value, int64_t limit) {
  if (const auto *set = value.as<SetValue>()) {
    if (static_cast<int64_t>(set->elements.size()) > limit)
      return std::nullopt;
    return set->elements;
  }
  const auto *range = value.as<RangeValue>();
  if (!range)
    return std::vector<Value>{value};
  auto count = countOf(value);
  if (!count || *count > limit)
    return std::nullopt;
  std::vector<Value> result;
  if (range->powersOfTwo) {
    // From the first power at or above the lower end; its exponent may be negative (pow2 1/4..4 has 1/4).
    Rational element(1), two(2), low = range->low.value / range->unit.value;
    while (element < low)
      element = element * two;
    while (element / two >= low)
      element = element / two;
    for (int64_t i = 0; i < *count; ++i, element = element * two)
      result.push_back({value.range, Quantity(element * range->unit.value, range->low.dimension)});
    return result;
  }
  for (int64_t i = 0; i < *count; ++i)
    result.push_back({value.range, Quantity(range->low.value + Rational(i) * range->step.value, range->low.dimension)});
  return result;
}

std::optional<int64_t> countOf(const Value &value) {
  if (const auto *set = value.as<SetValue>())
    return static_cast<int64_t>(set->elements.size());
  const auto *range = value.as<RangeValue>();
  if (!range)
    return 1;
  if (!range->powersOfTwo)
    return (((range->high.value - range->low.value) / range->step.value).floor() + Rational(1)).toInt64();
  Rational element(1), two(2), low = range->low.value / range->unit.value, high = range->high.value / range->unit.value;
  while (element < low)
    element = element * two;
  while (element / two >= low)
    element = element / two;
  int64_t count = 0;
  for (; element <= high; element = element * two)
    ++count;
  return count;
}

// ---- Checks for a key that wants something definite -------------------------------------------------------------------

static std::string exampleUnit(const Dimension &dimension) {
  std::string text = describe(dimension); // "size (B)"
  size_t open = text.find('(');
  return open == std::string::npos ? "" : text.substr(open + 1, text.size() - open - 2);
}

template <class T> static bool plain(Diagnostics &diags, const Value &value, llvm::StringRef what, const char *wanted) {
  if (value.as<T>())
    return true;
  if (value.invalid())
    return false;
  bool choice = value.as<SetValue>() || value.as<RangeValue>() || value.as<Deferred>();
  diags.error(choice ? Code::ChoiceNotAllowed : Code::WrongType, value.range,
              "'" + what.str() + "' needs " + wanted + ", and this is " + describe(value));
  return false;
}

std::optional<Quantity> asQuantity(Diagnostics &diags, const Value &value, Dimension dimension, llvm::StringRef what) {
  if (!plain<Quantity>(diags, value, what, "one number"))
    return std::nullopt;
  const Quantity &quantity = *value.as<Quantity>();
  if (quantity.dimension == dimension)
    return quantity;
  if (quantity.dimensionless()) {
    auto error = diags.error(Code::MissingUnit, value.range, "'" + what.str() + "' needs a unit, as it is " + describe(dimension));
    if (std::string unit = exampleUnit(dimension); !unit.empty())
      error.help("for example '" + quantity.print() + " " + unit + "'");
  } else if (dimension.dimensionless()) {
    diags.error(Code::UnexpectedUnit, value.range, "'" + what.str() + "' is a plain number, and this is " + describe(quantity.dimension));
  } else {
    diags.error(Code::WrongDimension, value.range,
                "'" + what.str() + "' is " + describe(dimension) + ", and this is " + describe(quantity.dimension));
  }
  return std::nullopt;
}

std::optional<int64_t> asInteger(Diagnostics &diags, const Value &value, int64_t low, int64_t high, llvm::StringRef what) {
  auto quantity = asQuantity(diags, value, {}, what);
  if (!quantity)
    return std::nullopt;
  if (!quantity->value.isInteger()) {
    diags.error(Code::NotAnInteger, value.range, "'" + what.str() + "' is a whole number, and this is " + quantity->print());
    return std::nullopt;
  }
  auto n = quantity->toInt64();
  if (n && *n >= low && *n <= high)
    return n;
  diags.error(Code::OutOfRange, value.range,
              "'" + what.str() + "' is between " + std::to_string(low) + " and " + std::to_string(high) + ", and this is " +
                  quantity->print());
  return std::nullopt;
}

std::optional<Quantity> evaluateQuantity(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                         Dimension dimension, llvm::StringRef what) {
  return asQuantity(diags, evaluate(diags, expr, environment), dimension, what);
}

std::optional<int64_t> evaluateInteger(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                       int64_t low, int64_t high, llvm::StringRef what) {
  return asInteger(diags, evaluate(diags, expr, environment), low, high, what);
}

std::optional<bool> evaluateBoolean(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                    llvm::StringRef what) {
  Value value = evaluate(diags, expr, environment);
  if (!plain<bool>(diags, value, what, "'true' or 'false'"))
    return std::nullopt;
  return *value.as<bool>();
}

std::optional<std::string> evaluateText(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                        llvm::StringRef what) {
  Value value = evaluate(diags, expr, environment);
  if (!plain<std::string>(diags, value, what, "a text in quotes"))
    return std::nullopt;
  return *value.as<std::string>();
}

std::optional<std::string> evaluateName(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                        llvm::ArrayRef<std::string> allowed, llvm::StringRef what) {
  // A word the key knows is that word, whatever else carries its name.
  if (const auto *reference = expr.as<ast::Reference>(); reference && llvm::is_contained(allowed, reference->name))
    return reference->name;
  Environment names = environment;
  names.symbols = true;
  Value value = evaluate(diags, expr, names);
  if (!plain<Symbol>(diags, value, what, "a name"))
    return std::nullopt;
  const std::string &name = value.as<Symbol>()->name;
  if (allowed.empty() || llvm::is_contained(allowed, name))
    return name;
  std::string list;
  for (const std::string &word : allowed)
    list += (list.empty() ? "'" : ", '") + word + "'";
  diags.error(Code::UnknownChoice, expr.range, "'" + what.str() + "' is one of " + list + ", and not '" + name + "'")
      .suggest(nearest(name, allowed));
  return std::nullopt;
}

} // namespace accord
