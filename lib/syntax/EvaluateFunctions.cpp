#include "lib/syntax/EvaluateFunctions.h"
#include "llvm/ADT/STLExtras.h"

namespace accord {

const std::vector<std::string> &functionNames() {
  static const std::vector<std::string> names = {"min", "max", "ceil_div", "floor_div", "pow2", "log2", "sum", "len"};
  return names;
}

bool isFunction(llvm::StringRef name) { return llvm::is_contained(functionNames(), name); }

namespace {

class Function {
public:
  Function(Diagnostics &diags, SourceRange range, const CallValue &call) : diags(diags), range(range), call(call) {}

  Value run() {
    const std::string &name = call.name;
    if (name == "len")
      return length();
    if (name == "sum" || name == "min" || name == "max")
      return fold();
    bool two = name == "ceil_div" || name == "floor_div";
    if (!arity(two ? 2 : 1))
      return invalid();
    const Quantity *a = number(call.arguments[0].value), *b = two ? number(call.arguments[1].value) : nullptr;
    if (!a || (two && !b))
      return invalid();
    return take(name == "ceil_div"    ? ceilDivide(*a, *b)
                : name == "floor_div" ? floorDivide(*a, *b)
                : name == "pow2"      ? powerOfTwo(*a)
                                      : logTwo(*a));
  }

private:
  Value invalid() const { return {range, Invalid{}}; }
  Value take(const Checked<Quantity> &result) {
    if (result)
      return {range, *result};
    diags.error(result.problem().code, range, result.problem().message);
    return invalid();
  }
  bool arity(size_t count) {
    if (call.arguments.size() == count)
      return true;
    bool more = call.arguments.size() > count;
    diags.error(more ? Code::TooManyArguments : Code::MissingArgument, range,
                "'" + call.name + "' takes " + std::to_string(count) + (count == 1 ? " argument, and " : " arguments, and ") +
                    std::to_string(call.arguments.size()) + " are given");
    return false;
  }
  const Quantity *number(const Value &value) {
    if (const auto *quantity = value.as<Quantity>())
      return quantity;
    if (!value.invalid())
      diags.error(Code::WrongType, value.range, "'" + call.name + "' needs numbers, and this is " + describe(value));
    return nullptr;
  }
  Value length() {
    if (!arity(1))
      return invalid();
    const Value &value = call.arguments[0].value;
    size_t n = 0;
    if (const auto *list = value.as<ListValue>())
      n = list->elements.size();
    else if (const auto *map = value.as<MapValue>())
      n = map->pairs.size();
    else if (const auto *shape = value.as<ShapeValue>())
      n = shape->dims.size();
    else {
      diags.error(Code::WrongType, value.range, "'len' needs a list, and this is " + describe(value));
      return invalid();
    }
    return {range, Quantity::number(static_cast<int64_t>(n))};
  }
  Value fold() {
    std::vector<const Value *> values;
    for (const auto &argument : call.arguments) {
      if (const auto *list = argument.value.as<ListValue>(); list && call.arguments.size() == 1)
        for (const Value &element : list->elements)
          values.push_back(&element);
      else
        values.push_back(&argument.value);
    }
    if (values.empty()) {
      if (call.name == "sum" && call.arguments.size() == 1)
        return {range, Quantity::number(0)};
      diags.error(Code::MissingArgument, range, "'" + call.name + "' needs at least one value");
      return invalid();
    }
    std::optional<Quantity> result;
    for (const Value *value : values) {
      const Quantity *next = number(*value);
      if (!next)
        return invalid();
      if (!result) {
        result = *next;
      } else if (call.name == "sum") {
        Value total = take(add(*result, *next));
        if (total.invalid())
          return total;
        result = *total.as<Quantity>();
      } else {
        auto order = compare(*next, *result);
        if (!order) {
          diags.error(order.problem().code, value->range, order.problem().message);
          return invalid();
        }
        if (call.name == "min" ? *order < 0 : *order > 0)
          result = *next;
      }
    }
    return {range, *result};
  }

  Diagnostics &diags;
  SourceRange range;
  const CallValue &call;
};

} // namespace

Value callFunction(Diagnostics &diags, SourceRange range, const CallValue &call) {
  return Function(diags, range, call).run();
}

Value makeRange(Diagnostics &diags, SourceRange place, RangeValue range, const Value &low, const Value &high,
                const Value *step) {
  Value bad{place, Invalid{}};
  auto end = [&](const Value &value, Quantity &slot) {
    const auto *quantity = value.as<Quantity>();
    if (!quantity) {
      diags.error(Code::WrongType, value.range, "a range has numbers as its ends, and this is " + describe(value));
      return false;
    }
    slot = *quantity;
    if (slot.dimensionless() && !range.unit.dimensionless())
      slot = Quantity(slot.value * range.unit.value, range.unit.dimension);
    return true;
  };
  if (!end(low, range.low) || !end(high, range.high) || (step && !end(*step, range.step)))
    return bad;
  auto order = compare(range.low, range.high);
  if (!order) {
    diags.error(order.problem().code, place, "the ends of a range: " + order.problem().message);
    return bad;
  }
  if (*order > 0) {
    diags.error(Code::EmptyRange, place, "the range is empty: " + range.low.print() + " is above " + range.high.print());
    return bad;
  }
  if (range.powersOfTwo && (step || range.low.value.sign() <= 0)) {
    diags.error(step ? Code::BadStep : Code::EmptyRange, step ? step->range : low.range,
                step ? "powers of two take no step" : "powers of two are positive");
    return bad;
  }
  if (step) {
    if (range.step.dimension != range.low.dimension) {
      diags.error(Code::BadStep, step->range,
                  "the step is " + describe(range.step.dimension) + ", the range " + describe(range.low.dimension));
      return bad;
    }
    if (range.step.value.sign() <= 0) {
      diags.error(Code::BadStep, step->range, "the step must be positive");
      return bad;
    }
  } else {
    range.step = range.unit;
  }
  Value result{place, range};
  if (range.powersOfTwo && countOf(result) == 0) {
    diags.error(Code::EmptyRange, place, "no power of two lies in this range");
    return bad;
  }
  return result;
}

} // namespace accord
