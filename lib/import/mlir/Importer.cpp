#include "lib/import/mlir/Importer.h"
#include "lib/import/text/AddLoss.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

SourceRange MlirImporter::placeOf(mlir::Location location) const {
  while (auto named = llvm::dyn_cast<mlir::NameLoc>(location))
    location = named.getChildLoc();
  auto at = llvm::dyn_cast<mlir::FileLineColLoc>(location);
  if (!at || at.getFilename() != diags.sources().path(file) || at.getLine() == 0)
    return {file, 0, 0};
  return diags.sources().at(file, {at.getLine(), at.getColumn()});
}

void MlirImporter::reportUnsupported(const std::string &reason) {
  SourceRange place = placeOf(current->getLoc());
  std::string name = "'" + shown(current->getName().getStringRef().str()) + "'";
  // Bytecode says where its text was.
  if (auto at = current->getLoc()->findInstanceOf<mlir::FileLineColLoc>(); at && place.end == 0)
    name += fmt::format(" (at {}:{}:{})", shown(at.getFilename().str()), at.getLine(), at.getColumn());
  diags.error(Code::ImportUnsupported, place, fmt::format("{} {}", name, reason));
  throw Failed();
}

void MlirImporter::noteOnce(const std::string &note) {
  if (!llvm::is_contained(notes, note))
    notes.push_back(note);
}

std::string MlirImporter::batchText() const {
  return batchIsOpen ? "the batch is open in the file" : fmt::format("the file fixes the batch at {}", batch);
}

Diagnostics::Builder MlirImporter::argumentError(mlir::BlockArgument argument, Code code, const std::string &reason) {
  return diags.error(
      code, placeOf(argument.getLoc()),
      fmt::format("the argument {} of '{}' {}", argument.getArgNumber(), shown(function.getName().str()), reason));
}

static bool opensBatch(mlir::BlockArgument argument) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
  return type && type.getRank() > 0 && type.isDynamicDim(0);
}

/// An image that is read with its channels last is an input with its channels first.
static bool isReadChannelsLast(mlir::BlockArgument argument) {
  auto readsLast = [](mlir::Operation *user) {
    llvm::StringRef name = user->getName().getStringRef();
    return name.contains("nhwc") || name == "tosa.conv2d" || name == "tosa.depthwise_conv2d" ||
           name == "tosa.transpose_conv2d" || name.ends_with("_pool2d");
  };
  return llvm::any_of(argument.getUsers(), [&](mlir::Operation *user) {
    bool pads = user->getName().stripDialect() == "pad";
    return readsLast(user) || (pads && llvm::any_of(user->getUsers(), readsLast));
  });
}

/// Whether an argument has the shape and the elements of an input or a weight; reports what it lacks.
bool MlirImporter::checkArgument(mlir::BlockArgument argument, bool input) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
  if (!type) {
    argumentError(argument, Code::ImportSetting, "is no tensor of known rank")
        .help("export the function with the shapes that it is trained with; only the batch, an "
              "input's first extent, may be open");
    return false;
  }
  Shape known(type.getShape());
  bool open = llvm::any_of(llvm::drop_begin(known, input && !known.empty()), mlir::ShapedType::isDynamic);
  if (open || (input && known.empty())) {
    argumentError(argument, Code::ImportSetting,
                  !input ? "is a weight whose extents are not known"
                  : open ? "has an open extent other than the first, which is the batch"
                         : "is a single number, so that it has no batch")
        .help(!input ? "export the function with the shapes that it is trained with, or count it "
                       "among the inputs with --inputs"
                     : "export the function with the shapes that it is trained with; only the "
                       "batch, an input's first extent, may be open");
    return false;
  }
  mlir::Type element = type.getElementType();
  if (!element.isFloat() && !(input && element.isInteger())) {
    argumentError(argument, Code::ImportUnsupported, "holds no floating-point numbers");
    return false;
  }
  if (input && mlir::ShapedType::isDynamic(known[0]))
    known[0] = 1;
  if (!known.empty() && !elementsOf(known)) {
    argumentError(argument, Code::ImportSetting, "has impossible extents");
    return false;
  }
  return true;
}

void MlirImporter::addInput(mlir::BlockArgument argument, const std::string &name) {
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  MlirValue value;
  value.kind = Kind::Computed;
  value.full.assign(type.getShape().begin(), type.getShape().end());
  value.full[0] = batch;
  value.batchDim = 0;
  for (int i = value.full.size() > 1 ? 1 : 0; i < static_cast<int>(value.full.size()); ++i)
    value.dims.push_back(i);
  if (value.full.size() == 4 && isReadChannelsLast(argument)) {
    value.dims = {3, 1, 2};
    noteOnce("inputs that are read with their channels last have them first here");
  }
  Shape sample;
  for (int dim : value.dims)
    sample.push_back(extent(value, dim));
  value.id = textBuilder.input(name, type.getElementType().isFloat() ? "float" : "int32", sample);
  values[argument] = value;
}

/// With `--inputs N` the first N arguments are inputs. Else those whose first extent is open, and
/// where none is, the first alone. The others are weights.
bool MlirImporter::readArguments() {
  size_t before = diags.errors();
  auto arguments = function.getArguments();
  if (options.inputs > static_cast<int64_t>(arguments.size()))
    diags.error(Code::ImportSetting, placeOf(function.getLoc()),
                fmt::format("--inputs {}: '{}' has {} arguments", options.inputs, shown(function.getName().str()),
                            arguments.size()));
  bool anyOpen = llvm::any_of(arguments, opensBatch);
  std::vector<mlir::BlockArgument> inputs;
  for (mlir::BlockArgument argument : arguments) {
    int64_t number = argument.getArgNumber();
    bool input = options.inputs ? number < options.inputs : anyOpen ? opensBatch(argument) : !number;
    if (!checkArgument(argument, input))
      continue;
    if (input)
      inputs.push_back(argument);
    else
      values[argument] = weightOf(argument, Shape(llvm::cast<mlir::RankedTensorType>(argument.getType()).getShape()));
  }
  for (mlir::BlockArgument argument : inputs) {
    int64_t first = llvm::cast<mlir::RankedTensorType>(argument.getType()).getDimSize(0);
    if (mlir::ShapedType::isDynamic(first))
      continue;
    if (!batchIsOpen && first != batch)
      argumentError(argument, Code::ImportUnsupported,
                    fmt::format("has the batch {} as its first extent, and one before it {}", first, batch));
    batchIsOpen = false;
    batch = first;
  }
  for (mlir::BlockArgument argument : inputs)
    addInput(argument, inputs.size() > 1 ? fmt::format("x{}", argument.getArgNumber()) : "x");
  if (inputs.empty() && diags.errors() == before)
    diags.error(Code::ImportSetting, placeOf(function.getLoc()),
                fmt::format("'{}' has no argument that is an input", shown(function.getName().str())));
  return diags.errors() == before;
}

void MlirImporter::operation(mlir::Operation *op) {
  current = op;
  try {
    for (mlir::Type type :
         llvm::concat<mlir::Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
      if (llvm::isa<mlir::UnrankedTensorType, mlir::BaseMemRefType, mlir::VectorType>(type))
        reportUnsupported("has an operand or a result that is no tensor of known rank");
    if (op->getNumResults() != 1)
      reportUnsupported("has another number of results than one");
    auto result = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
    if (result && op->getNumOperands() && !result.getElementType().isFloat())
      reportUnsupported("computes something else than floating-point numbers");
    if (auto found = forms.joined.find(op); found != forms.joined.end()) {
      MlirValue x = plain(found->second.second);
      if (auto axis = forms.axis.find(op); axis != forms.axis.end())
        return setResult(op, softmaxOf(x, axis->second));
      return setResult(op, unary(found->second.first.c_str(), x));
    }
    if (auto found = absorbed.find(op); found != absorbed.end())
      return setResult(op, get(found->second));
    (this->*handlers().at(op->getName().getStringRef().str()))(op);
  } catch (const Failed &) {
    // Told; what depends on it is passed over.
  }
}

bool MlirImporter::run() {
  size_t before = diags.errors();
  if (!llvm::hasSingleElement(function.getBody())) {
    diags.error(Code::ImportUnsupported, placeOf(function.getLoc()),
                fmt::format("'{}' has branches, which are not supported", shown(function.getName().str())));
    return false;
  }
  if (!readArguments())
    return false;
  forms = findForms(function);
  // What the results need, backwards.
  llvm::DenseSet<mlir::Operation *> needed;
  std::vector<mlir::Operation *> order;
  mlir::Block &body = function.getBody().front();
  for (mlir::Operation &op : llvm::reverse(body)) {
    bool ends = &op == body.getTerminator();
    if (!ends && !needed.contains(&op))
      continue;
    auto need = [&](mlir::Value value) {
      if (mlir::Operation *from = value.getDefiningOp())
        needed.insert(from);
    };
    if (auto found = forms.joined.find(&op); found != forms.joined.end())
      need(found->second.second);
    else
      op.walk([&](mlir::Operation *inner) { llvm::for_each(inner->getOperands(), need); });
    if (!ends)
      order.push_back(&op);
  }
  std::map<std::string, std::pair<size_t, mlir::Operation *>> unknown;
  for (mlir::Operation *op : llvm::reverse(order))
    if (std::string name = op->getName().getStringRef().str(); !forms.joined.count(op) && !handlers().count(name))
      if (auto &[count, first] = unknown[name]; count++ == 0)
        first = op;
  for (const auto &[name, found] : unknown)
    diags
        .error(Code::ImportUnsupported, placeOf(found.second->getLoc()),
               fmt::format("the operation '{}' is not supported; {} of {} operations", shown(name), found.first,
                           order.size()))
        .help("replace it by operations that have one before the export, or cut the function there "
              "and write that part by hand; docs/importers.md lists them");
  if (!unknown.empty())
    return false;
  // Constants first: whether a summand is a bias is asked before its place.
  for (bool constants : {true, false})
    for (mlir::Operation *op : llvm::reverse(order))
      if ((op->getNumOperands() == 0) == constants)
        operation(op);
  if (diags.errors() == before)
    results(body.getTerminator());
  return diags.errors() == before;
}

void MlirImporter::results(mlir::Operation *op) {
  current = op;
  textBuilder.from("the loss, which the file does not state");
  std::vector<std::string> known;
  for (size_t i = 0; i < op->getNumOperands(); ++i)
    known.push_back(fmt::format("output{}", i));
  for (const auto &[name, kind] : options.losses)
    if (!name.empty() && !llvm::is_contained(known, name))
      diags
          .error(Code::ImportSetting, placeOf(op->getLoc()),
                 fmt::format("the function has no output '{}'", shown(name)))
          .suggest(nearest(name, known));
  for (size_t i = 0; i < known.size(); ++i) {
    auto chosen = options.losses.find(known[i]);
    chosen = chosen == options.losses.end() ? options.losses.find("") : chosen;
    std::string wanted = chosen == options.losses.end() ? "" : chosen->second;
    MlirValue x;
    try {
      x = plain(op->getOperand(i));
    } catch (const Failed &) {
      continue;
    }
    if (!x.computed() || x.batchDim < 0 || wanted == "none") {
      notes.push_back(fmt::format("the output '{}' has no loss", known[i]));
      continue;
    }
    // A training's loss has the last softmax or sigmoid in it.
    std::string before;
    DnnTextBuilder::Id last = textBuilder.behindViews(x.id);
    if (last == x.id && textBuilder.callOf(last) == "sigmoid")
      before = "Sigmoid";
    else if (last == x.id && textBuilder.callOf(last) == "softmax" && softmaxAxis[last] == x.dims.back())
      before = "Softmax";
    if (!before.empty())
      x.id = textBuilder.operandOf(last);
    bool image = before.empty() && x.dims.size() == 3; // channels last in the file or not
    addLoss(textBuilder, image ? x.id : arranged(x, natural(x)),
            {known[i], known.size() > 1 ? known[i] + "_" : "", wanted, before}, notes);
  }
  if (!textBuilder.hasLoss() && !diags.hasErrors())
    diags.error(Code::ImportUnsupported, placeOf(op->getLoc()),
                "no output depends on the inputs, so that there is nothing to train");
}

} // namespace accord::import
