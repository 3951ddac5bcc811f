// Operators that move a window over one to three spatial dimensions.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

/// Small enough for products of two and sums to be exact.
bool isExtent(int64_t value) { return value >= 1 && value <= 1 << 30; }
bool isPadding(int64_t value) { return value >= 0 && value <= 1 << 30; }

/// An attribute with a number for each of so many dimensions.
Shape listed(OnnxContext &c, const OnnxNode &node, const char *key, size_t count, int64_t otherwise, bool isPad) {
  Shape values = node.integers(key).value_or(Shape(count, otherwise));
  if (values.size() != count || !llvm::all_of(values, isPad ? isPadding : isExtent))
    c.reportInvalid(
        fmt::format("has '{}' = {}, expected {} numbers from {} to 2^30", key, listOf(values), count, isPad ? 0 : 1));
  return values;
}

/// The channels and spatial dimensions of x[n, c, ..]: one to three of them, as the weight or kernel has.
DnnTextBuilder::Id image(OnnxContext &c, size_t dims) {
  if (dims < 1 || dims > 3)
    c.reportUnsupported(fmt::format("moves a window of {} dimensions, and 1 to 3 are supported", dims));
  return c.sized(0, dims + 1);
}

/// Kernel, stride, padding and dilation of a window moved over [channels, ..]. What is padded at the ends follows from
/// the extent of the result, which a file may round up.
Window windowOf(OnnxContext &c, const OnnxNode &node, const Shape &image, const Shape &kernel) {
  size_t dims = kernel.size();
  if (!llvm::all_of(kernel, isExtent) || !llvm::all_of(image, isExtent))
    c.reportUnsupported("has a window or an image with an extent above 2^30 or below 1");
  Window window{kernel, listed(c, node, "strides", dims, 1, false), Shape(dims, 0),
                listed(c, node, "dilations", dims, 1, false)};
  window.behind = window.extents = Shape(dims, 0);
  Shape pads = listed(c, node, "pads", 2 * dims, 0, true);
  std::string automatic = node.text("auto_pad");
  bool same = llvm::StringRef(automatic).starts_with("SAME"), ceil = node.integer("ceil_mode", 0) != 0;
  for (size_t i = 0; i < dims; ++i) {
    int64_t in = image[i + 1], reach = window.dilations[i] * (kernel[i] - 1) + 1, s = window.strides[i];
    int64_t room = in + pads[i] + pads[i + dims] - reach;
    if (!same && room < 0)
      c.reportInvalid(fmt::format("moves a window of {} over an extent of {}, padded by {} and {}", reach, in, pads[i],
                                  pads[i + dims]));
    int64_t out = same ? (in + s - 1) / s : room / s + 1;
    // Rounded up, a window may begin in the image or before it, not behind.
    if (!same && ceil && room % s != 0 && out * s < in + pads[i])
      ++out;
    int64_t all = std::max<int64_t>(0, (out - 1) * s + reach - in); // what is read of the padding
    window.padding[i] = same ? (automatic == "SAME_LOWER" ? (all + 1) / 2 : all / 2) : pads[i];
    int64_t read = std::max<int64_t>(0, all - window.padding[i]);
    auto given = [&](int64_t behind) { return in + window.padding[i] + behind - reach; };
    // The same at both ends, where what differs is not read.
    bool unread = given(window.padding[i]) >= 0 && given(window.padding[i]) / s + 1 == out;
    window.behind[i] = unread ? window.padding[i] : read;
    window.extents[i] = out;
  }
  return window;
}

/// The shape of the result: channels before the extents.
Shape resultOf(int64_t channels, const Window &window) {
  Shape shape{channels};
  shape.insert(shape.end(), window.extents.begin(), window.extents.end());
  return shape;
}

void conv(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor &w = c.weight(1);
  size_t dims = w.shape.size() < 2 ? 0 : w.shape.size() - 2;
  DnnTextBuilder::Id x = image(c, dims);
  Shape shape = c.shape(x);
  int64_t groups = node.integer("group", 1), out = w.shape[0];
  if (!isExtent(groups) || !isExtent(out) || out % groups || shape[0] % groups || shape[0] / groups != w.shape[1])
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, shape[0]));
  Window window = windowOf(c, node, shape, Shape(w.shape.begin() + 2, w.shape.end()));
  bool deep = dims == 2 && groups == shape[0] && out == groups && groups > 1;
  if (node.has(2))
    c.weight(2);
  c.setImage(c.add(deep ? "depthwise_conv2d" : fmt::format("conv{}d", dims), {x},
                   convolutionAttributes(deep ? 0 : out, window, deep || groups == 1 ? 0 : groups, node.has(2)),
                   resultOf(out, window)));
}

void convTranspose(OnnxContext &c, const OnnxNode &node) {
  const OnnxTensor &w = c.weight(1);
  size_t dims = w.shape.size() < 2 ? 0 : w.shape.size() - 2;
  DnnTextBuilder::Id x = image(c, dims);
  Shape shape = c.shape(x);
  int64_t groups = node.integer("group", 1);
  if (!isExtent(groups) || !llvm::all_of(w.shape, isExtent) || shape[0] != w.shape[0] || shape[0] % groups)
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.shape), groups, shape[0]));
  if (node.integers("output_shape") || llvm::StringRef(node.text("auto_pad")).starts_with("SAME"))
    c.reportUnsupported("states its output's extent instead of pads");
  Shape pads = listed(c, node, "pads", 2 * dims, 0, true);
  Window window{Shape(w.shape.begin() + 2, w.shape.end()),
                listed(c, node, "strides", dims, 1, false),
                Shape(pads.begin(), pads.begin() + dims),
                listed(c, node, "dilations", dims, 1, false),
                listed(c, node, "output_padding", dims, 0, true),
                Shape(pads.begin() + dims, pads.end()),
                {}};
  for (size_t i = 0; i < dims; ++i)
    window.extents.push_back((shape[i + 1] - 1) * window.strides[i] - pads[i] - pads[i + dims] +
                             window.dilations[i] * (window.kernel[i] - 1) + window.outputPadding[i] + 1);
  int64_t out = w.shape[1] * groups;
  c.setImage(c.add(fmt::format("conv_transpose{}d", dims), {x},
                   convolutionAttributes(out, window, groups > 1 ? groups : 0, node.has(2)), resultOf(out, window)));
}

void pool(OnnxContext &c, const OnnxNode &node) {
  Shape kernel = node.integers("kernel_shape").value_or(Shape{});
  DnnTextBuilder::Id x = image(c, kernel.size());
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && c.uses[node.outputs[1]])
    c.reportUnsupported("gives the places of its maxima, which is not supported");
  if (llvm::any_of(kernel, [](int64_t k) { return k < 1; }))
    c.reportInvalid("has an impossible 'kernel_shape'");
  Window window = windowOf(c, node, c.shape(x), kernel);
  if (!llvm::all_of(window.dilations, [](int64_t one) { return one == 1; }))
    c.reportUnsupported("has dilations, which a pool has not here");
  c.setImage(c.add(node.op == "MaxPool" ? "max_pool" : "avg_pool", {x}, poolAttributes(window),
                   resultOf(c.shape(x)[0], window)));
}

/// Of everything behind the channels, which keeps its dimensions with an extent of 1.
void globalPool(OnnxContext &c, const OnnxNode &node) {
  DnnTextBuilder::Id x = c.sized(0);
  Shape shape = c.shape(x);
  if (shape.size() < 2 || shape.size() > 4)
    c.reportUnsupported(fmt::format("pools {} dimensions, and 1 to 3 are supported", std::ssize(shape) - 1));
  int64_t channels = shape[0];
  Shape pooled(shape.size(), 1);
  pooled[0] = channels;
  if (node.op == "GlobalAveragePool")
    return c.setImage(c.textBuilder.reshape(c.add("global_avg_pool", {x}, {}, {channels}), pooled));
  DnnTextBuilder::Id y = c.textBuilder.reshape(x, {channels, *elementsOf(shape) / channels});
  c.setImage(c.textBuilder.reshape(c.add("reduce_max", {y}, {"axis = 1"}, {channels}), pooled));
}

void resize(OnnxContext &c, const OnnxNode &node) {
  DnnTextBuilder::Id x = c.sized(0);
  size_t dims = c.shape(x).size() - 1;
  std::string mode = node.text("mode");
  bool linear = mode == "linear" || mode == "bilinear";
  if (!mode.empty() && mode != "nearest" && !linear)
    c.reportUnsupported(fmt::format("has the mode '{}', and only 'nearest' and 'linear' are supported", shown(mode)));
  const Shape full = c.get(0).full;
  std::vector<double> scales;
  size_t at = node.op == "Upsample" || c.model.opset < 11 ? 1 : 2;
  if (auto found = node.attributes.find("scales"); found != node.attributes.end())
    scales = found->second.list;
  else if (node.has(at) && c.get(at).constant && c.get(at).constant->numbers)
    scales = *c.get(at).constant->numbers;
  if (scales.empty() && node.has(3)) {
    Shape sizes = c.integers(3).value_or(Shape{});
    for (size_t i = 0; i < sizes.size() && i < full.size(); ++i)
      scales.push_back(1.0 * sizes[i] / full[i]);
  }
  bool whole = scales.size() == full.size() && dims >= 1 && dims <= 3 && scales[0] == 1 && scales[1] == 1;
  for (double scale : scales)
    whole &= scale >= 1 && scale == std::floor(scale) && scale <= 1 << 20;
  if (!whole)
    c.reportUnsupported("scales by other than one known whole number for each of one to three dimensions");
  Shape times(scales.begin() + 2, scales.end()), shape = c.shape(x);
  for (size_t i = 0; i < dims; ++i)
    shape[i + 1] *= times[i];
  std::vector<std::string> attributes{"scale = " + extentsOf(times)};
  if (linear)
    attributes.push_back("mode = linear");
  if (std::string how = node.text("coordinate_transformation_mode");
      linear && (how == "align_corners" || how == "asymmetric"))
    c.noteOnce(fmt::format("{} has its corners elsewhere ({}): the same extents and work", c.subject(), how));
  c.setImage(c.add("upsample", {x}, attributes, shape));
}

} // namespace

std::vector<OnnxOperators> onnxWindows() {
  return {{conv, {"Conv"}},
          {convTranspose, {"ConvTranspose"}},
          {globalPool, {"GlobalAveragePool", "GlobalMaxPool"}},
          {pool, {"AveragePool", "MaxPool"}},
          {resize, {"Resize", "Upsample"}}};
}

} // namespace accord::import
