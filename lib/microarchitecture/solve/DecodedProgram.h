// A program as the engine runs it: what is the same in every execution of an instruction, found once. Instructions that
// are alike to the stages and units share a route.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include <span>

namespace accord::microarchitecture {

/// A unit for an instruction.
struct UnitWay {
  Index unit = kNone;
  Cycles latency = 0, interval = 1;
};

/// Where an instruction may go.
struct Route {
  std::vector<std::vector<Index>> next;   ///< by stage: where it may go on
  std::vector<std::vector<UnitWay>> ways; ///< by stage
  std::vector<std::vector<char>> behind;  ///< by stage: stages that may follow; where stages join
  std::vector<Cycles> stageLatency;       ///< by stage
};

struct PortUse {
  Index file = kNone;
  int32_t amount = 0;
};

/// Which memory operand of a program, counted over all of its instructions.
using OperandId = int32_t;

struct DecodedInstruction {
  size_t route = 0;
  size_t firstRegister = 0, firstPort = 0; ///< of DecodedProgram::registers and ports
  uint32_t reads = 0, writes = 0, guarded = 0, readPorts = 0, writePorts = 0;
  OperandId firstOperand = 0;
  int32_t loads = 0, operands = 0;
  bool redirects = false;
};

class DecodedProgram {
public:
  /// Both were checked.
  DecodedProgram(const Microarchitecture &machine, const InstructionProgram &program);

  std::vector<DecodedInstruction> instructions;
  std::vector<Route> routes;
  struct Operand {
    Index storage = kNone;
    int64_t bytes = 0;
  };
  std::vector<Operand> operands;
  std::vector<Index> fileOf; ///< by register, numbered in the order in which the program names them
  bool joins = false;        ///< some stage has several before it

  using Registers = std::span<const uint32_t>;
  Registers reads(const DecodedInstruction &is) const { return {registers.data() + is.firstRegister, is.reads}; }
  Registers writes(const DecodedInstruction &is) const {
    return {registers.data() + is.firstRegister + is.reads, is.writes};
  }
  /// What is written, neither renamed nor counting.
  Registers guarded(const DecodedInstruction &is) const {
    return {registers.data() + is.firstRegister + is.reads + is.writes, is.guarded};
  }
  /// Of files whose ports are limited.
  std::span<const PortUse> readPorts(const DecodedInstruction &is) const {
    return {ports.data() + is.firstPort, is.readPorts};
  }
  std::span<const PortUse> writePorts(const DecodedInstruction &is) const {
    return {ports.data() + is.firstPort + is.readPorts, is.writePorts};
  }

private:
  Route routeOf(const Microarchitecture &machine, const Instruction &instruction) const;

  std::vector<uint32_t> registers; ///< by instruction: read, written, guarded
  std::vector<PortUse> ports;      ///< by instruction: of reads, of writes
};

} // namespace accord::microarchitecture
