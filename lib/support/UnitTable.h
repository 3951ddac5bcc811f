// The units a user can write, prefixes spelt out: each is an exact factor over the base units and a
// dimension.
#pragma once
#include "lib/support/Quantity.h"
#include <string>
#include <vector>

namespace accord {

struct UnitEntry {
  std::string name;
  Quantity factor;
};

/// Every unit, in the order of declaration (base unit, then its prefixes).
const std::vector<UnitEntry> &unitTable();
const UnitEntry *findUnit(llvm::StringRef name);
/// The spelling Accord has for a unit others write differently ("Gbps" -> "Gbit/s", "sec" -> "s");
/// "" if none.
llvm::StringRef usualMisspelling(llvm::StringRef name);
/// Base units written out ("B^2/s"), "" for a plain number.
std::string baseUnitsOf(const Dimension &dimension);

} // namespace accord
