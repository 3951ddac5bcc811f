#include "lib/machine/operations/Device.h"
#include "lib/machine/operations/Table.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::operations {
namespace {

struct Column {
  const char *name;
  double Device::*member;
  double unit; ///< the number of the table times this is in base units
};
const Column kColumns[] = {{"peak_fp32_tflops", &Device::peak, 1e12},
                           {"bandwidth_GBps", &Device::bandwidth, 1e9},
                           {"compute_units", &Device::computeUnits, 1},
                           {"l2_MiB", &Device::l2, 1048576},
                           {"l1_KiB", &Device::l1, 1024},
                           {"threads", &Device::threads, 1},
                           {"tdp_W", &Device::power, 1}};
const char *const kNotRead[] = {"node_nm", "source"};

} // namespace

Result<Devices, Errors> readDevices(std::string_view text, const std::string &path) {
  ACCORD_TRY(records, calibrate::readCsv(text, path));
  if (records.empty())
    return Error{Code::BadTable, "an empty file, expected a line of column names", {path, 1, 1}};
  std::vector<std::string> required{"device"};
  for (const Column &column : kColumns)
    required.emplace_back(column.name);
  std::vector<std::string> known = required;
  known.insert(known.end(), std::begin(kNotRead), std::end(kNotRead));
  Table table(path, known, required);
  if (!table.header(records.front()))
    return std::move(table.errors);
  Devices devices;
  for (size_t i = 1; i < records.size(); ++i) {
    const Record &record = records[i];
    if (!table.fits(record))
      continue;
    Device device;
    device.name = table.text(record, "device");
    for (const Column &column : kColumns) {
      size_t before = table.errors.size();
      auto value = table.number(record, column.name, false);
      if (value)
        device.*column.member = *value * column.unit;
      else if (table.errors.size() == before)
        table.complain(Code::BadCell, *table.cell(record, column.name),
                       fmt::format("'{}' has no '{}'", device.name, column.name));
    }
    const Cell &name = *table.cell(record, "device");
    if (device.name.empty())
      table.complain(Code::BadCell, name, "a device without a name");
    else if (std::ranges::any_of(device.name, [](unsigned char c) { return c == '"' || c < ' '; }))
      table.complain(Code::BadCell, name, "a device whose name has a quote or a control character");
    else if (!devices.emplace(device.name, device).second)
      table.complain(Code::BadCell, name, fmt::format("the device '{}' is there twice", device.name));
  }
  if (!table.errors.empty())
    return std::move(table.errors);
  return devices;
}

} // namespace accord::operations
