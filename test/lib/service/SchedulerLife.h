// A scheduler in virtual time that may end and begin again.
#pragma once
#include "test/lib/service/SimulatedEngine.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace accord::testing {

class Life {
public:
  explicit Life(std::string name)
      : folder(std::filesystem::temp_directory_path() / fmt::format("accord-{}-{}", name, getpid())) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    planner.limits.effort = 1;
    cluster.nodes = {{EngineNode::State::Up, "a1", "a100", 4, ""},
                     {EngineNode::State::Up, "a2", "a100", 4, ""},
                     {EngineNode::State::Up, "k1", "k80", 8, ""}};
    cluster.rate = [](const TaskRequest &task) {
      const double devices = static_cast<double>(task.devicesPerNode) * static_cast<double>(task.nodes.size());
      return (task.deviceType == "a100" ? 10 : 2) * devices;
    };
  }
  ~Life() {
    process.reset();
    std::filesystem::remove_all(folder);
  }

  void begin() {
    SchedulerOptions options;
    options.cluster = "lab", options.folder = folder.string(), options.isOpen = true, options.isInline = true;
    options.clock = [this] { return cluster.time; };
    options.planner = planner;
    options.retryDelay = 2, options.keep = keep, options.interval = interval;
    options.operation = operation;
    options.types = types;
    options.replanAfter = 1e9;
    options.planLimit = 3600; // plans end by their effort, however busy the machine is
    auto engine = std::make_unique<SimulatedEngine>(cluster, &fate);
    handle = engine.get();
    std::unique_ptr<ServiceStore> store = std::make_unique<MemoryStore>(tables, &fate);
    if (!storeUrl.empty()) {
      auto opened = ServiceStore::open(storeUrl);
      ASSERT_TRUE(opened) << opened.error().message;
      store = std::move(*opened);
    }
    auto made = SchedulerProcess::open(options, std::move(store), std::move(engine), modeller);
    ASSERT_TRUE(made) << made.error().message;
    process = std::move(*made);
  }
  /// Steps of a second until nothing is open, at max so many; the number of steps.
  int run(int max) {
    int steps = 0;
    for (; steps < max && !isOver(); ++steps)
      step();
    return steps;
  }
  void step() {
    cluster.advance(1);
    process->step();
  }
  bool isOver() const {
    return std::ranges::all_of(tables->jobs, [](const auto &one) { return service::isOver(one.second.phase); });
  }
  int64_t submit(const std::string &name, double samples, std::vector<MeasuredConfiguration> measured,
                 jobs::Elasticity elasticity = jobs::Elasticity::Moldable) {
    Submission one;
    one.name = name, one.command = {"train"}, one.samples = samples, one.measured = std::move(measured);
    one.elasticity = elasticity, one.restart = 0, one.notice = 2;
    auto made = process->submit(local, one);
    EXPECT_TRUE(made) << (made ? "" : made.error().front().message);
    return made ? made->first : 0;
  }
  ServedJob job(int64_t id) const { return tables->jobs.at(id); }

  const Caller local{"local", "", Role::Operator};
  std::filesystem::path folder;
  SimulatedCluster cluster;
  Fate fate;
  jobs::JobsRequest operation;
  double keep = 1e9, interval = 1; ///< seconds
  std::string storeUrl;            ///< empty: `tables`
  PlannerOptions planner;
  std::vector<std::string> types{"a100", "k80"};
  std::shared_ptr<JobModeller> modeller;
  std::shared_ptr<MemoryStore::Tables> tables = std::make_shared<MemoryStore::Tables>();
  std::unique_ptr<SchedulerProcess> process;
  SimulatedEngine *handle = nullptr;
};

inline std::vector<MeasuredConfiguration> both(int64_t a100, int64_t k80) {
  return {{"a100", a100, 10.0 * static_cast<double>(a100)}, {"k80", k80, 2.0 * static_cast<double>(k80)}};
}

} // namespace accord::testing
