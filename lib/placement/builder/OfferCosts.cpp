#include "lib/placement/builder/OfferCosts.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
namespace {

constexpr double kMost = 0x1p61;

int64_t share(int64_t whole, int64_t devices) { return (whole + devices - 1) / devices; }

/// Of what replicas have, of which some is divided `among` so many: x of `whole` where each has
/// x / among, so that `divided` is whole - x + x / among.
int64_t ownOf(int64_t whole, int64_t divided, int64_t among) {
  return among > 1 && whole > divided ? (whole - divided) / (among - 1) : 0;
}

bool noMore(const PlacementProblem::Keep &a, const PlacementProblem::Keep &b) {
  return a.again <= b.again && a.kept <= b.kept && a.working <= b.working &&
         a.hostKept <= b.hostKept;
}

class Costing {
public:
  Costing(const FormCosts &of, const std::vector<LayerUse> &uses, const LayerUse *whole)
      : of_(of), form_(*of.form), uses_(uses), use_(uses.front()), whole_(whole ? *whole : use_),
        among_(of.form->expert > 1 ? of.form->expert : of.form->data),
        copies_(of.form->data / among_) {}

  PlacementProblem::Cost run() {
    int64_t weights = over(&LayerUse::weights, 3), gradients = over(&LayerUse::gradients, 2),
            states = over(&LayerUse::states, 1);
    alone_ = use_.weights > 0
                 ? static_cast<double>(own(&LayerUse::weights)) / static_cast<double>(use_.weights)
                 : 0;
    cost_.update = use_.update;
    if (form_.zero >= 1) {
      auto mine = static_cast<int64_t>(alone_ * static_cast<double>(use_.update));
      cost_.update = share(mine, copies_) + share(use_.update - mine, form_.data);
    }
    int64_t throughLink = (form_.hostStates ? states : 0) + (form_.hostWeights ? weights : 0);
    cost_.update = std::max(cost_.update, link(throughLink));
    cost_.residentWeights = form_.hostWeights ? 0 : weights;
    cost_.residentGradients = gradients;
    cost_.resident =
        cost_.residentWeights + cost_.residentGradients + (form_.hostStates ? 0 : states);
    cost_.hostResident = throughLink;
    // An all-reduce takes as long as a gather of twice the bytes; divided tables are gathered by
    // nobody.
    int64_t mine = std::min(dense(), ownOf(whole_.gradients - whole_.rows, dense(), among_));
    cost_.gradients = dense() - mine + (use_.weights < whole_.weights ? 0 : share(use_.rows, 2));
    cost_.expertGradients = copies_ > 1 ? mine : 0;
    cost_.weights = use_.weights - own(&LayerUse::weights);
    cost_.tied = use_.tied;
    weights_ = form_.hostWeights ? use_.weights : 0;
    cost_.forward = std::max(forward(), link(weights_));
    cost_.weight = use_.weight;
    cost_.backward = std::max(backward(use_, 0), link(weights_)) - cost_.weight;
    keeps();
    return std::move(cost_);
  }

private:
  /// What of a resident each of the replicas that divide it has, and `copies_` have in common.
  int64_t own(int64_t LayerUse::*bytes) const {
    return std::min(use_.*bytes, ownOf(whole_.*bytes, use_.*bytes, among_));
  }
  int64_t dense() const { return use_.gradients - use_.rows; }
  int64_t over(int64_t LayerUse::*bytes, int fromStage) const {
    int64_t mine = own(bytes);
    return form_.zero >= fromStage ? share(mine, copies_) + share(use_.*bytes - mine, form_.data)
                                   : use_.*bytes;
  }
  int64_t link(int64_t bytes) const {
    return static_cast<int64_t>(
        std::min(kMost, std::ceil(of_.hostPerByte * static_cast<double>(bytes))));
  }
  int64_t forward() const {
    return use_.forward - (form_.ringOverlap ? std::min(use_.forward, use_.ringForward) : 0);
  }
  /// All but the forward pass; weight gradients are never hidden.
  int64_t backward(const LayerUse &use, int64_t again) const {
    int64_t all = use.backward + again;
    return all - (form_.ringOverlap ? std::min(all, use.ringBackward) : 0) + use.weight;
  }

  void keeps() {
    auto microbatches = static_cast<double>(of_.batch / form_.microbatch); // of all replicas
    auto tensor = static_cast<double>(form_.tensor);
    auto data = static_cast<double>(form_.data);
    double updates = form_.zero >= 1 ? alone_ * static_cast<double>(among_) + 1 - alone_ : data;
    cost_.joules = use_.joules * microbatches * tensor + use_.joulesUpdate * tensor * updates;
    double most = 0;
    auto offer = [&](const FormCosts::Keep &how) {
      PlacementProblem::Keep keep = how.offload ? offloaded(how.policy) : kept(how.policy);
      const LayerUse &other = uses_[how.policy];
      if (add(keep) && keep.again > 0 && !how.offload)
        most = std::max(most, (other.joules - use_.joules) / static_cast<double>(keep.again));
    };
    for (const FormCosts::Keep &how : of_.keeps)
      offer(how);
    if (of_.keeps.size() == 1)
      if (PlacementProblem::Keep first = kept(0); noMore(first, cost_.keeps.front()))
        cost_.keeps.front() = first;
    cost_.joulesAgain = most * microbatches * tensor;
  }
  int64_t spent() const { return cost_.backward + cost_.weight; }
  int64_t workingOf(const LayerUse &use) const {
    return use.working + (form_.zero >= 2 ? use_.gradients : 0) +
           (form_.zero >= 3 ? use_.weights : 0) + 2 * weights_;
  }
  PlacementProblem::Keep kept(size_t policy) const {
    const LayerUse &other = uses_[policy];
    PlacementProblem::Keep keep;
    keep.policy = of_.recomputes[policy];
    keep.again =
        std::max<int64_t>(0, std::max(backward(other, other.again), link(weights_)) - spent());
    keep.kept = other.kept;
    keep.working = workingOf(other);
    return keep;
  }
  PlacementProblem::Keep offloaded(size_t policy) const {
    const LayerUse &other = uses_[policy];
    PlacementProblem::Keep keep;
    keep.policy =
        of_.recomputes[policy] == "none" ? "offload" : of_.recomputes[policy] + "+offload";
    keep.again =
        std::max(forward(), link(std::max(weights_, other.kept))) - cost_.forward +
        std::max<int64_t>(0, std::max(backward(other, other.again), link(weights_ + other.kept)) -
                                 spent());
    keep.hostKept = other.kept;
    keep.working = workingOf(other) + 2 * other.kept;
    return keep;
  }
  /// What is no less in any respect than another choice is none.
  bool add(const PlacementProblem::Keep &keep) {
    for (const PlacementProblem::Keep &k : cost_.keeps)
      if (noMore(k, keep))
        return false;
    cost_.keeps.push_back(keep);
    return true;
  }

  const FormCosts &of_;
  const PlacementProblem::Form &form_;
  const std::vector<LayerUse> &uses_;
  const LayerUse &use_, &whole_;
  int64_t among_, copies_; ///< replicas that divide something, and with the same part of it
  PlacementProblem::Cost cost_;
  double alone_ = 0;    ///< share of the weights that replicas divide
  int64_t weights_ = 0; ///< bytes that come from the host for each pass
};

} // namespace

PlacementProblem::Cost costOf(const FormCosts &of, const std::vector<LayerUse> &uses,
                              const LayerUse *whole) {
  return Costing(of, uses, whole).run();
}

bool noBetter(const PlacementProblem &problem, const PlacementProblem::Form &form,
              const std::vector<PlacementProblem::Cost> &costs, size_t other) {
  const PlacementProblem::Form &known = problem.forms[other];
  if (known.zero != form.zero || known.order != form.order)
    return false;
  for (size_t c = 0; c < costs.size(); ++c) {
    const PlacementProblem::Cost &a = *problem.classes[c].costs[other], &b = costs[c];
    if (a.forward > b.forward || a.backward > b.backward || a.weight != b.weight ||
        a.update > b.update || a.resident > b.resident || a.hostResident > b.hostResident ||
        a.gradients > b.gradients || a.expertGradients > b.expertGradients ||
        a.weights > b.weights || a.tied > b.tied || a.joules > b.joules ||
        a.joulesAgain > b.joulesAgain)
      return false;
    for (const PlacementProblem::Keep &keep : b.keeps)
      if (std::none_of(a.keeps.begin(), a.keeps.end(),
                       [&](const PlacementProblem::Keep &k) { return noMore(k, keep); }))
        return false;
  }
  return true;
}

std::vector<std::vector<FormCosts::Keep>> keepsOf(const PlacementSpace &space, size_t policies) {
  std::vector<std::vector<FormCosts::Keep>> all;
  for (bool offload : {false, true})
    for (size_t policy = 0; policy < policies; ++policy) {
      if (offload && !space.offloadActivations)
        continue;
      if (all.empty() || space.keepsAlike)
        all.emplace_back();
      all.back().push_back({policy, offload});
    }
  return all;
}

std::vector<std::string> PlacementSpace::policiesOf(const Share &share) const {
  std::vector<std::string> all;
  for (std::string policy : recomputes) {
    if (!share.sequence && policy.ends_with(kGathered))
      policy.resize(policy.size() - std::string_view(kGathered).size());
    if (std::find(all.begin(), all.end(), policy) == all.end())
      all.push_back(policy);
  }
  return all;
}

bool PlacementSpace::mayBeWhole() const {
  return std::find(experts.begin(), experts.end(), 1) != experts.end() &&
         std::find(tables.begin(), tables.end(), PlacementProblem::Tables::Whole) != tables.end();
}

std::vector<PlacementSpace::Division> PlacementSpace::divisions(int64_t data) const {
  std::vector<Division> all;
  std::set<int64_t> offered(experts.begin(), experts.end());
  for (int64_t among : offered) {
    if (among > 1 && (among > data || data % among != 0))
      continue;
    if (data == 1) // nobody to divide tables with
      all.push_back({});
    else
      for (PlacementProblem::Tables of : tables)
        if (among == 1 || among == data || of == PlacementProblem::Tables::Whole)
          all.push_back({among, of});
  }
  return all;
}

} // namespace accord
