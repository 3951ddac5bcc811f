#include "lib/machine/energy/Components.h"
#include "lib/machine/energy/NodeScaling.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

const Dimension kMetre = Dimension::of(Base::Metre), kArea = kMetre * kMetre, kJoule = Dimension::of(Base::Joule),
                kSecond = Dimension::of(Base::Second), kByte = Dimension::of(Base::Byte), kNumber{};

Error atRow(const std::string &file, const TableRow &row, Code code, std::string message) {
  return {code, std::move(message), {file, row.line, row.cells.front().column}};
}

Result<double> positive(const Table &table, const std::string &file, const TableRow &row, std::string_view key,
                        const Dimension &dimension) {
  ACCORD_TRY(value, table.number(row, key, dimension));
  if (value <= 0)
    return atRow(file, row, Code::OutOfRange, fmt::format("'{}' is positive", key));
  return value;
}

} // namespace

Result<ProcessTable> ProcessTable::read(std::string_view text, const std::string &file) {
  ACCORD_TRY(table,
             Table::parse(text, file, {"node", "cell", "supply", "threshold", "clock", "leakage", "error", "source"}));
  const Dimension hertz = Dimension::of(Base::Cycle) / kSecond, density = kJoule / kSecond / kArea;
  ProcessTable out;
  for (const TableRow &row : table.rows()) {
    ProcessNode node;
    struct {
      const char *key;
      Dimension dimension;
      double *to;
    } cells[] = {{"node", kMetre, &node.metres},    {"cell", kArea, &node.cell},
                 {"supply", kNumber, &node.supply}, {"threshold", kNumber, &node.threshold},
                 {"clock", hertz, &node.clock},     {"leakage", density, &node.leakage},
                 {"error", kNumber, &node.error}};
    for (auto &cell : cells) {
      ACCORD_TRY(value, positive(table, file, row, cell.key, cell.dimension));
      *cell.to = value;
    }
    if (node.threshold >= node.supply)
      return atRow(file, row, Code::OutOfRange, "the threshold is below the supply");
    if (!out.nodes.empty() && node.metres >= out.nodes.back().metres)
      return atRow(file, row, Code::OutOfRange, "nodes get smaller from row to row");
    out.nodes.push_back(node);
  }
  if (out.nodes.empty())
    return Error{Code::MissingKey, "the table has no node", {file, 1, 1}};
  return out;
}

const ProcessTable &ProcessTable::shipped() {
  static const ProcessTable table = [] {
    auto read = ProcessTable::read(shippedTable("process"), "catalog/process.csv");
    auto *good = read.get(); // a test reads it
    return good ? std::move(*good) : ProcessTable();
  }();
  return table;
}

std::pair<double, double> ProcessTable::range() const {
  return nodes.empty() ? std::pair(0.0, 0.0) : std::pair(nodes.back().metres, nodes.front().metres);
}

ProcessNode ProcessTable::at(double metres) const {
  if (nodes.empty())
    return {};
  metres = std::clamp(metres, nodes.back().metres, nodes.front().metres);
  size_t i = 0;
  while (i + 1 < nodes.size() && nodes[i + 1].metres >= metres)
    ++i;
  const ProcessNode &large = nodes[i], &small = nodes[std::min(i + 1, nodes.size() - 1)];
  if (large.metres == metres || large.metres == small.metres)
    return large;
  double share = std::log(metres / small.metres) / std::log(large.metres / small.metres);
  auto mix = [&](double ProcessNode::*part) {
    return std::exp(std::log(large.*part) * share + std::log(small.*part) * (1 - share));
  };
  return {metres,
          mix(&ProcessNode::cell),
          mix(&ProcessNode::supply),
          mix(&ProcessNode::threshold),
          mix(&ProcessNode::clock),
          mix(&ProcessNode::leakage),
          mix(&ProcessNode::error)};
}

double ProcessTable::clockLimit(double metres, double voltage) const {
  constexpr double alpha = 1.3;
  ProcessNode node = at(metres);
  auto speed = [&](double volts) {
    return volts > node.threshold ? std::pow(volts - node.threshold, alpha) / volts : 0;
  };
  double nominal = speed(node.supply);
  return nominal > 0 ? node.clock * speed(voltage * node.supply) / nominal : 0;
}

Result<InterfaceTable> InterfaceTable::read(std::string_view text, const std::string &file) {
  ACCORD_TRY(table,
             Table::parse(text, file, {"type", "area", "edge", "bandwidth", "energy", "standby", "error", "source"}));
  InterfaceTable out;
  for (const TableRow &row : table.rows()) {
    Interface one;
    ACCORD_TRY(area, positive(table, file, row, "area", kArea));
    ACCORD_TRY(edge, positive(table, file, row, "edge", kMetre));
    ACCORD_TRY(bandwidth, positive(table, file, row, "bandwidth", kByte / kSecond));
    ACCORD_TRY(energy, table.number(row, "energy", kJoule / kByte));
    ACCORD_TRY(standby, table.number(row, "standby", kJoule / kSecond));
    ACCORD_TRY(error, positive(table, file, row, "error", kNumber));
    one = {area, edge, bandwidth, energy, standby, error, table.text(row, "source")};
    if (!out.interfaces.emplace(table.text(row, "type"), one).second)
      return atRow(file, row, Code::OutOfRange, fmt::format("'{}' has a row before", table.text(row, "type")));
  }
  if (out.interfaces.empty())
    return Error{Code::MissingKey, "the table has no interface", {file, 1, 1}};
  return out;
}

const InterfaceTable &InterfaceTable::shipped() {
  static const InterfaceTable table = [] {
    auto read = InterfaceTable::read(shippedTable("interfaces"), "catalog/interfaces.csv");
    auto *good = read.get(); // a test reads it
    return good ? std::move(*good) : InterfaceTable();
  }();
  return table;
}

const Interface *InterfaceTable::find(const std::string &type) const {
  auto found = interfaces.find(type);
  return found == interfaces.end() ? nullptr : &found->second;
}

std::vector<std::string> InterfaceTable::types() const {
  std::vector<std::string> all;
  for (const auto &[type, one] : interfaces)
    all.push_back(type);
  return all;
}

namespace {

/// Areas of multipliers and adders.
Result<bool> readArithmetic(std::string_view text, const std::string &file, ComponentNumbers &out) {
  ACCORD_TRY(table, Table::parse(text, file, {"part", "type", "area", "node", "source"}));
  for (const TableRow &row : table.rows()) {
    const std::string &part = table.text(row, "part");
    if (part != "multiply" && part != "add")
      return atRow(file, row, Code::UnknownChoice, fmt::format("'{}' is none of multiply, add", part));
    ACCORD_TRY(area, positive(table, file, row, "area", kArea));
    ACCORD_TRY(node, positive(table, file, row, "node", kMetre));
    (part == "add" ? out.add : out.multiply)[table.text(row, "type")] = {area, node};
  }
  for (const char *type : {"int8", "int32", "fp16", "fp32"})
    if (!out.multiply.count(type))
      return Error{Code::MissingKey, fmt::format("the table has no 'multiply' of {}", type), {file, 1, 1}};
  for (const char *type : {"int32", "fp32"})
    if (!out.add.count(type))
      return Error{Code::MissingKey, fmt::format("the table has no 'add' of {}", type), {file, 1, 1}};
  return true;
}

} // namespace

Result<ComponentNumbers> ComponentNumbers::read(std::string_view components, std::string_view areas,
                                                const std::string &file, const std::string &areasFile) {
  ComponentNumbers out;
  ACCORD_TRY(read, readArithmetic(areas, areasFile, out));
  (void)read;
  ACCORD_TRY(table, Table::parse(components, file, {"part", "type", "node", "value", "error", "source"}));
  struct Part {
    const char *part, *type;
    Dimension dimension;
    double *to, *node; ///< null: never scaled
    bool seen = false;
    double unit = 1;
  } parts[] = {
      {"register", "area", kArea, &out.registerArea.value, &out.registerArea.node},
      {"register", "energy", kJoule, &out.registerEnergy.value, &out.registerEnergy.node},
      {"wire", "energy", kJoule / kByte, &out.wire.value, &out.wire.node, false, 1e3}, // of a millimetre
      {"router", "area", kArea, &out.routerArea.value, &out.routerArea.node},
      {"router", "energy", kJoule / kByte, &out.routerEnergy.value, &out.routerEnergy.node},
      {"track", "nodes", kNumber, &out.track, nullptr},
      {"periphery", "rows", kNumber, &out.periphery, nullptr},
      {"port", "area", kNumber, &out.port, nullptr},
      {"overhead", "logic", kNumber, &out.logic, nullptr},
      {"overhead", "memory", kNumber, &out.memory, nullptr},
      {"overhead", "interface", kNumber, &out.interface, nullptr},
      {"overhead", "energy", kNumber, &out.energy, nullptr},
      {"array", "area", kNumber, &out.array, nullptr},
      {"clock", "share", kNumber, &out.clock, nullptr},
  };
  for (const TableRow &row : table.rows()) {
    const std::string &name = table.text(row, "part"), &type = table.text(row, "type");
    auto *found = std::find_if(std::begin(parts), std::end(parts),
                               [&](const Part &one) { return name == one.part && type == one.type; });
    if (found == std::end(parts))
      return atRow(file, row, Code::UnknownChoice, fmt::format("'{} {}' is no component", name, type));
    if (found->seen)
      return atRow(file, row, Code::OutOfRange, fmt::format("'{} {}' has a row before", name, type));
    found->seen = true;
    ACCORD_TRY(value, positive(table, file, row, "value", found->dimension));
    ACCORD_TRY(error, positive(table, file, row, "error", kNumber));
    (void)error; // for people
    *found->to = value * found->unit;
    if (found->node) {
      ACCORD_TRY(node, positive(table, file, row, "node", kMetre));
      *found->node = node;
    }
  }
  for (const Part &one : parts)
    if (!one.seen)
      return Error{Code::MissingKey, fmt::format("the table has no '{} {}'", one.part, one.type), {file, 1, 1}};
  return out;
}

const ComponentNumbers &ComponentNumbers::shipped() {
  static const ComponentNumbers numbers = [] {
    auto read = ComponentNumbers::read(shippedTable("components"), shippedTable("area"), "catalog/components.csv",
                                       "catalog/area.csv");
    auto *good = read.get(); // a test reads it
    return good ? std::move(*good) : ComponentNumbers();
  }();
  return numbers;
}

} // namespace accord
