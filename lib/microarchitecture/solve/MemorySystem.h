// Memories and caches of a machine while a program runs: when each request is served.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "lib/microarchitecture/solve/Calendar.h"
#include <deque>

namespace accord::microarchitecture {

/// When the first data of a request is there, and when all of it is (of a store: when it is done).
struct Served {
  Cycles first = 0, done = 0;
};

/// Who touches a memory: the static operand, by whose address what it leaves behind moves from iteration to iteration.
using OperandId = int32_t;

class MemorySystem {
public:
  explicit MemorySystem(const Microarchitecture &machine);

  /// Requests in program order; `at` is not before any `forget`.
  Served load(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at);
  Served store(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at, Cycles earliestDone = 0);

  void forget(Cycles before);
  void shift(Cycles by);
  /// Moves what operands left behind: addresses of operand o by `by[o]`.
  void translate(const std::vector<int64_t> &by);

  /// The state from `base` on, relative to it; addresses relative to `origin[o]` of the operand that left them.
  template <class Out> void write(Cycles base, const std::vector<int64_t> &origin, Out &out) const;

  /// Storages whose behaviour depends on addresses beyond the piece of a beat: it repeats where bases are equal modulo
  /// this number of bytes.
  int64_t addressPeriod(Index storage) const { return states[storage].period; }

  struct Counts {
    int64_t beats = 0, hits = 0, misses = 0, writeBacks = 0;
  };
  const Counts &counts(Index storage) const { return states[storage].counts; }

private:
  struct Line {
    int64_t address = -1; ///< of its first byte; -1: empty
    OperandId by = -1;
    bool dirty = false;
    Cycles fill = 0;
  };
  struct State {
    const Storage *is = nullptr;
    int64_t period = 1;
    Calendar ports, single; ///< `single`: where one beat a cycle is all
    bool isSingle = false;
    std::vector<Calendar> banks;
    std::vector<std::pair<int64_t, OperandId>> rows; ///< by bank: first address of the row of its last beat
    std::vector<Cycles> slots;  ///< by slot: when the request (a miss, of a cache) that holds it is done
    size_t next = 0;            ///< slot of the next request
    std::vector<Line> lines;    ///< sets x ways; for LRU the last used first, for FIFO the last come first
    std::vector<uint32_t> bits; ///< by set: the tree of PLRU
    Counts counts;
    explicit State(const Storage &storage);
  };

  /// Beats of [address, address + bytes): cycles of the first and the last.
  std::pair<Cycles, Cycles> beats(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at);
  Served plain(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at, Cycles latency,
               Cycles earliestDone = 0);
  Served cached(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at, bool isStore);
  /// The data of a line that the set does not have; allocates it.
  Served fill(State &state, OperandId by, int64_t line, Cycles at);
  Line *find(State &state, int64_t line);
  void use(State &state, Line *line);
  Line *victim(State &state, int64_t line);

  std::vector<State> states;
};

template <class Out> void MemorySystem::write(Cycles base, const std::vector<int64_t> &origin, Out &out) const {
  auto place = [&](int64_t address, OperandId by) { out(by < 0 ? -1 : address - origin[by]); };
  for (const State &state : states) {
    if (state.isSingle)
      state.single.write(base, out);
    else {
      state.ports.write(base, out);
      for (const Calendar &bank : state.banks)
        bank.write(base, out);
    }
    for (auto [row, by] : state.rows)
      out(by), place(row, by);
    for (size_t i = 0; i < state.slots.size(); ++i)
      out(std::max<Cycles>(state.slots[(state.next + i) % state.slots.size()] - base, 0));
    for (const Line &line : state.lines)
      out(line.by), place(line.address, line.by), out(line.dirty), out(std::max<Cycles>(line.fill - base, 0));
    for (uint32_t bits : state.bits)
      out(bits);
  }
}

} // namespace accord::microarchitecture
