// Random machines and programs, small and finite, that use every feature of the description.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "lib/support/SplitMix.h"
#include <cstdlib>

namespace accord::microarchitecture {

inline CycleExpression cycles(int64_t count) {
  CycleExpression made;
  made.terms = {{CycleExpression::Kind::Constant, count}};
  made.text = std::to_string(count);
  return made;
}

/// A number that an instruction says of itself, over `by`, rounded up, and `more`.
inline CycleExpression scaled(CycleExpression::Kind of, int64_t by, int64_t more) {
  using Kind = CycleExpression::Kind;
  CycleExpression made;
  made.terms = {{of, 0}, {Kind::Constant, by}, {Kind::DivideUp, 0}, {Kind::Constant, more}, {Kind::Add, 0}};
  made.text = "scaled";
  return made;
}

class MachineCases {
public:
  explicit MachineCases(uint64_t seed) : random(seed) {}

  int64_t draw(int64_t low, int64_t high) { return low + int64_t(random.next() % uint64_t(high - low + 1)); }
  bool flip() { return draw(0, 1) == 1; }

  Microarchitecture machine() {
    Microarchitecture made;
    made.name = "random", made.window = int32_t(draw(1, 16));
    made.fetch = {"fetch", int32_t(draw(1, 6)), int32_t(draw(1, 8)), draw(0, 3), 0, {}};
    const int64_t plain = draw(1, 4);
    for (int64_t i = 0; i < plain; ++i)
      made.opcodes.push_back(
          {"op" + std::to_string(i), int32_t(draw(0, 2)), int32_t(draw(0, 1)), 0, 0, 0, draw(0, 9) == 0, {}});
    made.opcodes.push_back({"load", int32_t(draw(0, 1)), 1, 0, 1, 0, false, {}});
    made.opcodes.push_back({"store", 1, 0, 0, 0, 1, false, {}});
    made.opcodes.push_back({"copy", 0, 0, 0, 1, 1, false, {}});
    made.opcodes.push_back({"gather", 0, 1, 0, 2, 0, false, {}});
    made.opcodes.push_back({"timed", 1, 1, 1, 0, 0, false, {}});
    storages(made);
    const int32_t files = int32_t(draw(1, 2));
    for (int32_t f = 0; f < files; ++f) {
      RegisterFile file;
      file.name = "r" + std::to_string(f), file.count = int32_t(draw(3, 8)), file.bits = 32;
      file.readPorts = flip() ? 0 : 2, file.writePorts = flip() ? 0 : 1, file.renamed = flip();
      file.counts = draw(0, 3) == 0;
      made.registers.push_back(file);
    }
    stages(made);
    return made;
  }

  /// A nest of at most three loops with instructions of the machine.
  InstructionProgram program(const Microarchitecture &machine, int64_t maxInner) {
    InstructionProgram made;
    made.name = "random";
    const int64_t depth = draw(1, 3);
    for (int64_t d = 0; d < depth; ++d) {
      InstructionLoop loop;
      const int64_t outer = draw(0, 20) == 0 ? 0 : draw(1, 12);
      loop.name = "l" + std::to_string(d), loop.count = d == depth - 1 ? draw(0, maxInner) : outer;
      made.loops.push_back(loop);
    }
    made.body.push_back({kNone, 0});
    for (int64_t d = 0; d < depth; ++d) {
      auto add = [&](int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          made.loops[d].body.push_back({Index(made.instructions.size()), kNone});
          made.instructions.push_back(instruction(machine, d + 1));
        }
      };
      add(d == depth - 1 ? draw(1, 12) : draw(0, 2));
      if (d + 1 < depth) {
        made.loops[d].body.push_back({kNone, Index(d + 1)});
        add(draw(0, 2));
        if (draw(0, 3) == 0) { // a second loop behind the first
          InstructionLoop beside;
          beside.name = "beside" + std::to_string(d), beside.count = draw(0, 5);
          beside.body.push_back({Index(made.instructions.size()), kNone});
          made.instructions.push_back(instruction(machine, d + 2));
          made.loops[d].body.push_back({kNone, Index(made.loops.size())});
          made.loops.push_back(beside);
        }
      }
    }
    return made;
  }

private:
  void storages(Microarchitecture &made) {
    const int64_t plain = draw(1, 3);
    for (int64_t s = 0; s < plain; ++s) {
      Storage one;
      one.name = "m" + std::to_string(s), one.end = int64_t(1) << 30;
      // Ports of 12 bytes, and ports wider than the lines before them; banks that are no power of two.
      one.portBytes = draw(0, 4) == 0 ? 12 : 4 << draw(0, 4), one.ports = int32_t(draw(1, 3));
      one.banks = int32_t(draw(1, 5));
      one.requests = int32_t(draw(1, 4)), one.readLatency = draw(0, 20), one.writeLatency = draw(0, 4);
      if (draw(0, 2) == 0)
        one.rows = {int64_t(one.portBytes) << draw(1, 6), draw(0, 9)};
      made.storages.push_back(one);
    }
    for (Index behind = 0; draw(0, 3) > 0 && made.storages.size() < 7;) {
      Storage one = made.storages[behind];
      one.name = "c" + std::to_string(made.storages.size()), one.rows = {}, one.portBytes = 4 << draw(0, 2);
      one.ports = int32_t(draw(1, 2)), one.banks = int32_t(draw(1, 4));
      one.requests = int32_t(draw(1, 4)), one.readLatency = draw(0, 4), one.writeLatency = draw(0, 3);
      one.cache = Storage::Cache{1 << draw(0, 3), 1 << draw(0, 2), 16 << draw(0, 2), Replacement(draw(0, 2)),
                                 flip(),          flip(),          flip(),           behind};
      made.storages.push_back(one);
      if (draw(0, 2) > 0)
        behind = Index(made.storages.size() - 1);
    }
  }

  void stages(Microarchitecture &made) {
    const int64_t front = draw(0, 2), ends = draw(1, 2);
    auto stage = [&](std::string name) {
      Stage one;
      one.name = std::move(name), one.capacity = int32_t(draw(1, 3)), one.width = int32_t(draw(1, 2));
      one.latency = cycles(draw(0, 2));
      return one;
    };
    for (int64_t s = 0; s < front; ++s) {
      Stage one = stage("s" + std::to_string(s));
      if (s + 1 < front)
        one.to = {Index(s + 1)};
      else
        for (int64_t e = 0; e < ends; ++e)
          one.to.push_back(Index(front + e));
      made.stages.push_back(one);
    }
    std::vector<Index> files, memories;
    for (Index f = 0; f < Index(made.registers.size()); ++f)
      files.push_back(f);
    for (Index s = 0; s < Index(made.storages.size()); ++s)
      memories.push_back(s);
    for (int64_t e = 0; e < (front > 0 ? ends : 1); ++e) {
      Stage one = stage("ex" + std::to_string(e));
      const int64_t units = draw(1, 2);
      for (int64_t u = 0; u < units; ++u) {
        one.units.push_back(Index(made.units.size()));
        Unit unit;
        unit.name = "u" + std::to_string(made.units.size()), unit.count = int32_t(draw(1, 2));
        unit.entries = int32_t(draw(1, 4));
        unit.reads = unit.writes = files, unit.loadsFrom = unit.storesTo = memories;
        for (Index o = 0; o < Index(made.opcodes.size()); ++o)
          if ((e == 0 && u == 0) || flip()) {
            using Kind = CycleExpression::Kind;
            const Opcode &opcode = made.opcodes[o];
            const CycleExpression interval =
                opcode.loads > 0 && draw(0, 3) == 0 ? scaled(Kind::Bytes, 16, 1) : cycles(draw(1, 4));
            unit.operations.push_back(
                {o, opcode.immediates > 0 ? scaled(Kind::Immediate, 3, draw(0, 2)) : cycles(draw(0, 9)), interval, {}});
          }
        if (unit.operations.empty())
          unit.operations.push_back({0, cycles(1), cycles(1), {}});
        made.units.push_back(unit);
      }
      made.stages.push_back(one);
    }
  }

  Instruction instruction(const Microarchitecture &machine, int64_t depth) {
    Instruction made;
    made.opcode = Index(draw(0, int64_t(machine.opcodes.size()) - 1));
    const Opcode &opcode = machine.opcodes[made.opcode];
    auto any = [&] {
      const Index file = Index(draw(0, int64_t(machine.registers.size()) - 1));
      return Register{file, Index(draw(0, machine.registers[file].count - 1))};
    };
    for (int32_t i = 0; i < opcode.reads; ++i)
      made.reads.push_back(any());
    for (int32_t i = 0; i < opcode.writes; ++i)
      made.writes.push_back(any());
    for (int32_t i = 0; i < opcode.immediates; ++i)
      made.immediates.push_back(draw(0, 12));
    for (int32_t i = 0; i < opcode.loads + opcode.stores; ++i) {
      MemoryOperand operand;
      operand.storage = Index(draw(0, int64_t(machine.storages.size()) - 1));
      operand.bytes = draw(1, 40);
      operand.address.base = (draw(1, 6) << 20) + draw(0, 64) * 4;
      for (int64_t d = 0; d < depth; ++d)
        operand.address.strides.push_back(draw(0, 2) == 0 ? 0 : draw(-8, 8) * 4);
      made.memory.push_back(operand);
    }
    return made;
  }

  SplitMix random;
};

/// The program with fences in some places of its bodies, and at times a loop that has nothing else.
inline void addFences(InstructionProgram &program, uint64_t seed) {
  SplitMix random(seed ^ 0xfe2ce);
  auto fence = [&](Body &body) {
    Body made;
    for (const Item &item : body) {
      if (random.next() % 6 == 0)
        made.push_back({kFence, kNone});
      made.push_back(item);
    }
    if (random.next() % 4 == 0)
      made.push_back({kFence, kNone});
    body = std::move(made);
  };
  fence(program.body);
  for (InstructionLoop &loop : program.loops)
    fence(loop.body);
  if (random.next() % 4 > 0)
    return;
  InstructionLoop alone;
  alone.name = "alone", alone.count = int64_t(random.next() % 4);
  alone.body = {{kFence, kNone}};
  Body &into = program.loops.front().body;
  into.insert(into.begin() + int64_t(random.next() % (into.size() + 1)), {kNone, Index(program.loops.size())});
  program.loops.push_back(std::move(alone));
}

/// The machine with stages that part and join again, rows in caches, and ways from everywhere.
inline void tangle(Microarchitecture &machine, MachineCases &cases) {
  for (Storage &storage : machine.storages)
    if (storage.cache && cases.flip())
      storage.rows = {int64_t(storage.portBytes) << cases.draw(0, 4), cases.draw(0, 5)};
  // A diamond before the first stage: fetch -> top -> left, right -> what was first; left goes past it sometimes, too.
  const Index first = machine.fetch.to, top = Index(machine.stages.size());
  for (const char *name : {"top", "left", "right"}) {
    Stage stage;
    stage.name = name, stage.capacity = int32_t(cases.draw(1, 3)), stage.width = int32_t(cases.draw(1, 2));
    stage.latency = cycles(cases.draw(0, 4));
    machine.stages.push_back(stage);
  }
  machine.stages[top].to = {Index(top + 1), Index(top + 2)};
  machine.stages[top + 1].to = machine.stages[top + 2].to = {first};
  if (!machine.stages[first].to.empty() && cases.flip())
    machine.stages[top + 1].to.insert(machine.stages[top + 1].to.begin(), machine.stages[first].to.front());
  machine.fetch.to = top;
}

/// How many seeds: the environment may ask for more than a unit test has time for.
inline uint64_t seeds(uint64_t usual) {
  const char *asked = std::getenv("ACCORD_MACHINE_CASES");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

} // namespace accord::microarchitecture
