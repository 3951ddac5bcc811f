// One call of an operation -> one dnn operation, with the trained tensors it brings along.
#include "lib/language/models/ModelBuilder.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {

/// Collects the checked operands and attributes of one call.
class OperationBuilder {
public:
  OperationBuilder(ModelBuilder &m, const OperationSpec &spec, const ast::Call &call, SourceRange range)
      : m(m), spec(spec), call(call), range(range) {}
  ModelValue build(std::string label);

private:
  bool collect();
  bool attribute(const AttributeSpec &attribute, const ast::Expr &expr);
  bool word(const AttributeSpec &attribute, const ast::Expr &expr);
  bool number(const AttributeSpec &attribute, const ModelValue &value, SourceRange at);
  bool extents(const AttributeSpec &attribute, const ModelValue &value, SourceRange at);
  bool timeOrSize(const AttributeSpec &attribute, const ModelValue &value, SourceRange at);
  bool atLeast(const AttributeSpec &attribute, int64_t value, SourceRange at) {
    return value >= attribute.min ||
           outOfRange(attribute, fmt::format("at least {}", attribute.min), std::to_string(value), at);
  }
  bool outOfRange(const AttributeSpec &attribute, std::string_view allowed, std::string_view found, SourceRange at) {
    m.diags.error(Code::OutOfRange, at,
                  fmt::format("'{}' is {}, but this is {}", attribute.name.str(), allowed, found));
    return false;
  }
  bool wrong(const AttributeSpec &attribute, const char *expected, const ModelValue &value, SourceRange at) {
    m.diags.error(Code::WrongType, at,
                  fmt::format("'{}' is {}, not {}", attribute.name.str(), expected, value.describe()));
    return false;
  }
  ModelValue fail(Code code, std::string message, std::string help = {}) {
    auto error = m.diags.error(code, range, std::move(message));
    if (!help.empty())
      error.help(std::move(help));
    return {};
  }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const {
    auto found = integers.find(name.str());
    return found == integers.end() ? otherwise : found->second[0];
  }
  bool flag(llvm::StringRef name, bool otherwise) const {
    auto found = booleans.find(name.str());
    return found == booleans.end() ? otherwise : found->second;
  }
  bool isList(llvm::StringRef name) const {
    const AttributeSpec *attribute = spec.findAttribute(name);
    return attribute && attribute->kind == AttributeKind::List;
  }
  void keep(llvm::StringRef name); ///< passes the attribute on to the dnn operation, if it was given
  bool addWeights();               ///< appends the trained operands
  Value tied(llvm::StringRef key, llvm::ArrayRef<int64_t> shape); ///< a given tensor, or a trained one; null: an error
  void addBias(int64_t size, llvm::StringRef role = "bias");
  bool linearWeights();
  bool convolutionWeights();
  bool slopeWeights();
  bool tableWeights();
  bool normWeights();
  bool channelNormWeights();
  bool recurrentWeights();
  bool profiledWeights();
  bool expertWeights();
  ModelValue parameter(const std::string &wanted);
  bool takeOperands();
  void keepAttributes();
  ModelValue experts(); ///< a mixture of experts: to the slots, through the experts, and back
  Value trained(llvm::StringRef role, llvm::ArrayRef<int64_t> shape) { return m.parameter(label, role, shape, range); }
  /// The extent of a per-sample dimension of the first operand; -1 for the last.
  int64_t extent(int64_t dim) const {
    auto type = cast<RankedTensorType>(operands[0].getType());
    int64_t index = dim < 0 ? type.getRank() + dim : dim + dnn::batchRank(type);
    return index >= 0 && index < type.getRank() ? type.getDimSize(index) : 0;
  }
  bool rank(int64_t min, const char *shape);

  ModelBuilder &m;
  const OperationSpec &spec;
  const ast::Call &call;
  SourceRange range;
  std::string label;
  llvm::SmallVector<Value> operands;
  std::vector<std::pair<ModelValue, SourceRange>> places;
  std::map<std::string, std::vector<int64_t>> integers;
  std::map<std::string, double> numbers;
  std::map<std::string, bool> booleans;
  std::map<std::string, std::string> words;
  std::map<std::string, std::pair<Value, SourceRange>> tensors;
  llvm::SmallVector<NamedAttribute> attributes;
};

bool OperationBuilder::word(const AttributeSpec &attribute, const ast::Expr &expr) {
  std::string name = attribute.name.str();
  auto *word = expr.as<ast::Reference>();
  auto *text = expr.as<ast::Text>();
  std::string given = word ? word->name : text ? text->value : "";
  if (!llvm::is_contained(attribute.words, llvm::StringRef(given))) {
    std::vector<std::string> known(attribute.words.begin(), attribute.words.end());
    m.diags.error(Code::UnknownChoice, expr.range, fmt::format("'{}' is one of {}", name, fmt::join(known, ", ")))
        .suggest(nearest(given, known));
    return false;
  }
  words[name] = given;
  return true;
}

bool OperationBuilder::extents(const AttributeSpec &attribute, const ModelValue &value, SourceRange at) {
  std::string name = attribute.name.str();
  bool isList = attribute.kind == AttributeKind::List;
  if (const Quantity *number = value.number(); number && !isList) {
    auto i = number->dimensionless() ? number->toInt64() : std::nullopt;
    if (!i)
      return wrong(attribute, "an integer or a list of integers", value, at);
    integers[name] = {*i};
  } else {
    if (!value.list() || value.list()->empty())
      return wrong(attribute, isList ? "a list of integers" : "an integer or a list of integers", value, at);
    auto list = m.integersOf(value, at, name.c_str());
    if (!list)
      return false;
    if (!isList && list->size() > 6)
      return wrong(attribute, "an integer or a list of up to 6", value, at);
    integers[name] = *list;
  }
  return llvm::all_of(integers[name], [&](int64_t i) { return atLeast(attribute, i, at); });
}

bool OperationBuilder::number(const AttributeSpec &attribute, const ModelValue &value, SourceRange at) {
  if (!value.number() || !value.number()->dimensionless())
    return wrong(attribute, "a plain number", value, at);
  std::string name = attribute.name.str();
  auto real = m.real(*value.number(), at, "'" + name + "'");
  if (!real)
    return false;
  numbers[name] = *real;
  llvm::StringRef allowed = attribute.outside(*real);
  return allowed.empty() || outOfRange(attribute, allowed, value.number()->print(), at);
}

bool OperationBuilder::timeOrSize(const AttributeSpec &attribute, const ModelValue &value, SourceRange at) {
  bool time = attribute.kind == AttributeKind::Time;
  std::string name = attribute.name.str();
  const Quantity *quantity = value.number();
  if (!quantity || quantity->dimension != Dimension::of(time ? Base::Second : Base::Byte))
    return wrong(attribute, time ? "a time, such as 1.2 ms" : "a size, such as 12 MiB", value, at);
  if (quantity->value.sign() < 0)
    return outOfRange(attribute, time ? "at least 0 s" : "at least 0 B", quantity->print(), at);
  auto real = m.real(*quantity, at, "'" + name + "'");
  if (!real)
    return false;
  if (time) {
    numbers[name] = *real;
    return true;
  }
  if (*real > 4.0 * ModelBuilder::kMaxScalars)
    return outOfRange(attribute, "at most 1 EiB", quantity->print(), at);
  // In fp32 numbers, the last one perhaps not full.
  integers[name] = {std::max<int64_t>(1, static_cast<int64_t>(std::ceil(*real / 4)))};
  return true;
}

bool OperationBuilder::attribute(const AttributeSpec &attribute, const ast::Expr &expr) {
  std::string name = attribute.name.str();
  if (attribute.kind == AttributeKind::Word)
    return word(attribute, expr);
  if (attribute.kind == AttributeKind::Integer) {
    auto value = m.integer(expr, ("'" + name + "'").c_str());
    if (!value || !atLeast(attribute, *value, expr.range))
      return false;
    integers[name] = {*value};
    return true;
  }
  ModelValue value = m.eval(expr);
  if (value.failed())
    return false;
  switch (attribute.kind) {
  case AttributeKind::Extents:
  case AttributeKind::List:
    return extents(attribute, value, expr.range);
  case AttributeKind::Number:
    return number(attribute, value, expr.range);
  case AttributeKind::Time:
  case AttributeKind::Size:
    return timeOrSize(attribute, value, expr.range);
  case AttributeKind::Boolean:
    if (!value.truth())
      return wrong(attribute, "true or false", value, expr.range);
    booleans[name] = *value.truth();
    return true;
  case AttributeKind::Tensor:
    if (!value.tensor())
      return wrong(attribute, "a tensor", value, expr.range);
    tensors[name] = {*value.tensor(), expr.range};
    return true;
  default:
    return false;
  }
}

bool OperationBuilder::collect() {
  bool ok = true;
  std::map<std::string, SourceRange> seen;
  std::vector<std::string> known;
  for (const AttributeSpec &a : spec.attributes)
    known.push_back(a.name.str());
  for (const ast::Argument &argument : call.arguments) {
    if (!argument.name) {
      if (!seen.empty()) {
        m.diags.error(Code::ArgumentOrder, argument.value->range,
                      "an operand by place cannot follow an attribute by name");
        ok = false;
        continue;
      }
      if (places.size() >= spec.operands.size() && !spec.variadic) {
        std::vector<std::string> usage(spec.operands.begin(), spec.operands.end());
        std::string help = fmt::format("operands of '{}': {}", spec.name.str(), fmt::join(usage, ", "));
        if (!known.empty())
          help += fmt::format("; by name: {}", fmt::join(known, ", "));
        m.diags
            .error(Code::WrongOperandCount, argument.value->range,
                   fmt::format("'{}' takes {} operand{} by place", spec.name.str(), spec.operands.size(),
                               spec.operands.size() == 1 ? "" : "s"))
            .help(help);
        return false;
      }
      places.push_back({m.eval(*argument.value), argument.value->range});
      ok &= !places.back().first.failed();
      continue;
    }
    const std::string &name = argument.name->text;
    const AttributeSpec *a = spec.findAttribute(name);
    if (!a) {
      // An operand may be given by its name as well.
      auto operand = llvm::find(spec.operands, llvm::StringRef(name));
      if (operand != spec.operands.end() && static_cast<size_t>(operand - spec.operands.begin()) == places.size()) {
        places.push_back({m.eval(*argument.value), argument.value->range});
        ok &= !places.back().first.failed();
        continue;
      }
      auto error = m.diags.error(Code::UnknownAttribute, argument.name->range,
                                 fmt::format("'{}' has no attribute '{}'", spec.name.str(), name));
      error.suggest(nearest(name, known));
      if (!known.empty())
        error.help(fmt::format("attributes of '{}': {}", spec.name.str(), fmt::join(known, ", ")));
      ok = false;
      continue;
    }
    auto [it, isNew] = seen.try_emplace(name, argument.name->range);
    if (!isNew) {
      m.diags.error(Code::DuplicateArgument, argument.name->range, fmt::format("'{}' is given twice", name))
          .note(it->second, "the first time");
      ok = false;
      continue;
    }
    ok &= attribute(*a, *argument.value);
  }
  if (places.size() < spec.operands.size() && ok) {
    fail(Code::WrongOperandCount,
         fmt::format("'{}' needs {}: '{}' is missing", spec.name.str(),
                     spec.operands.size() == 1 ? "an operand" : fmt::format("{} operands", spec.operands.size()),
                     spec.operands[places.size()].str()));
    return false;
  }
  for (const AttributeSpec &a : spec.attributes)
    if (a.required && !seen.count(a.name.str()) && ok) {
      fail(Code::MissingArgument, fmt::format("'{}' needs '{}'", spec.name.str(), a.name.str()));
      return false;
    }
  return ok;
}

bool OperationBuilder::rank(int64_t min, const char *shape) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  if (type.getRank() - dnn::batchRank(type) >= min)
    return true;
  fail(Code::ShapeMismatch,
       fmt::format("'{}' takes a tensor of {}, but this is {}", spec.name.str(), shape, places[0].first.describe()));
  return false;
}

void OperationBuilder::keep(llvm::StringRef name) {
  OpBuilder &b = m.builder;
  std::string key = name.str();
  if (auto i = integers.find(key); i != integers.end())
    attributes.push_back(b.getNamedAttr(name, i->second.size() == 1 && !isList(name)
                                                  ? Attribute(b.getI64IntegerAttr(i->second[0]))
                                                  : Attribute(b.getDenseI64ArrayAttr(i->second))));
  else if (auto n = numbers.find(key); n != numbers.end())
    attributes.push_back(b.getNamedAttr(name, b.getF64FloatAttr(n->second)));
  else if (auto t = booleans.find(key); t != booleans.end())
    attributes.push_back(b.getNamedAttr(name, b.getBoolAttr(t->second)));
  else if (auto w = words.find(key); w != words.end())
    attributes.push_back(b.getNamedAttr(name, b.getStringAttr(w->second)));
}

// ---- Trained operands, of the shapes that PyTorch gives them: linear [out, in], conv2d [out, in/groups, kh, kw] (and
// those of one or three dimensions), lstm [4 hidden, in] and [4 hidden, hidden].

Value OperationBuilder::tied(llvm::StringRef key, llvm::ArrayRef<int64_t> shape) {
  auto found = tensors.find(key.str());
  if (found == tensors.end())
    return trained(key, shape);
  auto [tensor, at] = found->second;
  if (cast<RankedTensorType>(tensor.getType()).getShape() == shape)
    return tensor;
  m.diags.error(Code::ShapeMismatch, at,
                fmt::format("'{}' of this {} is {} x {}, but the tied tensor is {}", key.str(), spec.name.str(),
                            shape[0], shape[1], ModelValue{tensor}.describe()));
  return {};
}

void OperationBuilder::addBias(int64_t size, llvm::StringRef role) {
  if (flag("bias", true))
    operands.push_back(trained(role, size));
}

bool OperationBuilder::linearWeights() {
  if (!rank(1, "at least one dimension"))
    return false;
  int64_t out = integer("out", 1);
  Value w = tied("weight", {out, extent(-1)});
  if (!w)
    return false;
  operands.push_back(w);
  addBias(out);
  return true;
}

bool OperationBuilder::convolutionWeights() {
  auto count = spec.name.find_first_of("123"); // of conv1d, conv2d, conv3d and their kin
  size_t dims = spec.name[count] - '0';
  if (!rank(dims + 1, dims == 1   ? "[channels, length]"
                      : dims == 2 ? "[channels, height, width]"
                                  : "[channels, depth, height, width]"))
    return false;
  std::vector<int64_t> kernel = integers["kernel"];
  if (kernel.size() == 1)
    kernel.assign(dims, kernel[0]);
  if (kernel.size() != dims) {
    fail(Code::BadAttribute,
         fmt::format("'{}' takes one number as 'kernel', or {}; found {}", spec.name.str(), dims, kernel.size()));
    return false;
  }
  int64_t channels = extent(0), out = integer("out", channels),
          groups = spec.name == "depthwise_conv2d" ? channels : integer("groups", 1);
  if (channels % groups || out % groups) {
    fail(Code::BadAttribute,
         fmt::format("{} groups divide neither {} input nor {} output channels evenly", groups, channels, out),
         "both channel counts are multiples of 'groups'");
    return false;
  }
  bool transposed = spec.name.starts_with("conv_transpose");
  llvm::SmallVector<int64_t> shape{transposed ? channels : out, (transposed ? out : channels) / groups};
  shape.append(kernel.begin(), kernel.end());
  operands.push_back(trained("weight", shape));
  addBias(out);
  return true;
}

bool OperationBuilder::slopeWeights() {
  if (!rank(1, "[channels, …]"))
    return false;
  operands.push_back(trained("slope", flag("shared", false) ? 1 : extent(0)));
  return true;
}

bool OperationBuilder::tableWeights() {
  operands.push_back(tied("table", {integer("rows", 1), integer("dim", 1)}));
  return operands.back() != nullptr;
}

bool OperationBuilder::normWeights() {
  if (!rank(1, "at least one dimension"))
    return false;
  operands.push_back(trained("scale", extent(-1)));
  if (spec.name == "layer_norm")
    addBias(extent(-1), "offset");
  return true;
}

bool OperationBuilder::channelNormWeights() {
  if (!rank(1, "[channels, …]"))
    return false;
  operands.push_back(trained("scale", extent(0)));
  operands.push_back(trained("offset", extent(0)));
  return true;
}

bool OperationBuilder::recurrentWeights() {
  if (!rank(2, "[seq, features]"))
    return false;
  int64_t gates = spec.name == "lstm" ? 4 : 3, hidden = integer("hidden", 1), in = extent(-1);
  if (hidden > ModelBuilder::kMaxScalars / gates) {
    fail(Code::NumberTooLarge, "this parameter has more than 2^58 scalars");
    return false;
  }
  llvm::SmallVector<int64_t> ih{gates * hidden, in}, hh{gates * hidden, hidden}, b{2, gates * hidden};
  if (flag("bidirectional", false))
    for (auto *shape : {&ih, &hh, &b})
      shape->insert(shape->begin(), 2);
  operands.push_back(trained("weight_ih", ih));
  operands.push_back(trained("weight_hh", hh));
  if (flag("bias", true))
    operands.push_back(trained("bias", b));
  return true;
}

bool OperationBuilder::profiledWeights() {
  if (integers.count("parameters"))
    operands.push_back(trained("weights", integer("parameters", 1)));
  return true;
}

bool OperationBuilder::expertWeights() {
  if (!rank(1, "at least one dimension"))
    return false;
  int64_t experts = integer("experts", 1), inner = integer("inner", 1), d = extent(-1);
  operands.push_back(trained("gate", {experts, d}));
  operands.push_back(trained("up", {experts, inner, d}));
  operands.push_back(trained("down", {experts, d, inner}));
  if (flag("gated", false))
    operands.push_back(trained("factor", {experts, inner, d}));
  return true;
}

bool OperationBuilder::addWeights() {
  using B = OperationBuilder;
  static const std::map<llvm::StringRef, bool (B::*)()> kinds = {{"linear", &B::linearWeights},
                                                                 {"conv1d", &B::convolutionWeights},
                                                                 {"conv2d", &B::convolutionWeights},
                                                                 {"conv3d", &B::convolutionWeights},
                                                                 {"conv_transpose1d", &B::convolutionWeights},
                                                                 {"conv_transpose2d", &B::convolutionWeights},
                                                                 {"conv_transpose3d", &B::convolutionWeights},
                                                                 {"prelu", &B::slopeWeights},
                                                                 {"depthwise_conv2d", &B::convolutionWeights},
                                                                 {"embedding", &B::tableWeights},
                                                                 {"embedding_bag", &B::tableWeights},
                                                                 {"layer_norm", &B::normWeights},
                                                                 {"rms_norm", &B::normWeights},
                                                                 {"batch_norm", &B::channelNormWeights},
                                                                 {"group_norm", &B::channelNormWeights},
                                                                 {"lstm", &B::recurrentWeights},
                                                                 {"gru", &B::recurrentWeights},
                                                                 {"profiled", &B::profiledWeights},
                                                                 {"moe", &B::expertWeights}};
  auto found = kinds.find(spec.name);
  return found == kinds.end() || (this->*found->second)();
}

// ---- The operation

/// `parameter([rows, columns])` and `positions(seq, hidden)`: a trained tensor and nothing else.
ModelValue OperationBuilder::parameter(const std::string &wanted) {
  std::vector<int64_t> dims;
  if (spec.name == "positions") {
    for (auto &[value, where] : places) {
      auto i = value.number() ? value.number()->toInt64() : std::nullopt;
      if (!i)
        return fail(Code::NotAnInteger, "'positions' takes two integers: positions(seq, hidden)");
      dims.push_back(*i);
    }
  } else if (auto list = m.integersOf(places[0].first, places[0].second, "the shape of a parameter")) {
    dims = *list;
  } else {
    return {};
  }
  if (llvm::any_of(dims, [](int64_t d) { return d < 1; }))
    return fail(Code::OutOfRange, "the extents of a parameter are at least 1");
  label = m.path(wanted);
  Value p = m.parameter(label, "", dims, range);
  return p ? ModelValue{p} : ModelValue{};
}

/// The tensors among what was given by place; the shape of `reshape` and `transpose` becomes an attribute.
bool OperationBuilder::takeOperands() {
  for (size_t i = 0; i < places.size(); ++i) {
    auto &[value, where] = places[i];
    if (i == 1 && (spec.name == "reshape" || spec.name == "transpose")) {
      auto dims = m.integersOf(value, where, spec.operands[1].str().c_str());
      if (!dims)
        return false;
      attributes.push_back(m.builder.getNamedAttr(spec.operands[1], m.builder.getDenseI64ArrayAttr(*dims)));
    } else if (spec.variadic && value.list()) {
      for (const ModelValue &element : *value.list()) {
        if (!element.tensor()) {
          fail(Code::NotATensor, fmt::format("'{}' takes tensors, but one is {}", spec.name.str(), element.describe()));
          return false;
        }
        operands.push_back(*element.tensor());
      }
    } else if (value.tensor()) {
      operands.push_back(*value.tensor());
    } else {
      m.diags.error(Code::NotATensor, where,
                    fmt::format("operand '{}' of '{}' is a tensor, not {}",
                                spec.operands[std::min(i, spec.operands.size() - 1)].str(), spec.name.str(),
                                value.describe()));
      return false;
    }
  }
  return true;
}

/// Those attributes that are not said by the shapes of the trained operands.
void OperationBuilder::keepAttributes() {
  static const std::set<llvm::StringRef> shapesAParameter = {"out",        "bias",    "weight", "table", "rows",
                                                             "dim",        "experts", "inner",  "gated", "output",
                                                             "parameters", "hidden",  "shared"};
  llvm::StringRef name = spec.name;
  OpBuilder &b = m.builder;
  if (name == "profiled") {
    if (integers.count("output"))
      attributes.push_back(b.getNamedAttr("elements", b.getI64IntegerAttr(integer("output", 1))));
    if (integers.count("parameters"))
      attributes.push_back(b.getNamedAttr("trained", b.getBoolAttr(true)));
  }
  bool pool = name == "max_pool" || name == "avg_pool";
  for (const AttributeSpec &a : spec.attributes)
    if (!shapesAParameter.count(a.name) && (a.name != "kernel" || pool) &&
        (a.name != "groups" || name != "depthwise_conv2d"))
      keep(a.name);
  if (pool && !integers.count("stride")) {
    integers["stride"] = integers["kernel"];
    keep("stride");
  }
}

ModelValue OperationBuilder::build(std::string wanted) {
  if (!collect())
    return {};
  if (wanted.empty())
    wanted = spec.name.str();
  if (spec.name == "parameter" || spec.name == "positions")
    return parameter(wanted);
  if (spec.name == "zeros")
    return m.zeros(places[0].first, places[0].second, flag("shared", false), wanted, range);
  if (!takeOperands())
    return {};
  label = m.path(wanted);
  if (!addWeights() || llvm::is_contained(operands, Value()))
    return {};
  keepAttributes();
  return spec.name == "moe" ? experts() : m.create(spec.dialect, label, operands, attributes, range);
}

ModelValue OperationBuilder::experts() {
  auto x = cast<RankedTensorType>(operands[0].getType());
  ModelValue sent = m.create(spec.dialect, label + ".dispatch", {operands[0], operands[1]}, attributes, range);
  if (sent.failed())
    return {};
  auto slot = [&](size_t i) { return *(*sent.list())[i].tensor(); };
  llvm::SmallVector<Value> inputs{slot(0)};
  inputs.append(operands.begin() + 2, operands.end());
  ModelValue y = m.create("dnn.moe_experts", label + ".experts", inputs, {}, range);
  if (y.failed())
    return {};
  auto dims = x.getShape().drop_front(dnn::batchRank(x)).drop_back();
  return m.create("dnn.moe_combine", label + ".combine", {*y.tensor(), slot(1), slot(2)},
                  m.builder.getNamedAttr("dims", m.builder.getDenseI64ArrayAttr(dims)), range);
}

ModelValue buildOperation(ModelBuilder &model, const OperationSpec &spec, const ast::Call &call, SourceRange range,
                          std::string label) {
  return OperationBuilder(model, spec, call, range).build(std::move(label));
}

} // namespace accord
