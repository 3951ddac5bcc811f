#include "lib/chakra/problem/ExecutionTrace.h"
#include <cmath>
#include <fmt/format.h>
#include <unordered_map>

namespace accord::chakra {
namespace {

constexpr size_t kErrors = 20;
constexpr double kLongest = 1e9; ///< seconds

class Checker {
public:
  Checker(const ExecutionTrace &trace, const std::string &path) : trace(trace), path(path) {}

  Errors run() {
    for (size_t i = 0; i < trace.nodes.size(); ++i) {
      const Node &node = trace.nodes[i];
      if (auto [at, isNew] = indexOf.try_emplace(node.id, i); !isNew)
        complain(node, fmt::format("its id {} is that of '{}', too", node.id, trace.nodes[at->second].name));
      if (node.kind == NodeKind::Invalid)
        complain(node, "it is of no kind that the format has");
      if (!(node.seconds >= 0 && node.seconds <= kLongest && node.start >= 0 && node.start <= kLongest))
        complain(node, fmt::format("expected times from 0 to {:g} s, found {:g} and {:g}", kLongest, node.start,
                                   node.seconds));
      if (node.flops < 0 || node.bytes < 0 || node.resultBytes < 0)
        complain(node, "a size is below 0");
    }
    if (errors.empty())
      checkDependences();
    return std::move(errors);
  }

private:
  void complain(const Node &node, const std::string &what) {
    if (errors.size() < kErrors)
      errors.push_back({Code::ImportSetting,
                        fmt::format("node {} '{}': {}", node.id, node.name.substr(0, 100), what),
                        {path, 0, 0},
                        {},
                        ""});
  }

  /// All are there, and none waits for itself (Kahn's order).
  void checkDependences() {
    std::vector<std::vector<size_t>> readers(trace.nodes.size());
    std::vector<size_t> waits(trace.nodes.size()), ready;
    for (size_t i = 0; i < trace.nodes.size(); ++i)
      for (const std::vector<uint64_t> *list : {&trace.nodes[i].dataDependences, &trace.nodes[i].controlDependences})
        for (uint64_t id : *list) {
          auto found = indexOf.find(id);
          if (found == indexOf.end()) {
            complain(trace.nodes[i], fmt::format("it depends on node {}, which the trace does not have", id));
            continue;
          }
          readers[found->second].push_back(i);
          ++waits[i];
        }
    if (!errors.empty())
      return;
    for (size_t i = 0; i < waits.size(); ++i)
      if (waits[i] == 0)
        ready.push_back(i);
    size_t done = 0;
    for (; done < ready.size(); ++done)
      for (size_t reader : readers[ready[done]])
        if (--waits[reader] == 0)
          ready.push_back(reader);
    for (size_t i = 0; i < waits.size() && done < trace.nodes.size(); ++i)
      if (waits[i] > 0)
        return complain(trace.nodes[i], fmt::format("it waits for itself: {} nodes are in a cycle or behind one",
                                                    trace.nodes.size() - done));
  }

  const ExecutionTrace &trace;
  const std::string &path;
  std::unordered_map<uint64_t, size_t> indexOf;
  Errors errors;
};

} // namespace

Errors check(const ExecutionTrace &trace, const std::string &path) { return Checker(trace, path).run(); }

} // namespace accord::chakra
