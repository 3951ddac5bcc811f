// What a client may send, and that what is written reads back the same.
#include "lib/service/problem/ServiceJson.h"
#include "lib/support/SplitMix.h"
#include "lib/support/documents/JsonText.h"
#include <gtest/gtest.h>

namespace accord::service {
namespace {

std::string messageOf(llvm::StringRef text) {
  auto read = readSubmission(text);
  if (read)
    return "";
  std::string all;
  for (const Error &error : read.error()) {
    EXPECT_EQ(error.code, Code::WrongServiceRequest);
    all += error.message + "\n";
  }
  return all;
}

template <typename T> std::string textOf(const T &value) { return jsonLine(toDocument(value)); }

TEST(ServiceJson, SubmissionReadsBack) {
  constexpr const char *kText = R"({"name": "lm", "tenant": "vision", "command": ["python3", "a b.py", ""],
    "start": "megatron", "directory": "/data", "environment": {"A_1": "x\ny", "B": ""},
    "files": {"lm.dnn": "model", "parts/net.dnn": "é \"quoted\""}, "main": "lm.dnn", "train": "t",
    "measured": [{"device_type": "a100_80g", "devices": 8, "samples_per_s": 12.5}], "samples": 1e6,
    "deadline_s": 1800000000.5, "due_s": 1700000000, "late_price_per_s": 0.25, "priority": 2.5, "min_devices": 2,
    "max_devices": 16, "elasticity": "moldable", "restart_s": 0, "notice_s": 0, "max_failures": 9,
    "device_types": ["a100_80g", "h100"], "after": [3, 1], "key": "k-1"})";
  auto read = readSubmission(kText);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->start, Start::Megatron);
  EXPECT_EQ(read->elasticity, jobs::Elasticity::Moldable);
  EXPECT_EQ(read->restart, 0);
  EXPECT_EQ(read->notice, 0);
  EXPECT_EQ(read->files.at("parts/net.dnn"), "é \"quoted\"");
  EXPECT_EQ(read->after, (std::vector<int64_t>{3, 1}));
  std::string written = textOf(*read);
  auto again = readSubmission(written);
  ASSERT_TRUE(again) << written;
  EXPECT_EQ(textOf(*again), written);
}

TEST(ServiceJson, DefaultsStayDefaults) {
  auto read = readSubmission(R"({"name": "a", "command": ["x"], "samples": 1})");
  ASSERT_TRUE(read);
  EXPECT_EQ(textOf(*read), R"({"command":["x"],"name":"a","samples":1})");
  EXPECT_EQ(read->elasticity, jobs::Elasticity::Moldable);
  EXPECT_EQ(read->restart, -1);
  EXPECT_EQ(read->notice, 30);
  EXPECT_EQ(read->maxFailures, 3);
  EXPECT_EQ(read->minDevices, 1);
  EXPECT_EQ(read->maxDevices, 0);
}

TEST(ServiceJson, MalleableStaysMalleable) {
  Submission one;
  one.name = "a", one.command = {"x"}, one.samples = 1;
  for (jobs::Elasticity elasticity : {jobs::Elasticity::Moldable, jobs::Elasticity::Malleable})
    for (int64_t max : {0, 1, 8}) {
      one.elasticity = elasticity, one.maxDevices = max;
      auto read = readSubmission(textOf(one));
      ASSERT_TRUE(read) << textOf(one);
      EXPECT_EQ(read->elasticity, elasticity) << textOf(one);
      EXPECT_EQ(read->maxDevices, max) << textOf(one);
    }
}

TEST(ServiceJson, RigidIsOneNumberOfDevices) {
  auto devicesOf = [](const std::string &more) -> std::pair<int64_t, int64_t> {
    auto read = readSubmission(R"({"name": "a", "command": ["x"], "samples": 1, "elasticity": "rigid")" + more + "}");
    if (!read)
      return {-1, -1};
    EXPECT_EQ(read->elasticity, jobs::Elasticity::Moldable);
    EXPECT_NE(textOf(*read).find("\"rigid\""), std::string::npos);
    return {read->minDevices, read->maxDevices};
  };
  EXPECT_EQ(devicesOf(""), std::pair(int64_t(1), int64_t(1)));
  EXPECT_EQ(devicesOf(R"(, "min_devices": 4)"), std::pair(int64_t(4), int64_t(4)));
  EXPECT_EQ(devicesOf(R"(, "max_devices": 8)"), std::pair(int64_t(8), int64_t(8)));
  EXPECT_EQ(devicesOf(R"(, "min_devices": 8, "max_devices": 8)"), std::pair(int64_t(8), int64_t(8)));
  EXPECT_EQ(devicesOf(R"(, "min_devices": 4, "max_devices": 8)"), std::pair(int64_t(-1), int64_t(-1)));
}

TEST(ServiceJson, RefusesWithKeyFoundAndAllowed) {
  auto with = [](const std::string &more) {
    return messageOf(R"({"name": "a", "command": ["x"], "samples": 1, )" + more + "}");
  };
  EXPECT_EQ(messageOf(R"({"name": "a", "command": ["x"], "samples": -5})"),
            "'samples' is -5, allowed is above 0 to 1e+18\n");
  EXPECT_EQ(messageOf(R"({"name": "a b", "command": ["x"], "samples": 1})"),
            "'name' is 'a b', allowed are 1 to 60 letters, digits, '_', '-' and '.'\n");
  EXPECT_EQ(messageOf(R"({"command": ["x"], "samples": 1})"), "missing value at submission.name\n");
  EXPECT_EQ(with(R"("color": 1)"), "unknown key at submission.color\n");
  EXPECT_EQ(with(R"("start": "fast")"), "expected plain, torchrun or megatron at submission.start\n");
  EXPECT_EQ(with(R"("max_failures": 0)"), "'max_failures' is 0, allowed is 1 to 1000000\n");
  EXPECT_EQ(with(R"("min_devices": 5, "max_devices": 4)"),
            "'max_devices' is 4, allowed is 'min_devices', 5, or more\n");
  EXPECT_EQ(with(R"("environment": {"ACCORD_JOB": "1"})"),
            "'environment' is 'ACCORD_JOB', allowed are names that do not begin with 'ACCORD_'\n");
  for (const char *bad : {R"("name": "b")",
                          R"("tenant": "a/b")",
                          R"("directory": "data")",
                          R"("priority": 0)",
                          R"("priority": 1e300)",
                          R"("files": {"../a": ""}, "main": "../a")",
                          R"("files": {"/a": ""}, "main": "/a")",
                          R"("main": "a")",
                          R"("files": {"a": ""})",
                          R"("train": "t")",
                          R"("after": [0])",
                          R"("after": [1, 1])",
                          R"("after": [1.5])",
                          R"("measured": [{"device_type": "a", "devices": 0, "samples_per_s": 1}])",
                          R"("restart_s": -2)",
                          R"("measured": [{"device_type": "a", "devices": 1, "samples_per_s": 0}])",
                          R"("late_price_per_s": 1)",
                          R"("device_types": ["a", "a"])",
                          R"("environment": {"1A": ""})",
                          R"("key": "a\u0000b")",
                          R"("deadline_s": 1e999)",
                          R"("command": [])",
                          R"("max_devices": 9223372036854775807)",
                          R"("min_devices": -9223372036854775808)"})
    EXPECT_NE(with(bad), "") << bad;
  for (const char *bad : {"", "{", "[]", "null", "7", "{\"name\": 5}", "\"text\""})
    EXPECT_NE(messageOf(bad), "") << bad;
  EXPECT_NE(messageOf(std::string(100'000, '[')), "");
}

TEST(ServiceJson, WhateverIsAcceptedReadsBack) {
  const std::string whole = R"({"name": "lm", "tenant": "t", "command": ["a", "b"], "start": "torchrun", "files":
    {"m": "é"}, "main": "m", "measured": [{"device_type": "a", "devices": 8, "samples_per_s": 12.5}], "samples": 1e6,
    "deadline_s": 18.5, "due_s": 17, "late_price_per_s": 0.25, "priority": 2.5, "min_devices": 2, "max_devices": 2,
    "elasticity": "rigid", "restart_s": 0, "max_failures": 9, "after": [3, 1], "key": "k-1"})";
  const std::string pieces[] = {"-",  "0",    "1e308",    "\"",      "{",    "}",
                                "[",  "]",    ",",        "null",    "true", "1",
                                "\\", "\xff", "\"x\": 1", "\\ud800", "..",   "99999999999999999999"};
  SplitMix random(5);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (uint64_t k = random.next() % 3 + 1; k > 0; --k) {
      size_t at = random.next() % text.size(), length = random.next() % 4;
      text.replace(at, length, random.next() % 3 ? pieces[random.next() % std::size(pieces)] : std::string());
    }
    auto read = readSubmission(text);
    if (!read) {
      EXPECT_FALSE(read.error().empty());
      continue;
    }
    ++accepted;
    EXPECT_TRUE(checkSubmission(*read).empty());
    std::string written = textOf(*read);
    auto again = readSubmission(written);
    ASSERT_TRUE(again) << written;
    EXPECT_EQ(textOf(*again), written);
  }
  EXPECT_GT(accepted, 1'000);
  EXPECT_LT(accepted, 15'000);
}

TEST(ServiceJson, JobsAndRunsReadBack) {
  ServedJob job;
  job.id = (int64_t(1) << 61);
  job.submission.name = "a", job.submission.command = {"x"}, job.submission.samples = 1;
  job.phase = JobPhase::Cancelled;
  job.reason = "by \"hand\"\n";
  job.progress.samples = 0.1, job.progress.saved = 1e-300, job.progress.rate = 3, job.progress.noise = -2;
  job.progress.loss = -1.5, job.progress.history = {{1.5, 0}, {2, 64}};
  JobRunRecord run;
  run.job = 1, run.number = 2, run.exitCode = -9, run.nodes = {"n 1", "n2"}, run.deviceType = "a100";
  run.state = JobRunRecord::State::Ended, run.outcome = JobRunRecord::Outcome::Lost;
  ServiceEvent event;
  event.number = 7, event.time = 1.5, event.kind = "started", event.job = 1, event.text = "it runs";
  auto same = [](auto &value) {
    std::decay_t<decltype(value)> again;
    llvm::json::Path::Root root;
    auto document = toDocument(value);
    EXPECT_TRUE(readDocument(document, again, root)) << llvm::toString(root.getError());
    EXPECT_EQ(textOf(again), textOf(value));
  };
  same(job), same(run), same(event);
}

TEST(ServiceJson, SchemasSayWhatIsAllowed) {
  std::string schema = schemaText(schemaOf<Submission>());
  for (const char *said : {"\"rigid\"", "\"moldable\"", "\"megatron\"", "\"samples_per_s\"", "\"max_failures\"",
                           "\"additionalProperties\": false", "\"required\": [\"name\", \"command\"]"})
    EXPECT_NE(schema.find(said), std::string::npos) << said << schema;
  EXPECT_NE(schemaText(schemaOf<ServedJob>()).find("\"cancelled\""), std::string::npos);
  EXPECT_NE(schemaText(schemaOf<JobRunRecord>()).find("\"lost\""), std::string::npos);
}

TEST(ServiceJson, WordsAreUnique) {
  for (int i = 0; i <= int(JobPhase::Cancelled); ++i)
    EXPECT_EQ(jobPhase(nameOf(JobPhase(i))), JobPhase(i));
  EXPECT_EQ(jobPhase("Queued"), std::nullopt);
  for (Role role : {Role::Viewer, Role::Submitter, Role::Operator})
    EXPECT_EQ(roleNamed(nameOf(role)), role);
  EXPECT_EQ(nameOf(JobPhase(200)), "unknown");
}

} // namespace
} // namespace accord::service
