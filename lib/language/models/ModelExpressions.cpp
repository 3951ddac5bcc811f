// Expressions in a model body: numbers are computed exactly, tensors become element-wise
// operations.
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/syntax/Evaluate.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

ModelValue ModelBuilder::eval(const ast::Expr &expr) {
  if (!proceed(expr.range))
    return {};
  if (depth >= kMaxDepth) {
    diags.error(Code::NestedTooDeep, expr.range,
                fmt::format("more than {} expressions are being evaluated within each other", kMaxDepth));
    hasGivenUp = true;
    return {};
  }
  ++depth;
  ModelValue value = evalNode(expr);
  --depth;
  return value;
}

ModelValue ModelBuilder::evalRange(const ast::Range &bounds, SourceRange range) {
  auto low = integer(*bounds.low, "the start of a range"), high = integer(*bounds.high, "the end of a range");
  auto step = bounds.step ? integer(*bounds.step, "the step of a range", 1) : std::optional<int64_t>(1);
  if (!low || !high || !step)
    return {};
  auto list = std::make_shared<ModelList>();
  // Wider than the ends, which may be the largest integers there are.
  for (__int128 i = *low; i <= *high; i = bounds.powersOfTwo ? (i < 1 ? 1 : i) * 2 : i + *step) {
    if (list->size() > kMaxList) {
      diags.error(Code::TooManyValues, range, "a loop of more than 100000 iterations")
          .help("'repeat' keeps identical layers as one");
      return {};
    }
    list->push_back({Quantity::number(static_cast<int64_t>(i))});
  }
  proceed(range, list->size());
  return {list};
}

ModelValue ModelBuilder::evalNode(const ast::Expr &expr) {
  return std::visit(
      [&](const auto &node) -> ModelValue {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::Number>) {
          return {node.value};
        } else if constexpr (std::is_same_v<T, ast::Text>) {
          return {node.value};
        } else if constexpr (std::is_same_v<T, ast::Boolean>) {
          return {node.value};
        } else if constexpr (std::is_same_v<T, ast::Reference>) {
          return evalReference(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Call>) {
          return evalCall(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Unary>) {
          return evalUnary(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Chain>) {
          return evalChain(node);
        } else if constexpr (std::is_same_v<T, ast::Index>) {
          return evalIndex(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Conditional>) {
          return evalConditional(node);
        } else if constexpr (std::is_same_v<T, ast::List>) {
          auto list = std::make_shared<ModelList>();
          for (const ast::ExprPtr &element : node.elements)
            list->push_back(eval(*element));
          return {list};
        } else if constexpr (std::is_same_v<T, ast::Range>) {
          return evalRange(node, expr.range);
        } else {
          diags.error(Code::WrongType, expr.range, "a model body has no use for this value")
              .help("sets and maps belong into machines and trainings");
          return {};
        }
      },
      expr.node);
}

ModelValue ModelBuilder::evalReference(const ast::Reference &reference, SourceRange range) {
  if (Variable *variable = lookup(reference.name)) {
    if (variable->unassigned)
      reportUnassigned({reference.name, range});
    return variable->value;
  }
  const ast::Declaration *from = scope->declaration;
  if (const ast::Declaration *found = declarations.find(reference.name, *from, range)) {
    if (found->kind == ast::DeclarationKind::Constant) {
      if (llvm::is_contained(calls, found)) {
        diags.error(Code::RecursiveDefinition, range, fmt::format("'{}' is defined by itself", reference.name));
        return {};
      }
      if (auto known = constants.find(found); known != constants.end())
        return known->second;
      Scope outside;
      outside.declaration = found;
      Scope *saved = scope;
      scope = &outside;
      calls.push_back(found);
      ModelValue value = eval(*found->value);
      calls.pop_back();
      scope = saved;
      if (value.failed() || value.number() || value.truth())
        constants[found] = value;
      return value;
    }
    diags
        .error(Code::WrongNameKind, range,
               fmt::format("'{}' is {}, not a value", reference.name, ast::withArticle(found->kind)))
        .note(found->name.range, "declared here");
    return {};
  }
  std::vector<std::string> known = declarations.names(*from);
  for (Scope *s = scope; s; s = s->parent)
    for (auto &[name, variable] : s->variables)
      known.push_back(name);
  auto error = diags.error(Code::UnknownName, range, fmt::format("unknown name '{}'", reference.name));
  if (std::string near = nearest(reference.name, known); !near.empty())
    error.suggest(near);
  else if (findOperation(reference.name))
    error.help(fmt::format("'{}' is an operation: call it with its operands", reference.name));
  return {};
}

ModelValue ModelBuilder::apply(ast::BinaryOp op, SourceRange opAt, ModelValue a, SourceRange aAt, ModelValue b,
                               SourceRange bAt) {
  using enum ast::BinaryOp;
  if (a.failed() || b.failed())
    return {};
  if (a.tensor() || b.tensor()) {
    if (a.tensor() && b.tensor()) {
      const char *name = op == Add        ? "add"
                         : op == Subtract ? "sub"
                         : op == Multiply ? "mul"
                         : op == Divide   ? "div"
                                          : nullptr;
      if (name)
        return create(std::string("dnn.") + name, path(name), {*a.tensor(), *b.tensor()}, {}, opAt);
    } else if (op == Multiply || (op == Divide && a.tensor())) {
      const ModelValue &number = a.tensor() ? b : a;
      if (number.number() && number.number()->dimensionless()) {
        SourceRange numberAt = a.tensor() ? bAt : aAt;
        Result<Quantity> exact = op == Divide ? divide(Quantity::number(1), *number.number()) : *number.number();
        if (!exact) {
          diags.error(exact.error().code, numberAt, exact.error().message);
          return {};
        }
        auto factor = real(*exact, numberAt, op == Divide ? "the inverse of this divisor" : "this factor");
        if (!factor)
          return {};
        mlir::Value tensor = a.tensor() ? *a.tensor() : *b.tensor();
        return create("dnn.scale", path("scale"), tensor,
                      builder.getNamedAttr("factor", builder.getF64FloatAttr(*factor)), opAt);
      }
    }
    diags
        .error(
            Code::WrongType, opAt,
            fmt::format("'{}' has no meaning between {} and {}", ast::spelling(op).str(), a.describe(), b.describe()))
        .help("tensors are added, subtracted, multiplied and divided with tensors, or multiplied "
              "and divided by a number");
    return {};
  }
  if (op == And || op == Or) {
    if (a.truth() && b.truth())
      return {op == And ? *a.truth() && *b.truth() : *a.truth() || *b.truth()};
  } else if (auto *x = a.number(), *y = b.number(); x && y) {
    if (isComparison(op)) {
      auto c = compare(*x, *y);
      if (!c) {
        diags.error(c.error().code, opAt, c.error().message)
            .note(aAt, describe(x->dimension))
            .note(bAt, describe(y->dimension));
        return {};
      }
      return {*applyComparison(op, *c)};
    }
    Result<Quantity> r = applyArithmetic(op, *x, *y);
    if (!r) {
      diags.error(r.error().code, opAt, r.error().message);
      return {};
    }
    return {*r};
  } else if ((op == Equal || op == NotEqual) && a.content.index() == b.content.index() && !a.list()) {
    return {(a.content == b.content) == (op == Equal)};
  } else if (op == Add && a.list() && b.list()) {
    size_t size = a.list()->size() + b.list()->size();
    if (size > kMaxList) {
      diags.error(Code::TooManyValues, opAt,
                  fmt::format("a list of {} elements: at most {} are possible", size, kMaxList));
      return {};
    }
    if (!proceed(opAt, size))
      return {};
    auto joined = std::make_shared<ModelList>(*a.list());
    joined->insert(joined->end(), b.list()->begin(), b.list()->end());
    return {joined};
  }
  diags
      .error(Code::WrongType, opAt,
             fmt::format("'{}' has no meaning between {} and {}", ast::spelling(op).str(), a.describe(), b.describe()))
      .note(aAt, a.describe())
      .note(bAt, b.describe());
  return {};
}

ModelValue ModelBuilder::evalChain(const ast::Chain &chain) {
  pendingName.clear();
  ModelValue value = eval(*chain.first);
  SourceRange range = chain.first->range;
  bool comparison = false;
  for (const auto &link : chain.rest) {
    // `and`, `or` decide without looking further, so that a guard protects what follows it.
    if (value.truth() &&
        ((link.op == ast::BinaryOp::And && !*value.truth()) || (link.op == ast::BinaryOp::Or && *value.truth())))
      continue;
    if (comparison && isComparison(link.op)) {
      diags.error(Code::WrongType, link.opRange, "comparisons cannot be chained").help("write 'a < b and b < c'");
      return {};
    }
    comparison = isComparison(link.op);
    ModelValue right = eval(*link.operand);
    value = apply(link.op, link.opRange, std::move(value), range, std::move(right), link.operand->range);
    range = range.to(link.operand->range);
  }
  return value;
}

ModelValue ModelBuilder::evalUnary(const ast::Unary &unary, SourceRange range) {
  ModelValue value = eval(*unary.operand);
  if (value.failed() || unary.op == ast::UnaryOp::Plus)
    return value;
  if (unary.op == ast::UnaryOp::Not && value.truth())
    return {!*value.truth()};
  if (unary.op == ast::UnaryOp::Negate && value.number())
    return {Quantity(Rational(0) - value.number()->value, value.number()->dimension)};
  if (unary.op == ast::UnaryOp::Negate && value.tensor())
    return create("dnn.neg", path("neg"), *value.tensor(), {}, range);
  diags.error(Code::WrongType, range,
              fmt::format("'{}' has no meaning for {}", ast::spelling(unary.op).str(), value.describe()));
  return {};
}

ModelValue ModelBuilder::evalIndex(const ast::Index &index, SourceRange range) {
  ModelValue value = eval(*index.object);
  for (const ast::ExprPtr &position : index.indices) {
    auto i = integer(*position, "an index");
    if (!i || value.failed())
      return {};
    if (!value.list()) {
      diags.error(Code::WrongType, range, fmt::format("{} cannot be indexed", value.describe()))
          .help("'slice' takes a part of a tensor");
      return {};
    }
    int64_t size = value.list()->size();
    if (*i < -size || *i >= size) {
      diags.error(Code::IndexOutOfRange, position->range, fmt::format("index {} of a list of {}", *i, size));
      return {};
    }
    ModelValue element = (*value.list())[*i < 0 ? *i + size : *i];
    value = std::move(element);
  }
  return value;
}

std::optional<bool> ModelBuilder::condition(const ast::Expr &expr) {
  ModelValue value = eval(expr);
  if (value.truth())
    return *value.truth();
  if (value.tensor())
    diags
        .error(Code::NotConstant, expr.range,
               fmt::format("a condition is decided before training, but this is {}", value.describe()))
        .help("'if' chooses the layers of a model; a tensor has no value yet");
  else if (!value.failed())
    diags.error(Code::WrongType, expr.range, fmt::format("a condition is true or false, not {}", value.describe()));
  return std::nullopt;
}

ModelValue ModelBuilder::evalConditional(const ast::Conditional &conditional) {
  for (const auto &branch : conditional.branches) {
    auto holds = condition(*branch.condition);
    if (!holds)
      return {};
    if (*holds)
      return eval(*branch.value);
  }
  return eval(*conditional.otherwise);
}

std::optional<int64_t> ModelBuilder::integer(const ast::Expr &expr, const char *what, int64_t min) {
  ModelValue value = eval(expr);
  if (value.failed())
    return std::nullopt;
  if (!value.number()) {
    if (value.tensor())
      diags
          .error(Code::NotConstant, expr.range,
                 fmt::format("{} is an integer known before training, not {}", what, value.describe()))
          .help("'shape(x)' gives the extents of a tensor");
    else if (value.list() && (expr.as<ast::Range>() || expr.as<ast::Set>()))
      diags.error(Code::ChoiceNotAllowed, expr.range, fmt::format("{} is one integer, not a choice", what))
          .help("choices belong into machines and into the 'search' of a training");
    else
      diags.error(Code::WrongType, expr.range, fmt::format("{} is an integer, not {}", what, value.describe()));
    return std::nullopt;
  }
  if (!value.number()->dimensionless()) {
    diags.error(Code::UnexpectedUnit, expr.range,
                fmt::format("{} is a plain integer, but this is a {}", what, describe(value.number()->dimension)));
    return std::nullopt;
  }
  auto i = value.number()->toInt64();
  if (!i) {
    diags.error(value.number()->value.isInteger() ? Code::NumberTooLarge : Code::NotAnInteger, expr.range,
                fmt::format("{} is an integer, but this is {}", what, value.number()->print()));
    return std::nullopt;
  }
  if (*i < min) {
    diags.error(Code::OutOfRange, expr.range, fmt::format("{} is at least {}, but this is {}", what, min, *i));
    return std::nullopt;
  }
  return i;
}

std::optional<double> ModelBuilder::real(const Quantity &number, SourceRange at, const std::string &what) {
  double value = number.toDouble();
  bool lost = value == 0 && number.value.sign() != 0;
  if (std::isfinite(value) && !lost)
    return value;
  diags.error(Code::NumberTooLarge, at,
              lost ? fmt::format("{} is nearer to 0 than the smallest double, 4.9e-324", what)
                   : fmt::format("{} is beyond the largest double, 1.8e308", what));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> ModelBuilder::integersOf(const ModelValue &value, SourceRange at,
                                                             const char *what) {
  if (value.failed())
    return std::nullopt;
  std::vector<int64_t> out;
  if (const ModelList *list = value.list()) {
    if (!proceed(at, list->size()))
      return std::nullopt;
    for (const ModelValue &element : *list) {
      auto i = element.number() ? element.number()->toInt64() : std::nullopt;
      if (!i) {
        if (!element.failed())
          diags.error(Code::NotAnInteger, at,
                      fmt::format("{} holds integers, but one of them is {}", what, element.describe()));
        return std::nullopt;
      }
      out.push_back(*i);
    }
    return out;
  }
  diags.error(Code::WrongType, at, fmt::format("{} is a list of integers, not {}", what, value.describe()))
      .help("write it as [2, 3]");
  return std::nullopt;
}

std::optional<std::vector<int64_t>> ModelBuilder::integers(const ast::Expr &expr, const char *what) {
  return integersOf(eval(expr), expr.range, what);
}

} // namespace accord
