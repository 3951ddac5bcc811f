// One ONNX graph -> a Sketch: what each operator becomes. Internal to lib/import.
#pragma once
#include "lib/import/onnx/Onnx.h"
#include "lib/import/onnx/OnnxFile.h"

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

class OnnxImporter {
public:
  OnnxImporter(Diagnostics &diags, FileId file, const OnnxModel &model, const OnnxOptions &options);
  /// False after errors.
  bool run();

  DnnTextBuilder textBuilder;
  std::vector<std::string> notes; ///< what a reader should know
  std::string batchText() const;

  using Handler = void (OnnxImporter::*)(const OnnxNode &);
  static const std::map<std::string, Handler> &handlers();

private:
  using Batch = OnnxValue::Batch;
  struct Failed {}; ///< thrown by `refuse`, caught where a node is imported

  // OnnxImport.cpp
  void readInputs();
  void node(const OnnxNode &node);
  bool endsInLoss(const OnnxNode &node);
  void addLosses();
  void addLoss(const OnnxPort &output, const std::string &kind);
  [[noreturn]] void reportUnsupported(const std::string &reason);
  [[noreturn]] void reportInvalid(const std::string &reason);
  void noteOnce(const std::string &note);

  // OnnxValues.cpp
  const OnnxValue &get(const OnnxNode &node, size_t i);
  /// A value that the model computes; initializers become parameters. As many dimensions as `like`
  /// has after its batch, if that makes the two fit.
  OnnxValue tensor(const OnnxNode &node, size_t i);
  OnnxValue parameterOf(const OnnxTensor &constant);
  const OnnxTensor *initializer(const OnnxNode &node, size_t i);
  const OnnxTensor &weight(const OnnxNode &node, size_t i, size_t rank);
  std::optional<double> scalar(const OnnxValue &value) const;
  std::optional<std::vector<int64_t>> integers(const OnnxNode &node, size_t i);
  /// The attribute, or from opset 13 or so the constant input.
  std::optional<std::vector<int64_t>> listed(const OnnxNode &node, const char *key, size_t input);
  Shape sampleOf(const Shape &full, Batch batch);
  /// The dimension of a sample that `axis` of the file's tensor means.
  int64_t axisOf(const OnnxValue &value, int64_t axis);
  DnnTextBuilder::Id sized(const OnnxNode &node, size_t i, size_t rank);
  void setResult(const OnnxNode &node, OnnxValue value, size_t output = 0);
  void setResult(const OnnxNode &node, DnnTextBuilder::Id id, Shape full, Batch batch, size_t output = 0);
  /// The result of a reshape to `full`; finds where the batch went.
  OnnxValue viewed(const OnnxValue &x, Shape full);
  std::string nameOf(const OnnxNode &node) const;
  std::string originOf(const OnnxNode &node) const;
  void shareNote(const OnnxTensor &tensor);

  // OnnxFold.cpp: true if the result is known without the model's inputs.
  bool fold(const OnnxNode &node);

  // OnnxLayers.cpp
  void conv(const OnnxNode &node);
  void convTranspose(const OnnxNode &node);
  void gemm(const OnnxNode &node);
  void matmul(const OnnxNode &node);
  void batchNorm(const OnnxNode &node);
  void layerNorm(const OnnxNode &node);
  void groupNorm(const OnnxNode &node);
  void pool(const OnnxNode &node);
  void globalPool(const OnnxNode &node);
  void gather(const OnnxNode &node);
  void gatherNd(const OnnxNode &node);
  struct Window {
    std::vector<std::string> attributes;
    Shape extents;
  };
  Window window(const OnnxNode &node, const Shape &image, const Shape &kernel);
  DnnTextBuilder::Id linear(const OnnxNode &node, DnnTextBuilder::Id x, const OnnxTensor &w, bool transposed,
                            bool bias);

  // OnnxElementwise.cpp
  void unary(const OnnxNode &node);
  void binary(const OnnxNode &node);
  void byNumber(const OnnxNode &node, const OnnxValue &x, double number, bool numberFirst);
  void clip(const OnnxNode &node);
  void hardSigmoid(const OnnxNode &node);
  void leaky(const OnnxNode &node);
  void power(const OnnxNode &node);
  void dropout(const OnnxNode &node);
  void softmax(const OnnxNode &node);
  void reduce(const OnnxNode &node);
  void same(const OnnxNode &node);

  // OnnxMovement.cpp
  void reshape(const OnnxNode &node);
  void flatten(const OnnxNode &node);
  void squeeze(const OnnxNode &node);
  void unsqueeze(const OnnxNode &node);
  void transpose(const OnnxNode &node);
  void concat(const OnnxNode &node);
  void split(const OnnxNode &node);
  void slice(const OnnxNode &node);
  void expand(const OnnxNode &node);
  void resize(const OnnxNode &node);
  void onlyFolded(const OnnxNode &node);
  /// What Reshape, Squeeze or Unsqueeze makes of a shape.
  Shape reshapedBy(const OnnxNode &node, const Shape &from);

  Diagnostics &diags;
  FileId file;
  const OnnxModel &model;
  const OnnxOptions &options;
  std::map<std::string, OnnxValue> values;
  std::map<std::string, int> uses;                      ///< of initializers, by the nodes
  std::map<std::string, DnnTextBuilder::Id> parameters; ///< initializers declared for several uses
  std::map<std::string, std::string> outputsBefore;     ///< a final softmax or sigmoid, left out
  const OnnxNode *current = nullptr;
  /// The batch as an extent: the file's own number, or a prime that no shape contains by chance.
  int64_t batch = 1'000'003;
  bool batchIsOpen = true;
  size_t unnamed = 0;
};

} // namespace accord::import
