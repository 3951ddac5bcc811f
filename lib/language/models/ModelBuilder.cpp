// Statements of a model body.
#include "lib/language/models/ModelBuilder.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

ModelBuilder::ModelBuilder(Diagnostics &diags, DeclarationScope &declarations, ModuleOp module)
    : diags(diags), declarations(declarations), module(module), builder(module.getContext()) {}
ModelBuilder::~ModelBuilder() = default;

Location ModelBuilder::at(SourceRange range) {
  if (!range.valid())
    return UnknownLoc::get(module.getContext());
  Position p = diags.sources().position(range);
  return FileLineColLoc::get(module.getContext(), diags.sources().path(range.file), p.line, p.column);
}

std::string ModelBuilder::path(llvm::StringRef label) {
  std::string name = prefix + label.str();
  unsigned &count = used[name];
  return ++count == 1 ? name : name + "_" + std::to_string(count);
}

std::string ModelValue::describe() const {
  if (number())
    return number()->dimensionless() ? "the number " + number()->print() : number()->print();
  if (truth())
    return *truth() ? "true" : "false";
  if (auto *text = std::get_if<std::string>(&content))
    return "'" + *text + "'";
  if (list())
    return fmt::format("a list of {}", list()->size());
  if (tensor()) {
    auto type = cast<RankedTensorType>(tensor()->getType());
    std::string dims;
    for (int64_t i = dnn::batchRank(type); i < type.getRank(); ++i)
      dims += (dims.empty() ? "" : " x ") + std::to_string(type.getDimSize(i));
    return dims.empty() ? "a tensor with one value" : "a tensor of " + dims;
  }
  return "nothing";
}

ModelBuilder::Variable *ModelBuilder::lookup(llvm::StringRef name) {
  for (Scope *s = scope; s; s = s->parent)
    if (auto found = s->variables.find(name.str()); found != s->variables.end())
      return &found->second;
  return nullptr;
}

void ModelBuilder::declare(const ast::Name &name, ModelValue value, bool assignable) {
  Variable variable;
  variable.value = std::move(value);
  variable.declared = name.range;
  variable.assignable = assignable;
  auto [it, isNew] = scope->variables.try_emplace(name.text, std::move(variable));
  if (!isNew)
    diags.error(Code::DuplicateName, name.range, fmt::format("'{}' is already declared here", name.text))
        .note(it->second.declared, "the earlier declaration")
        .help("a value that changes is declared once with 'var' and then assigned");
}

bool ModelBuilder::proceed(SourceRange range, size_t count) {
  steps += count;
  if (hasGivenUp)
    return false;
  bool tooLarge = operations > kMaxOperations || steps > kMaxSteps;
  hasGivenUp = tooLarge || diags.errors() > errorsBefore + Diagnostics::kCap;
  if (tooLarge)
    diags
        .error(Code::TooManyOperations, range,
               operations > kMaxOperations
                   ? fmt::format("model '{}' has more than {} operations", calls[0]->name.text, kMaxOperations)
                   : fmt::format("model '{}' takes more than {} steps to build", calls[0]->name.text, kMaxSteps))
        .help("'repeat' keeps identical layers as one");
  return !hasGivenUp;
}

void ModelBuilder::run(const std::vector<ast::Statement> &body) {
  for (const ast::Statement &statement : body)
    run(statement);
}

void ModelBuilder::run(const ast::Statement &statement) {
  if (!proceed(statement.range))
    return;
  std::visit(
      [&](const auto &node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::Input>)
          input(node);
        else if constexpr (std::is_same_v<T, ast::Bind>)
          bind(node);
        else if constexpr (std::is_same_v<T, ast::Repeat>)
          repeat(node, statement.range);
        else if constexpr (std::is_same_v<T, ast::Scan>)
          scan(node, statement.range);
        else if constexpr (std::is_same_v<T, ast::For>)
          loop(node);
        else if constexpr (std::is_same_v<T, ast::When>)
          when(node);
        else
          loss(node, statement.range);
      },
      statement.node);
}

bool ModelBuilder::checkSize(llvm::ArrayRef<int64_t> shape, SourceRange range) {
  int64_t scalars = 1;
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent) &&
        (__builtin_mul_overflow(scalars, extent, &scalars) || scalars > kMaxScalars)) {
      diags.error(Code::NumberTooLarge, range, "this tensor has more than 2^58 scalars");
      return false;
    }
  return true;
}

void ModelBuilder::input(const ast::Input &input) {
  MLIRContext *context = module.getContext();
  if (calls.size() > 1 || !repeats.empty() || outermostScan) {
    diags
        .error(Code::WrongNameKind, input.name.range,
               "an input belongs into the model itself, not into a module, repeat or scan")
        .help("pass the value to the module as an argument");
    return declare(input.name, {}, false);
  }
  llvm::StringRef word = input.type.text;
  // Floating inputs are converted to the training's own arithmetic when they are loaded, whatever
  // they are stored in.
  Type type = word == "int32"   ? Type(IntegerType::get(context, 32))
              : word == "int64" ? Type(IntegerType::get(context, 64))
              : word == "int8"  ? Type(IntegerType::get(context, 8))
              : word == "bool"  ? Type(IntegerType::get(context, 8))
              : word == "float" || word == "fp32" || word == "bf16" || word == "fp16" || word == "fp64" ? element
                                                                                                        : Type();
  if (!type) {
    std::vector<std::string> known{"int8", "int32", "int64", "bool", "float", "fp16", "bf16", "fp32", "fp64"};
    diags.error(Code::UnknownElementType, input.type.range, fmt::format("'{}' is no element type", input.type.text))
        .suggest(nearest(word, known))
        .help("element types are int8, int32, int64, bool, float (the training's own), fp16, bf16, "
              "fp32 and fp64");
    return declare(input.name, {}, false);
  }
  llvm::SmallVector<int64_t> shape{ShapedType::kDynamic};
  bool ok = true;
  for (const ast::ExprPtr &dim : input.dims) {
    auto extent = integer(*dim, "an extent", 1);
    ok &= extent.has_value();
    shape.push_back(extent.value_or(1));
  }
  ok = ok && checkSize(shape, input.name.range);
  if (!ok)
    return declare(input.name, {}, false);
  Value argument = model.getBlock().addArgument(RankedTensorType::get(shape, type), at(input.name.range));
  inputNames.push_back(input.name.text);
  declare(input.name, {argument}, false);
  scope->variables[input.name.text].input = true;
}

void ModelBuilder::bind(const ast::Bind &bind) {
  if (bind.names.size() == 1 && bind.kind == ast::BindKind::Let)
    pendingName = bind.names[0].text;
  ModelValue value = eval(*bind.value);
  pendingName.clear();
  std::vector<ModelValue> parts{value};
  if (bind.names.size() > 1) {
    parts.assign(bind.names.size(), ModelValue{});
    if (const ModelList *list = value.list(); list && list->size() == bind.names.size())
      parts = *list;
    else if (!value.failed())
      diags.error(Code::WrongResultCount, bind.value->range,
                  fmt::format("{} names stand for {}", bind.names.size(),
                              list ? fmt::format("{} values", list->size()) : std::string("one value")));
  }
  for (size_t i = 0; i < bind.names.size(); ++i) {
    const ast::Name &name = bind.names[i];
    if (bind.kind != ast::BindKind::Assign) {
      declare(name, parts[i], bind.kind == ast::BindKind::Var);
      continue;
    }
    Variable *variable = lookup(name.text);
    if (!variable) {
      std::vector<std::string> known;
      for (Scope *s = scope; s; s = s->parent)
        for (auto &[n, v] : s->variables)
          if (v.assignable)
            known.push_back(n);
      diags.error(Code::UnknownName, name.range, fmt::format("'{}' is assigned but never declared", name.text))
          .suggest(nearest(name.text, known));
      continue;
    }
    if (!variable->assignable) {
      diags.error(Code::AssignToLet, name.range, fmt::format("'{}' cannot be assigned", name.text))
          .note(variable->declared, variable->input ? "it is an input" : "it is declared here without 'var'")
          .help("declare it with 'var' to change it");
      continue;
    }
    variable->value = parts[i];
    variable->unassigned = false;
  }
}

void ModelBuilder::loop(const ast::For &loop) {
  ModelValue values = eval(*loop.range);
  if (values.failed())
    return;
  if (!values.list()) {
    diags.error(Code::WrongType, loop.range->range,
                fmt::format("'for' goes over a list or a range, not {}", values.describe()));
    return;
  }
  ModelList elements = *values.list();
  for (const ModelValue &element : elements) {
    Scope inner;
    inner.parent = scope;
    inner.declaration = scope->declaration;
    scope = &inner;
    declare(loop.variable, element, false);
    run(loop.body);
    scope = inner.parent;
    if (!proceed(loop.variable.range))
      return;
  }
}

void ModelBuilder::when(const ast::When &when) {
  for (const auto &branch : when.branches) {
    if (branch.condition) {
      auto holds = condition(*branch.condition);
      if (!holds)
        return;
      if (!*holds)
        continue;
    }
    Scope inner;
    inner.parent = scope;
    inner.declaration = scope->declaration;
    scope = &inner;
    run(branch.body);
    scope = inner.parent;
    return;
  }
}

void ModelBuilder::loss(const ast::Loss &loss, SourceRange range) {
  ModelValue value = eval(*loss.value);
  if (!repeats.empty() || outermostScan) {
    diags.error(Code::MisplacedLoss, range, "the loss belongs after the repeat or scan, not into it")
        .help("what training minimizes is one number of the whole model");
    return;
  }
  if (lossAt.valid()) {
    diags.error(Code::SeveralLosses, range, "a model has one loss")
        .note(lossAt, "the first is here")
        .help("add the two losses and train on their sum");
    return;
  }
  lossAt = range;
  if (value.failed())
    return;
  if (!value.tensor()) {
    diags.error(Code::NotATensor, loss.value->range, fmt::format("the loss is {}, not a tensor", value.describe()));
    return;
  }
  auto type = typeOf(*value.tensor());
  if (type.getNumElements() != 1 || type.getRank() != 0) {
    diags
        .error(Code::ShapeMismatch, loss.value->range,
               fmt::format("the loss must be one number, but is {}", value.describe()))
        .help("cross_entropy, mse, smooth_l1 and binary_cross_entropy give one number, and mean(…) "
              "makes "
              "one of any tensor");
    return;
  }
  dnn::LossOp::create(builder, at(range), *value.tensor());
}

dnn::ModelOp ModelBuilder::build(const ModelRequest &request) {
  errorsBefore = diags.errors();
  const ast::Declaration &declaration = *request.model;
  builder.setInsertionPointToEnd(module.getBody());
  model = dnn::ModelOp::create(builder, at(declaration.name.range), request.symbol);
  if (request.precision)
    model.setPrecisionAttr(request.precision);
  if (request.optimizer)
    model.setOptimizerAttr(request.optimizer);
  element = request.precision ? request.precision.getElement() : Type(Float32Type::get(module.getContext()));
  builder.setInsertionPointToEnd(&model.getBlock());
  prefix.clear();
  used.clear();
  operations = steps = depth = 0;
  hasGivenUp = false;
  constants.clear();
  lossAt = {};
  lastParameter = nullptr;
  outermostScan = nullptr;
  repeatsInScan = 0;
  inputNames.clear();

  Scope outer, body;
  outer.declaration = request.caller ? request.caller : &declaration;
  body.declaration = &declaration;
  calls.assign(1, &declaration);
  scope = &body;
  static const std::vector<ast::Argument> none;
  if (bindParameters(body, declaration, request.arguments ? *request.arguments : none, declaration.name.range, &outer,
                     request.overrides)) {
    run(declaration.body);
    if (!lossAt.valid() && diags.errors() == errorsBefore && operations <= kMaxOperations)
      diags.error(Code::NoLoss, declaration.name.range, fmt::format("model '{}' has no loss", declaration.name.text))
          .help("end it with 'loss cross_entropy(logits, labels)' or another loss");
  }
  scope = nullptr;
  calls.clear();
  if (diags.errors() != errorsBefore) {
    model->erase();
    return nullptr;
  }
  llvm::SmallVector<llvm::StringRef> names(inputNames.begin(), inputNames.end());
  model.setInputNamesAttr(builder.getStrArrayAttr(names));
  return model;
}

} // namespace accord
