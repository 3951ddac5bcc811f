#include "lib/machine/energy/AreaModel.h"
#include "lib/machine/energy/NodeScaling.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr double kKiB = 1024;

std::string sizesOf(const std::map<double, double> &table) {
  return fmt::format("{:.0f} KiB to {:.0f} KiB in powers of two", table.begin()->first / kKiB,
                     table.rbegin()->first / kKiB);
}

bool isPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

Error notCovered(const std::string &what) { return {Code::AreaNotCovered, fmt::format("has no area for {}", what)}; }

Result<double> lookUp(const std::map<double, double> &table, double bytes, const std::string &what) {
  auto found = table.find(bytes);
  if (found != table.end())
    return found->second;
  return notCovered(fmt::format("{} of {:.6g} KiB, only for {}", what, bytes / kKiB, sizesOf(table)));
}

} // namespace

SquareMetres areaOfParts(const Machine &machine, const AreaRates &rates) {
  double area = rates.fixed;
  for (const Core &core : machine.cores) {
    double count = core.count;
    area += count * core.rows * core.cols * rates.mac;
    area += count * core.lanes * rates.lane;
  }
  for (const Memory &memory : machine.memories)
    if (memory.kind != "dram")
      area += memory.capacity.value * rates.sram;
  return {area};
}

Result<AreaModel> AreaModel::read(std::string_view text, const std::string &file) {
  ACCORD_TRY(table, Table::parse(text, file, {"part", "size", "area"}));
  AreaModel out;
  for (const TableRow &row : table.rows()) {
    const std::string &part = table.text(row, "part");
    bool sized = part == "core_memory" || part == "buffer";
    if (!sized && part != "tensor_element" && part != "vector_element")
      return Error{Code::UnknownChoice,
                   fmt::format("'{}' is none of tensor_element, vector_element, core_memory, buffer", part),
                   {file, row.line, 1}};
    ACCORD_TRY(area, table.number(row, "area", Dimension::of(Base::Metre, 2)));
    double metres = area;
    if (!sized) {
      (part == "tensor_element" ? out.tensorElement : out.vectorElement) = metres;
      continue;
    }
    ACCORD_TRY(size, table.number(row, "size", Dimension::of(Base::Byte)));
    (part == "buffer" ? out.buffers : out.coreMemories)[size] = metres;
  }
  if (out.buffers.empty() || out.coreMemories.empty() || out.tensorElement <= 0 || out.vectorElement <= 0)
    return Error{Code::MissingKey, "the table lacks one of its parts", {file, 1, 1}};
  return out;
}

const AreaModel *AreaModel::shipped(std::string_view name) {
  if (name.starts_with("catalog/"))
    name.remove_prefix(8);
  if (name.ends_with(".csv"))
    name.remove_suffix(4);
  if (name != "area_45nm")
    return nullptr;
  static const auto model = AreaModel::read(shippedTable(name), "catalog/area_45nm.csv");
  return model.get();
}

Result<SquareMetres> AreaModel::tensorCore(int64_t width, int64_t depth) const {
  if (!isPowerOfTwo(width) || !isPowerOfTwo(depth))
    return notCovered(fmt::format("an array of {} x {}, only for powers of two", width, depth));
  double elements = static_cast<double>(width) * depth;
  ACCORD_TRY(memory, lookUp(coreMemories, std::max(1.0, elements / 64) * kKiB,
                            fmt::format("the memory of a tensor core of {} x {}", width, depth)));
  return SquareMetres{tensorElement * elements + memory};
}

Result<SquareMetres> AreaModel::vectorCore(int64_t width) const {
  if (!isPowerOfTwo(width))
    return notCovered(fmt::format("{} lanes, only for powers of two", width));
  double elements = width;
  ACCORD_TRY(memory, lookUp(coreMemories, std::max(1.0, elements / 64) * kKiB,
                            fmt::format("the memory of a vector core of {} lanes", width)));
  return SquareMetres{vectorElement * elements + memory};
}

Result<SquareMetres> AreaModel::buffer(Bytes capacity) const {
  ACCORD_TRY(area, lookUp(buffers, capacity.value, "a buffer"));
  return SquareMetres{area};
}

Result<SquareMetres> AreaModel::area(const Machine &machine) const {
  SquareMetres sum;
  for (const Core &core : machine.cores) {
    if (core.rows <= 0 && core.lanes <= 0)
      return notCovered(fmt::format("core '{}', which states no array or lanes", core.name));
    ACCORD_TRY(one, core.rows > 0 ? tensorCore(core.rows, core.cols) : vectorCore(core.lanes));
    sum.value += core.count * one.value;
  }
  Bytes onChip;
  for (const Memory &memory : machine.memories)
    if (memory.kind == "scratchpad" || memory.kind == "cache")
      onChip += memory.capacity;
  ACCORD_TRY(shared, buffer(onChip));
  return SquareMetres{sum.value + shared.value};
}

} // namespace accord
