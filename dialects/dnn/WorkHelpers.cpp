#include "dialects/dnn/Dnn.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using utils::IteratorType;

namespace accord::dnn {
namespace {

SmallVector<Type> typesOf(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

/// Map to the tensor's dimensions from the domain dimensions `from`, extent-1 dimensions being fixed; null if they
/// differ.
AffineMap project(RankedTensorType type, ArrayRef<int64_t> domain, ArrayRef<int64_t> from) {
  if (type.getRank() != int64_t(from.size()))
    return {};
  MLIRContext *c = type.getContext();
  SmallVector<AffineExpr> exprs;
  for (auto [extent, d] : llvm::zip(type.getShape(), from)) {
    if (extent == domain[d])
      exprs.push_back(getAffineDimExpr(d, c));
    else if (extent == 1)
      exprs.push_back(getAffineConstantExpr(0, c));
    else
      return {};
  }
  return AffineMap::get(domain.size(), 0, exprs, c);
}

/// The generic guess: projection without `dropped`, right-aligned, left-aligned, else open.
AffineMap mapOf(Type type, ArrayRef<int64_t> domain, ArrayRef<int64_t> dropped) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, domain.size()));
  if (!dropped.empty()) {
    SmallVector<int64_t> rest;
    for (int64_t d : all)
      if (!llvm::is_contained(dropped, d))
        rest.push_back(d);
    if (AffineMap map = project(tensor, domain, rest))
      return map;
  }
  size_t rank = tensor.getRank();
  if (rank <= domain.size()) {
    if (AffineMap map = project(tensor, domain, ArrayRef(all).take_back(rank)))
      return map;
    if (AffineMap map = project(tensor, domain, ArrayRef(all).take_front(rank)))
      return map;
  }
  return openMap(rank, domain.size(), type.getContext());
}

Work mapped(Operation *op, ArrayRef<int64_t> domain, ArrayRef<int64_t> dropped) {
  Work work;
  work.domain.assign(domain.begin(), domain.end());
  work.kinds.assign(domain.size(), IteratorType::parallel);
  for (Type type : typesOf(op))
    work.maps.push_back(mapOf(type, domain, dropped));
  return work;
}

} // namespace

AffineMap openMap(unsigned rank, unsigned dims, MLIRContext *context) {
  return AffineMap::get(dims, 0, SmallVector<AffineExpr>(rank, getAffineConstantExpr(0, context)), context);
}

Work statedWork(ArrayRef<int64_t> domain, ArrayAttr maps) {
  Work work;
  work.domain.assign(domain.begin(), domain.end());
  llvm::append_range(work.maps, maps.getAsValueRange<AffineMapAttr>());
  work.kinds = kindsOf(work.maps.back(), work.domain);
  return work;
}

Work stepWork(RankedTensorType type, int64_t copies, RowsAttr rows) {
  Work work;
  if (rows) { // the batch is that of the step
    work.domain = {ShapedType::kDynamic, rows.getLookups(), type.getDimSize(1)};
  } else {
    work.domain.push_back(copies);
    llvm::append_range(work.domain, type.getShape());
  }
  work.kinds.assign(work.domain.size(), IteratorType::parallel);
  return work;
}

Work pointwiseWork(Operation *op, RankedTensorType over) {
  if (!over)
    over = cast<RankedTensorType>(op->getResult(0).getType());
  return mapped(op, over.getShape(), {});
}

Work reduceWork(Operation *op, RankedTensorType over, ArrayRef<int64_t> dimensions, bool reduces) {
  Work work = mapped(op, over.getShape(), dimensions);
  if (reduces)
    for (int64_t d : dimensions)
      work.kinds[d] = IteratorType::reduction;
  return work;
}

Work alongWork(Operation *op, RankedTensorType over, int64_t axis) {
  return reduceWork(op, over, {tensorDimension(axis, over)});
}

Work transposeWork(Operation *op, ArrayRef<int64_t> permutation) {
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  auto y = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t batch = batchRank(x);
  SmallVector<int64_t> from(x.getRank());
  if (batch)
    from[0] = 0;
  for (auto [i, p] : llvm::enumerate(permutation))
    from[p + batch] = i + batch;
  Work work = mapped(op, y.getShape(), {});
  work.maps[0] = project(x, y.getShape(), from);
  return work;
}

Work stackWork(Operation *op, RankedTensorType whole, int64_t dimension) {
  MLIRContext *c = op->getContext();
  Work work;
  work.domain.assign(whole.getShape().begin(), whole.getShape().end());
  work.kinds.assign(work.domain.size(), IteratorType::parallel);
  SmallVector<AffineExpr> exprs{getAffineDimExpr(dimension, c)};
  for (int64_t d = 0; d < whole.getRank(); ++d)
    if (d != dimension)
      exprs.push_back(getAffineDimExpr(d, c));
  AffineMap identity = AffineMap::getMultiDimIdentityMap(whole.getRank(), c);
  AffineMap slices = AffineMap::get(whole.getRank(), 0, exprs, c);
  bool cuts = isa<UnstackOp>(op);
  work.maps.assign({cuts ? identity : slices, cuts ? slices : identity});
  return work;
}

Work normWork(Operation *op, unsigned x) {
  auto type = cast<RankedTensorType>(op->getOperand(x).getType());
  int64_t rank = type.getRank(), channel = batchRank(type);
  bool last = isa<LayerNormOp, RmsNormOp, LayerNormGradOp, RmsNormGradOp>(op);
  Work work = mapped(op, type.getShape(), {});
  for (int64_t d = 0; d < rank; ++d)
    if (last ? d == rank - 1 : isa<BatchNormOp, BatchNormGradOp>(op) ? d != channel : d >= channel)
      work.kinds[d] = IteratorType::reduction;
  AffineMap affine = AffineMap::get(rank, 0, getAffineDimExpr(last ? rank - 1 : channel, op->getContext()));
  for (auto [i, t] : llvm::enumerate(typesOf(op)))
    if (cast<RankedTensorType>(t).getRank() == 1 && rank > 1)
      work.maps[i] = affine;
  return work;
}

Work channelWork(Operation *op, RankedTensorType x) {
  Work work = mapped(op, x.getShape(), {});
  int64_t rank = x.getRank(), channel = std::min(batchRank(x), rank - 1);
  MLIRContext *c = op->getContext();
  for (auto [map, type] : llvm::zip(work.maps, typesOf(op)))
    if (auto vector = cast<RankedTensorType>(type); vector.getRank() == 1 && rank > 1)
      map = AffineMap::get(rank, 0,
                           vector.getDimSize(0) == 1 ? getAffineConstantExpr(0, c) : getAffineDimExpr(channel, c));
  return work;
}

Work neighbourWork(Operation *op) {
  Work work = pointwiseWork(op);
  work.kinds[batchRank(cast<RankedTensorType>(op->getResult(0).getType()))] = IteratorType::reduction;
  return work;
}

Work globalPoolWork(Operation *op, RankedTensorType in) {
  return reduceWork(op, in, llvm::to_vector(llvm::seq<int64_t>(2, in.getRank())));
}

Work windowWork(Operation *op, RankedTensorType in, RankedTensorType out, Attribute kernelOf, Attribute strideOf,
                Attribute paddingOf) {
  size_t dims = out.getRank() - 2, all = out.getRank() + dims;
  Extents kernel = asExtents(kernelOf, dims), stride = asExtents(strideOf, dims);
  Padding padding = asPadding(paddingOf, dims);
  MLIRContext *c = op->getContext();
  Work work;
  work.domain.assign(out.getShape().begin(), out.getShape().end());
  work.domain.append(kernel.begin(), kernel.end());
  work.kinds.assign(dims + 2, IteratorType::parallel);
  work.kinds.append(dims, IteratorType::reduction);
  SmallVector<AffineExpr> outExprs, inExprs;
  for (size_t i = 0; i < dims + 2; ++i) {
    outExprs.push_back(getAffineDimExpr(i, c));
    inExprs.push_back(i < 2 ? outExprs.back()
                            : outExprs.back() * stride[i - 2] + getAffineDimExpr(i + dims, c) - padding.before[i - 2]);
  }
  AffineMap outMap = AffineMap::get(all, 0, outExprs, c), inMap = AffineMap::get(all, 0, inExprs, c);
  for (Type type : typesOf(op))
    work.maps.push_back(type == out ? outMap : inMap);
  return work;
}

int64_t neighbourFlops(RankedTensorType x) { return int64_t(2) << std::clamp<int64_t>(x.getRank() - 2, 0, 3); }

Work interactionWork(Operation *op, RankedTensorType pairs, RankedTensorType x) {
  SmallVector<int64_t> domain(pairs.getShape());
  domain.push_back(x.getShape().back());
  Work work = mapped(op, domain, {});
  work.kinds.back() = IteratorType::reduction;
  for (AffineMap &map : work.maps) // x and dx: two rows of it meet in a pair
    if (map.getNumResults() == domain.size())
      map = AffineMap::get(domain.size(), 0,
                           {getAffineDimExpr(0, op->getContext()), getAffineConstantExpr(0, op->getContext()),
                            getAffineDimExpr(2, op->getContext())},
                           op->getContext());
  return work;
}

Work dataDependentWork(Work work, ArrayRef<unsigned> opened) {
  for (unsigned i : opened)
    work.maps[i] = openMap(work.maps[i].getNumResults(), work.domain.size(), work.maps[i].getContext());
  return work;
}

Work bagWork(Operation *op, RankedTensorType ids, RankedTensorType y) {
  SmallVector<int64_t> domain(ids.getShape());
  domain.push_back(y.getShape().back());
  int64_t bag = domain.size() - 2;
  Work work = mapped(op, domain, {bag});
  work.kinds[bag] = IteratorType::reduction;
  return dataDependentWork(std::move(work), {isa<EmbeddingBagOp>(op) ? 1u : 2u});
}

Work spmmWork(Operation *op, RankedTensorType columns, RankedTensorType dense) {
  SmallVector<int64_t> domain(columns.getShape());
  domain.push_back(dense.getShape().back());
  Work work = mapped(op, domain, {});
  work.kinds[domain.size() - 2] = IteratorType::reduction;
  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, work.maps.size()));
  return dataDependentWork(std::move(work), all);
}

Work recurrentWork(Operation *op, RankedTensorType x, RankedTensorType wIh, RankedTensorType wHh) {
  SmallVector<int64_t> domain(x.getShape().drop_back());
  int64_t rows = 1; // of both directions
  for (int64_t extent : wIh.getShape().drop_back())
    rows *= extent;
  domain.append({rows, wIh.getShape().back() + wHh.getShape().back()});
  Work work = mapped(op, domain, {});
  work.kinds[domain.size() - 3] = IteratorType::reduction; // each step needs the one before
  work.kinds.back() = IteratorType::reduction;
  // x, y and what is kept are read by step; where in a weight depends on direction, gate, and input or state.
  MLIRContext *c = op->getContext();
  int64_t rank = domain.size();
  for (auto [map, type] : llvm::zip(work.maps, typesOf(op))) {
    auto tensor = cast<RankedTensorType>(type);
    bool perStep = tensor.getRank() + 1 == rank && tensor.getShape().drop_back() == x.getShape().drop_back();
    SmallVector<AffineExpr> exprs(map.getNumResults(), getAffineConstantExpr(0, c));
    if (perStep)
      for (int64_t d = 0; d + 2 < rank; ++d)
        exprs[d] = getAffineDimExpr(d, c);
    map = AffineMap::get(rank, 0, exprs, c);
  }
  return work;
}

Work lossWork(Operation *op) {
  auto over = cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, over.getRank()));
  Work work = mapped(op, over.getShape(), {});
  work.kinds.assign(all.size(), IteratorType::reduction);
  return work;
}

Work sampleWork(Operation *op) {
  Work work;
  MLIRContext *c = op->getContext();
  auto batched = [](Type type) { return batchRank(cast<RankedTensorType>(type)) > 0; };
  bool samples = llvm::any_of(op->getOperandTypes(), batched);
  bool all = llvm::all_of(op->getResultTypes(), batched);
  work.domain.push_back(samples ? ShapedType::kDynamic : 1);
  work.kinds.push_back(samples && !all ? IteratorType::reduction : IteratorType::parallel);
  for (Type type : typesOf(op)) {
    SmallVector<AffineExpr> exprs(cast<RankedTensorType>(type).getRank(), getAffineConstantExpr(0, c));
    if (batched(type))
      exprs[0] = getAffineDimExpr(0, c);
    work.maps.push_back(AffineMap::get(1, 0, exprs, c));
  }
  return work;
}

SmallVector<IteratorType> kindsOf(AffineMap result, ArrayRef<int64_t> domain) {
  SmallVector<IteratorType> kinds(domain.size(), IteratorType::reduction);
  SmallVector<unsigned> uses(domain.size(), 0);
  for (AffineExpr expr : result.getResults()) {
    SmallVector<std::pair<int64_t, unsigned>> terms; // coefficient, dimension
    expr.walk([&](AffineExpr e) {
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        terms.push_back({1, dim.getPosition()});
    });
    if (terms.size() > 1)
      for (auto &[coefficient, position] : terms) {
        // The coefficient is the slope along the dimension.
        SmallVector<AffineExpr> at0, at1;
        for (unsigned i = 0; i < domain.size(); ++i) {
          at0.push_back(getAffineConstantExpr(0, result.getContext()));
          at1.push_back(getAffineConstantExpr(i == position, result.getContext()));
        }
        auto v0 = dyn_cast<AffineConstantExpr>(expr.replaceDims(at0));
        auto v1 = dyn_cast<AffineConstantExpr>(expr.replaceDims(at1));
        coefficient = v0 && v1 ? v1.getValue() - v0.getValue() : 0;
      }
    llvm::sort(terms);
    int64_t reach = 0; // largest sum of the terms so far
    bool distinct = true;
    for (auto [coefficient, position] : terms) {
      ++uses[position];
      distinct &= coefficient > reach;
      if (!ShapedType::isDynamic(domain[position]))
        reach += coefficient * (domain[position] - 1);
    }
    if (distinct)
      for (auto [coefficient, position] : terms)
        kinds[position] = IteratorType::parallel;
  }
  for (auto [kind, count] : llvm::zip(kinds, uses))
    if (count != 1)
      kind = IteratorType::reduction;
  return kinds;
}

double distinctRows(int64_t lookups, int64_t rows, double skew) {
  // Ranks from..to-1 stand for the one in their middle.
  struct Ranks {
    double middle, count;
  };
  SmallVector<Ranks> all;
  for (int64_t from = 1; from <= rows;) {
    int64_t to = from < 4096 ? from + 1 : std::min(rows + 1, from + from / 100);
    all.push_back({(double(from) + to - 1) / 2, double(to - from)});
    from = to;
  }
  double sum = 0, distinct = 0;
  for (const Ranks &r : all)
    sum += r.count * std::pow(r.middle, -skew);
  for (const Ranks &r : all) {
    double p = std::pow(r.middle, -skew) / sum;
    distinct += p < 1 ? -r.count * std::expm1(lookups * std::log1p(-p)) : r.count;
  }
  return distinct;
}

std::optional<int64_t> touchedBytes(RankedTensorType ids, RankedTensorType table, int64_t batch, FloatAttr skew) {
  std::optional<int64_t> row = volume(table.getShape().drop_front(), batch), rows = volume(ids.getShape(), batch);
  if (skew && rows)
    rows = std::llround(distinctRows(*rows, table.getDimSize(0), skew.getValueAsDouble()));
  return checkedMultiply(checkedMultiply(rows, row), elementBytes(table.getElementType()));
}

} // namespace accord::dnn

namespace accord {

std::optional<int64_t> bytesOf(Type type, int64_t batch) {
  if (auto stash = dyn_cast<dnn::StashType>(type))
    return checkedMultiply(stash.getCount(), bytesOf(stash.getElement(), batch));
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && isa_and_nonnull<dnn::RowsAttr>(tensor.getEncoding()))
    return dnn::sparseBytes(tensor, cast<dnn::RowsAttr>(tensor.getEncoding()), tensor.getElementType(), batch);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return checkedMultiply(volume(tensor.getShape(), batch), elementBytes(tensor.getElementType()));
  return 0;
}

std::optional<int64_t> bytesOf(TypeRange types, int64_t batch) {
  std::optional<int64_t> sum = 0;
  for (Type type : types)
    sum = checkedAdd(sum, bytesOf(type, batch));
  return sum;
}

} // namespace accord
