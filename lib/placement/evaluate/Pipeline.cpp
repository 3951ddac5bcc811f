#include "lib/placement/evaluate/Pipeline.h"
#include <algorithm>
#include <deque>

namespace accord {
namespace {

class Simulator {
public:
  Simulator(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &edges, bool record)
      : shape_(shape), model_(modelOf(shape.schedule)), stages_(stages), feeds_(edges), fed_(edges.size()),
        record_(record) {
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
        missingForward_[s * m + i] = edges[s].size();
        missingBackward_[s * m + i] = fed_[s].size() + 1; // its own forward
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
        stepTail += stages_[model_.stageOf(g, c, shape_.groups)].stepTail;
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

  size_t at(const PipelinePass &pass) const { return pass.stage * shape_.microbatches + pass.microbatch; }

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

  /// Weight gradients that fit before the next pass can start, or without which too much would be in flight.
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
      if (pass.pass == Pass::Weight) { // after its backward pass, in the order
        note(group, pass, group.free, group.free + stages_[pass.stage].weight);
        release(group, pass.stage);
        continue;
      }
      if ((forward ? missingForward_ : missingBackward_)[at(pass)] > 0)
        return;
      int64_t arrival = (forward ? arrivedForward_ : arrivedBackward_)[at(pass)];
      if (!model_.hasFixedOrder())
        fill(g, pass, arrival);
      const StageTimes &times = stages_[pass.stage];
      int64_t start = std::max(group.free, arrival);
      int64_t end = start + (forward ? times.forward : times.backward + (model_.splitsWeights() ? 0 : times.weight));
      note(group, pass, start, end);
      if (forward) {
        hold(group, pass.stage);
        arrive(missingBackward_, arrivedBackward_, pass, pass.stage, end, g, wake);
        send(pass, fed_[pass.stage], linkForward_[pass.stage], end, true, wake);
      } else {
        if (!model_.hasFixedOrder())
          group.weights.push_back({Pass::Weight, pass.stage, pass.microbatch});
        else if (!model_.splitsWeights())
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
             link, model_.groupOf(other, shape_.groups), wake);
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
  const ScheduleModel &model_;
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

} // namespace accord
