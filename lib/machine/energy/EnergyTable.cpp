#include "lib/machine/energy/EnergyTable.h"
#include "lib/machine/energy/NodeScaling.h"
#include "lib/machine/energy/Table.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Dimension.h"
#include "lib/support/Quantity.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {

Result<EnergyTable> EnergyTable::read(std::string_view text, const std::string &file) {
  ACCORD_TRY(table, Table::parse(text, file, {"part", "type", "size", "energy", "per", "node", "source"}));
  const Dimension joule = Dimension::of(Base::Joule), byte = Dimension::of(Base::Byte),
                  metre = Dimension::of(Base::Metre);
  EnergyTable out;
  for (const TableRow &row : table.rows()) {
    const std::string &part = table.text(row, "part"), &type = table.text(row, "type");
    bool arithmetic = part == "add" || part == "multiply", wire = part == "wire";
    if (!arithmetic && !wire && part != "sram" && part != "dram" && part != "register")
      return Error{Code::UnknownChoice,
                   fmt::format("'{}' is none of add, multiply, register, sram, dram, wire", part),
                   {file, row.line, 1}};
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
      ACCORD_TRY(value, table.number(row, cell.key, cell.dimension));
      *cell.to = value;
      if (*cell.to <= 0)
        return Error{Code::OutOfRange, fmt::format("'{}' is positive", cell.key), {file, row.line, 1}};
    }
    entry.joules /= per;
    if (part == "sram")
      out.srams.push_back(entry);
    else
      out.entries[{part, type}] = entry;
  }
  if (out.srams.empty())
    return Error{Code::MissingKey, "the table has no 'sram'", {file, 1, 1}};
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

std::optional<Sourced<JoulesPerFlop>> EnergyTable::flop(const std::string &type, double node) const {
  static const std::map<std::string, const char *> kAs = {
      {"bf16", "fp16"}, {"fp16", "fp16"}, {"fp32", "fp32"},  {"tf32", "fp32"},   {"fp64", "fp32"},  {"fp8", "int8"},
      {"int4", "int8"}, {"int8", "int8"}, {"int16", "int8"}, {"int32", "int32"}, {"int64", "int32"}};
  auto as = kAs.find(type);
  if (as == kAs.end())
    return std::nullopt;
  std::string_view name = as->second;
  auto multiply = entries.find({"multiply", as->second}),
       add = entries.find({"add", name.starts_with("fp") ? "fp32" : "int32"});
  if (multiply == entries.end() || add == entries.end())
    return std::nullopt;
  double significand = type == "fp64" ? 53.0 * 53 / (24.0 * 24) : type == "int16" ? 4 : 1;
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

std::pair<Bytes, Bytes> EnergyTable::sramRange() const {
  return srams.empty() ? std::pair(Bytes(1), Bytes(1)) : std::pair(Bytes(srams.front().size), Bytes(srams.back().size));
}

std::optional<Sourced<JoulesPerByte>> EnergyTable::perByte(const std::string &part, const std::string &type) const {
  auto found = entries.find({part, type});
  if (found == entries.end())
    return std::nullopt;
  return Sourced<JoulesPerByte>{JoulesPerByte(found->second.joules), found->second.source};
}

std::optional<Sourced<JoulesPerByte>> EnergyTable::dram(const std::string &kind) const { return perByte("dram", kind); }
Sourced<JoulesPerByte> EnergyTable::registerFile() const {
  return perByte("register", "").value_or(Sourced<JoulesPerByte>());
}

namespace {

std::string_view trimmed(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos)
    return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

/// The cells of one line; nothing when quotes stay open.
bool split(std::string_view line, std::vector<TableCell> &cells) {
  for (size_t at = 0;;) {
    size_t start = std::min(line.find_first_not_of(" \t", at), line.size()), end = start;
    bool quoted = start < line.size() && line[start] == '"';
    if (quoted) {
      size_t close = line.find('"', start + 1);
      if (close == std::string_view::npos)
        return false;
      end = line.find(',', close);
      cells.push_back({std::string(line.substr(start + 1, close - start - 1)), static_cast<unsigned>(start) + 1});
    } else {
      end = line.find(',', at);
      cells.push_back({std::string(trimmed(line.substr(at, end - at))), static_cast<unsigned>(start) + 1});
    }
    if (end == std::string_view::npos)
      return true;
    at = end + 1;
  }
}

} // namespace

Result<Table> Table::parse(std::string_view text, const std::string &file, const std::vector<std::string> &keys) {
  Table table;
  table.file_ = file;
  table.keys_ = keys;
  bool header = false;
  unsigned number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (trimmed(line).empty() || trimmed(line).front() == '#')
      continue;
    TableRow row{number, {}};
    auto error = [&](Code code, unsigned column, std::string message) {
      return Error{code, std::move(message), {file, number, column}};
    };
    if (!split(line, row.cells))
      return error(Code::UnclosedText, 1, "a text in quotes does not end on its line");
    for (size_t i = 0; !header && i < std::min(keys.size(), row.cells.size()); ++i)
      if (row.cells[i].text != keys[i])
        return error(Code::UnknownKey, row.cells[i].column,
                     fmt::format("'{}' is not the key that stands here, '{}'", row.cells[i].text, keys[i]));
    if (row.cells.size() > keys.size())
      return error(Code::UnknownKey, row.cells[keys.size()].column,
                   fmt::format("a cell too many, after {}", fmt::join(keys, ", ")));
    if (row.cells.size() < keys.size())
      return error(Code::MissingKey, static_cast<unsigned>(line.size()) + 1,
                   fmt::format("the row has no '{}'", keys[row.cells.size()]));
    if (header)
      table.rows_.push_back(std::move(row));
    header = true;
  }
  if (!header)
    return Error{
        Code::MissingKey, fmt::format("the table has no line of keys: {}", fmt::join(keys, ", ")), {file, 1, 1}};
  return table;
}

const TableCell &Table::cell(const TableRow &row, std::string_view key) const {
  return row.cells[std::find(keys_.begin(), keys_.end(), key) - keys_.begin()];
}

const std::string &Table::text(const TableRow &row, std::string_view key) const { return cell(row, key).text; }

Result<double> Table::number(const TableRow &row, std::string_view key, const Dimension &dimension,
                             bool negative) const {
  const TableCell &where = cell(row, key);
  auto error = [&](Code code, std::string message) {
    return Error{code, std::move(message), {file_, row.line, where.column}};
  };
  auto value = parseQuantity(where.text);
  if (!value)
    return error(value.error().code, value.error().message);
  if (value->dimension != dimension)
    return error(value->dimensionless() ? Code::MissingUnit : Code::WrongDimension,
                 fmt::format("'{}' is a {}, not {}", key, describe(dimension), where.text));
  if (!negative && value->value.sign() < 0)
    return error(Code::OutOfRange, fmt::format("'{}' is not negative, found {}", key, where.text));
  return value->toDouble();
}

Result<NodeScaling> NodeScaling::read(std::string_view text, const std::string &file) {
  ACCORD_TRY(table, Table::parse(text, file, {"node", "area", "a", "b", "c"}));
  NodeScaling out;
  for (const TableRow &row : table.rows()) {
    Node &node = out.nodes.emplace_back();
    std::pair<const char *, double *> cells[] = {
        {"node", &node.metres}, {"area", &node.logic}, {"a", &node.a}, {"b", &node.b}, {"c", &node.c}};
    for (auto [key, to] : cells) {
      Dimension dimension = to == &node.metres ? Dimension::of(Base::Metre) : Dimension{};
      ACCORD_TRY(value, table.number(row, key, dimension, to != &node.metres && to != &node.logic));
      *to = value;
    }
    bool smaller = out.nodes.size() < 2 || node.metres < out.nodes[out.nodes.size() - 2].metres;
    if (!smaller || node.metres <= 0)
      return Error{Code::OutOfRange, "nodes are positive and get smaller from row to row", {file, row.line, 1}};
  }
  if (out.nodes.empty())
    return Error{Code::MissingKey, "the table has no node", {file, 1, 1}};
  return out;
}

const NodeScaling &NodeScaling::shipped() {
  static const NodeScaling scaling = [] {
    auto read = NodeScaling::read(shippedTable("scaling"), "catalog/scaling.csv");
    auto *good = read.get();
    return good ? std::move(*good) : NodeScaling{{{45e-9, 0, 0, 1}}}; // a test reads it
  }();
  return scaling;
}

double NodeScaling::within(double metres) const {
  return std::clamp(metres, nodes.back().metres, nodes.front().metres);
}

NodeScaling::Node NodeScaling::at(double metres) const {
  metres = within(metres);
  size_t i = 1;
  while (i + 1 < nodes.size() && metres < nodes[i].metres)
    ++i;
  if (nodes.size() == 1)
    return nodes.front();
  const Node &large = nodes[i - 1], &small = nodes[i];
  double share = (metres - small.metres) / (large.metres - small.metres); // of the large one
  auto mix = [&](double l, double s) { return l * share + s * (1 - share); };
  return {metres, mix(large.a, small.a), mix(large.b, small.b), mix(large.c, small.c), mix(large.logic, small.logic)};
}

double NodeScaling::area(double from, double to) const { return at(to).logic / at(from).logic; }

double NodeScaling::supply(double node, double share) const {
  constexpr double volts = 0.8;
  Node of = at(node);
  auto energy = [&](double v) { return of.a * v * v + of.b * v + of.c; };
  return energy(share * volts) / energy(volts);
}

double NodeScaling::energy(double from, double to) const {
  constexpr double volts = 0.8;
  auto of = [&](const Node &n) { return n.a * volts * volts + n.b * volts + n.c; };
  return of(at(to)) / of(at(from));
}

} // namespace accord
