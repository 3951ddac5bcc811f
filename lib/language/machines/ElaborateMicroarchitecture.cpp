#include "lib/language/machines/ElaborateMicroarchitecture.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/language/machines/MicroarchitectureParts.h"
#include "lib/language/machines/SchemaReader.h"
#include "lib/language/syntax/Arguments.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "mlir/IR/Verifier.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

class MicroarchitectureElaborator {
public:
  MicroarchitectureElaborator(const MicroarchitectureText &text, ModuleOp module, Diagnostics &diags,
                              const Lookup &constants)
      : text(text), context(*module.getContext()), builder(&context), diags(diags), constants(constants),
        parts(diags, constants) {
    builder.setInsertionPointToEnd(module.getBody());
  }

  accel::MicroarchitectureOp run() {
    const size_t before = diags.errors();
    SchemaReader keys(context, diags, constants, *accel::findSchema("microarchitecture"));
    auto op = accel::MicroarchitectureOp::create(builder, keys.location(text.at), text.name);
    builder.setInsertionPointToEnd(&op.getBody().front());
    for (const ast::Entry &entry : *text.entries)
      if (auto *pair = entry.as<ast::KeyValue>())
        keys.read(*pair, entry);
    keys.finish(text.at);
    op.setEntriesAttr(keys.dictionary());
    op->setLoc(keys.location(text.at));
    parts.collect(*text.entries);
    // What is wrong in a template is wrong in each of its copies, and said of the first.
    const TemplateCopy *wrong = nullptr;
    for (const NamedPart &part : parts.all()) {
      if (part.copy && wrong && wrong->array == part.copy->array)
        continue;
      const size_t earlier = diags.errors();
      add(part);
      if (part.copy && diags.errors() > earlier)
        wrong = part.copy;
    }
    if (diags.errors() == before && isWellFormed(op))
      return op;
    op->erase();
    return nullptr;
  }

private:
  /// As the dialect sees it, and then as a machine.
  bool isWellFormed(accel::MicroarchitectureOp op) {
    const size_t before = diags.errors();
    ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      reportMachineError(d, diags, text.at);
      return success();
    });
    bool ok = succeeded(verify(op)) && succeeded(microarchitectureFrom(op));
    if (!ok && diags.errors() == before)
      diags.error(Code::InternalError, text.at, "the microarchitecture is not valid");
    return ok;
  }

  Attribute count(const ast::Node &node, const Lookup &lookup) {
    if (!node.count)
      return {};
    Constant value = evaluate(*node.count, diags, lookup);
    auto *number = value.as<Quantity>();
    auto count = number ? number->toInt64() : std::nullopt;
    if (count && *count >= 1)
      return builder.getI64IntegerAttr(*count);
    if (!value.failed())
      diags.error(Code::NoCapacity, value.range,
                  fmt::format("the count of '{}' is a positive integer, not {}", node.name.text, value.describe()));
    return {};
  }

  /// What a part has besides a name, a count and a block.
  void rejectClauses(const ast::Node &node, bool counts) {
    auto reject = [&](SourceRange at, const char *what) {
      diags.error(Code::UnexpectedClause, at, fmt::format("'{}' takes no {}", node.kind.text, what));
    };
    if (node.count && !counts)
      reject(node.count->range, "count");
    if (!node.type.empty())
      reject(node.type.range, "type");
    if (node.hasArguments)
      reject(node.name.range, "arguments");
    if (!node.pattern.empty())
      reject(node.pattern.range, "'of'");
    if (node.value)
      reject(node.value->range, "value");
  }

  /// `units = {fu, mesh.mac}`: each name at its place.
  void references(const accel::KeySchema &key, const ast::KeyValue &pair, const NamedPart &part, SchemaReader &into) {
    Lookup names = [](llvm::StringRef, SourceRange) { return std::nullopt; };
    Constant value = evaluate(*pair.value, diags, names);
    auto *choice = value.as<Choice>();
    auto *list = value.as<ListValue>();
    const bool several = (choice && choice->kind == Choice::Kind::Set) || (list && !list->shape);
    const Constants all = !several ? Constants{value} : choice ? *choice->members : *list->elements;
    llvm::SmallVector<Attribute> found;
    bool ok = !value.failed();
    for (const Constant &one : all)
      if (auto named = parts.named(one, part, key.words))
        for (const std::string &name : *named)
          found.push_back(FlatSymbolRefAttr::get(&context, name));
      else
        ok = false;
    const bool single = key.kind == accel::ValueKind::Reference;
    if (ok && single && found.size() != 1) {
      diags.error(Code::WrongPart, value.range,
                  fmt::format("'{}' of '{}' names {} parts, and is one", key.name.str(), part.name, found.size()));
      ok = false;
    }
    into.set(key.name,
             !ok || found.empty() ? Attribute()
             : single             ? found[0]
                                  : builder.getArrayAttr(found),
             pair.key.range);
  }

  void add(const NamedPart &part) {
    const ast::Node &node = *part.node;
    llvm::StringRef kind = node.kind.text;
    const Lookup lookup = parts.lookupIn(part);
    SchemaReader keys(context, diags, lookup, *accel::findSchema("part", kind));
    rejectClauses(node, kind == "unit" || kind == "registers");
    if (kind == "registers" && !node.count)
      diags.error(Code::NoCapacity, node.name.range, fmt::format("'{}' does not say how many registers", part.name))
          .help(fmt::format("for example: registers {}[16] {{ … }}", node.name.text));
    llvm::SmallVector<const ast::Node *> operations;
    for (const ast::Entry &entry : node.entries)
      if (auto *pair = entry.as<ast::KeyValue>())
        read(*pair, entry, part, keys);
      else if (auto *inner = entry.as<ast::Node>(); inner && inner->kind.text == "operation" && kind == "unit")
        operations.push_back(inner);
      else
        diags
            .error(Code::UnknownEntryKind, inner ? inner->kind.range : entry.range,
                   fmt::format("'{}' has keys{} alone", part.name, kind == "unit" ? " and operations" : ""))
            .suggest(inner && kind == "unit" ? nearest(inner->kind.text, std::vector<std::string>{"operation"}) : "");
    keys.finish(node.name.range);
    std::string symbol = (kind == "opcode" ? "opcode." : "") + part.name;
    accel::PartOp::create(builder, keys.location(node.name.range), builder.getStringAttr(symbol), count(node, lookup),
                          builder.getStringAttr(kind), keys.dictionary());
    std::map<std::string, SourceRange> seen;
    for (const ast::Node *inner : operations)
      operation(*inner, part, seen);
  }

  void read(const ast::KeyValue &pair, const ast::Entry &entry, const NamedPart &part, SchemaReader &keys) {
    const accel::KeySchema *key = accel::findSchema("part", part.node->kind.text)->findKey(pair.key.text);
    const bool names = key && (key->kind == accel::ValueKind::Reference || key->kind == accel::ValueKind::References);
    if (names)
      references(*key, pair, part, keys);
    else
      keys.read(pair, entry);
  }

  /// operation mac { latency = 1 cycle }
  void operation(const ast::Node &node, const NamedPart &unit, std::map<std::string, SourceRange> &seen) {
    const Lookup lookup = parts.lookupIn(unit);
    SchemaReader keys(context, diags, lookup, *accel::findSchema("part", "operation"));
    rejectClauses(node, false);
    for (const ast::Entry &entry : node.entries)
      if (auto *pair = entry.as<ast::KeyValue>();
          pair && pair->key.text != "opcode" && pair->key.text != "unit") // said by where it stands
        keys.read(*pair, entry);
      else
        diags.error(Code::UnknownEntryKind, entry.range, "an operation has a latency and an interval alone");
    keys.set("opcode", FlatSymbolRefAttr::get(&context, "opcode." + node.name.text), node.name.range);
    keys.set("unit", FlatSymbolRefAttr::get(&context, unit.name), node.kind.range);
    keys.finish(node.name.range.valid() ? node.name.range : node.kind.range);
    if (!parts.find("opcode." + node.name.text)) {
      std::vector<std::string> known;
      for (const NamedPart &part : parts.all())
        if (part.node->kind.text == "opcode")
          known.push_back(part.name);
      diags
          .error(Code::UnknownName, node.name.range.valid() ? node.name.range : node.kind.range,
                 fmt::format("there is no opcode '{}'", node.name.text))
          .suggest(nearest(node.name.text, known))
          .help(fmt::format("declare it: opcode {} {{ reads = 2, writes = 1 }}", node.name.text));
      return;
    }
    auto [earlier, isNew] = seen.try_emplace(node.name.text, node.name.range);
    if (!isNew) {
      diags.error(Code::DuplicateName, node.name.range, fmt::format("'{}' has '{}' twice", unit.name, node.name.text))
          .note(earlier->second, "the first time");
      return;
    }
    accel::PartOp::create(builder, keys.location(node.name.range),
                          builder.getStringAttr(unit.name + "." + node.name.text), Attribute(),
                          builder.getStringAttr("operation"), keys.dictionary());
  }

  const MicroarchitectureText &text;
  MLIRContext &context;
  OpBuilder builder;
  Diagnostics &diags;
  const Lookup &constants;
  MicroarchitectureParts parts;
};

} // namespace

accel::MicroarchitectureOp elaborateMicroarchitecture(const MicroarchitectureText &text, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &constants) {
  return MicroarchitectureElaborator(text, module, diags, constants).run();
}

accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals) {
  const MicroarchitectureUse plain{declaration.name.text, declaration.name.range, nullptr, globals};
  return elaborateMicroarchitecture(declaration, plain, module, diags, globals);
}

accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration,
                                                      const MicroarchitectureUse &use, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals) {
  std::map<std::string, Constant> parameters;
  const Lookup constants = [&](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
    auto found = parameters.find(name.str());
    return found != parameters.end() ? std::optional(found->second) : globals(name, at);
  };
  std::map<std::string, const ast::Argument *> given;
  const size_t before = diags.errors();
  if (use.arguments) {
    Callee callee{fmt::format("microarchitecture '{}'", declaration.name.text), declaration.name.range, {}};
    for (const ast::Parameter &parameter : declaration.parameters)
      callee.parameters.push_back(parameter.name.text);
    given = bindArguments(callee, *use.arguments, diags);
  }
  for (const ast::Parameter &parameter : declaration.parameters) {
    const std::string &name = parameter.name.text;
    if (auto argument = given.find(name); argument != given.end())
      parameters[name] = evaluate(*argument->second->value, diags, use.constants);
    else if (parameter.defaultValue)
      parameters[name] = evaluate(*parameter.defaultValue, diags, constants);
    else {
      diags.error(Code::MissingArgument, parameter.name.range,
                  fmt::format("parameter '{}' of a machine needs a default", name));
      parameters[name] = {};
    }
  }
  if (use.arguments && diags.errors() > before)
    return nullptr;
  const SourceRange at = use.arguments ? use.at : declaration.name.range;
  return elaborateMicroarchitecture({use.symbol, at, &declaration.entries}, module, diags, constants);
}

} // namespace accord
