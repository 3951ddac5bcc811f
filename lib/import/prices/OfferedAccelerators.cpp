#include "lib/import/prices/OfferedAccelerators.h"
#include "lib/support/documents/Csv.h"
#include "llvm/ADT/StringRef.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace accord::offers {

Result<std::vector<OfferedAccelerator>, Errors> readOfferedAccelerators(std::string_view text,
                                                                        const std::string &path) {
  auto records = calibrate::readCsv(text, path);
  if (!records)
    return records.takeError();
  std::vector<OfferedAccelerator> known;
  for (size_t i = 1; i < records->size(); ++i) {
    const calibrate::Record &record = (*records)[i];
    auto wrong = [&](std::string message) {
      return Errors{Error{Code::WrongPriceList, std::move(message),
                          SourceLocation{path, record.front().line, record.front().column}}};
    };
    if (record.size() != 4)
      return wrong(
          fmt::format("row has {} columns, expected name, memory_gib, devices_per_unit and cluster", record.size()));
    OfferedAccelerator one;
    one.name = record[0].text, one.cluster = record[3].text;
    auto number = [](const std::string &cell, double otherwise) -> std::optional<double> {
      double value = otherwise;
      const char *end = cell.data() + cell.size();
      if (!cell.empty())
        if (auto [stop, error] = std::from_chars(cell.data(), end, value);
            error != std::errc() || stop != end || !(value > 0) || !std::isfinite(value))
          return std::nullopt;
      return value;
    };
    const auto memory = number(record[1].text, 0), units = number(record[2].text, 1);
    if (!memory || !units || one.name.empty() || one.cluster.empty())
      return wrong("expected a name, a number of GiB or nothing, a number of devices or nothing, and a cluster");
    one.memory = *memory * 1024.0 * 1024 * 1024, one.devicesPerUnit = *units;
    known.push_back(std::move(one));
  }
  return known;
}

/// Of a name with '*': the number that stands there; of another one 1.
static std::optional<double> unitsOf(llvm::StringRef pattern, llvm::StringRef name) {
  auto [before, after] = pattern.split('*');
  if (!pattern.contains('*'))
    return pattern.equals_insensitive(name) ? std::optional(1.0) : std::nullopt;
  unsigned units = 0;
  if (!name.consume_front_insensitive(before) || !name.consume_back(after) || name.getAsInteger(10, units) ||
      units == 0)
    return std::nullopt;
  return units;
}

std::optional<AcceleratorMatch> matchAccelerator(const std::vector<OfferedAccelerator> &known,
                                                 const InstanceOffer &offer) {
  for (const OfferedAccelerator &one : known) {
    const auto units = unitsOf(one.name, offer.accelerator);
    if (!units)
      continue;
    if (one.memory > 0 && offer.deviceMemory > 0 && std::abs(offer.deviceMemory - one.memory) > 0.15 * one.memory)
      continue;
    return AcceleratorMatch{one.cluster, offer.devices * *units * one.devicesPerUnit,
                            one.name.find('*') != std::string::npos};
  }
  return std::nullopt;
}

} // namespace accord::offers
