#include "lib/import/onnx/Onnx.h"
#include "lib/import/onnx/OnnxGraph.h"
#include "lib/import/onnx/OnnxImporter.h"
#include "lib/import/text/AddLoss.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace import {

OnnxImporter::OnnxImporter(Diagnostics &diags, FileId file, const OnnxModel &model, const OnnxOptions &options)
    : diags(diags), file(file), model(model), options(options) {
  for (const OnnxNode &node : model.nodes)
    for (const std::string &name : node.inputs)
      ++uses[name];
}

void OnnxImporter::reportUnsupported(const std::string &reason) {
  diags.error(Code::ImportUnsupported, {file, 0, 0},
              fmt::format("{} '{}' {}", shown(current->op),
                          shown(current->name.empty() ? current->outputs[0] : current->name), reason));
  throw Failed();
}
void OnnxImporter::reportInvalid(const std::string &reason) {
  diags.error(Code::ImportSetting, {file, 0, 0},
              fmt::format("{} '{}' {}", shown(current->op),
                          shown(current->name.empty() ? current->outputs[0] : current->name), reason));
  throw Failed();
}
void OnnxImporter::noteOnce(const std::string &note) {
  if (!llvm::is_contained(notes, note))
    notes.push_back(note);
}

std::string OnnxImporter::batchText() const {
  return batchIsOpen ? "the batch is open in the file" : fmt::format("the file fixes the batch at {}", batch);
}

void OnnxImporter::readInputs() {
  auto error = [&](Code code, const std::string &reason) -> Diagnostics::Builder {
    return diags.error(code, {file, 0, 0}, reason);
  };
  // The batch is the first extent of every input.
  std::map<std::string, std::string> batches;
  for (const OnnxPort &input : model.inputs) {
    if (!input.shaped || input.dims.empty()) {
      error(Code::ImportSetting, fmt::format("the input '{}' {}, so that it has no batch", shown(input.name),
                                             input.shaped ? "is a single number" : "states no shape"));
      continue;
    }
    auto [extent, symbol] = input.dims[0];
    if (auto size = options.sizes.find(symbol); extent == 0 && size != options.sizes.end())
      extent = size->second;
    if (extent > 0) {
      batchIsOpen = false;
      batch = extent;
    }
    batches.emplace(extent > 0 ? std::to_string(extent) : symbol, input.name);
  }
  if (batches.size() > 1) {
    std::vector<std::string> texts;
    for (const auto &[extent, name] : batches)
      texts.push_back(fmt::format("'{}' has {}", shown(name), extent.empty() ? "an unnamed one" : shown(extent)));
    error(Code::ImportUnsupported,
          fmt::format("the first extent of every input is the batch, but they differ: {}", fmt::join(texts, ", ")));
  }
  std::map<std::string, std::string> open;
  for (const OnnxPort &input : model.inputs) {
    Shape full;
    for (size_t i = 0; i < input.dims.size(); ++i) {
      auto [extent, symbol] = input.dims[i];
      if (i == 0)
        extent = batch;
      else if (auto size = options.sizes.find(symbol); extent == 0 && size != options.sizes.end())
        extent = size->second;
      else if (extent == 0)
        open.emplace(symbol, input.name);
      full.push_back(extent == 0 ? 1 : extent);
    }
    Shape sample(full.begin() + (full.size() > 1 ? 1 : 0), full.end());
    if (full.size() == 1)
      sample = {1};
    if (!elementsOf(sample) || full.empty()) {
      if (!full.empty())
        error(Code::ImportSetting, fmt::format("the input '{}' is too large: {}", shown(input.name), listOf(sample)));
      continue;
    }
    OnnxValue value;
    value.full = full;
    value.batch = full.size() > 1 ? Batch::Leads : Batch::Merged;
    if (input.type != OnnxType::Other)
      value.id = textBuilder.input(input.name, input.type == OnnxType::Float ? "float" : "int32", std::move(sample));
    values[input.name] = value;
  }
  for (const auto &[symbol, name] : open)
    error(Code::ImportSetting, fmt::format("the extent {} of the input '{}' is open",
                                           symbol.empty() ? "without a name" : "'" + shown(symbol) + "'", shown(name)))
        .help(symbol.empty() ? "give it a name or a number in the file"
                             : fmt::format("state it: --size {}=128", shown(symbol)));
  for (const auto &[symbol, size] : options.sizes)
    if (llvm::none_of(model.inputs, [&, key = &symbol](const OnnxPort &input) {
          return llvm::any_of(input.dims, [&](auto &dim) { return dim.second == *key; });
        }))
      error(Code::ImportSetting, fmt::format("no input has an extent '{}'", shown(symbol)));
}

void OnnxImporter::node(const OnnxNode &node) {
  current = &node;
  try {
    textBuilder.from("from " + originOf(node));
    for (const std::string &name : node.inputs)
      if (auto found = values.find(name);
          found != values.end() && !found->second.valid() && llvm::any_of(model.inputs, [&](const OnnxPort &port) {
            return port.name == name && port.type == OnnxType::Other;
          }))
        reportUnsupported(fmt::format("reads the input '{}', which holds neither numbers nor integers", shown(name)));
    if (node.outputs.empty() || fold(node))
      return;
    (this->*handlers().at(node.op))(node);
  } catch (const Failed &) {
    // Told; what depends on it is passed over.
  }
}

bool OnnxImporter::run() {
  size_t before = diags.errors();
  readInputs();
  if (diags.errors() != before)
    return false;
  // A training's loss has the last softmax or sigmoid in it.
  std::set<const OnnxNode *> last;
  for (const OnnxPort &output : model.outputs)
    for (const OnnxNode &one : model.nodes)
      if ((one.op == "Softmax" || one.op == "LogSoftmax" || one.op == "Sigmoid") && !one.outputs.empty() &&
          one.outputs[0] == output.name && uses[output.name] == 0) {
        last.insert(&one);
      }
  for (const OnnxNode &one : model.nodes)
    if (!last.count(&one) || !endsInLoss(one))
      node(one);
  if (diags.errors() != before)
    return false;
  addLosses();
  return diags.errors() == before;
}

/// A softmax over the classes, which are the last dimension or the channels of an image.
bool OnnxImporter::endsInLoss(const OnnxNode &node) {
  auto found = values.find(node.input(0));
  if (found == values.end() || found->second.id < 0 || found->second.batch == Batch::None)
    return false;
  auto rank = static_cast<int64_t>(found->second.full.size());
  int64_t axis = node.integer("axis", model.opset < 13 ? 1 : -1);
  axis += axis < 0 ? rank : 0;
  bool channels = axis == 1 && rank == 4 && found->second.batch == Batch::Leads;
  if (node.op != "Sigmoid" && axis != rank - 1 && !(channels && model.opset >= 13))
    return false;
  outputsBefore[node.outputs[0]] = node.op != "Sigmoid" && axis != rank - 1 ? "Softmax over channels" : node.op;
  values[node.outputs[0]] = found->second;
  return true;
}

void OnnxImporter::addLosses() {
  textBuilder.from("the loss, which the file does not state");
  std::vector<std::string> known;
  for (const OnnxPort &output : model.outputs)
    known.push_back(output.name);
  for (const auto &[name, kind] : options.losses)
    if (!name.empty() && !llvm::is_contained(known, name))
      diags.error(Code::ImportSetting, {file, 0, 0}, fmt::format("the graph has no output '{}'", shown(name)))
          .suggest(nearest(name, known));
  for (const OnnxPort &output : model.outputs) {
    auto chosen = options.losses.find(output.name);
    chosen = chosen == options.losses.end() ? options.losses.find("") : chosen;
    addLoss(output, chosen == options.losses.end() ? "" : chosen->second);
  }
  if (!textBuilder.hasLoss() && !diags.hasErrors())
    diags.error(Code::ImportUnsupported, {file, 0, 0},
                "no output depends on the model's inputs, so that there is nothing to train");
}

void OnnxImporter::addLoss(const OnnxPort &output, const std::string &wanted) {
  auto found = values.find(output.name);
  if (found == values.end() || found->second.constant || found->second.batch == Batch::None || wanted == "none") {
    notes.push_back(fmt::format("the output '{}' has no loss", shown(output.name)));
    return;
  }
  import::addLoss(textBuilder, found->second.id,
                  {output.name, model.outputs.size() > 1 ? output.name + "_" : "", wanted, outputsBefore[output.name]},
                  notes);
}

} // namespace import

using namespace import;

std::vector<std::string> onnxLosses() { return {"cross_entropy", "mse", "smooth_l1", "binary_cross_entropy", "none"}; }

std::optional<OnnxImport> importOnnx(Diagnostics &diags, const std::string &path, const OnnxOptions &options) {
  FileId file;
  std::optional<OnnxModel> model = readOnnx(diags, path, file);
  std::set<std::string> known;
  for (const auto &[op, handler] : OnnxImporter::handlers())
    known.insert(op);
  if (!model || !orderOnnx(diags, file, *model, known))
    return std::nullopt;
  joinOnnxPatterns(*model);
  OnnxImporter importer(diags, file, *model, options);
  if (!importer.run())
    return std::nullopt;
  std::string name = nameFrom(options.name, "model");
  std::vector<std::string> lines{
      fmt::format("{}: imported from the ONNX file {}", name, shown(llvm::sys::path::filename(path).str())),
      fmt::format("(operator set {}{}); {}.", model->opset,
                  model->producer.empty() ? "" : ", written by " + shown(model->producer), importer.batchText())};
  for (const std::string &note : importer.notes)
    lines.push_back("Note: " + note + ".");
  auto text = formatted(diags, file, importer.textBuilder.text(name, lines, !options.unrolled));
  if (!text)
    return std::nullopt;
  return OnnxImport{*text, importer.notes};
}

} // namespace accord
