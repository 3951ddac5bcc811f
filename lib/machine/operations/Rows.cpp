#include "lib/machine/operations/Rows.h"
#include "lib/machine/operations/Table.h"
#include "lib/machine/operations/Time.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::operations {
namespace {

struct Known {
  const char *name;
  Kind kind;
  double operands;
};
/// A `u` at the end: the second operand is a number.
const Known kKnown[] = {
    {"linear", Kind::Gemm, 2},      {"bmm", Kind::BatchedGemm, 2},  {"softmax", Kind::Softmax, 1},
    {"ln", Kind::LayerNorm, 1},     {"add", Kind::ElementWise, 2},  {"mul", Kind::ElementWise, 2},
    {"div", Kind::ElementWise, 2},  {"pow", Kind::ElementWise, 2},  {"addu", Kind::ElementWise, 1},
    {"mulu", Kind::ElementWise, 1}, {"divu", Kind::ElementWise, 1}, {"powu", Kind::ElementWise, 1},
    {"gelu", Kind::ElementWise, 1}, {"relu", Kind::ElementWise, 1}, {"tanh", Kind::ElementWise, 1},
    {"copy", Kind::ElementWise, 1},
};
const std::vector<std::string> kColumns{"operation", "batch",      "m",      "n",     "k",     "width",   "type",
                                        "device",    "latency_ms", "kernel", "bytes", "watts", "dense_ms"};
/// What scripts of `accord measure` measure and no term of the model describes, and what `readSparseRows` reads.
constexpr std::array<std::string_view, 5> kWithoutModel{"attention", "all_reduce", "sparse_linear", "sparsify",
                                                        "sparsify_transposable"};
constexpr double kWordBytes = 4;
constexpr double kSlack = 1.05; ///< boost clocks and clocks of the host differ by this from what they say

bool isProduct(Kind kind) { return kind == Kind::Gemm || kind == Kind::BatchedGemm; }

std::vector<std::string> operationNames() {
  std::vector<std::string> names;
  for (const Known &one : kKnown)
    names.emplace_back(one.name);
  return names;
}

/// The bit of the tile that a kernel's name states, 0 if that is none of the list.
unsigned tileOf(const std::string &kernel) {
  for (size_t i = 0; i < kTiles.size(); ++i)
    if (kernel.find(fmt::format("_{}x{}_", kTiles[i].n, kTiles[i].m)) != std::string::npos)
      return 1u << i;
  return 0;
}

class RowReader {
public:
  RowReader(const std::string &path, const Devices &devices)
      : table(path, kColumns, {"operation", "batch", "type", "device", "latency_ms"}), path(path), devices(devices) {
    for (auto &[name, device] : devices)
      deviceNames.push_back(name);
  }

  void read(const Record &record) {
    if (!table.fits(record))
      return;
    size_t before = table.errors.size();
    Row row;
    row.location = {path, record.front().line, record.front().column};
    std::string name = table.text(record, "operation");
    if (std::ranges::find(kWithoutModel, name) != kWithoutModel.end())
      return;
    const Known *known = std::ranges::find(kKnown, name, &Known::name);
    if (known == std::end(kKnown))
      return unknown(record, "operation", operationNames());
    row.operation = {name, known->kind};
    row.operation.operands = known->operands;
    row.device = table.text(record, "device");
    if (table.text(record, "type") != "fp32")
      unknown(record, "type", {"fp32"});
    if (!devices.count(row.device))
      return unknown(record, "device", deviceNames);
    sizes(record, row.operation);
    row.seconds = needed(record, "latency_ms", false) * 1e-3;
    if (table.errors.size() != before)
      return;
    row.tile = tileOf(table.text(record, "kernel"));
    lint(record, row);
    rows.push_back(std::move(row));
  }

  Table table;
  std::vector<Row> rows;

private:
  void unknown(const Record &record, const char *column, const std::vector<std::string> &allowed) {
    const Cell &cell = *table.cell(record, column);
    table.complain(Code::BadCell, cell,
                   fmt::format("unknown {} '{}', expected one of {}", column, cell.text, fmt::join(allowed, ", ")),
                   nearest(cell.text, allowed));
  }

  double needed(const Record &record, const char *column, bool whole) {
    const Cell *cell = table.cell(record, column);
    if (!cell || cell->text.empty())
      table.complain(Code::BadCell, cell ? *cell : record.front(), fmt::format("'{}' is needed here", column));
    return table.number(record, column, whole).value_or(1);
  }

  void sizes(const Record &record, Operation &operation) {
    operation.batch = needed(record, "batch", true);
    bool product = isProduct(operation.kind);
    for (auto [column, member] : {std::pair("m", &Operation::m), std::pair("n", &Operation::k),
                                  std::pair("k", &Operation::n), std::pair("width", &Operation::width)}) {
      const Cell *cell = table.cell(record, column);
      if (product == (member != &Operation::width))
        operation.*member = needed(record, column, true);
      else if (cell && !cell->text.empty())
        table.complain(Code::BadCell, *cell, fmt::format("'{}' has no '{}'", operation.name, column));
    }
  }

  void lint(const Record &record, const Row &row) {
    const Device &device = devices.at(row.device);
    double bytes = bytesOf(row.operation);
    double atLeast = flopsOf(row.operation) / device.peak;
    if (bytes > device.l2)
      atLeast = std::max(atLeast, (bytes - device.l2) / device.bandwidth);
    if (row.seconds * kSlack < atLeast)
      table.complain(Code::AbovePeak, *table.cell(record, "latency_ms"),
                     fmt::format("'{}' in {:.4g} ms, but '{}' takes at least {:.4g} ms at its peak", row.operation.name,
                                 row.seconds * 1e3, row.device, atLeast * 1e3));
  }

  const std::string &path;
  const Devices &devices;
  std::vector<std::string> deviceNames;
};

} // namespace

const char *nameOf(Kind kind) {
  constexpr std::array kNames{"linear", "bmm", "softmax", "layer_norm", "element-wise"};
  return kNames[static_cast<size_t>(kind)];
}

double flopsOf(const Operation &o) { return isProduct(o.kind) ? 2 * o.batch * o.m * o.n * o.k : 0; }

double bytesOf(const Operation &o) {
  if (isProduct(o.kind))
    return kWordBytes * o.batch * (o.m * o.k + o.k * o.n + o.m * o.n);
  return kWordBytes * o.batch * o.width * (o.operands + 1);
}

Result<std::vector<Row>, Errors> readRows(std::string_view text, const std::string &path, const Devices &devices) {
  ACCORD_TRY(records, calibrate::readCsv(text, path));
  if (records.size() < 2)
    return Error{Code::BadTable, "expected a line of column names and at least one row", {path, 1, 1}};
  RowReader reader(path, devices);
  if (reader.table.header(records.front()))
    for (size_t i = 1; i < records.size(); ++i)
      reader.read(records[i]);
  if (!reader.table.errors.empty())
    return std::move(reader.table.errors);
  return std::move(reader.rows);
}

} // namespace accord::operations
