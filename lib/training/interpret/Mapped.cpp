// Operations that are defined by their indexing maps.
#include "dialects/dnn/Scalar.h"
#include "lib/training/interpret/Kernels.h"
#include <limits>

namespace accord::interpret {
namespace {

using Maps = llvm::SmallVector<mlir::AffineMap>;

Maps mapsOf(mlir::ArrayAttr attribute) {
  Maps maps;
  for (auto map : attribute.getAsRange<mlir::AffineMapAttr>())
    maps.push_back(map.getValue());
  return maps;
}

/// The extents of the domain; the batch is that of whatever tensor walks it.
Shape domainOf(llvm::ArrayRef<int64_t> extents, const Maps &maps, Inputs in, const Array &result) {
  Shape domain(extents);
  llvm::SmallVector<const Array *> tensors(in);
  tensors.push_back(&result);
  for (auto [i, extent] : llvm::enumerate(domain))
    if (mlir::ShapedType::isDynamic(extent))
      for (auto [tensor, map] : llvm::zip(tensors, maps))
        for (auto [expr, of] : llvm::zip(map.getResults(), tensor->shape))
          if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr); dim && dim.getPosition() == i)
            extent = of;
  return domain;
}

void contract(dnn::ContractOp op, Inputs in, Outputs out) {
  Maps maps = mapsOf(op.getMaps());
  auto inside = [](llvm::ArrayRef<int64_t> index, const Array &array) {
    for (auto [i, extent] : llvm::zip(index, array.shape))
      if (i < 0 || i >= extent)
        return false;
    return true;
  };
  forEach(domainOf(op.getDomain(), maps, in, out[0]), [&](llvm::ArrayRef<int64_t> point) {
    auto a = maps[0].compose(point), b = maps[1].compose(point), y = maps[2].compose(point);
    if (inside(a, *in[0]) && inside(b, *in[1]) && inside(y, out[0]))
      out[0](y) += (*in[0])(a) * (*in[1])(b);
  });
}

void custom(dnn::CustomOp op, Inputs in, Outputs out) {
  Maps maps = mapsOf(op.getMaps());
  dnn::ScalarProgram body(op.getBody());
  dnn::Combine combine = op.getCombine();
  double infinity = std::numeric_limits<double>::infinity();
  if (combine != dnn::Combine::Sum)
    llvm::fill(out[0].data, combine == dnn::Combine::Max ? -infinity : infinity);
  llvm::SmallVector<double> elements(in.size());
  forEach(domainOf(op.getDomain(), maps, in, out[0]), [&](llvm::ArrayRef<int64_t> point) {
    for (auto [element, map, array] : llvm::zip(elements, maps, in))
      element = (*array)(map.compose(point));
    double &result = out[0](maps.back().compose(point)), value = body(elements, point);
    result = combine == dnn::Combine::Sum   ? result + value
             : combine == dnn::Combine::Max ? std::max(result, value)
                                            : std::min(result, value);
  });
}

} // namespace

void addMapped(Kernels &kernels) {
  kernels.add<dnn::ContractOp>(contract);
  kernels.add<dnn::CustomOp>(custom);
}

} // namespace accord::interpret
