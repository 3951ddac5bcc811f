// All places of a tree: to move them, and to look at them.
#include "lib/language/syntax/KeptParts.h"
#include "lib/language/syntax/Ranges.h"
#include "llvm/ADT/STLExtras.h"

namespace accord {
namespace {

/// Calls a function with each valid range.
template <class Function> class RangeVisitor {
public:
  explicit RangeVisitor(Function call) : call(call) {}

  void visit(SourceRange &range) const {
    if (range.valid())
      call(range);
  }
  void visit(ast::Name &name) const { visit(name.range); }
  void visit(std::optional<ast::Name> &name) const {
    if (name)
      visit(name->range);
  }
  template <class T> void visit(std::vector<T> &list) const {
    for (T &one : list)
      visit(one);
  }
  void visit(ast::Argument &argument) const {
    visit(argument.name);
    visit(argument.value);
  }

  void visit(ast::ExprPtr &expr) const {
    if (!expr)
      return;
    visit(expr->range);
    std::visit([&](auto &node) { one(node); }, expr->node);
  }
  void visit(ast::Chain::Link &link) const {
    visit(link.opRange);
    visit(link.operand);
  }
  void visit(ast::Conditional::Branch &branch) const {
    visit(branch.condition);
    visit(branch.value);
  }
  void visit(ast::Map::Pair &pair) const {
    visit(pair.key);
    visit(pair.value);
  }

  void visit(ast::Entry &entry) const {
    visit(entry.range);
    std::visit([&](auto &node) { one(node); }, entry.node);
    if (!entry.given)
      return;
    visit(entry.given->sourceRange);
    visit(entry.given->fromRange);
    for (ast::ExprPtr *expr : {&entry.given->per, &entry.given->weight, &entry.given->confidence, &entry.given->samples,
                               &entry.given->error})
      visit(*expr);
  }

  void visit(ast::Statement &statement) const {
    visit(statement.range);
    std::visit([&](auto &node) { one(node); }, statement.node);
  }
  void visit(ast::When::Branch &branch) const {
    visit(branch.condition);
    visit(branch.body);
  }

  void visit(ast::Parameter &parameter) const {
    visit(parameter.name);
    visit(parameter.type);
    visit(parameter.indices);
    visit(parameter.defaultValue);
  }
  void visit(ast::Declaration &declaration) const {
    visit(declaration.range);
    visit(declaration.kindRange);
    visit(declaration.name);
    visit(declaration.parameters);
    visit(declaration.results);
    visit(declaration.indices);
    visit(declaration.value);
    visit(declaration.target);
    visit(declaration.entries);
    visit(declaration.body);
  }
  void visit(ast::Import &import) const {
    visit(import.range);
    visit(import.pathRange);
  }
  void visit(ast::Comment &comment) const { visit(comment.range); }
  void visit(ast::Layout::Token &token) const { visit(token.range); }

private:
  void one(ast::Number &) const {}
  void one(ast::Text &) const {}
  void one(ast::Boolean &) const {}
  void one(ast::Reference &) const {}
  void one(ast::Member &member) const {
    visit(member.object);
    visit(member.member);
  }
  void one(ast::Index &index) const {
    visit(index.object);
    visit(index.indices);
  }
  void one(ast::Call &call) const {
    visit(call.callee);
    visit(call.arguments);
  }
  void one(ast::Unary &unary) const { visit(unary.operand); }
  void one(ast::Chain &chain) const {
    visit(chain.first);
    visit(chain.rest);
  }
  void one(ast::Conditional &conditional) const {
    visit(conditional.branches);
    visit(conditional.otherwise);
  }
  void one(ast::List &list) const { visit(list.elements); }
  void one(ast::Set &set) const { visit(set.elements); }
  void one(ast::Map &map) const { visit(map.pairs); }
  void one(ast::Range &range) const {
    visit(range.low);
    visit(range.high);
    visit(range.step);
  }
  void one(ast::Shape &shape) const { visit(shape.dims); }

  void one(ast::KeyValue &pair) const {
    visit(pair.key);
    visit(pair.value);
  }
  void one(std::unique_ptr<ast::Node> &node) const {
    visit(node->kind);
    visit(node->name);
    visit(node->more);
    visit(node->arguments);
    visit(node->count);
    visit(node->type);
    visit(node->typeArguments);
    visit(node->pattern);
    visit(node->value);
    visit(node->entries);
  }
  void one(ast::Path &path) const { visit(path.stops); }
  void one(ast::Rule &rule) const {
    visit(rule.label);
    visit(rule.expr);
  }

  void one(ast::Input &input) const {
    visit(input.name);
    visit(input.type);
    visit(input.dims);
  }
  void one(ast::Bind &bound) const {
    visit(bound.names);
    visit(bound.value);
  }
  void one(ast::Repeat &repeat) const {
    visit(repeat.count);
    visit(repeat.name);
    visit(repeat.body);
  }
  void one(ast::Scan &scan) const {
    visit(scan.sources);
    visit(scan.steps);
    visit(scan.results);
    visit(scan.body);
  }
  void one(ast::For &loop) const {
    visit(loop.variable);
    visit(loop.range);
    visit(loop.body);
  }
  void one(ast::When &when) const { visit(when.branches); }
  void one(ast::Loss &loss) const { visit(loss.value); }

  Function call;
};

auto moverTo(FileId file, int64_t shift) {
  return RangeVisitor([=](SourceRange &range) {
    range = {file, static_cast<uint32_t>(range.begin + shift), static_cast<uint32_t>(range.end + shift)};
  });
}

} // namespace

void forEachRange(const ast::Declaration &declaration, llvm::function_ref<void(SourceRange)> told) {
  // One visitor for those that change the tree and those that do not.
  RangeVisitor([&](SourceRange &range) { told(range); }).visit(const_cast<ast::Declaration &>(declaration));
}

namespace syntax {

void relocate(ast::Declaration &declaration, FileId file, int64_t shift) { moverTo(file, shift).visit(declaration); }
void relocate(ast::Statement &statement, FileId file, int64_t shift) { moverTo(file, shift).visit(statement); }
void relocate(ast::Entry &entry, FileId file, int64_t shift) { moverTo(file, shift).visit(entry); }

void relocate(ast::File &tree, FileId file) {
  if (tree.id == file)
    return;
  auto mover = moverTo(file, 0);
  tree.id = file;
  mover.visit(tree.imports);
  mover.visit(tree.declarations);
  mover.visit(tree.comments);
  mover.visit(tree.layout.tokens);
}

} // namespace syntax
} // namespace accord
