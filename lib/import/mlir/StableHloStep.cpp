// A whole training step in StableHLO, as JAX makes one: forward pass, loss, explicit backward pass, and the update. The
// forward pass is imported; ours are the gradients. What the step's own backward pass multiplies is compared with the
// forward pass: a product has a gradient for each operand that depends on a weight, with as many multiplications.
#include "lib/import/mlir/StableHlo.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

bool inlineCalls(MlirContext &c, mlir::ModuleOp module, mlir::func::FuncOp function) {
  constexpr size_t kMaxOperations = 2'000'000;
  mlir::SymbolTable symbols(module);
  std::vector<mlir::func::CallOp> calls;
  size_t operations = 0;
  auto collect = [&](mlir::Operation *in) { in->walk([&](mlir::func::CallOp call) { calls.push_back(call); }); };
  collect(function);
  while (!calls.empty()) {
    mlir::func::CallOp call = calls.back();
    calls.pop_back();
    auto callee = symbols.lookup<mlir::func::FuncOp>(call.getCallee());
    auto fail = [&](const std::string &why) {
      c.diags.error(Code::ImportUnsupported, c.placeOf(call.getLoc()),
                    fmt::format("the call of '{}' {}", shown(call.getCallee().str()), why));
      return false;
    };
    if (!callee || callee.isDeclaration() || !llvm::hasSingleElement(callee.getBody()))
      return fail("is of no function with one block in this module");
    if (callee == function || callee.getNumArguments() != call.getNumOperands() ||
        callee.getBody().front().getTerminator()->getNumOperands() != call.getNumResults())
      return fail("does not fit what it calls");
    mlir::IRMapping map;
    map.map(callee.getArguments(), call.getOperands());
    mlir::OpBuilder builder(call);
    for (mlir::Operation &op : callee.getBody().front().without_terminator()) {
      if (++operations > kMaxOperations)
        return fail("calls itself, or makes more operations than any network has");
      collect(builder.clone(op, map));
    }
    for (auto [result, value] : llvm::zip(call.getResults(), callee.getBody().front().getTerminator()->getOperands()))
      result.replaceAllUsesWith(map.lookupOrDefault(value));
    call.erase();
  }
  return true;
}

namespace {

llvm::StringRef nameOfOp(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op ? op->getName().getStringRef() : llvm::StringRef();
}

bool isNumber(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.getRank() == 0 && type.getElementType().isFloat();
}

/// Arguments that a value is computed of, without what is behind `stop`.
llvm::DenseSet<unsigned> argumentsOf(mlir::Value value, mlir::Value stop) {
  llvm::DenseSet<unsigned> arguments;
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> todo{value};
  while (!todo.empty()) {
    mlir::Value one = todo.pop_back_val();
    if (one == stop || !seen.insert(one).second)
      continue;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(one))
      arguments.insert(argument.getArgNumber());
    else
      llvm::append_range(todo, one.getDefiningOp()->getOperands());
  }
  return arguments;
}

/// Operations that a value is computed of.
llvm::DenseSet<mlir::Operation *> operationsOf(mlir::Value value) {
  llvm::DenseSet<mlir::Operation *> seen;
  llvm::SmallVector<mlir::Value> todo{value};
  while (!todo.empty())
    if (mlir::Operation *op = todo.pop_back_val().getDefiningOp(); op && seen.insert(op).second)
      op->walk([&](mlir::Operation *inner) { llvm::append_range(todo, inner->getOperands()); });
  return seen;
}

/// x of log(sum(exp(x - ..))): what a cross entropy is of.
mlir::Value logitsOf(mlir::Operation *log) {
  mlir::Value powers = reducedBy(log->getOperand(0), "add");
  if (!powers || nameOfOp(behindRepeats(powers)) != "stablehlo.exponential")
    return {};
  mlir::Value inside = behindRepeats(behindRepeats(powers).getDefiningOp()->getOperand(0));
  return nameOfOp(inside) == "stablehlo.subtract" ? behindRepeats(inside.getDefiningOp()->getOperand(0)) : inside;
}

/// Multiply-accumulates of a product or convolution, by its types; nothing for other operations.
std::optional<double> productsOf(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  if (op->getNumResults() != 1 || op->getNumOperands() < 2)
    return std::nullopt;
  auto result = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType()),
       left = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType()),
       right = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(1).getType());
  if (!result || !left || !right)
    return std::nullopt;
  double products = 1;
  for (int64_t extent : result.getShape())
    products *= extent;
  if (name == "stablehlo.dot_general") {
    auto dims = dotDimensionsOf(op);
    if (!dims)
      return std::nullopt;
    for (int64_t dim : dims->leftSummed)
      products *= left.getDimSize(dim);
    return products;
  }
  if (name != "stablehlo.convolution")
    return std::nullopt;
  auto dims = convolutionDimensionsOf(op);
  if (!dims)
    return std::nullopt;
  products *= right.getDimSize(dims->kernel.channel);
  for (int64_t dim : dims->kernel.spatial)
    products *= right.getDimSize(dim);
  return products;
}

/// What the forward pass of a product multiplies, seen from any of its gradients: these turn kernel and extents about,
/// so that a gradient of a convolution is told by its operands, not by its multiplications.
using Signature = std::vector<int64_t>;
Signature signatureOf(std::initializer_list<mlir::Value> tensors) {
  Signature sizes;
  for (mlir::Value tensor : tensors) {
    int64_t all = 1;
    for (int64_t extent : llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape())
      all *= extent;
    sizes.push_back(all);
  }
  llvm::sort(sizes);
  return sizes;
}

} // namespace

std::optional<StableHloStep> findStep(MlirContext &c, mlir::func::FuncOp function) {
  mlir::Operation *results = function.getBody().front().getTerminator();
  std::vector<mlir::Value> numbers;
  for (mlir::Value result : results->getOperands())
    if (isNumber(result) && result.getDefiningOp() && !argumentsOf(result, {}).empty())
      numbers.push_back(result);
  StableHloStep step;
  mlir::Value loss;
  std::set<mlir::Operation *> found;
  for (mlir::Value number : numbers)
    for (mlir::Operation *op : operationsOf(number))
      if (op->getName().getStringRef() == "stablehlo.log" && op->getNumOperands() == 1)
        if (mlir::Value logits = logitsOf(op); logits && found.insert(op).second) {
          if (step.output && step.output != logits) {
            c.diags.error(Code::ImportUnsupported, c.placeOf(op->getLoc()),
                          "the loss has two cross entropies, and one is supported");
            return std::nullopt;
          }
          step.output = logits;
          step.loss = "cross_entropy";
          loss = number;
        }
  for (size_t i = 0; i < numbers.size() && !step.output; ++i)
    for (mlir::Operation *op : operationsOf(numbers[i])) {
      bool squares = op->getName().getStringRef() == "stablehlo.multiply" && op->getOperand(0) == op->getOperand(1);
      mlir::Operation *difference = squares ? behindRepeats(op->getOperand(0)).getDefiningOp() : nullptr;
      if (!difference || difference->getName().getStringRef() != "stablehlo.subtract" ||
          reducedBy(numbers[i], "add") == nullptr)
        continue;
      step.output = behindRepeats(difference->getOperand(0));
      step.loss = "mse";
      loss = numbers[i];
    }
  if (!step.output)
    return std::nullopt;
  // JAX returns what a step changes in the order of the arguments.
  unsigned next = 0;
  if (results->getNumOperands() > 1)
    for (mlir::Value result : results->getOperands())
      for (unsigned at = next; result != loss && at < function.getNumArguments(); ++at)
        if (function.getArgument(at).getType() == result.getType()) {
          step.state.insert(at);
          next = at + 1;
          break;
        }
  llvm::DenseSet<unsigned> beside = argumentsOf(loss, step.output);
  for (unsigned argument : beside)
    if (step.state.count(argument)) {
      c.noteOnce("terms of the loss that read weights alone, such as a penalty, are left out");
      break;
    }
  return step;
}

void keepForward(MlirContext &c, mlir::func::FuncOp function, const StableHloStep &step) {
  mlir::Block &body = function.getBody().front();
  llvm::DenseSet<mlir::Operation *> forward = operationsOf(step.output);
  llvm::DenseSet<mlir::Operation *> used;
  for (mlir::Value result : body.getTerminator()->getOperands())
    for (mlir::Operation *op : operationsOf(result))
      used.insert(op);
  // Gradients that the forward pass calls for, by the sizes of the three tensors that a product and its gradients
  // share.
  std::multiset<Signature> expected;
  size_t products = 0, backward = 0, explained = 0;
  double work = 0, unexplained = 0;
  auto depends = [&](mlir::Value value) {
    for (unsigned argument : argumentsOf(value, {}))
      if (step.state.empty()
              ? llvm::cast<mlir::RankedTensorType>(function.getArgument(argument).getType()).getElementType().isFloat()
              : step.state.count(argument))
        return true;
    return false;
  };
  for (mlir::Operation &op : body)
    if (forward.count(&op) && productsOf(&op)) {
      ++products;
      Signature sizes = signatureOf({op.getOperand(0), op.getOperand(1), op.getResult(0)});
      for (mlir::Value operand : op.getOperands())
        if (depends(operand))
          expected.insert(sizes);
    }
  size_t called = expected.size();
  for (mlir::Operation &op : body)
    if (auto count = productsOf(&op); count && used.count(&op) && !forward.count(&op)) {
      ++backward;
      work += *count;
      auto match = expected.find(signatureOf({op.getOperand(0), op.getOperand(1), op.getResult(0)}));
      if (match == expected.end()) {
        unexplained += *count;
        continue;
      }
      expected.erase(match);
      ++explained;
    }
  if (backward > 0)
    c.notes.push_back(fmt::format(
        "the step has {} products and convolutions in its forward pass and {} in its backward pass; {} of {} gradients "
        "of "
        "the former were found there{}",
        products, backward, explained, called,
        backward == explained ? ""
                              : fmt::format(", and {} more, with {:.3g} % of its multiplications, such as of what is "
                                            "computed again",
                                            backward - explained, 100 * unexplained / work)));
  mlir::Operation *end = body.getTerminator();
  mlir::OpBuilder builder(end);
  mlir::func::ReturnOp::create(builder, end->getLoc(), step.output);
  end->erase();
  std::vector<mlir::Operation *> dead;
  for (mlir::Operation &op : body.without_terminator())
    if (!forward.count(&op))
      dead.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(dead))
    op->erase();
}

/// Where the user does not say: in a step what it does not give back; else integers and arguments with a plain name, as
/// JAX writes them; else the last.
static llvm::DenseSet<unsigned> inputsOf(mlir::func::FuncOp function, const std::optional<StableHloStep> &step) {
  llvm::DenseSet<unsigned> inputs;
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    auto named = llvm::dyn_cast<mlir::NameLoc>(argument.getLoc());
    bool plain = named && named.getName().getValue().find_first_of("[.(") == llvm::StringRef::npos;
    bool whole = type && type.getElementType().isInteger();
    bool shaped = type && type.getRank() > 0;
    if (step && !step->state.empty() ? !step->state.count(argument.getArgNumber()) : shaped && (plain || whole))
      inputs.insert(argument.getArgNumber());
  }
  if (inputs.empty() && function.getNumArguments() > 0)
    inputs.insert(function.getNumArguments() - 1);
  return inputs;
}

bool prepareStableHlo(MlirContext &c, mlir::ModuleOp module, mlir::func::FuncOp function, NetworkOptions &settings) {
  size_t before = c.diags.errors();
  if (!llvm::hasSingleElement(function.getBody()) || !inlineCalls(c, module, function))
    return c.diags.errors() == before; // branches are told by what comes next
  auto step = findStep(c, function);
  if (c.diags.errors() != before)
    return false;
  if (settings.inputs == 0)
    c.inputArguments = inputsOf(function, step);
  if (!step)
    return true;
  keepForward(c, function, *step);
  if (settings.losses.empty())
    settings.losses["output0"] = step->loss;
  c.lossFrom = "this loss was found in the file";
  // Labels, and states of the optimizer, are read by nothing that is left.
  if (c.inputArguments)
    for (mlir::BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        c.inputArguments->erase(argument.getArgNumber());
  return true;
}

} // namespace accord::import
