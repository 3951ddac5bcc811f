// How voltage falls with the clock, fitted to times and powers of training under caps, and scored on boards that the
// fit has not seen.
#pragma once
#include "lib/machine/energy/BoardPower.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord::calibrate {

/// A row of lib/catalog/measured-caps.csv: one workload on one board under a cap.
struct CapRow {
  std::string board, workload;
  Watts idle, tdp, limit, uncapped, power; ///< uncapped, power: measured without and with the limit
  double slowdown = 1;                     ///< measured time over that without a limit
};
/// Issues as for `Table`; A0103 where the table has no row.
Result<std::vector<CapRow>> readCapRows(std::string_view text, const std::string &file);
/// Those of the catalogue.
const std::vector<CapRow> &shippedCapRows();

/// How many times longer the row should take: 1 over the clock at which dynamic power is what it was measured to be.
/// All of its time goes with the clock.
double slowdownOf(const CapRow &row, const VoltageLaw &law);

/// The slope (multiples of 1/4 up to 3) and the floor (multiples of 1/20 up to 0.95) with the smallest mean absolute
/// logarithm of computed over measured slowdown; of several, the smallest slope, then the lowest floor.
VoltageLaw fitVoltage(const std::vector<CapRow> &rows);

struct CapScore {
  std::string board;
  int rows = 0;
  /// Mean and largest |computed / measured - 1|: fitted on all rows, without those of the board, and where voltage goes
  /// with the clock down to 0, so that power goes with its cube.
  double seen = 0, unseen = 0, worstUnseen = 0, cubic = 0, worstCubic = 0;
};
/// Of each board, by name.
std::vector<CapScore> scoreCaps(const std::vector<CapRow> &rows);

/// The section of docs/power.md.
std::string capSection(const std::vector<CapRow> &rows);

} // namespace accord::calibrate
