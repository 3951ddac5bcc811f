// Where the memory operands of a program are, and which of them meet: those whose addresses may come to lie in the same
// line or row are one array, whose contents move as its first operand moves.
#pragma once
#include "lib/microarchitecture/solve/DecodedProgram.h"
#include "lib/microarchitecture/solve/MemorySystem.h"

namespace accord::microarchitecture {

class OperandArrays {
public:
  OperandArrays(const Microarchitecture &machine, const InstructionProgram &program, const DecodedProgram &decoded,
                const MemorySystem &memory);

  std::vector<int64_t> address; ///< by operand: current

  /// Addresses move by so many iterations of a loop. Where a loop ends they may leave the range of numbers for a while.
  void advance(Index loop, int64_t iterations) {
    for (auto [operand, stride] : moves[size_t(loop)])
      address[operand] = int64_t(uint64_t(address[operand]) + uint64_t(stride) * uint64_t(iterations));
  }
  /// By operand: the address of its array.
  std::vector<int64_t> origins() const;
  /// Addresses as far as times depend on them: of arrays modulo the period of the memories, of others from their array.
  template <class Out> void write(Out &out) const {
    for (OperandId o : placed)
      out(leader[o] == o ? address[o] % period[o] : address[o] - address[leader[o]]);
  }

private:
  /// First and last byte of an operand over the whole program.
  struct Extent {
    int64_t low = 0, high = -1; ///< none yet
  };
  std::vector<Extent> walk(const InstructionProgram &program, const DecodedProgram &decoded);
  /// Where a memory takes one beat a cycle, whatever bank it is in, it matters how many beats an operand has, but not
  /// where they are: operands that have equally many wherever their loops bring them have no place.
  void forgetPlaces(const Microarchitecture &machine, const DecodedProgram &decoded);
  void join(const Microarchitecture &machine, const DecodedProgram &decoded, const std::vector<Extent> &extents);

  std::vector<std::vector<std::pair<OperandId, int64_t>>> moves; ///< by loop: stride of each operand in it
  std::vector<OperandId> leader;                                 ///< by operand: the first one of its array
  std::vector<int64_t> period;                                   ///< by operand: of its storage
  std::vector<OperandId> placed;                                 ///< on whose addresses times depend
};

} // namespace accord::microarchitecture
