#include "lib/editor/Names.h"
#include "lib/language/models/OperationTable.h"
#include "lib/support/StableSort.h"
#include "llvm/ADT/STLExtras.h"

namespace accord::editor {
namespace {

class Collector {
public:
  Collector(Snapshot &snapshot, const Sources::Unit &unit) : snapshot(snapshot), unit(unit) {}
  std::vector<Occurrence> found;

  void collect() {
    for (const ast::Declaration &one : unit.file->declarations) {
      scopes.clear();
      parts.clear();
      within = &one;
      declaration(one);
    }
    stableSort(found, [](const Occurrence &a, const Occurrence &b) { return a.range.begin < b.range.begin; });
  }

private:
  struct Meaning {
    NameKind kind;
    SourceRange target;
    const ast::Declaration *declaration = nullptr;
  };
  using Scope = std::map<std::string, Meaning>;

  void add(SourceRange range, const Meaning &meaning) {
    if (range.valid() && range.end > range.begin)
      found.push_back({range, meaning.kind, meaning.target, meaning.declaration, within});
  }
  void add(const ast::Name &name, const Meaning &meaning) {
    if (!name.empty())
      add(name.range, meaning);
  }
  void word(const ast::Name &name, NameKind kind) { add(name, {kind, {}}); }

  std::optional<Meaning> global(llvm::StringRef name) {
    const ast::Declaration *one = snapshot.find(unit, name);
    if (!one)
      return std::nullopt;
    return Meaning{NameKind::Declaration, one->name.range, one};
  }
  std::optional<Meaning> local(const std::string &name) const {
    for (const Scope &scope : llvm::reverse(scopes))
      if (auto known = scope.find(name); known != scope.end())
        return known->second;
    if (auto known = parts.find(name); known != parts.end())
      return known->second;
    return std::nullopt;
  }
  std::optional<Meaning> meaningOf(const std::string &name) {
    if (auto known = local(name))
      return known;
    return global(name);
  }
  void declare(const ast::Name &name, NameKind kind) {
    if (name.empty())
      return;
    Meaning meaning{kind, name.range};
    scopes.back()[name.text] = meaning;
    add(name, meaning);
  }
  /// A name that was declared before it is bound: a result of the module, or of a scan.
  void bind(const ast::Name &name) {
    if (auto known = scopes.back().find(name.text); known != scopes.back().end())
      add(name, known->second);
    else if (auto result = results.find(name.text); result != results.end())
      add(name, scopes.back()[name.text] = result->second);
    else
      declare(name, NameKind::Value);
  }

  void declaration(const ast::Declaration &one) {
    add(one.name, {NameKind::Declaration, one.name.range, &one});
    scopes.emplace_back();
    results.clear();
    for (const ast::Parameter &parameter : one.parameters) {
      declare(parameter.name, NameKind::Parameter);
      for (const ast::Name &index : parameter.indices)
        bind(index);
      word(parameter.type, NameKind::Word);
    }
    for (const ast::Parameter &parameter : one.parameters)
      visit(parameter.defaultValue);
    for (const ast::Name &result : one.results) {
      Meaning meaning{NameKind::Value, result.range};
      results[result.text] = meaning;
      scopes.back()[result.text] = meaning;
      add(result, meaning);
    }
    for (const ast::Name &index : one.indices)
      bind(index);
    visit(one.value);
    if (!one.target.empty()) {
      auto meaning = global(one.target.text);
      add(one.target, meaning.value_or(Meaning{NameKind::Word, {}}));
      // What a training requires names parts of its machine.
      if (meaning && meaning->declaration != &one)
        addParts(meaning->declaration->entries);
    }
    addParts(one.entries);
    visit(one.entries, "");
    visit(one.body);
  }

  /// Names of all parts in these entries, whatever their order.
  void addParts(const std::vector<ast::Entry> &entries) {
    for (const ast::Entry &entry : entries)
      if (auto *node = entry.as<ast::Node>()) {
        if (!node->name.empty() && node->kind.text != "joint_error")
          parts[node->name.text] = {NameKind::Part, node->name.range};
        addParts(node->entries);
      }
  }

  void visit(const std::vector<ast::Entry> &entries, llvm::StringRef block) {
    for (const ast::Entry &entry : entries) {
      std::visit([&](const auto &node) { one(node, block); }, entry.node);
      const ast::Clauses &clauses = entry.clauses();
      for (const ast::ExprPtr *expr :
           {&clauses.per, &clauses.weight, &clauses.confidence, &clauses.samples, &clauses.error})
        visit(*expr);
    }
  }
  void one(const ast::KeyValue &pair, llvm::StringRef) {
    word(pair.key, NameKind::Key);
    visit(pair.value);
  }
  void one(const std::unique_ptr<ast::Node> &node, llvm::StringRef block) {
    auto reference = [&](const ast::Name &name) {
      add(name, meaningOf(name.text).value_or(Meaning{NameKind::Word, {}}));
    };
    if (block == "joint_error") { // wide thin = 0.01: members
      for (const ast::Name *name : {&node->kind, &node->name})
        if (!name->empty())
          reference(*name);
      llvm::for_each(node->more, reference);
    } else {
      word(node->kind, NameKind::Kind);
      if (!node->name.empty()) {
        auto part = parts.find(node->name.text);
        bool declares = part != parts.end() && part->second.target == node->name.range;
        add(node->name, declares || part == parts.end() ? Meaning{NameKind::Part, node->name.range} : part->second);
      }
    }
    const ast::Declaration *called = nullptr;
    if (!node->type.empty()) {
      auto meaning = global(node->type.text);
      called = meaning ? meaning->declaration : nullptr;
      add(node->type, meaning.value_or(Meaning{NameKind::Word, {}}));
    }
    arguments(node->arguments, nullptr, nullptr);
    visit(node->count);
    arguments(node->typeArguments, called, nullptr);
    visit(node->value);
    visit(node->entries, node->kind.text);
  }
  void one(const ast::Path &path, llvm::StringRef) {
    for (const auto &stop : path.stops)
      for (const ast::Name &name : stop)
        add(name, meaningOf(name.text).value_or(Meaning{NameKind::Word, {}}));
  }
  void one(const ast::Rule &rule, llvm::StringRef) { visit(rule.expr); }

  void visit(const std::vector<ast::Statement> &body) {
    for (const ast::Statement &statement : body)
      std::visit([&](const auto &node) { one(node); }, statement.node);
  }
  void inner(const std::vector<ast::Statement> &body) {
    scopes.emplace_back();
    visit(body);
    scopes.pop_back();
  }
  void one(const ast::Input &input) {
    for (const ast::ExprPtr &dim : input.dims)
      visit(dim);
    word(input.type, NameKind::Word);
    declare(input.name, NameKind::Value);
  }
  void one(const ast::Bind &bound) {
    visit(bound.value); // a name means what it was before
    for (const ast::Name &name : bound.names) {
      auto known = local(name.text);
      if (bound.kind == ast::BindKind::Let || bound.kind == ast::BindKind::Var || !known)
        bind(name);
      else
        add(name, *known);
    }
  }
  void one(const ast::Repeat &repeat) {
    visit(repeat.count);
    if (!repeat.name.empty())
      add(repeat.name, {NameKind::Layer, repeat.name.range});
    inner(repeat.body);
  }
  void one(const ast::Scan &scan) {
    for (const ast::ExprPtr &source : scan.sources)
      visit(source);
    auto outer = results;
    for (const ast::Name &result : scan.results) {
      bind(result);
      results[result.text] = scopes.back()[result.text];
    }
    scopes.emplace_back();
    for (const ast::Name &step : scan.steps)
      declare(step, NameKind::Value);
    visit(scan.body);
    scopes.pop_back();
    results = std::move(outer);
  }
  void one(const ast::For &loop) {
    visit(loop.range);
    scopes.emplace_back();
    declare(loop.variable, NameKind::Value);
    visit(loop.body);
    scopes.pop_back();
  }
  void one(const ast::When &when) {
    for (const auto &branch : when.branches) {
      visit(branch.condition);
      inner(branch.body);
    }
  }
  void one(const ast::Loss &loss) { visit(loss.value); }

  void visit(const ast::ExprPtr &expr) {
    if (expr)
      std::visit([&](const auto &node) { one(node, *expr); }, expr->node);
  }
  void one(const ast::Number &, const ast::Expr &) {}
  void one(const ast::Text &, const ast::Expr &) {}
  void one(const ast::Boolean &, const ast::Expr &) {}
  void one(const ast::Reference &reference, const ast::Expr &expr) {
    add(expr.range, meaningOf(reference.name).value_or(Meaning{NameKind::Word, {}}));
  }
  void one(const ast::Member &member, const ast::Expr &) {
    visit(member.object);
    // board.gpu.hbm: a part of a part has a name of its own.
    auto part = parts.find(member.member.text);
    auto *outer = member.object ? member.object->as<ast::Reference>() : nullptr;
    bool ofPart = outer && parts.count(outer->name);
    add(member.member, part != parts.end() && ofPart ? part->second : Meaning{NameKind::Key, {}});
  }
  void one(const ast::Index &index, const ast::Expr &) {
    visit(index.object);
    for (const ast::ExprPtr &each : index.indices)
      visit(each);
  }
  void one(const ast::Call &call, const ast::Expr &) {
    auto *reference = call.callee ? call.callee->as<ast::Reference>() : nullptr;
    const ast::Declaration *called = nullptr;
    const OperationSpec *operation = nullptr;
    if (!reference) {
      visit(call.callee);
    } else if (auto meaning = global(reference->name)) {
      called = meaning->declaration;
      add(call.callee->range, *meaning);
    } else {
      operation = findOperation(reference->name);
      add(call.callee->range, {operation ? NameKind::Operation : NameKind::Function, {}});
    }
    arguments(call.arguments, called, operation);
  }
  void arguments(const std::vector<ast::Argument> &all, const ast::Declaration *called,
                 const OperationSpec *operation) {
    for (const ast::Argument &argument : all) {
      if (argument.name) {
        Meaning meaning{operation ? NameKind::Attribute : NameKind::Word, {}};
        if (called)
          for (const ast::Parameter &parameter : called->parameters)
            if (parameter.name.text == argument.name->text)
              meaning = {NameKind::Parameter, parameter.name.range, called};
        add(*argument.name, meaning);
      }
      visit(argument.value);
    }
  }
  void one(const ast::Unary &unary, const ast::Expr &) { visit(unary.operand); }
  void one(const ast::Chain &chain, const ast::Expr &) {
    visit(chain.first);
    for (const auto &link : chain.rest)
      visit(link.operand);
  }
  void one(const ast::Conditional &conditional, const ast::Expr &) {
    for (const auto &branch : conditional.branches) {
      visit(branch.condition);
      visit(branch.value);
    }
    visit(conditional.otherwise);
  }
  void one(const ast::List &list, const ast::Expr &) {
    for (const ast::ExprPtr &element : list.elements)
      visit(element);
  }
  void one(const ast::Set &set, const ast::Expr &) {
    for (const ast::ExprPtr &element : set.elements)
      visit(element);
  }
  void one(const ast::Map &map, const ast::Expr &) {
    for (const auto &pair : map.pairs) { // devices = {a100: 2}: a name where one is declared, else a word or a number
      if (!pair.key.empty() && (llvm::isAlpha(pair.key.text[0]) || pair.key.text[0] == '_'))
        add(pair.key, meaningOf(pair.key.text).value_or(Meaning{NameKind::Word, {}}));
      visit(pair.value);
    }
  }
  void one(const ast::Range &range, const ast::Expr &) {
    visit(range.low);
    visit(range.high);
    visit(range.step);
  }
  void one(const ast::Shape &shape, const ast::Expr &) {
    for (const ast::ExprPtr &dim : shape.dims)
      visit(dim);
  }

  Snapshot &snapshot;
  const Sources::Unit &unit;
  const ast::Declaration *within = nullptr;
  std::vector<Scope> scopes;
  Scope parts, results;
};

} // namespace

std::vector<Occurrence> namesIn(Snapshot &snapshot, const Sources::Unit &unit) {
  Collector collector(snapshot, unit);
  collector.collect();
  return std::move(collector.found);
}

const Occurrence *nameAt(llvm::ArrayRef<Occurrence> names, uint32_t offset) {
  // No name has another one in it, so at most two end at a byte or behind it and begin before it.
  const Occurrence *behind =
      llvm::partition_point(names, [&](const Occurrence &one) { return one.range.end < offset; });
  const Occurrence *ending = nullptr;
  for (; behind != names.end() && behind->range.begin <= offset; ++behind) {
    if (offset < behind->range.end)
      return behind;
    ending = behind;
  }
  return ending;
}

} // namespace accord::editor
