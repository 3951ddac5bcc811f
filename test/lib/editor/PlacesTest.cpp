// Places of texts as editors count them, and what is around a place.
#include "lib/editor/Around.h"
#include "lib/editor/Blocks.h"
#include "lib/editor/LineTable.h"
#include "lib/editor/OpenFiles.h"
#include <deque>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::editor;

namespace {

/// Around the '|' of a text, which stays where it is, for the result refers into it.
Around aroundMark(std::string text) {
  static std::deque<std::string> texts;
  size_t offset = text.find('|');
  texts.push_back(text.erase(offset, 1));
  return around(texts.back(), offset);
}

TEST(LineTable, CountsUnitsOfUtf16) {
  const std::string text = "a\u00fc\U0001d539b\ncd";
  LineTable lines(text);
  // Bytes 0 'a', 1 and 2 'ü', 3 to 6 a character beyond the first plane, 7 'b', 8 the line end.
  const std::pair<uint32_t, uint32_t> columns[] = {{0, 0}, {1, 1}, {3, 2}, {7, 4}, {8, 5}};
  for (auto [byte, column] : columns) {
    EXPECT_EQ(lines.position(byte), (EditorPosition{0, column}));
    EXPECT_EQ(lines.offset({0, column}), byte);
  }
  EXPECT_EQ(lines.position(2), (EditorPosition{0, 1})) << "inside of a character";
  EXPECT_EQ(lines.offset({0, 3}), 3u) << "between the halves of a pair";
  EXPECT_EQ(lines.offset({0, 99}), 8u);
  EXPECT_EQ(lines.offset({9, 0}), text.size());
  EXPECT_EQ(lines.position(999), (EditorPosition{1, 2}));
}

TEST(LineTable, EndsLinesWithAnyBreak) {
  const std::string text = "a\r\nb\rc\n\nd";
  LineTable lines(text);
  EXPECT_EQ(lines.lines(), 5u);
  EXPECT_EQ(lines.position(3), (EditorPosition{1, 0}));
  EXPECT_EQ(lines.position(5), (EditorPosition{2, 0}));
  EXPECT_EQ(lines.position(8), (EditorPosition{4, 0}));
  EXPECT_EQ(lines.offset({0, 9}), 1u) << "before the whole break";
}

TEST(TextChange, ReplacesRangesAndTexts) {
  std::string text = "one\ntwo\nthree";
  apply({{{{1, 0}, {1, 3}}}, "2"}, text);
  EXPECT_EQ(text, "one\n2\nthree");
  apply({{{{2, 0}, {1, 0}}}, "x"}, text); // it ends before it begins
  EXPECT_EQ(text, "one\n2\nxthree");
  apply({{{{9, 0}, {9, 9}}}, "!"}, text);
  EXPECT_EQ(text, "one\n2\nxthree!");
  apply({std::nullopt, "new"}, text);
  EXPECT_EQ(text, "new");
}

TEST(OpenFiles, AreChangedOnlyWhereTheyAreOpen) {
  OpenFiles open;
  EXPECT_FALSE(open.change("/nowhere/a.dnn", {}, 1));
  open.open("/nowhere/a.dnn", "let a = 1", 1);
  uint64_t before = open.generation();
  EXPECT_TRUE(open.change("/nowhere/a.dnn", {{{{{0, 8}, {0, 9}}}, "2"}}, 2));
  EXPECT_EQ(open.find("/nowhere/a.dnn")->text, "let a = 2");
  EXPECT_EQ(open.find("/nowhere/a.dnn")->version, 2);
  EXPECT_GT(open.generation(), before);
  open.close("/nowhere/a.dnn");
  EXPECT_EQ(open.find("/nowhere/a.dnn"), nullptr);
}

TEST(Around, FindsWordsAndOpenBrackets) {
  Around place = aroundMark("accelerator a {\n  memory hbm : dr|am { capacity = 1 GiB }\n}");
  EXPECT_EQ(place.prefix, "dr");
  EXPECT_EQ(place.end - place.begin, 4u);
  ASSERT_EQ(place.open.size(), 1u);
  EXPECT_EQ(place.open[0].head, "accelerator a");
  EXPECT_EQ(place.before.trim(), "memory hbm :");
  EXPECT_TRUE(aroundMark("let a = 1 // he|re").inComment);
  EXPECT_TRUE(aroundMark("import \"cat|alog\"").inText);
  EXPECT_EQ(aroundMark("model m {\n  let a = f(g(x, |").open.size(), 3u);
  EXPECT_EQ(aroundMark("}}]) let |").open.size(), 0u) << "brackets that close nothing";
}

TEST(Blocks, AreNamedByTheirFirstWords) {
  Block block = blockAt(aroundMark("accelerator a {\n  memory m : dram {\n    |"));
  EXPECT_EQ(block.kind, Block::Kind::Machine);
  EXPECT_EQ(block.word, "memory");
  EXPECT_EQ(block.subtype, "dram");
  ASSERT_NE(block.schema, nullptr);
  EXPECT_NE(block.schema->findKey("capacity"), nullptr);
  block = blockAt(aroundMark("train t = m() on a100_80g {\n  search {\n |"));
  EXPECT_EQ(block.kind, Block::Kind::Request);
  EXPECT_EQ(block.target, "a100_80g");
  EXPECT_EQ(blockAt(aroundMark("model m {\n  repeat 3 {\n |")).kind, Block::Kind::Body);
  EXPECT_EQ(blockAt(aroundMark("model m { }\n|")).kind, Block::Kind::File);
}

TEST(Pieces, LeaveOutBlanksAndComments) {
  std::vector<llvm::StringRef> pieces = piecesOf("a = f(x1, \"t u\") // rest\n+ 2");
  std::vector<llvm::StringRef> expected = {"a", "=", "f", "(", "x1", ",", "\"t u\"", ")", "+", "2"};
  EXPECT_EQ(pieces, expected);
}

} // namespace
