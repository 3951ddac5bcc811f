// Operations that move a window over one to three spatial dimensions.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

/// Small enough for products of two and sums to be exact.
bool isExtent(int64_t value) { return value >= 1 && value <= 1 << 30; }
bool isPadding(int64_t value) { return value >= 0 && value <= 1 << 30; }

/// The numbers of an argument that states one, or one for each dimension.
Shape listed(TorchContext &c, const char *key, size_t dims, int64_t otherwise, bool pads = false) {
  Shape values = c.integers(key).value_or(Shape{});
  if (values.empty())
    values.assign(dims, otherwise);
  if (values.size() == 1)
    values.assign(dims, values[0]);
  if (values.size() != dims || !llvm::all_of(values, pads ? isPadding : isExtent))
    c.reportInvalid(
        fmt::format("has '{}' = {}, expected {} numbers from {} to 2^30", key, listOf(values), dims, pads ? 0 : 1));
  return values;
}

/// Images [many, channels, ..] of each sample; one of them without the first dimension.
struct Images {
  TorchValue value;
  int64_t many = 1;
  Shape shape; ///< of one: channels, extents

  size_t dims() const { return shape.size() - 1; }
};

Images imagesOf(TorchContext &c, const std::string &key, size_t dims) {
  Images images;
  TorchValue x = c.dense(c.tensor(key));
  if (x.full.size() == dims + 1 && x.batchAt < 0) { // a single image
    x.full.insert(x.full.begin(), 1);
    x.id = c.textBuilder.reshape(x.id, x.full);
  }
  if (dims < 1 || dims > 3 || x.full.size() != dims + 2 || x.batchAt > 0)
    c.reportUnsupported(fmt::format("takes the batch and channels first and one to three dimensions after them, found "
                                    "{}",
                                    listOf(x.full)));
  images.shape = Shape(x.full.begin() + 1, x.full.end());
  images.many = x.batchAt < 0 ? x.full[0] : x.full[0] / c.batch;
  if (!llvm::all_of(images.shape, isExtent) || !isExtent(images.many))
    c.reportUnsupported("has an image with an extent above 2^30 or below 1");
  images.value = x;
  return images;
}

/// The result of the node: images of another shape, whose elements are those of `id` in this order.
void setImages(TorchContext &c, const Images &from, Id id, const Shape &shape) {
  TorchValue y = from.value;
  y.full = shape;
  y.full.insert(y.full.begin(), from.value.full[0]);
  y.id = c.textBuilder.reshape(id, c.sampleOf(y));
  bool single = c.shapeInFile(c.node->outputs.at(0)).size() == shape.size();
  c.setResult(single ? c.viewed(y, shape) : y);
}

/// A window that gives the extents of the file, which may be rounded up: what is padded at the ends follows from them.
Window windowOf(TorchContext &c, const Shape &image, const Shape &kernel, const Shape &strides, const Shape &padding,
                const Shape &dilations) {
  Shape out = c.shapeInFile(c.node->outputs.at(0));
  size_t dims = kernel.size();
  if (out.size() < dims || !llvm::all_of(kernel, isExtent))
    c.reportInvalid("has an impossible window");
  Window window{
      kernel, strides, padding, dilations, {}, padding, Shape(out.end() - static_cast<long>(dims), out.end())};
  for (size_t i = 0; i < dims; ++i) {
    int64_t in = image[i + 1], reach = dilations[i] * (kernel[i] - 1) + 1;
    auto given = [&](int64_t behind) {
      int64_t room = in + padding[i] + behind - reach;
      return room < 0 ? 0 : room / strides[i] + 1;
    };
    if (given(padding[i]) != window.extents[i])
      window.behind[i] = (window.extents[i] - 1) * strides[i] + reach - in - padding[i];
    if (window.behind[i] < 0 || window.behind[i] > reach + padding[i] || given(window.behind[i]) != window.extents[i])
      c.reportUnsupported(fmt::format("makes {} of an extent of {}, which a window of {} at a distance of {} does not",
                                      window.extents[i], in, reach, strides[i]));
  }
  return window;
}

Shape shapeOf(int64_t channels, const Window &window) {
  Shape shape{channels};
  shape.insert(shape.end(), window.extents.begin(), window.extents.end());
  return shape;
}

/// Zeros around a window's images, where they are an operation of their own.
Id edged(TorchContext &c, Id x, const Window &window) {
  Shape shape = c.shape(x), before(shape.size(), 0), after = before;
  size_t first = shape.size() - window.kernel.size();
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    before[first + i] = window.padding[i];
    after[first + i] = window.behind[i];
    shape[first + i] += window.padding[i] + window.behind[i];
  }
  if (shape == c.shape(x))
    return x;
  std::vector<std::string> attributes{"before = " + listOf(before)};
  if (after != before)
    attributes.push_back("after = " + listOf(after));
  return c.add("pad", {x}, attributes, shape);
}

/// Images of several to a sample, or weights that are computed or read elsewhere: the products are stated. With groups,
/// `g` is one, and c and o are channels within it.
void statedConvolution(TorchContext &c, const Images &images, const TorchValue &w, const Window &window,
                       int64_t groups) {
  size_t dims = images.dims();
  int64_t out = w.full[0], inside = w.full[1];
  bool deep = inside == 1 && out == groups, grouped = groups > 1;
  if (w.batchAt >= 0)
    c.reportUnsupported("has weights for each sample, which is not supported");
  Shape x{images.many, groups, inside}, weight{groups, out / groups, inside};
  for (size_t i = 0; i < dims; ++i) {
    x.push_back(images.shape[i + 1]);
    weight.push_back(window.kernel[i]);
  }
  std::string n = images.many > 1 ? "n, " : "", g = grouped ? "g, " : "", o = deep ? "" : "o, ", in = deep ? "" : "c, ";
  std::vector<std::string> read, kernel, ranges, result, over;
  if (!deep)
    over.push_back("c");
  for (size_t i = 0; i < dims; ++i) {
    std::string k(1, "ijk"[i]), p(1, "pqr"[i]);
    auto times = [](int64_t by, const std::string &index) {
      return by == 1 ? index : fmt::format("{} * {}", by, index);
    };
    read.push_back(times(window.strides[i], p) + " + " + times(window.dilations[i], k));
    kernel.push_back(k);
    result.push_back(p);
    over.push_back(k);
    ranges.push_back(fmt::format("  let {} = 0..{}\n", p, window.extents[i] - 1));
  }
  // Extents of one that no index stands for are left out.
  auto without = [&](Shape shape, std::vector<size_t> places) {
    for (size_t at : llvm::reverse(places))
      shape.erase(shape.begin() + static_cast<long>(at));
    return shape;
  };
  std::vector<size_t> ofX, ofW;
  if (images.many == 1)
    ofX.push_back(0);
  if (!grouped)
    ofX.push_back(1);
  if (deep)
    ofX.push_back(2);
  if (!grouped)
    ofW.push_back(0);
  if (deep)
    ofW.insert(ofW.end(), {1, 2});
  std::vector<std::string> spatial{"x", "y", "z"};
  spatial.resize(dims);
  std::string statement =
      fmt::format("(u[{0}{1}{2}{3}], w[{1}{4}{2}{5}]) -> v[{0}{1}{4}{6}] {{\n{7}  v = sum(u[{0}{1}{2}{8}] * "
                  "w[{1}{4}{2}{5}], over = "
                  "[{9}])\n}}\n",
                  n, g, in, fmt::join(spatial, ", "), o, fmt::join(kernel, ", "), fmt::join(result, ", "),
                  fmt::join(ranges, ""), fmt::join(read, ", "), fmt::join(over, ", "));
  Shape shape{images.many, groups, out / groups};
  shape.insert(shape.end(), window.extents.begin(), window.extents.end());
  if (deep)
    shape.erase(shape.begin() + 2);
  if (!grouped)
    shape.erase(shape.begin() + 1);
  if (images.many == 1)
    shape.erase(shape.begin());
  std::string call = c.textBuilder.stated("convolution", statement);
  Id u = edged(c, c.textBuilder.reshape(images.value.id, without(x, ofX)), window);
  Id y = c.add(call, {u, c.textBuilder.reshape(c.made(w).id, without(weight, ofW))}, {}, shape);
  Shape whole = shapeOf(out, window);
  if (c.has("bias")) {
    TorchValue bias = c.made(c.get("bias"));
    Shape column(whole.size(), 1);
    column[0] = out;
    Shape all = whole;
    if (images.many > 1)
      all.insert(all.begin(), images.many);
    y = c.add("+", {c.textBuilder.reshape(y, all), c.textBuilder.reshape(bias.id, column)}, {}, all);
  }
  setImages(c, images, y, whole);
}

void convTransposed(TorchContext &c, const Images &images, const TorchValue &w, const Shape &padding) {
  const Shape &image = images.shape;
  size_t dims = images.dims();
  int64_t groups = c.integer("groups", 1), out = w.full[1] * groups;
  if (!isExtent(groups) || image[0] != w.full[0] || image[0] % groups)
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.full), groups, image[0]));
  Window window{Shape(w.full.begin() + 2, w.full.end()),
                listed(c, "stride", dims, 1),
                padding,
                listed(c, "dilation", dims, 1),
                listed(c, "output_padding", dims, 0, true),
                {},
                {}};
  for (size_t i = 0; i < dims; ++i)
    window.extents.push_back((image[i + 1] - 1) * window.strides[i] - 2 * padding[i] +
                             window.dilations[i] * (window.kernel[i] - 1) + window.outputPadding[i] + 1);
  if (images.many != 1)
    c.reportUnsupported("has several images for each sample, which is not supported");
  c.takeWeight(w);
  if (c.has("bias"))
    c.takeWeight(c.get("bias"));
  Id x = c.textBuilder.reshape(images.value.id, image);
  setImages(c, images,
            c.add(fmt::format("conv_transpose{}d", dims), {x},
                  convolutionAttributes(out, window, groups > 1 ? groups : 0, c.has("bias")), shapeOf(out, window)),
            shapeOf(out, window));
}

void convolution(TorchContext &c, const TorchNode &node) {
  TorchValue w = c.get("weight");
  size_t dims = w.full.size() < 3 ? 0 : w.full.size() - 2;
  Images images = imagesOf(c, "input", dims);
  const Shape &image = images.shape;
  Shape kernel(w.full.begin() + 2, w.full.end()), dilations = listed(c, "dilation", dims, 1), padding(dims, 0);
  if (c.text("padding") == "same")
    for (size_t i = 0; i < dims; ++i)
      padding[i] = dilations[i] * (kernel[i] - 1) / 2;
  else if (c.text("padding").empty())
    padding = listed(c, "padding", dims, 0, true);
  if (c.flag("transposed", false) || llvm::StringRef(node.op).starts_with("aten.conv_transpose"))
    return convTransposed(c, images, w, padding);
  int64_t groups = c.integer("groups", 1), out = w.full[0];
  if (!isExtent(groups) || !isExtent(out) || out % groups || image[0] % groups || image[0] / groups != w.full[1])
    c.reportInvalid(fmt::format("has a weight {} in {} groups for {} channels", listOf(w.full), groups, image[0]));
  Window window = windowOf(c, image, kernel, listed(c, "stride", dims, 1), padding, dilations);
  bool biased = c.has("bias"), own = w.kind == Kind::Weight && !c.isShared(w.weight);
  if (biased)
    own = own && c.get("bias").kind == Kind::Weight && !c.isShared(c.get("bias").weight);
  if (!own || images.many != 1 || images.value.batchAt < 0 || c.get("input").kind == Kind::Constant)
    return statedConvolution(c, images, w, window, groups);
  bool deep = dims == 2 && groups == image[0] && out == groups && groups > 1;
  Id x = c.textBuilder.reshape(images.value.id, image);
  setImages(c, images,
            c.add(deep ? "depthwise_conv2d" : fmt::format("conv{}d", dims), {x},
                  convolutionAttributes(deep ? 0 : out, window, deep || groups == 1 ? 0 : groups, biased),
                  shapeOf(out, window)),
            shapeOf(out, window));
}

size_t dimsOf(const TorchNode &node) {
  llvm::StringRef op = node.op;
  return op.contains("1d") ? 1 : op.contains("3d") ? 3 : 2;
}

/// Pools look at each channel alone: several images are one of more channels.
Id flat(TorchContext &c, const Images &images) {
  Shape shape = images.shape;
  shape[0] *= images.many;
  return c.textBuilder.reshape(images.value.id, shape);
}

void pool(TorchContext &c, const TorchNode &node) {
  size_t dims = dimsOf(node);
  bool max = llvm::StringRef(node.op).contains("max");
  Images images = imagesOf(c, "self", dims);
  Shape kernel = listed(c, "kernel_size", dims, 1), dilations = listed(c, "dilation", dims, 1), strides = kernel;
  if (auto stated = c.integers("stride"); stated && !stated->empty())
    strides = listed(c, "stride", dims, 1);
  if (!llvm::all_of(dilations, [](int64_t one) { return one == 1; }))
    c.reportUnsupported("has dilations, which a pool has not here");
  if (c.has("divisor_override"))
    c.reportUnsupported("divides by a number of its own");
  Window window = windowOf(c, images.shape, kernel, strides, listed(c, "padding", dims, 0, true), dilations);
  setImages(c, images,
            c.add(max ? "max_pool" : "avg_pool", {flat(c, images)}, poolAttributes(window),
                  shapeOf(images.shape[0] * images.many, window)),
            shapeOf(images.shape[0], window));
}

/// The whole of each channel.
Id pooledWhole(TorchContext &c, const Images &images, bool max) {
  Id x = flat(c, images);
  Shape shape = c.shape(x);
  if (!max)
    return c.add("global_avg_pool", {x}, {}, {shape[0]});
  return c.add("reduce_max", {c.textBuilder.reshape(x, {shape[0], *elementsOf(shape) / shape[0]})}, {"axis = 1"},
               {shape[0]});
}

/// Where the extents divide, a window of their quotient.
void adaptivePool(TorchContext &c, const TorchNode &node) {
  size_t dims = dimsOf(node);
  bool max = llvm::StringRef(node.op).contains("max");
  Images images = imagesOf(c, "self", dims);
  Shape in(images.shape.begin() + 1, images.shape.end()), out = c.shapeInFile(node.outputs.at(0));
  if (out.size() < dims || !llvm::all_of(out, isExtent))
    c.reportInvalid("gives no image");
  out.erase(out.begin(), out.end() - static_cast<long>(dims));
  Shape result = images.shape;
  std::copy(out.begin(), out.end(), result.begin() + 1);
  if (out == in)
    return setImages(c, images, images.value.id, result);
  bool one = llvm::all_of(in, [](int64_t extent) { return extent == 1; });
  if (one) { // it is repeated
    TorchValue y = images.value;
    std::copy(out.begin(), out.end(), y.full.begin() + 2);
    return c.setResult(y);
  }
  if (llvm::all_of(out, [](int64_t extent) { return extent == 1; }))
    return setImages(c, images, pooledWhole(c, images, max), result);
  Window window{Shape(dims, 1), Shape(dims, 1), {}, {}, {}, {}, out};
  for (size_t i = 0; i < dims; ++i) {
    if (out[i] > in[i])
      c.reportUnsupported(fmt::format("makes {} of {}, which no window does", listOf(out), listOf(in)));
    window.kernel[i] = window.strides[i] = in[i] / out[i];
    if (in[i] % out[i]) {
      // Its windows have two sizes and distances; one that gives the same extent is near.
      ++window.kernel[i];
      if ((in[i] - window.kernel[i]) / window.strides[i] + 1 != out[i])
        window.kernel[i] = in[i] - (out[i] - 1) * window.strides[i];
      c.noteOnce(fmt::format("{} has windows of different sizes, here all of {} at a distance of {}", c.subject(),
                             window.kernel[i], window.strides[i]));
    }
  }
  setImages(c, images,
            c.add(max ? "max_pool" : "avg_pool", {flat(c, images)}, poolAttributes(window),
                  shapeOf(images.shape[0] * images.many, window)),
            result);
}

} // namespace

std::vector<TorchOperators> torchWindows() {
  return {{adaptivePool,
           {"aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d",
            "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d", "aten.adaptive_max_pool1d",
            "aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d"}},
          {convolution,
           {"aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.conv_transpose1d", "aten.conv_transpose2d",
            "aten.conv_transpose3d", "aten.convolution"}},
          {pool,
           {"aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d", "aten.max_pool1d", "aten.max_pool2d",
            "aten.max_pool3d", "aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices"}}};
}

} // namespace accord::import
