// The first instructions of a program on their way through a machine, as a trace.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "llvm/Support/JSON.h"

namespace accord::microarchitecture {

struct PipelineTraceLimits {
  int64_t visits = 1000; ///< instructions that are executed, from the first one on
};

/// Trace events for https://ui.perfetto.dev, in which a microsecond is a cycle: a track for the buffer of fetch, for
/// each stage and for each instance of a unit, with a slice for each instruction that was there, named by its opcode,
/// from entry until it left (of a unit: until it was complete), and in it what it waited for. Where several
/// instructions are in the same place at once, it has as many tracks as are needed. Both were checked.
llvm::json::Value pipelineTrace(const Microarchitecture &machine, const InstructionProgram &program,
                                const PipelineTraceLimits &limits = {});

} // namespace accord::microarchitecture
