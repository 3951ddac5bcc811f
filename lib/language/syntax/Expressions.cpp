// Expressions: what the flat list of operands and operators means.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Builder.h"
#include "lib/support/Number.h"

namespace accord::syntax {
using P = grammar::DnnParser;
using ast::BinaryOp;

namespace {
/// Loosest first; `not` and the signs are prefixes at their own levels, `^` is handled with its
/// operands.
enum Level { kOr, kAnd, kNot, kComparison, kShape, kSum, kProduct, kSigned };

struct Operator {
  size_t type;
  Level level;
  BinaryOp op;
};
constexpr Operator kOperators[] = {{P::OR, kOr, BinaryOp::Or},
                                   {P::AND, kAnd, BinaryOp::And},
                                   {P::EQ, kComparison, BinaryOp::Equal},
                                   {P::NE, kComparison, BinaryOp::NotEqual},
                                   {P::LE, kComparison, BinaryOp::LessEqual},
                                   {P::GE, kComparison, BinaryOp::GreaterEqual},
                                   {P::LT, kComparison, BinaryOp::Less},
                                   {P::GT, kComparison, BinaryOp::Greater},
                                   {P::CROSS, kShape, BinaryOp::Multiply}, // a shape, no operation
                                   {P::PLUS, kSum, BinaryOp::Add},
                                   {P::MINUS, kSum, BinaryOp::Subtract},
                                   {P::STAR, kProduct, BinaryOp::Multiply},
                                   {P::SLASH, kProduct, BinaryOp::Divide},
                                   {P::PERCENT, kProduct, BinaryOp::Modulo},
                                   {P::CARET, kSigned, BinaryOp::Power}};
} // namespace

/// Precedence climbing over the operands of one chain; recursion is by level, never by length.
class ChainBuilder {
public:
  ChainBuilder(Builder &builder, antlr4::ParserRuleContext *context) : b(builder) {
    for (const auto &parseChild : b.parseChildren(context)) {
      if (parseChild.rule == P::RuleOperand) {
        Item item{parseChild.context, {}, 0};
        for (const auto &part : b.parseChildren(parseChild.context))
          if (part.rule == P::RuleSign)
            item.signs.push_back(b.parseChildren(part.context)[0]);
        items.push_back(std::move(item));
      } else if (parseChild.rule == P::RuleInfix && ops.size() + 1 == items.size()) {
        ops.push_back(b.parseChildren(parseChild.context)[0]);
      }
    }
    for (Item &item : items)
      if (item.signs.size() > kMaxDepth) {
        b.diags.error(Code::NestedTooDeep, b.range(item.signs[kMaxDepth]),
                      "more than " + std::to_string(kMaxDepth) + " signs before one value");
        item.signs.resize(kMaxDepth);
      }
  }

  ast::ExprPtr build(SourceRange range) {
    if (items.empty())
      return b.invalid(range);
    return level(kOr);
  }

private:
  struct Item {
    antlr4::ParserRuleContext *context;
    std::vector<Builder::ParseChild> signs;
    size_t used;
  };
  /// The operator that comes next; null at the end.
  const Operator *next() const {
    if (at >= ops.size() || at + 1 >= items.size())
      return nullptr;
    const auto *found = llvm::find_if(kOperators, [&](const Operator &one) { return one.type == ops[at].type; });
    return found == std::end(kOperators) ? nullptr : found;
  }
  bool continues(Level which) const { return next() && next()->level == which; }

  template <typename Operand> ast::ExprPtr prefix(ast::UnaryOp op, Operand operandOf) {
    SourceRange sign = b.range(items[at].signs[items[at].used++]);
    ast::ExprPtr operand = operandOf();
    SourceRange range = sign.to(operand->range);
    return b.make(range, ast::Unary{op, std::move(operand)});
  }

  /// `first` and what follows it on this level; all but the first of several operators are shown to `refuse`.
  template <typename Operand, typename Refuse>
  ast::ExprPtr chain(Level which, ast::ExprPtr first, Operand operandOf, Refuse refuse) {
    ast::Chain chain;
    SourceRange range = first->range;
    chain.first = std::move(first);
    while (continues(which)) {
      ast::Chain::Link link{next()->op, b.range(ops[at]), nullptr};
      if (!chain.rest.empty())
        refuse(link.opRange, chain.rest[0].opRange);
      ++at;
      link.operand = operandOf();
      range = range.to(link.operand->range);
      chain.rest.push_back(std::move(link));
    }
    return b.make(range, std::move(chain));
  }

  ast::ExprPtr level(int each) {
    auto which = Level(each);
    if (which == kNot) {
      Item &item = items[at];
      if (item.used < item.signs.size() && item.signs[item.used].type == P::NOT)
        return prefix(ast::UnaryOp::Not, [&] { return level(kNot); });
      return level(kComparison);
    }
    if (which == kSigned)
      return signedOperand(true);
    ast::ExprPtr first = level(which + 1);
    if (!continues(which))
      return first;
    if (which == kShape)
      return shape(std::move(first));
    return chain(
        which, std::move(first), [&] { return level(which + 1); },
        [&](SourceRange op, SourceRange firstOp) {
          if (which == kComparison)
            b.diags.error(Code::SyntaxError, op, "comparisons do not chain")
                .help("write 'a <= b and b <= c'")
                .note(firstOp, "the first comparison");
        });
  }

  ast::ExprPtr shape(ast::ExprPtr first) {
    ast::Shape shape;
    SourceRange range = first->range;
    shape.dims.push_back(std::move(first));
    while (continues(kShape)) {
      ++at;
      shape.dims.push_back(level(kShape + 1));
      range = range.to(shape.dims.back()->range);
    }
    return b.make(range, std::move(shape));
  }

  ast::ExprPtr signedOperand(bool withPower) {
    Item &item = items[at];
    if (item.used < item.signs.size()) {
      if (item.signs[item.used].type == P::NOT) {
        b.diags.error(Code::SyntaxError, b.range(item.signs[item.used]), "'not' needs brackets here")
            .help("write '(not …)'");
        ++item.used;
        return signedOperand(withPower);
      }
      return prefix(item.signs[item.used].type == P::MINUS ? ast::UnaryOp::Negate : ast::UnaryOp::Plus,
                    [&] { return signedOperand(withPower); });
    }
    ast::ExprPtr base = b.operand(item.context);
    if (!withPower || !continues(kSigned))
      return base;
    return chain(
        kSigned, std::move(base), [&] { return signedOperand(false); },
        [&](SourceRange op, SourceRange) {
          b.diags.error(Code::SyntaxError, op, "powers do not chain").help("write '(a ^ b) ^ c' or 'a ^ (b ^ c)'");
        });
  }

  Builder &b;
  std::vector<Item> items;
  std::vector<Builder::ParseChild> ops;
  size_t at = 0;
};

ast::ExprPtr Builder::invalid(SourceRange range) {
  ast::Number number;
  number.valid = false;
  return make(range, std::move(number));
}

ast::ExprPtr Builder::chain(antlr4::ParserRuleContext *context) {
  return ChainBuilder(*this, context).build(range(context));
}

ast::ExprPtr Builder::expr(antlr4::ParserRuleContext *context) {
  ParseChildren parts = parseChildren(context);
  SourceRange place = range(context);
  if (parts.empty())
    return invalid(place);
  if (parts[0].type == P::IF) {
    ast::Conditional conditional;
    std::vector<ast::ExprPtr> values;
    size_t elses = 0;
    for (const ParseChild &parseChild : parts) {
      elses += parseChild.type == P::ELSE;
      if (parseChild.rule == P::RuleExpr)
        values.push_back(expr(parseChild.context));
    }
    if (values.size() < 3 || values.size() % 2 == 0 || elses != 1)
      return invalid(place);
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      conditional.branches.push_back({std::move(values[i]), std::move(values[i + 1])});
    conditional.otherwise = std::move(values.back());
    return make(place, std::move(conditional));
  }
  llvm::SmallVector<ast::ExprPtr, 3> chains;
  bool powers = false, isRange = false;
  for (const ParseChild &parseChild : parts) {
    powers |= parseChild.type == P::POW2;
    isRange |= parseChild.type == P::RANGE;
    if (parseChild.rule == P::RuleChain)
      chains.push_back(chain(parseChild.context));
  }
  if (chains.empty() || (powers && chains.size() < 2) || (isRange && chains.size() < 2))
    return invalid(place);
  if (!isRange)
    return std::move(chains[0]);
  ast::Range result;
  result.powersOfTwo = powers;
  result.low = std::move(chains[0]);
  result.high = std::move(chains[1]);
  if (chains.size() > 2)
    result.step = std::move(chains[2]);
  return make(place, std::move(result));
}

ast::ExprPtr Builder::operand(antlr4::ParserRuleContext *context) {
  ast::ExprPtr result;
  size_t suffixes = 0;
  for (const ParseChild &parseChild : parseChildren(context)) {
    if (parseChild.rule == P::RulePrimary) {
      result = primary(parseChild.context);
    } else if (parseChild.rule == P::RuleSuffix && result) {
      ParseChildren parts = parseChildren(parseChild.context);
      if (parts.empty())
        continue;
      SourceRange place = result->range.to(range(parseChild));
      if (++suffixes > kMaxDepth) {
        diags.error(Code::NestedTooDeep, range(parseChild),
                    "more than " + std::to_string(kMaxDepth) + " members, indices or calls after one value");
        return result;
      }
      if (parts[0].type == P::DOT) {
        if (parts.size() > 1)
          result = make(place, ast::Member{std::move(result), name(parts[1])});
      } else if (parts[0].rule == P::RuleArguments) {
        ast::Call call{std::move(result), {}};
        addArguments(parts[0].context, call.arguments);
        result = make(place, std::move(call));
      } else {
        ast::Index index{std::move(result), {}};
        for (const ParseChild &part : parts)
          if (part.rule == P::RuleExpr)
            index.indices.push_back(expr(part.context));
        result = make(place, std::move(index));
      }
    }
  }
  return result ? std::move(result) : invalid(range(context));
}

ast::ExprPtr Builder::number(const ParseChild &parseChild) {
  SourceRange place = range(parseChild);
  llvm::StringRef written = diags.sources().text(place);
  if (written.empty())
    return invalid(place); // the missing value is already reported
  ast::Number result;
  result.text = written.take_front(80).str();
  result.hasUnit = parseChild.type == P::QUANTITY;
  if (auto value = parseQuantity(written)) {
    result.value = *value;
  } else {
    const Error &problem = value.error();
    SourceRange at = place;
    if (problem.code == Code::UnknownUnit) {
      const size_t hexadecimal = leadingHexadecimal(written).size();
      size_t unit = hexadecimal ? hexadecimal : written.find_first_not_of("0123456789._");
      at.begin += static_cast<uint32_t>(unit == llvm::StringRef::npos ? 0 : unit);
      at.begin += static_cast<uint32_t>(
          diags.sources().text(at).take_while([](char c) { return c == ' ' || c == '\t'; }).size());
    }
    auto error = diags.error(problem.code, at, problem.message).suggest(problem.suggestion);
    llvm::StringRef unit = diags.sources().text(at);
    if (problem.suggestion.empty() && unit.starts_with("x") && unit.size() > 1 &&
        llvm::all_of(unit.drop_front(), llvm::isDigit))
      error.help("write blanks round 'x': 16 x 16");
    else if (problem.code == Code::UnknownUnit && problem.suggestion.empty() && unit.contains('/'))
      error.help("write blanks round '/' to divide");
    result.valid = false;
  }
  return make(place, std::move(result));
}

ast::ExprPtr Builder::braces(const ParseChildren &parts, SourceRange place) {
  ast::Set set;
  ast::Map map;
  for (const ParseChild &parseChild : parts) {
    if (parseChild.rule != P::RuleBraceItem)
      continue;
    llvm::SmallVector<ast::ExprPtr, 2> sides;
    for (const ParseChild &part : parseChildren(parseChild.context))
      if (part.rule == P::RuleExpr)
        sides.push_back(expr(part.context));
    if (sides.size() == 2) {
      const auto *key = sides[0]->as<ast::Reference>();
      const auto *number = sides[0]->as<ast::Number>();
      std::string written = diags.sources().text(sides[0]->range).str(); // {2: 48 GB/s}, {0 h: 16}
      if (number && !number->valid)
        sides[1] = invalid(place); // its unit is reported
      if (key || (number && llvm::isDigit(written[0])))
        map.pairs.push_back({ast::Name{key ? key->name : written, sides[0]->range}, std::move(sides[1])});
      else if (!number || number->valid)
        diags.error(Code::SyntaxError, sides[0]->range, "expected a name or a number before ':'");
    } else if (sides.size() == 1) {
      set.elements.push_back(std::move(sides[0]));
    }
  }
  if (!map.pairs.empty() && !set.elements.empty())
    diags.error(Code::SyntaxError, set.elements[0]->range, "a value without a key in a map")
        .note(map.pairs[0].key.range, "this makes it a map");
  if (map.pairs.empty())
    return make(place, std::move(set));
  return make(place, std::move(map));
}

ast::ExprPtr Builder::primary(antlr4::ParserRuleContext *context) {
  ParseChildren parts = parseChildren(context);
  SourceRange place = range(context);
  if (parts.empty())
    return invalid(place);
  switch (parts[0].type) {
  case P::NUMBER:
  case P::QUANTITY:
    return number(parts[0]);
  case P::STRING:
    return make(place, text(parts[0]));
  case P::TRUE:
    return make(place, ast::Boolean{true});
  case P::FALSE:
    return make(place, ast::Boolean{false});
  case P::IDENT:
    return make(place, ast::Reference{name(parts[0]).text});
  case P::LPAREN: {
    for (const ParseChild &parseChild : parts)
      if (parseChild.rule == P::RuleExpr) {
        ast::ExprPtr inner = expr(parseChild.context);
        inner->range = place;
        return inner;
      }
    return invalid(place);
  }
  case P::LBRACKET: {
    ast::List list;
    for (const ParseChild &parseChild : parts)
      if (parseChild.rule == P::RuleExpr)
        list.elements.push_back(expr(parseChild.context));
    return make(place, std::move(list));
  }
  case P::LBRACE:
    return braces(parts, place);
  default:
    return invalid(place);
  }
}

} // namespace accord::syntax
