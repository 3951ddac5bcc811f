#include "lib/exploration/verify/CertificatePoints.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

using Problem = PlacementProblem;

/// Boards of chips: tensor parallelism over the chips of a board, at 1 s for as many bytes as the
/// bus has bandwidth.
CertificateCluster clusterOf(int64_t chunkQueues, int64_t chips, double bandwidth) {
  CertificateCluster cluster;
  Problem::DeviceType deviceType;
  deviceType.devices = chunkQueues * chips, deviceType.devicesPerNode = chips;
  cluster.problem.deviceTypes = {deviceType};
  cluster.problem.links = {{{0, 1e12 / bandwidth}, {0, 1e12 / 1e6}}};
  for (int64_t tensor : {1, 2})
    for (int64_t data = 1; data * tensor <= deviceType.devices; ++data) {
      Problem::ParallelConfig parallelConfig;
      parallelConfig.tensor = tensor, parallelConfig.data = data;
      if (data > 1)
        parallelConfig.gradientSyncs = {{1, {{5, 1e12 / bandwidth}}}};
      cluster.problem.parallelConfigs.push_back(parallelConfig);
    }
  return cluster;
}

/// A parameter of the machine, 1 to 3 boards, 1 or 4 chips, two buses.
MiningCertificate claimOf() {
  MiningCertificate certificate;
  for (const auto &[name, values] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{{"core.count", {"1", "2"}},
                                                                     {"board.count", {"1", "2", "3"}},
                                                                     {"chip.count", {"1", "4"}},
                                                                     {"bus.bandwidth", {"5 GB/s", "20 GB/s"}}}) {
    certificate.parameters.emplace_back().name = name;
    certificate.parameters.back().labels = values;
  }
  certificate.clusterParameters = 3;
  CertificateJob &job = certificate.jobs.emplace_back();
  job.name = "net";
  for (int64_t chunkQueues : {1, 2, 3})
    for (int64_t chips : {1, 4})
      for (double bandwidth : {5e9, 20e9}) {
        job.points.push_back(job.clusters.size());
        job.clusters.push_back(clusterOf(chunkQueues, chips, bandwidth));
      }
  certificate.jobs.emplace_back().name = "alone"; // on one device
  return certificate;
}

TEST(MiningClusters, TheLastParametersAreAPoint) {
  MiningCertificate certificate = claimOf();
  size_t point = 0;
  for (uint32_t chunkQueues = 0; chunkQueues < 3; ++chunkQueues)
    for (uint32_t chips = 0; chips < 2; ++chips)
      for (uint32_t bus = 0; bus < 2; ++bus, ++point)
        for (uint32_t cores : {0, 1}) {
          EXPECT_EQ(pointOf(certificate, {cores, chunkQueues, chips, bus}), point);
          EXPECT_EQ(clusterAt(certificate, 0, {cores, chunkQueues, chips, bus}), point);
          EXPECT_FALSE(clusterAt(certificate, 1, {cores, chunkQueues, chips, bus}));
        }
  CertificatePoints points(certificate);
  EXPECT_TRUE(points.wrong().empty()) << points.wrong().front();
  EXPECT_FALSE(points.missing({0, 1}, {0, 2, 1, 1}));
}

TEST(MiningClusters, AnotherClusterIsFoundOut) {
  auto wrong = [](auto change) {
    MiningCertificate certificate = claimOf();
    change(certificate.jobs.front());
    CertificatePoints points(certificate);
    return points.wrong().empty() ? std::string() : points.wrong().front();
  };
  auto has = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  // Of others that are counted: each for each.
  for (size_t at = 0; at < 12; ++at)
    for (size_t other = 0; other < 12; ++other)
      if (at / 2 != other / 2)
        EXPECT_NE(wrong([&](CertificateJob &job) { job.points[at] = other; }), "") << at << other;
  EXPECT_TRUE(has(wrong([](CertificateJob &job) { std::swap(job.points[6], job.points[7]); }),
                  "board.count 2, chip.count 4, bus.bandwidth 20 GB/s: its network is slower"));
  EXPECT_TRUE(has(wrong([](CertificateJob &job) { job.clusters[11].problem.parallelConfigs.pop_back(); }),
                  "stages of 12 devices are left out"));
  EXPECT_TRUE(has(wrong([](CertificateJob &job) { job.clusters[6].problem.parallelConfigs.pop_back(); }),
                  "stages of 8 devices are left out"));
  EXPECT_TRUE(has(wrong([](CertificateJob &job) {
                    for (size_t at = 4; at < 8; ++at) // as many devices on each board
                      job.clusters[at].problem.deviceTypes[0].devicesPerNode = 2;
                  }),
                  "devices of a server"));
  // Exchanges of gradients, inside a board, across boards, and what devices of a stage exchange are as fast as they
  // were or faster. By a factor of 1e-8 they may differ.
  auto slowerAt7 = [&](auto change) { return has(wrong(change), "bus.bandwidth 20 GB/s: its network is slower"); };
  for (double by : {1 + 1e-10, 10.0}) {
    EXPECT_EQ(slowerAt7([&](CertificateJob &job) {
                for (Problem::ParallelConfig &config : job.clusters[7].problem.parallelConfigs)
                  for (auto &sync : config.gradientSyncs)
                    sync.alternatives[0].perByte = 1e12 / 5e9 * by;
              }),
              by > 2);
    EXPECT_EQ(slowerAt7([&](CertificateJob &job) { job.clusters[7].problem.links[0].intraNode.perByte = 200 * by; }),
              by > 2);
    EXPECT_EQ(slowerAt7([&](CertificateJob &job) { job.clusters[7].problem.links[0].interNode.perByte *= by; }),
              by > 2);
    EXPECT_EQ(slowerAt7([&](CertificateJob &job) {
                for (size_t at : {6, 7}) {
                  CertificateStep &step = job.clusters[at].steps.emplace_back();
                  step.graph.operations.resize(2);
                  step.graph.operations[1].givenSeconds = at == 7 ? 0.5 * by : 0.5;
                }
              }),
              by > 2);
  }
  // Of another parallel configuration, or of replicas that lie in another way, nothing follows.
  EXPECT_FALSE(slowerAt7([&](CertificateJob &job) {
    for (Problem::ParallelConfig &config : job.clusters[7].problem.parallelConfigs) {
      config.microbatch = 77;
      for (auto &sync : config.gradientSyncs)
        sync.alternatives[0].perByte = 1e6;
    }
  }));
  EXPECT_FALSE(slowerAt7([&](CertificateJob &job) {
    for (Problem::ParallelConfig &config : job.clusters[7].problem.parallelConfigs)
      for (auto &sync : config.gradientSyncs)
        sync.replicasPerNode = 2, sync.alternatives[0].perByte = 1e6;
  }));
  // Nothing is to be known of a bandwidth that changes nothing.
  EXPECT_EQ(wrong([](CertificateJob &job) { job.points[1] = 0; }), "");
}

TEST(MiningClusters, NoFormFollowsFromTooFewDevices) {
  MiningCertificate certificate = claimOf();
  CertificateJob &job = certificate.jobs.front();
  for (CertificateCluster &one : job.clusters)
    std::erase_if(one.problem.parallelConfigs, [](const auto &parallelConfig) { return parallelConfig.devices() < 2; });
  job.points[0] = job.points[1] = std::nullopt; // one chip
  CertificatePoints points(certificate);
  EXPECT_TRUE(points.wrong().empty()) << points.wrong().front();
  EXPECT_EQ(points.missing({0, 1}, {0, 0, 0, 1}), std::optional(true));
  EXPECT_FALSE(points.missing({1}, {0, 0, 0, 1}));
  job.points[2] = std::nullopt; // four chips
  CertificatePoints more(certificate);
  EXPECT_EQ(more.missing({0}, {0, 0, 1, 0}), std::optional(false));
  EXPECT_FALSE(more.missing({0}, {0, 0, 1, 1}));
}

} // namespace
