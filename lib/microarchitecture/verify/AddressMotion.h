// How addresses move in the iterations of a loop, and what that does to lines of caches and rows of banks. A period of
// the loop repeats exactly if every operand moves by a whole number of ports, banks, sets and rows, and operands that
// move differently never meet in a line or row: then moving the contents and running the period may be exchanged.
#pragma once
#include "lib/microarchitecture/verify/CycleStepper.h"

namespace accord::microarchitecture {

/// Bytes [low, high).
struct ByteRange {
  __int128 low = 0, high = 0;
  bool isEmpty() const { return low >= high; }
  void add(const ByteRange &other);
  bool meets(const ByteRange &other) const { return low < other.high && other.low < high; }
};

/// Where the instructions of a program are, found once.
class OperandPlaces {
public:
  OperandPlaces(const InstructionProgram &program);
  struct Operand {
    const MemoryOperand *is = nullptr;
    std::vector<std::vector<Index>> chains; ///< of loops around it, for every place of its instruction
  };
  std::vector<Operand> operands; ///< as CycleStepper::operandOf counts
};

class AddressMotion {
public:
  /// A loop inside of the iterations `around`, in which periods of `period` iterations follow each other from iteration
  /// `first` on, `periods` of them; `loopStart`: how many instructions had been executed before the loop.
  AddressMotion(const Microarchitecture &machine, const InstructionProgram &program, const OperandPlaces &places,
                Index loop, const std::vector<int64_t> &around, int64_t first, int64_t period, int64_t periods,
                int64_t loopStart);

  /// Why a period cannot be exchanged with the motion, given the contents before it; empty if it can.
  std::string obstacle(const MemoryStepper &before) const;
  /// Contents and rows as numbers, with all addresses moved by so many periods; fills as in relativeTimes, after `now`.
  std::vector<int64_t> contents(const MemoryStepper &memory, Cycles now, int64_t moved) const;
  /// Moves contents and rows.
  void move(MemoryStepper &memory, int64_t moved) const;

private:
  int64_t shift(const Touch &touch) const { return touch.instruction >= loopStart ? shifts[touch.operand] : 0; }
  std::string misaligned(Index operand) const;
  /// Whether the operand has equally many pieces wherever the loops of the program bring it, in a memory that has
  /// neither banks nor rows nor is a cache: then it does not matter where they are.
  bool hasEqualPieces(Index operand) const;
  std::vector<ByteRange> ranges(Index storage, const MemoryStepper &before) const;

  const Microarchitecture &machine;
  const OperandPlaces &places;
  int64_t periods, loopStart;
  std::vector<int64_t> shifts;     ///< by operand: of one period
  std::vector<ByteRange> accessed; ///< by operand: in all of the periods; empty: not in the loop
};

} // namespace accord::microarchitecture
