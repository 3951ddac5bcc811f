// Caches of every kind on random traces do what a reference from textbooks does: lists of lines in the order of use or
// arrival, and trees of nodes that point to the half that is to be replaced.
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/verify/CycleStepper.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <list>
#include <map>
#include <memory>
#include <set>

namespace accord::microarchitecture {
namespace {

/// A binary tree over the ways of a set; a node says whether the next victim is on its right.
struct Node {
  std::unique_ptr<Node> left, right; ///< none: a leaf
  int way = 0;
  bool toRight = false;
  Node(int low, int high) : way(low) {
    if (high - low == 1)
      return;
    left = std::make_unique<Node>(low, (low + high) / 2), right = std::make_unique<Node>((low + high) / 2, high);
  }
  bool isLeaf() const { return !left; }
  /// Points away from a way that was used.
  void use(int used) {
    if (isLeaf())
      return;
    const bool isRight = used >= right->way;
    toRight = !isRight;
    (isRight ? right : left)->use(used);
  }
  int victim() const { return isLeaf() ? way : (toRight ? right : left)->victim(); }
};

struct Entry {
  int64_t line = -1; ///< number, not address
  bool dirty = false;
};

struct Level {
  const Storage *is = nullptr;
  Level *behind = nullptr;
  int64_t hits = 0, misses = 0, writeBacks = 0, reads = 0, writes = 0;
  struct Set {
    std::list<Entry> queue;     ///< LRU: the last used at the back; FIFO: the last come
    std::vector<Entry> ways;    ///< PLRU
    std::unique_ptr<Node> tree; ///< PLRU
  };
  std::map<int64_t, Set> sets;

  /// Bytes [low, high), which a memory only counts.
  void access(bool store, int64_t low, int64_t high) {
    ++(store ? writes : reads);
    if (!is->cache)
      return;
    const int64_t size = is->cache->lineBytes;
    for (int64_t line = low / size; line * size < high; ++line)
      touch(store, line, std::max(low, line * size), std::min(high, (line + 1) * size));
  }

  void touch(bool store, int64_t line, int64_t low, int64_t high) {
    const Storage::Cache &cache = *is->cache;
    Set &set = sets[line % cache.sets];
    Entry *found = find(set, line);
    ++(found ? hits : misses);
    if (!found && (!store || cache.allocatesOnWrite))
      found = bring(set, line);
    if (!store)
      return;
    if (found && cache.writeBack)
      found->dirty = true;
    else
      behind->access(true, low, high);
  }

  Entry *find(Set &set, int64_t line) {
    const Replacement kind = is->cache->replacement;
    for (auto at = set.queue.begin(); at != set.queue.end(); ++at)
      if (at->line == line) {
        if (kind == Replacement::Lru)
          set.queue.splice(set.queue.end(), set.queue, at);
        return &*at;
      }
    for (size_t way = 0; way < set.ways.size(); ++way)
      if (set.ways[way].line == line) {
        set.tree->use(int(way));
        return &set.ways[way];
      }
    return nullptr;
  }

  Entry *bring(Set &set, int64_t line) {
    const Storage::Cache &cache = *is->cache;
    Entry out, *in = nullptr;
    if (cache.replacement == Replacement::TreePlru) {
      if (!set.tree)
        set.tree = std::make_unique<Node>(0, cache.ways), set.ways.resize(size_t(cache.ways));
      int way = 0;
      while (way < cache.ways && set.ways[size_t(way)].line >= 0)
        ++way;
      if (way == cache.ways)
        way = set.tree->victim();
      set.tree->use(way);
      in = &set.ways[size_t(way)], out = *in;
      *in = {line, false};
    } else {
      if (int32_t(set.queue.size()) == cache.ways)
        out = set.queue.front(), set.queue.pop_front();
      set.queue.push_back({line, false});
      in = &set.queue.back();
    }
    behind->access(false, line * cache.lineBytes, (line + 1) * cache.lineBytes);
    if (out.line >= 0 && out.dirty) {
      ++writeBacks;
      behind->access(true, out.line * cache.lineBytes, (out.line + 1) * cache.lineBytes);
    }
    return in;
  }

  /// All lines that are held, with whether they are dirty.
  std::set<std::pair<int64_t, bool>> held() const {
    std::set<std::pair<int64_t, bool>> all;
    for (const auto &[index, set] : sets) {
      for (const Entry &entry : set.queue)
        all.insert({entry.line * is->cache->lineBytes, entry.dirty});
      for (const Entry &entry : set.ways)
        if (entry.line >= 0)
          all.insert({entry.line * is->cache->lineBytes, entry.dirty});
    }
    return all;
  }
};

std::set<std::pair<int64_t, bool>> held(const CacheContents &contents) {
  std::set<std::pair<int64_t, bool>> all;
  for (const auto &[index, set] : contents.sets)
    for (const CacheContents::Way &way : set.ways)
      if (way.valid)
        all.insert({way.address, way.dirty});
  return all;
}

/// A memory behind one to three caches, one behind the other, or two beside each other before a third.
std::vector<Storage> hierarchy(MachineCases &cases) {
  std::vector<Storage> made(1);
  made[0].name = "memory", made[0].end = 1 << 16, made[0].portBytes = 4 << cases.draw(0, 4);
  const int64_t levels = cases.draw(1, 3);
  const bool beside = levels == 3 && cases.flip();
  for (int64_t level = 0; level < levels; ++level) {
    Storage one;
    one.name = "cache" + std::to_string(level), one.portBytes = 4 << cases.draw(0, 2);
    one.requests = int32_t(cases.draw(1, 3)), one.readLatency = cases.draw(0, 3);
    one.cache = Storage::Cache{1 << cases.draw(0, 3),  int32_t(cases.draw(1, 6)),
                               16 << cases.draw(0, 2), Replacement(cases.draw(0, 2)),
                               cases.flip(),           cases.flip(),
                               cases.flip(),           Index(beside && level == 2 ? 1 : level)};
    if (one.cache->replacement == Replacement::TreePlru)
      one.cache->ways = 1 << cases.draw(0, 4);
    made.push_back(one);
  }
  return made;
}

struct Trace {
  Microarchitecture machine;
  InstructionProgram program; ///< a load and a store of each cache, again and again
};

Trace trace(MachineCases &cases) {
  Trace made;
  made.machine.name = "trace", made.machine.fetch = {"fetch", 1, 1, 0, 0, {}};
  made.machine.storages = hierarchy(cases);
  made.machine.opcodes = {{"load", 0, 0, 0, 1, 0, false, {}}, {"store", 0, 0, 0, 0, 1, false, {}}};
  Stage stage;
  stage.name = "execute", stage.units = {0};
  made.machine.stages = {stage};
  Unit unit;
  unit.name = "unit", unit.operations = {{0, cycles(1), cycles(1), {}}, {1, cycles(1), cycles(1), {}}};
  const Index count = Index(made.machine.storages.size());
  for (Index s = 0; s < count; ++s)
    unit.loadsFrom.push_back(s), unit.storesTo.push_back(s);
  made.machine.units = {unit};
  const int64_t length = cases.draw(50, 400), space = 64 << cases.draw(0, 6), stores = cases.draw(1, 5);
  for (int64_t n = 0; n < length; ++n) {
    const bool store = cases.draw(0, 9) < stores;
    // Mostly the last cache, sometimes one behind it, and the memory past all of them.
    const Index storage = cases.draw(0, 3) > 0 ? count - 1 : Index(cases.draw(0, count - 1));
    const int64_t bytes = cases.draw(0, 5) == 0 ? cases.draw(1, 200) : cases.draw(1, 8);
    made.program.body.push_back({Index(n), kNone});
    made.program.instructions.push_back(
        {store ? 1 : 0, {}, {}, {{storage, {cases.draw(0, space), {}}, bytes}}, {}, {}});
  }
  return made;
}

TEST(CacheTrace, ContentsHitsMissesAndWriteBacks) {
  int64_t writeBacks = 0, hits = 0, deep = 0;
  for (uint64_t seed = 0; seed < seeds(2000); ++seed) {
    MachineCases cases(seed * 11 + 5);
    const Trace is = trace(cases);
    ASSERT_TRUE(check(is.machine).empty() && check(is.program, is.machine).empty()) << seed;
    std::vector<Level> levels(is.machine.storages.size());
    for (size_t s = 0; s < levels.size(); ++s) {
      levels[s].is = &is.machine.storages[s];
      if (levels[s].is->cache)
        levels[s].behind = &levels[size_t(levels[s].is->cache->behind)];
    }
    InstructionEngine engine(is.machine, is.program);
    CycleStepper stepper(is.machine, is.program);
    for (Index i = 0; i < Index(is.program.instructions.size()); ++i) {
      const MemoryOperand &operand = is.program.instructions[i].memory.front();
      const int64_t at = operand.address.base;
      levels[size_t(operand.storage)].access(is.program.instructions[i].opcode == 1, at, at + operand.bytes);
      engine.step(i);
      ASSERT_TRUE(stepper.awaitFetch());
      stepper.fetch(i, {at});
    }
    ASSERT_TRUE(stepper.finish());
    for (size_t s = 1; s < levels.size(); ++s) {
      const MemorySystem::Counts &found = engine.memories().counts(Index(s));
      ASSERT_EQ(found.hits, levels[s].hits) << seed << ", cache " << s;
      ASSERT_EQ(found.misses, levels[s].misses) << seed << ", cache " << s;
      ASSERT_EQ(found.writeBacks, levels[s].writeBacks) << seed << ", cache " << s;
      const InstructionTiming::StorageUse &use = stepper.memory.states[s].use;
      ASSERT_TRUE(use.hits == found.hits && use.misses == found.misses && use.writeBacks == found.writeBacks) << seed;
      ASSERT_EQ(held(*stepper.memory.states[s].contents), levels[s].held()) << seed << ", cache " << s;
      ASSERT_EQ(engine.memories().lines(Index(s)), levels[s].held()) << seed << ", cache " << s;
      writeBacks += found.writeBacks, hits += found.hits, deep += s == 3;
    }
  }
  EXPECT_GT(writeBacks, 1000);
  EXPECT_GT(hits, 1000);
  EXPECT_GT(deep, int64_t(seeds(2000)) / 5);
}

} // namespace
} // namespace accord::microarchitecture
