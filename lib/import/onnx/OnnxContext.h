// The values of an ONNX graph, seen from the node that is imported. Internal to lib/import.
#pragma once
#include "lib/import/onnx/OnnxFile.h"
#include "lib/import/text/Network.h"

namespace accord::import {

/// A value of the graph: a tensor that is known or initialized, or one that the model computes.
struct OnnxValue {
  /// How the batch lies in a computed tensor: not at all, as its first dimension, or as a factor
  /// of the first dimension (batch * tokens).
  enum class Batch : uint8_t { None, Leads, Merged };
  std::optional<OnnxTensor> constant;
  DnnTextBuilder::Id id = -1;
  Shape full; ///< as in the file, with the batch
  Batch batch = Batch::None;
  bool valid() const { return constant || id >= 0; }
};
using Batch = OnnxValue::Batch;

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
  const OnnxTensor &weight(size_t i, size_t rank);
  std::optional<double> scalar(size_t i);
  std::optional<std::vector<int64_t>> integers(size_t i);
  /// The attribute, or from opset 13 or so the constant input.
  std::optional<std::vector<int64_t>> listed(const char *key, size_t input);
  /// The operand with its sample of exactly `rank` dimensions.
  DnnTextBuilder::Id sized(size_t i, size_t rank);
  bool isShared(const OnnxTensor &tensor) const; ///< by several nodes

  Shape sampleOf(const Shape &full, Batch batch);
  /// The dimension of a sample that `axis` of the file's tensor means, and `axis` counted from the front.
  int64_t axisOf(const OnnxValue &value, int64_t &axis);
  /// The result of a reshape to `full`; finds where the batch went.
  OnnxValue viewed(DnnTextBuilder::Id id, Batch batch, const Shape &from, const Shape &full);
  OnnxValue viewed(const OnnxValue &x, const Shape &full) { return viewed(x.id, x.batch, x.full, full); }

  /// A call of the language, named after the node.
  DnnTextBuilder::Id add(const std::string &call, std::vector<DnnTextBuilder::Id> operands,
                         std::vector<std::string> attributes, Shape shape) {
    return textBuilder.add(name(), call, std::move(operands), std::move(attributes), std::move(shape));
  }
  void setResult(OnnxValue value, size_t output = 0);
  void setResult(DnnTextBuilder::Id id, Shape full, Batch batch, size_t output = 0) {
    setResult({std::nullopt, id, std::move(full), batch}, output);
  }
  /// The result is computed from `x` element by element, or at least has its shape.
  void setAlike(const OnnxValue &x, const std::string &call, std::vector<std::string> attributes = {}) {
    setResult(add(call, {x.id}, std::move(attributes), shape(x.id)), x.full, x.batch);
  }
  /// The result has the batch of the first operand before its sample.
  void setImage(DnnTextBuilder::Id id);

  std::string name() const;    ///< of the node
  std::string subject() const; ///< "Conv '/end/Conv'"

  const OnnxModel &model;
  std::map<std::string, OnnxValue> values;
  std::map<std::string, int> uses; ///< of initializers, by the nodes

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
std::vector<OnnxOperators> onnxElementwise(), onnxLayers(), onnxMovement();
/// True if the result of the node is known without the model's inputs.
bool foldOnnx(OnnxContext &context, const OnnxNode &node);
/// What Reshape, Squeeze or Unsqueeze makes of a shape.
Shape reshapedBy(OnnxContext &context, const OnnxNode &node, const Shape &from);

} // namespace accord::import
