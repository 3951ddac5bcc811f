// What measurements show of accuracy: the conservative reading, levels, and every refusal.
#include "lib/support/ClopperPearson.h"
#include "test/lib/sparsity/AccuracyFixture.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <random>

namespace accord::accuracy_test {
namespace {

// Reading.

struct Curve {
  std::vector<std::pair<double, int64_t>> points; ///< density, right; the first is dense
  int64_t samples = 0;
  std::string text(std::mt19937 *random = nullptr) const {
    std::vector<std::string> lines;
    for (auto [density, right] : points)
      lines.push_back(fmt::format("unstructured,{},{},{}\n", density, right, samples));
    if (random)
      std::shuffle(lines.begin(), lines.end(), *random);
    return "pattern,density,right,samples\n" + fmt::format("{}", fmt::join(lines, ""));
  }
};

Curve randomCurve(std::mt19937 &random) {
  Curve curve;
  curve.samples = 100 + random() % 5000;
  std::vector<int> densities;
  for (int i = 1; i < 20; ++i)
    if (random() % 3 == 0)
      densities.push_back(i);
  densities.push_back(20);
  std::sort(densities.rbegin(), densities.rend());
  for (int density : densities)
    curve.points.push_back({density / 20.0, random() % (curve.samples + 1)});
  return curve;
}

TEST(AccuracyMeasurements, ReadsTheNextSparserPointAndTheLeastOfAllDenserOnes) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    Curve curve = randomCurve(random);
    double density = (1 + random() % 199) / 200.0;
    double confidence = random() % 2 ? 0.95 : 0;
    AccuracyEvaluation e = evaluated(curve.text(), request(0, confidence),
                                     {ask("a", {fmt::format("unstructured(density = {})", density)})});
    // Of points sorted from dense to sparse: all down to the first that is no denser.
    std::vector<int64_t> read;
    for (auto [at, right] : curve.points) {
      read.push_back(right);
      if (at <= density)
        break;
    }
    ASSERT_EQ(e.results.size(), 1u);
    if (curve.points.back().first > density) {
      ASSERT_TRUE(e.results[0].rejected);
      EXPECT_EQ(e.results[0].rejected->error.code, Code::DensityNotMeasured);
      EXPECT_FALSE(e.results[0].measured);
      continue;
    }
    ASSERT_TRUE(e.results[0].measured);
    EXPECT_EQ(e.numSimultaneousLimits, static_cast<int64_t>(read.size()));
    int64_t min = *std::min_element(read.begin(), read.end());
    Rational expected = confidence > 0
                            ? lowerLimit(min, curve.samples, share("0.05") / Rational(e.numSimultaneousLimits))
                            : Rational(min) / Rational(curve.samples);
    EXPECT_EQ(e.results[0].limit, expected);
    for (auto [at, right] : curve.points)
      if (at >= density) {
        EXPECT_LE(e.results[0].limit, Rational(right) / Rational(curve.samples));
      }
    EXPECT_EQ(e.results[0].loss, e.dense - e.results[0].limit);
    EXPECT_EQ(e.guaranteed, confidence > 0);
  }
}

/// All that does not depend on places in files.
std::string content(const AccuracyEvaluation &e) {
  std::string text = fmt::format("{} {} {} {}", static_cast<int>(e.level), e.numSimultaneousLimits, e.dense.print(),
                                 fmt::join(e.assumptions, ";"));
  for (const AccuracyQueryResult &a : e.results)
    text += fmt::format("\n{} {} {} {} {}", a.measured, a.limit.print(), a.loss.print(), a.group,
                        a.rejected ? numberOf(a.rejected->error.code) : "");
  for (const Rejection &r : e.rejections)
    text += "\n" + numberOf(r.error.code);
  return text;
}

TEST(AccuracyMeasurements, PermutedLinesSayTheSame) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    Curve curve = randomCurve(random);
    std::vector<AccuracyQuery> queries{ask("a", {}), ask("a", {"unstructured(0.5)"}), ask("b", {"unstructured(0.3)"}),
                                       ask("b", {"nm(2, 4)"})};
    SparsityRequest r = request(0.5, 0.9);
    EXPECT_EQ(content(evaluated(curve.text(), r, queries)), content(evaluated(curve.text(&random), r, queries)));
  }
}

TEST(AccuracyMeasurements, MoreSamplesNeverLoosen) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    Curve curve = randomCurve(random), larger = curve;
    int64_t times = 2 + random() % 9;
    larger.samples *= times;
    for (auto &[density, right] : larger.points)
      right *= times;
    double min = curve.points.back().first;
    std::vector<AccuracyQuery> queries{ask("a", {fmt::format("unstructured({})", min)})};
    AccuracyEvaluation few = evaluated(curve.text(), request(0, 0.95), queries),
                       many = evaluated(larger.text(), request(0, 0.95), queries);
    EXPECT_GE(many.dense, few.dense);
    EXPECT_GE(many.results[0].limit, few.results[0].limit);
    // Of losses that are summed as well.
    std::string layers = "layer,pattern,density,right,samples\n,dense,,{},{}\na,unstructured,0.5,{},{}\n";
    auto sums = [&](const Curve &of) {
      return evaluated(
          fmt::format(fmt::runtime(layers), of.points[0].second, of.samples, of.points.back().second, of.samples),
          request(0, 0.95, 1.5), {ask("a", {"unstructured(0.5)"})});
    };
    EXPECT_LE(sums(larger).results[0].loss, sums(curve).results[0].loss);
  }
}

// A true accuracy that is just below what is required passes as rarely as the confidence says, though the best of five
// configurations is taken.
TEST(AccuracyMeasurements, TheBestOfSeveralIsNotToldFromChanceMoreOftenThanAllowed) {
  std::mt19937 random(6);
  std::binomial_distribution<int> draw(300, 0.7);
  std::vector<AccuracyQuery> queries;
  for (int i = 1; i <= 5; ++i)
    queries.push_back(ask("a", {fmt::format("nm({}, 8)", i)}));
  int passed = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text = "pattern,right,samples\n";
    for (int i = 1; i <= 5; ++i)
      text += fmt::format("\"nm({}, 8)\",{},300\n", i, draw(random));
    AccuracyEvaluation e = evaluated(text, request(0.7000001, 0.8), queries);
    passed += std::any_of(e.results.begin(), e.results.end(),
                          [](const AccuracyQueryResult &a) { return a.measured && !a.rejected; });
  }
  EXPECT_LE(passed, 80 + 3 * 8); // 400 * 0.2, and three standard deviations
  EXPECT_GT(passed, 10);         // or the test could not fail
}

// Levels.

const char *kLayers = "layer,pattern,density,right,samples\n"
                      ",dense,,76000,100000\n"
                      "block.*,unstructured,0.5,75800,100000\n"
                      "block.*,unstructured,0.2,75000,100000\n"
                      "head,unstructured,0.5,75900,100000\n";

TEST(AccuracyMeasurements, LossesOfLayersCountOnceForAllThatWereMeasuredTogether) {
  std::vector<AccuracyQuery> queries{ask("block.0", {}),
                                     ask("block.0", {"unstructured(0.5)"}),
                                     ask("block.1", {}),
                                     ask("block.1", {"unstructured(0.2)"}),
                                     ask("head", {"unstructured(0.5)"}),
                                     ask("stem", {})};
  AccuracyEvaluation e = evaluated(kLayers, request(0.74, 0, 1.25), queries);
  EXPECT_EQ(e.level, AccuracyBasis::LayerLossSums);
  EXPECT_FALSE(e.guaranteed); // no confidence is required
  EXPECT_EQ(e.margin, share("1.25"));
  EXPECT_EQ(e.budget, share("0.02"));
  std::vector<std::string> texts;
  for (const AccuracyQueryResult &a : e.results)
    texts.push_back(fmt::format("{} {} {} {}", a.group, a.counts, a.loss.print(), a.measured));
  EXPECT_EQ(texts, (std::vector<std::string>{"block.* true 0 true", "block.* true 0.002 true", "block.* false 0 true",
                                             "block.* false 0.01 true", "head true 0.001 true", " true 0 true"}));
  EXPECT_TRUE(e.rejections.empty());
  EXPECT_TRUE(evaluated(kLayers, request(0.74, 0.9, 1.25), queries).guaranteed);
  EXPECT_THAT(
      fmt::format("{}", fmt::join(e.assumptions, "\n")),
      testing::HasSubstr("all losses together are at most 1.25 times their sum: the margin is stated, not measured"));

  // Whatever the true accuracies inside of their limits are, what keeps the budget is as accurate.
  AccuracyEvaluation sure = evaluated(kLayers, request(0.74, 0.9, 1.25), queries);
  Rational delta = share("0.1") / Rational(sure.numSimultaneousLimits);
  EXPECT_EQ(sure.numSimultaneousLimits, 5); // four lines, the dense one from both sides
  Rational sum = sure.results[1].loss + sure.results[4].loss;
  Rational claimed = sure.dense - sure.margin * sum;
  Rational block = lowerLimit(75800, 100000, delta), head = lowerLimit(75900, 100000, delta);
  for (const Rational &dense : {lowerLimit(76000, 100000, delta), share("0.76"), upperLimit(76000, 100000, delta)}) {
    Rational lost = std::max(Rational(0), dense - block) + std::max(Rational(0), dense - head);
    EXPECT_GE(dense - sure.margin * lost, claimed);
  }
}

TEST(AccuracyMeasurements, AShareBetweenTwoNumbersOfAnswersLosesNoLessThanEither) {
  auto loss = [](const std::string &text, int64_t samples) {
    AccuracyEvaluation e = evaluated(text, request(0.3, 0.95, 1), {ask("head", {"unstructured(0.5)"})}, samples);
    EXPECT_EQ(e.level, AccuracyBasis::LayerLossSums);
    return e.results[0].loss;
  };
  auto counted = [&](int64_t right) {
    return loss(fmt::format("layer,pattern,density,right,samples\n,dense,1,{},1000\n"
                            "head,unstructured,0.5,700,1000\n",
                            right),
                0);
  };
  Rational between = loss("layer,pattern,density,top1\n,dense,1,0.7685\nhead,unstructured,0.5,0.7\n", 1000);
  EXPECT_LT(counted(768), counted(769));
  EXPECT_EQ(between, counted(769));
}

TEST(AccuracyMeasurements, WholeConfigurationsBindAllOperationsToOneOption) {
  const char *text = "layer,pattern,right,samples\n,dense,76,100\n,\"nm(2, 4)\",75,100\n"
                     "a,\"nm(2, 4)\",76,100\n";
  std::vector<AccuracyQuery> queries{ask("a", {"nm(2, 4)"}), ask("b", {"nm(2, 4)"}), ask("b", {})};
  AccuracyEvaluation e = evaluated(text, request(0.75), queries);
  EXPECT_EQ(e.level, AccuracyBasis::WholeConfigurations);
  EXPECT_EQ(e.results[0].group, "*");
  EXPECT_TRUE(e.results[0].counts);
  EXPECT_FALSE(e.results[1].counts);
  EXPECT_EQ(e.results[1].loss, share("0.01"));
  EXPECT_EQ(e.budget, share("0.01"));
  EXPECT_TRUE(e.rejections.empty());
  ASSERT_EQ(e.results[0].lines.size(), 2u);
  EXPECT_EQ(e.results[0].lines[1].line, 3u);
  EXPECT_THAT(e.assumptions, testing::Contains("whole networks were measured: all operations take one option"));
  // A basis that answers more is preferred: layers, where one of them was measured with more.
  std::string more = std::string(text) + "a,\"nm(1, 4)\",70,100\nb,\"nm(2, 4)\",76,100\n";
  queries.push_back(ask("a", {"nm(1, 4)"}));
  EXPECT_EQ(evaluated(more, request(0.5, 0, 1), queries).level, AccuracyBasis::LayerLossSums);
}

TEST(AccuracyMeasurements, OthersMeasurementsNeedAMargin) {
  SparsityRequest r = request(0.74);
  AccuracyFile file =
      good("density,top1\n1,0.768\n0.2,0.7512\n", measurements(0, AccuracyMeasurements::Kind::Published));
  std::vector<AccuracyQuery> queries{ask("a", {"unstructured(0.2)"})};
  AccuracyEvaluation e = evaluateAccuracy(r, {file}, queries);
  ASSERT_EQ(e.rejections.size(), 1u);
  EXPECT_EQ(e.rejections[0].error.code, Code::RequirementNotShown);
  EXPECT_EQ(e.rejections[0].error.message,
            "an accuracy of at least 0.74 is required, and losses that others measured are estimates without a margin");
  r.margin = 1.5;
  e = evaluateAccuracy(r, {file}, queries);
  EXPECT_TRUE(e.rejections.empty());
  EXPECT_FALSE(e.results[0].rejected); // 1.5 * 0.0168 = 0.0252 of 0.028
  EXPECT_EQ(e.results[0].group, "*");
  r.margin = 1.7;
  e = evaluateAccuracy(r, {file}, queries); // 0.02856
  ASSERT_TRUE(e.results[0].rejected);
  EXPECT_EQ(e.results[0].rejected->error.message,
            "an accuracy of at least 0.74 is required, and unstructured(0.2) alone in 'a' may lose 0.0168 times the "
            "margin 1.7, more than the 0.028 that the dense network leaves");
}

// Refusals.

struct Expected {
  const char *code, *message, *help;
};
void expect(const AccuracyEvaluation &e, const Expected &expected) {
  ASSERT_EQ(e.rejections.size(), 1u) << expected.message;
  EXPECT_EQ(numberOf(e.rejections[0].error.code), expected.code);
  EXPECT_EQ(e.rejections[0].error.message, expected.message);
  EXPECT_EQ(e.rejections[0].help, expected.help);
  EXPECT_EQ(e.rejections[0].error.location.file, "t.accel");
}

TEST(AccuracyRejections, NoAccuracyMeasurements) {
  SparsityRequest r = request(0.74, 0.95);
  r.measurements.clear();
  std::vector<AccuracyQuery> queries{ask("a", {}), ask("a", {"nm(2, 4)"})};
  AccuracyEvaluation e = evaluateAccuracy(r, {}, queries);
  EXPECT_EQ(e.level, AccuracyBasis::None);
  expect(
      e,
      {"A1001",
       "an accuracy of at least 0.74 with confidence 0.95 is required, and nothing that was measured is stated",
       "measure the network dense and with nm(2, 4) and state: accuracy \"top1\" from \"measured.csv\" samples 50000"});
  EXPECT_TRUE(e.results[0].measured); // dense
  EXPECT_FALSE(e.results[1].measured);
  r.accuracy.reset();
  EXPECT_TRUE(evaluateAccuracy(r, {}, queries).rejections.empty());

  expect(evaluated("layer,pattern,top1\na,\"nm(2, 4)\",0.7\n", request(0.6, 0, 1), {ask("a", {"nm(2, 4)"})}),
         {"A1001", "what nm(2, 4) loses is not known: 'top1' of the dense network was not measured",
          "a line with pattern dense in the file of 'top1'"});
  expect(evaluated("layer,pattern,top1\n,dense,0.7\na,\"nm(2, 4)\",0.7\n", request(0.6, 0, 1),
                   {ask("a", {"nm(2, 4)"}), ask("b", {"nm(2, 4)"})}),
         {"A1001", "nothing was measured of 'b' with nm(2, 4)", "a line in the file of 'top1' whose layer means 'b'"});
}

TEST(AccuracyRejections, SparserThanMeasured) {
  const char *text = "density,top1\n1,0.76\n0.5,0.75\n0.2,0.74\n";
  expect(evaluated(text, request(0.7), {ask("a", {"unstructured(density = 0.05)"})}),
         {"A1002",
          "unstructured(density = 0.05) is sparser than what was measured: unstructured with density 0.2 is the "
          "sparsest (m.csv, line 4)",
          "density = 0.2, or a measurement at 0.05 or below"});
  EXPECT_TRUE(evaluated(text, request(0.7), {ask("a", {"unstructured(0.2)"})}).rejections.empty());
  EXPECT_TRUE(evaluated(text, request(-1), {ask("a", {"unstructured(0.05)"})}).rejections.empty()); // no require
}

TEST(AccuracyRejections, AnotherPattern) {
  const char *text = "density,top1\n1,0.76\n0.5,0.75\n0.2,0.74\n";
  expect(evaluated(text, request(0.7), {ask("a", {"nm(2, 4)"})}),
         {"A1003", "nothing was measured of nm(2, 4); measured was unstructured (lines 3 to 4)",
          "a measurement with pattern nm(2, 4): others do not show it"});
  expect(evaluated("pattern,top1\n\"nm(2, 4)\",0.7\n", request(0.7), {ask("a", {"nm(2, 4) transposable"})}),
         {"A1003", "nothing was measured of nm(2, 4) transposable; measured was nm(2, 4) (line 2)",
          "a measurement with pattern nm(2, 4) transposable: others do not show it"});
  AccuracyQuery activations{"a", {sparsity("unstructured(0.5)", GemmOperand::Activations)}, {"t.accel", 2, 3}};
  expect(evaluated(text, request(0.7), {activations}),
         {"A1003", "nothing was measured of unstructured(0.5) of activations; measured was unstructured (lines 3 to 4)",
          "a measurement with pattern unstructured of activations: others do not show it"});
  activations.sparsity.push_back(sparsity("unstructured(0.5)"));
  expect(evaluated(text, request(0.7), {activations}),
         {"A1003", "nothing was measured of unstructured(0.5) of activations with unstructured(0.5) together",
          "let one of the operands be sparse, or measure by layers and state a margin"});
}

TEST(AccuracyRejections, RankingAlone) {
  SparsityRequest r = request(0.74);
  r.measurements = {measurements(0, AccuracyMeasurements::Kind::Sensitivity)};
  AccuracyEvaluation e =
      evaluateAccuracy(r, {good("layer,sensitivity\na,1\n", r.measurements[0])}, {ask("a", {"nm(2, 4)"})});
  EXPECT_EQ(e.level, AccuracyBasis::SensitivityRanking);
  expect(e,
         {"A1004",
          "an accuracy of at least 0.74 is required, and there are sensitivities alone, from which no accuracy follows",
          "measured accuracies: accuracy \"top1\" from \"measured.csv\" samples 50000"});
}

TEST(AccuracyRejections, TooWeak) {
  const char *few = "pattern,right,samples\n\"nm(2, 4)\",738,1000\n";
  // P(738 or more of 1000 right) is 0.01 at 0.70424 (sum of binomial terms in decimals).
  expect(evaluated(few, request(0.74, 0.99), {ask("a", {"nm(2, 4)"})}),
         {"A1005",
          "an accuracy of at least 0.74 with confidence 0.99 is required, and nm(2, 4) with density 0.5, the densest "
          "that was measured, shows only 0.704241 (738 of 1000 right, m.csv line 2)",
          "no number of samples with this share shows it; a requirement of 0.704241 is kept"});
  AccuracyEvaluation e = evaluated(few, request(0.72, 0.99), {ask("a", {"nm(2, 4)"})});
  ASSERT_EQ(e.rejections.size(), 1u);
  std::string help = e.rejections[0].help;
  int64_t samples = std::stoll(help);
  EXPECT_EQ(help, fmt::format("{} samples with the same share would show it; these show 0.704241", samples));
  auto limit = [](int64_t n) { return lowerLimit(738 * n / 1000, n, share("0.01")); };
  EXPECT_GE(limit(samples), share("0.72"));
  EXPECT_LT(limit(samples - 1), share("0.72"));

  EXPECT_EQ(evaluated("pattern,top1\n\"nm(2, 4)\",0.9\n", request(0.72, 0.99), {ask("a", {"nm(2, 4)"})})
                .rejections.front()
                .help,
            "how many samples a share is of: samples 50000");
  // The dense network keeps it: then an option that does not is left out, and nothing else.
  e = evaluated("pattern,right,samples\ndense,760,1000\n\"nm(2, 4)\",738,1000\n", request(0.74),
                {ask("a", {}), ask("a", {"nm(2, 4)"})});
  EXPECT_TRUE(e.rejections.empty());
  EXPECT_FALSE(e.results[0].rejected);
  ASSERT_TRUE(e.results[1].rejected);
  EXPECT_EQ(
      e.results[1].rejected->error.message,
      "an accuracy of at least 0.74 is required, and nm(2, 4) shows only 0.738 (738 of 1000 right, m.csv line 3)");
  expect(evaluated(kLayers, request(0.74), {ask("head", {"unstructured(0.5)"})}),
         {"A1005",
          "an accuracy of at least 0.74 is required, and losses of layers that were measured apart are estimates "
          "without a margin",
          "'margin = 1.25' states by how much all losses together may exceed their sum; or measure whole "
          "configurations of this model"});
}

TEST(AccuracyRejections, LayersThatMeanTheSame) {
  const char *text = "layer,pattern,top1\n,dense,0.76\nblock.*,\"nm(2, 4)\",0.7\n"
                     "block.1,\"nm(2, 4)\",0.75\n";
  expect(evaluated(text, request(0.7, 0, 1.25), {ask("block.1", {"nm(2, 4)"})}),
         {"A1009", "'block.1' is meant by two layers of the file of accuracies, 'block.*' and 'block.1'",
          "layers that were measured together have one name, and no other layer means them"});
}

constexpr const char *kScoped = "pattern,density,top1,recipe,dense_layers,distribution\n"
                                "dense,1,0.768,,,\n"
                                "unstructured,0.2,0.746,dynamic,first,uniform\n"
                                "unstructured,0.2,0.7512,dynamic,none,erk\n";

TEST(AccuracyScope, AMeasurementOfAnotherRecipeOrScopeIsNone) {
  auto at = [](SparsityScope scope, const char *pattern) {
    return evaluateAccuracy(request(0.7), {good(kScoped)}, {ask("a", {pattern})}, &scope);
  };
  const char *moving = "unstructured(density = 0.2, dynamic)", *fixed = "unstructured(density = 0.2)";
  EXPECT_EQ(at({true, false, false}, moving).results[0].limit, share("0.746"));
  EXPECT_EQ(at({false, false, true}, moving).results[0].limit, share("0.7512"));
  expect(at({true, false, false}, fixed),
         {"A1003",
          "nothing was measured of unstructured(density = 0.2) with static masks; measured was unstructured dynamic "
          "(lines 3 to 4)",
          "recipe = dynamic(every = 100), if the training does so, or a measurement with static masks"});
  expect(at({false, false, false}, moving),
         {"A1003",
          "unstructured(density = 0.2, dynamic) was measured with first layer dense, uniform density, and is to have "
          "zeros in the first and the last layer, uniform density here",
          "dense_layers = first, or a measurement as it is here"});
  expect(at({true, true, true}, moving),
         {"A1003",
          "unstructured(density = 0.2, dynamic) was measured with zeros in the first and the last layer, Erdos-Renyi "
          "density, and is to have first and last layer dense, Erdos-Renyi density here",
          "dense_layers = none, or a measurement as it is here"});
  // Without a scope nothing is compared, and two lines of one pattern are one curve.
  EXPECT_EQ(evaluateAccuracy(request(0.7), {good(kScoped)}, {ask("a", {moving})}).results[0].limit, share("0.746"));
  // What a line does not say is assumed, and said.
  AccuracyEvaluation unsaid = at({true, false, false}, moving);
  auto says = [](const AccuracyEvaluation &e) {
    return std::ranges::any_of(e.assumptions, [](const std::string &text) {
      return text.find("do not say which layers were dense") != std::string::npos;
    });
  };
  EXPECT_FALSE(says(unsaid));
  SparsityScope scope{true, false, false};
  EXPECT_TRUE(
      says(evaluateAccuracy(request(0.7), {good("pattern,density,top1\ndense,1,0.768\nunstructured,0.2,0.75\n")},
                            {ask("a", {fixed})}, &scope)));
}

TEST(AccuracyScope, ColumnsThatAreWrong) {
  auto wrong = [](const std::string &line, const std::string &message) {
    std::vector<Rejection> found =
        bad("pattern,density,top1,of,layer,recipe,dense_layers,distribution\n" + line + "\n");
    EXPECT_NE(found[0].error.message.find(message), std::string::npos) << found[0].error.message;
    EXPECT_EQ(found[0].error.location.line, 2u);
  };
  wrong("unstructured,0.2,0.7,,,moving,,", "column 'recipe': 'moving' is none of static, dynamic");
  wrong("unstructured static,0.2,0.7,,,dynamic,,", "unstructured static and a dynamic recipe");
  wrong("unstructured,0.2,0.7,activations,,static,,", "column 'recipe' is of masks of weights");
  wrong("unstructured,0.2,0.7,,,,middle,", "column 'dense_layers': 'middle' is none of none, first, last, first last");
  wrong("unstructured,0.2,0.7,,,,first none,", "is none of none, first, last");
  wrong("unstructured,0.2,0.7,,,,,even", "column 'distribution': 'even' is none of uniform, erk");
  wrong("unstructured,0.2,0.7,,fc,,first,", "are of the weights of a whole network");
  EXPECT_EQ(good("pattern,density,top1,dense_layers\nunstructured,0.2,0.7,last first\n").accuracies[0].denseEnds,
            std::pair(true, true));
}

} // namespace
} // namespace accord::accuracy_test
