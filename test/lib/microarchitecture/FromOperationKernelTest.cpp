// Operations of a training graph have a kernel or a refusal that says why.
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

TEST(FromOperationKernel, DepthwiseConvolutionsUpdatesAndRefusals) {
  Operation op;
  op.name = "conv", op.kind = "depthwise_conv2d", op.core = CoreKind::Tensor, op.contraction = true;
  op.domain = {{2}, {6}, {4}, {4}, {3, IteratorKind::Reduction}, {3, IteratorKind::Reduction}};
  op.tensors = {{{{{0, 1}}, {{1, 1}}, {{2, 1}, {4, 1}}, {{3, 1}, {5, 1}}}, {2, 6, 4, 4}},
                {{{{1, 1}}, {}, {{4, 1}}, {{5, 1}}}, {6, 1, 3, 3}},
                {{{{0, 1}}, {{1, 1}}, {{2, 1}}, {{3, 1}}}, {2, 6, 4, 4}, 32, true}};
  for (const Microarchitecture &machine :
       {KernelMachine({}).scalar(), KernelMachine({}).vector(), KernelMachine({}).tiles()}) {
    auto kernel = kernelOf(op, "adam", machine);
    ASSERT_TRUE(kernel) << kernel.error().message;
    auto mapped = emitKernel(*kernel, machine);
    ASSERT_TRUE(mapped) << mapped.error().message;
  }
  const Microarchitecture machine = KernelMachine({}).vector();
  op = {}, op.name = "w", op.kind = "update", op.core = CoreKind::Vector, op.domain = {{100}};
  EXPECT_TRUE(kernelOf(op, "adam", machine));
  op.kind = "embedding";
  auto refused = kernelOf(op, "adam", machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::NotMapped);
}

} // namespace
} // namespace accord::microarchitecture
