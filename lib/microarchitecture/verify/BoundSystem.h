// Bounds of what is left of a program, computed again: each instruction becomes a list of steps over a system of times,
// and a loop a power of a matrix. What the two sides leave out and assume stands in solve/TimingEnvelope.h and
// solve/BoundProgram.h; nothing of their code is used here. More places of what is taken in order may be told apart
// here than there, never fewer, so that these bounds are at least as tight.
#pragma once
#include "lib/microarchitecture/verify/WorkBound.h"
#include <map>

namespace accord::microarchitecture {

class BoundSystem {
public:
  BoundSystem(const Microarchitecture &machine, const InstructionProgram &rest, bool isUpper);
  /// A bound of the last completion, where the next instruction is fetched from cycle `from` on, and upper: all is over
  /// by then. At most kTooLate.
  Cycles end(Cycles from);

private:
  struct Queue { ///< places, oldest first
    int32_t first = 0, size = 0;
  };
  struct Step {
    enum class Kind : uint8_t { Forget, Raise, Shift } kind;
    int32_t to = 0, from = 0; ///< of Shift: size of the queue at `to`
    Cycles by = 0;
  };
  using Steps = std::vector<Step>;
  using Line = std::vector<Cycles>; ///< -1: nothing is known
  using Table = std::vector<Line>;

  Queue make(int64_t size);
  void makeAll();
  void compile(const Instruction &instruction, Steps &out);
  int32_t temporary(Steps &out);
  void raise(Steps &out, int32_t to, int32_t from, Cycles by = 0);
  void wait(Steps &out, int32_t to, const Queue &queue);
  void put(Steps &out, const Queue &queue, int32_t from, Cycles by = 0);
  void note(Steps &out, const Queue &queue, int32_t from, Cycles by = 0);
  int32_t stagesBelow(const Instruction &instruction, int32_t fetch, Steps &out);
  int32_t stagesAbove(const Instruction &instruction, int32_t fetch, Steps &out);
  int32_t execute(const Instruction &instruction, int32_t issue, Steps &out);
  struct Answer {
    int32_t first = 0, done = 0;
  };
  Answer access(Index storage, bool isStore, int64_t bytes, int32_t begin, Steps &out);
  Answer accessCache(Index storage, bool isStore, int64_t bytes, int32_t begin, Steps &out);
  int32_t transfer(const Instruction &instruction, int32_t begin, Steps &out);
  struct Way {
    Index unit = kNone;
    Cycles latency = 0, interval = 0;
  };
  std::vector<Way> waysIn(Index stage, const Instruction &instruction) const;

  void run(const Body &body);
  void repeat(Index loop);
  static Table multiply(const Table &a, const Table &b);

  const Microarchitecture &machine;
  const InstructionProgram &rest;
  const bool isUpper;
  int64_t limit = 16;   ///< of queues
  bool isRough = false; ///< too many places: upper all in one, lower the fetch and the end alone
  int32_t places = 0, temporaries = 0, deepest = 0;
  Queue next, ended, fetchWidth, fetchBuffer, window, decided;
  struct StageQueues {
    Queue enter, leave, width, capacity;
  };
  std::vector<StageQueues> stages;
  struct UnitQueues {
    Queue enter, start, entries;
  };
  std::vector<UnitQueues> units;
  std::vector<std::pair<Queue, Queue>> files; ///< last reads and writes
  struct StorageQueues {
    Queue beats, requests, fills;
    bool isAsked = false, isWritten = false;
  };
  std::vector<StorageQueues> storages;
  std::map<std::pair<Index, Index>, std::pair<Queue, Queue>> registers; ///< completion and readers
  std::vector<Index> order;                                             ///< of stages
  std::map<Index, Steps> compiled;                                      ///< by instruction
  std::map<Index, Table> powers;                                        ///< by loop: of one iteration
  Table lines;
};

} // namespace accord::microarchitecture
