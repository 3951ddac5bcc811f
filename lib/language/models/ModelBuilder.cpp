// Statements of a model body, and the operations that they make.
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/models/InferenceMessages.h"
#include "lib/support/EmitError.h"
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

/// Names that a body and what is nested in it give to operations.
static void namesIn(const std::vector<ast::Statement> &body, llvm::StringSet<> &names) {
  for (const ast::Statement &statement : body) {
    if (auto *bind = statement.as<ast::Bind>()) {
      for (const ast::Name &name : bind->names)
        names.insert(name.text);
    } else if (auto *repeat = statement.as<ast::Repeat>()) {
      names.insert(repeat->name.text);
      namesIn(repeat->body, names);
    } else if (auto *scan = statement.as<ast::Scan>()) {
      namesIn(scan->body, names);
    } else if (auto *loop = statement.as<ast::For>()) {
      namesIn(loop->body, names);
    } else if (auto *choice = statement.as<ast::When>()) {
      for (const auto &branch : choice->branches)
        namesIn(branch.body, names);
    }
  }
}

std::string ModelBuilder::path(llvm::StringRef label) {
  std::string name = prefix + label.str();
  auto [body, isNew] = writtenNames.try_emplace(calls.back());
  if (isNew)
    namesIn(calls.back()->body, body->second);
  // What is written in the body keeps its name, also where it is written behind the operation named here.
  for (unsigned &count = used[name];;) {
    std::string suffix = ++count == 1 ? "" : "_" + std::to_string(count);
    if ((count == 1 || !body->second.contains(label.str() + suffix)) && taken.insert(name + suffix).second)
      return name + suffix;
  }
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
    if (proceed(statement.range))
      std::visit([&](const auto &node) { run(node, statement.range); }, statement.node);
}

void ModelBuilder::within(llvm::function_ref<void()> body) {
  Scope inner;
  inner.parent = scope;
  inner.declaration = scope->declaration;
  scope = &inner;
  body();
  scope = inner.parent;
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

void ModelBuilder::run(const ast::Input &input, SourceRange) {
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

void ModelBuilder::run(const ast::Bind &bind, SourceRange) {
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

void ModelBuilder::run(const ast::For &loop, SourceRange) {
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
    within([&] {
      declare(loop.variable, element, false);
      run(loop.body);
    });
    if (!proceed(loop.variable.range))
      return;
  }
}

void ModelBuilder::run(const ast::When &when, SourceRange) {
  for (const auto &branch : when.branches) {
    if (branch.condition) {
      auto holds = condition(*branch.condition);
      if (!holds)
        return;
      if (!*holds)
        continue;
    }
    return within([&] { run(branch.body); });
  }
}

void ModelBuilder::run(const ast::Loss &loss, SourceRange range) {
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
  if (typeOf(*value.tensor()).getRank() != 0) {
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
  taken.clear();
  writtenNames.clear();
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

// ---- Repeats and scans: statements whose body becomes one region

/// Names assigned in a body that are not declared in it: what a repeat carries.
void ModelBuilder::assigned(const std::vector<ast::Statement> &body, std::set<std::string> &local,
                            std::vector<ast::Name> &out) {
  auto nested = [&](const std::vector<ast::Statement> &inner) {
    std::set<std::string> copy = local;
    assigned(inner, copy, out);
  };
  for (const ast::Statement &statement : body) {
    if (auto *bind = statement.as<ast::Bind>()) {
      for (const ast::Name &name : bind->names) {
        if (bind->kind != ast::BindKind::Assign)
          local.insert(name.text);
        else if (!local.count(name.text) && llvm::none_of(out, [&](const ast::Name &n) { return n.text == name.text; }))
          out.push_back(name);
      }
    } else if (auto *inner = statement.as<ast::Repeat>()) {
      nested(inner->body);
    } else if (auto *inner = statement.as<ast::Scan>()) {
      std::set<std::string> copy = local;
      for (const auto *names : {&inner->steps, &inner->results})
        for (const ast::Name &name : *names)
          copy.insert(name.text);
      assigned(inner->body, copy, out);
      for (const ast::Name &name : inner->results)
        local.insert(name.text);
    } else if (auto *inner = statement.as<ast::For>()) {
      nested(inner->body);
    } else if (auto *choice = statement.as<ast::When>()) {
      for (const auto &branch : choice->branches)
        nested(branch.body);
    }
  }
}

/// What a body changes of what is declared outside, with the values that it starts from.
ModelBuilder::CarriedNames ModelBuilder::carriedBy(const std::vector<ast::Statement> &body,
                                                   std::set<std::string> local) {
  std::vector<ast::Name> names;
  assigned(body, local, names);
  CarriedNames carried;
  for (const ast::Name &name : names) {
    Variable *variable = lookup(name.text);
    if (!variable || !variable->assignable)
      continue; // reported where it is assigned
    if (!variable->value.tensor()) {
      if (variable->unassigned)
        reportUnassigned(name);
      else if (!variable->value.failed())
        diags
            .error(Code::NotATensor, name.range,
                   fmt::format("'{}' changes in every iteration and must be a tensor, but is {}", name.text,
                               variable->value.describe()))
            .note(variable->declared, "declared here");
      continue;
    }
    carried.variables.push_back(variable);
    carried.places.push_back(name);
    carried.inits.push_back(*variable->value.tensor());
  }
  return carried;
}

/// Evaluates a body in a scope of its own, in which `bind` declares what each iteration starts
/// with; and what the next one starts with.
llvm::SmallVector<Value> ModelBuilder::iterate(dnn::RepeatOp op, CarriedNames &carried,
                                               const std::vector<ast::Statement> &body, llvm::function_ref<void()> bind,
                                               llvm::function_ref<void()> end) {
  Block &block = op.getBlock();
  for (auto [variable, argument] : llvm::zip(carried.variables, op.getCarriedArguments()))
    variable->value = {Value(argument)};
  OpBuilder::InsertionGuard guard(builder);
  while (!block.empty())
    block.back().erase();
  builder.setInsertionPointToEnd(&block);
  std::string outer = prefix;
  prefix = op.getLabel().str() + ".";
  within([&] {
    bind();
    run(body);
    end();
  });
  prefix = outer;

  llvm::SmallVector<Value> yielded;
  for (size_t i = 0; i < carried.variables.size(); ++i) {
    Variable *variable = carried.variables[i];
    const ast::Name &name = carried.places[i];
    Value argument = op.getCarriedArguments()[i];
    const Value *now = variable->value.tensor();
    if (now && now->getType() != argument.getType()) {
      ModelValue before{argument};
      diags
          .error(Code::RepeatChangesType, name.range,
                 fmt::format("'{}' starts an iteration as {} and ends it as {}", name.text, before.describe(),
                             variable->value.describe()))
          .note(variable->declared, "declared here")
          .help("the next iteration needs the shape that this one started with");
      now = nullptr;
    } else if (!now && !variable->value.failed()) {
      diags.error(Code::NotATensor, name.range,
                  fmt::format("'{}' becomes {} where a tensor is needed", name.text, variable->value.describe()));
    }
    yielded.push_back(now ? *now : argument);
    variable->value = {Value(op.getCarried()[i])};
  }
  return yielded;
}

void ModelBuilder::run(const ast::Repeat &repeat, SourceRange range) {
  auto count = integer(*repeat.count, "the count of a repeat", 0);
  if (!count || *count == 0)
    return;
  CarriedNames carried = carriedBy(repeat.body, {});
  std::string label = path(repeat.name.empty() ? "repeat" : repeat.name.text);
  auto op = dnn::RepeatOp::create(builder, at(range), *count, label, carried.inits);
  ++operations;
  repeats.push_back(*count);
  repeatsInScan += outermostScan != nullptr;
  auto yielded = iterate(op, carried, repeat.body, [] {}, [] {});
  repeatsInScan -= outermostScan != nullptr;
  repeats.pop_back();
  builder.setInsertionPointToEnd(&op.getBlock());
  dnn::YieldOp::create(builder, at(range), yielded);
  builder.setInsertionPointAfter(op);
}

/// The tensors that a scan walks, as slices along the first axis of a sample; empty after errors.
llvm::SmallVector<Value> ModelBuilder::slicesOf(const ast::Scan &scan) {
  llvm::SmallVector<Value> slices;
  int64_t steps = -1;
  for (const ast::ExprPtr &source : scan.sources) {
    ModelValue value = eval(*source);
    if (value.failed())
      return {};
    if (!value.tensor()) {
      diags.error(Code::NotATensor, source->range, fmt::format("'scan' walks tensors, not {}", value.describe()));
      return {};
    }
    auto type = typeOf(*value.tensor());
    if (type.getRank() == dnn::batchRank(type)) {
      diags
          .error(Code::ShapeMismatch, source->range,
                 fmt::format("'scan' walks the first axis of a sample, and this is {}", value.describe()))
          .help("a sequence has the shape [steps, ..]");
      return {};
    }
    int64_t length = type.getDimSize(dnn::batchRank(type));
    if (steps >= 0 && length != steps) {
      diags
          .error(Code::ShapeMismatch, source->range,
                 fmt::format("'scan' walks {} steps of the first tensor, but this one has {}", steps, length))
          .note(scan.sources.front()->range, fmt::format("{} steps", steps));
      return {};
    }
    steps = length;
    ModelValue cut = create("dnn.unstack", path("slices"), *value.tensor(),
                            builder.getNamedAttr("axis", builder.getI64IntegerAttr(0)), source->range);
    if (cut.failed())
      return {};
    slices.push_back(*cut.tensor());
  }
  return slices;
}

void ModelBuilder::run(const ast::Scan &scan, SourceRange range) {
  auto giveUp = [&] { // the results are names all the same
    for (const ast::Name &name : scan.results)
      declare(name, {}, false);
  };
  if (scan.sources.size() != scan.steps.size()) {
    diags.error(Code::WrongResultCount, scan.steps.back().range,
                fmt::format("{} name{} after 'as' stand{} for {} tensor{}", scan.steps.size(),
                            scan.steps.size() == 1 ? "" : "s", scan.steps.size() == 1 ? "s" : "", scan.sources.size(),
                            scan.sources.size() == 1 ? "" : "s"));
    return giveUp();
  }
  llvm::SmallVector<Value> slices = slicesOf(scan);
  if (slices.empty())
    return giveUp();
  std::set<std::string> local;
  for (const auto *names : {&scan.steps, &scan.results})
    for (const ast::Name &name : *names)
      local.insert(name.text);
  CarriedNames carried = carriedBy(scan.body, local);
  if (carried.variables.empty() && scan.results.empty()) {
    diags.error(Code::ScanWithoutResult, range, "this scan changes nothing and collects nothing")
        .help("assign a 'var' from outside in it, or collect a value of every step: scan x as xt "
              "-> y { y = … }");
    return;
  }

  int64_t steps = cast<dnn::StashType>(slices[0].getType()).getCount();
  std::string label = path("scan");
  auto draft =
      dnn::RepeatOp::create(builder, at(range), steps, label, carried.inits, slices, TypeRange(), scan.reverse);
  ++operations;
  Operation *outer = outermostScan;
  if (!outer)
    outermostScan = draft;
  llvm::SmallVector<Value> collected;
  auto bind = [&] {
    for (auto [name, argument] : llvm::zip(scan.steps, draft.getUnstashedArguments()))
      declare(name, {Value(argument)}, false);
    for (const ast::Name &name : scan.results) {
      declare(name, {}, true);
      scope->variables[name.text].unassigned = true;
    }
  };
  auto end = [&] {
    for (const ast::Name &name : scan.results)
      collected.push_back(collect(name));
  };
  llvm::SmallVector<Value> yielded = iterate(draft, carried, scan.body, bind, end);
  outermostScan = outer;
  if (llvm::is_contained(collected, Value()))
    collected.clear(); // reported
  builder.setInsertionPointToEnd(&draft.getBlock());
  dnn::YieldOp::create(builder, at(range), yielded, collected);
  builder.setInsertionPointAfter(draft);

  // What is collected has a type only now.
  llvm::SmallVector<Type> stashes;
  for (Value value : collected)
    stashes.push_back(dnn::StashType::get(value.getContext(), steps, value.getType()));
  auto op = dnn::RepeatOp::create(builder, at(range), steps, label, carried.inits, slices, stashes, scan.reverse);
  op.getBody().takeBody(draft.getBody());
  draft.erase();
  for (auto [variable, result] : llvm::zip(carried.variables, op.getCarried()))
    variable->value = {Value(result)};
  if (collected.empty())
    return giveUp();
  for (auto [name, stash] : llvm::zip(scan.results, op.getStashed()))
    declare(name,
            create("dnn.stack", label + "." + name.text, stash,
                   builder.getNamedAttr("axis", builder.getI64IntegerAttr(0)), name.range),
            false);
}

void ModelBuilder::reportUnassigned(const ast::Name &name) {
  diags
      .error(Code::UsedBeforeDeclaration, name.range,
             fmt::format("'{}' has no value before the scan's step assigns it", name.text))
      .help("what a step hands on to the next one is a 'var' from outside of the scan");
}

/// What a step of a scan leaves for a result; null after errors.
Value ModelBuilder::collect(const ast::Name &name) {
  const Variable &variable = scope->variables[name.text];
  if (variable.value.tensor())
    return *variable.value.tensor();
  if (variable.unassigned)
    diags.error(Code::MissingResult, name.range, fmt::format("the scan never assigns its result '{}'", name.text));
  else if (!variable.value.failed())
    diags.error(Code::NotATensor, name.range,
                fmt::format("a scan collects tensors, but '{}' is {}", name.text, variable.value.describe()));
  return {};
}

// ---- Operations and parameters, once their operands and attributes are checked

ModelValue ModelBuilder::create(llvm::StringRef dialect, llvm::StringRef label, ValueRange operands,
                                llvm::ArrayRef<NamedAttribute> attributes, SourceRange range) {
  ++operations;
  // Shape errors come back as MLIR diagnostics at this location; they are reported here with a
  // range and a code.
  std::string reason;
  Code code = Code::ShapeMismatch;
  FailureOr<Operation *> op = failure();
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (reason.empty()) {
        reason = diagnostic.str();
        code = codeOf(diagnostic, code);
      }
      return success();
    });
    op = dnn::createInferred(builder, at(range), dialect, operands, attributes);
  }
  if (failed(op)) {
    diags.error(code, range,
                reason.empty() ? fmt::format("'{}' does not fit its operands", label.str()) : asWritten(reason));
    return {};
  }
  for (Type type : (*op)->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !checkSize(tensor.getShape(), range))
      return {};
  (*op)->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(label));
  if ((*op)->getNumResults() == 1 || dnn::hasSavedResult(*op))
    return {Value((*op)->getResult(0))};
  auto list = std::make_shared<ModelList>();
  for (Value result : (*op)->getResults())
    list->push_back({result});
  return {list};
}

Value ModelBuilder::parameter(llvm::StringRef owner, llvm::StringRef role, llvm::ArrayRef<int64_t> shape,
                              SourceRange range) {
  if (repeatsInScan > 0) {
    diags.error(Code::ParameterInScan, range, "a repeat inside a scan has no trained tensors of its own")
        .help("a scan shares its parameters among all steps, a repeat has one copy for each "
              "iteration: use 'for', or scan inside of the repeat");
    return {};
  }
  int64_t copies = 1;
  for (int64_t count : repeats)
    if (__builtin_mul_overflow(copies, count, &copies)) {
      diags.error(Code::NumberTooLarge, range, "the number of copies of this parameter passes 2^63");
      return {};
    }
  int64_t elements = copies;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxScalars) {
      diags.error(Code::NumberTooLarge, range, "this parameter has more than 2^58 scalars");
      return {};
    }
  std::string name = role.empty() ? owner.str() : (owner + "." + role).str();
  // Parameters stand before everything else, in the order of their first use.
  OpBuilder front(module.getContext());
  if (lastParameter)
    front.setInsertionPointAfter(lastParameter);
  else
    front.setInsertionPointToStart(&model.getBlock());
  Location where = at(range);
  auto declared = dnn::ParameterOp::create(front, where, name, RankedTensorType::get(shape, element), copies);
  lastParameter = declared;
  OpBuilder::InsertionGuard guard(builder);
  if (outermostScan)
    builder.setInsertionPoint(outermostScan);
  return dnn::ReadOp::create(builder, where, declared).getResult();
}

/// A sample of zeros for every sample of the batch: zeros(8), zeros([2, 4]). If it is shared, one tensor for all of
/// them.
ModelValue ModelBuilder::zeros(const ModelValue &dims, SourceRange dimsAt, bool shared, llvm::StringRef label,
                               SourceRange range) {
  llvm::SmallVector<int64_t> shape;
  if (!shared)
    shape.push_back(ShapedType::kDynamic);
  if (dims.number()) {
    auto extent = dims.number()->dimensionless() ? dims.number()->toInt64() : std::nullopt;
    if (!extent) {
      diags.error(Code::NotAnInteger, dimsAt,
                  fmt::format("'zeros' takes extents, such as zeros(8), not {}", dims.describe()));
      return {};
    }
    shape.push_back(*extent);
  } else if (auto list = integersOf(dims, dimsAt, "the shape of zeros")) {
    shape.append(list->begin(), list->end());
  } else {
    return {};
  }
  if (llvm::any_of(llvm::drop_begin(shape, shared ? 0 : 1), [](int64_t extent) { return extent < 1; })) {
    diags.error(Code::OutOfRange, dimsAt, "the extents of zeros are at least 1");
    return {};
  }
  if (!checkSize(shape, range))
    return {};
  auto zero =
      dnn::ConstantOp::create(builder, at(range), RankedTensorType::get(shape, element), builder.getF64FloatAttr(0));
  zero->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(path(label)));
  ++operations;
  return {Value(zero)};
}

} // namespace accord
