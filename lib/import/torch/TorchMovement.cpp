// Operations that only move elements.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {
using Id = DnnTextBuilder::Id;

TorchValue concatenated(TorchContext &c, std::vector<TorchValue> all, int64_t dim) {
  auto batched = llvm::find_if(all, [](const TorchValue &one) { return one.batchAt >= 0; });
  TorchValue like = batched == all.end() ? all.at(0) : *batched;
  dim = c.dimOf(dim, std::ssize(like.full));
  int64_t at = c.sampleDim(like, dim), extent = 0;
  std::vector<Id> ids;
  Shape shape;
  for (TorchValue &one : all) {
    if (one.full.size() != like.full.size())
      c.reportUnsupported("joins tensors of different ranks");
    if (one.batchAt < 0 && like.batchAt >= 0 && c.isPure(like)) {
      if (one.full[like.batchAt] != 1)
        c.reportUnsupported("joins a weight with a batch of its own");
      Shape sample = c.shape(one.id);
      sample.erase(sample.begin() + like.batchAt);
      one.id = c.textBuilder.reshape(one.id, sample);
      one.full[like.batchAt] = like.full[like.batchAt];
      one.batchAt = like.batchAt;
    }
    if (one.batchAt != like.batchAt || one.outer != like.outer)
      c.reportUnsupported("joins tensors whose batches lie differently");
    one = c.dense(one);
    Shape here = c.shape(one.id);
    extent += here[at];
    here[at] = c.shape(like.id)[at];
    shape = here;
    if (here != c.sampleOf(like))
      c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(like.full), listOf(one.full)));
    ids.push_back(one.id);
  }
  if (ids.size() == 1)
    return all[0];
  shape[at] = extent;
  TorchValue y = like;
  y.full[dim] = extent;
  y.id = c.add("concat", ids, {fmt::format("axis = {}", at)}, shape);
  return y;
}

bool isRange(const TorchNode &view) {
  const TorchArgument *step = view.find("step");
  return view.op == "aten.select" || ((view.op == "aten.slice" || view.op == "aten.narrow") &&
                                      (!step || step->integers.empty() || step->integers[0].second == 1));
}

TorchValue replaced(TorchContext &c, const TorchNode &view, const TorchValue &base, TorchValue part) {
  const TorchNode *here = c.node;
  c.node = &view; // its arguments are read
  bool one = view.op == "aten.select";
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(base.full)), extent = base.full[dim],
          start = c.integer(one ? "index" : "start", 0);
  c.node = here;
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  if (one) {
    Shape full = part.full;
    full.insert(full.begin() + dim, 1);
    part = c.viewed(part, full);
  }
  int64_t behind = start + part.full[dim];
  if (part.full == base.full)
    return part;
  std::vector<TorchValue> all;
  TorchValue whole = c.dense(base);
  if (start > 0)
    all.push_back(c.sliced(whole, dim, 0, start));
  all.push_back(part);
  if (behind < extent)
    all.push_back(c.sliced(whole, dim, behind, extent - behind));
  return concatenated(c, all, dim);
}

namespace {

/// A weight that is only turned stays one; everything else is computed.
TorchValue movable(TorchContext &c, const char *key = "self") { return c.tensor(key); }

/// Views, to the shape that the file states.
void view(TorchContext &c, const TorchNode &node) {
  Shape full = c.shapeInFile(node.outputs.at(0));
  c.setResult(c.viewed(movable(c, node.order.at(0).c_str()), full));
}

void permute(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.get("self");
  int64_t rank = std::ssize(x.full);
  Shape order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::string op = node.op.substr(5);
  if (op == "permute" || op == "movedim") {
    Shape dims = c.integers(op == "permute" ? "dims" : "source").value_or(Shape{});
    if (op == "permute") {
      if (std::ssize(dims) != rank)
        c.reportInvalid(fmt::format("permutes {} dimensions by {}", rank, listOf(dims)));
      for (int64_t i = 0; i < rank; ++i)
        order[i] = c.dimOf(dims[i], rank);
    } else {
      Shape to = c.integers("destination").value_or(Shape{});
      if (dims.size() != 1 || to.size() != 1)
        c.reportUnsupported("moves several dimensions");
      int64_t from = c.dimOf(dims[0], rank);
      order.erase(order.begin() + from);
      order.insert(order.begin() + c.dimOf(to[0], rank), from);
    }
  } else if (rank >= 2) {
    bool plain = op == "t" || op == "numpy_T" || op == "mT" || op == "matrix_H" || op == "adjoint";
    const char *first = op == "swapaxes" ? "axis0" : "dim0", *second = op == "swapaxes" ? "axis1" : "dim1";
    int64_t a = plain ? rank - 2 : c.dimOf(c.integer(first, 0), rank),
            b = plain ? rank - 1 : c.dimOf(c.integer(second, 1), rank);
    std::swap(order[a], order[b]);
  }
  if (std::set<int64_t>(order.begin(), order.end()).size() != order.size())
    c.reportInvalid(fmt::format("permutes by {}", listOf(order)));
  if (x.kind == Kind::Weight && rank == 2 && order == Shape{1, 0}) {
    std::swap(x.full[0], x.full[1]);
    x.transposed = !x.transposed;
    return c.setResult(x);
  }
  c.setResult(c.permuted(c.made(x), order));
}

void expand(TorchContext &c, const TorchNode &node) {
  TorchValue x = movable(c);
  Shape full = c.shapeInFile(node.outputs.at(0)), padded = x.full;
  while (padded.size() < full.size())
    padded.insert(padded.begin(), 1);
  TorchValue y = c.viewed(x, padded);
  for (size_t i = 0; i < full.size(); ++i) {
    if (padded[i] == full[i])
      continue;
    if (padded[i] != 1)
      c.reportUnsupported(fmt::format("repeats {} to {}, which is not supported", listOf(x.full), listOf(full)));
    if (c.hasBatch(full[i]) && y.batchAt < 0 && full[i] == c.batch) { // the same for every sample
      TorchValue wide = y;
      wide.batchAt = static_cast<int64_t>(i);
      wide.full[i] = full[i];
      Shape sample = c.shape(y.id);
      sample.erase(sample.begin() + static_cast<long>(i));
      wide.id = c.textBuilder.reshape(y.id, sample.empty() ? Shape{1} : sample);
      y = wide;
    }
    y.full[i] = full[i];
  }
  c.setResult(y);
}

/// Copies one after the other: along one dimension.
void repeat(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(movable(c));
  Shape times = c.integers(node.op == "aten.tile" ? "dims" : "repeats").value_or(Shape{});
  Shape padded = x.full;
  while (padded.size() < times.size())
    padded.insert(padded.begin(), 1);
  while (times.size() < padded.size())
    times.insert(times.begin(), 1);
  TorchValue y = c.viewed(x, padded);
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 1)
      continue;
    if (y.batchAt < 0 && times[i] == c.batch && padded[i] == 1 && c.batchIsOpen) {
      Shape sample = c.shape(y.id);
      sample.erase(sample.begin() + static_cast<long>(i));
      y.batchAt = static_cast<int64_t>(i);
      y.full[i] = times[i];
      y.id = c.textBuilder.reshape(y.id, sample.empty() ? Shape{1} : sample);
      continue;
    }
    int64_t dim = c.sampleDim(y, static_cast<int64_t>(i));
    if (times[i] < 1 || times[i] > 4096)
      c.reportUnsupported(fmt::format("repeats {} times", times[i]));
    Shape shape = c.shape(y.id);
    shape[dim] *= times[i];
    y.full[i] *= times[i];
    y.id =
        c.add("concat", std::vector<Id>(static_cast<size_t>(times[i]), y.id), {fmt::format("axis = {}", dim)}, shape);
  }
  c.setResult(y);
}

/// Each entry of a dimension so many times before the next one.
void repeatEach(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(movable(c));
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.full)), times = c.integer("repeats", 0);
  if (times < 1 || times > 4096 || dim == x.batchAt || !c.has("dim"))
    c.reportUnsupported("repeats by other than one known number along a dimension of a sample");
  Shape full = x.full;
  full.insert(full.begin() + dim + 1, 1);
  TorchValue y = c.viewed(x, full);
  y.full[dim + 1] = times;
  full = x.full;
  full[dim] *= times;
  c.setResult(c.viewed(y, full));
}

/// Windows along one dimension or two as dimensions of their own: each element is read where it lies.
void windows(TorchContext &c, const TorchNode &node) {
  bool image = node.op == "aten.im2col";
  TorchValue x = c.dense(movable(c));
  int64_t rank = std::ssize(x.full);
  auto both = [&](const char *key, int64_t otherwise) {
    Shape all = c.integers(key).value_or(Shape{otherwise});
    return all.size() == 1 ? Shape{all[0], all[0]} : all;
  };
  if (!image) {
    int64_t dim = c.dimOf(c.integer("dimension", 0), rank), size = c.integer("size", 1), step = c.integer("step", 1);
    Shape out = c.shapeInFile(node.outputs.at(0)), shape = c.shape(x.id);
    int64_t at = c.sampleDim(x, dim);
    if (size < 1 || step < 1 || std::ssize(out) != rank + 1 || out[dim] < 1 ||
        (out[dim] - 1) * step + size > x.full[dim] || shape.size() > 7)
      c.reportInvalid("has an impossible window");
    std::string head, read, result, ranges = fmt::format("  let p = 0..{}\n  let k = 0..{}\n", out[dim] - 1, size - 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      std::string letter(1, "abcdefg"[i]), comma = i ? ", " : "";
      bool here = static_cast<int64_t>(i) == at;
      head += comma + letter;
      read += comma + (here ? fmt::format("{} * p + k", step) : letter);
      result += comma + (here ? "p" : letter);
    }
    shape[at] = out[dim];
    shape.push_back(size);
    TorchValue y = x;
    y.full = out;
    y.id = c.add(c.textBuilder.stated(
                     "windows", fmt::format("(u[{}]) -> v[{}, k] {{\n{}  v = u[{}]\n}}\n", head, result, ranges, read)),
                 {x.id}, {}, shape);
    return c.setResult(y);
  }
  Shape kernel = both("kernel_size", 1), dilation = both("dilation", 1), padding = both("padding", 0),
        stride = both("stride", 1);
  if (rank != 4 || x.batchAt != 0 || !c.isPure(x) || kernel.size() != 2 || dilation.size() != 2 ||
      padding.size() != 2 || stride.size() != 2)
    c.reportUnsupported("takes windows of something else than images");
  Shape shape = c.shape(x.id), places;
  for (size_t i : {0, 1}) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 ||
        std::max({kernel[i], stride[i], dilation[i], padding[i]}) > 1 << 20)
      c.reportInvalid("has an impossible window");
    shape[i + 1] += 2 * padding[i];
    places.push_back((shape[i + 1] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
    if (places[i] < 1 || shape[i + 1] < dilation[i] * (kernel[i] - 1) + 1)
      c.reportInvalid("has an impossible window");
  }
  Id padded =
      padding == Shape{0, 0} ? x.id : c.add("pad", {x.id}, {"before = " + listOf({0, padding[0], padding[1]})}, shape);
  std::string statement = fmt::format(
      "(u[c, x, y]) -> v[c, i, j, p, q] {{\n  let i = 0..{}\n  let j = 0..{}\n  let p = 0..{}\n  let q = "
      "0..{}\n  v = u[c, {} * p + {} * i, {} * q + {} * j]\n}}\n",
      kernel[0] - 1, kernel[1] - 1, places[0] - 1, places[1] - 1, stride[0], dilation[0], stride[1], dilation[1]);
  Id y = c.add(c.textBuilder.stated("windows", statement), {padded}, {},
               {shape[0], kernel[0], kernel[1], places[0], places[1]});
  Shape columns{shape[0] * kernel[0] * kernel[1], places[0] * places[1]};
  c.setResult(c.image(c.textBuilder.reshape(y, columns)));
}

/// Edges of its own elements at the ends of a dimension.
TorchValue edged(TorchContext &c, const TorchValue &x, int64_t dim, int64_t before, int64_t after,
                 const std::string &mode) {
  int64_t extent = x.full[dim];
  bool wraps = mode == "circular", repeats = mode == "replicate";
  int64_t limit = wraps || repeats ? extent : extent - 1;
  if ((mode != "reflect" && !wraps && !repeats) || before < 0 || after < 0 || std::max(before, after) > 64 ||
      (!repeats && std::max(before, after) > limit))
    c.reportUnsupported(fmt::format("pads {} by {} and {} in the mode '{}', which is not supported", extent, before,
                                    after, shown(mode)));
  std::vector<TorchValue> all;
  auto take = [&](int64_t at, int64_t size) { all.push_back(c.sliced(x, dim, at, size)); };
  if (wraps && before > 0)
    take(extent - before, before);
  for (int64_t i = before; !wraps && i > 0; --i)
    take(repeats ? 0 : i, 1);
  all.push_back(x);
  if (wraps && after > 0)
    take(0, after);
  for (int64_t i = 1; !wraps && i <= after; ++i)
    take(repeats ? extent - 1 : extent - 1 - i, 1);
  return concatenated(c, all, dim);
}

/// What is written into a tensor, or into a part of one.
void copy(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.made(c.get("src"));
  if (x.full != c.shapeInFile(node.outputs.at(0)))
    c.reportUnsupported(fmt::format("writes {} where there is another shape", listOf(x.full)));
  c.setResult(x);
}

void clear(TorchContext &c, const TorchNode &node) {
  TorchValue zeros;
  zeros.kind = Kind::Constant;
  zeros.full = c.shapeInFile(node.outputs.at(0));
  c.setResult(c.made(zeros));
}

void cat(TorchContext &c, const TorchNode &node) {
  std::vector<TorchValue> all;
  bool stacks = node.op == "aten.stack";
  int64_t dim = c.integer("dim", 0);
  for (const TorchValue &given : c.list("tensors")) {
    if (llvm::is_contained(given.full, 0))
      continue; // an empty one
    TorchValue one = c.made(given);
    if (stacks) {
      Shape full = one.full;
      full.insert(full.begin() + c.dimOf(dim, std::ssize(full) + 1), 1);
      one = c.viewed(one, full);
    }
    all.push_back(one);
  }
  if (all.empty())
    c.reportInvalid("joins nothing");
  c.setResult(concatenated(c, all, dim));
}

/// With so many zeros more at the end of a dimension.
TorchValue longer(TorchContext &c, const TorchValue &x, int64_t dim, int64_t by) {
  TorchValue y = c.dense(x);
  Shape shape = c.shape(y.id), before(shape.size(), 0), after = before;
  int64_t at = c.sampleDim(y, dim);
  after[at] = by;
  shape[at] += by;
  y.full[dim] += by;
  y.id = c.add("pad", {y.id}, {"before = " + listOf(before), "after = " + listOf(after)}, shape);
  return y;
}

void slice(TorchContext &c, const TorchNode &node) {
  TorchValue x = movable(c);
  Shape out = c.shapeInFile(node.outputs.at(0));
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.full)), extent = x.full[dim], start = c.integer("start", 0),
          step = c.integer("step", 1);
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  int64_t size = out.size() == x.full.size() ? out[dim] : 0;
  if (out.size() == x.full.size() && size == 0) { // an empty one, which joins nothing to others
    TorchValue none;
    none.kind = Kind::Constant;
    none.full = out;
    return c.setResult(none);
  }
  if (size < 1)
    c.reportInvalid("leaves nothing");
  if (step == 1)
    return c.setResult(c.sliced(x, dim, start, size));
  // Every step-th: one of each group of `step`, of which the last may lack what is not taken.
  int64_t place = start + size * step <= extent ? 0 : start % std::max<int64_t>(step, 1), first = start - place;
  int64_t missing = first + size * step - extent;
  if (step < 1 || missing >= step - place)
    c.reportInvalid(fmt::format("takes {} entries in steps of {} from {} of {}", size, step, start, extent));
  if (missing > 0)
    x = longer(c, x, dim, missing);
  TorchValue from = c.sliced(x, dim, first, size * step);
  Shape split = from.full;
  split[dim] = size;
  split.insert(split.begin() + dim + 1, step);
  c.setResult(c.viewed(c.sliced(c.viewed(from, split), dim + 1, place, 1), out));
}

void select(TorchContext &c, const TorchNode &node) {
  TorchValue x = movable(c);
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.full)), at = c.integer("index", 0);
  at += at < 0 ? x.full[dim] : 0;
  if (at < 0 || at >= x.full[dim])
    c.reportInvalid("takes an entry outside of its input");
  c.setResult(c.viewed(c.sliced(x, dim, at, 1), c.shapeInFile(node.outputs.at(0))));
}

/// Parts of a dimension, of the sizes that the file states; of equal ones as one operation.
void split(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(movable(c));
  bool unbinds = node.op == "aten.unbind";
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.full)), at = c.sampleDim(x, dim), start = 0;
  Shape sizes;
  for (const std::string &output : node.outputs) {
    Shape full = c.shapeInFile(output);
    if (!unbinds && full.size() != x.full.size())
      c.reportInvalid("splits into tensors of another rank");
    sizes.push_back(unbinds ? 1 : full[dim]);
  }
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) != x.full[dim] ||
      llvm::any_of(sizes, [](int64_t size) { return size < 1; }))
    c.reportInvalid(fmt::format("splits {} into {}", x.full[dim], listOf(sizes)));
  bool equal = llvm::all_equal(sizes) && sizes.size() > 1;
  Id list = equal ? c.textBuilder.addList(c.name(), "split", {x.id},
                                          {fmt::format("parts = {}", sizes.size()), fmt::format("axis = {}", at)})
                  : -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TorchValue part = x;
    if (equal) {
      Shape shape = c.shape(x.id);
      shape[at] = part.full[dim] = sizes[i];
      part.id = c.textBuilder.piece(list, i, shape);
    } else {
      part = c.sliced(x, dim, start, sizes[i]);
    }
    start += sizes[i];
    c.setResult(unbinds ? c.viewed(part, c.shapeInFile(node.outputs[i])) : part, i);
  }
}

/// A constant at the ends; below 0 takes elements away. Reflected and repeated edges are slices that are joined.
void pad(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(movable(c));
  Shape pads = c.integers("pad").value_or(Shape{}), before(c.shape(x.id).size(), 0), after = before,
        shape = c.shape(x.id);
  std::string mode = c.text("mode");
  for (size_t i = 0; i + 1 < pads.size(); i += 2) {
    int64_t dim = std::ssize(x.full) - 1 - static_cast<int64_t>(i / 2);
    if (dim < 0 || std::abs(pads[i]) > 1 << 20 || std::abs(pads[i + 1]) > 1 << 20)
      c.reportInvalid("pads dimensions that it has not");
    if (pads[i] == 0 && pads[i + 1] == 0)
      continue;
    int64_t at = c.sampleDim(x, dim);
    before[at] = pads[i];
    after[at] = pads[i + 1];
    if (!mode.empty() && mode != "constant") {
      x = edged(c, x, dim, pads[i], pads[i + 1], mode);
      continue;
    }
    shape[at] += pads[i] + pads[i + 1];
    x.full[dim] += pads[i] + pads[i + 1];
  }
  if (shape == c.shape(x.id) && before == after) // nothing, or done
    return c.setResult(x);
  if (!mode.empty() && mode != "constant")
    return c.setResult(x);
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    c.reportInvalid("pads by less than it has");
  std::vector<std::string> attributes{"before = " + listOf(before)};
  if (after != before)
    attributes.push_back("after = " + listOf(after));
  if (double value = c.number("value").value_or(0); value != 0)
    attributes.push_back("value = " + singleText(std::clamp(value, -3e38, 3e38)));
  x.id = c.add("pad", {x.id}, attributes, shape);
  c.setResult(x);
}

/// What leaves one end comes in at the other.
void roll(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(movable(c));
  Shape shifts = c.integers("shifts").value_or(Shape{}), dims = c.integers("dims").value_or(Shape{});
  if (shifts.size() != dims.size() || dims.empty())
    c.reportUnsupported("rolls all elements as one row");
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = c.dimOf(dims[i], std::ssize(x.full)), extent = x.full[dim],
            shift = ((shifts[i] % extent) + extent) % extent;
    if (shift != 0)
      x = concatenated(c, {c.sliced(x, dim, extent - shift, shift), c.sliced(x, dim, 0, extent - shift)}, dim);
  }
  c.setResult(x);
}

/// Along one dimension, by places between the elements: two of them, and how far the place is.
TorchValue between(TorchContext &c, const TorchValue &x, int64_t dim, int64_t size, bool linear) {
  int64_t axis = c.sampleDim(x, dim);
  Shape shape = c.shape(x.id);
  shape[axis] = size;
  auto taken = [&](const char *side) {
    Id ids = c.textBuilder.input(c.name() + side, "int32", {size});
    return c.add("gather", {x.id, ids}, {fmt::format("axis = {}", axis)}, shape);
  };
  TorchValue y = x, other = x;
  y.full[dim] = other.full[dim] = size;
  y.id = taken(".near");
  c.noteOnce("where elements are taken when an image is resized is an input here: the same work");
  if (!linear)
    return y;
  other.id = taken(".far");
  TorchValue weight;
  weight.kind = Kind::Constant;
  weight.full = Shape(x.full.size(), 1);
  weight.full[dim] = size;
  return stated(c, "between", "{0} + {2} * ({1} - {0})", {y, other, weight});
}

/// Images resized: by a whole number as one operation; smaller by a whole number as pools or slices.
void upsample(TorchContext &c, const TorchNode &node) {
  bool linear = llvm::StringRef(node.op).contains("linear");
  TorchValue x = c.dense(c.tensor(node.order.at(0)));
  Shape out = c.shapeInFile(node.outputs.at(0));
  size_t rank = x.full.size();
  if (rank < 3 || rank > 5 || out.size() != rank || x.batchAt > 0)
    c.reportUnsupported("resizes something else than one to three dimensions behind the batch and the channels");
  Shape times;
  bool same = true, whole = true;
  for (size_t i = 2; i < rank; ++i) {
    same &= out[i] == x.full[i];
    whole &= out[i] % x.full[i] == 0;
    times.push_back(out[i] / x.full[i]);
  }
  if (same)
    return c.setResult(x);
  if (whole && c.isPure(x)) {
    std::vector<std::string> attributes{"scale = " + extentsOf(times)};
    if (linear)
      attributes.emplace_back("mode = linear");
    if (linear && c.flag("align_corners", false))
      c.noteOnce(
          "an image that is resized with its corners aligned has them elsewhere here: the same extents and work");
    return c.setResult(c.image(c.add("upsample", {x.id}, attributes, Shape(out.begin() + 1, out.end()))));
  }
  for (size_t i = 2; i < rank; ++i)
    if (out[i] != x.full[i])
      x = between(c, x, static_cast<int64_t>(i), out[i], linear);
  c.setResult(x);
}

/// [channels * r^2, rows, columns] -> [channels, rows * r, columns * r], or back.
void shuffle(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.sized("self", 3);
  bool back = node.op == "aten.pixel_unshuffle";
  int64_t r = c.integer(back ? "downscale_factor" : "upscale_factor", 1), b = x.full[0], k = x.full[1], h = x.full[2],
          w = x.full[3];
  if (r < 1 || (back ? h % r || w % r : k % (r * r)))
    c.reportInvalid(fmt::format("shuffles {} by {}", listOf(x.full), r));
  TorchValue y = back ? c.permuted(c.viewed(x, {b, k, h / r, r, w / r, r}), {0, 1, 3, 5, 2, 4})
                      : c.permuted(c.viewed(x, {b, k / (r * r), r, r, h, w}), {0, 1, 4, 2, 5, 3});
  c.setResult(c.viewed(y, c.shapeInFile(node.outputs.at(0))));
}

void channelShuffle(TorchContext &c, const TorchNode &) {
  TorchValue x = c.sized("self", 3);
  int64_t groups = c.integer("groups", 1), k = x.full[1];
  if (groups < 1 || k % groups)
    c.reportInvalid("shuffles channels that do not divide");
  Shape full = x.full;
  TorchValue y = c.permuted(c.viewed(x, {full[0], groups, k / groups, full[2], full[3]}), {0, 2, 1, 3, 4});
  c.setResult(c.viewed(y, full));
}

} // namespace

std::vector<TorchOperators> torchMovement() {
  return {{cat, {"aten.cat", "aten.concat", "aten.stack"}},
          {clear, {"aten.zero"}},
          {copy, {"aten.copy"}},
          {channelShuffle, {"aten.channel_shuffle"}},
          {expand, {"aten.broadcast_to", "aten.expand", "aten.expand_as"}},
          {pad, {"aten.constant_pad_nd", "aten.pad"}},
          {permute,
           {"aten.adjoint", "aten.mT", "aten.movedim", "aten.numpy_T", "aten.permute", "aten.swapaxes", "aten.t",
            "aten.transpose"}},
          {repeat, {"aten.repeat", "aten.tile"}},
          {repeatEach, {"aten.repeat_interleave"}},
          {roll, {"aten.roll"}},
          {windows, {"aten.im2col", "aten.unfold"}},
          {select, {"aten.select"}},
          {shuffle, {"aten.pixel_shuffle", "aten.pixel_unshuffle"}},
          {slice, {"aten.narrow", "aten.slice"}},
          {split,
           {"aten.chunk", "aten.split", "aten.split_with_sizes", "aten.tensor_split", "aten.unbind",
            "aten.unsafe_chunk", "aten.unsafe_split"}},
          {upsample,
           {"aten.upsample_nearest1d", "aten.upsample_nearest2d", "aten.upsample_nearest3d",
            "aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d", "aten._upsample_nearest_exact3d",
            "aten.upsample_linear1d", "aten.upsample_bilinear2d", "aten._upsample_bilinear2d_aa",
            "aten.upsample_trilinear3d"}},
          {view,
           {"aten.flatten", "aten.reshape", "aten.squeeze", "aten.unflatten", "aten.unsqueeze", "aten.view",
            "aten._unsafe_view", "aten.view_as", "aten.reshape_as"}}};
}

} // namespace accord::import
