// Profiles on several device types: what is read, and what is imputed where an application was not profiled. The files
// are invented in the columns of Sia's artefact.
#include "lib/import/jobs/SiaProfiles.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

class SiaProfilesTest : public ::testing::Test {
protected:
  void SetUp() override {
    const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
    root = std::filesystem::path(::testing::TempDir()) / "accord-sia" / test->name();
    std::filesystem::remove_all(root);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  /// A profile in which a step of b samples on one device takes `second` * b seconds.
  void addProfile(const std::string &application, const std::string &type, double second) {
    auto time = [&](int batch) { return std::to_string(second * batch); };
    write(application + "/placements-" + type + ".csv", "local_bsz,step_time,sync_time,placement\n4," + time(4) +
                                                            ",0.001,1\n8," + time(8) + ",0.001,1\n4," + time(6) +
                                                            ",0.01,11\n8," + time(12) + ",0.01,11\n");
    write(application + "/scalability-" + type + ".csv",
          "local_bsz,step_time,sync_time,num_nodes,num_replicas\n8," + time(16) + ",0.02,8.0,16.0\n");
    write(application + "/validation-16.csv", "progress,iteration,metric,grad_sqr,grad_var\n10,10,0.5,1,2\n");
    write(application + "/validation-64.csv", "progress,iteration,metric,grad_sqr,grad_var\n10,5,0.5,1,2\n");
  }
  std::filesystem::path root;
};

TEST_F(SiaProfilesTest, ImputesByTheRatioOfOthers) {
  addProfile("bert", "aws", 0.1);
  addProfile("bert", "rtx", 0.05);
  addProfile("yolov3", "aws", 0.4);
  addProfile("yolov3", "rtx", 0.05);
  addProfile("ncf", "aws", 0.2);
  write("gpt_pmp/placements-rtx.csv", "local_bsz,step_time,sync_time,placement\n1,0.1,0.3,8\n");
  const auto read = readSiaProfiles(root.string());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->types, (std::vector<std::string>{"aws", "rtx"}));
  EXPECT_EQ(read->applications, (std::vector<std::string>{"bert", "ncf", "yolov3"}));
  ASSERT_EQ(read->profiles.size(), 6u);
  const TrainingProfile &measured = read->profiles.at({"ncf", "aws"}), &imputed = read->profiles.at({"ncf", "rtx"});
  for (size_t i = 0; i < measured.placements.size(); ++i) { // half and an eighth: a quarter
    EXPECT_NEAR(imputed.placements[i].time.step, measured.placements[i].time.step / 4, 1e-9);
    EXPECT_NEAR(imputed.placements[i].time.sync, measured.placements[i].time.sync / 4, 1e-9);
  }
  EXPECT_NEAR(imputed.scalability.front().time.step, measured.scalability.front().time.step / 4, 1e-9);
  EXPECT_EQ(imputed.maxDevices, 1u);
  ASSERT_EQ(read->assumptions.size(), 2u);
  EXPECT_EQ(read->assumptions[1], "'ncf' was not profiled on 'rtx': its times are 0.250 of those on 'aws'");
}

TEST_F(SiaProfilesTest, SaysWhatIsMissing) {
  EXPECT_EQ(readSiaProfiles(root.string()).error().code, Code::WrongJobsFile);
  addProfile("bert", "aws", 0.1);
  addProfile("ncf", "rtx", 0.1);
  const auto read = readSiaProfiles(root.string());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->profiles.size(), 2u); // no application has both types
  EXPECT_EQ(read->assumptions.size(), 2u);
  const auto wrong = readSiaProfiles(root.string(), {"h100"});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("but of 'aws', 'rtx'"), std::string::npos) << wrong.error().message;
  const auto one = readSiaProfiles(root.string(), {"aws"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->types, std::vector<std::string>{"aws"});
  write("bert/placements-aws.csv", "local_bsz,step_time,sync_time,placement\n4,fast,0,1\n");
  const auto broken = readSiaProfiles(root.string());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().location.line, 2u);
  EXPECT_EQ(broken.error().location.column, 3u);
  EXPECT_EQ(siaRestartSeconds("imagenet"), 250);
  EXPECT_EQ(siaRestartSeconds("other"), 30);
  EXPECT_EQ(siaSlowdown("cifar10"), 1.8);
  EXPECT_EQ(siaSlowdown("other"), 1);
  const TrainingProfile &profile = one->profiles.at({"bert", "aws"}), longer = scaledProfile(profile, 1.5);
  for (size_t i = 0; i < profile.placements.size(); ++i)
    EXPECT_EQ(longer.placements[i].time.step, 1.5 * profile.placements[i].time.step);
}

} // namespace
} // namespace accord::jobs
