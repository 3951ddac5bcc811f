// Diagnostics: order, rendering, suggestions, limits, the table of codes.
#include "lib/support/Diagnostics.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/SourcePath.h"
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace accord;

TEST(Diagnostics, RendersLineCaretHelpAndNotes) {
  SourceManager sources;
  FileId file = sources.add("t.accel", "accelerator t {\n  clock = 1 GHz\n  clok = 2 GHz\n}\n");
  Diagnostics diags(sources);
  diags.error(Code::UnknownKey, {file, 34, 38}, "unknown key 'clok'")
      .suggest("clock")
      .note({file, 18, 23}, "defined here");
  EXPECT_EQ(diags.text(), "t.accel:3:3: error[A0101]: unknown key 'clok'\n"
                          "    clok = 2 GHz\n"
                          "    ^~~~\n"
                          "  help: did you mean 'clock'?\n"
                          "t.accel:2:3: note: defined here\n"
                          "    clock = 1 GHz\n"
                          "    ^~~~~\n");
}

TEST(Diagnostics, TabsAndUtf8KeepTheCaretInPlace) {
  SourceManager sources;
  FileId file = sources.add("t.accel", "\t\"größe\" bad\n");
  Diagnostics diags(sources);
  diags.error(Code::SyntaxError, {file, 11, 14}, "m");
  EXPECT_EQ(diags.text(), "t.accel:1:10: error[A0001]: m\n   \"größe\" bad\n           ^~~\n");
}

TEST(Diagnostics, LongLinesAreCutRoundTheCaret) {
  SourceManager sources;
  std::string text(1000000, 'a');
  text += " bad " + std::string(1000000, 'b');
  FileId file = sources.add("t.accel", text);
  Diagnostics diags(sources);
  diags.error(Code::SyntaxError, {file, 1000001, 1000004}, "m");
  EXPECT_LT(diags.text().size(), 600u);
  EXPECT_NE(diags.text().find("a bad b"), std::string::npos);
}

TEST(Diagnostics, SortedAndWithoutRepetition) {
  SourceManager sources;
  FileId a = sources.add("a.accel", "xyz\n"), b = sources.add("b.accel", "xyz\n");
  Diagnostics diags(sources);
  diags.error(Code::SyntaxError, {b, 0, 1}, "third");
  diags.error(Code::SyntaxError, {a, 2, 3}, "second");
  diags.error(Code::SyntaxError, {a, 0, 1}, "first");
  diags.error(Code::SyntaxError, {a, 2, 3}, "second");
  diags.error(Code::BadCommandLine, {}, "no place");
  auto list = diags.sorted();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].message, "no place");
  EXPECT_EQ(list[1].message, "first");
  EXPECT_EQ(list[3].message, "third");
}

TEST(Diagnostics, AtMostAHundredErrorsAreShown) {
  SourceManager sources;
  FileId file = sources.add("a.accel", std::string(200000, 'x'));
  Diagnostics diags(sources);
  for (uint32_t i = 0; i < 150000; ++i)
    diags.error(Code::SyntaxError, {file, i, i + 1}, "e").note({file, 0, 1}, "n").suggest("y");
  EXPECT_EQ(diags.errors(), 150000u);
  EXPECT_NE(diags.text().find("149900 more errors not shown"), std::string::npos);
}

TEST(Diagnostics, Json) {
  SourceManager sources;
  FileId file = sources.add("a.accel", "ab\ncd\n");
  Diagnostics diags(sources);
  diags.error(Code::UnknownKey, {file, 3, 5}, "m").note({file, 0, 2}, "n").suggest("x");
  llvm::json::Value document = errorDocument(diags, "compile");
  EXPECT_EQ(
      jsonLine(*document.getAsObject()->get("diagnostics")),
      R"([{"file":"a.accel","line":2,"column":1,"code":"A0101","end_column":3,"end_line":2,"help":"did you mean 'x'?",)"
      R"("message":"m","notes":[{"file":"a.accel","line":1,"column":1,"end_column":3,"end_line":1,"message":"n"}],)"
      R"("severity":"error"}])");
}

TEST(Diagnostics, PositionsGoBackAndForth) {
  SourceManager sources;
  FileId file = sources.add("a.accel", "aä b\r\ncd\n");
  EXPECT_EQ(sources.position(file, 4), (Position{1, 4}));
  EXPECT_EQ(sources.position(file, 7), (Position{2, 1}));
  EXPECT_EQ(sources.at(file, {2, 1}), (SourceRange{file, 7, 9}));
  EXPECT_EQ(sources.at(file, {1, 4}), (SourceRange{file, 4, 5}));
  EXPECT_EQ(sources.at(file, {99, 99}).end, 10u);
}

TEST(Diagnostics, Nearest) {
  EXPECT_EQ(nearest("capcity", {"bandwidth", "capacity"}), "capacity");
  EXPECT_EQ(nearest("xyz", {"bandwidth", "capacity"}), "");
  EXPECT_EQ(nearest("a", {"b"}), "");
  EXPECT_EQ(nearest("MHZ", {"MHz"}), "MHz");
  EXPECT_EQ(nearest("aera", {"mxu.count", "area"}), "area");
  EXPECT_EQ(nearest("bert", {"albert_base", "bert_large_cased", "bert_large"}), "bert_large");
  EXPECT_EQ(nearest("a100", {"h100", "a100_80g_sxm", "a100_40g"}), "a100_40g");
  EXPECT_EQ(nearest("gradient", {"gradient_buckets", "gradients"}), "gradients");
  EXPECT_EQ(nearest("Bert", {"bert_large", "bert"}), "bert");
  EXPECT_EQ(nearest("block", {"gpt_block_first", "gpt_block"}), "gpt_block");
  EXPECT_EQ(nearest("cat", {"concatenate_all", "dog"}), "concatenate_all");
  EXPECT_EQ(nearest("ab", {"abcdefghij"}), "");
}

TEST(ErrorCodes, TableIsOrderedUniqueAndComplete) {
  std::set<std::string> names;
  std::string last;
  for (const ErrorEntry &entry : errorTable()) {
    EXPECT_LT(last, entry.number.str());
    last = entry.number.str();
    EXPECT_TRUE(names.insert(entry.name.str()).second);
    EXPECT_EQ(&entryOf(entry.code), &entry);
    EXPECT_EQ(findError(entry.number.lower()), &entry);
    for (llvm::StringRef text : {entry.title, entry.explanation, entry.wrong, entry.right})
      EXPECT_FALSE(text.empty()) << last;
    EXPECT_FALSE(entry.title.ends_with(".")) << last;
    EXPECT_TRUE(entry.explanation.ends_with(".")) << last;
  }
  EXPECT_EQ(findError("A9999"), nullptr);
  EXPECT_NE(explain(*findError("A0101")).find("Right:\n  memory hbm"), std::string::npos);
}

TEST(ErrorCodes, PageIsWrittenFromTheTable) {
  std::ifstream in(accord::sourcePath("docs/errors.md"));
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), errorsMarkdown()) << "write it anew: accord explain --markdown > docs/errors.md";
}
