// Every network of the catalogue at its real size, on 2 and 8 devices: the program of one device verifies, no work is
// lost, and what is divided is divided.
#include "lib/machine/translate/FromDnn.h"
#include "passes/shard/Passes.h"
#include "test/lib/training/CollectiveTraffic.h"
#include "test/support/SourcePath.h"
#include "test/support/TrainingGraphFixture.h"
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

using namespace accord;

namespace {

struct Network {
  std::string file, model;
};

std::vector<Network> networks() {
  std::vector<Network> all;
  for (const auto &entry : std::filesystem::directory_iterator(accord::sourcePath("lib/catalog"))) {
    if (entry.path().extension() != ".dnn")
      continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    std::string content = text.str();
    std::regex model("\nmodel ([a-z0-9_]+)\\(");
    for (std::sregex_iterator it(content.begin(), content.end(), model), end; it != end; ++it)
      all.push_back({entry.path().filename().string(), (*it)[1]});
  }
  std::sort(all.begin(), all.end(), [](const Network &a, const Network &b) { return a.model < b.model; });
  return all;
}

/// FLOPs of the contractions of one micro-batch.
double contractionsOf(dnn::TrainingGraphOp graph) {
  std::string error;
  std::optional<WorkGraph> work = workGraphFrom(graph, 8, 1, error);
  EXPECT_TRUE(work) << error;
  double sum = 0;
  for (OperationId id = 0; id < work->operations.size(); ++id)
    if (work->operations[id].contraction)
      sum += static_cast<double>(work->operations[id].flops) * static_cast<double>(work->executions(id));
  return sum;
}

class ShardCatalogue : public ::testing::TestWithParam<Network> {};

} // namespace

TEST_P(ShardCatalogue, DividesTheWork) {
  std::string text = "import \"catalog/" + GetParam().file + "\"\ntrain t = " + GetParam().model +
                     "() on a100_80g {\n  batch = 8\n  optimizer = adam\n}\n";
  TrainingGraph whole(text.c_str());
  ASSERT_TRUE(whole.graph);
  double all = contractionsOf(whole.graph);
  for (int64_t devices : {2, 8})
    for (bool sequence : {false, true}) {
      TrainingGraph one(text.c_str());
      ShardOptions options;
      options.devices = devices;
      options.sequence = sequence;
      ASSERT_TRUE(one.graph && one.run(createShard(options))) << devices << " devices";
      double here = contractionsOf(one.graph);
      EXPECT_GE(here * static_cast<double>(devices), all * (1 - 1e-12)) << devices << " devices";
      EXPECT_LE(here, all * (1 + 1e-12)) << devices << " devices";
      std::optional<shard::Traffic> traffic = shard::trafficOf(one.graph, 8);
      ASSERT_TRUE(traffic);
      if (here < all)
        EXPECT_FALSE(traffic->empty()) << "work is divided and nothing is exchanged";
    }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ShardCatalogue, ::testing::ValuesIn(networks()),
                         [](const auto &info) { return info.param.model; });
