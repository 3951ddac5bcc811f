#include "dialects/interfaces/WorkOpInterface.h"
#include "dialects/interfaces/DifferentiableOpInterface.h"

using namespace mlir;
#include "dialects/interfaces/DifferentiableOpInterface.cpp.inc"
#include "dialects/interfaces/WorkOpInterface.cpp.inc"

namespace accord {

std::optional<int64_t> checkedMultiply(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product))
    return std::nullopt;
  return product;
}

std::optional<int64_t> checkedAdd(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum))
    return std::nullopt;
  return sum;
}

std::optional<int64_t> volume(ArrayRef<int64_t> extents, int64_t batch) {
  std::optional<int64_t> product = 1;
  if (llvm::is_contained(extents, 0))
    return 0;
  for (int64_t extent : extents)
    product = checkedMultiply(product, ShapedType::isDynamic(extent) ? batch : extent);
  return product;
}

int64_t elementBytes(Type element) {
  if (isa<FloatTF32Type>(element))
    return 4;
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 0;
}

std::optional<int64_t> flopsOfDomain(Operation *op, int64_t batch) {
  auto work = cast<WorkOpInterface>(op);
  int64_t perPoint = work.getFlopsPerPoint();
  if (perPoint == 0)
    return 0;
  return checkedMultiply(volume(work.getWork().domain, batch), perPoint);
}

} // namespace accord
