#include "lib/import/prices/PriceList.h"
#include "lib/import/prices/OfferedAccelerators.h"
#include "lib/support/SplitMix.h"
#include "test/support/SharedData.h"
#include "test/support/SourcePath.h"
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>

namespace accord::offers {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string textOf(const std::filesystem::path &path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(PriceList, ReadsColumnsInAnyOrderWithQuotesAndEmptyPrices) {
  auto list = readPriceList("Region,SpotPrice,AcceleratorCount,Price,AcceleratorName,InstanceType,GpuInfo,Zone\r\n"
                            "eu,,8,\"98.32\",H100,\"p5, large\",\"{'Gpus': [{'Name': 'H100', 'MemoryInfo': "
                            "{'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 655360}\",a\r\n"
                            "us,1.5,0.5,,T4,half,{'TotalGpuMemoryInMiB': 8192},b\r\n"
                            "us,,,1.2,,cpu,,\r\n"
                            "us,,8,,H100,unpriced,,\r\n",
                            "catalogs/aws/vms.csv");
  ASSERT_TRUE(list) << list.error().front().message;
  EXPECT_EQ(list->withoutDevices, 1);
  EXPECT_EQ(list->withoutPrice, 1);
  ASSERT_EQ(list->offers.size(), 2u);
  const InstanceOffer &first = list->offers[0], &second = list->offers[1];
  EXPECT_EQ(first.provider, "aws");
  EXPECT_EQ(first.instance, "p5, large");
  EXPECT_EQ(first.region, "eu");
  EXPECT_EQ(first.devices, 8);
  EXPECT_EQ(first.price, 98.32);
  EXPECT_EQ(first.spotPrice, -1);
  EXPECT_EQ(first.deviceMemory, 80 * kGiB);
  EXPECT_EQ(first.interruptions, -1);
  EXPECT_EQ(first.available, 0);
  EXPECT_EQ(first.location.line, 2u);
  EXPECT_EQ(second.price, -1);
  EXPECT_EQ(second.spotPrice, 1.5);
  EXPECT_EQ(second.deviceMemory, 16 * kGiB);
}

TEST(PriceList, NamesLineAndColumnOfErrors) {
  auto errorOf = [](const std::string &text) {
    auto list = readPriceList(text, "vms.csv");
    if (list)
      return std::string("none");
    const Error &error = list.error().front();
    EXPECT_EQ(error.code, error.message.find("quote") == std::string::npos ? Code::WrongPriceList : error.code);
    EXPECT_EQ(error.location.file, "vms.csv");
    return std::to_string(error.location.line) + ":" + std::to_string(error.location.column) + ": " + error.message;
  };
  const std::string heading = "InstanceType,AcceleratorName,AcceleratorCount,Price\n";
  EXPECT_EQ(errorOf(heading + "a,H100,8,cheap\n"),
            "2:10: column 'Price' has 'cheap', expected a number from 0 to 1000000000");
  EXPECT_EQ(errorOf(heading + "a,H100,8,2\nb,H100,-1,2\n"),
            "3:8: column 'AcceleratorCount' has '-1', expected a number from 0 to 1000000");
  EXPECT_EQ(errorOf(heading + "a,H100,8,1e999\n"),
            "2:10: column 'Price' has '1e999', expected a number from 0 to 1000000000");
  EXPECT_EQ(errorOf(heading + "a,H100,8\n"), "2:1: row has 3 columns, and the first line has 4");
  EXPECT_EQ(errorOf("InstanceType,AcceleratorName,Price\na,H100,2\n"),
            "1:1: price list has no column 'AcceleratorCount'");
  EXPECT_EQ(errorOf("InstanceType,AcceleratorName,AcceleratorCount\n"),
            "1:1: price list has no column 'Price' and none 'SpotPrice'");
  EXPECT_EQ(errorOf("Price," + heading), "1:53: column 'Price' stands twice");
  EXPECT_EQ(errorOf(""), "1:1: price list has no columns, expected InstanceType, AcceleratorName, …");
  EXPECT_EQ(errorOf(heading + "cpu,,,1\n"),
            "1:1: price list offers no accelerators: 1 rows have none, 0 have no price");
  EXPECT_NE(errorOf(heading + "\"a,H100,8,2\n"), "none");
  EXPECT_EQ(errorOf("InstanceType,AcceleratorName,AcceleratorCount,Price,Available\na,H100,8,2,1.5\n"),
            "2:12: column 'Available' has a part of an instance, expected a whole number");
}

TEST(PriceList, ReportsAtMostTwentyErrors) {
  std::string text = "InstanceType,AcceleratorName,AcceleratorCount,Price\n";
  for (int i = 0; i < 100; ++i)
    text += "a,H100,8,free\n";
  auto list = readPriceList(text, "vms.csv");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().size(), 20u);
}

TEST(PriceList, TakesTheProviderOfTheFileName) {
  const std::string text = "InstanceType,AcceleratorName,AcceleratorCount,Price\na,H100,8,2\n";
  for (auto [path, provider] : {std::pair("aws.csv", "aws"),
                                {"catalogs/gcp/vms.csv", "gcp"},
                                {"vms.csv", "vms"},
                                {"./vms.csv", "vms"},
                                {"prices/list", "list"}}) {
    auto list = readPriceList(text, path);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->offers.front().provider, provider) << path;
  }
}

TEST(PriceList, ReadsAHundredThousandRows) {
  std::string text = "Provider,InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region\n";
  for (int i = 0; i < 100'000; ++i)
    text += "cloud,instance-" + std::to_string(i) + ",H100,8,128,1600," + std::to_string(20 + i % 100) + ".5,,region-" +
            std::to_string(i % 40) + "\n";
  auto list = readPriceList(text, "vms.csv");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->offers.size(), 100'000u);
  EXPECT_EQ(list->offers.back().instance, "instance-99999");
}

TEST(PriceList, AnswersOnAnyBytes) {
  const std::string good = "Provider,InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,GpuInfo\n"
                           "aws,p5,H100,8,98.32,,\"{'Gpus': [{'MemoryInfo': {'SizeInMiB': 81920}}]}\"\n"
                           "gcp,\"a,b\",tpu-v5e-8,1,1.2,0.4,{'TotalGpuMemoryInMiB': 8192}\n";
  const std::string bytes = "\",\n\r'{}:-+.eEinfNa0123456789\t\xff";
  SplitMix random(3);
  unsigned read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (uint64_t changes = 1 + random.below(6); changes > 0; --changes) {
      const size_t at = random.below(text.size());
      if (random.below(3) == 0)
        text.erase(at, 1 + random.below(8));
      else
        text.insert(at, 1, bytes[random.below(bytes.size())]);
      if (text.empty())
        break;
    }
    auto list = readPriceList(text, "list.csv");
    if (!list) {
      EXPECT_FALSE(list.error().empty());
      continue;
    }
    ++read;
    for (const InstanceOffer &offer : list->offers)
      EXPECT_TRUE(offer.devices > 0 && (offer.price >= 0 || offer.spotPrice >= 0) && offer.deviceMemory >= 0);
  }
  EXPECT_GT(read, 100u);
}

TEST(PriceList, ReadsAnExcerptOfSkyPilot) {
  const std::filesystem::path folder = testing::sharedData("prices");
  if (folder.empty())
    GTEST_SKIP() << "no price lists beside this checkout";
  const std::string path = (folder / "vms.csv").string();
  auto list = readPriceList(textOf(path), path);
  ASSERT_TRUE(list) << list.error().front().message;
  ASSERT_GE(list->offers.size(), 4u);
  const InstanceOffer &offer = list->offers[1];
  EXPECT_EQ(offer.provider, "nebius");
  EXPECT_EQ(offer.accelerator, "H100");
  EXPECT_EQ(offer.price, 23.60);
  EXPECT_EQ(offer.spotPrice, 10.00);
  EXPECT_EQ(offer.deviceMemory, 80 * kGiB);
}

TEST(OfferedAccelerators, MatchesNamesOfListsWithTheCatalogue) {
  const std::string path = accord::sourcePath("lib/catalog/offered-accelerators.csv");
  auto known = readOfferedAccelerators(textOf(path), path);
  ASSERT_TRUE(known) << known.error().front().message;
  auto clusterOf = [&](const char *name, double gib, double count) -> std::string {
    InstanceOffer offer;
    offer.accelerator = name, offer.deviceMemory = gib * kGiB, offer.devices = count;
    auto match = matchAccelerator(*known, offer);
    return match ? match->cluster + " " + std::to_string(static_cast<int>(match->devices)) : "none";
  };
  EXPECT_EQ(clusterOf("H100", 80, 8), "dgx_superpod_h100 8");
  EXPECT_EQ(clusterOf("h100", 0, 8), "dgx_superpod_h100 8");
  EXPECT_EQ(clusterOf("H200", 141, 8), "hgx_cluster_h200 8");
  EXPECT_EQ(clusterOf("V100", 16, 8), "dgx1_cluster_v100_16g 8");
  EXPECT_EQ(clusterOf("V100", 32, 8), "dgx1_cluster_v100 8");
  EXPECT_EQ(clusterOf("V100", 0, 8), "dgx1_cluster_v100_16g 8");
  EXPECT_EQ(clusterOf("V100-32GB", 0, 8), "dgx1_cluster_v100 8");
  EXPECT_EQ(clusterOf("A100", 40, 8), "dgx_superpod_a100_40g 8");
  EXPECT_EQ(clusterOf("A100-80GB", 80, 4), "dgx_superpod_a100 4");
  EXPECT_EQ(clusterOf("tpu-v5litepod-8", 0, 1), "tpu_v5e_pod 8");
  EXPECT_EQ(clusterOf("tpu-v4-32", 0, 1), "tpu_v4_pod 16");
  EXPECT_EQ(clusterOf("tpu-v6e-256", 0, 1), "tpu_v6e_pod 256");
  EXPECT_EQ(clusterOf("tpu-v6e-", 0, 1), "none");
  EXPECT_EQ(clusterOf("tpu-v6e-0", 0, 1), "none");
  EXPECT_EQ(clusterOf("H100", 94, 1), "none"); // another board
  EXPECT_EQ(clusterOf("L40S", 48, 8), "none");
  EXPECT_EQ(clusterOf("RTX4000", 8, 8), "none");
}

TEST(OfferedAccelerators, RefusesWrongTables) {
  for (const char *row : {"H100,80,1\n", "H100,much,1,x\n", "H100,80,0,x\n", ",80,1,x\n", "H100,80,1,\n"})
    EXPECT_FALSE(readOfferedAccelerators(std::string("name,memory_gib,devices_per_unit,cluster\n") + row, "t.csv"))
        << row;
}

} // namespace
} // namespace accord::offers
