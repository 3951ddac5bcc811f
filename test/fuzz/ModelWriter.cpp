#include "test/fuzz/ModelWriter.h"
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::fuzz {

namespace {

using Shape = std::vector<int64_t>;
struct Tensor {
  std::string name;
  Shape shape;
  bool used = false;
};

class Writer {
public:
  explicit Writer(Random &random) : random(random) {}

  std::string run() {
    for (size_t n = 1 + random.below(3); n--;)
      input();
    for (size_t n = random.below(random.percent(90) ? 12 : 60); n--;)
      statement("  ");
    std::string loss;
    for (Tensor &t : tensors)
      if (!t.used || loss.empty())
        loss += fmt::format("{}mse({}, {})", loss.empty() ? "" : " + ", t.name, t.name);
    const std::vector<std::string> machines = {"a100_80g", "v100_32g", "h100", "tpu_like"},
                                   precisions = {"fp32", "bf16", "fp16", "mixed(bf16)", "mixed(fp16)"},
                                   optimizers = {"sgd", "momentum", "adam", "adamw"},
                                   objectives = {"throughput", "step_time", "device.memory", "energy"};
    std::string objective = random.pick(objectives);
    return fmt::format("{}model m {{\n{}  loss {}\n}}\n\ntrain t = m() on {} {{\n  batch = {}\n"
                       "  precision = {}\n  optimizer = {}\n  {} {}\n}}\n",
                       operations, body, loss, random.pick(machines), 1 + random.below(9), random.pick(precisions),
                       random.pick(optimizers), objective == "throughput" ? "maximize" : "minimize", objective);
  }

private:
  int64_t extent() {
    static const std::vector<int64_t> sizes = {1, 2, 3, 4, 6, 8, 12, 16, 32};
    return random.pick(sizes);
  }
  std::string fresh(const char *stem) { return fmt::format("{}{}", stem, ++count); }

  void input() {
    Tensor t{fresh("x"), {}, false};
    for (size_t rank = 1 + random.below(4); rank--;)
      t.shape.push_back(extent());
    if (random.percent(20)) { // numbers of rows of a table
      t.shape.resize(1 + random.below(2), 4);
      std::string name = fresh("e"), ids = t.name;
      int64_t dim = extent();
      body += fmt::format("  input {} : int32[{}]\n", ids, fmt::join(t.shape, ", "));
      bool bag = random.percent(30);
      body += fmt::format("  var {} = {}({}, rows = {}, dim = {})\n", name, bag ? "embedding_bag" : "embedding", ids,
                          extent(), dim);
      bag ? void(t.shape.back() = dim) : t.shape.push_back(dim);
      tensors.push_back({name, t.shape, false});
      return;
    }
    if (random.percent(20)) {
      body += fmt::format("  var {} = parameter([{}])\n", t.name, fmt::join(t.shape, ", "));
      body += fmt::format("  input b{} : float[{}]\n", count, fmt::join(t.shape, ", "));
      body += fmt::format("  {} = {} + b{}\n", t.name, t.name, count);
    } else {
      std::string raw = "raw" + std::to_string(count);
      body += fmt::format("  input {} : float[{}]\n  var {} = {}\n", raw, fmt::join(t.shape, ", "), t.name, raw);
    }
    tensors.push_back(t);
  }

  void statement(const std::string &indent) {
    size_t at = random.below(tensors.size());
    if (random.percent(20))
      return repeat(at, indent, 0);
    if (random.percent(10) && !tensors[at].shape.empty())
      return scan(at, indent, 0);
    std::string expr = tensors[at].name;
    Shape shape = tensors[at].shape;
    for (size_t n = 1 + random.below(3); n--;)
      expr = step(expr, shape);
    if (random.percent(15) && shape == tensors[at].shape) {
      body += fmt::format("{}{} = {}\n", indent, tensors[at].name, expr);
      return;
    }
    tensors[at].used = true;
    std::string name = fresh("v");
    if (!shape.empty() && shape[0] % 2 == 0 && random.percent(10)) {
      body += fmt::format("{}let {}a, {}b = split({}, parts = 2, axis = 0)\n", indent, name, name, expr);
      body += fmt::format("{}var {} = {}a - {}b\n", indent, name, name, name);
      shape[0] /= 2;
    } else {
      body += fmt::format("{}var {} = {}\n", indent, name, expr);
    }
    tensors.push_back({name, shape, false});
  }

  /// `repeat n { t = f(t) … }` with up to two carried values, and a repeat within.
  void repeat(size_t at, const std::string &indent, unsigned depth) {
    body += fmt::format("{}repeat {} {{\n", indent, random.below(5) + (random.percent(90) ? 1 : 0));
    std::string inner = indent + "  ";
    for (size_t n = 1 + random.below(3); n--;) {
      if (depth < 2 && random.percent(20))
        repeat(random.below(tensors.size()), inner, depth + 1);
      update(at, inner);
      if (random.percent(30))
        at = random.below(tensors.size());
    }
    body += indent + "}\n";
  }

  /// `scan t as s -> v { … }` with up to two states, and perhaps a scan of the slices within.
  void scan(size_t at, const std::string &indent, unsigned depth) {
    Tensor walked = tensors[at];
    Shape slice(walked.shape.begin() + 1, walked.shape.end());
    tensors[at].used = true;
    size_t outside = tensors.size();
    for (size_t n = random.below(3); n--;) {
      std::string state = fresh("h");
      body += fmt::format("{}var {} = zeros([{}])\n", indent, state, fmt::join(slice, ", "));
      tensors.push_back({state, slice, false});
    }
    size_t states = tensors.size() - outside;
    std::string step = fresh("s"), all = fresh("v"), inner = indent + "  ";
    body += fmt::format("{}scan {}{} as {} -> {} {{\n", indent, random.percent(30) ? "reverse " : "", walked.name, step,
                        all);
    size_t own = tensors.size();
    body += fmt::format("{}var {}v = {}\n", inner, step, step);
    tensors.push_back({step + "v", slice, false});
    if (depth < 2 && !slice.empty() && random.percent(20)) {
      scan(own, inner, depth + 1);
      Tensor lines = tensors.back();
      tensors.pop_back();
      int64_t all = 1;
      for (int64_t extent : lines.shape)
        all *= extent;
      body += fmt::format("{}{}v = {}v + reshape(reduce_sum(reshape({}, [{}]), axis = 0), [1])\n", inner, step, step,
                          lines.name, all);
    }
    for (size_t i = outside; i < outside + states; ++i) {
      body += fmt::format("{}{} = {} + {}v\n", inner, tensors[i].name, tensors[i].name, step);
      update(i, inner);
    }
    update(own, inner);
    Shape shape = slice;
    std::string expr = step + "v"; // and all states, so that everything in the step reaches the loss
    for (size_t k = outside; k < outside + states; ++k)
      expr += " + " + tensors[k].name;
    expr = this->step("(" + expr + ")", shape);
    body += fmt::format("{}{} = {}\n{}}}\n", inner, all, expr, indent);
    tensors.resize(own);
    shape.insert(shape.begin(), walked.shape[0]);
    body += fmt::format("{}var {}all = {}\n", indent, all, all);
    tensors.push_back({all + "all", shape, false});
  }

  void update(size_t at, const std::string &indent) {
    Tensor &t = tensors[at];
    Shape shape = t.shape;
    std::string expr = t.name;
    for (size_t n = 1 + random.below(3); n--;) {
      Shape before = shape;
      std::string next = step(expr, shape);
      bool restorable = shape.size() == t.shape.size() && !shape.empty() &&
                        std::equal(shape.begin(), shape.end() - 1, t.shape.begin());
      restorable ? expr = next : (shape = before, expr);
    }
    if (shape != t.shape)
      expr = fmt::format("linear({}, out = {})", expr, t.shape.back());
    body += fmt::format("{}{} = {}{}\n", indent, t.name, random.percent(50) ? t.name + " + " : "", expr);
  }

  /// Another value of this shape, or the expression itself.
  std::string other(const std::string &expr, const Shape &shape) {
    for (int tries = 4; tries--;)
      if (const Tensor &t = random.pick(tensors); t.shape == shape)
        return t.name;
    return expr;
  }

  std::string unary(const std::string &expr) {
    static const std::vector<std::string> names = {"relu({})",
                                                   "gelu({})",
                                                   "silu({})",
                                                   "sigmoid({})",
                                                   "tanh({})",
                                                   "exp({})",
                                                   "-({})",
                                                   "dropout({}, rate = 0.1)",
                                                   "2.5 * ({})",
                                                   "({}) / 3",
                                                   "relu6({})",
                                                   "hard_sigmoid({})",
                                                   "hard_swish({})",
                                                   "elu({})",
                                                   "leaky_relu({}, slope = 0.2)"};
    return fmt::format(fmt::runtime(random.pick(names)), expr);
  }

  std::string step(const std::string &expr, Shape &shape) {
    int64_t n = extent();
    if (expr.size() > 400 || shape.empty())
      return unary(expr);
    size_t axis = random.below(shape.size()), choice = random.below(26);
    return choice < 11 ? stepOfAnyRank(choice, expr, shape, n, axis) : stepOfRank(choice, expr, shape, n);
  }

  /// The first of the choices; each takes a tensor of any rank but 0.
  std::string stepOfAnyRank(size_t choice, const std::string &expr, Shape &shape, int64_t n, size_t axis) {
    size_t rank = shape.size();
    int64_t &last = shape.back();
    switch (choice) {
    case 0:
    case 1:
      last = n;
      return fmt::format("linear({}, out = {}, bias = {})", expr, n, random.percent(50));
    case 2:
      return fmt::format("{}({})", random.percent(50) ? "layer_norm" : "rms_norm", expr);
    case 3:
      return fmt::format("softmax({}, axis = {})", expr, axis);
    case 4:
    case 5: {
      static const std::vector<std::string> operators = {"+", "-", "*", "/"};
      return fmt::format("({}) {} {}", expr, random.pick(operators), other(expr, shape));
    }
    case 6: {
      int64_t all = 1;
      for (int64_t s : shape)
        all *= s;
      shape.clear();
      for (int64_t d : {n, extent()})
        if (all % d == 0) {
          shape.push_back(d);
          all /= d;
        }
      shape.push_back(all);
      return fmt::format("reshape({}, [{}])", expr, fmt::join(shape, ", "));
    }
    case 7: {
      std::vector<size_t> order(rank);
      for (size_t i = 0; i < rank; ++i)
        order[i] = i;
      std::swap(order[axis], order[random.below(rank)]);
      Shape old = shape;
      for (size_t i = 0; i < rank; ++i)
        shape[i] = old[order[i]];
      return fmt::format("transpose({}, [{}])", expr, fmt::join(order, ", "));
    }
    case 8: {
      if (shape[axis] > 1000)
        return unary(expr);
      std::string second = other(expr, shape);
      shape[axis] *= 2;
      return fmt::format("concat({}, {}, axis = {})", expr, second, axis);
    }
    case 9: {
      int64_t start = random.below(shape[axis]), size = 1 + random.below(shape[axis] - start);
      shape[axis] = size;
      return fmt::format("slice({}, axis = {}, start = {}, size = {})", expr, axis, start, size);
    }
    default:
      shape.erase(shape.begin() + axis);
      return fmt::format("{}({}, axis = {})", random.percent(50) ? "reduce_mean" : "reduce_sum", expr, axis);
    }
  }

  /// The other choices; each is for some ranks only.
  std::string stepOfRank(size_t choice, const std::string &expr, Shape &shape, int64_t n) {
    size_t rank = shape.size();
    int64_t &last = shape.back();
    switch (choice) {
    case 11:
      if (rank < 2)
        return unary(expr);
      shape[rank - 1] = shape[rank - 2];
      return fmt::format("matmul({}, {}, transpose_b = true)", expr, expr);
    case 12:
      if (rank < 2)
        return unary(expr);
      return fmt::format("{}({})", random.percent(50) ? "batch_norm" : "tanh", expr);
    case 13:
      if (rank != 2)
        return unary(expr);
      last = n;
      return fmt::format("{}({}, hidden = {})", random.percent(50) ? "lstm" : "gru", expr, n);
    case 14:
      if (rank < 2 || last % 2)
        return unary(expr);
      return fmt::format("{}({})", random.percent(50) ? "rotary" : rank > 2 ? "alibi" : "sinusoids", expr);
    case 15:
      if (rank != 2 || shape[0] < 2)
        return unary(expr);
      shape = {shape[0] * (shape[0] - 1) / 2};
      return fmt::format("interaction({})", expr);
    case 16: {
      int64_t inner = extent();
      return fmt::format("moe({}, experts = {}, inner = {}, top_k = 1, gated = {})", expr, n, inner,
                         random.percent(50));
    }
    case 17:
    case 18:
    case 19:
      return rank <= 6 ? custom(expr, shape) : unary(expr);
    case 20:
      if (rank != 4 || expr.size() > 60)
        return unary(expr);
      return fmt::format("flash_attention({0}, reduce_mean({0}, axis = 2), reduce_sum({0}, axis = 2), "
                         "causal = {1}, scale = 0.5)",
                         expr, random.percent(50));
    default:
      return rank == 3 ? image(expr, shape) : unary(expr);
    }
  }

  /// An operation of the file's own: an element of each operand at every point, turned round and
  /// perhaps combined along one index.
  std::string custom(const std::string &expr, Shape &shape) {
    std::vector<std::string> indices, result, leaves = {"0.5", "2"};
    for (size_t i = 0; i < shape.size(); ++i)
      indices.push_back(std::string(1, 'i' + i));
    std::string x = fmt::format("x[{}]", fmt::join(indices, ", "));
    leaves.insert(leaves.end(), {x, x, indices[random.below(indices.size())]});
    bool weight = random.percent(50), combined = random.percent(50);
    size_t last = shape.size() - 1, over = random.below(shape.size());
    std::string w = fmt::format("w[{}]", indices[last]), arguments = expr;
    if (weight) {
      leaves.push_back(w);
      arguments += fmt::format(", parameter([{}])", shape[last]);
    }
    Shape extents;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!combined || i != over) {
        size_t at = random.below(result.size() + 1);
        result.insert(result.begin() + at, indices[i]);
        extents.insert(extents.begin() + at, shape[i]);
      }
    std::string value = fmt::format("{}{} + {}", x, weight ? " * " + w : "", element(leaves, 3));
    if (combined) {
      static const std::vector<std::string> ways = {"sum", "mean", "max", "min"};
      value = fmt::format("{}({}, over = {})", random.pick(ways), value, indices[over]);
    }
    std::string name = fresh("op");
    operations += fmt::format("operation {}({}{}) -> y[{}] {{\n  y = {}\n}}\n\n", name, x, weight ? ", " + w : "",
                              fmt::join(result, ", "), value);
    shape = extents;
    return fmt::format("{}({})", name, arguments);
  }

  std::string element(const std::vector<std::string> &leaves, unsigned depth) {
    if (depth == 0 || random.percent(20))
      return random.pick(leaves);
    static const std::vector<std::string> ways = {"({0} + {1})",
                                                  "({0} - {1})",
                                                  "{0} * {1}",
                                                  "tanh({0})",
                                                  "sin({0}) * {1}",
                                                  "sigmoid({0})",
                                                  "-{0}",
                                                  "cos({0})",
                                                  "erf({0})",
                                                  "abs({0})",
                                                  "max({0}, {1})",
                                                  "min({0}, 3)",
                                                  "exp(-{0} ^ 2)",
                                                  "{0} / (1 + {1} ^ 2)",
                                                  "(if {0} < {1} then {0} else {1} * 2)"};
    std::string way = random.pick(ways), a = element(leaves, depth - 1), b = element(leaves, depth - 1);
    return fmt::format(fmt::runtime(way), a, b);
  }

  std::string image(const std::string &expr, Shape &shape) {
    int64_t n = extent();
    switch (random.below(7)) {
    case 0:
      shape[0] = n;
      return fmt::format("conv2d({}, out = {}, kernel = 3, padding = 1)", expr, n);
    case 1:
      shape = {n, (shape[1] - 1) / 2 + 1, (shape[2] - 1) / 2 + 1};
      return fmt::format("conv2d({}, out = {}, kernel = 1, stride = 2)", expr, n);
    case 2:
      return fmt::format("depthwise_conv2d({}, kernel = 3, padding = 1)", expr);
    case 3:
      shape = {n, shape[1] * 2, shape[2] * 2};
      return fmt::format("conv_transpose2d({}, out = {}, kernel = 2, stride = 2)", expr, n);
    case 4:
      if (shape[1] < 2 || shape[2] < 2)
        return unary(expr);
      shape = {shape[0], shape[1] / 2, shape[2] / 2};
      return fmt::format("{}({}, kernel = 2)", random.percent(50) ? "max_pool" : "avg_pool", expr);
    case 5:
      if (shape[1] > 64)
        return unary(expr);
      shape = {shape[0], shape[1] * 2, shape[2] * 2};
      return fmt::format("upsample({}, scale = 2)", expr);
    default:
      shape = {shape[0]};
      return fmt::format("global_avg_pool({})", expr);
    }
  }

  Random &random;
  std::string operations, body;
  std::vector<Tensor> tensors;
  unsigned count = 0;
};

} // namespace

std::string writeModel(Random &random) { return Writer(random).run(); }

} // namespace accord::fuzz
