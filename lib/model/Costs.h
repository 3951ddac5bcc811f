// What each operation of a work graph costs on a machine, with the bound that binds.
#pragma once
#include "lib/model/Machine.h"

namespace accord {

struct OperationCost {
  int core = -1;            ///< index into Machine::cores; -1: no core needed (view) or a repeat
  Seconds time;             ///< of one execution
  Cycles cycles;            ///< time in the machine's clock, 0 when it states none
  Seconds compute;          ///< at the core's peak
  std::vector<Bytes> bytes; ///< per memory level, as in Machine::memories
  std::vector<Seconds> transfer; ///< per memory level
  Joules energy;
  std::string model; ///< the cost model that priced it: "peak", "array", …; "schedule" for a repeat
  std::string
      type; ///< arithmetic whose peak was used; differs from the operation's type after a fallback
  std::string bound;   ///< "compute", "bandwidth hbm", "view", or "critical path" for a repeat
  std::string formula; ///< in symbols and with the numbers substituted, for `accord explain`
};

struct Costs {
  std::vector<OperationCost>
      operations; ///< by OperationId; a repeat's is filled from its body's schedule
  std::vector<std::string> assumptions; ///< every default that changes a number, in words
};

} // namespace accord
