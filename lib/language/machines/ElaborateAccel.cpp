#include "lib/language/machines/ElaborateAccel.h"
#include "lib/language/machines/Calibration.h"
#include "lib/language/machines/ElaborateMicroarchitecture.h"
#include "lib/language/machines/MachineElaborator.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/translate/PowerLevels.h"
#include "lib/support/EmitError.h"

using namespace mlir;

namespace accord {
namespace {

constexpr llvm::StringLiteral kMicroarchitecture = "microarchitecture";
} // namespace

void MachineElaborator::unknownEntry(const ast::Name &kind, const std::vector<std::string> &known, const char *where) {
  auto error = diags.error(Code::UnknownEntryKind, kind.range, fmt::format("{} has no '{}'", where, kind.text));
  if (known.empty())
    error.help(fmt::format("{} has entries 'key = value' only", where));
  else
    error.suggest(nearest(kind.text, known)).help(fmt::format("{} has {}", where, fmt::join(known, ", ")));
}

bool MachineElaborator::declare(const ast::Name &name) {
  auto [it, isNew] = names.try_emplace(name.text, name.range);
  if (!isNew)
    diags.error(Code::DuplicateName, name.range, fmt::format("'{}' is already declared here", name.text))
        .note(it->second, "the earlier declaration");
  return isNew;
}

Attribute MachineElaborator::count(const ast::Node &node) {
  if (!node.count)
    return {};
  Constant value = evaluate(*node.count, diags, lookup);
  if (value.failed())
    return {};
  if (auto *q = value.as<Quantity>()) {
    auto n = q->dimensionless() ? q->toInt64() : std::nullopt;
    if (!n || *n < 1) {
      diags.error(n ? Code::OutOfRange : Code::NotAnInteger, value.range,
                  fmt::format("the count of '{}' is a positive integer, not {}", node.name.text, value.describe()));
      return {};
    }
    return builder.getI64IntegerAttr(*n);
  }
  auto *choice = value.as<Choice>();
  if (choice && choice->kind == Choice::Kind::Set && choice->members->empty()) {
    diags.error(Code::EmptyRange, value.range,
                fmt::format("the count of '{}' has no value to choose from", node.name.text));
    return {};
  }
  auto all = choice ? integersOf(value, diags, "count") : std::nullopt;
  if (choice && all) {
    bool set = choice->kind == Choice::Kind::Set;
    llvm::SmallVector<Attribute> members;
    for (int64_t n : set ? *all : std::vector<int64_t>{all->front(), all->back()})
      members.push_back(builder.getI64IntegerAttr(n));
    return accel::ChoiceAttr::get(&context,
                                  set                                         ? "set"
                                  : choice->kind == Choice::Kind::PowersOfTwo ? "pow2"
                                                                              : "range",
                                  builder.getArrayAttr(members));
  }
  if (!choice)
    diags.error(Code::WrongType, value.range,
                fmt::format("the count of '{}' is a positive integer, not {}", node.name.text, value.describe()));
  return {};
}

/// Keys of a block inside of another one.
void MachineElaborator::keysOf(const ast::Node &node, SchemaReader &keys) {
  for (const ast::Entry &entry : node.entries)
    if (auto *pair = entry.as<ast::KeyValue>())
      keys.read(*pair, entry);
    else
      unknownEntry(entry.as<ast::Node>() ? entry.as<ast::Node>()->kind : node.kind, {}, "this block");
  keys.finish(node.kind.range);
}

void MachineElaborator::sparse(const ast::Node &node, SchemaReader &into) {
  if (node.name.empty() && !node.hasArguments && node.hasBlock) {
    SchemaReader keys = reader("sparse");
    keysOf(node, keys);
    into.set("sparse", keys.dictionary(), node.kind.range);
    return;
  }
  std::vector<int64_t> ratio;
  for (const ast::Argument &argument : node.arguments)
    if (auto list = integersOf(evaluate(*argument.value, diags, lookup), diags, "nm")) {
      if (list->size() > 1) {
        diags
            .error(Code::NotSupported, argument.value->range,
                   fmt::format("not supported yet: {} values of nm(n, m), which is the same in all designs of a space",
                               list->size()))
            .help(fmt::format("state one, for example nm({}, 4)", list->front()));
        return;
      }
      ratio.push_back(list->front());
    }
  if (node.name.text != "nm" || ratio.size() != 2) {
    diags
        .error(Code::UnknownChoice, node.name.range.valid() ? node.name.range : node.kind.range,
               "a core skips zeros in the pattern nm(n, m)")
        .help("for example: sparse nm(2, 4) { rate = 2, on = weights }, or of any zeros: sparse { "
              "stationary = skip }");
    return;
  }
  SchemaReader keys = reader("sparse", "nm");
  keys.set("n", builder.getI64IntegerAttr(ratio[0]), node.name.range);
  keys.set("m", builder.getI64IntegerAttr(ratio[1]), node.name.range);
  keysOf(node, keys);
  llvm::SmallVector<NamedAttribute> all(keys.dictionary().getValue());
  all.push_back(builder.getNamedAttr("pattern", builder.getStringAttr("nm")));
  into.set("sparse", builder.getDictionaryAttr(all), node.kind.range);
}

/// memory hbm : dram { … }, core mxu[2] : tensor { … }
void MachineElaborator::subtypeBlock(const ast::Node &node, const ast::Entry &entry) {
  llvm::StringRef kind = node.kind.text;
  std::vector<std::string> known;
  for (llvm::StringRef subtype : accel::subtypesOf(kind))
    known.push_back(subtype.str());
  if (node.name.empty()) {
    diags.error(Code::SyntaxError, node.kind.range, fmt::format("this {} has no name", kind.str()))
        .help(fmt::format("write '{} name : {} {{ … }}'", kind.str(), known.front()));
    return;
  }
  bool isNew = declare(node.name);
  const accel::BlockSchema *schema = accel::findSchema(kind, node.type.text);
  if (!schema || node.type.empty()) {
    SourceRange where = node.type.empty() ? node.name.range : node.type.range;
    diags
        .error(Code::UnknownChoice, where,
               node.type.empty() ? fmt::format("'{}' does not say what kind of {} it is", node.name.text, kind.str())
                                 : fmt::format("'{}' is no kind of {}", node.type.text, kind.str()))
        .suggest(nearest(node.type.text, known))
        .help(fmt::format("a {} is one of {}", kind.str(), fmt::join(known, ", ")));
    return;
  }
  SchemaReader keys(context, diags, lookup, *schema);
  FlatSymbolRefAttr detailed;
  for (const ast::Entry &inner : node.entries) {
    auto *nested = inner.as<ast::Node>();
    auto *pair = inner.as<ast::KeyValue>();
    if (pair && pair->key.text == kMicroarchitecture && kind == "core")
      detailed =
          keys.set(kMicroarchitecture, {}, pair->key.range) ? microarchitecture(*pair, node.name) : FlatSymbolRefAttr();
    else if (pair)
      keys.read(*pair, inner);
    else if (nested && nested->kind.text == "sparse" && kind == "core")
      sparse(*nested, keys);
    else if (nested && nested->kind.text == kMicroarchitecture && kind == "core")
      detailed = keys.set(kMicroarchitecture, {}, nested->kind.range) ? microarchitecture(*nested, node.name)
                                                                      : FlatSymbolRefAttr();
    else if (kind == "core")
      unknownEntry(nested ? nested->kind : node.kind, {"sparse", kMicroarchitecture.str()}, "a core");
    else
      unknownEntry(nested ? nested->kind : node.kind, {}, "a memory");
  }
  keys.finish(node.name.range);
  Attribute howMany = count(node);
  if (!isNew)
    return;
  if (kind == "memory") {
    if (node.count)
      diags.error(Code::UnexpectedClause, node.count->range, "a memory has no count")
          .help("state the bandwidth and capacity of the level as a whole");
    accel::MemoryOp::create(builder, keys.location(node.name.range), node.name.text, node.type.text, keys.dictionary());
  } else {
    auto core = accel::CoreOp::create(builder, keys.location(node.name.range), builder.getStringAttr(node.name.text),
                                      howMany, builder.getStringAttr(node.type.text), keys.dictionary());
    if (detailed)
      core->setAttr(kMicroarchitecture, detailed);
  }
}

/// The block of a core, as a machine of its own beside the accelerator: `chip.core`. Null after errors.
FlatSymbolRefAttr MachineElaborator::microarchitecture(const ast::Node &node, const ast::Name &core) {
  MicroarchitectureText text{declaration.name.text + "." + core.text, node.kind.range, &node.entries, core.text};
  auto module = self->getParentOfType<ModuleOp>();
  auto op = elaborateMicroarchitecture(text, module, diags, lookup);
  return op ? FlatSymbolRefAttr::get(op.getSymNameAttr()) : FlatSymbolRefAttr();
}

/// microarchitecture = NAME(side = 8): the declared one with these arguments, likewise.
FlatSymbolRefAttr MachineElaborator::microarchitecture(const ast::KeyValue &use, const ast::Name &core) {
  auto *call = use.value->as<ast::Call>();
  auto *name = (call ? *call->callee : *use.value).as<ast::Reference>();
  if (!name) {
    diags.error(Code::WrongType, use.value->range, "a microarchitecture is named, with arguments where it takes some")
        .help("for example: microarchitecture = systolic(side = 8), or a block: microarchitecture { … }");
    return {};
  }
  auto found = (*microarchitectures)(name->name, call ? call->callee->range : use.value->range);
  if (!found)
    return {};
  static const std::vector<ast::Argument> none;
  MicroarchitectureUse of{declaration.name.text + "." + core.text, core.text, use.value->range,
                          call ? &call->arguments : &none, lookup};
  auto module = self->getParentOfType<ModuleOp>();
  auto op = elaborateMicroarchitecture(*found->declaration, of, module, diags, found->globals);
  return op ? FlatSymbolRefAttr::get(op.getSymNameAttr()) : FlatSymbolRefAttr();
}

/// level eco { clock = 0.75 }, in power { … }
void MachineElaborator::powerLevel(const ast::Node &node) {
  if (node.name.empty() || !node.hasBlock) {
    diags
        .error(Code::SyntaxError, node.kind.range,
               node.name.empty() ? "this power level has no name" : "this power level states nothing")
        .help("for example: level eco { clock = 0.75 }");
    return;
  }
  size_t before = diags.errors();
  SchemaReader keys = reader("level");
  keysOf(node, keys);
  llvm::StringRef name = node.name.text;
  DictionaryAttr stated = keys.dictionary();
  for (auto &[place, known] : levels)
    if (known.getAs<StringAttr>("name") == name)
      diags.error(Code::DuplicateName, node.name.range, fmt::format("power level '{}' is already there", name.str()))
          .note(place, "the earlier one");
  for (NamedAttribute value : stated)
    if (!llvm::isa<accel::QuantityAttr>(value.getValue()))
      diags.error(Code::ChoiceNotAllowed, node.name.range,
                  fmt::format("'{}' of power level '{}' is one number", value.getName().str(), name.str()));
  const bool hasClock = stated.contains("clock"), hasCap = stated.contains("cap");
  if (diags.errors() == before && !hasClock && !hasCap)
    diags.error(Code::MissingKey, node.name.range, fmt::format("power level '{}' needs 'clock' or 'cap'", name.str()))
        .help("clock = 0.75 is a share of the full clock; cap = 300 W lowers it as far as a step needs");
  if (hasCap && (hasClock || stated.contains("power")))
    diags
        .error(Code::ConflictingRates, node.name.range,
               fmt::format("power level '{}' has a cap, from which its {} follows", name.str(),
                           hasClock ? "clock" : "power"))
        .help("state the cap alone");
  if (diags.errors() > before)
    return;
  llvm::SmallVector<NamedAttribute> all(stated.getValue());
  all.push_back(builder.getNamedAttr("name", builder.getStringAttr(name)));
  all.push_back(builder.getNamedAttr("place", mlir::LocationAttr(at(node.name.range))));
  levels.push_back({node.name.range, builder.getDictionaryAttr(all)});
}

void MachineElaborator::setLevels(mlir::Operation *op) {
  llvm::SmallVector<Attribute> all;
  for (auto &[place, level] : levels)
    all.push_back(level);
  if (!all.empty())
    op->setAttr(kPowerLevelsAttribute, builder.getArrayAttr(all));
  levels.clear();
}

/// power { … }, area { … }, area model = "…", host { … }
void MachineElaborator::plainBlock(const ast::Node &node, const ast::Entry &entry) {
  SchemaReader keys = reader(node.kind.text);
  for (const ast::Entry &inner : node.entries)
    if (auto *pair = inner.as<ast::KeyValue>())
      keys.read(*pair, inner);
    else if (auto *nested = inner.as<ast::Node>(); nested && nested->kind.text == "level" && node.kind.text == "power")
      powerLevel(*nested);
    else if (node.kind.text == "power")
      unknownEntry(nested ? nested->kind : node.kind, {"level"}, "power");
    else
      unknownEntry(inner.as<ast::Node>() ? inner.as<ast::Node>()->kind : node.kind, {}, "this block");
  if (node.kind.text == "area" && node.name.text == "model" && node.value)
    if (auto *text = node.value->as<ast::Text>())
      keys.set("model", builder.getStringAttr(text->value), node.name.range);
  keys.finish(node.kind.range);
  Location where = keys.location(node.kind.range);
  if (node.kind.text == "power")
    accel::PowerOp::create(builder, where, keys.dictionary());
  else if (node.kind.text == "area")
    accel::AreaOp::create(builder, where, keys.dictionary());
  else
    accel::HostOp::create(builder, where, keys.dictionary());
}

void MachineElaborator::path(const ast::Path &path, const ast::Entry &entry) {
  llvm::SmallVector<Attribute> stops;
  std::vector<std::string> known;
  for (auto &[name, range] : names)
    known.push_back(name);
  bool ok = true;
  for (const auto &stop : path.stops) {
    llvm::SmallVector<Attribute> all;
    for (const ast::Name &name : stop) {
      if (!names.count(name.text)) {
        diags
            .error(Code::UnknownName, name.range,
                   fmt::format("no memory or core '{}' is declared before this path", name.text))
            .suggest(nearest(name.text, known));
        ok = false;
      }
      all.push_back(FlatSymbolRefAttr::get(&context, name.text));
    }
    stops.push_back(builder.getArrayAttr(all));
  }
  if (ok)
    accel::PathOp::create(builder, at(entry.range), builder.getArrayAttr(stops));
}

/// A comparison, or several joined by and, or, not.
static bool isCondition(const Constant &value) {
  auto *call = value.as<CallValue>();
  if (!call)
    return value.as<bool>();
  if (call->name == "and" || call->name == "or" || call->name == "not")
    return llvm::all_of(call->arguments, [](const auto &argument) { return isCondition(*argument.second); });
  return llvm::is_contained({"<", "<=", ">", ">=", "==", "!="}, call->name);
}

void MachineElaborator::rule(const ast::Rule &rule, const ast::Entry &entry) {
  Constant value = evaluate(*rule.expr, diags, lookup);
  if (value.failed())
    return;
  SchemaReader keys = reader("power");
  std::string text = textOf(rule.expr->range);
  Attribute condition = keys.attributeOf(value, text);
  StringAttr label = rule.label.empty() ? StringAttr() : builder.getStringAttr(rule.label.text);
  Location where = at(entry.range);
  if (rule.kind == ast::RuleKind::Require) {
    if (!isCondition(value))
      diags
          .error(Code::NotAConstraint, rule.expr->range,
                 fmt::format("a constraint compares two values, but this is {}", value.describe()))
          .help("for example: require area <= 600 mm2");
    accel::RequireOp::create(builder, where, builder.getStringAttr(text), label, condition);
  } else if (rule.kind == ast::RuleKind::Prefer) {
    Constant weight = entry.clauses().weight ? evaluate(*entry.clauses().weight, diags, lookup)
                                             : Constant{rule.expr->range, Quantity::number(1)};
    auto *q = weight.as<Quantity>();
    if (q)
      accel::PreferOp::create(builder, where, builder.getStringAttr(text), label,
                              accel::QuantityAttr::get(&context, *q, q->print()), condition);
  } else {
    accel::ObjectiveOp::create(builder, where,
                               builder.getStringAttr(rule.kind == ast::RuleKind::Maximize ? "maximize" : "minimize"),
                               builder.getStringAttr(text), condition);
  }
}

/// efficiency from "a100.calibration"
void MachineElaborator::calibration(const ast::Node &node, const ast::Entry &entry, SchemaReader &into) {
  if (!entry.clauses().from)
    diags
        .error(Code::UnknownEntryKind, node.kind.range,
               "the efficiency of a machine is read from a file, and this names none")
        .help("write 'efficiency from \"t.calibration\"', or state 'efficiency = 0.6' in a core");
  else if (into.set(node.kind.text, {}, node.kind.range))
    self->setAttr(kCalibrationAttribute, builder.getStringAttr(entry.clauses().from->value));
}

/// table from "ERT.yaml" { buffer = "chip.glb" }, table buffer from "buffer.cacti"
void MachineElaborator::table(const ast::Node &node, const ast::Entry &entry) {
  if (!entry.clauses().from)
    diags
        .error(Code::UnknownEntryKind, node.kind.range,
               "a table of components is read from a file, and this names none")
        .help("write 'table from \"ERT.yaml\"'");
  else
    tables.push_back({&node, entry.clauses().fromRange, entry.clauses().from->value});
}

/// efficiency = ideal
void MachineElaborator::idealEfficiency(const ast::KeyValue &pair, const ast::Entry &entry, SchemaReader &into) {
  auto *word = pair.value->as<ast::Reference>();
  if (!word || word->name != "ideal")
    diags
        .error(Code::UnknownEntryKind, pair.value->range,
               "the efficiency of a machine is 'ideal', or it is read from a file")
        .help("write 'efficiency from \"t.calibration\"', or state 'efficiency = 0.6' in a core");
  else if (into.set(pair.key.text, {}, pair.key.range))
    self->setAttr(kIdealAttribute, builder.getUnitAttr());
}

accel::AcceleratorOp MachineElaborator::accelerator(const MicroarchitectureLookup &declared) {
  microarchitectures = &declared;
  size_t errorsBefore = diags.errors();
  SchemaReader keys = reader("accelerator");
  auto op = accel::AcceleratorOp::create(builder, at(declaration.name.range), declaration.name.text);
  self = op;
  builder.setInsertionPointToEnd(&op.getBody().front());
  const std::vector<std::string> known{"memory", "core",       "path",    "power",      "area", "dataflow",
                                       "clock",  "technology", "require", "efficiency", "table"};
  for (const ast::Entry &entry : declaration.entries) {
    auto *pair = entry.as<ast::KeyValue>();
    auto *node = entry.as<ast::Node>();
    if (pair && pair->key.text == "price")
      price(*pair, entry);
    else if (pair && pair->key.text == "efficiency")
      idealEfficiency(*pair, entry, keys);
    else if (pair)
      keys.read(*pair, entry);
    else if (auto *p = entry.as<ast::Path>())
      path(*p, entry);
    else if (auto *r = entry.as<ast::Rule>())
      rule(*r, entry);
    else if (node && (node->kind.text == "memory" || node->kind.text == "core"))
      subtypeBlock(*node, entry);
    else if (node && (node->kind.text == "power" || node->kind.text == "area"))
      plainBlock(*node, entry);
    else if (node && node->kind.text == "dataflow") {
      SchemaReader inner = reader("dataflow");
      keysOf(*node, inner);
      keys.set("dataflow", inner.dictionary(), node->kind.range);
    } else if (node && node->kind.text == "table")
      table(*node, entry);
    else if (node && node->kind.text == "efficiency")
      calibration(*node, entry, keys);
    else if (node && node->kind.text == kMicroarchitecture)
      diags.error(Code::UnknownEntryKind, node->kind.range, "an accelerator has no 'microarchitecture': its cores have")
          .help("write core c : tensor { … microarchitecture { … } }");
    else if (node)
      unknownEntry(node->kind, known, "an accelerator");
  }
  keys.finish(declaration.name.range);
  setLevels(op);
  op.setEntriesAttr(keys.dictionary());
  op->setLoc(keys.location(declaration.name.range));
  if (diags.errors() == errorsBefore)
    applyTables(op, tables, diags);
  return finish(op, errorsBefore);
}

accel::AcceleratorOp elaborateAccelerator(const ast::Declaration &declaration, ModuleOp module, Diagnostics &diags,
                                          const Lookup &globals, const MicroarchitectureLookup &microarchitectures) {
  return MachineElaborator(declaration, module, diags, globals).accelerator(microarchitectures);
}

void reportMachineError(mlir::Diagnostic &problem, Diagnostics &diags, SourceRange otherwise) {
  auto range = [&](Location location) { return rangeOf(sourceOf(location), diags, otherwise); };
  std::string text = problem.str();
  auto [message, suggestion] = llvm::StringRef(text).split(", did you mean '");
  auto error = diags.error(codeOf(problem, Code::DuplicateName), range(problem.getLocation()), message.str());
  error.suggest(suggestion.take_until([](char c) { return c == '\''; }));
  for (mlir::Diagnostic &note : problem.getNotes())
    error.note(range(note.getLocation()), note.str());
}

bool prepareMachine(accel::AcceleratorOp machine, const EfficiencyOptions &options, Diagnostics &diags) {
  const SourceRange place = rangeOf(sourceOf(accel::locationOf(machine, "efficiency")), diags);
  return settleEfficiency(machine, options, place, diags);
}

} // namespace accord
