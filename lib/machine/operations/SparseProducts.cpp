#include "lib/machine/operations/SparseProducts.h"
#include "lib/machine/operations/Table.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace accord::operations {
namespace {

const std::vector<std::string> kColumns{"operation", "batch",      "m",      "n",     "k",     "width",   "type",
                                        "device",    "latency_ms", "kernel", "bytes", "watts", "dense_ms"};
const std::vector<std::string> kTypes{"bf16", "fp16", "tf32", "fp8", "int8", "fp4"};
constexpr std::array kWidths{0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0};
constexpr double kWeightOfMatrix = 2; ///< of depth and columns in the square of a distance

double squaredDistance(const SparseKernelPoint &a, double rows, double depth, double columns) {
  const double r = std::log2(a.rows / rows), d = std::log2(a.depth / depth), c = std::log2(a.columns / columns);
  return r * r + kWeightOfMatrix * (d * d + c * c);
}

struct Neighbourhood {
  double log = 0;     ///< mean of the logarithms
  double nearest = 0; ///< octaves
};

/// Of all points but those that `isLeftOut` says.
template <typename Predicate>
Neighbourhood meanAround(const std::vector<SparseKernelPoint> &points, const SparseKernelPoint &at, double width,
                         Predicate isLeftOut) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const SparseKernelPoint &point : points)
    if (!isLeftOut(point))
      nearest = std::min(nearest, squaredDistance(point, at.rows, at.depth, at.columns));
  double weights = 0, sum = 0;
  for (const SparseKernelPoint &point : points) {
    if (isLeftOut(point))
      continue;
    // Relative to the nearest, so that the sum is not 0 far from all.
    const double squared = squaredDistance(point, at.rows, at.depth, at.columns) - nearest;
    const double weight = std::exp(-squared / (2 * width * width));
    weights += weight, sum += weight * std::log(point.speedup);
  }
  return {weights > 0 ? sum / weights : 0, std::sqrt(nearest)};
}

bool isMask(const std::string &operation) { return operation.starts_with("sparsify"); }

class SparseRowReader {
public:
  explicit SparseRowReader(const std::string &path)
      : table_(path, kColumns, {"operation", "type", "device", "latency_ms"}) {}

  Result<std::vector<SparseKernelTable>, Errors> run(const std::vector<Record> &records) {
    if (table_.header(records.front()))
      for (size_t i = 1; i < records.size(); ++i)
        read(records[i]);
    std::vector<SparseKernelTable> tables;
    for (auto &[key, group] : groups_)
      if (table_.errors.empty())
        tables.push_back(tableOf(key, group));
    if (!table_.errors.empty())
      return std::move(table_.errors);
    return tables;
  }

private:
  using Shape = std::array<double, 3>;
  struct Group {
    std::map<Shape, std::pair<double, double>> products;                ///< sum of logarithms, and how many
    std::map<std::pair<bool, double>, std::pair<double, double>> masks; ///< likewise of seconds
    Cell first;
  };

  void read(const Record &record) {
    if (!table_.fits(record))
      return;
    const std::string name = table_.text(record, "operation");
    if (name != "sparse_linear" && name != "sparsify" && name != "sparsify_transposable")
      return;
    const size_t before = table_.errors.size();
    const Cell &type = *table_.cell(record, "type"), &device = *table_.cell(record, "device");
    if (std::ranges::find(kTypes, type.text) == kTypes.end())
      table_.complain(Code::BadCell, type,
                      fmt::format("unknown type '{}', expected one of {}", type.text, fmt::join(kTypes, ", ")),
                      nearest(type.text, kTypes));
    if (device.text.empty() || device.text.find('"') != std::string::npos)
      table_.complain(Code::BadCell, device, "a device has a name without quotation marks");
    const double m = needed(record, "m", true), n = needed(record, "n", true);
    const double k = isMask(name) ? 1 : needed(record, "k", true);
    const double seconds = needed(record, "latency_ms", false) * 1e-3;
    const double dense = isMask(name) ? 1 : needed(record, "dense_ms", false) * 1e-3;
    if (table_.errors.size() != before)
      return;
    Group &group = groups_[{device.text, type.text}];
    if (group.products.empty() && group.masks.empty())
      group.first = record.front();
    auto &[sum, count] = isMask(name) ? group.masks[{name != "sparsify", m * n}] : group.products[{m, n, k}];
    sum += std::log(isMask(name) ? seconds : dense / seconds), ++count;
  }

  double needed(const Record &record, const char *column, bool whole) {
    const Cell *cell = table_.cell(record, column);
    if (!cell || cell->text.empty())
      table_.complain(Code::BadCell, cell ? *cell : record.front(), fmt::format("'{}' is needed here", column));
    return table_.number(record, column, whole).value_or(1);
  }

  SparseKernelTable tableOf(const std::pair<std::string, std::string> &key, const Group &group) {
    SparseKernelTable table{key.first, key.second, {}, {}};
    for (const auto &[shape, speedup] : group.products)
      table.points.push_back({shape[0], shape[1], shape[2], std::exp(speedup.first / speedup.second)});
    for (const auto &[mask, seconds] : group.masks)
      table.masks.push_back({mask.first, mask.second, std::exp(seconds.first / seconds.second)});
    if (!fitSparseKernels(table))
      table_.complain(Code::NothingFitted, group.first,
                      fmt::format("{} shapes of sparse_linear in {} on '{}', and an interval of {:.0f} % needs {}",
                                  table.points.size(), table.type, table.device, 100 * kSparseCoverage,
                                  kMinSparsePoints));
    return table;
  }

  Table table_;
  std::map<std::pair<std::string, std::string>, Group> groups_;
};

/// Errors of groups, and of all of them.
class ErrorSums {
public:
  explicit ErrorSums(std::string title) : table_{std::move(title), {}} {}
  void add(const std::string &group, double error) {
    if (table_.groups.empty() || table_.groups.back().group != group)
      table_.groups.push_back({group});
    for (ErrorSummary *one : {&table_.groups.back(), &all_})
      ++one->rows, one->meanError += std::abs(error), one->bias += error;
  }
  ErrorTable result() {
    if (all_.rows > 0)
      table_.groups.push_back(all_);
    for (ErrorSummary &one : table_.groups) {
      one.meanError /= static_cast<double>(one.rows);
      one.bias /= static_cast<double>(one.rows);
    }
    return std::move(table_);
  }

private:
  ErrorTable table_;
  ErrorSummary all_{"all"};
};

std::string groupOf(const SparseKernelTable &table) { return fmt::format("{} {}", table.device, table.type); }

ErrorTable errorsOf(const std::string &title, const std::vector<SparseKernelTable> &tables, bool wholeMatrix) {
  ErrorSums sums(title);
  for (const SparseKernelTable &table : tables)
    for (const SparseKernelPoint &at : table.points) {
      auto isLeftOut = [&](const SparseKernelPoint &point) {
        return wholeMatrix ? point.depth == at.depth && point.columns == at.columns : &point == &at;
      };
      // Sparse seconds, computed over measured.
      if (!std::ranges::all_of(table.points, isLeftOut))
        sums.add(groupOf(table), at.speedup / std::exp(meanAround(table.points, at, table.width, isLeftOut).log) - 1);
    }
  return sums.result();
}

} // namespace

Result<std::vector<SparseKernelTable>, Errors> readSparseRows(std::string_view text, const std::string &path) {
  ACCORD_TRY(records, calibrate::readCsv(text, path));
  if (records.size() < 2)
    return Error{Code::BadTable, "expected a line of column names and at least one row", {path, 1, 1}};
  return SparseRowReader(path).run(records);
}

bool fitSparseKernels(SparseKernelTable &table) {
  const std::vector<SparseKernelPoint> &points = table.points;
  if (points.size() < kMinSparsePoints)
    return false;
  double min = std::numeric_limits<double>::infinity();
  for (double width : kWidths) {
    std::vector<double> errors;
    double sum = 0, reach = 0;
    for (const SparseKernelPoint &at : points) {
      const Neighbourhood around =
          meanAround(points, at, width, [&](const SparseKernelPoint &point) { return &point == &at; });
      errors.push_back(std::abs(around.log - std::log(at.speedup)));
      sum += errors.back(), reach = std::max(reach, around.nearest);
    }
    if (!(sum < min))
      continue;
    min = sum;
    std::sort(errors.begin(), errors.end());
    const auto rank = static_cast<size_t>(std::ceil(kSparseCoverage * static_cast<double>(points.size() + 1)));
    table.width = width, table.reach = reach;
    table.deviation = errors[std::min(rank, errors.size()) - 1];
  }
  return true;
}

SparseSpeedup sparseSpeedup(const SparseKernelTable &table, double rows, double depth, double columns) {
  const Neighbourhood around = meanAround(table.points, {rows, depth, columns}, table.width,
                                          [](const SparseKernelPoint & /*point*/) { return false; });
  SparseSpeedup result{std::exp(around.log), std::exp(around.log - table.deviation),
                       std::exp(around.log + table.deviation), around.nearest <= table.reach};
  if (result.inside)
    return result;
  for (const SparseKernelPoint &point : table.points) {
    result.low = std::min(result.low, point.speedup);
    result.high = std::max(result.high, point.speedup);
  }
  return result;
}

std::optional<double> maskSeconds(const SparseKernelTable &table, bool transposable, double elements) {
  const MaskKernelPoint *below = nullptr, *above = nullptr;
  for (const MaskKernelPoint &point : table.masks)
    if (point.transposable == transposable) {
      if (point.elements <= elements)
        below = &point;
      else if (!above)
        above = &point;
    }
  if (!below && !above)
    return std::nullopt;
  if (!below)
    return above->seconds;
  if (!above)
    return below->seconds * elements / below->elements;
  const double slope = std::log(above->seconds / below->seconds) / std::log(above->elements / below->elements);
  return below->seconds * std::pow(elements / below->elements, slope);
}

std::vector<ErrorTable> sparseErrors(const std::vector<SparseKernelTable> &tables) {
  return {errorsOf("one left out", tables, false), errorsOf("weights left out", tables, true)};
}

ErrorTable checkSparse(const std::vector<SparseKernelTable> &known, const std::vector<SparseKernelTable> &measured) {
  ErrorSums sums("checked");
  for (const SparseKernelTable &table : measured)
    for (const SparseKernelTable &other : known)
      if (other.device == table.device && other.type == table.type)
        for (const SparseKernelPoint &at : table.points)
          sums.add(groupOf(table), at.speedup / sparseSpeedup(other, at.rows, at.depth, at.columns).mean - 1);
  return sums.result();
}

} // namespace accord::operations
