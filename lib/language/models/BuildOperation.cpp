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
  bool attribute(const AttributeSpec &attribute, const ast::Argument &argument);
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
  std::pair<int64_t, int64_t> pair(llvm::StringRef name, int64_t otherwise) const {
    auto found = integers.find(name.str());
    if (found == integers.end())
      return {otherwise, otherwise};
    return {found->second[0], found->second.back()};
  }
  bool flag(llvm::StringRef name, bool otherwise) const {
    auto found = booleans.find(name.str());
    return found == booleans.end() ? otherwise : found->second;
  }
  void keep(llvm::StringRef name); ///< passes the attribute on to the dnn operation, if it was given
  bool weights();                  ///< appends the trained operands
  ModelValue experts();            ///< a mixture of experts: to the slots, through the experts, and back
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

bool OperationBuilder::attribute(const AttributeSpec &attribute, const ast::Argument &argument) {
  std::string name = attribute.name.str();
  const ast::Expr &expr = *argument.value;
  auto outOfRange = [&](std::string allowed, std::string found) {
    m.diags.error(Code::OutOfRange, expr.range, fmt::format("'{}' is {}, but this is {}", name, allowed, found));
    return false;
  };
  auto atLeast = [&](int64_t i) {
    return i >= attribute.min || outOfRange(fmt::format("at least {}", attribute.min), std::to_string(i));
  };
  if (attribute.kind == AttributeKind::Word) {
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
  if (attribute.kind == AttributeKind::Integer) {
    auto value = m.integer(expr, ("'" + name + "'").c_str());
    if (!value || !atLeast(*value))
      return false;
    integers[name] = {*value};
    return true;
  }
  ModelValue value = m.eval(expr);
  if (value.failed())
    return false;
  auto wrong = [&](const char *expected) {
    m.diags.error(Code::WrongType, expr.range, fmt::format("'{}' is {}, not {}", name, expected, value.describe()));
    return false;
  };
  switch (attribute.kind) {
  case AttributeKind::Pair: {
    if (value.number()) {
      auto i = value.number()->dimensionless() ? value.number()->toInt64() : std::nullopt;
      if (!i)
        return wrong("an integer or a pair of integers");
      integers[name] = {*i};
    } else {
      if (!value.list() || value.list()->size() != 2)
        return wrong("an integer or a pair of integers");
      auto list = m.integersOf(value, expr.range, name.c_str());
      if (!list)
        return false;
      integers[name] = *list;
    }
    return llvm::all_of(integers[name], atLeast);
  }
  case AttributeKind::Number: {
    if (!value.number() || !value.number()->dimensionless())
      return wrong("a plain number");
    auto real = m.real(*value.number(), expr.range, "'" + name + "'");
    if (!real)
      return false;
    numbers[name] = *real;
    llvm::StringRef allowed = attribute.outside(*real);
    return allowed.empty() || outOfRange(allowed.str(), value.number()->print());
  }
  case AttributeKind::Time:
  case AttributeKind::Size: {
    bool time = attribute.kind == AttributeKind::Time;
    const Quantity *quantity = value.number();
    if (!quantity || quantity->dimension != Dimension::of(time ? Base::Second : Base::Byte))
      return wrong(time ? "a time, such as 1.2 ms" : "a size, such as 12 MiB");
    if (quantity->value.sign() < 0)
      return outOfRange(time ? "at least 0 s" : "at least 0 B", quantity->print());
    auto real = m.real(*quantity, expr.range, "'" + name + "'");
    if (!real)
      return false;
    if (time) {
      numbers[name] = *real;
      return true;
    }
    if (*real > 4.0 * ModelBuilder::kMaxScalars)
      return outOfRange("at most 1 EiB", quantity->print());
    // In fp32 numbers, the last one perhaps not full.
    integers[name] = {std::max<int64_t>(1, static_cast<int64_t>(std::ceil(*real / 4)))};
    return true;
  }
  case AttributeKind::Boolean:
    if (!value.truth())
      return wrong("true or false");
    booleans[name] = *value.truth();
    return true;
  case AttributeKind::Tensor:
    if (!value.tensor())
      return wrong("a tensor");
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
    ok &= attribute(*a, argument);
  }
  if (places.size() + spec.optionalOperands < spec.operands.size() && ok) {
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
    attributes.push_back(b.getNamedAttr(name, i->second.size() == 1 ? Attribute(b.getI64IntegerAttr(i->second[0]))
                                                                    : Attribute(b.getDenseI64ArrayAttr(i->second))));
  else if (auto n = numbers.find(key); n != numbers.end())
    attributes.push_back(b.getNamedAttr(name, b.getF64FloatAttr(n->second)));
  else if (auto t = booleans.find(key); t != booleans.end())
    attributes.push_back(b.getNamedAttr(name, b.getBoolAttr(t->second)));
  else if (auto w = words.find(key); w != words.end())
    attributes.push_back(b.getNamedAttr(name, b.getStringAttr(w->second)));
}

/// Shapes as in PyTorch: linear [out, in], conv2d [out, in/groups, kh, kw], lstm [4 hidden, in] and
/// [4 hidden, hidden].
bool OperationBuilder::weights() {
  llvm::StringRef name = spec.name;
  auto tied = [&](llvm::StringRef key, llvm::ArrayRef<int64_t> shape) -> Value {
    auto found = tensors.find(key.str());
    if (found == tensors.end())
      return trained(key, shape);
    auto type = cast<RankedTensorType>(found->second.first.getType());
    if (type.getShape() == shape)
      return found->second.first;
    ModelValue given{found->second.first};
    m.diags.error(Code::ShapeMismatch, found->second.second,
                  fmt::format("'{}' of this {} is {} x {}, but the tied tensor is {}", key.str(), name.str(), shape[0],
                              shape[1], given.describe()));
    return {};
  };
  auto bias = [&](int64_t size, llvm::StringRef role = "bias") {
    if (flag("bias", true))
      operands.push_back(trained(role, size));
  };
  if (name == "linear") {
    if (!rank(1, "at least one dimension"))
      return false;
    int64_t out = integer("out", 1);
    Value w = tied("weight", {out, extent(-1)});
    if (!w)
      return false;
    operands.push_back(w);
    bias(out);
  } else if (name == "conv2d" || name == "conv_transpose2d" || name == "depthwise_conv2d") {
    if (!rank(3, "[channels, height, width]"))
      return false;
    auto [kh, kw] = pair("kernel", 1);
    int64_t channels = extent(0), out = integer("out", channels),
            groups = name == "depthwise_conv2d" ? channels : integer("groups", 1);
    if (channels % groups || out % groups) {
      fail(Code::BadAttribute,
           fmt::format("{} groups divide neither {} input nor {} output channels evenly", groups, channels, out),
           "both channel counts are multiples of 'groups'");
      return false;
    }
    if (name == "conv_transpose2d")
      operands.push_back(trained("weight", {channels, out / groups, kh, kw}));
    else
      operands.push_back(trained("weight", {out, channels / groups, kh, kw}));
    bias(out);
  } else if (name == "embedding" || name == "embedding_bag") {
    Value table = tied("table", {integer("rows", 1), integer("dim", 1)});
    if (!table)
      return false;
    operands.push_back(table);
  } else if (name == "layer_norm" || name == "rms_norm") {
    if (!rank(1, "at least one dimension"))
      return false;
    operands.push_back(trained("scale", extent(-1)));
    if (name == "layer_norm")
      bias(extent(-1), "offset");
  } else if (name == "batch_norm" || name == "group_norm") {
    if (!rank(1, "[channels, …]"))
      return false;
    operands.push_back(trained("scale", extent(0)));
    operands.push_back(trained("offset", extent(0)));
  } else if (name == "lstm" || name == "gru") {
    if (!rank(2, "[seq, features]"))
      return false;
    int64_t gates = name == "lstm" ? 4 : 3, hidden = integer("hidden", 1), in = extent(-1);
    if (hidden > ModelBuilder::kMaxScalars / gates) {
      fail(Code::NumberTooLarge, "this parameter has more than 2^58 scalars");
      return false;
    }
    bool both = flag("bidirectional", false);
    llvm::SmallVector<int64_t> ih{gates * hidden, in}, hh{gates * hidden, hidden}, b{2, gates * hidden};
    if (both)
      for (auto *shape : {&ih, &hh, &b})
        shape->insert(shape->begin(), 2);
    operands.push_back(trained("weight_ih", ih));
    operands.push_back(trained("weight_hh", hh));
    if (flag("bias", true))
      operands.push_back(trained("bias", b));
  } else if (name == "profiled") {
    if (integers.count("parameters"))
      operands.push_back(trained("weights", integer("parameters", 1)));
  } else if (name == "moe") {
    if (!rank(1, "at least one dimension"))
      return false;
    int64_t experts = integer("experts", 1), inner = integer("inner", 1), d = extent(-1);
    operands.push_back(trained("gate", {experts, d}));
    operands.push_back(trained("up", {experts, inner, d}));
    operands.push_back(trained("down", {experts, d, inner}));
    if (flag("gated", false))
      operands.push_back(trained("factor", {experts, inner, d}));
  }
  return true;
}

ModelValue OperationBuilder::build(std::string wanted) {
  if (!collect())
    return {};
  llvm::StringRef name = spec.name;
  OpBuilder &b = m.builder;
  if (name == "parameter" || name == "positions") {
    std::vector<int64_t> dims;
    if (name == "positions") {
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
    label = m.path(wanted.empty() ? name.str() : wanted);
    Value p = m.parameter(label, "", dims, range);
    return p ? ModelValue{p} : ModelValue{};
  }
  if (name == "zeros")
    return m.zeros(places[0].first, places[0].second, wanted.empty() ? "zeros" : wanted, range);
  std::optional<std::vector<int64_t>> dims;
  for (size_t i = 0; i < places.size(); ++i) {
    auto &[value, where] = places[i];
    if (i == 1 && (name == "reshape" || name == "transpose")) {
      dims = m.integersOf(value, where, spec.operands[1].str().c_str());
      if (!dims)
        return {};
      attributes.push_back(b.getNamedAttr(spec.operands[1], b.getDenseI64ArrayAttr(*dims)));
      continue;
    }
    if (spec.variadic && value.list()) {
      for (const ModelValue &element : *value.list())
        if (element.tensor())
          operands.push_back(*element.tensor());
        else
          return fail(Code::NotATensor,
                      fmt::format("'{}' takes tensors, but one is {}", name.str(), element.describe()));
      continue;
    }
    if (!value.tensor()) {
      m.diags.error(Code::NotATensor, where,
                    fmt::format("operand '{}' of '{}' is a tensor, not {}",
                                spec.operands[std::min(i, spec.operands.size() - 1)].str(), name.str(),
                                value.describe()));
      return {};
    }
    operands.push_back(*value.tensor());
  }
  label = m.path(wanted.empty() ? name.str() : wanted);
  if (!weights())
    return {};
  if (llvm::is_contained(operands, Value()))
    return {};
  static const std::set<std::string> shapesAParameter = {"out",     "bias",  "weight", "table",  "rows",      "dim",
                                                         "experts", "inner", "gated",  "output", "parameters"};
  if (name == "profiled") {
    if (integers.count("output"))
      attributes.push_back(b.getNamedAttr("elements", b.getI64IntegerAttr(integer("output", 1))));
    if (integers.count("parameters"))
      attributes.push_back(b.getNamedAttr("trained", b.getBoolAttr(true)));
  }
  bool pool = name == "max_pool" || name == "avg_pool";
  for (const AttributeSpec &a : spec.attributes) {
    bool ofWeights = shapesAParameter.count(a.name.str()) || (a.name == "kernel" && !pool) || (a.name == "hidden") ||
                     (a.name == "groups" && name == "depthwise_conv2d");
    if (!ofWeights)
      keep(a.name);
  }
  if (pool && !integers.count("stride")) {
    integers["stride"] = integers["kernel"];
    keep("stride");
  }
  if (name == "moe")
    return experts();
  return m.create(spec.dialect, label, operands, attributes, range);
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

ModelValue ModelBuilder::operation(const OperationSpec &spec, const ast::Call &call, SourceRange range) {
  std::string label = std::exchange(pendingName, {});
  return OperationBuilder(*this, spec, call, range).build(std::move(label));
}

} // namespace accord
