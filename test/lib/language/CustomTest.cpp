// Operations that a `.dnn` file states: what they compute against loops and against Accord's own
// operations, their gradients against finite differences, their parts on several devices.
#include "passes/shard/Passes.h"
#include "passes/simplify/Passes.h"
#include "test/support/TrainingGraphFixture.h"
#include <cmath>

using namespace accord;
using interpret::Array;

namespace {

/// A file of declarations and a body of a model in which `x`, `y`, … are trained.
std::string file(const std::string &operations, const std::string &body, int batch = 3) {
  return operations + "\nmodel net {\n" + body +
         "\n}\ntrain t = net() on a100_80g {\n  batch = " + std::to_string(batch) +
         "\n  precision = fp32\n  optimizer = sgd\n}\n";
}

/// The step of a model, its loss and all of its derivatives.
interpret::DerivativeCheck check(const std::string &text, uint64_t seed) {
  TrainingGraph one(text.c_str());
  if (!one.graph)
    return {0, INFINITY, "no training graph"};
  auto inputs = cantFail(interpret::randomInputs(one.graph, 3, seed));
  return cantFail(interpret::checkDerivatives(one.graph, inputs, 1000));
}

interpret::StepResult step(const std::string &text, uint64_t seed) {
  TrainingGraph one(text.c_str());
  if (!one.graph)
    return {};
  auto inputs = cantFail(interpret::randomInputs(one.graph, 3, seed));
  interpret::StepResult found = cantFail(interpret::interpret(one.graph, inputs)), result;
  result.loss = found.loss;
  // By their place: whoever states an operation gives its parameters other names.
  unsigned place = 0;
  for (dnn::ParameterOp parameter : one.graph.getParameters())
    result.gradients["p" + std::to_string(place++)] = found.gradients.at(parameter.getSymName().str());
  return result;
}

struct Case {
  const char *name, *operation, *body;
};

// Every operation at three shapes or more; operands with and without a batch.
const Case kCases[] = {
    {"additive attention",
     "operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
     "  s = sum(v[d] * tanh(q[i, d] + k[j, d]), over = d)\n}",
     "input a : float[3, 4]\ninput b : float[2, 4]\ninput t : float[3, 2]\n"
     "loss mse(scores(linear(a, out = 5), linear(b, out = 5), parameter([5])), t)"},
    {"additive attention without a batch",
     "operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
     "  s = sum(v[d] * tanh(q[i, d] + k[j, d]), over = d)\n}",
     "input t : float[3, 2]\n"
     "let s = scores(parameter([3, 4]), parameter([2, 4]), parameter([4]))\n"
     "loss mse(t * s, t)"},
    {"one of everything",
     "operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
     "  s = sum(v[d] * tanh(q[i, d] + k[j, d]), over = d)\n}",
     "input a : float[1, 1]\ninput t : float[1, 1]\n"
     "loss mse(scores(linear(a, out = 1), parameter([1, 1]), parameter([1])), t)"},
    {"windows",
     "operation windows(x[c, l], w[o, c, k], stride = 1) -> y[o, p] {\n"
     "  let p = 0..floor_div(len(l) - len(k), stride)\n"
     "  y = sum(x[c, p * stride + k] * w[o, c, k], over = [c, k])\n}",
     "input a : float[2, 7]\ninput t : float[3, 5]\n"
     "loss mse(windows(linear(a, out = 7), parameter([3, 2, 3])), t)"},
    {"windows with a stride",
     "operation windows(x[c, l], w[o, c, k], stride = 1) -> y[o, p] {\n"
     "  let p = 0..floor_div(len(l) - len(k), stride)\n"
     "  y = sum(x[c, p * stride + k] * w[o, c, k], over = [c, k])\n}",
     "input a : float[2, 8]\ninput t : float[3, 2]\n"
     "loss mse(windows(linear(a, out = 8), parameter([3, 2, 3]), stride = 3), t)"},
    {"the largest of a window",
     "operation max_pool1d(x[l, d], size, stride) -> y[p, d] {\n"
     "  let k = 0..size - 1\n  let p = 0..floor_div(len(l) - size, stride)\n"
     "  y = max(x[stride * p + k, d], over = k)\n}",
     "input a : float[7, 3]\ninput t : float[3, 4]\n"
     "loss mse(max_pool1d(linear(a, out = 4), size = 3, stride = 2), t)"},
    {"the least of a square", "operation least(x[i, j]) -> y[] {\n  y = min(x[i, j] ^ 2, over = [i, j])\n}",
     "input a : float[3, 2]\ninput t : float[]\nloss mse(least(linear(a, out = 4)), t)"},
    {"a tensor at two places",
     "operation distances(x[i, d]) -> y[i, j] {\n  let j = 0..len(i) - 1\n"
     "  y = sum((x[i, d] - x[j, d]) ^ 2, over = d)\n}",
     "input a : float[4, 3]\ninput t : float[4, 4]\nloss mse(distances(linear(a, out = 2)), t)"},
    {"positions",
     "operation decay(x[h, q, k]) -> y[h, q, k] {\n"
     "  y = if k <= q then x[h, q, k] * exp((k - q) / (h + 1)) else 0\n}",
     "input a : float[2, 3, 3]\ninput t : float[2, 3, 3]\nloss mse(decay(linear(a, out = 3)), t)"},
    {"all functions",
     "operation zoo(x[i], y[i]) -> z[i] {\n"
     "  let a = exp(-x[i]) + sigmoid(y[i]) + erf(x[i] * y[i])\n"
     "  let b = sqrt(x[i] ^ 2 + 1) + log(2 + sin(y[i])) + cos(x[i]) ^ 3\n"
     "  let c = abs(x[i]) + max(x[i], y[i], 0.1) * min(x[i], y[i])\n"
     "  let d = (1.5 + tanh(x[i])) ^ y[i] - a / (b + 3)\n"
     "  z = if x[i] > y[i] and not (x[i] > 2) then a * b - c else c / (1 + d ^ 2)\n}",
     "input a : float[3]\ninput t : float[4]\nloss mse(zoo(linear(a, out = 4), linear(a, out = "
     "4)), t)"},
    {"a mean", "operation centre(x[i, d]) -> y[d] {\n  y = mean(x[i, d], over = i)\n}",
     "input a : float[3, 2]\ninput t : float[4]\nloss mse(centre(linear(a, out = 4)), t)"},
    {"an integer operand",
     "operation masked(x[i, d], keep[i]) -> y[d] {\n  y = sum(if keep[i] > 0 then x[i, d] ^ 2 else "
     "0, over = i)\n}",
     "input a : float[3, 2]\ninput m : bool[3]\ninput t : float[4]\n"
     "loss mse(masked(linear(a, out = 4), m), t)"},
    {"a stated gradient that reads the result",
     "operation root(x[i]) -> y[i] {\n  y = exp(x[i] / 2)\n  gradient x = dy[i] * y[i] / 2\n}",
     "input a : float[3]\ninput t : float[4]\nloss mse(root(linear(a, out = 4)), t)"},
    {"stated gradients",
     "operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
     "  let t = tanh(q[i, d] + k[j, d])\n"
     "  s = sum(v[d] * t, over = d)\n"
     "  let slope = ds[i, j] * v[d] * (1 - t ^ 2)\n"
     "  gradient q = sum(slope, over = j)\n"
     "  gradient k = sum(slope, over = i)\n"
     "  gradient v = sum(ds[i, j] * t, over = [i, j])\n}",
     "input a : float[3, 4]\ninput b : float[2, 4]\ninput t : float[3, 2]\n"
     "loss mse(scores(linear(a, out = 5), linear(b, out = 5), parameter([5])), t)"},
    {"in a repeat", "operation gate(x[i, d], a[d]) -> y[i, d] {\n  y = x[i, d] * sigmoid(a[d] * x[i, d])\n}",
     "input a : float[2, 3]\ninput t : float[2, 3]\nvar x = linear(a, out = 3)\n"
     "repeat 3 as layer { x = x + gate(linear(x, out = 3), parameter([3])) }\nloss mse(x, t)"},
};

} // namespace

TEST(Custom, GradientsEqualFiniteDifferences) {
  uint64_t seed = 0;
  for (const Case &one : kCases) {
    interpret::DerivativeCheck result = check(file(one.operation, one.body), ++seed);
    EXPECT_GT(result.checked, 0) << one.name;
    EXPECT_LT(result.largestError, 1e-6) << one.name << ": " << result.where;
  }
}

TEST(Custom, StatedGradientsEqualDerivedOnes) {
  const char *scores = "operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
                       "  s = sum(v[d] * tanh(q[i, d] + k[j, d]), over = d)\n";
  const char *stated = "  let t = tanh(q[i, d] + k[j, d])\n"
                       "  gradient k = sum(ds[i, j] * v[d] * (1 - t * t), over = i)\n"
                       "  gradient v = sum(ds[i, j] * t, over = [i, j])\n";
  const char *body = "input a : float[3, 4]\ninput b : float[2, 4]\ninput t : float[3, 2]\n"
                     "loss mse(scores(linear(a, out = 5), linear(b, out = 5), parameter([5])), t)";
  expectSameStep(step(file(std::string(scores) + stated + "}", body), 7),
                 step(file(std::string(scores) + "}", body), 7));
}

TEST(Custom, EqualsTheOperationsThatAccordHas) {
  struct {
    const char *operation, *custom, *own;
  } pairs[] = {
      {"operation product(a[i, k], b[k, j]) -> y[i, j] { y = sum(a[i, k] * b[k, j], over = k) }",
       "product(x, parameter([4, 5]))", "matmul(x, parameter([4, 5]))"},
      {"operation bell(x[i, d]) -> y[i, d] { y = x[i, d] / 2 * (1 + erf(x[i, d] / sqrt(2))) }", "bell(x)", "gelu(x)"},
      {"operation swish(x[i, d]) -> y[i, d] { y = x[i, d] * sigmoid(x[i, d]) }", "swish(x)", "silu(x)"},
      {"operation flip(x[i, d]) -> y[d, i] { y = x[i, d] }", "flip(x)", "transpose(x, [1, 0])"},
      {"operation total(x[i, d]) -> y[i] { y = sum(x[i, d], over = d) }", "total(x)", "reduce_sum(x, axis = 1)"},
      // Softmax of three operations: the largest, the sum of powers, the share.
      {"operation top(x[i, d]) -> m[i] { m = max(x[i, d], over = d) }\n"
       "operation powers(x[i, d], m[i]) -> s[i] { s = sum(exp(x[i, d] - m[i]), over = d) }\n"
       "operation share(x[i, d], m[i], s[i]) -> y[i, d] { y = exp(x[i, d] - m[i]) / s[i] }\n"
       "module soft(x) -> y {\n  let m = top(x)\n  let y = share(x, m, powers(x, m))\n}",
       "soft(x)", "softmax(x)"},
      {"operation centre(x[i, d]) -> m[i] { m = mean(x[i, d], over = d) }\n"
       "operation spread(x[i, d], m[i]) -> v[i] { v = mean((x[i, d] - m[i]) ^ 2, over = d) }\n"
       "operation whiten(x[i, d], m[i], v[i], g[d], b[d]) -> y[i, d] {\n"
       "  y = (x[i, d] - m[i]) / sqrt(v[i] + 0.00001) * g[d] + b[d]\n}\n"
       "module norm(x) -> y {\n  let m = centre(x)\n"
       "  let y = whiten(x, m, spread(x, m), parameter([4]), parameter([4]))\n}",
       "norm(x)", "layer_norm(x)"},
  };
  for (auto &[operation, custom, own] : pairs) {
    auto model = [&](const char *call) {
      return file(operation, std::string("input a : float[3, 2]\nlet x = linear(a, out = 4)\n") + "let y = " + call +
                                 "\nloss mse(y, exp(y))");
    };
    SCOPED_TRACE(custom);
    interpret::StepResult found = step(model(custom), 3), expected = step(model(own), 3);
    EXPECT_NE(expected.loss, 0);
    expectSameStep(found, expected, 1e-9);
  }
}

// y[p] = sum of x[p * 2 + k] w[k] with loops of its own.
TEST(Custom, WindowsEqualLoops) {
  TrainingGraph one(file("operation windows(x[l], w[k]) -> y[p] {\n"
                         "  let p = 0..floor_div(len(l) - len(k), 2)\n"
                         "  y = sum(x[2 * p + k] * w[k], over = k)\n}",
                         "input t : float[3]\nlet y = windows(parameter([8]), parameter([3]))\n"
                         "loss mse(t - t + y, t)")
                        .c_str());
  ASSERT_TRUE(one.graph);
  auto inputs = cantFail(interpret::randomInputs(one.graph, 2, 5));
  auto parameters = one.graph.getParameters();
  const Array &x = inputs.parameters.at((*parameters.begin()).getSymName().str())[0];
  const Array &w = inputs.parameters.at((*std::next(parameters.begin())).getSymName().str())[0];
  const Array &t = inputs.inputs[0];
  double loss = 0;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t p = 0; p < 3; ++p) {
      double y = 0;
      for (int64_t k = 0; k < 3; ++k)
        y += x.data[static_cast<size_t>(2 * p + k)] * w.data[static_cast<size_t>(k)];
      loss += (y - t({n, p})) * (y - t({n, p})) / 6;
    }
  EXPECT_NEAR(cantFail(interpret::interpret(one.graph, inputs)).loss, loss, 1e-12);
}

TEST(Custom, WorkFollowsFromTheBody) {
  TrainingGraph one(file("operation scores(q[i, d], k[j, d], v[d]) -> s[i, j] {\n"
                         "  s = sum(v[d] * tanh(q[i, d] + k[j, d]), over = d)\n}\n"
                         "operation product(a[i, d], b[j, d]) -> y[i, j] {\n"
                         "  y = sum(a[i, d] * b[j, d], over = d)\n}",
                         "input a : float[7, 4]\ninput b : float[9, 4]\ninput t : float[7, 9]\n"
                         "let q = linear(a, out = 8)\nlet k = linear(b, out = 8)\n"
                         "loss mse(scores(q, k, parameter([8])), product(q, k) * t)")
                        .c_str());
  ASSERT_TRUE(one.graph);
  llvm::SmallVector<dnn::CustomOp> scores, products;
  one.graph.walk([&](dnn::CustomOp op) { (op.getFunction() == "scores" ? scores : products).push_back(op); });
  ASSERT_EQ(scores.size(), 4u); // and three gradients
  ASSERT_EQ(products.size(), 3u);
  auto flops = [](dnn::CustomOp op) { return *op.getFlops(/*batch=*/2); };
  constexpr int64_t kPoints = 2 * 7 * 9 * 8;
  EXPECT_EQ(flops(scores[0]), kPoints * 4); // add, tanh, multiply, sum
  EXPECT_FALSE(scores[0].isContraction());
  EXPECT_EQ(*scores[0].getBytesRead(2), 4 * (2 * 7 * 8 + 2 * 9 * 8 + 8));
  EXPECT_EQ(*scores[0].getBytesWritten(2), 4 * 2 * 7 * 9);
  for (dnn::CustomOp product : products) { // each gradient costs what the product costs
    EXPECT_TRUE(product.isContraction());
    EXPECT_EQ(flops(product), kPoints * 2);
  }
}

TEST(Custom, SurrogateGradientsReplaceTheDerivative) {
  // A step in the forward pass that the backward pass does not see.
  const char *straight = "operation quantize(x[i], steps) -> y[i] {\n"
                         "  y = round(x[i] * steps) / steps\n  surrogate x = dy[i]\n}";
  const char *body = "input a : float[3]\ninput t : float[4]\n"
                     "let y = quantize(linear(a, out = 4), steps = 8)\nloss mse(y, t)";
  TrainingGraph one(file(straight, body).c_str());
  ASSERT_TRUE(one.graph);
  auto inputs = cantFail(interpret::randomInputs(one.graph, 3, 4));
  auto found = cantFail(interpret::interpret(one.graph, inputs));
  // d loss / d bias[i] = mean over samples of 2 (y - t) / 4.
  const Array &a = inputs.inputs[0], &t = inputs.inputs[1];
  const Array *weight = nullptr, *bias = nullptr;
  for (auto &[name, copies] : inputs.parameters)
    (copies[0].rank() == 2 ? weight : bias) = &copies[0];
  ASSERT_TRUE(weight && bias);
  for (auto &[name, copies] : found.gradients) {
    if (copies[0].rank() == 2)
      continue;
    for (int64_t i = 0; i < 4; ++i) {
      double expected = 0;
      for (int64_t n = 0; n < 3; ++n) {
        double x = (*bias)({i});
        for (int64_t k = 0; k < 3; ++k)
          x += (*weight)({i, k}) * a({n, k});
        expected += 2 * (std::nearbyint(8 * x) / 8 - t({n, i})) / 12;
      }
      EXPECT_NEAR(copies[0]({i}), expected, 1e-12);
    }
  }
}

TEST(Custom, DevicesShareWhatMapsAllow) {
  for (const Case &one : kCases)
    for (int64_t devices : {2, 4}) {
      SCOPED_TRACE(std::string(one.name) + " on " + std::to_string(devices));
      // Even extents, so that there is something to share.
      std::string body = one.body;
      for (auto [odd, even] : {std::pair("out = 5", "out = 8"), {"[5]", "[8]"}})
        for (size_t at; (at = body.find(odd)) != std::string::npos;)
          body.replace(at, std::string(odd).size(), even);
      std::string text = file(one.operation, body, 4);
      TrainingGraph whole(text.c_str()), shared(text.c_str());
      ASSERT_TRUE(whole.graph && shared.graph);
      ShardOptions shard;
      shard.devices = devices;
      ASSERT_TRUE(shared.run(createShard(shard)));
      auto inputs = cantFail(interpret::randomInputs(whole.graph, 4, 9));
      expectSameStep(cantFail(interpret::interpret(shared.graph, inputs)),
                     cantFail(interpret::interpret(whole.graph, inputs)));
      TrainingGraph replicated(text.c_str());
      ReplicateOptions replicate;
      replicate.devices = devices;
      ASSERT_TRUE(replicated.run(createReplicate(replicate)));
      expectSameStep(cantFail(interpret::interpret(replicated.graph, inputs)),
                     cantFail(interpret::interpret(whole.graph, inputs)));
    }
}

TEST(Custom, FusionAndMergingChangeNothing) {
  for (const Case &one : kCases) {
    SCOPED_TRACE(one.name);
    std::string text = file(one.operation, one.body);
    TrainingGraph plain(text.c_str()), fused(text.c_str());
    ASSERT_TRUE(plain.graph && fused.graph);
    ASSERT_TRUE(fused.run(createMergeEqual()));
    mlir::PassManager fuse(&fused.context);
    fuse.addNestedPass<dnn::TrainingGraphOp>(createFuse());
    ASSERT_TRUE(mlir::succeeded(fuse.run(fused.program->module())));
    auto inputs = cantFail(interpret::randomInputs(plain.graph, 2, 2));
    expectSameStep(cantFail(interpret::interpret(fused.graph, inputs)),
                   cantFail(interpret::interpret(plain.graph, inputs)));
  }
}
