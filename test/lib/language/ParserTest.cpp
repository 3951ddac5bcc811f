// Text -> tree: every documented example, the shape of the tree, errors with recovery, hostile
// input.
#include "lib/language/syntax/Parser.h"
#include "SyntaxExamples.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {
struct Parsed {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  explicit Parsed(const std::string &text, const std::string &path = "t.accel") {
    file = parse(diags, sources.add(path, text));
  }
};

/// The codes and places of the errors: "A0001@2:3 …"
std::string errorsOf(const std::string &text, const std::string &path = "t.accel") {
  Parsed parsed(text, path);
  EXPECT_EQ(parsed.file->complete, !parsed.diags.hasErrors());
  std::string result;
  for (const Diagnostic &d : parsed.diags.sorted()) {
    Position at = parsed.sources.position(d.range);
    result += (result.empty() ? "" : " ") + entryOf(d.code).number.str() + "@" + std::to_string(at.line) + ":" +
              std::to_string(at.column);
  }
  return result;
}
} // namespace

TEST(Parser, EveryExampleOfTheLanguagePage) {
  auto examples = languageExamples();
  ASSERT_GE(examples.size(), 5u);
  for (const Example &example : examples) {
    Parsed parsed(example.text, "example." + example.language);
    EXPECT_TRUE(parsed.file->complete) << parsed.diags.text();
    EXPECT_FALSE(parsed.file->declarations.empty());
  }
}

TEST(Parser, EntriesOfAMachine) {
  Parsed p("/// Doc of t.\naccelerator t(clock = 1 GHz, n) {\n  /// Doc of\n  /// hbm.\n  memory hbm : "
           "dram { capacity = 16 GiB, energy = 3.9 "
           "pJ/bit source \"sheet\" }\n  core mxu[2] : tensor { array = 128 x n }\n  path hbm -> {mxu, "
           "mxu}\n  sparse nm(2, 4) {}\n"
           "  area model = \"x\"\n  prefer small: area <= 1 mm2 weight 2\n  efficiency from \"c\"\n}\n");
  ASSERT_TRUE(p.file->complete) << p.diags.text();
  const ast::Declaration &t = p.file->declarations.at(0);
  EXPECT_EQ(t.kind, ast::DeclarationKind::Accelerator);
  EXPECT_EQ(t.doc, "Doc of t.");
  ASSERT_EQ(t.parameters.size(), 2u);
  EXPECT_EQ(t.parameters[1].defaultValue, nullptr);
  ASSERT_EQ(t.entries.size(), 7u);
  EXPECT_EQ(t.entries[0].doc, "Doc of\nhbm.");
  const auto *hbm = t.entries[0].as<ast::Node>();
  ASSERT_TRUE(hbm && hbm->entries.size() == 2);
  EXPECT_EQ(hbm->kind.text + hbm->name.text + hbm->type.text, "memoryhbmdram");
  EXPECT_EQ(hbm->entries[1].clauses().source->value, "sheet");
  const auto *capacity = hbm->entries[0].as<ast::KeyValue>();
  EXPECT_EQ(capacity->value->as<ast::Number>()->value, *parseQuantity("16 GiB"));
  const auto *core = t.entries[1].as<ast::Node>();
  ASSERT_TRUE(core && core->count);
  EXPECT_EQ(core->entries[0].as<ast::KeyValue>()->value->as<ast::Shape>()->dims.size(), 2u);
  EXPECT_EQ(t.entries[2].as<ast::Path>()->stops[1].size(), 2u);
  EXPECT_EQ(t.entries[3].as<ast::Node>()->arguments.size(), 2u);
  EXPECT_TRUE(t.entries[4].as<ast::Node>()->value->as<ast::Text>());
  const auto *rule = t.entries[5].as<ast::Rule>();
  EXPECT_TRUE(rule->kind == ast::RuleKind::Prefer && rule->label.text == "small" && t.entries[5].clauses().weight);
  EXPECT_EQ(t.entries[6].clauses().from->value, "c");
}

TEST(Parser, StatementsOfAModel) {
  Parsed p("module m(x, hidden = 3) -> y, z {\n let y, i = topk(x, k = 2)\n let z = -y[0] ^ 2 + 3 "
           "* i.a(1)\n}\n"
           "model g() {\n input t : int32[4, 5]\n var x = t\n repeat 3 as b { x = relu(x), x = "
           "gelu(x) }\n for k in 0..3 { x = x }\n"
           " if 1 < 2 { x = x } else if 2 < 3 { x = x } else {}\n loss mse(x, t)\n}\ntrain r = g(n "
           "= 1) on c { batch = 8 }\n",
           "t.dnn");
  ASSERT_TRUE(p.file->complete) << p.diags.text();
  const auto &m = p.file->declarations[0], &g = p.file->declarations[1], &r = p.file->declarations[2];
  EXPECT_EQ(m.results.size(), 2u);
  EXPECT_EQ(m.body[0].as<ast::Bind>()->names.size(), 2u);
  // -(y[0]^2) + (3 * i.a(1))
  const auto *sum = m.body[1].as<ast::Bind>()->value->as<ast::Chain>();
  ASSERT_TRUE(sum && sum->rest.size() == 1 && sum->rest[0].op == ast::BinaryOp::Add);
  EXPECT_TRUE(sum->first->as<ast::Unary>()->operand->as<ast::Chain>()->rest[0].op == ast::BinaryOp::Power);
  EXPECT_TRUE(sum->rest[0].operand->as<ast::Chain>()->rest[0].operand->as<ast::Call>());
  ASSERT_EQ(g.body.size(), 6u);
  EXPECT_EQ(g.body[0].as<ast::Input>()->dims.size(), 2u);
  EXPECT_EQ(g.body[2].as<ast::Repeat>()->body.size(), 2u);
  EXPECT_EQ(g.body[4].as<ast::When>()->branches.size(), 3u);
  EXPECT_EQ(g.body[4].as<ast::When>()->branches[2].condition, nullptr);
  EXPECT_EQ(r.target.text, "c");
  EXPECT_TRUE(r.value->as<ast::Call>());
}

TEST(Parser, Scans) {
  Parsed p("model m() {\n input x : float[4, 3]\n scan x as t { h = t }\n"
           " scan reverse x, f(x) + x as a, b -> y, z { y = a, z = b }\n"
           " scan reverse as reverse -> scan { scan = reverse }\n scan reverse, x as s, t {}\n"
           " scan [x][0] as t -> y { repeat 2 { y = t } }\n loss scan\n}\n",
           "t.dnn");
  ASSERT_TRUE(p.file->complete) << p.diags.text();
  const auto &body = p.file->declarations[0].body;
  ASSERT_EQ(body.size(), 7u);
  auto shape = [&](size_t i) {
    const auto *s = body[i].as<ast::Scan>();
    return s ? std::vector<size_t>{s->reverse, s->sources.size(), s->steps.size(), s->results.size(), s->body.size()}
             : std::vector<size_t>{};
  };
  EXPECT_EQ(shape(1), (std::vector<size_t>{0, 1, 1, 0, 1}));
  EXPECT_EQ(shape(2), (std::vector<size_t>{1, 2, 2, 2, 2}));
  EXPECT_EQ(shape(3), (std::vector<size_t>{0, 1, 1, 1, 1})); // a tensor called reverse
  EXPECT_EQ(shape(4), (std::vector<size_t>{0, 2, 2, 0, 0}));
  EXPECT_EQ(shape(5), (std::vector<size_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(body[2].as<ast::Scan>()->results[1].text, "z");
  EXPECT_EQ(body[3].as<ast::Scan>()->steps[0].text, "reverse");
}

TEST(Parser, WordsAreNamesWhereTheyCan) {
  EXPECT_EQ(errorsOf("accelerator x {\n step = 3\n weight = 2, samples = 4\n source = 1\n per = "
                     "2\n path = 1\n require = 2\n pow2 = 1\n x = 3\n"
                     " core x : x { x = x x x }\n batch = 1, from = 2, error = 3, on = 4, of = 5, "
                     "for = 6, in = 7, as = 8, let = 9\n}\n"),
            "");
  EXPECT_EQ(errorsOf("model input(loss, repeat = 1) {\n input input : int32[loss]\n let let = input\n "
                     "let reverse = let\n var scan = reverse\n scan = scan * reverse\n "
                     "var var = let\n repeat = var\n"
                     " loss = repeat\n step = loss\n for for in 0..3 { step = for }\n loss step\n}\n",
                     "t.dnn"),
            "");
}

TEST(Parser, QuantitiesAndLineEnds) {
  Parsed p("accelerator t {\n a = 2 h, b = 2\n h = 3\n c = 64 B/cycle * 940 MHz\n d = 16 GiB / n\n "
           "e = 2 * h\n f = 5 samples/s\n}\n");
  ASSERT_TRUE(p.file->complete) << p.diags.text();
  const auto &entries = p.file->declarations[0].entries;
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[0].as<ast::KeyValue>()->value->as<ast::Number>()->value, *parseQuantity("7200 s"));
  EXPECT_EQ(entries[1].as<ast::KeyValue>()->value->as<ast::Number>()->value, Quantity::number(2));
}

TEST(Parser, AllErrorsInOneRun) {
  EXPECT_EQ(errorsOf("accelerator t {\n  clock =\n  technology = 16 nmm\n  memory hbm dram { "
                     "capacity 16 GiB }\n  power { idle = 40 W; tdp = 1 W }\n"
                     "  b = 3 +* 4\n  ok = 1\n}\nacelerator z { }\n"),
            "A0001@2:9 A0201@3:19 A0001@4:30 A0003@5:22 A0001@6:10 A0106@9:1");
  EXPECT_EQ(errorsOf("accelerator t {\n  a = (1 + 2\n  b = [1, 2\n  c = 3\n}\n"), "A0002@3:3 A0002@4:3");
  EXPECT_EQ(errorsOf("accelerator t {\n  a = 1\n"), "A0002@2:8");
  EXPECT_EQ(errorsOf("accelerator t { a = \"abc\n }"), "A0004@1:21");
  EXPECT_EQ(errorsOf("let a = 1 < 2 < 3\nlet b = 2 ^ 3 ^ 4\nlet c = 8 // 2\n"), "A0001@1:15 A0001@2:15 A0016@3:11");
  EXPECT_EQ(errorsOf("sparsity s {}\ntrain t on c {}\nensemble e of g { }\nmodel m {}\n", "t.dnn"),
            "A0001@1:1 A0001@2:7");
  EXPECT_EQ(errorsOf("model m() { }"), "A0106@1:1");
}

TEST(Parser, SentencesNotTokenNames) {
  Parsed p("accelerator t {\n  a = (1 + 2\n  memory x : { }\n  b 3\n");
  std::string text = p.diags.text();
  for (const char *bad : {"<EOF>", "extraneous", "mismatched", "IDENT", "NUMBER", "QUANTITY", "viable"})
    EXPECT_EQ(text.find(bad), std::string::npos) << text;
  EXPECT_NE(text.find("note: '{' opened here"), std::string::npos) << text;
}

TEST(Parser, WhatIsNoText) {
  EXPECT_EQ(errorsOf(""), "A0010@1:1");
  EXPECT_EQ(errorsOf("// only a comment\n"), "A0010@1:1");
  EXPECT_EQ(errorsOf(std::string("let a = \0", 9)), "A0006@1:9");
  EXPECT_EQ(errorsOf("let a = \xff"), "A0006@1:9");
  EXPECT_EQ(errorsOf("let a = 1", "t.txt"), "A0009@1:1");
  EXPECT_EQ(errorsOf("let größe = 1 // größe\n"), "A0003@1:7");
  SourceManager sources;
  Diagnostics diags(sources);
  EXPECT_FALSE(readFile(diags, "/"));
  EXPECT_FALSE(readFile(diags, "no/such/file.accel"));
  EXPECT_EQ(diags.errors(), 2u);
}

TEST(Parser, HostileInputIsADiagnostic) {
  auto times = [](const std::string &text, size_t n) {
    std::string result;
    for (size_t i = 0; i < n; ++i)
      result += text;
    return result;
  };
  const size_t n = 20000;
  for (const std::string &text :
       {times("(", n), times("[", n), times("{", n), "let a = " + times("(", n) + "1" + times(")", n),
        "let a = " + times("-", n) + "1", "let a = " + times("not ", n) + "1",
        "let a = " + times("if 1 then ", n) + "1", "let a = b" + times(".c", n), "let a = " + times("2^", n) + "1",
        times("}", n), times("\"", n + 1), times("accelerator ", n), "let a = 1" + times("0", n),
        "accelerator t " + times("{ a ", n)})
    EXPECT_NE(errorsOf(text), "") << text.substr(0, 40);
  // Long is not deep.
  EXPECT_EQ(errorsOf("let a = " + times("1 + ", n) + "1"), "");
  EXPECT_EQ(errorsOf("let a = " + times("if 1 < 2 then 2 else ", n) + "3"), "");
}

// Any mutilation of a valid file gives a tree or errors, never a crash; and every error lies within
// the file.
TEST(Parser, MutilatedExamples) {
  std::mt19937 random(7);
  const std::string pieces[] = {"{",   "}",     "(",     ")",  "[",  "]",   "=",     ",",  "..", "->",
                                " x ", "pow2 ", "step ", "\"", "//", "if ", "else ", "1 ", ":",  "\n"};
  for (const Example &example : languageExamples())
    for (int i = 0; i < 60; ++i) {
      std::string text = example.text;
      for (int k = 0; k < 3; ++k) {
        size_t at = random() % text.size();
        if (random() % 2)
          text.erase(at, random() % 12);
        else
          text.insert(at, pieces[random() % std::size(pieces)]);
      }
      Parsed parsed(text, "example." + example.language);
      for (const Diagnostic &d : parsed.diags.sorted())
        EXPECT_TRUE(d.range.begin <= d.range.end && d.range.end <= text.size());
      EXPECT_FALSE(parsed.diags.text().find("A0806") != std::string::npos);
    }
}
