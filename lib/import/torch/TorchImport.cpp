#include "lib/import/torch/Torch.h"
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace import {
namespace {

/// Positions turn pairs; the table of angles says along which dimension.
void rotary(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(c.tensor("self")), table = c.get("table");
  if (table.kind == Kind::Computed && table.type == TorchType::Float)
    c.reportUnsupported("turns pairs by angles that are trained");
  int64_t axis = -2;
  for (int64_t back = 2; back <= std::ssize(table.full); ++back)
    if (int64_t extent = table.full[table.full.size() - static_cast<size_t>(back)]; extent > 1 && !c.hasBatch(extent)) {
      axis = -back;
      break;
    }
  std::vector<std::string> attributes;
  if (axis != -2)
    attributes.push_back(fmt::format("axis = {}", axis));
  c.noteOnce("rotary positions have the base 10000 here; the work is the same for every base");
  c.setResult(c.alike(x, "rotary", attributes));
}

const std::map<std::string, TorchHandler> &handlers() {
  static const std::map<std::string, TorchHandler> table = [] {
    std::map<std::string, TorchHandler> all{{"accord.rotary", rotary}};
    for (const auto &part : {torchElementwise(), torchLayers(), torchLosses(), torchMovement(), torchProducts(),
                             torchSelections(), torchStated(), torchWindows()})
      for (const TorchOperators &operators : part)
        for (const char *name : operators.names)
          all[name] = operators.import;
    return all;
  }();
  return table;
}

/// Goes through a program: inputs, nodes, losses.
class TorchImporter {
public:
  TorchImporter(Diagnostics &diags, FileId file, const TorchModel &model, const NetworkOptions &options)
      : context(diags, file, options, model), model(model) {
    for (const TorchNode &node : model.nodes)
      for (const std::string &name : node.outputs)
        producers[name] = &node;
  }
  TorchContext context;

  /// False after errors.
  bool run() {
    size_t before = context.diags.errors();
    std::set<std::string> needed = neededValues();
    readSymbols();
    if (context.diags.errors() != before)
      return false;
    for (const TorchInput &input : model.inputs)
      if (needed.count(input.value))
        readInput(input);
    countWeights(needed);
    for (const TorchNode &node : model.nodes)
      if (isNeeded(node, needed) && !endsInLoss(node))
        import(node);
    if (context.diags.errors() != before)
      return false;
    addLosses();
    return context.diags.errors() == before;
  }

private:
  Diagnostics::Builder error(Code code, const std::string &reason) { return context.diags.error(code, place, reason); }

  static bool isNeeded(const TorchNode &node, const std::set<std::string> &needed) {
    return llvm::any_of(node.outputs, [&](const std::string &name) { return needed.count(name) != 0; });
  }

  /// Tensors that the outputs depend on. What works in place is needed where its operand is read later.
  std::set<std::string> neededValues() const {
    std::set<std::string> needed(model.outputs.begin(), model.outputs.end());
    std::map<std::string, std::string> baseOf; // views of tensors, which change with them
    for (const TorchNode &node : model.nodes)
      if (!node.outputs.empty() && !node.order.empty())
        if (const TorchArgument *self = node.find(node.order[0]); self && self->kind == TorchArgument::Kind::Tensor)
          baseOf[node.outputs[0]] = self->names[0];
    for (const TorchNode &node : llvm::reverse(model.nodes)) {
      bool wanted = isNeeded(node, needed);
      if (node.inPlace && !node.order.empty() && !wanted)
        for (std::string name = node.outputs.empty() ? "" : node.outputs[0]; baseOf.count(name) && !wanted;)
          wanted = needed.count(name = baseOf[name]) != 0;
      if (!wanted)
        continue;
      needed.insert(node.outputs.begin(), node.outputs.end());
      for (const auto &[key, argument] : node.arguments)
        needed.insert(argument.names.begin(), argument.names.end());
    }
    needed.erase("");
    return needed;
  }

  const TorchMeta *metaOf(const TorchInput &input) const {
    auto meta = model.tensors.find(input.value);
    return meta == model.tensors.end() ? nullptr : &meta->second;
  }

  /// The batch is the first extent of the inputs: a symbol, or a number if none is one. Other symbols have the extents
  /// that the options state, or those of the example that was traced.
  void readSymbols() {
    std::map<std::string, std::optional<int64_t>> all;
    std::set<std::string> batches;
    std::set<int64_t> numbers;
    for (const auto &[name, meta] : model.tensors)
      for (const TorchExtent &extent : meta.sizes)
        for (const std::string &symbol : torchSymbols(extent.expression))
          if (auto &hint = all[symbol]; extent.expression.size() < symbol.size() + 64 && !hint)
            hint = extent.hint;
    for (const TorchInput &input : model.inputs) {
      const TorchMeta *meta = metaOf(input);
      if (input.kind != TorchInput::Kind::User || !meta || meta->sizes.empty())
        continue;
      const TorchExtent &first = meta->sizes[0];
      std::set<std::string> symbols = torchSymbols(first.expression);
      if (symbols.size() == 1 && !context.options.sizes.count(*symbols.begin()))
        batches.insert(*symbols.begin());
      else if (first.expression.empty())
        numbers.insert(first.number);
    }
    // Inputs that are never joined have symbols of their own.
    std::set<std::optional<int64_t>> examples;
    for (const std::string &symbol : batches)
      examples.insert(all[symbol]);
    if (batches.size() > 1 && examples.size() > 1)
      error(Code::ImportUnsupported,
            fmt::format("the first extent of every input is the batch, but they differ: {}; state the others by --size",
                        fmt::join(batches, ", ")));
    if (batches.empty()) {
      context.batchIsOpen = false;
      if (numbers.empty() || *numbers.begin() < 1)
        error(Code::ImportUnsupported,
              numbers.empty() ? "no input has a batch" : "the first extent of an input is 0, which is no batch");
      else if (numbers.size() == 1)
        context.batch = *numbers.begin();
      else { // nodes and edges of a graph
        context.isOneSample = true;
        context.batch = 1;
      }
    }
    for (const auto &[symbol, hint] : all) {
      auto size = context.options.sizes.find(symbol);
      if (batches.count(symbol)) {
        context.symbols[symbol] = context.batch;
      } else if (size != context.options.sizes.end()) {
        context.symbols[symbol] = size->second;
      } else if (hint && *hint >= 1 && *hint <= int64_t(1) << 40) {
        context.symbols[symbol] = *hint;
        context.noteOnce(fmt::format("the open extent '{}' is {}, as in the example; --size {}=N states another",
                                     shown(symbol), *hint, shown(symbol)));
      } else {
        error(Code::ImportSetting, fmt::format("the extent '{}' is open", shown(symbol)))
            .help(fmt::format("state it: --size {}=128", shown(symbol)));
      }
    }
    for (const auto &[symbol, size] : context.options.sizes)
      if (!all.count(symbol))
        error(Code::ImportSetting, fmt::format("no tensor has an extent '{}'", shown(symbol)));
  }

  void readInput(const TorchInput &input) {
    const TorchMeta *meta = metaOf(input);
    if (input.kind == TorchInput::Kind::Other)
      return; // a number that is part of the program
    if (!meta)
      return void(error(Code::ImportSetting, fmt::format("'{}' has no shape", shown(input.value))));
    TorchValue value;
    value.type = meta->type;
    value.full = context.shapeInFile(input.value);
    bool empty = llvm::is_contained(value.full, 0) && input.kind != TorchInput::Kind::Parameter;
    if (!value.full.empty() && !empty && !elementsOf(value.full))
      return void(error(Code::ImportSetting, fmt::format("the extents of '{}' are impossible: {}", shown(input.target),
                                                         listOf(value.full))));
    switch (input.kind) {
    case TorchInput::Kind::Parameter:
      value.kind = Kind::Weight;
      value.weight = input.target;
      break;
    case TorchInput::Kind::Buffer:
    case TorchInput::Kind::Constant: {
      value.kind = Kind::Constant;
      auto known = model.known.find(input.target);
      if (known != model.known.end() && std::ssize(known->second) == (value.full.empty() ? 1 : elementsOf(value.full)))
        value.numbers = std::make_shared<const std::vector<double>>(known->second);
      break;
    }
    default:
      userInput(input, value);
      break;
    }
    context.values[input.value] = value;
  }

  void userInput(const TorchInput &input, TorchValue &value) {
    if (meta(value) == TorchType::Other)
      return void(error(Code::ImportUnsupported,
                        fmt::format("the input '{}' holds neither numbers nor integers", shown(input.value))));
    value.kind = Kind::Computed;
    bool batched = !context.isOneSample && !value.full.empty() && value.full[0] == context.batch;
    if (batched)
      value.batchAt = 0;
    Shape sample = context.sampleOf(value);
    if (sample.empty())
      sample = {1};
    if (!elementsOf(sample))
      return void(error(Code::ImportSetting,
                        fmt::format("the input '{}' is too large: {}", shown(input.value), listOf(sample))));
    value.id = context.textBuilder.input(input.value, value.type == TorchType::Float ? "float" : "int32", sample);
  }
  static TorchType meta(const TorchValue &value) { return value.type; }

  /// How many operations read a parameter: one that several read is declared once.
  void countWeights(const std::set<std::string> &needed) {
    std::map<std::string, std::string> weights; // values that are a parameter, perhaps turned or of another type
    for (const TorchInput &input : model.inputs)
      if (input.kind == TorchInput::Kind::Parameter)
        weights[input.value] = input.target;
    static const std::set<std::string> kPass = {"aten.t",      "aten.to",    "aten._to_copy",
                                                "aten.detach", "aten.alias", "aten.contiguous"};
    for (const TorchNode &node : model.nodes) {
      if (!isNeeded(node, needed))
        continue;
      for (const auto &[key, argument] : node.arguments)
        for (const std::string &name : argument.names)
          if (auto weight = weights.find(name); weight != weights.end()) {
            if (kPass.count(node.op) && !node.outputs.empty())
              weights[node.outputs[0]] = weight->second;
            else
              ++context.uses[weight->second];
          }
    }
  }

  void import(const TorchNode &node) {
    try {
      context.start(node);
      if (node.fails)
        context.reportUnsupported("is a higher-order operation, which is not supported: branches and loops that "
                                  "depend on tensors cannot be planned");
      if (node.target.rfind("_operator.", 0) == 0 || node.op.rfind("aten.sym_", 0) == 0 ||
          node.op.rfind("aten._assert", 0) == 0)
        return;
      changeBases(node);
      if (foldTorch(context, node))
        return;
      auto found = handlers().find(node.op);
      if (found == handlers().end())
        return unknown(node);
      found->second(context, node);
      writeBack(node);
    } catch (const Failed &) {
      // Told; what depends on it is passed over.
    }
  }

  /// What is changed in place is a part of another tensor, or the same one in another shape: numbers of a constant are
  /// no longer known, and a computed one is refused, unless nothing reads it any more.
  void changeBases(const TorchNode &node) {
    const TorchArgument *self = node.inPlace && !node.order.empty() ? node.find(node.order[0]) : nullptr;
    std::string name = self && self->kind == TorchArgument::Kind::Tensor ? self->names[0] : "";
    while (!name.empty()) {
      auto view =
          llvm::find_if(model.nodes, [&](const TorchNode &one) { return llvm::is_contained(one.outputs, name); });
      if (view == model.nodes.end() || view->order.empty() || !isView(*view))
        return;
      const TorchArgument *base = view->find(view->order[0]);
      name = base && base->kind == TorchArgument::Kind::Tensor ? base->names[0] : "";
      auto found = context.values.find(name);
      if (found == context.values.end())
        return;
      found->second.numbers = nullptr;
      bool trained = found->second.kind == Kind::Computed || found->second.kind == Kind::Weight;
      if (trained && isRange(*view))
        continue; // written back
      if (trained && isReadAfter(node, name))
        context.reportUnsupported("changes a part of a tensor in place; write it as an operation with a result");
    }
  }

  /// Whether a view is the whole of its base.
  static bool isPass(const TorchNode &view) {
    return view.op == "aten.alias" || view.op == "aten.detach" || view.op == "aten.view" || view.op == "aten.reshape";
  }

  /// Whether an operation behind a node, or the user, reads a value.
  bool isReadAfter(const TorchNode &node, const std::string &name) const {
    bool later = std::any_of(&node + 1, model.nodes.data() + model.nodes.size(), [&](const TorchNode &other) {
      return llvm::any_of(other.arguments, [&](const auto &one) { return llvm::is_contained(one.second.names, name); });
    });
    return later || llvm::is_contained(model.outputs, name);
  }

  /// What is written into a range of a tensor is a part of it.
  void writeBack(const TorchNode &node) {
    const TorchArgument *self = node.inPlace && !node.order.empty() ? node.find(node.order[0]) : nullptr;
    std::string name = self && self->kind == TorchArgument::Kind::Tensor ? self->names[0] : "";
    while (!name.empty()) {
      auto view = producers.find(name);
      if (view == producers.end() || view->second->order.empty() || !isView(*view->second))
        return;
      const TorchArgument *from = view->second->find(view->second->order[0]);
      std::string base = from && from->kind == TorchArgument::Kind::Tensor ? from->names[0] : "";
      auto found = context.values.find(base);
      if (found == context.values.end())
        return;
      const TorchValue part = context.valueOf(name);
      bool unknown = found->second.kind != Kind::Computed && found->second.kind != Kind::Weight;
      if (part.kind != Kind::Computed && unknown)
        return; // masks and noise
      if (part.kind == Kind::Computed && part.full == found->second.full && isPass(*view->second)) {
        found->second = part;
        name = base;
        continue;
      }
      auto behind = producers.find(base);
      bool ends = behind == producers.end() || !isView(*behind->second);
      if (!isRange(*view->second) && ends && !isReadAfter(node, base))
        return;
      if (!isRange(*view->second))
        context.reportUnsupported("changes a part of a tensor in place; write it as an operation with a result");
      found->second = replaced(context, *view->second, context.made(found->second), context.made(part));
      name = base;
    }
  }

  static bool isView(const TorchNode &node) {
    static const std::set<std::string> kViews = {"aten.alias",
                                                 "aten.chunk",
                                                 "aten.detach",
                                                 "aten.diagonal",
                                                 "aten.expand",
                                                 "aten.flatten",
                                                 "aten.narrow",
                                                 "aten.permute",
                                                 "aten.reshape",
                                                 "aten.select",
                                                 "aten.slice",
                                                 "aten.split",
                                                 "aten.squeeze",
                                                 "aten.transpose",
                                                 "aten.t",
                                                 "aten.unbind",
                                                 "aten.split_with_sizes",
                                                 "aten.unflatten",
                                                 "aten.view",
                                                 "aten.unsqueeze"};
    return kViews.count(node.op) != 0;
  }

  /// Each operation that has no form is told once, with where it is first.
  void unknown(const TorchNode &node) {
    if (!unknownOps.insert(node.op).second)
      return;
    int64_t many = llvm::count_if(model.nodes, [&](const TorchNode &one) { return one.op == node.op; });
    context.diags
        .error(Code::ImportUnsupported, place,
               fmt::format("the operation '{}' is not supported; {} of {} nodes, the first is {}", shown(node.target),
                           many, model.nodes.size(), context.subject()))
        .help("replace it by operations that have a form, or write that part by hand; docs/importers.md lists them");
  }

  /// A last softmax or sigmoid is part of the loss.
  bool endsInLoss(const TorchNode &node) {
    bool softmax = node.op == "aten.softmax" || node.op == "aten.log_softmax";
    if ((!softmax && node.op != "aten.sigmoid") || node.outputs.empty() || node.order.empty() ||
        !llvm::is_contained(model.outputs, node.outputs[0]))
      return false;
    bool read = llvm::any_of(model.nodes, [&](const TorchNode &other) {
      return llvm::any_of(other.arguments,
                          [&](const auto &one) { return llvm::is_contained(one.second.names, node.outputs[0]); });
    });
    const TorchArgument *self = node.find(node.order[0]);
    auto found = self && !self->names.empty() ? context.values.find(self->names[0]) : context.values.end();
    if (read || found == context.values.end() || found->second.kind != Kind::Computed ||
        (found->second.batchAt < 0 && !context.isOneSample))
      return false;
    context.start(node);
    int64_t rank = std::ssize(found->second.full), dim = softmax ? context.integer("dim", -1) : -1;
    if (dim != -1 && dim != rank - 1)
      return false;
    context.endsIn[node.outputs[0]] = softmax ? "Softmax" : "Sigmoid";
    context.values[node.outputs[0]] = found->second;
    return true;
  }

  void addLosses() {
    context.checkLosses(model.outputs, "program", place);
    std::vector<std::string> outputs;
    bool own = false;
    for (const std::string &output : model.outputs) {
      auto found = context.values.find(output);
      if (found == context.values.end() || found->second.kind != Kind::Computed ||
          found->second.type != TorchType::Float)
        continue;
      if (found->second.full.empty() && context.shape(found->second.id).empty()) {
        context.textBuilder.loss(found->second.id); // the module computes it
        own = true;
      }
      outputs.push_back(output);
    }
    if (!own)
      context.textBuilder.from("the loss, which the file does not state");
    for (const std::string &output : outputs) {
      const TorchValue &value = context.values[output];
      if (own)
        continue;
      if ((value.batchAt < 0 && !context.isOneSample) || context.lossOf(output) == "none")
        context.noteNoLoss(output);
      else
        context.addLoss(context.dense(value).id, output, outputs.size(), context.endsIn[output]);
    }
    context.checkTrained("the model's inputs", place);
  }

  const TorchModel &model;
  SourceRange place{context.file, 0, 0};
  std::map<std::string, const TorchNode *> producers; ///< of each value, the node that gives it
  std::set<std::string> unknownOps;
};

/// The optimizer of the language that a class of torch.optim is; empty if there is none.
std::string optimizerOf(const std::string &name) {
  static const std::map<std::string, std::string> kOptimizers = {
      {"sgd", "sgd"}, {"momentum", "momentum"}, {"adam", "adam"}, {"adamw", "adamw"}};
  auto found = kOptimizers.find(llvm::StringRef(name).lower());
  return found == kOptimizers.end() ? "" : found->second;
}

/// The `train` block of a file that states an optimizer.
std::string trainBlock(Network &network, const TorchModel &model, const std::string &name) {
  if (model.optimizer.empty())
    return "";
  std::string optimizer = optimizerOf(model.optimizer);
  if (optimizer.empty()) {
    network.diags
        .error(Code::ImportUnsupported, {network.file, 0, 0},
               fmt::format("the optimizer '{}' is not supported; SGD, Adam and AdamW are", shown(model.optimizer)))
        .help("export without an optimizer, and state one in the `train` block");
    return "";
  }
  std::string batch = model.batch > 0 ? fmt::format("  batch = {}\n", model.batch) : "";
  return fmt::format("\ntrain {}_training = {}() {{\n{}  optimizer = {}\n}}\n", name, name, batch, optimizer);
}

} // namespace
} // namespace import

using namespace import;

std::optional<ImportedModel> importTorch(Diagnostics &diags, const std::string &path, const NetworkOptions &options) {
  FileId file;
  std::optional<TorchModel> model = readTorch(diags, path, file);
  if (!model)
    return std::nullopt;
  joinTorchPatterns(*model);
  TorchImporter importer(diags, file, *model, options);
  std::string name = nameFrom(options.name, "model");
  bool complete = importer.run();
  std::string train = trainBlock(importer.context, *model, name);
  if (!complete || diags.hasErrors())
    return std::nullopt;
  std::vector<std::string> lines{fmt::format(
      "{}: imported from {}, a program of torch.export{}; {}.", name, shown(llvm::sys::path::filename(path).str()),
      model->version.empty() ? "" : " of PyTorch " + shown(model->version), importer.context.batchText())};
  return finished(diags, file, importer.context.textBuilder, name, std::move(lines), importer.context.notes,
                  !options.unrolled, train);
}

} // namespace accord
