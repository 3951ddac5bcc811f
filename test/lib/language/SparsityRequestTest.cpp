// `sparsity for` blocks: every key and pattern as plain data, files of patterns, and what is wrong
// with its place.
#include "lib/language/requests/Sparsity.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/NamePattern.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using Kind = SparsityPattern::Kind;

namespace {

struct Read {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  std::optional<SparsityRequest> request;

  explicit Read(const std::string &body, const std::map<std::string, std::string> &files = {}) {
    for (const auto &[path, text] : files)
      sources.add(path, text);
    file = parse(diags, sources.add("d/t.dnn", "sparsity for t {\n" + body + "\n}\n"));
    if (file->complete)
      request =
          sparsityRequest(file->declarations.at(0), diags, [](llvm::StringRef, SourceRange) { return std::nullopt; });
  }
  /// "A0203@2:5 …"
  std::string errors() const {
    std::string all;
    for (const Diagnostic &d : diags.sorted()) {
      Position at = sources.position(d.range);
      all += fmt::format("{}{}@{}:{}", all.empty() ? "" : " ", entryOf(d.code).number.str(), at.line, at.column);
    }
    return all;
  }
  const SparsityRequest::Rule &rule(size_t i = 0) const { return request.value().rules.at(i); }
  const SparsityPattern &pattern(size_t i = 0) const { return rule().choices.at(i); }
};

/// The code of the only error of a rule for weights.
std::string wrong(const std::string &value, const std::map<std::string, std::string> &files = {}) {
  Read read("weights of * = " + value, files);
  EXPECT_FALSE(read.request) << value;
  std::string all = read.errors();
  EXPECT_EQ(all.find(' '), std::string::npos) << value << ": " << all;
  return all.substr(0, all.find('@'));
}

} // namespace

TEST(SparsityRequest, EveryKey) {
  Read read(R"(weights of block.* = {nm(2, 4), unstructured(density = {0.5, 0.2}), dense}
  activations of relu* = unstructured(density = 0.4)
  gradients of *.fc = {block(4, 8, density = 0.25), banded(3)}
  accuracy "top1" from "m.csv" samples 50000
  accuracy "top1" : published from "/p.csv"
  sensitivity from "s.csv"
  margin = 1.25, confidence = 0.9, phases = forward
  format = {bitmask, coordinates(bits = 8), rows(pointer_bits = 64), run_length(5), nm(2, 4)}
  require accuracy >= 0.74 confidence 0.95
  minimize energy)");
  ASSERT_TRUE(read.request) << read.diags.text();
  const SparsityRequest &r = *read.request;
  EXPECT_EQ(r.train, "t");
  ASSERT_EQ(r.rules.size(), 3u);
  EXPECT_EQ(r.rules[0].of, GemmOperand::Weights);
  EXPECT_EQ(r.rules[0].names, "block.*");
  EXPECT_FALSE(r.rules[0].given);
  EXPECT_EQ(r.rules[0].location.line, 2u);
  EXPECT_EQ(r.rules[0].texts,
            (std::vector<std::string>{"nm(2, 4)", "unstructured(density = 0.5)", "unstructured(density = 0.2)"}));
  EXPECT_EQ(r.rules[0].choices[0].kind, Kind::Structured);
  EXPECT_EQ(r.rules[0].choices[0].kept, 2);
  EXPECT_EQ(r.rules[0].choices[0].of, 4);
  EXPECT_EQ(r.rules[0].choices[2].density, 0.2);
  EXPECT_FALSE(r.rules[0].choices[2].dynamic || r.rules[0].choices[2].independent);
  EXPECT_TRUE(r.rules[1].given);
  EXPECT_EQ(r.rules[1].of, GemmOperand::Activations);
  EXPECT_TRUE(r.rules[1].choices[0].dynamic && r.rules[1].choices[0].independent);
  EXPECT_FALSE(r.rules[2].given);
  EXPECT_EQ(r.rules[2].of, GemmOperand::Gradients);
  EXPECT_EQ(r.rules[2].choices[0].blockColumns, 8);
  EXPECT_EQ(r.rules[2].choices[1].band, 3);
  ASSERT_EQ(r.measurements.size(), 3u);
  EXPECT_EQ(r.measurements[0].file, "d/m.csv");
  EXPECT_EQ(r.measurements[0].samples, 50000);
  EXPECT_EQ(r.measurements[0].metric, "top1");
  EXPECT_EQ(r.measurements[1].kind, SparsityRequest::AccuracyMeasurements::Kind::Published);
  EXPECT_EQ(r.measurements[1].file, "/p.csv");
  EXPECT_EQ(r.measurements[2].kind, SparsityRequest::AccuracyMeasurements::Kind::Sensitivity);
  EXPECT_EQ(r.margin, 1.25);
  EXPECT_EQ(r.confidence, 0.9);
  EXPECT_TRUE(r.forwardOnly);
  ASSERT_EQ(r.formats.size(), 5u);
  EXPECT_EQ(r.formats[1].coordinateBits, 8);
  EXPECT_EQ(r.formats[2].pointerBits, 64);
  EXPECT_EQ(r.formats[3].kind, SparseFormat::Kind::RunLength);
  EXPECT_EQ(r.formats[3].coordinateBits, 5);
  EXPECT_EQ(r.formats[4].kept, 2);
  ASSERT_TRUE(r.accuracy);
  EXPECT_EQ(r.accuracy->min, *Rational::parse("0.74"));
  EXPECT_EQ(r.accuracy->confidence, 0.95);
  EXPECT_EQ(r.objective, "energy");
}

TEST(SparsityRequest, RecipesScopesAndKernels) {
  Read plain("weights of * = nm(2, 4)");
  EXPECT_FALSE(plain.request->movesMasks || plain.request->keepsFirstDense || plain.request->isErdosRenyi);
  EXPECT_FALSE(plain.request->kernels);
  // Whatever the order, masks are as the recipe says; activations are not weights.
  for (const char *body :
       {"weights of * = {nm(2, 4), unstructured(density = 0.2)}\nactivations of x = unstructured(density = "
        "0.5, static)\nrecipe = dynamic(every = 100)",
        "recipe = dynamic(every = 100)\nweights of * = {nm(2, 4), unstructured(density = 0.2)}"}) {
    Read read(body);
    ASSERT_TRUE(read.request) << read.diags.text();
    EXPECT_TRUE(read.request->movesMasks.value());
    EXPECT_EQ(read.request->maskPeriod, 100);
    for (const SparsityPattern &pattern : read.rule().choices)
      EXPECT_TRUE(pattern.dynamic);
    if (read.request->rules.size() > 1)
      EXPECT_FALSE(read.rule(1).choices[0].dynamic);
  }
  Read scope("weights of * = nm(2, 4)\ndense_layers = {first, last}, distribution = erk, recipe = static");
  ASSERT_TRUE(scope.request) << scope.diags.text();
  EXPECT_TRUE(scope.request->keepsFirstDense && scope.request->keepsLastDense && scope.request->isErdosRenyi);
  EXPECT_FALSE(scope.request->movesMasks.value());
  Read kernels("weights of * = nm(2, 4)\nkernels \"NVIDIA H200\" from \"x.operations\"");
  ASSERT_TRUE(kernels.request) << kernels.diags.text();
  EXPECT_EQ(kernels.request->kernels->device, "NVIDIA H200");
  EXPECT_EQ(kernels.request->kernels->file, "d/x.operations");
  const std::string rule = "weights of * = {nm(2, 4), nm(2, 4, dynamic)}\n";
  for (const auto &[entry, error] : std::initializer_list<std::pair<const char *, const char *>>{
           {"recipe = moving", "A0305@3:10"},
           {"recipe = dynamic(every = 0)", "A0302@3:26"},
           {"recipe = dynamic(each = 2)", "A0111@3:25"},
           {"recipe = static(every = 2)", "A0305@3:10"},
           {"recipe = static", "A0114@2:12"}, // and one pattern is dynamic
           {"dense_layers = {none, first}", "A0114@3:17"},
           {"dense_layers = middle", "A0305@3:16"},
           {"distribution = even", "A0305@3:16"},
           {"kernels = 3", "A0301@3:1"},
           {"kernels", "A0112@3:1"}}) {
    Read read(rule + entry);
    EXPECT_FALSE(read.request) << entry;
    EXPECT_EQ(read.errors(), error) << entry << '\n' << read.diags.text();
  }
}

TEST(SparsityRequest, WhatIsGivenAndWhatIsChosen) {
  EXPECT_FALSE(Read("weights of * = nm(2, 4)").rule().given);
  EXPECT_TRUE(Read("activations of * = nm(2, 4)").rule().given);
  EXPECT_FALSE(Read("activations of * = {nm(2, 4)}").rule().given);
  EXPECT_TRUE(Read("weights of * = mask(\"m\")", {{"d/m", "10\n01\n"}}).rule().given);
  EXPECT_FALSE(Read("weights of * = {mask(\"m\"), nm(2, 4)}", {{"d/m", "10\n"}}).rule().given);
  Read dense("activations of * = dense");
  EXPECT_TRUE(dense.rule().choices.empty());
  EXPECT_FALSE(dense.rule().given);
}

TEST(SparsityRequest, FlagsAndTheirDefaults) {
  SparsityPattern p = Read("weights of * = nm(1, 4, along = output, transposable, dynamic)").pattern();
  EXPECT_TRUE(p.transposable && p.dynamic && p.along == SparsityPattern::Along::Output);
  EXPECT_EQ(p.density, 0.25);
  Read clause("weights of * = {nm(2, 4), nm(1, 4)} transposable");
  EXPECT_TRUE(clause.pattern(0).transposable && clause.pattern(1).transposable);
  EXPECT_EQ(clause.rule().texts[1], "nm(1, 4) transposable");
  EXPECT_FALSE(Read("activations of * = unstructured(0.5, static)").pattern().dynamic);
  EXPECT_FALSE(Read("activations of * = unstructured(0.5, distribution = exact)").pattern().independent);
  EXPECT_TRUE(Read("weights of * = unstructured(0.5, distribution = independent)").pattern().independent);
  Read range("weights of * = unstructured(density = 0.1..0.5 step 0.1)");
  ASSERT_EQ(range.rule().choices.size(), 5u);
  EXPECT_EQ(range.pattern(2).density, 0.3); // exact: steps are rationals
}

TEST(SparsityRequest, PatternsThatAreWrong) {
  Read unknown("weights of * = unstructred(density = 0.5)");
  EXPECT_NE(unknown.diags.text().find("did you mean 'unstructured'"), std::string::npos);
  std::string choice = wrong("sparse"), range = wrong("unstructured(1.5)");
  EXPECT_EQ(wrong("nm"), "A0112");
  EXPECT_EQ(wrong("unstructured()"), "A0112");
  EXPECT_EQ(wrong("nm(2)"), "A0112");
  EXPECT_EQ(wrong("nm(2, 4, 6, 8)"), "A0113");
  EXPECT_EQ(wrong("nm(2, 4, blocks = 3)"), "A0111");
  EXPECT_EQ(wrong("nm(n = 2, n = 4)"), "A0114");
  EXPECT_EQ(wrong("nm(m = 4, 2)"), "A0115");
  EXPECT_EQ(wrong("nm(4, 2)"), range);
  EXPECT_EQ(wrong("nm(0, 2)"), range);
  EXPECT_EQ(wrong("unstructured(-0.1)"), range);
  EXPECT_EQ(wrong("unstructured(density = 1e-60)"), range); // no digits to compute with
  EXPECT_EQ(wrong("block(0, 4, 0.5)"), range);
  EXPECT_EQ(wrong("banded(-1)"), range);
  EXPECT_EQ(wrong("nm(2, 4, along = inptu)"), choice);
  EXPECT_EQ(wrong("7"), choice);
  EXPECT_NE(wrong("unstructured(density = 2 GiB)"), range);
  EXPECT_NE(wrong("unstructured(density = 0.1..0.9)"), "");
  EXPECT_NE(wrong("unstructured(density = 0..1 step 1e-9)"), "");
  EXPECT_NE(wrong("{nm(2, 4), nm(2, 4)}"), "");
  EXPECT_NE(wrong("{}"), "");
  EXPECT_NE(wrong("unstructured(0.5, static, dynamic)"), "");
  EXPECT_NE(wrong("unstructured(0.5) transposable"), "");
}

TEST(SparsityRequest, BlocksThatAreWrong) {
  const std::string rule = "weights of * = nm(2, 4)\n";
  for (const char *body : {"", "weights = nm(2, 4)", "weights of *", "wieghts of * = nm(2, 4)", "path a -> b"})
    EXPECT_NE(Read(body).errors(), "") << body;
  for (const char *entry : {"margin = 0.5",
                            "margin = 1.25, margin = 1.3",
                            "confidence = 1",
                            "confidence = 0",
                            "confidence = 95",
                            "phases = backward",
                            "format = bitmsk",
                            "format = coordinates(bits = 0)",
                            "format = nm(3, 2)",
                            "format = bitmask(bits = 3)",
                            "accuracy \"top1\"",
                            "accuracy from \"a.csv\"",
                            "accuracy \"top1\" : guessed from \"a.csv\"",
                            "accuracy \"top1\" from \"a.csv\" samples 0",
                            "accuracy \"top1\" from \"a.csv\" samples 1.5",
                            "accuracy \"top1\" from \"a.csv\"\naccuracy \"top1\" from \"a.csv\"",
                            "sensitivity from \"a.csv\" samples 10",
                            "sensitivity = 3",
                            "require accuracy <= 0.7",
                            "require accuracy > 0.7",
                            "require accurcy >= 0.7",
                            "require accuracy >= 1.7",
                            "require accuracy >= 70 %",
                            "require accuracy",
                            "require step_time <= 1 s",
                            "require accuracy >= 0.7 confidence 1.5",
                            "require accuracy >= 0.7\nrequire accuracy >= 0.8",
                            "minimize time",
                            "maximize energy",
                            "minimize energy\nminimize memory",
                            "prefer accuracy >= 0.7 weight 2",
                            "margin = 1.25 confidence 0.5"}) {
    Read read(rule + entry);
    EXPECT_NE(read.errors(), "") << entry;
    EXPECT_FALSE(read.request) << entry;
  }
}

TEST(SparsityRequest, HistogramsOfWindows) {
  auto read = [](const std::string &text) {
    return Read("activations of * = histogram(\"h.csv\", window = 3)", {{"d/h.csv", text}});
  };
  Read counts = read("zeros,count\n3,2\n0,1\n1,1\n");
  ASSERT_TRUE(counts.request) << counts.diags.text();
  EXPECT_EQ(counts.pattern().kind, Kind::Histogram);
  EXPECT_EQ(counts.pattern().histogram, (std::vector<double>{0.25, 0.25, 0, 0.5}));
  EXPECT_EQ(counts.pattern().density, 5.0 / 12); // 3 + 2 of 12 elements are not zero
  EXPECT_EQ(read("share,zeros\n0.25,0\n0.75,3\n").pattern().density, 0.25);
  for (const char *text :
       {"", "zeros\n1\n", "zeros,count\n", "zeros,count\n4,1\n", "zeros,count\n1,1\n1,2\n", "zeros,count\n1,-1\n",
        "zeros,count\n1,nan\n", "zeros,count\n1,inf\n", "zeros,count\n1,0.5\n", "zeros,count\n1,0\n",
        "zeros,count\n1\n", "zeros,share\n1,0.5\n", "zeros,zeros\n1,1\n", "zeros,count,other\n1,1,1\n",
        "zeros,count\n1,\"2\n", "zeros,count\n0.5,1\n"})
    EXPECT_EQ(read(text).errors().substr(0, 5), "A1009") << text;
  EXPECT_EQ(Read("activations of * = histogram(\"nothing.csv\", window = 3)").errors(), "A0008@2:30");
}

TEST(SparsityRequest, MasksAreReadAsTheyStand) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    size_t rows = 1 + random() % 6, columns = 1 + random() % 9, kept = 0;
    std::vector<std::vector<bool>> mask(rows, std::vector<bool>(columns));
    std::string text;
    for (auto &row : mask) {
      for (size_t i = 0; i < columns; ++i) {
        row[i] = random() % 3 == 0;
        kept += row[i];
        text += row[i] ? "1" : "0";
        text += i + 1 < columns ? (round % 3 == 0 ? "," : round % 3 == 1 ? " " : "") : "";
      }
      text += round % 2 ? "\r\n" : "\n";
    }
    Read read("weights of * = mask(\"m\")", {{"d/m", text}});
    ASSERT_TRUE(read.request) << read.diags.text();
    EXPECT_EQ(read.pattern().mask, mask);
    EXPECT_EQ(read.pattern().density, double(kept) / double(rows * columns));
  }
  for (const char *text : {"", "\n\n", "10\n1\n", "12\n", "ab"})
    EXPECT_EQ(wrong("mask(\"m\")", {{"d/m", text}}), "A1009") << text;
}

TEST(SparsityRequest, RulesWithoutAnOperation) {
  Read read("weights of block.* = nm(2, 4)\nactivations of relu* = unstructured(0.5)");
  ASSERT_TRUE(read.request);
  std::map<GemmOperand, std::vector<std::string>> known{{GemmOperand::Weights, {"embedding", "block.fc"}},
                                                        {GemmOperand::Activations, {"relu_2"}}};
  EXPECT_TRUE(checkRuleNames(*read.request, known, read.diags));
  known[GemmOperand::Activations] = {"gelu"};
  EXPECT_FALSE(checkRuleNames(*read.request, known, read.diags));
  EXPECT_EQ(read.errors(), "A0104@3:16");
}

// Against the definition, letter by letter.
TEST(NamePattern, AgreesWithTheDefinition) {
  std::function<bool(std::string_view, std::string_view)> means = [&](std::string_view pattern,
                                                                      std::string_view name) -> bool {
    if (pattern.empty())
      return name.empty();
    if (pattern[0] == '*')
      return means(pattern.substr(1), name) || (!name.empty() && means(pattern, name.substr(1)));
    return !name.empty() && pattern[0] == name[0] && means(pattern.substr(1), name.substr(1));
  };
  std::mt19937 random(3);
  int matches = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string pattern, name;
    for (size_t n = random() % 7; n > 0; --n)
      pattern += "ab*"[random() % 3];
    for (size_t n = random() % 7; n > 0; --n)
      name += "ab"[random() % 2];
    EXPECT_EQ(matchesPattern(pattern, name), means(pattern, name)) << pattern << " " << name;
    matches += means(pattern, name);
  }
  EXPECT_GT(matches, 1000);
}
