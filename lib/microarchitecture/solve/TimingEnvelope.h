// Bounds of the time that a program takes, without its states: what is known of each time is the latest of older times
// and constants, a max-plus linear system, so that a loop is the power of a matrix (F. Baccelli et al.,
// Synchronization and Linearity, 1992). The cost grows with the logarithm of the iterations.
//
// The rules are those of docs/microarchitecture.md, of which the lower side leaves out what it does not know, and the
// upper side assumes the worst. Each time of the lower side is not later, each of the upper side not earlier than the
// time it stands for, instruction after instruction:
// - Of what is taken in order (fetch, buffer, stages, window, entries of a unit, requests) the last places are slots of
//   the system. Capacities above a limit are infinite on the lower, the limit on the upper side: the largest of 16, 8,
//   4, 2 and 1 by which there are at most 128 slots. With more even so, the lower side knows the fetch alone, and on
//   the upper side all slots are one: each instruction waits until all before it is over. What is behind a fence is
//   fetched not before the bound of the last completion before it.
// - Lower: an instruction follows its way through the stages as long as there is one, and takes the shortest from there
//   on; it waits for a unit where it has but one, of one instance. Loads hit; requests wait for others only in memories
//   that no cache asks. Ports and banks delay nothing.
// - Upper: an instruction enters what it enters not later than the first of its choices would accept it, and takes all
//   its choices. Of a unit with several instances and one entry each, one is free once all but so many instructions
//   have freed theirs; with more entries, an instruction may wait for all older ones. Ports and banks are free after
//   the last cycle in which they were taken. Every beat opens a row, every line misses, and replaces a dirty one if the
//   program stores to the cache; what hits waits for all lines under way.
#pragma once
#include "lib/microarchitecture/solve/DecodedProgram.h"
#include <map>

namespace accord::microarchitecture {

class TimingEnvelope {
public:
  enum class Side : uint8_t { Lower, Upper };
  TimingEnvelope(const Microarchitecture &machine, const InstructionProgram &program, Side side);

  /// A bound of the last completion, where the next instruction is fetched not before (upper: not after) `fetch`, and
  /// upper: nothing of older ones is under way from there on. 2^61 where it is beyond.
  Cycles end(Cycles fetch);

  static constexpr Cycles kBeyond = Cycles(1) << 61;

private:
  using Row = std::vector<Cycles>;
  struct Slots { ///< the last of some times, oldest first
    size_t first = 0, size = 0;
    bool isKnown = false;
  };
  struct StageSlots {
    Slots enter, leave, width, capacity;
  };
  struct UnitSlots {
    Slots enter, start, entries;
  };
  struct FileSlots {
    Slots read, write;
  };
  struct StorageSlots {
    Slots beats, requests, filled;
    bool isAsked = false, isWritten = false; ///< by a cache; a store may come to it
  };

  void layOut(int64_t limit);
  Slots place(int64_t size, int64_t limit);
  void prepare();

  Row oldest(const Slots &slots) const;
  void push(const Slots &slots, Row row);
  void raise(const Slots &slots, const Row &row);

  void run(const Body &body);
  void loop(Index number);
  void apply(Index instruction);
  Row fetch();
  Row pathLower(const Route &route, Row at);
  Row pathUpper(const Route &route, Row at);
  Row acceptUpper(Index stage) const;
  Row unitUpper(const UnitWay &way) const;
  /// The end of the operation before memory; raises what units and registers are taken for.
  Row executeLower(const DecodedInstruction &is, const Route &route, const Row &issue);
  Row executeUpper(const DecodedInstruction &is, const Route &route, const Row &issue);
  Row operands(const DecodedInstruction &is, Row start) const;
  void startedAt(const DecodedInstruction &is, const Row &start);
  struct Data {
    Row first, done;
  };
  Data request(Index storage, bool isStore, int64_t bytes, const Row &at);
  Data cachedUpper(Index storage, bool isStore, int64_t bytes, const Row &at);
  Row memory(const DecodedInstruction &is, const Row &at);

  using Matrix = std::vector<Row>;
  static Matrix product(const Matrix &left, const Matrix &right);
  /// What an iteration of a loop makes of the slots. Powers are of those alone that it uses: most registers that a body
  /// writes are written before they are read, so that no later iteration uses what this one left in them.
  struct Iteration {
    std::vector<size_t> changed; ///< slots that are not what they were
    std::vector<size_t> used;    ///< slots that those follow from
    Matrix toChanged, toUsed;    ///< their rows, by used slot
  };
  Iteration iterationOf(const Body &body);

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const DecodedProgram decoded;
  const bool isUpper;
  size_t count = 0;    ///< slots
  bool isOne = false;  ///< upper: all slots are one
  bool isBare = false; ///< lower: fetch and end alone
  Slots fetched, fetchWidth, fetchBuffer, window, decided, ended;
  std::vector<StageSlots> stages;
  std::vector<UnitSlots> units;
  std::vector<FileSlots> files;
  std::vector<StorageSlots> storages;
  std::vector<Slots> ready, read;            ///< by register
  std::vector<Index> order;                  ///< stages, each before those behind it
  std::vector<std::vector<Cycles>> shortest; ///< by route and stage: latencies up to a unit
  Matrix rows;                               ///< by slot
  std::map<Index, Iteration> known;          ///< by loop
};

} // namespace accord::microarchitecture
