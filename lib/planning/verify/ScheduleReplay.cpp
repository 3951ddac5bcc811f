#include "lib/planning/verify/ScheduleReplay.h"
#include <algorithm>
#include <deque>

namespace accord {
namespace {

/// A value at one moment: when it is there, who made it, which buffer holds it (-1: none that
/// counts).
struct Instance {
  int64_t ready = 0;
  OperationId producer = kNone;
  uint32_t execution = kNone; ///< the maker's place in the list
  int buffer = -1;
  /// Of a stack: what each walked iteration stashed (a stack again, in a repeat around the repeat).
  const std::vector<Instance> *slices = nullptr;
  bool there = false;
  bool reverse = false; ///< the stack was filled from the last slice to the first
};

class ScheduleReplayer {
public:
  ScheduleReplayer(const WorkGraph &graph, const Schedule &schedule, const std::vector<int64_t> &durations, Clock clock,
                   int64_t maxIterations)
      : graph_(graph), durations_(durations), clock_(clock), maxIterations_(maxIterations),
        start_(graph.operations.size()), length_(graph.regions.size()), overhang_(graph.regions.size()),
        owned_(graph.regions.size()), now_(graph.values.size()) {
    if (clock == Clock::Scheduled)
      for (RegionId r = 0; r < graph.regions.size(); ++r) {
        length_[r] = schedule.regions[r].length.value;
        overhang_[r] = schedule.regions[r].overhang.value;
        for (const Slot &slot : schedule.regions[r].slots)
          start_[slot.operation] = slot.start.value;
      }
    std::vector<bool> made(graph.values.size());
    for (const Operation &op : graph.operations)
      for (ValueId v : op.results)
        made[v] = true;
    for (ValueId v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].region != kNone)
        owned_[graph.values[v].region].push_back({v, !made[v] && graph.values[v].alias == kNone});
  }

  void region(RegionId r, int64_t at) {
    for (auto [value, there] : owned_[r])
      if (there && !now_[value].there)
        now_[value] = {clock_ == Clock::Scheduled ? at : 0, kNone, kNone, buffer(value, at), nullptr, true};
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      if (op.body != kNone) {
        repeat(id, at + start_[id]);
        continue;
      }
      Execution e{id, 0, 0, 0, static_cast<uint32_t>(out.producers.size()), 0, kNone};
      for (ValueId v : op.operands)
        if (auto instance = find(v)) {
          if (clock_ == Clock::Earliest)
            addProducers(*instance);
          if (instance->ready > e.ready) {
            e.ready = instance->ready;
            e.last = instance->producer;
          }
        }
      e.producersEnd = out.producers.size();
      e.start = clock_ == Clock::Scheduled ? at + start_[id] : e.ready;
      e.end = e.start + durations_[id];
      bool view = op.core == CoreKind::None;
      for (ValueId v : op.results)
        view &= graph_.values[v].alias != kNone;
      if (!view)
        for (ValueId v : op.operands)
          hold(v, e.end);
      for (ValueId v : op.results) {
        Instance made{e.end, id, static_cast<uint32_t>(out.executions.size()), -1, nullptr, true};
        if (ValueId of = graph_.values[v].alias; of == kNone)
          made.buffer = buffer(v, e.start);
        else if (auto base = find(of)) {
          made.buffer = base->buffer;
          made.slices = base->slices;
          made.reverse = base->reverse;
        }
        now_[v] = made;
        if (!view)
          hold(v, e.end);
      }
      out.end = std::max(out.end, e.end);
      out.executions.push_back(e);
    }
  }

  ScheduleReplay out;

private:
  /// A stack that is read as a whole was made by all who made its slices.
  void addProducers(const Instance &instance) {
    if (instance.execution != kNone)
      out.producers.push_back(instance.execution);
    else if (instance.slices)
      for (const Instance &slice : *instance.slices)
        addProducers(slice);
  }
  const Instance *find(ValueId v) const {
    for (; v != kNone; v = graph_.values[v].alias)
      if (now_[v].there)
        return &now_[v];
    return nullptr;
  }
  int buffer(ValueId v, int64_t at) {
    const Value &value = graph_.values[v];
    if (value.category == Category::Weights || value.category == Category::Gradients ||
        value.category == Category::OptimizerStates)
      return -1; // in the residents
    out.buffers.push_back({value.bytes, value.category, at, at});
    return out.buffers.size() - 1;
  }
  void holdBuffer(int buffer, int64_t until) {
    if (buffer >= 0)
      out.buffers[buffer].to = std::max(out.buffers[buffer].to, until);
  }
  /// A stack is held slice by slice.
  void hold(const Instance &instance, int64_t until) {
    holdBuffer(instance.buffer, until);
    if (instance.slices)
      for (const Instance &slice : *instance.slices)
        hold(slice, until);
  }
  void hold(ValueId v, int64_t until) {
    if (auto instance = find(v))
      hold(*instance, until);
  }

  /// Which of the walked iterations it is; -1: it is left out.
  int64_t replayedIndex(int64_t iteration, int64_t count) const {
    if (count <= maxIterations_ || iteration < maxIterations_ / 2)
      return iteration;
    return iteration < count - maxIterations_ / 2 ? -1 : iteration - (count - maxIterations_ / 2) + maxIterations_ / 2;
  }

  void repeat(OperationId id, int64_t at) {
    RegionId r = graph_.operations[id].body;
    const Region &body = graph_.regions[r];
    std::vector<Instance> carried(body.carried.size()), next(body.carried.size());
    for (size_t k = 0; k < carried.size(); ++k)
      if (auto initial = find(body.carried[k].initial))
        carried[k] = *initial;
    std::vector<std::vector<Instance>> stashes(body.stashed.size());
    int64_t before = out.end;
    out.end = 0;
    for (int64_t i = 0; i < body.count; ++i) {
      if (replayedIndex(i, body.count) < 0) {
        i = body.count - maxIterations_ / 2;
        out.complete = false;
      }
      for (auto [value, there] : owned_[r])
        now_[value].there = false;
      for (size_t k = 0; k < carried.size(); ++k) {
        now_[body.carried[k].argument] = carried[k];
        now_[body.carried[k].argument].there = true;
      }
      for (const Region::Slice &s : body.unstashed) {
        Instance slice;
        if (auto stack = find(s.stacked); stack && stack->slices) {
          bool oldest = stack->reverse == body.reverse; // first
          int64_t index = replayedIndex(oldest ? i : body.count - 1 - i, body.count);
          if (index >= 0 && index < std::ssize(*stack->slices))
            slice = (*stack->slices)[index];
        } else if (stack) {
          slice = *stack;
        }
        slice.there = true;
        now_[s.inside] = slice;
      }
      region(r, at + i * length_[r]);
      for (size_t k = 0; k < carried.size(); ++k) {
        auto yielded = find(body.carried[k].yielded);
        next[k] = yielded ? *yielded : Instance{};
      }
      carried.swap(next);
      for (size_t k = 0; k < stashes.size(); ++k) {
        auto inside = find(body.stashed[k].inside);
        stashes[k].push_back(inside ? *inside : Instance{});
      }
    }
    // What leaves the repeat was made by it, as its parent sees it. As a whole it is there when the
    // repeat has ended.
    int64_t last = clock_ == Clock::Scheduled ? at + body.count * length_[r] + overhang_[r] : out.end;
    for (ValueId v : graph_.operations[id].results)
      now_[v] = {last, id, kNone, -1, nullptr, true};
    for (size_t k = 0; k < stashes.size(); ++k) {
      int64_t ready = 0;
      for (const Instance &slice : stashes[k])
        ready = std::max(ready, slice.ready);
      stacks_.push_back(std::move(stashes[k]));
      now_[body.stashed[k].stacked] = {ready, id, kNone, -1, &stacks_.back(), true, body.reverse};
    }
    for (size_t k = 0; k < carried.size(); ++k)
      now_[body.carried[k].result] = {carried[k].ready,  id,   carried[k].execution, carried[k].buffer,
                                      carried[k].slices, true, carried[k].reverse};
    out.end = std::max(before, out.end);
  }

  const WorkGraph &graph_;
  const std::vector<int64_t> &durations_;
  Clock clock_;
  int64_t maxIterations_;
  std::vector<int64_t> start_, length_, overhang_;
  std::vector<std::vector<std::pair<ValueId, bool>>>
      owned_;                 ///< by region: its values, and whether they are there from the start
  std::vector<Instance> now_; ///< by ValueId
  std::deque<std::vector<Instance>> stacks_;
};

/// Executions when repeats are cut to `most` iterations.
double executionsOf(const WorkGraph &graph, RegionId r, int64_t maxIterations) {
  double sum = 0;
  for (OperationId id : graph.regions[r].operations)
    if (RegionId body = graph.operations[id].body; body == kNone)
      sum += 1;
    else
      sum += std::min(graph.regions[body].count, maxIterations) * executionsOf(graph, body, maxIterations);
  return sum;
}

} // namespace

ScheduleReplay replaySchedule(const WorkGraph &graph, const Schedule &schedule, const std::vector<int64_t> &durations,
                              Clock clock, const std::vector<RegionId> &regions) {
  constexpr double kMaxExecutions = 1000000;
  int64_t maxIterations = INT64_MAX;
  auto size = [&] {
    double sum = 0;
    for (RegionId r : regions)
      sum += executionsOf(graph, r, maxIterations);
    return sum;
  };
  for (int64_t cut = int64_t{1} << 20; cut >= 2 && size() > kMaxExecutions; cut /= 2)
    maxIterations = cut;
  ScheduleReplayer replayer(graph, schedule, durations, clock, maxIterations);
  for (RegionId r : regions) {
    int64_t at = 0;
    if (r == kUpdateRegion && regions.size() > 1)
      at = graph.microbatches * schedule.regions[kMicrobatchRegion].length.value;
    replayer.region(r, at);
  }
  return std::move(replayer.out);
}

} // namespace accord
