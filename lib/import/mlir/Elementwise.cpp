// What is done to each element: of tosa, of arith and math, and in the bodies of linalg.
#include "lib/import/mlir/MlirContext.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

MlirValue clamped(MlirContext &c, const MlirValue &x, double low, double high) {
  // maximum(0) and minimum(6), one after the other
  if (low < -1e30 && high == 6 && x.computed() && c.textBuilder.callOf(x.id) == "relu") {
    MlirValue y = x;
    y.id = c.textBuilder.operandOf(x.id);
    return c.unary("relu6", y);
  }
  const char *call = callOfBounds(low, high);
  if (!call)
    c.reportUnsupported(boundsText(low, high));
  return c.unary(call, x);
}

MlirValue withNumber(MlirContext &c, char sign, const MlirValue &x, double number, bool numberLast) {
  if (!x.computed() && (sign == '*' || (sign == '/' && numberLast)))
    return x;
  std::string error;
  auto factor = factorOf(sign, number, numberLast, error);
  if (!factor)
    c.reportUnsupported(error);
  MlirValue y = x;
  if (auto sum = c.means.find(x.id); sum != c.means.end() && std::abs(*factor * sum->second.second - 1) < 1e-4)
    y.id = sum->second.first;
  else if (*factor != 1)
    y = c.unary("scale", x, {"factor = " + singleText(*factor)});
  return y;
}

/// The batch of the larger of two tensors and that of the other are the same dimension, or one has none.
void checkBatch(MlirContext &c, const MlirValue &a, const MlirValue &b, int batchDim) {
  bool apart = false;
  for (const MlirValue *one : {&a, &b})
    apart |= one->batchDim >= 0 ? one->batchDim != batchDim : batchDim >= 0 && c.batch > 1 && one->full[batchDim] != 1;
  if (apart)
    c.reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(a.full), listOf(b.full)));
}

/// The order of `lead`, if it has all that `y` has; else the order of the file.
std::vector<int> orderFor(MlirContext &c, const MlirValue &lead, const MlirValue &y) {
  auto all = llvm::seq<int>(0, y.full.size());
  if (llvm::all_of(all, [&](int dim) { return llvm::is_contained(lead.dims, dim) || c.extent(y, dim) == 1; }))
    return lead.dims;
  std::vector<int> order;
  llvm::copy_if(all, std::back_inserter(order), [&](int dim) { return dim != y.batchDim || c.extent(y, dim) != 1; });
  return order;
}

MlirValue binary(MlirContext &c, char sign, const MlirValue &a, const MlirValue &b) {
  if (b.kind == Kind::Number && a.kind != Kind::Number)
    return withNumber(c, sign, a, b.number, true);
  if (a.kind == Kind::Number && b.kind != Kind::Number)
    return withNumber(c, sign, b, a.number, false);
  if (a.kind == Kind::Number)
    c.reportUnsupported("computes with numbers alone, which is not done here");
  auto misfit = [&] {
    c.reportUnsupported(fmt::format("joins {} and {}, which do not fit", listOf(a.full), listOf(b.full)));
  };
  if (a.full.size() != b.full.size())
    misfit();
  bool second = !a.computed() || (b.computed() && b.dims.size() > a.dims.size());
  const MlirValue &lead = second ? b : a, &other = second ? a : b;
  MlirValue y = lead;
  y.weight = {};
  for (size_t i = 0; i < a.full.size(); ++i) {
    if (a.full[i] != b.full[i] && a.full[i] != 1 && b.full[i] != 1)
      misfit();
    y.full[i] = std::max(a.full[i], b.full[i]);
  }
  if (!lead.computed())
    return y;
  if (y.batchDim < 0)
    y.batchDim = other.batchDim;
  checkBatch(c, a, b, y.batchDim);
  y.dims = orderFor(c, lead, y);
  DnnTextBuilder::Id first = c.arranged(lead, y.dims), with = c.arranged(other, y.dims);
  y.id = c.add(std::string(1, sign), second ? std::vector{with, first} : std::vector{first, with}, {},
               c.extentsOf(y, y.dims));
  return y;
}

MlirValue element(MlirContext &c, mlir::Operation *op, llvm::ArrayRef<MlirValue> operands) {
  static const std::map<std::string, const char *> kUnary = {
      {"sigmoid", "sigmoid"}, {"tanh", "tanh"}, {"exp", "exp"}, {"sqrt", "sqrt"}, {"negate", "neg"}};
  static const std::map<std::string, char> kSigns = {{"add", '+'}, {"sub", '-'}, {"mul", '*'}, {"div", '/'}};
  std::string kind = kindOf(op);
  const MlirValue &x = operands[0];
  if (kind == "cast")
    return x;
  if (auto call = kUnary.find(kind); call != kUnary.end())
    return c.unary(call->second, x);
  if (auto sign = kSigns.find(kind); sign != kSigns.end() && operands.size() > 1)
    return binary(c, sign->second, x, operands[1]);
  if ((kind == "maximum" || kind == "minimum") && operands.size() > 1) {
    bool second = operands[1].kind == Kind::Number;
    const MlirValue &bound = operands[second ? 1 : 0], &of = operands[second ? 0 : 1];
    if (bound.kind != Kind::Number)
      c.reportUnsupported("takes the larger or smaller of two tensors, which is not supported");
    return kind == "maximum" ? clamped(c, of, bound.number, INFINITY) : clamped(c, of, -INFINITY, bound.number);
  }
  if (kind == "rsqrt" || kind == "reciprocal") {
    if (!x.computed())
      return c.unary("sqrt", x);
    c.reportUnsupported("is supported only of weights, or in a softmax");
  }
  c.reportUnsupported("is not supported");
}

} // namespace

void importElementwise(MlirContext &c, mlir::Operation *op) {
  if (kindOf(op) == "clamp") {
    auto low = splatOf(op->getAttr("min_val")), high = splatOf(op->getAttr("max_val"));
    return c.setResult(op, clamped(c, c.plain(op->getOperand(0)), low.value_or(NAN), high.value_or(NAN)));
  }
  // The third operand of tosa.mul shifts integers; the last of linalg's is where the result goes.
  unsigned count = std::min(2u, op->getNumOperands());
  if (op->getName().getDialectNamespace() == "linalg")
    count = op->getNumOperands() - 1;
  std::vector<MlirValue> operands;
  for (unsigned i = 0; i < count; ++i)
    operands.push_back(c.plain(op->getOperand(i)));
  c.setResult(op, element(c, op, operands));
}

namespace {

/// An operand as the body of a generic operation of this rank reads it.
MlirValue readThrough(MlirContext &c, const MlirValue &x, mlir::AffineMap map, size_t rank) {
  MlirValue seen = x;
  seen.full.assign(rank, 1);
  std::vector<int> place;
  for (auto [from, result] : llvm::enumerate(map.getResults())) {
    auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(result);
    auto zero = llvm::dyn_cast<mlir::AffineConstantExpr>(result);
    if (!dim &&
        !(zero && zero.getValue() == 0 && x.kind != Kind::Missing && (x.kind == Kind::Number || x.full[from] == 1)))
      c.reportUnsupported("reads at places that are computed, which is not supported");
    place.push_back(dim ? dim.getPosition() : -1);
    if (dim && x.kind != Kind::Number)
      seen.full[dim.getPosition()] = x.full[from];
  }
  if (x.computed()) {
    seen.dims.clear();
    Shape shape;
    for (int dim : x.dims)
      if (place[dim] >= 0) {
        seen.dims.push_back(place[dim]);
        shape.push_back(c.extent(x, dim));
      }
    seen.batchDim = x.batchDim < 0 ? -1 : place[x.batchDim];
    if (x.batchDim >= 0 && seen.batchDim < 0)
      c.reportUnsupported("moves the batch, which is not supported");
    seen.id = c.textBuilder.reshape(x.id, shape);
  } else if (x.kind == Kind::Weight) {
    int last = 0;
    for (auto [at, extent] : llvm::zip(place, x.full))
      if (at >= 0 && extent > 1) {
        if (at < last)
          c.noteOnce("weights that are read in another order have that order here");
        last = at;
      }
  }
  return seen;
}

/// Every element by itself: the body's operations, one after the other, on the whole tensors.
void generic(MlirContext &c, mlir::Operation *op) {
  auto maps = op->getAttrOfType<mlir::ArrayAttr>("indexing_maps");
  mlir::Block &body = op->getRegion(0).front();
  if (!maps || maps.size() != op->getNumOperands() || op->getNumResults() != 1)
    c.reportUnsupported("has another number of results than one");
  auto mapOf = [&](size_t i) { return llvm::cast<mlir::AffineMapAttr>(maps[i]).getValue(); };
  if (!mapOf(maps.size() - 1).isIdentity())
    c.reportUnsupported("reduces or moves dimensions; only what is done to each element is supported");
  size_t rank = mapOf(maps.size() - 1).getNumResults();
  llvm::DenseMap<mlir::Value, MlirValue> inside;
  for (size_t i = 0; i + 1 < maps.size(); ++i)
    if (!body.getArgument(i).use_empty())
      inside[body.getArgument(i)] = readThrough(c, c.plain(op->getOperand(i)), mapOf(i), rank);
  auto read = [&](mlir::Value value) {
    if (auto found = inside.find(value); found != inside.end())
      return found->second;
    if (auto number = splatOf(value)) {
      MlirValue constant;
      constant.kind = Kind::Number;
      constant.number = *number;
      return constant;
    }
    c.reportUnsupported("reads where its result goes, or something outside, which is not supported");
  };
  for (mlir::Operation &one : body.without_terminator()) {
    if (one.getNumResults() != 1 || splatOf(one.getResult(0)))
      continue;
    if (auto found = c.forms.joined.find(&one); found != c.forms.joined.end()) {
      inside[one.getResult(0)] = c.unary(found->second.first, read(found->second.second));
      continue;
    }
    // What belongs to a joined form is left out there.
    if (c.forms.inside.contains(&one) &&
        llvm::all_of(one.getUsers(), [&](mlir::Operation *user) { return c.forms.inside.contains(user); }))
      continue;
    std::vector<MlirValue> operands;
    for (mlir::Value operand : one.getOperands())
      operands.push_back(read(operand));
    static const std::set<llvm::StringRef> kOther = {"arith.cmpf", "arith.select", "linalg.index"};
    if (operands.empty() || kOther.count(one.getName().getStringRef()))
      c.reportUnsupported(
          fmt::format("contains '{}', which is not supported", shown(one.getName().getStringRef().str())));
    inside[one.getResult(0)] = element(c, &one, operands);
  }
  MlirValue result = read(body.getTerminator()->getOperand(0));
  if (result.kind != Kind::Number)
    for (auto [known, stated] :
         llvm::zip(result.full, llvm::cast<mlir::ShapedType>(op->getResult(0).getType()).getShape()))
      if (known == 1 && stated > 1)
        c.reportUnsupported("repeats a tensor, which is supported only where another is added to it");
  c.setResult(op, result);
}

} // namespace

std::vector<MlirOperations> mlirElementwise() {
  return {{importElementwise,
           {"tosa.add",    "tosa.sub",     "tosa.mul",     "tosa.clamp",   "tosa.sigmoid", "tosa.tanh",
            "tosa.exp",    "tosa.negate",  "tosa.maximum", "tosa.minimum", "tosa.rsqrt",   "tosa.reciprocal",
            "linalg.add",  "linalg.sub",   "linalg.mul",   "linalg.div",   "linalg.exp",   "linalg.tanh",
            "linalg.sqrt", "linalg.rsqrt", "linalg.negf",  "linalg.max",   "linalg.min",   "linalg.reciprocal"}},
          {generic, {"linalg.generic"}}};
}

} // namespace accord::import
