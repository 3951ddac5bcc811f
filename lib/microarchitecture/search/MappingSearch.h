// The schedule of an operation with the fewest cycles on a machine, and a bound that no schedule undercuts.
#pragma once
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/RowOperation.h"
#include "lib/microarchitecture/search/ScheduleSpace.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/search/SearchLimits.h"

namespace accord::microarchitecture {

/// Limits count work, so that the same limits give the same answer.
struct MappingLimits : SearchControl {
  int64_t schedules = 400;           ///< timed
  int64_t instructions = 10'000'000; ///< evaluated, of all schedules together
  int64_t kernels = 800;             ///< emitted, to be bounded and estimated
  int64_t points = 200'000;          ///< partial schedules that are bounded
  SpaceOptions space;
  EmitOptions emit;
  TimingLimits timing;
};

struct MappingResult {
  std::variant<Schedule, RowSchedule> schedule;
  MappedKernel kernel;
  InstructionTiming timing;
  Cycles bound = 0;         ///< no schedule of the space takes fewer
  bool proven = false;      ///< none takes fewer than this one; so it is where the machine refuses all of the space
  int64_t valued = 0;       ///< schedules timed
  int64_t repeated = 0;     ///< whose program had been timed before
  int64_t refused = 0;      ///< that need registers or opcodes that the machine does not have
  int64_t cut = 0;          ///< whose program's own bound was enough
  int64_t points = 0;       ///< partial schedules looked at
  int64_t instructions = 0; ///< evaluated
  /// (cycles - bound) / cycles.
  double gap() const { return timing.cycles > 0 ? double(timing.cycles - bound) / double(timing.cycles) : 0; }
};

/// Branch and bound over `ScheduleSpace`, or over all loops, lanes and unrollings of a row operation, from the plain
/// schedule on. Values are exact: `emitKernel`, then `timeProgram`; kernels with the same program are timed once.
///
/// First the neighbours of the best one are looked at for as long as one is better, with half of the schedules; then
/// the partial schedule with the smallest bound is completed by one choice at a time. A complete one is emitted,
/// bounded again from its instructions (`WorkBound::ofProgram`), and timed when none has a smaller bound. What has as
/// large a bound as the best time is cut. When nothing is left, the best is proven; else the smallest bound left holds
/// for all.
///
/// Ends at a limit, at `gap`, or when `stop` is set. Errors: those of the plain schedule, where nothing can be mapped.
/// The machine was checked.
Result<MappingResult> searchMapping(const KernelProblem &problem, const Microarchitecture &machine,
                                    const MappingLimits &limits = {});

/// "12,345 cycles with the schedule …; at least 12,000 (gap 2.8 %); 150 of … timed" as a line of a report.
std::string describe(const MappingResult &result, const KernelProblem &problem);

} // namespace accord::microarchitecture
