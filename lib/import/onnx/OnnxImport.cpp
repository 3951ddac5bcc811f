#include "lib/import/onnx/Onnx.h"
#include "lib/import/onnx/OnnxContext.h"
#include "lib/import/onnx/OnnxGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace import {
namespace {

const std::map<std::string, OnnxHandler> &handlers() {
  static const std::map<std::string, OnnxHandler> table = [] {
    std::map<std::string, OnnxHandler> all;
    for (const auto &part : {onnxElementwise(), onnxLayers(), onnxMovement(), onnxSequences(), onnxWindows()})
      for (const OnnxOperators &operators : part)
        for (const char *name : operators.names)
          all[name] = operators.import;
    return all;
  }();
  return table;
}

/// Goes through a graph: inputs, nodes, losses.
class OnnxImporter {
public:
  OnnxImporter(Diagnostics &diags, FileId file, const OnnxModel &model, const NetworkOptions &options)
      : context(diags, file, options, model), model(model) {}
  OnnxContext context;

  /// False after errors.
  bool run() {
    size_t before = context.diags.errors();
    readBatch();
    for (const OnnxPort &input : model.inputs)
      readInput(input);
    checkSizes();
    if (context.diags.errors() != before)
      return false;
    for (const OnnxNode &one : model.nodes)
      if (!isLast(one) || !endsInLoss(one))
        node(one);
    if (context.constants > 0)
      context.notes.push_back(fmt::format("{} constants of the file are trained parameters here, the first {}",
                                          context.constants, context.firstConstant));
    if (context.diags.errors() != before)
      return false;
    addLosses();
    return context.diags.errors() == before;
  }

private:
  using Dimension = std::pair<int64_t, std::string>;

  Diagnostics::Builder error(Code code, const std::string &reason) { return context.diags.error(code, place, reason); }

  /// As the file or the options state it; 0 if neither does.
  int64_t extentOf(const Dimension &dimension) const {
    auto size = context.options.sizes.find(dimension.second);
    return dimension.first == 0 && size != context.options.sizes.end() ? size->second : dimension.first;
  }

  /// The dimension of an input that is its batch: one with the symbol that the options name, or one that is called
  /// batch; else the first.
  size_t batchAxis(const OnnxPort &input) const {
    for (size_t i = 0; i < input.dims.size(); ++i)
      if (const auto &[extent, symbol] = input.dims[i]; extent == 0 && !symbol.empty()) {
        std::string lower = llvm::StringRef(symbol).lower();
        if (context.options.batch.empty() ? lower == "n" || llvm::StringRef(lower).starts_with("batch")
                                          : symbol == context.options.batch)
          return i;
      }
    return 0;
  }

  /// The batch is one extent of every input.
  void readBatch() {
    std::map<std::string, std::string> batches;
    for (const OnnxPort &input : model.inputs) {
      if (!input.shaped || input.dims.empty()) {
        error(Code::ImportSetting, fmt::format("the input '{}' {}, so that it has no batch", shown(input.name),
                                               input.shaped ? "is a single number" : "states no shape"));
        continue;
      }
      const Dimension &dimension = input.dims[batchAxis(input)];
      int64_t extent = extentOf(dimension);
      if (extent > 0) {
        context.batchIsOpen = false;
        context.batch = extent;
      }
      batches.emplace(extent > 0 ? std::to_string(extent) : dimension.second, input.name);
    }
    if (batches.size() < 2)
      return;
    std::vector<std::string> texts;
    for (const auto &[extent, name] : batches)
      texts.push_back(fmt::format("'{}' has {}", shown(name), extent.empty() ? "an unnamed one" : shown(extent)));
    error(
        Code::ImportUnsupported,
        fmt::format("one extent of every input is the batch (the first, or one that is called so), but they differ: {}",
                    fmt::join(texts, ", ")));
  }

  void readInput(const OnnxPort &input) {
    if (input.dims.empty())
      return;
    OnnxValue value;
    size_t axis = batchAxis(input);
    for (size_t i = 0; i < input.dims.size(); ++i) {
      int64_t extent = i == axis ? context.batch : extentOf(input.dims[i]);
      if (extent == 0)
        open.emplace(input.dims[i].second, input.name);
      value.full.push_back(extent == 0 ? 1 : extent);
    }
    Shape sample = value.full;
    sample.erase(sample.begin() + axis);
    if (sample.empty())
      sample = {1};
    if (!elementsOf(sample)) {
      error(Code::ImportSetting, fmt::format("the input '{}' is too large: {}", shown(input.name), listOf(sample)));
      return;
    }
    value.outer = 1;
    for (size_t i = 0; i < axis; ++i)
      *value.outer *= value.full[i];
    if (input.type != OnnxType::Other)
      value.id = context.textBuilder.input(input.name, input.type == OnnxType::Float ? "float" : "int32", sample);
    context.values[input.name] = value;
  }

  /// Every extent is stated, and every size that the options state is one.
  void checkSizes() {
    for (const auto &[symbol, name] : open)
      error(Code::ImportSetting,
            fmt::format("the extent {} of the input '{}' is open",
                        symbol.empty() ? "without a name" : "'" + shown(symbol) + "'", shown(name)))
          .help(symbol.empty() ? "give it a name or a number in the file"
                               : fmt::format("state it: --size {}=128", shown(symbol)));
    std::set<std::string> symbols;
    for (const OnnxPort &input : model.inputs)
      for (const Dimension &dimension : input.dims)
        symbols.insert(dimension.second);
    if (!context.options.batch.empty() && !symbols.count(context.options.batch))
      error(Code::ImportSetting, fmt::format("no input has an extent '{}'", shown(context.options.batch)))
          .suggest(nearest(context.options.batch, std::vector<std::string>(symbols.begin(), symbols.end())));
    for (const auto &[symbol, size] : context.options.sizes)
      if (!symbols.count(symbol))
        error(Code::ImportSetting, fmt::format("no input has an extent '{}'", shown(symbol)));
  }

  void node(const OnnxNode &node) {
    try {
      context.start(node);
      for (const std::string &name : node.inputs)
        if (auto found = context.values.find(name);
            found != context.values.end() && !found->second.valid() && isOther(name))
          context.reportUnsupported(
              fmt::format("reads the input '{}', which holds neither numbers nor integers", shown(name)));
      if (!node.outputs.empty() && !foldOnnx(context, node))
        handlers().at(node.op)(context, node);
    } catch (const Failed &) {
      // Told; what depends on it is passed over.
    }
  }
  bool isOther(const std::string &input) const {
    return llvm::any_of(model.inputs,
                        [&](const OnnxPort &port) { return port.name == input && port.type == OnnxType::Other; });
  }

  /// A training's loss has the last softmax or sigmoid in it.
  bool isLast(const OnnxNode &node) {
    return (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Sigmoid" || node.op == "ArgMax") &&
           !node.outputs.empty() && context.uses[node.outputs[0]] == 0 &&
           llvm::any_of(model.outputs, [&](const OnnxPort &output) { return output.name == node.outputs[0]; });
  }

  /// A softmax over the classes, which are the last dimension or the channels of an image.
  bool endsInLoss(const OnnxNode &node) {
    auto found = context.values.find(node.input(0));
    if (found == context.values.end() || found->second.id < 0 || !found->second.outer)
      return false;
    int64_t rank = std::ssize(found->second.full);
    int64_t axis = node.integer("axis", node.op == "ArgMax" ? 0 : model.opset < 13 ? 1 : -1);
    axis += axis < 0 ? rank : 0;
    bool last = node.op == "Sigmoid" || axis == rank - 1;
    if (!last && !(axis == 1 && rank == 4 && context.leads(found->second) && model.opset >= 13))
      return false;
    outputsBefore[node.outputs[0]] = last ? node.op : "Softmax over channels";
    context.values[node.outputs[0]] = found->second;
    return true;
  }

  void addLosses() {
    context.textBuilder.from("the loss, which the file does not state");
    std::vector<std::string> known;
    for (const OnnxPort &output : model.outputs)
      known.push_back(output.name);
    context.checkLosses(known, "graph", place);
    for (const std::string &output : known) {
      auto found = context.values.find(output);
      if (found == context.values.end() || found->second.constant || !found->second.outer ||
          context.lossOf(output) == "none")
        context.noteNoLoss(output);
      else
        context.addLoss(found->second.id, output, known.size(), outputsBefore[output]);
    }
    context.checkTrained("the model's inputs", place);
  }

  const OnnxModel &model;
  SourceRange place{context.file, 0, 0};
  std::map<std::string, std::string> open;          ///< symbols without an extent: an input that has them
  std::map<std::string, std::string> outputsBefore; ///< a final softmax or sigmoid, left out
};

} // namespace
} // namespace import

using namespace import;

std::optional<ImportedModel> importOnnx(Diagnostics &diags, const std::string &path, const NetworkOptions &options) {
  FileId file;
  std::optional<OnnxModel> model = readOnnx(diags, path, file);
  std::set<std::string> known;
  for (const auto &[op, handler] : handlers())
    known.insert(op);
  if (!model || !orderOnnx(diags, file, *model, known))
    return std::nullopt;
  TiedInitializers tied = tiedInitializers(*model);
  if (options.untie)
    untieOnnx(*model);
  joinOnnxPatterns(*model);
  OnnxImporter importer(diags, file, *model, options);
  if (tied.names > 0 && !options.untie)
    importer.context.notes.push_back(fmt::format(
        "{} weights of {} numbers are another weight by another name (Identity), and one with it here; an exporter "
        "merges weights that are equal when they are exported, as untrained ones are: --untie keeps them apart",
        tied.names, tied.elements));
  if (!importer.run())
    return std::nullopt;
  std::string name = nameFrom(options.name, "model");
  std::vector<std::string> lines{
      fmt::format("{}: imported from the ONNX file {}", name, shown(llvm::sys::path::filename(path).str())),
      fmt::format("(operator set {}{}); {}.", model->opset,
                  model->producer.empty() ? "" : ", written by " + shown(model->producer),
                  importer.context.batchText())};
  return finished(diags, file, importer.context.textBuilder, name, std::move(lines), importer.context.notes,
                  !options.unrolled);
}

} // namespace accord
