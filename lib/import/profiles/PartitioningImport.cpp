#include "lib/import/profiles/PartitioningImport.h"
#include "lib/import/profiles/PartitioningFile.h"
#include "lib/import/profiles/ProfileGraph.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

using namespace import;

/// More than any sum of measured numbers that `check` lets pass.
constexpr double kMax = 4e18;
constexpr int64_t kMemory = int64_t(1) << 60; // as good as none

int64_t picoseconds(double milliseconds) {
  return static_cast<int64_t>(std::min(kMax, std::round(milliseconds * 1e9)));
}
int64_t bytesUp(double bytes) { return static_cast<int64_t>(std::min(kMax, std::ceil(bytes))); }

SourceLocation locationOf(const Diagnostics &diags, SourceRange range) { return diags.sources().location(range); }

/// Reports what `check` finds, at the nodes of the file.
std::optional<PartitioningImport> checked(Diagnostics &diags, FileId file, PartitioningImport made,
                                          const std::vector<SourceRange> &ranges) {
  for (const Error &error : check(made.problem)) {
    SourceRange at{file, 0, 1};
    for (size_t i = 0; i < ranges.size(); ++i) {
      const SourceLocation &place = made.problem.nodes[i].location;
      if (place.line == error.location.line && place.column == error.location.column) {
        at = ranges[i];
        break;
      }
    }
    diags.error(Code::MalformedPartitioningProblem, at, error.message);
  }
  return diags.hasErrors() ? std::nullopt : std::optional(std::move(made));
}

} // namespace

std::optional<PartitioningImport> importPartitioningGraph(Diagnostics &diags, FileId file,
                                                          const PartitioningDevices &devices) {
  auto read = readPartitioning(diags, file);
  if (!read)
    return std::nullopt;
  PartitioningImport made;
  PartitioningProblem &problem = made.problem;
  auto device = [&](const char *key, const std::optional<double> &stated, const std::optional<int64_t> &wanted,
                    const char *option) -> int64_t {
    if (wanted)
      return *wanted;
    if (stated && *stated >= 0 && *stated <= kMax)
      return static_cast<int64_t>(*stated);
    diags
        .error(Code::ImportSetting, {file, 0, 1},
               fmt::format("'{}' must be a number from 0{}", key, stated ? "" : ", and it is missing"))
        .help(fmt::format("{} states it", option));
    return 0;
  };
  problem.accelerators = device("maxFPGAs", read->accelerators, devices.accelerators, "--accelerators");
  problem.processors = device("maxCPUs", read->processors, devices.processors, "--processors");
  problem.memory = device("maxSizePerFPGA", read->memory, devices.memory, "--memory");
  problem.memory = std::min(problem.memory, kMemory);
  problem.location = {diags.sources().path(file).str(), 1, 1};
  std::vector<SourceRange> ranges;
  for (const PartitioningFile::Node &node : read->nodes) {
    PartitioningProblem::Node one;
    one.name = shown(node.name);
    one.time = node.fits ? picoseconds(node.accelerator) : 0;
    one.onAccelerator = node.fits;
    one.processorTime = picoseconds(node.processor);
    one.memory = bytesUp(node.size);
    one.colocationGroup = node.colour.value_or(-1);
    one.backward = node.backward;
    one.location = locationOf(diags, node.range);
    problem.nodes.push_back(std::move(one));
    ranges.push_back(node.range);
  }
  std::map<size_t, std::pair<PartitioningProblem::Transfer, const PartitioningFile::Edge *>> transfers;
  for (const PartitioningFile::Edge &edge : read->edges) {
    if (edge.from == edge.to) {
      diags.error(Code::MalformedPartitioningProblem, edge.range,
                  fmt::format("the node '{}' reads itself", shown(read->nodes[edge.from].name)));
      continue;
    }
    auto &[transfer, first] = transfers[edge.from];
    if (first && std::fabs(first->cost - edge.cost) > 1e-6) {
      diags
          .error(Code::ImportSetting, edge.range,
                 fmt::format("this edge out of '{}' costs {}, the first one {}; a node's result is "
                             "sent once, at one cost",
                             shown(read->nodes[edge.from].name), edge.cost, first->cost))
          .note(first->range, "the first one");
      continue;
    }
    if (!first) {
      first = &edge;
      transfer.from = static_cast<PartitioningProblem::Id>(edge.from);
      transfer.time = picoseconds(edge.cost);
    }
    auto to = static_cast<PartitioningProblem::Id>(edge.to);
    if (std::find(transfer.to.begin(), transfer.to.end(), to) == transfer.to.end())
      transfer.to.push_back(to);
  }
  for (auto &[from, transfer] : transfers)
    problem.transfers.push_back(std::move(transfer.first));
  if (!read->unread.empty())
    made.notes.push_back(fmt::format("not understood and left out: {}", fmt::join(read->unread, ", ")));
  return diags.hasErrors() ? std::nullopt : checked(diags, file, std::move(made), ranges);
}

std::optional<PartitioningImport> importPipedreamGraph(Diagnostics &diags, FileId file,
                                                       const PartitioningDevices &devices) {
  auto graph = readPipedream(diags, file);
  if (!graph)
    return std::nullopt;
  PartitioningImport made;
  PartitioningProblem &problem = made.problem;
  problem.rule = PartitioningProblem::Rule::Overlap;
  problem.accelerators = devices.accelerators.value_or(0);
  problem.memory = std::min(devices.memory.value_or(kMemory), kMemory);
  problem.timePerByte = devices.bandwidth ? 1e12 / *devices.bandwidth : 0;
  problem.allowReplicas = devices.allowReplicas;
  problem.location = {diags.sources().path(file).str(), 1, 1};
  std::vector<SourceRange> ranges;
  std::map<size_t, PartitioningProblem::Transfer> transfers;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const ProfileNode &node = graph->nodes[i];
    PartitioningProblem::Node one;
    one.name = shown(node.name);
    one.time = picoseconds(node.forward + node.backward);
    one.memory = bytesUp(node.output + node.parameters);
    one.gradients = bytesUp(node.parameters);
    one.location = locationOf(diags, node.range);
    problem.nodes.push_back(std::move(one));
    ranges.push_back(node.range);
    for (size_t from : node.reads) {
      if (from == i) {
        diags.error(Code::MalformedPartitioningProblem, node.range,
                    fmt::format("the node '{}' reads itself", shown(node.name)));
        continue;
      }
      PartitioningProblem::Transfer &transfer = transfers[from];
      transfer.from = static_cast<PartitioningProblem::Id>(from);
      transfer.time =
          static_cast<int64_t>(std::min(kMax, std::ceil(2 * graph->nodes[from].output * problem.timePerByte)));
      auto to = static_cast<PartitioningProblem::Id>(i);
      if (std::find(transfer.to.begin(), transfer.to.end(), to) == transfer.to.end())
        transfer.to.push_back(to);
    }
  }
  for (auto &[from, transfer] : transfers)
    problem.transfers.push_back(std::move(transfer));
  return diags.hasErrors() ? std::nullopt : checked(diags, file, std::move(made), ranges);
}

} // namespace accord
