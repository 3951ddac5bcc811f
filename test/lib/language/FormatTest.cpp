// The formatter: idempotent, keeps every comment and the meaning, and what its layout looks like.
#include "lib/language/syntax/Format.h"
#include "SyntaxExamples.h"
#include "lib/language/syntax/Parser.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;

static std::string formatted(const std::string &text, const std::string &language, bool *complete = nullptr) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = parse(diags, sources.add("t." + language, text));
  if (complete)
    *complete = file->complete;
  else
    EXPECT_TRUE(file->complete) << diags.text() << text;
  return file->complete ? format(sources, *file) : text;
}

/// The tokens of a text without commas between entries: what formatting must not change.
static std::string meaning(const std::string &text, const std::string &language) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = parse(diags, sources.add("t." + language, text));
  std::string result;
  for (const auto &token : file->layout.tokens) {
    std::string word;
    for (char c : sources.text(token.range))
      if (!isspace(static_cast<unsigned char>(c)) || word[0] == '"')
        word += c;
    if (word.starts_with("else") && word.size() > 4)
      word = "elseif"; // whatever stood between the two
    if (word != ",")
      result += word + " ";
  }
  for (const ast::Comment &comment : file->comments)
    result += "\n" + sources.text(comment.range).rtrim().str();
  return result;
}

TEST(Format, ExamplesKeepTheirMeaningAndAreStable) {
  for (const Example &example : languageExamples()) {
    std::string once = formatted(example.text, example.language);
    EXPECT_EQ(formatted(once, example.language), once);
    EXPECT_EQ(meaning(once, example.language), meaning(example.text, example.language));
    std::istringstream lines(once);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.find("//") == std::string::npos ? line.size() : 0, 100u) << line;
  }
}

TEST(Format, Layout) {
  EXPECT_EQ(formatted("accelerator   t(clock=1GHz){clock=940MHz\n\n\n\ntechnology=16   nm\nx=1 // why\n"
                      "memory hbm:dram{capacity=16GiB,bandwidth=-900GB/s*2}\nmemory m : dram {\n a=f( "
                      "1,b =2 )[0]. c }\n"
                      "require budget :area<=600mm2\npath a->{b,c} }\n",
                      "accel"),
            "accelerator t(clock = 1 GHz) {\n"
            "  clock = 940 MHz\n"
            "\n"
            "  technology = 16 nm\n"
            "  x          = 1  // why\n"
            "  memory hbm : dram { capacity = 16 GiB, bandwidth = -900 GB/s * 2 }\n"
            "  memory m : dram {\n"
            "    a = f(1, b = 2)[0].c\n"
            "  }\n"
            "  require budget: area <= 600 mm2\n"
            "  path a -> {b, c}\n"
            "}\n");
}

TEST(Format, KeepsHexadecimalNumbers) {
  EXPECT_EQ(formatted("let a = 0xFf_00B\nlet b = [0x10   KiB, 0x20MiB, 12GiB]\n", "accel"),
            "let a = 0xFf_00B\nlet b = [0x10 KiB, 0x20 MiB, 12 GiB]\n");
}

TEST(Format, CommentsEverywhere) {
  std::string text = "// first\nimport \"a.accel\" // import\n\n// before t\naccelerator t { // "
                     "open\n  // one\n  a = 1, // after a\n  b = [1, // in list\n"
                     "   // own line\n 2]\n  // last\n}\n// end\n";
  std::string once = formatted(text, "accel");
  EXPECT_EQ(meaning(once, "accel"), meaning(text, "accel"));
  EXPECT_EQ(formatted(once, "accel"), once);
  EXPECT_NE(once.find("accelerator t {  // open\n  // one\n  a = 1  // after a\n"), std::string::npos) << once;
}

TEST(Format, PatternsAndWords) {
  std::string text = "sparsity for t {\n  weights of block.* = nm(2, 4) transposable\n  weights of "
                     "* = nm(1, 2)\n}\n";
  EXPECT_EQ(formatted(text, "dnn"), text);
  text = "let a = if (1) < 2 then -(3) else not (true)\n";
  EXPECT_EQ(formatted(text, "accel"), text);
  text = "accelerator t { array = (pow2 2..8) x (pow2 2..8), n = pow2(3) }\n";
  EXPECT_EQ(formatted(text, "accel"), text);
}

TEST(Format, AnEntryOfOneWordKeepsItsComma) {
  EXPECT_EQ(formatted("accelerator t {\n  fast, // c\n  a = 1\n slow\n}\n", "accel"),
            "accelerator t {\n  fast,  // c\n  a = 1\n  slow\n}\n");
}

TEST(Format, NamesThatAreWordsElsewhereKeepTheirComma) {
  for (std::string text :
       {"accelerator a {\n  multiply   = pow2,\n  accumulate = fp32\n}\n",
        "accelerator a {\n  source x,\n  inner \"b\"\n}\n", "accelerator a {\n  b = 3,\n  weight c[2]\n}\n",
        "accelerator a {\n  b      = 3\n  weight = 4\n}\n"})
    EXPECT_EQ(formatted(text, "accel"), text);
}

TEST(Format, LongEntriesAreBroken) {
  std::string text = "let a = sum([";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(i * 1000) + ", ";
  text += "1]) + aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + "
          "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb + cccccccccccccccccc\n";
  std::string once = formatted(text, "accel");
  EXPECT_EQ(formatted(once, "accel"), once);
  EXPECT_EQ(meaning(once, "accel"), meaning(text, "accel"));
  std::istringstream lines(once);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 100u);
}

// Blanks, line ends and comments put anywhere: still stable and nothing lost.
TEST(Format, StableUnderNoise) {
  std::mt19937 random(11);
  const std::string noise[] = {"\n", "  ", "\n\n\n", " // c\n", "\n// own\n"};
  for (const Example &example : languageExamples()) {
    SourceManager sources;
    Diagnostics diags(sources);
    auto file = parse(diags, sources.add("t." + example.language, example.text));
    for (int i = 0; i < 100; ++i) {
      std::string text = example.text;
      for (int k = 0; k < 4; ++k)
        text.insert(file->layout.tokens[random() % file->layout.tokens.size()].range.begin,
                    noise[random() % std::size(noise)]);
      bool complete = false;
      std::string once = formatted(text, example.language, &complete);
      if (!complete)
        continue;
      ASSERT_EQ(formatted(once, example.language), once) << text;
      ASSERT_EQ(meaning(once, example.language), meaning(text, example.language)) << once;
    }
  }
}
