// The 30-job projects of PSPLIB against the optima that it publishes (j30opt, Kolisch and Sprecher
// 1997), all proven there by exact methods of others.
#include "lib/import/psplib/Psplib.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/support/SharedData.h"
#include "llvm/Support/MemoryBuffer.h"
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace accord;

namespace {

struct Case {
  std::string file;
  int64_t best = 0;
  std::string said; ///< empty: as published
};

void solve(const std::filesystem::path &folder, Case &one) {
  auto buffer = llvm::MemoryBuffer::getFile((folder / "j30" / one.file).string());
  if (!buffer) {
    one.said = "it cannot be read";
    return;
  }
  SourceManager sources;
  Diagnostics diags(sources);
  auto project = importPsplib(diags, sources.add(one.file, (*buffer)->getBuffer().str()));
  if (!project) {
    one.said = diags.text();
    return;
  }
  SolveOptions options;
  options.effort = 9;
  SchedulingResult result = schedule(project->problem, options);
  if (!result.optimal() || result.solution.makespan != one.best)
    one.said =
        "makespan " + std::to_string(result.solution.makespan) + ", at least " + std::to_string(result.bound.value);
}

TEST(Psplib, OptimaOfThirtyJobs) {
  std::filesystem::path folder = accord::testing::sharedData("psplib");
  std::vector<Case> cases;
  if (!folder.empty()) {
    std::ifstream list(folder / "j30.csv");
    std::string line;
    std::getline(list, line); // heading
    while (std::getline(list, line))
      if (size_t comma = line.find(','); comma != std::string::npos)
        cases.push_back({line.substr(0, comma), std::stoll(line.substr(comma + 1)), {}});
  }
  std::printf("%zu projects\n", cases.size());
  if (cases.empty())
    GTEST_SKIP() << "no projects of PSPLIB beside the checkout or in ACCORD_DATA";
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1u, 16u); ++i)
    threads.emplace_back([&] {
      for (size_t at; (at = next++) < cases.size();)
        solve(folder, cases[at]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Case &one : cases)
    EXPECT_EQ(one.said, "") << one.file << ", best " << one.best;
}

} // namespace
