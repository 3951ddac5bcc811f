// Operators that only move elements.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {

Shape reshapedBy(OnnxContext &c, const OnnxNode &node, const Shape &from) {
  Shape shape;
  int64_t rank = std::ssize(from);
  if (node.op == "Reshape") {
    Shape target = c.listed("shape", 1).value_or(Shape{});
    constexpr size_t kMaxRank = 64;
    if (target.size() > kMaxRank)
      c.reportInvalid(fmt::format("makes {} dimensions, expected at most {}", target.size(), kMaxRank));
    int64_t known = 1, all = 1;
    for (int64_t extent : from)
      if (__builtin_mul_overflow(all, extent, &all))
        c.reportInvalid("has a shape that is too large");
    for (size_t i = 0; i < target.size(); ++i) {
      int64_t extent = target[i];
      if (extent == 0 && !node.integer("allowzero", 0))
        extent = i < from.size() ? from[i] : 0;
      if (extent < -1 || extent == 0 || (extent > 0 && __builtin_mul_overflow(known, extent, &known)))
        c.reportInvalid(fmt::format("has an impossible target {}", listOf(target)));
      shape.push_back(extent);
    }
    auto open = llvm::find(shape, -1);
    if (open != shape.end()) {
      if (all % known || llvm::count(shape, -1) > 1)
        c.reportInvalid(fmt::format("cannot make {} of {}", listOf(target), listOf(from)));
      *open = all / known;
    }
    return shape;
  }
  Shape axes = c.listed("axes", 1).value_or(Shape{});
  if (node.op == "Squeeze") {
    for (int64_t &axis : axes)
      axis += axis < 0 ? rank : 0;
    bool all = axes.empty();
    for (int64_t i = 0; i < rank; ++i)
      if (all ? from[i] != 1 : !llvm::is_contained(axes, i))
        shape.push_back(from[i]);
    return shape;
  }
  int64_t grown = rank + std::ssize(axes);
  std::set<int64_t> places;
  for (int64_t axis : axes)
    places.insert(axis < 0 ? axis + grown : axis);
  if (places.size() != axes.size() || (!places.empty() && (*places.begin() < 0 || *places.rbegin() >= grown)))
    c.reportInvalid("has axes that do not fit");
  size_t next = 0;
  for (int64_t i = 0; i < grown; ++i)
    shape.push_back(places.count(i) ? 1 : from[next++]);
  return shape;
}

namespace {

void reshape(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  c.setResult(c.viewed(x, reshapedBy(c, node, x.full)));
}

void flatten(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  int64_t rank = std::ssize(x.full), axis = node.integer("axis", 1), before = 1, after = 1;
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis > rank)
    c.reportInvalid("has an axis outside its input");
  for (int64_t i = 0; i < rank; ++i)
    if (int64_t &side = i < axis ? before : after; __builtin_mul_overflow(side, x.full[i], &side))
      c.reportInvalid("has a shape that is too large");
  c.setResult(c.viewed(x, {before, after}));
}

void transpose(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  Shape identity(x.full.size());
  std::iota(identity.begin(), identity.end(), 0);
  Shape permutation = node.integers("perm").value_or(Shape{}), full;
  if (permutation.empty())
    permutation.assign(identity.rbegin(), identity.rend());
  if (!std::ranges::is_permutation(permutation, identity))
    c.reportInvalid(fmt::format("has 'perm' = {} for {} dimensions", listOf(permutation), identity.size()));
  for (int64_t from : permutation)
    full.push_back(x.full[from]);
  auto moved = [&](DnnTextBuilder::Id id, const Shape &order) { return c.textBuilder.transpose(id, order, c.name()); };
  if (!x.outer)
    return c.setResult(moved(x.id, permutation), full, x.outer);
  // A batch of one is an extent as any other.
  if (c.batch == 1)
    return c.setResult(c.viewed(moved(c.textBuilder.reshape(x.id, x.full), permutation), 1, full, full));
  BatchPlace place = c.placeOf(x);
  int64_t outer = place.before;
  for (size_t i = 0; permutation[i] != place.axis; ++i)
    outer *= full[i];
  if (place.alone) { // the others move around it
    permutation.erase(llvm::find(permutation, place.axis));
    for (int64_t &from : permutation)
      from -= from > place.axis;
  }
  c.setResult(moved(x.id, permutation), full, outer);
}

void concat(OnnxContext &c, const OnnxNode &node) {
  std::vector<OnnxValue> all;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    all.push_back(c.tensor(i));
  auto batched = llvm::find_if(all, [](const OnnxValue &one) { return one.outer.has_value(); });
  const OnnxValue like = batched == all.end() ? all.at(0) : *batched;
  int64_t axis = node.integer("axis", 0), dim = c.axisOf(like, axis), extent = 0;
  Shape shape = c.shape(like.id), full = like.full;
  std::vector<DnnTextBuilder::Id> ids;
  for (OnnxValue &one : all) {
    if (one.full.size() != full.size() || (one.outer && like.outer && !c.placeLike(one, like)))
      c.reportUnsupported("joins tensors of different ranks or batches");
    c.strip(one, like); // the same for every sample
    Shape here = c.shape(one.id);
    extent += here[dim];
    shape[dim] = here[dim];
    if (here != shape) {
      shape[dim] = c.shape(like.id)[dim];
      c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(shape), listOf(here)));
    }
    ids.push_back(one.id);
  }
  shape[dim] = extent;
  if (ids.size() == 1)
    return c.setResult(like);
  OnnxValue result = like;
  if (like.outer && axis == c.placeOf(like).axis) // a batch of one
    result.full[axis] = extent * c.batch;
  else
    result = c.resized(result, axis, extent);
  result.id = c.add("concat", ids, {fmt::format("axis = {}", dim)}, shape);
  c.setResult(result);
}

void split(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  int64_t axis = node.integer("axis", 0), dim = c.axisOf(x, axis), extent = c.shape(x.id)[dim],
          parts = std::ssize(node.outputs);
  Shape sizes = c.listed("split", 1).value_or(Shape{});
  if (sizes.empty()) {
    int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::min(each, extent - i * each));
  }
  int64_t left = extent;
  bool fits = std::ssize(sizes) == parts;
  for (int64_t size : sizes)
    if ((fits &= size >= 1 && size <= left))
      left -= size;
  if (!fits || left != 0)
    c.reportInvalid(fmt::format("splits {} into {}", extent, listOf(sizes)));
  DnnTextBuilder::Id list = -1;
  if (llvm::all_equal(sizes) && parts > 1)
    list = c.textBuilder.addList(c.name(), "split", {x.id},
                                 {fmt::format("parts = {}", parts), fmt::format("axis = {}", dim)});
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = c.shape(x.id);
    shape[dim] = sizes[i];
    DnnTextBuilder::Id y = x.id;
    if (list >= 0)
      y = c.textBuilder.piece(list, i, shape);
    else if (parts > 1)
      y = c.textBuilder.slice(c.name(), x.id, dim, start, sizes[i]);
    start += sizes[i];
    OnnxValue part = c.resized(x, axis, sizes[i]);
    part.id = y;
    c.setResult(part, i);
  }
}

/// Every `step`-th entry of a dimension, from `start` to before `end`: the first of each of as many groups.
DnnTextBuilder::Id stepped(OnnxContext &c, DnnTextBuilder::Id x, int64_t dim, int64_t start, int64_t end,
                           int64_t step) {
  Shape shape = c.shape(x), after(shape.size(), 0);
  int64_t groups = (end - start + step - 1) / step, missing = start + groups * step - shape[dim];
  if (missing > 0) { // the last group is cut off
    after[dim] = missing;
    shape[dim] += missing;
    x = c.add("pad", {x}, {"before = " + listOf(Shape(shape.size(), 0)), "after = " + listOf(after)}, shape);
  }
  x = c.textBuilder.slice(c.name(), x, dim, start, groups * step);
  shape[dim] = step;
  shape.insert(shape.begin() + dim, groups);
  x = c.textBuilder.slice(c.name(), c.textBuilder.reshape(x, shape), dim + 1, 0, 1);
  shape.erase(shape.begin() + dim + 1);
  return c.textBuilder.reshape(x, shape);
}

void slice(OnnxContext &c, const OnnxNode &) {
  OnnxValue x = c.tensor(0);
  auto starts = c.listed("starts", 1), ends = c.listed("ends", 2), axes = c.listed("axes", 3), steps = c.integers(4);
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()))
    c.reportInvalid("has starts, ends and axes that do not fit together");
  int64_t rank = std::ssize(x.full);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : i;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      c.reportInvalid("has an axis outside its input");
    int64_t extent = x.full[axis];
    auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
    int64_t start = bound((*starts)[i]), end = bound((*ends)[i]), size = end - start;
    int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
    if (step < 1)
      c.reportUnsupported(fmt::format("takes steps of {}, and only forward ones are supported", step));
    if (size == extent && step == 1)
      continue;
    int64_t dim = c.axisOf(x, axis);
    if (size < 1)
      c.reportInvalid("leaves nothing");
    step = std::min(step, size);
    DnnTextBuilder::Id part =
        step == 1 ? c.textBuilder.slice(c.name(), x.id, dim, start, size) : stepped(c, x.id, dim, start, end, step);
    x = c.resized(x, axis, (size + step - 1) / step);
    x.id = part;
  }
  c.setResult(x);
}

void expand(OnnxContext &c, const OnnxNode &) {
  OnnxValue x = c.tensor(0);
  Shape target = c.integers(1).value_or(Shape{});
  // A weight for every sample of the batch stays one weight.
  Shape padded = x.full;
  while (padded.size() < target.size())
    padded.insert(padded.begin(), 1);
  for (size_t i = 0; i < padded.size(); ++i) {
    size_t back = padded.size() - i;
    int64_t wanted = back <= target.size() ? target[target.size() - back] : 1;
    bool isBatch = !x.outer && wanted == c.batch && c.batchIsOpen;
    if (wanted != 1 && wanted != padded[i] && !isBatch)
      c.reportUnsupported(fmt::format("repeats {} to {}, which is not supported", listOf(x.full), listOf(target)));
  }
  c.setResult(c.viewed(x, padded));
}

/// Constants at given places; below 0 takes elements away.
void pad(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  std::string mode = node.text("mode");
  size_t rank = x.full.size();
  Shape pads = c.listed("pads", 1).value_or(Shape{}), axes = c.integers(3).value_or(Shape{});
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size())
    c.reportInvalid(fmt::format("has 'pads' = {} for {} dimensions", listOf(pads), axes.size()));
  Shape before(c.shape(x.id).size(), 0), after = before, sample = c.shape(x.id);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t first = pads[i], last = pads[i + axes.size()], axis = axes[i];
    if (first == 0 && last == 0)
      continue;
    int64_t dim = c.axisOf(x, axis);
    if (std::max({std::abs(first), std::abs(last), sample[dim]}) > int64_t(1) << 40 || sample[dim] + first + last < 1)
      c.reportInvalid(
          fmt::format("pads {} by {} and {}, which leaves nothing or is too large", sample[dim], first, last));
    before[dim] = first;
    after[dim] = last;
    sample[dim] += first + last;
    x = c.resized(x, axis, sample[dim]);
  }
  if (llvm::all_of(before, [](int64_t one) { return one == 0; }) &&
      llvm::all_of(after, [](int64_t one) { return one == 0; }))
    return c.setResult(x);
  if (!mode.empty() && mode != "constant")
    c.reportUnsupported(fmt::format("pads with '{}', and only a constant is supported", shown(mode)));
  double value = node.number("value", 0);
  if (node.has(2))
    value = c.scalar(2).value_or(NAN);
  if (std::isnan(value))
    c.reportUnsupported("pads with a value that is not known");
  std::vector<std::string> attributes{"before = " + listOf(before)};
  if (after != before)
    attributes.push_back("after = " + listOf(after));
  if (value != 0) // an infinity is the largest number of single precision
    attributes.push_back("value = " + singleText(std::clamp(value, -3e38, 3e38)));
  x.id = c.add("pad", {x.id}, attributes, sample);
  c.setResult(x);
}

} // namespace

std::vector<OnnxOperators> onnxMovement() {
  return {{concat, {"Concat"}},   {expand, {"Expand"}},
          {flatten, {"Flatten"}}, {reshape, {"Reshape", "Squeeze", "Unsqueeze"}},
          {pad, {"Pad"}},         {slice, {"Slice"}},
          {split, {"Split"}},     {transpose, {"Transpose"}}};
}

} // namespace accord::import
