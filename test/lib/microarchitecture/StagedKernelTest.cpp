// Kernels that copy pieces to scratchpads: what orders copies and computation, what overlaps, and what is refused.
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/verify/CycleStepper.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "lib/support/SplitMix.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/ProgramInterpreter.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

Microarchitecture machineOf(bool isTiled, int64_t scratchpad = 4096, bool tokens = true, int32_t window = 8) {
  KernelMachineOptions options;
  options.scratchpad = scratchpad, options.tokens = tokens;
  Microarchitecture made = isTiled ? KernelMachine(options).stagedTiles() : KernelMachine(options).stagedVector();
  made.window = window;
  return made;
}
MappedKernel mappedOf(const LoopKernel &kernel, const Microarchitecture &machine) {
  auto mapped = emitKernel(kernel, machine);
  EXPECT_TRUE(mapped) << mapped.error().message;
  return mapped ? *mapped : MappedKernel{};
}
LoopKernel kernelOf(const Contraction &contraction, const Schedule &schedule) {
  auto kernel = contractionKernel(contraction, schedule);
  EXPECT_TRUE(kernel) << kernel.error().message;
  return kernel ? *kernel : LoopKernel{};
}

/// Whether a product of small whole numbers has its values; `change` changes the program before.
bool isRight(
    const Contraction &contraction, const Schedule &schedule, const Microarchitecture &machine,
    const std::function<void(InstructionProgram &)> &change = [](InstructionProgram &) {}) {
  MappedKernel mapped = mappedOf(kernelOf(contraction, schedule), machine);
  change(mapped.program);
  ProgramInterpreter run(mapped, machine);
  SplitMix random(7);
  for (int t = 0; t < 2; ++t)
    for (double &element : run.tensors[t])
      element = double(random.below(17)) - 8;
  run.tensors[2].assign(run.tensors[2].size(), NAN);
  const auto layout = *layoutOf(contraction, schedule);
  run.runByTime();
  EXPECT_EQ(run.wrong, "");
  const auto &extents = layout.extents;
  for (int64_t m = 0; m < extents[1]; ++m)
    for (int64_t n = 0; n < extents[2]; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < extents[3]; ++k)
        sum += run.tensors[0][m * layout.strides[0][1] + k * layout.strides[0][3]] *
               run.tensors[1][k * layout.strides[1][3] + n * layout.strides[1][2]];
      if (run.tensors[2][m * layout.strides[2][1] + n * layout.strides[2][2]] != sum)
        return false;
    }
  return true;
}

TEST(StagedKernel, TokensAreNeeded) {
  const Contraction contraction = product({24, 48, 32});
  for (bool isTiled : {false, true}) {
    KernelMachineOptions options;
    options.scratchpad = 2048, options.control = false, options.addresses = false;
    Microarchitecture machine = isTiled ? KernelMachine(options).stagedTiles() : KernelMachine(options).stagedVector();
    machine.window = 256;
    machine.storages[0].readLatency = 3000; // computation never waits so long by chance
    for (size_t s = 1; s < machine.storages.size(); ++s)
      machine.storages[s].writeLatency = 500;
    const Schedule schedule = plainSchedule(contraction, machine);
    ASSERT_TRUE(schedule.staged[0].isDouble);
    EXPECT_TRUE(isRight(contraction, schedule, machine));
    // Where loads, or copies back, do not await their tokens.
    auto ignore = [&](bool isLoad) {
      return [&machine, isLoad](InstructionProgram &program) {
        for (Instruction &is : program.instructions) {
          const Opcode &opcode = machine.opcodes[is.opcode];
          const bool isBack = opcode.role.does == Role::Copy && is.memory.back().storage == 0;
          if (hasTokens(opcode) && (isLoad ? opcode.role.does == Role::Load : isBack))
            is.reads.back().number = machine.registers[is.reads.back().file].count - 1; // nobody writes it
        }
      };
    };
    EXPECT_FALSE(isRight(contraction, schedule, machine, ignore(true)));
    EXPECT_FALSE(isRight(contraction, schedule, machine, ignore(false)));
  }
}

TEST(StagedKernel, CopiesRunBesideComputation) {
  const Contraction contraction = product({64, 64, 256});
  for (bool isTiled : {false, true}) {
    const Microarchitecture machine = machineOf(isTiled, 16384);
    auto cycles = [&](const Schedule &schedule) {
      auto timing = timeProgram(machine, mappedOf(kernelOf(contraction, schedule), machine).program);
      EXPECT_TRUE(timing);
      return timing ? timing->cycles : 0;
    };
    Schedule two = plainSchedule(contraction, machine), one = two;
    ASSERT_TRUE(two.staged[0].isDouble && two.staged[1].isDouble);
    for (Schedule::StagedPiece &staging : one.staged)
      staging.isDouble = false;
    EXPECT_LT(cycles(two), cycles(one));
  }
}

TEST(StagedKernel, WithoutTokensOneInstructionAtATime) {
  const Contraction contraction = product({16, 16, 40});
  for (bool isTiled : {false, true}) {
    const Microarchitecture many = machineOf(isTiled, 2048, false), one = machineOf(isTiled, 2048, false, 1);
    auto refused = emitKernel(kernelOf(contraction, plainSchedule(contraction, many)), many);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::NotMapped);
    EXPECT_NE(refused.error().message.find("neither reads nor writes a register that counts"), std::string::npos);
    EXPECT_TRUE(isRight(contraction, plainSchedule(contraction, one), one));
  }
}

TEST(StagedKernel, TooLittleRoomIsRefusedWithTheBytes) {
  const Contraction contraction = product({64, 64, 64});
  const Microarchitecture machine = machineOf(false, 4096);
  Schedule schedule = plainSchedule(contraction, machine);
  for (Schedule::StagedPiece &staging : schedule.staged)
    staging.level = 0; // whole tensors
  auto refused = emitKernel(kernelOf(contraction, schedule), machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "'product_64x64x64': the 4096 bytes of 'pad' do not hold the pieces of its tensors ('a_0' 16384, 'b_0' "
            "16384, 'c_0' 16384, 'constants' 4 bytes): 45060 more are needed, or pieces of 0.0833 of their elements");
  EXPECT_TRUE(emitKernel(kernelOf(contraction, plainSchedule(contraction, machine)), machine));
}

/// Two writers of one register, the first of which takes longer, and a reader.
TEST(StagedKernel, ReadsOfRegistersThatCountAwaitAllWriters) {
  for (bool counts : {false, true}) {
    Microarchitecture machine = KernelMachine({}).scalar();
    machine.registers[0].counts = counts, machine.registers[0].renamed = !counts;
    auto operation = [&](const char *name, int32_t reads, int32_t writes, int64_t latency) {
      machine.opcodes.push_back({name, reads, writes, 0, 0, 0, false, {}, {}});
      machine.units[0].operations.push_back({Index(machine.opcodes.size()) - 1,
                                             {{{CycleExpression::Kind::Constant, latency}}, ""},
                                             {{{CycleExpression::Kind::Constant, 1}}, ""},
                                             {}});
      return Index(machine.opcodes.size()) - 1;
    };
    const Index slow = operation("slow", 0, 1, 50), fast = operation("fast", 0, 1, 2), use = operation("use", 1, 0, 1);
    InstructionProgram program;
    program.instructions = {
        {slow, {}, {{0, 0}}, {}, {}, {}}, {fast, {}, {{0, 0}}, {}, {}, {}}, {use, {{0, 0}}, {}, {}, {}, {}}};
    program.body = {{0, kNone}, {1, kNone}, {2, kNone}};
    ASSERT_TRUE(check(program, machine).empty());
    InstructionEngine engine(machine, program);
    const Visit first = engine.step(0), second = engine.step(1), last = engine.step(2);
    EXPECT_EQ(first.complete, first.start + 50);
    EXPECT_EQ(second.start, first.start + 1); // in order in the unit; no writer awaits another
    EXPECT_EQ(last.start, counts ? first.complete : second.complete);
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing);
    EXPECT_TRUE(verifyTiming(machine, program, *timing).empty());
  }
}

/// Certificates are replayed by the stepper, which shares nothing with the engine.
TEST(StagedKernel, EngineAndStepperAgree) {
  for (bool isTiled : {false, true})
    for (int64_t scratchpad : {2048, 8192}) {
      const Microarchitecture machine = machineOf(isTiled, scratchpad);
      std::vector<LoopKernel> kernels;
      for (const ProductShape &shape : {ProductShape{24, 20, 40}, {9, 33, 7, 2}, {1, 1, 1}, {64, 8, 96}}) {
        const Contraction contraction = product(shape);
        kernels.push_back(kernelOf(contraction, plainSchedule(contraction, machine)));
      }
      ConvolutionShape s;
      s.images = 2, s.filters = 12, s.channels = 6, s.rows = s.columns = 9, s.filterRows = s.filterColumns = 3;
      s.rowPadding = s.columnPadding = 1;
      for (ConvolutionPart part :
           {ConvolutionPart::Forward, ConvolutionPart::DataGradient, ConvolutionPart::WeightGradient}) {
        const Contraction contraction = convolution(s, part);
        kernels.push_back(kernelOf(contraction, plainSchedule(contraction, machine)));
      }
      if (!isTiled)
        for (const char *kind : {"softmax", "layer_norm_grad"}) {
          const RowOperation operation = *lineOperation(kind, 12, 100);
          auto kernel = rowKernel(operation, plainRowSchedule(operation, machine));
          ASSERT_TRUE(kernel) << kernel.error().message;
          kernels.push_back(*kernel);
        }
      for (const LoopKernel &kernel : kernels) {
        const MappedKernel mapped = mappedOf(kernel, machine);
        auto timing = timeProgram(machine, mapped.program);
        ASSERT_TRUE(timing) << kernel.name << timing.error().message;
        const Errors errors = verifyTiming(machine, mapped.program, *timing);
        EXPECT_TRUE(errors.empty()) << kernel.name << ": " << errors.front().message;
      }
    }
}

/// A layer of ResNet-18 and a product of BERT, on a scratchpad of real size.
TEST(StagedKernel, LayersOfRealSize) {
  KernelMachineOptions options;
  options.scratchpad = 128 << 10, options.tile = 16, options.lanes = 16;
  for (const Microarchitecture &machine :
       {KernelMachine(options).stagedTiles(), KernelMachine(options).stagedVector()}) {
    ConvolutionShape s;
    s.images = 8, s.filters = s.channels = 64, s.rows = s.columns = 56, s.filterRows = s.filterColumns = 3;
    s.rowPadding = s.columnPadding = 1;
    for (const Contraction &contraction :
         {convolution(s, ConvolutionPart::Forward), convolution(s, ConvolutionPart::DataGradient),
          convolution(s, ConvolutionPart::WeightGradient), product({512, 3072, 768})}) {
      auto kernel = contractionKernel(contraction, plainSchedule(contraction, machine));
      ASSERT_TRUE(kernel) << kernel.error().message;
      auto timing = timeProgram(machine, mappedOf(*kernel, machine).program);
      ASSERT_TRUE(timing) << contraction.name << ": " << timing.error().message;
      EXPECT_LT(timing->evaluated, 1'000'000);
      EXPECT_GT(timing->instructions, __int128(1'000'000));
    }
  }
}

} // namespace
} // namespace accord::microarchitecture
