// Tables of other programs that say what components take: Accelergy's energy and area reference tables, and what CACTI
// prints of one memory. As plain numbers with places; which of them a chip has, ComponentTables.h of lib/language says.
#pragma once
#include "lib/support/Result.h"
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord {

struct ForeignComponent {
  std::string name;     ///< "chip.PE.mac", without ranges; of CACTI empty
  double instances = 1; ///< of the ranges in its name: 168 of "chip.PE[0..167].mac"
  bool counted = false; ///< whether its name has a range
  SourceLocation location;
  std::optional<double> area;            ///< square metres of one instance
  std::map<std::string, double> actions; ///< joules of one action: the largest that the table has for it
  double bytes = 0;                      ///< of an access; 0: the table does not say
  double capacity = 0;                   ///< bytes; 0: the table does not say
  std::optional<double> leakage;         ///< watts of all instances; a "leak" of `actions` is joules of a cycle
};

struct ForeignTable {
  bool single = false;  ///< one memory without a name
  bool choices = false; ///< sizes to choose from, of which a chip has some
  std::vector<ForeignComponent> components;

  /// By what the text is: a map `ERT`, `ART`, `ERT_summary` or `ART_summary` of Accelergy 0.2 to 0.4 (YAML; energies
  /// are picojoules, areas square micrometres, or they have a unit), a table of its plug-ins (AccelergyCsv.h), CACTI's
  /// out.csv (the last of its rows), or CACTI's report (lines "name (unit): number"). Issues of code A1406 with their
  /// place: no such text, unknown keys and versions, what is no number, not finite or negative, an unknown unit, a
  /// number that is missing, a component that stands twice.
  static Result<ForeignTable> read(std::string_view text, const std::string &file);
};

} // namespace accord
