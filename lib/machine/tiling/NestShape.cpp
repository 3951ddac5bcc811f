#include "lib/machine/tiling/NestShape.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace accord::tile {
namespace {

double sumOver(const ShapeTensor::Component &component, const Split *splits, size_t at, int64_t *extents) {
  if (at == component.loops.size()) {
    double product = 1;
    for (const ShapeDimension &dimension : component.dimensions)
      product *= dimension.positions(extents);
    return product;
  }
  unsigned loop = component.loops[at];
  const Split &split = splits[loop];
  double sum = 0;
  for (unsigned kind = 0; kind < split.kinds; ++kind) {
    extents[loop] = split.size[kind];
    sum += split.times[kind] * sumOver(component, splits, at + 1, extents);
  }
  return sum;
}

} // namespace

double ShapeDimension::positions(const int64_t *extents) const {
  double found = 1;
  if (terms.size() == 1) {
    found = extents[terms[0].loop];
  } else if (terms.size() == 2) {
    double t = extents[terms[0].loop], k = extents[terms[1].loop], s = terms[0].stride, d = terms[1].stride;
    found = t * k - std::max(0.0, t - d) * std::max(0.0, k - s);
  } else if (!terms.empty()) {
    double product = 1, box = 1;
    for (const Term &term : terms) {
      double t = extents[term.loop];
      product *= t;
      box += term.stride * (t - 1);
    }
    found = std::min(product, box);
  }
  return std::min(found, cap);
}

ShapeTensor::ShapeTensor(const NestTensor &from) : bits(from.elementBits), written(from.written) {
  for (size_t d = 0; d < from.dimensions.size(); ++d) {
    ShapeDimension dimension;
    dimension.cap = d < from.sizes.size() && from.sizes[d] > 0 ? static_cast<double>(from.sizes[d])
                                                               : std::numeric_limits<double>::infinity();
    int64_t factor = 0;
    for (const Term &term : from.dimensions[d]) {
      // The least int64 has no absolute value; one below it is as far apart.
      int64_t stride = term.stride == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                                          : std::abs(term.stride);
      if (stride == 0)
        continue;
      auto same = std::find_if(dimension.terms.begin(), dimension.terms.end(),
                               [&](const Term &t) { return t.loop == term.loop; });
      if (same == dimension.terms.end())
        dimension.terms.push_back({term.loop, stride});
      else if (__builtin_add_overflow(same->stride, stride, &same->stride))
        same->stride = std::numeric_limits<int64_t>::max();
    }
    for (const Term &term : dimension.terms)
      factor = std::gcd(factor, term.stride);
    for (Term &term : dimension.terms)
      term.stride /= factor;
    if (dimension.terms.empty())
      continue;
    // Join with the components that share a loop.
    Component joined;
    for (const Term &term : dimension.terms)
      joined.loops.push_back(term.loop);
    joined.dimensions.push_back(std::move(dimension));
    for (size_t c = 0; c < components.size();) {
      bool shares = std::any_of(components[c].loops.begin(), components[c].loops.end(), [&](unsigned loop) {
        return std::find(joined.loops.begin(), joined.loops.end(), loop) != joined.loops.end();
      });
      if (!shares) {
        ++c;
        continue;
      }
      for (unsigned loop : components[c].loops)
        if (std::find(joined.loops.begin(), joined.loops.end(), loop) == joined.loops.end())
          joined.loops.push_back(loop);
      for (ShapeDimension &other : components[c].dimensions)
        joined.dimensions.push_back(std::move(other));
      components.erase(components.begin() + static_cast<std::ptrdiff_t>(c));
    }
    components.push_back(std::move(joined));
  }
  for (const Component &component : components)
    shrinksByLoop &= component.dimensions.size() == 1 && component.dimensions[0].terms.size() < 3;
  for (const Component &component : components)
    for (unsigned loop : component.loops)
      loops |= uint32_t(1) << loop;
}

double ShapeTensor::elements(const int64_t *extents) const {
  double product = 1;
  for (const Component &component : components)
    for (const ShapeDimension &dimension : component.dimensions)
      product *= dimension.positions(extents);
  return product;
}

double ShapeTensor::sum(const Split *splits) const {
  double product = 1;
  int64_t extents[kMaxLoops];
  for (const Component &component : components) {
    const ShapeDimension &first = component.dimensions.front();
    // By far the commonest: one loop alone, whose tiles add up to the extent.
    if (component.loops.size() == 1 && component.dimensions.size() == 1 && std::isinf(first.cap))
      product *= splits[component.loops[0]].extent;
    else
      product *= sumOver(component, splits, 0, extents);
  }
  return product;
}

Shape::Shape(const Nest &nest) : indexes(nest.loops.size(), 0) {
  for (const NestLoop &loop : nest.loops)
    extents.push_back(loop.extent);
  for (const NestTensor &tensor : nest.tensors) {
    ShapeTensor shape(tensor);
    for (unsigned i = 0; i < indexes.size(); ++i)
      if (shape.loops >> i & 1)
        indexes[i] |= uint32_t(1) << tensors.size();
    shape.whole = shape.elements(extents.data());
    tensors.push_back(std::move(shape));
  }
}

double Shape::footprintBits(const int64_t *tile) const {
  double sum = 0;
  for (const ShapeTensor &tensor : tensors)
    sum += tensor.bits * tensor.elements(tile);
  return sum;
}

} // namespace accord::tile
