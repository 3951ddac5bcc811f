#include "lib/machine/calibration/Rows.h"
#include "lib/machine/energy/ForeignTable.h"
#include "lib/machine/operations/Rows.h"
#include "lib/machine/operations/SparseProducts.h"
#include "test/fuzz/readers/Reader.h"

/// Rows of steps, devices, and operations on them; tables of components of other programs.
void accord::fuzz::readTables(std::string_view input) {
  if (auto rows = calibrate::readRows(input, "fuzz"); !rows)
    expectPlaces(rows.error());
  auto devices = operations::readDevices(input, "fuzz");
  if (!devices)
    expectPlaces(devices.error());
  operations::Devices one{{"Tesla T4", {}}};
  if (auto rows = operations::readRows(input, "fuzz", devices ? *devices : one); !rows)
    expectPlaces(rows.error());
  if (auto products = operations::readSparseRows(input, "fuzz"); !products)
    expectPlaces(products.error());
  if (auto components = ForeignTable::read(input, "fuzz"); !components)
    expectPlaces(Errors{components.error()});
}
