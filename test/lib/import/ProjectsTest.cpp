// Projects and shops of public libraries: small ones by hand, published optima where the data is there, broken files.
#include "lib/import/projects/Projects.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/support/SharedData.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace accord;

namespace {

using Importer = std::optional<PsplibImport> (*)(Diagnostics &, FileId);

SchedulingResult solved(Importer importer, const std::string &text) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto project = importer(diags, sources.add("project", text));
  EXPECT_TRUE(project) << diags.text();
  return project ? schedule(project->problem, {}) : SchedulingResult();
}

int64_t optimum(Importer importer, const std::string &text) {
  SchedulingResult result = solved(importer, text);
  EXPECT_TRUE(result.optimal());
  return result.solution.makespan;
}

// Two jobs of 2 of R1 (capacity 2) one after the other in any order, beside one of R2: 3 + 4; then 1.
constexpr const char *kPatterson = "6 2\n\n 2 1\n\n 0 0 0 3 2 3 4\n 3 2 0 1 5\n 4 2 0 1 5\n 5 0 1 1 5\n 1 1 1 1 6\n"
                                   " 0 0 0 0\n";

TEST(Projects, Patterson) {
  EXPECT_EQ(optimum(importPatterson, kPatterson), 8);
  EXPECT_EQ(optimum(importPatterson, "0 0"), 0);
  EXPECT_EQ(optimum(importPatterson, "1 0 7 0"), 7);
}

// Lags from start to start: 2 starts 5 after 1 (3 + a delay of 2), the sink 4 after 2.
constexpr const char *kProgenMax =
    "2\t1\t0\t0\r\n0\t1\t1\t1\t[0]\r\n1\t1\t1\t2\t[5]\r\n2\t1\t1\t3\t[4]\r\n3\t1\t0\t\r\n"
    "0\t1\t0\t0\r\n1\t1\t3\t1\r\n2\t1\t4\t1\r\n3\t1\t0\t0\r\n1\r\n";

TEST(Projects, ProgenMax) {
  EXPECT_EQ(optimum(importProgenMax, kProgenMax), 9);
  // Job 1 takes 3 and starts at most 9 after job 2, or none of this holds: 2 starts 5 after 1, which may start 5
  // after 2.
  auto read = [](llvm::StringRef lags) {
    std::string text = kProgenMax;
    text.replace(text.find("1\t2\t[5]"), 7, lags.str());
    SourceManager sources;
    Diagnostics diags(sources);
    auto project = importProgenMax(diags, sources.add("max.sch", text));
    EXPECT_TRUE(project) << diags.text();
    return project ? project->problem : SchedulingProblem();
  };
  SchedulingProblem maximum = read("2\t2\t0\t[5]\t[-9]");
  ASSERT_EQ(maximum.lags.size(), 1u);
  EXPECT_EQ(maximum.lags[0].lag, -9);
  EXPECT_EQ(schedule(maximum, {}).solution.makespan, 9);
  EXPECT_EQ(read("1\t2\t[2]").lags.size(), 1u);        // an overlap
  EXPECT_TRUE(read("2\t2\t1\t[5]\t[0]").lags.empty()); // what lets a job start 0 after itself says nothing
}

constexpr const char *kTwoByTwo = "# two jobs\n2 2\n0 3 1 2\n1 4 0 1\n";

TEST(Projects, JobShop) {
  EXPECT_EQ(optimum(importJobShop, kTwoByTwo), 6);
  // From 1; and as Taillard writes it.
  EXPECT_EQ(optimum(importJobShop, "2 2\n1 3 2 2\n2 4 1 1\n"), 6);
  EXPECT_EQ(optimum(importJobShop, "Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound\n"
                                   " 2 2 840612802 398197754 6 6\nTimes\n 3 2\n 4 1\nMachines\n 1 2\n 2 1\n"),
            6);
  // Fisher and Thompson 1963, 6 x 6: 55.
  EXPECT_EQ(optimum(importJobShop,
                    " +++++++++\n instance ft06\n Fisher and Thompson 6x6\n 6 6\n 2 1 0 3 1 6 3 7 5 3 4 6\n"
                    " 1 8 2 5 4 10 5 10 0 10 3 4\n 2 5 3 4 5 8 0 9 1 1 4 7\n 1 5 0 5 2 5 3 3 4 8 5 9\n"
                    " 2 9 1 3 4 5 5 4 0 3 3 1\n 1 3 3 3 5 9 0 10 4 4 2 1\n +++++++++\n"),
            55);
}

TEST(Projects, FlexibleJobShop) {
  // The first operation of both jobs on different machines, then each where it is short.
  EXPECT_EQ(optimum(importFlexibleJobShop, "2 2 1.5\n2 2 1 3 2 9 1 2 2\n1 2 1 4 2 4\n"), 6);
  EXPECT_EQ(optimum(importFlexibleJobShop, "1 1\n1 1 1 5"), 5);
}

/// A text with one word replaced.
struct Broken {
  Importer importer;
  const char *text, *message;
};

TEST(Projects, BrokenFilesAreRefusedAtTheirPlaces) {
  const Broken kBroken[] = {
      {importPatterson, "", "error[A0010]: the file is empty"},
      {importPatterson, " \n\t\n", "error[A0010]: the file is empty"},
      {importPatterson, "a 2",
       ":1:1: error[A0811]: the number of jobs must be a whole number from 0 to 1000000, found 'a'"},
      {importPatterson, "-1 2", ":1:1: error[A0811]: the number of jobs"},
      {importPatterson, "1000001 2", ":1:1: error[A0811]: the number of jobs"},
      {importPatterson, "1 1.5", ":1:3: error[A0811]: the number of resources"},
      {importPatterson, "1 1\n3\n2", ":3:2: error[A0811]: the file ends where the request of job 1 for R1 is expected"},
      {importPatterson, "1 1\n3\n2 4 0", ":3:3: error[A0811]: job 1 requests 4 of R1, which has 3"},
      {importPatterson, "1 1\n3\n2 3 1 2", ":3:7: error[A0811]: a successor of job 1 must be 1, found '2'"},
      {importPatterson, "1 1\n3\n2 3 0 7", ":3:7: error[A0811]: the file goes on after the last of 1 jobs"},
      {importPatterson, "2 0\n1 1 2\n1 1 1", "error[A0811]: the precedences form a cycle"},
      {importPatterson, "1 0\n99999999999999 0",
       ":2:1: error[A0811]: the duration of job 1 must be a whole number from 0 to 2^40"},
      {importPatterson, "1 0\n\x01", "error[A0006]: the byte 0x01 is no text"},
      {importProgenMax, "", "error[A0010]"},
      {importProgenMax, "1 1 1 0", ":1:5: error[A0811]: the number of nonrenewable resources must be 0, found '1'"},
      {importProgenMax, "0 0 0 0\n0 2 0\n", ":2:3: error[A0811]: the number of modes of job 0"},
      {importProgenMax, "0 0 0 0\n1 1 0\n", ":2:1: error[A0811]: the next job must be 0, found '1'"},
      {importProgenMax, "0 0 0 0\n0 1 1 1 0\n",
       ":2:9: error[A0811]: the time lag from job 0 to job 1 is expected in brackets"},
      {importProgenMax, "0 0 0 0\n0 1 1 1 [x]\n", ":2:10: error[A0811]: the time lag"},
      {importProgenMax, "0 0 0 0\n0 1 1 2 [0]\n",
       ":2:7: error[A0811]: a successor of job 0 must be a whole number from 0 to 1"},
      {importProgenMax, "0 0 0 0\n0 1 1 0 [2]\n1 1 0\n0 1 3\n1 1 0\n",
       ":2:9: error[A0811]: job 0 starts 2 after itself"},
      {importJobShop, "", "error[A0010]"},
      {importJobShop, "only words\n", "error[A0001]: this is no job shop"},
      {importJobShop, "2\n", ":1:1: error[A0001]: this is no job shop"},
      {importJobShop, "0 2\n", ":1:1: error[A0811]: the number of jobs must be a whole number from 1"},
      {importJobShop, "1 2 3\n", ":1:5: error[A0811]: expected 'jobs machines' alone"},
      {importJobShop, "2 2\n0 3 1 2\n", "error[A0811]: expected the row of job 2 of 2"},
      {importJobShop, "1 2\n0 3 1\n", ":2:5: error[A0811]: the row of job 1 has 3 numbers; pairs"},
      {importJobShop, "1 2\n0 3 2 2\n",
       ":2:5: error[A0811]: the machine of J1.2 must be a whole number from 0 to 1, found '2'"},
      {importJobShop, "1 1\n0 3\n0 4\n",
       ":3:1: error[A0811]: the file goes on after the last of 1 jobs; one shop is read"},
      {importJobShop, "1 1\n0 x\n", ":2:1: error[A0811]: expected the row of job 1"},
      {importJobShop, "1 1 0 0 0 0\nTime\n 3\n", ":2:1: error[A0811]: expected the heading 'Times'"},
      {importFlexibleJobShop, "", "error[A0010]"},
      {importFlexibleJobShop, "1 2\n1 3 1 1 2 2 3 3",
       ":2:3: error[A0811]: the number of machines of J1.1 must be a whole number from 1 to 2, found '3'"},
      {importFlexibleJobShop, "1 2\n1 1 0 5",
       ":2:5: error[A0811]: a machine of J1.1 must be a whole number from 1 to 2, found '0'"},
      {importFlexibleJobShop, "1 2\n1 2 1 5 1 6", ":2:9: error[A0811]: J1.1 has machine 1 twice"},
      {importFlexibleJobShop, "1 2\n2 1 1 5",
       ":2:8: error[A0811]: the file ends where the number of machines of J1.2 is expected"},
      {importFlexibleJobShop, "1 2\n1 1 1 5 9", ":2:9: error[A0811]: the file goes on after the last of 1 jobs"},
  };
  for (const Broken &one : kBroken) {
    SourceManager sources;
    Diagnostics diags(sources);
    EXPECT_FALSE(one.importer(diags, sources.add("x", one.text))) << one.text;
    EXPECT_NE(diags.text().find(one.message), std::string::npos) << one.text << "\n" << diags.text();
  }
}

/// Optima of a folder of kobe-rcpsp: FOLDER/FILE and FOLDER/optimum/optimum.csv. How many were compared.
size_t compareOptima(const std::filesystem::path &folder, Importer importer, size_t max) {
  std::ifstream list(folder / "optimum" / "optimum.csv");
  std::string line;
  size_t compared = 0;
  while (compared < max && std::getline(list, line)) {
    size_t comma = line.find(',');
    if (comma == std::string::npos || line.find("..") != std::string::npos || line.starts_with("problem"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile((folder / line.substr(0, comma)).string());
    if (!buffer)
      continue;
    SourceManager sources;
    Diagnostics diags(sources);
    auto project = importer(diags, sources.add(line, (*buffer)->getBuffer().str()));
    EXPECT_TRUE(project) << diags.text();
    if (!project)
      continue;
    SolveOptions options;
    options.effort = kQuickEffort;
    SchedulingResult result = schedule(project->problem, options);
    int64_t best = std::stoll(line.substr(comma + 1));
    EXPECT_EQ(result.status, SchedulingResult::Status::Feasible) << line;
    EXPECT_GE(result.solution.makespan, best) << line;
    EXPECT_LE(result.bound.value, best) << line;
    ++compared;
  }
  return compared;
}

TEST(Projects, PublishedOptimaAreBetweenBoundAndMakespan) {
  std::filesystem::path data = accord::testing::sharedData("kobe-rcpsp");
  if (data.empty())
    GTEST_SKIP() << "no kobe-rcpsp beside the checkout or in ACCORD_DATA";
  EXPECT_GT(compareOptima(data / "rcpsp" / "patterson.rcp", importPatterson, 20), 0u);
  EXPECT_GT(compareOptima(data / "jssp" / "la", importJobShop, 10), 0u);
  EXPECT_GT(compareOptima(data / "fjssp" / "brandimarte", importFlexibleJobShop, 3), 0u);
}

} // namespace
