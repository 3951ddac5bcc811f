// Source: profiler/torchmodules/torchgraph and graph/graph.py of msr-fiddle/pipedream:
//   node4 -- Conv2d(…) -- forward_compute_time=1.2, backward_compute_time=…, activation_size=…,
//     parameter_size=…
//   <tab>node4 -- node5
// Times are milliseconds and sizes bytes of a whole minibatch; a size may be a list in brackets.
#include "lib/import/profiles/ProfileGraph.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace import {
namespace {

class Reader {
public:
  Reader(Diagnostics &diags, FileId file) : diags(diags), text(diags.sources().text(file)), file(file) {}

  ProfileGraph graph;

  void run() {
    std::vector<llvm::StringRef> edges;
    for (llvm::StringRef rest = text; !rest.empty();) {
      llvm::StringRef line = rest.take_until([](char c) { return c == '\n'; });
      rest = rest.drop_front(std::min(rest.size(), line.size() + 1));
      if (line.trim().empty())
        continue;
      if (line.starts_with("\t") || line.starts_with(" "))
        edges.push_back(line.trim());
      else
        node(line.trim());
    }
    for (llvm::StringRef line : edges)
      edge(line);
    if (graph.nodes.empty() && !diags.hasErrors())
      diags.error(Code::SyntaxError, {file, 0, 0}, "this is no profile: it has no node");
  }

private:
  SourceRange at(llvm::StringRef part) const {
    auto begin = static_cast<uint32_t>(part.data() - text.data());
    return {file, begin, begin + static_cast<uint32_t>(std::max<size_t>(1, part.size()))};
  }

  /// The number of `key=12.5`, or the sum of `key=[1.0; 2.0]`.
  double number(llvm::StringRef line, llvm::StringRef fields, llvm::StringRef key) {
    size_t found = fields.find((key + "=").str());
    if (found == llvm::StringRef::npos) {
      diags.error(Code::ImportSetting, at(line), fmt::format("this node says no '{}'", key.str()));
      return 0;
    }
    llvm::StringRef value = fields.drop_front(found + key.size() + 1);
    value = value.starts_with("[") ? value.take_until([](char c) { return c == ']'; }).drop_front()
                                   : value.take_until([](char c) { return c == ','; });
    double sum = 0;
    llvm::SmallVector<llvm::StringRef> parts;
    value.split(parts, ';');
    for (llvm::StringRef part : parts) {
      auto one = parseReal(part.trim());
      if (!one || !isMeasured(*one)) {
        diags.error(
            Code::ImportSetting, at(value.empty() ? line : value),
            fmt::format("'{}' must be a number from 0 to 1e15, found '{}'", key.str(), shown(part.trim().str())));
        return 0;
      }
      sum += *one;
    }
    return sum;
  }

  void node(llvm::StringRef line) {
    auto [name, rest] = line.split(" -- ");
    auto [what, fields] = rest.rsplit(" -- ");
    if (fields.empty()) {
      diags.error(Code::SyntaxError, at(line),
                  "expected 'name -- layer -- forward_compute_time=…, backward_compute_time=…, "
                  "activation_size=…, parameter_size=…'");
      return;
    }
    auto [known, isNew] = places.try_emplace(name.str(), graph.nodes.size());
    if (!isNew) {
      diags.error(Code::ImportSetting, at(name), fmt::format("a second node '{}'", shown(name.str())))
          .note(graph.nodes[known->second].range, "the first one");
      return;
    }
    ProfileNode one;
    one.range = at(name);
    one.what = what.trim().str();
    one.name = what.take_until([](char c) { return c == '('; }).trim().str() + "_" + name.str();
    one.forward = number(line, fields, "forward_compute_time");
    one.backward = number(line, fields, "backward_compute_time");
    one.output = number(line, fields, "activation_size");
    one.parameters = number(line, fields, "parameter_size");
    graph.nodes.push_back(std::move(one));
  }

  void edge(llvm::StringRef line) {
    auto [from, to] = line.split(" -- ");
    size_t ends[2] = {0, 0};
    for (size_t i : {0, 1}) {
      llvm::StringRef name = i ? to : from;
      auto found = places.find(name.trim().str());
      if (found == places.end()) {
        diags.error(Code::ImportSetting, at(name.empty() ? line : name),
                    fmt::format("this edge names '{}', which is no node", shown(name.str())));
        return;
      }
      ends[i] = found->second;
    }
    graph.nodes[ends[1]].reads.push_back(ends[0]);
  }

  Diagnostics &diags;
  llvm::StringRef text;
  FileId file;
  std::map<std::string, size_t> places;
};

} // namespace

std::optional<ProfileGraph> readPipedream(Diagnostics &diags, FileId file) {
  size_t before = diags.errors();
  Reader reader(diags, file);
  reader.run();
  if (diags.errors() != before)
    return std::nullopt;
  return std::move(reader.graph);
}

} // namespace import

using namespace import;

std::optional<ImportedModel> importPipedream(Diagnostics &diags, FileId file, const std::string &name) {
  auto graph = readPipedream(diags, file);
  if (!graph)
    return std::nullopt;
  graph->lines = {fmt::format("imported from the PipeDream profile {}",
                              shown(llvm::sys::path::filename(diags.sources().path(file)).str())),
                  "A sample is the minibatch that was profiled: train it with batch = 1."};
  return toDnn(diags, file, std::move(*graph), name);
}

} // namespace accord
