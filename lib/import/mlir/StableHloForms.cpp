// What JAX takes apart: softmax, norms with their scale and offset, gelu, silu, sigmoid. A form is found by what a
// value is computed of, not by one order of operations, since libraries write it in several.
#include "lib/import/mlir/StableHlo.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

llvm::StringRef kind(mlir::Operation *op) {
  return op && (op->getName().getDialectNamespace() == "stablehlo" || op->getName().getDialectNamespace() == "chlo")
             ? op->getName().stripDialect()
             : llvm::StringRef();
}
llvm::StringRef kind(mlir::Value value) { return kind(behindRepeats(value).getDefiningOp()); }
mlir::Value operand(mlir::Value value, unsigned i) { return behindRepeats(value).getDefiningOp()->getOperand(i); }
bool same(mlir::Value a, mlir::Value b) { return a && b && behindRepeats(a) == behindRepeats(b); }
std::optional<double> number(mlir::Value value) {
  mlir::Operation *op = behindRepeats(value).getDefiningOp();
  return kind(op) == "constant" ? splatOf(op->getAttr("value")) : std::nullopt;
}
int64_t rankOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getRank() : -1;
}

/// Between a value and what it is computed of.
struct Region {
  std::map<std::string, int> kinds; ///< of operations, with how often they occur
  llvm::SmallVector<mlir::Operation *> operations;
  bool closed = false; ///< `from` and constants are all that is read
};
/// All that `value` is computed of, down to `from`; not closed where it reads something else or is larger than a form.
Region between(mlir::Value value, mlir::Value from) {
  Region region;
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> todo{value};
  bool reaches = false;
  while (!todo.empty()) {
    mlir::Value one = todo.pop_back_val();
    if (one == from || same(one, from)) {
      reaches = true;
      continue;
    }
    if (!seen.insert(one).second)
      continue;
    mlir::Operation *op = one.getDefiningOp();
    if (!op || kind(op).empty() || region.operations.size() > 60)
      return region;
    region.operations.push_back(op);
    ++region.kinds[kind(op).str()];
    llvm::append_range(todo, op->getOperands());
  }
  region.closed = reaches;
  return region;
}

class StableHloFormFinder {
public:
  explicit StableHloFormFinder(Forms &forms) : forms(forms) {}

  void visit(mlir::Operation *op) {
    llvm::StringRef name = kind(op);
    if (name == "divide")
      softmax(op) || sigmoid(op);
    else if (name == "multiply")
      norm(op) || activation(op);
  }

private:
  void join(mlir::Operation *op, const std::string &call, mlir::Value x, const Region &region,
            std::vector<std::string> attributes = {}) {
    forms.joined[op] = {call, x};
    forms.attributes[op] = std::move(attributes);
    forms.inside.insert(op);
    for (mlir::Operation *one : region.operations)
      forms.inside.insert(one);
  }

  /// exp(x - max x) / sum exp(x - max x), along one dimension.
  bool softmax(mlir::Operation *op) {
    mlir::Value top = op->getOperand(0), total = reducedBy(op->getOperand(1), "add");
    if (kind(top) != "exponential" || !same(total, top) || kind(operand(top, 0)) != "subtract")
      return false;
    mlir::Operation *difference = behindRepeats(operand(top, 0)).getDefiningOp();
    mlir::Value x = difference->getOperand(0), maximum = behindRepeats(difference->getOperand(1));
    if (kind(maximum) == "maximum") // with minus infinity
      maximum = number(operand(maximum, 0)) ? operand(maximum, 1) : operand(maximum, 0);
    if (!same(reducedBy(maximum, "maximum"), x))
      return false;
    auto axes = integersOf(behindRepeats(op->getOperand(1)).getDefiningOp()->getAttr("dimensions"));
    if (!axes || axes->size() != 1)
      return false;
    join(op, "softmax", x, between(op->getResult(0), x));
    forms.axis[op] = axes->front();
    return true;
  }

  /// 1 / (1 + exp(-x))
  bool sigmoid(mlir::Operation *op) {
    mlir::Value sum = op->getOperand(1);
    if (number(op->getOperand(0)) != 1.0 || kind(sum) != "add")
      return false;
    for (unsigned side : {0u, 1u})
      if (mlir::Value power = operand(sum, side); number(operand(sum, 1 - side)) == 1.0 &&
                                                  kind(power) == "exponential" && kind(operand(power, 0)) == "negate") {
        mlir::Value x = operand(operand(power, 0), 0);
        join(op, "sigmoid", x, between(op->getResult(0), x));
        return true;
      }
    return false;
  }

  /// x times something of each element of x alone: with a tanh or erf in it a gelu, with a sigmoid a silu.
  bool activation(mlir::Operation *op) {
    for (unsigned side : {0u, 1u})
      for (mlir::Value x : candidates(op->getOperand(side))) {
        if (kind(x) == "constant")
          continue;
        Region region = between(op->getResult(0), x);
        auto has = [&](const char *name) { return region.kinds.count(name) > 0; };
        bool plain = region.closed && !has("reduce") && !has("dot_general") && !has("compare") && !has("rsqrt");
        bool gate = has("tanh") + has("erf") + (has("logistic") || (has("negate") && has("exponential"))) == 1;
        if (!plain || !gate || (has("erf") && has("exponential")))
          continue;
        join(op, has("tanh") || has("erf") ? "gelu" : "silu", x, region);
        return true;
      }
    return false;
  }
  /// x, or x in x * 0.5.
  static llvm::SmallVector<mlir::Value> candidates(mlir::Value factor) {
    llvm::SmallVector<mlir::Value> all{factor};
    if (kind(factor) == "multiply")
      for (unsigned side : {0u, 1u})
        if (number(operand(factor, side)))
          all.push_back(operand(factor, 1 - side));
    return all;
  }

  /// (x - mean x) * rsqrt(var x + epsilon), or x * rsqrt(mean x^2 + epsilon); a scale may come before or behind, an
  /// offset behind.
  bool norm(mlir::Operation *op) {
    for (unsigned side : {0u, 1u}) {
      mlir::Value root = op->getOperand(side), top = op->getOperand(1 - side);
      mlir::Value scale;
      if (kind(root) == "multiply") // by the scale, before
        for (unsigned inner : {0u, 1u})
          if (kind(operand(root, inner)) == "rsqrt" && isVector(operand(root, 1 - inner)))
            scale = operand(root, 1 - inner), root = operand(root, inner);
      if (kind(root) != "rsqrt")
        continue;
      bool centred = kind(top) == "subtract";
      mlir::Value x = centred ? operand(top, 0) : behindRepeats(top);
      if (finish(op, x, between(behindRepeats(root), x), between(op->getResult(0), scale ? top : x), centred, scale))
        return true;
    }
    return false;
  }

  /// A vector of weights: what is not computed of other tensors.
  static bool isVector(mlir::Value value) {
    mlir::Value vector = behindRepeats(value);
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(vector.getType());
    int64_t wide = 0;
    for (int64_t extent : type ? type.getShape() : llvm::ArrayRef<int64_t>())
      wide += extent != 1;
    return llvm::isa<mlir::BlockArgument>(vector) && wide == 1;
  }

  /// Over what a variance is taken, and what is added to it.
  struct Variance {
    bool row = true, batch = true; ///< the last dimension, or all others
    std::optional<double> epsilon;
  };
  static Variance varianceOf(const Region &region, mlir::Value x) {
    Shape last{rankOf(x) - 1}, all;
    for (int64_t i = 0; i + 1 < rankOf(x); ++i)
      all.push_back(i);
    Variance variance;
    for (mlir::Operation *one : region.operations) {
      if (kind(one) == "reduce") {
        auto axes = integersOf(one->getAttr("dimensions")).value_or(Shape{});
        variance.row &= axes == last;
        variance.batch &= axes == all && rankOf(x) > 2;
      } else if (kind(one) == "add") {
        for (mlir::Value side : one->getOperands())
          if (auto small = number(side); small && *small > 0 && *small < 0.1)
            variance.epsilon = small;
      }
    }
    return variance;
  }

  /// A scale and an offset behind a norm: what alone reads it, and multiplies by a vector or adds one.
  struct Affine {
    mlir::Operation *end;
    bool scaled, offset = false;
    llvm::SmallVector<mlir::Operation *> operations = {};
  };
  static Affine affineOf(mlir::Operation *op, bool scaled, bool mayAdd) {
    Affine affine{op, scaled};
    while (affine.end->getResult(0).hasOneUse()) {
      mlir::Value value = affine.end->getResult(0);
      mlir::Operation *user = *value.user_begin();
      bool multiplies = kind(user) == "multiply" && !affine.scaled && !affine.offset,
           adds = kind(user) == "add" && affine.scaled && !affine.offset && mayAdd;
      if ((!multiplies && !adds) || !isVector(user->getOperand(user->getOperand(0) == value ? 1 : 0)))
        break;
      (multiplies ? affine.scaled : affine.offset) = true;
      affine.end = user;
      affine.operations.push_back(user);
    }
    return affine;
  }

  bool finish(mlir::Operation *op, mlir::Value x, const Region &region, const Region &whole, bool centred,
              mlir::Value scale) {
    if (!region.closed || !region.kinds.count("reduce") || rankOf(x) < 2)
      return false;
    Variance variance = varianceOf(region, x);
    if ((!variance.row && !(variance.batch && centred)) || (!centred && region.kinds.count("subtract")))
      return false;
    Affine affine = affineOf(op, scale != nullptr, centred);
    if (!affine.scaled)
      return false; // the language's norms have a scale
    std::vector<std::string> attributes;
    if (variance.epsilon && std::abs(*variance.epsilon - 1e-5) > 1e-9)
      attributes.push_back("epsilon = " + singleText(*variance.epsilon));
    if (variance.row && centred && !affine.offset)
      attributes.push_back("bias = false");
    std::string call = !variance.row ? "batch_norm" : centred ? "layer_norm" : "rms_norm";
    join(affine.end, call, x, whole, std::move(attributes));
    forms.inside.insert(region.operations.begin(), region.operations.end());
    forms.inside.insert(affine.operations.begin(), affine.operations.end());
    return true;
  }

  Forms &forms;
};

} // namespace

void findStableHloForms(mlir::func::FuncOp function, Forms &forms) {
  StableHloFormFinder finder(forms);
  function.walk([&](mlir::Operation *op) { finder.visit(op); });
}

} // namespace accord::import
