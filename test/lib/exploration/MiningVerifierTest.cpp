// What the verifier computes of designs by itself, against the search and by exhaustion; claims
// that are wrong.
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/machine/array/Gemm.h"
#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/VectorCycles.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/planning/analysis/MinPeakMemory.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/RandomPlan.h"
#include <fmt/format.h>
#include <random>

namespace accord {
namespace {

WorkGraph graphOf(const char *file, const char *model, int64_t batch) {
  auto found = test::ofCatalogue(file, model, "tpu_like", batch);
  if (!found) {
    ADD_FAILURE() << model;
    return {};
  }
  return std::move(found->first);
}

std::unique_ptr<MiningSpace> readBack(const DesignSpace &space) {
  auto read = MiningSpace::read(space.source());
  if (auto *wrong = std::get_if<std::string>(&read)) {
    ADD_FAILURE() << *wrong;
    return nullptr;
  }
  auto made = std::move(std::get<std::unique_ptr<MiningSpace>>(read));
  std::vector<std::string> paths;
  for (const DesignParameter &parameter : space.parameters()) {
    paths.push_back(parameter.name);
    auto found = made->choices().find(parameter.name);
    if (found == made->choices().end() || found->second != parameter.labels) {
      ADD_FAILURE() << parameter.name;
      return nullptr;
    }
  }
  EXPECT_TRUE(made->arrange(paths));
  return made;
}

void expectSame(const Machine &a, const Machine &b) {
  EXPECT_EQ(a.clock.value, b.clock.value);
  EXPECT_NEAR(a.area.value / b.area.value, 1, 1e-12);
  EXPECT_EQ(a.tdp.value, b.tdp.value);
  EXPECT_EQ(a.energyPerFlopOf, b.energyPerFlopOf);
  ASSERT_EQ(a.memories.size(), b.memories.size());
  for (size_t i = 0; i < a.memories.size(); ++i) {
    EXPECT_EQ(a.memories[i].capacity.value, b.memories[i].capacity.value);
    EXPECT_EQ(a.memories[i].bandwidth.value, b.memories[i].bandwidth.value);
    EXPECT_EQ(a.memories[i].energy.value, b.memories[i].energy.value);
  }
  ASSERT_EQ(a.cores.size(), b.cores.size());
  for (size_t i = 0; i < a.cores.size(); ++i) {
    const Core &x = a.cores[i], &y = b.cores[i];
    EXPECT_EQ(std::tuple(x.count, x.rows, x.cols, x.lanes, x.dataflow, x.anyMapping, x.reads),
              std::tuple(y.count, y.rows, y.cols, y.lanes, y.dataflow, y.anyMapping, y.reads));
    EXPECT_EQ(x.peak, y.peak);
  }
}

TEST(MiningSpace, MachinesAreThoseOfTheSearch) {
  std::mt19937 random(3);
  for (const char *name : {"tpu_like_space", "phaze_template"}) {
    DesignSpace space = test::shippedSpace(name);
    auto again = readBack(space);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->name(), name);
    unsigned kept = 0;
    for (int i = 0; i < 300; ++i) {
      Design design = test::someDesign(space, random);
      auto machine = space.machine(design);
      auto *one = machine.get();
      const Machine *nearly = again->nearly(design);
      auto exactly = again->exactly(design);
      ASSERT_EQ(one != nullptr, std::holds_alternative<Machine>(exactly)) << name << i;
      if (!one)
        continue;
      ASSERT_TRUE(nearly);
      expectSame(*one, *nearly);
      expectSame(*one, std::get<Machine>(exactly));
      bool keeps = !space.violatedRequirement(design, *one);
      EXPECT_EQ(keeps, !again->violatedRequirement(design, *nearly)) << name << i;
      kept += keeps;
    }
    EXPECT_GT(kept, 20u);
    EXPECT_LT(kept, 280u);
  }
}

TEST(MiningSpace, ValuesThatFollowAndWordsThatAreCompared) {
  const char *text = R"(
accelerator s {
  clock = {0.5 GHz, 1 GHz}
  technology = 16 nm
  memory hbm : dram       { capacity = 8 GiB, bandwidth = 100 GB/s }
  memory glb : scratchpad { capacity = {5 MiB, 1 MiB, 3 MiB}, bandwidth = 2 * tc.array.cols * 16 B/cycle, double_buffered = true }
  core tc[1..5 step 2] : tensor { array = (pow2 16..64) x (2 * tc.count * 8), dataflow = {weight_stationary, output_stationary}, multiply = bf16, accumulate = fp32, reads = glb }
  core vc : vector { lanes = max(tc.array.rows, 32), types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }
  require tc.dataflow == weight_stationary or tc.count >= 2
  require not (area > 9 mm2) and power.tdp <= 20 W
  require glb.capacity / 1 MiB * tc.count < 10
})";
  test::Machines machines((std::string(text)));
  auto made = machines.space("s");
  if (!made)
    FAIL() << made.error().front().message;
  DesignSpace space = std::move(*made);
  auto again = readBack(space);
  ASSERT_TRUE(again);
  unsigned kept = 0;
  ASSERT_TRUE(space.points());
  for (uint64_t i = 0; i < *space.points(); ++i) {
    Design design = space.at(i);
    auto machine = space.machine(design);
    const Machine *nearly = again->nearly(design);
    ASSERT_TRUE(machine && nearly);
    expectSame(*machine, *nearly);
    bool keeps = !space.violatedRequirement(design, *machine);
    EXPECT_EQ(keeps, !again->violatedRequirement(design, *nearly)) << i;
    kept += keeps;
  }
  EXPECT_GT(kept, 5u);
  EXPECT_LT(kept, *space.points() - 5);
}

TEST(MiningSpace, OtherTextsAreRefused) {
  for (const char *text : {"", "module {}", "accel.accelerator @a with {", "\xff\xfe\x00"})
    EXPECT_TRUE(std::holds_alternative<std::string>(MiningSpace::read(text))) << text;
}

TEST(MiningSpace, ValuesWithoutEndAreNone) {
  // Each of 40 values is the sum of the one before with itself; two follow from each other.
  std::string chain = "accel.accelerator @a with {clock = #accel.quantity<1 GHz>} {\n"
                      "accel.memory @m : dram {bandwidth = #accel.quantity<1 GB/s>, capacity = "
                      "#accel.choice<pow2 [#accel.quantity<1 GiB>, #accel.quantity<2 GiB>]>}\n";
  for (int i = 0; i < 40; ++i)
    chain += fmt::format("accel.core @c{0} : vector {{lanes = {1}}}\n", i,
                         i == 0 ? "8"
                                : fmt::format("#accel.apply<\"+\" [#accel.reference<\"c{0}.lanes\">, "
                                              "#accel.reference<\"c{0}.lanes\">]>",
                                              i - 1));
  chain += "accel.core @x : vector {lanes = #accel.reference<\"y.lanes\">}\n"
           "accel.core @y : vector {lanes = #accel.reference<\"x.lanes\">}\n}\n";
  auto read = MiningSpace::read(chain);
  if (auto *wrong = std::get_if<std::string>(&read)) {
    EXPECT_FALSE(wrong->empty());
    return;
  }
  auto &space = std::get<std::unique_ptr<MiningSpace>>(read);
  ASSERT_TRUE(space->arrange({"m.capacity"}));
  EXPECT_EQ(space->nearly({0}), nullptr);
  EXPECT_TRUE(std::holds_alternative<std::string>(space->exactly({1})));
}

TEST(MiningWork, ArraysAndLanesTakeTheCyclesOfTheCostModels) {
  std::mt19937 random(9);
  auto draw = [&](int64_t max) { return 1 + static_cast<int64_t>(random() % max); };
  for (int i = 0; i < 3000; ++i) {
    Gemm gemm{draw(5), draw(3000), draw(3000), draw(3000)};
    Machine machine;
    machine.clock = Hertz(1e9);
    Core core;
    core.count = draw(9), core.rows = draw(200), core.cols = draw(200);
    core.overlapFill = draw(2) == 1, core.overlapDrain = draw(2) == 1;
    const char *flows[] = {"output_stationary", "weight_stationary", "input_stationary"};
    core.dataflow = flows[random() % 3];
    machine.cores = {core};
    BoundedPart part;
    part.type = "bf16", part.contraction = true, part.empty = false;
    part.product = ProductExtents{static_cast<double>(gemm.batch),
                                  static_cast<double>(gemm.m),
                                  static_cast<double>(gemm.n),
                                  static_cast<double>(gemm.k),
                                  {}};
    part.flops = 2.0 * static_cast<double>(gemm.batch * gemm.m) * static_cast<double>(gemm.n * gemm.k);
    SystolicArray array{core.rows, core.cols, core.count, core.overlapFill, core.overlapDrain, true, true};
    PartTimeBound time = partTimeBound(part, machine, core, "bf16");
    auto all = systolicCost(gemm, *parseDataflow(core.dataflow), array);
    array.split = array.cutStream = false;
    auto one = systolicCost(gemm, *parseDataflow(core.dataflow), array);
    EXPECT_NEAR(time.spread * 1e9 / static_cast<double>(all->cycles), 1, 1e-9);
    EXPECT_NEAR(time.single * 1e9 / static_cast<double>(one->cycles), 1, 1e-9);

    Core vector;
    vector.kind = CoreKind::Vector, vector.count = draw(5), vector.lanes = draw(600);
    machine.cores = {vector};
    BoundedPart rows;
    rows.kind = "softmax", rows.type = "fp32", rows.empty = false;
    rows.rows = static_cast<double>(draw(3000)), rows.length = static_cast<double>(draw(2000));
    rows.flops = rows.rows * rows.length * 5;
    RowWork work{static_cast<int64_t>(rows.rows), static_cast<int64_t>(rows.length), 5, 2};
    double said = partTimeBound(rows, machine, vector, "fp32").spread * 1e9;
    double cycles = rows.length > 1 ? rowCycles(work, {vector.lanes, vector.count, true})->cycles
                                    : *elementCycles(work.rows, 5, {vector.lanes, vector.count, true});
    EXPECT_LE(said, cycles * (1 + 1e-9));
    if (rows.length <= static_cast<double>(vector.lanes) / 2 || vector.count == 1) { // else a bound of several cores
      EXPECT_NEAR(said / cycles, 1, 1e-9);
    }
  }
}

TEST(MiningWork, ExtentsAreThoseOfTheProduct) {
  for (auto [file, model] : {std::pair("bert.dnn", "bert_large"), {"resnet.dnn", "resnet50"}})
    for (const Operation &op : graphOf(file, model, 4).operations) {
      auto mine = op.contraction ? extentsOf(op.domain, op.tensors) : std::nullopt;
      if (!mine)
        continue;
      Gemm gemm = gemmOf(op.domain, op.tensors).value_or(gemmOf(op.domain));
      EXPECT_EQ((std::array{mine->batch, mine->m, mine->n, mine->k}),
                (std::array{static_cast<double>(gemm.batch), static_cast<double>(gemm.m), static_cast<double>(gemm.n),
                            static_cast<double>(gemm.k)}))
          << op.name;
    }
}

TEST(StepLowerBound, NoStepTakesLess) {
  std::mt19937 random(4);
  for (auto [file, model, batch] : {std::tuple("bert.dnn", "bert_large", 4), {"resnet.dnn", "resnet50", 8}}) {
    StepWork work(graphOf(file, model, batch));
    StepLowerBound floor(work.graph());
    EXPECT_LE(floor.bytes(), minPeakMemory(work.graph()) * (1 + 1e-12));
    EXPECT_GE(floor.bytes(), minPeakMemory(work.graph()) * 0.99);
    double tight = 0;
    int all = 0;
    for (const char *name : {"tpu_like_space", "phaze_template"}) {
      DesignSpace space = test::shippedSpace(name);
      for (int i = 0; i < 12; ++i) {
        Design design = test::someDesign(space, random);
        auto machine = space.machine(design);
        auto *one = machine.get();
        if (!one)
          continue;
        StepValue value = work.value(*one);
        auto priced = estimate(work.graph(), *one);
        ASSERT_TRUE(priced);
        const Costs &costs = *priced;
        // However near what is looked for is.
        for (double below : {double(INFINITY), value.step * 1.5, value.step * (1 + 1e-9)}) {
          double min = floor.seconds(*one, nullptr, below), known = floor.seconds(*one, &costs, below);
          EXPECT_LE(min, value.step * (1 + 1e-9)) << model << name << i << " " << below;
          EXPECT_LE(known, value.step * (1 + 1e-9)) << model << name << i << " " << below;
          EXPECT_LE(floor.seconds(*one), known * (1 + 1e-9)) << model << name << i;
        }
        EXPECT_LE(floor.joules(*one, nullptr, floor.seconds(*one)), value.joules * (1 + 1e-9));
        EXPECT_LE(floor.joules(*one, &costs, floor.seconds(*one, &costs)), value.joules * (1 + 1e-9));
        tight += floor.seconds(*one) / value.step, ++all;
      }
    }
    EXPECT_GT(tight / all, 0.6) << model; // else it would rule nothing out
  }
}

TEST(StepLowerBound, KeptFloorsAreThoseFoundAnew) {
  using namespace accord::testing;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomGraph g(seed, {.maxIterations = 5});
    StepLowerBound floor(g.graph);
    std::vector<Machine> all(12, smallMachine());
    for (size_t k = 1; k < all.size(); ++k) { // each has another number than the first
      Core &core = all[k].cores[seed % all[k].cores.size()];
      Memory &memory = all[k].memories[seed % all[k].memories.size()];
      Machine::HostOverhead &host = all[k].host;
      double *numbers[] = {&memory.bandwidth.value, &memory.latency.value, &memory.efficiency, &host.kernel.value,
                           &host.microbatch.value,  &host.step.value,      &core.efficiency,   &all[k].clock.value};
      if (k <= std::size(numbers))
        *numbers[k - 1] = *numbers[k - 1] * 0.9 + 1e-6;
      core.count += k == 9, core.anyMapping = k == 10, core.perInstanceMapping = k == 11;
    }
    for (int again = 0; again < 2; ++again)
      for (const Machine &machine : all)
        for (double below : {double(INFINITY), 1e-3, 1e-5}) {
          StepLowerBound anew(g.graph);
          ASSERT_EQ(floor.seconds(machine, nullptr, below), anew.seconds(machine, nullptr, below)) << seed;
        }
  }
}

TEST(StepLowerBound, NoScheduleOfRandomWorkIsShorter) {
  using namespace accord::testing;
  unsigned tight = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomGraph g(seed, {.maxIterations = 5});
    Machine machine = smallMachine();
    for (Core &core : machine.cores) {
      core.count = 1 + seed % 3;
      core.anyMapping = seed % 4 > 1, core.perInstanceMapping = seed % 4 == 1;
    }
    Plan plan = planFor(g.graph, machine);
    Costs costs = *estimate(g.graph, machine);
    StepLowerBound floor(g.graph);
    double step = plan.schedule.step.seconds().value;
    for (double below : {double(INFINITY), step * 2, step * 1.1, step * (1 + 1e-9) + 1e-12}) {
      ASSERT_LE(floor.seconds(machine, &costs, below), step * (1 + 1e-9)) << seed << " " << below;
      ASSERT_LE(floor.seconds(machine, nullptr, below), step * (1 + 1e-9)) << seed << " " << below;
    }
    tight += floor.seconds(machine, &costs, step) > step * 0.999;
  }
  EXPECT_GT(tight, 30u);
}

/// A space of 64 designs, and a small step.
const char *const kSmall = R"(
accelerator s {
  clock = 1 GHz
  technology = 16 nm
  memory hbm : dram       { capacity = 8 GiB, bandwidth = 100 GB/s }
  memory glb : scratchpad { capacity = {2 MiB, 4 MiB}, bandwidth = 1024 B/cycle, double_buffered = true }
  core tc[pow2 1..8] : tensor { array = (pow2 16..128) x 64, dataflow = {weight_stationary, output_stationary}, multiply = bf16, accumulate = fp32, reads = glb, mapping = any }
  core vc : vector { lanes = 64, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }
  require area <= 20 mm2
})";

struct Small {
  DesignSpace space;
  std::vector<MiningJob> jobs;
  MiningCertificate certificate;

  static DesignSpace spaceOf() {
    test::Machines machines((std::string(kSmall)));
    auto made = machines.space("s");
    return std::move(*made);
  }
  explicit Small(MiningMetric metric) : space(spaceOf()) {
    WorkGraph graph = graphOf("resnet.dnn", "resnet18", 2);
    jobs.push_back({"resnet", {{"", std::make_shared<StepWork>(graph)}}, 2});
    certificate.metric = accord::name(metric);
    certificate.parameters = space.parameters();
    certificate.jobs.push_back({"resnet", 2, 1, 0, {{"", graph}}, {}});
    StepProblem problem(space, jobs, metric);
    CertificateAnswer answer;
    answer.name = "resnet", answer.jobs = {0};
    answer.value = answer.bound = INFINITY;
    for (uint64_t i = 0; i < *space.points(); ++i) {
      DesignEvaluation known = problem.evaluate(space.at(i), INFINITY);
      if (known.value < answer.value)
        answer.value = known.value, answer.winner = space.at(i);
      answer.bound = std::min(answer.bound, known.lowerBound);
    }
    certificate.answers = {answer};
  }
  std::optional<Costs> prices(const Machine &machine) const {
    auto priced = estimate(certificate.jobs[0].alternatives[0].graph, machine);
    auto *costs = priced.get();
    return costs ? std::optional(*costs) : std::nullopt;
  }
  Errors prove(MiningProof &proof, std::vector<UnprovenDesign> *open = nullptr) const {
    auto machines = readBack(space);
    MiningVerifier verifier(certificate, *machines,
                            [this](size_t, size_t, const Machine &machine) { return prices(machine); });
    EXPECT_EQ(designsOf(certificate), space.points());
    if (open) {
      MiningProof other;
      *open = verifier.open(certificate.answers[0], other);
    }
    return verifier.proveBound(certificate.answers[0], proof);
  }
};

TEST(MiningVerifier, ProvesTheBoundOfAnExhaustiveSearch) {
  for (MiningMetric metric :
       {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::Energy, MiningMetric::AreaTime}) {
    Small small(metric);
    small.certificate.answers[0].bound *= 1 - 1e-6;
    MiningProof proof;
    Errors findings = small.prove(proof);
    EXPECT_TRUE(findings.empty()) << name(metric) << ": " << findings.front().message;
    EXPECT_EQ(proof.designs, 64u);
    EXPECT_EQ(proof.refused + proof.byWork + proof.byPrices + proof.bySearch, 64u);
    EXPECT_GT(proof.refused, 0u);
    EXPECT_GT(proof.byWork, 20u) << name(metric);
    EXPECT_EQ(proof.bySearch, 0u) << name(metric);
    EXPECT_LE(proof.proven, small.certificate.answers[0].value);
  }
}

TEST(MiningVerifier, FindsClaimsThatAreWrong) {
  Small small(MiningMetric::StepTime);
  CertificateAnswer &answer = small.certificate.answers[0];
  MiningProof proof;
  // More than the best design is worth: it is not ruled out, and nothing is said of it.
  answer.bound = answer.value * 1.001;
  std::vector<UnprovenDesign> open;
  Errors findings = small.prove(proof, &open);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].code, Code::BoundNotProved);
  EXPECT_GT(proof.bySearch, 0u);
  // With what a search would say of all of them: it found less than the bound.
  StepProblem problem(small.space, small.jobs, MiningMetric::StepTime);
  for (const UnprovenDesign &one : open)
    answer.survivors.push_back({one.design, problem.value(one.design), {}});
  EXPECT_FALSE(small.prove(proof).empty());
  // As designs are valued the best is the best, if all that are open are listed.
  answer.bound = answer.value;
  EXPECT_TRUE(small.prove(proof).empty());
  EXPECT_GT(proof.bySearch, 0u);
  std::vector<CertificateSurvivor> all = answer.survivors;
  answer.survivors.erase(answer.survivors.begin());
  EXPECT_FALSE(small.prove(proof).empty());
  // A search that was stopped lists none: it is believed, and that is said.
  answer.survivors.clear();
  answer.stopped = true;
  proof = {};
  EXPECT_TRUE(small.prove(proof).empty());
  EXPECT_EQ(proof.bySearch, all.size());
  answer.stopped = false;
  answer.survivors = all;
  answer.survivors.push_back(all.front());
  EXPECT_FALSE(small.prove(proof).empty());
  answer.survivors = all;
}

} // namespace
} // namespace accord
