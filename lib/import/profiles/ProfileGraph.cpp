#include "lib/import/profiles/ProfileGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <queue>

namespace accord::import {
namespace {

/// Node numbers, each after what it reads; those of a cycle are missing.
std::vector<size_t> ordered(const ProfileGraph &graph) {
  std::vector<size_t> waiting(graph.nodes.size()), order;
  std::vector<std::vector<size_t>> readers(graph.nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    waiting[i] = graph.nodes[i].reads.size();
    for (size_t from : graph.nodes[i].reads)
      readers[from].push_back(i);
    if (waiting[i] == 0)
      ready.push(i);
  }
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (size_t reader : readers[i])
      if (--waiting[reader] == 0)
        ready.push(reader);
  }
  return order;
}

std::string bytes(double value) { return fmt::format("{:.0f} B", std::ceil(value)); }

/// As in the file: 3.852 ms.
std::string milliseconds(double value) {
  return value == 0     ? "0 ms"
         : value < 1e-4 ? fmt::format("{} ps", std::round(value * 1e9))
                        : fmt::format("{} ms", value);
}

} // namespace

std::optional<ImportedModel> toDnn(Diagnostics &diags, FileId file, ProfileGraph graph, const std::string &wanted) {
  std::vector<size_t> order = ordered(graph);
  if (order.size() != graph.nodes.size()) {
    std::set<size_t> done(order.begin(), order.end());
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (!done.count(i)) {
        diags.error(Code::ImportSetting, graph.nodes[i].range,
                    fmt::format("'{}' depends on itself: {} nodes form a cycle or depend on one",
                                shown(graph.nodes[i].name), graph.nodes.size() - done.size()));
        return std::nullopt;
      }
  }
  if (llvm::none_of(graph.nodes, [](const ProfileNode &node) { return node.parameters > 0; })) {
    diags.error(Code::ImportUnsupported, {file, 0, 0},
                "no node of this graph has parameters, so that there is nothing to train");
    return std::nullopt;
  }
  DnnTextBuilder textBuilder;
  std::vector<DnnTextBuilder::Id> ids(graph.nodes.size(), -1);
  std::vector<bool> read(graph.nodes.size(), false);
  DnnTextBuilder::Id start = -1;
  for (size_t i : order) {
    const ProfileNode &node = graph.nodes[i];
    textBuilder.from(node.what.empty() ? "operations" : node.what); // a comment where it changes
    std::vector<DnnTextBuilder::Id> operands;
    for (size_t from : node.reads) {
      operands.push_back(ids[from]);
      read[from] = true;
    }
    if (operands.empty() && node.forward == 0 && node.parameters == 0) {
      Shape shape{std::max<int64_t>(1, static_cast<int64_t>(std::ceil(node.output / 4)))};
      ids[i] = textBuilder.input(node.name, "fp32", shape);
      continue;
    }
    if (operands.empty()) { // it makes its samples, or holds a weight
      if (start < 0)
        start = textBuilder.input("start", "fp32", {1});
      operands.push_back(start);
    }
    std::vector<std::string> attributes{"forward = " + milliseconds(node.forward)};
    if (node.backward > 0)
      attributes.push_back("backward = " + milliseconds(node.backward));
    attributes.push_back("output = " + bytes(node.output));
    if (node.parameters > 0)
      attributes.push_back("parameters = " + bytes(node.parameters));
    ids[i] = textBuilder.add(node.name, "profiled", operands, attributes, {1});
  }
  std::vector<DnnTextBuilder::Id> ends;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!read[i])
      ends.push_back(ids[i]);
  textBuilder.from("the loss, which the file does not state: it takes no time");
  textBuilder.loss(textBuilder.add("cost", "profiled", ends, {"forward = 0 ms"}, {}));
  std::string name = nameFrom(wanted, "profile");
  std::vector<std::string> lines{name + ": " + graph.lines.front()};
  lines.insert(lines.end(), graph.lines.begin() + 1, graph.lines.end());
  return finished(diags, file, textBuilder, name, std::move(lines), graph.notes);
}

} // namespace accord::import
