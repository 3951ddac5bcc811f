// Replays the published simulations of Pollux (OSDI 2021): the completion times of all jobs that ship with the
// artefact.
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/jobs/simulate/Optimus.h"
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/simulate/Tiresias.h"
#include "test/support/SharedData.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

const std::string kData = accord::testing::sharedData("pollux").string();
constexpr double kRestart = 30; ///< seconds

Cluster polluxCluster() {
  Cluster cluster{{"t4"}, {}};
  cluster.servers.assign(16, {0, 4});
  return cluster;
}

using Applications = std::map<std::string, std::shared_ptr<const ProfiledApplication>>;

Applications readApplications() {
  Applications read;
  for (const char *name : {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"}) {
    auto profile = readPolluxProfile(kData + "/traces/" + name, polluxLimits(name));
    EXPECT_TRUE(profile) << name << ": " << (profile ? "" : profile.error().message);
    if (!profile)
      continue;
    auto application = ProfiledApplication::make(std::move(*profile));
    EXPECT_TRUE(application) << name;
    if (application)
      read[name] = *application;
  }
  return read;
}

std::vector<SimulatedJob> readJobs(const std::string &workload, const Applications &applications) {
  auto listed = readPolluxWorkloadFile(kData + "/workloads/" + workload + ".csv");
  EXPECT_TRUE(listed) << workload;
  std::vector<SimulatedJob> jobs;
  if (listed)
    for (const PolluxJob &job : *listed)
      jobs.push_back(
          profiledJob(job.name, job.arrival, job.devices, {applications.at(job.application)}, job.batch, kRestart));
  return jobs;
}

/// Of each job of a workload: the seconds from its arrival to its completion.
std::map<std::string, int64_t> published(const std::string &policy, const std::string &workload) {
  std::map<std::string, int64_t> times;
  auto file = llvm::MemoryBuffer::getFile(kData + "/results/" + policy + ".json");
  if (!file)
    return times;
  auto value = llvm::json::parse((*file)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return times;
  }
  for (const auto &[name, seconds] : *value->getAsObject()->getObject("jcts")->getObject(workload))
    times[name.str()] = seconds.getAsInteger().value_or(-1);
  return times;
}

class Replay : public ::testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(Replay, CompletesEachJobInTheSecondThatWasPublished) {
  if (kData.empty())
    GTEST_SKIP() << accord::testing::kNoPollux;
  const auto [policyName, workload] = GetParam();
  const Applications applications = readApplications();
  ASSERT_EQ(applications.size(), 6u);
  const std::vector<SimulatedJob> jobs = readJobs(workload, applications);
  const auto expected = published(policyName, workload);
  ASSERT_EQ(jobs.size(), 160u);
  ASSERT_EQ(expected.size(), 160u);
  Tiresias tiresias;
  Optimus optimus(profiledForecast(4));
  Policy &policy = policyName == std::string("tiresias") ? static_cast<Policy &>(tiresias) : optimus;
  auto result = simulate(polluxCluster(), jobs, policy, {});
  ASSERT_TRUE(result) << result.error().message;
  for (size_t i = 0; i < jobs.size(); ++i)
    EXPECT_EQ(*result->jobs[i].completion - jobs[i].arrival, static_cast<double>(expected.at(jobs[i].name)))
        << jobs[i].name;
}

INSTANTIATE_TEST_SUITE_P(Published, Replay,
                         ::testing::Combine(::testing::Values("tiresias", "optimus"),
                                            ::testing::Values("workload-1", "workload-2", "workload-3", "workload-4")));

} // namespace
} // namespace accord::jobs
