// Operators with weights or windows.
#include "lib/import/onnx/OnnxImporter.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

/// The file's numbers are single precision: 1e-05, not 9.999999747378752e-06.
static std::string numberOf(double value) { return fmt::format("{}", static_cast<float>(value)); }

/// Small enough for products of two and sums to be exact.
static bool isExtent(int64_t value) { return value >= 1 && value <= 1 << 30; }

/// Kernel, stride, padding and dilation of a window moved over [channels, rows, columns]. Padding
/// is the same at both ends in the language; where the file's differs, one that gives the same
/// extent does the same work.
OnnxImporter::Window OnnxImporter::window(const OnnxNode &node, const Shape &image, const Shape &kernel) {
  if (kernel.size() != 2 || image.size() != 3 || !llvm::all_of(kernel, isExtent))
    reportUnsupported(fmt::format("moves a window of {} dimensions, and only two are supported", kernel.size()));
  auto two = [&](const char *key, int64_t otherwise) {
    Shape values = node.integers(key).value_or(Shape{otherwise, otherwise});
    if (values.size() != 2 || !isExtent(values[0]) || !isExtent(values[1]))
      reportInvalid(fmt::format("has '{}' = {}, expected two numbers from 1 to 2^30", key, listOf(values)));
    return values;
  };
  Shape strides = two("strides", 1), dilations = two("dilations", 1);
  Shape pads = node.integers("pads").value_or(Shape{0, 0, 0, 0});
  if (pads.size() != 4 || llvm::any_of(pads, [](int64_t p) { return p < 0 || p > 1 << 30; }))
    reportInvalid(fmt::format("has 'pads' = {}, expected four numbers of at least 0", listOf(pads)));
  bool same = llvm::StringRef(node.text("auto_pad")).starts_with("SAME");
  bool ceil = node.integer("ceil_mode", 0) != 0;
  Shape padding, extents;
  for (size_t i : {0, 1}) {
    int64_t in = image[i + 1], reach = dilations[i] * (kernel[i] - 1) + 1, s = strides[i];
    int64_t room = in + pads[i] + pads[i + 2] - reach;
    int64_t out = same ? (in + s - 1) / s : room < 0 ? 0 : (room + (ceil ? s - 1 : 0)) / s + 1;
    auto given = [&](int64_t p) { return (in + 2 * p - reach) / s + 1; };
    int64_t p = same ? std::max<int64_t>(0, (out - 1) * s + reach - in) / 2 : pads[i];
    while (p < reach && (in + 2 * p < reach || given(p) < out))
      ++p;
    if (out < 1 || in + 2 * p < reach || given(p) != out)
      reportUnsupported(fmt::format("pads {} by {} and {} for an extent of {}; no padding that is the same at "
                                    "both ends gives that",
                                    in, pads[i], pads[i + 2], out));
    if (!same && (p != pads[i] || p != pads[i + 2]))
      noteOnce(fmt::format("{} '{}' pads by {}{}, here by {} at every side: the same extents and "
                           "work",
                           node.op, shown(node.name.empty() ? node.outputs[0] : node.name), listOf(pads),
                           ceil ? " and rounds up" : "", p));
    padding.push_back(p);
    extents.push_back(out);
  }
  bool pools = node.op == "MaxPool" || node.op == "AveragePool";
  if (pools && dilations != Shape{1, 1})
    reportUnsupported("has dilations, which a pool has not here");
  return {windowAttributes(kernel, strides, padding, dilations, pools), extents};
}

void OnnxImporter::conv(const OnnxNode &node) {
  const OnnxTensor &w = weight(node, 1, 4);
  DnnTextBuilder::Id x = sized(node, 0, 3);
  Shape image = textBuilder.shape(x);
  int64_t groups = node.integer("group", 1), out = w.shape[0];
  if (!isExtent(groups) || out % groups || image[0] % groups || image[0] / groups != w.shape[1])
    reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, image[0]));
  Window view = window(node, image, {w.shape[2], w.shape[3]});
  bool deep = groups == image[0] && out == groups && groups > 1;
  std::vector<std::string> attributes;
  if (!deep)
    attributes.push_back(fmt::format("out = {}", out));
  attributes.insert(attributes.end(), view.attributes.begin(), view.attributes.end());
  if (!deep && groups > 1)
    attributes.push_back(fmt::format("groups = {}", groups));
  if (node.has(2))
    weight(node, 2, node.has(2) && initializer(node, 2) ? initializer(node, 2)->shape.size() : 1);
  else
    attributes.push_back("bias = false");
  Shape shape{out, view.extents[0], view.extents[1]}, full = shape;
  full.insert(full.begin(), get(node, 0).full[0]);
  setResult(node, textBuilder.add(nameOf(node), deep ? "depthwise_conv2d" : "conv2d", {x}, attributes, shape), full,
            Batch::Leads);
}

void OnnxImporter::convTranspose(const OnnxNode &node) {
  const OnnxTensor &w = weight(node, 1, 4);
  DnnTextBuilder::Id x = sized(node, 0, 3);
  Shape image = textBuilder.shape(x);
  int64_t groups = node.integer("group", 1);
  if (!isExtent(groups) || !isExtent(w.shape[1]) || image[0] != w.shape[0] || image[0] % groups)
    reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, image[0]));
  if (node.integers("output_shape") || llvm::StringRef(node.text("auto_pad")).starts_with("SAME"))
    reportUnsupported("states its output's extent instead of pads");
  Shape strides = node.integers("strides").value_or(Shape{1, 1}),
        dilations = node.integers("dilations").value_or(Shape{1, 1}),
        pads = node.integers("pads").value_or(Shape{0, 0, 0, 0}),
        more = node.integers("output_padding").value_or(Shape{0, 0});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4 || more.size() != 2 ||
      !llvm::all_of(strides, isExtent) || !llvm::all_of(dilations, isExtent) || !isExtent(w.shape[2]) ||
      !isExtent(w.shape[3]) || llvm::any_of(pads, [](int64_t p) { return p < 0 || p > 1 << 30; }) ||
      llvm::any_of(more, [](int64_t p) { return p < 0 || p > 1 << 30; }))
    reportInvalid("has impossible strides, dilations or pads, or not for two dimensions");
  if (pads[0] != pads[2] || pads[1] != pads[3])
    reportUnsupported(fmt::format("pads differently at both ends: {}", listOf(pads)));
  int64_t out = w.shape[1] * groups;
  std::vector<std::string> attributes{fmt::format("out = {}", out), "kernel = " + pairOf(w.shape[2], w.shape[3])};
  auto add = [&](const char *key, const Shape &values, int64_t otherwise) {
    if (values[0] != otherwise || values[1] != otherwise)
      attributes.push_back(fmt::format("{} = {}", key, pairOf(values[0], values[1])));
  };
  add("stride", strides, 1);
  add("padding", pads, 0);
  add("dilation", dilations, 1);
  add("output_padding", more, 0);
  if (groups > 1)
    attributes.push_back(fmt::format("groups = {}", groups));
  if (!node.has(2))
    attributes.push_back("bias = false");
  Shape shape{out};
  for (size_t i : {0, 1})
    shape.push_back((image[i + 1] - 1) * strides[i] - 2 * pads[i] + dilations[i] * (w.shape[i + 2] - 1) + more[i] + 1);
  Shape full = shape;
  full.insert(full.begin(), get(node, 0).full[0]);
  setResult(node, textBuilder.add(nameOf(node), "conv_transpose2d", {x}, attributes, shape), full, Batch::Leads);
}

/// `w` is [out, in] if `transposed`, else [in, out].
DnnTextBuilder::Id OnnxImporter::linear(const OnnxNode &node, DnnTextBuilder::Id x, const OnnxTensor &w,
                                        bool transposed, bool bias) {
  int64_t out = w.shape[transposed ? 0 : 1], in = w.shape[transposed ? 1 : 0];
  Shape shape = textBuilder.shape(x);
  if (shape.empty() || shape.back() != in)
    reportInvalid(fmt::format("multiplies {} by a weight {}", listOf(shape), listOf(w.shape)));
  std::vector<std::string> attributes{fmt::format("out = {}", out)};
  std::vector<DnnTextBuilder::Id> operands{x};
  if (!bias)
    attributes.push_back("bias = false");
  shape.back() = out;
  if (!w.initializer.empty() && uses[w.initializer] > 1) {
    DnnTextBuilder::Id table = parameterOf(w).id;
    operands.push_back(transposed ? table : textBuilder.transpose(table, {1, 0}));
    return textBuilder.addNamed(nameOf(node), "linear", operands, "weight", attributes, shape);
  }
  return textBuilder.add(nameOf(node), "linear", operands, attributes, shape);
}

void OnnxImporter::gemm(const OnnxNode &node) {
  const OnnxTensor *w = initializer(node, 1), *c = initializer(node, 2);
  OnnxValue x = tensor(node, 0);
  bool plain = node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 && !node.integer("transA", 0);
  bool biased = !node.has(2) ||
                (c && w && w->shape.size() == 2 && elementsOf(c->shape) == w->shape[node.integer("transB", 0) ? 0 : 1]);
  if (!w || w->shape.size() != 2 || !plain || !biased || x.batch == Batch::None)
    reportUnsupported("is a product with scaled, computed or transposed operands; only x times a weight plus "
                      "a bias is supported");
  bool transposed = node.integer("transB", 0) != 0;
  Shape full{x.full[0], w->shape[transposed ? 0 : 1]};
  DnnTextBuilder::Id y = linear(node, x.id, *w, transposed, node.has(2));
  setResult(node, y, full, x.batch);
}

void OnnxImporter::matmul(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  const OnnxTensor *w = initializer(node, 1);
  if (w && w->shape.size() == 2) {
    bool transposed = node.integer("transB", 0) != 0;
    Shape full = x.full;
    full.back() = w->shape[transposed ? 0 : 1];
    DnnTextBuilder::Id y = linear(node, x.id, *w, transposed, node.has(2));
    return setResult(node, y, full, x.batch);
  }
  OnnxValue b = tensor(node, 1);
  const Shape &a = x.full, &c = b.full;
  Shape sa = textBuilder.shape(x.id), sb = textBuilder.shape(b.id);
  if (sa.size() < 2 || sb.size() < 2 || sa.back() != sb[sb.size() - 2] ||
      (x.batch != b.batch && b.batch != Batch::None && x.batch != Batch::None))
    reportUnsupported(
        fmt::format("multiplies {} by {} after the batch, which is not supported", listOf(sa), listOf(sb)));
  // Leading dimensions broadcast from the right.
  auto join = [&](const Shape &left, const Shape &right) {
    Shape all(std::max(left.size(), right.size()), 1);
    for (size_t i = 0; i + 2 < all.size(); ++i) {
      size_t back = all.size() - i; // counted from the end, from 3 on
      int64_t l = back <= left.size() ? left[left.size() - back] : 1,
              r = back <= right.size() ? right[right.size() - back] : 1;
      if (l != r && l != 1 && r != 1)
        reportInvalid(fmt::format("multiplies {} by {}", listOf(left), listOf(right)));
      all[i] = l == 1 ? r : l;
    }
    all[all.size() - 2] = left[left.size() - 2];
    all.back() = right.back();
    return all;
  };
  DnnTextBuilder::Id y = textBuilder.add(nameOf(node), "matmul", {x.id, b.id}, {}, join(sa, sb));
  setResult(node, y, join(a, c), x.batch == Batch::None ? b.batch : x.batch);
}

void OnnxImporter::batchNorm(const OnnxNode &node) {
  weight(node, 1, 1);
  weight(node, 2, 1);
  OnnxValue x = tensor(node, 0);
  if (x.batch != Batch::Leads)
    reportUnsupported("normalizes something without a batch");
  setResult(node,
            textBuilder.add(nameOf(node), "batch_norm", {x.id}, {"epsilon = " + numberOf(node.number("epsilon", 1e-5))},
                            textBuilder.shape(x.id)),
            x.full, x.batch);
}

void OnnxImporter::layerNorm(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto last = static_cast<int64_t>(x.full.size()) - 1;
  int64_t axis = node.integer("axis", -1);
  if (axis != -1 && axis != last)
    reportUnsupported(fmt::format("normalizes from axis {} on, and only the last is supported", axis));
  weight(node, 1, 1);
  std::vector<std::string> attributes{"epsilon = " + numberOf(node.number("epsilon", 1e-5))};
  if (node.has(2))
    weight(node, 2, 1);
  else
    attributes.push_back("bias = false");
  setResult(node, textBuilder.add(nameOf(node), "layer_norm", {x.id}, attributes, textBuilder.shape(x.id)), x.full,
            x.batch);
}

void OnnxImporter::groupNorm(const OnnxNode &node) {
  weight(node, 1, 1);
  weight(node, 2, 1);
  DnnTextBuilder::Id x = sized(node, 0, 3);
  bool each = node.op == "InstanceNormalization";
  int64_t channels = textBuilder.shape(x)[0], groups = each ? channels : node.integer("num_groups", 1);
  if (!isExtent(groups) || channels % groups)
    reportInvalid(fmt::format("has {} groups of {} channels", groups, channels));
  setResult(node,
            textBuilder.add(nameOf(node), "group_norm", {x},
                            {fmt::format("groups = {}", groups), "epsilon = " + numberOf(node.number("epsilon", 1e-5))},
                            textBuilder.shape(x)),
            get(node, 0).full, Batch::Leads);
}

void OnnxImporter::pool(const OnnxNode &node) {
  DnnTextBuilder::Id x = sized(node, 0, 3);
  Shape kernel = node.integers("kernel_shape").value_or(Shape{});
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    reportUnsupported("gives the places of its maxima, which is not supported");
  if (llvm::any_of(kernel, [](int64_t k) { return k < 1; }))
    reportInvalid("has an impossible 'kernel_shape'");
  Window view = window(node, textBuilder.shape(x), kernel);
  Shape shape{textBuilder.shape(x)[0], view.extents[0], view.extents[1]}, full = shape;
  full.insert(full.begin(), get(node, 0).full[0]);
  setResult(node,
            textBuilder.add(nameOf(node), node.op == "MaxPool" ? "max_pool" : "avg_pool", {x}, view.attributes, shape),
            full, Batch::Leads);
}

void OnnxImporter::globalPool(const OnnxNode &node) {
  DnnTextBuilder::Id x = sized(node, 0, 3);
  int64_t channels = textBuilder.shape(x)[0];
  DnnTextBuilder::Id y = textBuilder.add(nameOf(node), "global_avg_pool", {x}, {}, {channels});
  setResult(node, textBuilder.reshape(y, {channels, 1, 1}), {get(node, 0).full[0], channels, 1, 1}, Batch::Leads);
}

void OnnxImporter::gather(const OnnxNode &node) {
  const OnnxValue &from = get(node, 0), &ids = get(node, 1);
  const OnnxTensor *table = initializer(node, 0);
  int64_t axis = node.integer("axis", 0);
  if (table && !ids.constant) { // a table of tokens
    if (table->shape.size() != 2 || axis != 0)
      reportUnsupported("looks up something else than the rows of a table");
    Shape shape = textBuilder.shape(ids.id), full = ids.full;
    shape.push_back(table->shape[1]);
    full.push_back(table->shape[1]);
    std::vector<std::string> attributes{fmt::format("rows = {}", table->shape[0]),
                                        fmt::format("dim = {}", table->shape[1])};
    bool shared = !table->initializer.empty() && uses[table->initializer] > 1;
    std::vector<DnnTextBuilder::Id> operands{ids.id};
    if (shared)
      operands.push_back(parameterOf(*table).id);
    Batch where = ids.batch == Batch::Merged && full[0] == batch ? Batch::Leads : ids.batch;
    DnnTextBuilder::Id y = shared
                               ? textBuilder.addNamed(nameOf(node), "embedding", operands, "table", attributes, shape)
                               : textBuilder.add(nameOf(node), "embedding", operands, attributes, shape);
    if (where != ids.batch)
      y = textBuilder.reshape(y, sampleOf(full, where));
    return setResult(node, y, full, where);
  }
  OnnxValue x = tensor(node, 0);
  int64_t dim = axisOf(x, axis);
  axis += axis < 0 ? static_cast<int64_t>(x.full.size()) : 0;
  Shape shape = textBuilder.shape(x.id), full = x.full;
  if (ids.constant) { // a range of known places
    if (!ids.constant->numbers || ids.constant->numbers->empty())
      reportUnsupported("takes entries at places that are too many to be known");
    const std::vector<double> &at = *ids.constant->numbers;
    int64_t extent = shape[dim], size = at.size();
    int64_t start = static_cast<int64_t>(at[0]) + (at[0] < 0 ? extent : 0);
    for (size_t i = 1; i < at.size(); ++i)
      if (at[i] != at[0] + i)
        reportUnsupported("takes entries at places that do not follow each other");
    if (start < 0 || start + size > extent)
      reportInvalid(fmt::format("takes entries {} to {} of {}", start, start + size - 1, extent));
    DnnTextBuilder::Id y = x.id;
    shape[dim] = size;
    if (size != extent)
      y = textBuilder.add(
          nameOf(node), "slice", {x.id},
          {fmt::format("axis = {}", dim), fmt::format("start = {}", start), fmt::format("size = {}", size)}, shape);
    auto place = full.erase(full.begin() + axis);
    full.insert(place, ids.constant->shape.begin(), ids.constant->shape.end());
    return setResult(node, viewed({std::nullopt, y, full, x.batch}, full));
  }
  reportUnsupported(from.batch == Batch::None
                        ? "looks up something else than the rows of a table"
                        : "takes the same computed places of every sample; GatherND with batch_dims = 1 "
                          "is supported");
}

/// GatherND with batch_dims = 1 and one index: entries of every sample's first dimension.
void OnnxImporter::gatherNd(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0), ids = tensor(node, 1);
  if (node.integer("batch_dims", 0) != 1 || x.batch != Batch::Leads || ids.batch != Batch::Leads ||
      ids.full.back() != 1 || ids.full.size() < 2 || x.full.size() < 2)
    reportUnsupported("takes entries in a way that is not supported; batch_dims = 1 and one index has");
  Shape places = textBuilder.shape(ids.id), shape(textBuilder.shape(x.id).begin() + 1, textBuilder.shape(x.id).end());
  places.pop_back();
  if (places.empty())
    places = {1};
  shape.insert(shape.begin(), places.begin(), places.end());
  DnnTextBuilder::Id y =
      textBuilder.add(nameOf(node), "gather", {x.id, textBuilder.reshape(ids.id, places)}, {"axis = 0"}, shape);
  Shape full(ids.full.begin(), ids.full.end() - 1);
  full.insert(full.end(), x.full.begin() + 2, x.full.end());
  setResult(node, viewed({std::nullopt, y, full, Batch::Leads}, full));
}

} // namespace accord::import
