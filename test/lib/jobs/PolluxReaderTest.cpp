// Readers of the Pollux artefact: what they read, and where errors of malformed files point to.
#include "lib/import/jobs/PolluxProfiles.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

/// Expects error A1101 at a place, with a message that has `part`.
template <class T> void expectError(const Result<T> &result, unsigned line, unsigned column, const std::string &part) {
  ASSERT_FALSE(result) << part;
  const Error &error = result.error();
  EXPECT_EQ(error.code, Code::WrongJobsFile);
  EXPECT_EQ(error.location.file, "f.csv");
  EXPECT_EQ(std::pair(error.location.line, error.location.column), std::pair(line, column)) << error.message;
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

const std::string kWorkload = "name,time,application,num_replicas,batch_size\n";
const std::string kPlacements = "placement,local_bsz,step_time,sync_time\n";
const std::string kScalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
const std::string kValidation = "progress,iteration,metric,grad_sqr,grad_var\n";

TEST(PolluxWorkload, ReadsJobsInTheOrderOfTheFile) {
  auto jobs = readPolluxWorkload("time,name,batch_size,application,num_replicas\n7,b-1,384,bert,6\n3,a-0,64,yolov3,4\n",
                                 "f.csv");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ((*jobs)[0].name, "b-1");
  EXPECT_EQ((*jobs)[0].application, "bert");
  EXPECT_EQ((*jobs)[0].arrival, 7);
  EXPECT_EQ((*jobs)[0].devices, 6u);
  EXPECT_EQ((*jobs)[0].batch, 384);
  EXPECT_EQ((*jobs)[1].line, 3u);
}

TEST(PolluxWorkload, PointsToTheCellThatIsWrong) {
  auto read = [](const std::string &text) { return readPolluxWorkload(text, "f.csv"); };
  expectError(read(""), 1, 1, "empty");
  expectError(read("name,time,application,num_replicas\n"), 1, 1, "no column 'batch_size'");
  expectError(read("name,time,application,num_replicas,batch_size,time\n"), 1, 47, "'time' twice");
  expectError(read(kWorkload + "a,1,bert,6\n"), 2, 1, "4 cells, but the header has 5");
  expectError(read(kWorkload + "a,soon,bert,6,384\n"), 2, 3, "'time' is 'soon'");
  expectError(read(kWorkload + "a,nan,bert,6,384\n"), 2, 3, "'time' is 'nan'");
  expectError(read(kWorkload + "a,-1,bert,6,384\n"), 2, 3, "'time' is '-1'");
  expectError(read(kWorkload + "a,1,bert,0,384\n"), 2, 10, "'num_replicas' is '0'");
  expectError(read(kWorkload + "a,1,bert,6.5,384\n"), 2, 10, "'num_replicas' is '6.5'");
  expectError(read(kWorkload + "a,1,bert,4294967296,384\n"), 2, 10, "at most");
  expectError(read(kWorkload + "a,1,bert,6,99999999999999999999\n"), 2, 12, "'batch_size'");
  expectError(read(kWorkload + "a,1,bert,6,384\n,2,bert,6,384\n"), 3, 1, "no name");
  expectError(read(kWorkload + "a,1,,6,384\n"), 2, 5, "no application");
  expectError(read(kWorkload + "a,1,bert,6,384\na,2,bert,6,384\n"), 3, 1, "stands in line 2 too");
  expectError(read(kWorkload + "\"a,1,bert,6,384\n"), 2, 1, "");
}

TEST(PolluxPlacements, ReadsADigitForEachServer) {
  auto rows = readPolluxPlacements(kPlacements + "1,4,0.5,0\n1,8,0.75,0.25\n142,4,1.5,1\n", "f.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].time, (StepTime{0.75, 0.25}));
  EXPECT_EQ((*rows)[2].placement, (std::vector<unsigned>{1, 4, 2}));
  EXPECT_EQ((*rows)[2].localBatch, 4);
}

TEST(PolluxPlacements, PointsToTheCellThatIsWrong) {
  auto read = [](const std::string &text) { return readPolluxPlacements(text, "f.csv"); };
  expectError(read(kPlacements), 1, 1, "no placement");
  expectError(read(kPlacements + "104,4,1,0\n"), 2, 1, "'placement' is '104'");
  expectError(read(kPlacements + ",4,1,0\n"), 2, 1, "'placement' is ''");
  expectError(read(kPlacements + "1,0,1,0\n"), 2, 3, "'local_bsz' is '0'");
  expectError(read(kPlacements + "1,4,0,0\n"), 2, 5, "takes time");
  expectError(read(kPlacements + "1,4,inf,0\n"), 2, 5, "'step_time' is 'inf'");
  expectError(read(kPlacements + "1,4,1,2\n"), 2, 7, "'sync_time' is 2, but the step takes 1");
  expectError(read(kPlacements + "1,8,1,0\n1,4,1,0\n"), 3, 3, "more than the 8 above");
  expectError(read(kPlacements + "1,4,1,0\n2,4,1,0\n1,8,1,0\n"), 4, 1, "placement '1' stands");
}

TEST(PolluxScalability, PointsToTheCellThatIsWrong) {
  auto read = [](const std::string &text) { return readPolluxScalability(text, "f.csv"); };
  auto rows = read(kScalability + "6,8,4,1.5,1\n");
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].servers, 6u);
  EXPECT_EQ((*rows)[0].devices, 8u);
  expectError(read(kScalability + "6,5,4,1.5,1\n"), 2, 3, "from 6 to");
  expectError(read(kScalability + "0,5,4,1.5,1\n"), 2, 1, "'num_nodes' is '0'");
  expectError(read(kScalability + "6,6,4,1.5,-1\n"), 2, 11, "'sync_time' is '-1'");
}

TEST(PolluxValidation, PointsToTheCellThatIsWrong) {
  auto read = [](const std::string &text) { return readPolluxValidation(text, "f.csv"); };
  auto epochs = read(kValidation + "10.5,10,-0.5,1,2\n20.5,20,0.5,3e2,4\n");
  ASSERT_TRUE(epochs) << epochs.error().message;
  EXPECT_EQ((*epochs)[1].gradientSquare, 300);
  expectError(read(kValidation), 1, 1, "no epoch");
  expectError(read(kValidation + "10,10,1,1,2\n10,20,1,1,2\n"), 3, 1, "'progress' is 10, but more than 10");
  expectError(read(kValidation + "10,10,1,1,2\n20,9,1,1,2\n"), 3, 4, "'iteration' is 9");
  expectError(read(kValidation + "10,10,1,0,0\n"), 2, 9, "positive");
  expectError(read(kValidation + "10,10,x,1,2\n"), 2, 7, "'metric' is 'x'");
}

class PolluxFolder : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) / "accord-pollux" /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    write("placements.csv", kPlacements + "1,4,0.5,0\n1,8,0.75,0.25\n2,4,1.5,1\n");
    write("scalability.csv", kScalability + "6,6,4,1.5,1\n");
    write("validation-16.csv", kValidation + "10,5,1,1,2\n20,10,1,1,2\n30,15,1,1,2\n");
    write("validation-8.csv", kValidation + "11,11,1,1,2\n21,21,1,1,2\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string &name, const std::string &text) { std::ofstream(folder / name) << text; }
  std::string failure() {
    auto profile = readPolluxProfile(folder.string(), {});
    return profile ? "" : profile.error().message + " at " + profile.error().location.file;
  }

  std::filesystem::path folder;
};

TEST_F(PolluxFolder, IsAProfile) {
  auto profile = readPolluxProfile(folder.string(), {});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->name, "IsAProfile");
  EXPECT_EQ(profile->initialBatch, 8);
  EXPECT_EQ(profile->maxBatch, 16);
  EXPECT_EQ(profile->minLocalBatch, 4);
  EXPECT_EQ(profile->maxLocalBatch, 8);
  EXPECT_EQ(profile->epochs, 2u);
  EXPECT_EQ(profile->progressAfter(1), 10);          // the minimum of 10 and 11
  EXPECT_EQ(profile->iterationsAfter(10, 1), 18.25); // a quarter of the way from 21 to 10
  EXPECT_DOUBLE_EQ(profile->gain(16, 0), 1.5);       // (2 + 1) / (2 / 2 + 1)
}

TEST_F(PolluxFolder, SaysWhichFileIsMissingOrWrong) {
  std::filesystem::remove(folder / "scalability.csv");
  EXPECT_NE(failure().find("scalability.csv"), std::string::npos) << failure();
  write("scalability.csv", kScalability);
  write("validation-many.csv", kValidation);
  EXPECT_NE(failure().find("'many'"), std::string::npos) << failure();
  std::filesystem::remove(folder / "validation-many.csv");
  write("validation-08.csv", kValidation); // batch 8 again
  EXPECT_NE(failure().find("once"), std::string::npos) << failure();
  for (const char *name : {"validation-08.csv", "validation-8.csv", "validation-16.csv"})
    std::filesystem::remove(folder / name);
  EXPECT_NE(failure().find("no file 'validation-B.csv'"), std::string::npos) << failure();
  std::filesystem::remove_all(folder);
  EXPECT_NE(failure().find("placements.csv"), std::string::npos) << failure();
}

} // namespace
} // namespace accord::jobs
