// Servers of runs: each has its devices for as long as it lasts, and what has a place by some assignment gets one.
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/verify/PlacementCheck.h"
#include "lib/support/SplitMix.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

Cluster uniform(unsigned servers, unsigned devices, std::string type = "h100") {
  return {{std::move(type)}, std::vector<Server>(servers, Server{0, devices})};
}

/// An answer with one job for each request, which the check of placements reads.
JobAnswer answerOf(const Cluster &cluster, const std::vector<RunRequest> &requests) {
  JobAnswer answer;
  answer.cluster = cluster;
  for (const RunRequest &request : requests) {
    while (answer.jobs.size() <= request.job) {
      answer.jobs.emplace_back();
      answer.problem.jobs.emplace_back();
      answer.problem.jobs.back().name = "job" + std::to_string(answer.jobs.size() - 1);
      answer.schedule.jobs.emplace_back();
    }
    JobWords &words = answer.jobs[request.job];
    words.configurations.push_back({"", request.type, request.devices, 0, 0});
    answer.schedule.jobs[request.job].runs.push_back(
        {request.begin, request.end, static_cast<unsigned>(words.configurations.size() - 1)});
  }
  return answer;
}

void expectHolds(const JobAnswer &answer, bool partial = false) {
  auto holds = checkPlacements(answer, partial);
  EXPECT_TRUE(holds) << holds.error().message;
}

/// Whether runs of at most one server's devices have servers, by trying all.
bool hasPlace(const Cluster &cluster, const std::vector<RunRequest> &requests, std::vector<unsigned> &chosen) {
  const size_t at = chosen.size();
  if (at == requests.size())
    return true;
  for (unsigned server = 0; server < cluster.servers.size(); ++server) {
    if (cluster.servers[server].type != requests[at].type)
      continue;
    bool fits = true;
    for (int64_t slot = requests[at].begin; slot < requests[at].end; ++slot) {
      unsigned used = requests[at].devices;
      for (size_t i = 0; i < at; ++i)
        if (chosen[i] == server && requests[i].begin <= slot && slot < requests[i].end)
          used += requests[i].devices;
      fits &= used <= cluster.servers[server].devices;
    }
    if (!fits)
      continue;
    chosen.push_back(server);
    if (hasPlace(cluster, requests, chosen))
      return true;
    chosen.pop_back();
  }
  return false;
}

TEST(JobPlacer, NothingAndNoDevices) {
  EXPECT_TRUE(placeRuns({}, {}).runs.empty());
  RunPlacements placed = placeRuns(uniform(1, 4), {{0, 0, 3, 0, 0}, {1, 2, 2, 0, 4}, {2, 0, 1, 7, 1}, {3, 0, 1, 0, 5}});
  EXPECT_EQ(placed.unplaced, (std::vector<size_t>{2, 3})) << "a type and devices that are not there";
  EXPECT_TRUE(placed.provenUnplaced);
}

TEST(JobPlacer, ARunThatMustNotMoveNeedsItsEndInView) {
  // Two servers of 4. Slot by slot, runs of 2 devices fill one server; then 4 devices in slot 1 need a whole one.
  Cluster cluster = uniform(2, 4);
  std::vector<RunRequest> requests{{0, 0, 1, 0, 2}, {1, 0, 5, 0, 2}, {2, 0, 1, 0, 2}, {3, 0, 5, 0, 2}, {4, 1, 5, 0, 4}};
  JobAnswer answer = answerOf(cluster, requests);
  RunPlacements placed = placeJobs(answer);
  EXPECT_TRUE(placed.unplaced.empty());
  expectHolds(answer);
  EXPECT_EQ(answer.placements[1][0], answer.placements[3][0]);
}

TEST(JobPlacer, ScatteredDevicesAreProvedToBeNoPlace) {
  // One device of each server is held for ever by runs that overlap in a chain; two devices are free, on no one server.
  Cluster cluster = uniform(2, 2);
  std::vector<RunRequest> requests{{0, 0, 2, 0, 2}, {1, 1, 3, 0, 1}, {2, 1, 4, 0, 1}, {3, 2, 5, 0, 1},
                                   {4, 3, 5, 0, 1}, {5, 4, 6, 0, 2}, {6, 2, 3, 0, 1}};
  std::vector<unsigned> chosen;
  JobAnswer answer = answerOf(cluster, requests);
  RunPlacements placed = placeJobs(answer);
  const bool possible = hasPlace(cluster, requests, chosen);
  EXPECT_EQ(placed.unplaced.empty(), possible);
  EXPECT_EQ(placed.provenUnplaced, !possible);
  expectHolds(answer, true);
}

TEST(JobPlacer, AJobStaysWhereItWasAfterAPause) {
  Cluster cluster = uniform(4, 8);
  std::vector<RunRequest> requests{{0, 0, 4, 0, 8}, {1, 0, 4, 0, 8}, {1, 6, 9, 0, 8}, {0, 8, 9, 0, 8}};
  RunPlacements placed = placeRuns(cluster, requests, {{}, {{3, 8}}});
  EXPECT_EQ(placed.moves, 0);
  EXPECT_EQ(placed.runs[1], (JobPlacement{{3, 8}})) << "where it ran before the schedule";
  EXPECT_EQ(placed.runs[1], placed.runs[2]);
  EXPECT_EQ(placed.runs[0], placed.runs[3]);
}

TEST(JobPlacer, LargeRunsHaveWholeServersAndAPart) {
  JobAnswer answer = answerOf(uniform(4, 8), {{0, 0, 4, 0, 20}, {1, 2, 6, 0, 8}, {2, 0, 6, 0, 4}});
  RunPlacements placed = placeJobs(answer);
  EXPECT_TRUE(placed.unplaced.empty());
  EXPECT_EQ(placed.runs[0].size(), 3u);
  expectHolds(answer);
}

TEST(JobPlacer, WhatTryingAllFindsIsFound) {
  SplitMix random(7);
  int possible = 0, impossible = 0;
  for (int round = 0; round < 600; ++round) {
    Cluster cluster;
    cluster.types = {"a", "b"};
    for (unsigned s = 0, n = 2 + random.below(2); s < n; ++s)
      cluster.servers.push_back(
          {static_cast<unsigned>(random.below(4) == 0), 2 + static_cast<unsigned>(random.below(3))});
    std::vector<RunRequest> requests;
    for (unsigned i = 0, n = 3 + random.below(6); i < n; ++i) {
      const unsigned type = random.below(4) == 0;
      if (cluster.largestServer(type) == 0)
        continue;
      const int64_t begin = static_cast<int64_t>(random.below(6));
      requests.push_back({static_cast<unsigned>(requests.size()), begin, begin + 1 + int64_t(random.below(4)), type,
                          1 + static_cast<unsigned>(random.below(cluster.largestServer(type)))});
    }
    std::vector<unsigned> chosen;
    const bool expected = hasPlace(cluster, requests, chosen);
    JobAnswer answer = answerOf(cluster, requests);
    RunPlacements placed = placeJobs(answer);
    expectHolds(answer, true);
    if (expected)
      EXPECT_TRUE(placed.unplaced.empty()) << "round " << round;
    if (!placed.unplaced.empty())
      EXPECT_TRUE(placed.provenUnplaced) << "a small search is through";
    (expected ? possible : impossible)++;
  }
  EXPECT_GT(possible, 100);
  EXPECT_GT(impossible, 100);
}

TEST(JobPlacer, PowersOfTwoOnLargeClusters) {
  // Runs that some placement has: servers are cut in halves at random, and each part is a chain of runs.
  SplitMix random(3);
  Cluster cluster = uniform(64, 8);
  std::vector<RunRequest> requests;
  for (unsigned server = 0; server < 64; ++server)
    for (unsigned part = 0, parts = 1u << random.below(4); part < parts; ++part)
      for (int64_t slot = static_cast<int64_t>(random.below(5)); slot < 200;) {
        const int64_t end = slot + 1 + static_cast<int64_t>(random.below(40));
        requests.push_back({static_cast<unsigned>(requests.size()), slot, end, 0, 8 / parts});
        slot = end + static_cast<int64_t>(random.below(20));
      }
  JobAnswer answer = answerOf(cluster, requests);
  RunPlacements placed = placeJobs(answer);
  expectHolds(answer, true);
  EXPECT_TRUE(placed.unplaced.empty()) << placed.unplaced.size() << " of " << requests.size();
}

TEST(PlacementCheck, SaysWhatDoesNotHold) {
  JobAnswer answer = answerOf(uniform(2, 4), {{0, 0, 3, 0, 4}, {1, 2, 5, 0, 2}});
  placeJobs(answer);
  auto message = [&](auto change) {
    JobAnswer wrong = answer;
    change(wrong);
    auto holds = checkPlacements(wrong);
    return holds ? std::string() : holds.error().message;
  };
  const unsigned of0 = answer.placements[0][0][0].server;
  EXPECT_EQ(message([&](JobAnswer &a) { a.placements[1][0] = {{of0, 2}}; }),
            "server " + std::to_string(of0) + " has 6 devices in use in slot 2, of 4");
  EXPECT_EQ(message([](JobAnswer &a) { a.placements[1][0] = {}; }), "run 0 of job 'job1' has 0 of 2 devices");
  EXPECT_EQ(message([](JobAnswer &a) { a.placements[1][0] = {{9, 2}}; }), "run 0 of job 'job1' is on server 9 of 2");
  EXPECT_EQ(message([](JobAnswer &a) { a.placements[1][0] = {{1, 1}, {1, 1}}; }),
            "run 0 of job 'job1' has server 1 twice");
  EXPECT_EQ(message([](JobAnswer &a) { a.placements.pop_back(); }), "placements of 1 jobs, of 2");
  EXPECT_EQ(message([](JobAnswer &a) { a.placements[0].clear(); }), "job 'job0' has placements of 0 runs, of 1");
  EXPECT_EQ(message([](JobAnswer &a) {
              a.schedule.jobs[1].runs = {{2, 3, 0}, {3, 5, 0}};
              a.placements[1] = {{{0, 2}}, {{1, 2}}};
              a.placements[0] = {{{0, 4}}};
            }),
            "job 'job1' moves in slot 3 within a run");
}

TEST(JobPlacer, NoRunIsOnAServerThatIsAwayAndRunsThatGoOnStay) {
  // Three servers of 4; the first is away in slots 2 and 3, and job 0 goes on upon the second.
  const Cluster cluster = uniform(3, 4);
  std::vector<RunRequest> requests{{0, 0, 5, 0, 2, true}, {1, 0, 2, 0, 4}, {2, 1, 4, 0, 4}, {3, 2, 5, 0, 2}};
  const RunPlacements placed = placeRuns(cluster, requests, {{{1, 2}}}, {{0, 2, 4}});
  EXPECT_TRUE(placed.unplaced.empty());
  EXPECT_EQ(placed.runs[0], (JobPlacement{{1, 2}}));
  EXPECT_EQ(placed.runs[1], (JobPlacement{{0, 4}}));
  EXPECT_EQ(placed.runs[2], (JobPlacement{{2, 4}}));
  EXPECT_EQ(placed.runs[3], (JobPlacement{{1, 2}}));
  // Where nobody else has a place then, it moves.
  requests[3].devices = 4, requests[3].end = 4;
  requests[2] = {2, 2, 4, 0, 2};
  EXPECT_TRUE(placeRuns(cluster, requests, {{{1, 2}}}, {{0, 2, 4}}).unplaced.empty());
}

TEST(JobPlacer, RandomAbsencesAreKept) {
  SplitMix random(23);
  size_t found = 0, missing = 0;
  for (int round = 0; round < 300; ++round) {
    const Cluster cluster = uniform(3, 4);
    std::vector<RunRequest> requests;
    for (unsigned job = 0; job < 6; ++job) {
      const auto begin = static_cast<int64_t>(random.below(4));
      requests.push_back({job, begin, begin + 1 + static_cast<int64_t>(random.below(3)), 0,
                          static_cast<unsigned>(1 + random.below(4))});
    }
    std::vector<ServerAbsence> absences;
    for (unsigned server = 0; server < 2; ++server) {
      const auto begin = static_cast<int64_t>(random.below(5));
      absences.push_back({server, begin, begin + 1 + static_cast<int64_t>(random.below(2))});
    }
    JobAnswer answer = answerOf(cluster, requests);
    answer.absences = absences;
    const RunPlacements placed = placeJobs(answer);
    expectHolds(answer, true);
    // An absence is a run of a whole server that is there already.
    std::vector<RunRequest> all;
    std::vector<unsigned> chosen;
    for (const ServerAbsence &one : absences)
      all.push_back({0, one.begin, one.end, 0, 4}), chosen.push_back(one.server);
    all.insert(all.end(), requests.begin(), requests.end());
    const bool hasAPlace = hasPlace(cluster, all, chosen);
    EXPECT_EQ(placed.unplaced.empty(), hasAPlace) << round;
    (hasAPlace ? found : missing) += 1;
  }
  EXPECT_GT(found, 30u);
  EXPECT_GT(missing, 30u);
}

} // namespace
