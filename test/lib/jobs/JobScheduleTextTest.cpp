// Certificates of schedules of jobs: what is written is read again, and nothing else.
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "test/lib/jobs/JobAnswerCases.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

namespace {

/// A state and changes with numbers in all places.
Replan goesOn(size_t objectives) {
  Replan made;
  JobState job;
  job.name = "a", job.samples = 1e6 / 3, job.done = 0.1, job.running = true, job.deviceType = "h100", job.devices = 4;
  job.plan = "data 4", job.servers = {{1, 4}}, job.begun = 5, job.restarting = 7, job.rate = 1.0 / 7, job.pace = 0.8;
  job.restarts = 2;
  made.state.at = 10'800, made.state.slot = 900, made.state.jobs = {job, {}};
  made.state.outages = {{0, 5, 10}}, made.state.price = 4, made.state.energy = 5, made.state.carbon = 6;
  made.changes = {{JobChange::Kind::Stops, "a", "4 h100", "8 h100", 5, -1, 0.25, "it failed"}};
  made.keptValues.assign(objectives, -3), made.whyNotKept = "…", made.completedWeight = 3;
  return made;
}

/// A solved random problem, with words.
JobAnswer randomAnswer(SplitMix &random, bool generated) {
  JobAnswer answer;
  answer.name = "n\"ight";
  answer.cluster.types = {"h100"};
  answer.cluster.servers = {{0, 8}, {0, 4}};
  answer.clusterName = random.below(2) ? "lab" : "";
  answer.problem = inFamilies(randomSchedule(random), random);
  answer.schedule = generated ? generateJobSchedule(answer.problem, {}) : solveJobSchedule(answer.problem, {});
  for (const ScheduledJob &job : answer.problem.jobs) {
    JobWords words{"tenant", random.below(2) ? "gpt" : "", {}};
    words.configurations.assign(job.configurations.size(), {"data 8", 0, 4, 1 << 30, 0.1 + random.unit()});
    if (random.below(2))
      for (ConfigurationWords &one : words.configurations)
        one.choice = "small", one.batch = 512, one.accumulation = 4, one.efficiency = random.unit(),
        one.learningRate = 1 + random.unit(), one.warmup = 2;
    answer.jobs.push_back(words);
  }
  if (random.below(2))
    for (const JobTrajectory &trajectory : answer.schedule.jobs)
      answer.placements.push_back(std::vector<JobPlacement>(trajectory.runs.size(), {{1, 2}, {0, 3}}));
  else
    answer.replan = goesOn(answer.problem.objectives.size());
  answer.waits = {{0, 5, 9, WaitCause::Limit, "waits: …"}};
  answer.assumptions = {"one", "two"};
  if (random.below(2))
    answer.conflict = {"a"}, answer.repairs = {"b", "c"};
  return answer;
}

std::string findingOf(llvm::StringRef text) {
  auto read = jobsFromCertificate(text, "jobs.json");
  if (read)
    return "";
  EXPECT_EQ(read.error().code, Code::WrongJobSchedule);
  return read.error().message;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

} // namespace

TEST(JobScheduleText, ReadsWhatItWrites) {
  SplitMix random(3);
  size_t priced = 0;
  for (int round = 0; round < 200; ++round) {
    const JobAnswer answer = randomAnswer(random, round % 2);
    const std::string text = jobsCertificate(answer);
    auto read = jobsFromCertificate(text, "jobs.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(jobsCertificate(*read), text);
    EXPECT_EQ(read->schedule.status, answer.schedule.status);
    ASSERT_EQ(read->replan.has_value(), answer.replan.has_value());
    if (read->replan) {
      EXPECT_EQ(read->replan->state.jobs[0].samples, 1e6 / 3);
      EXPECT_EQ(read->replan->state.jobs[0].servers, (JobPlacement{{1, 4}}));
      EXPECT_EQ(read->replan->changes[0].kind, JobChange::Kind::Stops);
      EXPECT_EQ(read->replan->keptValues, answer.replan->keptValues);
    }
    EXPECT_EQ(read->schedule.jobs, answer.schedule.jobs);
    EXPECT_EQ(read->schedule.values, answer.schedule.values);
    EXPECT_EQ(read->problem.jobs[0].configurations[0].family, answer.problem.jobs[0].configurations[0].family);
    EXPECT_EQ(batchText(read->jobs[0].configurations[0]), batchText(answer.jobs[0].configurations[0]));
    ASSERT_EQ(read->schedule.proofs.size(), answer.schedule.proofs.size());
    for (size_t i = 0; i < answer.schedule.proofs.size(); ++i) {
      const JobScheduleProof &now = read->schedule.proofs[i], &then = answer.schedule.proofs[i];
      EXPECT_EQ(now.bound, then.bound);
      EXPECT_EQ(now.prices, then.prices);
      EXPECT_EQ(now.denominator, then.denominator);
      EXPECT_EQ(now.allocation.denominator, then.allocation.denominator);
      ASSERT_EQ(now.allocation.nodes.size(), then.allocation.nodes.size());
      for (size_t n = 0; n < then.allocation.nodes.size(); ++n) {
        EXPECT_EQ(now.allocation.nodes[n].job, then.allocation.nodes[n].job);
        EXPECT_EQ(now.allocation.nodes[n].next, then.allocation.nodes[n].next);
        EXPECT_EQ(now.allocation.nodes[n].prices, then.allocation.nodes[n].prices);
        priced += !then.allocation.nodes[n].prices.empty();
      }
      priced += !then.prices.empty();
    }
    EXPECT_TRUE(verifyJobSchedule(read->problem, read->schedule)) << round;
  }
  EXPECT_GT(priced, 100u);
}

TEST(JobScheduleText, HasASchema) {
  const llvm::json::Value schema = schemaOf<JobAnswer>();
  const llvm::json::Object *properties = schema.getAsObject()->getObject("properties");
  ASSERT_TRUE(properties);
  for (const char *key :
       {"kind", "name", "cluster", "problem", "schedule", "jobs", "placements", "reasons", "conflict"})
    EXPECT_TRUE(properties->get(key)) << key;
  const llvm::json::Array *required = schema.getAsObject()->getArray("required");
  ASSERT_TRUE(required);
  EXPECT_EQ(llvm::is_contained(*required, llvm::json::Value("schedule")), true);
  EXPECT_EQ(llvm::is_contained(*required, llvm::json::Value("conflict")), false);
}

TEST(JobScheduleText, ReadsAScheduleOfManyJobs) {
  const JobAnswer answer = manyJobs(40, 5);
  const std::string text = jobsCertificate(answer);
  auto read = jobsFromCertificate(text, "jobs.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(jobsCertificate(*read), text);
  EXPECT_EQ(read->waits.size(), answer.waits.size());
  EXPECT_EQ(read->placements, answer.placements);
}

TEST(JobScheduleText, NamesThePathOfWhatIsWrong) {
  SplitMix random(4);
  JobAnswer answer = randomAnswer(random, false);
  while (answer.schedule.status != AllocationStatus::Optimal || answer.schedule.jobs[0].runs.empty() ||
         answer.schedule.proofs[0].allocation.nodes.empty())
    answer = randomAnswer(random, false);
  answer.schedule.proofs[0].allocation = {};
  answer.schedule.proofs[0].prices = {0, 0, 5, 0, 7};
  const std::string text = jobsCertificate(answer);
  EXPECT_EQ(findingOf(text), "");
  EXPECT_NE(findingOf(replaced(text, "\"slots\"", "\"slits\"")).find("at jobs.problem"), std::string::npos);
  EXPECT_NE(
      findingOf(replaced(text, "\"slots\":", "\"color\": 1, \"slots\":")).find("unknown key at jobs.problem.color"),
      std::string::npos);
  EXPECT_NE(findingOf(replaced(text, "\"optimal\"", "\"best\"")).find("jobs.schedule.status"), std::string::npos);
  EXPECT_NE(findingOf(replaced(text, "\"tail\": ", "\"tail\": -1")).find("jobs.problem.tail"), std::string::npos);
  for (const char *at : {"[2, 5, 4]", "[4, 7, 2, 5]", "[2, 5, 2, 7]", "[2, 0, 4, 7]", "[2, 5, 5, 7]", "[-1, 5, 4, 7]"})
    EXPECT_NE(findingOf(replaced(text, "[2, 5, 4, 7]", at)).find("jobs.schedule.proofs[0].prices.at"),
              std::string::npos)
        << at;
  EXPECT_NE(findingOf(replaced(text, "\"rows\": 5", "\"rows\": 5000000000000")).find("prices.rows"), std::string::npos);
  JobAnswer other = answer;
  other.schedule.jobs[0].runs[0].configuration = 99;
  EXPECT_NE(findingOf(jobsCertificate(other)).find("no such job, slot or configuration"), std::string::npos);
  other = answer;
  other.placements = {{{{9, 1}}}};
  EXPECT_NE(findingOf(jobsCertificate(other)).find("jobs.placements"), std::string::npos);
  other = answer;
  other.problem.jobs[0].arrival = int64_t(1) << 40;
  EXPECT_NE(findingOf(jobsCertificate(other)).find("the arrival of job"), std::string::npos);
}

/// Prices of a short document take no more memory than a limit for all of them.
TEST(JobScheduleText, RefusesMorePricesThanMemoryHolds) {
  SplitMix random(5);
  JobAnswer answer = randomAnswer(random, false);
  answer.schedule.proofs.assign(3, {0, {}, {0, 0, 1}, 1});
  std::string text = jobsCertificate(answer);
  EXPECT_EQ(findingOf(text), "");
  const size_t second = text.find("\"rows\": 3", text.find("\"rows\": 3") + 1);
  ASSERT_NE(second, std::string::npos);
  text.replace(second, 9, "\"rows\": " + std::to_string(kMaxWrittenPrices));
  EXPECT_NE(findingOf(text).find("too many prices"), std::string::npos);
}

TEST(JobScheduleText, TakesAnyBytes) {
  SplitMix random(6);
  size_t taken = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = jobsCertificate(randomAnswer(random, round % 2));
    const uint64_t changes = 1 + random.below(3);
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t at = random.below(text.size());
      switch (random.below(5)) {
      case 4:
        for (size_t i = at; i < text.size() && i < at + 20; ++i)
          if (text[i] >= '1' && text[i] <= '9')
            text[i] = static_cast<char>('1' + random.below(9));
        break;
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text[at] = "0123456789-[]{},:\"e."[random.below(20)];
        break;
      case 2:
        text.erase(at, 1 + random.below(20));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), random.below(30)));
      }
      if (text.empty())
        text = "{}";
    }
    if (auto read = jobsFromCertificate(text, "jobs.json")) {
      ++taken;
      (void)static_cast<bool>(verifyJobSchedule(read->problem, read->schedule));
      EXPECT_TRUE(jobsFromCertificate(jobsCertificate(*read), "again.json"));
    }
  }
  EXPECT_GT(taken, 30u);
}
