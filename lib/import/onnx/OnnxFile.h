// An ONNX file as plain data. Protocol buffers, with their exceptions and messages, end in
// OnnxFile.cpp. Internal to lib/import.
#pragma once
#include "lib/import/text/DnnTextBuilder.h"
#include <memory>

namespace accord::import {

enum class OnnxType : uint8_t { Float, Integer, Other };

/// A tensor whose numbers are known only where they are few: shapes, axes, factors.
struct OnnxTensor {
  static constexpr size_t kMaxNumbers = 1 << 16;
  Shape shape;
  OnnxType type = OnnxType::Float;
  std::optional<std::vector<double>> numbers; ///< integers saturate at 2^53
  std::string initializer;                    ///< its name if it is one
  bool isComputed = false;                    ///< from other known tensors: a mask, no weight
};

struct OnnxAttribute {
  std::string type = "INT"; ///< as ONNX calls it: INT, INTS, FLOAT, FLOATS, STRING, TENSOR, GRAPH, …
  bool isRepeated = false;  ///< the node states it again
  int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<double> list; ///< of integers or numbers
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string name, op; ///< `op` with its domain before it unless that is ONNX's own
  std::string written;  ///< the operator in the file; `op` may stand for several of them
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;
  const std::string &input(size_t i) const;
  bool has(size_t i) const { return !input(i).empty(); }
  int64_t integer(const std::string &key, int64_t otherwise) const;
  double number(const std::string &key, double otherwise) const;
  std::string text(const std::string &key) const;
  std::optional<std::vector<int64_t>> integers(const std::string &key) const;
};

struct OnnxPort {
  std::string name;
  OnnxType type = OnnxType::Float;
  bool shaped = false;
  std::vector<std::pair<int64_t, std::string>> dims; ///< extent, or its symbol; neither: unknown
};

struct OnnxModel {
  std::string producer;
  int64_t opset = 0;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> initializers;
  std::vector<OnnxPort> inputs, outputs;
  std::map<std::string, std::string> metadata; ///< what a producer says of the model, by key
};

/// The oldest and newest operator set whose meaning is known.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 24;

/// Reads the file; errors: cannot be read, is no ONNX model, an operator set that is not known.
/// `file` becomes its place in diagnostics.
std::optional<OnnxModel> readOnnx(Diagnostics &diags, const std::string &path, FileId &file);

/// The model as a file of `model.opset`: initializers and ports are of 32-bit numbers, and each attribute is of its
/// `type` (INT, INTS or FLOAT). The same model gives the same bytes.
std::string onnxBytes(const OnnxModel &model, const std::string &name);

} // namespace accord::import
