// What the time of a single operation takes from a data sheet.
#pragma once
#include "lib/support/Result.h"
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accord::operations {

struct Device {
  std::string name;        ///< as the driver reports it: "Tesla T4"
  double peak = 0;         ///< FLOP/s of fp32 outside of matrix units
  double bandwidth = 0;    ///< bytes a second of device memory
  double computeUnits = 0; ///< streaming multiprocessors, compute units
  double l2 = 0;           ///< bytes of the cache that all units share
  double l1 = 0;           ///< bytes of the cache of one unit, with what programs may take of it
  double threads = 0;      ///< that one unit holds at most
  double power = 0;        ///< watts that the board may draw
};
/// A number of a data sheet, as files of fitted operations name it.
struct SheetNumber {
  const char *name, *unit;
  double Device::*member;
};
inline constexpr std::array<SheetNumber, 7> kSheet{{{"peak", "FLOP/s", &Device::peak},
                                                    {"bandwidth", "B/s", &Device::bandwidth},
                                                    {"compute_units", "", &Device::computeUnits},
                                                    {"l2", "B", &Device::l2},
                                                    {"l1", "B", &Device::l1},
                                                    {"threads", "", &Device::threads},
                                                    {"power", "W", &Device::power}}};
using Devices = std::map<std::string, Device>;

/// Devices of a table with the columns of lib/catalog/devices.csv, by name; `node_nm` and `source` may be missing.
/// Errors, at most 20, each with line and column: A0460 no table, A0461 a column that is unknown, twice there or
/// missing, A0462 a number that is none or not above 0, a device without a name or there twice.
Result<Devices, Errors> readDevices(std::string_view text, const std::string &path);

} // namespace accord::operations
