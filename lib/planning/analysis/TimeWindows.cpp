#include "lib/planning/analysis/TimeWindows.h"
#include <algorithm>

namespace accord {
namespace {

constexpr int64_t kNever = MaxPlusMatrix::kNever;
/// Rounds until a fixed point; beyond, zero is taken, which always holds.
constexpr int kRounds = 40;

class Sweep {
public:
  Sweep(const WorkGraph &graph, const Dependences &deps, const std::vector<Picoseconds> &durations,
        const CriticalPath &path)
      : graph_(graph), deps_(deps), durations_(durations), path_(path), owned_(graph.regions.size()),
        head_(graph.values.size()), tail_(graph.values.size()) {
    out.head.resize(graph.operations.size());
    out.tail.resize(graph.operations.size());
    for (ValueId v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].region != kNone)
        owned_[graph.values[v].region].push_back(v);
  }
  void run(RegionId top) {
    std::fill(head_.begin(), head_.end(), 0); // the update finds what the micro-batches made
    forward(top);
    backward(top);
    inside(top);
  }
  TimeWindows out;

private:
  bool outside(RegionId region, ValueId source) const { return graph_.values[source].region != region; }

  /// Arrivals of the region's values from those of its arguments and of what it captures.
  void forward(RegionId region) {
    for (OperationId id : graph_.regions[region].operations) {
      const Operation &op = graph_.operations[id];
      if (op.body == kNone) {
        int64_t start = 0;
        for (ValueId source : deps_.uses[id])
          start = std::max(start, head_[source]);
        out.head[id] = start;
        for (ValueId v : op.results)
          head_[v] = start + durations_[id].value;
        continue;
      }
      const RepeatSummary &s = path_.summaries[id];
      for (ValueId v : op.results)
        head_[v] = 0;
      for (const auto &[value, row] : s.outputs) {
        head_[value] = 0;
        for (size_t q = 0; q < row.size(); ++q)
          if (row[q] != kNever)
            head_[value] = std::max(head_[value], row[q] + (s.ports[q] == kNone ? 0 : head_[s.ports[q]]));
      }
    }
  }

  /// What follows the region's values, from what follows its results; `after` is what follows a
  /// yielded value.
  void backward(RegionId region, const std::vector<std::pair<ValueId, int64_t>> &after = {}) {
    for (ValueId v : owned_[region])
      tail_[v] = 0;
    auto raise = [&](ValueId source, int64_t by) {
      if (!outside(region, source))
        tail_[source] = std::max(tail_[source], by);
    };
    for (auto [source, by] : after)
      raise(source, by);
    const auto &operations = graph_.regions[region].operations;
    for (auto it = operations.rbegin(); it != operations.rend(); ++it) {
      const Operation &op = graph_.operations[*it];
      if (op.body == kNone) {
        int64_t follows = 0;
        for (ValueId v : op.results)
          follows = std::max(follows, tail_[v]);
        out.tail[*it] = follows;
        for (ValueId source : deps_.uses[*it])
          raise(source, durations_[*it].value + follows);
        continue;
      }
      const RepeatSummary &s = path_.summaries[*it];
      for (size_t q = 0; q < s.ports.size(); ++q) {
        if (s.ports[q] == kNone)
          continue;
        int64_t through = std::max<int64_t>(s.done[q], 0);
        for (const auto &[value, row] : s.outputs)
          if (row[q] != kNever)
            through = std::max(through, row[q] + tail_[value]);
        raise(s.ports[q], through);
      }
    }
  }

  /// Bodies, once everything around them is known.
  void inside(RegionId region) {
    for (OperationId id : graph_.regions[region].operations)
      if (RegionId body = graph_.operations[id].body; body != kNone) {
        arrivals(body);
        remainders(body);
        inside(body);
      }
  }

  void arrivals(RegionId region) {
    const Region &r = graph_.regions[region];
    for (const Region::Carried &c : r.carried)
      head_[c.argument] = head_[deps_.source[c.initial]];
    for (const Region::Slice &s : r.unstashed) // only the first iteration waits for the whole stack
      head_[s.inside] = r.count == 1 ? head_[deps_.source[s.stacked]] : 0;
    forward(region);
    bool settled = r.count == 1;
    for (int round = 0; !settled; ++round) {
      settled = true;
      for (const Region::Carried &c : r.carried) {
        int64_t next = round < kRounds ? head_[deps_.source[c.yielded]] : 0;
        if (next < head_[c.argument]) {
          head_[c.argument] = next;
          settled = false;
        }
      }
      if (!settled)
        forward(region);
    }
  }

  void remainders(RegionId region) {
    const Region &r = graph_.regions[region];
    std::vector<std::pair<ValueId, int64_t>> after;
    for (const Region::Carried &c : r.carried)
      after.push_back({deps_.source[c.yielded], tail_[c.result]});
    if (r.count == 1)
      for (const Region::Slice &s : r.stashed)
        after.push_back({deps_.source[s.inside], tail_[s.stacked]});
    backward(region, after);
    bool settled = r.count == 1;
    for (int round = 0; !settled; ++round) {
      settled = true;
      for (size_t k = 0; k < r.carried.size(); ++k) {
        int64_t next = round < kRounds ? tail_[r.carried[k].argument] : 0;
        if (next < after[k].second) {
          after[k].second = next;
          settled = false;
        }
      }
      if (!settled)
        backward(region, after);
    }
  }

  const WorkGraph &graph_;
  const Dependences &deps_;
  const std::vector<Picoseconds> &durations_;
  const CriticalPath &path_;
  std::vector<std::vector<ValueId>> owned_; ///< by RegionId
  std::vector<int64_t> head_, tail_;        ///< by ValueId
};

} // namespace

TimeWindows TimeWindows::of(const WorkGraph &graph, const Dependences &dependences,
                            const std::vector<Picoseconds> &durations, const CriticalPath &path) {
  Sweep sweep(graph, dependences, durations, path);
  sweep.run(kMicrobatchRegion);
  sweep.run(kUpdateRegion);
  return std::move(sweep.out);
}

} // namespace accord
