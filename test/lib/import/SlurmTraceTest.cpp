// Accounting and queues of Slurm: what is read of them, and where errors point to. The lines follow what sacct and
// squeue of Slurm 22.05 and 23.11 print.
#include "lib/import/jobs/SlurmTrace.h"
#include "lib/import/jobs/ReadTrace.h"
#include "lib/import/jobs/SlurmFields.h"
#include "lib/import/jobs/TraceTime.h"
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

const std::string kHeader =
    "JobID|JobName|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|AllocTRES|ReqTRES|State\n";

void expectError(const std::string &text, unsigned line, unsigned column, const std::string &part) {
  const auto trace = readTrace(text, "sacct.txt");
  ASSERT_FALSE(trace) << text;
  EXPECT_EQ(trace.error().code, Code::WrongJobsFile);
  EXPECT_EQ(trace.error().location.file, "sacct.txt");
  EXPECT_EQ(std::pair(trace.error().location.line, trace.error().location.column), std::pair(line, column))
      << trace.error().message;
  EXPECT_NE(trace.error().message.find(part), std::string::npos) << trace.error().message;
}

bool says(const Trace &trace, const std::string &part) {
  for (const std::string &assumption : trace.assumptions)
    if (assumption.find(part) != std::string::npos)
      return true;
  return false;
}

TEST(TraceTime, CountsDaysOfTheGregorianCalendar) {
  EXPECT_EQ(readDate("1970-01-01T00:00:00"), 0.0);
  EXPECT_EQ(readDate("2000-02-29 12:30:15"), 951827415.0); // date -u -d '2000-02-29 12:30:15' +%s
  EXPECT_EQ(readDate("2024-12-31T23:59:59"), 1735689599.0);
  EXPECT_EQ(readDate("9999-12-31"), 253402214400.0);
  EXPECT_EQ(readDate("2024-01-05T10:00"), 1704448800.0);
  EXPECT_EQ(readDate("1704448800"), 1704448800.0);
  for (const char *wrong :
       {"", "2023-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "2024-01-05T24:00:00", "1969-12-31",
        "2024-01-05T10:00:00Z", "2024-1-5", "2024-01-05X", "-5", "nan", "1e99", "2024-01-05T10:00:00."})
    EXPECT_FALSE(readDate(wrong)) << wrong;
}

TEST(TraceTime, ReadsDurationsOfSlurm) {
  EXPECT_EQ(readSlurmDuration("00:01:06"), 66.0);
  EXPECT_EQ(readSlurmDuration("2-03:04:05"), 2 * 86400 + 3 * 3600 + 4 * 60 + 5.0);
  EXPECT_EQ(readSlurmDuration("03:04"), 184.0);
  EXPECT_EQ(readSlurmDuration("03:04.500"), 184.5);
  for (const char *wrong : {"", "5", "1-02:03", "a:b", "1:2:3:4", "-1:00:00", "1:2:", "::"})
    EXPECT_FALSE(readSlurmDuration(wrong)) << wrong;
  EXPECT_EQ(slurmTimeLimit("UNLIMITED"), 0.0);
  EXPECT_EQ(slurmTimeLimit("Partition_Limit"), 0.0);
  EXPECT_FALSE(slurmTimeLimit("forever"));
}

TEST(SlurmFields, CountsDevicesAndTasks) {
  const auto both = readSlurmDevices("billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=2");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->count, 4);
  EXPECT_EQ(both->types, std::vector<std::string>{"a100"});
  const auto several = readSlurmDevices("gres/gpu:a100=4,gres/gpu:h100=2");
  EXPECT_EQ(several->count, 6);
  EXPECT_EQ(several->types.size(), 2u);
  EXPECT_EQ(readSlurmDevices("cpu=8,gres/shard=3")->count, 0);
  EXPECT_FALSE(readSlurmDevices("gres/gpu=many"));
  EXPECT_FALSE(readSlurmDevices("gres/gpu=99999999999999999999"));
  EXPECT_FALSE(readSlurmDevices("gres/gpu=-1"));
  EXPECT_EQ(slurmTasks("[1-3,7]"), (std::vector<int64_t>{1, 2, 3, 7}));
  EXPECT_EQ(slurmTasks("0-20:5%2"), (std::vector<int64_t>{0, 5, 10, 15, 20}));
  EXPECT_EQ(slurmTasks("9223372036854775807"), (std::vector<int64_t>{INT64_MAX}));
  EXPECT_EQ(slurmTasks("1,2,..."), (std::vector<int64_t>{1, 2}));
  for (const char *wrong : {"", "[]", "[1-3", "3-1", "1-9999999", "a", "1-5:0"})
    EXPECT_FALSE(slurmTasks(wrong)) << wrong;
  EXPECT_EQ(slurmState("CANCELLED by 1000"), TraceState::Cancelled);
  EXPECT_EQ(slurmState("OUT_OF_MEMORY"), TraceState::Failed);
  EXPECT_EQ(slurmState("sleeping"), TraceState::Unknown);
}

TEST(SlurmText, ReadsJobsWithoutTheirSteps) {
  const auto trace = readTrace(
      kHeader +
          "101|train|ann|vision|gpu|2024-01-05T10:00:00|2024-01-05T10:05:00|2024-01-05T11:05:00|01:00:00|1-00:00:00|"
          "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4|cpu=8,gres/gpu=4|COMPLETED\n"
          "101.batch|batch||vision||2024-01-05T10:05:00|2024-01-05T10:05:00|2024-01-05T11:05:00|01:00:00||cpu=8||"
          "COMPLETED\n"
          "102_7|a|b|c|bob||gpu|2024-01-05T09:00:00|Unknown|Unknown|00:00:00|UNLIMITED||gres/gpu=2|PENDING\n"
          "103|cpu "
          "only|eve|ops|cpu|2024-01-05T09:30:00|2024-01-05T09:30:00|2024-01-05T09:40:00|00:10:00|01:00:00|cpu=8|"
          "cpu=8|COMPLETED\n",
      "sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "Slurm accounting, text");
  ASSERT_EQ(trace->jobs.size(), 2u);
  const TraceJob &first = trace->jobs[0], &second = trace->jobs[1];
  EXPECT_EQ(first.name, "102_7"); // a job name with "|" does not move the other cells
  EXPECT_EQ(first.tenant, "bob");
  EXPECT_EQ(first.devices, 2u);
  EXPECT_EQ(first.duration, 0);
  EXPECT_EQ(first.state, TraceState::Waiting);
  EXPECT_EQ(second.name, "101");
  EXPECT_EQ(second.tenant, "vision");
  EXPECT_EQ(second.arrival, 3600);
  EXPECT_EQ(second.duration, 3600);
  EXPECT_EQ(second.timeLimit, 86400);
  EXPECT_EQ(second.devices, 4u);
  EXPECT_EQ(second.deviceTypes, std::vector<std::string>{"a100"});
  EXPECT_EQ(second.line, 2u);
  EXPECT_EQ(trace->origin, *readDate("2024-01-05T09:00:00"));
  EXPECT_EQ(trace->withoutDevices, 1u);
  EXPECT_TRUE(says(*trace, "jobs without devices are left out: 1"));
}

TEST(SlurmText, TakesColumnsInAnyOrderAndTheEndWithoutElapsed) {
  const auto trace = readTrace("state|reqtres|end|start|submit|jobidraw|\r\n"
                               "TIMEOUT|gres/gpu=1|2024-03-01T00:00:30|2024-03-01T00:00:10|2024-02-29T23:59:50|7|\r\n",
                               "sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.front().name, "7");
  EXPECT_EQ(trace->jobs.front().duration, 20);
  EXPECT_EQ(trace->jobs.front().state, TraceState::TimedOut);
}

TEST(SlurmText, WaitingArraysAreAJobForEachTask) {
  const auto trace = readTrace("JobID|Submit|ReqTRES|State\n9_[1-3%1]|2024-01-05T10:00:00|gres/gpu=1|PENDING\n"
                               "9_1|2024-01-05T10:00:00|gres/gpu=1|RUNNING\n",
                               "sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  std::vector<std::string> names;
  for (const TraceJob &job : trace->jobs)
    names.push_back(job.name);
  EXPECT_EQ(names, (std::vector<std::string>{"9_1", "9_2", "9_3", "9_1#2"}));
  EXPECT_TRUE(says(*trace, "have the name of another one"));
}

TEST(SlurmText, PointsToTheCellThatIsWrong) {
  const std::string header = "JobID|Submit|AllocTRES|Elapsed|Timelimit\n";
  expectError("JobID|AllocTRES\n1|gres/gpu=1\n", 1, 1, "no column 'Submit'");
  expectError("JobID|Submit\n1|2024-01-05\n", 1, 1, "neither column 'AllocTRES' nor 'ReqTRES'");
  expectError("JobID|Submit|submit|ReqTRES\n", 1, 1, "column 'submit' twice");
  expectError(header, 1, 1, "no jobs");
  expectError(header + "1|2024-01-05|gres/gpu=1\n", 2, 1, "3 cells, but there are 5");
  expectError(header + "1|soon|gres/gpu=1|00:01:00|\n", 2, 3, "'Submit' is 'soon'");
  expectError(header + "1|Unknown|gres/gpu=1|00:01:00|\n", 2, 3, "'Submit' is 'Unknown'");
  expectError(header + "\n1|2024-01-05|gres/gpu=x|00:01:00|\n", 3, 14, "no whole number");
  expectError(header + "1|2024-01-05|gres/gpu=1|long|\n", 2, 25, "'Elapsed' is 'long'");
  expectError(header + "1|2024-01-05|gres/gpu=1|00:01:00|long\n", 2, 34, "'Timelimit' is 'long'");
  expectError(header + "1_[x]|2024-01-05|gres/gpu=1|00:01:00|\n", 2, 1, "no tasks");
  expectError(header + "1|2024-01-05|cpu=1|00:01:00|\n", 1, 1, "none of 1 jobs uses a device");
}

TEST(SlurmJson, ReadsAccountingOfBothVersions) {
  const auto trace = readTrace(
      R"({"meta": {}, "jobs": [
        {"job_id": 5, "account": "vision", "user": "ann", "state": {"current": "COMPLETED", "reason": "None"},
         "array": {"job_id": 0, "task_id": null, "task": null},
         "time": {"submission": 1000, "start": 1100, "end": 1400, "elapsed": 300, "limit": 60},
         "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8}, {"type": "gres", "name": "gpu", "count": 4},
                                {"type": "gres", "name": "gpu:a100", "count": 4}], "requested": []}},
        {"job_id": 6, "account": "", "user": "bob", "state": {"current": ["RUNNING"]},
         "array": {"job_id": 4, "task_id": {"set": true, "infinite": false, "number": 2}, "task": ""},
         "time": {"submission": 900, "start": 1200, "end": 0, "elapsed": 100,
                  "limit": {"set": true, "infinite": true, "number": 0}},
         "tres": {"allocated": [], "requested": [{"type": "gres", "name": "gpu", "count": 1}]}}]})",
      "sacct.json");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "Slurm accounting, JSON");
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].name, "4_2");
  EXPECT_EQ(trace->jobs[0].tenant, "bob");
  EXPECT_EQ(trace->jobs[0].duration, 0); // it runs
  EXPECT_EQ(trace->jobs[0].timeLimit, 0);
  EXPECT_EQ(trace->jobs[1].arrival, 100);
  EXPECT_EQ(trace->jobs[1].duration, 300);
  EXPECT_EQ(trace->jobs[1].timeLimit, 3600);
  EXPECT_EQ(trace->jobs[1].devices, 4u);
  EXPECT_EQ(trace->jobs[1].deviceTypes, std::vector<std::string>{"a100"});
}

TEST(SlurmJson, ReadsQueuesOfBothVersions) {
  const auto trace = readTrace(
      R"({"jobs": [
        {"job_id": 8, "account": "nlp", "job_state": "PENDING", "submit_time": 500, "start_time": 0, "end_time": 0,
         "time_limit": 90, "array_job_id": 8, "array_task_id": null, "array_task_string": "3,5-6",
         "tres_req_str": "cpu=1,gres/gpu:h100=2", "tres_alloc_str": ""},
        {"job_id": 9, "account": "nlp", "job_state": ["COMPLETED"], "submit_time": {"set": true, "number": 400},
         "start_time": {"set": true, "number": 450}, "end_time": {"set": true, "number": 700},
         "time_limit": {"set": true, "infinite": false, "number": 10}, "array_job_id": {"set": false, "number": 0},
         "array_task_id": {"set": false, "number": 0}, "array_task_string": "", "tres_alloc_str": "gres/gpu=8"}]})",
      "squeue.json");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "Slurm queue, JSON");
  ASSERT_EQ(trace->jobs.size(), 4u);
  EXPECT_EQ(trace->jobs[0].name, "9");
  EXPECT_EQ(trace->jobs[0].duration, 250);
  EXPECT_EQ(trace->jobs[1].name, "8_3");
  EXPECT_EQ(trace->jobs[3].name, "8_6");
  EXPECT_EQ(trace->jobs[3].timeLimit, 5400);
}

TEST(SlurmJson, PointsToTheValueThatIsWrong) {
  auto error = [](const std::string &text) {
    const auto trace = readTrace(text, "j.json");
    EXPECT_FALSE(trace) << text;
    return trace ? Error{} : trace.error();
  };
  EXPECT_EQ(error("{\"jobs\": 5}").code, Code::WrongJobsFile);
  const Error time = error("{\"jobs\": [\n {\"job_id\": 1, \"submit_time\": \"now\"}]}");
  EXPECT_EQ(time.location.line, 2u);
  EXPECT_EQ(time.location.column, 31u) << time.message;
  EXPECT_NE(time.message.find("expected a number"), std::string::npos) << time.message;
  EXPECT_NE(error("{\"jobs\": [{\"job_id\": 1}]}").message.find("submit_time"), std::string::npos);
  EXPECT_EQ(error("{\"jobs\": [").location.line, 1u);
}

} // namespace
} // namespace accord::jobs
