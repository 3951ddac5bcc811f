// Tables of Accelergy and CACTI, written from their published formats, and what is wrong with broken ones.
#include "lib/machine/energy/ForeignTable.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;
namespace {

const char *kErt = R"(ERT:
  version: 0.3
  tables:
  - name: eyeriss.PE[0..167].mac
    actions:
    - name: mac_random
      arguments: null
      energy: 2.2
    - name: idle
      arguments: null
      energy: 0.01
  - name: eyeriss.glb
    actions:
    - name: read
      arguments: {address_delta: 0, data_delta: 0}
      energy: 0.5
    - name: read
      arguments: {address_delta: 1, data_delta: 1}
      energy: 20.25
    - name: write
      energy: 24 pJ
)";

const char *kReport = R"(Cache Parameters:
  Total cache size (bytes): 32768
  Number of banks: 4
  Block size (bytes): 8
Access time (ns): 0.5
Total dynamic read energy per access (nJ): 0.01
Total dynamic write energy per access (nJ): 0.02
Total leakage power of a bank (mW): 3.5
Total gate leakage power of a bank (mW): 0.5
Cache height x width (mm): 0.2 x 0.3
  Total leakage power of a bank (mW): 99
)";

const char *kCsvHead =
    "Tech node (nm), Capacity (bytes), Number of banks, Associativity, Output width (bits), Access time (ns), "
    "Random cycle time (ns), Dynamic search energy (nJ), Dynamic read energy (nJ), Dynamic write "
    "energy (nJ), Standby leakage per bank(mW), Area (mm2), Ndwl, \n";

const char *kPlugIn = "# of two sizes\n"
                      "technology,width|datawidth,depth,dynamic energy(pJ),area(um^2),action,data_delta,comment\n"
                      "45nm,64,512,1.5,900,read,0\n"
                      "45nm,64,512,2.5,900,read,1,new data\n"
                      "45nm,64,512,3,900,write|update,1\n"
                      "45nm,32,512,1,500,read|write,1\n";

std::string what(const std::string &text) {
  auto read = ForeignTable::read(text, "t");
  const Error *error = read.getError();
  return error ? std::to_string(error->location.line) + ":" + std::to_string(error->location.column) + " " +
                     numberOf(error->code) + " " + error->message +
                     (error->suggestion.empty() ? "" : " (" + error->suggestion + ")")
               : "good";
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ForeignTables, EnergiesOfAccelergy) {
  auto read = ForeignTable::read(kErt, "t");
  ASSERT_TRUE(read) << what(kErt);
  ASSERT_EQ(read->components.size(), 2u);
  const ForeignComponent &mac = read->components[0], &glb = read->components[1];
  EXPECT_EQ(mac.name, "eyeriss.PE.mac");
  EXPECT_EQ(mac.instances, 168);
  EXPECT_TRUE(mac.counted);
  EXPECT_NEAR(mac.actions.at("mac_random"), 2.2e-12, 1e-24);
  EXPECT_NEAR(glb.actions.at("read"), 20.25e-12, 1e-24); // new data at a new address
  EXPECT_NEAR(glb.actions.at("write"), 24e-12, 1e-24);
  EXPECT_FALSE(glb.counted);
  EXPECT_FALSE(glb.area);
}

// 0.2 has maps instead of lists; a summary has the largest energy of an action.
TEST(ForeignTables, OlderFormsOfAccelergy) {
  auto old =
      ForeignTable::read("ERT:\n  tables:\n    simple.glb:\n      idle:\n        arguments: null\n        energy: 0\n"
                         "      read:\n      - arguments:\n          data_delta: 0\n        energy: 1\n"
                         "      - energy: 3\n  version: 0.2\n",
                         "t");
  ASSERT_TRUE(old);
  EXPECT_NEAR(old->components[0].actions.at("read"), 3e-12, 1e-24);
  auto summary = ForeignTable::read(
      "ERT_summary:\n  version: 0.3\n  table_summary:\n  - name: s.glb\n    actions:\n    - name: read\n      average "
      "energy: 6.0\n      max energy: 8\n      min energy: 4\n",
      "t");
  ASSERT_TRUE(summary);
  EXPECT_NEAR(summary->components[0].actions.at("read"), 8e-12, 1e-24);
  auto areas = ForeignTable::read("ART:\n  version: 0.4\n  tables:\n  - name: s.glb\n    area: 120.5\n  - name: s.mac\n"
                                  "    area: 0.001 mm2\n",
                                  "t");
  ASSERT_TRUE(areas);
  EXPECT_NEAR(*areas->components[0].area, 120.5e-12, 1e-20);
  EXPECT_NEAR(*areas->components[1].area, 1000e-12, 1e-20);
}

TEST(ForeignTables, MemoryOfCacti) {
  auto read = ForeignTable::read(kReport, "t");
  ASSERT_TRUE(read) << what(kReport);
  ASSERT_TRUE(read->single);
  const ForeignComponent &memory = read->components[0];
  EXPECT_NEAR(*memory.area, 0.06e-6, 1e-15);
  EXPECT_NEAR(memory.actions.at("read"), 10e-12, 1e-21);
  EXPECT_NEAR(memory.actions.at("write"), 20e-12, 1e-21);
  EXPECT_NEAR(*memory.leakage, 4 * 4e-3, 1e-12); // of four banks, gate leakage too
  EXPECT_EQ(memory.bytes, 8);
  EXPECT_EQ(memory.capacity, 32768);
  // The last row is the last run.
  auto csv = ForeignTable::read(std::string(kCsvHead) + "45, 65536, 1, 1, 64, 1, 1, 0, 0.03, 0.04, 9, 0.5, 2, \n"
                                                        "45, 32768, 2, 1, 128, 1, 1, N/A, 0.01, 0.02, 3, 0.25, 2, \n",
                                "t");
  ASSERT_TRUE(csv);
  EXPECT_NEAR(*csv->components[0].area, 0.25e-6, 1e-15);
  EXPECT_EQ(csv->components[0].bytes, 16);
  EXPECT_EQ(csv->components[0].capacity, 32768);
  EXPECT_NEAR(*csv->components[0].leakage, 6e-3, 1e-12);
}

// The forms of accelergy-table-based-plug-ins and accelergy-library-plug-in.
TEST(ForeignTables, TablesOfPlugIns) {
  auto read = ForeignTable::read(kPlugIn, "folder/SRAM.csv");
  ASSERT_TRUE(read) << what(kPlugIn);
  EXPECT_FALSE(read->single);
  ASSERT_EQ(read->components.size(), 2u);
  const ForeignComponent &wide = read->components[0], &narrow = read->components[1];
  EXPECT_EQ(wide.name, "SRAM width=64");
  EXPECT_EQ(narrow.name, "SRAM width=32");
  EXPECT_EQ(wide.bytes, 8);
  EXPECT_EQ(wide.capacity, 4096);
  EXPECT_NEAR(*wide.area, 900e-12, 1e-20);
  EXPECT_NEAR(wide.actions.at("read"), 2.5e-12, 1e-21); // the largest of its arguments
  EXPECT_NEAR(wide.actions.at("update"), 3e-12, 1e-21);
  EXPECT_NEAR(narrow.actions.at("write"), 1e-12, 1e-21);
  EXPECT_EQ(wide.location.line, 3u);
  // Several components in one file, of one size each: no more than their names.
  auto several =
      ForeignTable::read("COMPONENT: datapath\ntechnology,energy,area,  action\n65nm, 12, 10535,read\n"
                         "65nm, 2.4, 10535,leak\n\nCOMPONENT: mac\nenergy(fJ),area(mm2),action\n500,0.001,mac\n",
                         "components.csv");
  ASSERT_TRUE(several);
  ASSERT_EQ(several->components.size(), 2u);
  EXPECT_EQ(several->components[0].name, "datapath");
  EXPECT_EQ(several->components[0].bytes, 0);
  EXPECT_NEAR(several->components[0].actions.at("leak"), 2.4e-12, 1e-21);
  EXPECT_EQ(several->components[1].name, "mac");
  EXPECT_NEAR(several->components[1].actions.at("mac"), 0.5e-12, 1e-21);
  EXPECT_NEAR(*several->components[1].area, 1e-9, 1e-18);
}

TEST(ForeignTables, BrokenTablesOfPlugIns) {
  auto table = [&](const std::string &from, const std::string &to) { return what(replaced(kPlugIn, from, to)); };
  EXPECT_EQ(table("2.5", "much"), "4:13 A1406 'energy' is a number, found 'much'");
  EXPECT_EQ(table("2.5", "-2"), "4:13 A1406 'energy' is finite and not negative, found '-2'");
  EXPECT_EQ(table("2.5", "1e999"), "4:13 A1406 'energy' is finite and not negative, found '1e999'");
  EXPECT_EQ(table("2.5,900", "2.5,901"), "4:17 A1406 't' has two areas");
  EXPECT_EQ(table("2.5,900", "2.5,"), "4:17 A1406 'area' is a number, found ''");
  EXPECT_EQ(table("(pJ)", "(um^2)"), "2:34 A1406 'energy' is a energy (J), not in 'um^2'");
  EXPECT_EQ(table("(um^2)", "(qm2)"), "2:53 A1406 'area' is a area (mm2), not in 'qm2'");
  EXPECT_EQ(table("3,900,write|update,1", "3,900"), "5:1 A1406 the row has 5 cells, but the first line 7");
  EXPECT_EQ(table("write|update", "read"), "5:19 A1406 action 'read' of 't' stands twice");
  EXPECT_EQ(table("write|update", "write|"), "5:19 A1406 an action has no name");
  EXPECT_EQ(table("45nm,32", "45nm,wide"), "6:6 A1406 'width' is a number, found 'wide'");
  EXPECT_EQ(table("depth", "energy"), "2:35 A1406 column 'energy' stands twice");
  EXPECT_EQ(what("technology,energy,action\n"), "1:1 A1406 the table has no row");
  EXPECT_EQ(what("COMPONENT:\nenergy,action\n"), "1:1 A1406 'COMPONENT:' stands before a name");
  EXPECT_EQ(what("COMPONENT: a\nenergy,actions\n1,read\n"),
            "2:1 A1406 a table of components has the columns 'energy' and 'action'");
}

TEST(ForeignTables, BrokenTablesOfAccelergy) {
  auto ert = [&](const std::string &from, const std::string &to) { return what(replaced(kErt, from, to)); };
  EXPECT_EQ(ert("energy: 2.2", "energy: much").substr(0, 47), "8:15 A1406 'energy' is a number, found 'much': ");
  EXPECT_EQ(ert("energy: 2.2", "energy: -2.2"), "8:15 A1406 'energy' is finite and not negative, found '-2.2'");
  EXPECT_EQ(ert("energy: 2.2", "energy: inf"), "8:15 A1406 'energy' is finite and not negative, found 'inf'");
  EXPECT_EQ(ert("energy: 2.2", "energy: 2.2 um2"), "8:15 A1406 'energy' is a energy (J), found '2.2 um2'");
  EXPECT_EQ(ert("energy: 2.2", "energy:"), "9:5 A1406 'energy' is a number");
  EXPECT_EQ(ert("energy: 2.2", "enrgy: 2.2"), "6:7 A1406 action 'mac_random' of 'eyeriss.PE.mac' has no 'energy'");
  EXPECT_EQ(ert("version: 0.3", "version: 7"), "2:12 A1406 version '7' is unknown: 0.2, 0.3, 0.4 are read");
  EXPECT_EQ(ert("tables:", "table:"), "3:3 A1406 'table' of 'ERT' is unknown (tables)");
  EXPECT_EQ(ert("ERT:", "ETR:"),
            "1:1 A1406 'ETR' is no table of Accelergy, which are ERT, ART, ERT_summary, ART_summary (ERT)");
  EXPECT_EQ(ert("eyeriss.glb", "eyeriss.PE.mac"), "12:11 A1406 component 'eyeriss.PE.mac' stands twice");
  EXPECT_EQ(ert("[0..167]", "[167..0]"),
            "4:11 A1406 'eyeriss.PE[167..0].mac' has a range that is none: [first..last] counts instances");
  EXPECT_EQ(ert("[0..167]", "[0..167").substr(0, 10), "4:11 A1406");
  EXPECT_EQ(ert("- name: eyeriss.glb\n    actions:", "- actions:").substr(0, 40),
            "12:5 A1406 a component has no 'name'");
  EXPECT_EQ(ert("actions:\n    - name: mac_random", "acts:\n    - name: mac_random"),
            "4:5 A1406 component 'eyeriss.PE.mac' has no 'actions'");
  EXPECT_EQ(ert("    - name: mac_random", "    - title: mac_random"),
            "6:7 A1406 an action of 'eyeriss.PE.mac' has no 'name'");
  EXPECT_EQ(ert("  version: 0.3\n", "  version: 0.3\n  version: 0.3\n"), "3:3 A1406 'version' stands twice");
  EXPECT_EQ(what("ERT:\n  version: 0.3\n  tables: []\n"), "2:3 A1406 'ERT' has no components in 'tables'");
  EXPECT_EQ(what("ART:\n  tables:\n  - name: a.b\n"), "3:5 A1406 component 'a.b' has no 'area'");
  EXPECT_EQ(what("ART:\n  tables:\n  - name: a.b\n    area: *x\n").substr(0, 9), "4:5 A1406");
  EXPECT_EQ(what(""), "1:1 A1406 the file has no table of Accelergy (ERT, ART) and none of CACTI");
  EXPECT_EQ(what("- name: chip.glb\n  area: 1\n"),
            "1:1 A1406 the file has no table of Accelergy (ERT, ART) and none of CACTI");
  EXPECT_EQ(what("just words"), "1:1 A1406 the file has no table of Accelergy (ERT, ART) and none of CACTI");
  EXPECT_EQ(what("ERT: [\n").substr(3, 7), " A1406 ");
  EXPECT_EQ(what("ERT: \x01"), "1:6 A1406 a control character stands in the file");
  EXPECT_EQ(what("ERT: \xff"), "1:6 A1406 the file is no UTF-8");
  EXPECT_EQ(what("ERT:\n  tables: " + std::string(200, '[') + std::string(200, ']')).substr(2, 8), "61 A1406");
}

TEST(ForeignTables, BrokenFilesOfCacti) {
  auto report = [&](const std::string &from, const std::string &to) { return what(replaced(kReport, from, to)); };
  EXPECT_EQ(report("energy per access (nJ): 0.01", "energy per access (qJ): 0.01").substr(0, 78),
            "6:44 A1406 'Total dynamic read energy per access' has an unknown unit: unknown");
  EXPECT_EQ(report("read energy per access (nJ)", "read energy per access (ns)").substr(0, 60),
            "6:44 A1406 'Total dynamic read energy per access' is a energ");
  EXPECT_EQ(report("(nJ): 0.01", "(nJ): lots"),
            "6:44 A1406 'Total dynamic read energy per access' is a number, found 'lots'");
  EXPECT_EQ(report("(nJ): 0.01", "(nJ): -1"),
            "6:44 A1406 'Total dynamic read energy per access' is finite and not negative, found '-1'");
  EXPECT_EQ(report("0.2 x 0.3", "0 x 0.3"), "10:28 A1406 'Cache height x width' is positive");
  EXPECT_EQ(report("Block size (bytes): 8", ""), "1:1 A1406 CACTI's report has no 'Block size'");
  EXPECT_EQ(report("Cache height x width (mm): 0.2 x 0.3", ""),
            "1:1 A1406 CACTI's report has no 'Cache height x width'");
  EXPECT_EQ(what(kCsvHead), "1:1 A1406 CACTI's table has no row");
  EXPECT_EQ(what(std::string(kCsvHead) + "45, 65536, 1, 1,\n"), "2:1 A1406 the row has 4 cells, but the first line 13");
  EXPECT_EQ(
      what(replaced(kCsvHead, "Area (mm2)", "Size (mm2)") + "45, 65536, 1, 1, 64, 1, 1, 0, 0.03, 0.04, 9, 0.5, 2,\n"),
      "1:1 A1406 CACTI's table has no 'Area'");
  EXPECT_EQ(what(std::string(kCsvHead) + "45, 65536, 1, 1, 64, 1, 1, 0, , 0.04, 9, 0.5, 2,\n"),
            "2:31 A1406 'Dynamic read energy' is a number, found ''");
}

// Mutations of good files are tables or errors with a place, and nothing else.
TEST(ForeignTables, AnyTextIsAnswered) {
  const std::string good[] = {kErt, kReport, kPlugIn,
                              std::string(kCsvHead) + "45, 65536, 1, 1, 64, 1, 1, 0, 0.03, 0.04, 9, 0.5, 2,\n"};
  const std::string pieces[] = {
      ":",  "-",     "[", "]",  "{",   "}", "\"",     "'",   "\n",    "  ",       "&a",
      "*a", "|",     ">", "!x", "?",   "#", "---",    "...", ",",     "%",        "\t",
      "\\", "1e999", "(", ")",  " x ", "@", "<<: *a", "? [", "- - -", "\xc3\x28", std::string(1, '\0')};
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good[random() % std::size(good)];
    for (unsigned edits = 1 + random() % 6; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      if (random() % 3)
        text.insert(at, pieces[random() % std::size(pieces)]);
      else
        text.erase(at, 1 + random() % 12);
    }
    auto read = ForeignTable::read(text, "t");
    if (const Error *error = read.getError()) {
      ASSERT_EQ(error->code, Code::BadComponentTable) << text;
      ASSERT_GE(error->location.line, 1u) << text;
      ASSERT_FALSE(error->message.empty());
    }
  }
}

} // namespace
