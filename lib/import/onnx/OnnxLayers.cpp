// Operators with weights: products, normalizations, lookups.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

/// The product of x with a weight: [out, in] with `transB`, else [in, out].
void linear(OnnxContext &c, const OnnxNode &node, const OnnxValue &x, const OnnxTensor &w) {
  bool transposed = node.integer("transB", 0) != 0;
  int64_t out = w.shape[transposed ? 0 : 1], in = w.shape[transposed ? 1 : 0];
  Shape shape = c.shape(x.id), full = x.full;
  if (x.outer && c.placeOf(x).axis + 1 == std::ssize(full))
    c.reportUnsupported("multiplies along the batch, whose samples are independent here");
  if (shape.empty() || shape.back() != in)
    c.reportInvalid(fmt::format("multiplies {} by a weight {}", listOf(shape), listOf(w.shape)));
  std::vector<std::string> attributes{fmt::format("out = {}", out)};
  if (!node.has(2))
    attributes.push_back("bias = false");
  shape.back() = full.back() = out;
  if (!c.isShared(w))
    return c.setResult(c.add("linear", {x.id}, attributes, shape), full, x.outer);
  DnnTextBuilder::Id table = c.parameterOf(w).id;
  if (!transposed)
    table = c.textBuilder.transpose(table, {1, 0});
  c.setResult(c.textBuilder.addNamed(c.name(), "linear", {x.id, table}, "weight", attributes, shape), full, x.outer);
}

void gemm(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor *w = c.initializer(1), *offset = c.initializer(2);
  OnnxValue x = c.tensor(0);
  bool plain = node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 && !node.integer("transA", 0);
  bool biased = !node.has(2) || (offset && w && w->shape.size() == 2 &&
                                 elementsOf(offset->shape) == w->shape[node.integer("transB", 0) ? 0 : 1]);
  if (!w || w->shape.size() != 2 || !plain || !biased || !x.outer)
    c.reportUnsupported("is a product with scaled, computed or transposed operands; only x times a weight plus "
                        "a bias is supported");
  x.full.resize(2);
  linear(c, node, x, *w);
}

/// A batch of one product is the same for both operands, in a dimension before the last two.
bool isBatchOf(const OnnxContext &c, const OnnxValue &a, const OnnxValue &b) {
  for (const OnnxValue *one : {&a, &b})
    if (one->outer && c.placeOf(*one).axis + 2 >= std::ssize(one->full))
      return false;
  return !a.outer || !b.outer || c.sameBatch(a, b);
}

void matmul(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  if (const OnnxTensor *w = c.initializer(1); w && w->shape.size() == 2)
    return linear(c, node, x, *w);
  OnnxValue b = c.tensor(1);
  c.strip(x, b);
  c.strip(b, x);
  Shape sa = c.shape(x.id), sb = c.shape(b.id);
  if (sa.size() < 2 || sb.size() < 2 || sa.back() != sb[sb.size() - 2] || !isBatchOf(c, x, b))
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
  Shape full = join(x.full, b.full);
  c.setResult(y, full, c.outerOf(full, x, b));
}

std::string epsilonOf(const OnnxNode &node) { return "epsilon = " + singleText(node.number("epsilon", 1e-5)); }

void batchNorm(OnnxContext &c, const OnnxNode &node) {
  c.weight(1, 1);
  c.weight(2, 1);
  OnnxValue x = c.tensor(0);
  if (!c.leads(x))
    c.reportUnsupported("normalizes something whose first dimension is not the batch");
  c.setAlike(x, "batch_norm", {epsilonOf(node)});
}

/// Normalizes all dimensions from `axis` on, which become one, with a weight for each of their elements.
void normalized(OnnxContext &c, const OnnxNode &node, const char *call, std::vector<std::string> attributes) {
  OnnxValue x = c.tensor(0);
  int64_t axis = node.integer("axis", -1), dim = c.axisOf(x, axis);
  if (x.outer && c.placeOf(x).axis > axis)
    c.reportUnsupported("normalizes across the samples of a batch, which are independent here");
  Shape sample = c.shape(x.id), joined(sample.begin(), sample.begin() + dim);
  joined.push_back(*elementsOf(Shape(sample.begin() + dim, sample.end())));
  for (size_t i : {1, 2})
    if (node.has(i) && (i == 1 || attributes.size() == 1))
      if (const OnnxTensor &weight = c.weight(i); elementsOf(weight.shape) != joined.back())
        c.reportInvalid(fmt::format("normalizes {} elements by a weight {}", joined.back(), listOf(weight.shape)));
  DnnTextBuilder::Id y = c.add(call, {c.textBuilder.reshape(x.id, joined)}, std::move(attributes), joined);
  c.setResult(c.textBuilder.reshape(y, sample), x.full, x.outer);
}

void layerNorm(OnnxContext &c, const OnnxNode &node) {
  std::vector<std::string> attributes{epsilonOf(node)};
  if (!node.has(2))
    attributes.push_back("bias = false");
  c.weight(1);
  normalized(c, node, "layer_norm", attributes);
}

void groupNorm(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor &scale = c.weight(1, 1), &offset = c.weight(2, 1);
  DnnTextBuilder::Id x = c.sized(0);
  int64_t channels = c.shape(x)[0],
          groups = node.op == "InstanceNormalization" ? channels : node.integer("num_groups", 1);
  if (groups < 1 || channels % groups)
    c.reportInvalid(fmt::format("has {} groups of {} channels", groups, channels));
  // Before operator set 21 a weight was of a group.
  if (scale.shape[0] != channels || offset.shape[0] != channels)
    c.reportUnsupported(fmt::format("has weights {} and {} for {} channels, and one for each channel is supported",
                                    listOf(scale.shape), listOf(offset.shape), channels));
  c.setImage(c.add("group_norm", {x}, {fmt::format("groups = {}", groups), epsilonOf(node)}, c.shape(x)));
}

/// Without a mean and an offset. `stash_type` and others have no meaning here.
void rmsNorm(OnnxContext &c, const OnnxNode &node) {
  c.weight(1);
  normalized(c, node, "rms_norm", {epsilonOf(node)});
}

void lrn(OnnxContext &c, const OnnxNode &node) {
  DnnTextBuilder::Id x = c.sized(0);
  int64_t size = node.integer("size", 0);
  if (size < 1 || size > 65536)
    c.reportInvalid(fmt::format("has a 'size' of {}, expected 1 to 65536", size));
  std::vector<std::string> attributes{fmt::format("size = {}", size)};
  for (auto [key, otherwise] : {std::pair("alpha", 1e-4), {"beta", 0.75}, {"bias", 1.0}})
    if (double value = node.number(key, otherwise); static_cast<float>(value) != static_cast<float>(otherwise))
      attributes.push_back(fmt::format("{} = {}", key, singleText(value)));
  if (!(node.number("bias", 1) > 0))
    c.reportUnsupported("has a bias that is not above 0");
  c.setImage(c.add("lrn", {x}, attributes, c.shape(x)));
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
  DnnTextBuilder::Id y =
      c.isShared(table)
          ? c.textBuilder.addNamed(c.name(), "embedding", {ids.id, c.parameterOf(table).id}, "table", attributes, shape)
          : c.add("embedding", {ids.id}, attributes, shape);
  c.setResult(c.textBuilder.reshape(y, c.sampleOf(full, ids.outer)), full, ids.outer);
}

/// Rows of a weight at fixed places, queries times keys of them: a table of relative positions. The same places in
/// every step are the same work, whichever they are.
bool relativeBias(OnnxContext &c, const OnnxTensor &ids, int64_t axis) {
  const OnnxTensor *table = c.initializer(0);
  Shape places = ids.shape;
  if (places.size() == 1) {
    auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(places[0])));
    if (root < 2 || root * root != places[0])
      return false;
    places = {root, root};
  }
  if (!table || table->initializer.empty() || table->shape.size() != 2 || table->shape[0] < 2 || axis != 0 ||
      places.size() != 2 || !elementsOf(places))
    return false;
  int64_t heads = table->shape[1];
  DnnTextBuilder::Id y = c.add("relative_bias", {c.parameterOf(*table).id},
                               {fmt::format("queries = {}", places[0]), fmt::format("keys = {}", places[1]),
                                fmt::format("max_distance = {}", std::max<int64_t>(128, table->shape[0]))},
                               {heads, places[0], places[1]});
  c.noteOnce("a table that is read at fixed places is one of relative positions here: the same work");
  Shape full = ids.shape;
  full.push_back(heads);
  y = c.textBuilder.reshape(c.textBuilder.transpose(y, {1, 2, 0}, c.name()), full);
  c.setResult(y, full, std::nullopt);
  return true;
}

bool followEachOther(const std::vector<double> &places) {
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i] != places[0] + static_cast<double>(i))
      return false;
  return true;
}

void gather(OnnxContext &c, const OnnxNode &node) {
  const OnnxValue &from = c.get(0), &ids = c.get(1);
  int64_t axis = node.integer("axis", 0);
  if (const OnnxTensor *table = c.initializer(0); table && !ids.constant)
    return embedding(c, *table, ids, axis);
  OnnxValue x = c.tensor(0);
  int64_t dim = c.axisOf(x, axis); // which counts the axis from the front
  if (!ids.constant)
    c.reportUnsupported(!from.outer ? "looks up something else than the rows of a table"
                                    : "takes the same computed places of every sample; GatherND with batch_dims = 1 "
                                      "is supported");
  bool isRange = ids.constant->numbers && followEachOther(*ids.constant->numbers);
  if (!isRange && !ids.constant->shape.empty() && relativeBias(c, *ids.constant, axis))
    return;
  if (!ids.constant->numbers || ids.constant->numbers->empty())
    c.reportUnsupported("takes entries at places that are too many to be known");
  const std::vector<double> &at = *ids.constant->numbers;
  int64_t extent = c.shape(x.id)[dim], size = at.size(), first = at[0], start = first + (first < 0 ? extent : 0);
  if (!isRange)
    c.reportUnsupported("takes entries at places that do not follow each other");
  if (start < 0 || start + size > extent)
    c.reportInvalid(fmt::format("takes entries {} to {} of {}", start, start + size - 1, extent));
  DnnTextBuilder::Id y = size == extent ? x.id : c.textBuilder.slice(c.name(), x.id, dim, start, size);
  std::optional<int64_t> outer = c.resized(x, axis, size).outer;
  Shape full = x.full;
  auto place = full.erase(full.begin() + axis);
  full.insert(place, ids.constant->shape.begin(), ids.constant->shape.end());
  c.setResult(c.viewed(y, outer, full, full));
}

/// GatherND with batch_dims = 1 and one index: entries of every sample's first dimension.
void gatherNd(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0), ids = c.tensor(1);
  if (node.integer("batch_dims", 0) != 1 || !c.leads(x) || !c.leads(ids) || ids.full.back() != 1 ||
      ids.full.size() < 2 || x.full.size() < 2)
    c.reportUnsupported("takes entries in a way that is not supported; batch_dims = 1 and one index has");
  Shape places = c.shape(ids.id), shape(c.shape(x.id).begin() + 1, c.shape(x.id).end());
  places.pop_back();
  if (places.empty())
    places = {1};
  shape.insert(shape.begin(), places.begin(), places.end());
  DnnTextBuilder::Id y = c.add("gather", {x.id, c.textBuilder.reshape(ids.id, places)}, {"axis = 0"}, shape);
  Shape full(ids.full.begin(), ids.full.end() - 1);
  full.insert(full.end(), x.full.begin() + 2, x.full.end());
  c.setResult(c.viewed(y, 1, full, full));
}

} // namespace

std::vector<OnnxOperators> onnxLayers() {
  return {{batchNorm, {"BatchNormalization"}},
          {gather, {"Gather"}},
          {gatherNd, {"GatherND"}},
          {gemm, {"Gemm"}},
          {groupNorm, {"GroupNormalization", "InstanceNormalization"}},
          {layerNorm, {"LayerNormalization"}},
          {lrn, {"LRN"}},
          {matmul, {"MatMul"}},
          {rmsNorm, {"RMSNormalization", "SimplifiedLayerNormalization"}}};
}

} // namespace accord::import
