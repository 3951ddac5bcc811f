#include "lib/machine/tiling/Nest.h"
#include "lib/machine/tiling/NestShape.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace accord::tile {
namespace {

constexpr double kMax = 4.611686018427387904e18; // 2^62

std::optional<Error> refuse(std::string why) { return Error{Code::MalformedGraph, "loop nest " + std::move(why)}; }

/// Whether a loop of the nest is alone in every position it has, and each tensor has one at most.
bool standsAlone(const Nest &nest, unsigned loop) {
  for (const NestTensor &tensor : nest.tensors) {
    unsigned uses = 0;
    for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
      const auto &terms = tensor.dimensions[d];
      if (llvm::none_of(terms, [&](const Term &t) { return t.loop == loop && t.stride != 0; }))
        continue;
      ++uses;
      bool capped = d < tensor.sizes.size() && tensor.sizes[d] > 0 && tensor.sizes[d] < nest.loops[loop].extent;
      if (terms.size() > 1 || capped)
        return false;
    }
    if (uses > 1)
      return false;
  }
  return true;
}

uint64_t tensorsOf(const Nest &nest, unsigned loop) {
  uint64_t mask = 0;
  for (size_t t = 0; t < nest.tensors.size(); ++t)
    for (const auto &terms : nest.tensors[t].dimensions)
      for (const Term &term : terms)
        if (term.loop == loop && term.stride != 0)
          mask |= uint64_t(1) << t;
  return mask;
}

} // namespace

std::optional<Error> check(const Nest &nest) {
  if (nest.loops.size() > kMaxLoops || nest.tensors.size() > kMaxTensors)
    return refuse(fmt::format("has {} loops and {} tensors, more than {} and {}", nest.loops.size(),
                              nest.tensors.size(), kMaxLoops, kMaxTensors));
  double iterations = 1;
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const NestLoop &loop = nest.loops[i];
    if (loop.extent < 1 || loop.granule < 1)
      return refuse(
          fmt::format("has a loop '{}' of extent {} and granule {}", nameOf(nest, i), loop.extent, loop.granule));
    iterations *= loop.extent;
  }
  if (iterations > kMax)
    return refuse("has more than 2^62 iterations");
  std::vector<int64_t> all;
  for (const NestLoop &loop : nest.loops)
    all.push_back(loop.extent);
  for (size_t t = 0; t < nest.tensors.size(); ++t) {
    const NestTensor &tensor = nest.tensors[t];
    if (tensor.elementBits < 1)
      return refuse(fmt::format("has a tensor '{}' of {} bits", tensorName(nest, t), tensor.elementBits));
    for (const auto &terms : tensor.dimensions)
      for (const Term &term : terms)
        if (term.loop >= nest.loops.size())
          return refuse(fmt::format("has no loop {}, which '{}' is indexed by", term.loop, tensorName(nest, t)));
    for (int64_t size : tensor.sizes)
      if (size < 0)
        return refuse(fmt::format("has a tensor '{}' of size {}", tensorName(nest, t), size));
    if (elements(tensor, all) * tensor.elementBits > kMax)
      return refuse(fmt::format("has a tensor '{}' of more than 2^62 bits", tensorName(nest, t)));
  }
  return std::nullopt;
}

Nest nestOf(std::span<const Loop> domain, std::span<const LoopTensor> tensors) {
  Nest nest;
  for (const Loop &loop : domain)
    nest.loops.push_back({loop.extent, 1, {}});
  for (const LoopTensor &from : tensors) {
    NestTensor tensor;
    tensor.elementBits = from.elementBits;
    tensor.written = from.written;
    tensor.sizes = from.sizes;
    tensor.name = std::string(1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[std::min<size_t>(nest.tensors.size(), 25)]);
    for (const auto &terms : from.dimensions) {
      auto &into = tensor.dimensions.emplace_back();
      for (const LoopTensor::Term &term : terms)
        into.push_back({term.loop, term.stride});
      // The longest loop of a shared position may be tiled, windows may not.
      const Term *longest = nullptr;
      for (const Term &term : into)
        if (term.loop < nest.loops.size() &&
            (!longest || nest.loops[term.loop].extent > nest.loops[longest->loop].extent))
          longest = &term;
      for (const Term &term : into)
        if (longest && term.loop < nest.loops.size() && term.loop != longest->loop)
          nest.loops[term.loop].granule = std::max<int64_t>(1, nest.loops[term.loop].extent);
    }
    nest.tensors.push_back(std::move(tensor));
  }
  return nest;
}

GroupedNest grouped(const Nest &nest) {
  GroupedNest out;
  if (check(nest)) { // nothing of it can be relied on: whoever maps it is told why
    out.nest = nest;
    for (unsigned i = 0; i < nest.loops.size(); ++i)
      out.members.push_back({i});
    return out;
  }
  std::vector<unsigned> group(nest.loops.size());
  for (unsigned i = 0; i < nest.loops.size(); ++i) {
    bool alone = nest.loops[i].granule == 1 && standsAlone(nest, i);
    unsigned into = out.members.size();
    for (unsigned g = 0; alone && g < out.members.size(); ++g) {
      unsigned first = out.members[g].front();
      if (nest.loops[first].granule == 1 && standsAlone(nest, first) && tensorsOf(nest, first) == tensorsOf(nest, i) &&
          tensorsOf(nest, i) != 0) {
        into = g;
        break;
      }
    }
    group[i] = into;
    if (into == out.members.size()) {
      out.members.push_back({i});
      out.nest.loops.push_back(nest.loops[i]);
      out.nest.loops.back().name = nameOf(nest, i);
      continue;
    }
    out.members[into].push_back(i);
    NestLoop &loop = out.nest.loops[into];
    loop.extent *= nest.loops[i].extent; // at most 2^62: checked
    loop.name += "*" + nameOf(nest, i);
  }
  for (const NestTensor &from : nest.tensors) {
    NestTensor tensor = from;
    tensor.dimensions.clear();
    tensor.sizes.clear();
    for (size_t d = 0; d < from.dimensions.size(); ++d) {
      std::vector<Term> terms;
      bool follower = false;
      for (const Term &term : from.dimensions[d]) {
        unsigned g = group[term.loop];
        follower |= out.members[g].front() != term.loop;
        terms.push_back({g, term.stride});
      }
      if (follower)
        continue; // its iterations are counted where the first loop of the group stands
      int64_t size = d < from.sizes.size() ? from.sizes[d] : 0;
      if (terms.size() == 1 && out.members[terms[0].loop].size() > 1)
        size = 0; // no smaller than the extent, or the loop would not be in a group
      tensor.dimensions.push_back(std::move(terms));
      tensor.sizes.push_back(size);
    }
    out.nest.tensors.push_back(std::move(tensor));
  }
  return out;
}

double elements(const NestTensor &tensor, std::span<const int64_t> extents) {
  return ShapeTensor(tensor).elements(extents.data());
}

std::string nameOf(const Nest &nest, unsigned loop) {
  const std::string &name = nest.loops[loop].name;
  return name.empty() ? fmt::format("d{}", loop) : name;
}

std::string tensorName(const Nest &nest, unsigned tensor) {
  const std::string &name = nest.tensors[tensor].name;
  return name.empty() ? fmt::format("t{}", tensor) : name;
}

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
    dimension.cap = std::numeric_limits<double>::infinity();
    if (d < from.sizes.size() && from.sizes[d] > 0)
      dimension.cap = from.sizes[d];
    int64_t factor = 0;
    for (const Term &term : from.dimensions[d]) {
      // The least int64 has no absolute value; one below it is as far apart.
      int64_t stride = term.stride == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
                                                                          : std::abs(term.stride);
      if (stride == 0)
        continue;
      auto same = std::ranges::find(dimension.terms, term.loop, &Term::loop);
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
      bool shares =
          llvm::any_of(components[c].loops, [&](unsigned loop) { return llvm::is_contained(joined.loops, loop); });
      if (!shares) {
        ++c;
        continue;
      }
      for (unsigned loop : components[c].loops)
        if (!llvm::is_contained(joined.loops, loop))
          joined.loops.push_back(loop);
      for (ShapeDimension &other : components[c].dimensions)
        joined.dimensions.push_back(std::move(other));
      components.erase(components.begin() + c);
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
