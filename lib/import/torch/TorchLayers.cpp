// Operations with weights or windows.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

std::string epsilonOf(TorchContext &c, double otherwise) {
  double epsilon = c.number("eps").value_or(otherwise);
  return fmt::format("epsilon = {}", epsilon > 0 ? epsilon : otherwise);
}

/// Weights that the operation of the language brings along.
void takeScale(TorchContext &c) {
  if (!c.has("weight"))
    c.reportUnsupported("has no trained scale, which is not supported");
  c.takeWeight(c.get("weight"));
  if (c.has("bias"))
    c.takeWeight(c.get("bias"));
}

/// (x - mean) / root of the variance, without trained tensors.
TorchValue normalized(TorchContext &c, const TorchValue &x) {
  Shape whole = c.shape(x.id), reduced(whole.begin(), whole.end() - 1), kept = whole;
  kept.back() = 1;
  auto mean = [&](Id of) {
    return c.textBuilder.reshape(c.add("reduce_mean", {of}, {fmt::format("axis = {}", std::ssize(whole) - 1)}, reduced),
                                 kept);
  };
  Id centred = c.add("-", {x.id, mean(x.id)}, {}, whole);
  Id variance = mean(c.add("*", {centred, centred}, {}, whole));
  TorchValue y = x;
  y.id = c.add("/", {centred, c.add("sqrt", {variance}, {}, kept)}, {}, whole);
  return y;
}

/// A weight that is normalized before it is used: each row of [1, rows, ..], by the parts.
void weightNorm(TorchContext &c, TorchValue x) {
  Shape full = x.full;
  x = c.viewed(x, {full[1], elementsOf(full).value_or(0) / full[1]});
  TorchValue y = normalized(c, x);
  for (const char *key : {"weight", "bias"})
    if (c.has(key))
      y = joined(c, key == std::string("weight") ? '*' : '+', y, c.viewed(c.made(c.get(key)), {full[1], 1}));
  c.setResult(c.viewed(y, full));
}

/// g v / |v|: weights whose direction and length are trained apart (Salimans and Kingma, Weight Normalization, 2016).
/// The length is that of all that one entry of `dim` has, and g has an extent of one in the other dimensions.
void weightLength(TorchContext &c, const TorchNode &) {
  TorchValue v = c.made(c.get("v")), g = c.made(c.get("g"));
  Shape shape = c.shape(v.id), kept(shape.size(), 1);
  if (v.batchAt >= 0 || c.integer("dim", 0) < 0)
    c.reportUnsupported("normalizes something else than the rows of a weight");
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(shape));
  kept[dim] = shape[dim];
  if (c.shape(g.id) != kept)
    c.reportInvalid(fmt::format("has lengths {} for a weight {}", listOf(c.shape(g.id)), listOf(shape)));
  Shape whole = shape;
  Id sum = c.add("*", {v.id, v.id}, {}, whole);
  for (int64_t i = std::ssize(whole) - 1; i >= 0; --i)
    if (i != dim) {
      shape.erase(shape.begin() + i);
      sum = c.add("reduce_sum", {sum}, {fmt::format("axis = {}", i)}, shape);
    }
  Id length = c.add("sqrt", {c.textBuilder.reshape(sum, kept)}, {}, kept);
  TorchValue y = v;
  y.id = c.add("*", {v.id, c.add("/", {g.id, length}, {}, kept)}, {}, whole);
  c.setResult(y);
}

void batchNorm(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(c.tensor("input"));
  if (x.batchAt < 0 && x.full.size() >= 2 && x.full[0] == 1 && !c.isOneSample)
    return weightNorm(c, x);
  takeScale(c);
  std::vector<std::string> attributes{epsilonOf(c, 1e-5)};
  if (x.full.size() == 2 && (c.isOneSample || (x.batchAt == 0 && !c.isPure(x)))) { // [rows of all samples, channels]
    TorchValue turned = x;
    Shape shape = c.shape(x.id);
    turned.id = c.transpose(x.id, {1, 0});
    turned.id = c.add("batch_norm", {turned.id}, attributes, {shape[1], shape[0]});
    x.id = c.transpose(turned.id, {1, 0});
    return c.setResult(x);
  }
  if (x.batchAt != 0 || !c.isPure(x))
    c.reportUnsupported("normalizes something that has its batch not first");
  c.setResult(c.alike(x, "batch_norm", attributes));
}

void layerNorm(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(c.tensor("input"));
  Shape over = c.integers("normalized_shape").value_or(Shape{}), full = x.full, flat = full;
  if (over.empty() || over.size() > full.size())
    c.reportInvalid("normalizes nothing");
  flat.resize(full.size() - over.size() + 1);
  flat.back() = elementsOf(over).value_or(0);
  x = c.viewed(x, flat);
  if (x.batchAt == std::ssize(flat) - 1)
    c.reportUnsupported("works across the samples of a batch, which are independent here");
  bool root = node.op == "aten.rms_norm" || node.op == "accord.rms_norm";
  TorchValue y;
  bool shared = !root && c.has("weight") && c.get("weight").kind == Kind::Weight &&
                c.isShared(c.get("weight").weight) && over.size() == 1;
  if (!root && (!c.has("weight") || shared)) {
    y = normalized(c, x);
    // Scales that several layers have stay one.
    if (shared)
      y = joined(c, '*', y, c.tensor("weight"));
    if (shared && c.has("bias"))
      y = joined(c, '+', y, c.tensor("bias"));
  } else {
    takeScale(c);
    std::vector<std::string> attributes{epsilonOf(c, 1e-5)};
    if (!root && !c.has("bias"))
      attributes.push_back("bias = false");
    y = c.alike(x, root ? "rms_norm" : "layer_norm", attributes);
  }
  c.setResult(c.viewed(y, full));
}

void groupNorm(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(c.tensor("input"));
  Shape full = x.full;
  if (x.batchAt != 0 || !c.isPure(x) || full.size() < 2)
    c.reportUnsupported("normalizes something that has its batch not first");
  int64_t channels = full[1], groups = node.op == "aten.instance_norm" ? channels : c.integer("num_groups", 1);
  if (groups < 1 || channels % groups)
    c.reportInvalid(fmt::format("has {} groups of {} channels", groups, channels));
  if (!c.has("weight")) {
    int64_t elements = elementsOf(full).value_or(0) / full[0];
    return c.setResult(c.viewed(normalized(c, c.viewed(x, {full[0], groups, elements / groups})), full));
  }
  takeScale(c);
  Shape image = full;
  while (image.size() < 4)
    image.push_back(1);
  x = c.viewed(x, image);
  c.setResult(c.viewed(c.alike(x, "group_norm", {fmt::format("groups = {}", groups), epsilonOf(c, 1e-5)}), full));
}

/// Layers of an LSTM or GRU, one after the other.
void recurrent(TorchContext &c, const TorchNode &node) {
  bool lstm = node.op == "aten.lstm";
  TorchValue x = c.dense(c.tensor("input"));
  int64_t layers = c.integer("num_layers", 1), gates = lstm ? 4 : 3;
  bool both = c.flag("bidirectional", false), biases = c.flag("has_biases", true);
  std::vector<TorchValue> weights = c.list("params");
  int64_t each = biases ? 4 : 2;
  if (c.shape(x.id).size() != 2 || x.batchAt < 0 || layers < 1 || layers > 1024 ||
      std::ssize(weights) != layers * each * (both ? 2 : 1))
    c.reportUnsupported("has a projection, or reads something else than a sequence for each sample");
  for (const TorchValue &weight : weights)
    c.takeWeight(weight);
  if (weights.size() < 2 || weights[1].full.size() != 2 || weights[1].full[0] != gates * weights[1].full[1])
    c.reportInvalid("has weights of other shapes");
  int64_t hidden = weights[1].full[1], width = both ? 2 * hidden : hidden;
  for (const char *key : {"hx"})
    if (const TorchArgument *states = node.find(key))
      for (const std::string &name : states->names)
        if (auto state = c.values.find(name); state == c.values.end() || state->second.kind != Kind::Constant)
          c.reportUnsupported("begins with a state that is computed; zeros are supported");
  std::vector<std::string> attributes{fmt::format("hidden = {}", hidden)};
  if (!biases)
    attributes.push_back("bias = false");
  if (both)
    attributes.push_back("bidirectional = true");
  double rate = c.number("dropout").value_or(0);
  Shape shape = c.shape(x.id);
  Id y = x.id;
  for (int64_t i = 0; i < layers; ++i) {
    if (i > 0 && rate > 0 && rate < 1 && c.flag("train", false))
      y = c.add("dropout", {y}, {"rate = " + singleText(rate)}, shape);
    shape[1] = width;
    y = c.add(lstm ? "lstm" : "gru", {y}, attributes, shape);
  }
  Shape full = x.full;
  full.back() = width;
  c.setResult(c.computed(y, full, x.batchAt, x.outer));
  if (both || layers != 1)
    return; // the last states of all layers are refused where they are read
  Shape last{1, c.batch, hidden};
  TorchValue state = c.computed(c.textBuilder.slice(c.name() + ".last", y, 0, shape[0] - 1, 1), last, 1);
  c.setResult(state, 1);
}

} // namespace

std::vector<TorchOperators> torchLayers() {
  return {{batchNorm, {"aten.batch_norm", "aten._native_batch_norm_legit", "aten.native_batch_norm"}},
          {weightLength, {"aten._weight_norm"}},
          {groupNorm, {"aten.group_norm", "aten.native_group_norm", "aten.instance_norm"}},
          {layerNorm, {"aten.layer_norm", "aten.native_layer_norm", "aten.rms_norm", "accord.rms_norm"}},
          {recurrent, {"aten.gru", "aten.lstm"}}};
}

} // namespace accord::import
