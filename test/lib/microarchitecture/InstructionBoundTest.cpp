// What operations take at least on machines at the level of instructions is never above the exact time of their
// programs, neither on the same machine nor, from a machine with more of everything, on one with less.
#include "lib/machine/cost/InstructionBound.h"
#include "lib/driver/certificates/ExplorationCertificate.h"
#include "lib/exploration/verify/ProgramTimeBound.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/support/SplitMix.h"
#include "test/support/CatalogMicroarchitectures.h"
#include "test/support/SourcePath.h"
#include <fstream>
#include <sstream>

namespace accord::microarchitecture {
namespace {

std::string exampleText(const char *name) {
  std::ifstream file(accord::sourcePath("examples/15-microarchitecture/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Ways in which two machines with the same programs differ: `better` has as many or more of everything.
class MachineDraw {
public:
  MachineDraw(const Microarchitecture &base, SplitMix &random) : random(random), own(base), better(base) {
    number(&Microarchitecture::window, 2, 40);
    pair(own.fetch.width, better.fetch.width, 1, 6), pair(own.fetch.buffer, better.fetch.buffer, 1, 24);
    latency(own.fetch.latency, better.fetch.latency, 1, 3);
    for (size_t s = 0; s < own.stages.size(); ++s) {
      pair(own.stages[s].width, better.stages[s].width, 1, 6);
      pair(own.stages[s].capacity, better.stages[s].capacity, 1, 24);
      expression(own.stages[s].latency, better.stages[s].latency);
    }
    for (size_t u = 0; u < own.units.size(); ++u) {
      pair(own.units[u].count, better.units[u].count, 1, 3), pair(own.units[u].entries, better.units[u].entries, 1, 5);
      for (size_t o = 0; o < own.units[u].operations.size(); ++o) {
        expression(own.units[u].operations[o].latency, better.units[u].operations[o].latency);
        expression(own.units[u].operations[o].interval, better.units[u].operations[o].interval);
      }
    }
    for (size_t f = 0; f < own.registers.size(); ++f) {
      ports(own.registers[f].readPorts, better.registers[f].readPorts);
      ports(own.registers[f].writePorts, better.registers[f].writePorts);
    }
    for (size_t s = 0; s < own.storages.size(); ++s) {
      Storage &a = own.storages[s], &b = better.storages[s];
      pair(a.ports, b.ports, 1, 4), pair(a.requests, b.requests, 1, 12);
      latency(a.readLatency, b.readLatency, 1, 9), latency(a.writeLatency, b.writeLatency, 1, 9);
      const int shift = int(random.below(4));
      a.banks = 1 << shift, b.banks = 1 << (shift + int(random.below(2)));
    }
  }

private:
  void number(int32_t Microarchitecture::*of, int32_t min, int32_t max) { pair(own.*of, better.*of, min, max); }
  void pair(int32_t &a, int32_t &b, int32_t min, int32_t max) {
    a = min + int32_t(random.below(max - min + 1));
    b = random.below(2) ? a : a + int32_t(random.below(max));
  }
  void latency(Cycles &a, Cycles &b, int64_t min, int64_t max) {
    a = min + int64_t(random.below(max - min + 1));
    b = random.below(2) ? a : min + int64_t(random.below(a - min + 1));
  }
  /// A number is drawn; what follows from operands stays.
  void expression(CycleExpression &a, CycleExpression &b) {
    if (a.terms.size() > 1 || (!a.terms.empty() && a.terms[0].kind != CycleExpression::Kind::Constant))
      return;
    Cycles x = 0, y = 0;
    latency(x, y, 1, 12);
    a.terms = {{CycleExpression::Kind::Constant, x}}, b.terms = {{CycleExpression::Kind::Constant, y}};
  }
  /// 0: enough for all.
  void ports(int32_t &a, int32_t &b) {
    const bool isOpen = random.below(3) == 0;
    a = isOpen ? 0 : 4 + int32_t(random.below(4));
    b = isOpen || random.below(4) == 0 ? 0 : a + int32_t(random.below(3));
  }
  SplitMix &random;

public:
  Microarchitecture own, better;
};

LoopTensor tensor(bool written, std::vector<std::pair<unsigned, int64_t>> dimensions) {
  LoopTensor made;
  made.elementBits = 32, made.written = written;
  for (auto [loop, size] : dimensions)
    made.dimensions.push_back({{loop, 1}}), made.sizes.push_back(size);
  return made;
}

Operation drawnOperation(SplitMix &random, bool productsAlone) {
  auto size = [&] { return int64_t(1 + random.below(9)); };
  Operation op;
  op.name = "op";
  const int64_t a = size(), b = size(), c = size();
  const uint64_t kind = productsAlone ? 0 : random.below(7);
  if (kind <= 1) {
    op.kind = "linear", op.core = CoreKind::Tensor, op.contraction = true;
    op.domain = {{a}, {b}, {c, IteratorKind::Reduction}};
    op.tensors = {tensor(false, {{0, a}, {2, c}}), tensor(false, {{2, c}, {1, b}}), tensor(true, {{0, a}, {1, b}})};
    return op;
  }
  op.core = CoreKind::Vector;
  if (kind == 2) {
    op.kind = "update", op.domain = {{a * b}};
  } else if (kind <= 4) {
    op.kind = kind == 3 ? "relu" : "add", op.domain = {{a}, {b}};
    for (uint64_t t = 0; t < kind - 1; ++t)
      op.tensors.push_back(tensor(t + 2 == kind, {{0, a}, {1, b}}));
  } else {
    op.kind = kind == 5 ? "softmax" : "layer_norm", op.domain = {{a}, {b, IteratorKind::Reduction}};
    op.tensors = {tensor(false, {{0, a}, {1, b}}), tensor(true, {{0, a}, {1, b}})};
    if (kind == 6)
      op.tensors.insert(op.tensors.begin() + 1, {tensor(false, {{1, b}}), tensor(false, {{1, b}})});
  }
  return op;
}

/// Machines, of `count` drawn ones with an operation each; how many were compared.
int compare(const Microarchitecture &base, uint64_t seed, int count) {
  SplitMix random(seed);
  const bool productsAlone = lanesOf(base, Role::Add) == 0;
  int compared = 0;
  for (int i = 0; i < count; ++i) {
    MachineDraw drawn(base, random);
    const Operation operation = drawnOperation(random, productsAlone);
    if (!check(drawn.own).empty() || !check(drawn.better).empty())
      continue;
    EXPECT_EQ(programKeyOf(drawn.own), programKeyOf(drawn.better));
    auto kernel = kernelOf(operation, "adam", drawn.own);
    auto mapped = kernel ? emitKernel(*kernel, drawn.own) : Result<MappedKernel>(kernel.takeError());
    if (!mapped)
      continue;
    TimingLimits limits;
    limits.evaluated = 1'000'000;
    const auto timing = timeProgram(drawn.own, mapped->program, limits);
    if (!timing)
      continue;
    ++compared;
    const Operation *of = &operation;
    WorkGraph graph;
    graph.optimizer = "adam", graph.operations = {operation};
    for (const Microarchitecture *machine : {&drawn.own, &drawn.better}) {
      const int64_t bound = InstructionBound({&of, 1}, "adam", 1, *machine).cyclesOn(*machine)[0];
      EXPECT_LE(bound, timing->cycles) << base.name << " " << seed << " " << i << " " << operation.kind
                                       << (machine == &drawn.own ? " on itself" : " on a better one");
      Core core;
      core.microarchitecture = std::make_shared<const Microarchitecture>(*machine);
      const int64_t proven = ProgramTimeBound(kernelPrograms()).cycles(graph, 0, core, 1);
      EXPECT_LE(proven, timing->cycles) << base.name << " " << seed << " " << i << " " << operation.kind;
      EXPECT_GT(bound, 0);
    }
  }
  return compared;
}

TEST(InstructionBound, NoMachineIsFasterThanTheBoundOfABetterOne) {
  const Microarchitecture ember = microarchitectureOf(exampleText("ember.accel"), "ember", "");
  EXPECT_GT(compare(ember, 1, 100), 60);
  for (const char *name : {"oma", "rocket", "riscv_vector", "riscv_vector_dtim", "gemmini", "systolic"}) {
    const CatalogMachine &of = catalogMachine(name);
    EXPECT_GT(compare(microarchitectureOf(of, of.small), 2, 100), 60) << name;
  }
}

} // namespace
} // namespace accord::microarchitecture
