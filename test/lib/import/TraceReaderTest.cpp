// Traces of Philly and Alibaba, how a format is told, and what arbitrary bytes do. The rows are invented in the columns
// of the published files.
#include "lib/import/jobs/AlibabaTrace.h"
#include "lib/import/jobs/PhillyTrace.h"
#include "lib/import/jobs/ReadTrace.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/support/SplitMix.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

const std::string kPhillyTable =
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n";
const std::string kPhillyLog = R"([
  {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "user": "u", "submitted_time": "2017-10-07 01:11:39",
   "attempts": [
     {"start_time": "2017-10-07 01:12:00", "end_time": "2017-10-07 01:13:00",
      "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]},
     {"start_time": "2017-10-07 01:14:00", "end_time": "2017-10-07 02:14:00",
      "detail": [{"ip": "m4", "gpus": ["gpu0", "gpu1", "gpu2"]}]}]},
  {"status": "Killed", "vc": "ee9e8c", "jobid": "application_2", "user": "u", "submitted_time": "2017-10-07 01:11:00",
   "attempts": [{"start_time": "2017-10-07 01:12:00", "end_time": null, "detail": [{"ip": "m1", "gpus": ["gpu7"]}]}]},
  {"status": "Failed", "vc": "x", "jobid": "application_3", "user": "u", "submitted_time": "2017-10-07 01:10:00",
   "attempts": []}])";
const std::string kTasks =
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
    "j1,ps,2.0,Terminated,100.0,500.0,600.0,29.3,,MISC\n"
    "j1,worker,3.0,Terminated,110.0,520.0,600.0,29.3,25.0,T4\n"
    "j2,worker,2.0,Failed,200.0,,600.0,29.3,100.0,V100\n"
    "j2,evaluator,1.0,Terminated,90.0,300.0,600.0,29.3,50.0,P100\n"
    "j3,worker,1.0,Terminated,90.0,300.0,600.0,29.3,0.0,P100\n";
const std::string kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "pod-0,88000,327680,8,1000,,Burstable,Succeeded,1000,5000,1100\n"
    "pod-1,4000,15258,1,220,V100M16|V100M32,BE,Running,900,1900,900\n"
    "pod-2,4000,15258,1,1000,nan,BE,Pending,950,960,\n"
    "pod-3,4000,15258,0,0,,BE,Running,950,960,955\n";
const std::string kSacct = "JobID|JobName|User|Submit|Start|End|Elapsed|Timelimit|ReqTRES|State\n"
                           "1|a|ann|2024-01-05T10:00:00|2024-01-05T10:00:00|2024-01-05T11:00:00|01:00:00|1-00:00:00|"
                           "cpu=1,gres/gpu:a100=2|COMPLETED\n"
                           "2_[1-4]|b|ann|2024-01-05T10:30:00|Unknown|Unknown|00:00:00|UNLIMITED|gres/gpu=2|PENDING\n";
const std::string kSqueue =
    R"({"jobs": [{"job_id": 8, "account": "nlp", "job_state": ["COMPLETED"], "submit_time": {"set": true, "number": 400},
 "start_time": 450, "end_time": 700, "time_limit": 10, "array_job_id": 3, "array_task_string": "1-4",
 "tres_alloc_str": "cpu=4,gres/gpu:h100=8"}]})";

bool says(const std::vector<std::string> &notes, const std::string &part) {
  for (const std::string &note : notes)
    if (note.find(part) != std::string::npos)
      return true;
  return false;
}

TEST(PhillyTable, ReadsJobs) {
  const auto trace = readTrace(kPhillyTable, "philly.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].tenant, "6214e9");
  EXPECT_EQ(trace->jobs[0].devices, 8u);
  EXPECT_EQ(trace->jobs[0].duration, 2951);
  EXPECT_EQ(trace->jobs[1].arrival, 48 * 60 + 52);
  EXPECT_EQ(trace->jobs[1].name, "line2");
}

/// Tables are read in parts of 8 MiB, and places are those of the file.
TEST(PhillyTable, ReadsLongTables) {
  std::string text = "timestamp,duration,num_gpus,gpu_time,cluster\n";
  for (int i = 0; i < 200'000; ++i)
    text += "2017-10-09 07:01:55,66.0,1,66.0,\"a line\nand another\"\n";
  const auto trace = readTrace(text, "philly.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 200'000u);
  EXPECT_EQ(trace->jobs.back().line, 400'000u);
  const auto wrong = readTrace(text + "2017-10-09 07:01:55,long,1,66.0,c\n", "philly.csv");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().location.line, 400'002u);
  EXPECT_EQ(wrong.error().location.column, 21u);
}

TEST(PhillyLog, SumsAttempts) {
  const auto trace = readTrace(kPhillyLog, "cluster_job_log");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->withoutDevices, 1u);
  EXPECT_EQ(trace->jobs[0].name, "application_2");
  EXPECT_EQ(trace->jobs[0].duration, 0);
  EXPECT_EQ(trace->jobs[0].state, TraceState::Cancelled);
  EXPECT_EQ(trace->jobs[1].name, "application_1");
  EXPECT_EQ(trace->jobs[1].arrival, 39);
  EXPECT_EQ(trace->jobs[1].duration, 3660);
  EXPECT_EQ(trace->jobs[1].devices, 3u);
  EXPECT_EQ(trace->jobs[1].tenant, "ee9e8c");
  EXPECT_TRUE(says(trace->assumptions, "no end of their last attempt"));
}

TEST(PhillyLog, PointsToTheValueThatIsWrong) {
  const auto trace = readTrace("[{\"jobid\": \"a\", \"attempts\": [],\n \"submitted_time\": \"soon\"}]", "log");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, Code::WrongJobsFile);
  EXPECT_EQ(trace.error().location.line, 2u);
  EXPECT_EQ(trace.error().location.column, 20u);
}

TEST(Alibaba2020, AddsTheTasksOfAJob) {
  const auto trace = readTrace(kTasks, "pai_task_table.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  const TraceJob &j2 = trace->jobs[0], &j1 = trace->jobs[1];
  EXPECT_EQ(j2.name, "j2");
  EXPECT_EQ(j2.devices, 3u); // 2.5
  EXPECT_EQ(j2.state, TraceState::Failed);
  EXPECT_EQ(j2.duration, 0);
  EXPECT_TRUE(j2.deviceTypes.empty());
  EXPECT_EQ(j1.devices, 1u); // 3 quarters
  EXPECT_EQ(j1.arrival, 10);
  EXPECT_EQ(j1.duration, 420);
  EXPECT_EQ(j1.deviceTypes, std::vector<std::string>{"T4"});
  EXPECT_EQ(trace->parts, 2u);
  EXPECT_EQ(trace->withoutDevices, 1u);
  EXPECT_TRUE(says(trace->assumptions, "a part of a device get a whole one: 2"));
}

TEST(Alibaba2020, ReadsTablesWithoutAHeaderAndTheJobTableBeside) {
  const std::string bare = kTasks.substr(kTasks.find('\n') + 1);
  const std::string jobs = "j1,i1,ann,Terminated,60.0,520.0\nj2,i2,bob,Failed,80.0,300.0\n";
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "accord-alibaba";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "pai_task_table.csv") << bare;
  std::ofstream(folder / "pai_job_table.csv") << jobs;
  const auto trace = readTraceFile((folder / "pai_task_table.csv").string());
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].tenant, "ann");
  EXPECT_EQ(trace->jobs[1].tenant, "bob");
  EXPECT_EQ(trace->jobs[1].arrival, 20);
  EXPECT_TRUE(says(trace->assumptions, "pai_job_table.csv"));
  const auto alone = readTraceFile((folder / "pai_job_table.csv").string());
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("give pai_task_table"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Alibaba2023, ReadsPods) {
  const auto trace = readTrace(kPods, "openb_pod_list.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3u);
  EXPECT_EQ(trace->jobs[0].name, "pod-1");
  EXPECT_EQ(trace->jobs[0].deviceTypes, (std::vector<std::string>{"V100M16", "V100M32"}));
  EXPECT_EQ(trace->jobs[1].duration, 0);
  EXPECT_EQ(trace->jobs[2].devices, 8u);
  EXPECT_EQ(trace->jobs[2].duration, 3900);
  EXPECT_EQ(trace->parts, 1u);
  EXPECT_EQ(trace->withoutDevices, 1u);
}

TEST(ReadTrace, SaysWhatWasFoundWhereItIsNoTrace) {
  for (const char *text : {"", "\n \n", "hello\n", "name,time,application,num_replicas,batch_size\na,1,bert,6,384\n",
                           "ResNet-18\tcommand\tfolder\t--steps\t0\t100\t1\t1\t-1\t0\n", "a|b|c\n", "\xff\xfe\x01"}) {
    const auto trace = readTrace(text, "f");
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code, Code::WrongJobsFile);
    EXPECT_NE(trace.error().message.find("known are") == std::string::npos ? trace.error().message.find(": known")
                                                                           : trace.error().message.find("known are"),
              std::string::npos)
        << trace.error().message;
  }
  EXPECT_EQ(readTrace("\n\nhello\n", "f").error().location.line, 3u);
}

/// 2,000 changes of each format: bytes replaced, taken out, repeated, and the text cut.
TEST(ReadTrace, NeverCrashesOnChangedBytes) {
  SplitMix random(20260101);
  size_t read = 0, refused = 0;
  for (const std::string *base : {&kPhillyTable, &kPhillyLog, &kTasks, &kPods, &kSacct, &kSqueue}) {
    ASSERT_TRUE(readTrace(*base, "f"));
    for (int i = 0; i < 2000; ++i) {
      std::string text = *base;
      for (uint64_t changes = 1 + random.below(6); changes > 0 && !text.empty(); --changes) {
        const size_t at = random.below(text.size());
        const size_t length = std::min<size_t>(1 + random.below(20), text.size() - at);
        static const std::string kSpecial = std::string("0123456789-:.,|[]{}\"\\\n\r\t =_%+#eENaN\x7f\xff") + '\0';
        switch (random.below(5)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text[at] = kSpecial[random.below(kSpecial.size())];
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, text.substr(at, length));
          break;
        default:
          text.resize(random.below(4) ? text.size() : at);
          break;
        }
      }
      const auto trace = readTrace(text, "f");
      if (!trace) {
        ++refused;
        ASSERT_EQ(trace.error().code, Code::WrongJobsFile);
        ASSERT_EQ(trace.error().location.file, "f");
        ASSERT_GE(trace.error().location.line, 1u) << trace.error().message;
        ASSERT_GE(trace.error().location.column, 1u) << trace.error().message;
        continue;
      }
      ++read;
      ASSERT_FALSE(trace->jobs.empty());
      double before = 0;
      for (const TraceJob &job : trace->jobs) {
        ASSERT_GE(job.devices, 1u);
        ASSERT_GE(job.arrival, before);
        ASSERT_GE(job.duration, 0);
        ASSERT_GE(job.timeLimit, 0);
        before = job.arrival;
      }
    }
  }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 1000u);
}

/// Each job runs as soon as its devices are free, in the order of arrival.
class FirstInFirstOut : public Policy {
public:
  std::vector<JobPlacement> decide(double, const Cluster &cluster, const std::vector<JobView> &jobs) override {
    std::vector<unsigned> free;
    for (const Server &server : cluster.servers)
      free.push_back(server.devices);
    std::vector<JobPlacement> placements;
    for (const JobView &job : jobs) {
      JobPlacement placement;
      unsigned needed = job.description->devices;
      for (unsigned s = 0; s < free.size() && needed > 0; ++s)
        if (const unsigned taken = std::min(free[s], needed); taken > 0) {
          placement.push_back({s, taken});
          needed -= taken;
        }
      if (needed > 0)
        placement.clear();
      for (const ServerShare &share : placement)
        free[share.server] -= share.devices;
      placements.push_back(std::move(placement));
    }
    return placements;
  }
};

TEST(TraceJobs, ReplaysWhatWasHeld) {
  const auto trace = readTrace("JobID|Submit|Elapsed|ReqTRES|State\n"
                               "1|2024-01-05T10:00:00|01:00:00|gres/gpu:A100=4|COMPLETED\n"
                               "2|2024-01-05T10:10:00|00:30:00|gres/gpu=8|FAILED\n"
                               "3|2024-01-05T10:20:00|00:30:00|gres/gpu=9|COMPLETED\n"
                               "4|2024-01-05T10:20:00|00:00:00|gres/gpu=1|PENDING\n"
                               "5|2024-01-05T10:20:00|00:10:00|gres/gpu:v100=1|COMPLETED\n",
                               "sacct.txt");
  ASSERT_TRUE(trace) << trace.error().message;
  const Cluster cluster{{"a100"}, {{0, 4}, {0, 4}}};
  const auto replay = replayOf(*trace, cluster, 0);
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ(replay->jobs.size(), 3u);
  EXPECT_EQ(replay->tooLarge, 1u);
  EXPECT_EQ(replay->unknownDuration, 1u);
  EXPECT_EQ(replay->otherTypes, 1u);
  EXPECT_TRUE(says(replay->notes, "more devices of one type than there are are left out: 1 (first '3')"));
  FirstInFirstOut policy;
  SimulationOptions options;
  options.endsEarly = true;
  const auto result = simulate(cluster, simulatedJobs(replay->jobs), policy, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->jobs[0].completion, 3600.0);
  EXPECT_GE(*result->jobs[1].completion, 3600.0 + 1800);
  EXPECT_DOUBLE_EQ(result->busy, 4 * 3600 + 8 * 1800 + 600.0);
}

TEST(TraceJobs, SaysWhyNothingCanBeReplayed) {
  Trace trace;
  trace.jobs.resize(1);
  trace.jobs[0].duration = 10;
  trace.jobs[0].devices = 9;
  const Cluster cluster{{"a100"}, {{0, 8}}};
  EXPECT_EQ(replayOf(trace, cluster, 0).error().code, Code::GangTooLarge);
  trace.jobs[0].duration = 0;
  EXPECT_EQ(replayOf(trace, cluster, 0).error().code, Code::WrongJobsFile);
  EXPECT_FALSE(replayOf(trace, cluster, -1));
  EXPECT_FALSE(replayOf(Trace{}, Cluster{}, 0));
}

} // namespace
} // namespace accord::jobs
