#include "lib/machine/energy/NodeScaling.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

Result<NodeScaling> NodeScaling::read(std::string_view text, const std::string &file) {
  auto parsed = Table::parse(text, file, {"node", "area", "a", "b", "c"});
  if (!parsed)
    return parsed.takeError();
  const Table &table = *parsed;
  NodeScaling out;
  for (const TableRow &row : table.rows()) {
    Node &node = out.nodes.emplace_back();
    std::pair<const char *, double *> cells[] = {
        {"node", &node.metres}, {"area", &node.area}, {"a", &node.a}, {"b", &node.b}, {"c", &node.c}};
    for (auto [key, to] : cells) {
      Dimension dimension = to == &node.metres ? Dimension::of(Base::Metre) : Dimension{};
      auto value = table.number(row, key, dimension, to != &node.metres && to != &node.area);
      if (!value)
        return value.takeError();
      *to = *value;
    }
    bool smaller = out.nodes.size() < 2 || node.metres < out.nodes[out.nodes.size() - 2].metres;
    if (!smaller || node.metres <= 0 || node.area <= 0)
      return Error{Code::OutOfRange, "nodes are positive and get smaller from row to row", {file, row.line, 1}, {}};
  }
  if (out.nodes.empty())
    return Error{Code::MissingKey, "the table has no node", {file, 1, 1}, {}};
  return out;
}

const NodeScaling &NodeScaling::shipped() {
  static const NodeScaling scaling = [] {
    auto read = NodeScaling::read(shippedTable("scaling"), "catalog/scaling.csv");
    auto *good = read.get();
    return good ? std::move(*good) : NodeScaling{{{45e-9, 1, 0, 0, 1}}}; // a test reads it
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
  return {metres, mix(large.area, small.area), mix(large.a, small.a), mix(large.b, small.b), mix(large.c, small.c)};
}

double NodeScaling::area(double from, double to) const { return at(to).area / at(from).area; }

double NodeScaling::energy(double from, double to, double volts) const {
  auto of = [&](const Node &n) { return n.a * volts * volts + n.b * volts + n.c; };
  return of(at(to)) / of(at(from));
}

} // namespace accord
