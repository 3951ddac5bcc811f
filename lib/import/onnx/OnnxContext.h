// The values of an ONNX graph, seen from the node that is imported. Internal to lib/import.
#pragma once
#include "lib/import/onnx/OnnxFile.h"
#include "lib/import/text/Network.h"

namespace accord::import {

/// A value of the graph: a tensor that is known or initialized, or one that the model computes.
struct OnnxValue {
  std::optional<OnnxTensor> constant;
  DnnTextBuilder::Id id = -1;
  Shape full; ///< as in the file, with the batch
  /// So many elements lie before one step of the batch is over its first sample, in the order of the tensor: the
  /// product of the extents before the batch. A reshape does not change it. Nothing: the tensor has no batch.
  std::optional<int64_t> outer;
  bool valid() const { return constant || id >= 0; }
};

/// Where the batch lies in a tensor: dimension `axis` has before * batch * behind elements, the batch being the middle.
struct BatchPlace {
  int64_t axis = 0, before = 1, behind = 1;
  bool alone = false; ///< the dimension is the batch and nothing else: a sample lacks it
  bool operator==(const BatchPlace &) const = default;
};

class OnnxContext : public Network {
public:
  OnnxContext(Diagnostics &diags, FileId file, const NetworkOptions &options, const OnnxModel &model);

  /// The node whose operands and results are meant from here on.
  void start(const OnnxNode &node);
  [[noreturn]] void reportUnsupported(const std::string &reason);
  [[noreturn]] void reportInvalid(const std::string &reason);

  const OnnxValue &get(size_t i);
  /// A value that the model computes; initializers become parameters.
  OnnxValue tensor(size_t i);
  OnnxValue parameterOf(const OnnxTensor &constant);
  /// Null if the operand is no tensor of numbers that is known.
  const OnnxTensor *initializer(size_t i);
  /// The initializer, which has exactly `rank` dimensions (0: any).
  const OnnxTensor &weight(size_t i, size_t rank = 0);
  std::optional<double> scalar(size_t i);
  std::optional<std::vector<int64_t>> integers(size_t i);
  /// The attribute, or from opset 13 or so the constant input.
  std::optional<std::vector<int64_t>> listed(const char *key, size_t input);
  /// The operand with its batch as the first dimension and a sample of exactly `rank` dimensions (0: any).
  DnnTextBuilder::Id sized(size_t i, size_t rank = 0);
  bool isShared(const OnnxTensor &tensor) const; ///< by several nodes

  /// Where the batch of a tensor of this shape lies; nothing if its dimensions cut across it.
  std::optional<BatchPlace> placeOf(const Shape &full, int64_t outer) const;
  /// Of a value that has a batch.
  BatchPlace placeOf(const OnnxValue &value) const { return *placeOf(value.full, *value.outer); }
  /// Whether the batch is the first dimension and nothing else is.
  bool leads(const OnnxValue &value) const { return value.outer && placeOf(value).axis == 0 && placeOf(value).alone; }
  /// Whether the batches of two tensors of one rank are the same dimension, alone or with what else is in it.
  bool placeLike(const OnnxValue &a, const OnnxValue &b) const {
    return placeOf(a).axis == placeOf(b).axis && placeOf(a).alone == placeOf(b).alone;
  }
  /// Whether the batches of two tensors lie at the same place, counted from the last dimension.
  bool sameBatch(const OnnxValue &a, const OnnxValue &b) const;
  /// What lies before the batch in a tensor of shape `full` that two are broadcast to; nothing if neither has one.
  std::optional<int64_t> outerOf(const Shape &full, const OnnxValue &a, const OnnxValue &b) const;
  /// Takes from the sample of `one`, which has no batch, the dimension of extent 1 where `other` has its batch.
  void strip(OnnxValue &one, const OnnxValue &other);
  /// A tensor of the file without its batch.
  Shape sampleOf(const Shape &full, std::optional<int64_t> outer);
  /// The dimension of a sample that `axis` of the file's tensor means, and `axis` counted from the front.
  int64_t axisOf(const OnnxValue &value, int64_t &axis);
  /// The result of a reshape to `full`; finds where the batch went.
  OnnxValue viewed(DnnTextBuilder::Id id, std::optional<int64_t> outer, const Shape &from, const Shape &full);
  OnnxValue viewed(const OnnxValue &x, const Shape &full) { return viewed(x.id, x.outer, x.full, full); }
  /// The shape with another extent of a dimension other than the batch's, and how much lies before the batch then.
  OnnxValue resized(OnnxValue value, int64_t axis, int64_t extent) const;

  /// A call of the language, named after the node.
  DnnTextBuilder::Id add(const std::string &call, std::vector<DnnTextBuilder::Id> operands,
                         std::vector<std::string> attributes, Shape shape) {
    return textBuilder.add(name(), call, std::move(operands), std::move(attributes), std::move(shape));
  }
  void setResult(OnnxValue value, size_t output = 0);
  void setResult(DnnTextBuilder::Id id, Shape full, std::optional<int64_t> outer, size_t output = 0) {
    setResult({std::nullopt, id, std::move(full), outer}, output);
  }
  /// The result is computed from `x` element by element, or at least has its shape.
  void setAlike(const OnnxValue &x, const std::string &call, std::vector<std::string> attributes = {}) {
    setResult(add(call, {x.id}, std::move(attributes), shape(x.id)), x.full, x.outer);
  }
  /// The result has the batch of the first operand before its sample.
  void setImage(DnnTextBuilder::Id id);

  std::string name() const;    ///< of the node
  std::string subject() const; ///< "Conv '/end/Conv'"

  const OnnxModel &model;
  std::map<std::string, OnnxValue> values;
  std::map<std::string, int> uses; ///< of initializers, by the nodes
  int64_t constants = 0;           ///< that became parameters
  std::string firstConstant;

private:
  std::string origin() const;

  std::map<std::string, DnnTextBuilder::Id> parameters; ///< initializers declared for several uses
  const OnnxNode *node = nullptr;
};

/// Imports the node that the context has started.
using OnnxHandler = void (*)(OnnxContext &, const OnnxNode &);
struct OnnxOperators {
  OnnxHandler import;
  std::vector<const char *> names; ///< in ONNX
};
std::vector<OnnxOperators> onnxElementwise(), onnxLayers(), onnxMovement(), onnxSequences(), onnxWindows();
/// True if the result of the node is known without the model's inputs.
bool foldOnnx(OnnxContext &context, const OnnxNode &node);
/// What Reshape, Squeeze or Unsqueeze makes of a shape.
Shape reshapedBy(OnnxContext &context, const OnnxNode &node, const Shape &from);

} // namespace accord::import
