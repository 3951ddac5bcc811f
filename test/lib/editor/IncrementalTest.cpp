// What is taken over from the last version of a text changes no answer: after each of many random edits, those of a
// reader that remembers are equal to those of one that reads the text for the first time.
#include "lib/driver/Workspace.h"
#include "lib/editor/Actions.h"
#include "lib/editor/Diagnose.h"
#include "lib/editor/Outline.h"
#include "lib/language/syntax/ParseMemory.h"
#include "test/support/SourcePath.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::editor;

namespace {

std::string textOf(SourceRange range) {
  return range.valid() ? fmt::format("{}:{}-{}", range.file.index, range.begin, range.end) : "-";
}

void print(const Symbol &symbol, std::string &out) {
  out +=
      fmt::format("symbol {} {} {} {}\n", symbol.name, symbol.detail, textOf(symbol.range), textOf(symbol.nameRange));
  for (const Symbol &part : symbol.parts)
    print(part, out);
}

/// All that an editor asks of a text, as lines.
std::string answersOf(const OpenFiles &open, const std::string &path, CheckMemory *checked = nullptr) {
  std::string out;
  Snapshot snapshot(open, path, catalogFolder());
  for (const Symbol &one : outline(snapshot))
    print(one, out);
  for (const Fold &one : folds(snapshot))
    out += fmt::format("fold {} {} {}\n", one.begin, one.end, one.isComment);
  for (const ColouredToken &one : tokensOf(snapshot))
    out += fmt::format("token {} {} {}\n", textOf(one.range), static_cast<int>(one.kind), one.isDeclaration);
  for (const Occurrence &one : snapshot.namesOf(*snapshot.main()))
    out += fmt::format("name {} {} {} {} {}\n", textOf(one.range), static_cast<int>(one.kind), textOf(one.target),
                       one.declaration ? one.declaration->name.text : "", one.within ? one.within->name.text : "");
  for (const ast::Declaration &one : snapshot.tree()->declarations)
    out += fmt::format("declaration {} {} {}\n", textOf(one.range), one.doc, one.body.size() + one.entries.size());
  for (uint32_t at : snapshot.tree()->layout.starts)
    out += fmt::format("start {}\n", at);
  for (uint32_t at : snapshot.tree()->layout.blocks)
    out += fmt::format("block {}\n", at);
  if (auto edit = formatted(snapshot))
    out += fmt::format("format {} {} {}\n", edit->begin, edit->end, edit->text);
  for (const Lens &one : lenses(snapshot))
    out += fmt::format("lens {} {}\n", textOf(one.at), one.training);
  for (const auto &[file, findings] : diagnose(open, path, [] { return false; }, checked))
    for (const Finding &one : findings)
      out += fmt::format("finding {} {}:{}-{}:{} {} {}\n", file, one.at.begin.line, one.at.begin.column,
                         one.at.end.line, one.at.end.column, one.code, one.message);
  return out;
}

/// Changes a text as a person does: words, signs and lines come, go and are copied.
class Typist {
public:
  explicit Typist(unsigned seed) : chance(seed) {}

  void edit(std::string &text) {
    size_t at = anywhere(text);
    switch (chance() % 6) {
    case 0:
      text.erase(at, 1 + chance() % 12);
      break;
    case 1: { // a whole line goes
      size_t begin = text.rfind('\n', at), end = text.find('\n', at);
      begin = begin == std::string::npos ? 0 : begin;
      text.erase(begin, end == std::string::npos ? std::string::npos : std::max<size_t>(end - begin, 1));
      break;
    }
    case 2: { // some lines are copied to another place
      size_t begin = text.find('\n', at), end = begin;
      for (unsigned i = chance() % 8; i > 0 && end != std::string::npos; --i)
        end = text.find('\n', end + 1);
      if (begin == std::string::npos)
        break;
      std::string lines = text.substr(begin, end == std::string::npos ? end : end - begin);
      size_t to = text.find('\n', anywhere(text));
      text.insert(to == std::string::npos ? text.size() : to, lines);
      break;
    }
    default: {
      static const char *const words[] = {" ",
                                          "\n",
                                          "{",
                                          "}",
                                          "(",
                                          ")",
                                          "x",
                                          "let a = 1\n",
                                          "// about\n",
                                          "/// doc\n",
                                          "=",
                                          ",",
                                          "\"",
                                          "1 GiB",
                                          "step",
                                          "import \"a.dnn\"\n",
                                          "else",
                                          "]",
                                          "ü",
                                          "require ",
                                          "module m(x) -> y {\n  let y = gelu(x)\n}\n",
                                          "#",
                                          "->",
                                          "if a {",
                                          "[",
                                          ".."};
      text.insert(at, words[chance() % std::size(words)]);
    }
    }
  }

private:
  size_t anywhere(const std::string &text) { return text.empty() ? 0 : chance() % text.size(); }
  std::mt19937 chance;
};

std::string example(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(accord::sourcePath("examples/") + name);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string manyModules() {
  std::string text = "import \"catalog/transformer.dnn\"\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("/// number {0}\nmodule part{0}(x, hidden = {0}) -> y {{\n  let a = linear(x, out = hidden)\n"
                        "  let b = gelu(a) // as in the paper\n  let y = linear(b, out = hidden)\n}}\n",
                        i);
  return text;
}

std::string longModel() {
  std::string text = "model long(seq = 8) {\n  input t : int32[seq]\n  var h = embedding(t, entries = 16, size = 8)\n";
  for (int i = 0; i < 20; ++i)
    text += i % 7 == 6 ? "  repeat 2 as again {\n    h = linear(h, out = 8)\n    h = gelu(h)\n  }\n"
                       : fmt::format("  let a{} = linear(h, out = {})\n  h = h + a{}\n", i, 8 * (i + 1), i);
  return text + "  loss cross_entropy(linear(h, out = 16), t)\n}\n";
}

std::string machines() {
  std::string text = "let lanes = 128\n";
  for (int i = 0; i < 6; ++i)
    text += fmt::format(
        "accelerator chip{} {{\n  clock = {} MHz\n  memory hbm : dram {{ capacity = 16 GiB, bandwidth = 1 TB/s }}\n"
        "  memory vmem : sram {{\n    capacity = 16 MiB\n    bandwidth = 8 TB/s\n  }}\n"
        "  core mxu[2] : tensor {{ array = lanes x lanes, types = [bf16] }}\n  path hbm -> vmem -> mxu\n"
        "  require area <= 1 mm^2\n}}\n",
        i, 900 + i);
  return text;
}

void compareAfterEdits(const std::string &path, const std::string &text, unsigned seed, int edits) {
  Typist typist(seed);
  ParseMemory memory;
  CheckMemory checked;
  OpenFiles remembered;
  std::string now = text;
  for (int i = 0; i < edits; ++i) {
    if (i % 25 == 24)
      now = text; // what is broken is put right again
    else
      typist.edit(now);
    remembered.open(path, now, i);
    std::string answers;
    {
      ParseMemory::Use use(memory);
      answers = answersOf(remembered, path, &checked);
    }
    OpenFiles fresh;
    fresh.open(path, now, 1);
    ASSERT_EQ(answers, answersOf(fresh, path)) << "edit " << i << " of seed " << seed << ":\n" << now;
  }
}

TEST(Incremental, LikeAFreshReader) {
  const char *rounds = std::getenv("ACCORD_EDIT_ROUNDS"); // more than once, where somebody asks for it
  for (unsigned i = 0; i < (rounds ? std::stoul(rounds) : 1); ++i) {
    compareAfterEdits("/nowhere/modules.dnn", manyModules(), 5 * i + 1, 125);
    compareAfterEdits("/nowhere/long.dnn", longModel(), 5 * i + 2, 125);
    compareAfterEdits("/nowhere/machines.accel", machines(), 5 * i + 3, 125);
    compareAfterEdits("/nowhere/own.dnn", example("03-own-model/tiny_lm.dnn"), 5 * i + 4, 75);
    compareAfterEdits("/nowhere/chip.accel", example("02-own-machine/my_chip.accel"), 5 * i + 5, 75);
    if (HasFatalFailure())
      return;
  }
}

} // namespace
