// Operators with weights or windows.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

/// Small enough for products of two and sums to be exact.
bool isExtent(int64_t value) { return value >= 1 && value <= 1 << 30; }
bool isPadding(int64_t value) { return value >= 0 && value <= 1 << 30; }

/// Kernel, stride, padding and dilation of a window moved over [channels, rows, columns]. Padding
/// is the same at both ends in the language; where the file's differs, one that gives the same
/// extent does the same work.
Window windowOf(OnnxContext &c, const OnnxNode &node, const Shape &image, const Shape &kernel) {
  if (kernel.size() != 2 || image.size() != 3 || !llvm::all_of(kernel, isExtent))
    c.reportUnsupported(fmt::format("moves a window of {} dimensions, and only two are supported", kernel.size()));
  auto two = [&](const char *key) {
    Shape values = node.integers(key).value_or(Shape{1, 1});
    if (values.size() != 2 || !isExtent(values[0]) || !isExtent(values[1]))
      c.reportInvalid(fmt::format("has '{}' = {}, expected two numbers from 1 to 2^30", key, listOf(values)));
    return values;
  };
  Window window{kernel, two("strides"), {0, 0}, two("dilations")};
  Shape pads = node.integers("pads").value_or(Shape{0, 0, 0, 0});
  if (pads.size() != 4 || !llvm::all_of(pads, isPadding))
    c.reportInvalid(fmt::format("has 'pads' = {}, expected four numbers of at least 0", listOf(pads)));
  bool same = llvm::StringRef(node.text("auto_pad")).starts_with("SAME");
  bool ceil = node.integer("ceil_mode", 0) != 0;
  for (size_t i : {0, 1}) {
    int64_t in = image[i + 1], reach = window.dilations[i] * (kernel[i] - 1) + 1, s = window.strides[i];
    int64_t room = in + pads[i] + pads[i + 2] - reach;
    int64_t out = same ? (in + s - 1) / s : room < 0 ? 0 : (room + (ceil ? s - 1 : 0)) / s + 1;
    auto given = [&](int64_t p) { return (in + 2 * p - reach) / s + 1; };
    int64_t p = same ? std::max<int64_t>(0, (out - 1) * s + reach - in) / 2 : pads[i];
    while (p < reach && (in + 2 * p < reach || given(p) < out))
      ++p;
    if (out < 1 || in + 2 * p < reach || given(p) != out)
      c.reportUnsupported(fmt::format("pads {} by {} and {} for an extent of {}; no padding that is the same at "
                                      "both ends gives that",
                                      in, pads[i], pads[i + 2], out));
    if (!same && (p != pads[i] || p != pads[i + 2]))
      c.noteOnce(fmt::format("{} pads by {}{}, here by {} at every side: the same extents and work", c.subject(),
                             listOf(pads), ceil ? " and rounds up" : "", p));
    window.padding[i] = p;
    window.extents[i] = out;
  }
  bool pools = node.op == "MaxPool" || node.op == "AveragePool";
  if (pools && window.dilations != Shape{1, 1})
    c.reportUnsupported("has dilations, which a pool has not here");
  return window;
}

void conv(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor &w = c.weight(1, 4);
  DnnTextBuilder::Id x = c.sized(0, 3);
  Shape image = c.shape(x);
  int64_t groups = node.integer("group", 1), out = w.shape[0];
  if (!isExtent(groups) || out % groups || image[0] % groups || image[0] / groups != w.shape[1])
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, image[0]));
  Window window = windowOf(c, node, image, {w.shape[2], w.shape[3]});
  bool deep = groups == image[0] && out == groups && groups > 1;
  if (node.has(2))
    c.weight(2, c.initializer(2) ? c.initializer(2)->shape.size() : 1);
  c.setImage(c.add(deep ? "depthwise_conv2d" : "conv2d", {x},
                   convolutionAttributes(deep ? 0 : out, window, deep || groups == 1 ? 0 : groups, node.has(2)),
                   {out, window.extents[0], window.extents[1]}));
}

void convTranspose(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor &w = c.weight(1, 4);
  DnnTextBuilder::Id x = c.sized(0, 3);
  Shape image = c.shape(x);
  int64_t groups = node.integer("group", 1);
  if (!isExtent(groups) || !isExtent(w.shape[1]) || image[0] != w.shape[0] || image[0] % groups)
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, image[0]));
  if (node.integers("output_shape") || llvm::StringRef(node.text("auto_pad")).starts_with("SAME"))
    c.reportUnsupported("states its output's extent instead of pads");
  Shape strides = node.integers("strides").value_or(Shape{1, 1}),
        dilations = node.integers("dilations").value_or(Shape{1, 1}),
        pads = node.integers("pads").value_or(Shape{0, 0, 0, 0}),
        more = node.integers("output_padding").value_or(Shape{0, 0});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4 || more.size() != 2 ||
      !llvm::all_of(strides, isExtent) || !llvm::all_of(dilations, isExtent) || !isExtent(w.shape[2]) ||
      !isExtent(w.shape[3]) || !llvm::all_of(pads, isPadding) || !llvm::all_of(more, isPadding))
    c.reportInvalid("has impossible strides, dilations or pads, or not for two dimensions");
  if (pads[0] != pads[2] || pads[1] != pads[3])
    c.reportUnsupported(fmt::format("pads differently at both ends: {}", listOf(pads)));
  Window window{{w.shape[2], w.shape[3]}, strides, {pads[0], pads[1]}, dilations, more};
  int64_t out = w.shape[1] * groups;
  Shape shape{out};
  for (size_t i : {0, 1})
    shape.push_back((image[i + 1] - 1) * strides[i] - 2 * pads[i] + dilations[i] * (w.shape[i + 2] - 1) + more[i] + 1);
  c.setImage(
      c.add("conv_transpose2d", {x}, convolutionAttributes(out, window, groups > 1 ? groups : 0, node.has(2)), shape));
}

/// The product of x with a weight: [out, in] with `transB`, else [in, out].
void linear(OnnxContext &c, const OnnxNode &node, const OnnxValue &x, const OnnxTensor &w) {
  bool transposed = node.integer("transB", 0) != 0;
  int64_t out = w.shape[transposed ? 0 : 1], in = w.shape[transposed ? 1 : 0];
  Shape shape = c.shape(x.id), full = x.full;
  if (shape.empty() || shape.back() != in)
    c.reportInvalid(fmt::format("multiplies {} by a weight {}", listOf(shape), listOf(w.shape)));
  std::vector<std::string> attributes{fmt::format("out = {}", out)};
  if (!node.has(2))
    attributes.push_back("bias = false");
  shape.back() = full.back() = out;
  if (!c.isShared(w))
    return c.setResult(c.add("linear", {x.id}, attributes, shape), full, x.batch);
  DnnTextBuilder::Id table = c.parameterOf(w).id;
  if (!transposed)
    table = c.textBuilder.transpose(table, {1, 0});
  c.setResult(c.textBuilder.addNamed(c.name(), "linear", {x.id, table}, "weight", attributes, shape), full, x.batch);
}

void gemm(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor *w = c.initializer(1), *offset = c.initializer(2);
  OnnxValue x = c.tensor(0);
  bool plain = node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 && !node.integer("transA", 0);
  bool biased = !node.has(2) || (offset && w && w->shape.size() == 2 &&
                                 elementsOf(offset->shape) == w->shape[node.integer("transB", 0) ? 0 : 1]);
  if (!w || w->shape.size() != 2 || !plain || !biased || x.batch == Batch::None)
    c.reportUnsupported("is a product with scaled, computed or transposed operands; only x times a weight plus "
                        "a bias is supported");
  x.full.resize(2);
  linear(c, node, x, *w);
}

void matmul(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  if (const OnnxTensor *w = c.initializer(1); w && w->shape.size() == 2)
    return linear(c, node, x, *w);
  OnnxValue b = c.tensor(1);
  Shape sa = c.shape(x.id), sb = c.shape(b.id);
  if (sa.size() < 2 || sb.size() < 2 || sa.back() != sb[sb.size() - 2] ||
      (x.batch != b.batch && b.batch != Batch::None && x.batch != Batch::None))
    c.reportUnsupported(
        fmt::format("multiplies {} by {} after the batch, which is not supported", listOf(sa), listOf(sb)));
  auto join = [&](const Shape &left, const Shape &right) {
    auto all = broadcastOf(llvm::ArrayRef(left).drop_back(2), llvm::ArrayRef(right).drop_back(2));
    if (!all)
      c.reportInvalid(fmt::format("multiplies {} by {}", listOf(left), listOf(right)));
    all->insert(all->end(), {left[left.size() - 2], right.back()});
    return *all;
  };
  DnnTextBuilder::Id y = c.add("matmul", {x.id, b.id}, {}, join(sa, sb));
  c.setResult(y, join(x.full, b.full), x.batch == Batch::None ? b.batch : x.batch);
}

std::string epsilonOf(const OnnxNode &node) { return "epsilon = " + singleText(node.number("epsilon", 1e-5)); }

void batchNorm(OnnxContext &c, const OnnxNode &node) {
  c.weight(1, 1);
  c.weight(2, 1);
  OnnxValue x = c.tensor(0);
  if (x.batch != Batch::Leads)
    c.reportUnsupported("normalizes something without a batch");
  c.setAlike(x, "batch_norm", {epsilonOf(node)});
}

void layerNorm(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  int64_t axis = node.integer("axis", -1);
  if (axis != -1 && axis != std::ssize(x.full) - 1)
    c.reportUnsupported(fmt::format("normalizes from axis {} on, and only the last is supported", axis));
  c.weight(1, 1);
  std::vector<std::string> attributes{epsilonOf(node)};
  if (node.has(2))
    c.weight(2, 1);
  else
    attributes.push_back("bias = false");
  c.setAlike(x, "layer_norm", attributes);
}

void groupNorm(OnnxContext &c, const OnnxNode &node) {
  c.weight(1, 1);
  c.weight(2, 1);
  DnnTextBuilder::Id x = c.sized(0, 3);
  int64_t channels = c.shape(x)[0],
          groups = node.op == "InstanceNormalization" ? channels : node.integer("num_groups", 1);
  if (!isExtent(groups) || channels % groups)
    c.reportInvalid(fmt::format("has {} groups of {} channels", groups, channels));
  c.setImage(c.add("group_norm", {x}, {fmt::format("groups = {}", groups), epsilonOf(node)}, c.shape(x)));
}

void pool(OnnxContext &c, const OnnxNode &node) {
  DnnTextBuilder::Id x = c.sized(0, 3);
  Shape kernel = node.integers("kernel_shape").value_or(Shape{});
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    c.reportUnsupported("gives the places of its maxima, which is not supported");
  if (llvm::any_of(kernel, [](int64_t k) { return k < 1; }))
    c.reportInvalid("has an impossible 'kernel_shape'");
  Window window = windowOf(c, node, c.shape(x), kernel);
  c.setImage(c.add(node.op == "MaxPool" ? "max_pool" : "avg_pool", {x}, poolAttributes(window),
                   {c.shape(x)[0], window.extents[0], window.extents[1]}));
}

void globalPool(OnnxContext &c, const OnnxNode &) {
  DnnTextBuilder::Id x = c.sized(0, 3);
  int64_t channels = c.shape(x)[0];
  c.setImage(c.textBuilder.reshape(c.add("global_avg_pool", {x}, {}, {channels}), {channels, 1, 1}));
}

/// Rows of a table of tokens.
void embedding(OnnxContext &c, const OnnxTensor &table, const OnnxValue &ids, int64_t axis) {
  if (table.shape.size() != 2 || axis != 0)
    c.reportUnsupported("looks up something else than the rows of a table");
  Shape shape = c.shape(ids.id), full = ids.full;
  shape.push_back(table.shape[1]);
  full.push_back(table.shape[1]);
  std::vector<std::string> attributes{fmt::format("rows = {}", table.shape[0]),
                                      fmt::format("dim = {}", table.shape[1])};
  Batch where = ids.batch == Batch::Merged && full[0] == c.batch ? Batch::Leads : ids.batch;
  DnnTextBuilder::Id y =
      c.isShared(table)
          ? c.textBuilder.addNamed(c.name(), "embedding", {ids.id, c.parameterOf(table).id}, "table", attributes, shape)
          : c.add("embedding", {ids.id}, attributes, shape);
  if (where != ids.batch)
    y = c.textBuilder.reshape(y, c.sampleOf(full, where));
  c.setResult(y, full, where);
}

void gather(OnnxContext &c, const OnnxNode &node) {
  const OnnxValue &from = c.get(0), &ids = c.get(1);
  int64_t axis = node.integer("axis", 0);
  if (const OnnxTensor *table = c.initializer(0); table && !ids.constant)
    return embedding(c, *table, ids, axis);
  OnnxValue x = c.tensor(0);
  int64_t dim = c.axisOf(x, axis);
  if (!ids.constant)
    c.reportUnsupported(from.batch == Batch::None
                            ? "looks up something else than the rows of a table"
                            : "takes the same computed places of every sample; GatherND with batch_dims = 1 "
                              "is supported");
  // A range of known places.
  if (!ids.constant->numbers || ids.constant->numbers->empty())
    c.reportUnsupported("takes entries at places that are too many to be known");
  const std::vector<double> &at = *ids.constant->numbers;
  int64_t extent = c.shape(x.id)[dim], size = at.size(), first = at[0], start = first + (first < 0 ? extent : 0);
  for (size_t i = 1; i < at.size(); ++i)
    if (at[i] != at[0] + i)
      c.reportUnsupported("takes entries at places that do not follow each other");
  if (start < 0 || start + size > extent)
    c.reportInvalid(fmt::format("takes entries {} to {} of {}", start, start + size - 1, extent));
  DnnTextBuilder::Id y = size == extent ? x.id : c.textBuilder.slice(c.name(), x.id, dim, start, size);
  Shape full = x.full;
  auto place = full.erase(full.begin() + axis);
  full.insert(place, ids.constant->shape.begin(), ids.constant->shape.end());
  c.setResult(c.viewed(y, x.batch, full, full));
}

/// GatherND with batch_dims = 1 and one index: entries of every sample's first dimension.
void gatherNd(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0), ids = c.tensor(1);
  if (node.integer("batch_dims", 0) != 1 || x.batch != Batch::Leads || ids.batch != Batch::Leads ||
      ids.full.back() != 1 || ids.full.size() < 2 || x.full.size() < 2)
    c.reportUnsupported("takes entries in a way that is not supported; batch_dims = 1 and one index has");
  Shape places = c.shape(ids.id), shape(c.shape(x.id).begin() + 1, c.shape(x.id).end());
  places.pop_back();
  if (places.empty())
    places = {1};
  shape.insert(shape.begin(), places.begin(), places.end());
  DnnTextBuilder::Id y = c.add("gather", {x.id, c.textBuilder.reshape(ids.id, places)}, {"axis = 0"}, shape);
  Shape full(ids.full.begin(), ids.full.end() - 1);
  full.insert(full.end(), x.full.begin() + 2, x.full.end());
  c.setResult(c.viewed(y, Batch::Leads, full, full));
}

} // namespace

std::vector<OnnxOperators> onnxLayers() {
  return {{batchNorm, {"BatchNormalization"}},
          {conv, {"Conv"}},
          {convTranspose, {"ConvTranspose"}},
          {gather, {"Gather"}},
          {gatherNd, {"GatherND"}},
          {gemm, {"Gemm"}},
          {globalPool, {"GlobalAveragePool"}},
          {groupNorm, {"GroupNormalization", "InstanceNormalization"}},
          {layerNorm, {"LayerNormalization"}},
          {matmul, {"MatMul"}},
          {pool, {"AveragePool", "MaxPool"}}};
}

} // namespace accord::import
