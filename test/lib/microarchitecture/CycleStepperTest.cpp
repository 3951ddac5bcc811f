// The stepper of cycles finds the times that the engine computes, and caches do what was computed by hand.
#include "lib/microarchitecture/verify/CycleStepper.h"
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <functional>

namespace accord::microarchitecture {
namespace {

/// Calls for every instruction that is executed, with the iterations of the loops around it, and for every iteration.
struct Walk {
  const InstructionProgram &program;
  std::function<void(Index, const std::vector<int64_t> &)> instruction;
  std::function<void()> fence;
  std::function<void(Index, int64_t)> move = [](Index, int64_t) {};
  std::vector<int64_t> around = {};

  void run(const Body &body) {
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
      const int64_t count = program.loops[item.loop].count;
      around.push_back(0);
      for (; around.back() < count; ++around.back()) {
        if (around.back() > 0)
          move(item.loop, 1);
        run(program.loops[item.loop].body);
      }
      if (count > 1)
        move(item.loop, 1 - count);
      around.pop_back();
    }
  }
};

/// Empty, or where engine and stepper differ first.
std::string difference(const Microarchitecture &machine, const InstructionProgram &program) {
  InstructionEngine engine(machine, program);
  std::vector<Visit> expected;
  Walk{program, [&](Index i, const auto &) { expected.push_back(engine.step(i)); }, [&] { engine.fence(); },
       [&](Index loop, int64_t by) { engine.advance(loop, by); }}
      .run(program.body);
  CycleStepper stepper(machine, program);
  stepper.keepsVisits = true;
  bool stuck = false;
  std::vector<Index> executed;
  Walk{program,
       [&](Index i, const auto &addresses) {
         if (stuck || !stepper.awaitFetch())
           stuck = true;
         else
           stepper.fetch(i, addresses), executed.push_back(i);
       },
       [&] { stepper.fence(); }}
      .run(program.body);
  if (stuck || !stepper.finish())
    return "stuck at cycle " + std::to_string(stepper.now());
  for (size_t n = 0; n < expected.size(); ++n) {
    const Visit &a = expected[n];
    const SteppedVisit &b = stepper.visits[n];
    if (a.fetch != b.fetch || a.issue != b.entry || a.start != b.start || a.complete != b.completion ||
        a.unit != b.unit || a.instance != b.instance) {
      std::string text = "instruction " + std::to_string(n) + " (" +
                         machine.opcodes[program.instructions[executed[n]].opcode].name + "), engine/stepper:";
      for (auto [x, y] : {std::pair(a.fetch, b.fetch), std::pair(a.issue, b.entry), std::pair(a.start, b.start),
                          std::pair(a.complete, b.completion), std::pair(Cycles(a.unit), Cycles(b.unit))})
        text += " " + std::to_string(x) + "/" + std::to_string(y);
      return text;
    }
  }
  if (engine.end() != stepper.end())
    return "end " + std::to_string(engine.end()) + "/" + std::to_string(stepper.end());
  for (Index u = 0; u < Index(machine.units.size()); ++u)
    if (engine.unitUse(u).instructions != stepper.units[u].instructions ||
        engine.unitUse(u).busy != stepper.units[u].busy)
      return "use of unit " + std::to_string(u);
  for (Index m = 0; m < Index(machine.storages.size()); ++m) {
    const MemorySystem::Counts &a = engine.memories().counts(m);
    const InstructionTiming::StorageUse &b = stepper.memory.states[m].use;
    if (a.beats != b.beats || a.hits != b.hits || a.misses != b.misses || a.writeBacks != b.writeBacks)
      return "use of memory " + std::to_string(m);
  }
  return "";
}

TEST(CycleStepper, AgreesWithTheEngineOnEveryVisit) {
  int64_t differing = 0;
  for (uint64_t seed = 0; seed < seeds(900); ++seed) {
    MachineCases cases(seed * 7919 + 17);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 20);
    const std::string found = difference(machine, program);
    if (!found.empty() && ++differing <= 20)
      ADD_FAILURE() << seed << ": " << found;
  }
  EXPECT_EQ(differing, 0);
}

TEST(CycleStepper, AgreesWhereStagesJoin) {
  int64_t differing = 0;
  for (uint64_t seed = 0; seed < seeds(350); ++seed) {
    MachineCases cases(seed * 6151 + 2);
    Microarchitecture machine = cases.machine();
    tangle(machine, cases);
    ASSERT_TRUE(check(machine).empty()) << seed << check(machine).front().message;
    const InstructionProgram program = cases.program(machine, 20);
    const std::string found = difference(machine, program);
    if (!found.empty() && ++differing <= 20)
      ADD_FAILURE() << seed << ": " << found;
  }
  EXPECT_EQ(differing, 0);
}

/// Nothing behind a fence is fetched before all that is older is complete, in both.
TEST(CycleStepper, AgreesOnFences) {
  int64_t differing = 0, late = 0;
  for (uint64_t seed = 0; seed < seeds(500); ++seed) {
    MachineCases cases(seed * 4099 + 5);
    Microarchitecture machine = cases.machine();
    if (seed % 4 == 0)
      tangle(machine, cases);
    InstructionProgram program = cases.program(machine, 20);
    addFences(program, seed);
    ASSERT_TRUE(check(program, machine).empty()) << seed;
    const std::string found = difference(machine, program);
    if (!found.empty() && ++differing <= 20)
      ADD_FAILURE() << seed << ": " << found;
    InstructionEngine engine(machine, program);
    Cycles end = 0, fenced = 0;
    Walk{program,
         [&](Index i, const auto &) {
           const Visit is = engine.step(i);
           ASSERT_GE(is.fetch, fenced);
           late += fenced > 0 && is.fetch == fenced;
           end = std::max(end, is.complete);
         },
         [&] { engine.fence(), fenced = end; }, [&](Index loop, int64_t by) { engine.advance(loop, by); }}
        .run(program.body);
  }
  EXPECT_EQ(differing, 0);
  EXPECT_GT(late, 1000);
}

TEST(CycleStepper, AgreesOnInstructionsInSeveralPlaces) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MachineCases cases(seed * 3 + 1);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 20);
    Body &inner = program.loops.back().body;
    inner.push_back(inner.front());
    ASSERT_EQ(difference(machine, program), "") << seed;
  }
}

// ---- Contents of caches, against sequences of textbooks and by hand ----

Storage::Cache oneSet(int32_t ways, Replacement replacement) {
  Storage::Cache cache;
  cache.sets = 1, cache.ways = ways, cache.lineBytes = 16, cache.replacement = replacement;
  return cache;
}

int64_t misses(int32_t ways, Replacement replacement, const std::vector<int64_t> &pages) {
  CacheContents contents(oneSet(ways, replacement));
  int64_t count = 0;
  for (int64_t page : pages)
    count += !contents.access(16 * page, false, {}).hit;
  return count;
}

TEST(CacheContents, FaultsOfTextbooks) {
  // Silberschatz, Galvin, Gagne, Operating System Concepts, page replacement: 15 faults by FIFO, 12 by LRU.
  const std::vector<int64_t> reference = {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1};
  EXPECT_EQ(misses(3, Replacement::Fifo, reference), 15);
  EXPECT_EQ(misses(3, Replacement::Lru, reference), 12);
  // Belady, Nelson, Shedler (CACM 1969): more frames, more faults, by FIFO and never by LRU.
  const std::vector<int64_t> anomaly = {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  EXPECT_EQ(misses(3, Replacement::Fifo, anomaly), 9);
  EXPECT_EQ(misses(4, Replacement::Fifo, anomaly), 10);
  EXPECT_EQ(misses(3, Replacement::Lru, anomaly), 10);
  EXPECT_EQ(misses(4, Replacement::Lru, anomaly), 8);
}

TEST(CacheContents, TreeOfFourWays) {
  // A B C D fill the ways; A again: the tree points to the right half, and there to C, where LRU would take B.
  CacheContents contents(oneSet(4, Replacement::TreePlru));
  auto holds = [&](const std::vector<int64_t> &lines) {
    const auto ways = contents.ordered(contents.sets.at(0));
    for (size_t w = 0; w < lines.size(); ++w)
      if (ways[w].second->address != 16 * lines[w])
        return false;
    return true;
  };
  for (int64_t line : {0, 1, 2, 3, 0})
    contents.access(16 * line, false, {});
  contents.access(16 * 4, false, {}); // root points left, its right half to way 3
  EXPECT_TRUE(holds({0, 1, 4, 3}));
  contents.access(16 * 5, false, {}); // left half: A was used after B
  EXPECT_TRUE(holds({0, 5, 4, 3}));
  contents.access(16 * 6, false, {});
  EXPECT_TRUE(holds({0, 5, 4, 6}));
}

TEST(CacheContents, WritesBackWhatIsDirty) {
  CacheContents back(oneSet(1, Replacement::Lru));
  EXPECT_FALSE(back.access(0, true, {}).writesBack);
  const Lookup second = back.access(16, false, {});
  EXPECT_TRUE(second.writesBack);
  EXPECT_EQ(second.victim, 0);
  EXPECT_FALSE(back.access(32, false, {}).writesBack);
  Storage::Cache around = oneSet(1, Replacement::Lru);
  around.allocatesOnWrite = false;
  CacheContents without(around);
  EXPECT_FALSE(without.access(0, true, {}).fills);
  EXPECT_FALSE(without.access(0, false, {}).hit);
}

// ---- Times of caches, by hand ----

/// One instruction a cycle into a unit with latency 1; a memory of 4 bytes a beat that answers after 10 cycles, and a
/// cache of lines of 16 bytes before it that answers after 2 and takes writes in 1.
struct Small {
  Microarchitecture machine;
  InstructionProgram program;
  Small() {
    machine.window = 64, machine.fetch = {"fetch", 1, 8, 0, 0, {}};
    machine.opcodes.push_back({"load", 0, 0, 0, 1, 0, false, {}});
    machine.opcodes.push_back({"store", 0, 0, 0, 0, 1, false, {}});
    machine.opcodes.push_back({"wait", 0, 0, 0, 0, 0, true, {}});
    Stage stage;
    stage.name = "execute", stage.units = {0}, stage.capacity = 8, stage.latency = cycles(0);
    machine.stages.push_back(stage);
    Unit unit;
    unit.name = "memory", unit.entries = 8, unit.loadsFrom = unit.storesTo = {0, 1};
    unit.operations = {{0, cycles(1), cycles(1), {}}, {1, cycles(1), cycles(1), {}}, {2, cycles(100), cycles(1), {}}};
    machine.units.push_back(unit);
    Storage far;
    far.name = "far", far.end = 1 << 16, far.requests = 4, far.readLatency = 10, far.writeLatency = 3;
    Storage near = far;
    near.name = "near", near.readLatency = 2, near.writeLatency = 1;
    near.cache = oneSet(2, Replacement::Lru), near.cache->behind = 0;
    machine.storages = {far, near};
  }
  void add(Index opcode, int64_t address = 0, int64_t bytes = 4) {
    Instruction made;
    made.opcode = opcode;
    if (opcode < 2)
      made.memory = {{1, {address, {}}, bytes}};
    program.body.push_back({Index(program.instructions.size()), kNone});
    program.instructions.push_back(made);
  }
  /// Completions of all instructions that are no waits, after the fetch of each.
  std::vector<Cycles> times() const {
    CycleStepper stepper(machine, program);
    stepper.keepsVisits = true;
    for (Index i = 0; i < Index(program.instructions.size()); ++i) {
      EXPECT_TRUE(stepper.awaitFetch());
      std::vector<int64_t> addresses;
      for (const MemoryOperand &operand : program.instructions[i].memory)
        addresses.push_back(operand.address.base);
      stepper.fetch(i, addresses);
    }
    EXPECT_TRUE(stepper.finish());
    std::vector<Cycles> all;
    for (size_t i = 0; i < stepper.visits.size(); ++i)
      if (program.instructions[i].opcode != 2)
        all.push_back(stepper.visits[i].completion - stepper.visits[i].fetch);
    return all;
  }
};

TEST(CacheTimes, MissHitUnderMissAndHit) {
  // Beat at 1; the line is asked for at 3, its four beats leave at 3, 4, 5, 6, the last data is there at 16. The second
  // load, fetched at 1, finds the line on its way. The third comes after all.
  Small small;
  small.add(0, 8), small.add(0, 12), small.add(2), small.add(0, 0);
  EXPECT_EQ(small.times(), (std::vector<Cycles>{16, 15, 3}));
  // The critical word is there with the first beat, at 13; who comes second waits for the line.
  small.machine.storages[1].cache->criticalWordFirst = true;
  EXPECT_EQ(small.times(), (std::vector<Cycles>{13, 15, 3}));
}

TEST(CacheTimes, OneMissAtOnce) {
  // The second miss asks at 16 + 2 when one is allowed, so that it has its data at 18 + 3 + 10; it was fetched at 1.
  Small small;
  small.machine.storages[1].requests = 1;
  small.add(0, 0), small.add(0, 16);
  EXPECT_EQ(small.times(), (std::vector<Cycles>{16, 30}));
  // Two at once: beats of the second one leave behind those of the first, at 7 to 10.
  small.machine.storages[1].requests = 2;
  EXPECT_EQ(small.times(), (std::vector<Cycles>{16, 19}));
}

TEST(CacheTimes, TwoLevelsAndTwoLines) {
  // Beat at 1; 8 bytes are asked for at 3, beats at 3 and 4 of the second cache, which asks at 6: beats from 6 to 9,
  // all there at 19. The other half of its line, after all: beats as before, and data 2 after the last of them.
  Small two;
  two.machine.storages.push_back(two.machine.storages[1]);
  two.machine.storages[2].name = "top", two.machine.storages[2].cache->behind = 1;
  two.machine.storages[2].cache->lineBytes = 8;
  two.machine.units[0].loadsFrom = two.machine.units[0].storesTo = {0, 1, 2};
  two.add(0, 0), two.add(2), two.add(0, 8);
  two.program.instructions[0].memory[0].storage = two.program.instructions[2].memory[0].storage = 2;
  EXPECT_EQ(two.times(), (std::vector<Cycles>{19, 6}));
  // The second cache hands on what comes first, at 6 + 10.
  two.machine.storages[1].cache->criticalWordFirst = true;
  EXPECT_EQ(two.times(), (std::vector<Cycles>{16, 6}));
  // Six beats: the first line is looked up at 4, asked for at 6 and there at 19; the second one is looked up at 6 and
  // asked for at 8, but the port is free from 10 to 13.
  Small lines;
  lines.add(0, 0, 24);
  EXPECT_EQ(lines.times(), (std::vector<Cycles>{23}));
  lines.machine.storages[0].ports = 2, lines.machine.storages[0].banks = 8; // a second port: beats from 8 to 11
  EXPECT_EQ(lines.times(), (std::vector<Cycles>{21}));
}

TEST(CacheTimes, WritePolicies) {
  Small back;
  back.add(1, 0), back.add(2), back.add(1, 4); // fills as a load does, then hits: beat and 1
  EXPECT_EQ(back.times(), (std::vector<Cycles>{16, 2}));
  Small around = back;
  around.machine.storages[1].cache->allocatesOnWrite = false; // beat at 1, sent at 2, written at 5
  EXPECT_EQ(around.times(), (std::vector<Cycles>{5, 5}));
  Small through = back;
  through.machine.storages[1].cache->writeBack = false; // filled at 16, then written at 16 + 3; a hit as above
  EXPECT_EQ(through.times(), (std::vector<Cycles>{19, 5}));
}

TEST(CacheTimes, WriteBacksDelayWhatComesAfter) {
  // One way: a load evicts the dirty line. The fill is done at 16 after the fetch, the line goes back in beats at 16 to
  // 19, and a load fetched at 15 later, of a third line, has its beats at 18 to ... behind those: from 20 on.
  Small small;
  small.machine.storages[1].cache->ways = 1;
  small.add(1, 0), small.add(2), small.add(0, 16);
  for (int n = 0; n < 14; ++n)
    small.add(0, 20); // hits, one a cycle
  small.add(0, 32);
  const std::vector<Cycles> times = small.times();
  EXPECT_EQ(times[1], 16);
  // Fetched 15 after the other load, looked up at 16, asked at 18; two of its beats could leave at 18 and 19, but all
  // four leave from 20 on: 23 + 10 - 15.
  EXPECT_EQ(times.back(), 18);
}

} // namespace
} // namespace accord::microarchitecture
