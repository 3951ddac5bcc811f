// What is done to each element: of tosa, of arith and math, and in the bodies of linalg.
#include "lib/import/mlir/Importer.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

/// The operation without its dialect, by one name for all of them: "add", "exp".
static std::string kindOf(mlir::Operation *op) {
  static const std::map<std::string, std::string> kNames = {
      {"addf", "add"},         {"subf", "sub"},         {"mulf", "mul"},        {"divf", "div"},
      {"negf", "negate"},      {"maximumf", "maximum"}, {"maxnumf", "maximum"}, {"neg", "negate"},
      {"minimumf", "minimum"}, {"minnumf", "minimum"},  {"truncf", "cast"},     {"extf", "cast"},
      {"negf", "negate"}};
  std::string name = op->getName().stripDialect().str();
  auto found = kNames.find(name);
  return found == kNames.end() ? name : found->second;
}

MlirValue MlirImporter::unary(const char *call, const MlirValue &x) {
  MlirValue y = x;
  if (x.kind == Kind::Number)
    reportUnsupported("computes with numbers alone, which is not done here");
  y.weight = {};
  if (x.computed())
    y.id = textBuilder.add(nameOf(current), call, {x.id}, {}, textBuilder.shape(x.id));
  return y; // computed of a weight alone: it counts as the weight
}

MlirValue MlirImporter::scaled(const MlirValue &x, double factor) {
  if (!x.computed())
    return x;
  if (!std::isfinite(static_cast<float>(factor)))
    reportUnsupported("divides by zero");
  MlirValue y = x;
  if (auto sum = means.find(x.id); sum != means.end() && std::abs(factor * sum->second.second - 1) < 1e-4)
    y.id = sum->second.first;
  else if (factor != 1)
    y.id = textBuilder.add(nameOf(current), "scale", {x.id}, {fmt::format("factor = {}", static_cast<float>(factor))},
                           textBuilder.shape(x.id));
  return y;
}

MlirValue MlirImporter::clamped(const MlirValue &x, double low, double high) {
  const char *call = low == 0 && high == 6 ? "relu6" : low == 0 && high > 1e30 ? "relu" : nullptr;
  // maximum(0) and minimum(6), one after the other
  if (low < -1e30 && high == 6 && x.computed() && textBuilder.callOf(x.id) == "relu") {
    MlirValue y = x;
    y.id = textBuilder.operandOf(x.id);
    return unary("relu6", y);
  }
  if (!call)
    reportUnsupported(fmt::format("bounds by {} and {}; only 0 and 6, or 0 alone, are supported", low, high));
  return unary(call, x);
}

MlirValue MlirImporter::binary(char sign, MlirValue a, MlirValue b) {
  for (bool second : {true, false}) {
    const MlirValue &x = second ? a : b, &constant = second ? b : a;
    if (constant.kind != Kind::Number || x.kind == Kind::Number)
      continue;
    if (sign == '*' || (sign == '/' && second))
      return scaled(x, sign == '*' ? constant.number : 1 / constant.number);
    if (constant.number == 0 && (sign == '+' || (sign == '-' && second)))
      return x;
    reportUnsupported(sign == '/'
                          ? fmt::format("divides {} by a tensor, which is not supported", constant.number)
                          : fmt::format("adds or subtracts the number {}, which is not supported", constant.number));
  }
  if (a.kind == Kind::Number)
    reportUnsupported("computes with numbers alone, which is not done here");
  if (a.full.size() != b.full.size())
    reportUnsupported(fmt::format("joins {} and {}, which do not fit", listOf(a.full), listOf(b.full)));
  bool second = !a.computed() || (b.computed() && b.dims.size() > a.dims.size());
  const MlirValue &lead = second ? b : a, &other = second ? a : b;
  MlirValue y = lead;
  y.weight = {};
  for (size_t i = 0; i < a.full.size(); ++i) {
    if (a.full[i] != b.full[i] && a.full[i] != 1 && b.full[i] != 1)
      reportUnsupported(fmt::format("joins {} and {}, which do not fit", listOf(a.full), listOf(b.full)));
    y.full[i] = std::max(a.full[i], b.full[i]);
  }
  if (!lead.computed())
    return y;
  if (y.batchDim < 0)
    y.batchDim = other.batchDim;
  bool apart = other.batchDim >= 0 && other.batchDim != y.batchDim;
  if (y.batchDim >= 0 && batch > 1) {
    auto dim = static_cast<size_t>(y.batchDim);
    apart |= other.batchDim < 0 && other.full[dim] != 1;
    apart |= lead.batchDim < 0 && lead.full[dim] != 1;
  }
  if (apart)
    reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(a.full), listOf(b.full)));
  std::vector<int> order = lead.dims;
  for (int dim = 0; dim < static_cast<int>(y.full.size()); ++dim)
    if (!llvm::is_contained(order, dim) && extent(y, dim) != 1) {
      order.clear();
      for (int all = 0; all < static_cast<int>(y.full.size()); ++all)
        if (all != y.batchDim || extent(y, all) != 1)
          order.push_back(all);
      break;
    }
  Shape shape;
  for (int dim : order)
    shape.push_back(extent(y, dim));
  DnnTextBuilder::Id first = arranged(lead, order), with = arranged(other, order);
  y.dims = order;
  y.id = textBuilder.add(nameOf(current), std::string(1, sign),
                         second ? std::vector{with, first} : std::vector{first, with}, {}, shape);
  return y;
}

MlirValue MlirImporter::element(mlir::Operation *op, llvm::ArrayRef<MlirValue> operands) {
  static const std::map<std::string, const char *> kUnary = {
      {"sigmoid", "sigmoid"}, {"tanh", "tanh"}, {"exp", "exp"}, {"sqrt", "sqrt"}, {"negate", "neg"}};
  static const std::map<std::string, char> kSigns = {{"add", '+'}, {"sub", '-'}, {"mul", '*'}, {"div", '/'}};
  std::string kind = kindOf(op);
  const MlirValue &x = operands[0];
  if (kind == "cast")
    return x;
  if (auto call = kUnary.find(kind); call != kUnary.end())
    return unary(call->second, x);
  if (auto sign = kSigns.find(kind); sign != kSigns.end() && operands.size() > 1)
    return binary(sign->second, x, operands[1]);
  if ((kind == "maximum" || kind == "minimum") && operands.size() > 1) {
    bool second = operands[1].kind == Kind::Number;
    const MlirValue &bound = operands[second ? 1 : 0], &of = operands[second ? 0 : 1];
    if (bound.kind != Kind::Number)
      reportUnsupported("takes the larger or smaller of two tensors, which is not supported");
    return kind == "maximum" ? clamped(of, bound.number, INFINITY) : clamped(of, -INFINITY, bound.number);
  }
  if (kind == "rsqrt" || kind == "reciprocal") {
    if (!x.computed())
      return unary("sqrt", x);
    reportUnsupported("is supported only of weights, or in a softmax");
  }
  reportUnsupported("is not supported");
}

void MlirImporter::elementwise(mlir::Operation *op) {
  if (kindOf(op) == "clamp") {
    auto low = splatOf(op->getAttr("min_val")), high = splatOf(op->getAttr("max_val"));
    return setResult(op, clamped(plain(op->getOperand(0)), low.value_or(NAN), high.value_or(NAN)));
  }
  // The third operand of tosa.mul shifts integers; the last of linalg's is where the result goes.
  unsigned count = std::min(2u, op->getNumOperands());
  if (op->getName().getDialectNamespace() == "linalg")
    count = op->getNumOperands() - 1;
  std::vector<MlirValue> operands;
  for (unsigned i = 0; i < count; ++i)
    operands.push_back(plain(op->getOperand(i)));
  setResult(op, element(op, operands));
}

/// Every element by itself: the body's operations, one after the other, on the whole tensors.
void MlirImporter::generic(mlir::Operation *op) {
  auto maps = op->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
  mlir::Block &body = op->getRegion(0).front();
  if (!maps || maps.size() != op->getNumOperands() || op->getNumResults() != 1)
    reportUnsupported("has another number of results than one");
  auto mapOf = [&](size_t i) { return llvm::cast<mlir::AffineMapAttr>(maps[i]).getValue(); };
  if (!mapOf(maps.size() - 1).isIdentity())
    reportUnsupported("reduces or moves dimensions; only what is done to each element is supported");
  size_t rank = mapOf(maps.size() - 1).getNumResults();
  llvm::DenseMap<mlir::Value, MlirValue> inside;
  for (size_t i = 0; i + 1 < maps.size(); ++i) {
    if (body.getArgument(i).use_empty())
      continue;
    MlirValue x = plain(op->getOperand(i)), seen = x;
    seen.full.assign(rank, 1);
    std::vector<int> place;
    for (auto [from, result] : llvm::enumerate(mapOf(i).getResults())) {
      auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(result);
      auto zero = llvm::dyn_cast<mlir::AffineConstantExpr>(result);
      if (!dim &&
          !(zero && zero.getValue() == 0 && x.kind != Kind::Missing && (x.kind == Kind::Number || x.full[from] == 1)))
        reportUnsupported("reads at places that are computed, which is not supported");
      place.push_back(dim ? static_cast<int>(dim.getPosition()) : -1);
      if (dim && x.kind != Kind::Number)
        seen.full[dim.getPosition()] = x.full[from];
    }
    if (x.computed()) {
      seen.dims.clear();
      Shape shape;
      for (int dim : x.dims)
        if (place[dim] >= 0) {
          seen.dims.push_back(place[dim]);
          shape.push_back(extent(x, dim));
        }
      seen.batchDim = x.batchDim < 0 ? -1 : place[x.batchDim];
      if (x.batchDim >= 0 && seen.batchDim < 0)
        reportUnsupported("moves the batch, which is not supported");
      seen.id = textBuilder.reshape(x.id, shape);
    } else if (x.kind == Kind::Weight) {
      for (size_t k = 0, last = 0; k < place.size(); ++k)
        if (place[k] >= 0 && x.full[k] > 1) {
          if (static_cast<size_t>(place[k]) < last)
            noteOnce("weights that are read in another order have that order here");
          last = place[k];
        }
    }
    inside[body.getArgument(i)] = seen;
  }
  mlir::Value last = body.getTerminator()->getOperand(0);
  auto read = [&](mlir::Value value) {
    if (auto found = inside.find(value); found != inside.end())
      return found->second;
    if (auto number = splatOf(value)) {
      MlirValue constant;
      constant.kind = Kind::Number;
      constant.number = *number;
      return constant;
    }
    reportUnsupported("reads where its result goes, or something outside, which is not supported");
  };
  for (mlir::Operation &one : body.without_terminator()) {
    if (one.getNumResults() != 1 || splatOf(one.getResult(0)))
      continue;
    if (auto found = joined.find(&one); found != joined.end()) {
      inside[one.getResult(0)] = unary(found->second.first.c_str(), read(found->second.second));
      continue;
    }
    // What belongs to a joined form is left out there.
    if (llvm::all_of(one.getUsers(), [&](mlir::Operation *user) { return inForm.contains(user); }) &&
        inForm.contains(&one))
      continue;
    std::vector<MlirValue> operands;
    for (mlir::Value operand : one.getOperands())
      operands.push_back(read(operand));
    static const std::set<std::string> kOther = {"arith.cmpf", "arith.select", "linalg.index"};
    if (operands.empty() || kOther.count(one.getName().getStringRef().str()))
      reportUnsupported(
          fmt::format("contains '{}', which is not supported", shown(one.getName().getStringRef().str())));
    inside[one.getResult(0)] = element(&one, operands);
  }
  MlirValue result = read(last);
  if (result.kind == Kind::Number)
    return setResult(op, result);
  for (size_t i = 0; i < rank; ++i)
    if (auto type = llvm::cast<mlir::ShapedType>(op->getResult(0).getType());
        result.full[i] == 1 && type.getDimSize(static_cast<unsigned>(i)) > 1)
      reportUnsupported("repeats a tensor, which is supported only where another is added to it");
  setResult(op, result);
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
} // namespace

/// exp(x - max x) * 1 / sum exp; x * sigmoid(x); x * (erf(x / sqrt 2) + 1) / 2; 1 / (1 + exp(-x)).
bool MlirImporter::pattern(mlir::Operation *op) {
  std::string kind = kindOf(op);
  auto found = [&](const char *call, mlir::Value x, const std::vector<mlir::Operation *> &seen) {
    joined[op] = {call, x};
    inForm.insert(op);
    inForm.insert(seen.begin(), seen.end());
    return true;
  };
  std::vector<mlir::Operation *> seen;
  if (kind == "div" || kind == "reciprocal") {
    mlir::Value below = op->getOperand(kind == "div" ? 1 : 0);
    if (kind == "div" && !Form{op->getOperand(0), &seen}.is(1))
      return false;
    for (unsigned side : {0u, 1u}) {
      Form sum{below, &seen};
      Form x = sum.of("add", side).of("exp").of("negate");
      if (x.value && sum.of("add", 1 - side).is(1))
        return found("sigmoid", x.value, seen);
    }
    return false;
  }
  if (kind != "mul" || op->getNumOperands() < 2)
    return false;
  for (unsigned side : {0u, 1u}) {
    mlir::Value a = op->getOperand(side), b = op->getOperand(1 - side);
    seen.clear();
    if (Form x = Form{b, &seen}.of("sigmoid"); x.value && x.value == a)
      return found("silu", a, seen);
    seen.clear();
    Form difference = Form{a, &seen}.of("exp");
    Form total = Form{b, &seen}.of("reciprocal").of("reduce_sum");
    Form x = difference.of("sub");
    if (x.value && total.value && total.of("exp").value == difference.value &&
        difference.of("sub", 1).of("reduce_max").value == x.value) {
      auto axisOf = [](mlir::Value value, const char *wanted) {
        while (mlir::Operation *from = value.getDefiningOp()) {
          if (from->getNumOperands() == 0)
            break;
          if (kindOf(from) == wanted)
            return splatOf(from->getAttr("axis")).value_or(-1);
          value = from->getOperand(0);
        }
        return -1.0;
      };
      double axis = axisOf(Form{b, &seen}.of("reciprocal").value, "reduce_sum");
      auto type = llvm::dyn_cast<mlir::ShapedType>(x.value.getType());
      if (type && axis == axisOf(difference.of("sub", 1).value, "reduce_max") && axis >= 0) {
        found("softmax", x.value, seen);
        formAxis[op] = static_cast<int>(axis);
        return true;
      }
    }
    // (x / 2) * (1 + erf(..)), or x * (.. / 2), or (x * ..) / 2
    auto gelu = [&](mlir::Value half, mlir::Value sum) -> mlir::Value {
      for (unsigned one : {0u, 1u})
        for (unsigned factor : {0u, 1u}) {
          Form add{sum, &seen};
          Form argument = add.of("add", one).of("erf");
          Form inner = argument.of("mul", factor), root = argument.of("mul", 1 - factor);
          if (inner.value && inner.value == half && root.is(M_SQRT1_2) && add.of("add", 1 - one).is(1))
            return half;
        }
      return {};
    };
    for (unsigned factor : {0u, 1u}) {
      seen.clear();
      Form halved{a, &seen};
      Form rest = halved.of("mul", factor), half = halved.of("mul", 1 - factor);
      if (rest.value && half.is(0.5)) {
        if (mlir::Value of = gelu(rest.value, b))
          return found("gelu", of, seen);
        if (mlir::Value of = gelu(b, rest.value))
          return found("gelu", of, seen);
      }
      if (Form{b, &seen}.is(0.5) && rest.value)
        if (mlir::Value of = gelu(rest.value, half.value))
          return found("gelu", of, seen);
    }
  }
  return false;
}

void MlirImporter::findPatterns() {
  function.walk([&](mlir::Operation *op) { pattern(op); });
}

} // namespace accord::import
