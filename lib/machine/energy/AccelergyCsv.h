// The tables in which Accelergy's plug-ins keep energies and areas.
#pragma once
#include "lib/machine/energy/ForeignTable.h"

namespace accord {

/// Whether a text is a table of a plug-in: its first line that is no comment begins with "COMPONENT:", or has a cell
/// "action" and one of energy.
bool isAccelergyCsv(std::string_view text);

/// Rows of a component's actions by its attributes: "technology,width,depth,energy(pJ),area(um^2),action". Lines
/// "COMPONENT: name" begin further tables; without one the name is that of the file. Each combination of attributes is
/// a component, called by what differs where there are several: "SRAM width=16 depth=512". Energies are picojoules and
/// areas square micrometres, or what stands in brackets behind `energy` and `area`. An action "read|write" stands for
/// both; of rows that differ in `data_delta` or `address_delta` alone the largest counts. A `width` is in bits, and
/// with `depth` says how large a memory is. Errors of code A1406 at their place: a row that is shorter than its first
/// line, what is no number, not finite or negative, an unknown unit, an action that stands twice, two areas of one
/// component.
Result<std::vector<ForeignComponent>> readAccelergyCsv(std::string_view text, const std::string &file);

} // namespace accord
