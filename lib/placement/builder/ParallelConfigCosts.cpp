#include "lib/placement/builder/ParallelConfigCosts.h"
#include "lib/placement/builder/LayerSparsity.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
namespace {

constexpr double kMax = 0x1p61;

int64_t share(int64_t whole, int64_t devices) { return (whole + devices - 1) / devices; }

/// Of what replicas have, of which some is divided `among` so many: x of `whole` where each has x / among, so that
/// `divided` is whole - x + x / among.
int64_t ownOf(int64_t whole, int64_t divided, int64_t among) {
  return among > 1 && whole > divided ? (whole - divided) / (among - 1) : 0;
}

bool noMore(const RecomputeChoice &a, const RecomputeChoice &b) {
  return a.recomputeTime <= b.recomputeTime && a.activations <= b.activations && a.workspace <= b.workspace &&
         a.hostActivations <= b.hostActivations;
}

class LayerCostModel {
public:
  LayerCostModel(const ParallelConfigCosts &of, const std::vector<LayerUse> &uses, const LayerUse *whole)
      : of_(of), parallelConfig_(*of.parallelConfig), uses_(uses), use_(uses.front()), whole_(whole ? *whole : use_),
        among_(of.parallelConfig->expert > 1 ? of.parallelConfig->expert : of.parallelConfig->data),
        copies_(of.parallelConfig->data / among_) {}

  PlacementProblem::Cost run() {
    int64_t weights = of_.masterWeightsAlone ? 0 : over(&LayerUse::weights, 3),
            quantized = parallelConfig_.zero >= 1 ? 0 : use_.quantized,
            gradients = times(of_.gradientRatio, over(&LayerUse::gradients, 2)), states = over(&LayerUse::states, 1);
    alone_ = use_.weights > 0 ? static_cast<double>(own(&LayerUse::weights)) / use_.weights : 0;
    cost_.update = use_.update;
    if (parallelConfig_.zero >= 1) {
      auto mine = static_cast<int64_t>(alone_ * use_.update);
      cost_.update = share(mine, copies_) + share(use_.update - mine, parallelConfig_.data);
    }
    int64_t throughLink = (parallelConfig_.hostStates ? states : 0) + (parallelConfig_.hostWeights ? weights : 0);
    cost_.update = std::max(cost_.update, link(throughLink)) + use_.masks;
    cost_.weightMemory = (parallelConfig_.hostWeights ? 0 : weights) + quantized;
    cost_.gradientMemory = gradients;
    cost_.staticMemory = cost_.weightMemory + cost_.gradientMemory + (parallelConfig_.hostStates ? 0 : states);
    cost_.hostStaticMemory = throughLink;
    // An all-reduce takes as long as a gather of twice the bytes; divided tables are gathered by nobody.
    int64_t mine = std::min(dense(), ownOf(whole_.gradients - whole_.rows, dense(), among_));
    cost_.gradients =
        times(of_.reductionRatio, dense() - mine) + (use_.weights < whole_.weights ? 0 : share(use_.rows, 2));
    cost_.expertGradients = copies_ > 1 ? times(of_.reductionRatio, mine) : 0;
    cost_.weights = use_.weights - own(&LayerUse::weights);
    cost_.tied = times(of_.reductionRatio, use_.tied);
    weights_ = parallelConfig_.hostWeights ? use_.weights : 0;
    cost_.forward = std::max(forward(), link(weights_));
    cost_.weight = use_.weight;
    cost_.backward = std::max(backward(use_, 0), link(weights_)) - cost_.weight;
    recomputeChoices();
    return std::move(cost_);
  }

private:
  /// What of a resident each of the replicas that divide it has, and `copies_` have in common.
  int64_t own(int64_t LayerUse::*bytes) const {
    return std::min(use_.*bytes, ownOf(whole_.*bytes, use_.*bytes, among_));
  }
  /// Rounded up.
  static int64_t times(double ratio, int64_t bytes) {
    return ratio == 1 ? bytes : static_cast<int64_t>(std::min(kMax, std::ceil(ratio * static_cast<double>(bytes))));
  }
  int64_t dense() const { return use_.gradients - use_.rows; }
  int64_t over(int64_t LayerUse::*bytes, int fromStage) const {
    int64_t mine = own(bytes);
    return parallelConfig_.zero >= fromStage ? share(mine, copies_) + share(use_.*bytes - mine, parallelConfig_.data)
                                             : use_.*bytes;
  }
  int64_t link(int64_t bytes) const { return static_cast<int64_t>(std::min(kMax, std::ceil(of_.hostPerByte * bytes))); }
  int64_t forward() const {
    return use_.forward - (parallelConfig_.ringOverlap ? std::min(use_.forward, use_.ringForward) : 0);
  }
  /// All but the forward pass; weight gradients are never hidden.
  int64_t backward(const LayerUse &use, int64_t recomputeTime) const {
    int64_t all = use.backward + recomputeTime;
    return all - (parallelConfig_.ringOverlap ? std::min(all, use.ringBackward) : 0) + use.weight;
  }

  void recomputeChoices() {
    double microbatches = of_.batch / parallelConfig_.microbatch; // of all replicas
    double tensor = parallelConfig_.tensor;
    double sharing = tensor * parallelConfig_.context; // devices of a micro-batch
    double data = parallelConfig_.data;
    double updates = parallelConfig_.zero >= 1 ? alone_ * among_ + 1 - alone_ : data;
    cost_.joules = use_.joules * microbatches * sharing + use_.updateJoules * tensor * updates;
    double max = 0;
    auto addChoice = [&](const ParallelConfigCosts::RecomputeChoice &how) {
      RecomputeChoice recomputeChoice = how.offload ? offloaded(how.policy) : choiceOnDevice(how.policy);
      const LayerUse &other = uses_[how.policy];
      if (add(recomputeChoice) && recomputeChoice.recomputeTime > 0 && !how.offload)
        max = std::max(max, (other.joules - use_.joules) / recomputeChoice.recomputeTime);
    };
    for (const ParallelConfigCosts::RecomputeChoice &how : of_.recomputeChoices)
      addChoice(how);
    if (of_.recomputeChoices.size() == 1)
      if (RecomputeChoice first = choiceOnDevice(0); noMore(first, cost_.recomputeChoices.front()))
        cost_.recomputeChoices.front() = first;
    cost_.recomputeJoules = max * microbatches * sharing;
  }
  int64_t spent() const { return cost_.backward + cost_.weight; }
  int64_t workspaceOf(const LayerUse &use) const {
    bool gathers = parallelConfig_.zero >= 3 || of_.masterWeightsAlone;
    // The graph has two tensors of the size of the logits: themselves, which are kept, and their gradient, which a
    // framework may write in their place.
    double loss = of_.lossRatio > 0 ? of_.lossRatio - 2 : 0;
    int64_t own = std::max<int64_t>(0, use.workspace + times(loss, use_.logits));
    return own + (parallelConfig_.zero >= 2 ? use_.gradients : 0) + (gathers ? use_.weights + use_.quantized : 0) +
           2 * weights_;
  }
  RecomputeChoice choiceOnDevice(size_t policy) const {
    const LayerUse &other = uses_[policy];
    RecomputeChoice recomputeChoice;
    recomputeChoice.policy = of_.recomputePolicies[policy];
    recomputeChoice.recomputeTime =
        std::max<int64_t>(0, std::max(backward(other, other.recomputeTime), link(weights_)) - spent());
    recomputeChoice.activations = other.activations;
    recomputeChoice.workspace = workspaceOf(other);
    return recomputeChoice;
  }
  RecomputeChoice offloaded(size_t policy) const {
    const LayerUse &other = uses_[policy];
    RecomputeChoice recomputeChoice;
    recomputeChoice.policy =
        of_.recomputePolicies[policy] == "none" ? "offload" : of_.recomputePolicies[policy] + "+offload";
    recomputeChoice.recomputeTime =
        std::max(forward(), link(std::max(weights_, other.activations))) - cost_.forward +
        std::max<int64_t>(0,
                          std::max(backward(other, other.recomputeTime), link(weights_ + other.activations)) - spent());
    recomputeChoice.hostActivations = other.activations;
    recomputeChoice.workspace = workspaceOf(other) + 2 * other.activations;
    return recomputeChoice;
  }
  /// What is no less in any respect than another choice is none.
  bool add(const RecomputeChoice &recomputeChoice) {
    for (const RecomputeChoice &k : cost_.recomputeChoices)
      if (noMore(k, recomputeChoice))
        return false;
    cost_.recomputeChoices.push_back(recomputeChoice);
    return true;
  }

  const ParallelConfigCosts &of_;
  const ParallelConfig &parallelConfig_;
  const std::vector<LayerUse> &uses_;
  const LayerUse &use_, &whole_;
  int64_t among_, copies_; ///< replicas that divide something, and with the same part of it
  PlacementProblem::Cost cost_;
  double alone_ = 0;    ///< share of the weights that replicas divide
  int64_t weights_ = 0; ///< bytes that come from the host for each pass
};

} // namespace

PlacementProblem::Cost costOf(const ParallelConfigCosts &of, const std::vector<LayerUse> &uses, const LayerUse *whole) {
  return LayerCostModel(of, uses, whole).run();
}

bool isDominated(const PlacementProblem &problem, const ParallelConfig &parallelConfig,
                 const std::vector<PlacementProblem::Cost> &costs, size_t other) {
  const ParallelConfig &known = problem.parallelConfigs[other];
  if (known.zero != parallelConfig.zero || known.order != parallelConfig.order ||
      known.oneGroup != parallelConfig.oneGroup)
    return false;
  for (size_t c = 0; c < costs.size(); ++c) {
    const PlacementProblem::Cost &a = *problem.classes[c].costs[other];
    if (a.weight != costs[c].weight || !isNoMore(a, costs[c]))
      return false;
  }
  return true;
}

std::vector<std::vector<ParallelConfigCosts::RecomputeChoice>> recomputeChoicesOf(const PlacementSpace &space,
                                                                                  size_t policies) {
  std::vector<std::vector<ParallelConfigCosts::RecomputeChoice>> all;
  for (bool offload : {false, true})
    for (size_t policy = 0; policy < policies; ++policy) {
      if (offload && !space.offloadActivations)
        continue;
      if (all.empty() || space.uniformRecompute)
        all.emplace_back();
      all.back().push_back({policy, offload});
    }
  return all;
}

std::vector<std::string> PlacementSpace::policiesOf(const TensorSharding &share) const {
  std::vector<std::string> all;
  for (std::string policy : recomputePolicies) {
    if (!share.sequence && policy.ends_with(kGathered))
      policy.resize(policy.size() - std::string_view(kGathered).size());
    if (std::find(all.begin(), all.end(), policy) == all.end())
      all.push_back(policy);
  }
  return all;
}

PlacementSpace::TensorSharding shardingOf(const ParallelConfig &config) {
  return {config.tensor, config.sequence, config.context, config.contextExchange};
}

void PlacementSpace::restrictTo(llvm::ArrayRef<ParallelConfig> configs) {
  tensorShardings.clear(), data.clear(), microbatches.clear(), zero.clear();
  auto add = [](auto &values, auto value) {
    if (!llvm::is_contained(values, value))
      values.push_back(value);
  };
  for (const ParallelConfig &config : configs) {
    add(tensorShardings, shardingOf(config));
    add(data, config.data / config.context), add(microbatches, config.microbatch), add(zero, config.zero);
  }
  llvm::sort(microbatches);
}

bool PlacementSpace::mayBeWhole() const {
  return std::find(experts.begin(), experts.end(), 1) != experts.end() &&
         std::find(tables.begin(), tables.end(), Tables::Whole) != tables.end();
}

std::vector<PlacementSpace::ReplicaSharding> PlacementSpace::replicaShardings(int64_t data, int64_t tensor) const {
  std::vector<ReplicaSharding> all;
  std::set<int64_t> degrees;
  for (int64_t degree : experts)
    if (data % degree == 0)
      degrees.insert(degree);
    else if (degree % tensor == 0 && data % (degree / tensor) == 0 && hasWholeExperts(tensor, degree / tensor))
      degrees.insert(degree / tensor);
  for (int64_t among : degrees) {
    if (data == 1) // nobody to divide tables with
      all.push_back({});
    else
      for (Tables of : tables)
        if (among == 1 || among == data || of == Tables::Whole)
          all.push_back({among, of});
  }
  return all;
}

} // namespace accord
