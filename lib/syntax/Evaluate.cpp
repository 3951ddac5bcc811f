#include "lib/syntax/Evaluate.h"
#include "lib/syntax/EvaluateFunctions.h"

namespace accord {
namespace {

using ast::BinaryOp;

class Evaluator {
public:
  Evaluator(Diagnostics &diags, const Environment &environment) : diags(diags), environment(environment) {}

  Value run(const ast::Expr &expr) {
    Value result = std::visit([&](const auto &node) { return eval(expr, node); }, expr.node);
    result.range = expr.range;
    return result;
  }

private:
  template <class T> static Value made(T node) { return {{}, std::move(node)}; }
  Value fail(Code code, SourceRange range, std::string message, llvm::StringRef suggestion = "") {
    diags.error(code, range, std::move(message)).suggest(suggestion);
    return made(Invalid{});
  }
  Value take(const Checked<Quantity> &result, SourceRange range) {
    if (result)
      return made(*result);
    return fail(result.problem().code, range, result.problem().message, result.problem().suggestion);
  }
  static bool open(const Value &value) {
    return value.as<Deferred>() || value.as<SetValue>() || value.as<RangeValue>();
  }

  Value eval(const ast::Expr &, const ast::Number &number) {
    return number.valid ? made(number.value) : made(Invalid{});
  }
  Value eval(const ast::Expr &, const ast::Text &text) { return made(text.value); }
  Value eval(const ast::Expr &, const ast::Boolean &boolean) { return made(boolean.value); }

  Value unknown(SourceRange range, const std::string &name) {
    std::vector<std::string> names = environment.names ? environment.names() : std::vector<std::string>();
    return fail(Code::UnknownName, range, "unknown name '" + name + "'", nearest(name, names));
  }
  Value eval(const ast::Expr &expr, const ast::Reference &reference) {
    ast::Name name{reference.name, expr.range};
    if (environment.resolve)
      if (auto value = environment.resolve(name))
        return *value;
    if (environment.symbols)
      return made(Symbol{reference.name});
    return unknown(expr.range, reference.name);
  }

  /// a.b.c as a path, if it is made of names only.
  static bool pathOf(const ast::Expr &expr, std::vector<ast::Name> &path) {
    if (const auto *reference = expr.as<ast::Reference>()) {
      path.push_back({reference->name, expr.range});
      return true;
    }
    const auto *member = expr.as<ast::Member>();
    if (!member || !pathOf(*member->object, path))
      return false;
    path.push_back(member->member);
    return true;
  }
  Value eval(const ast::Expr &expr, const ast::Member &member) {
    std::vector<ast::Name> path;
    if (environment.resolve && pathOf(expr, path))
      if (auto value = environment.resolve(path))
        return *value;
    Value object = run(*member.object);
    if (object.invalid())
      return object;
    if (open(object))
      return made(Deferred{&expr});
    const std::string &name = member.member.text;
    std::vector<std::string> names;
    if (const auto *shape = object.as<ShapeValue>(); shape && shape->dims.size() == 2) {
      names = {"rows", "cols"};
      if (name == "rows" || name == "cols") {
        const Value &dim = shape->dims[name == "cols"];
        return open(dim) ? made(Deferred{&expr}) : dim;
      }
    }
    if (const auto *map = object.as<MapValue>()) {
      if (const Value *value = map->find(name))
        return *value;
      for (const auto &pair : map->pairs)
        names.push_back(pair.key.text);
    }
    return fail(Code::UnknownMember, member.member.range, describe(object) + " has no member '" + name + "'",
                nearest(name, names));
  }

  Value eval(const ast::Expr &expr, const ast::Index &index) {
    Value object = run(*index.object);
    const auto *list = object.as<ListValue>();
    if (object.invalid() || open(object))
      return object.invalid() ? object : made(Deferred{&expr});
    if (!list || index.indices.size() != 1)
      return fail(Code::WrongType, index.object->range, "only lists have elements, and this is " + describe(object));
    Value at = run(*index.indices[0]);
    if (open(at))
      return made(Deferred{&expr});
    auto i = asInteger(diags, at, 0, static_cast<int64_t>(1) << 62, "an index");
    if (!i)
      return made(Invalid{});
    if (*i >= static_cast<int64_t>(list->elements.size()))
      return fail(Code::IndexOutOfRange, at.range,
                  "index " + std::to_string(*i) + " of a list of " + std::to_string(list->elements.size()) + " elements");
    return list->elements[static_cast<size_t>(*i)];
  }

  Value eval(const ast::Expr &expr, const ast::Call &call) {
    const auto *callee = call.callee->as<ast::Reference>();
    if (!callee)
      return fail(Code::UnknownFunction, call.callee->range, "only a name can be called");
    bool known = isFunction(callee->name);
    if (!known && !environment.calls)
      return fail(Code::UnknownFunction, call.callee->range, "unknown function '" + callee->name + "'",
                  nearest(callee->name, functionNames()));
    Environment inner = environment;
    inner.symbols |= !known;
    CallValue result{callee->name, {}};
    bool deferred = false;
    for (const ast::Argument &argument : call.arguments) {
      Value value = Evaluator(diags, inner).run(*argument.value);
      if (value.invalid())
        return value;
      deferred |= open(value);
      if (known && argument.name)
        return fail(Code::UnknownArgument, argument.name->range,
                    "'" + callee->name + "' takes its arguments by place");
      result.arguments.push_back({argument.name.value_or(ast::Name{}), std::move(value)});
    }
    if (!known)
      return made(std::move(result));
    if (deferred)
      return made(Deferred{&expr});
    return callFunction(diags, expr.range, result);
  }

  Value eval(const ast::Expr &expr, const ast::Unary &unary) {
    Value operand = run(*unary.operand);
    if (operand.invalid() || open(operand))
      return operand.invalid() ? operand : made(Deferred{&expr});
    if (unary.op == ast::UnaryOp::Not) {
      if (const bool *value = operand.as<bool>())
        return made(!*value);
      return fail(Code::WrongType, operand.range, "'not' needs a truth value, and this is " + describe(operand));
    }
    const auto *quantity = operand.as<Quantity>();
    if (!quantity)
      return notANumber(operand, spelling(unary.op));
    return unary.op == ast::UnaryOp::Plus ? made(*quantity) : made(Quantity(-quantity->value, quantity->dimension));
  }

  Value notANumber(const Value &operand, llvm::StringRef op) {
    if (const auto *symbol = operand.as<Symbol>())
      return unknown(operand.range, symbol->name);
    return fail(Code::WrongType, operand.range, "'" + op.str() + "' needs numbers, and this is " + describe(operand));
  }

  Value eval(const ast::Expr &expr, const ast::Chain &chain) {
    Value left = run(*chain.first);
    bool deferred = open(left);
    for (const ast::Chain::Link &link : chain.rest) {
      if (left.invalid())
        return left;
      bool logical = link.op == BinaryOp::And || link.op == BinaryOp::Or;
      if (logical && left.as<bool>() && *left.as<bool>() == (link.op == BinaryOp::Or))
        continue; // decided; the other side may be impossible to compute
      Value right = run(*link.operand);
      if (right.invalid())
        return right;
      deferred |= open(right);
      if (deferred)
        continue;
      left = apply(link, left, right, chain.first->range.to(link.operand->range));
    }
    return deferred && !left.invalid() ? made(Deferred{&expr}) : left;
  }

  Value apply(const ast::Chain::Link &link, const Value &left, const Value &right, SourceRange whole) {
    Value result = applied(link, left, right, whole);
    result.range = whole;
    return result;
  }

  Value applied(const ast::Chain::Link &link, const Value &left, const Value &right, SourceRange whole) {
    BinaryOp op = link.op;
    llvm::StringRef word = spelling(op);
    if (op == BinaryOp::And || op == BinaryOp::Or) {
      const bool *a = left.as<bool>(), *b = right.as<bool>();
      const Value &wrong = a ? right : left;
      if (!a || !b)
        return fail(Code::WrongType, wrong.range, "'" + word.str() + "' needs truth values, and this is " + describe(wrong));
      return made(op == BinaryOp::And ? *a && *b : *a || *b);
    }
    const auto *a = left.as<Quantity>(), *b = right.as<Quantity>();
    if (op == BinaryOp::Equal || op == BinaryOp::NotEqual) {
      if (!a && !b && left.node.index() == right.node.index())
        return made((print(left) == print(right)) == (op == BinaryOp::Equal));
      if (!a != !b)
        return fail(Code::WrongType, whole, "cannot compare " + describe(left) + " with " + describe(right));
    }
    if (!a || !b)
      return notANumber(a ? right : left, word);
    switch (op) {
    case BinaryOp::Add: return take(add(*a, *b), whole);
    case BinaryOp::Subtract: return take(subtract(*a, *b), whole);
    case BinaryOp::Multiply: return take(multiply(*a, *b), whole);
    case BinaryOp::Divide: return take(divide(*a, *b), whole);
    case BinaryOp::Modulo: return take(modulo(*a, *b), whole);
    case BinaryOp::Power: return take(power(*a, *b), whole);
    default: break;
    }
    auto order = compare(*a, *b);
    if (!order)
      return fail(order.problem().code, whole, order.problem().message);
    switch (op) {
    case BinaryOp::Equal: return made(*order == 0);
    case BinaryOp::NotEqual: return made(*order != 0);
    case BinaryOp::Less: return made(*order < 0);
    case BinaryOp::LessEqual: return made(*order <= 0);
    case BinaryOp::Greater: return made(*order > 0);
    default: return made(*order >= 0);
    }
  }

  Value eval(const ast::Expr &expr, const ast::Conditional &conditional) {
    for (const auto &branch : conditional.branches) {
      Value condition = run(*branch.condition);
      if (condition.invalid() || open(condition))
        return condition.invalid() ? condition : made(Deferred{&expr});
      const bool *holds = condition.as<bool>();
      if (!holds)
        return fail(Code::WrongType, condition.range, "a condition is a truth value, and this is " + describe(condition));
      if (*holds)
        return run(*branch.value);
    }
    return run(*conditional.otherwise);
  }

  /// False after an error in one of them.
  bool all(const std::vector<ast::ExprPtr> &exprs, std::vector<Value> &values) {
    bool valid = true;
    for (const ast::ExprPtr &expr : exprs) {
      values.push_back(run(*expr));
      valid &= !values.back().invalid();
    }
    return valid;
  }
  Value eval(const ast::Expr &, const ast::List &list) {
    ListValue result;
    return all(list.elements, result.elements) ? made(std::move(result)) : made(Invalid{});
  }
  Value eval(const ast::Expr &, const ast::Shape &shape) {
    ShapeValue result;
    return all(shape.dims, result.dims) ? made(std::move(result)) : made(Invalid{});
  }
  Value eval(const ast::Expr &expr, const ast::Set &set) {
    SetValue result;
    if (!all(set.elements, result.elements))
      return made(Invalid{});
    if (result.elements.empty())
      return fail(Code::EmptyRange, expr.range, "an empty set leaves nothing to choose");
    for (size_t i = 0; i < result.elements.size() && i < 1000; ++i)
      for (size_t k = 0; k < i; ++k)
        if (print(result.elements[i]) == print(result.elements[k])) {
          diags.error(Code::DuplicateChoice, result.elements[i].range, "'" + print(result.elements[i]) + "' is in the set twice")
              .note(result.elements[k].range, "first here");
          return made(Invalid{});
        }
    return made(std::move(result));
  }
  Value eval(const ast::Expr &, const ast::Map &map) {
    MapValue result;
    bool valid = true;
    for (const auto &pair : map.pairs) {
      for (const auto &earlier : result.pairs)
        if (earlier.key.text == pair.key.text) {
          diags.error(Code::DuplicateKey, pair.key.range, "'" + pair.key.text + "' given twice")
              .note(earlier.key.range, "first given here");
          valid = false;
        }
      result.pairs.push_back({pair.key, run(*pair.value)});
      valid &= !result.pairs.back().value.invalid();
    }
    return valid ? made(std::move(result)) : made(Invalid{});
  }
  Value eval(const ast::Expr &expr, const ast::Range &range) {
    Value low = run(*range.low), high = run(*range.high), step = range.step ? run(*range.step) : Value();
    if (low.invalid() || high.invalid() || (range.step && step.invalid()))
      return made(Invalid{});
    if (open(low) || open(high) || open(step))
      return made(Deferred{&expr});
    RangeValue result;
    result.powersOfTwo = range.powersOfTwo;
    // 2..128 MiB: the unit stands once, at the upper end.
    const auto *written = range.high->as<ast::Number>();
    result.unit = Quantity(Rational(1));
    if (written && written->hasUnit)
      if (auto unit = parseUnit(llvm::StringRef(written->text).ltrim("0123456789._ \t")))
        result.unit = *unit;
    return makeRange(diags, expr.range, std::move(result), low, high, range.step ? &step : nullptr);
  }

  Diagnostics &diags;
  const Environment &environment;
};

} // namespace

Value evaluate(Diagnostics &diags, const ast::Expr &expr, const Environment &environment) {
  return Evaluator(diags, environment).run(expr);
}

} // namespace accord
