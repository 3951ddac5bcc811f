// Proves a plan again without the code that made it: replays the schedule, the memory and the arithmetic of the bound.
#pragma once
#include "lib/model/Check.h"
#include "lib/model/Plan.h"

namespace accord {

struct Verification {
  std::vector<Issue> findings;      ///< what is wrong, codes A0901-A0929, sentences with both numbers; empty: the plan holds
  std::vector<std::string> checked; ///< what was proved: "412 operations each have one slot"
  std::vector<std::string> trusted; ///< what the proof rests on: "times of 3 operations by cost model 'mine' are taken as given"
  bool holds() const { return findings.empty(); }
};

/// Codes: A0900 the graph or machine is malformed · A0901 an operation has no slot or several · A0902 a duration differs from its cost ·
/// A0903 a cost differs from what FLOPs, bytes and the machine give · A0904 an operation starts before a value it needs ·
/// A0905 a core is used twice at a time or does not exist · A0906 more than a memory's bandwidth · A0907 a region's or the
/// step's length is wrong · A0908 reported memory differs from the replay · A0909 more memory than the device has in a
/// feasible plan · A0910 a bound that the arithmetic does not give, or above what it bounds · A0911 objective or its bound ·
/// A0912 batch is not micro-batch * micro-batches · A0913 a slack or critical path that does not hold ·
/// A0914 an infeasible plan without reason, or a feasible one with conflicts.
Verification verify(const Plan &plan);

} // namespace accord
