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

TEST(TimeKernel, ProductsOfBillionsOfIterations) {
  const Contraction contraction = product({1024, 1024, 1024});
  for (bool isTiled : {false, true}) {
    const Microarchitecture machine = isTiled ? KernelMachine({}).tiles() : KernelMachine({}).scalar();
    const LoopKernel kernel = *contractionKernel(contraction, plainSchedule(contraction, machine));
    const InstructionTiming timing = timeOf(kernel, machine);
    printf("%d: %ld cycles, %ld of %g instructions\n", isTiled, timing.cycles, timing.evaluated, double(timing.instructions));
  }
  const RowOperation add = pointOperation(*pointFormula("add"), {1'000'000'000});
  const Microarchitecture machine = KernelMachine({}).vector();
  const InstructionTiming timing = timeOf(*rowKernel(add, plainRowSchedule(add, machine)), machine);
    printf("%ld cycles, %ld of %g instructions\n", timing.cycles, timing.evaluated, double(timing.instructions));
}

} // namespace
} // namespace accord::microarchitecture
