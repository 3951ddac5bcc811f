#include "lib/machine/energy/AccelergyCsv.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

using llvm::StringRef;

namespace accord {
namespace {

const Dimension kJoule = Dimension::of(Base::Joule), kArea = Dimension::of(Base::Metre, 2);

Error bad(const SourceLocation &at, std::string message) {
  return {Code::BadComponentTable, std::move(message), at, {}, {}};
}

/// A cell without blanks, and where it stands.
struct Cell {
  StringRef text;
  SourceLocation location;
};

std::vector<Cell> cellsOf(StringRef line, const std::string &file, unsigned number) {
  std::vector<Cell> out;
  llvm::SmallVector<StringRef> parts;
  line.split(parts, ',');
  for (StringRef part : parts)
    out.push_back({part.trim(), {file, number, unsigned(part.ltrim().data() - line.data()) + 1}});
  return out;
}

/// "dynamic energy(pJ)" into "energy" and "pJ".
std::pair<StringRef, StringRef> headOf(StringRef text) {
  auto [name, rest] = text.split('(');
  StringRef head = name.trim();
  head.consume_front_insensitive("dynamic ");
  return {head, rest.split(')').first.trim()};
}

bool isHead(StringRef line) {
  auto cells = cellsOf(line, "", 1);
  auto has = [&](StringRef wanted) {
    return llvm::any_of(cells, [&](const Cell &cell) { return headOf(cell.text).first.equals_insensitive(wanted); });
  };
  return has("action") && has("energy");
}

/// What the first line of a table says of its columns.
struct Columns {
  size_t count = 0, action = 0, energy = 0;
  std::optional<size_t> area;
  double joules = 1e-12, squareMetres = 1e-12;
  std::vector<std::pair<size_t, std::string>> attributes; ///< column and first name: "width" of "width|datawidth"
};

Result<double> unitOf(StringRef unit, const Cell &cell, const Dimension &dimension, double otherwise) {
  if (unit.empty())
    return otherwise;
  std::string plain = unit.str();
  plain.erase(std::remove(plain.begin(), plain.end(), '^'), plain.end());
  auto known = parseUnit(plain);
  if (!known || known->dimension != dimension)
    return bad(cell.location, fmt::format("'{}' is a {}, not in '{}'", headOf(cell.text).first.str(),
                                          describe(dimension), unit.str()));
  return known->toDouble();
}

Result<Columns> columnsOf(const std::vector<Cell> &cells) {
  Columns out;
  out.count = cells.size();
  bool energy = false, action = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    auto [name, unit] = headOf(cells[i].text);
    if (name.equals_insensitive("energy") || name.equals_insensitive("area")) {
      bool isEnergy = name.equals_insensitive("energy");
      if (isEnergy ? energy : out.area.has_value())
        return bad(cells[i].location, fmt::format("column '{}' stands twice", name.str()));
      ACCORD_TRY(factor, unitOf(unit, cells[i], isEnergy ? kJoule : kArea, 1e-12));
      (isEnergy ? out.joules : out.squareMetres) = factor;
      if (isEnergy)
        energy = true, out.energy = i;
      else
        out.area = i;
    } else if (name.equals_insensitive("action")) {
      action = true, out.action = i;
    } else if (!name.empty() && name != "comment" && name != "data_delta" && name != "address_delta") {
      out.attributes.emplace_back(i, name.split('|').first.trim().str());
    }
  }
  if (!energy || !action)
    return bad(cells.front().location, "a table of components has the columns 'energy' and 'action'");
  if (!cells.empty() && cells.back().text == "comment")
    --out.count; // rows without one are shorter
  return out;
}

Result<double> numberOf(const Cell &cell, StringRef name, double unit) {
  double value = 0;
  if (cell.text.empty() || !llvm::to_float(cell.text, value))
    return bad(cell.location, fmt::format("'{}' is a number, found '{}'", name.str(), cell.text.str()));
  if (!std::isfinite(value) || value < 0)
    return bad(cell.location, fmt::format("'{}' is finite and not negative, found '{}'", name.str(), cell.text.str()));
  return value * unit;
}

/// A component with one combination of attributes.
struct Variant {
  std::vector<std::string> values; ///< of the attributes
  ForeignComponent component;
  std::set<std::string> rows; ///< actions with their arguments, to find what stands twice
};

class Reader {
public:
  Reader(StringRef text, const std::string &file) : text(text), file(file), name(llvm::sys::path::stem(file).str()) {}

  Result<std::vector<ForeignComponent>> read() {
    unsigned number = 0;
    for (StringRef rest = text; !rest.empty();) {
      auto [line, after] = rest.split('\n');
      rest = after, ++number;
      StringRef plain = line.trim();
      if (plain.empty() || plain.starts_with("#"))
        continue;
      if (plain.consume_front("COMPONENT:")) {
        if (plain.trim().empty())
          return bad({file, number, 1}, "'COMPONENT:' stands before a name");
        finish();
        name = plain.trim().str(), columns.reset();
        continue;
      }
      auto error = columns ? row(cellsOf(line, file, number)) : head(cellsOf(line, file, number));
      if (error)
        return *error;
    }
    finish();
    if (out.empty())
      return bad({file, 1, 1}, "the table has no row");
    return std::move(out);
  }

private:
  std::optional<Error> head(const std::vector<Cell> &cells) {
    auto read = columnsOf(cells);
    if (!read)
      return read.takeError();
    columns = std::move(*read);
    return std::nullopt;
  }

  std::optional<Error> row(const std::vector<Cell> &cells) {
    if (cells.size() < columns->count)
      return bad(cells.front().location,
                 fmt::format("the row has {} cells, but the first line {}", cells.size(), columns->count));
    std::vector<std::string> values;
    for (const auto &[column, attribute] : columns->attributes)
      values.push_back(cells[column].text.str());
    auto found = llvm::find_if(variants, [&](const Variant &one) { return one.values == values; });
    if (found == variants.end()) {
      found = variants.insert(variants.end(), {values, {}, {}});
      found->component.location = cells.front().location;
      if (auto error = setSize(cells, found->component))
        return error;
    }
    auto joules = numberOf(cells[columns->energy], "energy", columns->joules);
    if (!joules)
      return joules.takeError();
    if (columns->area) {
      auto area = numberOf(cells[*columns->area], "area", columns->squareMetres);
      if (!area)
        return area.takeError();
      if (found->component.area && *found->component.area != *area)
        return bad(cells[*columns->area].location, fmt::format("'{}' has two areas", name));
      found->component.area = *area;
    }
    std::string whole;
    for (const Cell &cell : llvm::ArrayRef(cells).take_front(columns->count))
      if (&cell != &cells[columns->energy] && &cell != &cells[columns->action])
        whole += cell.text.str() + ",";
    llvm::SmallVector<StringRef> actions;
    cells[columns->action].text.split(actions, '|');
    for (StringRef action : actions) {
      std::string plain = action.trim().str();
      if (plain.empty())
        return bad(cells[columns->action].location, "an action has no name");
      if (!found->rows.insert(plain + "," + whole).second)
        return bad(cells[columns->action].location, fmt::format("action '{}' of '{}' stands twice", plain, name));
      double &into = found->component.actions.try_emplace(plain, *joules).first->second;
      into = std::max(into, *joules);
    }
    return std::nullopt;
  }

  /// Of a memory, by its attributes.
  std::optional<Error> setSize(const std::vector<Cell> &cells, ForeignComponent &into) const {
    double depth = 0;
    for (const auto &[column, attribute] : columns->attributes)
      if (attribute == "width" || attribute == "depth") {
        auto number = numberOf(cells[column], attribute, 1);
        if (!number)
          return number.takeError();
        (attribute == "width" ? into.bytes : depth) = attribute == "width" ? *number / 8 : *number;
      }
    into.capacity = into.bytes * depth;
    return std::nullopt;
  }

  /// Names what was read since the last "COMPONENT:".
  void finish() {
    for (Variant &variant : variants) {
      variant.component.name = name;
      for (size_t i = 0; i < variant.values.size(); ++i)
        if (llvm::any_of(variants, [&](const Variant &other) { return other.values[i] != variant.values[i]; }))
          variant.component.name += fmt::format(" {}={}", columns->attributes[i].second, variant.values[i]);
      out.push_back(std::move(variant.component));
    }
    variants.clear();
  }

  StringRef text;
  const std::string &file;
  std::string name;
  std::optional<Columns> columns;
  std::vector<Variant> variants;
  std::vector<ForeignComponent> out;
};

} // namespace

bool isAccelergyCsv(std::string_view text) {
  StringRef rest(text.data(), text.size());
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (StringRef plain = line.trim(); !plain.empty() && !plain.starts_with("#"))
      return plain.starts_with("COMPONENT:") || isHead(plain);
  }
  return false;
}

Result<std::vector<ForeignComponent>> readAccelergyCsv(std::string_view text, const std::string &file) {
  return Reader({text.data(), text.size()}, file).read();
}

} // namespace accord
