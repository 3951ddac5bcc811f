#include "test/support/PlacementEnumerator.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "test/support/PlacementEnumeratorPasses.h"
#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accord::test {
namespace {

constexpr int Layers = Passes::Layers, Microbatches = Passes::Microbatches;
using Mask = uint32_t;
using Id = PlacementProblem::Id;

class Enumerator {
public:
  Enumerator(const PlacementProblem &problem, const EnumeratorOptions &options)
      : p_(problem), options_(options), n_(static_cast<int>(problem.layers.size())), all_((Mask(1) << n_) - 1) {
    out_.best = options.below;
    for (const auto &edge : p_.edges) {
      before_[edge.to] |= Mask(1) << edge.from;
      after_[edge.from] |= Mask(1) << edge.to;
    }
    for (int l = 0; l < n_; ++l)
      if (p_.uniformClass && p_.layers[l].of == *p_.uniformClass)
        shared_ |= Mask(1) << l;
    sums_.resize(p_.parallelConfigs.size() << n_);
    for (Id parallelConfig = 0; parallelConfig < p_.parallelConfigs.size(); ++parallelConfig)
      for (Mask set = 1; set <= all_; ++set)
        sums_[(parallelConfig << n_) + set] = sum(parallelConfig, set);
    output_.resize(size_t(n_) << n_);
    for (int l = 0; l < n_; ++l)
      for (const auto &edge : p_.edges)
        if (edge.from == Id(l))
          for (Mask set = 1; set <= all_; ++set)
            if (set >> edge.to & 1) {
              int64_t &bytes = output_[(size_t(l) << n_) + set];
              bytes = std::max(bytes, edge.bytes);
            }
  }

  /// Replicas of one context have the same samples.
  static int64_t samplesOf(const PlacementProblem::ParallelConfig &one) {
    return one.microbatch * (one.data / one.context);
  }

  Enumerated run() {
    for (PipelineSchedule schedule : p_.schedules) {
      bool interleaved = schedule == PipelineSchedule::Interleaved;
      for (int64_t v : interleaved ? p_.virtualStages : std::vector<int64_t>{1})
        for (int64_t p = interleaved ? 2 : 1; p * v <= n_ && v >= (interleaved ? 2 : 1); ++p) {
          if (!p_.mayHaveGroups(p) || !p_.mayHaveStages(p * v))
            continue;
          std::vector<int64_t> counts;
          for (const auto &parallelConfig : p_.parallelConfigs)
            if (int64_t each = samplesOf(parallelConfig); p_.batch % each == 0)
              counts.push_back(p_.batch / each), out_.complete &= p_.batch / each <= Microbatches;
          std::sort(counts.begin(), counts.end());
          counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
          for (int64_t m : counts)
            if (m <= Microbatches && (!interleaved || m % p == 0))
              shape(schedule, int(p), int(v), int(m));
        }
    }
    return std::move(out_);
  }

private:
  struct Sum {
    bool can = true;
    int64_t forward = 0, backward = 0, weight = 0, update = 0, staticMemory = 0, gradients = 0, expertGradients = 0,
            weights = 0, min = 0, hostStaticMemory = 0;
    double joules = 0;
  };
  struct Option {
    std::array<int64_t, Layers> recomputeTime; ///< by chunk
    double joules;
    int64_t memory;
    std::array<uint32_t, Layers> recomputeChoice; ///< by layer
  };
  using Options = std::vector<Option>;

  Sum sum(Id parallelConfig, Mask set) const {
    Sum all;
    for (Id l = 0; l < Id(n_); ++l) {
      if (!(set >> l & 1))
        continue;
      const auto &layer = p_.layers[l];
      const auto &cost = p_.classes[layer.of].costs[parallelConfig];
      if (!cost) {
        all.can = false;
        return all;
      }
      all.forward += cost->forward, all.backward += cost->backward, all.weight += cost->weight;
      all.update += cost->update, all.staticMemory += cost->staticMemory;
      all.hostStaticMemory += cost->hostStaticMemory, all.expertGradients += cost->expertGradients;
      all.gradients += cost->gradients, all.weights += cost->weights;
      all.joules += cost->joules;
      int64_t min = INT64_MAX;
      for (const auto &recomputeChoice : cost->recomputeChoices)
        min = std::min(min, recomputeChoice.recomputeTime);
      all.min += min;
    }
    return all;
  }
  const Sum &sumOf(int s) const { return sums_[(parallelConfig_[s % groups_] << n_) + set_[s]]; }
  const PlacementProblem::ParallelConfig &parallelConfigOf(int s) const {
    return p_.parallelConfigs[parallelConfig_[s % groups_]];
  }
  const PlacementProblem::DeviceType &kindOf(int s) const { return p_.deviceTypes[parallelConfigOf(s).deviceType]; }

  void shape(PipelineSchedule schedule, int p, int v, int m) {
    schedule_ = schedule, groups_ = p, virtualStages_ = v, m_ = m, stages_ = p * v;
    Passes passes(schedule, p, v, m);
    passes_ = &passes;
    cache_.clear();
    direct_.assign((size_t(p) * p_.parallelConfigs.size()) << n_, nullptr);
    std::fill(used_.begin(), used_.end(), 0);
    used_.resize(p_.deviceTypes.size());
    devices_ = 0, price_ = 0, tdp_ = 0, joules_ = 0, watts_ = 0, memory_ = 0;
    stage(0, 0);
  }

  /// Least value of a plan in which the groups so far are all there are, and steps take so long.
  double value(int64_t step) const {
    double seconds = static_cast<double>(step) * 1e-12;
    const double values[] = {static_cast<double>(step), joules_ + watts_ * seconds, price_ / 3600 * seconds,
                             tdp_ * seconds, static_cast<double>(memory_)};
    return values[static_cast<size_t>(p_.objective)];
  }
  bool better(double planValue, int64_t step) const {
    return planValue < out_.best * (1 - 1e-9) || (planValue <= out_.best * (1 + 1e-9) && step < out_.step);
  }
  bool useless(int64_t step) const {
    double seconds = static_cast<double>(step) * 1e-12;
    const PlacementProblem::Limits &limits = p_.limits;
    return (!options_.everything && !better(value(step), step)) || (limits.step > 0 && step > limits.step) ||
           (limits.devices > 0 && devices_ > limits.devices) ||
           (limits.joules > 0 && joules_ + watts_ * seconds > limits.joules * (1 + 1e-12)) ||
           (limits.price > 0 && price_ / 3600 * seconds > limits.price * (1 + 1e-12));
  }

  bool over() {
    out_.complete &= out_.cuts + out_.simulated <= options_.max;
    return !out_.complete;
  }

  void stage(int s, Mask done) {
    if (s == stages_) {
      plan();
      return;
    }
    if (s >= groups_) {
      sets(s, done);
      return;
    }
    for (Id parallelConfig = 0; parallelConfig < p_.parallelConfigs.size(); ++parallelConfig) {
      const auto &one = p_.parallelConfigs[parallelConfig];
      const auto &deviceType = p_.deviceTypes[one.deviceType];
      int64_t devices = one.tensor * one.data;
      bool other = p_.batch % samplesOf(one) != 0 || p_.batch / samplesOf(one) != m_ ||
                   used_[one.deviceType] + devices > deviceType.devices || (one.oneGroup && groups_ > 1);
      for (int g = 0; g < s; ++g) {
        const auto &earlier = p_.parallelConfigs[parallelConfig_[g]];
        bool whole = one.order == PlacementProblem::RankOrder::TensorPipelineData ||
                     earlier.order == PlacementProblem::RankOrder::TensorPipelineData;
        other |= parallelConfig_[g] != parallelConfig &&
                 (whole || (p_.uniformConfigPerDeviceType && earlier.deviceType == one.deviceType));
      }
      if (other)
        continue;
      parallelConfig_[s] = parallelConfig, first_[s] = used_[one.deviceType];
      auto n = static_cast<double>(devices);
      auto before = std::tuple(devices_, price_, tdp_, watts_);
      used_[one.deviceType] += devices, devices_ += devices;
      price_ += deviceType.pricePerHour * n, tdp_ += deviceType.tdpWatts * n, watts_ += deviceType.restWatts() * n;
      sets(s, done);
      used_[one.deviceType] -= devices;
      std::tie(devices_, price_, tdp_, watts_) = before;
    }
  }

  /// Where layers have to be.
  bool constraintsAllow(int s, Mask set) const {
    for (Id id = 0; id < p_.placementConstraints.size(); ++id) {
      const auto &constraint = p_.placementConstraints[id];
      Mask under = 0;
      for (int l = 0; l < n_; ++l)
        for (Id of : p_.layers[l].placementConstraints)
          under |= Mask{of == id} << l;
      bool deviceType =
          constraint.deviceTypes.empty() ||
          std::count(constraint.deviceTypes.begin(), constraint.deviceTypes.end(), parallelConfigOf(s).deviceType);
      if ((set & under) && (!deviceType || constraint.stage.value_or(s) != s || (constraint.sameStage && under & ~set)))
        return false;
    }
    return true;
  }
  void sets(int s, Mask done) {
    Mask left = all_ & ~done;
    int after = stages_ - s - 1;
    for (Mask set = left; set; set = (set - 1) & left) {
      int size = std::popcount(set);
      if ((after == 0 ? set != left : std::popcount(left) - size < after) || !constraintsAllow(s, set))
        continue;
      if (std::popcount(set & shared_) * stages_ != std::popcount(shared_))
        continue;
      if (virtualStages_ > 1 && !p_.uniformClass && (size < n_ / stages_ || size > (n_ + stages_ - 1) / stages_))
        continue;
      Mask needs = 0;
      for (Mask rest = set; rest; rest &= rest - 1)
        needs |= before_[std::countr_zero(rest)];
      if (needs & ~(done | set))
        continue;
      set_[s] = set;
      const Sum &sum = sumOf(s);
      if (!sum.can)
        continue;
      if (virtualStages_ == 1 && optionsOf(s).empty())
        continue;
      ++out_.cuts;
      if (over())
        return;
      double joules = joules_;
      int64_t load = 0;
      for (int t = s % groups_; t <= s; t += groups_) {
        const Sum &one = sumOf(t);
        load += m_ * (one.forward + one.backward + one.weight + one.min + p_.hostOverheadPerMicrobatch) + one.update;
      }
      joules_ += sum.joules;
      if (!useless(load + p_.hostOverheadPerStep))
        stage(s + 1, done | set);
      joules_ = joules;
    }
  }

  /// What the group of stage `s` may keep: all that fits.
  const Options &optionsOf(int s) {
    int g = s % groups_;
    Options **direct = nullptr;
    if (virtualStages_ == 1) {
      direct = &direct_[((size_t(g) * p_.parallelConfigs.size() + parallelConfig_[g]) << n_) + set_[g]];
      if (*direct)
        return **direct;
    }
    std::vector<uint32_t> key{parallelConfig_[g], uint32_t(g)};
    Mask layers = 0;
    for (int t = g; t < stages_; t += groups_)
      key.push_back(set_[t]), layers |= set_[t];
    auto [at, added] = cache_.try_emplace(std::move(key));
    Options &list = at->second;
    if (direct)
      *direct = &list;
    if (!added)
      return list;
    std::array<int, Layers> virtualStageOf{};
    int64_t staticMemory = 0, hostStaticMemory = 0;
    for (int t = g; t < stages_; t += groups_) {
      staticMemory += sumOf(t).staticMemory, hostStaticMemory += sumOf(t).hostStaticMemory;
      for (Mask rest = set_[t]; rest; rest &= rest - 1)
        virtualStageOf[std::countr_zero(rest)] = t / groups_;
    }
    std::map<std::pair<std::array<int64_t, Layers>, double>, size_t> seen; // where in the list
    Option option{};
    auto choose = [&](auto &&self, Mask rest, std::array<int64_t, Layers> activations, std::array<int64_t, Layers> host,
                      int64_t workspace) -> void {
      if (rest) {
        int l = std::countr_zero(rest), c = virtualStageOf[l];
        const auto &cost = *p_.classes[p_.layers[l].of].costs[parallelConfig_[g]];
        for (uint32_t k = 0; k < cost.recomputeChoices.size(); ++k) {
          const auto &recomputeChoice = cost.recomputeChoices[k];
          Option before = option;
          auto with = activations, outside = host;
          outside[c] += recomputeChoice.hostActivations;
          with[c] += recomputeChoice.activations, option.recomputeTime[c] += recomputeChoice.recomputeTime,
              option.recomputeChoice[l] = k;
          option.joules += cost.recomputeJoules * static_cast<double>(recomputeChoice.recomputeTime);
          self(self, rest & (rest - 1), with, outside, std::max(workspace, recomputeChoice.workspace));
          option = before;
        }
        return;
      }
      auto peak = [&](const std::array<int64_t, Layers> &each) {
        int64_t max = 0;
        for (const auto &held : passes_->held[size_t(g)]) {
          int64_t now = 0;
          for (int c = 0; c < virtualStages_; ++c)
            now += held[size_t(c)] * each[c];
          max = std::max(max, now);
        }
        return max;
      };
      option.memory = staticMemory + peak(activations) + workspace;
      if (option.memory > kindOf(g).memory || hostStaticMemory + peak(host) > kindOf(g).hostMemory)
        return;
      auto [at, added] = seen.try_emplace({option.recomputeTime, option.joules}, list.size());
      if (added)
        list.push_back(option);
      else if (option.memory < list[at->second].memory)
        list[at->second] = option;
    };
    choose(choose, layers, {}, {}, 0);
    return list;
  }

  int64_t apartOf(const PlacementProblem::ParallelConfig &parallelConfig) const {
    return parallelConfig.order == PlacementProblem::RankOrder::TensorPipelineData ? groups_ : 1;
  }

  bool onOneNode(int a, int b) const {
    if (parallelConfigOf(a).deviceType != parallelConfigOf(b).deviceType)
      return false;
    int64_t per = kindOf(a).devicesPerNode;
    if (parallelConfigOf(a).order == PlacementProblem::RankOrder::TensorPipelineData) {
      for (int64_t r = 0; r < parallelConfigOf(a).data; ++r) {
        int64_t tensor = parallelConfigOf(a).tensor, low = (r * groups_ + std::min(a, b)) * tensor;
        int64_t high = (r * groups_ + std::max(a, b) + 1) * tensor - 1;
        if (low / per != high / per)
          return false;
      }
      return true;
    }
    int64_t from = std::min(first_[a], first_[b]);
    int64_t to = std::max(first_[a] + parallelConfigOf(a).devices(), first_[b] + parallelConfigOf(b).devices()) - 1;
    return from / per == to / per;
  }

  /// Stages and forms are chosen: what goes between them, then each group's choices.
  void plan() {
    for (int s = 0; s < stages_; ++s) {
      const Sum &sum = sumOf(s);
      int64_t gather = best(parallelConfigOf(s).gather, static_cast<double>(sum.weights));
      pipeline_.times[s] = {sum.forward + gather + p_.hostOverheadPerMicrobatch, sum.backward + gather, sum.weight, 0,
                            0};
      pipeline_.feeds[s].clear(), pipeline_.fed[s].clear();
    }
    for (int a = 0; a < stages_; ++a)
      for (int b = a + 1; b < stages_; ++b) {
        bool edge = false;
        int64_t bytes = 0;
        for (Mask rest = set_[a]; rest; rest &= rest - 1) {
          int l = std::countr_zero(rest);
          edge |= (after_[l] & set_[b]) != 0;
          bytes += output_[(size_t(l) << n_) + set_[b]];
        }
        if (!edge)
          continue;
        pipeline_.feeds[b].push_back(a), pipeline_.fed[a].push_back(b);
        int from = a % groups_, to = b % groups_;
        if (from == to)
          continue;
        const auto &link = p_.link(parallelConfigOf(a).deviceType, parallelConfigOf(b).deviceType);
        double each = static_cast<double>(bytes) * static_cast<double>(samplesOf(parallelConfigOf(a))) /
                      static_cast<double>(std::min(parallelConfigOf(a).devices(), parallelConfigOf(b).devices()));
        int64_t takes = best({onOneNode(from, to) ? link.intraNode : link.interNode}, each);
        if (p_.blockingTransfers)
          pipeline_.times[b].forward += takes, pipeline_.times[a].backward += takes;
        else
          pipeline_.times[a].send = std::max(pipeline_.times[a].send, takes);
      }
    for (int g = 0; g < groups_; ++g)
      tied_[g] = 0;
    for (const auto &tie : p_.ties) {
      int a = 0, b = 0;
      for (int s = 0; s < stages_; ++s) {
        a = set_[s] >> tie.a & 1 ? s % groups_ : a;
        b = set_[s] >> tie.b & 1 ? s % groups_ : b;
      }
      if (a == b)
        continue;
      int64_t bytes = std::max(p_.classes[p_.layers[tie.a].of].costs[parallelConfig_[a]]->tied,
                               p_.classes[p_.layers[tie.b].of].costs[parallelConfig_[b]]->tied);
      int64_t takes = 0;
      for (int from : {a, b}) {
        const auto &link = p_.link(parallelConfigOf(from).deviceType, parallelConfigOf(a + b - from).deviceType);
        takes = std::max(takes, best({onOneNode(a, b) ? link.intraNode : link.interNode}, double(bytes)));
      }
      tied_[a] += takes, tied_[b] += takes;
    }
    recomputeChoices(0);
  }

  void recomputeChoices(int g) {
    if (over())
      return;
    if (g == groups_) {
      ++out_.choices;
      finished();
      return;
    }
    const auto &parallelConfig = parallelConfigOf(g);
    for (const Option &option : optionsOf(g)) {
      int64_t busy = 0, overlapTime = 0, gradients = 0, experts = 0, updates = 0;
      for (int s = g; s < stages_; s += groups_) {
        const Sum &sum = sumOf(s);
        pipeline_.backward[s] = pipeline_.times[s].backward + option.recomputeTime[size_t(s / groups_)];
        busy += pipeline_.times[s].forward + pipeline_.backward[s] + pipeline_.times[s].weight;
        overlapTime += sum.backward + option.recomputeTime[size_t(s / groups_)] + sum.weight;
        gradients += sum.gradients, updates += sum.update, experts += sum.expertGradients;
      }
      int64_t replicasPerNode =
          std::max<int64_t>(1, std::min(parallelConfig.data,
                                        kindOf(g).devicesPerNode / (parallelConfig.tensor * apartOf(parallelConfig))));
      int64_t exchange =
          exchanged(parallelConfig.gradientSyncs, gradients, replicasPerNode) +
          exchanged(parallelConfig.expertGradientSyncs, experts, replicasPerNode / parallelConfig.expert);
      int64_t overlapFraction = static_cast<int64_t>(p_.overlapFraction * static_cast<double>(overlapTime));
      if (p_.maxOverlap < 1)
        overlapFraction =
            std::min(overlapFraction, static_cast<int64_t>(p_.maxOverlap * static_cast<double>(exchange)));
      exchange -= std::min(exchange, overlapFraction);
      pipeline_.stepTail[g] = exchange + updates + tied_[g];
      double joules = joules_;
      joules_ += option.joules;
      int64_t memory = std::exchange(memory_, std::max(memory_, option.memory));
      chosen_[g] = &option;
      if (!useless(m_ * busy + pipeline_.stepTail[g] + p_.hostOverheadPerStep))
        recomputeChoices(g + 1);
      else
        ++out_.choices;
      joules_ = joules, memory_ = memory;
    }
  }

  void finished() {
    ++out_.simulated;
    int64_t step = std::max(passes_->run(pipeline_) + p_.hostOverheadPerStep, p_.minStep);
    double planValue = value(step);
    const auto &limits = p_.limits;
    double seconds = static_cast<double>(step) * 1e-12;
    bool within = (limits.step <= 0 || step <= limits.step) && (limits.devices <= 0 || devices_ <= limits.devices) &&
                  (limits.joules <= 0 || joules_ + watts_ * seconds <= limits.joules) &&
                  (limits.price <= 0 || price_ / 3600 * seconds <= limits.price) &&
                  (limits.watts <= 0 || joules_ + watts_ * seconds <= limits.watts * seconds);
    bool is = within && better(planValue, step);
    if (is || (options_.sampleEvery > 0 && out_.simulated % options_.sampleEvery == 0))
      compare(step, planValue);
    if (is)
      out_.best = std::min(out_.best, planValue), out_.step = step, out_.plan = made();
  }

  Placement made() const {
    Placement plan{schedule_, virtualStages_, m_, std::vector<PlacedStage>(size_t(stages_))};
    for (int s = 0; s < stages_; ++s) {
      plan.stages[size_t(s)].parallelConfig = parallelConfig_[s % groups_];
      for (Id l = 0; l < Id(n_); ++l)
        if (set_[s] >> l & 1) {
          plan.stages[size_t(s)].layers.push_back(l);
          plan.stages[size_t(s)].recomputeChoices.push_back(chosen_[s % groups_]->recomputeChoice[l]);
        }
    }
    return plan;
  }

  void compare(int64_t step, double planValue) {
    ++out_.sampled;
    Placement plan = made();
    auto errors = placementViolations(p_, plan);
    auto recomputeTime = reevaluate(p_, plan);
    if (!errors.empty())
      out_.difference = errors[0].message;
    else if (!recomputeTime)
      out_.difference = "no worth";
    else if (recomputeTime->step != step || !recomputeTime->fits ||
             !(std::abs(recomputeTime->value - planValue) <= 1e-9 * std::abs(planValue)))
      out_.difference = fmt::format("step {} and {}, value {} and {}, fits {}", step, recomputeTime->step, planValue,
                                    recomputeTime->value, recomputeTime->fits);
  }

  const PlacementProblem &p_;
  const EnumeratorOptions &options_;
  int n_;
  Mask all_, shared_ = 0; ///< `shared_`: layers that stages share evenly
  std::array<Mask, Layers> before_{}, after_{};
  std::vector<Sum> sums_;       ///< [form << n | layers]
  std::vector<int64_t> output_; ///< [layer << n | readers]: bytes
  Enumerated out_;
  PipelineSchedule schedule_ = PipelineSchedule::GPipe;
  int groups_ = 1, virtualStages_ = 1, stages_ = 1;
  int64_t m_ = 1;
  Passes *passes_ = nullptr;
  std::map<std::vector<uint32_t>, Options> cache_;
  std::vector<Options *> direct_; ///< without chunks: [group * forms + form << n | layers]
  std::array<Mask, Layers> set_{};
  std::array<Id, Layers> parallelConfig_{};
  std::array<int64_t, Layers> first_{}, tied_{};
  Passes::Pipeline pipeline_;
  std::array<const Option *, Layers> chosen_{};
  std::vector<int64_t> used_;
  int64_t devices_ = 0, memory_ = 0;
  double price_ = 0, tdp_ = 0, watts_ = 0, joules_ = 0;
};

} // namespace

Enumerated enumeratePlans(const PlacementProblem &problem, const EnumeratorOptions &options) {
  return Enumerator(problem, options).run();
}

} // namespace accord::test
