// Readers of Gavel's traces and throughputs: small texts by hand, and the published files where they are.
#include "test/support/GavelTraces.h"
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

const std::string kLine = "LM (batch size 20)\tpython main.py\tlanguage\t--steps\t1\t500\t2\t5\t-1.000000\t12.5\n";

/// "line:column: message" of the error; "" if there is none.
std::string traceError(const std::string &text) {
  const auto trace = readGavelTrace(text, "jobs.trace");
  if (trace)
    return "";
  const Error &error = *trace.getError();
  EXPECT_EQ(error.code, Code::WrongJobsFile);
  EXPECT_EQ(error.location.file, "jobs.trace");
  return std::to_string(error.location.line) + ":" + std::to_string(error.location.column) + ": " + error.message;
}

TEST(GavelReaderTest, ReadsTenColumns) {
  const auto trace = readGavelTrace(kLine + "\n" + kLine, "jobs.trace");
  ASSERT_TRUE(trace) << trace.getError()->message;
  ASSERT_EQ(trace->size(), 2u);
  const GavelJob &job = trace->front();
  EXPECT_EQ(job.application, "LM (batch size 20)");
  EXPECT_EQ(job.folder, "language");
  EXPECT_EQ(job.steps, 500);
  EXPECT_EQ(job.gang, 2u);
  EXPECT_EQ(job.weight, 5);
  EXPECT_FALSE(job.slo);
  EXPECT_EQ(job.arrival, 12.5);
  EXPECT_EQ(trace->back().line, 3u);
}

TEST(GavelReaderTest, ReadsSevenColumnsOfTheOlderFormat) {
  const auto trace = readGavelTrace("A3C\tcd %s && run\t--steps\t1\t14612\t7.000000\t8\r\n", "jobs.trace");
  ASSERT_TRUE(trace) << trace.getError()->message;
  EXPECT_EQ(trace->front().steps, 14612);
  EXPECT_EQ(trace->front().arrival, 7);
  EXPECT_EQ(trace->front().gang, 8u);
  EXPECT_EQ(trace->front().weight, 1);
}

TEST(GavelReaderTest, TraceErrorsAreAtTheirPlaces) {
  EXPECT_EQ(traceError("a\tb\n"), "1:1: found 2 columns between tabs, expected 10, or 7 of the older format");
  EXPECT_EQ(traceError(kLine + "a\tb\tc\t1\t5\t20\t1\n"),
            "2:1: found 7 columns between tabs, expected 10 as in the first line");
  EXPECT_EQ(traceError("a\tb\tc\td\t1\tmany\t1\t1\t-1\t0\n"),
            "1:11: number of steps is 'many', expected a whole number from 1 to 9007199254740992");
  EXPECT_EQ(traceError("a\tb\tc\td\t1\t5\t0\t1\t-1\t0\n"),
            "1:13: number of devices is '0', expected a whole number from 1 to 1000000");
  EXPECT_EQ(traceError("a\tb\tc\td\t1\t5\t1\t1\t-1\tnan\n"),
            "1:20: arrival is 'nan', expected a number from 0 to 10000000000");
  EXPECT_EQ(traceError(kLine + "a\tb\tc\td\t1\t5\t1\t1\t-1\t3\n"),
            "2:20: arrival '3' is before the one of the line above, expected jobs by arrival");
  EXPECT_EQ(traceError("\n \n"), "1:1: trace has no jobs, expected one a line");
}

TEST(GavelReaderTest, ReadsThroughputs) {
  const auto table = readGavelThroughputs(R"j({"v100": {"('A (b)', 2)": {"null": 4.5, "('A (b)', 2)": [1, 2]}},
    "k80": {"('A (b)', 2)": {"null": 0.0}, "('B', 1)": {"null": 3}}})j",
                                          "rates.json");
  ASSERT_TRUE(table) << table.getError()->message;
  EXPECT_EQ(table->types, (std::vector<std::string>{"k80", "v100"}));
  EXPECT_EQ(table->ratesOn({"v100", "k80", "tpu"}, "A (b)", 2), (std::vector<double>{4.5, 0, 0}));
  EXPECT_TRUE(table->ratesOn({"v100"}, "A (b)", 4).empty());
  EXPECT_EQ(table->typesThatFit("A (b)", 2), (std::vector<size_t>{1}));
  EXPECT_EQ(table->typesThatFit("B", 1), (std::vector<size_t>{0}));
}

TEST(GavelReaderTest, ThroughputErrorsAreAtTheirPlaces) {
  const std::pair<const char *, std::pair<unsigned, const char *>> wrong[] = {
      {"{\n\"v100\": {\"('A', 1)\": {\"null\": -1}}}", {2, "expected 0 or more steps a second"}},
      {"{\n\n\"v100\": {\"A, 1\": {\"null\": 1}}}", {3, "expected a key"}},
      {"{\"v100\": {\"('A', 1)\": {}}}", {1, "'null'"}},
      {"{\"v100\": {\"('A', 1)\": {\"null\": 1,\n\"('B', 1)\": [1]}}}", {2, "list of two rates"}},
      {"[]", {1, "device types"}},
      {"{\n\"v100\": ", {2, ""}}};
  for (const auto &[text, expected] : wrong) {
    const auto table = readGavelThroughputs(text, "rates.json");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.getError()->code, Code::WrongJobsFile);
    EXPECT_EQ(table.getError()->location.line, expected.first) << text;
    EXPECT_GT(table.getError()->location.column, 0u);
    EXPECT_NE(table.getError()->message.find(expected.second), std::string::npos) << table.getError()->message;
  }
}

TEST(GavelReaderTest, ReadsThePublishedFiles) {
  const auto text = accord::testing::gavelFile("physical_cluster_throughputs.json");
  if (text.empty())
    GTEST_SKIP() << accord::testing::kNoGavel;
  const auto table = readGavelThroughputs(text, "rates.json");
  ASSERT_TRUE(table) << table.getError()->message;
  EXPECT_EQ(table->types.size(), 6u);
  EXPECT_EQ(table->rates.size(), 83u);
  const std::pair<const char *, size_t> traces[] = {{"small_test", 20}, {"medium_test", 20}, {"max_min_fairness", 96}};
  for (const auto &[name, count] : traces) {
    const auto content = accord::testing::gavelFile(std::string("traces/") + name + ".trace");
    ASSERT_FALSE(content.empty()) << name;
    const auto trace = readGavelTrace(content, name);
    ASSERT_TRUE(trace) << trace.getError()->message;
    EXPECT_EQ(trace->size(), count);
    for (const GavelJob &job : *trace)
      EXPECT_FALSE(table->typesThatFit(job.application, job.gang).empty()) << job.application;
  }
}

} // namespace
} // namespace accord::jobs
