#include "lib/placement/evaluate/Pipeline.h"
#include <algorithm>
#include <deque>
#include <numeric>

namespace accord {
namespace {

/// The k-th forward pass of a group that interleaves: p micro-batches through one chunk, then
/// through the next. Backward likewise, the last chunk first.
PipelinePass interleaved(const PipelineShape &shape, int64_t group, Pass pass, int64_t k) {
  int64_t p = shape.groups, round = p * shape.virtualStages;
  int64_t virtualStage = k % round / p, microbatch = k / round * p + k % p;
  if (pass == Pass::Backward)
    virtualStage = shape.virtualStages - 1 - virtualStage;
  return {pass, static_cast<uint32_t>(virtualStage * p + group), static_cast<uint32_t>(microbatch)};
}

int64_t warmUpOf(const PipelineShape &shape, int64_t group) {
  int64_t all = shape.microbatches * shape.virtualStages, behind = shape.groups - group - 1;
  switch (shape.schedule) {
  case PipelineSchedule::GPipe:
    return all;
  case PipelineSchedule::OneFOneB:
  case PipelineSchedule::ZeroBubble:
    return std::min(all, behind);
  case PipelineSchedule::Interleaved:
    return std::min(all, 2 * behind + (shape.virtualStages - 1) * shape.groups);
  }
  return all;
}

class Simulator {
public:
  Simulator(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &edges, bool record)
      : shape_(shape), stages_(stages), feeds_(edges), fed_(edges.size()), record_(record) {
    size_t m = shape.microbatches;
    for (uint32_t to = 0; to < edges.size(); ++to)
      for (uint32_t from : edges[to])
        fed_[from].push_back(to);
    for (int64_t g = 0; g < shape.groups; ++g)
      groups_.push_back({passesOf(shape, g), 0, 0, {}, 0, {}});
    // Arrival of each transfer, by receiving pass: the latest of all that it waits for.
    arrivedForward_.resize(edges.size() * m);
    arrivedBackward_.resize(edges.size() * m);
    missingForward_.resize(edges.size() * m);
    missingBackward_.resize(edges.size() * m);
    for (size_t s = 0; s < edges.size(); ++s)
      for (size_t i = 0; i < m; ++i) {
        missingForward_[s * m + i] = static_cast<uint32_t>(edges[s].size());
        missingBackward_[s * m + i] = static_cast<uint32_t>(fed_[s].size() + 1); // its own forward
      }
    linkForward_.resize(edges.size());
    linkBackward_.resize(edges.size());
    held_.resize(edges.size());
    run_.inFlight.resize(edges.size());
  }

  PipelineRun run() {
    std::deque<size_t> ready;
    std::vector<char> queued(groups_.size(), 1);
    for (size_t g = 0; g < groups_.size(); ++g)
      ready.push_back(g);
    while (!ready.empty()) {
      size_t g = ready.front();
      ready.pop_front();
      queued[g] = 0;
      advance(g, [&](size_t other) {
        if (!queued[other])
          queued[other] = 1, ready.push_back(other);
      });
    }
    run_.groupEnd.resize(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group &group = groups_[g];
      while (!group.weights.empty())
        weight(g);
      int64_t stepTail = 0;
      for (int64_t c = 0; c < shape_.virtualStages; ++c)
        stepTail += stages_[static_cast<size_t>(c * shape_.groups) + g].stepTail;
      run_.groupEnd[g] = group.free;
      run_.step = std::max(run_.step, group.free + stepTail);
      if (record_)
        run_.passes.push_back(std::move(group.done));
    }
    return std::move(run_);
  }

private:
  struct Group {
    std::vector<PipelinePass> order;
    size_t next = 0;
    int64_t free = 0;
    std::deque<PipelinePass> weights; ///< that may run
    int64_t held = 0;                 ///< micro-batches in flight
    std::vector<SimulatedPass> done;
  };

  size_t at(const PipelinePass &pass) const {
    return pass.stage * static_cast<size_t>(shape_.microbatches) + pass.microbatch;
  }
  bool splits() const { return shape_.schedule == PipelineSchedule::ZeroBubble; }

  void note(Group &group, const PipelinePass &pass, int64_t start, int64_t end) {
    group.free = end;
    if (record_)
      group.done.push_back({pass, start, end});
  }

  void weight(size_t g) {
    Group &group = groups_[g];
    PipelinePass pass = group.weights.front();
    group.weights.pop_front();
    note(group, pass, group.free, group.free + stages_[pass.stage].weight);
    release(group, pass.stage);
  }

  void hold(Group &group, uint32_t stage) {
    ++group.held;
    run_.inFlight[stage] = std::max(run_.inFlight[stage], ++held_[stage]);
  }
  void release(Group &group, uint32_t stage) {
    --group.held;
    --held_[stage];
  }

  /// Weight gradients that fit before the next pass can start, or without which too much would be
  /// in flight.
  void fill(size_t g, const PipelinePass &next, int64_t arrival) {
    Group &group = groups_[g];
    int64_t max = std::min(shape_.microbatches, shape_.groups);
    while (!group.weights.empty() && ((next.pass == Pass::Forward && group.held >= max) ||
                                      group.free + stages_[group.weights.front().stage].weight <= arrival))
      weight(g);
  }

  template <typename Wake> void advance(size_t g, Wake wake) {
    Group &group = groups_[g];
    for (; group.next < group.order.size(); ++group.next) {
      PipelinePass pass = group.order[group.next];
      bool forward = pass.pass == Pass::Forward;
      if ((forward ? missingForward_ : missingBackward_)[at(pass)] > 0)
        return;
      int64_t arrival = (forward ? arrivedForward_ : arrivedBackward_)[at(pass)];
      if (splits())
        fill(g, pass, arrival);
      const StageTimes &times = stages_[pass.stage];
      int64_t start = std::max(group.free, arrival);
      int64_t end = start + (forward ? times.forward : times.backward + (splits() ? 0 : times.weight));
      note(group, pass, start, end);
      if (forward) {
        hold(group, pass.stage);
        arrive(missingBackward_, arrivedBackward_, pass, pass.stage, end, g, wake);
        send(pass, fed_[pass.stage], linkForward_[pass.stage], end, true, wake);
      } else {
        if (splits())
          group.weights.push_back({Pass::Weight, pass.stage, pass.microbatch});
        else
          release(group, pass.stage);
        send(pass, feeds_[pass.stage], linkBackward_[pass.stage], end, false, wake);
      }
    }
  }

  template <typename Wake>
  void send(const PipelinePass &pass, const std::vector<uint32_t> &to, int64_t &link, int64_t end, bool forward,
            Wake wake) {
    for (uint32_t other : to) {
      // The boundary is that behind the earlier stage.
      int64_t takes = stages_[forward ? pass.stage : other].send;
      link = std::max(link, end) + takes;
      arrive(forward ? missingForward_ : missingBackward_, forward ? arrivedForward_ : arrivedBackward_, pass, other,
             link, other % static_cast<size_t>(shape_.groups), wake);
    }
  }

  template <typename Wake>
  void arrive(std::vector<uint32_t> &missing, std::vector<int64_t> &arrived, const PipelinePass &pass, uint32_t stage,
              int64_t when, size_t group, Wake wake) {
    size_t index = at({pass.pass, stage, pass.microbatch});
    arrived[index] = std::max(arrived[index], when);
    if (--missing[index] == 0)
      wake(group);
  }

  const PipelineShape &shape_;
  const std::vector<StageTimes> &stages_;
  const StageEdges &feeds_;
  StageEdges fed_;
  bool record_;
  std::vector<Group> groups_;
  std::vector<int64_t> arrivedForward_, arrivedBackward_;
  std::vector<uint32_t> missingForward_, missingBackward_;
  std::vector<int64_t> linkForward_, linkBackward_; ///< when free, by sending stage
  std::vector<int64_t> held_;
  PipelineRun run_;
};

} // namespace

const char *name(PipelineSchedule schedule) {
  switch (schedule) {
  case PipelineSchedule::GPipe:
    return "gpipe";
  case PipelineSchedule::OneFOneB:
    return "one_f_one_b";
  case PipelineSchedule::Interleaved:
    return "interleaved";
  case PipelineSchedule::ZeroBubble:
    return "zero_bubble";
  }
  return "one_f_one_b";
}

std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) {
  int64_t all = shape.microbatches * shape.virtualStages, warm = warmUpOf(shape, group);
  auto pass = [&](Pass kind, int64_t k) {
    return shape.virtualStages > 1 ? interleaved(shape, group, kind, k)
                                   : PipelinePass{kind, static_cast<uint32_t>(group), static_cast<uint32_t>(k)};
  };
  std::vector<PipelinePass> order;
  order.reserve(2 * all);
  for (int64_t k = 0; k < warm; ++k)
    order.push_back(pass(Pass::Forward, k));
  for (int64_t k = warm; k < all; ++k) {
    order.push_back(pass(Pass::Forward, k));
    order.push_back(pass(Pass::Backward, k - warm));
  }
  for (int64_t k = all - warm; k < all; ++k)
    order.push_back(pass(Pass::Backward, k));
  return order;
}

std::vector<std::vector<int64_t>> inFlightStatesOf(const PipelineShape &shape, int64_t group) {
  int64_t m = shape.microbatches, p = shape.groups, v = shape.virtualStages;
  if (v == 1) {
    int64_t window = shape.schedule == PipelineSchedule::GPipe        ? m
                     : shape.schedule == PipelineSchedule::ZeroBubble ? p
                                                                      : p - group;
    return {{std::min(m, window)}};
  }
  int64_t all = m * v, round = p * v, warm = warmUpOf(shape, group);
  auto done = [&](int64_t passes, int64_t turn) { // of the chunk whose turn it is
    return passes / round * p + std::clamp<int64_t>(passes % round - turn * p, 0, p);
  };
  auto after = [&](int64_t forward, int64_t backward) {
    std::vector<int64_t> held;
    for (int64_t c = 0; c < v; ++c)
      held.push_back(done(forward, c) - done(backward, v - 1 - c));
    return held;
  };
  if (warm >= all)
    return {after(all, 0)};
  // Each backward pass after the first is followed by a forward pass. One chunk loses what another
  // one gains until one of both has had its p micro-batches; after a round all is as before.
  std::vector<std::vector<int64_t>> found, held;
  int64_t last = std::min(all - warm - 1, round), ahead = warm + 1;
  for (int64_t k = 0; k < last; k += p) {
    found.push_back(after(k + ahead, k));
    if (int64_t turns = k + p - ahead % p; turns < last)
      found.push_back(after(turns + ahead, turns));
  }
  found.push_back(after(last + ahead, last));
  auto below = [](const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](int64_t x, int64_t y) { return x <= y; });
  };
  for (size_t i = 0; i < found.size(); ++i) {
    bool of = false;
    for (size_t j = 0; j < found.size() && !of; ++j)
      of = i != j && below(found[i], found[j]) && (found[i] != found[j] || j < i);
    if (!of)
      held.push_back(found[i]);
  }
  return held;
}

std::vector<int64_t> inFlightOf(const PipelineShape &shape) {
  std::vector<std::vector<std::vector<int64_t>>> all;
  for (int64_t g = 0; g < shape.groups; ++g)
    all.push_back(inFlightStatesOf(shape, g));
  return inFlightOf(shape, all);
}

std::vector<int64_t> inFlightOf(const PipelineShape &shape,
                                const std::vector<std::vector<std::vector<int64_t>>> &byGroup) {
  std::vector<int64_t> max(shape.groups * shape.virtualStages);
  for (int64_t g = 0; g < shape.groups; ++g)
    for (const auto &held : byGroup[g])
      for (size_t c = 0; c < held.size(); ++c) {
        int64_t &mine = max[c * static_cast<size_t>(shape.groups) + static_cast<size_t>(g)];
        mine = std::max(mine, held[c]);
      }
  return max;
}

std::vector<int64_t> peakOf(const std::vector<std::vector<int64_t>> &held, const std::vector<int64_t> &activations) {
  std::pair<int64_t, std::vector<int64_t>> max{-1, {}};
  for (const auto &one : held)
    max = std::max(max, {std::inner_product(one.begin(), one.end(), activations.begin(), int64_t(0)), one});
  return max.second;
}

PipelineRun simulate(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &edges,
                     bool record) {
  return Simulator(shape, stages, edges, record).run();
}

StageEdges chainOf(size_t stages) {
  StageEdges edges(stages);
  for (uint32_t s = 1; s < stages; ++s)
    edges[s].push_back(s - 1);
  return edges;
}

double closedForm(const PipelineShape &shape, double forward, double backward, double weight) {
  double m = shape.microbatches, p = shape.groups;
  if (shape.schedule == PipelineSchedule::ZeroBubble)
    return m * (forward + backward + weight) + (p - 1) * (forward + backward - weight);
  return (m + (p - 1) / shape.virtualStages) * (forward + backward + weight);
}

} // namespace accord
