// Tables of measured steps: CSV as RFC 4180 has it, columns, cells, and rows that cannot be true.
#include "lib/machine/calibration/Lint.h"
#include "lib/machine/calibration/Rows.h"
#include "lib/support/documents/Csv.h"
#include <gtest/gtest.h>

namespace accord::calibrate {
namespace {

std::vector<Row> good(const std::string &text) {
  auto read = readRows(text, "t.csv");
  if (!read) {
    ADD_FAILURE() << read.error().front().message;
    return {};
  }
  return *read;
}

Error bad(const std::string &text) {
  auto read = readRows(text, "t.csv");
  if (!read)
    return read.error().front();
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(CalibrateCsv, QuotesAndLineEnds) {
  auto read = readCsv("\xEF\xBB\xBF"
                      "a, b ,\"c,\"\"d\"\"\ne\"\r\n\r\n1,,3",
                      "t.csv");
  auto &records = *read;
  ASSERT_EQ(records.size(), 2u);
  ASSERT_EQ(records[0].size(), 3u);
  EXPECT_EQ(records[0][1].text, "b");
  EXPECT_EQ(records[0][2].text, "c,\"d\"\ne");
  EXPECT_EQ(records[1][1].text, "");
  EXPECT_EQ(records[1][2].text, "3");
  EXPECT_EQ(records[1][2].line, 4u); // the quoted cell spans two lines, and one is empty
  EXPECT_EQ(records[1][2].column, 4u);
}

TEST(CalibrateRows, ColumnsInAnyOrder) {
  auto rows = good("step_time_s,id,tp,model\n1.5,r1,8,\"a, b\"\n2e-1,r2,,\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "r1");
  EXPECT_EQ(rows[0].tp, 8);
  EXPECT_EQ(rows[0].model, "a, b");
  EXPECT_EQ(rows[1].step_time_s, 0.2);
  EXPECT_FALSE(rows[1].tp);
}

TEST(CalibrateRows, ErrorsHavePlaces) {
  struct {
    const char *text, *code;
    unsigned line, column;
  } cases[] = {
      {"", "A0460", 1, 1},
      {"id,step_time_s\n", "A0460", 1, 1},
      {"id,step_time_s\nr1,1,2\n", "A0460", 2, 6},
      {"id,step_time_s\nr1\n", "A0460", 2, 1},
      {"id,step_time_s\n\"r1,1\n", "A0460", 2, 1},
      {"id,step_time_s\nr1,\"1\"x\n", "A0460", 2, 7},
      {"id,step_time_s\nr\x01,1\n", "A0460", 2, 2},
      {"id,step_tim\nr1,1\n", "A0461", 1, 4},
      {"id,tp\nr1,1\n", "A0461", 1, 1},
      {"id,tp,step_time_s,tp\nr1,1,1,1\n", "A0461", 1, 19},
      {"id,tp,step_time_s\nr1,x,1\n", "A0462", 2, 4},
      {"id,tp,step_time_s\nr1,-8,1\n", "A0462", 2, 4},
      {"id,tp,step_time_s\nr1,0,1\n", "A0462", 2, 4},
      {"id,tp,step_time_s\nr1,1.5,1\n", "A0462", 2, 4},
      {"id,step_time_s\nr1,nan\n", "A0462", 2, 4},
      {"id,step_time_s\nr1,1e400\n", "A0462", 2, 4},
      {"id,step_time_s\nr1,1\nr1,2\n", "A0462", 3, 1},
      {"id,step_time_s\n,1\n", "A0462", 2, 1},
  };
  for (auto &c : cases) {
    Error error = bad(c.text);
    EXPECT_EQ(numberOf(error.code), c.code) << c.text;
    EXPECT_EQ(error.location.line, c.line) << c.text;
    EXPECT_EQ(error.location.column, c.column) << c.text;
    EXPECT_EQ(error.location.file, "t.csv");
  }
}

TEST(CalibrateRows, AnyBytesAreRefusedOrRead) {
  std::string text = "id,step_time_s\n";
  for (unsigned i = 0; i < 4096; ++i)
    text += static_cast<char>((i * 2654435761u) >> 13);
  bad(text);
  std::string wide = "id";
  for (unsigned i = 0; i < 50000; ++i)
    wide += ",x";
  EXPECT_EQ(bad(wide + "\n1\n").code, Code::BadColumn);
}

std::vector<std::string> lintOf(const std::string &text, const Machine *machine = nullptr) {
  std::vector<std::string> codes;
  for (const Finding &finding : lint(good(text), [&](const Row &) { return machine; }))
    codes.push_back(numberOf(finding.error.code) + ":" + std::to_string(finding.error.location.line));
  return codes;
}
using Codes = std::vector<std::string>;

TEST(CalibrateLint, DegreesMultiplyToDevices) {
  std::string head = "id,n_devices,tp,pp,dp,zero_stage,step_time_s\n";
  EXPECT_EQ(lintOf(head + "r,64,4,8,1,0,1\n"), Codes{"A0464:2"});
  EXPECT_EQ(lintOf(head + "r,320,8,10,8,0,1\n"), Codes{}); // 640: two parts of each
  EXPECT_EQ(lintOf(head + "r,64,4,8,2,0,1\n"), Codes{});
  EXPECT_EQ(lintOf(head + "r,256,1,1,16,3,1\n"), Codes{}); // the rest shares the state
}

TEST(CalibrateLint, NothingIsFasterThanItsPeak) {
  Machine machine;
  machine.name = "m";
  Core core;
  core.peak["fp16"] = FlopsPerSecond(1e14);
  machine.cores.push_back(core);
  machine.memories.push_back({});
  std::string head = "id,n_devices,precision,seq_len,global_batch,model_pflop_per_step,step_time_s\n";
  EXPECT_EQ(lintOf(head + "r,2,fp16,512,8,1,4.9\n", &machine), Codes{"A0463:2"}); // 0.2 PFLOP/s: 5 s at least
  EXPECT_EQ(lintOf(head + "r,2,fp16,512,8,1,5.1\n", &machine), Codes{});
}

TEST(CalibrateLint, ScalingAndRepeats) {
  std::string head = "id,model,n_devices,micro_batch,global_batch,step_time_s\n";
  // 36 images per second on one device, 641 on eight.
  EXPECT_EQ(lintOf(head + "a,net,1,64,64,1.78\nb,net,8,64,512,0.8\n"), Codes{"A0464:3"});
  EXPECT_EQ(lintOf(head + "a,net,1,64,64,1.78\nb,net,8,64,512,1.8\n"), Codes{});
  // With 16 times the work of a device a step's fixed costs weigh less: no contradiction.
  EXPECT_EQ(lintOf(head + "a,net,1,64,64,1.78\nb,net,8,64,8192,20\n"), Codes{});
  EXPECT_EQ(lintOf(head + "a,net,8,64,512,1\nb,net,8,64,512,1.0005\n"), Codes{});
}

TEST(CalibrateLint, OneConfigurationWithTwoValuesIsSaidOnce) {
  std::string head = "id,model,n_devices,micro_batch,global_batch,step_time_s\n";
  // b is within a tenth of both others, which contradict each other; d is another job.
  auto found = lint(good(head + "a,net,8,64,512,1\nb,net,8,64,512,1.06\nc,net,8,64,512,1.15\n"
                                "d,other,8,64,512,2\n"),
                    {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].error.code, Code::ImplausibleRow);
  EXPECT_EQ(found[0].error.location.line, 2u);
  EXPECT_EQ(found[0].rows, (std::vector<size_t>{0, 2})); // neither is fitted
  ASSERT_EQ(found[0].error.notes.size(), 1u);
  EXPECT_EQ(found[0].error.notes[0].first.line, 4u);
}

} // namespace
} // namespace accord::calibrate
