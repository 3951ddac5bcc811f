// Element-wise operations that the language has not: the file states them.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

using Id = DnnTextBuilder::Id;

/// The place of a value's batch among `rank` dimensions, aligned from the right; -1: none.
static int64_t placeOf(const TorchValue &one, size_t rank) {
  return one.batchAt < 0 ? -1 : one.batchAt + static_cast<int64_t>(rank) - std::ssize(one.full);
}

/// The letters of a sample's dimensions that an operand has, and its view with these alone: what it is repeated along
/// has none.
static std::vector<std::string> lettersOf(TorchContext &c, Id &id, const Shape &sample) {
  static constexpr const char *kLetters = "abcdefgh";
  Shape shape = c.shape(id), kept;
  std::vector<std::string> letters;
  size_t skip = sample.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == sample[skip + i] && (shape[i] != 1 || skip + i + 1 == sample.size())) {
      letters.emplace_back(1, kLetters[skip + i]);
      kept.push_back(shape[i]);
    }
  id = c.textBuilder.reshape(id, kept.empty() ? Shape{1} : kept);
  return letters;
}

TorchValue stated(TorchContext &c, const std::string &name, std::string formula, std::vector<TorchValue> operands,
                  const std::vector<std::pair<std::string, double>> &numbers) {
  Shape full;
  for (TorchValue &one : operands) {
    one = c.made(one);
    auto both = broadcastOf(full, one.full);
    if (!both)
      c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(full), listOf(one.full)));
    full = *both;
  }
  auto found = llvm::find_if(operands, [](const TorchValue &one) { return one.batchAt >= 0; });
  TorchValue like = found == operands.end() ? operands.at(0) : *found;
  TorchValue result = c.computed(-1, full, placeOf(like, full.size()), like.outer);
  for (TorchValue &one : operands) {
    if (one.batchAt >= 0 && (placeOf(one, full.size()) != result.batchAt || one.outer != like.outer))
      c.reportUnsupported(
          fmt::format("joins {} and {} across the batch, which is not supported", listOf(like.full), listOf(one.full)));
    one = withoutBatch(c, one, like);
  }
  Shape sample;
  for (bool dense : {false, true}) {
    sample = {};
    std::optional<Shape> all = Shape{};
    for (TorchValue &one : operands) {
      one = dense ? c.dense(one) : one;
      all = all ? broadcastOf(*all, c.shape(one.id)) : all;
    }
    if (all) { // a repeated one beside a whole one is repeated first
      sample = *all;
      break;
    }
  }
  if (sample.size() > 8 || sample.empty())
    c.reportUnsupported(fmt::format("works on {} dimensions, and 1 to 8 are supported", sample.size()));
  std::vector<std::string> heads, letters;
  std::vector<Id> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string operand(1, "uvw"[i]);
    ids.push_back(operands[i].id);
    std::vector<std::string> own = lettersOf(c, ids.back(), sample);
    heads.push_back(fmt::format("{}[{}]", operand, own.empty() ? "z" : fmt::format("{}", fmt::join(own, ", "))));
    std::string read = fmt::format("{}[{}]", operand, own.empty() ? "0" : fmt::format("{}", fmt::join(own, ", ")));
    for (std::string from = fmt::format("{{{}}}", i); formula.find(from) != std::string::npos;)
      formula.replace(formula.find(from), from.size(), read);
    for (const std::string &letter : own)
      if (!llvm::is_contained(letters, letter))
        letters.push_back(letter);
  }
  llvm::sort(letters);
  std::vector<std::string> attributes;
  for (const auto &[key, number] : numbers) {
    heads.push_back(key);
    attributes.push_back(fmt::format("{} = {}", key, singleText(number)));
  }
  Shape shape;
  for (const std::string &letter : letters)
    shape.push_back(sample[static_cast<size_t>(letter[0] - 'a')]);
  std::string call = c.textBuilder.stated(
      name, fmt::format("({}) -> y[{}] {{\n  y = {}\n}}\n", fmt::join(heads, ", "), fmt::join(letters, ", "), formula));
  result.id = c.textBuilder.reshape(c.add(call, ids, attributes, shape), sample);
  for (size_t wanted = c.sampleOf(result).size(); sample.size() < wanted;)
    sample.insert(sample.begin(), 1);
  if (!full.empty())
    result.id = c.textBuilder.reshape(result.id, sample);
  return result;
}

namespace {

/// Of one operand: what each element becomes.
const std::map<std::string, const char *> kFormulas = {{"abs", "abs({0})"},
                                                       {"sin", "sin({0})"},
                                                       {"cos", "cos({0})"},
                                                       {"log", "log({0})"},
                                                       {"log2", "log({0}) / 0.69314718"},
                                                       {"log10", "log({0}) / 2.30258509"},
                                                       {"log1p", "log(1 + {0})"},
                                                       {"expm1", "exp({0}) - 1"},
                                                       {"exp2", "exp({0} * 0.69314718)"},
                                                       {"erf", "erf({0})"},
                                                       {"erfc", "1 - erf({0})"},
                                                       {"tan", "sin({0}) / cos({0})"},
                                                       {"sign", "sign({0})"},
                                                       {"sgn", "sign({0})"},
                                                       {"floor", "floor({0})"},
                                                       {"round", "round({0})"},
                                                       {"mish", "{0} * tanh(log(1 + exp({0})))"},
                                                       {"softsign", "{0} / (1 + abs({0}))"},
                                                       {"log_sigmoid", "0 - log(1 + exp(0 - {0}))"},
                                                       {"log_sigmoid_forward", "0 - log(1 + exp(0 - {0}))"},
                                                       {"logit", "log({0} / (1 - {0}))"},
                                                       {"tanhshrink", "{0} - tanh({0})"},
                                                       {"reciprocal", "1 / {0}"},
                                                       {"rsqrt", "1 / sqrt({0})"},
                                                       {"selu", "1.05070099 * (if {0} > 0 then {0} else 1.67326324 * "
                                                                "(exp({0}) - 1))"}};

void byFormula(TorchContext &c, const TorchNode &node) {
  std::string op = node.op.substr(5);
  c.setResult(stated(c, op, kFormulas.at(op), {c.tensor(node.order.at(0))}));
}

/// Of two operands: element by element, or with a number.
const std::map<std::string, const char *> kPairs = {{"maximum", "max({0}, {1})"},
                                                    {"minimum", "min({0}, {1})"},
                                                    {"fmax", "max({0}, {1})"},
                                                    {"fmin", "min({0}, {1})"},
                                                    {"gt", "if {0} > {1} then 1 else 0"},
                                                    {"ge", "if {0} >= {1} then 1 else 0"},
                                                    {"lt", "if {0} < {1} then 1 else 0"},
                                                    {"le", "if {0} <= {1} then 1 else 0"},
                                                    {"eq", "if {0} == {1} then 1 else 0"},
                                                    {"ne", "if {0} != {1} then 1 else 0"},
                                                    {"remainder", "{0} % {1}"}};

void byPair(TorchContext &c, const TorchNode &node) {
  std::string op = node.op.substr(5), formula = kPairs.at(op == "max" || op == "min" ? op + "imum" : op);
  if (auto number = c.isNumber("other") ? c.number("other") : std::nullopt) {
    formula.replace(formula.find("{1}"), 3, "by");
    return c.setResult(stated(c, op, formula, {c.tensor("self")}, {{"by", *number}}));
  }
  c.setResult(stated(c, op, formula, {c.tensor("self"), c.tensor("other")}));
}

void withNumbers(TorchContext &c, const TorchNode &node) {
  std::string op = node.op.substr(5);
  TorchValue x = c.tensor(node.order.at(0));
  auto set = [&](const char *name, const char *formula, const std::vector<std::pair<std::string, double>> &numbers) {
    c.setResult(stated(c, name, formula, {x}, numbers));
  };
  if (op == "celu")
    return set("celu", "if {0} > 0 then {0} else alpha * (exp({0} / alpha) - 1)",
               {{"alpha", c.number("alpha").value_or(1)}});
  if (op == "threshold")
    return set("threshold", "if {0} > above then {0} else other",
               {{"above", c.number("threshold").value_or(0)}, {"other", c.number("value").value_or(0)}});
  double by = c.number("lambd").value_or(0.5);
  if (op == "hardshrink")
    return set("hardshrink", "if abs({0}) > by then {0} else 0", {{"by", by}});
  set("softshrink", "if {0} > by then {0} - by else (if {0} < 0 - by then {0} + by else 0)", {{"by", by}});
}

/// start + weight * (end - start).
void lerp(TorchContext &c, const TorchNode &) {
  TorchValue start = c.tensor("self"), end = c.tensor("end");
  if (auto weight = c.isNumber("weight") ? c.number("weight") : std::nullopt)
    return c.setResult(stated(c, "lerp", "{0} + by * ({1} - {0})", {start, end}, {{"by", *weight}}));
  c.setResult(stated(c, "lerp", "{0} + {2} * ({1} - {0})", {start, end, c.tensor("weight")}));
}

} // namespace

std::vector<TorchOperators> torchStated() {
  static const std::vector<std::string> unary = [] {
    std::vector<std::string> all;
    for (const auto &[op, formula] : kFormulas)
      all.push_back("aten." + op);
    return all;
  }();
  static const std::vector<std::string> pairs = [] {
    std::vector<std::string> all;
    for (const auto &[op, formula] : kPairs)
      all.push_back("aten." + op);
    return all;
  }();
  std::vector<TorchOperators> all{{lerp, {"aten.lerp"}},
                                  {withNumbers, {"aten.celu", "aten.threshold", "aten.hardshrink", "aten.softshrink"}}};
  for (const std::string &name : unary)
    all.push_back({byFormula, {name.c_str()}});
  for (const std::string &name : pairs)
    all.push_back({byPair, {name.c_str()}});
  return all;
}

} // namespace accord::import
