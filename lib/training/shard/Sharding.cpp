#include "lib/training/shard/Sharding.h"

using namespace mlir;

namespace accord::shard {

Type localType(Type type, Sharding sharding, int64_t devices) {
  if (sharding.kind != Sharding::Split)
    return type;
  if (auto stash = dyn_cast<dnn::StashType>(type))
    return dnn::StashType::get(type.getContext(), stash.getCount(), localType(stash.getElement(), sharding, devices));
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[sharding.dimension] /= devices;
  return RankedTensorType::get(shape, tensor.getElementType(), tensor.getEncoding());
}

bool divisible(Type type, int64_t dimension, int64_t devices) {
  if (auto stash = dyn_cast<dnn::StashType>(type))
    return divisible(stash.getElement(), dimension, devices);
  auto tensor = cast<RankedTensorType>(type);
  return dimension >= 0 && dimension < tensor.getRank() && !tensor.isDynamicDim(dimension) &&
         tensor.getDimSize(dimension) % devices == 0;
}

} // namespace accord::shard
