// Plans of calibrated machines: their times are proved again, and forged ones are refused.
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/CalibratedGraph.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace accord {
namespace {

using testing::calibratedGraph;
using testing::calibratedMachine;

Plan planned(const Machine &machine, int64_t microbatch = 4, int64_t microbatches = 3, int64_t sequence = 64) {
  SingleDeviceRequest request;
  request.job = "calibrated", request.batch = microbatch * microbatches;
  auto made = planFor(calibratedGraph(microbatch, microbatches, sequence), machine, request);
  EXPECT_TRUE(made) << made.error().front().message;
  return std::move(*made);
}

std::string said(const Verification &v) {
  std::string all;
  for (const Error &finding : v.findings)
    all += numberOf(finding.code) + " " + finding.message + "\n";
  return all;
}

bool says(const std::vector<std::string> &lines, const std::string &part) {
  return std::ranges::any_of(lines, [&](const std::string &line) { return line.find(part) != std::string::npos; });
}

OperationCost &costOf(Plan &plan, const std::string &name) {
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id)
    if (plan.graph.operations[id].name == name)
      return plan.costs.operations[id];
  throw std::out_of_range(name);
}

void setParameter(Plan &plan, const std::string &which, double value) {
  for (auto &[name, stated] : plan.machine.fitted.values)
    if (name == which)
      stated = value;
}

// Where the host is slower, and where the device is; one product and many.
TEST(VerifyCalibrated, ProvesTimesAgain) {
  for (auto [b, s] : {std::pair<int64_t, int64_t>{1, 16}, {4, 64}, {500, 64}, {3000, 17}}) {
    Verification v = verify(planned(calibratedMachine(), b, 3, s));
    EXPECT_TRUE(v.holds()) << b << " x " << s << "\n" << said(v);
    EXPECT_TRUE(says(v.checked, "follow from their work, the calibration 'measured by hand'"));
    EXPECT_FALSE(says(v.trusted, "calibrated"));
  }
}

TEST(VerifyCalibrated, RefusesWhatIsForged) {
  Plan good = planned(calibratedMachine());
  ASSERT_TRUE(verify(good).holds()) << said(verify(good));
  struct Mutation {
    const char *what, *message;
    std::function<void(Plan &)> apply;
  };
  const std::vector<Mutation> mutations = {
      {"a time", "time of 'fc' is", [](Plan &p) { costOf(p, "fc").time = costOf(p, "fc").time * 0.999999; }},
      {"the time of a lookup", "time of 'segments' is",
       [](Plan &p) { costOf(p, "segments").time = costOf(p, "segments").time * 2; }},
      {"the time of an update", "time of 'fc.update' is",
       [](Plan &p) { costOf(p, "fc.update").time = costOf(p, "fc.update").time * 0.5; }},
      {"all times together", "time of 'loss' is",
       [](Plan &p) {
         for (OperationCost &cost : p.costs.operations)
           cost.time = cost.time * 0.5;
       }},
      {"the model's name", "'softmax' is priced by cost model 'mine'",
       [](Plan &p) { costOf(p, "softmax").model = "mine"; }},
      {"the model's name, a built-in one", "'fc' is priced by cost model 'peak'",
       [](Plan &p) { costOf(p, "fc").model = "peak"; }},
      {"a parameter", "time of 'fc' is", [](Plan &p) { setParameter(p, "product_efficiency", 0.9); }},
      {"the launch of the host", "time of 'gelu' is", [](Plan &p) { setParameter(p, "launch", 1e-6); }},
      {"a parameter that is no number", "states no 'launch' above zero",
       [](Plan &p) { setParameter(p, "launch", std::nan("")); }},
      {"a parameter left out", "states no 'product_efficiency' above zero",
       [](Plan &p) { p.machine.fitted.values.erase(p.machine.fitted.values.begin()); }},
      {"a parameter twice", "states 'launch' twice", [](Plan &p) { p.machine.fitted.values.push_back({"launch", 1}); }},
      {"no calibration", "'calibrated' has no calibration", [](Plan &p) { p.machine.fitted.values.clear(); }},
      {"another cost model", "'calibrated' has no calibration", [](Plan &p) { p.machine.costModel = "peak"; }},
      {"the host's work of a micro-batch", "the host overhead of a micro-batch is",
       [](Plan &p) { p.machine.host.microbatch = Seconds(1e-3); }},
      {"the host's work of a step", "the host overhead of a step is",
       [](Plan &p) { p.machine.host.step = Seconds(0); }},
      {"a faster memory", "time of 'gelu' is", [](Plan &p) { p.machine.memories[0].bandwidth = BytesPerSecond(2e12); }},
      {"less traffic", "traffic at hbm of 'gelu' is", [](Plan &p) { costOf(p, "gelu").bytes[0] = Bytes(1); }},
      {"a type that no core computes in", "has no peak for posit16, which 'fc' needs",
       [](Plan &p) {
         for (Operation &op : p.graph.operations)
           if (op.name == "fc")
             op.type = "posit16";
       }},
      {"another form", "is priced by cost model 'peak'",
       [](Plan &p) {
         OperationCost other = p.costs.operations.front();
         other.model = "peak";
         p.costs.alternatives[0] = {other};
       }},
  };
  for (const Mutation &mutation : mutations) {
    Plan bad = good;
    mutation.apply(bad);
    Verification v = verify(bad);
    EXPECT_FALSE(v.holds()) << mutation.what;
    EXPECT_NE(said(v).find(mutation.message), std::string::npos) << mutation.what << ":\n" << said(v);
  }
}

Operation &operationOf(WorkGraph &graph, const std::string &name) {
  for (Operation &op : graph.operations)
    if (op.name == name)
      return op;
  throw std::out_of_range(name);
}

// The verifier finds the class, the extents and the host's part of any operation as the cost model does; each change
// is one that the time of the step shows.
TEST(VerifyCalibrated, FollowsWorkOfEveryClass) {
  using Change = std::function<void(WorkGraph &)>;
  std::vector<std::pair<std::string, Change>> changes;
  for (const char *kind : {"softmax_grad", "batch_norm", "batch_norm_grad", "embedding", "gather", "scatter_add",
                           "update_rows", "lookup", "cross_entropy_grad", "slice"})
    changes.push_back({kind, [kind](WorkGraph &g) { operationOf(g, "gelu").kind = kind; }});
  for (const char *kind : {"embedding_rows_grad", "embedding_grad", "gather"})
    changes.push_back({std::string("weights of ") + kind, [kind](WorkGraph &g) {
                         Operation &op = operationOf(g, "gelu");
                         op.kind = kind, op.phase = Phase::WeightGradient, op.bytesWritten *= 3;
                       }});
  changes.push_back({"attention", [](WorkGraph &g) { operationOf(g, "fc").kind = "flash_attention"; }});
  changes.push_back({"causal attention", [](WorkGraph &g) {
                       Operation &op = operationOf(g, "fc");
                       op.kind = "attention", op.causal = true;
                     }});
  for (const char *type : {"fp32", "int8"})
    changes.push_back({type, [type](WorkGraph &g) { operationOf(g, "fc").type = type; }});
  changes.push_back({"a window in 32 bits", [](WorkGraph &g) {
                       Operation &op = operationOf(g, "fc");
                       op.type = "tf32", op.bytesRead *= 50;
                       op.tensors[0].dimensions[1].push_back({3});
                     }});
  changes.push_back({"a long sum that a result is spread over", [](WorkGraph &g) {
                       Operation &op = operationOf(g, "fc");
                       op.domain[1].kind = op.domain[3].kind = IteratorKind::Reduction;
                       op.tensors[2].dimensions = {{{0}}, {{1}, {3}}, {{2}}};
                     }});
  changes.push_back({"a short one beside it", [](WorkGraph &g) {
                       Operation &op = operationOf(g, "fc");
                       op.domain[2].kind = IteratorKind::Reduction;
                       op.tensors[2].dimensions = {{{0}}, {{1}, {2}}};
                     }});
  for (size_t loops : {5, 6, 7}) // what is a batch, experts, slots, weights, inner width, width
    changes.push_back({"experts of " + std::to_string(loops) + " loops", [loops](WorkGraph &g) {
                         Operation &op = operationOf(g, "fc");
                         op.kind = "moe_experts";
                         int64_t extents[] = {2, 3, 4, 50, 3, 64, 512};
                         op.domain.clear();
                         for (size_t i = 7 - loops; i < 7; ++i)
                           op.domain.push_back({extents[i], i == 6 ? IteratorKind::Reduction : IteratorKind::Parallel});
                         auto last = static_cast<unsigned>(loops - 1);
                         LoopTensor &rows = op.tensors[0], &weights = op.tensors[1];
                         rows.dimensions = {{{last - 4}}, {{last - 3}}, {{last}}};
                         for (unsigned batch = 0; batch + 4 < last; ++batch)
                           rows.dimensions.push_back({{batch}});
                         weights.dimensions = {{{last - 4}}, {{last - 1}}, {{last}}};
                         op.tensors[2].dimensions = rows.dimensions;
                       }});
  changes.push_back({"a product of six loops", [](WorkGraph &g) {
                       Operation &op = operationOf(g, "fc");
                       op.domain.push_back({1, IteratorKind::Parallel}),
                           op.domain.push_back({1, IteratorKind::Parallel});
                     }});
  for (int64_t share : {2, 8})
    changes.push_back(
        {"two products as one", [share](WorkGraph &g) {
           Operation &op = operationOf(g, "fc");
           FusedPart small{"small", "contract", op.core, op.type, op.flops / share, true, op.domain, op.tensors};
           FusedPart other = small;
           small.domain[3].extent = 16, other.flops = op.flops / 4;
           FusedPart after{"after", "gelu", CoreKind::Vector, "fp32", op.flops - small.flops - other.flops, false,
                           {},      {}};
           op.parts = {small, other, after};
         }});
  for (const char *name : {"layers.time", "layers"})
    for (const char *kind : {"contract", "relu"})
      changes.push_back({std::string(name) + " of " + kind, [name, kind](WorkGraph &g) {
                           g.regions[2].name = name;
                           operationOf(g, "softmax").kind = kind;
                         }});
  Machine machine = calibratedMachine();
  machine.cores[0].peak["tf32"] = FlopsPerSecond(1e12);
  for (int64_t microbatch : {4, 500})
    for (const auto &[what, change] : changes) {
      WorkGraph graph = calibratedGraph(microbatch, 3, 64);
      change(graph);
      SingleDeviceRequest request;
      request.job = "calibrated", request.batch = microbatch * 3;
      auto plan = planFor(std::move(graph), machine, request);
      ASSERT_TRUE(plan) << what << ": " << plan.error().front().message;
      Verification v = verify(*plan);
      EXPECT_TRUE(v.holds()) << what << " of " << microbatch << "\n" << said(v);
      EXPECT_TRUE(says(v.checked, "follow from their work")) << what;
    }
}

Plan plannedIn(const std::string &type, const Machine &machine) {
  SingleDeviceRequest request;
  request.job = "calibrated", request.batch = 1500;
  WorkGraph graph = calibratedGraph(500, 3, 64);
  operationOf(graph, "fc").type = type;
  auto made = planFor(std::move(graph), machine, request);
  EXPECT_TRUE(made) << made.error().front().message;
  return std::move(*made);
}

// Products of 8 bits have a peak and an efficiency of their own; where a machine has no peak for them they take the
// time of the next wider type.
TEST(VerifyCalibrated, ProductsOfEightBits) {
  Machine machine = calibratedMachine();
  machine.cores[0].peak["fp8"] = FlopsPerSecond(2 * machine.cores[0].peak["bf16"].value);
  calibrate::Parameters parameters = *calibrate::calibratedParametersOf(machine);
  parameters[calibrate::Parameter::Fp8Efficiency] = 0.6;
  machine.fitted = calibrate::toCalibratedValues("measured by hand", parameters);
  Plan sixteen = plannedIn("bf16", machine), eight = plannedIn("fp8", machine);
  for (const Plan *plan : {&sixteen, &eight})
    EXPECT_TRUE(verify(*plan).holds()) << said(verify(*plan));
  // 32000 x 512 by 512 x 2048. Twice the peak, 0.6 of it instead of 0.75; what fills the device and its depth grow with
  // the root of the peak.
  auto seconds = [](double peak, double efficiency) {
    double slower = std::sqrt(peak / 2e14), m = 32000, n = 2048, k = 512;
    double wave = 1 + slower * 9e5 / (m * n * (1 + k / 8192)), deep = 1 + slower * 70 / k;
    return 2 * m * n * k * wave * deep / (peak * efficiency) + 4e-6;
  };
  EXPECT_NEAR(costOf(sixteen, "fc").time.value / seconds(2e14, 0.75), 1, 1e-9);
  EXPECT_NEAR(costOf(eight, "fc").time.value / seconds(4e14, 0.6), 1, 1e-9);

  Plan without = plannedIn("fp8", calibratedMachine()), wider = plannedIn("bf16", calibratedMachine());
  EXPECT_TRUE(verify(without).holds()) << said(verify(without));
  EXPECT_DOUBLE_EQ(costOf(without, "fc").time.value, costOf(wider, "fc").time.value);

  for (auto [what, apply] : {std::pair<const char *, std::function<void(Plan &)>>{
                                 "a type", [](Plan &p) { operationOf(p.graph, "fc").type = "bf16"; }},
                             {"the efficiency", [](Plan &p) { setParameter(p, "fp8_efficiency", 0.9); }},
                             {"the peak", [](Plan &p) { p.machine.cores[0].peak["fp8"] = FlopsPerSecond(3e12); }}}) {
    Plan bad = eight;
    apply(bad);
    EXPECT_FALSE(verify(bad).holds()) << what;
  }
}

// A plan that is consistent for a machine twice as fast is not one for this machine.
TEST(VerifyCalibrated, RefusesThePlanOfAnotherMachine) {
  Machine fast = calibratedMachine();
  fast.memories[0].bandwidth = BytesPerSecond(2e12);
  Plan plan = planned(fast, 500);
  ASSERT_TRUE(verify(plan).holds()) << said(verify(plan));
  plan.machine.memories[0].bandwidth = calibratedMachine().memories[0].bandwidth;
  EXPECT_FALSE(verify(plan).holds());
}

TEST(VerifyCalibrated, ReadsTheCalibrationBack) {
  Plan plan = planned(calibratedMachine());
  std::string text = jsonText(toJson(plan));
  auto read = planFromJson(text, "plan.json");
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->machine.fitted.source, "measured by hand");
  std::map<std::string, double> before(plan.machine.fitted.values.begin(), plan.machine.fitted.values.end()),
      after(read->machine.fitted.values.begin(), read->machine.fitted.values.end());
  EXPECT_EQ(before, after);
  EXPECT_TRUE(verify(*read).holds()) << said(verify(*read));
  // Without one there is no such key.
  Machine plain = calibratedMachine();
  plain.fitted = {};
  EXPECT_EQ(jsonText(toJson(planned(plain))).find("\"calibration\""), std::string::npos);
}

} // namespace
} // namespace accord
