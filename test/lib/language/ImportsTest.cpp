// Imports: circles, duplicates, what is missing, and what names mean.
#include "lib/language/syntax/Sources.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace accord;
namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path;
  SourceManager manager;
  Diagnostics diags{manager};
  std::unique_ptr<Sources> sources;
  Folder() {
    path = fs::temp_directory_path() / ("accord-imports-" + std::to_string(::getpid()) + "-" +
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(path / "shipped");
    sources = std::make_unique<Sources>(diags, (path / "shipped").string());
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string &name, const std::string &text) { std::ofstream(path / name) << text; }
  Sources::Unit *load(const std::string &name) { return sources->load((path / name).string(), {}); }
  std::string codes() {
    std::string result;
    for (const Diagnostic &d : diags.sorted())
      result += (result.empty() ? "" : " ") + entryOf(d.code).number.str() + ":" + std::to_string(d.notes.size());
    return result;
  }
};
} // namespace

TEST(Imports, DiamondThroughTheCatalogueIsReadOnce) {
  Folder f;
  f.write("shipped/base.accel", "let a = 1\n");
  f.write("left.accel", "import \"catalog/base.accel\"\nlet b = a\n");
  f.write("right.accel", "import \"catalog/base.accel\"\nlet d = a\n");
  f.write("main.dnn", "import \"left.accel\"\nimport \"right.accel\"\nlet c = b + d\n");
  Sources::Unit *unit = f.load("main.dnn");
  ASSERT_TRUE(unit);
  EXPECT_EQ(f.codes(), "") << f.diags.text();
  EXPECT_EQ(f.manager.size(), 4u);
  ASSERT_TRUE(f.sources->find(*unit, "d", {}));
  EXPECT_EQ(f.sources->find(*unit, "d", {})->name.text, "d");
  EXPECT_FALSE(f.sources->find(*unit, "nothing", {}));
}

TEST(Imports, CircleHasANoteAtEachImport) {
  Folder f;
  f.write("a.accel", "import \"b.accel\"\nlet a = b\n");
  f.write("b.accel", "import \"c.accel\"\nlet b = c\n");
  f.write("c.accel", "import \"a.accel\"\nlet c = a\n");
  f.load("a.accel");
  EXPECT_NE(f.codes().find("A0011:2"), std::string::npos) << f.diags.text();
}

TEST(Imports, MissingDuplicateUnusedWrongKindAmbiguous) {
  Folder f;
  f.write("x.accel", "let a = 1\n");
  f.write("y.accel", "let a = 2\n");
  f.write("t.dnn", "let b = 1\n");
  f.write("1.accel", "import \"nothing.accel\"\nlet c = 1\n");
  f.write("2.accel", "import \"x.accel\"\nimport \"./x.accel\"\nlet c = a\n");
  f.write("3.accel", "import \"t.dnn\"\nlet c = b\n");
  f.write("4.accel", "import \"x.accel\"\nlet c = 1\n");
  f.write("5.accel", "import \"x.accel\"\nimport \"y.accel\"\nlet c = a\n");
  f.write("6.accel", "let a = 1\naccelerator a {}\n");
  f.load("1.accel");
  EXPECT_EQ(f.codes(), "A0008:0") << f.diags.text();
  f.load("2.accel");
  EXPECT_EQ(f.codes(), "A0008:0 A0012:1") << f.diags.text();
  f.load("3.accel");
  EXPECT_NE(f.codes().find("A0014"), std::string::npos) << f.diags.text();
  f.load("4.accel");
  EXPECT_EQ(f.codes().find("A0013"), std::string::npos) << f.diags.text();
  f.sources->reportUnused();
  EXPECT_NE(f.codes().find("A0013"), std::string::npos) << f.diags.text();
  Sources::Unit *five = f.load("5.accel");
  ASSERT_TRUE(five);
  f.sources->find(*five, "a", five->file->declarations[0].range);
  EXPECT_NE(f.codes().find("A0110:2"), std::string::npos) << f.diags.text();
  f.load("6.accel");
  EXPECT_NE(f.codes().find("A0105:1"), std::string::npos) << f.diags.text();
}
