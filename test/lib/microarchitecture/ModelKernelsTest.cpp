// Every operation of the training steps of whole models has a kernel, on machines with and without lanes.
#include "lib/machine/translate/FromDnn.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/support/TrainingGraphFixture.h"
#include <map>

namespace accord::microarchitecture {
namespace {

struct ModelCase {
  const char *name, *file, *call;
  int64_t batch;
};

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
  const std::string text = std::string("import \"catalog/") + one.file + ".dnn\"\ntrain t = " + one.call +
                           " on a100_80g {\n  batch = " + std::to_string(one.batch) + "\n  optimizer = adam\n}";
  TrainingGraph training(text.c_str(), {"adam", "fp32"});
  ASSERT_TRUE(training.graph);
  std::string error;
  auto graph = workGraphFrom(training.graph, one.batch, 1, error);
  ASSERT_TRUE(graph) << error;
  KernelMachineOptions options;
  options.registers = 64, options.scalars = 32;
  for (const Microarchitecture &machine : {KernelMachine(options).scalar(), KernelMachine(options).vector()})
    for (const auto &[kind, why] : refusals(*graph, machine))
      ADD_FAILURE() << kind << ": " << why;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ModelKernels,
                         ::testing::Values(ModelCase{"resnet18", "resnet", "resnet18()", 2},
                                           ModelCase{"resnet50", "resnet", "resnet50()", 2},
                                           ModelCase{"mobilenet_v2", "mobilenet", "mobilenet_v2()", 2},
                                           ModelCase{"mobilenet_v3", "mobilenet", "mobilenet_v3_large()", 1},
                                           ModelCase{"bert_base", "bert_base", "bert_base()", 1},
                                           ModelCase{"gpt2", "gpt2", "gpt2_small()", 1},
                                           ModelCase{"llama3", "llama3", "llama3_8b(seq = 512)", 1},
                                           ModelCase{"llama3_flash", "llama3", "llama3_8b(seq = 512, flash = true)", 1},
                                           ModelCase{"gnmt", "gnmt", "gnmt()", 2},
                                           ModelCase{"mixtral", "mixtral", "mixtral_8x7b(seq = 512)", 1},
                                           ModelCase{"dlrm", "dlrm", "dlrm()", 4}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace accord::microarchitecture
