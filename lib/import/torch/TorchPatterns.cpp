// Modules write some operations as several. Each function below looks at one node as the last of such a group.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace accord::import {
namespace {

class Matcher {
public:
  explicit Matcher(TorchModel &model) : model(model) {
    for (TorchNode &node : model.nodes)
      for (const std::string &name : node.outputs)
        producers[name] = &node;
    for (const TorchInput &input : model.inputs)
      if (input.kind == TorchInput::Kind::Parameter)
        parameters.insert(input.value);
  }

  void run() {
    for (TorchNode &node : model.nodes) {
      gelu(node);
      silu(node);
      rmsNorm(node);
      rotary(node);
      logLikelihood(node);
    }
  }

private:
  static std::string tensor(const TorchNode *node, const char *key) {
    const TorchArgument *argument = node ? node->find(key) : nullptr;
    return argument && argument->kind == TorchArgument::Kind::Tensor ? argument->names[0] : "";
  }
  static std::optional<double> number(const TorchNode *node, const char *key) {
    const TorchArgument *argument = node ? node->find(key) : nullptr;
    if (argument && argument->kind == TorchArgument::Kind::Number)
      return argument->numbers[0];
    if (argument && argument->kind == TorchArgument::Kind::Integers && !argument->list &&
        argument->integers[0].first.empty())
      return static_cast<double>(argument->integers[0].second);
    return std::nullopt;
  }
  /// What makes a value, behind changes of its type.
  TorchNode *made(std::string name, const char *op) {
    auto found = producers.find(name);
    while (found != producers.end() && (found->second->op == "aten.to" || found->second->op == "aten._to_copy" ||
                                        found->second->op == "aten.type_as" || found->second->op == "aten.float"))
      found = producers.find(name = tensor(found->second, found->second->order[0].c_str()));
    return found != producers.end() && found->second->op == op ? found->second : nullptr;
  }
  /// A value behind changes of its type.
  std::string behind(std::string name) {
    for (auto found = producers.find(name);
         found != producers.end() && (found->second->op == "aten.to" || found->second->op == "aten._to_copy");
         found = producers.find(name))
      name = tensor(found->second, found->second->order[0].c_str());
    return name;
  }
  static bool near(std::optional<double> a, double b) { return a && std::abs(*a - b) <= 1e-3 * std::abs(b); }
  /// The tensor of `op(tensor, number)`.
  std::string with(const std::string &name, const char *op, double wanted) {
    TorchNode *node = made(name, op);
    const char *key = node && node->find("exponent") ? "exponent" : "other";
    return node && near(number(node, key), wanted) ? tensor(node, "self") : "";
  }

  static void become(TorchNode &node, const char *op, std::vector<std::pair<std::string, std::string>> tensors) {
    node.op = op;
    node.inPlace = false;
    node.arguments.clear();
    node.order.clear();
    for (auto &[key, name] : tensors) {
      TorchArgument argument;
      argument.kind = TorchArgument::Kind::Tensor;
      argument.names = {name};
      node.order.push_back(key);
      node.arguments[key] = std::move(argument);
    }
  }

  /// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
  void gelu(TorchNode &node) {
    if (node.op != "aten.mul")
      return;
    for (const auto &[one, other] : {std::pair("self", "other"), std::pair("other", "self")}) {
      std::string x = with(tensor(&node, one), "aten.mul", 0.5);
      TorchNode *tanh = made(with(tensor(&node, other), "aten.add", 1), "aten.tanh");
      std::string inner = with(tensor(tanh, "self"), "aten.mul", std::sqrt(2 / 3.14159265358979));
      TorchNode *sum = made(inner, "aten.add");
      if (x.empty() || !sum || tensor(sum, "self") != x)
        continue;
      if (with(with(tensor(sum, "other"), "aten.mul", 0.044715), "aten.pow", 3) == x)
        return become(node, "accord.gelu", {{"self", x}});
    }
  }

  void silu(TorchNode &node) {
    if (node.op != "aten.mul")
      return;
    for (const auto &[one, other] : {std::pair("self", "other"), std::pair("other", "self")}) {
      TorchNode *sigmoid = made(tensor(&node, other), "aten.sigmoid");
      if (sigmoid && !tensor(&node, one).empty() && tensor(sigmoid, "self") == tensor(&node, one))
        return become(node, "aten.silu", {{"self", tensor(&node, one)}});
    }
  }

  /// weight * x / root(mean(x^2) + epsilon).
  void rmsNorm(TorchNode &node) {
    if (node.op != "aten.mul")
      return;
    for (const auto &[one, other] : {std::pair("self", "other"), std::pair("other", "self")}) {
      std::string weight = behind(tensor(&node, one));
      TorchNode *scaled = parameters.count(weight) ? made(tensor(&node, other), "aten.mul") : nullptr;
      TorchNode *root = scaled ? made(tensor(scaled, "other"), "aten.rsqrt") : nullptr;
      TorchNode *sum = root ? made(tensor(root, "self"), "aten.add") : nullptr;
      TorchNode *mean = sum ? made(tensor(sum, "self"), "aten.mean") : nullptr;
      std::string x = mean ? with(tensor(mean, "self"), "aten.pow", 2) : "";
      auto epsilon = number(sum, "other");
      const TorchArgument *dims = mean ? mean->find("dim") : nullptr;
      if (x.empty() || !epsilon || x != tensor(scaled, "self") || !dims || dims->integers.size() != 1 ||
          dims->integers[0].second != -1)
        continue;
      auto meta = model.tensors.find(weight);
      if (meta == model.tensors.end() || meta->second.sizes.size() != 1)
        continue;
      TorchArgument shape, eps;
      shape.kind = TorchArgument::Kind::Integers;
      shape.list = true;
      shape.integers = {{"", meta->second.sizes[0].number}};
      eps.kind = TorchArgument::Kind::Number;
      eps.numbers = {*epsilon};
      become(node, "accord.rms_norm", {{"input", behind(x)}, {"weight", weight}});
      node.arguments["normalized_shape"] = shape;
      node.arguments["eps"] = eps;
      return;
    }
  }

  /// The tensor x of concat(-second half of x, first half of x).
  std::string halfTurned(const std::string &name) {
    TorchNode *cat = made(name, "aten.cat");
    const TorchArgument *parts = cat ? cat->find("tensors") : nullptr;
    if (!parts || parts->names.size() != 2)
      return "";
    TorchNode *neg = made(parts->names[0], "aten.neg");
    TorchNode *second = neg ? made(tensor(neg, "self"), "aten.slice") : nullptr,
              *first = made(parts->names[1], "aten.slice");
    std::string x = tensor(second, "self");
    return first && !x.empty() && tensor(first, "self") == x ? x : "";
  }

  /// x * cosines + (x turned by a half) * sines: positions turn pairs.
  void rotary(TorchNode &node) {
    if (node.op != "aten.add")
      return;
    for (const auto &[one, other] : {std::pair("self", "other"), std::pair("other", "self")}) {
      TorchNode *cosines = made(tensor(&node, one), "aten.mul"), *sines = made(tensor(&node, other), "aten.mul");
      if (!cosines || !sines)
        continue;
      for (const auto &[left, right] : {std::pair("self", "other"), std::pair("other", "self")}) {
        std::string x = tensor(cosines, left);
        for (const char *side : {"self", "other"})
          if (!x.empty() && halfTurned(tensor(sines, side)) == x)
            return become(node, "accord.rotary", {{"self", x}, {"table", tensor(cosines, right)}});
      }
    }
  }

  /// nll_loss(log_softmax(x), labels).
  void logLikelihood(TorchNode &node) {
    if (node.op != "aten.nll_loss" && node.op != "aten.nll_loss_nd" && node.op != "aten.nll_loss_forward" &&
        node.op != "aten.nll_loss2d")
      return;
    TorchNode *before = made(tensor(&node, "self"), "aten.log_softmax");
    before = before ? before : made(tensor(&node, "self"), "aten._log_softmax");
    if (before)
      become(node, "accord.cross_entropy", {{"self", tensor(before, "self")}, {"target", tensor(&node, "target")}});
  }

  TorchModel &model;
  std::map<std::string, TorchNode *> producers;
  std::set<std::string> parameters;
};

} // namespace

void joinTorchPatterns(TorchModel &model) { Matcher(model).run(); }

} // namespace accord::import
