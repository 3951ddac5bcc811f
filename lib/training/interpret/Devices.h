// Several devices that run one step together, and which parts of the arrays each of them has.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/training/interpret/Array.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace accord::interpret {

/// The rank of one device on each axis.
struct Device {
  llvm::StringMap<int64_t> ranks;
};

/// All devices of a training graph: the grid of its attribute `dnn.axes`, e.g. {data = 2, tensor = 4}; one device
/// without it.
class Devices {
public:
  explicit Devices(dnn::TrainingGraphOp graph);
  size_t count() const { return devices.size(); }
  const Device &operator[](size_t i) const { return devices[i]; }
  /// The devices that differ from `device` in their rank on `axis` alone, by rank; `device` is one of them.
  std::vector<size_t> group(size_t device, llvm::StringRef axis) const;

private:
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<Device> devices;
};

/// The parts (`dnn.parts`) that an operation or a parameter states.
llvm::SmallVector<dnn::PartAttr> partsOf(mlir::Operation *op);
/// What a device lacks of a dimension before its part begins, and the extent of the whole.
struct Extent {
  int64_t offset = 0, whole = 0;
};
/// Of each dimension of an array of shape `local`, whose parts `op` states.
llvm::SmallVector<Extent> extentsOf(mlir::Operation *op, llvm::ArrayRef<int64_t> local, const Device &device);
/// The parts of an input of a micro-batch that are on one device.
llvm::SmallVector<dnn::PartAttr> inputPartsOf(mlir::BlockArgument input);
/// The shape of the whole input, for a batch.
Shape globalShape(mlir::BlockArgument input, int64_t batch);
/// The shape of the whole parameter, of which the graph's parameter may be a part.
Shape globalShape(dnn::ParameterOp parameter);

/// The elements of `whole` from `extents[d].offset`, `shape[d]` of them along each dimension d.
Array cut(const Array &whole, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Extent> extents);
/// The reverse: writes `part` into `whole`.
void paste(const Array &part, llvm::ArrayRef<Extent> extents, Array &whole);

/// What a collective gives the device of rank `rank` in a group, from the operands of the group by rank. `op` is
/// dnn.all_reduce, all_gather, reduce_scatter, all_to_all or take_part.
Array collective(mlir::Operation *op, llvm::ArrayRef<const Array *> operands, int64_t rank,
                 llvm::ArrayRef<int64_t> shape);

} // namespace accord::interpret
