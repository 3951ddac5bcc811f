// Packing of jobs on servers: what fits by number fits, nobody overlaps, and nobody moves without need.
#include "lib/jobs/solve/ServerPacking.h"
#include "lib/support/SplitMix.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::jobs;

namespace {

Cluster uniform(unsigned servers, unsigned devices) {
  return {{"a"}, std::vector<Server>(servers, Server{0, devices})};
}

/// Every server holds at most what it has, and each job has the devices that it asked for, or none.
void expectValid(const Cluster &cluster, const std::vector<PackingRequest> &requests,
                 const std::vector<JobPlacement> &placements) {
  ASSERT_EQ(placements.size(), requests.size());
  std::vector<unsigned> used(cluster.servers.size(), 0);
  for (size_t i = 0; i < placements.size(); ++i) {
    if (!placements[i].empty()) {
      EXPECT_EQ(devicesOf(placements[i]), requests[i].devices);
    }
    for (const ServerShare &share : placements[i]) {
      ASSERT_LT(share.server, used.size());
      EXPECT_EQ(cluster.servers[share.server].type, requests[i].type);
      used[share.server] += share.devices;
    }
  }
  for (size_t i = 0; i < used.size(); ++i)
    EXPECT_LE(used[i], cluster.servers[i].devices);
}

TEST(ServerPacking, JobsOfTheSameSizeStay) {
  Cluster cluster = uniform(2, 4);
  std::vector<PackingRequest> requests{{0, 2, {{1, 2}}}, {0, 2, {}}, {0, 1, {{0, 1}}}};
  auto placements = packServers(cluster, requests);
  expectValid(cluster, requests, placements);
  EXPECT_EQ(placements[0], (JobPlacement{{1, 2}}));
  EXPECT_EQ(placements[2], (JobPlacement{{0, 1}}));
  EXPECT_EQ(placements[1], (JobPlacement{{1, 2}})) << "the server that it fills";
}

TEST(ServerPacking, OnlyTheSmallestJobMakesRoom) {
  // 3 + 1 and 2 + 1 are held; a job of 4 needs a server: the one with less to move.
  Cluster cluster = uniform(3, 4);
  std::vector<PackingRequest> requests{{0, 2, {{0, 2}}}, {0, 1, {{1, 1}}}, {0, 2, {{2, 2}}}, {0, 4, {}}};
  auto placements = packServers(cluster, requests);
  expectValid(cluster, requests, placements);
  EXPECT_EQ(placements[3], (JobPlacement{{1, 4}}));
  EXPECT_EQ(placements[0], (JobPlacement{{0, 2}}));
  EXPECT_EQ(placements[2], (JobPlacement{{2, 2}}));
  EXPECT_EQ(devicesOf(placements[1]), 1u);
}

TEST(ServerPacking, LargeJobsTakeWholeServersAndARest) {
  Cluster cluster = uniform(4, 4);
  std::vector<PackingRequest> requests{{0, 6, {}}, {0, 8, {}}};
  auto placements = packServers(cluster, requests);
  expectValid(cluster, requests, placements);
  EXPECT_EQ(placements[0].size(), 2u);
  EXPECT_EQ(placements[1].size(), 2u);
}

TEST(ServerPacking, TypesAreNotMixed) {
  Cluster cluster{{"a", "b"}, {{0, 4}, {1, 4}}};
  std::vector<PackingRequest> requests{{1, 4, {}}, {1, 1, {}}, {0, 2, {{1, 2}}}};
  auto placements = packServers(cluster, requests);
  expectValid(cluster, requests, placements);
  EXPECT_EQ(placements[0], (JobPlacement{{1, 4}}));
  EXPECT_TRUE(placements[1].empty());
  EXPECT_EQ(placements[2], (JobPlacement{{0, 2}}));
}

TEST(ServerPacking, WhateverFitsByNumberFitsWherePowersOfTwoDivideEachOther) {
  SplitMix random(7);
  for (int round = 0; round < 2000; ++round) {
    const unsigned serverDevices = 1u << random.below(4), servers = 1 + random.below(12);
    Cluster cluster = uniform(servers, serverDevices);
    std::vector<JobPlacement> running;
    // Jobs come, go and change their size; each time all that fit by number have to be placed.
    std::vector<PackingRequest> requests;
    for (int step = 0; step < 6; ++step) {
      unsigned left = servers * serverDevices;
      std::vector<PackingRequest> next;
      for (size_t i = 0; i < 12; ++i) {
        PackingRequest request{0, 0, i < running.size() ? running[i] : JobPlacement{}};
        unsigned size = random.below(3) == 0 ? serverDevices * (1 + random.below(3)) : 1u << random.below(4);
        if (size > serverDevices && size % serverDevices != 0)
          size = serverDevices;
        if (random.below(2) == 0 && !request.previous.empty())
          size = devicesOf(request.previous);
        if (size <= left && random.below(5) != 0)
          request.devices = size, left -= size;
        next.push_back(request);
      }
      auto placements = packServers(cluster, next);
      expectValid(cluster, next, placements);
      for (size_t i = 0; i < next.size(); ++i)
        EXPECT_EQ(devicesOf(placements[i]), next[i].devices) << "round " << round << " step " << step << " job " << i;
      running = placements;
    }
  }
}

} // namespace
