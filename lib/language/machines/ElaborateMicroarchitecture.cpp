#include "lib/language/machines/ElaborateMicroarchitecture.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/language/machines/MicroarchitectureParts.h"
#include "lib/language/machines/SchemaReader.h"
#include "lib/language/syntax/Arguments.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

/// The first of the values of a choice.
Attribute firstOf(accel::ChoiceAttr choice) {
  Attribute first = choice.getValues()[0];
  auto low = dyn_cast<IntegerAttr>(first);
  if (choice.getKind() != "pow2" || !low || low.getInt() < 1)
    return first;
  return IntegerAttr::get(low.getType(), int64_t(llvm::PowerOf2Ceil(uint64_t(low.getInt()))));
}
Constant firstOf(const Constant &choice) {
  const Choice &is = *choice.as<Choice>();
  if (is.kind == Choice::Kind::Set)
    return is.members->front();
  auto low = is.low.toInt64();
  if (is.kind != Choice::Kind::PowersOfTwo || !low || *low < 1)
    return {choice.range, is.low};
  return {choice.range, Quantity::number(int64_t(llvm::PowerOf2Ceil(uint64_t(*low))))};
}

/// Whether it stands for a value that is known when a design is chosen: "c.units", 2 * c.units.
bool isSymbolic(const Constant &value) {
  auto *word = value.as<Word>();
  return value.as<CallValue>() || (word && llvm::StringRef(word->text).contains('.'));
}

class MicroarchitectureElaborator {
public:
  /// `open`: values that are left open stand as such in what is made; else the first of each choice does.
  MicroarchitectureElaborator(const MicroarchitectureText &text, ModuleOp module, Diagnostics &diags,
                              const Lookup &globals, bool open)
      : text(text), context(*module.getContext()), builder(&context), diags(diags), open(open),
        constants([this, &globals](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
          auto choice = this->text.choices.find(name.str());
          if (choice == this->text.choices.end())
            return globals(name, at);
          if (isSymbolic(choice->second))
            return choice->second;
          if (this->open)
            return Constant{at, Word{this->text.path + "." + name.str()}};
          return firstOf(choice->second);
        }),
        parts(diags, constants) {
    builder.setInsertionPointToEnd(module.getBody());
  }

  bool leavesOpen() const { return !text.choices.empty() || hasChoices; }

  accel::MicroarchitectureOp run() {
    const size_t before = diags.errors();
    SchemaReader keys(context, diags, constants, *accel::findSchema("microarchitecture"));
    NamedAttrList parameters;
    for (const auto &[name, value] : text.choices)
      if (Attribute values = isSymbolic(value) ? Attribute() : choiceOf(name, value)) {
        parameters.set(name, values);
        keys.set("parameter " + name, {}, value.range);
      }
    auto op = accel::MicroarchitectureOp::create(builder, keys.location(text.at), text.name);
    builder.setInsertionPointToEnd(&op.getBody().front());
    for (const ast::Entry &entry : *text.entries)
      if (auto *pair = entry.as<ast::KeyValue>())
        keys.read(*pair, entry);
    keys.finish(text.at);
    op.setEntriesAttr(decided(keys.dictionary()));
    op->setLoc(keys.location(text.at));
    if (open && !parameters.empty())
      op->setAttr(kOpenParameters, parameters.getDictionary(&context));
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
  /// Whether a number of a part follows from values by their paths.
  static bool hasReferences(accel::MicroarchitectureOp op) {
    auto refers = [](auto &self, Attribute value) -> bool {
      if (auto reference = dyn_cast_or_null<accel::ReferenceAttr>(value))
        return reference.getPath().contains('.');
      if (auto array = dyn_cast_or_null<ArrayAttr>(value))
        return llvm::any_of(array, [&](Attribute one) { return self(self, one); });
      auto apply = dyn_cast_or_null<accel::ApplyAttr>(value);
      return apply && llvm::any_of(apply.getOperands(), [&](Attribute one) { return self(self, one); });
    };
    for (auto part : op.getBody().getOps<accel::PartOp>())
      if (refers(refers, part.getCountAttr()) ||
          llvm::any_of(part.getEntries(), [&](NamedAttribute entry) { return refers(refers, entry.getValue()); }))
        return true;
    return llvm::any_of(op.getEntries(), [&](NamedAttribute entry) { return refers(refers, entry.getValue()); });
  }

  /// As the dialect sees it, and then as a machine.
  bool isWellFormed(accel::MicroarchitectureOp op) {
    const size_t before = diags.errors();
    ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      reportMachineError(d, diags, text.at);
      return success();
    });
    // What follows from a choice of a part has no value yet.
    bool ok =
        succeeded(verify(op)) && (open || (hasChoices && hasReferences(op)) || succeeded(microarchitectureFrom(op)));
    if (!ok && diags.errors() == before)
      diags.error(Code::InternalError, text.at, "the microarchitecture is not valid");
    return ok;
  }

  /// A choice of numbers; null after errors.
  accel::ChoiceAttr choiceOf(llvm::StringRef name, const Constant &value) {
    const Choice &choice = *value.as<Choice>();
    const bool isSet = choice.kind == Choice::Kind::Set;
    Constants members =
        isSet ? *choice.members
              : Constants{{value.range, choice.low}, {value.range, choice.high}, {value.range, choice.step}};
    if (!isSet && (choice.kind == Choice::Kind::PowersOfTwo || choice.step.value == Rational(1)))
      members.pop_back();
    const bool isInteger = llvm::all_of(members, [](const Constant &one) {
      auto *number = one.as<Quantity>();
      return number && number->toInt64();
    });
    llvm::SmallVector<Attribute> all;
    const Quantity *first = members.empty() ? nullptr : members[0].as<Quantity>();
    for (const Constant &one : members) {
      auto *number = one.as<Quantity>();
      if (!number || number->dimension != first->dimension) {
        diags.error(number ? Code::DimensionMismatch : Code::ChoiceNotAllowed, one.range,
                    fmt::format("parameter '{}' of a microarchitecture chooses among {}, not {}", name.str(),
                                number ? describe(first->dimension) : "numbers", one.describe()));
        return {};
      }
      all.push_back(isInteger ? Attribute(builder.getI64IntegerAttr(*number->toInt64()))
                              : accel::QuantityAttr::get(&context, *number, number->print(), ""));
    }
    if (all.empty()) {
      diags.error(Code::EmptyRange, value.range, fmt::format("'{}' has no value to choose from", name.str()));
      return {};
    }
    return accel::ChoiceAttr::get(&context,
                                  isSet                                      ? "set"
                                  : choice.kind == Choice::Kind::PowersOfTwo ? "pow2"
                                                                             : "range",
                                  builder.getArrayAttr(all));
  }

  /// Choices as they are, or the first value of each.
  Attribute decided(Attribute value) {
    if (auto choice = dyn_cast_or_null<accel::ChoiceAttr>(value)) {
      hasChoices = true;
      return open ? value : firstOf(choice);
    }
    auto array = dyn_cast_or_null<ArrayAttr>(value);
    if (!array || !llvm::any_of(array, llvm::IsaPred<accel::ChoiceAttr>))
      return value;
    llvm::SmallVector<Attribute> all;
    for (Attribute one : array)
      all.push_back(decided(one));
    return builder.getArrayAttr(all);
  }
  DictionaryAttr decided(DictionaryAttr entries) {
    NamedAttrList all;
    for (NamedAttribute entry : entries)
      all.set(entry.getName(), decided(entry.getValue()));
    return all.getDictionary(&context);
  }
  /// One mistake in all copies of a template.
  bool isMadeOften(const NamedPart &part, Attribute value, SourceRange at) {
    auto array = dyn_cast_or_null<ArrayAttr>(value);
    if (!part.copy || !(isa_and_nonnull<accel::ChoiceAttr>(value) ||
                        (array && llvm::any_of(array, llvm::IsaPred<accel::ChoiceAttr>))))
      return false;
    diags.error(Code::ChoiceNotAllowed, at, fmt::format("a choice in a template would be one of each copy"))
        .help("make it a parameter of the microarchitecture, so that all copies have the same value");
    return true;
  }

  Attribute count(const NamedPart &part, const Lookup &lookup, SchemaReader &keys) {
    const ast::Node &node = *part.node;
    if (!node.count)
      return {};
    Constant value = evaluate(*node.count, diags, lookup);
    if (value.as<Choice>()) {
      auto choice = choiceOf(node.name.text, value);
      if (!choice || isMadeOften(part, choice, value.range))
        return {};
      if (std::string error = accel::valueError(accel::countKey(), choice); !error.empty()) {
        diags.error(Code::NoCapacity, value.range, fmt::format("the count of '{}' {}", node.name.text, error));
        return {};
      }
      return decided(Attribute(choice));
    }
    if (isSymbolic(value))
      return keys.attributeOf(value, diags.sources().text(node.count->range));
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
    accel::PartOp::create(builder, keys.location(node.name.range), builder.getStringAttr(symbol),
                          count(part, lookup, keys), builder.getStringAttr(kind), decided(keys.dictionary()));
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
      readValue(pair, entry, part, keys);
  }
  void readValue(const ast::KeyValue &pair, const ast::Entry &entry, const NamedPart &part, SchemaReader &keys) {
    keys.read(pair, entry);
    isMadeOften(part, keys.dictionary().get(pair.key.text), pair.value->range);
  }

  /// operation mac { latency = 1 cycle }
  void operation(const ast::Node &node, const NamedPart &unit, std::map<std::string, SourceRange> &seen) {
    const Lookup lookup = parts.lookupIn(unit);
    SchemaReader keys(context, diags, lookup, *accel::findSchema("part", "operation"));
    rejectClauses(node, false);
    for (const ast::Entry &entry : node.entries)
      if (auto *pair = entry.as<ast::KeyValue>();
          pair && pair->key.text != "opcode" && pair->key.text != "unit") // said by where it stands
        readValue(*pair, entry, unit, keys);
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
                          builder.getStringAttr("operation"), decided(keys.dictionary()));
  }

  const MicroarchitectureText &text;
  MLIRContext &context;
  OpBuilder builder;
  Diagnostics &diags;
  const bool open;
  bool hasChoices = false; ///< besides those of parameters
  const Lookup constants;
  MicroarchitectureParts parts;
};

} // namespace

accel::MicroarchitectureOp elaborateMicroarchitecture(const MicroarchitectureText &text, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &constants) {
  // Values that follow from other parts of an accelerator are not known yet.
  const bool isKnown = llvm::none_of(text.choices, [](const auto &one) { return isSymbolic(one.second); });
  if (isKnown) {
    MicroarchitectureElaborator first(text, module, diags, constants, /*open=*/false);
    accel::MicroarchitectureOp op = first.run();
    if (!op || !first.leavesOpen())
      return op;
    op->erase();
  }
  return MicroarchitectureElaborator(text, module, diags, constants, /*open=*/true).run();
}

accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals) {
  const std::string &name = declaration.name.text;
  return elaborateMicroarchitecture(declaration, {name, name, declaration.name.range, nullptr, globals}, module, diags,
                                    globals);
}

accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration,
                                                      const MicroarchitectureUse &use, ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals) {
  std::map<std::string, Constant> parameters;
  const Lookup constants = [&](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
    auto found = parameters.find(name.str());
    return found != parameters.end() ? std::optional(found->second) : globals(name, at);
  };
  // A default may follow from a parameter before it that is left open.
  const Lookup defaults = [&](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
    auto value = constants(name, at);
    return value && value->as<Choice>() && parameters.count(name.str())
               ? Constant{at, Word{use.path + "." + name.str()}}
               : value;
  };
  std::map<std::string, const ast::Argument *> given;
  const size_t before = diags.errors();
  if (use.arguments) {
    Callee callee{fmt::format("microarchitecture '{}'", declaration.name.text), declaration.name.range, {}};
    for (const ast::Parameter &parameter : declaration.parameters)
      callee.parameters.push_back(parameter.name.text);
    given = bindArguments(callee, *use.arguments, diags);
  }
  const SourceRange at = use.arguments ? use.at : declaration.name.range;
  MicroarchitectureText text{use.symbol, at, &declaration.entries, use.path, {}};
  for (const ast::Parameter &parameter : declaration.parameters) {
    const std::string &name = parameter.name.text;
    if (auto argument = given.find(name); argument != given.end())
      parameters[name] = evaluate(*argument->second->value, diags, use.constants);
    else if (parameter.defaultValue)
      parameters[name] = evaluate(*parameter.defaultValue, diags, defaults);
    else {
      diags.error(Code::MissingArgument, parameter.name.range,
                  fmt::format("parameter '{}' of a machine needs a default", name));
      parameters[name] = {};
    }
    const Constant &value = parameters[name];
    auto *choice = value.as<Choice>();
    if (choice && choice->kind == Choice::Kind::Set && choice->members->empty())
      diags.error(Code::EmptyRange, value.range, fmt::format("'{}' has no value to choose from", name));
    else if (choice || isSymbolic(value))
      text.choices[name] = value;
  }
  if (diags.errors() > before && (use.arguments || !text.choices.empty()))
    return nullptr;
  return elaborateMicroarchitecture(text, module, diags, constants);
}

} // namespace accord
