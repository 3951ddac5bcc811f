#include "lib/training/interpret/Interpreter.h"
#include "lib/training/interpret/Kernels.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <memory>
#include <utility>

using namespace mlir;

namespace accord::interpret {
namespace {

/// An array, or what each iteration of a repeat kept.
struct Datum {
  Datum() = default;
  Datum(Array array) : array(std::make_shared<Array>(std::move(array))) {}
  Datum(std::vector<Datum> slices) : slices(std::make_shared<std::vector<Datum>>(std::move(slices))) {}
  std::shared_ptr<const Array> array;
  std::shared_ptr<const std::vector<Datum>> slices;
};

/// The step of all devices at once: each operation on every device, then the next operation.
class Step {
public:
  Step(dnn::TrainingGraphOp graph, const StepInputs &inputs, bool backward)
      : graph(graph), inputs(inputs), backward(backward), devices(graph), values(devices.count()),
        gradients(devices.count()), losses(devices.count()) {
    if (auto axes = graph->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kBatchAxesAttr))
      for (auto axis : axes.getAsRange<StringAttr>())
        batchAxes.push_back(axis.getValue());
  }

  llvm::Expected<StepResult> run() {
    for (auto parameter : graph.getParameters())
      for (auto &of : gradients)
        of[parameter.getSymName().str()].assign(parameter.getCopies(), Array(parameter.getTensorType().getShape()));
    if (llvm::Error error = takeInputs())
      return error;
    if (llvm::Error error = blockOf(graph.getMicrobatch().getBlock()))
      return error;
    if (backward)
      for (auto reduce : graph.getOptimizerStep().getBlock().getOps<dnn::GradientAllReduceOp>())
        allReduce(reduce);
    return whole();
  }

private:
  llvm::Error takeInputs() {
    Block &block = graph.getMicrobatch().getBlock();
    if (block.getNumArguments() != inputs.inputs.size())
      return llvm::createStringError("the step takes %u inputs, %zu are given", block.getNumArguments(),
                                     inputs.inputs.size());
    int64_t shares = 1;
    for (StringRef axis : batchAxes)
      shares *= devices.group(0, axis).size();
    if (inputs.batch % shares)
      return llvm::createStringError(Twine(shares) + " devices cannot share a batch of " + Twine(inputs.batch) +
                                     " equally");
    batch = inputs.batch / shares;
    for (auto [argument, input] : llvm::zip(block.getArguments(), inputs.inputs)) {
      if (input.shape != globalShape(argument, inputs.batch))
        return llvm::createStringError("input %u has another shape than the step takes", argument.getArgNumber());
      bool shared = dnn::batchRank(cast<RankedTensorType>(argument.getType()));
      for (size_t d = 0; d < devices.count(); ++d) {
        llvm::SmallVector<Extent> extents(input.shape.size());
        for (StringRef axis : batchAxes)
          if (shared)
            extents[0].offset =
                extents[0].offset * int64_t(devices.group(d, axis).size()) + devices[d].ranks.lookup(axis) * batch;
        for (dnn::PartAttr part : inputPartsOf(argument))
          extents[part.getDimension()].offset =
              devices[d].ranks.lookup(part.getAxis()) * (input.shape[part.getDimension()] / part.getDevices());
        values[d][argument] = cut(input, shapeOf(argument.getType(), batch), extents);
      }
    }
    return llvm::Error::success();
  }

  llvm::Error blockOf(Block &block) {
    for (Operation &op : block) {
      if (auto loss = dyn_cast<dnn::LossOp>(op)) {
        for (size_t d = 0; d < devices.count(); ++d)
          losses[d] = values[d].lookup(loss.getValue()).array->data[0];
        if (!backward)
          return llvm::Error::success();
        continue;
      }
      if (isa<dnn::YieldOp>(op))
        continue;
      auto one = [&](auto op) { return structure(op); };
      if (llvm::Error error =
              TypeSwitch<Operation *, llvm::Error>(&op)
                  .Case<dnn::ReadOp, dnn::GradientOp, dnn::RepeatOp, dnn::FusedOp, dnn::UnstackOp, dnn::StackOp>(one)
                  .Case<dnn::AllReduceOp, dnn::AllGatherOp, dnn::ReduceScatterOp, dnn::AllToAllOp, dnn::TakePartOp>(
                      [&](auto op) { return communicate(op); })
                  .Default([&](Operation *op) { return compute(op); }))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error compute(Operation *op) {
    if (isa<dnn::ProfiledOp, dnn::ProfiledGradOp>(op))
      return llvm::createStringError("'%s' (%s) cannot be interpreted: only its time is known, not what it computes",
                                     dnn::nameOf(op).str().c_str(), op->getName().getStringRef().str().c_str());
    const Kernels::Kernel *kernel = Kernels::all().find(op->getName().getStringRef());
    if (!kernel)
      return llvm::createStringError("'%s' cannot be interpreted", op->getName().getStringRef().str().c_str());
    for (size_t d = 0; d < devices.count(); ++d) {
      SmallVector<const Array *> in;
      for (Value operand : op->getOperands())
        in.push_back(values[d].lookup(operand).array.get());
      SmallVector<Array> out;
      for (Value value : op->getResults())
        out.emplace_back(shapeOf(value.getType(), batch));
      (*kernel)(op, in, out, devices[d]);
      for (auto [value, array] : llvm::zip(op->getResults(), out))
        values[d][value] = std::move(array);
    }
    return llvm::Error::success();
  }

  template <typename OpTy> llvm::Error communicate(OpTy op) {
    for (size_t d = 0; d < devices.count(); ++d) {
      std::vector<size_t> group = devices.group(d, op.getAxis());
      if (std::cmp_not_equal(group.size(), op.getDevices()))
        return llvm::createStringError("'" + dnn::nameOf(op) + "' is for " + Twine(op.getDevices()) +
                                       " devices, its axis has " + Twine(group.size()));
      SmallVector<const Array *> operands;
      for (size_t member : group)
        operands.push_back(values[member].lookup(op.getX()).array.get());
      values[d][op.getY()] =
          collective(op, operands, devices[d].ranks.lookup(op.getAxis()), shapeOf(op.getY().getType(), batch));
    }
    return llvm::Error::success();
  }

  /// Which of `copies` belongs to the iterations that are running.
  size_t copy(size_t copies) const {
    size_t index = 0;
    for (auto [iteration, count] : iterations)
      index = index * count + iteration;
    return copies == 1 ? 0 : index;
  }

  llvm::Error structure(dnn::ReadOp op) {
    auto found = inputs.parameters.find(op.getParameter().str());
    if (found == inputs.parameters.end() || copy(found->second.size()) >= found->second.size())
      return llvm::createStringError("parameter '%s' has no value", op.getParameter().str().c_str());
    const Array &array = found->second[copy(found->second.size())];
    Operation *parameter = SymbolTable::lookupSymbolIn(graph, op.getParameterAttr());
    for (size_t d = 0; d < devices.count(); ++d) {
      ArrayRef<int64_t> shape = op.getType().getShape();
      values[d][op.getResult()] = cut(array, shape, extentsOf(parameter, shape, devices[d]));
    }
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::GradientOp op) {
    for (size_t d = 0; d < devices.count(); ++d) {
      Copies &copies = gradients[d][op.getParameter().str()];
      Array &sum = copies[copy(copies.size())];
      const Array &value = *values[d].lookup(op.getValue()).array;
      for (size_t i = 0; i < sum.data.size(); ++i)
        sum.data[i] += value.data[i];
    }
    return llvm::Error::success();
  }

  /// Calls `each(number of a slice, index in the slice, index in the whole)`.
  template <typename Each> static void forSlices(IndexRef whole, int64_t dimension, const Each &each) {
    forEach(whole, [&](IndexRef index) {
      Index inside(index);
      inside.erase(inside.begin() + dimension);
      each(index[dimension], inside, index);
    });
  }

  llvm::Error structure(dnn::UnstackOp op) {
    Type slice = op.getSlices().getType().getElement();
    for (auto &device : values) {
      const Array &x = *device.lookup(op.getX()).array;
      std::vector<Array> parts(op.getSlices().getType().getCount(), Array(shapeOf(slice, batch)));
      forSlices(x.shape, op.getDimension(),
                [&](size_t i, IndexRef inside, IndexRef index) { parts[i](inside) = x(index); });
      device[op.getSlices()] =
          std::vector<Datum>(std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    }
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::StackOp op) {
    for (auto &device : values) {
      const std::vector<Datum> &slices = *device.lookup(op.getSlices()).slices;
      Array y(shapeOf(op.getY().getType(), batch));
      forSlices(y.shape, op.getDimension(),
                [&](size_t i, IndexRef inside, IndexRef index) { y(index) = (*slices[i].array)(inside); });
      device[op.getY()] = std::move(y);
    }
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::FusedOp op) {
    for (auto &device : values)
      for (auto [argument, operand] : llvm::zip(op.getBody().getArguments(), op.getOperands()))
        device[argument] = device.lookup(operand);
    if (llvm::Error error = blockOf(op.getBlock()))
      return error;
    for (auto &device : values)
      for (auto [result, given] : llvm::zip(op.getResults(), op.getYield().getCarried()))
        device[result] = device.lookup(given);
    return llvm::Error::success();
  }

  llvm::Error structure(dnn::RepeatOp op) {
    std::vector<std::vector<std::vector<Datum>>> stashes(devices.count(),
                                                         std::vector<std::vector<Datum>>(op.getStashed().size()));
    std::vector<SmallVector<Datum>> carried(devices.count());
    for (size_t d = 0; d < devices.count(); ++d)
      for (Value init : op.getInits())
        carried[d].push_back(values[d].lookup(init));
    for (int64_t i = 0; i < op.getCount(); ++i) {
      int64_t iteration = op.getReverse() ? op.getCount() - 1 - i : i;
      iterations.push_back({iteration, op.getCount()});
      for (size_t d = 0; d < devices.count(); ++d) {
        for (auto [argument, value] : llvm::zip(op.getCarriedArguments(), carried[d]))
          values[d][argument] = value;
        for (auto [argument, stash] : llvm::zip(op.getUnstashedArguments(), op.getUnstashed()))
          values[d][argument] = (*values[d].lookup(stash).slices)[iteration];
      }
      if (llvm::Error error = blockOf(op.getBlock()))
        return error;
      dnn::YieldOp yield = op.getYield();
      for (size_t d = 0; d < devices.count(); ++d) {
        for (auto [value, next] : llvm::zip(carried[d], yield.getCarried()))
          value = values[d].lookup(next);
        for (auto [stash, value] : llvm::zip(stashes[d], yield.getStashed()))
          stash.push_back(values[d].lookup(value));
      }
      iterations.pop_back();
    }
    for (size_t d = 0; d < devices.count(); ++d) {
      for (auto [value, datum] : llvm::zip(op.getCarried(), carried[d]))
        values[d][value] = datum;
      for (auto [value, stash] : llvm::zip(op.getStashed(), stashes[d])) {
        if (op.getReverse()) // slices are found by iteration
          std::reverse(stash.begin(), stash.end());
        values[d][value] = std::move(stash);
      }
    }
    return llvm::Error::success();
  }

  void allReduce(dnn::GradientAllReduceOp op) {
    std::string name = op.getParameter().str();
    auto before = gradients;
    for (size_t d = 0; d < devices.count(); ++d)
      for (size_t copy = 0; copy < gradients[d][name].size(); ++copy)
        for (size_t i = 0; i < gradients[d][name][copy].data.size(); ++i) {
          double sum = 0;
          for (size_t member : devices.group(d, op.getAxis()))
            if (!op.getLocal() || member == d)
              sum += before[member][name][copy].data[i];
          gradients[d][name][copy].data[i] = sum / op.getDevices();
        }
  }

  /// The parts of all devices together. Devices that have the same part must have computed the same.
  llvm::Expected<StepResult> whole() {
    StepResult result;
    for (double loss : losses)
      result.loss += loss / losses.size();
    for (auto parameter : graph.getParameters()) {
      std::string name = parameter.getSymName().str();
      Shape shape = globalShape(parameter);
      Copies &copies = result.gradients[name];
      copies.assign(parameter.getCopies(), Array(shape));
      Array seen(shape);
      for (size_t d = 0; d < devices.count(); ++d) {
        ArrayRef<int64_t> local = parameter.getTensorType().getShape();
        llvm::SmallVector<Extent> extents = extentsOf(parameter, local, devices[d]);
        for (size_t copy = 0; copy < copies.size(); ++copy) {
          const Array &part = gradients[d][name][copy];
          if (d == 0 || cut(seen, local, extents).data[0] == 0) {
            paste(part, extents, copies[copy]);
          } else {
            Array other = cut(copies[copy], local, extents);
            for (size_t i = 0; i < part.data.size(); ++i)
              if (std::fabs(part.data[i] - other.data[i]) >
                  1e-9 * (std::fabs(part.data[i]) + std::fabs(other.data[i]) + 1e-6))
                return llvm::createStringError(
                    "devices that hold the same part of '%s' disagree about its gradient: %g and %g at element %zu",
                    name.c_str(), other.data[i], part.data[i], i);
          }
        }
        paste(Array(local, 1), extents, seen);
      }
    }
    return result;
  }

  dnn::TrainingGraphOp graph;
  const StepInputs &inputs;
  bool backward;
  int64_t batch = 1; ///< samples of one device
  Devices devices;
  SmallVector<StringRef> batchAxes;
  std::vector<DenseMap<Value, Datum>> values; ///< by device
  std::vector<std::map<std::string, Copies>> gradients;
  std::vector<double> losses;
  SmallVector<std::pair<int64_t, int64_t>> iterations; ///< that run now, of how many
};

} // namespace

const Kernels &Kernels::all() {
  static const Kernels kernels = [] {
    Kernels all;
    addAttention(all);
    addScans(all);
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

llvm::Expected<StepResult> interpret(dnn::TrainingGraphOp graph, const StepInputs &inputs, bool backward) {
  return Step(graph, inputs, backward).run();
}

/// Error of a central difference: h^2 * f''' / 6 + epsilon * |f| / h; both below 1e-9 of a gradient of order 1.
static constexpr double kStep = 2e-5;

llvm::Expected<DerivativeCheck> checkDerivatives(dnn::TrainingGraphOp graph, const StepInputs &inputs, int64_t max) {
  llvm::Expected<StepResult> result = interpret(graph, inputs);
  if (!result)
    return result.takeError();
  DerivativeCheck check;
  double largest = 0;
  for (const auto &[name, copies] : result->gradients)
    for (const Array &gradient : copies)
      for (double g : gradient.data)
        largest = std::max(largest, std::fabs(g));
  StepInputs moved = inputs;
  for (auto &[name, copies] : moved.parameters)
    for (size_t copy = 0; copy < copies.size(); ++copy) {
      const Array &gradient = result->gradients[name][copy];
      std::vector<double> &values = copies[copy].data;
      // Elements spread evenly over the whole.
      int64_t count = std::min<int64_t>(max, gradient.size());
      for (int64_t i = 0; i < count; ++i) {
        size_t at = i * gradient.size() / count;
        double here = values[at], losses[2];
        for (int side : {0, 1}) {
          values[at] = side ? here + kStep : here - kStep;
          llvm::Expected<StepResult> step = interpret(graph, moved, /*backward=*/false);
          if (!step)
            return step.takeError();
          losses[side] = step->loss;
        }
        values[at] = here;
        double expected = (losses[1] - losses[0]) / (2 * kStep), found = gradient.data[at];
        double scale = std::max({std::fabs(found), 1e-3 * largest, 1e-6});
        double error = std::fabs(expected - found) / scale;
        ++check.checked;
        if (!(error <= check.largestError)) {
          check.largestError = std::isnan(error) ? INFINITY : error;
          check.where = name + (copies.size() > 1 ? "[" + std::to_string(copy) + "]" : "") + ", element " +
                        std::to_string(at) + ": gradient " + std::to_string(found) + ", finite difference " +
                        std::to_string(expected);
        }
      }
    }
  return check;
}

} // namespace accord::interpret
