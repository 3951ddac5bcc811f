// Repeats and scans: statements whose body becomes one region.
#include "lib/language/models/ModelBuilder.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

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
  Scope inner;
  inner.parent = scope;
  inner.declaration = scope->declaration;
  scope = &inner;
  bind();
  run(body);
  end();
  scope = inner.parent;
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

void ModelBuilder::repeat(const ast::Repeat &repeat, SourceRange range) {
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

void ModelBuilder::scan(const ast::Scan &scan, SourceRange range) {
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

} // namespace accord
