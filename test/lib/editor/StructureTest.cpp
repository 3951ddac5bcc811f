// Parts around places, calls that are being written, and what can be changed by itself.
#include "lib/editor/Structure.h"
#include "lib/driver/Workspace.h"
#include "lib/editor/Actions.h"
#include "lib/editor/References.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::editor;

namespace {

const std::string kPath = "/nowhere/structure.dnn";

/// A text as an editor has it, and what was read of it.
struct Reader {
  std::string text;
  OpenFiles open;
  Snapshot snapshot;
  explicit Reader(const std::string &text) : text(text), open(of(text)), snapshot(open, kPath, catalogFolder()) {}
  static OpenFiles of(const std::string &text) {
    OpenFiles open;
    open.open(kPath, text, 1);
    return open;
  }
  uint32_t at(const std::string &word) const { return text.find(word); }
};

const char *const kModules = "module pair(x, inner, outer = 64) -> y {\n  let h = gelu(linear(x, out = inner))\n"
                             "  let y = linear(h, out = outer)\n}\n";

TEST(Structure, PartsGrowFromTheWordToTheFile) {
  Reader reader(kModules);
  auto parts = enclosingParts(reader.snapshot, reader.at("inner))"));
  std::vector<std::string> texts;
  for (auto [begin, end] : parts)
    texts.push_back(reader.text.substr(begin, end - begin));
  for (const char *wanted :
       {"inner", "linear(x, out = inner)", "gelu(linear(x, out = inner))", "let h = gelu(linear(x, out = inner))"})
    EXPECT_NE(std::find(texts.begin(), texts.end(), wanted), texts.end()) << wanted;
  EXPECT_EQ(texts.front(), "inner");
  EXPECT_EQ(texts.back(), reader.text);
  for (size_t i = 1; i < parts.size(); ++i)
    EXPECT_TRUE(parts[i].first <= parts[i - 1].first && parts[i - 1].second <= parts[i].second);
}

TEST(Structure, SignaturesOfModulesAndOperations) {
  Reader reader(std::string(kModules) + "module more(x) -> y {\n  let y = pair(x, outer = 3)\n}\n");
  auto found = signatureAt(reader.text, reader.at("outer = 3") + 9, reader.snapshot);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->label, "pair(x, inner, outer = 64)");
  EXPECT_EQ(found->active, 2u);
  auto [begin, end] = found->parameters[1];
  EXPECT_EQ(found->label.substr(begin, end - begin), "inner");
  found = signatureAt(reader.text, reader.at("x, out = inner"), reader.snapshot);
  ASSERT_TRUE(found);
  EXPECT_TRUE(llvm::StringRef(found->label).starts_with("linear(x, out"));
  EXPECT_EQ(found->active, 0u);
  EXPECT_FALSE(signatureAt(reader.text, reader.at("let y"), reader.snapshot));
}

TEST(Structure, FormatsAPartAlone) {
  Reader reader("module a(x) -> y {\n  let   y=gelu( x )\n}\n\nmodule b(x) -> y {\n  let   y=gelu( x )\n}\n");
  uint32_t second = reader.at("module b");
  std::string text = reader.text;
  std::vector<TextEdit> edits = formattedBetween(reader.snapshot, second, reader.text.size());
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
    text.replace(edit->begin, edit->end - edit->begin, edit->text);
  EXPECT_EQ(text, reader.text.substr(0, second) + "module b(x) -> y {\n  let y = gelu(x)\n}\n");
  EXPECT_TRUE(formattedBetween(Reader("module {").snapshot, 0, 9).empty()) << "broken files stay as they are";
}

TEST(Structure, ReferencesOfAParameter) {
  Reader reader(kModules);
  std::vector<FilePlace> places = referencesAt(reader.snapshot, reader.at("inner"), {}, {}, true);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].begin, (EditorPosition{0, 15}));
  EXPECT_EQ(places[1].begin.line, 1u);
  auto renamed = renameAt(reader.snapshot, reader.at("inner"), "outer", {}, {});
  EXPECT_FALSE(renamed) << "that name is taken";
}

TEST(Actions, LimitsThatAreJustKept) {
  EXPECT_EQ(relaxedLimit("3.5174 s", true), "3.52 s");
  EXPECT_EQ(relaxedLimit("3.5174 s", false), "3.51 s");
  EXPECT_EQ(relaxedLimit("nothing", true), "");
}

} // namespace
