#include "lib/machine/energy/CactiReport.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <fmt/format.h>

using llvm::StringRef;

namespace accord {
namespace {

const Dimension kJoule = Dimension::of(Base::Joule), kWatt = kJoule / Dimension::of(Base::Second),
                kLength = Dimension::of(Base::Metre), kByte = Dimension::of(Base::Byte), kNumber{};

Error bad(const SourceLocation &at, std::string message, std::string suggestion = "") {
  return {Code::BadComponentTable, std::move(message), at, {}, std::move(suggestion)};
}

/// What stands beside a name: "Area (mm2)" and "0.3", with the place of the number.
struct Entry {
  StringRef unit, value;
  SourceLocation location;
};

/// What is read of a memory, by the name before the brackets.
struct Wanted {
  const char *report, *csv;
  Dimension dimension;
  bool needed;
  double value = -1;
};

/// "Cache height x width" into two numbers; any other into one, in base units.
Result<double> valueOf(const Entry &entry, StringRef name, const Dimension &dimension) {
  std::string unit = entry.unit.trim().str();
  if (unit == "bytes" || unit == "bits")
    unit = unit == "bytes" ? "B" : "bit";
  double factor = 1;
  if (!unit.empty()) {
    auto known = parseUnit(unit);
    if (!known)
      return bad(entry.location, fmt::format("'{}' has an unknown unit: {}", name.str(), known.error().message));
    if (known->dimension != dimension)
      return bad(entry.location, fmt::format("'{}' is a {}, not in {}", name.str(), describe(dimension), unit));
    factor = known->toDouble();
  } else if (!dimension.dimensionless()) {
    return bad(entry.location, fmt::format("'{}' has no unit", name.str()));
  }
  double product = 1;
  auto [first, second] = entry.value.split(" x ");
  bool isPair = second.size() > 0;
  for (StringRef part : {first, isPair ? second : StringRef("1")}) {
    double number = 0;
    StringRef plain = part.split('(').first.trim(); // "0.5 (@DVS_Level0)"
    if (plain.empty() || !llvm::to_float(plain, number))
      return bad(entry.location, fmt::format("'{}' is a number, found '{}'", name.str(), part.trim().str()));
    if (!std::isfinite(number) || number < 0)
      return bad(entry.location, fmt::format("'{}' is finite and not negative, found '{}'", name.str(), plain.str()));
    product *= number * (part.data() == first.data() || isPair ? factor : 1);
  }
  return product;
}

class Report {
public:
  Report(std::string_view text, const std::string &file) : text(text.data(), text.size()), file(file) {}

  Result<ForeignComponent> read(bool csv) {
    auto entries = csv ? cells() : lines();
    if (!entries)
      return entries.takeError();
    Wanted read{"Total dynamic read energy per access", "Dynamic read energy", kJoule, true},
        write{"Total dynamic write energy per access", "Dynamic write energy", kJoule, false},
        leakage{"Total leakage power of a bank", "Standby leakage per bank", kWatt, false},
        gate{"Total gate leakage power of a bank", "", kWatt, false},
        banks{"Number of banks", "Number of banks", kNumber, false},
        capacity{"Total cache size", "Capacity", kByte, true},
        area{"Cache height x width", "Area", csv ? kLength * kLength : kLength, true},
        width{"Block size", "Output width", kByte, true};
    for (Wanted *one : {&read, &write, &leakage, &gate, &banks, &capacity, &area, &width}) {
      StringRef name = csv ? one->csv : one->report;
      auto found = entries->find(name.str());
      if (found == entries->end()) {
        if (one->needed)
          return bad({file, 1, 1}, fmt::format("CACTI's {} has no '{}'", csv ? "table" : "report", name.str()));
        continue;
      }
      ACCORD_TRY(value, valueOf(found->second, name, one->dimension));
      one->value = value;
      if (one->needed && !(value > 0) && one != &read)
        return bad(found->second.location, fmt::format("'{}' is positive", name.str()));
    }
    ForeignComponent out;
    out.location = {file, 1, 1};
    out.area = area.value, out.capacity = capacity.value, out.bytes = width.value;
    out.actions["read"] = read.value;
    out.actions["write"] = write.value < 0 ? read.value : write.value;
    if (leakage.value >= 0)
      out.leakage = (leakage.value + std::max(0.0, gate.value)) * (banks.value > 0 ? banks.value : 1);
    return out;
  }

private:
  /// "Area (mm2)" into the name and the unit.
  static std::pair<StringRef, StringRef> headOf(StringRef text) {
    auto [name, rest] = text.split('(');
    auto [unit, behind] = rest.split(')');
    // "Total leakage power of a bank without power gating, including its network outside (mW)" is of a bank, too.
    return {name.split(" without power gating").first.trim(), unit};
  }

  /// Lines of a report. Details stand deeper and follow, so the first line of a name counts.
  Result<std::map<std::string, Entry>> lines() const {
    std::map<std::string, Entry> all;
    unsigned number = 0;
    for (StringRef rest = text; !rest.empty();) {
      auto [line, after] = rest.split('\n');
      rest = after, ++number;
      auto [head, value] = line.split(':');
      if (value.trim().empty())
        continue;
      auto [name, unit] = headOf(head);
      unsigned column = unsigned(value.ltrim().data() - line.data()) + 1;
      all.try_emplace(name.str(), Entry{unit, value.trim(), {file, number, column}});
    }
    return all;
  }

  /// The first line and the last row of out.csv.
  Result<std::map<std::string, Entry>> cells() const {
    llvm::SmallVector<StringRef> rows, heads, values;
    text.split(rows, '\n');
    size_t last = 0;
    for (size_t i = 1; i < rows.size(); ++i)
      if (!rows[i].trim().empty())
        last = i;
    if (last == 0)
      return bad({file, 1, 1}, "CACTI's table has no row");
    // Both end with a comma.
    rows[0].trim().trim(", \t").split(heads, ',');
    rows[last].trim().trim(", \t").split(values, ',');
    unsigned line = unsigned(last) + 1;
    if (values.size() < heads.size())
      return bad({file, line, 1},
                 fmt::format("the row has {} cells, but the first line {}", values.size(), heads.size()));
    std::map<std::string, Entry> all;
    for (size_t i = 0; i < heads.size(); ++i) {
      auto [name, unit] = headOf(heads[i]);
      unsigned column = unsigned(values[i].ltrim().data() - rows[last].data()) + 1;
      if (!all.try_emplace(name.str(), Entry{unit, values[i].trim(), {file, line, column}}).second &&
          (name == "Dynamic read energy" || name == "Area" || name == "Capacity"))
        return bad({file, 1, 1}, fmt::format("column '{}' stands twice", name.str()));
    }
    return all;
  }

  StringRef text;
  const std::string &file;
};

bool isTable(StringRef text) { return text.ltrim().starts_with("Tech node (nm)"); }

} // namespace

bool isCacti(std::string_view text) {
  StringRef all(text.data(), text.size());
  return isTable(all) || all.contains("Cache height x width") || all.contains("Total dynamic read energy per access");
}

Result<ForeignComponent> readCacti(std::string_view text, const std::string &file) {
  return Report(text, file).read(isTable({text.data(), text.size()}));
}

} // namespace accord
