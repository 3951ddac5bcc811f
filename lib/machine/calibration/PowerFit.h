// The law of board power, fitted to measured boards and servers and scored on sources that it has not seen.
#pragma once
#include "lib/machine/energy/BoardPower.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord::calibrate {

/// A row of lib/catalog/measured-power.csv.
struct PowerRow {
  std::string id, level, board, origin; ///< level: "board", "idle", "run", "node_ac", "node_dc", "node_air"
  int boards = 1;
  BoardRating rating;
  UnitShares shares;
  Watts measured;
  double slowdown = 0; ///< measured time over that without a limit; 0: not measured
};
/// Issues as for `Table`; A0103 where the table has no row.
Result<std::vector<PowerRow>> readPowerRows(std::string_view text, const std::string &file);
/// Those of the catalogue.
const std::vector<PowerRow> &shippedPowerRows();

struct PowerFit {
  BoardPowerLaw law;
  /// Of a server with eight boards: CPUs, memory, network cards and disks; in air, fans.
  Watts host = Watts(1400), fans = Watts(600);
  double supplyEfficiency = 0.96;
};
/// What the row would draw.
Watts powerOf(const PowerRow &row, const PowerFit &fit);

/// The most likely parameters: errors are of the logarithm, 10 % each, robust (Huber, at 10 %); the start is the mean
/// of the prior. Rows of idle boards and of whole runs are not fitted. Priors (mean, standard deviation): busy 0.60
/// (0.15), vector 0.25 (0.15), tensor 0.50 (0.30), memory 0.20 (0.10), host 1400 W (200 W). Fans (600 W), the supply
/// (0.96) and link keep their means, and the law of voltage is that of CapFit.h.
PowerFit fitPower(const std::vector<PowerRow> &rows);

/// computed / measured - 1.
struct PowerScore {
  const PowerRow *row = nullptr;
  double seen = 0;   ///< fitted on all rows
  double unseen = 0; ///< fitted without the row's source
};
std::vector<PowerScore> scorePower(const std::vector<PowerRow> &rows);
/// From the unseen errors of boards and servers: the factors that leave 5 % of the rows below and 5 % above.
PowerInterval powerInterval(const std::vector<PowerScore> &scores);

/// docs/power.md.
std::string powerPage(const std::vector<PowerRow> &rows);

} // namespace accord::calibrate
