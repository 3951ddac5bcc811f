// Models of array machines say what their cost models say at each size of a table, on the machine and on others.
#include "lib/driver/Session.h"
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/model/RegionOrder.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "test/support/SourcePath.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <span>

using namespace accord;

namespace {

struct ArrayTraining {
  const char *file, *model, *machine;
};
void PrintTo(const ArrayTraining &t, std::ostream *out) { *out << t.model << " on " << t.machine; }

/// A session of a network of the catalogue, one sample at a time.
struct Trained {
  explicit Trained(const ArrayTraining &of) {
    options.elaborate.catalog = accord::sourcePath("lib/catalog");
    options.file = options.elaborate.catalog + "/" + of.file;
    options.elaborate.train = of.model, options.elaborate.target = of.machine;
    options.elaborate.batch = options.elaborate.microbatch = "1";
    options.errors = std::make_shared<Errors>();
    session = std::make_unique<Session>(options);
    prepared = session->prepare();
  }
  Options options;
  std::unique_ptr<Session> session;
  bool prepared = false;
};

/// The end of a region by the plan's order, with durations of other costs: an operation starts when those before it
/// have ended.
int64_t lengthOf(const Plan &plan, const Dependences &dependences, RegionId region, const Costs &costs) {
  RegionOrder order = orderOf(plan, dependences, region);
  std::map<OperationId, int64_t> ends;
  int64_t length = 0;
  for (size_t i = 0; i < order.operations.size(); ++i) {
    OperationId id = order.operations[i];
    const Operation &op = plan.graph.operations[id];
    int64_t start = 0;
    for (OperationId before : order.after[i])
      start = std::max(start, ends.at(before));
    int64_t duration = op.body != kNone
                           ? lengthOf(plan, dependences, op.body, costs) * plan.graph.regions[op.body].count
                           : Picoseconds::ceil(costs.operations[id].time).value;
    length = std::max(length, ends[id] = start + duration);
  }
  return length;
}

/// Seconds of a step whose operations are priced now, one by one, in the plan's order.
std::optional<double> pricedStep(Session &session, const Plan &plan, const Machine &machine, int64_t microbatch,
                                 int64_t microbatches) {
  auto work = session.graphs().workAt(microbatch, std::min<int64_t>(microbatches, 2));
  auto costs = work ? estimate(*work, machine) : Result<Costs, Errors>(Errors());
  if (!costs)
    return std::nullopt;
  Dependences dependences = Dependences::of(plan.graph);
  const Machine::HostOverhead &host = machine.host;
  int64_t micro = lengthOf(plan, dependences, kMicrobatchRegion, *costs) + Picoseconds::ceil(host.microbatch).value;
  int64_t update = lengthOf(plan, dependences, kUpdateRegion, *costs) + Picoseconds::ceil(host.step).value;
  return 1e-12 * double(micro * microbatches + update);
}

/// Points for each training; many by hand: ACCORD_LATENCY_POINTS=50.
int pointsOfEach() {
  const char *text = std::getenv("ACCORD_LATENCY_POINTS");
  return text ? std::atoi(text) : 3;
}

class ArrayLatency : public testing::TestWithParam<ArrayTraining> {};

TEST_P(ArrayLatency, IsWhatEachSizeIsPricedAt) {
  Trained trained(GetParam());
  ASSERT_TRUE(trained.prepared);
  Session &session = *trained.session;
  auto work = session.graphs().workAt(1, 1);
  ASSERT_TRUE(work);
  auto plan = session.planFor(std::move(*work));
  ASSERT_TRUE(plan);
  auto made = latencyModel(session, *plan, /*needed=*/true,
                           {.microbatches = pointsOfEach() > 10 ? tableMicrobatches(1, /*brief=*/false)
                                                                : std::vector<int64_t>{1, 2, 3, 5, 7}});
  ASSERT_TRUE(made);
  const LatencyModel &model = *made;
  const LatencyArgument &sizes = model.arguments()[kMicrobatch];
  ASSERT_GE(sizes.allowed.size(), 3u);
  for (const LatencyArgument &a : model.arguments()) // the machine is not held
    EXPECT_TRUE(a.integer || a.fixedReason.empty()) << a.name << ": " << a.fixedReason;
  const bool programs = std::ranges::any_of(plan->costs.operations,
                                            [](const OperationCost &cost) { return timesInstructions(cost.model); });

  std::mt19937_64 random(7);
  auto upTo = [&](size_t count) { return int64_t(random() % count); };
  double worst = 0;
  for (int i = 0; i < pointsOfEach(); ++i) {
    std::vector<double> at = model.initial();
    const int64_t b = sizes.allowed[upTo(sizes.allowed.size())], n = 1 + upTo(4);
    at[kMicrobatch] = double(b);
    at[kBatch] = double(b * n - (n > 1 ? upTo(b) : 0)); // the last micro-batch may have fewer samples
    Machine machine = session.machine();
    double largest = 1;
    if (i > 0) { // other machines, of which the first is the one as described
      const double clock = std::exp2(double(upTo(17)) / 4 - 2);
      at[*model.argument("clock_scale")] = clock;
      machine.clock = machine.clock * clock;
      for (Core &core : machine.cores)
        for (auto &[type, peak] : core.peak)
          peak = peak * clock;
      largest = std::max(largest, clock);
      for (Memory &memory : machine.memories) {
        if (!programs && memory.kind != "dram") // on the chip: at its clock
          memory.bandwidth = memory.bandwidth * clock;
        if (auto index = model.argument(memory.name + "_bandwidth")) {
          const double factor = std::exp2(double(upTo(17)) / 4 - 2);
          at[*index] *= factor, memory.bandwidth = memory.bandwidth * factor;
          largest = std::max(largest, factor * (memory.kind == "dram" ? 1 : clock));
        }
      }
    }
    LatencyEvaluation found = evaluate(model, at);
    if (found.status > int(model.arguments().size())) { // hours of an operation, on a slow machine made slower
      EXPECT_NE(explain(model, found.status, at).find("s or longer"), std::string::npos);
      continue;
    }
    ASSERT_EQ(found.status, 0) << explain(model, found.status, at);
    auto priced = pricedStep(session, *plan, machine, b, n);
    ASSERT_TRUE(priced);
    if (programs || i == 0) {
      worst = std::max(worst, std::fabs(found.result.step / *priced - 1));
      EXPECT_NEAR(found.result.step / *priced, 1, 1e-9) << "micro-batch " << b << ", point " << i;
      continue;
    }
    // Tiles of that machine are no longer than those of this one, and no faster than all of it at the largest factor.
    std::vector<double> here = model.initial();
    here[kMicrobatch] = at[kMicrobatch], here[kBatch] = at[kBatch];
    EXPECT_LE(*priced, found.result.step * (1 + 1e-9)) << "micro-batch " << b << ", point " << i;
    EXPECT_GE(*priced, evaluate(model, here).result.step / largest * (1 - 1e-9)) << "micro-batch " << b;
    worst = std::max(worst, found.result.step / *priced - 1);
  }
  RecordProperty("worst", std::to_string(worst));
  if (pointsOfEach() > 10)
    std::printf("%s on %s: %d points, worst %.3g\n", GetParam().model, GetParam().machine, pointsOfEach(), worst);
  // Between two sizes of the table, and outside of it, nothing is said.
  for (int64_t b : {int64_t{0}, sizes.allowed.back() + 1, int64_t{1} << 30}) {
    LatencyEvaluation refused = evaluate(model, 4 * std::max<int64_t>(b, 1), b, 1);
    EXPECT_EQ(refused.status, int(kMicrobatch + 1)) << b;
    EXPECT_TRUE(std::isnan(refused.result.step));
  }
}

constexpr std::pair<const char *, const char *> kFew[] = {{"tc_resnet.dnn", "tc_resnet8"}, {"resnet.dnn", "resnet18"}},
                                                kMany[] = {{"tc_resnet.dnn", "tc_resnet8"},  {"resnet.dnn", "resnet18"},
                                                           {"resnet.dnn", "resnet50"},       {"alexnet.dnn", "alexnet"},
                                                           {"bert_base.dnn", "bert_base"},   {"vit.dnn", "vit_b_16"},
                                                           {"mobilenet.dnn", "mobilenet_v2"}};

std::vector<ArrayTraining> trainings() {
  std::vector<ArrayTraining> all;
  const bool many = pointsOfEach() > 10;
  std::span<const std::pair<const char *, const char *>> networks(kFew);
  if (many)
    networks = kMany;
  for (const char *machine : {"tpu_like", "eyeriss_chip", "gemmini_chip", "ultratrail_chip", "plasticine_chip",
                              "systolic_chip", "systolic_folds_chip"})
    for (auto [file, model] : networks)
      if (machine != std::string_view("ultratrail_chip") || all.back().machine != machine) // hours for all but speech
        all.push_back({file, model, machine});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ArrayLatency, testing::ValuesIn(trainings()));

} // namespace
