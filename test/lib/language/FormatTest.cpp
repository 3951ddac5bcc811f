// The formatter: idempotent, keeps every comment and the meaning, and what its layout looks like.
#include "lib/language/syntax/Format.h"
#include "SyntaxExamples.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/SplitMix.h"
#include "test/support/SourcePath.h"
#include <filesystem>
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

// Entries that a comma keeps apart, or that a comma must not take apart.
TEST(Format, CommasKeepEntriesApart) {
  const char *const texts[] = {
      "a {},\n  weight c[2]",
      "a {},\n  source \"b\"",
      "a = 3,\n  weight { b = 1 }",
      "a(3),\n  transposable {}",
      "x y,\n  z w = 3",
      "weights of *,\n  require x < 3",
      "weights of a.b,\n  c d = 3",
      "a = 1..4,\n  b step[2]",
      "a = 1 samples,\n  b c",
      "weights of a. .b = 3",
      "a = 12,  // 24\n  b = 3  // why",
      "a = {b} transposable\n  minimize \"x\"",
      "let b\n  require c < 3",
  };
  for (const std::string entries : texts) {
    const std::string text = "accelerator t {\n  " + entries + "\n}\n";
    EXPECT_EQ(formatted(text, "accel"), text);
  }
  EXPECT_EQ(formatted("accelerator t {\n  b = 1\n  // b\n  , c = 3\n}\n", "accel"),
            "accelerator t {\n  b = 1,  // b\n  c = 3\n}\n");
  EXPECT_EQ(formatted("accelerator t { a = {b} transposable minimize \"x\" }\n", "accel"),
            "accelerator t { a = {b} transposable, minimize \"x\" }\n");
  EXPECT_EQ(formatted("accelerator t { let b require c < 3 }\n", "accel"), "accelerator t { let b, require c < 3 }\n");
}

/// What is lost by formatting a text, empty if nothing is or the text has errors of syntax; `valid` counts the others.
static std::string lost(const std::string &text, const std::string &language, size_t &valid) {
  struct Read {
    SourceManager sources;
    Diagnostics diags{sources};
    std::unique_ptr<ast::File> file;
    Read(const std::string &text, const std::string &language)
        : file(parse(diags, sources.add("t." + language, text))) {}
    /// The kinds of the tokens but commas.
    std::vector<ast::Layout::Kind> kinds() const {
      std::vector<ast::Layout::Kind> result;
      for (const ast::Layout::Token &token : file->layout.tokens)
        if (sources.text(token.range) != ",")
          result.push_back(token.kind);
      return result;
    }
  };
  const Read before(text, language);
  if (!before.file->complete || before.diags.hasErrors())
    return {};
  ++valid;
  const std::string once = format(before.sources, *before.file);
  const Read after(once, language);
  if (!after.file->complete || after.diags.hasErrors())
    return "errors: " + after.diags.text();
  if (meaning(once, language) != meaning(text, language) || before.kinds() != after.kinds())
    return "other tokens";
  if (before.file->layout.starts.size() != after.file->layout.starts.size())
    return "other entries";
  return format(after.sources, *after.file) == once ? "" : "not stable";
}

// Entries drawn from words that mean something at some places only, with commas and without.
TEST(Format, EntriesOfAnyWordsKeepTheirMeaning) {
  const std::vector<std::string> names = {
      "import", "let",      "require",    "prefer",    "maximize",  "minimize", "path",         "source", "from",
      "per",    "weight",   "samples",    "step",      "error",     "pow2",     "transposable", "of",     "for",
      "on",     "x",        "input",      "var",       "repeat",    "scan",     "reverse",      "loss",   "in",
      "as",     "gradient", "confidence", "surrogate", "operation", "module",   "model",        "a",      "b"};
  const std::vector<std::string> others = {"=", ":",    "{",     "}",      "{}",  "(",   ")",   "(1)",      "[2]",
                                           "1", "2 GB", "\"t\"", ",",      ",",   ",",   "..",  "1..4",     "*",
                                           ".", "\n",   "->",    "// a\n", "and", "{a}", "= 1", "{ a = 1 }"};
  for (const std::string language : {"accel", "dnn"}) {
    SplitMix random(7);
    size_t valid = 0;
    for (int i = 0; i < 12000; ++i) {
      std::string text = language == "accel" ? "accelerator t {" : "train t = m() on c {";
      for (uint64_t k = 2 + random.below(8); k > 0; --k)
        text += " " + (random.below(5) < 3 ? names[random.below(names.size())] : others[random.below(others.size())]);
      text += random.below(2) ? " }\n" : "\n}\n";
      ASSERT_EQ(lost(text, language, valid), "") << text;
    }
    EXPECT_GT(valid, 500u);
  }
}

// Files of the catalogue and the examples, as they are and with tokens deleted, doubled and swapped.
TEST(Format, ChangedFilesKeepTheirMeaning) {
  std::vector<std::filesystem::path> paths;
  for (const char *folder : {"/lib/catalog", "/examples"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(accord::sourcePath("") + folder))
      if (entry.path().extension() == ".accel" || entry.path().extension() == ".dnn")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  SplitMix random(3);
  size_t valid = 0;
  for (const std::filesystem::path &path : paths) {
    std::stringstream content;
    content << std::ifstream(path).rdbuf();
    const std::string text = content.str(), language = path.extension().string().substr(1);
    ASSERT_EQ(lost(text, language, valid), "") << path;
    SourceManager sources;
    Diagnostics diags(sources);
    const auto file = parse(diags, sources.add("t." + language, text));
    const std::vector<ast::Layout::Token> &tokens = file->layout.tokens;
    for (int change = 0; change < 12 && tokens.size() > 1 && text.size() < 20000; ++change) {
      const size_t at = random.below(tokens.size() - 1);
      const uint32_t begin = tokens[at].range.begin, end = tokens[at].range.end, next = tokens[at + 1].range.end;
      const std::string token = text.substr(begin, end - begin);
      std::string changed = text;
      switch (random.below(3)) {
      case 0:
        changed.erase(begin, end - begin);
        break;
      case 1:
        changed.insert(begin, token + " ");
        break;
      default:
        changed.insert(next, " " + token);
        changed.erase(begin, end - begin);
      }
      ASSERT_EQ(lost(changed, language, valid), "") << changed;
    }
  }
  EXPECT_GT(valid, paths.size());
}
