#include "lib/language/requests/LayerConstraints.h"
#include <fmt/format.h>

namespace accord {
namespace {

constexpr const char *kHelp = "for example: block[0..47].device == a100_80g, embedding.device != v100_32g, "
                              "block[0..3].stage == 0, block[3].stage == head.stage";

/// `….device` or `….stage`, and not `device.memory`.
const ast::Member *aspect(const ast::Expr &expr) {
  auto *member = expr.as<ast::Member>();
  return member && (member->member.text == "device" || member->member.text == "stage") ? member : nullptr;
}

/// The two sides of one comparison.
const ast::Chain *comparison(const ast::Expr &expr) {
  auto *chain = expr.as<ast::Chain>();
  return chain && chain->rest.size() == 1 && isComparison(chain->rest[0].op) ? chain : nullptr;
}

class PinReader {
public:
  PinReader(Diagnostics &diags, const Lookup &lookup) : diags(diags), lookup(lookup) {}

  std::optional<LayerConstraint> read(const ast::Expr &condition) {
    auto *chain = comparison(condition);
    if (!chain)
      return reject(condition.range, "where layers are is one comparison");
    const ast::Expr *left = chain->first.get(), *right = chain->rest[0].operand.get();
    if (!aspect(*left))
      std::swap(left, right);
    const ast::Member &member = *aspect(*left);
    const ast::Member *other = aspect(*right);
    ast::BinaryOp op = chain->rest[0].op;
    bool device = member.member.text == "device";
    LayerConstraint constraint;
    constraint.otherAt = right->range;
    auto layers = pattern(*member.object);
    if (!layers)
      return std::nullopt;
    constraint.layers.push_back(std::move(*layers));
    if (op != ast::BinaryOp::Equal && !(device && op == ast::BinaryOp::NotEqual))
      return reject(chain->rest[0].opRange, device ? "the device of layers is one (==) or is not one (!=)"
                                                   : "the stage of layers is a number or that of other layers (==)");
    if (device) {
      auto *name = right->as<ast::Reference>();
      if (!name)
        return reject(right->range, "the device of layers is the name of an accelerator");
      constraint.of = op == ast::BinaryOp::Equal ? LayerConstraint::Of::OnDevice : LayerConstraint::Of::NotOnDevice;
      constraint.device = name->name;
      return constraint;
    }
    if (other && other->member.text == "stage") {
      auto others = pattern(*other->object);
      if (!others)
        return std::nullopt;
      constraint.of = LayerConstraint::Of::SameStage;
      constraint.layers.push_back(std::move(*others));
      return constraint;
    }
    auto stage = number(*right, "a stage");
    if (!stage)
      return std::nullopt;
    constraint.of = LayerConstraint::Of::Stage;
    constraint.stage = *stage;
    return constraint;
  }

private:
  std::nullopt_t reject(SourceRange at, const std::string &message) {
    diags.error(Code::PlacementConstraintNotUnderstood, at, message).help(kHelp);
    return std::nullopt;
  }

  /// A whole number from 0; nothing after an error.
  std::optional<int64_t> number(const ast::Expr &expr, const char *what) {
    Constant value = evaluate(expr, diags, lookup);
    if (value.failed())
      return std::nullopt;
    auto *quantity = value.as<Quantity>();
    auto found = quantity && quantity->dimensionless() ? quantity->toInt64() : std::nullopt;
    if (found && *found >= 0)
      return found;
    return reject(expr.range, fmt::format("{} is a whole number from 0, not {}", what, value.describe()));
  }

  std::optional<LayerPattern> pattern(const ast::Expr &expr) {
    LayerPattern found;
    found.at = expr.range;
    const ast::Expr *at = &expr;
    for (;;) { // from the last part to the first
      LayerPattern::Part part;
      if (auto *index = at->as<ast::Index>()) {
        if (index->indices.size() != 1)
          return reject(at->range, "layers have one index");
        part.range = range(*index->indices[0]);
        if (!part.range)
          return std::nullopt;
        at = index->object.get();
      }
      auto *member = at->as<ast::Member>();
      auto *name = at->as<ast::Reference>();
      if (!member && !name)
        return reject(at->range, "layers are given by their name");
      part.name = member ? member->member.text : name->name;
      found.parts.insert(found.parts.begin(), std::move(part));
      if (name)
        return found;
      at = member->object.get();
    }
  }

  std::optional<std::pair<int64_t, int64_t>> range(const ast::Expr &expr) {
    auto *both = expr.as<ast::Range>();
    if (both && (both->powersOfTwo || both->step))
      return reject(expr.range, "layers are a range without steps");
    const char *what = "an index of layers";
    auto low = number(both ? *both->low : expr, what), high = both ? number(*both->high, what) : low;
    if (!low || !high)
      return std::nullopt;
    if (*low > *high)
      return reject(expr.range, fmt::format("from {} to {} there are no layers", *low, *high));
    return std::pair(*low, *high);
  }

  Diagnostics &diags;
  const Lookup &lookup;
};

/// "block[3]" as a name and an index.
std::pair<llvm::StringRef, std::optional<int64_t>> partOf(llvm::StringRef text) {
  auto [name, rest] = text.split('[');
  int64_t index = 0;
  if (rest.consume_back("]") && !rest.getAsInteger(10, index))
    return {name, index};
  return {text, std::nullopt};
}

} // namespace

bool isLayerConstraint(const ast::Expr &condition) {
  auto *chain = condition.as<ast::Chain>();
  if (!chain)
    return aspect(condition);
  bool found = aspect(*chain->first);
  for (const ast::Chain::Link &link : chain->rest)
    found |= aspect(*link.operand) != nullptr;
  return found;
}

std::optional<LayerConstraint> layerConstraintOf(const ast::Expr &condition, Diagnostics &diags, const Lookup &lookup) {
  return PinReader(diags, lookup).read(condition);
}

bool matches(const LayerPattern &pattern, llvm::StringRef layer) {
  llvm::SmallVector<llvm::StringRef> parts;
  layer.split(parts, '.');
  for (size_t from = 0; from + pattern.parts.size() <= parts.size(); ++from) {
    bool all = true;
    for (size_t i = 0; i < pattern.parts.size() && all; ++i) {
      const LayerPattern::Part &wanted = pattern.parts[i];
      auto [name, index] = partOf(parts[from + i]);
      all = name == wanted.name &&
            (!wanted.range || (index && *index >= wanted.range->first && *index <= wanted.range->second));
    }
    if (all)
      return true;
  }
  return false;
}

} // namespace accord
