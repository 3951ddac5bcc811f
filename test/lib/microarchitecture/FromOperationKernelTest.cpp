// Operations of a training graph have a kernel or a refusal that says why.
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/support/SplitMix.h"
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

/// Any shapes, whatever the kind: a kernel or a refusal, at once.
TEST(FromOperationKernel, AnyShapes) {
  const char *kinds[] = {"add",
                         "relu_grad",
                         "dropout",
                         "mse_grad",
                         "sinusoids",
                         "alibi",
                         "update",
                         "update_rows",
                         "softmax",
                         "layer_norm_grad",
                         "cross_entropy",
                         "reduce_mean",
                         "reduce_dimensions",
                         "max_pool",
                         "avg_pool_grad",
                         "batch_norm",
                         "group_norm_grad",
                         "transpose",
                         "concat",
                         "split",
                         "slice",
                         "pad_slice",
                         "rotary",
                         "topk",
                         "topk_grad",
                         "upsample",
                         "upsample_grad",
                         "embedding",
                         "embedding_grad",
                         "embedding_bag",
                         "gather",
                         "scatter",
                         "segment_sum",
                         "relative_bias",
                         "embedding_rows_grad",
                         "spmm",
                         "spmm_dense_grad",
                         "segment_softmax",
                         "lstm",
                         "gru_grad",
                         "flash_attention",
                         "flash_attention_grad",
                         "moe_dispatch",
                         "moe_dispatch_grad",
                         "moe_experts",
                         "moe_experts_grad",
                         "moe_combine",
                         "moe_combine_grad",
                         "interaction",
                         "interaction_grad",
                         "linear",
                         "custom x"};
  const Microarchitecture scalar = KernelMachine({}).scalar(), lanes = KernelMachine({}).vector();
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SplitMix random(seed);
    auto size = [&] {
      const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 17, int64_t(1) << 33, int64_t(1) << 62};
      return sizes[random.below(random.below(4) ? 7 : 9)];
    };
    Operation op;
    op.name = "op", op.kind = kinds[seed % std::size(kinds)], op.core = CoreKind::Vector;
    op.contraction = random.below(2) && (op.kind == "linear" || op.kind == "custom x"), op.causal = random.below(2);
    const size_t loops = random.below(7);
    for (size_t l = 0; l < loops; ++l)
      op.domain.push_back({size(), random.below(3) ? IteratorKind::Parallel : IteratorKind::Reduction});
    const size_t reads = random.below(7), writes = random.below(5);
    for (size_t t = 0; t < reads + writes; ++t) {
      LoopTensor tensor;
      tensor.written = t >= reads, tensor.elementBits = random.below(2) ? 16 : 32;
      const size_t rank = random.below(7);
      for (size_t d = 0; d < rank; ++d) {
        tensor.dimensions.emplace_back();
        tensor.sizes.push_back(size());
        if (loops > 0 && random.below(4))
          tensor.dimensions.back().push_back({unsigned(random.below(loops)), int64_t(1 + random.below(3))});
      }
      op.tensors.push_back(tensor);
    }
    for (const Microarchitecture *machine : {&scalar, &lanes})
      if (auto kernel = kernelOf(op, random.below(2) ? "adam" : "rowwise_adagrad", *machine))
        if (auto mapped = emitKernel(*kernel, *machine))
          ASSERT_TRUE(check(mapped->program, *machine).empty()) << op.kind << " " << seed;
  }
}

} // namespace
} // namespace accord::microarchitecture
