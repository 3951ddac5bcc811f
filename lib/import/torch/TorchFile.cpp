#include "lib/import/torch/TorchFile.h"
#include "lib/import/torch/ZipFile.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

const TorchArgument *TorchNode::find(const std::string &key) const {
  auto found = arguments.find(key);
  return found == arguments.end() || found->second.kind == TorchArgument::Kind::None ? nullptr : &found->second;
}

namespace {

namespace json = llvm::json;

constexpr int64_t kMajor = 8, kNewestMinor = 20;
constexpr uint64_t kMaxModelBytes = uint64_t(1) << 29, kMaxSmallBytes = uint64_t(1) << 24;

/// Thrown where the document has another form; caught in readTorch.
struct Malformed {
  std::string reason;
};
[[noreturn]] void fail(const std::string &reason) { throw Malformed{reason}; }

const json::Object &objectOf(const json::Value *value, const char *what) {
  if (const json::Object *object = value ? value->getAsObject() : nullptr)
    return *object;
  fail(fmt::format("'{}' is missing or no object", what));
}
const json::Array &arrayOf(const json::Value *value, const char *what) {
  if (const json::Array *array = value ? value->getAsArray() : nullptr)
    return *array;
  fail(fmt::format("'{}' is missing or no list", what));
}
const json::Object &object(const json::Object &in, llvm::StringRef key) {
  return objectOf(in.get(key), key.str().c_str());
}
const json::Array &array(const json::Object &in, llvm::StringRef key) {
  return arrayOf(in.get(key), key.str().c_str());
}
std::string text(const json::Object &in, llvm::StringRef key) {
  if (auto found = in.getString(key))
    return found->str();
  fail(fmt::format("'{}' is missing or no text", key.str()));
}
int64_t integerOf(const json::Value &value) {
  if (auto number = isTwoTo63(value) ? std::nullopt : value.getAsInteger())
    return *number;
  // Ends of slices are 2^63 - 1, which a double does not hold.
  if (auto number = value.getAsNumber(); number && *number >= 9.2e18)
    return INT64_MAX;
  fail("a whole number is none");
}
/// Numbers, and "Infinity", "-Infinity" and "NaN" as texts.
double numberOf(const json::Value &value) {
  if (auto number = value.getAsNumber())
    return *number;
  auto word = value.getAsString();
  if (word == "Infinity" || word == "-Infinity")
    return *word == "Infinity" ? INFINITY : -INFINITY;
  if (word == "NaN")
    return NAN;
  fail("a number is none");
}
/// The one member of a union.
std::pair<llvm::StringRef, const json::Value *> unionOf(const json::Value &value) {
  const json::Object *in = value.getAsObject();
  if (!in || in->size() != 1)
    fail("an argument has another form than schema 8");
  return {in->begin()->first, &in->begin()->second};
}

TorchType typeOf(int64_t dtype) {
  if (dtype >= 1 && dtype <= 5)
    return TorchType::Integer;
  if ((dtype >= 6 && dtype <= 8) || dtype == 13 || (dtype >= 29 && dtype <= 33))
    return TorchType::Float;
  return dtype == 12 ? TorchType::Boolean : dtype == 28 || dtype >= 34 ? TorchType::Integer : TorchType::Other;
}

TorchExtent extentOf(const json::Value &value) {
  auto [kind, inner] = unionOf(value);
  TorchExtent extent;
  if (kind == "as_int") {
    extent.number = integerOf(*inner);
    return extent;
  }
  if (kind != "as_expr")
    fail("an extent is neither a number nor an expression");
  const json::Object &expression = objectOf(inner, "as_expr");
  extent.expression = text(expression, "expr_str");
  if (const json::Object *hint = expression.getObject("hint"))
    if (auto number = hint->getInteger("as_int"))
      extent.hint = *number;
  return extent;
}

TorchMeta metaOf(const json::Value &value) {
  const json::Object &in = objectOf(&value, "tensor_values");
  TorchMeta meta;
  if (const json::Value *dtype = in.get("dtype"))
    meta.dtype = integerOf(*dtype);
  meta.type = typeOf(meta.dtype);
  for (const json::Value &size : array(in, "sizes"))
    meta.sizes.push_back(extentOf(size));
  return meta;
}

std::string nameOf(const json::Value &value) { return text(objectOf(&value, "tensor"), "name"); }

/// A number, or the name of one that is computed.
std::pair<std::string, int64_t> symbolOf(const json::Value &value) {
  auto [kind, inner] = unionOf(value);
  if (kind == "as_int")
    return {"", integerOf(*inner)};
  if (kind == "as_name" && inner->getAsString())
    return {inner->getAsString()->str(), 0};
  fail("a computed number has no name");
}

TorchArgument argumentOf(const json::Value &value) {
  using Kind = TorchArgument::Kind;
  auto [kind, inner] = unionOf(value);
  TorchArgument argument;
  argument.kind = Kind::Other;
  argument.text = kind.str();
  if (kind == "as_none") {
    argument.kind = Kind::None;
  } else if (kind == "as_tensor") {
    argument.kind = Kind::Tensor;
    argument.names = {nameOf(*inner)};
  } else if (kind == "as_tensors" || kind == "as_optional_tensors") {
    argument.kind = Kind::Tensors;
    for (const json::Value &one : arrayOf(inner, "tensors")) {
      const json::Object *optional = one.getAsObject();
      const json::Value *tensor = optional ? optional->get("as_tensor") : nullptr;
      argument.names.push_back(tensor ? nameOf(*tensor) : optional && optional->get("as_none") ? "" : nameOf(one));
    }
  } else if (kind == "as_optional_tensor") {
    auto [which, tensor] = unionOf(*inner);
    argument.kind = which == "as_tensor" ? Kind::Tensor : Kind::None;
    if (which == "as_tensor")
      argument.names = {nameOf(*tensor)};
  } else if (kind == "as_int" || kind == "as_sym_int") {
    argument.kind = Kind::Integers;
    argument.integers = {kind == "as_int" ? std::pair(std::string(), integerOf(*inner)) : symbolOf(*inner)};
  } else if (kind == "as_ints" || kind == "as_sym_ints") {
    argument.kind = Kind::Integers;
    argument.list = true;
    for (const json::Value &one : arrayOf(inner, "integers"))
      argument.integers.push_back(kind == "as_ints" ? std::pair(std::string(), integerOf(one)) : symbolOf(one));
  } else if (kind == "as_float") {
    argument.kind = Kind::Number;
    argument.numbers = {numberOf(*inner)};
  } else if (kind == "as_floats") {
    argument.kind = Kind::Numbers;
    for (const json::Value &one : arrayOf(inner, "numbers"))
      argument.numbers.push_back(numberOf(one));
  } else if (kind == "as_sym_float") {
    auto [which, number] = unionOf(*inner);
    if (which == "as_float") {
      argument.kind = Kind::Number;
      argument.numbers = {numberOf(*number)};
    }
  } else if (kind == "as_string" && inner->getAsString()) {
    argument.kind = Kind::Text;
    argument.text = inner->getAsString()->str();
  } else if (kind == "as_bool") {
    argument.kind = Kind::Boolean;
    argument.number = inner->getAsBoolean().value_or(false);
  } else if (kind == "as_scalar_type") {
    argument.kind = Kind::Type;
    argument.number = integerOf(*inner);
  } else if (kind == "as_graph") {
    argument.kind = Kind::Graph;
  }
  return argument;
}

/// Names of the results: tensors, and numbers that are computed, which nothing reads by place.
void addOutputs(const json::Value &value, std::vector<std::string> &outputs) {
  TorchArgument one = argumentOf(value);
  if (one.kind == TorchArgument::Kind::Tensor || one.kind == TorchArgument::Kind::Tensors)
    outputs.insert(outputs.end(), one.names.begin(), one.names.end());
  else
    outputs.emplace_back();
}

/// "L__self__,,pkg.Net;L__self___head,head,torch.nn.Linear": the last module, and its class.
void readModule(llvm::StringRef stack, TorchNode &node) {
  llvm::StringRef last = stack.rsplit(';').second.empty() ? stack : stack.rsplit(';').second;
  llvm::SmallVector<llvm::StringRef> parts;
  last.split(parts, ',');
  if (parts.size() < 3 || last.starts_with("_empty_nn_module_stack"))
    return;
  node.module = parts[1].str();
  node.type = parts[2].rsplit('.').second.str();
}

/// The last place of a stack trace that is not in PyTorch itself, else the last.
std::string sourceOf(llvm::StringRef trace) {
  std::string found, any;
  llvm::SmallVector<llvm::StringRef> lines;
  trace.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front("File \""))
      continue;
    auto [path, rest] = line.split("\", line ");
    any = fmt::format("{}:{}", llvm::sys::path::filename(path).str(), rest.take_while(llvm::isDigit).str());
    if (!path.contains("/torch/"))
      found = any;
  }
  return found.empty() ? any : found;
}

TorchNode nodeOf(const json::Value &value) {
  const json::Object &in = objectOf(&value, "nodes");
  TorchNode node;
  std::string stated = text(in, "target");
  llvm::StringRef target = stated;
  target.consume_front("torch.ops.");
  node.target = target.str();
  llvm::StringRef op = target;
  if (target.count('.') >= 2)
    op = target.rsplit('.').first;
  if (op.ends_with("_") && !op.ends_with("__") && op.starts_with("aten.")) {
    node.inPlace = true;
    op = op.drop_back();
  }
  node.op = op.str();
  for (const json::Value &input : array(in, "inputs")) {
    const json::Object &one = objectOf(&input, "inputs");
    const json::Value *argument = one.get("arg");
    std::string key = text(one, "name");
    if (!argument)
      fail("an argument of a node is missing");
    if (key.empty())
      key = fmt::format("{}", node.order.size());
    TorchArgument made = argumentOf(*argument);
    node.fails |= made.kind == TorchArgument::Kind::Graph;
    node.order.push_back(key);
    node.arguments[key] = std::move(made);
  }
  for (const json::Value &output : array(in, "outputs"))
    addOutputs(output, node.outputs);
  if (auto name = in.getString("name"))
    node.name = name->str();
  if (node.name.empty() && !node.outputs.empty())
    node.name = node.outputs[0];
  if (const json::Object *metadata = in.getObject("metadata")) {
    readModule(metadata->getString("nn_module_stack").value_or(""), node);
    node.source = sourceOf(metadata->getString("stack_trace").value_or(""));
  }
  return node;
}

TorchInput inputOf(const json::Value &value) {
  auto [kind, inner] = unionOf(value);
  const json::Object &in = objectOf(inner, "input_specs");
  TorchInput input;
  auto read = [&](TorchInput::Kind as, const char *target) {
    input.kind = as;
    input.value = text(object(in, "arg"), "name");
    input.target = text(in, target);
  };
  if (kind == "parameter") {
    read(TorchInput::Kind::Parameter, "parameter_name");
  } else if (kind == "buffer") {
    read(TorchInput::Kind::Buffer, "buffer_name");
  } else if (kind == "tensor_constant") {
    read(TorchInput::Kind::Constant, "tensor_constant_name");
  } else if (kind == "user_input") {
    const json::Value *stated = in.get("arg");
    TorchArgument argument = stated ? argumentOf(*stated) : TorchArgument();
    input.kind = argument.kind == TorchArgument::Kind::Tensor ? TorchInput::Kind::User : TorchInput::Kind::Other;
    if (!argument.names.empty())
      input.value = argument.names[0];
  } else {
    input.kind = TorchInput::Kind::Other;
  }
  return input;
}

TorchModel modelOf(const json::Value &document) {
  const json::Object &program = objectOf(&document, "the document");
  TorchModel model;
  const json::Object &version = object(program, "schema_version");
  auto major = version.getInteger("major"), minor = version.getInteger("minor");
  if (!major || !minor)
    fail("'schema_version' states no numbers");
  if (*major != kMajor)
    fail(fmt::format("it has version {}.{} of the schema, and only {}.0 to {}.{} are known: export it again with "
                     "PyTorch 2.6 or newer",
                     *major, *minor, kMajor, kMajor, kNewestMinor));
  model.version = program.getString("torch_version").value_or("").str();
  const json::Object &module = object(program, "graph_module"), &graph = object(module, "graph"),
                     &signature = object(module, "signature");
  for (const json::Value &input : array(signature, "input_specs"))
    model.inputs.push_back(inputOf(input));
  for (const json::Value &output : array(signature, "output_specs")) {
    auto [kind, inner] = unionOf(output);
    if (kind != "user_output" && kind != "loss_output")
      continue; // what a step writes back: statistics
    const json::Value *argument = objectOf(inner, "output_specs").get("arg");
    if (kind == "loss_output" && argument)
      model.outputs.push_back(nameOf(*argument));
    else if (argument)
      if (TorchArgument one = argumentOf(*argument); one.kind == TorchArgument::Kind::Tensor)
        model.outputs.push_back(one.names[0]);
  }
  for (const json::Value &node : array(graph, "nodes"))
    model.nodes.push_back(nodeOf(node));
  for (const auto &[name, meta] : object(graph, "tensor_values"))
    model.tensors[name.str()] = metaOf(meta);
  for (const auto &[name, extent] : object(graph, "sym_int_values"))
    model.integers[name.str()] = extentOf(extent);
  return model;
}

/// Numbers of the buffers of integers that the archive holds, as 64-bit ones.
void readKnown(const ZipFile &zip, const std::string &configured, const char *folder, TorchModel &model) {
  std::string config = zip.find(configured), error;
  auto bytes = config.empty() ? std::nullopt : zip.read(config, kMaxSmallBytes, error);
  if (!bytes)
    return;
  auto parsed = readJsonText(*bytes);
  const json::Object *document = parsed ? parsed->getAsObject() : nullptr;
  const json::Object *entries = document ? document->getObject("config") : nullptr;
  if (!entries)
    return;
  for (const auto &[name, value] : *entries) {
    const json::Object *one = value.getAsObject();
    const json::Object *meta = one ? one->getObject("tensor_meta") : nullptr;
    auto path = one ? one->getString("path_name") : std::nullopt;
    if (!meta || !path || one->getBoolean("use_pickle").value_or(false))
      continue;
    int64_t dtype = meta->getInteger("dtype").value_or(0);
    size_t width = dtype == 5 ? 8 : dtype == 4 ? 4 : 0;
    std::string entry = width ? zip.find(fmt::format("/{}/{}", folder, path->str())) : "";
    auto data = entry.empty() ? std::nullopt : zip.read(entry, kMaxSmallBytes, error);
    if (!data || data->size() % width)
      continue;
    std::vector<double> &numbers = model.known[name.str()];
    for (size_t at = 0; at < data->size(); at += width) {
      int64_t wide = 0;
      int32_t narrow = 0;
      memcpy(width == 8 ? static_cast<void *>(&wide) : &narrow, data->data() + at, width);
      numbers.push_back(static_cast<double>(width == 8 ? wide : narrow));
    }
  }
}

void readTraining(const ZipFile &zip, TorchModel &model) {
  std::string entry = zip.find("extra/accord.json"), error;
  auto bytes = entry.empty() ? std::nullopt : zip.read(entry, kMaxSmallBytes, error);
  auto parsed = readJsonText(bytes ? *bytes : "null");
  const json::Object *training = parsed ? parsed->getAsObject() : nullptr;
  if (!training)
    return;
  model.batch = std::max<int64_t>(0, training->getInteger("batch").value_or(0));
  if (const json::Object *optimizer = training->getObject("optimizer"))
    model.optimizer = optimizer->getString("class").value_or("").str();
}

} // namespace

std::optional<TorchModel> readTorch(Diagnostics &diags, const std::string &path, FileId &file) {
  auto refuse = [&](Code code, const std::string &reason) {
    diags.error(code, file.valid() ? SourceRange{file, 0, 0} : SourceRange{}, reason);
    return std::nullopt;
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return refuse(Code::CannotRead,
                  fmt::format("cannot read '{}': {}", path, llvm::StringRef(error.message()).lower()));
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return refuse(Code::CannotRead, fmt::format("cannot read '{}': it is no regular file", path));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return refuse(Code::CannotRead,
                  fmt::format("cannot read '{}': {}", path, llvm::StringRef(buffer.getError().message()).lower()));
  file = diags.sources().add(path, ""); // a binary: there is no line to show
  std::string error;
  std::optional<ZipFile> zip = ZipFile::open(std::move(*buffer), error);
  if (!zip)
    return refuse(Code::SyntaxError, "this is no program of torch.export: it " + error);
  // Since PyTorch 2.8 models/NAME.json; before it one file at the top.
  std::string entry;
  for (const char *ending : {"models/model.json", "serialized_exported_program.json"})
    if (entry.empty())
      entry = zip->find(ending);
  if (entry.empty())
    return refuse(Code::SyntaxError, "this is no program of torch.export: the archive holds no models/model.json");
  std::optional<std::string> bytes = zip->read(entry, kMaxModelBytes, error);
  if (!bytes)
    return refuse(Code::SyntaxError, "this is no program of torch.export: " + error);
  auto document = readJsonText(*bytes);
  if (!document)
    return refuse(Code::SyntaxError, fmt::format("this is no program of torch.export: '{}' is no JSON at byte {}: {}",
                                                 shown(entry), document.error().at, shown(document.error().message)));
  try {
    TorchModel model = modelOf(*document);
    readKnown(*zip, "constants/model_constants_config.json", "constants", model);
    readKnown(*zip, "weights/model_weights_config.json", "weights", model);
    readTraining(*zip, model);
    return model;
  } catch (const Malformed &malformed) {
    return refuse(Code::SyntaxError, "this program of torch.export cannot be read: " + shown(malformed.reason));
  }
}

} // namespace accord::import
