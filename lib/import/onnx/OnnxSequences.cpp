// Operators on sequences: recurrent layers, attention, and products that Einstein's notation states.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

/// Refuses what a recurrent layer of the language has not: lengths, first states, activations, last states of cells.
void checkRecurrent(OnnxContext &c, const OnnxNode &node) {
  if (node.text("direction") == "reverse")
    c.reportUnsupported("runs from the last step to the first alone; forward and bidirectional are supported");
  if (node.attributes.count("activations") || node.attributes.count("clip") || node.has(7))
    c.reportUnsupported("has activations, a clip or peepholes of its own, which are not supported");
  for (size_t i : {5, 6})
    if (node.has(i) && !c.get(i).constant)
      c.reportUnsupported("starts from a state that the model computes; it starts from zeros here");
  if (node.has(4) && !c.get(4).constant)
    c.reportUnsupported("has lengths of the sequences that are not known");
  if (node.has(5) || node.has(6))
    c.noteOnce(fmt::format("{} starts from zeros here", c.subject()));
  if (node.outputs.size() > 2 && !node.outputs[2].empty() && c.uses[node.outputs[2]])
    c.reportUnsupported("gives the last state of its cells, which is not supported");
}

/// LSTM and GRU of x[sequence, batch, in] (or batch first with `layout` = 1). The results are every step's state, [seq,
/// directions, batch, hidden], and the last step's, [directions, batch, hidden].
void recurrent(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  const OnnxTensor &w = c.weight(1, 3), &r = c.weight(2, 3);
  int64_t gates = node.op == "LSTM" ? 4 : 3, hidden = r.shape[2], directions = w.shape[0];
  bool first = node.integer("layout", 0) != 0;
  std::string direction = node.text("direction");
  if (!x.outer || x.full.size() != 3 || !c.placeOf(x).alone || c.placeOf(x).axis != (first ? 0 : 1))
    c.reportUnsupported("takes [sequence, batch, features], and its batch lies elsewhere here");
  checkRecurrent(c, node);
  if (directions != (direction == "bidirectional" ? 2 : 1) || hidden < 1 || w.shape[1] != gates * hidden ||
      r.shape[1] != gates * hidden || r.shape[0] != directions || w.shape[2] != c.shape(x.id)[1])
    c.reportInvalid(
        fmt::format("has weights {} and {} for {} features", listOf(w.shape), listOf(r.shape), c.shape(x.id)[1]));
  std::vector<std::string> attributes{fmt::format("hidden = {}", hidden)};
  if (node.has(3))
    c.weight(3, 2);
  else
    attributes.push_back("bias = false");
  if (directions == 2)
    attributes.push_back("bidirectional = true");
  int64_t steps = c.shape(x.id)[0];
  Id y = c.add(node.op == "LSTM" ? "lstm" : "gru", {x.id}, attributes, {steps, directions * hidden});
  if (!node.outputs[0].empty()) {
    Shape full = first ? Shape{c.batch, steps, directions, hidden} : Shape{steps, directions, c.batch, hidden};
    int64_t outer = first ? 1 : steps * directions;
    c.setResult(c.textBuilder.reshape(y, c.sampleOf(full, outer)), full, outer);
  }
  if (node.outputs.size() < 2 || node.outputs[1].empty() || !c.uses[node.outputs[1]])
    return;
  // The second direction ends at the first step.
  std::vector<Id> last;
  for (int64_t d = 0; d < directions; ++d) {
    Id whole = directions == 1 ? y : c.textBuilder.slice(c.name(), y, 1, d * hidden, hidden);
    last.push_back(c.textBuilder.slice(c.name(), whole, 0, d == 0 ? steps - 1 : 0, 1));
  }
  Id state = last[0];
  if (directions == 2)
    state = c.add("concat", last, {"axis = 0"}, {2, hidden});
  Shape full = first ? Shape{c.batch, directions, hidden} : Shape{directions, c.batch, hidden};
  int64_t outer = first ? 1 : directions;
  c.setResult(c.textBuilder.reshape(state, c.sampleOf(full, outer)), full, outer, 1);
}

/// softmax(q k^T * scale + mask) v of [batch, heads, length, width], or of [batch, length, heads * width].
void attention(OnnxContext &c, const OnnxNode &node) {
  std::vector<OnnxValue> in{c.tensor(0), c.tensor(1), c.tensor(2)};
  bool joined = in[0].full.size() == 3;
  for (size_t i = 4; i < node.inputs.size(); ++i)
    if (node.has(i))
      c.reportUnsupported("reads keys and values of earlier steps, which no training has");
  if (node.number("softcap", 0) != 0)
    c.reportUnsupported("has a 'softcap', which is not supported");
  int64_t heads = node.integer("q_num_heads", 0), groups = node.integer("kv_num_heads", heads);
  std::vector<Id> ids;
  for (size_t i = 0; i < 3; ++i) {
    if (!c.leads(in[i]) || in[i].full.size() != (joined ? 3 : 4))
      c.reportUnsupported("takes queries, keys and values of 3 or 4 dimensions, the first of which is the batch");
    Shape shape = c.shape(in[i].id);
    if (joined) {
      int64_t parts = i == 0 ? heads : groups;
      if (parts < 1 || shape[1] % parts)
        c.reportInvalid(fmt::format("has {} heads of {}", parts, listOf(shape)));
      ids.push_back(c.textBuilder.transpose(c.textBuilder.reshape(in[i].id, {shape[0], parts, shape[1] / parts}),
                                            {1, 0, 2}, c.name()));
    } else {
      ids.push_back(in[i].id);
    }
  }
  Shape q = c.shape(ids[0]), k = c.shape(ids[1]), v = c.shape(ids[2]);
  if (k[0] != v[0] || k[1] != v[1] || q[2] != k[2] || q[0] % k[0])
    c.reportInvalid(fmt::format("has queries {}, keys {} and values {}", listOf(q), listOf(k), listOf(v)));
  int64_t each = q[0] / k[0]; // heads that share keys and values
  Shape rows{k[0], each, q[1]};
  auto grouped = [&](Id id, Shape shape) {
    return each == 1 ? id
                     : c.textBuilder.reshape(id, Shape{shape[0] / (shape[0] == q[0] ? each : 1),
                                                       shape[0] == q[0] ? each : 1, shape[1], shape[2]});
  };
  Shape scores = each == 1 ? Shape{q[0], q[1], k[1]} : Shape{k[0], each, q[1], k[1]};
  Id s = c.add("matmul", {grouped(ids[0], q), grouped(ids[1], k)}, {"transpose_b = true"}, scores);
  s = c.add("scale", {s}, {"factor = " + singleText(node.number("scale", 1 / std::sqrt(double(q[2]))))}, scores);
  if (node.has(3))
    c.noteOnce(fmt::format("the mask of {} is left out", c.subject()));
  std::vector<std::string> causal;
  if (node.integer("is_causal", 0))
    causal.push_back("causal = true");
  s = c.add("softmax", {s}, causal, scores);
  Shape made = scores;
  made.back() = v[2];
  Id y = c.textBuilder.reshape(c.add("matmul", {s, grouped(ids[2], v)}, {}, made), {q[0], q[1], v[2]});
  Shape full{in[0].full[0], q[0], q[1], v[2]};
  if (joined) {
    y = c.textBuilder.reshape(c.textBuilder.transpose(y, {1, 0, 2}), {q[1], q[0] * v[2]});
    full = {in[0].full[0], q[1], q[0] * v[2]};
  }
  c.setResult(y, full, 1);
}

// ---- Einstein's notation

/// A tensor whose dimensions are letters, without the batch.
struct Lettered {
  Id id = -1;
  std::string letters;
};

/// The dimensions in this order, then joined to groups of so many.
Id arranged(OnnxContext &c, const Lettered &x, const std::vector<std::string> &groups) {
  Shape permutation, joined;
  for (const std::string &group : groups) {
    int64_t extent = 1;
    for (char letter : group) {
      permutation.push_back(x.letters.find(letter));
      extent *= c.shape(x.id)[permutation.back()];
    }
    joined.push_back(extent);
  }
  return c.textBuilder.reshape(c.textBuilder.transpose(x.id, permutation, c.name()), joined);
}

/// An equation of two terms, with what its operands have for each letter.
struct Equation {
  std::string text, result;
  std::vector<std::string> terms;
  std::vector<Lettered> operands; ///< without the batch
  std::map<char, int64_t> extents;
  std::optional<char> batch; ///< the letter of it

  int64_t extentOf(const std::string &letters) const {
    int64_t all = 1;
    for (char letter : letters)
      all *= extents.at(letter);
    return all;
  }
};

bool has(const std::string &letters, char letter) { return letters.find(letter) != std::string::npos; }

Equation parsed(OnnxContext &c, const OnnxNode &node) {
  Equation equation;
  equation.text = node.text("equation");
  std::erase(equation.text, ' ');
  auto [left, result] = llvm::StringRef(equation.text).split("->");
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  bool plain = llvm::StringRef(equation.text).contains("->") && terms.size() == 2 && node.inputs.size() == 2;
  for (llvm::StringRef term : {terms[0], terms.back(), result}) {
    std::set<char> different(term.begin(), term.end());
    plain &= llvm::all_of(term, llvm::isAlpha) && different.size() == term.size();
  }
  if (!plain)
    c.reportUnsupported(
        fmt::format("states '{}'; products of two tensors with different letters are supported", shown(equation.text)));
  equation.result = result.str();
  for (llvm::StringRef term : terms)
    equation.terms.push_back(term.str());
  return equation;
}

/// Reads the operands of an equation; the batch is at one place in each that has it.
void readOperands(OnnxContext &c, Equation &equation) {
  for (size_t i : {0, 1}) {
    OnnxValue x = c.tensor(i);
    std::string letters = equation.terms[i];
    if (letters.size() != x.full.size())
      c.reportInvalid(fmt::format("states '{}' for {}", shown(equation.text), listOf(x.full)));
    for (size_t d = 0; d < letters.size(); ++d)
      if (auto [known, isNew] = equation.extents.emplace(letters[d], x.full[d]); !isNew && known->second != x.full[d])
        c.reportInvalid(
            fmt::format("states '{}' for extents {} and {}", shown(equation.text), known->second, x.full[d]));
    if (x.outer) {
      BatchPlace place = c.placeOf(x);
      if (!place.alone || (equation.batch && *equation.batch != letters[place.axis]))
        c.reportUnsupported("has the batch at two places, or joined to something else");
      equation.batch = letters[place.axis];
      letters.erase(letters.begin() + place.axis);
    }
    equation.operands.push_back({x.id, letters});
  }
  const std::string &a = equation.operands[0].letters, &b = equation.operands[1].letters;
  if (std::optional<char> batch = equation.batch;
      batch && (!has(equation.result, *batch) || has(a, *batch) || has(b, *batch)))
    c.reportUnsupported("sums over the samples of a batch, or joins them with something that has none");
  for (char letter : equation.result)
    if (!equation.extents.count(letter))
      c.reportInvalid(fmt::format("gives a dimension '{}' that no tensor has", letter));
}

/// The result of an equation from a product with these letters.
void giveResult(OnnxContext &c, const Equation &equation, const Lettered &product) {
  Shape apart, order, full;
  for (char letter : product.letters)
    apart.push_back(equation.extents.at(letter));
  int64_t outer = 1;
  bool passed = false;
  for (char letter : equation.result) {
    full.push_back(equation.extents.at(letter));
    passed |= equation.batch == letter;
    outer *= passed ? 1 : equation.extents.at(letter);
    if (equation.batch != letter)
      order.push_back(product.letters.find(letter));
  }
  Id y = c.textBuilder.transpose(c.textBuilder.reshape(product.id, apart), order, c.name());
  c.setResult(y, full, equation.batch ? std::optional(outer) : std::nullopt);
}

/// Two factors: letters of both that stay are a batch of products, those that do not are summed over.
void einsum(OnnxContext &c, const OnnxNode &node) {
  Equation equation = parsed(c, node);
  readOperands(c, equation);
  const std::vector<Lettered> &in = equation.operands;
  std::string both, summed, rows, columns;
  for (char letter : in[0].letters)
    (has(in[1].letters, letter) ? has(equation.result, letter) ? both : summed : rows) += letter;
  for (char letter : in[1].letters)
    if (!has(in[0].letters, letter))
      columns += letter;
  for (char letter : rows + columns)
    if (!has(equation.result, letter))
      c.reportUnsupported(fmt::format("sums over '{}' of one tensor alone, which is not supported", letter));
  std::vector<std::string> a, b;
  Shape shape;
  for (char letter : both) {
    a.push_back({letter});
    b.push_back({letter});
    shape.push_back(equation.extents.at(letter));
  }
  a.insert(a.end(), {rows, summed});
  b.insert(b.end(), {summed, columns});
  shape.insert(shape.end(), {equation.extentOf(rows), equation.extentOf(columns)});
  Id y = c.add("matmul", {arranged(c, in[0], a), arranged(c, in[1], b)}, {}, shape);
  giveResult(c, equation, {y, both + rows + columns});
}

} // namespace

std::vector<OnnxOperators> onnxSequences() {
  return {{attention, {"Attention"}}, {einsum, {"Einsum"}}, {recurrent, {"GRU", "LSTM"}}};
}

} // namespace accord::import
