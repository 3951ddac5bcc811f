#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>

namespace accord {
namespace {

size_t inRow(size_t stage, size_t groups) { return stage % groups; }

/// Forward while less than the window is held, else backward.
std::vector<ReplayPass> byWindow(const ReplayInput &pipeline, int64_t group) {
  std::vector<ReplayPass> order;
  RoundCursor forward = cursorOf(pipeline, false), backward = cursorOf(pipeline, true);
  for (int64_t holds = 0, window = ruleOf(pipeline.schedule).window(pipeline, group); !backward.done();) {
    bool back = forward.done() || holds >= window;
    RoundCursor &cursor = back ? backward : forward;
    holds += back ? -1 : 1;
    order.push_back({static_cast<size_t>(cursor.virtualStage() * pipeline.groups + group), back, cursor.microbatch});
    cursor.next();
  }
  return order;
}

int64_t all(const ReplayInput &pipeline, int64_t) { return pipeline.microbatches * pipeline.virtualStages; }
int64_t toTheEnd(const ReplayInput &pipeline, int64_t group) { return pipeline.groups - group; }
int64_t rounds(const ReplayInput &pipeline, int64_t group) {
  return 2 * (pipeline.groups - 1 - group) + (pipeline.virtualStages - 1) * pipeline.groups + 1;
}

} // namespace

void RoundCursor::next() {
  if (++microbatch < std::min(base + p, max))
    return;
  microbatch = base;
  if (++turn < virtualStages)
    return;
  turn = 0;
  microbatch = base += p;
}

RoundCursor cursorOf(const ReplayInput &pipeline, bool backward) {
  return {pipeline.groups, pipeline.virtualStages, pipeline.microbatches, backward};
}

const ScheduleRule &ruleOf(PipelineSchedule schedule) {
  using enum ScheduleRule::Stages;
  static const ScheduleRule gpipe{
      "GPipe", One, false, false, false, true, all, [](int64_t m, int64_t, int64_t) {
                                    return m; }, inRow, byWindow};
  static const ScheduleRule oneFOneB{
      "1F1B", One,     false,    false,
      false,  false,   toTheEnd, [](int64_t m, int64_t, int64_t behind) {
        return std::min(m, behind); },
      inRow,  byWindow};
  static const ScheduleRule interleaved{
      "interleaved 1F1B", Listed, false, false, true, false, rounds, nullptr, inRow, byWindow};
  static const ScheduleRule zeroBubble{
      "ZB-H1", One,     true,     true,
      false,   false,   toTheEnd, [](int64_t m, int64_t groups, int64_t) { return std::min(m, groups); },
      inRow,   byWindow};
  switch (schedule) {
  case PipelineSchedule::GPipe:
    return gpipe;
  case PipelineSchedule::OneFOneB:
    return oneFOneB;
  case PipelineSchedule::Interleaved:
    return interleaved;
  case PipelineSchedule::ZeroBubble:
    return zeroBubble;
  }
  return oneFOneB;
}

std::vector<int64_t> stagesOfGroups(const PlacementProblem &problem, PipelineSchedule schedule) {
  ScheduleRule::Stages stages = ruleOf(schedule).stages;
  if (stages != ScheduleRule::Stages::Listed)
    return {stages == ScheduleRule::Stages::One ? 1 : 2};
  std::vector<int64_t> found;
  for (int64_t v : problem.virtualStages)
    if (v > 1 && std::find(found.begin(), found.end(), v) == found.end())
      found.push_back(v);
  std::sort(found.begin(), found.end());
  return found;
}

bool runsOn(PipelineSchedule schedule, int64_t groups, int64_t microbatches) {
  const ScheduleRule &rule = ruleOf(schedule);
  return rule.stages == ScheduleRule::Stages::One || (groups > 1 && (!rule.inRounds || microbatches % groups == 0));
}

bool maySplitWeights(const PlacementProblem &problem) {
  return std::any_of(problem.schedules.begin(), problem.schedules.end(),
                     [](PipelineSchedule one) { return ruleOf(one).splitsWeights; });
}

} // namespace accord
