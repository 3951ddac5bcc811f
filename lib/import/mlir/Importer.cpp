#include "lib/import/mlir/StableHlo.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

namespace {

const std::map<std::string, MlirHandler> &handlers() {
  static const std::map<std::string, MlirHandler> table = [] {
    std::map<std::string, MlirHandler> all;
    for (const auto &part : {mlirElementwise(), mlirLayers(), mlirMovement(), stableHloOperations()})
      for (const MlirOperations &operations : part)
        for (const char *name : operations.names)
          all[name] = operations.import;
    return all;
  }();
  return table;
}

/// Goes through a function: arguments, operations, results.
class FunctionImporter {
public:
  FunctionImporter(MlirContext &c, mlir::func::FuncOp function) : c(c), function(function) {}
  bool run();

private:
  bool readArguments();
  bool checkArgument(mlir::BlockArgument argument, bool input);
  void addInput(mlir::BlockArgument argument, const std::string &name);
  Diagnostics::Builder argumentError(mlir::BlockArgument argument, Code code, const std::string &reason);
  std::vector<mlir::Operation *> neededOperations();
  bool checkKnown(const std::vector<mlir::Operation *> &operations);
  void importOperation(mlir::Operation *op);
  MlirValue joined(mlir::Operation *op, const std::string &call, MlirValue x);
  void addLosses(mlir::Operation *results);

  MlirContext &c;
  mlir::func::FuncOp function;
};

Diagnostics::Builder FunctionImporter::argumentError(mlir::BlockArgument argument, Code code,
                                                     const std::string &reason) {
  return c.diags.error(
      code, c.placeOf(argument.getLoc()),
      fmt::format("the argument {} of '{}' {}", argument.getArgNumber(), shown(function.getName().str()), reason));
}

bool opensBatch(mlir::BlockArgument argument) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
  return type && type.getRank() > 0 && type.isDynamicDim(0);
}

/// An image that is read with its channels last is an input with its channels first.
bool isReadChannelsLast(mlir::BlockArgument argument) {
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
bool FunctionImporter::checkArgument(mlir::BlockArgument argument, bool input) {
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

void FunctionImporter::addInput(mlir::BlockArgument argument, const std::string &name) {
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  MlirValue value;
  value.kind = Kind::Computed;
  value.full.assign(type.getShape().begin(), type.getShape().end());
  value.full[0] = c.batch;
  value.batchDim = 0;
  for (int i = value.full.size() > 1; i < std::ssize(value.full); ++i)
    value.dims.push_back(i);
  if (value.full.size() == 4 && isReadChannelsLast(argument)) {
    value.dims = {3, 1, 2};
    c.noteOnce("inputs that are read with their channels last have them first here");
  }
  value.id =
      c.textBuilder.input(name, type.getElementType().isFloat() ? "float" : "int32", c.extentsOf(value, value.dims));
  c.values[argument] = value;
}

/// By its place, where that is a plain name, as JAX writes it; else by its number.
std::string inputName(mlir::BlockArgument argument, size_t inputs) {
  auto named = llvm::dyn_cast<mlir::NameLoc>(argument.getLoc());
  if (named && named.getName().getValue().find_first_of("[.(") == llvm::StringRef::npos)
    return named.getName().str();
  return inputs > 1 ? fmt::format("x{}", argument.getArgNumber()) : "x";
}

/// With `--inputs N` the first N arguments are inputs. Else those whose first extent is open, and
/// where none is, the first alone. The others are weights.
bool FunctionImporter::readArguments() {
  size_t before = c.diags.errors();
  auto arguments = function.getArguments();
  if (c.options.inputs > std::ssize(arguments))
    c.diags.error(Code::ImportSetting, c.placeOf(function.getLoc()),
                  fmt::format("--inputs {}: '{}' has {} arguments", c.options.inputs, shown(function.getName().str()),
                              arguments.size()));
  bool anyOpen = llvm::any_of(arguments, opensBatch);
  std::vector<mlir::BlockArgument> inputs;
  for (mlir::BlockArgument argument : arguments) {
    if (c.isStableHlo && argument.use_empty()) // of the optimizer
      continue;
    int64_t number = argument.getArgNumber();
    bool input = c.options.inputs   ? number < c.options.inputs
                 : c.inputArguments ? c.inputArguments->contains(argument.getArgNumber())
                 : anyOpen          ? opensBatch(argument)
                                    : !number;
    if (!checkArgument(argument, input))
      continue;
    if (input)
      inputs.push_back(argument);
    else
      c.values[argument] =
          c.weightOf(argument, Shape(llvm::cast<mlir::RankedTensorType>(argument.getType()).getShape()));
  }
  for (mlir::BlockArgument argument : inputs) {
    int64_t first = llvm::cast<mlir::RankedTensorType>(argument.getType()).getDimSize(0);
    if (mlir::ShapedType::isDynamic(first))
      continue;
    if (!c.batchIsOpen && first != c.batch)
      argumentError(argument, Code::ImportUnsupported,
                    fmt::format("has the batch {} as its first extent, and one before it {}", first, c.batch));
    c.batchIsOpen = false;
    c.batch = first;
  }
  for (mlir::BlockArgument argument : inputs)
    addInput(argument, inputName(argument, inputs.size()));
  if (inputs.empty() && c.diags.errors() == before)
    c.diags.error(Code::ImportSetting, c.placeOf(function.getLoc()),
                  fmt::format("'{}' has no argument that is an input", shown(function.getName().str())));
  return c.diags.errors() == before;
}

/// A form of the file: a norm reads the file's last dimension last, one of channels first.
MlirValue FunctionImporter::joined(mlir::Operation *op, const std::string &call, MlirValue x) {
  auto attributes = c.forms.attributes.find(op);
  if (attributes == c.forms.attributes.end())
    return c.unary(call, x);
  if (x.computed() && call.ends_with("_norm")) {
    std::vector<int> order = c.natural(x);
    if (call == "batch_norm")
      std::rotate(order.begin(), order.end() - 1, order.end());
    x.id = c.arranged(x, order);
    x.dims = order;
  }
  return c.unary(call, x, attributes->second);
}

void FunctionImporter::importOperation(mlir::Operation *op) {
  c.current = op;
  try {
    for (mlir::Type type :
         llvm::concat<mlir::Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
      if (llvm::isa<mlir::UnrankedTensorType, mlir::BaseMemRefType, mlir::VectorType>(type))
        c.reportUnsupported("has an operand or a result that is no tensor of known rank");
    if (op->getNumResults() != 1)
      c.reportUnsupported("has another number of results than one");
    auto result = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
    bool wholeToo = op->getName().getDialectNamespace() == "stablehlo"; // indices and masks
    if (result && op->getNumOperands() && !result.getElementType().isFloat() && !wholeToo)
      c.reportUnsupported("computes something else than floating-point numbers");
    if (auto found = c.forms.joined.find(op); found != c.forms.joined.end()) {
      MlirValue x = c.plain(found->second.second);
      auto axis = c.forms.axis.find(op);
      c.setResult(op, axis == c.forms.axis.end() ? joined(op, found->second.first, x) : c.softmaxOf(x, axis->second));
    } else if (auto bias = c.absorbed.find(op); bias != c.absorbed.end()) {
      c.setResult(op, c.get(bias->second));
    } else {
      handlers().at(op->getName().getStringRef().str())(c, op);
    }
  } catch (const Failed &) {
    // Told; what depends on it is passed over.
  }
}

/// What the results need, in the order of the function.
std::vector<mlir::Operation *> FunctionImporter::neededOperations() {
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
    if (auto found = c.forms.joined.find(&op); found != c.forms.joined.end())
      need(found->second.second);
    else
      op.walk([&](mlir::Operation *inner) { llvm::for_each(inner->getOperands(), need); });
    if (!ends)
      order.push_back(&op);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Reports operations that no handler is for; false if there are some.
bool FunctionImporter::checkKnown(const std::vector<mlir::Operation *> &operations) {
  std::map<std::string, std::pair<size_t, mlir::Operation *>> unknown;
  for (mlir::Operation *op : operations)
    if (std::string name = op->getName().getStringRef().str(); !c.forms.joined.count(op) && !handlers().count(name))
      if (auto &[count, first] = unknown[name]; count++ == 0)
        first = op;
  for (const auto &[name, found] : unknown)
    c.diags
        .error(Code::ImportUnsupported, c.placeOf(found.second->getLoc()),
               fmt::format("the operation '{}' is not supported; {} of {} operations", shown(name), found.first,
                           operations.size()))
        .help("replace it by operations that have one before the export, or cut the function there "
              "and write that part by hand; docs/importers.md lists them");
  return unknown.empty();
}

bool FunctionImporter::run() {
  size_t before = c.diags.errors();
  if (!llvm::hasSingleElement(function.getBody())) {
    c.diags.error(Code::ImportUnsupported, c.placeOf(function.getLoc()),
                  fmt::format("'{}' has branches, which are not supported", shown(function.getName().str())));
    return false;
  }
  if (!readArguments())
    return false;
  c.forms = c.isStableHlo ? Forms() : findForms(function);
  if (c.isStableHlo)
    findStableHloForms(function, c.forms);
  std::vector<mlir::Operation *> operations = neededOperations();
  if (!checkKnown(operations))
    return false;
  // Constants first: whether a summand is a bias is asked before its place.
  for (bool constants : {true, false})
    for (mlir::Operation *op : operations)
      if ((op->getNumOperands() == 0) == constants)
        importOperation(op);
  if (c.diags.errors() == before)
    addLosses(function.getBody().front().getTerminator());
  return c.diags.errors() == before;
}

void FunctionImporter::addLosses(mlir::Operation *op) {
  c.current = op;
  c.textBuilder.from(c.isStableHlo ? "the loss" : "the loss, which the file does not state");
  std::vector<std::string> known;
  for (size_t i = 0; i < op->getNumOperands(); ++i)
    known.push_back(fmt::format("output{}", i));
  c.checkLosses(known, "function", c.placeOf(op->getLoc()));
  for (auto [i, output] : llvm::enumerate(known)) {
    MlirValue x;
    try {
      x = c.plain(op->getOperand(i));
    } catch (const Failed &) {
      continue;
    }
    if (!x.computed() || x.batchDim < 0 || c.lossOf(output) == "none") {
      c.noteNoLoss(output);
      continue;
    }
    // A training's loss has the last softmax or sigmoid in it.
    std::string before;
    DnnTextBuilder::Id last = c.textBuilder.behindViews(x.id);
    if (last == x.id && c.textBuilder.callOf(last) == "sigmoid")
      before = "Sigmoid";
    else if (last == x.id && c.textBuilder.callOf(last) == "softmax" && c.softmaxAxis[last] == x.dims.back())
      before = "Softmax";
    if (!before.empty())
      x.id = c.textBuilder.operandOf(last);
    bool image = before.empty() && x.dims.size() == 3; // channels last in the file or not
    c.addLoss(image ? x.id : c.arranged(x, c.natural(x)), output, known.size(), before);
  }
  c.checkTrained("the inputs", c.placeOf(op->getLoc()));
}

} // namespace

bool importFunction(MlirContext &context, mlir::func::FuncOp function) {
  return FunctionImporter(context, function).run();
}

} // namespace accord::import
