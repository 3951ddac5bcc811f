// Every operation of the training steps of whole models has a kernel, on machines with and without lanes.
#include "lib/machine/translate/FromDnn.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "passes/simplify/Passes.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/support/TrainingGraphFixture.h"
#include <map>
#include <set>

namespace accord::microarchitecture {
namespace {

struct ModelCase {
  const char *name, *file, *call;
  int64_t batch;
  int64_t parameters = 0; ///< that it has; 0: others test it
  const char *text = "";  ///< of a model that is not in the catalogue
};

/// Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012, as torchvision has it on
/// one device (Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014).
constexpr const char *kAlexNet = R"(
model alexnet() {
  input image : float[3, 224, 224]
  input label : int32[1]
  let a = max_pool(relu(conv2d(image, out = 64, kernel = 11, stride = 4, padding = 2)), kernel = 3, stride = 2)
  let b = max_pool(relu(conv2d(a, out = 192, kernel = 5, padding = 2)), kernel = 3, stride = 2)
  let c = relu(conv2d(relu(conv2d(b, out = 384, kernel = 3, padding = 1)), out = 256, kernel = 3, padding = 1))
  let d = max_pool(relu(conv2d(c, out = 256, kernel = 3, padding = 1)), kernel = 3, stride = 2)
  let e = relu(linear(dropout(reshape(d, [1, 9216]), rate = 0.5), out = 4096))
  loss cross_entropy(linear(relu(linear(dropout(e, rate = 0.5), out = 4096)), out = 1000), label)
}
)";
/// Howard et al., MobileNets, 2017, table 1.
constexpr const char *kMobileNetV1 = R"(
module separable(x, out, stride = 1) -> y {
  let y = relu(conv_bn(relu(depthwise_bn(x, kernel = 3, stride = stride)), out = out, kernel = 1))
}
model mobilenet_v1() {
  input image : float[3, 224, 224]
  input label : int32[1]
  var x = relu(conv_bn(image, out = 32, kernel = 3, stride = 2, padding = 1))
  for row in [[64, 1], [128, 2], [128, 1], [256, 2], [256, 1], [512, 2]] { x = separable(x, out = row[0], stride = row[1]) }
  repeat 5 as block { x = separable(x, out = 512) }
  x = separable(separable(x, out = 1024, stride = 2), out = 1024)
  loss cross_entropy(classifier(x, 1000), label)
}
)";

/// Models whose operations also run in pieces, on a machine whose loads reach a scratchpad of 256 KiB alone.
const std::set<std::string> kInPieces = {"resnet18", "resnet50",   "mobilenet_v1", "mobilenet_v2", "bert_base",
                                         "gpt2",     "tc_resnet8", "alexnet",      "llama3"};

class ModelKernels : public ::testing::TestWithParam<ModelCase> {};

/// Refusals by kind of operation.
std::map<std::string, std::string> refusals(const WorkGraph &graph, const Microarchitecture &machine) {
  std::map<std::string, std::string> found;
  for (const accord::Operation &operation : graph.operations) {
    auto kernel = kernelOf(operation, graph.optimizer, machine);
    if (!kernel) {
      found.emplace(operation.kind, kernel.error().message);
      continue;
    }
    if (auto mapped = emitKernel(*kernel, machine); !mapped)
      found.emplace(operation.kind, mapped.error().message);
  }
  return found;
}

TEST_P(ModelKernels, EveryOperationIsMapped) {
  const ModelCase &one = GetParam();
  const std::string text = std::string("import \"catalog/") + one.file + ".dnn\"\n" + one.text +
                           "train t = " + one.call + " on a100_80g {\n  batch = " + std::to_string(one.batch) +
                           "\n  optimizer = adam\n}";
  TrainingGraph training(text.c_str(), {"adam", "fp32"});
  ASSERT_TRUE(training.graph);
  std::string error;
  auto graph = workGraphFrom(training.graph, one.batch, 1, error);
  ASSERT_TRUE(graph) << error;
  if (one.parameters)
    EXPECT_EQ(graph->parameters, one.parameters);
  KernelMachineOptions options;
  options.registers = 64, options.scalars = 64, options.scratchpad = 256 << 10, options.tokenCount = 128;
  std::vector<Microarchitecture> machines = {KernelMachine(options).scalar(), KernelMachine(options).vector()};
  if (kInPieces.count(one.name))
    machines.push_back(KernelMachine(options).stagedVector());
  for (const Microarchitecture &machine : machines)
    for (const auto &[kind, why] : refusals(*graph, machine))
      ADD_FAILURE() << kind << ": " << why;
}

/// Fused operations, and recurrent layers step by step.
TEST(ModelKernels, FusedAndExpanded) {
  for (const char *text : {R"(
import "catalog/resnet.dnn"
train t = resnet18(size = 64) on a100_80g { batch = 2 }
)",
                           R"(
import "catalog/bert_base.dnn"
train t = bert_base(layers = 2, seq = 128) on a100_80g { batch = 1 }
)",
                           R"(
import "catalog/gnmt.dnn"
train t = gnmt() on a100_80g { batch = 2 }
)"}) {
    TrainingGraph training(text, {"adam", "mixed(bf16)"}, createExpandRecurrent());
    ASSERT_TRUE(training.runOnGraph(createFuse()));
    std::string error;
    auto graph = workGraphFrom(training.graph, 2, 1, error);
    ASSERT_TRUE(graph) << error;
    EXPECT_TRUE(std::ranges::any_of(graph->operations, [](const accord::Operation &op) { return !op.parts.empty(); }));
    KernelMachineOptions options;
    options.registers = 64, options.scalars = 32;
    for (const Microarchitecture &machine : {KernelMachine(options).scalar(), KernelMachine(options).vector()})
      for (const auto &[kind, why] : refusals(*graph, machine))
        ADD_FAILURE() << kind << ": " << why;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, ModelKernels,
    ::testing::Values(
        ModelCase{"resnet18", "resnet", "resnet18()", 2}, ModelCase{"resnet50", "resnet", "resnet50()", 2},
        ModelCase{"mobilenet_v2", "mobilenet", "mobilenet_v2()", 2},
        ModelCase{"mobilenet_v3", "mobilenet", "mobilenet_v3_large()", 1},
        ModelCase{"bert_base", "bert_base", "bert_base()", 1}, ModelCase{"gpt2", "gpt2", "gpt2_small()", 1},
        ModelCase{"llama3", "llama3", "llama3_8b(seq = 512, flash = false)", 1},
        ModelCase{"llama3_flash", "llama3", "llama3_8b(seq = 512, flash = true)", 1},
        ModelCase{"gnmt", "gnmt", "gnmt()", 2}, ModelCase{"mixtral", "mixtral", "mixtral_8x7b(seq = 512)", 1},
        ModelCase{"tc_resnet8", "tc_resnet", "tc_resnet8(width = 1.5)", 2, 144276},
        ModelCase{"alexnet", "convolution", "alexnet()", 2, 61100840, kAlexNet},
        ModelCase{"mobilenet_v1", "convolution", "mobilenet_v1()", 2, 4231976, kMobileNetV1},
        ModelCase{"vit", "vit", "vit_b_16()", 1}, ModelCase{"efficientnet", "efficientnet", "efficientnet_b0()", 1},
        ModelCase{"inception", "inception", "inception_v3()", 1}, ModelCase{"t5", "t5", "t5_large()", 1},
        ModelCase{"transformer", "transformer_big", "transformer_big()", 1},
        ModelCase{"ssd", "ssd", "ssd_resnet34()", 1}, ModelCase{"ncf", "ncf", "ncf()", 2},
        ModelCase{"wide_deep", "wide_deep", "wide_deep()", 2}, ModelCase{"gcn", "gcn", "gcn()", 1},
        ModelCase{"gat", "gat", "gat()", 1}, ModelCase{"graphsage", "graphsage", "graphsage()", 1},
        ModelCase{"bloom", "bloom", "bloom_176b()", 1}, ModelCase{"unet", "unet", "unet(size = 64)", 1},
        ModelCase{"dlrm", "dlrm", "dlrm()", 4}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace accord::microarchitecture
