// Links between executions of a plan and calls of a trace. Internal to this folder.
#pragma once
#include "lib/comparison/problem/Comparison.h"
#include <map>

namespace accord::comparison {

struct Link {
  uint32_t execution = 0, call = 0; ///< indices into PlannedStep::executions and MeasuredStep::operations
  MatchKind kind = MatchKind::None;
};

/// The ways of Compare.h, one after the other; each leaves what an earlier one linked as it is.
class Matcher {
public:
  Matcher(const PlannedStep &plan, const MeasuredStep &measured);
  void run();

  const std::vector<Link> &links() const { return made; }
  bool isPlanned(uint32_t execution) const { return plannedLinks[execution] > 0; }
  bool isMeasured(uint32_t call) const { return measuredLinks[call] > 0; }
  std::vector<std::string> notes;

private:
  /// Executions and calls of a part of the step that are compared in order.
  struct Segment {
    std::vector<uint32_t> executions, calls;
  };

  const PlannedOperation &operationOf(uint32_t execution) const {
    return plan.operations[plan.executions[execution].operation];
  }
  void link(uint32_t execution, uint32_t call, MatchKind kind);
  void matchNames();
  void matchSequences();
  void makeSegments();
  void align(const Segment &segment);
  void matchNear(const Segment &segment);
  void matchBetween(const Segment &segment);
  int64_t softmaxNear(const std::vector<uint32_t> &calls, size_t i,
                      const std::map<uint32_t, std::pair<size_t, size_t>> &linked) const;
  bool takeGap(const Segment &segment, uint32_t call, size_t from, size_t to);
  int64_t namedOperation(const std::string &scope) const;

  const PlannedStep &plan;
  const MeasuredStep &measured;
  std::vector<Link> made;
  std::vector<unsigned> plannedLinks, measuredLinks;
  std::vector<Segment> segments;
  std::map<std::string, int64_t, std::less<>> byName; ///< forward operations; -1: two have the name
};

} // namespace accord::comparison
