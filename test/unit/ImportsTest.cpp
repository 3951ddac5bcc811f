// Imports: order, circles, duplicates, what is missing, and what names mean.
#include "lib/syntax/Imports.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace accord;
namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path;
  SourceManager sources;
  Diagnostics diags{sources};
  Folder() {
    path = fs::temp_directory_path() / ("accord-imports-" + std::to_string(::getpid()) + "-" +
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(path / "catalog");
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string &name, const std::string &text) { std::ofstream(path / name) << text; }
  Program loadFile(const std::string &name) { return load(diags, (path / name).string(), {(path / "catalog").string()}); }
  std::string errors() {
    std::string result;
    for (const Diagnostic &d : diags.sorted())
      result += entryOf(d.code).number.str() + " " + d.message + " / " + d.help + " / " + std::to_string(d.notes.size()) + "\n";
    return result;
  }
};
} // namespace

TEST(Imports, ImportedFilesComeFirstAndOnce) {
  Folder f;
  f.write("catalog/base.accel", "let a = 1\n");
  f.write("left.accel", "import \"catalog/base.accel\"\nlet b = 2\n");
  f.write("right.accel", "import \"catalog/base.accel\"\nlet b = 3\nlet d = 3\n");
  f.write("main.dnn", "import \"left.accel\"\nimport \"right.accel\"\nlet c = 4\n");
  Program program = f.loadFile("main.dnn");
  ASSERT_TRUE(program.complete) << f.diags.text();
  ASSERT_EQ(program.files.size(), 4u);
  EXPECT_EQ(program.files[0].ast->declarations[0].name.text, "a");
  EXPECT_EQ(program.main().language, ast::Language::Dnn);
  EXPECT_EQ(program.files[3].imports, (std::vector<size_t>{1, 2}));
  auto own = program.find(3, "c"), both = program.find(3, "b"), far = program.find(3, "a"), right = program.find(3, "d");
  EXPECT_TRUE(own.size() == 1 && own[0].import == ~size_t{0});
  EXPECT_EQ(both.size(), 2u); // ambiguous
  EXPECT_TRUE(far.size() == 1 && far[0].file == 0 && far[0].import == 0);
  EXPECT_TRUE(right.size() == 1 && right[0].import == 1);
  EXPECT_TRUE(program.find(3, "zzz").empty());
  EXPECT_EQ(program.names(3).size(), 5u);
  reportUnusedImports(f.diags, program, {true, false});
  EXPECT_NE(f.errors().find("A0013 nothing of 'right.accel' is used"), std::string::npos);
}

TEST(Imports, CircleWithANoteAtEachImport) {
  Folder f;
  f.write("a.accel", "import \"b.accel\"\nlet a = 1\n");
  f.write("b.accel", "import \"c.accel\"\nlet b = 1\n");
  f.write("c.accel", "import \"a.accel\"\nlet c = 1\n");
  EXPECT_FALSE(f.loadFile("a.accel").complete);
  EXPECT_EQ(f.errors(), "A0011 'a.accel' imports itself /  / 2\n");
}

TEST(Imports, MissingDuplicateAndWrongKind) {
  Folder f;
  f.write("catalog/a100.accel", "let a = 1\n");
  f.write("t.dnn", "let b = 1\n");
  f.write("main.accel", "import \"catalog/a10.accel\"\nimport \"catalog/a100.accel\"\nimport \"./catalog/a100.accel\"\nimport \"t.dnn\"\nlet c = 1\n");
  Program program = f.loadFile("main.accel");
  EXPECT_EQ(f.errors(), "A0008 no file 'catalog/a10.accel' beside this one or in the catalogue / did you mean 'catalog/a100.accel'? / 0\n"
                        "A0012 './catalog/a100.accel' imported twice /  / 1\n"
                        "A0014 a machine cannot import a training /  / 0\n");
  EXPECT_EQ(program.main().imports.size(), 4u);
}

TEST(Imports, NamesDeclaredTwiceAndUnreadableFiles) {
  Folder f;
  f.write("a.accel", "let a = 1\naccelerator a {}\n");
  f.loadFile("a.accel");
  EXPECT_EQ(f.errors(), "A0105 'a' declared twice /  / 1\n");
  Program missing = f.loadFile("nothing.accel");
  EXPECT_FALSE(missing.complete);
  EXPECT_TRUE(missing.main().declarations.empty());
}
