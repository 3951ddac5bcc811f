// Kernels of many iterations are timed after a few.
#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

InstructionTiming timeOf(const LoopKernel &kernel, const Microarchitecture &machine, const TimingLimits &limits = {}) {
  auto mapped = emitKernel(kernel, machine);
  EXPECT_TRUE(mapped) << mapped.error().message;
  auto timing = timeProgram(machine, mapped->program, limits);
  EXPECT_TRUE(timing) << timing.error().message;
  return *timing;
}

/// Iterations of the innermost loops that a timing evaluated, at most: each has `instructions` of them.
int64_t iterations(const InstructionTiming &timing, int64_t instructions) { return timing.evaluated / instructions; }

TEST(TimeKernel, ABillionIterations) {
  const RowOperation add = pointOperation(*pointFormula("add"), {1'000'000'000});
  const Microarchitecture scalar = KernelMachine({}).scalar(), vector = KernelMachine({}).vector();
  // Two loads, a sum, a store, three addresses, counter and branch.
  const InstructionTiming one = timeOf(*rowKernel(add, {}), scalar);
  EXPECT_GE(one.instructions, __int128(9'000'000'000));
  EXPECT_LT(iterations(one, 9), 500);
  const InstructionTiming eight = timeOf(*rowKernel(add, plainRowSchedule(add, vector)), vector);
  EXPECT_LT(eight.cycles, one.cycles);
  EXPECT_LT(iterations(eight, 9), 500);

  const Contraction contraction = product({1024, 1024, 1024});
  const InstructionTiming product =
      timeOf(*contractionKernel(contraction, plainSchedule(contraction, scalar, false)), scalar);
  EXPECT_GE(product.instructions, __int128(7) << 30);
  EXPECT_LT(iterations(product, 7), 600);
  const Microarchitecture tiles = KernelMachine({}).tiles();
  const InstructionTiming tiled = timeOf(*contractionKernel(contraction, plainSchedule(contraction, tiles)), tiles);
  // With a block of results in registers, fewer loads and fewer cycles.
  const InstructionTiming blocked = timeOf(*contractionKernel(contraction, plainSchedule(contraction, scalar)), scalar);
  EXPECT_LT(blocked.instructions, product.instructions / 2);
  EXPECT_LT(blocked.cycles, product.cycles / 2);
  EXPECT_LT(tiled.evaluated, 500);
  EXPECT_LT(tiled.cycles, product.cycles);
}

TEST(TimeKernel, ConvolutionsOfResNet) {
  for (const Microarchitecture &machine :
       {KernelMachine({}).scalar(), KernelMachine({}).vector(), KernelMachine({}).tiles()})
    for (ConvolutionPart part :
         {ConvolutionPart::Forward, ConvolutionPart::DataGradient, ConvolutionPart::WeightGradient})
      for (bool isFirst : {false, true}) {
        ConvolutionShape s;
        s.images = 8, s.filters = 64, s.channels = isFirst ? 3 : 64, s.rows = s.columns = isFirst ? 224 : 56;
        s.filterRows = s.filterColumns = isFirst ? 7 : 3, s.rowStride = s.columnStride = isFirst ? 2 : 1;
        s.rowPadding = s.columnPadding = isFirst ? 3 : 1;
        const Contraction contraction = convolution(s, part);
        auto kernel = contractionKernel(contraction, plainSchedule(contraction, machine));
        ASSERT_TRUE(kernel) << kernel.error().message;
        const InstructionTiming timing = timeOf(*kernel, machine);
        EXPECT_LT(timing.evaluated, 15'000'000);
        EXPECT_GT(timing.instructions, __int128(50'000'000));
      }
}

} // namespace
} // namespace accord::microarchitecture
