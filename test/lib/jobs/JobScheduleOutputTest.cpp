// What people read of a schedule of jobs: summary, CSV, timeline, document and page.
#include "lib/jobs/output/JobScheduleOutput.h"
#include "JobAnswerCases.h"
#include "lib/jobs/output/JobScheduleReport.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include <gtest/gtest.h>
#include <map>

using namespace accord;
using namespace accord::jobs;

namespace {

TextStyle plain() {
  TextStyle style;
  style.width = 120;
  return style;
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

JobAnswer infeasible() {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "a", 1, 0, 1, {{0, 24}});
  addJob(answer, "b", 1, 0, 1, {{0, 24}});
  answer.problem.limits = {{JobMeasure::Price, 5'000'000}};
  answer.schedule.status = AllocationStatus::Infeasible;
  answer.conflict = {"'a' is complete at 30 min", "24 h100 are there"};
  answer.repairs = {"the deadline of 'a' is 60 min or later"};
  return answer;
}

TEST(JobScheduleOutput, Summary) {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "bert", 1, 0, 3000 * 1800, {{0, 16}});
  addJob(answer, "vit, large", 0, 600, 800 * 1800, {{0, 16}, {0, 8}});
  answer.problem.jobs[1].deadline = 20000;
  answer.problem.limits = {{JobMeasure::Price, 1'000'000'000}};
  answer.assumptions = {"a restart takes 60 s"};
  scheduleInTurn(answer);
  const std::string text = jobScheduleText(answer, "out", plain());
  EXPECT_NE(text.find("night on lab: 2 jobs, 24 h100, 16 a100; 48 periods of 30 min\n"), std::string::npos) << text;
  EXPECT_NE(text.find("vit, large  vision    8 h100, data 8"), std::string::npos) << text;
  EXPECT_NE(text.find("proven optimal"), std::string::npos) << text;
  EXPECT_NE(text.find("relative gap 5 %"), std::string::npos) << text;
  EXPECT_NE(text.find("requirement   cost <= 1000 $: "), std::string::npos) << text;
  EXPECT_NE(text.find("assumed       a restart takes 60 s"), std::string::npos) << text;
  EXPECT_NE(text.find("report        out/report.html"), std::string::npos) << text;
}

TEST(JobScheduleOutput, BatchesAndChoicesAreSaidWhereTheyAreOthers) {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "bert", 1, 0, 3000 * 1800, {{0, 16}});
  addJob(answer, "vit", 0, 0, 800 * 1800, {{0, 8}});
  ConfigurationWords &words = answer.jobs[1].configurations[0];
  words.choice = "small", words.batch = 512, words.accumulation = 4, words.efficiency = 0.8125;
  words.learningRate = 1.41421, words.warmup = 1;
  scheduleInTurn(answer);
  const std::string text = jobScheduleText(answer, "out", plain());
  EXPECT_NE(text.find("vit   vision    8 h100 as small, batch 512, data 8"), std::string::npos) << text;
  EXPECT_NE(
      text.find("batch         vit from 0 s: batch 512 in 4 micro-batches, learning rate x 1.41, efficiency 0.812\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(countOf(text, "batch 512 in"), 1u);
  const std::string csv = jobScheduleCsv(answer);
  EXPECT_NE(csv.find(",small,512,4,0.8125,1.41421\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",,,,,\n"), std::string::npos) << csv;
  const llvm::json::Value document = jobScheduleJson(answer);
  const llvm::json::Array &jobs = *document.getAsObject()->getArray("jobs");
  const auto runOf = [&](size_t job) { return (*jobs[job].getAsObject()->getArray("runs"))[0].getAsObject(); };
  EXPECT_EQ(runOf(1)->getInteger("batch"), 512);
  EXPECT_EQ(runOf(1)->getInteger("accumulation"), 4);
  EXPECT_EQ(runOf(1)->getNumber("efficiency"), 0.8125);
  EXPECT_EQ(runOf(1)->getString("choice"), "small");
  EXPECT_FALSE(runOf(0)->getInteger("batch"));
  words.accumulation = 1, words.warmup = 2, words.learningRate = 0;
  EXPECT_EQ(batchText(words), "batch 512 in 1 micro-batch, warm-up x 2, efficiency 0.812");
}

TEST(JobScheduleOutput, NothingAndInfeasible) {
  const std::string nothing = jobScheduleText(JobAnswer(), "", plain());
  EXPECT_NE(nothing.find("0 jobs"), std::string::npos) << nothing;
  EXPECT_EQ(countOf(jobScheduleCsv(JobAnswer()), "\n"), 1u);
  const std::string text = jobScheduleText(infeasible(), "", plain());
  EXPECT_NE(text.find("infeasible    no schedule keeps all that is stated"), std::string::npos) << text;
  EXPECT_NE(text.find("conflict      24 h100 are there"), std::string::npos) << text;
  EXPECT_NE(text.find("repair        the deadline of 'a' is 60 min or later"), std::string::npos) << text;
}

TEST(JobScheduleOutput, CsvHasEachRun) {
  JobAnswer answer = manyJobs(60, 1);
  answer.problem.jobs[0].name = "a \"b\", c";
  const std::string csv = jobScheduleCsv(answer);
  size_t runs = 0;
  for (const JobTrajectory &does : answer.schedule.jobs)
    runs += does.runs.size();
  EXPECT_EQ(countOf(csv, "\n"), runs + 1);
  EXPECT_NE(csv.find("\n\"a \"\"b\"\", c\","), std::string::npos);
}

TEST(JobScheduleOutput, TimelineHasEachDeviceOnce) {
  JobAnswer answer = manyJobs(60, 2);
  const llvm::json::Value trace = jobScheduleTrace(answer);
  // Slices of a track follow each other; those of servers are as many as devices in runs.
  std::map<std::pair<int64_t, int64_t>, std::map<double, double>> tracks;
  size_t slices = 0, devices = 0, counters = 0;
  for (const llvm::json::Value &event : *trace.getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &o = *event.getAsObject();
    counters += o.getString("ph") == "C";
    if (o.getString("ph") != "X")
      continue;
    const int64_t pid = *o.getInteger("pid");
    slices += pid >= 3;
    EXPECT_TRUE(tracks[std::pair(pid, *o.getInteger("tid"))].emplace(*o.getNumber("ts"), *o.getNumber("dur")).second);
  }
  for (const auto &[track, times] : tracks) {
    double end = 0;
    for (auto [start, duration] : times) {
      EXPECT_GE(start, end);
      end = start + duration;
    }
  }
  for (const auto &job : answer.placements)
    for (const JobPlacement &placement : job)
      devices += devicesOf(placement);
  EXPECT_EQ(slices, devices);
  EXPECT_GT(counters, 8u);
  EXPECT_LT(jobScheduleTrace(answer, 10).getAsObject()->getArray("traceEvents")->size(),
            trace.getAsObject()->getArray("traceEvents")->size());
}

TEST(JobScheduleOutput, DocumentKeepsItsSchema) {
  const std::string schema = schemaText(jobScheduleSchema());
  EXPECT_NE(schema.find("\"rejected\""), std::string::npos);
  const llvm::json::Value document = jobScheduleJson(manyJobs(60, 3));
  const llvm::json::Object &o = *document.getAsObject();
  EXPECT_EQ(o.getString("status"), "feasible");
  EXPECT_EQ(o.getArray("jobs")->size(), 60u);
  const llvm::json::Object &resource = *(*o.getArray("resources"))[0].getAsObject();
  EXPECT_EQ(resource.getString("unit"), "devices");
  EXPECT_EQ(jobScheduleJson(JobAnswer()).getAsObject()->getArray("jobs")->size(), 0u);
  EXPECT_EQ(jobScheduleJson(infeasible()).getAsObject()->getArray("conflict")->size(), 2u);
}

TEST(JobScheduleOutput, PageIsSelfContained) {
  JobAnswer answer = manyJobs(5, 4);
  answer.problem.jobs[0].name = "</script><b>";
  const std::string page = jobScheduleReport(answer);
  EXPECT_NE(page.find("id=\"job-chart\""), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script\\u003e\\u003cb\\u003e"), std::string::npos);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("/*accord:"), std::string::npos);
  EXPECT_FALSE(jobScheduleReport(JobAnswer()).empty());
  EXPECT_FALSE(jobScheduleReport(infeasible()).empty());
}

TEST(JobScheduleOutput, ValuesOfMeasures) {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "a", 0, 0, 1, {{0, 1}});
  addJob(answer, "b", 1, 100, 1, {{0, 2}});
  answer.problem.jobs[1].weight = 3;
  answer.problem.jobs[1].isolated = 50;
  answer.problem.jobs[1].due = 200, answer.problem.jobs[1].latePrice = 7;
  answer.problem.jobs[1].mayBeRejected = true;
  answer.problem.carbon.assign(48, 2);
  answer.schedule.jobs = {{{{0, 1, 0}}, 61}, {{{1, 3, 0}}, 300}};
  auto value = [&](JobMeasure measure) { return shownValue(answer.problem, answer.schedule, measure); };
  EXPECT_EQ(value(JobMeasure::Completion), 61 + 3 * 200);
  EXPECT_EQ(value(JobMeasure::Lateness), 700);
  EXPECT_EQ(value(JobMeasure::Price), 1800 * 900 + 2 * 1800 * 1800);
  EXPECT_EQ(value(JobMeasure::Energy), 1800 * 700 + 2 * 1800 * 1400);
  EXPECT_EQ(value(JobMeasure::Carbon), 2 * value(JobMeasure::Energy));
  EXPECT_EQ(value(JobMeasure::Makespan), 300);
  EXPECT_EQ(value(JobMeasure::Slowdown), 61'000);
  EXPECT_EQ(value(JobMeasure::Tail), 200);
  EXPECT_EQ(value(JobMeasure::Group), 300) << "200 s of weight 3 over a share of 2";
  EXPECT_EQ(value(JobMeasure::Nash), std::llround(1e6 * std::log2(61.0)) + 3 * 2'000'000);
  answer.problem.tail = 1;
  EXPECT_EQ(value(JobMeasure::Tail), 61);
  answer.schedule.jobs[1] = {};
  EXPECT_EQ(value(JobMeasure::Rejected), 3);
  EXPECT_EQ(value(JobMeasure::Completion), 61);
  EXPECT_EQ(value(JobMeasure::Unfinished), 3'000'000);
  EXPECT_EQ(value(JobMeasure::Restarts), 1);
  answer.problem.jobs[0].running = 0, answer.problem.jobs[0].work = 3 * 100 * 1800;
  answer.problem.jobs[0].mayContinue = true;
  answer.schedule.jobs = {{{{0, 1, 0}, {2, 3, 0}}, 48 * 1800, true}, {}};
  EXPECT_EQ(value(JobMeasure::Restarts), 1) << "the first run goes on";
  EXPECT_EQ(value(JobMeasure::Unfinished), 3'000'000 + 344'445) << "3540 s of 5400 s are done";
  EXPECT_EQ(value(JobMeasure::Makespan), 48 * 1800);
}

TEST(JobScheduleOutput, SaysHowMuchOfWhatContinuesIsDone) {
  JobAnswer answer = emptyAnswer();
  answer.problem.objectives = {JobMeasure::Unfinished, JobMeasure::Restarts};
  addJob(answer, "weeks", 1, 0, 96 * 100 * 1800, {{0, 1}});
  addJob(answer, "later", 1, 0, 100, {{0, 1}});
  addJob(answer, "probe", 1, 0, 100, {{0, 1}});
  for (ScheduledJob &job : answer.problem.jobs)
    job.restart = 0, job.mayContinue = true;
  answer.problem.jobs[1].after = {0};
  answer.schedule.status = AllocationStatus::Optimal;
  answer.schedule.jobs = {{{{0, 48, 0}}, 48 * 1800, true}, {{}, 48 * 1800, true}, {{{0, 1, 0}}, 1}};
  answer.schedule.values = {1'500'000, 2};
  answer.schedule.proofs = {{1'500'000, {}, {}, 1}, {2, {}, {}, 1}};
  answer.placements.resize(3);
  answer.waits = waitReasons(answer);
  const std::string text = jobScheduleText(answer, "", plain());
  EXPECT_NE(text.find("  50.0 % done  "), std::string::npos) << text;
  EXPECT_NE(text.find("  0.0 % done  "), std::string::npos) << text;
  EXPECT_NE(text.find("minimum       unfinished work 50 % left, proven optimal"), std::string::npos) << text;
  EXPECT_NE(text.find("then          restarts 2, proven optimal"), std::string::npos) << text;
  EXPECT_NE(text.find("it comes after 'weeks', which continues after the schedule"), std::string::npos) << text;
  const llvm::json::Value document = jobScheduleJson(answer);
  const llvm::json::Array &jobs = *document.getAsObject()->getArray("jobs");
  const llvm::json::Object &weeks = *jobs[0].getAsObject(), &probe = *jobs[2].getAsObject();
  EXPECT_EQ(weeks.getBoolean("continues"), true);
  EXPECT_EQ(weeks.getNumber("share_done"), 0.5);
  EXPECT_EQ(weeks.get("completion_s"), nullptr);
  EXPECT_EQ(probe.get("share_done"), nullptr);
  EXPECT_EQ(probe.getInteger("completion_s"), 1);
  EXPECT_NE(jsonText(jobScheduleTrace(answer)).find("weeks (continues, 50.0 % done)"), std::string::npos);
}

} // namespace
