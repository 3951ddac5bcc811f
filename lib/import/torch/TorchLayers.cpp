// Operations with weights or windows.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

bool isExtent(int64_t value) { return value >= 1 && value <= 1 << 30; }
bool isPadding(int64_t value) { return value >= 0 && value <= 1 << 30; }

/// Two numbers of an argument that states one or two; a window of one dimension has one row.
Shape pairOf(TorchContext &c, const char *key, size_t dims, int64_t otherwise, int64_t ofRow) {
  Shape values = c.integers(key).value_or(Shape{});
  if (values.empty())
    values.assign(dims, otherwise);
  if (values.size() == 1)
    values.assign(dims, values[0]);
  if (values.size() != dims || dims > 2)
    c.reportInvalid(fmt::format("has '{}' = {}, expected {} numbers", key, listOf(values), dims));
  if (dims == 1)
    values.insert(values.begin(), ofRow);
  return values;
}

/// A window moved over [channels, rows, columns], with the extents that the file states. Padding is the same at both
/// ends in the language; one that gives the same extents does the same work.
Window windowOf(TorchContext &c, const Shape &image, const Shape &kernel, const Shape &strides, const Shape &padding,
                const Shape &dilations, const Shape &out) {
  Window window{kernel, strides, padding, dilations};
  window.extents = out;
  if (!llvm::all_of(kernel, isExtent) || !llvm::all_of(strides, isExtent) || !llvm::all_of(padding, isPadding) ||
      !llvm::all_of(dilations, isExtent))
    c.reportInvalid("has an impossible window");
  for (size_t i : {0, 1}) {
    int64_t in = image[i + 1], reach = dilations[i] * (kernel[i] - 1) + 1, p = padding[i];
    auto given = [&](int64_t pad) { return in + 2 * pad < reach ? 0 : (in + 2 * pad - reach) / strides[i] + 1; };
    while (p < reach && given(p) < out[i])
      ++p;
    if (given(p) != out[i] || out[i] < 1)
      c.reportUnsupported(
          fmt::format("makes {} of an extent of {}, which no padding that is the same at both ends does", out[i], in));
    if (p != padding[i])
      c.noteOnce(
          fmt::format("{} rounds up or pads unevenly; here it pads by {} at every side: the same extents and work",
                      c.subject(), p));
    window.padding[i] = p;
  }
  return window;
}

/// An image; [channels, length] becomes one of one row.
TorchValue imageOf(TorchContext &c, const char *key, size_t dims) {
  TorchValue x = c.sized(key, dims + 1);
  if (dims == 1) {
    Shape full = x.full;
    full.insert(full.end() - 1, 1);
    x = c.viewed(x, full);
  }
  return x;
}

/// The result as the file has it: without the row of an image of one.
void setImage(TorchContext &c, Id id, size_t dims) {
  TorchValue y = c.image(id);
  if (dims == 1) {
    Shape full = y.full;
    full.erase(full.end() - 2);
    y = c.viewed(y, full);
  }
  c.setResult(y);
}

Shape rowsAndColumns(TorchContext &c, const TorchNode &node) {
  Shape out = c.shapeInFile(node.outputs.at(0));
  if (out.size() < 3)
    c.reportInvalid("gives no image");
  Shape last(out.end() - std::min<std::ptrdiff_t>(2, std::ssize(out) - 2), out.end());
  return last.size() == 1 ? Shape{1, last[0]} : last;
}

void convTransposed(TorchContext &c, const TorchValue &x, const TorchValue &w, size_t dims, const Shape &padding) {
  Shape image = c.shape(x.id), strides = pairOf(c, "stride", dims, 1, 1), dilations = pairOf(c, "dilation", dims, 1, 1),
        more = pairOf(c, "output_padding", dims, 0, 0);
  int64_t groups = c.integer("groups", 1);
  Shape kernel(w.full.begin() + 2, w.full.end());
  if (dims == 1)
    kernel.insert(kernel.begin(), 1);
  if (!isExtent(groups) || image[0] != w.full[0] || image[0] % groups)
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.full), groups, image[0]));
  Window window{kernel, strides, padding, dilations, more};
  int64_t out = w.full[1] * groups;
  Shape shape{out};
  for (size_t i : {0, 1})
    shape.push_back((image[i + 1] - 1) * strides[i] - 2 * padding[i] + dilations[i] * (kernel[i] - 1) + more[i] + 1);
  setImage(c,
           c.add("conv_transpose2d", {x.id}, convolutionAttributes(out, window, groups > 1 ? groups : 0, c.has("bias")),
                 shape),
           dims);
}

void convolution(TorchContext &c, const TorchNode &node) {
  TorchValue w = c.get("weight");
  c.takeWeight(w);
  if (w.full.size() != 3 && w.full.size() != 4)
    c.reportUnsupported(
        fmt::format("moves a window of {} dimensions; one and two are supported", std::ssize(w.full) - 2));
  size_t dims = w.full.size() - 2;
  TorchValue x = imageOf(c, "input", dims);
  if (c.has("bias"))
    c.takeWeight(c.get("bias"));
  Shape image = c.shape(x.id), kernel(w.full.begin() + 2, w.full.end()), padding{0, 0};
  if (dims == 1)
    kernel.insert(kernel.begin(), 1);
  Shape dilations = pairOf(c, "dilation", dims, 1, 1);
  if (c.text("padding") == "same")
    padding = {dilations[0] * (kernel[0] - 1) / 2, dilations[1] * (kernel[1] - 1) / 2};
  else if (c.text("padding").empty())
    padding = pairOf(c, "padding", dims, 0, 0);
  if (c.flag("transposed", false) || llvm::StringRef(node.op).starts_with("aten.conv_transpose"))
    return convTransposed(c, x, w, dims, padding);
  int64_t groups = c.integer("groups", 1), out = w.full[0];
  if (!isExtent(groups) || out % groups || image[0] % groups || image[0] / groups != w.full[1])
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.full), groups, image[0]));
  Window window =
      windowOf(c, image, kernel, pairOf(c, "stride", dims, 1, 1), padding, dilations, rowsAndColumns(c, node));
  bool deep = groups == image[0] && out == groups && groups > 1;
  setImage(c,
           c.add(deep ? "depthwise_conv2d" : "conv2d", {x.id},
                 convolutionAttributes(deep ? 0 : out, window, deep || groups == 1 ? 0 : groups, c.has("bias")),
                 {out, window.extents[0], window.extents[1]}),
           dims);
}

void pool(TorchContext &c, const TorchNode &node) {
  size_t dims = llvm::StringRef(node.op).contains("1d") ? 1 : 2;
  bool max = llvm::StringRef(node.op).contains("max");
  TorchValue x = imageOf(c, "self", dims);
  Shape kernel = pairOf(c, "kernel_size", dims, 1, 1), dilations = pairOf(c, "dilation", dims, 1, 1), strides = kernel;
  if (auto stated = c.integers("stride"); stated && !stated->empty())
    strides = pairOf(c, "stride", dims, 1, 1);
  if (dilations != Shape{1, 1})
    c.reportUnsupported("has dilations, which a pool has not here");
  if (c.has("divisor_override"))
    c.reportUnsupported("divides by a number of its own");
  Window window =
      windowOf(c, c.shape(x.id), kernel, strides, pairOf(c, "padding", dims, 0, 0), dilations, rowsAndColumns(c, node));
  setImage(c,
           c.add(max ? "max_pool" : "avg_pool", {x.id}, poolAttributes(window),
                 {c.shape(x.id)[0], window.extents[0], window.extents[1]}),
           dims);
}

/// Where the extents divide, a window of their quotient.
void adaptivePool(TorchContext &c, const TorchNode &node) {
  size_t dims = llvm::StringRef(node.op).contains("1d") ? 1 : 2;
  bool max = llvm::StringRef(node.op).contains("max");
  TorchValue x = imageOf(c, "self", dims);
  Shape image = c.shape(x.id), out = rowsAndColumns(c, node);
  if (!max && out == Shape{1, 1})
    return setImage(c, c.textBuilder.reshape(c.add("global_avg_pool", {x.id}, {}, {image[0]}), {image[0], 1, 1}), dims);
  if (out[0] < 1 || out[1] < 1)
    c.reportInvalid("gives no image");
  Shape kernel;
  for (size_t i : {0, 1})
    kernel.push_back(out[i] > image[i + 1] && image[i + 1] == 1 ? 0 : image[i + 1] / out[i]);
  if (kernel == Shape{1, 1} && out == Shape{image[1], image[2]})
    return setImage(c, x.id, dims);
  if (!max && image[1] == 1 && image[2] == 1) { // of one pixel: it is repeated
    TorchValue y = x;
    y.full[2] = out[0];
    y.full[3] = out[1];
    return c.setResult(y);
  }
  if (kernel[0] < 1 || kernel[1] < 1)
    c.reportUnsupported(fmt::format("makes {} of {}, which no window does", listOf(out), listOf(image)));
  Window window{kernel, kernel};
  for (size_t i : {0, 1})
    if (int64_t in = image[i + 1]; in % out[i]) {
      // Its windows have two sizes and distances; one that gives the same extent is near.
      ++window.kernel[i];
      if ((in - window.kernel[i]) / window.strides[i] + 1 != out[i])
        window.kernel[i] = in - (out[i] - 1) * window.strides[i];
      c.noteOnce(fmt::format("{} has windows of different sizes, here all of {} at a distance of {}", c.subject(),
                             window.kernel[i], window.strides[i]));
    }
  setImage(c, c.add(max ? "max_pool" : "avg_pool", {x.id}, poolAttributes(window), {image[0], out[0], out[1]}), dims);
}

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

void batchNorm(TorchContext &c, const TorchNode &) {
  takeScale(c);
  TorchValue x = c.dense(c.tensor("input"));
  if (x.batchAt != 0 || !c.isPure(x))
    c.reportUnsupported("normalizes something that has its batch not first");
  c.setResult(c.alike(x, "batch_norm", {epsilonOf(c, 1e-5)}));
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
  takeScale(c);
  TorchValue x = c.dense(c.tensor("input"));
  Shape full = x.full;
  if (x.batchAt != 0 || !c.isPure(x) || full.size() < 2)
    c.reportUnsupported("normalizes something that has its batch not first");
  Shape image = full;
  while (image.size() < 4)
    image.push_back(1);
  x = c.viewed(x, image);
  int64_t channels = full[1], groups = node.op == "aten.instance_norm" ? channels : c.integer("num_groups", 1);
  if (!isExtent(groups) || channels % groups)
    c.reportInvalid(fmt::format("has {} groups of {} channels", groups, channels));
  c.setResult(c.viewed(c.alike(x, "group_norm", {fmt::format("groups = {}", groups), epsilonOf(c, 1e-5)}), full));
}

/// Rows of a table of weights at places that every step has alike: positions follow each other; places of two
/// dimensions are those of a relative position.
TorchValue fixedRows(TorchContext &c, const TorchValue &table, const TorchValue &ids, const Shape &full) {
  const auto &at = ids.numbers;
  int64_t rows = table.full[0];
  bool follows = at && !at->empty();
  for (size_t i = 1; follows && i < at->size(); ++i)
    follows = (*at)[i] == (*at)[0] + static_cast<double>(i);
  TorchValue whole = c.made(table);
  if (follows) {
    auto start = static_cast<int64_t>((*at)[0]), size = static_cast<int64_t>(at->size());
    start += start < 0 ? rows : 0;
    if (start < 0 || start + size > rows)
      c.reportInvalid(fmt::format("takes rows {} to {} of {}", start, start + size - 1, rows));
    TorchValue slice = c.sliced(whole, 0, start, size);
    Shape flat = full;
    for (int64_t &extent : flat)
      extent = c.hasBatch(extent) ? 1 : extent; // the same for every sample
    slice = c.viewed(slice, flat);
    TorchValue y = slice;
    for (size_t i = 0; i < full.size(); ++i)
      if (full[i] != flat[i]) {
        y.batchAt = static_cast<int64_t>(i);
        y.full = full;
        y.id = c.textBuilder.reshape(slice.id, c.sampleOf(y));
      }
    return y;
  }
  Shape places = ids.full;
  if (llvm::any_of(places, [&](int64_t extent) { return c.hasBatch(extent); }))
    return {};
  if (places.size() == 1)
    for (int64_t n = 2; n * n <= places[0]; ++n)
      if (n * n == places[0]) {
        places = {n, n};
        break;
      }
  if (places.size() != 2 || table.full.size() != 2 || rows < 2)
    return {};
  int64_t heads = table.full[1];
  Id bias = c.add("relative_bias", {whole.id},
                  {fmt::format("queries = {}", places[0]), fmt::format("keys = {}", places[1]),
                   fmt::format("max_distance = {}", std::max<int64_t>(128, rows))},
                  {heads, places[0], places[1]});
  c.noteOnce("a table that is read at fixed places is one of relative positions here: the same work");
  TorchValue y = c.computed(c.transpose(bias, {1, 2, 0}), {places[0], places[1], heads}, -1);
  return c.viewed(y, full);
}

void lookUp(TorchContext &c, const TorchValue &table, const TorchValue &ids) {
  if (table.full.size() != 2)
    c.reportUnsupported("looks up something else than the rows of a table");
  Shape full = ids.full;
  full.push_back(table.full[1]);
  if (ids.kind == Kind::Constant)
    if (TorchValue y = fixedRows(c, table, ids, full); y.kind != Kind::Missing)
      return c.setResult(y);
  TorchValue places = c.dense(c.made(ids));
  Shape shape = c.shape(places.id);
  shape.push_back(table.full[1]);
  std::vector<std::string> attributes{fmt::format("rows = {}", table.full[0]), fmt::format("dim = {}", table.full[1])};
  bool own = table.kind == Kind::Weight && !table.transposed && !c.isShared(table.weight);
  Id y = own ? c.add("embedding", {places.id}, attributes, shape)
             : c.textBuilder.addNamed(c.name(), "embedding", {places.id, c.made(table).id}, "table", attributes, shape);
  TorchValue result = c.computed(y, full, places.batchAt, places.outer);
  // One id for each sample: [1, dim] is [dim] of a sample.
  if (Shape sample = c.sampleOf(result); sample != shape)
    result.id = c.textBuilder.reshape(y, sample);
  c.setResult(result);
}

void embedding(TorchContext &c, const TorchNode &) { lookUp(c, c.get("weight"), c.get("indices")); }

/// x[ids]: rows of a table; entries of every sample; a range.
void index(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.get("self");
  const TorchArgument *argument = node.find("indices");
  if (!argument || argument->kind != TorchArgument::Kind::Tensors)
    c.reportInvalid("lacks its tensors 'indices'");
  int64_t at = -1, many = 0;
  for (size_t i = 0; i < argument->names.size(); ++i)
    if (!argument->names[i].empty()) {
      at = static_cast<int64_t>(i);
      ++many;
    }
  if (many == 1 && at == 0 && x.batchAt < 0 && x.full.size() == 2)
    return lookUp(c, x, c.valueOf(argument->names[0]));
  if (many == 2 && at == 1 && x.kind == Kind::Computed && x.batchAt == 0 && c.isPure(x)) {
    // x[arange(batch), ids]
    TorchValue samples = c.valueOf(argument->names[0]), ids = c.made(c.valueOf(argument->names[1]));
    if (samples.kind == Kind::Constant && ids.full == Shape{c.batch}) {
      Shape shape = c.shape(x.id);
      shape[0] = 1;
      Id y = c.add("gather", {c.dense(x).id, ids.id}, {"axis = 0"}, shape);
      Shape full = x.full;
      full.erase(full.begin() + 1);
      TorchValue result = c.computed(y, full, 0);
      result.id = c.textBuilder.reshape(y, c.sampleOf(result));
      return c.setResult(result);
    }
  }
  if (many != 1)
    c.reportUnsupported("takes entries in a way that is not supported");
  TorchValue ids = c.valueOf(argument->names[static_cast<size_t>(at)]);
  bool follows = ids.kind == Kind::Constant && ids.numbers && ids.full.size() == 1 && !ids.numbers->empty();
  for (size_t i = 1; follows && i < ids.numbers->size(); ++i)
    follows = (*ids.numbers)[i] == (*ids.numbers)[0] + static_cast<double>(i);
  if (!follows || (*ids.numbers)[0] < 0 ||
      (*ids.numbers)[0] + static_cast<double>(ids.full[0]) > static_cast<double>(x.full[at]))
    c.reportUnsupported("takes entries at places that do not follow each other");
  c.setResult(c.sliced(c.made(x), at, static_cast<int64_t>((*ids.numbers)[0]), ids.full[0]));
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
  return {
      {adaptivePool,
       {"aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten._adaptive_avg_pool2d", "aten.adaptive_max_pool2d",
        "aten.adaptive_max_pool1d"}},
      {batchNorm, {"aten.batch_norm", "aten._native_batch_norm_legit", "aten.native_batch_norm"}},
      {convolution,
       {"aten.conv1d", "aten.conv2d", "aten.conv_transpose1d", "aten.conv_transpose2d", "aten.convolution"}},
      {embedding, {"aten.embedding"}},
      {groupNorm, {"aten.group_norm", "aten.native_group_norm", "aten.instance_norm"}},
      {index, {"aten.index"}},
      {layerNorm, {"aten.layer_norm", "aten.native_layer_norm", "aten.rms_norm", "accord.rms_norm"}},
      {pool,
       {"aten.avg_pool1d", "aten.avg_pool2d", "aten.max_pool1d", "aten.max_pool2d", "aten.max_pool2d_with_indices"}},
      {recurrent, {"aten.gru", "aten.lstm"}}};
}

} // namespace accord::import
