#include "lib/machine/energy/EnergyTable.h"
#include "lib/machine/energy/NodeScaling.h"
#include "lib/support/Dimension.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

Result<EnergyTable> EnergyTable::read(std::string_view text, const std::string &file) {
  auto parsed = Table::parse(text, file, {"part", "type", "size", "energy", "per", "node", "source"});
  if (!parsed)
    return parsed.takeError();
  const Table &table = *parsed;
  const Dimension joule = Dimension::of(Base::Joule), byte = Dimension::of(Base::Byte),
                  metre = Dimension::of(Base::Metre);
  EnergyTable out;
  for (const TableRow &row : table.rows()) {
    const std::string &part = table.text(row, "part"), &type = table.text(row, "type");
    bool arithmetic = part == "add" || part == "multiply", wire = part == "wire";
    if (!arithmetic && !wire && part != "sram" && part != "dram" && part != "register")
      return Error{Code::UnknownChoice,
                   fmt::format("'{}' is none of add, multiply, register, sram, dram, wire", part),
                   {file, row.line, 1},
                   {}};
    bool total = !table.text(row, "per").empty();
    Entry entry;
    entry.source = table.text(row, "source");
    double per = 1;
    struct Cell {
      const char *key;
      Dimension dimension;
      double *to;
      bool needed;
    } cells[] = {{"energy", arithmetic || total ? joule : joule / byte, &entry.joules, true},
                 {"per", byte, &per, total},
                 {"size", wire ? metre : byte, &entry.size, wire || part == "sram"},
                 {"node", metre, &entry.node, arithmetic || part == "sram"}};
    for (Cell &cell : cells) {
      if (!cell.needed && table.text(row, cell.key).empty())
        continue;
      auto value = table.number(row, cell.key, cell.dimension);
      if (!value)
        return value.takeError();
      *cell.to = *value;
      if (*cell.to <= 0)
        return Error{Code::OutOfRange, fmt::format("'{}' is positive", cell.key), {file, row.line, 1}, {}};
    }
    entry.joules /= per;
    if (arithmetic)
      out.operations[{part, type}] = entry;
    else if (part == "dram")
      out.drams[type] = entry;
    else if (part == "sram")
      out.srams.push_back(entry);
    else
      (wire ? out.wire : out.registers) = entry;
  }
  if (out.srams.empty())
    return Error{Code::MissingKey, "the table has no 'sram'", {file, 1, 1}, {}};
  std::sort(out.srams.begin(), out.srams.end(), [](const Entry &a, const Entry &b) { return a.size < b.size; });
  return out;
}

const EnergyTable &EnergyTable::shipped() {
  static const EnergyTable energies = [] {
    auto read = EnergyTable::read(shippedTable("energy"), "catalog/energy.csv");
    auto *good = read.get(); // a test reads it
    return good ? std::move(*good) : EnergyTable();
  }();
  return energies;
}

std::optional<Sourced<Joules>> EnergyTable::operation(const std::string &what, const std::string &type) const {
  auto found = operations.find({what, type});
  if (found == operations.end())
    return std::nullopt;
  return Sourced<Joules>{Joules(found->second.joules), found->second.source};
}

std::optional<Sourced<JoulesPerFlop>> EnergyTable::flop(const std::string &type, double node) const {
  static const std::map<std::string, const char *> kAs = {
      {"bf16", "fp16"}, {"fp16", "fp16"}, {"fp32", "fp32"},   {"tf32", "fp32"},   {"fp64", "fp32"},  {"fp8", "int8"},
      {"int4", "int8"}, {"int8", "int8"}, {"int16", "int32"}, {"int32", "int32"}, {"int64", "int32"}};
  auto as = kAs.find(type);
  if (as == kAs.end())
    return std::nullopt;
  std::string_view name = as->second;
  auto multiply = operations.find({"multiply", as->second}),
       add = operations.find({"add", name.starts_with("fp") ? "fp32" : "int32"});
  if (multiply == operations.end() || add == operations.end())
    return std::nullopt;
  double significand = type == "fp64" ? 53.0 * 53 / (24.0 * 24) : 1;
  const NodeScaling &scaling = NodeScaling::shipped();
  double both = multiply->second.joules * significand * scaling.energy(multiply->second.node, node) +
                add->second.joules * scaling.energy(add->second.node, node);
  return Sourced<JoulesPerFlop>{JoulesPerFlop(both / 2), multiply->second.source};
}

EnergyTable::Entry EnergyTable::sramAt(double size) const {
  auto above = std::find_if(srams.begin(), srams.end(), [&](const Entry &entry) { return entry.size >= size; });
  if (above == srams.begin())
    return srams.front();
  if (above == srams.end())
    return srams.back();
  const Entry &small = *std::prev(above), &large = *above;
  double share = std::log(size / small.size) / std::log(large.size / small.size);
  Entry entry = large;
  entry.joules = small.joules * std::pow(large.joules / small.joules, share);
  return entry;
}

Sourced<JoulesPerByte> EnergyTable::sram(Bytes capacity, double node) const {
  if (srams.empty())
    return {};
  Entry entry = sramAt(capacity.value);
  return {JoulesPerByte(entry.joules * NodeScaling::shipped().energy(entry.node, node)), entry.source};
}

std::optional<Sourced<JoulesPerByte>> EnergyTable::dram(const std::string &kind) const {
  auto found = drams.find(kind);
  if (found == drams.end())
    return std::nullopt;
  return Sourced<JoulesPerByte>{JoulesPerByte(found->second.joules), found->second.source};
}

std::vector<std::string> EnergyTable::dramKinds() const {
  std::vector<std::string> kinds;
  for (const auto &[kind, entry] : drams)
    kinds.push_back(kind);
  return kinds;
}

Sourced<JoulesPerByte> EnergyTable::registerFile() const { return {JoulesPerByte(registers.joules), registers.source}; }
Sourced<JoulesPerByte> EnergyTable::wirePerMillimetre() const {
  return {JoulesPerByte(wire.size > 0 ? wire.joules * 1e-3 / wire.size : 0), wire.source};
}

} // namespace accord
