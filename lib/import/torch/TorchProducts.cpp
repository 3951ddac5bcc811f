// Products: layers, matrices, attention, and those that an equation states.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {

using Id = DnnTextBuilder::Id;

/// Takes away the extent 1 of `one` where `other` has its batch.
static void stripBatch(TorchContext &c, Shape &sample, Id &id, const TorchValue &one, const TorchValue &other) {
  int64_t at = other.batchAt - (std::ssize(other.full) - std::ssize(one.full));
  if (one.batchAt >= 0 || other.batchAt < 0 || !c.isPure(other) || at < 0 ||
      std::ssize(one.full) != std::ssize(sample) || at >= std::ssize(sample) - 2)
    return;
  if (sample[at] != 1)
    c.reportUnsupported("multiplies across the batch");
  sample.erase(sample.begin() + at);
  id = c.textBuilder.reshape(id, sample);
}

/// Whether an order swaps the last two dimensions alone.
static bool swapsLast(const Shape &order) {
  Shape plain(order.size());
  std::iota(plain.begin(), plain.end(), 0);
  if (order.size() >= 2)
    std::swap(plain[plain.size() - 1], plain[plain.size() - 2]);
  return order.size() >= 2 && order == plain;
}

/// The product of two matrices, or of several.
static TorchValue matrixProduct(TorchContext &c, TorchValue a, TorchValue b) {
  int64_t ra = std::ssize(a.full), rb = std::ssize(b.full), rank = std::max(ra, rb);
  if (a.full.back() != b.full[rb - 2])
    c.reportInvalid(fmt::format("multiplies {} by {}", listOf(a.full), listOf(b.full)));
  int64_t pa = a.batchAt < 0 ? -1 : a.batchAt + rank - ra, pb = b.batchAt < 0 ? -1 : b.batchAt + rank - rb;
  bool rows = pa == rank - 2 && pb < 0; // every sample has some rows of one product
  if ((pa >= 0 && pb >= 0 && (pa != pb || a.outer != b.outer)) || (!rows && std::max(pa, pb) >= rank - 2))
    c.reportUnsupported(
        fmt::format("multiplies {} by {}, which joins the samples of a batch", listOf(a.full), listOf(b.full)));
  a = c.dense(a);
  b = c.dense(b);
  Shape full = broadcastOf(llvm::ArrayRef(a.full).drop_back(2), llvm::ArrayRef(b.full).drop_back(2)).value_or(Shape{});
  full.insert(full.end(), {a.full[ra - 2], b.full.back()});
  TorchValue result = c.computed(-1, full, std::max(pa, pb), pa >= 0 ? a.outer : b.outer);
  Shape sa = c.shape(a.id), sb = c.shape(b.id);
  Id x = a.id, y = b.id;
  if (rows && c.isPure(a)) { // [features] of a sample
    sa.insert(sa.end() - 1, 1);
    x = c.textBuilder.reshape(x, sa);
  }
  stripBatch(c, sb, y, b, a);
  stripBatch(c, sa, x, a, b);
  std::vector<std::string> attributes;
  // A transpose of the last two dimensions belongs to the product.
  if (const auto *behind = c.transposeOf(y); behind && swapsLast(behind->second)) {
    y = behind->first;
    attributes.push_back("transpose_b = true");
  }
  auto out = broadcastOf(llvm::ArrayRef(sa).drop_back(2), llvm::ArrayRef(sb).drop_back(2));
  if (!out)
    c.reportInvalid(fmt::format("multiplies {} by {}", listOf(sa), listOf(sb)));
  out->insert(out->end(), {sa[sa.size() - 2], sb.back()});
  result.id = c.textBuilder.reshape(c.add("matmul", {x, y}, attributes, *out), c.sampleOf(result));
  return result;
}

TorchValue product(TorchContext &c, const TorchValue &left, const TorchValue &right) {
  TorchValue a = left, b = right;
  // A vector is a matrix of one row or column.
  bool row = a.full.size() == 1, column = b.full.size() == 1;
  if (a.full.empty() || b.full.empty())
    c.reportInvalid("multiplies a single number as a matrix");
  if (row)
    a = c.viewed(a, {1, a.full[0]});
  if (column)
    b = c.viewed(b, {b.full[0], 1});
  TorchValue y = matrixProduct(c, a, b);
  Shape full = y.full;
  if (row)
    full.erase(full.end() - 2);
  if (column)
    full.pop_back();
  return c.viewed(y, full);
}

bool isCausalMask(const TorchValue &mask, bool hides) {
  if (mask.kind != Kind::Constant || !mask.numbers || mask.full.size() < 2)
    return false;
  int64_t keys = mask.full.back(), queries = mask.full[mask.full.size() - 2];
  if (keys != queries || std::ssize(*mask.numbers) != keys * queries)
    return false;
  bool boolean = mask.type == TorchType::Boolean;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      double one = (*mask.numbers)[i * keys + j];
      if ((boolean ? (one != 0) != hides : one == 0) != (j <= i))
        return false;
    }
  return true;
}

namespace {

/// The product of x with a weight [out, in], or [in, out] if it is transposed, and its bias.
TorchValue layer(TorchContext &c, const TorchValue &given, const TorchValue &w, const TorchValue *bias) {
  int64_t out = w.full[0], in = w.full[1];
  TorchValue x = c.dense(c.made(given));
  if (x.full.empty() || x.full.back() != in)
    c.reportInvalid(fmt::format("multiplies {} by a weight {}", listOf(x.full), listOf(w.full)));
  if (x.batchAt == std::ssize(x.full) - 1)
    c.reportUnsupported("works across the samples of a batch, which are independent here");
  bool own = w.kind == Kind::Weight && !c.isShared(w.weight),
       ownBias = bias && bias->kind == Kind::Weight && !c.isShared(bias->weight) && bias->full == Shape{out};
  std::vector<std::string> attributes{fmt::format("out = {}", out)};
  if (!ownBias)
    attributes.push_back("bias = false");
  TorchValue y = x;
  Shape shape = c.shape(x.id);
  if (shape.empty() || shape.back() != in) // [1] of a single number
    c.reportInvalid(fmt::format("multiplies {} by a weight {}", listOf(shape), listOf(w.full)));
  shape.back() = y.full.back() = out;
  y.id = own ? c.add("linear", {x.id}, attributes, shape)
             : c.textBuilder.addNamed(c.name(), "linear", {x.id, c.made(w).id}, "weight", attributes, shape);
  return bias && !ownBias ? joined(c, '+', y, c.made(*bias)) : y;
}

bool isMatrix(const TorchValue &value) {
  return value.full.size() == 2 && value.batchAt < 0 && (value.kind == Kind::Weight || value.kind == Kind::Computed);
}

TorchValue turned(const TorchValue &weight) {
  TorchValue result = weight;
  std::swap(result.full[0], result.full[1]);
  result.transposed = !result.transposed;
  return result;
}

void linear(TorchContext &c, const TorchNode &) {
  TorchValue w = c.get("weight"), bias = c.has("bias") ? c.get("bias") : TorchValue();
  if (w.full.size() != 2 || w.batchAt >= 0)
    c.reportUnsupported("has a weight that is no matrix of parameters");
  c.setResult(layer(c, c.get("input"), w, c.has("bias") ? &bias : nullptr));
}

/// x w, where w is a weight [in, out].
std::optional<TorchValue> byWeight(TorchContext &c, const TorchValue &a, const TorchValue &b, const TorchValue *bias) {
  if (b.kind != Kind::Weight || !isMatrix(b) || a.kind == Kind::Weight || a.full.size() < 2)
    return std::nullopt;
  return layer(c, a, turned(b), bias);
}

void matmul(TorchContext &c, const TorchNode &node) {
  TorchValue a = c.get(node.order.at(0)), b = c.get(node.order.at(1));
  auto y = byWeight(c, a, b, nullptr);
  c.setResult(y ? *y : product(c, c.made(a), c.made(b)));
}

void addmm(TorchContext &c, const TorchNode &node) {
  bool batched = node.op == "aten.baddbmm";
  if (c.number("beta").value_or(1) != 1 && !batched)
    c.reportUnsupported("scales its bias, which is not supported");
  TorchValue bias = c.get("self"), a = c.get(batched ? "batch1" : "mat1"), b = c.get(batched ? "batch2" : "mat2");
  double alpha = c.number("alpha").value_or(1), beta = c.number("beta").value_or(1);
  if (alpha == 1 && beta == 1)
    if (auto y = byWeight(c, a, b, &bias))
      return c.setResult(*y);
  TorchValue y = product(c, c.made(a), c.made(b));
  if (alpha != 1)
    y = c.alike(y, "scale", {"factor = " + singleText(alpha)});
  c.setResult(beta == 0 ? y : joined(c, '+', y, c.made(bias)));
}

/// softmax(q k^T * scale + mask) v by its parts.
TorchValue composed(TorchContext &c, const TorchValue &q, const TorchValue &k, const TorchValue &v, double scale,
                    const TorchValue *mask, bool causal) {
  int64_t rank = std::ssize(k.full);
  Shape order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  TorchValue scores = product(c, q, c.permuted(k, order));
  if (scale != 1)
    scores = c.alike(scores, "scale", {"factor = " + singleText(scale)});
  if (mask)
    scores = joined(c, '+', scores, c.made(*mask));
  std::vector<std::string> attributes;
  if (causal)
    attributes.push_back("causal = true");
  return product(c, c.alike(scores, "softmax", attributes), v);
}

/// Heads of keys or values that follow themselves were repeated for the queries.
void narrow(TorchContext &c, TorchValue &one, int64_t heads) {
  auto found = c.repeated.find(one.id);
  if (found == c.repeated.end() || heads % (one.full[1] / found->second.second))
    return;
  one.full[1] /= found->second.second;
  one.id = found->second.first;
}

/// The mask that is trained, if there is one; `causal` if it lets queries read what is before them alone.
const TorchValue *maskOf(TorchContext &c, const TorchValue &mask, bool &causal) {
  if (mask.kind == Kind::Computed && mask.type == TorchType::Float)
    return &mask;
  if (mask.kind == Kind::Missing)
    return nullptr;
  causal = causal || isCausalMask(mask);
  if (!causal)
    c.noteOnce("masks of attention that are not trained are left out: the same work");
  return nullptr;
}

void attention(TorchContext &c, const TorchNode &) {
  TorchValue q = c.dense(c.tensor("query")), k = c.dense(c.tensor("key")), v = c.dense(c.tensor("value"));
  TorchValue mask = c.has("attn_mask") ? c.get("attn_mask") : TorchValue();
  bool causal = c.flag("is_causal", false);
  const TorchValue *trained = maskOf(c, mask, causal);
  double scale = c.number("scale").value_or(1 / std::sqrt(static_cast<double>(q.full.empty() ? 1 : q.full.back())));
  if (c.number("dropout_p").value_or(0) > 0)
    c.noteOnce("dropout inside of fused attention is left out: it is part of its kernel");
  auto plain = [&](const TorchValue &one) { return one.full.size() == 4 && one.batchAt == 0 && c.isPure(one); };
  bool fused = plain(q) && plain(k) && plain(v) && !trained;
  if (fused && c.repeated.count(k.id) && c.repeated.count(v.id)) {
    narrow(c, k, q.full[1]);
    narrow(c, v, q.full[1]);
  }
  fused = fused && k.full == v.full && q.full[3] == k.full[3] && q.full[1] % k.full[1] == 0;
  if (!fused) {
    if (q.full.size() < 2 || q.full.size() != k.full.size() || k.full.size() != v.full.size())
      c.reportUnsupported("is attention of tensors of different ranks");
    return c.setResult(composed(c, q, k, v, scale, trained, causal));
  }
  int64_t heads = q.full[1], kept = k.full[1], queries = q.full[2], width = q.full[3], group = heads / kept;
  Id x = c.textBuilder.reshape(c.transpose(q.id, {1, 0, 2}), {queries, kept, group, width});
  Id y = c.transpose(k.id, {1, 0, 2}), z = c.transpose(v.id, {1, 0, 2});
  std::vector<std::string> attributes;
  if (scale != 1)
    attributes.push_back("scale = " + singleText(scale));
  if (causal)
    attributes.push_back("causal = true");
  Id out = c.add("flash_attention", {x, y, z}, attributes, {queries, kept, group, width});
  TorchValue result = q;
  result.id = c.transpose(c.textBuilder.reshape(out, {queries, heads, width}), {1, 0, 2});
  c.setResult(result);
}

/// The letters of one term of an equation.
struct Term {
  std::string letters;
  TorchValue value;
};

TorchValue arranged(TorchContext &c, const Term &term, const std::string &wanted) {
  Shape order;
  for (char letter : wanted)
    order.push_back(static_cast<int64_t>(term.letters.find(letter)));
  return c.permuted(term.value, order);
}

/// The terms and the result of an equation, with one letter for each dimension.
struct Equation {
  std::vector<Term> terms;
  std::string out;

  int64_t extent(char letter) const {
    for (const Term &term : terms)
      if (size_t at = term.letters.find(letter); at != std::string::npos)
        return term.value.full[at];
    return 1;
  }
  /// The extents of letters, and the product of those of the groups behind them.
  Shape extents(const std::string &each, const std::vector<std::string> &groups) const {
    Shape all;
    for (char letter : each)
      all.push_back(extent(letter));
    for (const std::string &group : groups) {
      all.push_back(1);
      for (char letter : group)
        all.back() *= extent(letter);
    }
    return all;
  }
};

Equation equationOf(TorchContext &c) {
  std::string text = c.text("equation");
  std::erase(text, ' ');
  size_t arrow = text.find("->"), comma = text.find(',');
  std::vector<TorchValue> values = c.list("tensors");
  bool one = values.size() == 1 && comma == std::string::npos, two = values.size() == 2 && comma < arrow;
  if (arrow == std::string::npos || text.find('.') != std::string::npos || (!one && !two))
    c.reportUnsupported(
        fmt::format("has the equation '{}'; one or two terms with a result are supported", shown(text)));
  Equation equation;
  equation.out = text.substr(arrow + 2);
  equation.terms.push_back({text.substr(0, std::min(comma, arrow)), c.dense(c.made(values[0]))});
  if (two)
    equation.terms.push_back({text.substr(comma + 1, arrow - comma - 1), c.dense(c.made(values[1]))});
  for (const Term &term : equation.terms)
    if (std::set<char>(term.letters.begin(), term.letters.end()).size() != term.letters.size() ||
        term.letters.size() != term.value.full.size())
      c.reportUnsupported(fmt::format("has the equation '{}', which takes a diagonal", shown(text)));
  return equation;
}

/// Of two terms: what both have and the result has is repeated over, what both have and it has not is summed over.
void einsum(TorchContext &c, const TorchNode &) {
  Equation equation = equationOf(c);
  const std::string &out = equation.out, &first = equation.terms[0].letters;
  auto has = [](const std::string &in, char letter) { return in.find(letter) != std::string::npos; };
  if (equation.terms.size() == 1) {
    if (out.size() != first.size())
      c.reportUnsupported("sums one tensor, which is not supported");
    return c.setResult(arranged(c, equation.terms[0], out));
  }
  std::string both, left, right, summed;
  for (char letter : first)
    (has(equation.terms[1].letters, letter) ? has(out, letter) ? both : summed : left) += letter;
  for (char letter : equation.terms[1].letters)
    if (!has(first, letter))
      right += letter;
  for (char letter : left + right)
    if (!has(out, letter))
      c.reportUnsupported("sums over a dimension of one operand alone");
  TorchValue a = c.viewed(arranged(c, equation.terms[0], both + left + summed), equation.extents(both, {left, summed}));
  TorchValue b =
      c.viewed(arranged(c, equation.terms[1], both + summed + right), equation.extents(both, {summed, right}));
  TorchValue y = c.viewed(product(c, a, b), equation.extents(both + left + right, {}));
  c.setResult(arranged(c, {both + left + right, y}, out));
}

} // namespace

std::vector<TorchOperators> torchProducts() {
  return {{addmm, {"aten.addmm", "aten.baddbmm"}},
          {attention, {"aten.scaled_dot_product_attention"}},
          {einsum, {"aten.einsum"}},
          {linear, {"aten.linear"}},
          {matmul, {"aten.bmm", "aten.matmul", "aten.mm"}}};
}

} // namespace accord::import
