// What people read of a choice of sparsity: it is held against the problem that was proved, number by number.
#include "lib/sparsity/verify/ReportedSelectionChecker.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;

namespace {

struct Shown {
  SelectionProblem problem;
  SelectionResult result;
  PruneStep step;
  std::string objective;
  bool proven = true;
  double gap = 0;

  Errors findings() const { return verify(problem, result, {step, objective, proven, gap}); }
};

/// Three layers of a dense and a sparse option each, of which the second keeps its weights. The step has 2 s, 5 J and
/// 1000 bytes besides.
Shown shown() {
  Shown made;
  made.objective = name(made.problem.objective);
  made.step.otherSeconds = made.step.quantile = 2;
  made.step.expected = made.step.expectedMin = made.step.expectedMax = 2;
  made.step.chosen = made.step.dense = {2, 5, 1000};
  for (unsigned l = 0; l < 3; ++l) {
    SelectionOperation operation;
    PruneLayer layer;
    operation.name = layer.name = "layer" + std::to_string(l);
    layer.choice = l == 1 ? 0 : 1;
    for (unsigned o = 0; o < 2; ++o) {
      PruneOption option;
      option.label = o ? "weights nm(2, 4) as nm(2, 4)" : "dense";
      option.sparsity = o ? "weights nm(2, 4)" : "dense";
      double scale = (1 + l) / (1.0 + o);
      option.forward = 0.1 * scale, option.dataGradient = 0.2 * scale, option.weightGradient = 0.3 * scale;
      option.update = 0.05 * scale, option.exchange = 0.01 * scale;
      option.seconds = option.forward + option.dataGradient + option.weightGradient + option.update + option.exchange;
      option.quantile = option.seconds * 1.1;
      option.expected = option.expectedMin = option.seconds, option.expectedMax = option.quantile;
      option.joules = 4 * scale, option.quantileJoules = 4.4 * scale, option.bytes = 800 * scale;
      option.loss = o ? Rational(1) / Rational(300) : Rational(0);
      SelectionOption counted;
      counted.label = option.label, counted.sparse = o > 0;
      counted.picoseconds = std::llround(option.quantile * 1e12);
      counted.picojoules = std::llround(option.quantileJoules * 1e12);
      counted.bytes = std::llround(option.bytes), counted.loss = lossUnits(option.loss);
      operation.options.push_back(counted), layer.options.push_back(option);
    }
    auto add = [](PruneStep::Totals &to, const PruneOption &option) {
      to.seconds += option.seconds, to.joules += option.joules, to.bytes += option.bytes;
    };
    add(made.step.chosen, layer.chosen()), add(made.step.dense, layer.options[0]);
    made.step.quantile += layer.chosen().quantile;
    made.step.expected += layer.chosen().expected;
    made.step.expectedMin += layer.chosen().expectedMin, made.step.expectedMax += layer.chosen().expectedMax;
    made.result.choice.push_back(static_cast<unsigned>(layer.choice));
    made.problem.operations.push_back(operation), made.step.layers.push_back(layer);
  }
  made.result.feasible = true;
  made.result.sums = sums(made.problem, made.result.choice);
  made.result.value = made.result.bound = valueOf(made.result.sums, made.problem.objective);
  return made;
}

TEST(ReportedSelection, EachNumberIsHeldAgainstTheProblem) {
  Shown right = shown();
  for (const Error &error : right.findings())
    ADD_FAILURE() << error.message;
  auto refused = [&](const std::string &said, const std::function<void(Shown &)> &change) {
    Shown wrong = right;
    change(wrong);
    Errors findings = wrong.findings();
    ASSERT_FALSE(findings.empty()) << said;
    EXPECT_NE(findings[0].message.find(said), std::string::npos) << said << ": " << findings[0].message;
  };
  refused("none is stated to satisfy", [](Shown &s) { s.result.feasible = false; });
  refused("is shown as the objective", [](Shown &s) { s.objective = "bytes"; });
  refused("is called not proven", [](Shown &s) { s.proven = false; });
  refused("is called proven", [](Shown &s) { --s.result.bound, s.gap = s.result.gap(); });
  refused("the gap is shown as", [](Shown &s) { s.gap = 1e-6; });
  refused("2 layers are shown of 3", [](Shown &s) { s.step.layers.pop_back(); });
  refused("3 layers are shown of 3", [](Shown &s) { s.result.choice.pop_back(); });
  for (size_t l = 0; l < 3; ++l) {
    refused("is shown as 'x'", [l](Shown &s) { s.step.layers[l].name = "x"; });
    refused("is shown as chosen", [l](Shown &s) { s.step.layers[l].choice ^= 1; });
    refused("is shown as chosen", [l](Shown &s) { s.result.choice[l] ^= 1; });
    refused("options of 2", [l](Shown &s) { s.step.layers[l].options.emplace_back(); });
    for (size_t o = 0; o < 2; ++o) {
      auto option = [&](const char *said, auto change) {
        refused(said, [&](Shown &s) { change(s.step.layers[l].options[o], s.problem.operations[l].options[o]); });
      };
      option("is shown as 'x'", [](PruneOption &shown, auto &) { shown.label = shown.sparsity = "x"; });
      option("counted as sparse", [](PruneOption &, SelectionOption &of) { of.sparse ^= true; });
      for (double by : {-1.001, 1.001}) {
        option("the time of", [by](PruneOption &shown, auto &) { shown.quantile += 30 * by * 1e-12; });
        option("the energy of", [by](PruneOption &shown, auto &) { shown.quantileJoules += 30 * by * 1e-12; });
        option("the memory of", [by](PruneOption &shown, auto &) { shown.bytes += by; });
        option("on average is shown as", [by](PruneOption &shown, auto &) { shown.seconds += by * 1e-9; });
        for (double PruneOption::*part : {&PruneOption::forward, &PruneOption::dataGradient,
                                          &PruneOption::weightGradient, &PruneOption::update, &PruneOption::exchange})
          option("on average is shown as", [&](PruneOption &shown, auto &) { shown.*part += by * 1e-9; });
      }
      option("the loss of", [](PruneOption &shown, auto &) { shown.loss = shown.loss + Rational(1) / Rational(1000); });
      option("takes more on average", [](PruneOption &shown, SelectionOption &of) {
        shown.quantile = shown.seconds * 0.999, of.picoseconds = std::llround(shown.expected * 1e12);
      });
      option("takes more on average", [](PruneOption &shown, auto &) { shown.joules = shown.quantileJoules * 1.001; });
      // A number beside its integer, on either side, is that number; and a mean is not above itself.
      for (double by : {-0.99, 0.99}) {
        Shown other = right;
        PruneOption &near = other.step.layers[l].options[o];
        near.quantileJoules += by * 1e-12;
        EXPECT_TRUE(other.findings().empty()) << by;
      }
      Shown other = right;
      other.step.layers[l].options[o].joules = other.step.layers[l].options[o].quantileJoules;
      for (PruneStep::Totals *totals : {&other.step.chosen, &other.step.dense})
        if (totals == &other.step.dense ? o == 0 : o == other.step.layers[l].choice)
          totals->joules += right.step.layers[l].options[o].quantileJoules - right.step.layers[l].options[o].joules;
      EXPECT_TRUE(other.findings().empty()) << l << o;
    }
  }
  for (double by : {1 - 1e-9, 1 + 1e-9}) {
    refused("the time of the step", [by](Shown &s) { s.step.chosen.seconds *= by; });
    refused("the dense time of the step", [by](Shown &s) { s.step.dense.seconds *= by; });
    refused("the ideal time that the step does not exceed", [by](Shown &s) { s.step.quantile *= by; });
    refused("the expected time of the step", [by](Shown &s) { s.step.expected *= by; });
    refused("the least expected time of the step", [by](Shown &s) { s.step.expectedMin *= by; });
    refused("the largest expected time of the step", [by](Shown &s) { s.step.expectedMax *= by; });
    refused("the energy of the step", [by](Shown &s) { s.step.chosen.joules *= by; });
    refused("the memory of states", [by](Shown &s) { s.step.chosen.bytes *= by; });
    refused("the energy of the step", [by](Shown &s) { s.step.dense.joules *= by; });
    refused("the memory of states", [by](Shown &s) { s.step.dense.bytes *= by; });
  }
  // The same change of both goes below what the layers take.
  refused("the dense step takes less", [](Shown &s) { s.step.chosen.joules -= 6, s.step.dense.joules -= 6; });
  refused("the dense step takes less", [](Shown &s) { s.step.chosen.bytes -= 1002, s.step.dense.bytes -= 1002; });
}

TEST(ReportedSelection, FindingsAreTwentyAtMost) {
  Shown wrong = shown();
  for (int i = 0; i < 30; ++i) {
    wrong.problem.operations.push_back(wrong.problem.operations[0]);
    wrong.step.layers.push_back(wrong.step.layers[0]);
    wrong.step.layers.back().name = "x", wrong.step.layers.back().choice = 0;
    wrong.result.choice.push_back(1);
  }
  wrong.result.sums = sums(wrong.problem, wrong.result.choice);
  wrong.result.value = wrong.result.bound = valueOf(wrong.result.sums, wrong.problem.objective);
  EXPECT_EQ(wrong.findings().size(), 20u);
}

} // namespace
