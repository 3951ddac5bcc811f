#include "lib/interpret/Interpreter.h"
#include "lib/interpret/Kernels.h"
#include "llvm/ADT/TypeSwitch.h"
#include <memory>

using namespace mlir;

namespace accord::interpret {
namespace {

/// An array, or what each iteration of a repeat kept.
struct Datum {
  std::shared_ptr<const Array> array;
  std::shared_ptr<const std::vector<Datum>> slices;
};

class Step {
public:
  Step(const StepInputs &inputs, bool backward) : inputs(inputs), backward(backward) {}

  llvm::Error run(dnn::TrainingGraphOp graph) {
    for (auto parameter : graph.getParameters())
      for (int64_t copy = 0; copy < parameter.getCopies(); ++copy)
        result.gradients[parameter.getSymName().str()].emplace_back(
            parameter.getTensorType().getShape());
    Block &block = graph.getMicrobatch().getBlock();
    if (block.getNumArguments() != inputs.inputs.size())
      return llvm::createStringError("the step takes %u inputs, %zu are given",
                                     block.getNumArguments(), inputs.inputs.size());
    for (auto [argument, input] : llvm::zip(block.getArguments(), inputs.inputs)) {
      if (input.shape != shapeOf(argument.getType(), inputs.batch))
        return llvm::createStringError("input %u has another shape than the step takes",
                                       argument.getArgNumber());
      values[argument] = {std::make_shared<Array>(input), nullptr};
    }
    return blockOf(block);
  }

  StepResult result;

private:
  llvm::Error blockOf(Block &block) {
    for (Operation &op : block) {
      if (auto loss = dyn_cast<dnn::LossOp>(op)) {
        result.loss = values.lookup(loss.getValue()).array->data[0];
        if (!backward)
          return llvm::Error::success();
        continue;
      }
      if (isa<dnn::YieldOp>(op))
        continue;
      if (llvm::Error error = TypeSwitch<Operation *, llvm::Error>(&op)
                                  .Case<dnn::ReadOp, dnn::GradientOp, dnn::RepeatOp>(
                                      [&](auto one) { return structure(one); })
                                  .Default([&](Operation *one) { return compute(one); }))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error compute(Operation *op) {
    const Kernels::Kernel *kernel = Kernels::all().find(op->getName().getStringRef());
    if (!kernel)
      return llvm::createStringError("'%s' cannot be interpreted",
                                     op->getName().getStringRef().str().c_str());
    SmallVector<const Array *> in;
    for (Value operand : op->getOperands())
      in.push_back(values.lookup(operand).array.get());
    SmallVector<Array> out;
    for (Value value : op->getResults())
      out.emplace_back(shapeOf(value.getType(), inputs.batch));
    (*kernel)(op, in, out);
    for (auto [value, array] : llvm::zip(op->getResults(), out))
      values[value] = {std::make_shared<Array>(std::move(array)), nullptr};
    return llvm::Error::success();
  }

  /// Which of `copies` belongs to the iterations that are running.
  size_t copy(size_t copies) const {
    size_t index = 0;
    for (auto [iteration, count] : iterations)
      index = index * static_cast<size_t>(count) + static_cast<size_t>(iteration);
    return copies == 1 ? 0 : index;
  }

  llvm::Error structure(dnn::ReadOp op) {
    auto found = inputs.parameters.find(op.getParameter().str());
    if (found == inputs.parameters.end() || copy(found->second.size()) >= found->second.size())
      return llvm::createStringError("parameter '%s' has no value",
                                     op.getParameter().str().c_str());
    const Array &array = found->second[copy(found->second.size())];
    values[op.getResult()] = {std::make_shared<Array>(array), nullptr};
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::GradientOp op) {
    Copies &copies = result.gradients[op.getParameter().str()];
    Array &sum = copies[copy(copies.size())];
    const Array &value = *values.lookup(op.getValue()).array;
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.data[i] += value.data[i];
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::RepeatOp op) {
    SmallVector<Datum> carried;
    for (Value init : op.getInits())
      carried.push_back(values.lookup(init));
    std::vector<std::vector<Datum>> stashes(op.getStashed().size());
    for (int64_t i = 0; i < op.getCount(); ++i) {
      int64_t iteration = op.getReverse() ? op.getCount() - 1 - i : i;
      iterations.push_back({iteration, op.getCount()});
      for (auto [argument, value] : llvm::zip(op.getCarriedArguments(), carried))
        values[argument] = value;
      for (auto [argument, stash] : llvm::zip(op.getUnstashedArguments(), op.getUnstashed()))
        values[argument] = (*values.lookup(stash).slices)[static_cast<size_t>(iteration)];
      if (llvm::Error error = blockOf(op.getBlock()))
        return error;
      dnn::YieldOp yield = op.getYield();
      for (auto [value, next] : llvm::zip(carried, yield.getCarried()))
        value = values.lookup(next);
      for (auto [stash, value] : llvm::zip(stashes, yield.getStashed()))
        stash.push_back(values.lookup(value));
      iterations.pop_back();
    }
    for (auto [value, datum] : llvm::zip(op.getCarried(), carried))
      values[value] = datum;
    for (auto [value, stash] : llvm::zip(op.getStashed(), stashes)) {
      if (op.getReverse()) // slices are found by iteration
        std::reverse(stash.begin(), stash.end());
      values[value] = {nullptr, std::make_shared<std::vector<Datum>>(std::move(stash))};
    }
    return llvm::Error::success();
  }

  const StepInputs &inputs;
  bool backward;
  DenseMap<Value, Datum> values;
  SmallVector<std::pair<int64_t, int64_t>> iterations; ///< that run now, of how many
};

} // namespace

const Kernels &Kernels::all() {
  static const Kernels kernels = [] {
    Kernels all;
    addContractions(all);
    addElementwise(all);
    addNormalizations(all);
    addMovement(all);
    addWindows(all);
    addLookups(all);
    addRecurrent(all);
    addExperts(all);
    return all;
  }();
  return kernels;
}

Shape shapeOf(Type type, int64_t batch) {
  Shape shape(cast<RankedTensorType>(type).getShape());
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = batch;
  return shape;
}

llvm::Expected<StepResult> interpret(dnn::TrainingGraphOp graph, const StepInputs &inputs,
                                     bool backward) {
  Step step(inputs, backward);
  if (llvm::Error error = step.run(graph))
    return error;
  return std::move(step.result);
}

} // namespace accord::interpret
