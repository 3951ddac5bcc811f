// Clusters of the dialect -> plain data.
#include "lib/machine/translate/FromCluster.h"
#include "dialects/accel/AccelDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>

using namespace accord;
using testing::Contains;
using testing::HasSubstr;

namespace {

const std::string kGpu = "accel.accelerator @a100 {\n"
                         "accel.memory @hbm : dram {bandwidth = #accel.quantity<2039 GB/s>, capacity = "
                         "#accel.quantity<80 GiB>}\n"
                         "accel.core @tc : tensor {peak = {bf16 = #accel.quantity<312 TFLOP/s>}}\n}\n";
const std::string kNvlink = "accel.network @nvlink {connects = [@gpu], topology = \"switch\", "
                            "bandwidth = #accel.quantity<300 GB/s>";

/// The cluster `@c` with this body, as plain data.
Result<Cluster> convert(const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<accel::AccelDialect>();
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    said += d.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kGpu + "accel.cluster @c {\n" + body + "\n}", &context);
  if (!module)
    return Error{Code::InternalError, said, {}, {}};
  accel::ClusterOp cluster = *module->getOps<accel::ClusterOp>().begin();
  auto device = acceleratorOf(cluster);
  if (!device)
    return device.error();
  EXPECT_EQ(device->getSymName(), "a100");
  Machine machine;
  machine.name = "a100";
  return clusterFrom(cluster, machine);
}

std::string codeOf(const std::string &body) {
  auto result = convert(body);
  auto *error = result.getError();
  return error ? error->code == Code::InternalError ? error->message : numberOf(error->code) : "";
}

} // namespace

TEST(FromCluster, ServersAndTheirNetworksBecomeLevels) {
  auto result = convert("accel.server @dgx [16] {\naccel.device @gpu [8] : @a100\n"
                        "accel.host {memory = #accel.quantity<2 TiB>, cpu_cores = 128 : i64}\n" +
                        kNvlink +
                        ", latency = #accel.quantity<2 us>, efficiency = #accel.quantity<\"0.8\">, reduction = "
                        "\"in_switch\", bandwidth_by_peers = {\"16\" = #accel.quantity<230 GB/s>, \"2\" = "
                        "#accel.quantity<194 GB/s>}}\n}\n"
                        "accel.network @ib {connects = [@dgx], topology = \"fat_tree\", oversubscription = "
                        "#accel.quantity<\"2\">, leaf = 4 : i64, bandwidth = #accel.quantity<200 GB/s>, algorithm = "
                        "\"ring\", energy = #accel.quantity<30 pJ/B>}");
  auto *cluster = result.get();
  ASSERT_TRUE(cluster) << result.error().message;
  EXPECT_EQ(cluster->devicesPerNode, 8);
  EXPECT_EQ(cluster->servers, 16);
  EXPECT_EQ(cluster->fabric.devices(), 128);
  EXPECT_EQ(cluster->host.cpuCores, 128);
  EXPECT_EQ(cluster->host.memory.value, 2.0 * (int64_t(1) << 40));
  ASSERT_EQ(cluster->fabric.levels.size(), 2u);
  const Network &nvlink = cluster->fabric.levels[0], &ib = cluster->fabric.levels[1];
  EXPECT_EQ(nvlink.name, "nvlink");
  EXPECT_EQ(nvlink.endpoints, 8);
  EXPECT_EQ(nvlink.bandwidth.value, 300e9);
  EXPECT_NEAR(nvlink.latency.value, 2e-6, 1e-18);
  EXPECT_EQ(nvlink.efficiency, 0.8);
  EXPECT_TRUE(nvlink.inSwitchReduction);
  ASSERT_EQ(nvlink.bandwidthByPeers.size(), 2u);
  EXPECT_EQ(nvlink.bandwidthByPeers[0].first, 2); // by number, not by letter
  EXPECT_EQ(nvlink.bandwidthByPeers[1].first, 16);
  EXPECT_EQ(nvlink.origins.at("bandwidth").text, "300 GB/s");
  EXPECT_EQ(ib.endpoints, 16);
  EXPECT_EQ(ib.topology, Topology::FatTree);
  EXPECT_EQ(ib.oversubscription, 2);
  EXPECT_EQ(ib.leaf, 4);
  EXPECT_EQ(ib.algorithm, Algorithm::Ring);
  EXPECT_NEAR(ib.energy.value, 30e-12, 1e-24);
  EXPECT_THAT(cluster->assumptions, Contains(HasSubstr("network 'ib' take no latency")));
  EXPECT_THAT(cluster->assumptions, Contains(HasSubstr("network 'ib' reaches its whole")));
  EXPECT_EQ(cluster->assumptions.size(), 2u);
}

TEST(FromCluster, OfSeveralNetworksTheWidestIsTaken) {
  auto result = convert("accel.device @gpu [4] : @a100\n"
                        "accel.network @pcie {connects = [@gpu], topology = \"bus\", bandwidth = "
                        "#accel.quantity<32 GB/s>}\n" +
                        kNvlink + "}");
  auto *cluster = result.get();
  ASSERT_TRUE(cluster) << result.error().message;
  ASSERT_EQ(cluster->fabric.levels.size(), 1u);
  EXPECT_EQ(cluster->fabric.levels[0].name, "nvlink");
  EXPECT_THAT(cluster->assumptions, Contains(HasSubstr("'nvlink', which has the most bandwidth")));
}

TEST(FromCluster, OneDeviceNeedsNoNetwork) {
  auto result = convert("accel.device @gpu : @a100");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->fabric.devices(), 1);
}

TEST(FromCluster, WhatIsNotEqualOrOpenIsRefused) {
  std::string server = "{\naccel.device @gpu : @a100\n}\n";
  std::string network = "accel.network @ib {connects = [@s, @t], topology = \"switch\", bandwidth = "
                        "#accel.quantity<200 GB/s>}";
  EXPECT_EQ(codeOf("accel.server @s " + server + "accel.server @t " + server + network), "A0456");
  EXPECT_EQ(codeOf("accel.device @gpu [#accel.choice<pow2 [1, 8]>] : @a100\n" + kNvlink + "}"), "A0456");
  EXPECT_EQ(codeOf("accel.device @gpu [8] : @a100\n" + kNvlink +
                   ", latency = #accel.choice<set [#accel.quantity<1 us>, #accel.quantity<2 us>]>}"),
            "A0456");
  EXPECT_EQ(codeOf("accel.device @gpu [8000000] : @a100\n" + kNvlink + "}"), "A0454");
}
