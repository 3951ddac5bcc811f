// Operations on each element, and those along dimensions.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

using Id = DnnTextBuilder::Id;

TorchValue withoutBatch(TorchContext &c, const TorchValue &one, const TorchValue &other) {
  if (one.batchAt >= 0 || other.batchAt < 0 || !c.isPure(other))
    return one;
  int64_t at = other.batchAt - (std::ssize(other.full) - std::ssize(one.full));
  if (at < 0 || one.full.empty())
    return one;
  if (c.shape(one.id).size() != one.full.size() || c.shape(one.id)[at] != 1)
    c.reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(one.full), listOf(other.full)));
  TorchValue result = one;
  Shape sample = c.shape(one.id);
  sample.erase(sample.begin() + at);
  result.full.erase(result.full.begin() + at);
  result.id = c.textBuilder.reshape(one.id, sample.empty() ? Shape{1} : sample);
  return result;
}

/// An operand with as many dimensions as the other one: of two that have a batch, the language takes no other.
static Id ranked(TorchContext &c, Id id, size_t rank) {
  Shape shape = c.shape(id);
  if (shape.size() >= rank || c.textBuilder.callOf(c.textBuilder.behindViews(id)) == "parameter")
    return id;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return c.textBuilder.reshape(id, shape);
}

TorchValue joined(TorchContext &c, char sign, const TorchValue &left, const TorchValue &right) {
  auto full = broadcastOf(left.full, right.full);
  if (!full)
    c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(left.full), listOf(right.full)));
  auto place = [&](const TorchValue &one) {
    return one.batchAt < 0 ? -1 : one.batchAt + std::ssize(*full) - std::ssize(one.full);
  };
  if (left.batchAt >= 0 && right.batchAt >= 0 && (place(left) != place(right) || left.outer != right.outer))
    c.reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(left.full), listOf(right.full)));
  TorchValue a = withoutBatch(c, left, right), b = withoutBatch(c, right, left);
  const TorchValue &like = left.batchAt >= 0 ? left : right;
  auto sample = broadcastOf(c.shape(a.id), c.shape(b.id));
  if (!sample) { // a repeated one beside a whole one
    a = c.dense(a);
    b = c.dense(b);
    sample = broadcastOf(c.shape(a.id), c.shape(b.id));
  }
  if (!sample)
    c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(left.full), listOf(right.full)));
  TorchValue result = c.computed(-1, *full, place(like), like.outer);
  size_t rank = sample->size();
  result.id = c.add({sign}, {ranked(c, a.id, rank), ranked(c, b.id, rank)}, {}, *sample);
  // Extents of one before those of the sample.
  for (size_t wanted = c.sampleOf(result).size(); sample->size() < wanted;)
    sample->insert(sample->begin(), 1);
  if (!full->empty())
    result.id = c.textBuilder.reshape(result.id, *sample);
  return result;
}

namespace {

const std::map<std::string, const char *> kUnary = {{"relu", "relu"},
                                                    {"sigmoid", "sigmoid"},
                                                    {"softplus", "softplus"},
                                                    {"tanh", "tanh"},
                                                    {"exp", "exp"},
                                                    {"sqrt", "sqrt"},
                                                    {"neg", "neg"},
                                                    {"gelu", "gelu"},
                                                    {"silu", "silu"},
                                                    {"relu6", "relu6"},
                                                    {"hardswish", "hard_swish"},
                                                    {"hardsigmoid", "hard_sigmoid"}};

void unary(TorchContext &c, const TorchNode &node) {
  std::string op = node.op.substr(5);
  std::string key = node.order.empty() ? "self" : node.order[0];
  if (double beta = c.number("beta").value_or(1); op == "softplus" && beta != 1)
    return c.setResult(stated(c, "softplus", "log(1 + exp(beta * {0})) / beta", {c.tensor(key)}, {{"beta", beta}}));
  c.setResult(c.alike(c.tensor(key), kUnary.at(op)));
}

void gelu(TorchContext &c, const TorchNode &) { c.setResult(c.alike(c.tensor("self"), "gelu")); }

/// The values go through unchanged.
void same(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.get(node.order.at(0));
  TorchType to = c.typeInFile(node.outputs.at(0));
  if (x.kind == Kind::Computed && x.type == TorchType::Float && to != TorchType::Float)
    c.reportUnsupported("turns numbers that are computed into integers, through which no gradient passes");
  c.setResult(x);
}

void byNumber(TorchContext &c, const TorchValue &x, char sign, double number, bool numberLast) {
  std::string error;
  if (auto factor = factorOf(sign, number, numberLast, error))
    return c.setResult(*factor == 1 ? x : c.alike(x, "scale", {"factor = " + singleText(*factor)}));
  if (!std::isfinite(number) || (sign == '/' && numberLast))
    c.reportUnsupported(error);
  if (sign == '/')
    return c.setResult(stated(c, "inverse", "number / {0}", {x}, {{"number", number}}));
  if (sign == '-' && !numberLast)
    return c.setResult(stated(c, "less", "number - {0}", {x}, {{"number", number}}));
  c.setResult(stated(c, "offset", "{0} + by", {x}, {{"by", sign == '-' ? -number : number}}));
}

/// The number of a known constant of one element.
std::optional<double> singleOf(const TorchValue &value) {
  if (value.kind != Kind::Constant || !value.numbers || value.numbers->size() != 1)
    return std::nullopt;
  return value.numbers->front();
}

/// Whether all numbers of a constant are this one.
bool isAll(const TorchValue &value, double number) {
  return value.kind == Kind::Constant && value.numbers && !value.numbers->empty() &&
         llvm::all_of(*value.numbers, [&](double one) { return one == number; });
}

/// Random numbers that are zero or scale: dropout.
void byNoise(TorchContext &c, const TorchValue &x, const TorchValue &noise, char sign) {
  if (sign != '*' && sign != '/')
    c.reportUnsupported("adds random numbers, which is not supported");
  if (noise.rate <= 0 || noise.rate >= 1)
    return c.setResult(x);
  if (noise.full != x.full)
    c.noteOnce("whole samples that are dropped (stochastic depth) are elements here: the same work");
  c.setResult(c.alike(x, "dropout", {"rate = " + singleText(noise.rate)}));
}

/// Scores beside a mask that is causal: a softmax behind them needs no mask.
bool maskedScores(TorchContext &c, const TorchValue &mask, const TorchValue &scores, const Shape &full) {
  if (!isCausalMask(mask) || mask.type != TorchType::Float || scores.kind != Kind::Computed || scores.full != full)
    return false;
  TorchValue y = joined(c, '+', scores, c.made(mask));
  c.causalScores[y.id] = scores.id;
  c.setResult(y);
  return true;
}

/// What an operator of two operands is called in the language.
char signOf(const std::string &op) {
  if (op == "add")
    return '+';
  if (op == "sub" || op == "rsub" || op == "subtract")
    return '-';
  return op == "mul" || op == "multiply" ? '*' : '/';
}

void binary(TorchContext &c, const TorchNode &node) {
  std::string op = node.op.substr(5);
  char sign = signOf(op);
  bool reversed = op == "rsub";
  if (c.has("rounding_mode"))
    c.reportUnsupported("rounds a quotient, through which no gradient passes");
  double alpha = c.number("alpha").value_or(1);
  if (c.isNumber("other")) {
    double number = *c.number("other") * (reversed ? 1 : alpha);
    return byNumber(c, c.tensor("self"), sign, number, !reversed);
  }
  if (c.isNumber("self"))
    return byNumber(c, c.tensor("other"), sign, *c.number("self"), false);
  TorchValue a = c.get("self"), b = c.get("other");
  Shape full = c.shapeInFile(node.outputs.at(0));
  if (reversed)
    std::swap(a, b);
  if (a.kind == Kind::Noise || b.kind == Kind::Noise)
    return byNoise(c, c.made(a.kind == Kind::Noise ? b : a), a.kind == Kind::Noise ? a : b, sign);
  for (bool last : {true, false}) {
    const TorchValue &one = last ? b : a, &other = last ? a : b;
    if (auto number = singleOf(one); number && other.kind != Kind::Constant && other.full == full)
      return byNumber(c, c.made(other), sign, *number * (last ? alpha : 1), last);
    if (sign == '+' && alpha == 1 && maskedScores(c, one, other, full))
      return;
    // An empty mask, a scale of ones.
    if (((sign == '+' && isAll(one, 0)) || (sign == '*' && isAll(one, 1))) && other.full == full)
      return c.setResult(c.made(other));
  }
  TorchValue x = c.made(a), y = c.made(b);
  if (alpha != 1)
    y = c.alike(y, "scale", {"factor = " + singleText(alpha)});
  c.setResult(joined(c, sign, x, y));
}

void clamp(TorchContext &c, const TorchNode &node) {
  bool tanh = node.op == "aten.hardtanh";
  const char *from = tanh ? "min_val" : "min", *to = tanh ? "max_val" : "max";
  double low = c.number(from).value_or(tanh ? -1 : -INFINITY), high = c.number(to).value_or(tanh ? 1 : INFINITY);
  const TorchArgument *lowest = node.find(from), *highest = node.find(to);
  if ((lowest && lowest->kind == TorchArgument::Kind::Tensor) ||
      (highest && highest->kind == TorchArgument::Kind::Tensor))
    c.reportUnsupported("bounds by tensors, which is not supported");
  TorchValue x = c.tensor("self");
  if (const char *call = callOfBounds(low, high))
    return c.setResult(c.alike(x, call));
  if (low > -1e30 && high < 1e30)
    return c.setResult(stated(c, "clamp", "max(low, min(high, {0}))", {x}, {{"low", low}, {"high", high}}));
  if (low > -1e30)
    return c.setResult(stated(c, "bound_below", "max(low, {0})", {x}, {{"low", low}}));
  c.setResult(high < 1e30 ? stated(c, "bound_above", "min(high, {0})", {x}, {{"high", high}}) : x);
}

void leaky(TorchContext &c, const TorchNode &node) {
  bool elu = node.op == "aten.elu";
  double slope = c.number(elu ? "alpha" : "negative_slope").value_or(elu ? 1 : 0.01);
  if (elu ? !(slope > 0) : !(slope >= 0 && slope < 1))
    c.reportUnsupported(fmt::format("has a slope of {}, which is not supported", slope));
  c.setResult(
      c.alike(c.tensor("self"), elu ? "elu" : "leaky_relu", {(elu ? "alpha = " : "slope = ") + singleText(slope)}));
}

/// x^2, a root, and others.
void power(TorchContext &c, const TorchNode &node) {
  if (c.isNumber("self")) // number^x
    return c.setResult(stated(c, "exponential", "exp({0} * by)", {c.tensor("exponent")},
                              {{"by", std::log(std::max(c.number("self").value_or(1), 1e-38))}}));
  TorchValue x = c.tensor("self");
  if (const TorchArgument *exponent = node.find("exponent");
      exponent && exponent->kind == TorchArgument::Kind::Tensor && !singleOf(c.get("exponent")))
    return c.setResult(stated(c, "power", "{0} ^ {1}", {x, c.tensor("exponent")}));
  double exponent = node.op == "aten.square" ? 2
                    : c.isNumber("exponent") ? c.number("exponent").value_or(1)
                                             : singleOf(c.get("exponent")).value_or(1);
  if (exponent == 1)
    return c.setResult(x);
  if (exponent == 2 || exponent == 3) {
    TorchValue y = joined(c, '*', x, x);
    return c.setResult(exponent == 3 ? joined(c, '*', y, x) : y);
  }
  if (exponent == 0.5)
    return c.setResult(c.alike(x, "sqrt"));
  if (exponent == -0.5)
    return c.setResult(stated(c, "rsqrt", "1 / sqrt({0})", {x}));
  if (exponent == -1)
    return c.setResult(stated(c, "reciprocal", "1 / {0}", {x}));
  c.setResult(stated(c, "power", "{0} ^ by", {x}, {{"by", exponent}}));
}

void dropout(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.tensor(node.order.at(0));
  double rate = c.number("p").value_or(0.5);
  if (!c.flag("train", true) || rate == 0)
    return c.setResult(x);
  if (!(rate > 0 && rate < 1))
    c.reportInvalid("has a rate that is below 0 or not below 1");
  c.setResult(c.alike(x, "dropout", {"rate = " + singleText(rate)}));
}

void softmax(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(c.tensor("self"));
  int64_t dim = c.sampleDim(x, c.integer("dim", -1));
  if (auto found = c.causalScores.find(x.id); found != c.causalScores.end() && dim + 1 == std::ssize(c.shape(x.id))) {
    x.id = found->second;
    return c.setResult(c.alike(x, "softmax", {"causal = true"}));
  }
  x.id = c.textBuilder.softmax(c.name(), x.id, dim);
  c.setResult(x);
}

void onlyInLoss(TorchContext &c, const TorchNode &) {
  c.reportUnsupported("is supported only at the end of a model or in its loss");
}

/// A mask of integers or constants: what is added to scores does the same work.
void masked(TorchContext &c, const TorchNode &node) {
  bool fill = node.op == "aten.masked_fill";
  TorchValue mask = c.get(fill ? "mask" : "condition");
  TorchValue x;
  for (const char *key : {"self", "other"}) {
    if (fill && key == std::string("other"))
      break;
    const TorchArgument *one = c.node->find(key);
    if (!one || one->kind != TorchArgument::Kind::Tensor)
      continue;
    TorchValue value = c.get(key);
    if (value.kind != Kind::Computed && value.kind != Kind::Weight)
      continue;
    if (x.kind != Kind::Missing)
      c.reportUnsupported("chooses between two tensors that are computed, which is not supported");
    x = value;
  }
  if (x.kind == Kind::Missing)
    c.reportUnsupported("chooses between tensors that are not computed");
  if (mask.kind == Kind::Computed && mask.type == TorchType::Float)
    c.reportUnsupported("chooses by a mask that is computed from numbers");
  if (mask.kind == Kind::Noise)
    return byNoise(c, c.made(x), mask, '*');
  // masked_fill hides where the mask is true, `where` lets through.
  bool causal = isCausalMask(mask, fill) && x.full == c.shapeInFile(node.outputs.at(0));
  mask.type = TorchType::Float;
  TorchValue scores = c.made(x), y = joined(c, '+', scores, c.made(mask));
  if (causal)
    c.causalScores[y.id] = scores.id;
  c.setResult(y);
}

/// self + value * tensor1 * tensor2, or / tensor2.
void addScaled(TorchContext &c, const TorchNode &node) {
  TorchValue y = joined(c, node.op == "aten.addcdiv" ? '/' : '*', c.tensor("tensor1"), c.tensor("tensor2"));
  if (double value = c.number("value").value_or(1); value != 1)
    y = c.alike(y, "scale", {"factor = " + singleText(value)});
  c.setResult(joined(c, '+', c.tensor("self"), y));
}

void reduce(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(c.tensor("self"));
  bool norm = node.op == "aten.linalg_vector_norm";
  if (norm && c.number("ord").value_or(2) != 2)
    c.reportUnsupported("is a norm of another order than 2");
  if (norm)
    x = joined(c, '*', x, x);
  llvm::StringRef op = node.op;
  const char *call = op.contains("max")    ? "reduce_max"
                     : op.contains("min")  ? "reduce_min"
                     : op.contains("mean") ? "reduce_mean"
                                           : "reduce_sum";
  bool mean = node.op == "aten.mean", keep = c.flag("keepdim", false);
  Shape dims = c.integers("dim").value_or(Shape{});
  int64_t rank = std::ssize(x.full);
  if (dims.empty()) {
    if (norm || (!mean && op != "aten.sum"))
      c.reportUnsupported("reduces all elements, the batch among them");
    if (x.full.empty())
      return c.setResult(x);
    if (!mean)
      c.noteOnce("a sum over all samples and elements is their mean here: the same work");
    return c.setResult(c.scalar(c.add("mean", {x.id}, {}, {})));
  }
  std::set<int64_t, std::greater<>> at;
  TorchValue result = x;
  Shape kept;
  for (int64_t &dim : dims) {
    at.insert(c.sampleDim(x, dim));
    dim = c.dimOf(dim, rank);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(dims, i))
      kept.push_back(x.full[i]);
    else if (keep)
      kept.push_back(1);
  Shape shape = c.shape(x.id);
  Id y = x.id;
  if (mean && shape.size() == 3 && llvm::equal(at, Shape{2, 1}) && x.batchAt == 0)
    y = c.add("global_avg_pool", {y}, {}, {shape[0]});
  else
    for (int64_t dim : at) {
      shape.erase(shape.begin() + dim);
      y = c.add(call, {y}, {fmt::format("axis = {}", dim)}, shape);
    }
  result.full = kept;
  if (x.batchAt >= 0) {
    int64_t before = 0;
    for (int64_t dim : dims)
      before += dim < x.batchAt && !keep ? 1 : 0;
    result.batchAt = x.batchAt - before;
  }
  Shape sample = c.sampleOf(result);
  result.id = c.textBuilder.reshape(y, sample.empty() ? Shape{1} : sample);
  c.setResult(norm ? c.alike(result, "sqrt") : result);
}

} // namespace

std::vector<TorchOperators> torchElementwise() {
  std::vector<TorchOperators> all = {
      {binary,
       {"aten.add", "aten.sub", "aten.rsub", "aten.mul", "aten.div", "aten.true_divide", "aten.multiply", "aten.divide",
        "aten.subtract"}},
      {same,
       {"aten._to_copy", "aten.alias", "aten.clone", "aten.contiguous", "aten.detach", "aten.lift_fresh_copy",
        "aten.to", "aten.type_as", "aten.float", "aten.half", "aten.bfloat16", "aten.identity"}},
      {clamp, {"aten.clamp", "aten.hardtanh", "aten.clamp_min", "aten.clamp_max", "aten.clip"}},
      {dropout, {"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.native_dropout"}},
      {gelu, {"accord.gelu"}},
      {leaky, {"aten.elu", "aten.leaky_relu"}},
      {masked, {"aten.masked_fill", "aten.where"}},
      {onlyInLoss, {"aten.log_softmax", "aten._log_softmax"}},
      {power, {"aten.pow", "aten.square"}},
      {addScaled, {"aten.addcdiv", "aten.addcmul"}},
      {reduce,
       {"aten.amax", "aten.amin", "aten.linalg_vector_norm", "aten.max", "aten.mean", "aten.min", "aten.norm",
        "aten.sum"}},
      {softmax, {"aten.softmax", "aten._softmax"}}};
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto &[op, call] : kUnary)
      all.push_back("aten." + op);
    return all;
  }();
  for (const std::string &name : names)
    all.push_back({unary, {name.c_str()}});
  return all;
}

} // namespace accord::import
