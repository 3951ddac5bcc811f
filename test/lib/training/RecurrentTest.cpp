// Time as a repeat: what a layer written out over time computes, what it costs and what it keeps, held against the
// layer as one operation, whose kernels are written down from PyTorch's equations.
#include "lib/machine/model/Check.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/Transforms/Passes.h"
#include "passes/simplify/Passes.h"
#include "test/support/SavedActivations.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

struct Layer {
  const char *name, *body;
};

/// Bodies of models over x[5, 3] with a target y[5, 4].
const Layer kLayers[] = {
    {"Lstm", "let y = lstm(x, hidden = 4)"},
    {"LstmWithoutBias", "let y = lstm(x, hidden = 4, bias = false)"},
    {"LstmBothWays", "let y = lstm(x, hidden = 2, bidirectional = true)"},
    {"LstmBothWaysWithoutBias", "let y = lstm(x, hidden = 2, bias = false, bidirectional = true)"},
    {"LstmOfOneStep", "let y = concat(lstm(slice(x, axis = 0, start = 1, size = 1), hidden = 4), linear(slice(x, axis "
                      "= 0, start = 0, size = 4), out = 4), axis = 0)"},
    {"LstmOfALinear", "let y = tanh(lstm(linear(x, out = 2), hidden = 4))"},
    {"LstmsOnTopOfEachOther", "let y = lstm(lstm(x, hidden = 3), hidden = 4)"},
    {"LstmsInARepeat", "var y = lstm(x, hidden = 4)\n"
                       "repeat 3 as encoder { y = y + lstm(dropout(y, rate = 0.2), hidden = 4) }"},
    {"LstmBothWaysInARepeat", "var y = linear(x, out = 4)\n"
                              "repeat 2 { y = y + linear(lstm(y, hidden = 3, bidirectional = true), out = 4) }"},
    {"Gru", "let y = gru(x, hidden = 4)"},
    {"GruWithoutBias", "let y = gru(x, hidden = 4, bias = false)"},
    {"GruBothWays", "let y = gru(x, hidden = 2, bidirectional = true)"},
    {"GruBothWaysWithoutBias", "let y = gru(x, hidden = 2, bias = false, bidirectional = true)"},
    {"GrusInRepeatsInRepeats", "var y = linear(x, out = 4)\n"
                               "repeat 2 { y = y + gru(y, hidden = 4)\n repeat 2 { y = gru(y, hidden = 4) } }"},
    {"OutputReadTwice", "let h = lstm(x, hidden = 4)\nlet y = h * gru(h, hidden = 4)"},
};

std::string textOf(const Layer &layer) {
  return std::string("model m {\n  input x : float[5, 3]\n  input target : float[5, 4]\n  ") + layer.body +
         "\n  loss mse(y, target)\n}\n"
         "train t = m() on a100_80g {\n  batch = 2\n  precision = fp32\n  optimizer = sgd\n}\n";
}

class Recurrent : public ::testing::TestWithParam<Layer> {
protected:
  void SetUp() override { ASSERT_TRUE(whole.graph && overTime.graph); }

  static interpret::StepResult step(TrainingGraph &graph, uint64_t seed = 3) {
    auto inputs = llvm::cantFail(interpret::randomInputs(graph.graph, graph.batch, seed));
    return llvm::cantFail(interpret::interpret(graph.graph, inputs));
  }
  static WorkGraph workOf(TrainingGraph &graph, int64_t microbatch = 2) {
    std::string error;
    return workGraphFrom(graph.graph, microbatch, 1, error).value();
  }
  static Count contractions(const WorkGraph &graph, std::optional<Phase> phase = {}) {
    Count sum = 0;
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (!phase || graph.operations[id].phase == *phase)
        sum += graph.executions(id) * contractionFlops(graph.operations[id]);
    return sum;
  }

  std::string text = textOf(GetParam());
  TrainingGraph whole{text.c_str()};
  TrainingGraph overTime{text.c_str(), {"sgd", "fp32"}, createExpandRecurrent()};
};

} // namespace

TEST_P(Recurrent, IsTheLayer) {
  overTime.graph.walk([](mlir::Operation *op) {
    EXPECT_FALSE((mlir::isa<dnn::LstmOp, dnn::LstmGradOp, dnn::GruOp, dnn::GruGradOp>(op)));
  });
  for (uint64_t seed : {3, 4, 5})
    expectSameStep(step(overTime, seed), step(whole, seed), 1e-9);
}

TEST_P(Recurrent, EqualsFiniteDifferences) {
  auto inputs = llvm::cantFail(interpret::randomInputs(overTime.graph, overTime.batch, 3));
  auto check = llvm::cantFail(interpret::checkDerivatives(overTime.graph, inputs, 20));
  EXPECT_GE(check.checked, 10);
  EXPECT_LT(check.largestError, 1e-6) << check.where;
}

TEST_P(Recurrent, HasTheContractionsAndParametersOfTheLayer) {
  WorkGraph a = workOf(overTime), b = workOf(whole);
  EXPECT_TRUE(check(a).empty());
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_TRUE(contractions(a, Phase::Forward) == contractions(b, Phase::Forward));
  // The layer's gradient is one operation that counts the gradient of x even where nothing asks for it.
  bool ofInput = text.find("lstm(x,") != std::string::npos || text.find("lstm(slice(x,") != std::string::npos ||
                 text.find("lstm(lstm(x,") != std::string::npos || text.find("gru(x,") != std::string::npos;
  if (ofInput)
    EXPECT_TRUE(contractions(a) < contractions(b));
  else
    EXPECT_TRUE(contractions(a) == contractions(b));
}

TEST_P(Recurrent, StaysItselfWhenSimplifiedAndFused) {
  interpret::StepResult before = step(overTime);
  ASSERT_TRUE(overTime.run(mlir::createCanonicalizerPass()));
  ASSERT_TRUE(overTime.run(createMergeEqual()));
  ASSERT_TRUE(overTime.run(mlir::createCSEPass()));
  ASSERT_TRUE(overTime.run(mlir::createCanonicalizerPass()));
  expectSameStep(step(overTime), before, 1e-12);
  ASSERT_TRUE(overTime.runOnGraph(createFuse()));
  expectSameStep(step(overTime), before, 1e-12);
}

TEST_P(Recurrent, WeightGradientsOfAllStepsAreOneProduct) {
  interpret::StepResult before = step(overTime);
  WorkGraph stepwise = workOf(overTime);
  ASSERT_TRUE(overTime.runOnGraph(createGatherGradients()));
  expectSameStep(step(overTime), before, 1e-10);
  WorkGraph gathered = workOf(overTime);
  EXPECT_TRUE(check(gathered).empty());
  EXPECT_TRUE(contractions(gathered) == contractions(stepwise));
  // No step makes a weight gradient any more, nor hands one on.
  overTime.graph.walk([](dnn::RepeatOp repeat) {
    if (!repeat.getLabel().contains("time"))
      return;
    for (mlir::Operation &op : repeat.getBlock())
      EXPECT_NE(dnn::phaseOf(&op), dnn::Phase::WeightGradient) << dnn::nameOf(&op).str();
    EXPECT_LE(repeat.getInits().size(), 2u); // the state and the cell
  });
}

TEST_P(Recurrent, IsComputedAgainWithTheSameResult) {
  for (const char *policy : {"selective", "full"}) {
    RecomputeOptions options;
    options.policy = policy;
    TrainingGraph again(text.c_str(), {"sgd", "fp32"}, createExpandRecurrent(), createRecompute(options));
    ASSERT_TRUE(again.graph);
    expectSameStep(step(again), step(overTime), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Recurrent, ::testing::ValuesIn(kLayers),
                         [](const auto &info) { return std::string(info.param.name); });

namespace {

std::string planned(const char *body) { return textOf({"", body}); }

WorkGraph workOver(const char *body, int64_t microbatch, bool gather = true) {
  TrainingGraph one(planned(body).c_str(), {"sgd", "fp32"}, createExpandRecurrent());
  if (gather)
    one.runOnGraph(createGatherGradients());
  std::string error;
  return workGraphFrom(one.graph, microbatch, 1, error).value();
}

const Operation *named(const WorkGraph &graph, llvm::StringRef name) {
  for (const Operation &op : graph.operations)
    if (op.name == name)
      return &op;
  return nullptr;
}

} // namespace

/// 5 steps, 4 hidden, fp32. Kept of an LSTM's step: i, f, g, o, tanh(c), h, and c, the last of which nobody reads
/// again. Of a GRU's: r, z, n, the state's part of n, h - n, and h. What is kept twice (h for the product of the next
/// step and for the loss) counts once. The projected inputs, and the GRU's bias of the state, are there before and not
/// needed after.
TEST(RecurrentWork, KeepsWhatTheBackwardPassReads) {
  for (int64_t samples : {1, 3}) {
    auto lstm = findSavedActivations(workOver("let y = lstm(linear(x, out = 3), hidden = 4)", samples));
    ASSERT_EQ(lstm.size(), 1u);
    EXPECT_EQ(lstm[0].iterations, 5);
    EXPECT_EQ(lstm[0].bytes, 4 * samples * (4 * (5 * 7 - 1) - 5 * 16));
    auto gru = findSavedActivations(workOver("let y = gru(linear(x, out = 3), hidden = 4)", samples));
    ASSERT_EQ(gru.size(), 1u);
    EXPECT_EQ(gru[0].bytes, 4 * (samples * (4 * 5 * 6 - 5 * 12) - 12));
  }
}

TEST(RecurrentWork, OfAStep) {
  WorkGraph graph = workOver("let y = lstm(x, hidden = 4)", 2);
  const Operation *input = named(graph, "y.input"), *state = named(graph, "y.state"), *sums = named(graph, "y.sums"),
                  *slices = named(graph, "y.inputs"), *outputs = named(graph, "y"),
                  *gradient = named(graph, "y.state.weight_hh_gradient");
  ASSERT_TRUE(input && state && sums && slices && outputs && gradient);
  EXPECT_EQ(input->flops, 2 * 2 * 5 * 16 * 3); // all steps
  EXPECT_EQ(state->flops, 2 * 2 * 16 * 4);     // one
  EXPECT_EQ(state->bytesRead, 4 * (2 * 4 + 16 * 4));
  EXPECT_EQ(state->bytesWritten, 4 * 2 * 16);
  EXPECT_EQ(sums->flops, 2 * 16);
  EXPECT_EQ(sums->bytesRead, 2 * 4 * 2 * 16);
  for (const Operation *view : {slices, outputs}) {
    EXPECT_EQ(view->core, CoreKind::None);
    EXPECT_EQ(view->bytesRead + view->bytesWritten, 0);
  }
  EXPECT_EQ(gradient->flops, 2 * 2 * 5 * 16 * 4);
  EXPECT_EQ(gradient->bytesRead, 4 * 2 * 5 * (16 + 4));
  EXPECT_EQ(graph.executions(static_cast<OperationId>(state - graph.operations.data())), Count(5));
  EXPECT_EQ(graph.executions(static_cast<OperationId>(gradient - graph.operations.data())), Count(1));

  // Step by step, each product also reads and writes the sum so far.
  WorkGraph stepwise = workOver("let y = lstm(x, hidden = 4)", 2, false);
  const Operation *sum = nullptr;
  for (const Operation &op : stepwise.operations)
    if (op.name.find("weight_hh.gradient_sum") != std::string::npos)
      sum = &op;
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->flops, 16 * 4);
  EXPECT_EQ(sum->bytesRead, 2 * 4 * 16 * 4);
  EXPECT_EQ(sum->bytesWritten, 4 * 16 * 4);
}
