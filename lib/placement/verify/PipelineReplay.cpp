#include "lib/placement/verify/PipelineReplay.h"
#include <algorithm>
#include <queue>

namespace accord {
namespace {

/// Walks micro-batches in rounds of p, each round through chunk after chunk.
struct Cursor {
  int64_t p, virtualStages, max;
  bool last; ///< chunk first
  int64_t base = 0, microbatch = 0, turn = 0;

  bool done() const { return microbatch >= max; }
  int64_t virtualStage() const { return last ? virtualStages - 1 - turn : turn; }
  void next() {
    if (++microbatch < std::min(base + p, max))
      return;
    microbatch = base;
    if (++turn < virtualStages)
      return;
    turn = 0;
    microbatch = base += p;
  }
};

Cursor cursorOf(const ReplayInput &pipeline, bool backward) {
  return {pipeline.groups, pipeline.virtualStages, pipeline.microbatches, backward};
}

class PipelineReplayer {
public:
  explicit PipelineReplayer(const ReplayInput &pipeline)
      : in(pipeline), stages(pipeline.stages.size()), readers(stages), ports(2 * stages), held(stages),
        inbox(2 * stages * static_cast<size_t>(pipeline.microbatches)) {
    for (uint32_t to = 0; to < stages; ++to)
      for (uint32_t from : in.feeds[to])
        readers[from].push_back(to);
    for (int64_t g = 0; g < in.groups; ++g)
      groups.push_back({windowOf(in, g), cursorOf(in, false), cursorOf(in, true)});
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
      out.ends &= groups[g].backward.done();
      int64_t stepTail = 0;
      for (size_t s = g; s < stages; s += groups.size())
        stepTail += in.stages[s].stepTail;
      out.groupEnd.push_back(groups[g].free + groups[g].owed * in.stages[g].weight);
      out.step = std::max(out.step, out.groupEnd.back() + stepTail);
    }
    return std::move(out);
  }

private:
  struct Group {
    int64_t window;
    Cursor forward, backward;
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

  bool delays() const { return in.schedule == PipelineSchedule::ZeroBubble; }
  Inbox &inboxOf(bool backward, size_t stage, int64_t microbatch) {
    return inbox[(2 * stage + backward) * static_cast<size_t>(in.microbatches) + static_cast<size_t>(microbatch)];
  }

  void pick(size_t g, int64_t now) {
    Group &group = groups[g];
    if (group.busy || group.backward.done())
      return;
    bool backward = group.forward.done() || group.holds >= group.window;
    Cursor &cursor = backward ? group.backward : group.forward;
    size_t stage = static_cast<size_t>(cursor.virtualStage() * in.groups) + g;
    const Inbox &box = inboxOf(backward, stage, cursor.microbatch);
    if (box.have < (backward ? readers[stage].size() + 1 : in.feeds[stage].size()))
      return;
    const StageTimes &times = in.stages[stage];
    if (delays()) { // the group knows now what it had time for
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
    int64_t takes = backward ? times.backward + (delays() ? 0 : times.weight) : times.forward;
    group.free = std::max(group.free, std::max(now, box.since)) + takes;
    events.push({group.free, true, backward, stage, cursor.microbatch});
    cursor.next();
  }

  void end(const Event &event) {
    size_t g = event.stage % groups.size();
    Group &group = groups[g];
    group.busy = false;
    if (event.isBackward) {
      --group.holds;
      delays() ? ++group.owed : --held[event.stage];
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
    pick(event.stage % groups.size(), event.time);
  }

  const ReplayInput &in;
  size_t stages;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<int64_t> ports, held;
  std::vector<Inbox> inbox;
  std::vector<Group> groups;
  std::priority_queue<Event> events;
  PipelineReplay out;
};

} // namespace

int64_t windowOf(const ReplayInput &pipeline, int64_t group) {
  int64_t after = pipeline.groups - 1 - group;
  switch (pipeline.schedule) {
  case PipelineSchedule::GPipe:
    return pipeline.microbatches * pipeline.virtualStages;
  case PipelineSchedule::OneFOneB:
  case PipelineSchedule::ZeroBubble:
    return after + 1;
  case PipelineSchedule::Interleaved:
    return 2 * after + (pipeline.virtualStages - 1) * pipeline.groups + 1;
  }
  return 1;
}

namespace {

/// What a group's chunks hold after each of its forward passes, which run `window` ahead.
template <typename Look> void eachMoment(const ReplayInput &pipeline, int64_t group, Look look) {
  std::vector<int64_t> held(static_cast<size_t>(pipeline.virtualStages));
  if (pipeline.virtualStages == 1) {
    held[0] = std::min(pipeline.microbatches,
                       pipeline.schedule == PipelineSchedule::ZeroBubble ? pipeline.groups : windowOf(pipeline, group));
    look(held);
    return;
  }
  Cursor forward = cursorOf(pipeline, false), backward = cursorOf(pipeline, true);
  for (int64_t ahead = 0, window = windowOf(pipeline, group); !forward.done(); forward.next()) {
    if (ahead == window)
      --held[static_cast<size_t>(backward.virtualStage())], backward.next(), --ahead;
    ++ahead;
    ++held[static_cast<size_t>(forward.virtualStage())];
    look(held);
  }
}

} // namespace

std::vector<int64_t> roomOf(const ReplayInput &pipeline) {
  auto p = static_cast<size_t>(pipeline.groups);
  std::vector<int64_t> room(p * static_cast<size_t>(pipeline.virtualStages));
  for (size_t g = 0; g < p; ++g)
    eachMoment(pipeline, static_cast<int64_t>(g), [&](const std::vector<int64_t> &held) {
      for (size_t c = 0; c < held.size(); ++c)
        room[c * p + g] = std::max(room[c * p + g], held[c]);
    });
  return room;
}

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
  Cursor forward = cursorOf(pipeline, false), backward = cursorOf(pipeline, true);
  for (int64_t k = 0, window = windowOf(pipeline, group); k < passes && !forward.done(); ++k) {
    if (k >= window)
      --held[backward.virtualStage()], backward.next();
    ++held[forward.virtualStage()], forward.next();
  }
  return held;
}

std::vector<ReplayPass> orderOf(const ReplayInput &pipeline, int64_t group) {
  std::vector<ReplayPass> order;
  Cursor forward = cursorOf(pipeline, false), backward = cursorOf(pipeline, true);
  for (int64_t holds = 0, window = windowOf(pipeline, group); !backward.done();) {
    bool back = forward.done() || holds >= window;
    Cursor &cursor = back ? backward : forward;
    holds += back ? -1 : 1;
    order.push_back({static_cast<size_t>(cursor.virtualStage() * pipeline.groups + group), back, cursor.microbatch});
    cursor.next();
  }
  return order;
}

PipelineReplay replay(const ReplayInput &pipeline) { return PipelineReplayer(pipeline).run(); }

} // namespace accord
