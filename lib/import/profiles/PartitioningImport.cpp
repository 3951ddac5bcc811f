#include "lib/import/profiles/PartitioningImport.h"
#include "lib/import/profiles/PartitioningFile.h"
#include "lib/import/profiles/ProfileGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

using namespace import;

/// More than any sum of measured numbers that `check` lets pass.
constexpr double kMax = 4e18;

int64_t picoseconds(double milliseconds) { return std::min(kMax, std::round(milliseconds * 1e9)); }
int64_t bytesUp(double bytes) { return std::min(kMax, std::ceil(bytes)); }

/// A problem that grows from the nodes and edges of a file.
class ProblemBuilder {
public:
  ProblemBuilder(Diagnostics &diags, FileId file, const PartitioningDevices &devices) : diags(diags), file(file) {
    problem.memory = devices.memory.value_or(kUnlimitedMemory);
    problem.location = {diags.sources().path(file).str(), 1, 1};
  }
  PartitioningImport made;
  PartitioningProblem &problem = made.problem;

  PartitioningProblem::Node &addNode(const std::string &name, SourceRange range) {
    PartitioningProblem::Node &node = problem.nodes.emplace_back();
    node.name = shown(name);
    node.location = diags.sources().location(range);
    ranges.push_back(range);
    return node;
  }
  /// Whether a node reads itself, which is reported.
  bool isLoop(size_t from, size_t to, const std::string &name, SourceRange range) {
    if (from == to)
      diags.error(Code::MalformedPartitioningProblem, range, fmt::format("the node '{}' reads itself", shown(name)));
    return from == to;
  }
  void addTransfer(size_t from, size_t to, int64_t time) {
    PartitioningProblem::Transfer &transfer = transfers[from];
    transfer.from = from;
    transfer.time = time;
    if (!llvm::is_contained(transfer.to, PartitioningProblem::Id(to)))
      transfer.to.push_back(to);
  }

  /// Reports what `check` finds, at the nodes of the file; nothing after errors.
  std::optional<PartitioningImport> finish() {
    for (auto &[from, transfer] : transfers)
      problem.transfers.push_back(std::move(transfer));
    if (diags.hasErrors())
      return std::nullopt;
    problem.memory = std::min(problem.memory, kUnlimitedMemory);
    for (const Error &error : check(problem)) {
      auto at = llvm::find_if(problem.nodes, [&](const PartitioningProblem::Node &node) {
        return node.location.line == error.location.line && node.location.column == error.location.column;
      });
      diags.error(Code::MalformedPartitioningProblem,
                  at == problem.nodes.end() ? SourceRange{file, 0, 1} : ranges[at - problem.nodes.begin()],
                  error.message);
    }
    return diags.hasErrors() ? std::nullopt : std::optional(std::move(made));
  }

private:
  Diagnostics &diags;
  FileId file;
  std::vector<SourceRange> ranges; ///< of the nodes
  std::map<size_t, PartitioningProblem::Transfer> transfers;
};

} // namespace

std::optional<PartitioningImport> importPartitioningGraph(Diagnostics &diags, FileId file,
                                                          const PartitioningDevices &devices) {
  auto read = readPartitioning(diags, file);
  if (!read)
    return std::nullopt;
  ProblemBuilder builder(diags, file, devices);
  PartitioningProblem &problem = builder.problem;
  auto device = [&](const char *key, const std::optional<double> &stated, const std::optional<int64_t> &wanted,
                    const char *option) -> int64_t {
    if (wanted)
      return *wanted;
    if (stated && *stated >= 0 && *stated <= kMax)
      return *stated;
    diags
        .error(Code::ImportSetting, {file, 0, 1},
               fmt::format("'{}' must be a number from 0{}", key, stated ? "" : ", and it is missing"))
        .help(fmt::format("{} states it", option));
    return 0;
  };
  problem.accelerators = device("maxFPGAs", read->accelerators, devices.accelerators, "--accelerators");
  problem.processors = device("maxCPUs", read->processors, devices.processors, "--processors");
  problem.memory = device("maxSizePerFPGA", read->memory, devices.memory, "--memory");
  for (const PartitioningFile::Node &node : read->nodes) {
    PartitioningProblem::Node &one = builder.addNode(node.name, node.range);
    one.time = node.fits ? picoseconds(node.accelerator) : 0;
    one.onAccelerator = node.fits;
    one.processorTime = picoseconds(node.processor);
    one.memory = bytesUp(node.size);
    one.colocationGroup = node.colour.value_or(-1);
    one.backward = node.backward;
  }
  std::map<size_t, const PartitioningFile::Edge *> firstOf;
  for (const PartitioningFile::Edge &edge : read->edges) {
    const std::string &name = read->nodes[edge.from].name;
    if (builder.isLoop(edge.from, edge.to, name, edge.range))
      continue;
    const PartitioningFile::Edge *first = firstOf.try_emplace(edge.from, &edge).first->second;
    if (std::fabs(first->cost - edge.cost) > 1e-6)
      diags
          .error(Code::ImportSetting, edge.range,
                 fmt::format("this edge out of '{}' costs {}, the first one {}; a node's result is "
                             "sent once, at one cost",
                             shown(name), edge.cost, first->cost))
          .note(first->range, "the first one");
    else
      builder.addTransfer(edge.from, edge.to, picoseconds(first->cost));
  }
  if (!read->unread.empty())
    builder.made.notes.push_back(fmt::format("not understood and left out: {}", fmt::join(read->unread, ", ")));
  return builder.finish();
}

std::optional<PartitioningImport> importPipedreamGraph(Diagnostics &diags, FileId file,
                                                       const PartitioningDevices &devices) {
  auto graph = readPipedream(diags, file);
  if (!graph)
    return std::nullopt;
  ProblemBuilder builder(diags, file, devices);
  PartitioningProblem &problem = builder.problem;
  problem.rule = PartitioningProblem::Rule::Overlap;
  problem.accelerators = devices.accelerators.value_or(0);
  problem.timePerByte = devices.bandwidth ? 1e12 / *devices.bandwidth : 0;
  problem.allowReplicas = devices.allowReplicas;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const ProfileNode &node = graph->nodes[i];
    PartitioningProblem::Node &one = builder.addNode(node.name, node.range);
    one.time = picoseconds(node.forward + node.backward);
    one.memory = bytesUp(node.output + node.parameters);
    one.gradients = bytesUp(node.parameters);
    for (size_t from : node.reads)
      if (!builder.isLoop(from, i, node.name, node.range))
        builder.addTransfer(from, i, std::min(kMax, std::ceil(2 * graph->nodes[from].output * problem.timePerByte)));
  }
  return builder.finish();
}

} // namespace accord
