// Calls in a model body: built-in functions, modules, operations.
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/syntax/Evaluate.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
const std::vector<std::string> kFunctions = {"min",  "max", "ceil_div", "floor_div", "pow2",
                                             "log2", "sum", "len",      "shape",     "sqrt"};
/// What other frameworks call some operations.
const std::map<llvm::StringRef, const char *> kElsewhere = {{"dense", "linear"},
                                                            {"fc", "linear"},
                                                            {"fully_connected", "linear"},
                                                            {"conv", "conv2d"},
                                                            {"bmm", "matmul"},
                                                            {"dot", "matmul"},
                                                            {"flatten", "reshape"},
                                                            {"view", "reshape"},
                                                            {"permute", "transpose"},
                                                            {"cat", "concat"},
                                                            {"softmax_cross_entropy", "cross_entropy"}};
constexpr size_t kMaxCallDepth = 64;
} // namespace

ModelValue ModelBuilder::evalCall(const ast::Call &call, SourceRange range) {
  auto *callee = call.callee->as<ast::Reference>();
  if (!callee) {
    pendingName.clear();
    diags.error(Code::WrongType, call.callee->range, "only operations, modules and functions can be called");
    return {};
  }
  std::string label = std::exchange(pendingName, {});
  const std::string &name = callee->name;
  const ast::Declaration *found =
      lookup(name) ? nullptr : declarations.find(name, *scope->declaration, call.callee->range);
  if (found && found->kind == ast::DeclarationKind::Module) {
    pendingName = label;
    return callModule(*found, call, range);
  }
  if (found && found->kind == ast::DeclarationKind::Operation) {
    pendingName = label;
    return callOperation(*found, call, range);
  }
  if (name == "recompute") {
    pendingName = label;
    return recompute(call, range);
  }
  if (auto value = function(name, call, range))
    return *value;
  if (const OperationSpec *spec = findOperation(name)) {
    pendingName = label;
    return operation(*spec, call, range);
  }
  if (found) {
    diags
        .error(Code::WrongNameKind, call.callee->range,
               fmt::format("'{}' is {} and cannot be called here", name, ast::withArticle(found->kind)))
        .note(found->name.range, "declared here");
    return {};
  }
  if (Variable *variable = lookup(name)) {
    diags
        .error(Code::WrongNameKind, call.callee->range,
               fmt::format("'{}' is {} and cannot be called", name, variable->value.describe()))
        .note(variable->declared, "declared here");
    return {};
  }
  std::vector<std::string> known = kFunctions;
  known.push_back("recompute");
  for (const OperationSpec &spec : operationTable())
    known.push_back(spec.name.str());
  for (std::string &n : declarations.names(*scope->declaration))
    known.push_back(std::move(n));
  auto error = diags.error(Code::UnknownOperation, call.callee->range, fmt::format("unknown operation '{}'", name));
  auto elsewhere = kElsewhere.find(name);
  if (name == "attention")
    error.help("attention is a module: import \"catalog/transformer.dnn\"");
  else
    error.suggest(elsewhere != kElsewhere.end() ? elsewhere->second : nearest(name, known));
  return {};
}

/// Marks what is computed between the parentheses: its results are not kept for the backward pass.
ModelValue ModelBuilder::recompute(const ast::Call &call, SourceRange range) {
  if (call.arguments.size() != 1 || call.arguments[0].name) {
    pendingName.clear();
    diags.error(Code::WrongType, range, "'recompute' is used as recompute(tensor)");
    return {};
  }
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  ModelValue value = eval(*call.arguments[0].value);
  pendingName.clear();
  if (value.failed())
    return value;
  auto marks = [&](mlir::Operation *op) {
    if (!mlir::isa<dnn::ReadOp, dnn::RepeatOp, dnn::YieldOp>(op))
      op->setAttr(dnn::DnnDialect::kRecomputeAttr, builder.getUnitAttr());
  };
  bool any = false;
  for (auto op = before ? std::next(before->getIterator()) : block->begin(); op != block->end(); ++op) {
    op->walk(marks);
    any = true;
  }
  if (!any || !value.tensor()) {
    diags
        .error(Code::WrongType, call.arguments[0].value->range,
               fmt::format("'recompute' is for operations, not {}", value.describe()))
        .help("for example: let h = recompute(gelu(x))");
    return {};
  }
  return value;
}

std::optional<ModelValue> ModelBuilder::function(llvm::StringRef name, const ast::Call &call, SourceRange range) {
  if (!llvm::is_contained(kFunctions, name.str()))
    return std::nullopt;
  ModelList arguments;
  for (const ast::Argument &argument : call.arguments) {
    if (argument.name) {
      diags.error(Code::UnknownArgument, argument.name->range,
                  fmt::format("'{}' takes its arguments by place", name.str()));
      return ModelValue{};
    }
    arguments.push_back(eval(*argument.value));
    if (arguments.back().failed())
      return ModelValue{};
  }
  if (name == "sqrt" && arguments.size() == 1 && arguments[0].tensor())
    return std::nullopt;
  auto wrong = [&](const char *usage) {
    diags.error(Code::WrongType, range, fmt::format("'{}' is used as {}", name.str(), usage));
    return ModelValue{};
  };
  if (name == "shape") {
    if (arguments.size() != 1 || !arguments[0].tensor())
      return wrong("shape(tensor)");
    auto type = typeOf(*arguments[0].tensor());
    auto list = std::make_shared<ModelList>();
    for (int64_t i = dnn::batchRank(type); i < type.getRank(); ++i)
      list->push_back({Quantity::number(type.getDimSize(i))});
    return ModelValue{list};
  }
  if (name == "len") {
    if (arguments.size() != 1 || !arguments[0].list())
      return wrong("len(list)");
    return ModelValue{Quantity::number(arguments[0].list()->size())};
  }
  if (arguments.size() == 1 && arguments[0].list()) {
    if (!proceed(range, arguments[0].list()->size()))
      return ModelValue{};
    ModelList spread = *arguments[0].list();
    arguments = std::move(spread);
  }
  for (const ModelValue &argument : arguments)
    if (!argument.number())
      return wrong("a function of numbers");
  auto unary = [&](Result<Quantity> (*f)(const Quantity &)) -> ModelValue {
    if (arguments.size() != 1)
      return wrong("a function of one number");
    auto r = f(*arguments[0].number());
    if (r)
      return {*r};
    diags.error(r.error().code, range, r.error().message);
    return {};
  };
  if (name == "pow2")
    return unary(powerOfTwo);
  if (name == "log2")
    return unary(logTwo);
  if (name == "sqrt") {
    if (arguments.size() != 1 || !arguments[0].number()->dimensionless() || arguments[0].number()->value.sign() < 0)
      return wrong("sqrt(number), not negative");
    auto number = real(*arguments[0].number(), range, "the argument of 'sqrt'");
    return number ? ModelValue{Quantity(Rational::ofDouble(std::sqrt(*number)))} : ModelValue{};
  }
  if (name == "ceil_div" || name == "floor_div") {
    if (arguments.size() != 2)
      return wrong("a function of two numbers");
    auto r = (name == "ceil_div" ? ceilDivide : floorDivide)(*arguments[0].number(), *arguments[1].number());
    if (r)
      return ModelValue{*r};
    diags.error(r.error().code, range, r.error().message);
    return ModelValue{};
  }
  if (arguments.empty())
    return wrong("a function of at least one number");
  std::vector<Quantity> numbers;
  for (const ModelValue &argument : arguments)
    numbers.push_back(*argument.number());
  auto folded = applyFold(name, numbers);
  if (folded)
    return ModelValue{*folded};
  diags.error(folded.error().code, range, folded.error().message);
  return ModelValue{};
}

/// Evaluates arguments where they are written (`argumentScope`) and declares the callee's
/// parameters in `into`.
bool ModelBuilder::bindParameters(Scope &into, const ast::Declaration &callee,
                                  const std::vector<ast::Argument> &arguments, SourceRange range, Scope *argumentScope,
                                  const std::map<std::string, int64_t> &overrides) {
  size_t errorsBefore = diags.errors();
  std::vector<std::string> names;
  for (const ast::Parameter &p : callee.parameters)
    names.push_back(p.name.text);
  std::map<std::string, std::pair<const ast::Argument *, ModelValue>> given;
  size_t place = 0;
  bool named = false;
  Scope *saved = scope;
  scope = argumentScope;
  for (const ast::Argument &argument : arguments) {
    std::string name;
    SourceRange where = argument.name ? argument.name->range : argument.value->range;
    if (argument.name) {
      named = true;
      name = argument.name->text;
      if (!llvm::is_contained(names, name)) {
        diags.error(Code::UnknownArgument, where, fmt::format("'{}' has no parameter '{}'", callee.name.text, name))
            .suggest(nearest(name, names))
            .note(callee.name.range, fmt::format("'{}' is declared here", callee.name.text));
        continue;
      }
    } else if (named) {
      diags.error(Code::ArgumentOrder, where, "an argument by place cannot follow one by name");
      continue;
    } else if (place >= names.size()) {
      diags
          .error(Code::TooManyArguments, where,
                 fmt::format("'{}' takes {} argument{}", callee.name.text, names.size(), names.size() == 1 ? "" : "s"))
          .note(callee.name.range, "declared here");
      break;
    } else {
      name = names[place++];
    }
    if (auto earlier = given.find(name); earlier != given.end()) {
      diags.error(Code::DuplicateArgument, where, fmt::format("'{}' is given twice", name))
          .note(earlier->second.first->value->range, "the first time");
      continue;
    }
    given[name] = {&argument, eval(*argument.value)};
  }
  scope = &into;
  bool understood = diags.errors() == errorsBefore;
  for (const ast::Parameter &p : callee.parameters) {
    ModelValue value;
    if (auto fixed = overrides.find(p.name.text); fixed != overrides.end()) {
      value = {Quantity::number(fixed->second)};
    } else if (auto found = given.find(p.name.text); found != given.end()) {
      value = found->second.second;
    } else if (p.defaultValue) {
      value = eval(*p.defaultValue);
    } else if (understood) { // else one that was not understood may be it
      diags
          .error(Code::MissingArgument, range,
                 fmt::format("'{}' needs a value for '{}'", callee.name.text, p.name.text))
          .note(p.name.range, "this parameter has no default");
    }
    declare(p.name, std::move(value), false);
  }
  scope = saved;
  return diags.errors() == errorsBefore;
}

ModelValue ModelBuilder::callModule(const ast::Declaration &module, const ast::Call &call, SourceRange range) {
  std::string label = std::exchange(pendingName, {});
  if (llvm::is_contained(calls, &module) || calls.size() > kMaxCallDepth) {
    diags.error(Code::RecursiveDefinition, range, fmt::format("module '{}' uses itself", module.name.text))
        .note(module.name.range, "declared here");
    return {};
  }
  Scope body;
  body.declaration = &module;
  Scope *saved = scope;
  if (!bindParameters(body, module, call.arguments, range, saved, {}))
    return {};
  std::string outer = prefix;
  prefix = path(label.empty() ? module.name.text : label) + ".";
  calls.push_back(&module);
  scope = &body;
  proceed(range, 20); // a call costs more than other expressions
  run(module.body);
  ModelList results;
  for (const ast::Name &result : module.results) {
    auto found = body.variables.find(result.text);
    if (found == body.variables.end() && !hasGivenUp)
      diags.error(Code::MissingResult, result.range,
                  fmt::format("module '{}' never computes its result '{}'", module.name.text, result.text));
    results.push_back(found == body.variables.end() ? ModelValue{} : found->second.value);
  }
  scope = saved;
  calls.pop_back();
  prefix = outer;
  if (results.size() == 1)
    return results[0];
  return {std::make_shared<ModelList>(std::move(results))};
}

} // namespace accord
