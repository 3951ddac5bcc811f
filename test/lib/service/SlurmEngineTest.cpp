// The adapter for Slurm on a real one (where ACCORD_TEST_SLURM is set: test/service/slurm-engine.test starts one).
#include "lib/service/engines/SlurmEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "test/lib/service/EngineContract.h"
#include <cstdlib>

namespace accord::service {
namespace {

/// ACCORD_TEST_SLURM is "python3 slurm_cluster.py FOLDER": words of the fixture. It has a1 and a2 with a100s.
class SlurmCluster : public EngineCluster {
public:
  std::string unavailable() override {
    return std::getenv("ACCORD_TEST_SLURM") && std::getenv("SLURM_CONF") ? ""
                                                                         : "no Slurm: ACCORD_TEST_SLURM is not set";
  }
  std::unique_ptr<Engine> open() override {
    auto engine = slurmEngine({.prefix = prefix(), .folder = folderOf("adapter")});
    EXPECT_TRUE(engine) << engine.error().message;
    return engine ? std::move(*engine) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"a1", "a2"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 4; }
  double patience() override { return 30; }
  bool loseNode(const std::string &node) override { return fixture("fail", node); }
  void restoreNode(const std::string &node) override { fixture("restart", node); }

private:
  bool fixture(const std::string &action, const std::string &node) {
    std::stringstream text(std::getenv("ACCORD_TEST_SLURM"));
    std::vector<std::string> words;
    for (std::string word; text >> word;)
      words.push_back(word);
    words.insert(words.end() - 1, action);
    words.push_back(node);
    auto said = outputOf({.words = words, .leavesProcesses = true});
    EXPECT_TRUE(said) << said.error().message;
    return bool(said);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Slurm, EngineContract, SlurmCluster);

} // namespace
} // namespace accord::service
