#include "lib/language/syntax/References.h"
#include "lib/support/Diagnostics.h"
#include <fmt/format.h>

namespace accord {
namespace {

class Collector {
public:
  std::set<std::string> names;
  struct Declared {
    const std::vector<ast::Name> *names; ///< of a `let` or `var`
    const ast::Name *input;
  };
  std::vector<Declared> declared;

  void visit(const ast::ExprPtr &expr) {
    if (expr)
      std::visit([&](const auto &node) { one(node); }, expr->node);
  }
  void visit(const std::vector<ast::ExprPtr> &list) {
    for (const ast::ExprPtr &expr : list)
      visit(expr);
  }
  void visit(const std::vector<ast::Argument> &arguments) {
    for (const ast::Argument &argument : arguments)
      visit(argument.value);
  }
  void visit(const std::vector<ast::Statement> &body) {
    for (const ast::Statement &statement : body)
      std::visit([&](const auto &node) { one(node); }, statement.node);
  }
  void visit(const std::vector<ast::Entry> &entries) {
    for (const ast::Entry &entry : entries) {
      std::visit([&](const auto &node) { one(node); }, entry.node);
      const ast::Clauses &c = entry.clauses();
      for (const ast::ExprPtr *clause : {&c.per, &c.weight, &c.confidence, &c.samples, &c.error})
        visit(*clause);
    }
  }
  void visit(const ast::Declaration &d) {
    for (const ast::Parameter &p : d.parameters)
      visit(p.defaultValue);
    for (const ast::Name &result : d.results)
      names.insert(result.text);
    for (const ast::Name &index : d.indices)
      names.insert(index.text);
    visit(d.value);
    names.insert(d.target.text);
    visit(d.entries);
    visit(d.body);
  }

private:
  void one(const ast::Number &) {}
  void one(const ast::Text &) {}
  void one(const ast::Boolean &) {}
  void one(const ast::Reference &r) { names.insert(r.name); }
  void one(const ast::Member &m) { visit(m.object); }
  void one(const ast::Index &i) {
    visit(i.object);
    visit(i.indices);
  }
  void one(const ast::Call &c) {
    visit(c.callee);
    visit(c.arguments);
  }
  void one(const ast::Unary &u) { visit(u.operand); }
  void one(const ast::Chain &c) {
    visit(c.first);
    for (const auto &link : c.rest)
      visit(link.operand);
  }
  void one(const ast::Conditional &c) {
    for (const auto &branch : c.branches) {
      visit(branch.condition);
      visit(branch.value);
    }
    visit(c.otherwise);
  }
  void one(const ast::List &l) { visit(l.elements); }
  void one(const ast::Set &s) { visit(s.elements); }
  void one(const ast::Map &m) {
    for (const auto &pair : m.pairs)
      names.insert(pair.key.text); // devices = {a100: 2}
    for (const auto &pair : m.pairs)
      visit(pair.value);
  }
  void one(const ast::Range &r) {
    visit(r.low);
    visit(r.high);
    visit(r.step);
  }
  void one(const ast::Shape &s) { visit(s.dims); }

  void one(const ast::KeyValue &k) { visit(k.value); }
  void one(const std::unique_ptr<ast::Node> &node) { one(*node); }
  void one(const ast::Node &n) {
    names.insert(n.type.text);
    visit(n.arguments);
    visit(n.count);
    visit(n.typeArguments);
    visit(n.value);
    visit(n.entries);
  }
  void one(const ast::Path &) {}
  void one(const ast::Rule &r) { visit(r.expr); }

  void one(const ast::Input &i) {
    declared.push_back({nullptr, &i.name});
    visit(i.dims);
  }
  void one(const ast::Bind &b) {
    // Of several results one that is used is enough: the others cannot be left out.
    if (b.kind != ast::BindKind::Assign)
      declared.push_back({&b.names, nullptr});
    visit(b.value);
  }
  void one(const ast::Repeat &r) {
    visit(r.count);
    visit(r.body);
  }
  void one(const ast::Scan &s) {
    declared.push_back({&s.steps, nullptr});
    if (!s.results.empty())
      declared.push_back({&s.results, nullptr});
    visit(s.sources);
    visit(s.body);
  }
  void one(const ast::For &f) {
    visit(f.range);
    visit(f.body);
  }
  void one(const ast::When &w) {
    for (const auto &branch : w.branches) {
      visit(branch.condition);
      visit(branch.body);
    }
  }
  void one(const ast::Loss &l) { visit(l.value); }
};

} // namespace

std::set<std::string> referencedNames(const ast::File &file) {
  Collector collector;
  for (const ast::Declaration &declaration : file.declarations)
    collector.visit(declaration);
  return std::move(collector.names);
}

void reportUnusedNames(const ast::Declaration &declaration, Diagnostics &diags) {
  Collector collector;
  collector.visit(declaration);
  auto unused = [&](const ast::Name &name) { return !collector.names.count(name.text); };
  for (auto [names, input] : collector.declared)
    if (input ? unused(*input) : llvm::all_of(*names, unused)) {
      const ast::Name &name = input ? *input : names->front();
      diags
          .error(input ? Code::UnusedInput : Code::UnusedName, name.range,
                 fmt::format("{}'{}' is never used", input ? "input " : "", name.text))
          .help("use it or remove it");
    }
}

} // namespace accord
