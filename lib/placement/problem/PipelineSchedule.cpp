// One class for each schedule. A new one is an enumerator, a class here, and its rule in verify/ScheduleRules.cpp.
#include "lib/placement/problem/PipelineSchedule.h"
#include "lib/placement/problem/Placement.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <numeric>

namespace accord {
namespace {

using VirtualStages = ScheduleModel::VirtualStages;
using WeightGradients = ScheduleModel::WeightGradients;

/// Forward passes alone, then a forward and a backward pass in turn, then backward passes alone: `pass(kind, k)` is the
/// k-th forward or backward pass of the group.
template <typename Make> std::vector<PipelinePass> inTurn(int64_t all, int64_t warmUp, Make pass) {
  std::vector<PipelinePass> order;
  order.reserve(2 * all);
  for (int64_t k = 0; k < warmUp; ++k)
    order.push_back(pass(Pass::Forward, k));
  for (int64_t k = warmUp; k < all; ++k) {
    order.push_back(pass(Pass::Forward, k));
    order.push_back(pass(Pass::Backward, k - warmUp));
  }
  for (int64_t k = all - warmUp; k < all; ++k)
    order.push_back(pass(Pass::Backward, k));
  return order;
}

/// Vectors of which none is below another, in their order.
InFlightStates maximal(const InFlightStates &found) {
  auto below = [](const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](int64_t x, int64_t y) { return x <= y; });
  };
  InFlightStates held;
  for (size_t i = 0; i < found.size(); ++i) {
    bool of = false;
    for (size_t j = 0; j < found.size() && !of; ++j)
      of = i != j && below(found[i], found[j]) && (found[i] != found[j] || j < i);
    if (!of)
      held.push_back(found[i]);
  }
  return held;
}

/// One stage on each device group.
class OneStage : public ScheduleModel {
public:
  OneStage(PipelineSchedule schedule, const char *name, const char *label,
           WeightGradients weightGradients = WeightGradients::WithBackward)
      : ScheduleModel(schedule, name, label, VirtualStages::One, weightGradients) {}

  std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) const override {
    return inTurn(shape.microbatches, std::min(shape.microbatches, warmUp(shape, group)), [&](Pass kind, int64_t k) {
      return PipelinePass{kind, static_cast<uint32_t>(group), static_cast<uint32_t>(k)};
    });
  }
  InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group) const override {
    return {{std::min(shape.microbatches, window(shape, group))}};
  }

protected:
  /// Forward passes before the first backward pass.
  virtual int64_t warmUp(const PipelineShape &shape, int64_t group) const { return shape.groups - group - 1; }
  /// Micro-batches in flight at most.
  virtual int64_t window(const PipelineShape &shape, int64_t group) const { return shape.groups - group; }
};

class GPipe : public OneStage {
public:
  GPipe() : OneStage(PipelineSchedule::GPipe, "gpipe", "GPipe") {}

protected:
  int64_t warmUp(const PipelineShape &shape, int64_t) const override { return shape.microbatches; }
  int64_t window(const PipelineShape &shape, int64_t) const override { return shape.microbatches; }
};

class ZeroBubble : public OneStage {
public:
  ZeroBubble() : OneStage(PipelineSchedule::ZeroBubble, "zero_bubble", "zero bubble", WeightGradients::WhenIdle) {}

protected:
  int64_t window(const PipelineShape &shape, int64_t) const override { return shape.groups; }
};

class Interleaved : public ScheduleModel {
public:
  Interleaved()
      : ScheduleModel(PipelineSchedule::Interleaved, "interleaved", "interleaved 1F1B", VirtualStages::Listed,
                      WeightGradients::WithBackward) {}

  bool allows(int64_t groups, int64_t microbatches) const override { return groups > 1 && microbatches % groups == 0; }

  /// p micro-batches go through one virtual stage, then through the next; backward likewise, the last one first.
  std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) const override {
    int64_t p = shape.groups, round = p * shape.virtualStages;
    return inTurn(shape.microbatches * shape.virtualStages, warmUp(shape, group), [&](Pass kind, int64_t k) {
      int64_t virtualStage = k % round / p, microbatch = k / round * p + k % p;
      if (kind == Pass::Backward)
        virtualStage = shape.virtualStages - 1 - virtualStage;
      return PipelinePass{kind, static_cast<uint32_t>(virtualStage * p + group), static_cast<uint32_t>(microbatch)};
    });
  }

  InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group) const override {
    int64_t p = shape.groups, v = shape.virtualStages;
    int64_t all = shape.microbatches * v, round = p * v, warm = warmUp(shape, group);
    auto done = [&](int64_t passes, int64_t turn) { // of the virtual stage whose turn it is
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
    // Each backward pass after the first is followed by a forward pass. One virtual stage loses what another one gains
    // until one of both has had its p micro-batches; after a round all is as before.
    InFlightStates found;
    int64_t last = std::min(all - warm - 1, round), ahead = warm + 1;
    for (int64_t k = 0; k < last; k += p) {
      found.push_back(after(k + ahead, k));
      if (int64_t turns = k + p - ahead % p; turns < last)
        found.push_back(after(turns + ahead, turns));
    }
    found.push_back(after(last + ahead, last));
    return maximal(found);
  }

private:
  static int64_t warmUp(const PipelineShape &shape, int64_t group) {
    return std::min(shape.microbatches * shape.virtualStages,
                    2 * (shape.groups - group - 1) + (shape.virtualStages - 1) * shape.groups);
  }
};

class ZeroBubbleV : public ScheduleModel {
public:
  ZeroBubbleV()
      : ScheduleModel(PipelineSchedule::ZeroBubbleV, "zero_bubble_v", "zero bubble V", VirtualStages::Two,
                      WeightGradients::InOrder) {}

  int64_t groupOf(int64_t stage, int64_t groups) const override {
    return stage < groups ? stage : 2 * groups - 1 - stage;
  }
  int64_t stageOf(int64_t group, int64_t index, int64_t groups) const override {
    return index == 0 ? group : 2 * groups - 1 - group;
  }
  int64_t turns() const override { return 1; }

  /// Passes of the group's first stage are capital letters below, those of its second small ones. Micro-batches beyond
  /// the last one, where there are fewer than 2 p - 1, are left out.
  std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) const override {
    int64_t p = shape.groups, n = std::max(shape.microbatches, 2 * p - 1);
    const std::pair<int64_t, const char *> phases[] = {{2 * (p - group) - 1, "F"},
                                                       {group, "fF"},
                                                       {p - group, "fbw"},
                                                       {n - 2 * p + group + 1, "FBWfbw"},
                                                       {p - group - 1, "BWfbw"},
                                                       {group, "Bb"},
                                                       {p - group, "BW"},
                                                       {group, "w"},
                                                       {group, "W"}};
    std::vector<PipelinePass> order;
    uint32_t done[2][3] = {};
    for (auto [times, pattern] : phases)
      for (int64_t i = 0; i < times; ++i)
        for (const char *letter = pattern; *letter; ++letter) {
          bool second = *letter >= 'a';
          char kind = second ? static_cast<char>(*letter - 'a' + 'A') : *letter;
          Pass pass = kind == 'F' ? Pass::Forward : kind == 'B' ? Pass::Backward : Pass::Weight;
          uint32_t microbatch = done[second][llvm::to_underlying(pass)]++;
          if (microbatch < shape.microbatches)
            order.push_back({pass, static_cast<uint32_t>(stageOf(group, second, p)), microbatch});
        }
    return order;
  }

  InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group) const override {
    InFlightStates found;
    std::vector<int64_t> held(2);
    for (const PipelinePass &pass : passesOf(shape, group)) {
      int64_t &mine = held[pass.stage >= shape.groups];
      if (pass.pass == Pass::Weight)
        --mine;
      else if (pass.pass == Pass::Forward && (++mine, std::find(found.begin(), found.end(), held) == found.end()))
        found.push_back(held);
    }
    return maximal(found);
  }
};

} // namespace

bool ScheduleModel::allows(int64_t groups, int64_t) const { return virtualStages == VirtualStages::One || groups > 1; }

const std::vector<const ScheduleModel *> &scheduleModels() {
  static const GPipe gpipe;
  static const OneStage oneFOneB(PipelineSchedule::OneFOneB, "one_f_one_b", "1F1B");
  static const Interleaved interleaved;
  static const ZeroBubble zeroBubble;
  static const ZeroBubbleV zeroBubbleV;
  static const std::vector<const ScheduleModel *> all{&gpipe, &oneFOneB, &interleaved, &zeroBubble, &zeroBubbleV};
  return all;
}

const ScheduleModel &modelOf(PipelineSchedule schedule) { return *scheduleModels()[llvm::to_underlying(schedule)]; }

const ScheduleModel *findSchedule(llvm::StringRef name) {
  for (const ScheduleModel *one : scheduleModels())
    if (name == one->name)
      return one;
  return nullptr;
}

const char *name(PipelineSchedule schedule) { return modelOf(schedule).name; }

std::vector<PipelinePass> passesOf(const PipelineShape &shape, int64_t group) {
  return modelOf(shape.schedule).passesOf(shape, group);
}

InFlightStates inFlightStatesOf(const PipelineShape &shape, int64_t group) {
  return modelOf(shape.schedule).inFlightStatesOf(shape, group);
}

std::vector<int64_t> inFlightOf(const PipelineShape &shape) {
  std::vector<InFlightStates> all;
  for (int64_t g = 0; g < shape.groups; ++g)
    all.push_back(inFlightStatesOf(shape, g));
  return inFlightOf(shape, all);
}

std::vector<int64_t> inFlightOf(const PipelineShape &shape, const std::vector<InFlightStates> &byGroup) {
  const ScheduleModel &model = modelOf(shape.schedule);
  std::vector<int64_t> max(shape.groups * shape.virtualStages);
  for (int64_t g = 0; g < shape.groups; ++g)
    for (const auto &held : byGroup[g])
      for (size_t c = 0; c < held.size(); ++c) {
        int64_t &mine = max[model.stageOf(g, c, shape.groups)];
        mine = std::max(mine, held[c]);
      }
  return max;
}

std::vector<int64_t> peakOf(const InFlightStates &held, const std::vector<int64_t> &activations) {
  std::pair<int64_t, std::vector<int64_t>> max{-1, {}};
  for (const auto &one : held)
    max = std::max(max, {std::inner_product(one.begin(), one.end(), activations.begin(), int64_t(0)), one});
  return max.second;
}

std::vector<int64_t> virtualStagesOf(const PlacementProblem &problem, const ScheduleModel &model) {
  if (model.virtualStages != VirtualStages::Listed)
    return {model.virtualStages == VirtualStages::One ? 1 : 2};
  std::vector<int64_t> all = problem.virtualStages;
  std::erase_if(all, [](int64_t v) { return v < 2; });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

const RecomputeChoice &PlacementProblem::choiceOf(const PlacedStage &stage, size_t position) const {
  return cost(stage.layers[position], stage.parallelConfig)->recomputeChoices[stage.recomputeChoices[position]];
}

size_t Placement::groupOf(size_t stage) const { return modelOf(schedule).groupOf(stage, groups()); }

std::vector<size_t> Placement::stagesOf(size_t group) const {
  std::vector<size_t> stages;
  for (int64_t c = 0; c < virtualStages; ++c)
    stages.push_back(modelOf(schedule).stageOf(group, c, groups()));
  return stages;
}

} // namespace accord
