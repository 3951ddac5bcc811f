#include "lib/import/actors/ActorFile.h"
#include "lib/import/onnx/OnnxFile.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::import {
namespace {
using namespace jobs;

constexpr int64_t kWrittenOpset = 13;  ///< axes of reductions are attributes there
constexpr int64_t kAxesAreInputs = 18; ///< from there on they are not, of ReduceSum from the next
constexpr int64_t kAxesOfSumAreInputs = 13;
constexpr int64_t kSoftmaxByAxis = 13; ///< before, it flattens what stands behind its axis
constexpr size_t kMaxNodes = 1000;
constexpr const char *kJobs = "jobs", *kCluster = "cluster", *kOutput = "log_weights";

/// The names of the attributes that an operator has, of those whose meaning is known.
std::vector<std::string> attributesOf(ActorOperator op) {
  switch (op) {
  case ActorOperator::Gemm:
    return {"alpha", "beta", "transA", "transB"};
  case ActorOperator::Softmax:
  case ActorOperator::Concat:
    return {"axis"};
  case ActorOperator::ReduceMean:
  case ActorOperator::ReduceSum:
  case ActorOperator::ReduceMax:
    return {"axes", "keepdims"};
  case ActorOperator::Transpose:
    return {"perm"};
  default:
    return {};
  }
}

bool isReduction(ActorOperator op) {
  return op == ActorOperator::ReduceMean || op == ActorOperator::ReduceSum || op == ActorOperator::ReduceMax;
}

class ActorReader {
public:
  ActorReader(Diagnostics &diags, FileId file, const OnnxModel &model) : diags(diags), file(file), model(model) {}

  std::optional<ActorFile> read() {
    if (!takeInputs() || !takeTensors())
      return std::nullopt;
    if (model.nodes.size() > kMaxNodes)
      return fail(fmt::format("the network has {} nodes, but an actor at most {}", model.nodes.size(), kMaxNodes)),
             std::nullopt;
    for (const OnnxNode &node : model.nodes)
      if (node.op != "Constant" && !takeNode(node))
        return std::nullopt;
    // Tensors are numbered before nodes, also where a constant stands behind some.
    const size_t shift = 2 + graph.tensors.size();
    auto number = [&](size_t value) { return value & kNodeBit ? shift + (value & ~kNodeBit) : value; };
    for (ActorNode &node : graph.nodes)
      for (size_t &input : node.inputs)
        input = number(input);
    if (model.outputs.size() != 1)
      return fail(fmt::format("an actor has one output, but there are {}", model.outputs.size())), std::nullopt;
    const Value *output = find(model.outputs.front().name);
    if (!output)
      return std::nullopt;
    graph.output = number(output->number);
    auto network = ActorNetwork::make(std::move(graph));
    if (!network)
      return diags.error(network.error().code, {file, 0, 0}, network.error().message), std::nullopt;
    return ActorFile{std::move(*network), model.metadata};
  }

private:
  static constexpr size_t kNodeBit = size_t(1) << 40; ///< a value that is the result of a node
  struct Value {
    size_t number = 0;
    unsigned rank = 2;
  };

  bool fail(const std::string &message, Code code = Code::WrongJobsFile) {
    diags.error(code, {file, 0, 0}, message);
    return false;
  }

  bool define(const std::string &name, Value value) {
    if (name.empty() || !values.emplace(name, value).second)
      return fail(fmt::format("the value '{}' stands twice", name));
    return true;
  }

  const Value *find(const std::string &name) {
    auto found = values.find(name);
    if (found == values.end())
      return fail(fmt::format("the value '{}' does not exist where it is used", name)), nullptr;
    return &found->second;
  }

  bool takeInputs() {
    for (const auto &[name, number, features] :
         {std::tuple(kJobs, size_t(0), &graph.jobFeatures), std::tuple(kCluster, size_t(1), &graph.clusterFeatures)}) {
      auto port = llvm::find_if(model.inputs, [&, wanted = name](const OnnxPort &one) { return one.name == wanted; });
      if (port == model.inputs.end() || model.inputs.size() != 2)
        return fail(fmt::format("an actor has the inputs '{}' and '{}', but this network has {}", kJobs, kCluster,
                                model.inputs.empty() ? "none" : fmt::format("'{}'", fmt::join(names(), "', '"))));
      const bool isRow = number == 1;
      if (port->type != OnnxType::Float || port->dims.size() != 2 || port->dims[1].first < 1 ||
          port->dims[1].first > 1000 || (isRow ? port->dims[0].first != 1 : port->dims[0].first != 0))
        return fail(fmt::format("the input '{}' is no table of floating-point numbers [{}, features]", name,
                                isRow ? "1" : "any number"));
      *features = static_cast<size_t>(port->dims[1].first);
      if (!define(name, {number, 2}))
        return false;
    }
    return true;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const OnnxPort &port : model.inputs)
      found.push_back(port.name);
    return found;
  }

  bool takeTensors() {
    for (const auto &[name, tensor] : model.initializers)
      if (tensor.type == OnnxType::Float && !addTensor(name, tensor)) // integers are axes
        return false;
    for (const OnnxNode &node : model.nodes)
      if (node.op == "Constant") {
        auto value = node.attributes.find("value");
        if (node.outputs.size() != 1 || value == node.attributes.end() || !value->second.tensor)
          return fail("a node 'Constant' has no tensor");
        const OnnxTensor &tensor = *value->second.tensor;
        if (tensor.type == OnnxType::Float && !addTensor(node.outputs[0], tensor))
          return false;
        if (tensor.type != OnnxType::Float && !axes.emplace(node.outputs[0], tensor).second) // integers are axes
          return fail(fmt::format("the value '{}' stands twice", node.outputs[0]));
      }
    return true;
  }

  bool addTensor(const std::string &name, const OnnxTensor &tensor) {
    if (tensor.shape.size() > 2)
      return fail(fmt::format("the tensor '{}' has {} extents, but an actor's at most 2", name, tensor.shape.size()));
    if (!tensor.numbers)
      return fail(fmt::format("the numbers of the tensor '{}' are not in the file, or more than {}, or not as many as "
                              "its shape says",
                              name, size_t(OnnxTensor::kMaxNumbers)));
    for (double number : *tensor.numbers)
      if (!std::isfinite(number))
        return fail(fmt::format("the tensor '{}' has a number that is infinite or none", name));
    const auto rank = static_cast<unsigned>(tensor.shape.size());
    graph.tensors.push_back({rank < 2 ? 1 : static_cast<size_t>(tensor.shape[0]),
                             rank == 0 ? 1 : static_cast<size_t>(tensor.shape.back()), *tensor.numbers});
    return define(name, {1 + graph.tensors.size(), rank});
  }

  bool takeNode(const OnnxNode &node) {
    const std::vector<std::string> known = actorOperatorNames();
    const auto op = llvm::find(known, node.op);
    if (op == known.end())
      return fail(fmt::format("the operator '{}' is none that actors have: {}", node.op, fmt::join(known, ", ")),
                  Code::ImportUnsupported);
    ActorNode made;
    made.op = static_cast<ActorOperator>(op - known.begin());
    if (!checkAttributes(node, made.op))
      return false;
    const bool takesAxes = isReduction(made.op) &&
                           model.opset >= (made.op == ActorOperator::ReduceSum ? kAxesOfSumAreInputs : kAxesAreInputs);
    unsigned rank = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (takesAxes && i == 1)
        continue;
      const Value *value = find(node.inputs[i]);
      if (!value)
        return false;
      const bool mayBeBias = made.op == ActorOperator::Gemm && i == 2;
      if (value->rank < 2 && !mayBeBias && !isElementwise(made.op))
        return fail(fmt::format("the operand '{}' of '{}' has {} extents, but 2 are expected", node.inputs[i], node.op,
                                value->rank));
      rank = std::max(rank, value->rank);
      made.inputs.push_back(value->number);
    }
    if (node.outputs.size() != 1)
      return fail(fmt::format("a node '{}' has {} results", node.op, node.outputs.size()));
    if (!takeAttributes(node, made))
      return false;
    graph.nodes.push_back(std::move(made));
    return define(node.outputs[0], {kNodeBit | (graph.nodes.size() - 1), rank});
  }

  static bool isElementwise(ActorOperator op) { return attributesOf(op).empty() && op != ActorOperator::MatMul; }

  bool checkAttributes(const OnnxNode &node, ActorOperator op) {
    const std::vector<std::string> known = attributesOf(op);
    for (const auto &[name, value] : node.attributes)
      if (!llvm::is_contained(known, name) || value.isRepeated)
        return fail(fmt::format("the attribute '{}' of '{}' is not known, or stands twice", name, node.op),
                    Code::ImportUnsupported);
    return true;
  }

  bool takeAttributes(const OnnxNode &node, ActorNode &made) {
    made.alpha = node.number("alpha", 1);
    made.beta = node.number("beta", 1);
    if (!std::isfinite(made.alpha) || !std::isfinite(made.beta))
      return fail("a factor of 'Gemm' is infinite or none");
    made.transposesFirst = node.integer("transA", 0) != 0;
    made.transposesSecond = node.integer("transB", 0) != 0;
    if (made.op == ActorOperator::Transpose)
      if (auto perm = node.integers("perm")) {
        if (*perm != std::vector<int64_t>{1, 0} && *perm != std::vector<int64_t>{0, 1})
          return fail("'Transpose' has an order that is none of two axes");
        if (perm->front() == 0)
          made.op = ActorOperator::Identity;
      }
    if (made.op == ActorOperator::Softmax || made.op == ActorOperator::Concat) {
      const bool isSoftmax = made.op == ActorOperator::Softmax;
      if (!isSoftmax && !node.attributes.count("axis"))
        return fail("'Concat' says no axis");
      if (!takeAxis(node.integer("axis", 1), node.op, made.axis))
        return false;
      if (isSoftmax && made.axis == 0 && model.opset < kSoftmaxByAxis)
        return fail("'Softmax' over all numbers is none that actors have", Code::ImportUnsupported);
    }
    return !isReduction(made.op) || takeReduction(node, made);
  }

  bool takeAxis(int64_t axis, const std::string &op, unsigned &to) {
    if (axis < -2 || axis > 1)
      return fail(fmt::format("'{}' has the axis {}, but values have two", op, axis));
    to = static_cast<unsigned>(axis < 0 ? axis + 2 : axis);
    return true;
  }

  bool takeReduction(const OnnxNode &node, ActorNode &made) {
    if (node.integer("keepdims", 1) != 1)
      return fail(fmt::format("'{}' drops an axis (keepdims = 0), but values have two", node.op),
                  Code::ImportUnsupported);
    std::optional<std::vector<int64_t>> along = node.integers("axes");
    if (!along && node.has(1)) {
      auto found = axes.find(node.input(1));
      auto initializer = model.initializers.find(node.input(1));
      const OnnxTensor *tensor = found != axes.end()                       ? &found->second
                                 : initializer != model.initializers.end() ? &initializer->second
                                                                           : nullptr;
      if (tensor && tensor->numbers)
        along = std::vector<int64_t>(tensor->numbers->begin(), tensor->numbers->end());
    }
    if (!along || along->size() != 1)
      return fail(fmt::format("'{}' does not say one axis", node.op), Code::ImportUnsupported);
    return takeAxis(along->front(), node.op, made.axis);
  }

  Diagnostics &diags;
  const FileId file;
  const OnnxModel &model;
  std::map<std::string, Value> values;
  std::map<std::string, OnnxTensor> axes; ///< constants of integers
  ActorGraph graph;
};

OnnxAttribute attribute(int64_t value) {
  OnnxAttribute made;
  made.i = value;
  return made;
}

OnnxAttribute factor(double value) {
  OnnxAttribute made;
  made.type = "FLOAT";
  made.f = value;
  return made;
}

OnnxNode writtenNode(const ActorNode &node, const std::function<std::string(size_t)> &nameOfValue) {
  OnnxNode to;
  to.op = nameOf(node.op);
  for (size_t input : node.inputs)
    to.inputs.push_back(nameOfValue(input));
  if (isReduction(node.op)) {
    OnnxAttribute axes;
    axes.type = "INTS";
    axes.list = {static_cast<double>(node.axis)};
    to.attributes = {{"axes", axes}, {"keepdims", attribute(1)}};
  } else if (node.op == ActorOperator::Softmax || node.op == ActorOperator::Concat) {
    to.attributes = {{"axis", attribute(node.axis)}};
  } else if (node.op == ActorOperator::Gemm) {
    to.attributes = {{"alpha", factor(node.alpha)},
                     {"beta", factor(node.beta)},
                     {"transA", attribute(node.transposesFirst)},
                     {"transB", attribute(node.transposesSecond)}};
  }
  return to;
}

} // namespace

std::optional<ActorFile> readActor(Diagnostics &diags, const std::string &path) {
  FileId file;
  auto model = readOnnx(diags, path, file);
  return model ? ActorReader(diags, file, *model).read() : std::nullopt;
}

std::string actorBytes(const ActorGraph &graph, const std::map<std::string, std::string> &metadata) {
  OnnxModel model;
  model.producer = "accord";
  model.opset = kWrittenOpset;
  model.metadata = metadata;
  const size_t firstNode = 2 + graph.tensors.size();
  auto nameOfValue = [&](size_t value) -> std::string {
    if (value == graph.output)
      return kOutput;
    return value == 0          ? kJobs
           : value == 1        ? kCluster
           : value < firstNode ? fmt::format("tensor{:03}", value - 2) // names sort as numbers do
                               : fmt::format("node{:03}", value - firstNode);
  };
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const ActorTensor &from = graph.tensors[i];
    OnnxTensor &to = model.initializers[nameOfValue(2 + i)];
    to.shape = {static_cast<int64_t>(from.rows), static_cast<int64_t>(from.columns)};
    to.numbers = from.numbers;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    model.nodes.push_back(writtenNode(graph.nodes[i], nameOfValue));
    model.nodes.back().name = model.nodes.back().op + std::to_string(i);
    model.nodes.back().outputs = {nameOfValue(firstNode + i)};
  }
  auto port = [](const std::string &name, std::pair<int64_t, std::string> rows, size_t columns) {
    return OnnxPort{name, OnnxType::Float, true, {std::move(rows), {static_cast<int64_t>(columns), ""}}};
  };
  model.inputs = {port(kJobs, {0, "jobs"}, graph.jobFeatures), port(kCluster, {1, ""}, graph.clusterFeatures)};
  model.outputs = {port(kOutput, {0, "jobs"}, 1)};
  return onnxBytes(model, "actor");
}

} // namespace accord::import
