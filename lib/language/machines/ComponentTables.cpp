#include "lib/language/machines/ComponentTables.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/energy/ForeignTable.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/machine/translate/TableAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;

namespace accord {
namespace {

DictionaryAttr entriesOf(mlir::Operation *op) { return op->getAttrOfType<DictionaryAttr>("entries"); }
std::string nameOf(mlir::Operation *op) { return SymbolTable::getSymbolName(op).str(); }

std::optional<double> numberOf(mlir::Operation *op, llvm::StringRef key) {
  if (auto quantity = entriesOf(op).getAs<accel::QuantityAttr>(key))
    return quantity.quantity().toDouble();
  if (auto integer = entriesOf(op).getAs<IntegerAttr>(key))
    return static_cast<double>(integer.getInt());
  return std::nullopt;
}

/// Whether a search chooses what decides the size of a memory or of an element.
llvm::StringRef openKey(mlir::Operation *op) {
  for (llvm::StringRef key : {"capacity", "banks", "ports", "port_width", "array", "lanes", "types", "multiply"}) {
    Attribute value = entriesOf(op).get(key);
    auto isOpen = [](Attribute one) { return isa<accel::ChoiceAttr, accel::ApplyAttr, accel::ReferenceAttr>(one); };
    auto list = dyn_cast_or_null<ArrayAttr>(value);
    if (value && (isOpen(value) || (list && llvm::any_of(list, isOpen))))
      return key;
  }
  return "";
}

std::vector<std::string> typesOf(accel::CoreOp core) {
  std::vector<std::string> types;
  if (auto set = core.getEntries().getAs<ArrayAttr>("types"))
    for (Attribute type : set)
      if (auto word = dyn_cast<StringAttr>(type))
        types.push_back(word.str());
  if (auto multiply = core.getEntries().getAs<StringAttr>("multiply"))
    types.push_back(multiply.str());
  if (auto peaks = core.getEntries().getAs<DictionaryAttr>("peak"))
    for (NamedAttribute peak : peaks)
      types.push_back(peak.getName().str());
  return types;
}

class Tables {
public:
  Tables(accel::AcceleratorOp accelerator, Diagnostics &diags)
      : accelerator(accelerator), diags(diags), errorsBefore(diags.errors()) {
    for (mlir::Operation &op : accelerator.getBody().front())
      if (isa<accel::MemoryOp, accel::CoreOp>(op))
        parts.push_back(&op), names.push_back(nameOf(&op));
    for (auto power : accelerator.getBody().getOps<accel::PowerOp>())
      powerModel |= isModel(power.getEntries());
    for (auto area : accelerator.getBody().getOps<accel::AreaOp>())
      areaModel |= isModel(area.getEntries());
  }

  bool apply(llvm::ArrayRef<TableEntry> tables) {
    Builder builder(accelerator.getContext());
    SmallVector<Attribute> written;
    for (const TableEntry &entry : tables)
      written.push_back(read(entry, builder));
    checkTypes();
    if (diags.errors() != errorsBefore)
      return false;
    NamedAttrList all;
    for (auto &[name, numbers] : numbers)
      all.set(name, attributeOf(numbers, builder));
    accelerator->setAttr(kTableNumbersAttribute, all.getDictionary(accelerator.getContext()));
    accelerator->setAttr(kTablesAttribute, builder.getArrayAttr(written));
    return true;
  }

private:
  static bool isModel(DictionaryAttr entries) {
    auto model = entries.getAs<StringAttr>("model");
    return model && model.getValue() == "catalog/components";
  }

  /// Reads one file, and gives what stands in the entry.
  Attribute read(const TableEntry &entry, Builder &builder) {
    NamedAttrList all;
    llvm::SmallString<256> path(entry.file);
    if (!llvm::sys::path::is_absolute(path)) {
      path = llvm::sys::path::parent_path(diags.sources().path(entry.from.file));
      llvm::sys::path::append(path, entry.file);
    }
    llvm::SmallString<256> absolute(path);
    (void)llvm::sys::fs::make_absolute(absolute); // so that a design that is written elsewhere finds it
    all.set("file", builder.getStringAttr(absolute));
    if (!entry.node->name.text.empty())
      all.set("of", builder.getStringAttr(entry.node->name.text));
    std::map<std::string, std::pair<std::string, SourceRange>> wanted;
    NamedAttrList named;
    for (const ast::Entry &inner : entry.node->entries) {
      auto *pair = inner.as<ast::KeyValue>();
      auto *text = pair ? pair->value->as<ast::Text>() : nullptr;
      if (!text) {
        diags.error(Code::UnknownEntryKind, inner.range, "a block of 'table' names components of its file")
            .help("for example: table from \"ERT.yaml\" { buffer = \"chip.glb\" }");
        return builder.getUnitAttr();
      }
      if (!llvm::is_contained(names, pair->key.text)) {
        diags
            .error(Code::UnknownTableComponent, pair->key.range,
                   fmt::format("no memory or core '{}' is in '{}'", pair->key.text, accelerator.getSymName().str()))
            .suggest(nearest(pair->key.text, names));
        continue;
      }
      wanted[pair->key.text] = {text->value, pair->value->range};
      named.set(pair->key.text, builder.getStringAttr(text->value));
    }
    all.set("names", named.getDictionary(builder.getContext()));
    if (auto file = readFile(diags, path, entry.from, path.str().str()))
      use(entry, *file, wanted);
    return all.getDictionary(builder.getContext());
  }

  void use(const TableEntry &entry, FileId file,
           const std::map<std::string, std::pair<std::string, SourceRange>> &wanted) {
    auto table = ForeignTable::read(diags.sources().text(file), diags.sources().path(file).str());
    if (!table) {
      auto error = diags.error(table.error().code, placeIn(file, table.error().location), table.error().message);
      error.suggest(table.error().suggestion);
      for (const auto &[at, message] : table.error().notes)
        error.note(placeIn(file, at), message);
      error.note(entry.from, "it is read here");
      return;
    }
    bool hasArea = llvm::any_of(table->components, [](auto &one) { return one.area.has_value(); });
    bool hasEnergy = llvm::any_of(table->components, [](auto &one) { return !one.actions.empty(); });
    if ((hasArea && !hasEnergy && !areaModel) || (hasEnergy && !hasArea && !powerModel) ||
        (!areaModel && !powerModel)) {
      diags
          .error(Code::TableComponentUnfit, entry.node->kind.range,
                 fmt::format("'{}' has {}, which '{}' counts only beside model = \"catalog/components\"", entry.file,
                             hasArea ? "areas" : "energies", accelerator.getSymName().str()))
          .help(fmt::format("write {} {{ model = \"catalog/components\" }}", hasArea ? "area" : "power"));
      return;
    }
    if (table->single)
      useSingle(entry, table->components.front());
    else
      useNamed(entry, file, *table, wanted);
  }

  void useSingle(const TableEntry &entry, const ForeignComponent &component) {
    const ast::Name &name = entry.node->name;
    auto part = llvm::find_if(parts, [&](mlir::Operation *op) { return nameOf(op) == name.text; });
    if (name.text.empty())
      diags
          .error(Code::UnknownTableComponent, entry.node->kind.range,
                 "a file of CACTI is of one memory, and this does not say of which")
          .help(fmt::format("for example: table {} from \"{}\"", lastMemory(), entry.file));
    else if (part == parts.end() || !isa<accel::MemoryOp>(*part))
      diags
          .error(Code::UnknownTableComponent, name.range,
                 fmt::format("no memory '{}' is in '{}'", name.text, accelerator.getSymName().str()))
          .suggest(nearest(name.text, names));
    else
      settle(*part, component, entry, name.range);
  }

  void useNamed(const TableEntry &entry, FileId file, const ForeignTable &table,
                const std::map<std::string, std::pair<std::string, SourceRange>> &wanted) {
    if (!entry.node->name.text.empty()) {
      diags
          .error(Code::UnknownTableComponent, entry.node->name.range,
                 "this table has components with names of their own")
          .help(fmt::format("write table from \"{}\" {{ {} = \"…\" }}", entry.file, entry.node->name.text));
      return;
    }
    std::set<const ForeignComponent *> used;
    std::vector<std::string> without, known;
    for (const ForeignComponent &one : table.components)
      known.push_back(one.name);
    for (mlir::Operation *part : parts) {
      auto stated = wanted.find(nameOf(part));
      std::string name = stated == wanted.end() ? nameOf(part) : stated->second.first;
      SourceRange at = stated == wanted.end() ? entry.from : stated->second.second;
      std::vector<const ForeignComponent *> found;
      for (const ForeignComponent &one : table.components)
        if (one.name == name || llvm::StringRef(one.name).ends_with("." + name))
          found.push_back(&one);
      if (found.empty() && stated == wanted.end()) {
        without.push_back(name);
      } else if (found.empty()) {
        std::vector<std::string> all = known;
        for (llvm::StringRef one : known)
          for (llvm::StringRef rest = one.split('.').second; !rest.empty(); rest = rest.split('.').second)
            all.push_back(rest.str());
        diags.error(Code::UnknownTableComponent, at, fmt::format("'{}' has no component '{}'", entry.file, name))
            .suggest(nearest(name, all));
      } else if (found.size() > 1) {
        diags
            .error(Code::UnknownTableComponent, at,
                   fmt::format("'{}' may be {} of '{}'", name, fmt::join(namesOf(found), " or "), entry.file))
            .help(fmt::format("write table from \"{}\" {{ {} = \"{}\" }}", entry.file, nameOf(part), found[0]->name));
      } else {
        used.insert(found.front());
        settle(part, *found.front(), entry, placeIn(file, found.front()->location));
      }
    }
    tellUnused(entry, file, table, used, without);
  }

  std::string lastMemory() const {
    std::string name = "buffer";
    for (mlir::Operation *part : parts)
      if (isa<accel::MemoryOp>(part))
        name = nameOf(part);
    return name;
  }

  static std::vector<std::string> namesOf(const std::vector<const ForeignComponent *> &all) {
    std::vector<std::string> out;
    for (const ForeignComponent *one : all)
      out.push_back(one->name);
    return out;
  }

  void tellUnused(const TableEntry &entry, FileId file, const ForeignTable &table,
                  const std::set<const ForeignComponent *> &used, const std::vector<std::string> &without) {
    std::vector<const ForeignComponent *> rest;
    for (const ForeignComponent &one : table.components)
      if (!used.count(&one))
        rest.push_back(&one);
    if (rest.empty() || (table.choices && !used.empty()) || diags.errors() != errorsBefore)
      return;
    auto last = [](const ForeignComponent *one) {
      return one->name.find('.') == std::string::npos ? one->name : llvm::StringRef(one->name).rsplit('.').second.str();
    };
    std::string suggestion;
    for (const ForeignComponent *one : rest)
      if (suggestion.empty())
        if (std::string near = nearest(last(one), without); !near.empty())
          suggestion = fmt::format("write table from \"{}\" {{ {} = \"{}\" }}", entry.file, near, one->name);
    std::vector<std::string> shown = namesOf(rest);
    size_t more = shown.size() > 4 ? shown.size() - 4 : 0;
    shown.resize(shown.size() - more);
    std::string list = fmt::format("{}{}", fmt::join(shown, ", "), more ? fmt::format(" and {} more", more) : "");
    if (used.empty()) {
      diags
          .error(Code::UnknownTableComponent, entry.from,
                 fmt::format("no component of '{}' is a memory or core of '{}': it has {}", entry.file,
                             accelerator.getSymName().str(), list))
          .help(suggestion.empty() ? fmt::format("write table from \"{}\" {{ {} = \"{}\" }}", entry.file,
                                                 names.empty() ? "buffer" : names.back(), rest[0]->name)
                                   : suggestion);
      return;
    }
    auto warning =
        diags.warning(Code::TableComponentUnused, placeIn(file, rest.front()->location),
                      fmt::format("no memory or core of '{}' is {}: what {} counts nowhere",
                                  accelerator.getSymName().str(), list, rest.size() > 1 ? "they take" : "it takes"));
    if (!suggestion.empty() || !without.empty())
      warning.help(suggestion.empty()
                       ? fmt::format("it says nothing of {}: name what is theirs in a block of this 'table'",
                                     fmt::join(without, ", "))
                       : suggestion);
    warning.note(entry.from, "it is read here");
  }

  SourceRange placeIn(FileId file, const SourceLocation &at) {
    return diags.sources().at(file, {std::max(at.line, 1u), std::max(at.column, 1u)});
  }

  void unfit(const ForeignComponent &component, mlir::Operation *part, SourceRange at, const TableEntry &entry,
             const std::string &message, const std::string &help) {
    std::string what = component.name.empty() ? fmt::format("memory '{}'", nameOf(part))
                                              : fmt::format("'{}' for '{}'", component.name, nameOf(part));
    auto error = diags.error(Code::TableComponentUnfit, at, fmt::format("{} {}", what, message));
    error.help(help);
    if (at.file != entry.from.file)
      error.note(entry.from, "it is read here");
  }

  /// What a component of a table gives to a memory or core.
  void settle(mlir::Operation *part, const ForeignComponent &component, const TableEntry &entry, SourceRange at) {
    if (llvm::StringRef key = openKey(part); !key.empty())
      return unfit(component, part, at, entry,
                   fmt::format("has one size, but '{}' is left open or follows from something else", key.str()),
                   fmt::format("choose '{}', or leave the component out of the table", key.str()));
    TableNumbers &into = numbers[nameOf(part)];
    auto core = dyn_cast<accel::CoreOp>(part);
    if ((component.area && into.area) || (!component.actions.empty() && into.energy))
      return (void)diags
          .error(Code::UnknownTableComponent, entry.from,
                 fmt::format("'{}' has {} from two tables", nameOf(part),
                             component.area && into.area ? "an area" : "energies"))
          .help("name it in one of them");
    if (core)
      settleCore(core, component, entry, at, into);
    else
      settleMemory(cast<accel::MemoryOp>(part), component, entry, at, into);
  }

  void settleMemory(accel::MemoryOp memory, const ForeignComponent &component, const TableEntry &entry, SourceRange at,
                    TableNumbers &into) {
    bool onChip = memory.getKind() != "dram";
    double banks = numberOf(memory, "banks").value_or(1), instances = component.instances;
    if (component.counted && std::abs(instances - banks) > 0.5 && onChip)
      return unfit(component, memory, at, entry,
                   fmt::format("is there {:.0f} times, but the memory has {:.0f} bank{}", instances, banks,
                               banks > 1 ? "s" : ""),
                   fmt::format("state 'banks = {:.0f}', with the capacity of all of them", instances));
    if (component.capacity > 0) {
      double capacity = numberOf(memory, "capacity").value_or(0);
      auto is = [&](double bytes) { return std::abs(bytes / capacity - 1) < 0.01; };
      if (!is(component.capacity) && !is(component.capacity * banks))
        return unfit(
            component, memory, at, entry,
            fmt::format("has {:.6g} B in the table, but {:.6g} B in the description", component.capacity, capacity),
            "run CACTI for this memory or for one of its banks");
      instances = is(component.capacity) ? 1 : banks;
    }
    if (component.area && onChip)
      into.area = *component.area * instances;
    if (component.actions.empty())
      return;
    double bytes = component.bytes > 0 ? component.bytes : numberOf(memory, "port_width").value_or(0);
    if (!(bytes > 0))
      return unfit(
          component, memory, at, entry, "has energies of an access, but nothing says how many bytes that moves",
          fmt::format("state 'port_width' in memory '{}', for example port_width = 8 B/cycle", nameOf(memory)));
    auto read = component.actions.find("read"), write = component.actions.end();
    for (const char *action : {"write", "fill", "update"})
      if (write == component.actions.end())
        write = component.actions.find(action);
    if (read == component.actions.end() || write == component.actions.end())
      return unfit(component, memory, at, entry,
                   fmt::format("has no action '{}', only {}", read == component.actions.end() ? "read" : "write",
                               fmt::join(actionsOf(component), ", ")),
                   "a memory needs 'read', and 'write', 'fill' or 'update'");
    into.energy = (read->second + write->second) / 2 / bytes;
    if (onChip)
      setLeakage(component, instances, into);
  }

  void settleCore(accel::CoreOp core, const ForeignComponent &component, const TableEntry &entry, SourceRange at,
                  TableNumbers &into) {
    double elements = numberOf(core, "lanes").value_or(0);
    if (auto array = core.getEntries().getAs<ArrayAttr>("array"); array && array.size() == 2)
      elements = double(cast<IntegerAttr>(array[0]).getInt()) * double(cast<IntegerAttr>(array[1]).getInt());
    if (!(elements > 0))
      return unfit(component, core, at, entry, "is of one element, but the core states no 'array' or 'lanes'",
                   "state 'array' or 'lanes'");
    auto count = core.instances();
    if (component.counted && count && std::abs(component.instances - elements * double(*count)) > 0.5 &&
        std::abs(component.instances - elements) > 0.5)
      return unfit(component, core, at, entry,
                   fmt::format("is there {:.0f} times, but the core has {:.0f} elements", component.instances,
                               elements * double(*count)),
                   "change 'array' or 'lanes', or name another component");
    if (component.area)
      into.area = *component.area;
    if (component.actions.empty())
      return;
    auto found = component.actions.end();
    for (const char *action :
         {"compute", "mac_random", "mac", "multiply_random", "mult_random", "multiply", "add_random", "add", "op"})
      if (found == component.actions.end())
        found = component.actions.find(action);
    if (found == component.actions.end())
      return unfit(component, core, at, entry,
                   fmt::format("has no action of arithmetic, only {}", fmt::join(actionsOf(component), ", ")),
                   "a core needs 'compute', 'mac_random', 'mac', 'multiply' or 'add'");
    into.energy = found->second / (core.getKind() == "tensor" ? 2 : 1);
    setLeakage(component, 1, into);
  }

  static std::vector<std::string> actionsOf(const ForeignComponent &component) {
    std::vector<std::string> out;
    for (const auto &[action, joules] : component.actions)
      out.push_back(action);
    return out;
  }

  /// "leak" is the energy of a cycle; tables before 0.4 call it "idle".
  static void setLeakage(const ForeignComponent &component, double instances, TableNumbers &into) {
    if (component.leakage)
      into.leakage = *component.leakage * instances;
    for (const char *action : {"leak", "idle"})
      if (auto found = component.actions.find(action);
          found != component.actions.end() && !into.leakage && !into.cycleLeakage)
        into.cycleLeakage = found->second * instances;
  }

  /// A machine has one energy for a type.
  void checkTypes() {
    std::map<std::string, std::pair<accel::CoreOp, std::optional<double>>> known;
    for (mlir::Operation *part : parts) {
      auto core = dyn_cast<accel::CoreOp>(part);
      if (!core)
        continue;
      auto own = numbers.find(nameOf(part));
      std::optional<double> energy = own == numbers.end() ? std::nullopt : own->second.energy;
      for (const std::string &type : typesOf(core)) {
        auto [other, isNew] = known.try_emplace(type, core, energy);
        if (isNew || other->second.second == energy || other->second.first == core)
          continue;
        diags
            .error(Code::TableComponentUnfit, rangeOf(sourceOf(accel::blockLocation(core)), diags),
                   fmt::format("cores '{}' and '{}' compute {}, but tables give them different energies or only one of "
                               "them has one",
                               nameOf(other->second.first), nameOf(core), type))
            .help("give both the same component: table from \"…\" { … }");
        return;
      }
    }
  }

  static DictionaryAttr attributeOf(const TableNumbers &numbers, Builder &builder) {
    NamedAttrList all;
    auto set = [&](const char *key, const std::optional<double> &value) {
      if (value)
        all.set(key, builder.getF64FloatAttr(*value));
    };
    set("area", numbers.area), set("energy", numbers.energy);
    set("leakage", numbers.leakage), set("cycle_leakage", numbers.cycleLeakage);
    return all.getDictionary(builder.getContext());
  }

  accel::AcceleratorOp accelerator;
  Diagnostics &diags;
  size_t errorsBefore;
  std::vector<mlir::Operation *> parts;
  std::vector<std::string> names;
  bool powerModel = false, areaModel = false;
  std::map<std::string, TableNumbers> numbers;
};

} // namespace

bool applyTables(accel::AcceleratorOp accelerator, llvm::ArrayRef<TableEntry> tables, Diagnostics &diags) {
  return tables.empty() || Tables(accelerator, diags).apply(tables);
}

} // namespace accord
