// `scan`: a cell of one's own walks a sequence. Held against the same steps written out with `for`,
// and against finite differences.
#include "lib/machine/model/Check.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/Transforms/Passes.h"
#include "passes/simplify/Passes.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

struct Cell {
  const char *name;
  const char *scanned;
  const char *unrolled; ///< the same without `scan`
};

/// Bodies of models over x[4, 3], z[4, 2], words[4] and a target y[4, 3].
const Cell kCells[] = {
    {"Elman", R"(
  let w = parameter([3, 3])
  let u = parameter([3, 3])
  var h = zeros(3)
  scan x as xt -> y {
    h = tanh(linear(xt, out = 3, weight = w, bias = false) + linear(h, out = 3, weight = u, bias = false))
    y = h
  })",
     R"(
  let w = parameter([3, 3])
  let u = parameter([3, 3])
  var h = zeros(3)
  var all = []
  for i in 0..3 {
    let xt = reshape(slice(x, axis = 0, start = i, size = 1), [3])
    h = tanh(linear(xt, out = 3, weight = w, bias = false) + linear(h, out = 3, weight = u, bias = false))
    all = all + [reshape(h, [1, 3])]
  }
  let y = concat(all, axis = 0))"},
    {"BackwardsAndItsEnd", R"(
  let w = parameter([3, 3])
  var h = reduce_mean(x, axis = 0)
  scan reverse x as xt -> states {
    h = h + tanh(linear(xt * h, out = 3, weight = w, bias = false))
    states = h * xt
  }
  let y = states * reshape(h, [1, 3]))",
     R"(
  let w = parameter([3, 3])
  var h = reduce_mean(x, axis = 0)
  var all = []
  for i in 0..3 {
    let xt = reshape(slice(x, axis = 0, start = 3 - i, size = 1), [3])
    h = h + tanh(linear(xt * h, out = 3, weight = w, bias = false))
    all = [reshape(h * xt, [1, 3])] + all
  }
  let y = concat(all, axis = 0) * reshape(h, [1, 3]))"},
    {"SeveralInAndOut", R"(
  let w = parameter([3, 2])
  let u = parameter([3, 3])
  let context = linear(reduce_mean(x, axis = 0), out = 3, weight = u, bias = false)
  var h = zeros([3])
  var c = zeros([3])
  scan x, z, words as xt, zt, word -> a, b {
    let e = embedding(word, rows = 5, dim = 3, table = parameter([5, 3]))
    c = c * sigmoid(h) + e * context
    h = tanh(xt + linear(zt, out = 3, weight = w, bias = false)) * c
    b = sigmoid(c)
    a = h
  }
  let y = a * b)",
     R"(
  let w = parameter([3, 2])
  let u = parameter([3, 3])
  let context = linear(reduce_mean(x, axis = 0), out = 3, weight = u, bias = false)
  let table = parameter([5, 3])
  var h = zeros([3])
  var c = zeros([3])
  var all = []
  for i in 0..3 {
    let xt = reshape(slice(x, axis = 0, start = i, size = 1), [3])
    let zt = reshape(slice(z, axis = 0, start = i, size = 1), [2])
    let word = reshape(slice(words, axis = 0, start = i, size = 1), [1])
    let e = reshape(embedding(word, rows = 5, dim = 3, table = table), [3])
    c = c * sigmoid(h) + e * context
    h = tanh(xt + linear(zt, out = 3, weight = w, bias = false)) * c
    all = all + [reshape(h * sigmoid(c), [1, 3])]
  }
  let y = concat(all, axis = 0))"},
    {"OneAfterTheOther", R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  scan x as xt -> p { h = tanh(linear(xt + h, out = 3, weight = w, bias = false))
    p = h }
  scan p as pt -> q { h = sigmoid(h * pt)
    q = h }
  scan reverse p, q as pt, qt -> y { h = tanh(h + pt * qt)
    y = h })",
     R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  var p = []
  for i in 0..3 {
    h = tanh(linear(reshape(slice(x, axis = 0, start = i, size = 1), [3]) + h, out = 3, weight = w, bias = false))
    p = p + [h]
  }
  var q = []
  for i in 0..3 {
    h = sigmoid(h * p[i])
    q = q + [h]
  }
  var all = []
  for i in 0..3 {
    h = tanh(h + p[3 - i] * q[3 - i])
    all = [reshape(h, [1, 3])] + all
  }
  let y = concat(all, axis = 0))"},
    {"StepsOnTheirOwn", R"(
  let w = parameter([3, 3])
  scan x as xt -> y { y = tanh(linear(xt, out = 3, weight = w, bias = false)) })",
     R"(
  let w = parameter([3, 3])
  let y = tanh(linear(x, out = 3, weight = w, bias = false)))"},
    {"OnlyTheEnd", R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  scan x as xt { h = tanh(linear(xt - h, out = 3, weight = w, bias = false)) }
  let y = x * reshape(h, [1, 3]))",
     R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  for i in 0..3 {
    h = tanh(linear(reshape(slice(x, axis = 0, start = i, size = 1), [3]) - h, out = 3, weight = w, bias = false))
  }
  let y = x * reshape(h, [1, 3]))"},
    {"ParametersOfItsOwn", R"(
  var h = zeros(3)
  scan x as xt -> y {
    h = tanh(linear(xt, out = 3) + linear(h, out = 3, bias = false))
    y = h
  })",
     R"(
  let w = parameter([3, 3])
  let b = parameter([3])
  let u = parameter([3, 3])
  var h = zeros(3)
  var all = []
  for i in 0..3 {
    let xt = reshape(slice(x, axis = 0, start = i, size = 1), [3])
    h = tanh(linear(xt, out = 3, weight = w, bias = false) + b + linear(h, out = 3, weight = u, bias = false))
    all = all + [reshape(h, [1, 3])]
  }
  let y = concat(all, axis = 0))"},
    {"InARepeatOfLayers", R"(
  var y = linear(x, out = 3)
  repeat 2 as layer {
    var h = zeros(3)
    scan y as yt -> states {
      h = tanh(linear(yt, out = 3) + linear(h, out = 3, bias = false))
      states = h
    }
    y = y + states
  })",
     R"(
  var y = linear(x, out = 3)
  repeat 2 as layer {
    let w = parameter([3, 3])
    let b = parameter([3])
    let u = parameter([3, 3])
    var h = zeros(3)
    var all = []
    for i in 0..3 {
      let yt = reshape(slice(y, axis = 0, start = i, size = 1), [3])
      h = tanh(linear(yt, out = 3, weight = w, bias = false) + b + linear(h, out = 3, weight = u, bias = false))
      all = all + [reshape(h, [1, 3])]
    }
    y = y + concat(all, axis = 0)
  })"},
    {"ARepeatInIt", R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  scan x as xt -> y {
    var r = xt
    repeat 2 { r = tanh(linear(r + h, out = 3, weight = w, bias = false)) }
    h = r
    y = r
  })",
     R"(
  let w = parameter([3, 3])
  var h = zeros(3)
  var all = []
  for i in 0..3 {
    var r = reshape(slice(x, axis = 0, start = i, size = 1), [3])
    for k in 1..2 { r = tanh(linear(r + h, out = 3, weight = w, bias = false)) }
    h = r
    all = all + [reshape(h, [1, 3])]
  }
  let y = concat(all, axis = 0))"},
    {"AScanInIt", R"(
  let w = parameter([3, 3])
  let grid = reshape(linear(x, out = 6, weight = parameter([6, 3]), bias = false), [4, 2, 3])
  var h = zeros(3)
  scan grid as row -> y {
    var g = h
    scan reverse row as cell -> line { g = tanh(linear(g, out = 3, weight = w, bias = false) * cell)
      line = g * g }
    h = g + reduce_sum(line, axis = 0)
    y = h
  })",
     R"(
  let w = parameter([3, 3])
  let grid = reshape(linear(x, out = 6, weight = parameter([6, 3]), bias = false), [4, 2, 3])
  var h = zeros(3)
  var all = []
  for i in 0..3 {
    var g = h
    var sum = zeros(3)
    for k in 0..1 {
      g = tanh(linear(g, out = 3, weight = w, bias = false) *
          reshape(slice(slice(grid, axis = 0, start = i, size = 1), axis = 1, start = 1 - k, size = 1), [3]))
      sum = sum + g * g
    }
    h = g + sum
    all = all + [reshape(h, [1, 3])]
  }
  let y = concat(all, axis = 0))"},
};

std::string textOf(const char *body) {
  return std::string("model m {\n  input x : float[4, 3]\n  input z : float[4, 2]\n  input words : "
                     "int32[4]\n  input target : float[4, 3]") +
         body +
         "\n  let more = reduce_mean(z, axis = 1) * reduce_mean(embedding(words, rows = 5, dim = "
         "1), axis = 1)\n  loss mse(y * reshape(more, [4, 1]), target)\n}\n"
         "train t = m() on a100_80g {\n  batch = 2\n  optimizer = sgd\n}\n";
}

class ScanStatement : public ::testing::TestWithParam<Cell> {
protected:
  void SetUp() override { ASSERT_TRUE(scanned.graph); }
  static interpret::StepResult step(TrainingGraph &graph, uint64_t seed = 3) {
    auto inputs = llvm::cantFail(interpret::randomInputs(graph.graph, graph.batch, seed));
    return llvm::cantFail(interpret::interpret(graph.graph, inputs));
  }
  TrainingGraph scanned{textOf(GetParam().scanned).c_str()};
};

} // namespace

TEST_P(ScanStatement, IsTheStepsWrittenOut) {
  TrainingGraph unrolled(textOf(GetParam().unrolled).c_str());
  ASSERT_TRUE(unrolled.graph);
  auto inputs = llvm::cantFail(interpret::randomInputs(scanned.graph, 2, 3));
  // Parameters are given other names by what stands around them, but come in the same order.
  interpret::StepInputs same = inputs;
  same.parameters.clear();
  std::map<std::string, std::string> names;
  for (auto [a, b] : llvm::zip_equal(scanned.graph.getParameters(), unrolled.graph.getParameters())) {
    names[a.getSymName().str()] = b.getSymName().str();
    same.parameters[b.getSymName().str()] = inputs.parameters.at(a.getSymName().str());
  }
  interpret::StepResult expected = llvm::cantFail(interpret::interpret(unrolled.graph, same));
  interpret::StepResult found = llvm::cantFail(interpret::interpret(scanned.graph, inputs)), renamed;
  renamed.loss = found.loss;
  for (auto &[name, copies] : found.gradients)
    renamed.gradients[names.at(name)] = copies;
  expectSameStep(renamed, expected, 1e-9);
}

TEST_P(ScanStatement, EqualsFiniteDifferences) {
  auto inputs = llvm::cantFail(interpret::randomInputs(scanned.graph, 2, 3));
  auto check = llvm::cantFail(interpret::checkDerivatives(scanned.graph, inputs, 20));
  EXPECT_GE(check.checked, 9);
  EXPECT_LT(check.largestError, 1e-5) << check.where;
}

TEST_P(ScanStatement, StaysItselfWhenSimplifiedAndFused) {
  interpret::StepResult before = step(scanned);
  ASSERT_TRUE(scanned.run(mlir::createCanonicalizerPass()));
  ASSERT_TRUE(scanned.run(createMergeEqual()));
  ASSERT_TRUE(scanned.run(mlir::createCSEPass()));
  ASSERT_TRUE(scanned.run(mlir::createCanonicalizerPass()));
  ASSERT_TRUE(scanned.runOnGraph(createFuse()));
  expectSameStep(step(scanned), before, 1e-12);
}

TEST_P(ScanStatement, WeightGradientsOfAllStepsAreOneProduct) {
  interpret::StepResult before = step(scanned);
  ASSERT_TRUE(scanned.runOnGraph(createGatherGradients()));
  expectSameStep(step(scanned), before, 1e-10);
}

TEST_P(ScanStatement, IsAWorkGraphWithoutContradiction) {
  std::string error;
  auto work = workGraphFrom(scanned.graph, 2, 1, error);
  ASSERT_TRUE(work) << error;
  EXPECT_TRUE(check(*work).empty());
}

TEST_P(ScanStatement, IsComputedAgainWithTheSameResult) {
  RecomputeOptions options;
  options.policy = "full";
  TrainingGraph again(textOf(GetParam().scanned).c_str(), {"sgd", "fp32"}, createRecompute(options));
  ASSERT_TRUE(again.graph);
  expectSameStep(step(again), step(scanned), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Cells, ScanStatement, ::testing::ValuesIn(kCells),
                         [](const auto &info) { return std::string(info.param.name); });
