// What the parts of the verifier share: the plan, its durations, and the growing list of findings.
#pragma once
#include "lib/planning/verify/ScheduleReplay.h"
#include "lib/planning/verify/Verify.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

inline bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

/// What the host takes, in whole picoseconds, rounded up. At most 1e6 s: bounds that are made of it are lower then,
/// which is safe.
inline int64_t hostTime(Seconds time) { return std::ceil(std::clamp(time.value, 0.0, 1e6) * 1e12); }

struct Proof {
  const Plan &plan;
  PlanVerification out;
  std::vector<int64_t> durations; ///< by OperationId, picoseconds; a repeat's is 0
  StepZeroShares zeros = {};
  /// What zeros leave of an operation of the plan.
  ZeroShares zerosOf(const Operation &op) const {
    const size_t id = &op - plan.graph.operations.data();
    return id < zeros.size() ? zeros[id] : ZeroShares{};
  }

  static constexpr size_t kMaxFindings = 50;

  template <typename... T> void find(Code code, const SourceLocation &at, fmt::format_string<T...> text, T &&...args) {
    if (out.findings.size() < kMaxFindings)
      out.findings.push_back({code, fmt::format(text, std::forward<T>(args)...), at, {}});
  }
  template <typename... T> void checked(fmt::format_string<T...> text, T &&...args) {
    out.checked.push_back(fmt::format(text, std::forward<T>(args)...));
  }
  template <typename... T> void trusted(fmt::format_string<T...> text, T &&...args) {
    out.trusted.push_back(fmt::format(text, std::forward<T>(args)...));
  }
  const Operation &operation(OperationId id) const { return plan.graph.operations[id]; }
  /// Calls `f` for each cost that an operation may have: as it stands, and its alternatives.
  template <typename F> void variants(OperationId id, F f) const {
    f(plan.costs.operations[id]);
    if (auto others = plan.costs.alternatives.find(id); others != plan.costs.alternatives.end())
      for (const OperationCost &other : others->second)
        f(other);
  }
  /// Instances of a core that it holds while it runs: all where parts compute on several cores or
  /// work is spread, one where each has its own.
  int64_t instances(const OperationCost &cost, int core) const {
    const Core &of = plan.machine.cores[core];
    if (!usesCore(cost, core))
      return 0;
    bool alone = cost.parts.empty() && cost.core == core &&
                 (cost.instances == 1 || (cost.instances == 0 && of.perInstanceMapping));
    return alone ? 1 : of.count;
  }
  /// The network over which an operation exchanges data with other devices; empty for others.
  std::string network(OperationId id) const {
    static constexpr std::string_view kModel = "network ";
    const OperationCost &cost = plan.costs.operations[id];
    bool exchange =
        operation(id).core == CoreKind::Network && cost.core < 0 && cost.model.compare(0, kModel.size(), kModel) == 0;
    return exchange ? cost.model.substr(kModel.size()) : "";
  }
};

/// Bits of a type; 0 for a type of another kind than the table knows.
int bitsOf(const std::string &type);
bool isInteger(const std::string &type);
/// FLOP/s of one instance of a core: stated for the type, or of its array or lanes.
double peakOfInstance(const Core &core, const std::string &type, const Machine &machine);

/// Which costs a calibration gives, and their times.
void verifyCalibration(Proof &);
/// Costs from FLOPs, bytes and the machine. False: too broken to go on.
bool verifyCosts(Proof &);
/// Traffic and room of an operation's tiles. False: not followed (windows), or malformed.
bool verifyTiles(Proof &, const Operation &, const OperationCost &);
/// One slot for each operation, durations, lengths, the step. False: too broken to replay.
bool verifySlots(Proof &);
/// Dependences, cores, bandwidth and memory by walking the whole step.
void verifyReplay(Proof &);
/// Lower bound and timing by arithmetic.
void verifyBound(Proof &);
/// What the scheduler proved of one iteration of a top region, step by step; 0: nothing, or it does
/// not hold.
int64_t verifyProvenBound(Proof &, RegionId top);
/// The same of a region with repeats, by what can run at once however their iterations overlap: `tasks` of the bound
/// are OperationIds.
int64_t verifyStepSubsets(Proof &, RegionId top);

} // namespace accord
