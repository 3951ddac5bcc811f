// Scripts and manifests that start a schedule, read as a shell and Slurm would read them.
#include "lib/launch/JobScripts.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/output/TenantQueues.h"
#include "test/lib/jobs/JobAnswerCases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <map>
#include <regex>
#include <set>

namespace accord::jobs {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Gives each job what starts it: plans of its configurations on whole servers of 8 h100 or 4 a100.
void addLaunch(JobAnswer &answer, bool hasTenants = true) {
  answer.launch.clear();
  for (size_t job = 0; job < answer.problem.jobs.size(); ++job) {
    JobLaunch launch;
    launch.job = answer.problem.jobs[job].name;
    launch.samples = 1e6;
    if (hasTenants) {
      launch.account = launch.queue = answer.jobs[job].tenant;
      launch.service = launch.priorityClass = "accord-priority-100";
    }
    const auto &configurations = answer.jobs[job].configurations;
    for (unsigned c = 0; c < configurations.size(); ++c) {
      const int64_t each = std::min<int64_t>(configurations[c].devices, configurations[c].type == 0 ? 8 : 4);
      LaunchPlan plan;
      plan.title = "gpt on lab: " + configurations[c].plan;
      plan.servers = configurations[c].devices / each, plan.devicesPerServer = each;
      plan.environment = {{"ACCORD_DATA_PARALLEL", std::to_string(configurations[c].devices)}};
      plan.megatron = {"--tensor-model-parallel-size 1", "--micro-batch-size 4"};
      launch.configurations.push_back({c, std::move(plan)});
    }
    answer.launch.push_back(std::move(launch));
  }
}

std::map<std::string, std::string> filesByName(const JobAnswer &answer) {
  std::map<std::string, std::string> files;
  for (const AnswerFile &file : launchFiles(answer))
    EXPECT_TRUE(files.emplace(file.name, file.text).second) << file.name;
  return files;
}

/// The value of an `#SBATCH --NAME=VALUE` line; empty: none.
std::string requested(const std::string &text, const std::string &option) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("#SBATCH --" + option + "=([^\n]*)\n")) ? found[1].str() : "";
}

/// Seconds of Slurm's days-hours:minutes:seconds.
int64_t secondsOf(const std::string &time) {
  std::smatch parts;
  if (!std::regex_match(time, parts, std::regex("(?:([0-9]+)-)?([0-9]+):([0-9]+):([0-9]+)")))
    return -1;
  const int64_t days = parts[1].matched ? std::stoll(parts[1]) : 0;
  return ((days * 24 + std::stoll(parts[2])) * 60 + std::stoll(parts[3])) * 60 + std::stoll(parts[4]);
}

/// A job of 8 h100, then of 16, then of 4 a100; and one after it.
JobAnswer changingJob() {
  JobAnswer answer = emptyAnswer();
  addJob(answer, "first", 0, 0, 1000, {{0, 8}, {0, 16}, {1, 4}});
  addJob(answer, "second", 1, 0, 1000, {{0, 2}});
  answer.problem.jobs[0].elasticity = Elasticity::Malleable;
  answer.problem.jobs[1].after = {0};
  answer.schedule.status = AllocationStatus::Feasible;
  answer.schedule.jobs = {{{{0, 2, 0}, {2, 3, 1}, {5, 6, 2}}, 6 * 1800 - 60}, {{{6, 8, 0}}, 8 * 1800 - 60}};
  placeJobs(answer);
  addLaunch(answer);
  return answer;
}

TEST(JobScripts, RunsThatChangeTheirDevices) {
  const auto files = filesByName(changingJob());
  EXPECT_EQ(files.size(), 4u * 2 + 2);
  const std::string &first = files.at("launch/first/0.sbatch"), &second = files.at("launch/first/1.sbatch"),
                    &third = files.at("launch/first/2.sbatch");
  EXPECT_EQ(requested(first, "gpus-per-node"), "h100:8");
  EXPECT_EQ(requested(first, "nodes"), "1");
  EXPECT_EQ(requested(first, "time"), "01:00:00");
  EXPECT_EQ(requested(first, "begin"), "");
  EXPECT_EQ(requested(first, "signal"), "USR1@300");
  EXPECT_EQ(requested(first, "account"), "vision");
  EXPECT_EQ(requested(second, "gpus-per-node"), "h100:8");
  EXPECT_EQ(requested(second, "nodes"), "2");
  EXPECT_EQ(requested(second, "begin"), "now+3600");
  EXPECT_EQ(requested(third, "gpus-per-node"), "a100:4");
  EXPECT_THAT(third, HasSubstr("export ACCORD_DATA_PARALLEL=\"4\"\n"));
  EXPECT_THAT(third,
              HasSubstr("export ACCORD_RUN=\"2\"\nexport ACCORD_RUNS=\"3\"\nexport ACCORD_SAMPLES=\"1000000\"\n"));
  // Half an hour less five minutes; Megatron-LM saves and ends then.
  EXPECT_THAT(third, HasSubstr("      --train-samples 1000000\n      --exit-duration-in-mins 25\n"));
  EXPECT_THAT(files.at("launch/first/2.yaml"), HasSubstr("\"accord/device\": \"a100\"\n"));
  EXPECT_THAT(files.at("launch/first/1.yaml"), HasSubstr("completions: 2\n"));
  EXPECT_THAT(files.at("launch/first/1.yaml"), HasSubstr("activeDeadlineSeconds: 1800\n"));
  // Two of eight devices: others are on the server, and nobody saves at a signal.
  const std::string &last = files.at("launch/second/0.sbatch");
  EXPECT_THAT(first, HasSubstr("#SBATCH --exclusive\n"));
  EXPECT_THAT(last, Not(HasSubstr("--exclusive")));
  EXPECT_EQ(requested(last, "signal"), "");
  EXPECT_THAT(last, Not(HasSubstr("--exit-duration")));
}

TEST(JobScripts, RunsWaitForThoseBeforeAndForOtherJobs) {
  const std::string submit = filesByName(changingJob()).at("launch/submit.sh");
  const size_t a = submit.find("submit first/0 0 '0' '' "),
               b = submit.find("submit first/1 3600 '0 1' 'afterany:first/0' "),
               c = submit.find("submit first/2 9000 '3' 'afterany:first/1' "),
               d = submit.find("submit second/0 10800 '0' 'afterok:first/2' ");
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_LT(c, d);
  EXPECT_NE(d, std::string::npos) << submit;
  const std::string apply = filesByName(changingJob()).at("launch/apply.sh");
  EXPECT_THAT(apply, HasSubstr("apply first/2 9000 'vision' 'first-1' '' &\n"));
  EXPECT_THAT(apply, HasSubstr("apply second/0 10800 'language' '' 'vision:first-2' &\n"));
}

TEST(JobScripts, WithoutTenantsNothingIsQueued) {
  JobAnswer answer = changingJob();
  addLaunch(answer, /*hasTenants=*/false);
  for (const auto &[name, text] : filesByName(answer)) {
    EXPECT_THAT(text, Not(HasSubstr("--account"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("--qos"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("kueue"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("suspend:"))) << name;
  }
}

TEST(JobScripts, ProfiledJobsHaveALineToFillIn) {
  JobAnswer answer = changingJob();
  for (size_t job = 0; job < 2; ++job)
    answer.jobs[job].train.clear(), answer.launch[job].configurations.clear();
  const auto files = filesByName(answer);
  const std::string &text = files.at("launch/first/1.sbatch");
  EXPECT_EQ(requested(text, "nodes"), "2");
  EXPECT_EQ(requested(text, "gpus-per-node"), "h100:8");
  EXPECT_THAT(text, HasSubstr("# FILL IN the command"));
  EXPECT_THAT(text, Not(HasSubstr("torchrun")));
  EXPECT_THAT(files.at("launch/submit.sh"), HasSubstr("\"${job_first[@]}\"\n"));
  EXPECT_THAT(files.at("launch/first/1.yaml"), HasSubstr("- \"true\" # FILL IN"));
}

TEST(JobScripts, WhatCannotBeExpressedIsRefused) {
  JobAnswer answer = changingJob();
  answer.launch[0].configurations[1].plan.refusal = "12 devices do not fill servers of 8";
  answer.launch[0].configurations[2].plan.withoutMegatron = "Megatron-LM has no schedule $(x) 'y'";
  const auto files = filesByName(answer);
  EXPECT_EQ(files.count("launch/first/1.sbatch"), 0u);
  EXPECT_EQ(files.count("launch/first/1.yaml"), 0u);
  const std::string &submit = files.at("launch/submit.sh");
  EXPECT_THAT(submit, HasSubstr("echo 'first/1: not submitted: 12 devices do not fill servers of 8' >&2\n"));
  EXPECT_THAT(submit, HasSubstr("without_megatron 'first/2: Megatron-LM has no schedule _(x) y' "));
  EXPECT_THAT(files.at("launch/first/2.sbatch"), HasSubstr("    echo '@megatron: Megatron-LM has no schedule _(x) y'"));
  EXPECT_THAT(files.at("launch/first/2.sbatch"), Not(HasSubstr("--micro-batch-size")));
}

TEST(JobScripts, WhatRunsAlreadyIsNotSubmittedAgain) {
  JobAnswer answer = changingJob();
  answer.problem.jobs[0].running = 0;
  const std::string submit = filesByName(answer).at("launch/submit.sh");
  EXPECT_THAT(submit, HasSubstr("ids[first/0]=${running_first:-}\n"));
  EXPECT_THAT(submit, Not(HasSubstr("submit first/0 ")));
  EXPECT_THAT(submit, HasSubstr("submit first/1 3600 '0 1' 'afterany:first/0' "));
}

TEST(JobScripts, NothingIsKnownOrNothingRuns) {
  JobAnswer answer = changingJob();
  answer.launch.clear();
  EXPECT_TRUE(launchFiles(answer).empty());
  answer = emptyAnswer();
  EXPECT_TRUE(launchFiles(answer).empty());
  answer = changingJob();
  for (JobTrajectory &job : answer.schedule.jobs)
    job = {};
  EXPECT_TRUE(launchFiles(answer).empty());
}

TEST(JobScripts, OddNamesStayWithinTheirQuotes) {
  JobAnswer answer = emptyAnswer();
  const std::vector<std::string> names{
      "sweep[0]", "sweep[1]", "sweep-0", "$(reboot)", "`x`; rm -rf '/'",     "a\nsubmit b",
      "",         "Ärger",    "true",    "../../etc", std::string(300, 'x'), std::string(300, 'x') + "y"};
  answer.schedule.status = AllocationStatus::Feasible;
  for (size_t i = 0; i < names.size(); ++i) {
    addJob(answer, names[i], i % 2, 0, 10, {{1, 1}});
    answer.jobs.back().train = names[i];
    answer.schedule.jobs.push_back({{{0, 1, 0}}, 100});
  }
  placeJobs(answer);
  addLaunch(answer);
  const std::regex line("#SBATCH --[-a-z]+(=([-A-Za-z0-9:+@]+|\"[-A-Za-z0-9 _.,:;()\\[\\]+*/%=|]*\"))?");
  std::set<std::string> folders;
  for (const auto &[name, text] : filesByName(answer)) {
    EXPECT_TRUE(std::regex_match(name, std::regex("launch/[-a-z0-9/]+\\.(sbatch|yaml|sh)"))) << name;
    EXPECT_LE(name.size(), 48u);
    folders.insert(name.substr(0, name.rfind('/')));
    size_t from = 0;
    for (size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
      const std::string one = text.substr(from, end - from);
      if (one.starts_with("#SBATCH"))
        EXPECT_TRUE(std::regex_match(one, line)) << one;
      EXPECT_FALSE(one.starts_with("rm") || one.starts_with("submit b")) << name << ": " << one;
      EXPECT_EQ(one.find("$(reboot)") != std::string::npos && !one.starts_with("#"), false) << name << ": " << one;
      EXPECT_EQ(one.find('`') != std::string::npos && !one.starts_with("#"), false) << name << ": " << one;
    }
    EXPECT_EQ(from, text.size()) << name << " ends within a line";
  }
  EXPECT_EQ(folders.size(), names.size() + 1); // submit.sh and apply.sh beside
}

// What is asked of Slurm at each time is what the cluster has, and runs of a job follow each other.
TEST(JobScripts, RequestsFitIntoTheCluster) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    JobAnswer answer = manyJobs(24, seed);
    addLaunch(answer);
    const std::vector<int64_t> capacity = answer.cluster.capacity();
    std::map<int64_t, std::map<std::string, int64_t>> changes;
    size_t scripts = 0, runs = 0;
    for (const JobTrajectory &job : answer.schedule.jobs)
      runs += job.runs.size();
    for (const auto &[name, text] : filesByName(answer)) {
      if (!name.ends_with(".sbatch"))
        continue;
      ++scripts;
      const std::string begin = requested(text, "begin"), devices = requested(text, "gpus-per-node");
      const int64_t from = begin.empty() ? 0 : std::stoll(begin.substr(4)), limit = secondsOf(requested(text, "time"));
      const int64_t count = std::stoll(devices.substr(devices.find(':') + 1)) * std::stoll(requested(text, "nodes"));
      ASSERT_GT(limit, 0) << name;
      changes[from][devices.substr(0, devices.find(':'))] += count;
      changes[from + limit][devices.substr(0, devices.find(':'))] -= count;
    }
    EXPECT_EQ(scripts, runs);
    std::map<std::string, int64_t> used;
    for (const auto &[time, each] : changes)
      for (const auto &[type, change] : each) {
        used[type] += change;
        EXPECT_LE(used[type], capacity[type == "h100" ? 0 : 1]) << time;
      }
    for (const auto &[type, left] : used)
      EXPECT_EQ(left, 0);
  }
}

TEST(JobScripts, TheCertificateGivesTheSameFiles) {
  JobAnswer answer = changingJob();
  answer.launch[0].configurations[0].plan.remarks = {"slower than planned"};
  answer.launch[0].configurations[0].plan.coresPerDevice = 14;
  answer.launch[0].configurations[0].plan.memory = int64_t(80) << 30;
  answer.launch[1].configurations[0].plan.megatron.clear();
  answer.launch[1].configurations[0].plan.withoutMegatron = "no";
  auto read = jobsFromCertificate(jobsCertificate(answer), "jobs.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(filesByName(*read), filesByName(answer));
  answer.launch[0].configurations[0].plan.servers = 2;
  read = jobsFromCertificate(jobsCertificate(answer), "jobs.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("another number of devices at jobs.launch"));
}

// Each run is checked for the devices of its own type; of one that the catalogue does not have, for what the plan knows
// of its memory: 92 %.
TEST(JobScripts, EachRunHasItsGuard) {
  JobAnswer answer = changingJob();
  answer.launch[0].configurations[2].plan.memory = int64_t(100) << 30; // a100: the catalogue has a100_40g and a100_80g
  const auto files = filesByName(answer);
  for (const char *file : {"launch/first/0.sbatch", "launch/first/0.yaml"})
    EXPECT_THAT(files.at(file), HasSubstr("products=\"h100 80gb hbm3\""));
  EXPECT_THAT(files.at("launch/first/1.sbatch"), HasSubstr("devices=8 servers=2 world=16 "));
  for (const char *file : {"launch/first/2.sbatch", "launch/first/2.yaml"}) {
    EXPECT_THAT(files.at(file), HasSubstr("name=\"a100\" products=\"a100\""));
    EXPECT_THAT(files.at(file), HasSubstr("memory=94208 devices=4 servers=1 world=4 "));
  }
}

TEST(JobScripts, TheGuardOfARunIsThatOfItsScript) {
  const JobAnswer answer = changingJob();
  const auto files = filesByName(answer);
  for (const char *run : {"first/0", "first/1", "first/2", "second/0"}) {
    auto expected = guardOfRun(answer, run, {});
    ASSERT_TRUE(static_cast<bool>(expected)) << expected.error().message;
    EXPECT_THAT(files.at(std::string("launch/") + run + ".sbatch"), HasSubstr(guardText(*expected)));
  }
  EXPECT_THAT(guardOfRun(answer, "first/3", {}).error().message,
              HasSubstr("no run is called 'first/3': there are first/0, first/1, first/2, second/0"));
  EXPECT_THAT(guardOfRun(answer, "", {}).error().message, HasSubstr("say which one, of first/0"));
  EXPECT_THAT(guardOfRun({}, "first/0", {}).error().message, HasSubstr("no job runs"));
}

// Jobs are started in the names that the queues give to tenants and types.
TEST(JobScripts, NamesAreThoseOfTheQueues) {
  JobsRequest request;
  for (const char *name : {"Vision Lab", "vision-lab", "accord", "default", "root"}) {
    request.tenants.push_back({name, 1, {}, {}});
    JobsRequest::Job job;
    job.name = job.tenant = name;
    job.priority = static_cast<double>(request.tenants.size());
    request.jobs.push_back(job);
  }
  request.jobs.push_back({}); // of nobody
  Cluster cluster;
  cluster.types = {"A 100", "a-100"}, cluster.servers = {{0, 8}, {1, 8}};
  const std::string slurm = *slurmAccountsText(request, cluster), kueue = *kueueText(request, cluster);
  std::set<std::string> accounts, queues;
  const std::vector<TenantNames> names = tenantNames(request);
  ASSERT_EQ(names.size(), 6u);
  for (size_t job = 0; job < 5; ++job) {
    EXPECT_THAT(slurm, HasSubstr("add account " + names[job].account + " \"cluster=$CLUSTER\" parent=accord\n"));
    EXPECT_THAT(slurm, HasSubstr("add qos " + names[job].service + "\n"));
    EXPECT_THAT(kueue, HasSubstr("kind: LocalQueue\nmetadata:\n  name: \"" + names[job].queue + "\"\n"));
    EXPECT_THAT(kueue, HasSubstr("name: \"" + names[job].priorityClass + "\"\n"));
    accounts.insert(names[job].account), queues.insert(names[job].queue);
  }
  EXPECT_EQ(accounts.size(), 5u);
  EXPECT_EQ(queues.size(), 5u);
  EXPECT_TRUE(names[5].account.empty() && names[5].queue.empty() && names[5].service.empty());
  SystemNames types = slurmNames(cluster.types);
  for (const std::string &type : cluster.types)
    EXPECT_THAT(slurm, HasSubstr(",gres/gpu:" + types.types.of(type)));
}

} // namespace
} // namespace accord::jobs
