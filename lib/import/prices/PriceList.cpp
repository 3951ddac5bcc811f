#include "lib/import/prices/PriceList.h"
#include "lib/support/documents/Csv.h"
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace accord::offers {
namespace {
using calibrate::Cell;
using calibrate::Record;

enum Column : uint8_t {
  Instance,
  Accelerator,
  Count,
  Price,
  SpotPrice,
  Region,
  Cpus,
  Memory,
  DeviceInfo,
  DeviceMemory,
  Provider,
  Available,
  Interruptions,
  kColumns
};
constexpr std::array<const char *, kColumns> kNames = {
    "InstanceType", "AcceleratorName", "AcceleratorCount",     "Price",    "SpotPrice", "Region",          "vCPUs",
    "MemoryGiB",    "GpuInfo",         "AcceleratorMemoryMiB", "Provider", "Available", "InterruptionRate"};
constexpr size_t kMaxErrors = 20;
constexpr double kMaxPrice = 1e9, kMaxCount = 1e6, kMiB = 1024.0 * 1024;

class PriceListReader {
public:
  PriceListReader(const std::string &path) : path(path) {}

  Result<PriceList, Errors> read(const std::vector<Record> &records) {
    if (records.empty())
      return Error{Code::WrongPriceList, "price list has no columns, expected InstanceType, AcceleratorName, …",
                   SourceLocation{path, 1, 1}};
    readHeading(records.front());
    for (size_t i = 1; i < records.size() && errors.size() < kMaxErrors; ++i)
      readRow(records[i]);
    if (!errors.empty())
      return std::move(errors);
    if (list.offers.empty())
      return Error{Code::WrongPriceList,
                   fmt::format("price list offers no accelerators: {} rows have none, {} have no price",
                               list.withoutDevices, list.withoutPrice),
                   SourceLocation{path, records.front().front().line, 1}};
    return std::move(list);
  }

private:
  void refuse(const Cell &at, std::string message) {
    if (errors.size() < kMaxErrors)
      errors.push_back({Code::WrongPriceList, std::move(message), SourceLocation{path, at.line, at.column}});
  }

  void readHeading(const Record &heading) {
    size = heading.size();
    for (size_t i = 0; i < heading.size(); ++i) {
      std::string_view name = heading[i].text;
      if (i == 0 && name.starts_with("\xef\xbb\xbf")) // a byte order mark
        name.remove_prefix(3);
      for (size_t c = 0; c < kColumns; ++c)
        if (name == kNames[c]) {
          if (places[c])
            refuse(heading[i], fmt::format("column '{}' stands twice", kNames[c]));
          places[c] = i;
        }
    }
    for (Column column : {Instance, Accelerator, Count})
      if (!places[column])
        refuse(heading.front(), fmt::format("price list has no column '{}'", kNames[column]));
    if (!places[Price] && !places[SpotPrice])
      refuse(heading.front(), "price list has no column 'Price' and none 'SpotPrice'");
  }

  const Cell *cell(const Record &record, Column column) const {
    return places[column] && *places[column] < record.size() ? &record[*places[column]] : nullptr;
  }
  std::string text(const Record &record, Column column) const {
    const Cell *found = cell(record, column);
    return found ? found->text : "";
  }

  /// `otherwise` where the cell is empty; nothing after an error.
  std::optional<double> number(const Record &record, Column column, double otherwise, double max) {
    const Cell *found = cell(record, column);
    if (!found || found->text.empty() || found->text == "nan" || found->text == "NaN")
      return otherwise;
    double value = 0;
    const char *end = found->text.data() + found->text.size();
    auto [stop, error] = std::from_chars(found->text.data(), end, value);
    if (error == std::errc() && stop == end && value >= 0 && value <= max)
      return value;
    refuse(*found,
           fmt::format("column '{}' has '{}', expected a number from 0 to {:.0f}", kNames[column], found->text, max));
    return std::nullopt;
  }

  void readRow(const Record &record) {
    if (record.size() != size) {
      refuse(record.front(), fmt::format("row has {} columns, and the first line has {}", record.size(), size));
      return;
    }
    InstanceOffer offer;
    offer.accelerator = text(record, Accelerator);
    const auto count = number(record, Count, 0, kMaxCount);
    const auto price = number(record, Price, -1, kMaxPrice), spot = number(record, SpotPrice, -1, kMaxPrice);
    const auto cpus = number(record, Cpus, 0, kMaxCount), memory = number(record, Memory, 0, kMaxPrice),
               device = number(record, DeviceMemory, 0, kMaxPrice), available = number(record, Available, 0, kMaxCount),
               interruptions = number(record, Interruptions, -1, kMaxCount);
    if (!count || !price || !spot || !cpus || !memory || !device || !available || !interruptions)
      return;
    if (offer.accelerator.empty() || *count == 0) {
      ++list.withoutDevices;
      return;
    }
    if (*price < 0 && *spot < 0) {
      ++list.withoutPrice;
      return;
    }
    if (*available != std::floor(*available)) {
      refuse(*cell(record, Available), "column 'Available' has a part of an instance, expected a whole number");
      return;
    }
    if (const Cell *stated = cell(record, Available); stated && !stated->text.empty() && *available == 0) {
      ++list.withoutPrice; // sold out
      return;
    }
    offer.instance = text(record, Instance);
    list.withoutHost += offer.instance.empty();
    offer.region = text(record, Region);
    offer.provider = text(record, Provider);
    if (offer.provider.empty())
      offer.provider = providerOfPath();
    offer.devices = *count, offer.price = *price, offer.spotPrice = *spot;
    offer.cpus = *cpus, offer.memory = *memory * kMiB * 1024, offer.interruptions = *interruptions;
    offer.available = static_cast<int64_t>(*available);
    offer.deviceMemory = *device > 0 ? *device * kMiB : memoryIn(text(record, DeviceInfo), *count);
    offer.location = {path, record.front().line, record.front().column};
    list.offers.push_back(std::move(offer));
  }

  /// Bytes of one device by the text of GpuInfo: a dictionary with SizeInMiB of one, or TotalGpuMemoryInMiB; 0 if it
  /// says neither.
  static double memoryIn(std::string_view info, double count) {
    auto after = [&](std::string_view key) -> double {
      size_t at = info.find(key);
      if (at == std::string_view::npos)
        return 0;
      at = info.find_first_of("0123456789,}", at + key.size());
      double value = 0;
      if (at == std::string_view::npos ||
          std::from_chars(info.data() + at, info.data() + info.size(), value).ec != std::errc() || !(value > 0) ||
          value > kMaxPrice)
        return 0;
      return value;
    };
    if (double one = after("SizeInMiB"); one > 0)
      return one * kMiB;
    return after("TotalGpuMemoryInMiB") / count * kMiB;
  }

  /// "aws" of "aws.csv" and "aws/vms.csv"; "vms" of "vms.csv" alone.
  std::string providerOfPath() const {
    std::string_view rest = path;
    auto takeLast = [&] {
      const size_t slash = rest.find_last_of('/');
      std::string_view last = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
      rest = slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
      return std::string(last);
    };
    std::string file = takeLast();
    if (file.size() > 4 && file.ends_with(".csv"))
      file.resize(file.size() - 4);
    if (file != "vms")
      return file;
    std::string folder = takeLast();
    return folder.empty() || folder == "." || folder == ".." ? file : folder;
  }

  const std::string &path;
  size_t size = 0;
  std::array<std::optional<size_t>, kColumns> places;
  PriceList list;
  Errors errors;
};

} // namespace

Result<PriceList, Errors> readPriceList(std::string_view text, const std::string &path) {
  auto records = calibrate::readCsv(text, path);
  if (!records)
    return records.takeError();
  return PriceListReader(path).read(*records);
}

} // namespace accord::offers
