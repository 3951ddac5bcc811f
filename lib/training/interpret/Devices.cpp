#include "lib/training/interpret/Devices.h"
#include "lib/training/interpret/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::interpret {

Devices::Devices(dnn::TrainingGraphOp graph) {
  devices.emplace_back();
  auto grid = graph->getAttrOfType<DictionaryAttr>(dnn::DnnDialect::kAxesAttr);
  if (!grid)
    return;
  for (NamedAttribute axis : grid) {
    int64_t size = cast<IntegerAttr>(axis.getValue()).getInt();
    axes.push_back({axis.getName().str(), size});
    std::vector<Device> more;
    for (const Device &device : devices)
      for (int64_t rank = 0; rank < size; ++rank) {
        more.push_back(device);
        more.back().ranks[axis.getName()] = rank;
      }
    devices = std::move(more);
  }
}

std::vector<size_t> Devices::group(size_t device, llvm::StringRef axis) const {
  size_t stride = 1, size = 1;
  for (const auto &[name, extent] : llvm::reverse(axes)) {
    if (name == axis) {
      size = extent;
      break;
    }
    stride *= extent;
  }
  size_t first = device - device / stride % size * stride;
  std::vector<size_t> members;
  for (size_t rank = 0; rank < size; ++rank)
    members.push_back(first + rank * stride);
  return members;
}

llvm::SmallVector<dnn::PartAttr> partsOf(Operation *op) {
  auto parts = op->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kPartsAttr);
  return parts ? llvm::to_vector(parts.getAsRange<dnn::PartAttr>()) : llvm::SmallVector<dnn::PartAttr>();
}

llvm::SmallVector<Extent> extentsOf(Operation *op, llvm::ArrayRef<int64_t> local, const Device &device) {
  llvm::SmallVector<Extent> extents;
  for (int64_t extent : local)
    extents.push_back({0, extent});
  // A later split of a dimension cuts the parts of an earlier one.
  llvm::SmallVector<dnn::PartAttr> parts = partsOf(op);
  for (dnn::PartAttr part : llvm::reverse(parts)) {
    Extent &extent = extents[part.getDimension()];
    extent.offset += device.ranks.lookup(part.getAxis()) * extent.whole;
    extent.whole *= part.getDevices();
  }
  return extents;
}

llvm::SmallVector<dnn::PartAttr> inputPartsOf(BlockArgument input) {
  Operation *graph = input.getOwner()->getParentOp()->getParentOp();
  auto parts = graph->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kInputPartsAttr);
  if (!parts)
    return {};
  return llvm::to_vector(cast<ArrayAttr>(parts[input.getArgNumber()]).getAsRange<dnn::PartAttr>());
}

Shape globalShape(BlockArgument input, int64_t batch) {
  Shape shape = shapeOf(input.getType(), batch);
  for (dnn::PartAttr part : inputPartsOf(input))
    shape[part.getDimension()] *= part.getDevices();
  return shape;
}

Shape globalShape(dnn::ParameterOp parameter) {
  Shape shape(parameter.getTensorType().getShape());
  for (dnn::PartAttr part : partsOf(parameter))
    shape[part.getDimension()] *= part.getDevices();
  return shape;
}

/// The index in the whole of an index in a part.
static Index moved(IndexRef index, llvm::ArrayRef<Extent> extents) {
  Index result(index);
  for (size_t d = 0; d < result.size(); ++d)
    result[d] += extents[d].offset;
  return result;
}

Array cut(const Array &whole, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Extent> extents) {
  Array part(shape);
  forEach(shape, [&](IndexRef i) { part(i) = whole(moved(i, extents)); });
  return part;
}
void paste(const Array &part, llvm::ArrayRef<Extent> extents, Array &whole) {
  forEach(part.shape, [&](IndexRef i) { whole(moved(i, extents)) = part(i); });
}

namespace {

Array sumOf(llvm::ArrayRef<const Array *> operands) {
  Array sum(operands[0]->shape);
  for (const Array *operand : operands)
    for (size_t i = 0; i < sum.data.size(); ++i)
      sum.data[i] += operand->data[i];
  return sum;
}
/// Part `which` along dimension `d`; if `stacked`, its one entry without the dimension.
Array partOf(const Array &whole, int64_t d, bool stacked, int64_t devices, int64_t which) {
  size_t at = d;
  Shape shape = whole.shape;
  shape[at] /= devices;
  llvm::SmallVector<Extent> extents(shape.size());
  extents[at].offset = which * shape[at];
  Array part = cut(whole, shape, extents);
  if (stacked)
    part.shape.erase(part.shape.begin() + d);
  return part;
}
/// Puts `part` where rank `which` belongs along dimension `d`, a new one if `stacked`.
void join(Array part, int64_t d, bool stacked, int64_t which, Array &whole) {
  size_t at = d;
  if (stacked)
    part.shape.insert(part.shape.begin() + d, 1);
  llvm::SmallVector<Extent> extents(part.shape.size());
  extents[at].offset = which * part.shape[at];
  paste(part, extents, whole);
}

} // namespace

Array collective(Operation *op, llvm::ArrayRef<const Array *> operands, int64_t rank, llvm::ArrayRef<int64_t> shape) {
  int64_t devices = operands.size();
  Array result(shape);
  TypeSwitch<Operation *>(op)
      .Case([&](dnn::AllReduceOp one) {
        result = sumOf(operands);
        if (one.getMean())
          for (double &x : result.data)
            x /= devices;
      })
      .Case([&](dnn::AllGatherOp one) {
        for (int64_t from = 0; from < devices; ++from)
          join(*operands[from], one.getDimension(), one.getStacked(), from, result);
      })
      .Case([&](dnn::ReduceScatterOp one) {
        result = partOf(sumOf(operands), one.getDimension(), one.getStacked(), devices, rank);
      })
      .Case([&](dnn::TakePartOp one) { result = partOf(*operands[rank], one.getDimension(), false, devices, rank); })
      .Case([&](dnn::AllToAllOp one) {
        for (int64_t from = 0; from < devices; ++from)
          join(partOf(*operands[from], one.getSplit(), one.getSplitStacked(), devices, rank), one.getJoin(),
               one.getJoinStacked(), from, result);
      });
  return result;
}

} // namespace accord::interpret
