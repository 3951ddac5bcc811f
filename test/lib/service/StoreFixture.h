// A state in a folder of its own, or in a schema of its own of the PostgreSQL that $ACCORD_TEST_POSTGRES names.
#pragma once
#include "lib/service/problem/ServiceJson.h"
#include "lib/service/store/ServiceStore.h"
#include "lib/support/documents/JsonText.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace accord::service::testing {

inline std::string freshName() {
  static std::atomic<int> count = 0;
  return "accord_" + std::to_string(getpid()) + "_" + std::to_string(++count);
}

/// A folder in memory where there is one, that is removed at the end.
struct TestFolder {
  std::filesystem::path path;
  TestFolder() {
    bool inMemory = access("/dev/shm", W_OK | X_OK) == 0;
    path = std::filesystem::path(inMemory ? "/dev/shm" : ::testing::TempDir()) / freshName();
    std::filesystem::create_directories(path);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string &name) const { return path / name; }
};

/// A database of a kind, "sqlite" or "postgresql".
class TestState {
public:
  explicit TestState(const std::string &kind) {
    if (kind == "sqlite") {
      url = folder.file("state.db");
      return;
    }
    base = std::getenv("ACCORD_TEST_POSTGRES");
    schema = freshName();
    run("create schema " + schema);
    url = base + (base.find('?') == std::string::npos ? "?" : "&") + "options=-csearch_path%3D" + schema;
  }
  ~TestState() {
    if (!schema.empty())
      run("drop schema " + schema + " cascade");
  }

  TestFolder folder;
  std::string url;

private:
  void run(const std::string &statement) {
    auto database = openDatabase(base);
    ASSERT_TRUE(database) << database.error().message;
    auto done = (*database)->transaction([&](Connection &connection) { return connection.run(statement); });
    EXPECT_TRUE(done) << done.error().message;
  }
  std::string base, schema;
};

inline std::vector<std::string> testKinds() {
  std::vector<std::string> kinds = {"sqlite"};
  if (std::getenv("ACCORD_TEST_POSTGRES"))
    kinds.push_back("postgresql");
  return kinds;
}

template <typename T> T must(Result<T> result) {
  if (!result)
    ADD_FAILURE() << result.error().message;
  return result ? std::move(*result) : T();
}
inline void must(const Result<void> &result) { EXPECT_TRUE(result) << result.error().message; }

inline std::unique_ptr<ServiceStore> openStore(const std::string &url) { return must(ServiceStore::open(url)); }

template <typename T> std::string textOf(const T &value) { return jsonLine(toDocument(value)); }
template <typename T> std::string textOf(const std::vector<T> &values) {
  std::string all;
  for (const T &value : values)
    all += textOf(value) + "\n";
  return all;
}

inline ServedJob someJob(const std::string &name) {
  ServedJob job;
  job.submission.name = name;
  job.submission.tenant = "team";
  job.submission.command = {"train", "--fast"};
  job.submission.samples = 1e6;
  job.phase = JobPhase::Queued;
  job.submitted = 100;
  return job;
}
inline ServiceEvent someEvent(const std::string &text) {
  ServiceEvent event;
  event.time = 100;
  event.kind = "submitted";
  event.tenant = "team";
  event.text = text;
  return event;
}
inline JobRunRecord someRun(int64_t job, int64_t number) {
  JobRunRecord run;
  run.job = job, run.number = number;
  run.state = JobRunRecord::State::Running;
  run.task = "job-" + std::to_string(job) + "-" + std::to_string(number);
  run.deviceType = "a100";
  run.devices = 8, run.devicesPerNode = 4;
  run.nodes = {"n1", "n2"};
  run.intended = 100, run.started = 110;
  return run;
}

} // namespace accord::service::testing
