// A machine, cycle by cycle: in every cycle each instruction, the oldest first, goes as far as it comes. The rules are
// those of docs/microarchitecture.md. Nothing here is shared with the engine that it checks.
#pragma once
#include "lib/microarchitecture/verify/MemoryStepper.h"

namespace accord::microarchitecture {

/// When an instruction was where. The start is when it leaves the entry of its instance for the operation.
struct SteppedVisit {
  Cycles fetch = kUnknown, entry = kUnknown, start = kUnknown, completion = kUnknown;
  Index unit = kNone, instance = kNone;
};

class CycleStepper {
public:
  /// Both were checked, and stay where they are while this is used.
  CycleStepper(const Microarchitecture &machine, const InstructionProgram &program);

  /// Steps until the next instruction can be fetched. False if that never happens, which the rules exclude.
  bool awaitFetch();
  /// Fetches an instruction of the program in the present cycle (after awaitFetch), with the addresses of its memory
  /// operands.
  void fetch(Index instruction, const std::vector<int64_t> &addresses);
  /// Nothing more is fetched before all that was fetched is complete.
  void fence() { fenced = fetched(); }
  /// Steps until nothing is under way.
  bool finish();

  Cycles now() const { return clock.now; }
  Cycles end() const { return last; } ///< the last completion so far
  /// From when on no unit is taken, after `finish`, where nothing else is under way either.
  Cycles quiet() const;
  int64_t fetched() const { return base + int64_t(inFlight.size()); }
  bool keepsVisits = false;
  std::vector<SteppedVisit> visits; ///< by instruction executed, if they are kept
  std::vector<InstructionTiming::UnitUse> units;
  MemoryStepper memory;

  /// Which operand of the program, counted over all of its instructions: what Touch::operand says.
  Index operandOf(Index instruction, size_t operand) const {
    return decoded[instruction].firstOperand + Index(operand);
  }

  /// What the times of the next instructions depend on, without contents and rows: times after the present cycle, as
  /// differences to it. To be called after awaitFetch. `settled` becomes the same machine after all that is under way.
  std::vector<int64_t> relativeTimes(CycleStepper &settled) const;

private:
  struct Decoded {
    std::vector<char> stages;                             ///< through which it reaches a unit
    std::vector<Cycles> stageLatency;                     ///< by stage
    std::vector<Cycles> latency, interval;                ///< by unit; kUnknown: does not process it
    std::vector<std::pair<Index, int32_t>> reads, writes; ///< register files and how many
    std::vector<size_t> readRegisters, writtenRegisters;
    Index firstOperand = 0;
  };
  enum class Place : uint8_t { Buffer, Stage, Instance, Running, Complete };
  struct InFlight {
    Index instruction = kNone;
    Place place = Place::Buffer;
    Index stage = kNone, unit = kNone, instance = kNone;
    Cycles since = 0; ///< fetch, or entry of the stage
    Cycles begin = 0; ///< of the memory requests
    Cycles result = kUnknown;
    std::vector<int64_t> completeBefore, startBefore; ///< instructions that must have
    std::vector<MemoryRequest> requests;
    std::vector<int32_t> operands; ///< of the requests
    SteppedVisit visit;
  };
  struct StageState {
    TakenNow entered;
    int32_t held = 0;
    std::deque<int64_t> order; ///< instructions in it
    Cycles decided = 0;        ///< when the last older instruction that could have entered did, or went elsewhere
  };
  struct Instance {
    TakenNow entered;
    struct Held {
      int64_t number = 0;
      Cycles free = kUnknown;
    };
    std::deque<Held> held;
  };
  struct RegisterState {
    int64_t writer = -1;
    Cycles completed = 0, readersStarted = 0;
    std::vector<int64_t> readers; ///< since the writer
    std::vector<int64_t> counted; ///< writers that are not complete, where the file counts
  };

  void decode(const Instruction &instruction);
  bool canFetch();
  bool step();
  void dropOld(); ///< forgets the oldest instructions that are over
  void depend(InFlight &made, int64_t number);
  void advance(int64_t number);
  bool leaveBuffer(InFlight &at, int64_t number);
  bool leaveStage(InFlight &at, int64_t number);
  bool acceptsStage(Index stage, int64_t number);
  void enterStage(InFlight &at, int64_t number, Index stage);
  bool enterInstance(InFlight &at, int64_t number, const Stage &stage);
  void free(Instance &instance) const;
  bool start(InFlight &at, int64_t number);
  void runMemory(InFlight &at);
  bool complete(InFlight &at, int64_t number);
  std::vector<char> mayEnter(const InFlight &at) const;
  void decide(const std::vector<char> &before, const InFlight &at);
  void noteTaken();
  /// Of what is taken in order only the last ones, so many, bind those that follow; of ports and banks every cycle
  /// does.
  int64_t binding(const StepClock::Taken &of) const;
  bool isComplete(int64_t number) const { return number < base || at(number).place == Place::Complete; }
  bool isStarted(int64_t number) const { return number < base || at(number).place >= Place::Running; }
  InFlight &at(int64_t number) { return inFlight[size_t(number - base)]; }
  const InFlight &at(int64_t number) const { return inFlight[size_t(number - base)]; }

  const Microarchitecture *machine;
  const InstructionProgram *program;
  std::vector<Decoded> decoded; ///< by instruction of the program
  bool joins = false;           ///< some stage has several before it
  StepClock clock;
  Cycles last = 0;
  std::deque<InFlight> inFlight;
  int64_t base = 0;       ///< number of the first in flight
  int64_t leftBuffer = 0; ///< how many have entered the first stage
  int64_t retired = 0;
  int64_t redirect = -1; ///< the youngest that redirects
  int64_t fenced = 0;    ///< how many were fetched before the last fence
  TakenNow fetchedNow;
  std::vector<StageState> stages;
  std::vector<std::vector<Instance>> instances; ///< by unit: those that were used so far
  std::vector<size_t> firstRegister;            ///< by file
  std::vector<RegisterState> registers;
  std::vector<TakenNow> readPorts, writePorts;
};

} // namespace accord::microarchitecture
