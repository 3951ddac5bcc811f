#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {

int64_t all(const ReplayInput &pipeline, int64_t) { return pipeline.microbatches * pipeline.virtualStages; }
int64_t toTheEnd(const ReplayInput &pipeline, int64_t group) { return pipeline.groups - group; }
int64_t rounds(const ReplayInput &pipeline, int64_t group) {
  return 2 * (pipeline.groups - 1 - group) + (pipeline.virtualStages - 1) * pipeline.groups + 1;
}

/// ZB-V, by counting: `first` and `second` are forward, backward and weight passes of a group's two stages.
class VOrder {
public:
  VOrder(const ReplayInput &pipeline, int64_t group)
      : in_(pipeline), all_(std::max(pipeline.microbatches, 2 * pipeline.groups - 1)),
        near_(static_cast<size_t>(group)), far_(static_cast<size_t>(2 * pipeline.groups - 1 - group)) {
    int64_t ahead = 2 * (in_.groups - group) - 1;
    while (first_.forward < ahead)
      forward(first_, near_);
    while (first_.forward < ahead + group)
      forward(second_, far_), forward(first_, near_);
    while (second_.forward < in_.groups)
      forward(second_, far_), backward(second_, far_), weight(second_, far_);
    while (second_.forward < all_) {
      if (first_.forward < all_)
        forward(first_, near_);
      backward(first_, near_), weight(first_, near_);
      forward(second_, far_), backward(second_, far_), weight(second_, far_);
    }
    while (second_.backward < all_)
      backward(first_, near_), backward(second_, far_);
    while (first_.backward < all_)
      backward(first_, near_), weight(first_, near_);
    while (second_.weight < all_)
      weight(second_, far_);
    while (first_.weight < all_)
      weight(first_, near_);
  }
  std::vector<ReplayPass> order;

private:
  struct Done {
    int64_t forward = 0, backward = 0, weight = 0;
  };
  void add(ReplayPass pass) {
    if (pass.microbatch < in_.microbatches)
      order.push_back(pass);
  }
  void forward(Done &done, size_t stage) { add({stage, false, done.forward++}); }
  void backward(Done &done, size_t stage) { add({stage, true, done.backward++}); }
  void weight(Done &done, size_t stage) { add({stage, false, done.weight++, true}); }

  const ReplayInput &in_;
  int64_t all_;
  size_t near_, far_;
  Done first_, second_;
};

} // namespace

std::vector<ReplayPass> orderByWindow(const ReplayInput &pipeline, int64_t group) {
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
  static const std::map<PipelineSchedule, ScheduleRule> rules{
      {PipelineSchedule::GPipe,
       {.label = "GPipe", .turnsAtEnd = true, .window = all, .held = [](int64_t m, int64_t, int64_t) { return m; }}},
      {PipelineSchedule::OneFOneB,
       {.label = "1F1B",
        .window = toTheEnd,
        .held = [](int64_t m, int64_t, int64_t behind) { return std::min(m, behind); }}},
      {PipelineSchedule::Interleaved,
       {.label = "interleaved 1F1B", .stages = ScheduleRule::Stages::Listed, .inRounds = true, .window = rounds}},
      {PipelineSchedule::ZeroBubble,
       {.label = "ZB-H1",
        .splitsWeights = true,
        .delaysWeights = true,
        .window = toTheEnd,
        .held = [](int64_t m, int64_t groups, int64_t) { return std::min(m, groups); }}},
      {PipelineSchedule::ZeroBubbleV,
       {.label = "ZB-V",
        .stages = ScheduleRule::Stages::Two,
        .splitsWeights = true,
        .groupOf = [](size_t stage, size_t groups) { return std::min(stage, 2 * groups - 1 - stage); },
        .order = [](const ReplayInput &pipeline, int64_t group) { return VOrder(pipeline, group).order; }}},
  };
  return rules.at(schedule);
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
