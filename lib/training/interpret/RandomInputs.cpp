// Values for a step that nobody gave values: what ids may be is found where they are used.
#include "lib/training/interpret/Devices.h"
#include "lib/training/interpret/Interpreter.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <random>

using namespace mlir;

namespace accord::interpret {
namespace {

int64_t axisExtent(Value of, int64_t axis) {
  auto type = cast<RankedTensorType>(of.getType());
  return type.getDimSize(dnn::tensorDimension(axis, type));
}

/// Of a dimension of which the operation may have a part.
int64_t wholeExtent(Operation *op, llvm::ArrayRef<int64_t> local, size_t dimension) {
  return extentsOf(op, local, Device())[dimension].whole;
}

struct Bounds {
  int64_t max = 1 << 20; ///< ids lie below
  bool offsets = false;  ///< ascending, from 0 to `most`
};

/// What all uses of a tensor of ids allow; ids pass through reshapes and repeats unchanged.
void narrow(Value ids, Bounds &bounds) {
  for (OpOperand &use : ids.getUses()) {
    Operation *user = use.getOwner();
    auto below = [&](int64_t extent) { bounds.max = std::min(bounds.max, extent); };
    TypeSwitch<Operation *>(user)
        .Case<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(
            [&](auto op) { below(wholeExtent(op, op.getTable().getType().getShape(), 0)); })
        .Case([&](dnn::CrossEntropyStatsOp op) {
          auto shape = op.getLogits().getType().getShape();
          if (use.getOperandNumber() == 1)
            below(wholeExtent(op, shape, shape.size() - 1));
        })
        .Case([&](dnn::AllGatherOp op) { narrow(op.getY(), bounds); })
        .Case<dnn::GatherOp, dnn::ScatterOp>([&](auto op) { below(axisExtent(op.getX(), op.getAxis())); })
        .Case([&](dnn::MoeCombineOp op) {
          if (use.getOperandNumber() == 1)
            below(accord::volume(*op.getDims(), 1).value_or(1));
        })
        .Case([&](dnn::SegmentSumOp op) { below(axisExtent(op.getY(), 0)); })
        .Case([&](dnn::SegmentSoftmaxOp op) { below(*op.getSegments()); })
        .Case([&](dnn::CrossEntropyOp op) {
          if (use.getOperandNumber() == 1)
            below(op.getLogits().getType().getShape().back());
        })
        .Case([&](dnn::SpmmOp op) {
          if (use.getOperandNumber() == 0) {
            bounds.offsets = true;
            below(op.getColumns().getType().getShape().back());
          } else if (use.getOperandNumber() == 1) {
            below(axisExtent(op.getDense(), 0));
          }
        })
        .Case<dnn::ReshapeOp, dnn::TransposeOp, dnn::SliceOp>([&](auto op) { narrow(op.getY(), bounds); })
        .Case([&](dnn::SplitOp op) {
          for (Value piece : op.getYs())
            narrow(piece, bounds);
        });
  }
}

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// In (-1, 1); the standard's distributions differ between libraries.
  double real() { return (engine() >> 11) * 0x1p-52 - 1; }
  int64_t below(int64_t max) { return engine() % static_cast<uint64_t>(max); }

private:
  std::mt19937_64 engine;
};

Array idsOf(BlockArgument argument, int64_t batch, Random &random) {
  Bounds bounds;
  narrow(argument, bounds);
  Array array(globalShape(argument, batch));
  for (double &x : array.data)
    x = random.below(bounds.max + bounds.offsets);
  if (bounds.offsets) {
    auto row = array.shape.back();
    for (int64_t begin = 0; begin < array.size(); begin += row) {
      auto first = array.data.begin() + begin, last = first + row;
      *first = 0;
      *(last - 1) = bounds.max;
      std::sort(first, last);
    }
  }
  return array;
}

} // namespace

llvm::Expected<StepInputs> randomInputs(dnn::TrainingGraphOp graph, int64_t batch, uint64_t seed) {
  Random random(seed);
  StepInputs inputs;
  inputs.batch = batch;
  for (auto parameter : graph.getParameters()) {
    Copies &copies = inputs.parameters[parameter.getSymName().str()];
    auto given = parameter->getAttrOfType<DenseFPElementsAttr>("dnn.value");
    Shape shape = globalShape(parameter);
    if (given && given.getType().getShape() != llvm::ArrayRef(shape))
      return llvm::createStringError("the value of parameter '%s' has another shape",
                                     parameter.getSymName().str().c_str());
    for (int64_t copy = 0; copy < parameter.getCopies(); ++copy) {
      Array &array = copies.emplace_back(shape);
      for (double &x : array.data)
        x = random.real();
      if (given)
        for (auto [x, value] : llvm::zip(array.data, given.getValues<APFloat>()))
          x = value.convertToDouble();
    }
  }
  for (BlockArgument argument : graph.getMicrobatch().getBlock().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (isa<IntegerType>(type.getElementType())) {
      inputs.inputs.push_back(idsOf(argument, batch, random));
      continue;
    }
    Array &array = inputs.inputs.emplace_back(globalShape(argument, batch));
    for (double &x : array.data)
      x = random.real();
  }
  return inputs;
}

} // namespace accord::interpret
