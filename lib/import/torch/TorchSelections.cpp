// Entries of tensors by their places: rows of tables, gathered elements, sums of what is before.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

/// Whether ids are known, and each is the one before and 1.
bool follow(const TorchValue &ids) {
  bool follows = ids.kind == Kind::Constant && ids.numbers && !ids.numbers->empty();
  for (size_t i = 1; follows && i < ids.numbers->size(); ++i)
    follows = (*ids.numbers)[i] == (*ids.numbers)[0] + static_cast<double>(i);
  return follows;
}

/// Rows of a table of weights at places that every step has alike: positions follow each other; places of two
/// dimensions are those of a relative position.
TorchValue fixedRows(TorchContext &c, const TorchValue &table, const TorchValue &ids, const Shape &full) {
  const auto &at = ids.numbers;
  int64_t rows = table.full[0];
  TorchValue whole = c.made(table);
  if (follow(ids)) {
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

/// The bags of a table that follow each other in a list of ids, each as long as the others.
void embeddingBag(TorchContext &c, const TorchNode &node) {
  TorchValue table = c.get("weight"), ids = c.made(c.get("indices"));
  Shape out = c.shapeInFile(node.outputs.at(0));
  int64_t mode = c.integer("mode", 0);
  if (table.kind != Kind::Weight || table.full.size() != 2 || mode > 1 || c.has("per_sample_weights"))
    c.reportUnsupported("takes rows of something else than a table, their maximum, or scales them");
  Shape full = ids.full;
  if (full.size() == 1) { // of all bags, one after the other
    if (ids.batchAt < 0 || out.size() != 2 || out[0] != c.batch || c.isPure(ids))
      c.reportUnsupported("has bags that do not belong to samples");
    full = {c.batch, full[0] / c.batch};
    ids = c.viewed(ids, full);
  }
  if (ids.batchAt != 0 || full.size() != 2)
    c.reportUnsupported("has bags that do not belong to samples");
  std::vector<std::string> attributes{fmt::format("rows = {}", table.full[0]), fmt::format("dim = {}", table.full[1])};
  if (mode == 1)
    attributes.emplace_back("mode = mean");
  bool own = !table.transposed && !c.isShared(table.weight);
  Shape shape{table.full[1]};
  Id y =
      own ? c.add("embedding_bag", {ids.id}, attributes, shape)
          : c.textBuilder.addNamed(c.name(), "embedding_bag", {ids.id, c.made(table).id}, "table", attributes, shape);
  c.setResult(c.computed(y, {c.batch, table.full[1]}, 0));
}

/// The entries of x at places along one dimension of the sample, as an operation. `ids`: of any shape, the batch
/// perhaps first; they are integers of a sample.
Id gathered(TorchContext &c, Id x, Id ids, int64_t axis) {
  Shape shape = c.shape(x), places = c.shape(ids);
  int64_t many = elementsOf(places).value_or(0);
  shape[axis] = many;
  return c.add("gather", {x, c.textBuilder.reshape(ids, {many})}, {fmt::format("axis = {}", axis)}, shape);
}

/// The extents of places that several lists of ids have together.
Shape placesOf(TorchContext &c, const std::vector<TorchValue> &ids) {
  Shape all;
  for (const TorchValue &one : ids) {
    auto both = broadcastOf(all, one.full);
    if (!both)
      c.reportInvalid(fmt::format("takes entries at {} and {}, which do not fit", listOf(all), listOf(one.full)));
    all = *both;
  }
  return all;
}

/// x[.., ids, ..] along one dimension or several that follow each other: they are joined, and the places with them.
void takeEntries(TorchContext &c, TorchValue x, size_t at, const std::vector<TorchValue> &ids) {
  Shape places = placesOf(c, ids);
  bool batched = llvm::any_of(places, [&](int64_t extent) { return c.hasBatch(extent); });
  // A known run along one dimension.
  if (ids.size() == 1 && follow(ids[0]) && !batched) {
    auto start = static_cast<int64_t>((*ids[0].numbers)[0]), size = std::ssize(*ids[0].numbers);
    start += start < 0 ? x.full[at] : 0;
    if (start < 0 || start + size > x.full[at])
      c.reportInvalid(fmt::format("takes entries {} to {} of {}", start, start + size - 1, x.full[at]));
    return c.setResult(c.viewed(c.sliced(x, static_cast<int64_t>(at), start, size), c.shapeInFile(c.node->outputs[0])));
  }
  // A trained table [heads, places]: as one [places, heads].
  if (ids.size() == 1 && at == 1 && x.batchAt < 0 && x.full.size() == 2 && ids[0].kind == Kind::Constant && !batched) {
    TorchValue table = c.permuted(x, {1, 0});
    Shape rows = ids[0].full;
    rows.push_back(x.full[0]);
    if (TorchValue y = fixedRows(c, table, ids[0], rows); y.kind != Kind::Missing) {
      Shape order(rows.size());
      std::iota(order.begin(), order.end(), -1);
      order[0] = std::ssize(rows) - 1;
      return c.setResult(c.permuted(y, order));
    }
  }
  Shape full = x.full, joined = full;
  for (size_t i = 1; i < ids.size(); ++i) {
    joined[at] *= joined[at + 1];
    joined.erase(joined.begin() + static_cast<long>(at) + 1);
  }
  x = c.dense(c.viewed(c.dense(x), joined));
  TorchValue where = ids[0];
  if (ids.size() > 1 || batched) {
    where.kind = Kind::Fixed;
    where.full = places;
  }
  where.type = TorchType::Integer;
  if (where.kind == Kind::Constant)
    where.kind = Kind::Fixed;
  TorchValue made = c.made(where);
  if (x.batchAt >= 0 && static_cast<int64_t>(at) == x.batchAt) {
    // Rows of all samples, such as tokens that are sent on: those of a sample here.
    if (c.isPure(x) || made.batchAt != 0)
      c.reportUnsupported("takes entries of other samples");
    c.noteOnce("entries that are taken from all samples of a batch are those of each sample here: the same work");
    Shape shape = c.shape(x.id);
    TorchValue y = c.computed(gathered(c, x.id, made.id, static_cast<int64_t>(at)), {}, 0);
    y.full = places;
    y.full.insert(y.full.end(), x.full.begin() + 1, x.full.end());
    y.id = c.textBuilder.reshape(y.id, c.sampleOf(y));
    return c.setResult(y);
  }
  if (made.batchAt >= 0)
    c.reportUnsupported("takes entries at places that each sample has of its own, across the samples");
  int64_t axis = c.sampleDim(x, static_cast<int64_t>(at));
  TorchValue y = x;
  y.full.erase(y.full.begin() + static_cast<long>(at));
  y.full.insert(y.full.begin() + static_cast<long>(at), places.begin(), places.end());
  if (y.batchAt > static_cast<int64_t>(at))
    y.batchAt += std::ssize(places) - 1;
  y.id = c.textBuilder.reshape(gathered(c, x.id, made.id, axis), c.sampleOf(y));
  c.setResult(y);
}

/// x[samples, ids], where `samples` counts the batch: entries of every sample.
bool takeOfSamples(TorchContext &c, const TorchValue &x, const TorchValue &samples, const TorchValue &ids) {
  Shape places = placesOf(c, {samples, ids});
  if (x.kind != Kind::Computed || x.batchAt != 0 || !c.isPure(x) || x.full.size() < 2 ||
      samples.kind == Kind::Computed || places.empty() || places[0] != c.batch ||
      llvm::count(samples.full, c.batch) != 1 || elementsOf(samples.full) != c.batch)
    return false;
  TorchValue where = ids;
  where.full = places;
  if (ids.full != places || where.kind == Kind::Constant)
    where.kind = Kind::Fixed;
  where.type = TorchType::Integer;
  where = c.made(where);
  Shape shape = c.shape(x.id);
  TorchValue y = c.computed(gathered(c, c.dense(x).id, where.id, 0), places, 0);
  y.full.insert(y.full.end(), x.full.begin() + 2, x.full.end());
  Shape sample = c.sampleOf(y);
  y.id = c.textBuilder.reshape(y.id, sample.empty() ? Shape{1} : sample);
  c.setResult(y);
  return true;
}

/// x[.., ids, ..]: rows of a table, entries of every sample, ranges, and others.
void index(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.get("self");
  const TorchArgument *argument = node.find("indices");
  if (!argument || argument->kind != TorchArgument::Kind::Tensors)
    c.reportInvalid("lacks its tensors 'indices'");
  std::vector<TorchValue> ids;
  size_t at = 0, last = 0;
  for (size_t i = 0; i < argument->names.size(); ++i)
    if (!argument->names[i].empty()) {
      at = ids.empty() ? i : at;
      last = i;
      ids.push_back(c.valueOf(argument->names[i]));
      if (ids.back().type != TorchType::Integer)
        c.reportUnsupported("takes the entries where a mask is true; how many depends on the values of tensors");
      if (ids.back().kind == Kind::Computed && ids.back().type == TorchType::Float)
        c.reportUnsupported("takes entries at places that are computed from numbers");
    }
  if (ids.empty())
    return c.setResult(x);
  if (at >= x.full.size() || last >= x.full.size())
    c.reportInvalid("takes entries of dimensions that it has not");
  bool isTable = x.kind == Kind::Weight || (x.kind != Kind::Constant && !c.isOneSample);
  if (ids.size() == 1 && at == 0 && x.batchAt < 0 && x.full.size() == 2 && isTable)
    return lookUp(c, x, ids[0]);
  if (ids.size() == 2 && at == 0 && last == 1 && takeOfSamples(c, x, ids[0], ids[1]))
    return;
  if (last - at + 1 != ids.size())
    c.reportUnsupported("takes entries along dimensions that do not follow each other");
  takeEntries(c, c.made(x), at, ids);
}

void indexSelect(TorchContext &c, const TorchNode &) {
  TorchValue x = c.get("self"), ids = c.get("index");
  int64_t at = c.dimOf(c.integer("dim", 0), std::ssize(x.full));
  if (at == 0 && x.batchAt < 0 && x.full.size() == 2 && x.kind == Kind::Weight)
    return lookUp(c, x, ids);
  takeEntries(c, c.made(x), static_cast<size_t>(at), {ids});
}

/// The node that makes a value behind expansions, where it makes places.
const TorchNode *makerOf(TorchContext &c, const std::string &name) {
  auto found =
      llvm::find_if(c.model.nodes, [&](const TorchNode &one) { return llvm::is_contained(one.outputs, name); });
  return found == c.model.nodes.end() ? nullptr : &*found;
}

/// y[i, j] = x[index[i, j], j]: elements by their places along a dimension. Where the places are repeated along all
/// dimensions after it, whole rows.
void gather(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(c.tensor("self")), ids = c.get(c.has("index") ? "index" : "indices");
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(x.full)), axis = c.sampleDim(x, dim);
  const TorchArgument *from = node.find(c.has("index") ? "index" : "indices");
  const TorchNode *maker = makerOf(c, from->names[0]);
  bool rows = false;
  Shape places = ids.full;
  if (maker && (maker->op == "aten.expand" || maker->op == "aten.repeat" || maker->op == "aten.expand_as")) {
    Shape narrow = c.shapeInFile(maker->find(maker->order.at(0))->names.at(0));
    rows = narrow.size() == places.size();
    for (size_t i = 0; rows && i < narrow.size(); ++i)
      rows = static_cast<int64_t>(i) <= dim ? narrow[i] == places[i] : narrow[i] == 1 && places[i] == x.full[i];
    // Whole rows of a sample, whose places do not differ before them.
    rows = rows && axis == 0 && x.batchAt == 0;
  }
  TorchValue where = ids;
  where.kind = where.kind == Kind::Computed ? where.kind : Kind::Fixed;
  where.type = TorchType::Integer;
  Shape full = places;
  if (rows)
    where.full = Shape(places.begin(), places.begin() + dim + 1);
  where.numbers = nullptr;
  where = where.kind == Kind::Computed && rows ? c.sliced(where, dim + 1, 0, 1) : c.made(where);
  TorchValue y = x;
  y.full = full;
  Shape sample = c.sampleOf(y);
  Id flat = rows ? x.id : c.textBuilder.reshape(x.id, {elementsOf(c.shape(x.id)).value_or(1)});
  y.id = c.textBuilder.reshape(gathered(c, flat, where.id, 0), sample.empty() ? Shape{1} : sample);
  y.type = x.type;
  c.setResult(y);
}

/// y[ids[i], ..] += x[i, ..], where y begins at zero or at another tensor: the sums of rows that share a place, as of a
/// graph's edges at each node. `scatter_add` states its places once for each column.
void addAtPlaces(TorchContext &c, const TorchNode &node) {
  TorchValue start = c.get("self"), ids = c.get("index");
  TorchValue x = c.dense(c.tensor(c.has("source") ? "source" : "src"));
  int64_t dim = c.dimOf(c.integer("dim", 0), std::ssize(start.full));
  const TorchArgument *from = node.find("index");
  bool isRows = ids.full.size() == 1;
  if (!isRows && from && !from->names.empty())
    if (const TorchNode *maker = makerOf(c, from->names[0]); maker && maker->op.rfind("aten.expand", 0) == 0) {
      const TorchArgument *narrow = maker->find(maker->order.at(0));
      Shape before = c.shapeInFile(narrow->names.at(0));
      isRows = before.size() == ids.full.size() && before[0] == ids.full[0] && elementsOf(before) == before[0];
      ids = c.valueOf(narrow->names.at(0));
    }
  if (dim != 0 || !isRows || c.number("alpha").value_or(1) != 1 || start.full.size() != x.full.size() || x.full.empty())
    c.reportUnsupported("adds to something else than whole rows");
  if (x.batchAt >= 0 || start.batchAt >= 0)
    c.reportUnsupported("adds rows of several samples");
  ids.kind = ids.kind == Kind::Constant ? Kind::Fixed : ids.kind;
  ids.type = TorchType::Integer;
  Shape places{x.full[0]};
  Id rows = c.made(ids).id;
  rows = c.shape(rows) == places ? rows : c.textBuilder.reshape(rows, places);
  Id sum = c.add("segment_sum", {x.id, rows}, {fmt::format("segments = {}", start.full[0])}, start.full);
  TorchValue y = c.computed(sum, start.full, -1);
  bool isZero = start.kind == Kind::Constant && start.numbers &&
                llvm::all_of(*start.numbers, [](double number) { return number == 0; });
  c.setResult(isZero ? y : joined(c, '+', c.made(start), y));
}

/// Sums of what is before: every step adds those that are twice as far.
void cumulative(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(c.tensor("self"));
  if (x.full.empty())
    return c.setResult(x);
  int64_t dim = c.sampleDim(x, c.integer("dim", 0));
  Shape shape = c.shape(x.id);
  for (int64_t by = 1; by < shape[dim]; by *= 2) {
    Shape before(shape.size(), 0), after = before;
    before[dim] = by;
    after[dim] = -by;
    Id moved = c.add("pad", {x.id}, {"before = " + listOf(before), "after = " + listOf(after)}, shape);
    x.id = c.add("+", {x.id, moved}, {}, shape);
  }
  c.noteOnce("a cumulative sum is one sum for each doubling of the distance here");
  c.setResult(x);
}

/// The largest along the last dimension, and their places.
void largest(TorchContext &c, const TorchNode &) {
  TorchValue x = c.dense(c.tensor("self"));
  int64_t rank = std::ssize(x.full), dim = c.dimOf(c.integer("dim", -1), rank), k = c.integer("k", 1);
  Shape shape = c.shape(x.id);
  if (dim != rank - 1 || dim == x.batchAt || !c.flag("largest", true) || k < 1 || k > shape.back())
    c.reportUnsupported("takes the largest along another than the last dimension, or the smallest");
  Id list = c.textBuilder.addList(c.name(), "topk", {x.id}, {fmt::format("k = {}", k)});
  shape.back() = k;
  TorchValue y = x;
  y.full.back() = k;
  y.id = c.textBuilder.piece(list, 0, shape);
  c.setResult(y, 0);
  y.id = c.textBuilder.piece(list, 1, shape);
  y.type = TorchType::Integer;
  c.setResult(y, 1);
}

/// What is on one side of a diagonal; the rest is zero.
void triangle(TorchContext &c, const TorchNode &node) {
  TorchValue x = c.dense(c.tensor("self"));
  if (c.shape(x.id).size() < 2 || x.batchAt + 2 >= std::ssize(x.full) + (c.isPure(x) ? 1 : 0))
    c.reportUnsupported("works across the samples of a batch, which are independent here");
  const char *letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  size_t rank = c.shape(x.id).size();
  if (rank > 8)
    c.reportUnsupported("works on more than 8 dimensions");
  std::string row = letters[rank - 2], column = letters[rank - 1];
  bool lower = node.op == "aten.tril";
  c.setResult(stated(c, lower ? "lower" : "upper",
                     fmt::format("if {} {} {} + by then {{0}} else 0", column, lower ? "<=" : ">=", row), {x},
                     {{"by", static_cast<double>(c.integer("diagonal", 0))}}));
}

} // namespace

std::vector<TorchOperators> torchSelections() {
  return {{addAtPlaces, {"aten.index_add", "aten.scatter_add"}},
          {cumulative, {"aten.cumsum"}},
          {embedding, {"aten.embedding"}},
          {embeddingBag, {"aten.embedding_bag", "aten._embedding_bag"}},
          {gather, {"aten.gather", "aten.take_along_dim"}},
          {index, {"aten.index"}},
          {indexSelect, {"aten.index_select"}},
          {largest, {"aten.topk"}},
          {triangle, {"aten.tril", "aten.triu"}}};
}

} // namespace accord::import
