// What CACTI writes of one memory.
#pragma once
#include "lib/machine/energy/ForeignTable.h"

namespace accord {

/// Whether a text is CACTI's report or its out.csv.
bool isCacti(std::string_view text);

/// The memory that CACTI 6.5 or 7 describes: of a report its lines "Total dynamic read energy per access (nJ): 0.12"
/// and their like, of out.csv the last row, which is that of the last run. Actions "read" and "write" (without one in
/// the text: as reading), the area of all banks, leakage of a bank times banks, gate leakage included, capacity, and
/// bytes of an access. Errors of code A1406 at their place: a line or column that is missing or stands twice, what is
/// no number, not finite or negative, an unknown unit; of out.csv, a row that is not as long as its first line.
Result<ForeignComponent> readCacti(std::string_view text, const std::string &file);

} // namespace accord
