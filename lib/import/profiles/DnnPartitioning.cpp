// Source: the format of msr-fiddle/dnn-partitioning (Tarnawski et al., Efficient Algorithms for
// Device Placement of DNN Graph Operators, NeurIPS 2020): times are milliseconds on one accelerator
// ("fpgaLatency") and on a processor ("cpuLatency"), sizes bytes. A node's size is the memory it
// takes, an edge's what it carries.
#include "lib/import/profiles/PartitioningFile.h"
#include "lib/import/profiles/ProfileGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace import {
namespace {

/// Forward nodes only: a backward node's time goes to the forward node of its class.
ProfileGraph forwardGraph(Diagnostics &diags, const PartitioningFile &read) {
  struct Edges {
    double out = 0; ///< bytes of the result
    bool read = false;
    std::vector<size_t> from;
  };
  ProfileGraph graph;
  std::vector<Edges> edges(read.nodes.size());
  for (const PartitioningFile::Edge &edge : read.edges) {
    edges[edge.from].out = std::max(edges[edge.from].out, edge.bytes);
    edges[edge.from].read = true;
    edges[edge.to].from.push_back(edge.from);
  }
  auto timeOf = [](const PartitioningFile::Node &node) { return node.fits ? node.accelerator : node.processor; };
  std::map<int64_t, std::vector<size_t>> classes; // of forward nodes in the graph
  std::vector<size_t> place(read.nodes.size(), 0);
  for (auto [i, node] : llvm::enumerate(read.nodes)) {
    if (!node.fits)
      graph.notes.push_back(fmt::format("'{}' runs on no accelerator; its time is the processor's", shown(node.name)));
    if (node.backward)
      continue;
    place[i] = graph.nodes.size();
    if (node.colour)
      classes[*node.colour].push_back(place[i]);
    ProfileNode &one = graph.nodes.emplace_back();
    one.name = node.name;
    one.range = node.range;
    one.forward = timeOf(node);
  }
  for (auto [i, node] : llvm::enumerate(read.nodes)) {
    if (node.backward) {
      int64_t colour = node.colour.value_or(-1 - int64_t(i));
      const std::vector<size_t> &forward = classes[colour];
      if (forward.size() != 1)
        diags.error(Code::ImportUnsupported, node.range,
                    fmt::format("the backward node '{}' belongs to the class {}, which has {} "
                                "forward nodes, expected one",
                                shown(node.name), colour, forward.size()));
      else
        graph.nodes[forward[0]].backward += timeOf(node);
      continue;
    }
    ProfileNode &one = graph.nodes[place[i]];
    for (size_t from : edges[i].from)
      if (read.nodes[from].backward)
        diags.error(Code::ImportUnsupported, node.range,
                    fmt::format("the forward node '{}' reads the backward node '{}'", shown(node.name),
                                shown(read.nodes[from].name)));
      else
        one.reads.push_back(place[from]);
    // What it takes beyond its result stays: parameters. A node that reads nothing and takes no
    // time is a weight or an input; its name tells.
    bool source = edges[i].from.empty() && one.forward == 0;
    llvm::StringRef name(node.name);
    bool weight = name.contains("weight") || name.contains("bias") || name.contains("transposed");
    one.output = edges[i].read ? edges[i].out : node.size;
    one.parameters = source && weight ? node.size : std::max(0.0, edges[i].read ? node.size - edges[i].out : 0);
  }
  return graph;
}

} // namespace
} // namespace import

using namespace import;

std::optional<ImportedModel> importDnnPartitioning(Diagnostics &diags, FileId file, const std::string &name) {
  size_t before = diags.errors();
  auto read = readPartitioning(diags, file);
  if (!read)
    return std::nullopt;
  ProfileGraph graph = forwardGraph(diags, *read);
  if (diags.errors() == before && graph.nodes.empty())
    diags.error(Code::ImportSetting, {file, 0, 1}, "the graph has no forward node");
  if (diags.errors() != before)
    return std::nullopt;
  graph.lines = {fmt::format("imported from the dnn-partitioning graph {}",
                             shown(llvm::sys::path::filename(diags.sources().path(file)).str())),
                 "Times are those of its accelerator; what a node takes beyond its result is parameters.",
                 "A sample is the minibatch that was profiled: train it with batch = 1."};
  return toDnn(diags, file, std::move(graph), name);
}

} // namespace accord
