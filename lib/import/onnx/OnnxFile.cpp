#include "lib/import/onnx/OnnxFile.h"
#include "onnx.pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

namespace accord::import {

const std::string &OnnxNode::input(size_t i) const {
  static const std::string kNone;
  return i < inputs.size() ? inputs[i] : kNone;
}
int64_t OnnxNode::integer(const std::string &key, int64_t otherwise) const {
  auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : found->second.i;
}
double OnnxNode::number(const std::string &key, double otherwise) const {
  auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : found->second.f;
}
std::string OnnxNode::text(const std::string &key) const {
  auto found = attributes.find(key);
  return found == attributes.end() ? "" : found->second.s;
}
std::optional<std::vector<int64_t>> OnnxNode::integers(const std::string &key) const {
  auto found = attributes.find(key);
  if (found == attributes.end())
    return std::nullopt;
  return std::vector<int64_t>(found->second.list.begin(), found->second.list.end());
}

namespace {

OnnxType typeOf(int32_t type) {
  switch (type) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::BFLOAT16:
    return OnnxType::Float;
  case onnx::TensorProto::INT32:
  case onnx::TensorProto::INT64:
    return OnnxType::Integer;
  default:
    return OnnxType::Other;
  }
}

/// Beyond 2^53 a double skips integers; ONNX writes 2^63 - 1 for "to the end".
double saturated(int64_t value) {
  constexpr int64_t kMax = int64_t(1) << 53;
  return std::clamp(value, -kMax, kMax);
}

template <typename T> void readRaw(const std::string &raw, std::vector<double> &numbers) {
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T one;
    memcpy(&one, raw.data() + at, sizeof(T));
    if constexpr (std::is_same_v<T, int64_t>)
      numbers.push_back(saturated(one));
    else
      numbers.push_back(static_cast<double>(one));
  }
}

double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

std::vector<double> numbersOf(const onnx::TensorProto &from) {
  std::vector<double> numbers;
  const std::string &raw = from.raw_data();
  switch (from.data_type()) {
  case onnx::TensorProto::FLOAT:
    numbers.assign(from.float_data().begin(), from.float_data().end());
    readRaw<float>(raw, numbers);
    break;
  case onnx::TensorProto::DOUBLE:
    numbers.assign(from.double_data().begin(), from.double_data().end());
    readRaw<double>(raw, numbers);
    break;
  case onnx::TensorProto::INT64:
    for (int64_t value : from.int64_data())
      numbers.push_back(saturated(value));
    readRaw<int64_t>(raw, numbers);
    break;
  case onnx::TensorProto::INT32:
    numbers.assign(from.int32_data().begin(), from.int32_data().end());
    readRaw<int32_t>(raw, numbers);
    break;
  case onnx::TensorProto::BOOL:
    numbers.assign(from.int32_data().begin(), from.int32_data().end());
    readRaw<uint8_t>(raw, numbers);
    break;
  case onnx::TensorProto::FLOAT16: {
    for (int32_t value : from.int32_data())
      numbers.push_back(halfToDouble(static_cast<uint16_t>(value)));
    for (size_t at = 0; at + 2 <= raw.size(); at += 2) {
      uint16_t bits;
      memcpy(&bits, raw.data() + at, 2);
      numbers.push_back(halfToDouble(bits));
    }
    break;
  }
  default:
    break;
  }
  return numbers;
}

OnnxTensor tensorOf(const onnx::TensorProto &from) {
  OnnxTensor tensor;
  tensor.shape.assign(from.dims().begin(), from.dims().end());
  tensor.type = typeOf(from.data_type());
  std::optional<int64_t> elements = elementsOf(tensor.shape);
  bool empty = llvm::is_contained(tensor.shape, 0);
  if (from.data_location() == onnx::TensorProto::EXTERNAL ||
      (!empty && (!elements || *elements > int64_t(OnnxTensor::kMaxNumbers))))
    return tensor;
  std::vector<double> numbers = numbersOf(from);
  if (static_cast<int64_t>(numbers.size()) == (empty ? 0 : *elements))
    tensor.numbers = std::move(numbers);
  return tensor;
}

OnnxAttribute attributeOf(const onnx::AttributeProto &from) {
  OnnxAttribute attribute;
  attribute.type = onnx::AttributeProto_AttributeType_Name(from.type());
  if (from.type() == onnx::AttributeProto::UNDEFINED) // the first files said no types
    attribute.type = from.has_f()             ? "FLOAT"
                     : from.has_i()           ? "INT"
                     : from.has_s()           ? "STRING"
                     : from.has_t()           ? "TENSOR"
                     : from.floats_size() > 0 ? "FLOATS"
                                              : "INTS";
  attribute.i = from.i();
  attribute.f = from.f();
  attribute.s = from.s();
  for (int64_t i : from.ints())
    attribute.list.push_back(saturated(i));
  for (float f : from.floats())
    attribute.list.push_back(f);
  if (from.has_t())
    attribute.tensor = tensorOf(from.t());
  return attribute;
}

OnnxNode nodeOf(const onnx::NodeProto &from) {
  OnnxNode node;
  node.name = from.name();
  bool own = from.domain().empty() || from.domain() == "ai.onnx";
  node.op = own ? from.op_type() : from.domain() + "." + from.op_type();
  node.written = node.op;
  node.inputs.assign(from.input().begin(), from.input().end());
  node.outputs.assign(from.output().begin(), from.output().end());
  for (const onnx::AttributeProto &attribute : from.attribute())
    if (auto [found, isNew] = node.attributes.emplace(attribute.name(), attributeOf(attribute)); !isNew)
      found->second.isRepeated = true;
  return node;
}

OnnxPort portOf(const onnx::ValueInfoProto &from) {
  OnnxPort port;
  port.name = from.name();
  const onnx::TypeProto_Tensor &type = from.type().tensor_type();
  port.type = from.type().has_tensor_type() ? typeOf(type.elem_type()) : OnnxType::Other;
  port.shaped = type.has_shape();
  for (const onnx::TensorShapeProto_Dimension &dim : type.shape().dim())
    port.dims.emplace_back(dim.has_dim_value() ? dim.dim_value() : 0, dim.dim_param());
  return port;
}

OnnxModel modelOf(const onnx::ModelProto &from) {
  OnnxModel model;
  model.producer = from.producer_name();
  if (!from.producer_version().empty())
    model.producer += " " + from.producer_version();
  for (const onnx::OperatorSetIdProto &set : from.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx")
      model.opset = set.version();
  const onnx::GraphProto &graph = from.graph();
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    OnnxTensor &kept = model.initializers[tensor.name()] = tensorOf(tensor);
    kept.initializer = tensor.name();
  }
  for (const onnx::NodeProto &node : graph.node())
    model.nodes.push_back(nodeOf(node));
  // Up to IR version 3 the initializers are inputs as well, with these as their defaults.
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!model.initializers.count(input.name()))
      model.inputs.push_back(portOf(input));
  for (const onnx::ValueInfoProto &output : graph.output())
    model.outputs.push_back(portOf(output));
  for (const onnx::StringStringEntryProto &entry : from.metadata_props())
    model.metadata[entry.key()] = entry.value();
  return model;
}

void setPort(onnx::ValueInfoProto &to, const OnnxPort &port) {
  to.set_name(port.name);
  onnx::TypeProto_Tensor &type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const auto &[extent, symbol] : port.dims)
    if (onnx::TensorShapeProto_Dimension &dim = *type.mutable_shape()->add_dim(); symbol.empty())
      dim.set_dim_value(extent);
    else
      dim.set_dim_param(symbol);
}

void setNode(onnx::NodeProto &to, const OnnxNode &node) {
  to.set_name(node.name);
  to.set_op_type(node.op);
  for (const std::string &input : node.inputs)
    to.add_input(input);
  for (const std::string &output : node.outputs)
    to.add_output(output);
  for (const auto &[key, value] : node.attributes) {
    onnx::AttributeProto &attribute = *to.add_attribute();
    attribute.set_name(key);
    if (value.type == "INTS") {
      attribute.set_type(onnx::AttributeProto::INTS);
      for (double number : value.list)
        attribute.add_ints(static_cast<int64_t>(number));
    } else if (value.type == "FLOAT") {
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(static_cast<float>(value.f));
    } else {
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(value.i);
    }
  }
}

} // namespace

std::string onnxBytes(const OnnxModel &model, const std::string &name) {
  constexpr int64_t kIrVersion = 8; // of operator sets up to 17
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.set_producer_name(model.producer);
  proto.add_opset_import()->set_version(model.opset);
  for (const auto &[key, value] : model.metadata) {
    onnx::StringStringEntryProto &entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto &graph = *proto.mutable_graph();
  graph.set_name(name);
  for (const auto &[key, tensor] : model.initializers) {
    onnx::TensorProto &to = *graph.add_initializer();
    to.set_name(key);
    to.set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : tensor.shape)
      to.add_dims(extent);
    for (double number : *tensor.numbers)
      to.add_float_data(static_cast<float>(number));
  }
  for (const OnnxNode &node : model.nodes)
    setNode(*graph.add_node(), node);
  for (const OnnxPort &port : model.inputs)
    setPort(*graph.add_input(), port);
  for (const OnnxPort &port : model.outputs)
    setPort(*graph.add_output(), port);
  return proto.SerializeAsString();
}

std::optional<OnnxModel> readOnnx(Diagnostics &diags, const std::string &path, FileId &file) {
  auto fail = [&](Code code, const std::string &reason) {
    diags.error(code, file.valid() ? SourceRange{file, 0, 0} : SourceRange{}, reason);
    return std::nullopt;
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail(Code::CannotRead, fmt::format("cannot read '{}': {}", path, llvm::StringRef(error.message()).lower()));
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return fail(Code::CannotRead, fmt::format("cannot read '{}': it is no regular file", path));
  if (status.getSize() > uint64_t(INT32_MAX))
    return fail(Code::FileTooLarge, fmt::format("'{}' has {} bytes, and an ONNX file at most 2^31: larger models keep "
                                                "their weights in files beside it, which are not needed here",
                                                path, status.getSize()));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(Code::CannotRead,
                fmt::format("cannot read '{}': {}", path, llvm::StringRef(buffer.getError().message()).lower()));
  file = diags.sources().add(path, ""); // a binary: there is no line to show
  google::protobuf::LogSilencer quiet;
  onnx::ModelProto proto;
  if (!proto.ParseFromArray((*buffer)->getBufferStart(), (*buffer)->getBufferSize()))
    return fail(Code::SyntaxError, "this is no ONNX model: it is damaged, cut short, or another "
                                   "kind of file");
  if (!proto.has_graph() || proto.opset_import_size() == 0)
    return fail(Code::SyntaxError, "this is no ONNX model: it has no graph or states no operator "
                                   "set");
  OnnxModel model = modelOf(proto);
  if (model.opset < kOldestOpset || model.opset > kNewestOpset)
    return fail(Code::ImportUnsupported, fmt::format("the operator set {} is not known, only {} to {}", model.opset,
                                                     kOldestOpset, kNewestOpset));
  return model;
}

} // namespace accord::import
