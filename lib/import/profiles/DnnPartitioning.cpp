// Source: the format of msr-fiddle/dnn-partitioning (Tarnawski et al., Efficient Algorithms for
// Device Placement of DNN Graph Operators, NeurIPS 2020): times are milliseconds on one accelerator
// ("fpgaLatency") and on a processor ("cpuLatency"), sizes bytes. A node's size is the memory it
// takes, an edge's what it carries.
#include "lib/import/profiles/PartitioningFile.h"
#include "lib/import/profiles/ProfileGraph.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace import {
namespace {

class Writer {
public:
  Writer(Diagnostics &diags, FileId file) : diags(diags), file(file) {}

  ProfileGraph graph;

  void run() {
    auto read = readPartitioning(diags, file);
    if (!read)
      return;
    for (size_t i = 0; i < read->nodes.size(); ++i) {
      const PartitioningFile::Node &node = read->nodes[i];
      Raw raw;
      raw.colour = node.colour.value_or(-1 - static_cast<int64_t>(i));
      raw.backward = node.backward;
      raw.time = node.fits ? node.accelerator : node.processor;
      raw.size = node.size;
      raw.name = node.name;
      raw.range = node.range;
      if (!node.fits)
        graph.notes.push_back(fmt::format("'{}' runs on no accelerator; its time is the processor's", shown(raw.name)));
      raws.push_back(std::move(raw));
    }
    for (const PartitioningFile::Edge &edge : read->edges) {
      raws[edge.from].out = std::max(raws[edge.from].out, edge.bytes);
      raws[edge.from].read = true;
      raws[edge.to].reads.push_back(edge.from);
    }
    stepTail();
  }

private:
  struct Raw {
    int64_t colour = 0;
    bool backward = false;
    double time = 0, size = 0, out = 0;
    bool read = false;
    std::string name;
    SourceRange range;
    std::vector<size_t> reads;
  };

  /// Forward nodes only: a backward node's time goes to the forward node of its class.
  void stepTail() {
    std::map<int64_t, std::vector<size_t>> classes;
    std::vector<size_t> place(raws.size(), 0);
    for (size_t i = 0; i < raws.size(); ++i)
      if (!raws[i].backward) {
        place[i] = graph.nodes.size();
        classes[raws[i].colour].push_back(i);
        ProfileNode one;
        one.name = raws[i].name;
        one.range = raws[i].range;
        one.forward = raws[i].time;
        graph.nodes.push_back(std::move(one));
      }
    for (size_t i = 0; i < raws.size(); ++i) {
      const Raw &raw = raws[i];
      if (raw.backward) {
        const std::vector<size_t> &forward = classes[raw.colour];
        if (forward.size() != 1)
          diags.error(Code::ImportUnsupported, raw.range,
                      fmt::format("the backward node '{}' belongs to the class {}, which has {} "
                                  "forward nodes, expected one",
                                  shown(raw.name), raw.colour, forward.size()));
        else
          graph.nodes[place[forward[0]]].backward += raw.time;
        continue;
      }
      ProfileNode &node = graph.nodes[place[i]];
      for (size_t from : raw.reads)
        if (raws[from].backward)
          diags.error(Code::ImportUnsupported, raw.range,
                      fmt::format("the forward node '{}' reads the backward node '{}'", shown(raw.name),
                                  shown(raws[from].name)));
        else
          node.reads.push_back(place[from]);
      // What it takes beyond its result stays: parameters. A node that reads nothing and takes no
      // time is a weight or an input; its name tells.
      bool source = raw.reads.empty() && raw.time == 0;
      llvm::StringRef name(raw.name);
      bool weight = name.contains("weight") || name.contains("bias") || name.contains("transposed");
      node.output = raw.read ? raw.out : raw.size;
      node.parameters = source && weight ? raw.size : std::max(0.0, raw.read ? raw.size - raw.out : 0);
    }
  }

  Diagnostics &diags;
  FileId file;
  std::vector<Raw> raws;
};

} // namespace
} // namespace import

using namespace import;

std::optional<ImportedModel> importDnnPartitioning(Diagnostics &diags, FileId file, const std::string &name) {
  size_t before = diags.errors();
  Writer reader(diags, file);
  reader.run();
  if (diags.errors() != before)
    return std::nullopt;
  if (reader.graph.nodes.empty()) {
    diags.error(Code::ImportSetting, {file, 0, 1}, "the graph has no forward node");
    return std::nullopt;
  }
  reader.graph.lines = {fmt::format("imported from the dnn-partitioning graph {}",
                                    shown(llvm::sys::path::filename(diags.sources().path(file)).str())),
                        "Times are those of its accelerator; what a node takes beyond its result is parameters.",
                        "A sample is the minibatch that was profiled: train it with batch = 1."};
  return toDnn(diags, file, std::move(reader.graph), name);
}

} // namespace accord
