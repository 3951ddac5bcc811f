#include "lib/import/chakra/Chakra.h"
#include "lib/chakra/file/ChakraFile.h"
#include "lib/import/profiles/ProfileGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <unordered_map>

namespace accord {

using namespace import;

namespace {

/// "all_reduce of 4096 B", "COMP_NODE": what a comment says of the nodes behind it.
std::string wordsOf(const chakra::Node &node) {
  if (node.kind == chakra::NodeKind::Collective)
    return chakra::nameOf(node.collective);
  return node.kind == chakra::NodeKind::Compute && !node.phase.empty() ? node.phase : chakra::nameOf(node.kind);
}

} // namespace

std::optional<ImportedModel> importChakra(Diagnostics &diags, const std::string &path, const std::string &name) {
  auto trace = chakra::readTrace(path);
  if (!trace) {
    for (const Error &error : trace.error())
      diags.error(error.code, {}, path + ": " + error.message);
    return std::nullopt;
  }
  const FileId file = diags.sources().add(path, ""); // a binary: there is no line to show
  ProfileGraph graph;
  std::unordered_map<uint64_t, size_t> indexOf;
  size_t untimed = 0;
  for (const chakra::Node &node : trace->nodes)
    if (node.kind != chakra::NodeKind::Metadata)
      indexOf.try_emplace(node.id, indexOf.size());
  for (const chakra::Node &node : trace->nodes) {
    if (node.kind == chakra::NodeKind::Metadata)
      continue;
    ProfileNode &one = graph.nodes.emplace_back();
    one.range = {file, 0, 0};
    one.name = node.name.empty() ? fmt::format("node_{}", node.id) : node.name;
    one.what = wordsOf(node);
    one.forward = node.seconds * 1e3;
    one.output = static_cast<double>(node.kind == chakra::NodeKind::Compute ? node.resultBytes : node.bytes);
    untimed += node.seconds == 0 && node.kind >= chakra::NodeKind::Send;
    for (const auto *list : {&node.dataDependences, &node.controlDependences})
      for (uint64_t id : *list)
        if (auto from = indexOf.find(id); from != indexOf.end() && !llvm::is_contained(one.reads, from->second))
          one.reads.push_back(from->second);
  }
  if (graph.nodes.empty()) {
    diags.error(Code::ImportUnsupported, {file, 0, 0}, "the trace has no node but of metadata");
    return std::nullopt;
  }
  graph.nodes.back().parameters = 4;
  graph.lines = {fmt::format("imported from the execution trace {}", shown(llvm::sys::path::filename(path).str())),
                 "A sample is the step that was traced, backward pass and update with it: train it with batch = 1."};
  graph.notes = {"a trace states no parameters: the last operation gets 4 B of them"};
  if (untimed > 0)
    graph.notes.push_back(fmt::format("{} collectives and messages have no time in the trace: they take 0 s", untimed));
  return toDnn(diags, file, std::move(graph), name);
}

} // namespace accord
