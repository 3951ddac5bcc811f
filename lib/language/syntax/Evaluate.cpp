#include "lib/language/syntax/Evaluate.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {

std::string Constant::describe() const {
  if (auto *q = as<Quantity>())
    return q->dimensionless() ? "the number " + q->print() : q->print();
  if (auto *b = as<bool>())
    return *b ? "true" : "false";
  if (auto *t = as<ast::Text>())
    return "the text \"" + t->value + "\"";
  if (auto *w = as<Word>())
    return "'" + w->text + "'";
  if (as<Choice>())
    return "a choice";
  if (auto *l = as<ListValue>())
    return l->shape ? fmt::format("a shape with {} dimensions", l->elements->size())
                    : fmt::format("a list of {}", l->elements->size());
  if (as<MapValue>())
    return "a map";
  if (auto *c = as<CallValue>())
    return "'" + c->name + "(…)'";
  return "nothing";
}

namespace {

constexpr size_t kMaxDepth = 1000; ///< of expressions, through the names that they use
constexpr size_t kMaxCalls = 1000; ///< in one value: it is walked recursively, shared parts each time

class Evaluator {
public:
  Evaluator(Diagnostics &diags, const Lookup &lookup) : diags(diags), lookup(lookup) {}

  Constant eval(const ast::Expr &expr) {
    // Counted across evaluators: a name is looked up by evaluating what it stands for.
    static thread_local size_t depth = 0;
    if (depth >= kMaxDepth) {
      diags.error(Code::NestedTooDeep, expr.range,
                  fmt::format("more than {} expressions are being evaluated within each other", kMaxDepth));
      return {};
    }
    ++depth;
    Constant value = std::visit([&](const auto &node) { return visit(node, expr.range); }, expr.node);
    --depth;
    value.range = expr.range;
    return value;
  }

private:
  static std::shared_ptr<Constant> box(Constant value) { return std::make_shared<Constant>(std::move(value)); }
  static Constant of(decltype(Constant::content) content) { return {{}, std::move(content)}; }
  /// A call that stays one, unless it is too large.
  Constant symbolic(CallValue call, SourceRange at) {
    for (auto &[name, argument] : call.arguments)
      if (auto *inner = argument->as<CallValue>())
        call.calls += inner->calls;
    if (call.calls <= kMaxCalls)
      return of(std::move(call));
    diags.error(Code::NestedTooDeep, at,
                fmt::format("this value has {} operations and calls in it, and at most {} are "
                            "possible",
                            call.calls, kMaxCalls));
    return {};
  }

  Constant visit(const ast::Number &n, SourceRange) { return n.valid ? of(n.value) : Constant{}; }
  Constant visit(const ast::Text &t, SourceRange) { return of(t); }
  Constant visit(const ast::Boolean &b, SourceRange) { return of(b.value); }
  Constant visit(const ast::Reference &r, SourceRange range) {
    if (auto found = lookup(r.name, range))
      return *found;
    return of(Word{r.name});
  }
  Constant visit(const ast::Member &m, SourceRange range) {
    Constant object = eval(*m.object);
    if (auto *word = object.as<Word>())
      return of(Word{word->text + "." + m.member.text});
    if (!object.failed())
      diags.error(Code::UnknownMember, m.member.range,
                  fmt::format("{} has no member '{}'", object.describe(), m.member.text));
    return {};
  }
  Constant visit(const ast::Index &i, SourceRange range) {
    Constant value = eval(*i.object);
    for (const ast::ExprPtr &position : i.indices) {
      Constant at = eval(*position);
      auto *list = value.as<ListValue>();
      auto *number = at.as<Quantity>();
      auto index = number ? number->toInt64() : std::nullopt;
      if (value.failed() || at.failed())
        return {};
      if (!list || !index) {
        diags.error(Code::WrongType, range,
                    fmt::format("{} cannot be indexed with {}", value.describe(), at.describe()));
        return {};
      }
      if (*index < 0 || *index >= static_cast<int64_t>(list->elements->size())) {
        diags.error(Code::IndexOutOfRange, position->range,
                    fmt::format("index {} of a list of {}", *index, list->elements->size()));
        return {};
      }
      Constant element = (*list->elements)[*index];
      value = std::move(element);
    }
    return value;
  }
  Constant visit(const ast::List &l, SourceRange) { return list(l.elements, false); }
  Constant visit(const ast::Shape &s, SourceRange) { return list(s.dims, true); }
  Constant list(const std::vector<ast::ExprPtr> &elements, bool shape) {
    auto values = std::make_shared<Constants>();
    bool ok = true;
    for (const ast::ExprPtr &element : elements) {
      values->push_back(eval(*element));
      ok &= !values->back().failed();
    }
    return ok ? of(ListValue{values, shape}) : Constant{};
  }
  Constant visit(const ast::Set &s, SourceRange) {
    auto values = std::make_shared<Constants>();
    bool ok = true;
    for (const ast::ExprPtr &element : s.elements) {
      Constant value = eval(*element);
      ok &= !value.failed();
      for (const Constant &earlier : *values)
        if ((earlier.as<Quantity>() && value.as<Quantity>() && *earlier.as<Quantity>() == *value.as<Quantity>()) ||
            (earlier.as<Word>() && value.as<Word>() && *earlier.as<Word>() == *value.as<Word>()))
          diags.error(Code::DuplicateChoice, element->range, fmt::format("{} is in this set already", value.describe()))
              .note(earlier.range, "here");
      values->push_back(std::move(value));
    }
    Choice choice;
    choice.members = values;
    return ok ? of(choice) : Constant{};
  }
  Constant visit(const ast::Map &m, SourceRange) {
    MapValue map;
    bool ok = true;
    for (const ast::Map::Pair &pair : m.pairs) {
      for (auto &[key, earlier] : map.pairs)
        if (key.text == pair.key.text) {
          diags.error(Code::DuplicateKey, pair.key.range, fmt::format("'{}' is given twice", key.text))
              .note(key.range, "the first time");
          ok = false;
        }
      map.pairs.push_back({pair.key, box(eval(*pair.value))});
      ok &= !map.pairs.back().second->failed();
    }
    return ok ? of(map) : Constant{};
  }
  Constant visit(const ast::Range &r, SourceRange range) {
    Constant low = eval(*r.low), high = eval(*r.high), step = r.step ? eval(*r.step) : of(Quantity::number(1));
    if (low.failed() || high.failed() || step.failed())
      return {};
    auto *l = low.as<Quantity>(), *h = high.as<Quantity>(), *s = step.as<Quantity>();
    if (!l || !h || !s) {
      const Constant &bad = !l ? low : !h ? high : step;
      diags.error(Code::WrongType, bad.range, fmt::format("the ends of a range are numbers, not {}", bad.describe()));
      return {};
    }
    Choice choice;
    choice.kind = r.powersOfTwo ? Choice::Kind::PowersOfTwo : Choice::Kind::Range;
    choice.low = *l;
    choice.high = *h;
    choice.step = *s;
    // `2..128 MiB`: the unit of the end is that of the start as well.
    auto *highNumber = r.high->as<ast::Number>();
    if (l->dimensionless() && !h->dimensionless() && highNumber)
      if (llvm::StringRef unit = unitOf(*highNumber); !unit.empty())
        if (auto factor = parseUnit(unit))
          if (auto scaled = multiply(*l, *factor))
            choice.low = *scaled;
    if (!r.step && !h->dimensionless())
      choice.step = Quantity(Rational(1), h->dimension);
    auto order = compare(choice.low, choice.high);
    if (!order) {
      diags.error(order.error().code, range, order.error().message);
      return {};
    }
    if (r.powersOfTwo && choice.low.value.sign() <= 0) {
      diags.error(Code::EmptyRange, low.range,
                  fmt::format("powers of two are positive, but this is {}", choice.low.print()));
      return {};
    }
    if (r.powersOfTwo && *order <= 0) {
      double low2 = std::exp2(std::ceil(std::log2(choice.low.toDouble())));
      if (low2 > choice.high.toDouble()) {
        diags.error(Code::EmptyRange, range,
                    fmt::format("no power of two lies between {} and {}", choice.low.print(), choice.high.print()));
        return {};
      }
    }
    if (*order > 0) {
      diags.error(Code::EmptyRange, range,
                  fmt::format("the range is empty: {} is above {}", choice.low.print(), choice.high.print()));
      return {};
    }
    if (r.step && (s->dimension != choice.low.dimension || s->value.sign() <= 0)) {
      diags.error(Code::BadStep, r.step->range,
                  fmt::format("a step is positive and of the same dimension as the range, but this is {}", s->print()));
      return {};
    }
    return of(choice);
  }
  static llvm::StringRef unitOf(const ast::Number &number) {
    llvm::StringRef text = number.text;
    if (llvm::StringRef hexadecimal = leadingHexadecimal(text); !hexadecimal.empty())
      return text.drop_front(hexadecimal.size()).ltrim();
    return text.ltrim("0123456789._+-").ltrim("eE").ltrim("0123456789+- ");
  }
  Constant visit(const ast::Conditional &c, SourceRange) {
    for (const auto &branch : c.branches) {
      Constant condition = eval(*branch.condition);
      if (condition.failed())
        return {};
      auto *truth = condition.as<bool>();
      if (!truth) {
        diags.error(Code::WrongType, branch.condition->range,
                    fmt::format("a condition is true or false, not {}", condition.describe()));
        return {};
      }
      if (*truth)
        return eval(*branch.value);
    }
    return eval(*c.otherwise);
  }
  Constant visit(const ast::Unary &u, SourceRange range) {
    Constant value = eval(*u.operand);
    if (value.failed() || u.op == ast::UnaryOp::Plus)
      return value;
    if (auto *q = value.as<Quantity>(); q && u.op == ast::UnaryOp::Negate)
      return of(Quantity(Rational(0) - q->value, q->dimension));
    if (auto *b = value.as<bool>(); b && u.op == ast::UnaryOp::Not)
      return of(!*b);
    if (value.as<Word>() || value.as<CallValue>())
      return symbolic(CallValue{u.op == ast::UnaryOp::Not ? "not" : "-", {{"", box(value)}}}, range);
    diags.error(Code::WrongType, range,
                fmt::format("'{}' has no meaning for {}", ast::spelling(u.op).str(), value.describe()));
    return {};
  }
  Constant visit(const ast::Chain &c, SourceRange) {
    Constant value = eval(*c.first);
    bool comparison = false;
    for (const auto &link : c.rest) {
      if (comparison && isComparison(link.op)) {
        diags.error(Code::WrongType, link.opRange, "comparisons cannot be chained").help("write 'a < b and b < c'");
        return {};
      }
      comparison = isComparison(link.op);
      Constant right = eval(*link.operand);
      SourceRange whole = value.range.to(right.range);
      value = apply(link.op, link.opRange, std::move(value), std::move(right));
      value.range = whole;
    }
    return value;
  }
  Constant apply(ast::BinaryOp op, SourceRange at, Constant a, Constant b) {
    if (a.failed() || b.failed())
      return {};
    auto isSymbolic = [](const Constant &v) { return v.as<Word>() || v.as<CallValue>(); };
    bool logical = op == ast::BinaryOp::And || op == ast::BinaryOp::Or;
    if (auto *x = a.as<Quantity>(), *y = b.as<Quantity>(); x && y && !logical) {
      auto fail = [&](const Error &error) -> Constant {
        diags.error(error.code, at, error.message)
            .note(a.range, describe(x->dimension))
            .note(b.range, describe(y->dimension));
        return {};
      };
      if (isComparison(op)) {
        auto order = compare(*x, *y);
        return order ? of(*applyComparison(op, *order)) : fail(order.error());
      }
      auto result = applyArithmetic(op, *x, *y);
      return result ? of(*result) : fail(result.error());
    }
    if (auto *x = a.as<bool>(), *y = b.as<bool>(); x && y && logical)
      return of(op == ast::BinaryOp::And ? *x && *y : *x || *y);
    if (isSymbolic(a) || isSymbolic(b))
      return symbolic(CallValue{ast::spelling(op).str(), {{"", box(std::move(a))}, {"", box(std::move(b))}}}, at);
    diags.error(
        Code::WrongType, at,
        fmt::format("'{}' has no meaning between {} and {}", ast::spelling(op).str(), a.describe(), b.describe()));
    return {};
  }
  Constant visit(const ast::Call &c, SourceRange range) {
    auto *callee = c.callee->as<ast::Reference>();
    if (!callee) {
      diags.error(Code::UnknownFunction, c.callee->range, "only a name can be called");
      return {};
    }
    CallValue call;
    call.name = callee->name;
    bool ok = true, numbers = true;
    std::vector<Quantity> plain;
    for (const ast::Argument &argument : c.arguments) {
      Constant value = eval(*argument.value);
      ok &= !value.failed();
      if (auto *list = value.as<ListValue>(); list && c.arguments.size() == 1)
        for (const Constant &element : *list->elements)
          element.as<Quantity>() ? plain.push_back(*element.as<Quantity>()) : void(numbers = false);
      else if (auto *q = value.as<Quantity>(); q && !argument.name)
        plain.push_back(*q);
      else
        numbers = false;
      call.arguments.push_back({argument.name ? argument.name->text : "", box(std::move(value))});
    }
    if (!ok)
      return {};
    if (call.name == "len" && call.arguments.size() == 1)
      if (auto *list = call.arguments[0].second->as<ListValue>())
        return of(Quantity::number(list->elements->size()));
    if (!numbers || plain.empty())
      return symbolic(call, range);
    auto done = [&](Result<Quantity> result) -> Constant {
      if (result)
        return of(*result);
      diags.error(result.error().code, range, result.error().message);
      return {};
    };
    if (call.name == "pow2" && plain.size() == 1)
      return done(powerOfTwo(plain[0]));
    if (call.name == "log2" && plain.size() == 1)
      return done(logTwo(plain[0]));
    if (call.name == "ceil_div" && plain.size() == 2)
      return done(ceilDivide(plain[0], plain[1]));
    if (call.name == "floor_div" && plain.size() == 2)
      return done(floorDivide(plain[0], plain[1]));
    if (call.name == "min" || call.name == "max" || call.name == "sum")
      return done(applyFold(call.name, plain));
    return symbolic(call, range);
  }

  Diagnostics &diags;
  const Lookup &lookup;
};

} // namespace

Constant evaluate(const ast::Expr &expr, Diagnostics &diags, const Lookup &lookup) {
  return Evaluator(diags, lookup).eval(expr);
}

std::optional<std::vector<int64_t>> integersOf(const Constant &value, Diagnostics &diags, llvm::StringRef what,
                                               int64_t min, size_t max) {
  std::vector<int64_t> out;
  bool ok = true;
  auto one = [&](const Constant &v) {
    auto fail = [&](Code code, const std::string &reason) {
      diags.error(code, v.range, fmt::format("'{}' is {}", what.str(), reason));
      ok = false;
    };
    auto *q = v.as<Quantity>();
    auto i = q ? q->toInt64() : std::nullopt;
    if (v.failed())
      ok = false;
    else if (!q)
      fail(Code::WrongType, "an integer or a choice of integers, not " + v.describe());
    else if (!q->dimensionless())
      fail(Code::UnexpectedUnit, fmt::format("a plain integer, but this is a {}", describe(q->dimension)));
    else if (!i)
      fail(q->value.isInteger() ? Code::NumberTooLarge : Code::NotAnInteger,
           fmt::format("an integer, but this is {}", q->print()));
    else if (*i < min)
      fail(Code::OutOfRange, fmt::format("at least {}, but this is {}", min, *i));
    else
      out.push_back(*i);
  };
  auto *choice = value.as<Choice>();
  if (!choice) {
    one(value);
  } else if (choice->kind == Choice::Kind::Set) {
    for (const Constant &member : *choice->members) {
      if (member.as<Choice>()) {
        auto inner = integersOf(member, diags, what, min, max);
        ok &= inner.has_value();
        if (inner)
          out.insert(out.end(), inner->begin(), inner->end());
      } else {
        one(member);
      }
    }
  } else {
    one({value.range, choice->low});
    one({value.range, choice->high});
    auto step = choice->step.toInt64();
    if (ok && step) {
      int64_t low = out[0], high = out[1];
      out.clear();
      bool powers = choice->kind == Choice::Kind::PowersOfTwo;
      if (powers && (low & (low - 1)) != 0) {
        diags.error(Code::OutOfRange, value.range,
                    fmt::format("'pow2' starts at a power of two, but this starts at {}", low));
        return std::nullopt;
      }
      if (!powers && (static_cast<__int128>(high) - low) / *step >= static_cast<__int128>(max)) {
        diags.error(Code::TooManyValues, value.range, fmt::format("'{}' has more than {} values", what.str(), max));
        return std::nullopt;
      }
      // 128 bits: the step past the end may not fit into 64.
      for (__int128 i = low; i <= high; i = powers ? i * 2 : i + *step)
        out.push_back(static_cast<int64_t>(i));
    }
  }
  if (!ok)
    return std::nullopt;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// ---- Operators, and functions by name

Result<Quantity> applyArithmetic(ast::BinaryOp op, const Quantity &a, const Quantity &b) {
  switch (op) {
  case ast::BinaryOp::Add:
    return add(a, b);
  case ast::BinaryOp::Subtract:
    return subtract(a, b);
  case ast::BinaryOp::Multiply:
    return multiply(a, b);
  case ast::BinaryOp::Divide:
    return divide(a, b);
  case ast::BinaryOp::Modulo:
    return modulo(a, b);
  case ast::BinaryOp::Power:
    return power(a, b);
  default:
    return Error{Code::WrongType, "not an arithmetic operator"};
  }
}

Result<Quantity> applyFold(llvm::StringRef function, llvm::ArrayRef<Quantity> numbers) {
  Quantity result = numbers.front();
  for (const Quantity &next : numbers.drop_front()) {
    if (function == "sum") {
      auto total = add(result, next);
      if (!total)
        return total;
      result = *total;
      continue;
    }
    auto order = compare(result, next);
    if (!order)
      return order.error();
    if (function == "min" ? *order > 0 : *order < 0)
      result = next;
  }
  return result;
}

bool isComparison(ast::BinaryOp op) { return op >= ast::BinaryOp::Equal && op <= ast::BinaryOp::GreaterEqual; }

std::optional<bool> applyComparison(ast::BinaryOp op, int order) {
  switch (op) {
  case ast::BinaryOp::Equal:
    return order == 0;
  case ast::BinaryOp::NotEqual:
    return order != 0;
  case ast::BinaryOp::Less:
    return order < 0;
  case ast::BinaryOp::LessEqual:
    return order <= 0;
  case ast::BinaryOp::Greater:
    return order > 0;
  case ast::BinaryOp::GreaterEqual:
    return order >= 0;
  default:
    return std::nullopt;
  }
}

static const std::vector<std::string> kFunctions = {"min",  "max",  "ceil_div", "floor_div",
                                                    "pow2", "log2", "sum",      "len"};

bool constantFunction(llvm::StringRef name) { return llvm::is_contained(kFunctions, name.str()); }

bool reportUnknownFunction(const CallValue &call, SourceRange range, Diagnostics &diags) {
  static const std::set<std::string> kWords = {"and",          "or",       "not",        "torus", "mesh",
                                               "ring",         "fat_tree", "nm",         "block", "mixed",
                                               "unstructured", "channel",  "interleaved"};
  if (!llvm::isAlpha(call.name[0]) || constantFunction(call.name) || kWords.count(call.name))
    return false;
  diags.error(Code::UnknownFunction, range, fmt::format("unknown function '{}'", call.name))
      .suggest(nearest(call.name, kFunctions))
      .help(fmt::format("functions are {}", fmt::join(kFunctions, ", ")));
  return true;
}

} // namespace accord
