#include "lib/import/onnx/OnnxGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <queue>

namespace accord::import {
namespace {

/// What ONNX's own operators say about an attribute of this name; empty if they differ, or none has it.
const char *attributeType(const std::string &name) {
  static const std::map<const char *, std::set<std::string>> kTypes = {
      {"INT",
       {"allowzero",
        "axis",
        "batch_dims",
        "ceil_mode",
        "count_include_pad",
        "group",
        "hidden_size",
        "input_forget",
        "is_causal",
        "keepdims",
        "kv_num_heads",
        "layout",
        "linear_before_reset",
        "noop_with_empty_axes",
        "num_groups",
        "q_num_heads",
        "size",
        "stash_type",
        "to",
        "transA",
        "transB",
        "upper"}},
      {"INTS",
       {"axes", "dilations", "ends", "kernel_shape", "output_padding", "output_shape", "pads", "perm", "split",
        "starts", "strides"}},
      {"FLOAT", {"alpha", "beta", "bias", "epsilon", "momentum", "ratio", "softcap"}},
      {"STRING", {"auto_pad", "coordinate_transformation_mode", "direction", "equation", "mode", "nearest_mode"}}};
  for (const auto &[type, names] : kTypes)
    if (names.count(name))
      return type;
  return "";
}

struct Checker {
  Diagnostics &diags;
  FileId file;
  OnnxModel &model;
  std::map<std::string, size_t> producer = {};

  void error(Code code, const std::string &message) { diags.error(code, {file, 0, 0}, message); }
  std::string called(size_t node) const {
    const OnnxNode &n = model.nodes[node];
    return fmt::format("{} '{}'", shown(n.op), shown(n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name));
  }

  void names() {
    for (size_t i = 0; i < model.nodes.size(); ++i)
      for (const std::string &name : model.nodes[i].outputs) {
        if (name.empty())
          continue;
        bool taken =
            model.initializers.count(name) || llvm::any_of(model.inputs, [&](auto &port) { return port.name == name; });
        auto [it, isNew] = producer.try_emplace(name, i);
        if (!isNew || taken)
          error(Code::ImportSetting, fmt::format("'{}' is given twice: by {} and by {}", shown(name), called(i),
                                                 taken ? "the graph" : called(it->second)));
      }
  }

  void extents() {
    for (const auto &[name, tensor] : model.initializers)
      if (!llvm::is_contained(tensor.shape, 0) && !elementsOf(tensor.shape))
        error(Code::ImportSetting,
              fmt::format("the extents of '{}' are impossible: {}", shown(name), listOf(tensor.shape)));
    for (const OnnxPort &input : model.inputs)
      for (const auto &[extent, symbol] : input.dims)
        if (extent < 0 || extent > int64_t(1) << 40)
          error(Code::ImportSetting,
                fmt::format("the input '{}' has an impossible extent: {}", shown(input.name), extent));
  }

  void attributes(size_t i) {
    for (const auto &[name, attribute] : model.nodes[i].attributes) {
      std::string expected = attributeType(name);
      if (attribute.isRepeated)
        error(Code::ImportSetting, fmt::format("{} states its attribute '{}' twice", called(i), shown(name)));
      if (!expected.empty() && attribute.type != expected)
        error(Code::ImportSetting, fmt::format("{} has an attribute '{}' of type {}, expected {}", called(i),
                                               shown(name), attribute.type, expected));
    }
  }

  std::set<size_t> reachable() {
    std::set<size_t> found;
    std::set<std::string> missing;
    std::vector<std::pair<std::string, std::string>> open; // a value, and who wants it
    for (const OnnxPort &output : model.outputs)
      open.emplace_back(output.name, "the output of the graph");
    while (!open.empty()) {
      auto [name, reader] = std::move(open.back());
      open.pop_back();
      auto from = producer.find(name);
      if (name.empty() || model.initializers.count(name) ||
          llvm::any_of(model.inputs, [&](auto &port) { return port.name == name; }))
        continue;
      if (from == producer.end()) {
        if (missing.insert(name).second)
          error(Code::ImportSetting,
                fmt::format("nothing gives '{}', which {} needs: no node, input or initializer has "
                            "this name",
                            shown(name), reader));
        continue;
      }
      if (found.insert(from->second).second)
        for (const std::string &input : model.nodes[from->second].inputs)
          open.emplace_back(input, called(from->second));
    }
    return found;
  }

  void sort(const std::set<size_t> &wanted) {
    std::map<size_t, size_t> waiting;
    std::map<size_t, std::vector<size_t>> readers;
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i : wanted) {
      std::set<size_t> from;
      for (const std::string &name : model.nodes[i].inputs)
        if (auto it = producer.find(name); it != producer.end() && !name.empty())
          from.insert(it->second);
      for (size_t one : from)
        readers[one].push_back(i);
      waiting[i] = from.size();
      if (from.empty())
        ready.push(i);
    }
    std::vector<OnnxNode> sorted;
    while (!ready.empty()) {
      size_t i = ready.top();
      ready.pop();
      waiting.erase(i);
      sorted.push_back(model.nodes[i]);
      for (size_t reader : readers[i])
        if (--waiting[reader] == 0)
          ready.push(reader);
    }
    if (!waiting.empty())
      error(Code::ImportSetting, fmt::format("{} nodes form a cycle or depend on one: {} is one", waiting.size(),
                                             called(waiting.begin()->first)));
    model.nodes = std::move(sorted);
  }
};

} // namespace

bool orderOnnx(Diagnostics &diags, FileId file, OnnxModel &model, const std::set<std::string> &known) {
  size_t before = diags.errors();
  Checker checker{diags, file, model};
  if (model.outputs.empty())
    checker.error(Code::ImportSetting, "the graph has no output");
  checker.names();
  checker.extents();
  std::set<size_t> wanted = checker.reachable();
  std::map<std::string, std::pair<size_t, std::string>> unknown;
  for (size_t i : wanted)
    if (known.count(model.nodes[i].op) && model.nodes[i].op.find('.') == std::string::npos)
      checker.attributes(i);
  for (size_t i : wanted)
    if (!known.count(model.nodes[i].op)) {
      auto &[count, first] = unknown[model.nodes[i].op];
      if (count++ == 0)
        first = checker.called(i);
    }
  for (const auto &[op, found] : unknown)
    diags
        .error(Code::ImportUnsupported, {file, 0, 0},
               fmt::format("the operator '{}' is not supported; {} of {} nodes, the first is {}", shown(op),
                           found.first, wanted.size(), found.second))
        .help("replace it by operators that have one before the export, or cut the graph there and "
              "write that part by hand; docs/importers.md lists them");
  checker.sort(wanted);
  return diags.errors() == before;
}

} // namespace accord::import
