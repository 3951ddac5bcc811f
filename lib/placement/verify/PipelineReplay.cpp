#include "lib/placement/verify/PipelineReplay.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <queue>

namespace accord {
namespace {

class PipelineReplayer {
public:
  explicit PipelineReplayer(const ReplayInput &pipeline)
      : in(pipeline), rule(ruleOf(pipeline.schedule)), stages(pipeline.stages.size()), readers(stages),
        ports(2 * stages), held(stages), inbox(2 * stages * pipeline.microbatches) {
    for (uint32_t to = 0; to < stages; ++to)
      for (uint32_t from : in.feeds[to])
        readers[from].push_back(to);
    for (int64_t g = 0; g < in.groups; ++g)
      groups.push_back({rule.order(in, g)});
    out.inFlight.resize(stages);
  }

  PipelineReplay run() {
    for (size_t g = 0; g < groups.size(); ++g)
      pick(g, 0);
    while (!events.empty()) {
      Event event = events.top();
      events.pop();
      if (event.ends)
        end(event);
      else
        arrive(event);
    }
    out.ends = true;
    for (size_t g = 0; g < groups.size(); ++g) {
      out.ends &= groups[g].next == groups[g].order.size();
      int64_t stepTail = 0;
      for (size_t s = 0; s < stages; ++s)
        stepTail += groupOf(s) == g ? in.stages[s].stepTail : 0;
      out.groupEnd.push_back(groups[g].free + groups[g].owed * in.stages[g].weight);
      out.step = std::max(out.step, out.groupEnd.back() + stepTail);
    }
    return std::move(out);
  }

private:
  struct Group {
    std::vector<ReplayPass> order;
    size_t next = 0;
    int64_t holds = 0; ///< forward without backward
    int64_t owed = 0;  ///< weight gradients
    int64_t free = 0;
    bool busy = false;
  };
  struct Event {
    int64_t time;
    bool ends; ///< a pass of the stage, else something for it arrives
    bool isBackward;
    size_t stage;
    int64_t microbatch;
    bool operator<(const Event &other) const { return time > other.time; } // earliest on top
  };
  struct Inbox {
    size_t have = 0;
    int64_t since = 0;
  };

  size_t groupOf(size_t stage) const { return rule.groupOf(stage, groups.size()); }
  Inbox &inboxOf(bool backward, size_t stage, int64_t microbatch) {
    return inbox[(2 * stage + backward) * in.microbatches + microbatch];
  }

  void pick(size_t g, int64_t now) {
    Group &group = groups[g];
    if (group.busy)
      return;
    for (; group.next < group.order.size() && group.order[group.next].weight; ++group.next) {
      size_t stage = group.order[group.next].stage;
      group.free += in.stages[stage].weight;
      --held[stage];
    }
    if (group.next == group.order.size())
      return;
    auto [stage, backward, microbatch, weight] = group.order[group.next];
    const Inbox &box = inboxOf(backward, stage, microbatch);
    if (box.have < (backward ? readers[stage].size() + 1 : in.feeds[stage].size()))
      return;
    const StageTimes &times = in.stages[stage];
    if (rule.delaysWeights) { // the group knows now what it had time for
      int64_t room = std::min(in.microbatches, in.groups);
      while (group.owed > 0 &&
             ((!backward && group.holds + group.owed >= room) || group.free + times.weight <= box.since)) {
        --group.owed;
        --held[stage];
        group.free += times.weight;
      }
    }
    group.busy = true;
    if (!backward)
      ++group.holds, out.inFlight[stage] = std::max(out.inFlight[stage], ++held[stage]);
    int64_t takes = backward ? times.backward + (rule.splitsWeights ? 0 : times.weight) : times.forward;
    group.free = std::max(group.free, std::max(now, box.since)) + takes;
    events.push({group.free, true, backward, stage, microbatch});
    ++group.next;
  }

  void end(const Event &event) {
    size_t g = groupOf(event.stage);
    Group &group = groups[g];
    group.busy = false;
    if (event.isBackward) {
      --group.holds;
      if (rule.delaysWeights)
        ++group.owed;
      else if (!rule.splitsWeights)
        --held[event.stage];
    } else {
      deliver(event, event.stage, event.time);
    }
    for (uint32_t other : event.isBackward ? in.feeds[event.stage] : readers[event.stage]) {
      int64_t &port = ports[2 * event.stage + event.isBackward];
      port = std::max(port, event.time) + in.stages[std::min<size_t>(event.stage, other)].send;
      deliver(event, other, port);
    }
    pick(g, event.time);
  }

  /// Its own output is what a stage's backward pass needs, too.
  void deliver(const Event &of, size_t to, int64_t when) {
    events.push({when, false, of.isBackward || to == of.stage, to, of.microbatch});
  }

  void arrive(const Event &event) {
    Inbox &box = inboxOf(event.isBackward, event.stage, event.microbatch);
    ++box.have;
    box.since = event.time;
    pick(groupOf(event.stage), event.time);
  }

  const ReplayInput &in;
  const ScheduleRule &rule;
  size_t stages;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<int64_t> ports, held;
  std::vector<Inbox> inbox;
  std::vector<Group> groups;
  std::priority_queue<Event> events;
  PipelineReplay out;
};

/// What a group's virtual stages hold after each of its forward passes, which run `window` ahead.
template <typename Look> void eachMoment(const ReplayInput &pipeline, int64_t group, Look look) {
  const ScheduleRule &rule = ruleOf(pipeline.schedule);
  std::vector<int64_t> held(pipeline.virtualStages);
  if (rule.held) {
    held[0] = rule.held(pipeline.microbatches, pipeline.groups, pipeline.groups - group);
    look(held);
    return;
  }
  for (const ReplayPass &pass : rule.order(pipeline, group)) {
    int64_t &mine = held[pass.stage / pipeline.groups];
    if (!pass.backward && !pass.weight)
      ++mine, look(held);
    else if (pass.weight == rule.splitsWeights)
      --mine;
  }
}

} // namespace

std::pair<int64_t, std::vector<int64_t>> peakOf(const ReplayInput &pipeline, int64_t group,
                                                const std::vector<int64_t> &activations) {
  std::pair<int64_t, std::vector<int64_t>> max{-1, {}};
  eachMoment(pipeline, group, [&](const std::vector<int64_t> &held) {
    int64_t bytes = 0;
    for (size_t c = 0; c < held.size(); ++c)
      bytes += held[c] * activations[c];
    if (bytes > max.first || (bytes == max.first && held > max.second))
      max = {bytes, held};
  });
  return max;
}

std::vector<int64_t> heldAfter(const ReplayInput &pipeline, int64_t group, int64_t passes) {
  std::vector<int64_t> held(pipeline.virtualStages);
  RoundCursor forward = cursorOf(pipeline, false), backward = cursorOf(pipeline, true);
  for (int64_t k = 0, window = ruleOf(pipeline.schedule).window(pipeline, group); k < passes && !forward.done(); ++k) {
    if (k >= window)
      --held[backward.virtualStage()], backward.next();
    ++held[forward.virtualStage()], forward.next();
  }
  return held;
}

std::vector<ReplayPass> orderOf(const ReplayInput &pipeline, int64_t group) {
  return ruleOf(pipeline.schedule).order(pipeline, group);
}

PipelineReplay replay(const ReplayInput &pipeline) { return PipelineReplayer(pipeline).run(); }

} // namespace accord
