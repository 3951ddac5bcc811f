// Forms that an exporter took apart: sigmoid, silu, softmax, gelu.
#include "lib/import/mlir/MlirContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace accord::import {

std::string kindOf(mlir::Operation *op) {
  static const std::map<std::string, std::string> kNames = {
      {"addf", "add"},         {"subf", "sub"},         {"mulf", "mul"},        {"divf", "div"},
      {"negf", "negate"},      {"maximumf", "maximum"}, {"maxnumf", "maximum"}, {"neg", "negate"},
      {"minimumf", "minimum"}, {"minnumf", "minimum"},  {"truncf", "cast"},     {"extf", "cast"},
      {"multiply", "mul"},     {"subtract", "sub"},     {"divide", "div"},      {"exponential", "exp"},
      {"logistic", "sigmoid"}, {"convert", "cast"}};
  std::string name = op->getName().stripDialect().str();
  auto found = kNames.find(name);
  return found == kNames.end() ? name : found->second;
}

namespace {
/// A look at operations that make a value: nothing where another does.
struct Form {
  mlir::Value value;
  std::vector<mlir::Operation *> *seen;
  Form of(const char *kind, unsigned operand = 0) const {
    mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
    while (op && (kindOf(op) == "cast" || kindOf(op) == "identity" ||
                  (kindOf(op) == "reshape" && std::string(kind) != "reshape")))
      seen->push_back(op), op = op->getOperand(0).getDefiningOp();
    if (!op || kindOf(op) != kind || op->getNumOperands() <= operand)
      return {{}, seen};
    seen->push_back(op);
    return {op->getOperand(operand), seen};
  }
  bool is(double number) const {
    std::optional<double> splat = value ? splatOf(value) : std::nullopt;
    return splat && std::abs(*splat - number) < 1e-3 * std::max(1.0, std::abs(number));
  }
};

/// 1 / (1 + exp(-x)); x * sigmoid(x); exp(x - max x) * 1 / sum exp; x * (erf(x / sqrt 2) + 1) / 2.
class FormFinder {
public:
  Forms forms;

  void visit(mlir::Operation *op) {
    seen.clear();
    std::string kind = kindOf(op);
    if (kind == "div" || kind == "reciprocal")
      sigmoid(op, kind == "div");
    else if (kind == "mul" && op->getNumOperands() >= 2)
      for (unsigned side : {0u, 1u}) {
        mlir::Value a = op->getOperand(side), b = op->getOperand(1 - side);
        if (silu(op, a, b) || softmax(op, a, b) || gelu(op, a, b))
          return;
      }
  }

private:
  bool add(mlir::Operation *op, const char *call, mlir::Value x) {
    forms.joined[op] = {call, x};
    forms.inside.insert(op);
    forms.inside.insert(seen.begin(), seen.end());
    return true;
  }

  bool sigmoid(mlir::Operation *op, bool divides) {
    if (divides && !Form{op->getOperand(0), &seen}.is(1))
      return false;
    Form sum{op->getOperand(divides ? 1 : 0), &seen};
    for (unsigned side : {0u, 1u}) {
      Form x = sum.of("add", side).of("exp").of("negate");
      if (x.value && sum.of("add", 1 - side).is(1))
        return add(op, "sigmoid", x.value);
    }
    return false;
  }

  bool silu(mlir::Operation *op, mlir::Value a, mlir::Value b) {
    seen.clear();
    Form x = Form{b, &seen}.of("sigmoid");
    return x.value && x.value == a && add(op, "silu", a);
  }

  /// The axis of the nearest operation of this kind above a value.
  static double axisOf(mlir::Value value, const char *wanted) {
    while (mlir::Operation *from = value.getDefiningOp()) {
      if (from->getNumOperands() == 0)
        break;
      if (kindOf(from) == wanted)
        return splatOf(from->getAttr("axis")).value_or(-1);
      value = from->getOperand(0);
    }
    return -1;
  }

  bool softmax(mlir::Operation *op, mlir::Value a, mlir::Value b) {
    seen.clear();
    Form difference = Form{a, &seen}.of("exp");
    Form total = Form{b, &seen}.of("reciprocal").of("reduce_sum");
    Form x = difference.of("sub");
    if (!x.value || !total.value || total.of("exp").value != difference.value ||
        difference.of("sub", 1).of("reduce_max").value != x.value)
      return false;
    double axis = axisOf(Form{b, &seen}.of("reciprocal").value, "reduce_sum");
    if (!llvm::isa<mlir::ShapedType>(x.value.getType()) || axis < 0 ||
        axis != axisOf(difference.of("sub", 1).value, "reduce_max"))
      return false;
    forms.axis[op] = axis;
    return add(op, "softmax", x.value);
  }

  /// (x / 2) * (1 + erf(..)), or x * (.. / 2), or (x * ..) / 2
  bool gelu(mlir::Operation *op, mlir::Value a, mlir::Value b) {
    for (unsigned factor : {0u, 1u}) {
      seen.clear();
      Form halved{a, &seen};
      Form rest = halved.of("mul", factor), half = halved.of("mul", 1 - factor);
      if (rest.value && half.is(0.5)) {
        if (isOnePlusErf(b, rest.value))
          return add(op, "gelu", rest.value);
        if (isOnePlusErf(rest.value, b))
          return add(op, "gelu", b);
      }
      if (Form{b, &seen}.is(0.5) && rest.value && isOnePlusErf(half.value, rest.value))
        return add(op, "gelu", rest.value);
    }
    return false;
  }

  /// 1 + erf(x / sqrt 2)
  bool isOnePlusErf(mlir::Value sum, mlir::Value x) {
    for (unsigned one : {0u, 1u})
      for (unsigned factor : {0u, 1u}) {
        Form add{sum, &seen};
        Form argument = add.of("add", one).of("erf");
        Form inner = argument.of("mul", factor), root = argument.of("mul", 1 - factor);
        if (inner.value && inner.value == x && root.is(M_SQRT1_2) && add.of("add", 1 - one).is(1))
          return true;
      }
    return false;
  }

  std::vector<mlir::Operation *> seen;
};
} // namespace

Forms findForms(mlir::func::FuncOp function) {
  FormFinder finder;
  function.walk([&](mlir::Operation *op) { finder.visit(op); });
  return std::move(finder.forms);
}

} // namespace accord::import
