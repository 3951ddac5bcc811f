// What a program computes from constants and integers alone: nothing of it is trained. Few numbers are computed here,
// so that positions and masks are known.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {
namespace {

using Numbers = std::vector<double>;

/// The shape of one sample: what is the same for all samples has one.
Shape reduced(const TorchContext &c, Shape shape) {
  for (int64_t &extent : shape)
    if (c.hasBatch(extent))
      extent /= c.batch;
  return shape;
}

struct Known {
  Shape shape;
  Numbers numbers;
};

std::optional<Known> knownOf(const TorchContext &c, const TorchValue &value) {
  if (value.kind != Kind::Constant || !value.numbers)
    return std::nullopt;
  return Known{reduced(c, value.full), *value.numbers};
}

/// Where the element of a result at `index` is in an operand that broadcasts to it.
int64_t placeOf(const Shape &shape, const Shape &index) {
  int64_t at = 0;
  size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    at = at * shape[i] + (shape[i] == 1 ? 0 : index[skip + i]);
  return at;
}

template <typename Visit> void forEachIndex(const Shape &shape, Visit visit) {
  Shape index(shape.size(), 0);
  int64_t many = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  for (int64_t i = 0; i < many; ++i) {
    visit(index);
    for (size_t d = shape.size(); d > 0; --d) {
      if (++index[d - 1] < shape[d - 1])
        break;
      index[d - 1] = 0;
    }
  }
}

using Binary = double (*)(double, double);
const std::map<std::string, Binary> kBinary = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"rsub", [](double a, double b) { return b - a; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"pow", [](double a, double b) { return std::pow(a, b); }},
    {"remainder", [](double a, double b) { return a - b * std::floor(a / b); }},
    {"floor_divide", [](double a, double b) { return std::floor(a / b); }},
    {"min", [](double a, double b) { return std::min(a, b); }},
    {"minimum", [](double a, double b) { return std::min(a, b); }},
    {"maximum", [](double a, double b) { return std::max(a, b); }},
    {"eq", [](double a, double b) { return double(a == b); }},
    {"ne", [](double a, double b) { return double(a != b); }},
    {"lt", [](double a, double b) { return double(a < b); }},
    {"le", [](double a, double b) { return double(a <= b); }},
    {"gt", [](double a, double b) { return double(a > b); }},
    {"ge", [](double a, double b) { return double(a >= b); }},
    {"logical_and", [](double a, double b) { return double(a != 0 && b != 0); }},
    {"bitwise_and", [](double a, double b) { return double(a != 0 && b != 0); }},
    {"__and__", [](double a, double b) { return double(a != 0 && b != 0); }},
    {"logical_or", [](double a, double b) { return double(a != 0 || b != 0); }},
    {"bitwise_or", [](double a, double b) { return double(a != 0 || b != 0); }},
    {"__or__", [](double a, double b) { return double(a != 0 || b != 0); }}};

using Unary = double (*)(double);
const std::map<std::string, Unary> kUnary = {{"neg", [](double a) { return -a; }},
                                             {"abs", [](double a) { return std::abs(a); }},
                                             {"log", [](double a) { return std::log(a); }},
                                             {"exp", [](double a) { return std::exp(a); }},
                                             {"sqrt", [](double a) { return std::sqrt(a); }},
                                             {"rsqrt", [](double a) { return 1 / std::sqrt(a); }},
                                             {"floor", [](double a) { return std::floor(a); }},
                                             {"ceil", [](double a) { return std::ceil(a); }},
                                             {"sin", [](double a) { return std::sin(a); }},
                                             {"cos", [](double a) { return std::cos(a); }},
                                             {"logical_not", [](double a) { return double(a == 0); }},
                                             {"bitwise_not", [](double a) { return double(a == 0); }},
                                             {"alias", [](double a) { return a; }},
                                             {"clone", [](double a) { return a; }},
                                             {"contiguous", [](double a) { return a; }},
                                             {"detach", [](double a) { return a; }},
                                             {"detach_", [](double a) { return a; }},
                                             {"lift_fresh_copy", [](double a) { return a; }}};

const std::set<std::string> kViews = {"view",    "reshape",   "flatten",      "unflatten",
                                      "squeeze", "unsqueeze", "_unsafe_view", "view_as"};
const std::set<std::string> kRandom = {"rand",   "randn",   "rand_like", "randn_like",  "bernoulli", "uniform",
                                       "normal", "randint", "randperm",  "exponential", "dropout"};
const std::set<std::string> kFilled = {"zeros", "zeros_like", "new_zeros", "ones",          "ones_like", "new_ones",
                                       "full",  "full_like",  "new_full",  "scalar_tensor", "fill"};

class Folder {
public:
  Folder(TorchContext &c, const TorchNode &node, Shape out) : c(c), node(node), out(std::move(out)) {}

  /// The numbers of the result; nothing if they are not known.
  std::optional<Numbers> numbers() {
    std::string op = node.op.substr(5);
    auto many = elementsOf(out);
    if (!many || *many > TorchContext::kMaxNumbers)
      return std::nullopt;
    if (kFilled.count(op))
      return filled(op);
    static const std::map<std::string, std::optional<Numbers> (Folder::*)()> kOwn = {
        {"arange", &Folder::range}, {"cat", &Folder::joined}, {"where", &Folder::chosen}};
    if (auto own = kOwn.find(op); own != kOwn.end())
      return (this->*own->second)();
    auto x = operand(node.order.empty() ? "" : node.order[0]);
    if (!x)
      return std::nullopt;
    if (auto found = kUnary.find(op); found != kUnary.end())
      return each(*x, found->second);
    if (kViews.count(op))
      return x->numbers;
    if (op == "expand" || op == "broadcast_to")
      return at([&](const Shape &index) { return element(*x, index); });
    static const std::map<std::string, std::optional<Numbers> (Folder::*)(const Known &)> kMoves = {
        {"to", &Folder::cast},          {"_to_copy", &Folder::cast},      {"type_as", &Folder::cast},
        {"slice", &Folder::taken},      {"select", &Folder::taken},       {"narrow", &Folder::taken},
        {"permute", &Folder::permuted}, {"transpose", &Folder::permuted}, {"t", &Folder::permuted},
        {"cumsum", &Folder::summed},    {"tril", &Folder::triangle},      {"triu", &Folder::triangle},
        {"clamp", &Folder::clamped},    {"index", &Folder::indexed},      {"diff", &Folder::differences}};
    if (auto move = kMoves.find(op); move != kMoves.end())
      return (this->*move->second)(*x);
    return both(op, *x);
  }

private:
  /// A tensor whose numbers are known, or a number.
  std::optional<Known> operand(const std::string &key) {
    const TorchArgument *argument = key.empty() ? nullptr : node.find(key);
    if (!argument)
      return std::nullopt;
    if (argument->kind == TorchArgument::Kind::Tensor)
      return knownOf(c, c.valueOf(argument->names[0]));
    if (auto number = c.isNumber(key) ? c.number(key) : std::nullopt)
      return Known{{}, {*number}};
    return std::nullopt;
  }

  std::optional<Numbers> both(const std::string &op, const Known &x) {
    auto found = kBinary.find(op);
    auto y = operand(node.order.size() > 1 ? node.order[1] : "");
    double alpha = c.number("alpha").value_or(1);
    if (found == kBinary.end() || !y || (alpha != 1 && op != "add" && op != "sub") || c.has("rounding_mode") ||
        x.shape.size() > out.size() || y->shape.size() > out.size())
      return std::nullopt;
    return at([&](const Shape &index) { return found->second(element(x, index), alpha * element(*y, index)); });
  }

  /// An element of an operand; a file whose shapes do not fit has none there.
  double element(const Known &x, const Shape &index) {
    int64_t place = x.shape.size() > index.size() ? -1 : placeOf(x.shape, index);
    fits = fits && place >= 0 && place < std::ssize(x.numbers);
    return fits ? x.numbers[place] : 0;
  }

  /// The numbers of the result by their indices; nothing if one of them is in no operand.
  template <typename Visit> std::optional<Numbers> at(Visit visit) {
    Numbers all;
    forEachIndex(out, [&](const Shape &index) { all.push_back(visit(index)); });
    return fits ? std::optional(std::move(all)) : std::nullopt;
  }

  static Numbers each(const Known &x, Unary function) {
    Numbers all;
    for (double one : x.numbers)
      all.push_back(function(one));
    return all;
  }

  std::optional<Numbers> filled(const std::string &op) {
    bool ones = llvm::StringRef(op).contains("ones"), zeros = llvm::StringRef(op).contains("zeros");
    const char *key = op == "scalar_tensor" ? "s" : op == "fill" ? "value" : "fill_value";
    auto value = zeros ? std::optional(0.0) : ones ? std::optional(1.0) : c.number(key);
    if (!value)
      return std::nullopt;
    return Numbers(static_cast<size_t>(*elementsOf(out)), *value);
  }

  std::optional<Numbers> range() {
    if (out.size() != 1)
      return std::nullopt;
    double start = c.number("start").value_or(0), step = c.number("step").value_or(1);
    Numbers all;
    for (int64_t i = 0; i < out[0]; ++i)
      all.push_back(start + static_cast<double>(i) * step);
    return all;
  }

  std::optional<Numbers> joined() {
    std::vector<Known> parts;
    for (const TorchValue &value : c.list("tensors")) {
      auto part = knownOf(c, value);
      if (!part || part->shape.size() != out.size())
        return std::nullopt;
      parts.push_back(std::move(*part));
    }
    int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(out));
    return at([&](Shape index) {
      for (const Known &part : parts) {
        if (index[dim] < part.shape[dim])
          return element(part, index);
        index[dim] -= part.shape[dim];
      }
      fits = false;
      return 0.0;
    });
  }

  std::optional<Numbers> chosen() {
    auto condition = operand("condition"), yes = operand("self"), no = operand("other");
    if (!condition || !yes || !no)
      return std::nullopt;
    return at([&](const Shape &index) {
      const Known &from = element(*condition, index) != 0 ? *yes : *no;
      return element(from, index);
    });
  }

  std::optional<Numbers> cast(const Known &x) {
    TorchType to = c.typeInFile(node.outputs.at(0));
    Numbers all = x.numbers;
    for (double &one : all)
      one = to == TorchType::Integer ? std::trunc(one) : to == TorchType::Boolean ? double(one != 0) : one;
    return all;
  }

  std::optional<Numbers> taken(const Known &x) {
    std::string op = node.op.substr(5);
    int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.shape)), extent = x.shape[dim];
    int64_t start = c.integer(op == "select" ? "index" : "start", 0), step = c.integer("step", 1);
    start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
    if (out.size() + (op == "select" ? 1 : 0) != x.shape.size())
      return std::nullopt;
    return at([&](Shape index) {
      if (op == "select")
        index.insert(index.begin() + dim, 0);
      index[dim] = std::min(start + index[dim] * step, extent - 1);
      return element(x, index);
    });
  }

  std::optional<Numbers> permuted(const Known &x) {
    std::string op = node.op.substr(5);
    int64_t rank = std::ssize(x.shape);
    Shape order(x.shape.size());
    std::iota(order.begin(), order.end(), 0);
    if (op == "permute")
      order = c.integers("dims").value_or(order);
    else if (rank >= 2)
      std::swap(order[c.dimOf(op == "t" ? 0 : c.integer("dim0", 0), rank)],
                order[c.dimOf(op == "t" ? 1 : c.integer("dim1", 1), rank)]);
    for (int64_t &from : order)
      from = c.dimOf(from, rank);
    if (order.size() != out.size() || rank != std::ssize(out))
      return std::nullopt;
    return at([&](const Shape &index) {
      Shape from(index.size());
      for (size_t i = 0; i < index.size(); ++i)
        from[order[i]] = index[i];
      return element(x, from);
    });
  }

  std::optional<Numbers> summed(const Known &x) {
    int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.shape));
    Numbers all = x.numbers;
    int64_t stride = 1;
    for (int64_t i = dim + 1; i < std::ssize(x.shape); ++i)
      stride *= x.shape[i];
    for (int64_t i = 0; i < std::ssize(all); ++i)
      if (i / stride % x.shape[dim] != 0)
        all[i] += all[i - stride];
    return all;
  }

  std::optional<Numbers> triangle(const Known &x) {
    bool lower = node.op == "aten.tril";
    int64_t diagonal = c.integer("diagonal", 0);
    if (out.size() < 2)
      return std::nullopt;
    return at([&](const Shape &index) {
      int64_t over = index.back() - index[index.size() - 2];
      return (lower ? over <= diagonal : over >= diagonal) ? element(x, index) : 0.0;
    });
  }

  /// x[i, j] at known places that broadcast.
  std::optional<Numbers> indexed(const Known &x) {
    const TorchArgument *argument = node.find("indices");
    if (!argument || argument->names.size() != x.shape.size())
      return std::nullopt;
    std::vector<Known> places;
    for (const std::string &name : argument->names) {
      auto place = name.empty() ? std::nullopt : knownOf(c, c.valueOf(name));
      if (!place || place->shape.size() > out.size())
        return std::nullopt;
      places.push_back(std::move(*place));
    }
    return at([&](const Shape &index) {
      Shape from;
      for (size_t i = 0; i < places.size(); ++i) {
        auto one = static_cast<int64_t>(element(places[i], index));
        one += one < 0 ? x.shape[i] : 0;
        fits = fits && one >= 0 && one < x.shape[i];
        from.push_back(fits ? one : 0);
      }
      return element(x, from);
    });
  }

  /// Of neighbours along the last dimension; before the first stands `prepend`.
  std::optional<Numbers> differences(const Known &x) {
    auto before = operand("prepend");
    int64_t last = x.shape.empty() ? 0 : x.shape.back();
    if (c.integer("n", 1) != 1 || x.shape.empty() ||
        c.dimOf(c.integer("dim", -1), std::ssize(x.shape)) + 1 != std::ssize(x.shape) || c.has("append") || !before ||
        before->shape.size() != x.shape.size() || before->shape.back() != 1 || out != x.shape || last < 1)
      return std::nullopt;
    return at([&](Shape index) {
      double here = element(x, index);
      Shape first = index;
      first.back() = 0;
      if (index.back() == 0)
        return here - element(*before, first);
      --index.back();
      return here - element(x, index);
    });
  }

  std::optional<Numbers> clamped(const Known &x) {
    double low = c.number("min").value_or(-INFINITY), high = c.number("max").value_or(INFINITY);
    Numbers all = x.numbers;
    for (double &one : all)
      one = std::min(std::max(one, low), high);
    return all;
  }

  TorchContext &c;
  const TorchNode &node;
  Shape out;
  bool fits = true; ///< all indices lie in their operands
};

/// The share of elements that random numbers make zero.
double rateOf(TorchContext &c, const std::string &op) {
  if (op == "bernoulli")
    return 1 - c.number("p").value_or(1);
  if (op == "dropout")
    return c.number("p").value_or(0.5);
  return 0.5;
}

bool isNative(const std::string &op) {
  static const std::set<std::string> kNative = {"view",      "reshape",  "flatten", "unflatten",    "squeeze",
                                                "unsqueeze", "slice",    "select",  "permute",      "transpose",
                                                "expand",    "clone",    "alias",   "detach",       "contiguous",
                                                "to",        "_to_copy", "narrow",  "_unsafe_view", "lift_fresh_copy"};
  return kNative.count(op) != 0;
}

/// What the operands of a node are; nothing if one of them is trained or computed from numbers.
struct Operands {
  bool fixed = false, noise = false;
  double rate = 0;
};
std::optional<Operands> operandsOf(TorchContext &c, const TorchNode &node, const std::string &op) {
  Operands found;
  bool moves = isNative(op) && c.typeInFile(node.outputs[0]) == TorchType::Integer;
  for (const std::string &key : node.order) {
    const TorchArgument *argument = node.find(key);
    if (!argument)
      continue;
    for (const std::string &name : argument->names) {
      if (name.empty())
        continue;
      TorchValue value = c.valueOf(name);
      bool integer = value.kind == Kind::Computed && value.type != TorchType::Float;
      if (value.kind == Kind::Weight || (value.kind == Kind::Computed && !integer) || (integer && moves))
        return std::nullopt;
      found.fixed |= value.kind == Kind::Fixed || integer;
      found.noise |= value.kind == Kind::Noise;
      found.rate = std::max(found.rate, value.rate);
    }
  }
  return found;
}

} // namespace

bool foldTorch(TorchContext &c, const TorchNode &node) {
  if (!llvm::StringRef(node.op).starts_with("aten.") || node.outputs.empty())
    return false;
  std::string op = node.op.substr(5);
  bool shapeOnly = llvm::StringRef(op).ends_with("_like") || llvm::StringRef(op).starts_with("new_") || op == "fill";
  auto operands = shapeOnly ? Operands() : operandsOf(c, node, op);
  if (!operands)
    return false;
  if (kRandom.count(op)) {
    operands->noise = true;
    operands->rate = rateOf(c, op);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    TorchValue result;
    result.kind = operands->fixed ? Kind::Fixed : operands->noise ? Kind::Noise : Kind::Constant;
    result.rate = operands->rate;
    result.full = c.shapeInFile(node.outputs[i]);
    result.type = c.typeInFile(node.outputs[i]);
    Shape sample = reduced(c, result.full);
    bool known = result.kind == Kind::Constant && node.outputs.size() == 1;
    if (auto numbers = known ? Folder(c, node, sample).numbers() : std::nullopt;
        numbers && std::ssize(*numbers) == elementsOf(sample))
      result.numbers = std::make_shared<const Numbers>(std::move(*numbers));
    c.setResult(std::move(result), i);
  }
  return true;
}

} // namespace accord::import
