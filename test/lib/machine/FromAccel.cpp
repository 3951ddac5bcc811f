// Machine dialect -> plain data, against published numbers of real chips.
#include "lib/machine/translate/FromAccel.h"
#include "dialects/accel/AccelDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>

using namespace accord;
using testing::HasSubstr;

namespace {
struct Converted {
  mlir::FailureOr<Machine> machine = mlir::failure();
  std::string said;
};

Converted convert(const std::string &body, const std::string &with = "") {
  Converted result;
  mlir::MLIRContext context;
  context.loadDialect<accel::AccelDialect>();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    result.said += d.str() + "\n";
    for (mlir::Diagnostic &note : d.getNotes())
      result.said += "note: " + note.str() + "\n";
    return mlir::success();
  });
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>("accel.accelerator @m " + with + "{\n" + body + "\n}", &context);
  if (module)
    result.machine = machineFrom(*module->getOps<accel::AcceleratorOp>().begin());
  return result;
}

const std::string kDram = "accel.memory @hbm : dram {bandwidth = #accel.quantity<900 GB/s>, "
                          "capacity = #accel.quantity<16 GiB>}\n";
const std::string kSpad = "accel.memory @vmem : scratchpad {bandwidth = #accel.quantity<2048 "
                          "B/cycle>, capacity = #accel.quantity<16 MiB>, "
                          "latency = #accel.quantity<10 cycles>, double_buffered = true}\n";
const std::string kCore = "accel.core @c : vector {peak = {fp32 = #accel.quantity<1 TFLOP/s>}}\n";
const std::string kClock = "with {clock = #accel.quantity<940 MHz>} ";
} // namespace

// The array of a TPU v3: 4 MXUs of 128 x 128 at 940 MHz are the published 123 TFLOP/s of a chip
// (cloud.google.com/tpu/docs/v3).
TEST(FromAccel, ArraysReachThePublishedPeakOfATpuV3) {
  std::string aliased = "accel.core @mxu [4] : tensor {array = [128, 128], dataflow = \"ws\"}";
  EXPECT_THAT(convert(kDram + aliased, kClock).said, HasSubstr("did you mean 'weight_stationary'"));
  auto [machine, said] = convert(kDram + "accel.core @mxu [4] : tensor {array = [128, 128], dataflow = "
                                         "\"weight_stationary\", multiply = \"bf16\"}",
                                 kClock);
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  const Core &mxu = machine->cores[0];
  EXPECT_EQ(mxu.count, 4);
  EXPECT_EQ(mxu.rows, 128);
  EXPECT_EQ(mxu.cols, 128);
  EXPECT_EQ(mxu.dataflow, "weight_stationary");
  EXPECT_NEAR(4 * mxu.peak.at("bf16").value, 123e12, 0.5e12);
  EXPECT_EQ(mxu.origins.at("peak.bf16").text, "2 * 128 x 128 FLOP/cycle * clock");
}

// Google TPU v4: 2 cores x 128 lanes x 16 ALUs at 1050 MHz, one operation per cycle: 4.3 TFLOP/s
// (Jouppi et al., ISCA 2023).
TEST(FromAccel, LanesDoOneOperationPerCycle) {
  auto [machine, said] = convert(kDram + "accel.core @vpu [2] : vector {lanes = 2048, types = [\"fp32\"]}",
                                 "with {clock = #accel.quantity<1050 MHz>} ");
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  EXPECT_NEAR(2 * machine->cores[0].peak.at("fp32").value, 4.3e12, 0.01e12);
  EXPECT_EQ(machine->cores[0].lanes, 2048);
}

TEST(FromAccel, LanesWithoutTypesHaveNoPeakOfTheirOwn) {
  auto [machine, said] = convert(kDram + "accel.core @vpu : vector {lanes = 2048}", kClock);
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  EXPECT_TRUE(machine->cores[0].peak.empty());
}

// NVIDIA A100: 312 TFLOP/s bf16 over 108 multiprocessors, 1024 FMA = 2048 FLOP per cycle each at
// 1410 MHz (white paper, table 1).
TEST(FromAccel, DataSheetPeaksAreSharedByTheCores) {
  for (const char *peak : {"312 TFLOP/s", "221184 FLOP/cycle"}) {
    auto [machine, said] = convert(kDram +
                                       "accel.core @tc [108] : tensor {efficiency = "
                                       "#accel.quantity<\"0.8\">, peak = {bf16 = #accel.quantity<" +
                                       peak + " source \"white paper\">}}",
                                   "with {clock = #accel.quantity<1410 MHz>} ");
    ASSERT_TRUE(mlir::succeeded(machine)) << said;
    const Core &tc = machine->cores[0];
    EXPECT_NEAR(tc.peak.at("bf16").value, 2048 * 1.41e9, 0.002e12);
    EXPECT_EQ(tc.efficiency, 0.8);
    EXPECT_EQ(tc.origins.at("peak.bf16").text, peak);
    EXPECT_EQ(tc.origins.at("peak.bf16").source, "white paper");
    EXPECT_EQ(tc.origins.at("peak").text, std::string("bf16: ") + peak);
  }
}

TEST(FromAccel, CyclesBecomeSecondsAndEnergyIsPerFlop) {
  auto [machine, said] = convert(kSpad + kDram + kCore +
                                     "accel.power {idle = #accel.quantity<40 W>, mac = "
                                     "#accel.quantity<0.6 pJ>, tdp = #accel.quantity<220 W>}",
                                 kClock);
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  ASSERT_EQ(machine->memories.size(), 2u);
  EXPECT_EQ(machine->memories[0].name, "hbm") << "device memory comes first";
  EXPECT_EQ(machine->memories[0].capacity.value, 17179869184.0);
  const Memory &vmem = machine->memories[1];
  EXPECT_DOUBLE_EQ(vmem.bandwidth.value, 2048 * 940e6);
  EXPECT_DOUBLE_EQ(vmem.latency.value, 10 / 940e6);
  EXPECT_TRUE(vmem.doubleBuffered);
  EXPECT_EQ(machine->clock.value, 940e6);
  EXPECT_EQ(machine->idle.value, 40);
  EXPECT_EQ(machine->tdp.value, 220);
  EXPECT_DOUBLE_EQ(machine->energyPerFlop.value, 0.3e-12);
  EXPECT_EQ(machine->cores[0].reads, -1);
}

// A part with tRFC = 350 ns every tREFI = 3.9 us moves data in 1 - 350 / 3900 of the time, at most 80 % of the peak.
TEST(FromAccel, RefreshTakesItsShareOfTheBandwidth) {
  auto [machine, said] =
      convert("accel.memory @hbm : dram {bandwidth = #accel.quantity<1 TB/s>, capacity = #accel.quantity<16 GiB>, "
              "efficiency = #accel.quantity<\"0.8\">, refresh_efficiency = #accel.quantity<\"0.91\">}\n" +
                  kCore,
              kClock);
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  EXPECT_DOUBLE_EQ(machine->memories[0].efficiency, 0.8 * 0.91);
  EXPECT_EQ(machine->memories[0].origins.at("refresh_efficiency").text, "0.91");
}

TEST(FromAccel, PathsOrderMemoriesAndTellWhatCoresRead) {
  std::string l2 = "accel.memory @l2 : cache {bandwidth = #accel.quantity<4 TB/s>, capacity = "
                   "#accel.quantity<40 MiB>}\n";
  auto [machine, said] =
      convert(kSpad + l2 + kDram + kCore +
                  "accel.core @d : vector {peak = {fp32 = #accel.quantity<1 TFLOP/s>}, reads = @l2}\n"
                  "accel.path [@hbm] -> [@l2] -> [@vmem] -> [@c]",
              kClock);
  ASSERT_TRUE(mlir::succeeded(machine)) << said;
  EXPECT_EQ(machine->memories[0].name, "hbm");
  EXPECT_EQ(machine->memories[1].name, "l2");
  EXPECT_EQ(machine->memories[2].name, "vmem");
  EXPECT_EQ(machine->cores[0].reads, 2);
  EXPECT_EQ(machine->cores[1].reads, 1);
}

TEST(FromAccel, SaysWhatItCannotPlanOn) {
  EXPECT_THAT(convert(kDram + kSpad + kCore).said,
              HasSubstr("'bandwidth' of 'vmem' is counted in cycles, but the accelerator states no 'clock'"));
  EXPECT_THAT(convert(kDram + "accel.core @v : vector {lanes = 8}").said, HasSubstr("states no 'clock'"));
  EXPECT_THAT(convert(kDram + "accel.core @v [#accel.choice<pow2 [1, 8]>] : vector {lanes = 8}", kClock).said,
              HasSubstr("'count' of 'v' is left open"));
  EXPECT_THAT(convert(kDram + "accel.core @v : vector {lanes = #accel.reference<\"t.cols\">}", kClock).said,
              HasSubstr("'lanes' of 'v' has no value yet"));
  EXPECT_THAT(convert(kDram + kSpad + kCore + "accel.path [@hbm] -> [@c]", kClock).said,
              HasSubstr("no path reaches memory 'vmem'"));
  EXPECT_THAT(convert(kDram + kSpad + kCore + "accel.path [@hbm, @vmem] -> [@c]", kClock).said,
              HasSubstr("stand side by side"));
  EXPECT_THAT(convert(kSpad +
                          "accel.memory @w : scratchpad {bandwidth = #accel.quantity<1 GB/s>, "
                          "capacity = #accel.quantity<1 MiB>}\n" +
                          kCore + "accel.path [@w] -> [@vmem]\naccel.path [@vmem] -> [@w]",
                      kClock)
                  .said,
              HasSubstr("form a cycle"));
  EXPECT_THAT(convert(kDram + "accel.core @a : vector {cost_model = \"x\", lanes = 8}\naccel.core "
                              "@b : vector {cost_model = \"y\", lanes = 8}",
                      kClock)
                  .said,
              HasSubstr("note: core 'a' names 'x'"));
}
