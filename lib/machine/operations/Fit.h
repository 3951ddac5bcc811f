// Parameters of single operations, shared by all devices, with a deviation of each device. Ceres' exceptions end here.
#pragma once
#include "lib/machine/model/SparseKernels.h"
#include "lib/machine/operations/Time.h"

namespace accord::operations {

struct Fit {
  Parameters shared = priorMedians();       ///< for a device that no row is of
  std::map<std::string, Parameters> device; ///< for those that rows are of
  /// That a device's library used for a kind of product; absent: all of kTiles.
  std::map<std::pair<std::string, Kind>, TileSet> tiles;
  Devices sheets;                        ///< of all devices that the fit knew, with rows or without
  std::vector<SparseKernelTable> sparse; ///< by device and type; of rows of 2:4 products
};

/// Seconds of an operation: with the parameters of the device if it was fitted, else with the shared ones.
double predict(const Fit &fit, const Operation &operation, const Device &device);

/// Minimizes sum of 2 (sqrt(1 + e^2) - 1), e = log(computed / measured) / 0.05, plus (log(shared / median) / spread)^2
/// plus (log(device / shared) / (0.5 spread))^2 of every parameter and device. Deterministic. Error A0467: no rows, or
/// the solver found none.
Result<Fit> fit(const std::vector<Row> &rows, const Devices &devices);

/// Half of the rows by a hash of what a row says: FNV-1a of operation, sizes and device.
bool isInFittedHalf(const Row &row);

} // namespace accord::operations
