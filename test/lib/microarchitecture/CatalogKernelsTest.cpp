// Operations of a small residual network and a small transformer layer, forward, backward and updates, on the machines
// of the catalogue: the engine and the stepper of cycles agree on every visit of every instruction.
#include "lib/machine/translate/FromDnn.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/verify/CycleStepper.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "test/support/CatalogMicroarchitectures.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/format.h>
#include <functional>
#include <set>

namespace accord::microarchitecture {
namespace {

const char *kResidual = R"(
import "catalog/resnet.dnn"
import "catalog/convolution.dnn"
model residual() {
  input image : float[3, 8, 8]
  input label : int32[1]
  let stem = max_pool(relu(conv_bn(image, out = 4, kernel = 3, padding = 1)), kernel = 3, stride = 2, padding = 1)
  let first = basic_block(stem, out = 4)
  let second = basic_block(first, out = 8, stride = 2)
  loss cross_entropy(classifier(second, 10), label)
}
train t = residual() on rocket_chip {
  batch = 2
  precision = fp32
  optimizer = adam
}
)";
const char *kTransformer = R"(
import "catalog/transformer.dnn"
model layer(hidden = 16) {
  input x : float[6, 16]
  input label : int32[6]
  let a = x + attention(layer_norm(x), heads = 2)
  let b = a + gelu_mlp(layer_norm(a), hidden, 24)
  loss cross_entropy(linear(layer_norm(b), out = 12, bias = false), label)
}
train t = layer() on rocket_chip {
  batch = 1
  precision = fp32
  optimizer = adam
}
)";

std::vector<Operation> operationsOf(const char *text) {
  TrainingGraph graph(text, {"adam", "fp32"});
  std::string error;
  auto work = graph.graph ? workGraphFrom(graph.graph, graph.batch, 1, error) : std::nullopt;
  EXPECT_TRUE(work) << error;
  return work ? work->operations : std::vector<Operation>();
}

/// Calls for every instruction that is executed, with its addresses, and for every move of a loop.
void walk(const InstructionProgram &program, const Body &body, std::vector<int64_t> &around,
          const std::function<void(Index, const std::vector<int64_t> &)> &instruction,
          const std::function<void()> &fence, const std::function<void(Index, int64_t)> &move) {
  for (const Item &item : body) {
    if (item.isFence()) {
      fence();
      continue;
    }
    if (item.loop == kNone) {
      std::vector<int64_t> addresses;
      for (const MemoryOperand &operand : program.instructions[item.instruction].memory) {
        addresses.push_back(operand.address.base);
        for (size_t l = 0; l < operand.address.strides.size(); ++l)
          addresses.back() += operand.address.strides[l] * around[l];
      }
      instruction(item.instruction, addresses);
      continue;
    }
    const InstructionLoop &loop = program.loops[item.loop];
    for (int64_t i = 0; i < loop.count; ++i) {
      if (i > 0)
        move(item.loop, 1);
      around.push_back(i);
      walk(program, loop.body, around, instruction, fence, move);
      around.pop_back();
    }
    if (loop.count > 1)
      move(item.loop, 1 - loop.count);
  }
}

/// Empty, or where engine and stepper differ first.
std::string difference(const Microarchitecture &machine, const InstructionProgram &program, Cycles &end) {
  InstructionEngine engine(machine, program);
  std::vector<Visit> visits;
  std::vector<int64_t> around;
  walk(
      program, program.body, around, [&](Index i, const auto &) { visits.push_back(engine.step(i)); },
      [&] { engine.fence(); }, [&](Index loop, int64_t by) { engine.advance(loop, by); });
  CycleStepper stepper(machine, program);
  stepper.keepsVisits = true;
  bool isStuck = false;
  walk(
      program, program.body, around,
      [&](Index i, const auto &addresses) {
        if (!isStuck && stepper.awaitFetch())
          stepper.fetch(i, addresses);
        else
          isStuck = true;
      },
      [&] { stepper.fence(); }, [](Index, int64_t) {});
  if (isStuck || !stepper.finish())
    return fmt::format("stuck at {}", stepper.now());
  for (size_t n = 0; n < visits.size(); ++n) {
    const Visit &a = visits[n];
    const SteppedVisit &b = stepper.visits[n];
    if (a.fetch != b.fetch || a.issue != b.entry || a.start != b.start || a.complete != b.completion ||
        a.unit != b.unit)
      return fmt::format("instruction {}: engine {} {} {} {}, stepper {} {} {} {}", n, a.fetch, a.issue, a.start,
                         a.complete, b.fetch, b.entry, b.start, b.completion);
  }
  end = engine.end();
  return engine.end() == stepper.end() ? "" : fmt::format("end {}, {}", engine.end(), stepper.end());
}

struct Tried {
  std::set<std::string> mapped, refused; ///< kinds; of these with why
  int64_t programs = 0;
};

void tryOne(const Operation &operation, const Microarchitecture &machine, Tried &tried) {
  SCOPED_TRACE(operation.name + " (" + operation.kind + ") on " + machine.name);
  auto kernel = kernelOf(operation, "adam", machine);
  auto mapped = kernel ? emitKernel(*kernel, machine) : Result<MappedKernel>(kernel.takeError());
  if (!mapped) {
    EXPECT_EQ(mapped.error().code, Code::NotMapped);
    tried.refused.insert(operation.kind + ": " + mapped.error().message);
    return;
  }
  ASSERT_TRUE(check(mapped->program, machine).empty());
  Cycles end = 0;
  EXPECT_EQ(difference(machine, mapped->program, end), "");
  // The recurrences that timeProgram finds say the same.
  auto timing = timeProgram(machine, mapped->program);
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_EQ(timing->cycles, end);
  for (const Error &wrong : verifyTiming(machine, mapped->program, *timing))
    ADD_FAILURE() << wrong.message;
  tried.mapped.insert(operation.kind);
  ++tried.programs;
}

class CatalogKernels : public ::testing::TestWithParam<CatalogMachine> {};

TEST_P(CatalogKernels, EngineAndStepperAgreeOnEveryVisit) {
  const CatalogMachine &of = GetParam();
  const Microarchitecture machine = microarchitectureOf(of, of.small);
  Tried tried;
  for (const char *text : {kResidual, kTransformer})
    for (const Operation &operation : operationsOf(text))
      if (of.isForAll || operation.contraction)
        tryOne(operation, machine, tried);
  EXPECT_GE(tried.programs, 40);
  for (const char *kind : {"conv2d", "linear", "matmul", "contract"})
    EXPECT_TRUE(tried.mapped.count(kind)) << kind;
  for (const std::string &why : tried.refused) // by no fault of the machine
    EXPECT_NE(why.find("there is no kernel for this kind"), std::string::npos) << why;
  if (!of.isForAll) {
    EXPECT_TRUE(tried.refused.empty());
    return;
  }
  for (const char *kind : {"batch_norm", "batch_norm_grad", "relu", "relu_grad", "add", "layer_norm", "layer_norm_grad",
                           "softmax", "softmax_grad", "gelu", "gelu_grad", "cross_entropy", "update"})
    EXPECT_TRUE(tried.mapped.count(kind)) << kind;
}

// Seven instructions are in the innermost loop: two loads, a multiply-add, two addresses, a counter, a branch.
TEST(CatalogKernelSizes, BillionsOfInstructionsAfterAFewIterations) {
  const Contraction whole = product({4096, 1024, 512});
  for (const char *name : {"oma", "rocket"}) {
    const Microarchitecture machine = microarchitectureOf(catalogMachine(name), "memory = 1 GiB");
    auto kernel = contractionKernel(whole, plainSchedule(whole, machine, false));
    ASSERT_TRUE(kernel);
    auto mapped = emitKernel(*kernel, machine);
    ASSERT_TRUE(mapped) << mapped.error().message;
    auto timing = timeProgram(machine, mapped->program);
    ASSERT_TRUE(timing) << timing.error().message;
    EXPECT_GE(timing->instructions, __int128(4'000'000'000)) << name;
    EXPECT_LT(timing->evaluated / 7, 500) << name;
    EXPECT_TRUE(verifyTiming(machine, mapped->program, *timing).empty());
  }
}

// The second registers never make a product slower.
TEST(CatalogKernelSizes, OverlappedArraysAreNeverSlower) {
  const Microarchitecture folds = microarchitectureOf(catalogMachine("systolic_folds"), ""),
                          overlapped = microarchitectureOf(catalogMachine("systolic"), "");
  for (const ProductShape &shape :
       {ProductShape{1, 1, 1}, {16, 16, 16}, {40, 100, 300}, {512, 512, 512, 2}, {1000, 7, 4096}}) {
    const Contraction contraction = product(shape);
    auto time = [&](const Microarchitecture &machine) {
      auto kernel = contractionKernel(contraction, plainSchedule(contraction, machine));
      auto mapped = kernel ? emitKernel(*kernel, machine) : Result<MappedKernel>(kernel.takeError());
      auto timing = mapped ? timeProgram(machine, mapped->program) : Result<InstructionTiming>(mapped.takeError());
      EXPECT_TRUE(timing) << timing.error().message;
      return timing ? timing->cycles : 0;
    };
    // All but the drain at the end, which folds in a row have in each product instead.
    EXPECT_LE(time(overlapped), time(folds) + 30);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CatalogKernels, ::testing::ValuesIn(kCatalogMachines),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace accord::microarchitecture
