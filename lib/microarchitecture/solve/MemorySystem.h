// Memories and caches of a machine while a program runs: when each request is served.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "lib/microarchitecture/solve/Calendar.h"
#include "lib/microarchitecture/solve/DecodedProgram.h"
#include "lib/microarchitecture/solve/RecentTimes.h"
#include <set>

namespace accord::microarchitecture {

/// When the first data of a request is there, and when all of it is (of a store: when it is done).
struct Served {
  Cycles first = 0, done = 0;
};

/// A common multiple of two periods; where it leaves the range of addresses, 2^62: then only equal addresses are alike.
int64_t commonPeriod(int64_t a, int64_t b);

/// What operands leave behind moves from iteration to iteration as their addresses do.
class MemorySystem {
public:
  explicit MemorySystem(const Microarchitecture &machine);

  /// Requests in program order; `at` is not before any `forget`.
  Served load(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at);
  Served store(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at, Cycles earliestDone = 0);

  void forget(Cycles before);
  /// Moves what is after a cycle.
  void shift(Cycles by, Cycles after);
  /// No port, bank or request is taken in this cycle or later, and all lines have come.
  Cycles quiet() const;
  /// Moves what operands left behind: addresses of operand o by `by[o]`.
  void translate(const std::vector<int64_t> &by);

  /// The state from `base` on, relative to it; addresses relative to `origin[o]` of the operand that left them.
  template <class Out> void write(Cycles base, const std::vector<int64_t> &origin, Out &out) const;
  /// Whether some storage has lines or rows, which operands leave behind.
  bool remembers() const;

  /// Storages whose behaviour depends on addresses beyond the piece of a beat: it repeats where bases are equal modulo
  /// this number of bytes.
  int64_t addressPeriod(Index storage) const { return states[storage].period; }

  struct Counts {
    int64_t beats = 0, hits = 0, misses = 0, writeBacks = 0;
  };
  const Counts &counts(Index storage) const { return states[storage].counts; }
  /// The addresses of the lines that a cache holds, and whether they are dirty.
  std::set<std::pair<int64_t, bool>> lines(Index storage) const;
  /// Beats, lines and ways that were looked at one by one: what requests cost to compute.
  int64_t work() const { return looked; }

private:
  struct Line {
    int64_t address = -1; ///< of its first byte; -1: empty
    OperandId by = -1;
    bool dirty = false;
    Cycles fill = 0;
  };
  struct Bank {
    Calendar taken{1};
    int64_t row = -1; ///< first address of the row of its last beat
    OperandId by = -1;
  };
  struct State {
    const Storage *is = nullptr;
    int64_t period = 1;
    Calendar ports, single; ///< `single`: where one beat a cycle is all
    bool isSingle = false;
    FirstUses bankPlaces;
    std::vector<Bank> banks; ///< those that were used
    RecentTimes slots;       ///< when each of the last requests (misses, of a cache) is done
    FirstUses setPlaces;
    /// Sets that were used, and the lines of each: for LRU the last used first, for FIFO the last come first, for PLRU
    /// by way.
    std::vector<std::vector<Line>> sets;
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
  /// The place of the set of a line.
  size_t setOf(State &state, int64_t line);
  Line *find(State &state, size_t set, int64_t line);
  void use(State &state, size_t set, Line *line);
  Line *victim(State &state, size_t set);

  std::vector<State> states;
  Cycles past = 0; ///< no request begins before
  int64_t looked = 0;
};

template <class Out> void MemorySystem::write(Cycles base, const std::vector<int64_t> &origin, Out &out) const {
  auto place = [&](int64_t address, OperandId by) { out(by < 0 ? -1 : address - origin[by]); };
  for (const State &state : states) {
    if (state.isSingle)
      state.single.write(base, out);
    else
      state.ports.write(base, out);
    for (const Bank &bank : state.banks)
      bank.taken.write(base, out), out(bank.by), place(bank.row, bank.by);
    state.slots.write(base, out);
    for (const std::vector<Line> &set : state.sets) {
      out(int64_t(set.size()));
      for (const Line &line : set)
        out(line.by), place(line.address, line.by), out(line.dirty), out(std::max<Cycles>(line.fill - base, 0));
    }
    for (uint32_t bits : state.bits)
      out(bits);
  }
}

} // namespace accord::microarchitecture
