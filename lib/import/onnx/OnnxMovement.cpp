// Operators that only move elements.
#include "lib/import/onnx/OnnxImporter.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

Shape OnnxImporter::reshapedBy(const OnnxNode &node, const Shape &from) {
  Shape shape;
  auto rank = static_cast<int64_t>(from.size());
  if (node.op == "Reshape") {
    Shape target = listed(node, "shape", 1).value_or(Shape{});
    int64_t known = 1, all = 1;
    for (int64_t extent : from)
      if (__builtin_mul_overflow(all, extent, &all))
        reportInvalid("has a shape that is too large");
    for (size_t i = 0; i < target.size(); ++i) {
      int64_t extent = target[i];
      if (extent == 0 && !node.integer("allowzero", 0))
        extent = i < from.size() ? from[i] : 0;
      if (extent < -1 || extent == 0 || (extent > 0 && __builtin_mul_overflow(known, extent, &known)))
        reportInvalid(fmt::format("has an impossible target {}", listOf(target)));
      shape.push_back(extent);
    }
    auto open = llvm::find(shape, -1);
    if (open != shape.end()) {
      if (all % known || llvm::count(shape, -1) > 1)
        reportInvalid(fmt::format("cannot make {} of {}", listOf(target), listOf(from)));
      *open = all / known;
    }
    return shape;
  }
  Shape axes = listed(node, "axes", 1).value_or(Shape{});
  if (node.op == "Squeeze") {
    for (int64_t &axis : axes)
      axis += axis < 0 ? rank : 0;
    bool all = axes.empty();
    for (int64_t i = 0; i < rank; ++i)
      if (all ? from[i] != 1 : !llvm::is_contained(axes, i))
        shape.push_back(from[i]);
    return shape;
  }
  int64_t grown = rank + static_cast<int64_t>(axes.size());
  std::set<int64_t> places;
  for (int64_t axis : axes)
    places.insert(axis < 0 ? axis + grown : axis);
  if (places.size() != axes.size() || (!places.empty() && (*places.begin() < 0 || *places.rbegin() >= grown)))
    reportInvalid("has axes that do not fit");
  size_t next = 0;
  for (int64_t i = 0; i < grown; ++i)
    shape.push_back(places.count(i) ? 1 : from[next++]);
  return shape;
}

void OnnxImporter::reshape(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  setResult(node, viewed(x, reshapedBy(node, x.full)));
}
void OnnxImporter::squeeze(const OnnxNode &node) { reshape(node); }
void OnnxImporter::unsqueeze(const OnnxNode &node) { reshape(node); }

void OnnxImporter::flatten(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto rank = static_cast<int64_t>(x.full.size());
  int64_t axis = node.integer("axis", 1), before = 1, after = 1;
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis > rank)
    reportInvalid("has an axis outside its input");
  for (int64_t i = 0; i < rank; ++i)
    if (int64_t &side = i < axis ? before : after; __builtin_mul_overflow(side, x.full[i], &side))
      reportInvalid("has a shape that is too large");
  setResult(node, viewed(x, {before, after}));
}

void OnnxImporter::transpose(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto rank = static_cast<int64_t>(x.full.size());
  Shape permutation = node.integers("perm").value_or(Shape{});
  if (permutation.empty())
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  Shape sorted = permutation, full;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < static_cast<int64_t>(sorted.size()); ++i)
    if (sorted[i] != i || static_cast<int64_t>(sorted.size()) != rank)
      reportInvalid(fmt::format("has 'perm' = {} for {} dimensions", listOf(permutation), rank));
  for (int64_t from : permutation)
    full.push_back(x.full[from]);
  if (x.batch == Batch::None)
    return setResult(node, textBuilder.transpose(x.id, permutation, nameOf(node)), full, Batch::None);
  if (batch == 1) { // a batch of one is an extent as any other
    DnnTextBuilder::Id whole = textBuilder.reshape(x.id, x.full);
    if (permutation[0] != 0 || x.batch == Batch::Merged)
      return setResult(
          node,
          viewed({std::nullopt, textBuilder.transpose(whole, permutation, nameOf(node)), full, Batch::Merged}, full));
  }
  if (permutation[0] != 0)
    reportUnsupported("moves the batch to another place than the first");
  if (x.batch == Batch::Merged)
    return setResult(node, textBuilder.transpose(x.id, permutation, nameOf(node)), full, x.batch);
  Shape sample;
  for (int64_t from : llvm::drop_begin(permutation))
    sample.push_back(from - 1);
  setResult(node, textBuilder.transpose(x.id, sample, nameOf(node)), full, x.batch);
}

void OnnxImporter::concat(const OnnxNode &node) {
  std::vector<OnnxValue> all;
  const OnnxValue *batched = nullptr;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    all.push_back(tensor(node, i));
  for (const OnnxValue &one : all)
    if (one.batch != Batch::None && !batched)
      batched = &one;
  const OnnxValue &like = batched ? *batched : all.at(0);
  int64_t axis = node.integer("axis", 0), dim = axisOf(like, axis);
  axis += axis < 0 ? static_cast<int64_t>(like.full.size()) : 0;
  Shape shape = textBuilder.shape(like.id), full = like.full;
  std::vector<DnnTextBuilder::Id> ids;
  int64_t extent = 0;
  for (OnnxValue &one : all) {
    if (one.full.size() != full.size() || (one.batch != like.batch && one.batch != Batch::None))
      reportUnsupported("joins tensors of different ranks or batches");
    if (one.batch == Batch::None && like.batch == Batch::Leads) { // the same for every sample
      if (one.full[0] != 1)
        reportUnsupported("joins a weight with a batch of its own");
      one.id = textBuilder.reshape(one.id, Shape(one.full.begin() + 1, one.full.end()));
    }
    Shape here = textBuilder.shape(one.id);
    for (size_t i = 0; i < here.size(); ++i)
      if (static_cast<int64_t>(i) != dim && here[i] != shape[i])
        reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(shape), listOf(here)));
    extent += here[dim];
    ids.push_back(one.id);
  }
  shape[dim] = full[axis] = extent;
  if (ids.size() == 1)
    return setResult(node, like);
  if (like.batch == Batch::Merged && dim == 0)
    full[0] = extent * batch;
  setResult(node, textBuilder.add(nameOf(node), "concat", ids, {fmt::format("axis = {}", dim)}, shape), full,
            like.batch);
}

void OnnxImporter::split(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  int64_t axis = node.integer("axis", 0), dim = axisOf(x, axis);
  axis += axis < 0 ? static_cast<int64_t>(x.full.size()) : 0;
  int64_t extent = textBuilder.shape(x.id)[dim];
  auto parts = static_cast<int64_t>(node.outputs.size());
  Shape sizes = listed(node, "split", 1).value_or(Shape{});
  if (sizes.empty()) {
    int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::min(each, extent - i * each));
  }
  int64_t left = extent;
  bool fits = static_cast<int64_t>(sizes.size()) == parts;
  for (int64_t size : sizes)
    if ((fits &= size >= 1 && size <= left))
      left -= size;
  if (!fits || left != 0)
    reportInvalid(fmt::format("splits {} into {}", extent, listOf(sizes)));
  bool even = llvm::all_equal(sizes);
  DnnTextBuilder::Id list = -1;
  if (even && parts > 1)
    list = textBuilder.addList(nameOf(node), "split", {x.id},
                               {fmt::format("parts = {}", parts), fmt::format("axis = {}", dim)});
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = textBuilder.shape(x.id), full = x.full;
    shape[dim] = full[axis] = sizes[i];
    DnnTextBuilder::Id y = x.id;
    if (list >= 0)
      y = textBuilder.piece(list, i, shape);
    else if (parts > 1)
      y = textBuilder.add(
          nameOf(node), "slice", {x.id},
          {fmt::format("axis = {}", dim), fmt::format("start = {}", start), fmt::format("size = {}", sizes[i])}, shape);
    start += sizes[i];
    setResult(node, y, full, x.batch, i);
  }
}

void OnnxImporter::slice(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto starts = listed(node, "starts", 1), ends = listed(node, "ends", 2), axes = listed(node, "axes", 3),
       steps = integers(node, 4);
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()))
    reportInvalid("has starts, ends and axes that do not fit together");
  auto rank = static_cast<int64_t>(x.full.size());
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      reportInvalid("has an axis outside its input");
    int64_t extent = x.full[axis];
    auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
    int64_t start = bound((*starts)[i]), size = bound((*ends)[i]) - start;
    if (steps && i < steps->size() && (*steps)[i] != 1)
      reportUnsupported(fmt::format("takes steps of {}, and only 1 is supported", (*steps)[i]));
    if (size == extent)
      continue;
    int64_t dim = axisOf(x, axis);
    if (size < 1)
      reportInvalid("leaves nothing");
    Shape shape = textBuilder.shape(x.id);
    shape[dim] = x.full[axis] = size;
    x.id = textBuilder.add(
        nameOf(node), "slice", {x.id},
        {fmt::format("axis = {}", dim), fmt::format("start = {}", start), fmt::format("size = {}", size)}, shape);
  }
  setResult(node, x);
}

void OnnxImporter::expand(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  Shape target = integers(node, 1).value_or(Shape{});
  // A weight for every sample of the batch stays one weight.
  Shape padded = x.full;
  while (padded.size() < target.size())
    padded.insert(padded.begin(), 1);
  for (size_t i = 0; i < padded.size(); ++i) {
    size_t back = padded.size() - i;
    int64_t wanted = back <= target.size() ? target[target.size() - back] : 1;
    bool isBatch = i == 0 && x.batch == Batch::None && wanted == batch;
    if (wanted != 1 && wanted != padded[i] && !isBatch)
      reportUnsupported(fmt::format("repeats {} to {}, which is not supported", listOf(x.full), listOf(target)));
  }
  setResult(node, viewed(x, padded));
}

void OnnxImporter::resize(const OnnxNode &node) {
  DnnTextBuilder::Id x = sized(node, 0, 3);
  std::string mode = node.text("mode");
  if (!mode.empty() && mode != "nearest")
    reportUnsupported(fmt::format("has the mode '{}', and only 'nearest' is supported", shown(mode)));
  const Shape full = get(node, 0).full;
  std::vector<double> scales;
  size_t at = node.op == "Upsample" || model.opset < 11 ? 1 : 2;
  if (auto found = node.attributes.find("scales"); found != node.attributes.end())
    scales = found->second.list;
  else if (node.has(at) && get(node, at).constant && get(node, at).constant->numbers)
    scales = *get(node, at).constant->numbers;
  if (scales.empty() && node.has(3)) {
    Shape sizes = integers(node, 3).value_or(Shape{});
    for (size_t i = 0; i < sizes.size() && i < full.size(); ++i)
      scales.push_back(static_cast<double>(sizes[i]) / full[i]);
  }
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1 || scales[2] != scales[3] || scales[2] < 1 ||
      scales[2] != std::floor(scales[2]) || scales[2] > 1 << 20)
    reportUnsupported("scales by other than one known whole number of rows and columns");
  auto times = static_cast<int64_t>(scales[2]);
  Shape shape{full[1], full[2] * times, full[3] * times};
  setResult(node, textBuilder.add(nameOf(node), "upsample", {x}, {fmt::format("scale = {}", times)}, shape),
            {full[0], shape[0], shape[1], shape[2]}, Batch::Leads);
}

} // namespace accord::import
