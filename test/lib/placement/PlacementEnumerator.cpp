#include "test/lib/placement/PlacementEnumerator.h"
#include "lib/placement/verify/PlacementWorth.h"
#include "test/lib/placement/PlacementEnumeratorPasses.h"
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
      : p_(problem), options_(options), n_(static_cast<int>(problem.layers.size())),
        all_((Mask(1) << n_) - 1) {
    out_.best = options.below;
    for (const auto &edge : p_.edges) {
      before_[edge.to] |= Mask(1) << edge.from;
      after_[edge.from] |= Mask(1) << edge.to;
    }
    for (int l = 0; l < n_; ++l)
      if (p_.evenly && p_.layers[l].of == *p_.evenly)
        shared_ |= Mask(1) << l;
    sums_.resize(p_.forms.size() << n_);
    for (Id form = 0; form < p_.forms.size(); ++form)
      for (Mask set = 1; set <= all_; ++set)
        sums_[(form << n_) + set] = sum(form, set);
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

  Enumerated run() {
    for (PipelineSchedule schedule : p_.schedules) {
      bool interleaved = schedule == PipelineSchedule::Interleaved;
      for (int64_t v : interleaved ? p_.chunks : std::vector<int64_t>{1})
        for (int64_t p = interleaved ? 2 : 1; p * v <= n_ && v >= (interleaved ? 2 : 1); ++p) {
          if (!p_.mayHaveGroups(p) || !p_.mayHaveStages(p * v))
            continue;
          std::vector<int64_t> counts;
          for (const auto &form : p_.forms)
            if (int64_t each = form.data * form.microbatch; p_.batch % each == 0)
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
    int64_t forward = 0, backward = 0, weight = 0, update = 0, resident = 0, gradients = 0,
            expertGradients = 0, weights = 0, least = 0, hostResident = 0;
    double joules = 0;
  };
  struct Option {
    std::array<int64_t, Layers> again; ///< by chunk
    double joules;
    int64_t memory;
    std::array<uint32_t, Layers> keep; ///< by layer
  };
  using Options = std::vector<Option>;

  Sum sum(Id form, Mask set) const {
    Sum all;
    for (Id l = 0; l < Id(n_); ++l) {
      if (!(set >> l & 1))
        continue;
      const auto &layer = p_.layers[l];
      const auto &cost = p_.classes[layer.of].costs[form];
      if (!cost) {
        all.can = false;
        return all;
      }
      all.forward += cost->forward, all.backward += cost->backward, all.weight += cost->weight;
      all.update += cost->update, all.resident += cost->resident;
      all.hostResident += cost->hostResident, all.expertGradients += cost->expertGradients;
      all.gradients += cost->gradients, all.weights += cost->weights;
      all.joules += cost->joules;
      int64_t least = INT64_MAX;
      for (const auto &keep : cost->keeps)
        least = std::min(least, keep.again);
      all.least += least;
    }
    return all;
  }
  const Sum &sumOf(int s) const { return sums_[(form_[s % groups_] << n_) + set_[s]]; }
  const PlacementProblem::Form &formOf(int s) const { return p_.forms[form_[s % groups_]]; }
  const PlacementProblem::Kind &kindOf(int s) const { return p_.kinds[formOf(s).kind]; }

  void shape(PipelineSchedule schedule, int p, int v, int m) {
    schedule_ = schedule, groups_ = p, chunks_ = v, m_ = m, stages_ = p * v;
    Passes passes(schedule, p, v, m);
    passes_ = &passes;
    cache_.clear();
    direct_.assign((size_t(p) * p_.forms.size()) << n_, nullptr);
    std::fill(used_.begin(), used_.end(), 0);
    used_.resize(p_.kinds.size());
    devices_ = 0, price_ = 0, tdp_ = 0, joules_ = 0, watts_ = 0, memory_ = 0;
    stage(0, 0);
  }

  /// Least value of a plan in which the groups so far are all there are, and steps take so long.
  double value(int64_t step) const {
    double seconds = static_cast<double>(step) * 1e-12;
    const double values[] = {static_cast<double>(step), joules_ + watts_ * seconds,
                             price_ / 3600 * seconds, tdp_ * seconds, static_cast<double>(memory_)};
    return values[static_cast<size_t>(p_.objective)];
  }
  bool better(double worth, int64_t step) const {
    return worth < out_.best * (1 - 1e-9) || (worth <= out_.best * (1 + 1e-9) && step < out_.step);
  }
  bool useless(int64_t step) const {
    double seconds = static_cast<double>(step) * 1e-12;
    const PlacementProblem::Limits &limits = p_.limits;
    return (!options_.everything && !better(value(step), step)) ||
           (limits.step > 0 && step > limits.step) ||
           (limits.devices > 0 && devices_ > limits.devices) ||
           (limits.joules > 0 && joules_ + watts_ * seconds > limits.joules * (1 + 1e-12)) ||
           (limits.price > 0 && price_ / 3600 * seconds > limits.price * (1 + 1e-12));
  }

  bool over() {
    out_.complete &= out_.cuts + out_.simulated <= options_.most;
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
    for (Id form = 0; form < p_.forms.size(); ++form) {
      const auto &one = p_.forms[form];
      const auto &kind = p_.kinds[one.kind];
      int64_t devices = one.tensor * one.data;
      bool other = p_.batch % (one.data * one.microbatch) != 0 ||
                   p_.batch / (one.data * one.microbatch) != m_ ||
                   used_[one.kind] + devices > kind.devices;
      for (int g = 0; g < s; ++g) {
        const auto &earlier = p_.forms[form_[g]];
        bool whole = one.order == PlacementProblem::RankOrder::TensorPipelineData ||
                     earlier.order == PlacementProblem::RankOrder::TensorPipelineData;
        other |= form_[g] != form && (whole || (p_.sameForm && earlier.kind == one.kind));
      }
      if (other)
        continue;
      form_[s] = form, first_[s] = used_[one.kind];
      auto n = static_cast<double>(devices);
      auto before = std::tuple(devices_, price_, tdp_, watts_);
      used_[one.kind] += devices, devices_ += devices;
      price_ += kind.pricePerHour * n, tdp_ += kind.tdpWatts * n, watts_ += kind.idleWatts * n;
      sets(s, done);
      used_[one.kind] -= devices;
      std::tie(devices_, price_, tdp_, watts_) = before;
    }
  }

  /// Where layers have to be.
  bool pinsAllow(int s, Mask set) const {
    for (Id id = 0; id < p_.pins.size(); ++id) {
      const auto &pin = p_.pins[id];
      Mask under = 0;
      for (int l = 0; l < n_; ++l)
        for (Id of : p_.layers[l].pins)
          under |= Mask{of == id} << l;
      bool kind =
          pin.kinds.empty() || std::count(pin.kinds.begin(), pin.kinds.end(), formOf(s).kind);
      if ((set & under) && (!kind || pin.stage.value_or(s) != s || (pin.together && under & ~set)))
        return false;
    }
    return true;
  }
  void sets(int s, Mask done) {
    Mask left = all_ & ~done;
    int after = stages_ - s - 1;
    for (Mask set = left; set; set = (set - 1) & left) {
      int size = std::popcount(set);
      if ((after == 0 ? set != left : std::popcount(left) - size < after) || !pinsAllow(s, set))
        continue;
      if (std::popcount(set & shared_) * stages_ != std::popcount(shared_))
        continue;
      if (chunks_ > 1 && !p_.evenly && (size < n_ / stages_ || size > (n_ + stages_ - 1) / stages_))
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
      if (chunks_ == 1 && optionsOf(s).empty())
        continue;
      ++out_.cuts;
      if (over())
        return;
      double joules = joules_;
      int64_t load = 0;
      for (int t = s % groups_; t <= s; t += groups_) {
        const Sum &one = sumOf(t);
        load += m_ * (one.forward + one.backward + one.weight + one.least + p_.perMicrobatch) +
                one.update;
      }
      joules_ += sum.joules;
      if (!useless(load + p_.perStep))
        stage(s + 1, done | set);
      joules_ = joules;
    }
  }

  /// What the group of stage `s` may keep: all that fits.
  const Options &optionsOf(int s) {
    int g = s % groups_;
    Options **direct = nullptr;
    if (chunks_ == 1) {
      direct = &direct_[((size_t(g) * p_.forms.size() + form_[g]) << n_) + set_[g]];
      if (*direct)
        return **direct;
    }
    std::vector<uint32_t> key{form_[g], uint32_t(g)};
    Mask layers = 0;
    for (int t = g; t < stages_; t += groups_)
      key.push_back(set_[t]), layers |= set_[t];
    auto [at, added] = cache_.try_emplace(std::move(key));
    Options &list = at->second;
    if (direct)
      *direct = &list;
    if (!added)
      return list;
    std::array<int, Layers> chunkOf{};
    int64_t resident = 0, hostResident = 0;
    for (int t = g; t < stages_; t += groups_) {
      resident += sumOf(t).resident, hostResident += sumOf(t).hostResident;
      for (Mask rest = set_[t]; rest; rest &= rest - 1)
        chunkOf[std::countr_zero(rest)] = t / groups_;
    }
    std::map<std::pair<std::array<int64_t, Layers>, double>, size_t> seen; // where in the list
    Option option{};
    auto choose = [&](auto &&self, Mask rest, std::array<int64_t, Layers> kept,
                      std::array<int64_t, Layers> host, int64_t working) -> void {
      if (rest) {
        int l = std::countr_zero(rest), c = chunkOf[l];
        const auto &cost = *p_.classes[p_.layers[l].of].costs[form_[g]];
        for (uint32_t k = 0; k < cost.keeps.size(); ++k) {
          const auto &keep = cost.keeps[k];
          Option before = option;
          auto with = kept, outside = host;
          outside[c] += keep.hostKept;
          with[c] += keep.kept, option.again[c] += keep.again, option.keep[l] = k;
          option.joules += cost.joulesAgain * static_cast<double>(keep.again);
          self(self, rest & (rest - 1), with, outside, std::max(working, keep.working));
          option = before;
        }
        return;
      }
      auto peak = [&](const std::array<int64_t, Layers> &each) {
        int64_t most = 0;
        for (const auto &held : passes_->held[size_t(g)]) {
          int64_t now = 0;
          for (int c = 0; c < chunks_; ++c)
            now += held[size_t(c)] * each[c];
          most = std::max(most, now);
        }
        return most;
      };
      option.memory = resident + peak(kept) + working;
      if (option.memory > kindOf(g).memory || hostResident + peak(host) > kindOf(g).hostMemory)
        return;
      auto [at, added] = seen.try_emplace({option.again, option.joules}, list.size());
      if (added)
        list.push_back(option);
      else if (option.memory < list[at->second].memory)
        list[at->second] = option;
    };
    choose(choose, layers, {}, {}, 0);
    return list;
  }

  int64_t apartOf(const PlacementProblem::Form &form) const {
    return form.order == PlacementProblem::RankOrder::TensorPipelineData ? groups_ : 1;
  }

  bool inOneServer(int a, int b) const {
    if (formOf(a).kind != formOf(b).kind)
      return false;
    int64_t per = kindOf(a).perServer;
    if (formOf(a).order == PlacementProblem::RankOrder::TensorPipelineData) {
      for (int64_t r = 0; r < formOf(a).data; ++r) {
        int64_t tensor = formOf(a).tensor, low = (r * groups_ + std::min(a, b)) * tensor;
        int64_t high = (r * groups_ + std::max(a, b) + 1) * tensor - 1;
        if (low / per != high / per)
          return false;
      }
      return true;
    }
    int64_t from = std::min(first_[a], first_[b]);
    int64_t to = std::max(first_[a] + formOf(a).devices(), first_[b] + formOf(b).devices()) - 1;
    return from / per == to / per;
  }

  /// Stages and forms are chosen: what goes between them, then each group's choices.
  void plan() {
    for (int s = 0; s < stages_; ++s) {
      const Sum &sum = sumOf(s);
      int64_t gather = best(formOf(s).gather, static_cast<double>(sum.weights));
      pipeline_.times[s] = {sum.forward + gather + p_.perMicrobatch, sum.backward + gather,
                            sum.weight, 0, 0};
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
        const auto &link = p_.links[formOf(a).kind * p_.kinds.size() + formOf(b).kind];
        double each = static_cast<double>(bytes) *
                      static_cast<double>(formOf(a).data * formOf(a).microbatch) /
                      static_cast<double>(std::min(formOf(a).devices(), formOf(b).devices()));
        int64_t takes = best({inOneServer(from, to) ? link.inside : link.across}, each);
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
      int64_t bytes = std::max(p_.classes[p_.layers[tie.a].of].costs[form_[a]]->tied,
                               p_.classes[p_.layers[tie.b].of].costs[form_[b]]->tied);
      int64_t takes = 0;
      for (int from : {a, b}) {
        const auto &link =
            p_.links[formOf(from).kind * p_.kinds.size() + formOf(a + b - from).kind];
        takes =
            std::max(takes, best({inOneServer(a, b) ? link.inside : link.across}, double(bytes)));
      }
      tied_[a] += takes, tied_[b] += takes;
    }
    keeps(0);
  }

  void keeps(int g) {
    if (over())
      return;
    if (g == groups_) {
      ++out_.choices;
      finished();
      return;
    }
    const auto &form = formOf(g);
    for (const Option &option : optionsOf(g)) {
      int64_t busy = 0, hides = 0, gradients = 0, experts = 0, updates = 0;
      for (int s = g; s < stages_; s += groups_) {
        const Sum &sum = sumOf(s);
        pipeline_.backward[s] = pipeline_.times[s].backward + option.again[size_t(s / groups_)];
        busy += pipeline_.times[s].forward + pipeline_.backward[s] + pipeline_.times[s].weight;
        hides += sum.backward + option.again[size_t(s / groups_)] + sum.weight;
        gradients += sum.gradients, updates += sum.update, experts += sum.expertGradients;
      }
      int64_t together = std::max<int64_t>(
          1, std::min(form.data, kindOf(g).perServer / (form.tensor * apartOf(form))));
      int64_t exchange = exchanged(form.syncs, gradients, together) +
                         exchanged(form.expertSyncs, experts, together / form.expert);
      int64_t hidden = static_cast<int64_t>(p_.hidden * static_cast<double>(hides));
      if (p_.hides < 1)
        hidden = std::min(hidden, static_cast<int64_t>(p_.hides * static_cast<double>(exchange)));
      exchange -= std::min(exchange, hidden);
      pipeline_.finish[g] = exchange + updates + tied_[g];
      double joules = joules_;
      joules_ += option.joules;
      int64_t memory = std::exchange(memory_, std::max(memory_, option.memory));
      chosen_[g] = &option;
      if (!useless(m_ * busy + pipeline_.finish[g] + p_.perStep))
        keeps(g + 1);
      else
        ++out_.choices;
      joules_ = joules, memory_ = memory;
    }
  }

  void finished() {
    ++out_.simulated;
    int64_t step = std::max(passes_->run(pipeline_) + p_.perStep, p_.leastStep);
    double worth = value(step);
    const auto &limits = p_.limits;
    double seconds = static_cast<double>(step) * 1e-12;
    bool within = (limits.step <= 0 || step <= limits.step) &&
                  (limits.devices <= 0 || devices_ <= limits.devices) &&
                  (limits.joules <= 0 || joules_ + watts_ * seconds <= limits.joules) &&
                  (limits.price <= 0 || price_ / 3600 * seconds <= limits.price) &&
                  (limits.watts <= 0 || joules_ + watts_ * seconds <= limits.watts * seconds);
    bool is = within && better(worth, step);
    if (is || (options_.sampleEvery > 0 && out_.simulated % options_.sampleEvery == 0))
      compare(step, worth);
    if (is)
      out_.best = std::min(out_.best, worth), out_.step = step, out_.plan = made();
  }

  Placement made() const {
    Placement plan{schedule_, chunks_, m_, std::vector<PlacedStage>(size_t(stages_))};
    for (int s = 0; s < stages_; ++s) {
      plan.stages[size_t(s)].form = form_[s % groups_];
      for (Id l = 0; l < Id(n_); ++l)
        if (set_[s] >> l & 1) {
          plan.stages[size_t(s)].layers.push_back(l);
          plan.stages[size_t(s)].keeps.push_back(chosen_[s % groups_]->keep[l]);
        }
    }
    return plan;
  }

  void compare(int64_t step, double worth) {
    ++out_.sampled;
    Placement plan = made();
    auto issues = misfits(p_, plan);
    auto again = worthAgain(p_, plan);
    if (!issues.empty())
      out_.difference = issues[0].message;
    else if (!again)
      out_.difference = "no worth";
    else if (again->step != step || !again->fits ||
             !(std::abs(again->value - worth) <= 1e-9 * std::abs(worth)))
      out_.difference = fmt::format("step {} and {}, value {} and {}, fits {}", step, again->step,
                                    worth, again->value, again->fits);
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
  int groups_ = 1, chunks_ = 1, stages_ = 1;
  int64_t m_ = 1;
  Passes *passes_ = nullptr;
  std::map<std::vector<uint32_t>, Options> cache_;
  std::vector<Options *> direct_; ///< without chunks: [group * forms + form << n | layers]
  std::array<Mask, Layers> set_{};
  std::array<Id, Layers> form_{};
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
