// Exporters write gelu, layer normalization and others as several nodes. Each function below looks
// at one node as the last of such a group.
#include "lib/import/onnx/OnnxGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace accord::import {
namespace {

class Matcher {
public:
  explicit Matcher(OnnxModel &model) : model(model) {
    for (OnnxNode &node : model.nodes) {
      for (const std::string &name : node.outputs)
        producers[name] = &node;
      for (const std::string &name : node.inputs) {
        ++uses[name];
        readers[name] = &node;
      }
    }
    for (const OnnxPort &output : model.outputs)
      ++uses[output.name];
  }

  void run() {
    for (OnnxNode &node : model.nodes)
      if (node.op == "Identity" && model.initializers.count(node.input(0)))
        aliases[node.outputs[0]] = node.input(0);
    for (OnnxNode &node : model.nodes) {
      for (std::string &name : node.inputs)
        if (auto alias = aliases.find(name); alias != aliases.end())
          name = alias->second;
      activation(node);
      randomMask(node);
      layerNorm(node);
      transposedWeight(node);
      addedBias(node);
    }
  }

private:
  OnnxNode *producer(const std::string &name, const char *op) {
    auto found = producers.find(name);
    return found != producers.end() && found->second->op == op ? found->second : nullptr;
  }
  const OnnxTensor *constant(const std::string &name) {
    if (auto found = model.initializers.find(name); found != model.initializers.end())
      return &found->second;
    OnnxNode *node = producer(name, "Constant");
    if (!node || !node->attributes.count("value") || !node->attributes["value"].tensor)
      return nullptr;
    return &*node->attributes["value"].tensor;
  }
  std::optional<double> scalar(const std::string &name) {
    const OnnxTensor *tensor = constant(name);
    if (tensor && tensor->numbers && tensor->numbers->size() == 1)
      return tensor->numbers->front();
    OnnxNode *node = producer(name, "Constant");
    if (node && node->attributes.count("value_float"))
      return node->attributes["value_float"].f;
    return std::nullopt;
  }
  static bool near(std::optional<double> a, double b) { return a && std::abs(*a - b) <= 1e-3 * std::abs(b); }
  /// The tensor of `op(tensor, number)` or, for the commutative ones, `op(number, tensor)`.
  std::optional<std::string> with(const std::string &name, const char *op, double number) {
    OnnxNode *node = producer(name, op);
    if (!node)
      return std::nullopt;
    bool commutes = node->op == "Add" || node->op == "Mul";
    if (near(scalar(node->input(1)), number))
      return node->input(0);
    if (commutes && near(scalar(node->input(0)), number))
      return node->input(1);
    return std::nullopt;
  }

  /// The factors of a product, those of nodes nobody else reads taken apart; numbers in `number`.
  void factors(const std::string &name, bool top, double &number, std::vector<std::string> &all) {
    OnnxNode *node = producer(name, "Mul");
    OnnxNode *quotient = node ? nullptr : producer(name, "Div");
    std::optional<double> divisor = quotient ? scalar(quotient->input(1)) : std::nullopt;
    if ((!node && !divisor) || (!top && uses[name] > 1)) {
      if (std::optional<double> one = scalar(name))
        number *= *one;
      else
        all.push_back(name);
    } else if (node) {
      factors(node->input(0), false, number, all);
      factors(node->input(1), false, number, all);
    } else {
      number /= *divisor;
      factors(quotient->input(0), false, number, all);
    }
  }

  /// x of erf(x / sqrt 2) + 1, or of the tanh that comes near it.
  std::optional<std::string> geluOperand(const std::string &name) {
    std::optional<std::string> inner = with(name, "Add", 1);
    if (!inner)
      return std::nullopt;
    if (OnnxNode *erf = producer(*inner, "Erf")) {
      if (auto x = with(erf->input(0), "Div", std::sqrt(2)))
        return x;
      return with(erf->input(0), "Mul", std::sqrt(0.5));
    }
    OnnxNode *tanh = producer(*inner, "Tanh");
    auto scaled = tanh ? with(tanh->input(0), "Mul", std::sqrt(2 / 3.14159265358979)) : std::nullopt;
    OnnxNode *sum = scaled ? producer(*scaled, "Add") : nullptr;
    if (!sum)
      return std::nullopt;
    for (size_t side : {0, 1}) {
      auto cube = with(sum->input(1 - side), "Mul", 0.044715);
      if (cube && with(*cube, "Pow", 3) == sum->input(side))
        return sum->input(side);
    }
    return std::nullopt;
  }
  /// x of min(max(x + 3, 0), 6).
  std::optional<std::string> shiftedOperand(const std::string &name) {
    OnnxNode *clip = producer(name, "Clip");
    if (!clip)
      return std::nullopt;
    auto bound = [&](size_t input, const char *key) {
      return clip->has(input) ? scalar(clip->input(input)) : clip->number(key, NAN);
    };
    bool fits = bound(1, "min") == 0.0 && near(bound(2, "max"), 6);
    return fits ? with(clip->input(0), "Add", 3) : std::nullopt;
  }
  bool isHardSigmoid(const std::string &name, const std::string &x) {
    OnnxNode *node = producer(name, "HardSigmoid");
    return node && node->input(0) == x && near(node->number("alpha", 0.2), 1.0 / 6) &&
           near(node->number("beta", 0.5), 0.5);
  }

  void become(OnnxNode &node, const char *op, std::vector<std::string> inputs) {
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes.clear();
    for (const std::string &name : node.inputs)
      ++uses[name];
  }

  /// The fraction that a random tensor of 0 and 1 leaves, of a uniform or a Bernoulli distribution.
  std::optional<double> keptBy(const std::string &name) {
    if (OnnxNode *cast = producer(name, "Cast"))
      return keptBy(cast->input(0));
    if (OnnxNode *floor = producer(name, "Floor")) // of a uniform number and what is left
      for (const char *random : {"RandomUniformLike", "RandomUniform"})
        if (OnnxNode *sum = producer(floor->input(0), "Add"))
          for (size_t side : {0, 1})
            if (producer(sum->input(side), random))
              return scalar(sum->input(1 - side));
    if (OnnxNode *less = producer(name, "Less"))
      if (producer(less->input(0), "RandomUniformLike") || producer(less->input(0), "RandomUniform"))
        return scalar(less->input(1));
    if (OnnxNode *bernoulli = producer(name, "Bernoulli")) {
      OnnxNode *filled = producer(bernoulli->input(0), "ConstantOfShape");
      if (filled && filled->attributes.count("value") && filled->attributes["value"].tensor &&
          filled->attributes["value"].tensor->numbers && filled->attributes["value"].tensor->numbers->size() == 1)
        return filled->attributes["value"].tensor->numbers->front();
    }
    return std::nullopt;
  }
  /// x times a random mask, which may be divided by what it leaves: stochastic depth, a dropout of whole samples.
  void randomMask(OnnxNode &node) {
    if (node.op != "Mul")
      return;
    for (size_t side : {0, 1}) {
      OnnxNode *div = producer(node.input(side), "Div");
      std::optional<double> kept = keptBy(div ? div->input(0) : node.input(side));
      if (!kept || !(*kept > 0 && *kept <= 1) || (div && !near(scalar(div->input(1)), *kept)))
        continue;
      become(node, "Dropout", {node.input(1 - side)});
      node.attributes["ratio"].f = 1 - *kept;
      return;
    }
  }

  void activation(OnnxNode &node) {
    if ((node.op != "Mul" && node.op != "Div") || node.outputs.size() != 1)
      return;
    double number = 1;
    std::vector<std::string> all;
    factors(node.outputs[0], true, number, all);
    if (all.size() == 1 && near(number, 1.0 / 6)) {
      if (auto x = shiftedOperand(all[0]))
        become(node, "HardSigmoidSixth", {*x});
      return;
    }
    for (size_t side : {0, 1}) {
      if (all.size() != 2)
        return;
      std::string x = all[side], other = all[1 - side];
      OnnxNode *sigmoid = producer(other, "Sigmoid"), *sixth = producer(other, "HardSigmoidSixth");
      if (near(number, 0.5) && geluOperand(other) == x)
        return become(node, "Gelu", {x});
      if (number == 1 && sigmoid && sigmoid->input(0) == x)
        return become(node, "Silu", {x});
      if (number == 1 && (isHardSigmoid(other, x) || (sixth && sixth->input(0) == x)))
        return become(node, "HardSwish", {x});
      if (near(number, 1.0 / 6) && shiftedOperand(other) == x)
        return become(node, "HardSwish", {x});
    }
  }

  /// The operand of a mean along one axis that keeps its rank; the axis goes to `means`.
  std::optional<std::string> meanOf(const std::string &name) {
    OnnxNode *mean = producer(name, "ReduceMean");
    if (!mean || mean->integer("keepdims", 1) != 1)
      return std::nullopt;
    std::vector<int64_t> axes = mean->integers("axes").value_or(std::vector<int64_t>{});
    if (const OnnxTensor *given = mean->has(1) ? constant(mean->input(1)) : nullptr)
      if (given->numbers)
        axes.assign(given->numbers->begin(), given->numbers->end());
    if (axes.size() != 1)
      return std::nullopt;
    means.insert(axes[0]);
    return mean->input(0);
  }
  /// x of x - mean(x).
  std::optional<std::string> centred(const std::string &name) {
    OnnxNode *sub = producer(name, "Sub");
    return sub && meanOf(sub->input(1)) == sub->input(0) ? std::optional(sub->input(0)) : std::nullopt;
  }

  /// (x - mean) / sqrt(mean((x - mean)^2) + epsilon), times and plus initializers.
  void layerNorm(OnnxNode &node) {
    if (node.op != "Add" && node.op != "Mul")
      return;
    auto weight = [&](OnnxNode *product) -> std::pair<std::string, std::string> {
      for (size_t side : {0, 1})
        if (product && model.initializers.count(product->input(side)))
          return {product->input(side), product->input(1 - side)};
      return {};
    };
    auto [offset, product] = node.op == "Add" ? weight(&node) : std::pair("", node.outputs[0]);
    OnnxNode *mul = producer(product, "Mul");
    means.clear();
    if (!mul || (node.op == "Add" && uses[product] != 1) || (node.op == "Mul" && addedLater(node)))
      return;
    auto [scale, quotient] = weight(mul);
    OnnxNode *div = producer(quotient, "Div");
    std::optional<std::string> x = div ? centred(div->input(0)) : std::nullopt;
    OnnxNode *root = x ? producer(div->input(1), "Sqrt") : nullptr;
    OnnxNode *sum = root ? producer(root->input(0), "Add") : nullptr;
    if (!sum)
      return;
    for (size_t side : {0, 1}) {
      std::optional<double> epsilon = scalar(sum->input(side));
      auto squares = epsilon ? meanOf(sum->input(1 - side)) : std::nullopt;
      auto difference = squares ? with(*squares, "Pow", 2) : std::nullopt;
      OnnxNode *square = squares ? producer(*squares, "Mul") : nullptr;
      if (square && square->input(0) == square->input(1))
        difference = square->input(0);
      if (!difference || centred(*difference) != x || means.size() != 1)
        continue;
      std::string bias = offset;
      become(node, "LayerNormalization", {*x, scale, bias});
      node.attributes["epsilon"].f = *epsilon;
      node.attributes["axis"].i = *means.begin();
      return;
    }
  }
  /// Whether the only reader of a product adds an initializer: that one is the last of the group.
  bool addedLater(const OnnxNode &node) {
    OnnxNode *reader = uses[node.outputs[0]] == 1 ? readers[node.outputs[0]] : nullptr;
    return reader && reader->op == "Add" &&
           llvm::any_of(reader->inputs, [&](const std::string &name) { return model.initializers.count(name) != 0; });
  }

  void transposedWeight(OnnxNode &node) {
    OnnxNode *turned = node.op == "MatMul" ? producer(node.input(1), "Transpose") : nullptr;
    if (!turned || !model.initializers.count(turned->input(0)) ||
        model.initializers[turned->input(0)].shape.size() != 2 ||
        turned->integers("perm").value_or(std::vector<int64_t>{1, 0}) != std::vector<int64_t>{1, 0})
      return;
    node.inputs[1] = turned->input(0);
    node.attributes["transB"].i = 1;
    ++uses[node.inputs[1]];
  }

  void addedBias(OnnxNode &node) {
    if (node.op != "Add")
      return;
    for (size_t side : {0, 1}) {
      auto bias = model.initializers.find(node.input(side));
      const std::string &other = node.input(1 - side);
      auto found = producers.find(other);
      if (bias == model.initializers.end() || found == producers.end() || uses[other] != 1)
        continue;
      OnnxNode *from = found->second;
      bool matmul = from->op == "MatMul", conv = from->op == "Conv" || from->op == "ConvTranspose";
      auto weight = model.initializers.find(from->input(1));
      if ((!matmul && !conv) || from->has(2) || weight == model.initializers.end())
        continue;
      const Shape &w = weight->second.shape, &b = bias->second.shape;
      std::optional<int64_t> size = elementsOf(b);
      bool fits = false;
      if (matmul && w.size() == 2)
        fits = size == w[from->integer("transB", 0) ? 0 : 1] && !b.empty() && b.back() == size;
      else if (conv && w.size() == 4)
        fits = b.size() >= 3 && size == b[b.size() - 3] &&
               size == (from->op == "Conv" ? w[0] : w[1] * from->integer("group", 1));
      if (!fits)
        continue;
      OnnxNode joined = *from;
      joined.inputs.resize(2);
      joined.inputs.push_back(node.input(side));
      joined.outputs = node.outputs;
      from->op = "Joined"; // nobody reads it any more
      from->inputs.clear();
      node = std::move(joined);
      return;
    }
  }

  OnnxModel &model;
  std::map<std::string, OnnxNode *> producers, readers; ///< of the readers, the last
  std::set<int64_t> means;
  std::map<std::string, int> uses;
  std::map<std::string, std::string> aliases;
};

} // namespace

/// The initializer that a node gives another name; null if it does not, or to what is no weight.
static const OnnxTensor *otherName(const OnnxModel &model, const OnnxNode &node) {
  if (node.op != "Identity" || node.outputs.size() != 1)
    return nullptr;
  auto found = model.initializers.find(node.input(0));
  return found != model.initializers.end() && found->second.type == OnnxType::Float ? &found->second : nullptr;
}

TiedInitializers tiedInitializers(const OnnxModel &model) {
  TiedInitializers all;
  for (const OnnxNode &node : model.nodes)
    if (const OnnxTensor *one = otherName(model, node)) {
      ++all.names;
      all.elements += elementsOf(one->shape).value_or(0);
    }
  return all;
}

void untieOnnx(OnnxModel &model) {
  std::vector<OnnxNode> kept;
  for (OnnxNode &node : model.nodes)
    if (const OnnxTensor *one = otherName(model, node)) {
      OnnxTensor own = *one;
      own.initializer = node.outputs[0];
      model.initializers[node.outputs[0]] = std::move(own);
    } else {
      kept.push_back(std::move(node));
    }
  model.nodes = std::move(kept);
}

void joinOnnxPatterns(OnnxModel &model) {
  Matcher(model).run();
  // What nothing needs any more.
  std::set<std::string> needed;
  for (const OnnxPort &output : model.outputs)
    needed.insert(output.name);
  std::vector<OnnxNode> kept;
  for (OnnxNode &node : llvm::reverse(model.nodes)) {
    if (llvm::none_of(node.outputs, [&](auto &name) { return needed.count(name) != 0; }))
      continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  model.nodes = std::move(kept);
}

} // namespace accord::import
