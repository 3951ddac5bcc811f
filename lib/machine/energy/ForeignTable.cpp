#include "lib/machine/energy/ForeignTable.h"
#include "lib/machine/energy/AccelergyCsv.h"
#include "lib/machine/energy/CactiReport.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Quantity.h"
#include "lib/support/documents/Yaml.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

using Kind = YamlNode::Kind;

const Dimension kJoule = Dimension::of(Base::Joule), kArea = Dimension::of(Base::Metre, 2);

Error bad(const SourceLocation &at, std::string message, std::string suggestion = "") {
  return {Code::BadComponentTable, std::move(message), at, {}, std::move(suggestion)};
}

/// A number that is not negative: in base units where it has a unit, else times `unit`.
Result<double> numberOf(const YamlNode &node, std::string_view key, const Dimension &dimension, double unit) {
  if (node.kind != Kind::Text)
    return bad(node.location, fmt::format("'{}' is a number", key));
  double value = 0;
  if (llvm::to_float(llvm::StringRef(node.text).trim(), value)) {
    value *= unit;
  } else {
    auto quantity = parseQuantity(node.text);
    if (!quantity)
      return bad(node.location,
                 fmt::format("'{}' is a number, found '{}': {}", key, node.text, quantity.error().message));
    if (quantity->dimension != dimension)
      return bad(node.location, fmt::format("'{}' is a {}, found '{}'", key, describe(dimension), node.text));
    value = quantity->toDouble();
  }
  if (!std::isfinite(value) || value < 0)
    return bad(node.location, fmt::format("'{}' is finite and not negative, found '{}'", key, node.text));
  return value;
}

/// Takes ranges such as "[0..167]" out of a name: "chip.PE[0..167].mac".
Result<ForeignComponent> named(const std::string &text, const SourceLocation &at) {
  ForeignComponent out;
  out.location = at;
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    auto [before, after] = rest.split('[');
    out.name += before.str();
    if (before.size() == rest.size())
      break;
    auto [range, behind] = after.split(']');
    auto [from, to] = range.split("..");
    int64_t low = 0, high = 0;
    bool whole = range.size() < after.size() && !from.getAsInteger(10, low) &&
                 (to.empty() ? (high = low, true) : !to.getAsInteger(10, high));
    if (!whole || low < 0 || high < low || high > int64_t(1) << 40)
      return bad(at, fmt::format("'{}' has a range that is none: [first..last] counts instances", text));
    out.instances *= static_cast<double>(high - low + 1);
    out.counted = true;
    rest = behind;
  }
  if (out.name.empty() || out.name.front() == '.' || out.name.back() == '.')
    return bad(at, fmt::format("'{}' is no name of a component", text));
  return out;
}

/// Energies of one action: alone, or for each of its arguments. The largest is what an action with new data takes.
std::optional<Error> readAction(const YamlNode &node, const std::string &action, ForeignComponent &into) {
  if (node.kind == Kind::List) {
    for (const YamlNode &one : node.items)
      if (auto error = readAction(one, action, into))
        return error;
    return std::nullopt;
  }
  const YamlNode *energy = node.find("energy");
  for (const char *key : {"max energy", "average energy"})
    if (!energy)
      energy = node.find(key);
  if (!energy)
    return bad(node.location, fmt::format("action '{}' of '{}' has no 'energy'", action, into.name));
  auto joules = numberOf(*energy, "energy", kJoule, 1e-12);
  if (!joules)
    return joules.takeError();
  auto [known, isNew] = into.actions.try_emplace(action, *joules);
  known->second = std::max(known->second, *joules);
  return std::nullopt;
}

std::optional<Error> readActions(const YamlNode &actions, ForeignComponent &into) {
  if (actions.kind == Kind::Map) { // 0.2: by name
    for (size_t i = 0; i < actions.items.size(); ++i)
      if (auto error = readAction(actions.items[i], actions.keys[i].first, into))
        return error;
    return std::nullopt;
  }
  if (actions.kind != Kind::List)
    return bad(actions.location, fmt::format("'actions' of '{}' is a list", into.name));
  for (const YamlNode &action : actions.items) {
    const YamlNode *name = action.find("name");
    if (!name || name->kind != Kind::Text)
      return bad(action.location, fmt::format("an action of '{}' has no 'name'", into.name));
    if (auto error = readAction(action, name->text, into))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> readComponent(const YamlNode &node, bool energies, ForeignComponent &into) {
  if (!energies) {
    const YamlNode *area = node.kind == Kind::Map ? node.find("area") : &node;
    if (!area)
      return bad(node.location, fmt::format("component '{}' has no 'area'", into.name));
    auto metres = numberOf(*area, "area", kArea, 1e-12);
    if (!metres)
      return metres.takeError();
    into.area = *metres;
    return std::nullopt;
  }
  if (node.kind != Kind::Map)
    return bad(node.location, fmt::format("component '{}' has no 'actions'", into.name));
  const YamlNode *actions = node.find("actions");
  if (!actions && node.find("name"))
    return bad(node.location, fmt::format("component '{}' has no 'actions'", into.name));
  return readActions(actions ? *actions : node, into);
}

/// A list of maps with a `name`, or (0.2) a map by name.
Result<ForeignTable> readComponents(const YamlNode &tables, bool energies) {
  ForeignTable out;
  std::map<std::string, SourceLocation> known;
  for (size_t i = 0; i < tables.items.size(); ++i) {
    const YamlNode &node = tables.items[i];
    std::string name = tables.kind == Kind::Map ? tables.keys[i].first : "";
    SourceLocation at = tables.kind == Kind::Map ? tables.keys[i].second : node.location;
    if (tables.kind == Kind::List) {
      const YamlNode *stated = node.find("name");
      if (!stated || stated->kind != Kind::Text)
        return bad(at, "a component has no 'name'");
      name = stated->text, at = stated->location;
    }
    ACCORD_TRY(component, named(name, at));
    auto [before, isNew] = known.try_emplace(component.name, at);
    if (!isNew) {
      Error twice = bad(at, fmt::format("component '{}' stands twice", component.name));
      twice.notes.push_back({before->second, "here before"});
      return twice;
    }
    if (auto error = readComponent(node, energies, component))
      return *error;
    out.components.push_back(std::move(component));
  }
  return out;
}

Result<ForeignTable> readAccelergy(std::string_view text, const std::string &file) {
  ACCORD_TRY(root, readYaml(text, file, Code::BadComponentTable));
  const std::vector<std::string> kinds{"ERT", "ART", "ERT_summary", "ART_summary"};
  const YamlNode *table = nullptr;
  std::string kind;
  for (size_t i = 0; root.kind == Kind::Map && i < root.items.size(); ++i) {
    if (std::find(kinds.begin(), kinds.end(), root.keys[i].first) == kinds.end())
      return bad(root.keys[i].second,
                 fmt::format("'{}' is no table of Accelergy, which are {}", root.keys[i].first, fmt::join(kinds, ", ")),
                 nearest(root.keys[i].first, kinds));
    if (table)
      return bad(root.keys[i].second, "a file has one table");
    table = &root.items[i], kind = root.keys[i].first;
  }
  if (!table || table->kind != Kind::Map)
    return bad({file, 1, 1}, "the file has no table of Accelergy (ERT, ART) and none of CACTI");
  const YamlNode *components = nullptr;
  const std::vector<std::string> keys{"version", "tables", "table_summary", "components"};
  for (size_t i = 0; i < table->items.size(); ++i) {
    const std::string &key = table->keys[i].first;
    const YamlNode &value = table->items[i];
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return bad(table->keys[i].second, fmt::format("'{}' of '{}' is unknown", key, kind), nearest(key, keys));
    if (key == "version") {
      const std::vector<std::string> versions{"0.2", "0.3", "0.4"};
      if (std::find(versions.begin(), versions.end(), value.text) == versions.end())
        return bad(value.location,
                   fmt::format("version '{}' is unknown: {} are read", value.text, fmt::join(versions, ", ")));
    } else {
      components = &value;
    }
  }
  if (!components || components->items.empty())
    return bad(table->location, fmt::format("'{}' has no components in 'tables'", kind));
  return readComponents(*components, kind.starts_with("E"));
}

} // namespace

Result<ForeignTable> ForeignTable::read(std::string_view text, const std::string &file) {
  if (isCacti(text)) {
    ACCORD_TRY(memory, readCacti(text, file));
    ForeignTable out;
    out.single = true;
    out.components.push_back(std::move(memory));
    return out;
  }
  if (isAccelergyCsv(text)) {
    ACCORD_TRY(components, readAccelergyCsv(text, file));
    ForeignTable out;
    out.choices = true, out.components = std::move(components);
    return out;
  }
  return readAccelergy(text, file);
}

} // namespace accord
