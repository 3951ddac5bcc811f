#include "lib/placement/builder/Offer.h"
#include "lib/placement/builder/FittedPrices.h"
#include "lib/placement/builder/OfferCosts.h"
#include "lib/placement/builder/OfferSteps.h"
#include "lib/placement/solve/Place.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// All sums of a line of each.
std::vector<LinearTime> both(const std::vector<LinearTime> &a, const std::vector<LinearTime> &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  std::vector<LinearTime> sums;
  for (const LinearTime &x : a)
    for (const LinearTime &y : b)
      sums.push_back({x.latency + y.latency, x.perByte + y.perByte});
  return lowest(std::move(sums));
}
/// `part` of the time, and `ratio` bytes for each.
std::vector<LinearTime> scaled(std::vector<LinearTime> lines, double part, double ratio) {
  for (LinearTime &line : lines)
    line.latency *= part, line.perByte *= part * ratio;
  return lines;
}

class Offering {
public:
  explicit Offering(const OfferRequest &request, const OfferKnown *known = nullptr)
      : request_(request), known_(known),
        networks_(known && known->networks ? *known->networks : ownNetworks_) {}

  std::variant<Offer, std::vector<Issue>> run() {
    for (const Cluster &group : request_.groups)
      prices_.push_back(FittedPrices::of(group, request_.eightBit, request_.unlinked));
    addDevices(request_, prices_, problem());
    if (!structure())
      return std::move(issues_);
    for (Id kind = 0; kind < request_.groups.size(); ++kind)
      if (!forms(kind))
        return std::move(issues_);
    bool divides =
        std::any_of(problem().forms.begin(), problem().forms.end(), [](const auto &form) {
          return form.expert > 1 || form.tables != PlacementProblem::Tables::Whole;
        });
    if (problem().forms.empty() || (left_ && !divides && !request_.space.mayBeWhole()))
      return left_ ? std::vector<Issue>{*left_}
                   : std::vector<Issue>{nothingDivides(request_, problem())};
    if (auto issue = tooManyPasses(request_, problem()))
      return std::vector<Issue>{*issue};
    for (const std::string &text : assumptionsOf(request_, prices_, dropped_, problem()))
      assume(text);
    return std::move(out_);
  }

private:
  PlacementProblem &problem() { return out_.problem; }

  std::optional<PricedStep> price(const WorkGraph &graph, Id kind, const OfferStep &step) {
    auto priced = priceStep(graph, request_, request_.groups[kind], step);
    if (auto *failed = std::get_if<std::vector<Issue>>(&priced)) {
      issues_ = std::move(*failed);
      return std::nullopt;
    }
    for (const std::string &text : std::get<PricedStep>(priced).costs.assumptions)
      assume(text);
    return std::move(std::get<PricedStep>(priced));
  }

  /// The layers, from the step of one device, one sample at a time and nothing computed again.
  bool structure() {
    if (known_) {
      layering_ = *known_->layering;
      return structure(*known_->work);
    }
    auto graph = instantiated(request_, {});
    if (auto *issue = std::get_if<Issue>(&graph)) {
      issues_ = {*issue};
      return false;
    }
    const WorkGraph &work = std::get<WorkGraph>(graph);
    auto priced = price(work, 0, {});
    if (!priced)
      return false;
    layering_ = Layering::of(work, priced->schedule);
    return structure(work);
  }

  bool structure(const WorkGraph &work) {
    out_.parameters = work.parameters;
    out_.precision = work.precision;
    out_.optimizer = work.optimizer;
    for (OperationId id = 0; id < work.operations.size(); ++id)
      if (work.operations[id].region != kUpdateRegion)
        out_.modelFlops += static_cast<double>(contractionFlops(work.operations[id])) *
                           static_cast<double>(work.executions(id)) /
                           static_cast<double>(work.microbatches) *
                           static_cast<double>(request_.batch);
    PlacementProblem &p = problem();
    std::set<std::pair<Id, Id>> tied;
    for (const SharedParameter &shared : sharedParameters(layering_, work)) {
      assume(fmt::format("parameter '{}' is used by several layers: each has a copy of its own, "
                         "and copies of two device groups exchange their gradients at the end",
                         shared.name));
      for (size_t i = 1; i < shared.classes.size(); ++i)
        tied.insert(
            {layering_.firstOf(shared.classes[i - 1]), layering_.firstOf(shared.classes[i])});
    }
    for (auto [a, b] : tied)
      p.ties.push_back({std::min(a, b), std::max(a, b)});
    if (auto text = addLoading(request_, work, p); !text.empty())
      assume(text);
    for (Id cls = 0; cls < layering_.classes.size(); ++cls) {
      const Layering::Class &one = layering_.classes[cls];
      p.classes.push_back({one.name, {}});
      for (int64_t i = 0; i < one.count; ++i)
        p.layers.push_back(
            {one.count > 1 ? fmt::format("{}[{}]", one.name, i) : one.name, cls, {}, {}});
    }
    if (auto issue = shareEvenly(request_, layering_, p)) {
      issues_ = {*issue};
      return false;
    }
    for (const Layering::Edge &edge : layering_.edges)
      p.edges.push_back({edge.from, edge.to, edge.bytes});
    return true;
  }

  /// Layers' uses by policy of recomputation, for one degree and micro-batch; of one of `data`
  /// replicas that divide something.
  using Uses = std::vector<std::vector<LayerUse>>;
  std::optional<Uses> uses(Id kind, const PlacementSpace::Share &share, int64_t microbatch,
                           int64_t data = 1, const PlacementSpace::Division &division = {}) {
    Uses all;
    for (const std::string &policy : request_.space.policiesOf(share)) {
      OfferStep step{share, microbatch, policy, data, division};
      if (known_) {
        const std::vector<LayerUse> *found = known_->uses(step);
        if (!found)
          return std::nullopt;
        all.push_back(*found);
        continue;
      }
      auto made = instantiated(request_, step);
      if (auto *issue = std::get_if<Issue>(&made)) {
        if (!left_)
          left_ = *issue;
        assume(fmt::format("tensor_parallel {}{}{} is left out: {}", share.tensor,
                           share.sequence ? " with sequence_parallel" : "",
                           division.any() ? fmt::format(", divided among {} replicas,", data) : "",
                           issue->message));
        return std::nullopt;
      }
      const WorkGraph &graph = std::get<WorkGraph>(made);
      auto priced = price(graph, kind, step);
      if (!priced)
        return std::nullopt;
      std::vector<OperationTime> times;
      if (prices_[kind]) {
        auto fitted = prices_[kind]->times(graph, share.tensor);
        if (auto *issue = std::get_if<Issue>(&fitted)) {
          issues_ = {*issue};
          return std::nullopt;
        }
        times = std::move(std::get<std::vector<OperationTime>>(fitted));
      }
      all.push_back(layerUses(layering_, graph, priced->costs, priced->schedule,
                              prices_[kind] ? &times : nullptr));
    }
    return all;
  }

  /// A layer that a device has no room for however it is kept; larger micro-batches take no less.
  const std::string *tooLarge(const Uses &uses, Id kind) const {
    for (size_t cls = 0; cls < layering_.classes.size(); ++cls)
      if (std::all_of(uses.begin(), uses.end(), [&](const std::vector<LayerUse> &policy) {
            return policy[cls].kept > out_.problem.kinds[kind].memory - policy[cls].working;
          }))
        return &layering_.classes[cls].name;
    return nullptr;
  }

  /// By stages between replicas.
  using Traffics = std::map<int64_t, const OfferTraffic *>;
  const OfferTraffic *traffic(Id kind, int64_t tensor, int64_t data, bool divided,
                              int64_t between) {
    auto found = networks_.find(request_.groups[kind], kind, tensor, data, divided, between);
    if (auto *issue = std::get_if<Issue>(&found)) {
      issues_ = {*issue};
      return nullptr;
    }
    return std::get<const OfferTraffic *>(found);
  }

  struct Degree {
    PlacementSpace::Share share;
    int64_t microbatch = 1, data = 1;
  };

  bool forms(Id kind) {
    int64_t devices = problem().kinds[kind].devices;
    std::vector<int64_t> degrees = request_.space.data;
    if (degrees.empty())
      for (int64_t d = 1; d <= std::min(devices, request_.batch); ++d)
        if (request_.batch % d == 0)
          degrees.push_back(d);
    std::map<std::pair<int64_t, int64_t>, Traffics> traffics;
    for (const PlacementSpace::Share &share : request_.space.shares) {
      if (share.tensor > devices)
        continue;
      for (int64_t microbatch : request_.space.microbatches) {
        if (request_.batch % microbatch != 0)
          continue;
        auto found = uses(kind, share, microbatch);
        if (!issues_.empty())
          return false;
        if (!found && known_) // left out by itself
          continue;
        if (!found)
          break;
        for (int64_t data : degrees) {
          if (data > devices / share.tensor || request_.batch / microbatch % data != 0)
            continue;
          auto [at, isNew] = traffics.try_emplace({share.tensor, data});
          if (isNew && data > 1 && !exchanges(kind, share.tensor, data, at->second))
            return false;
          bool known = false; // without a division
          for (PlacementSpace::Division division : request_.space.divisions(data)) {
            std::optional<Uses> divided;
            if (division.any()) {
              int64_t among = division.experts > 1 ? division.experts : data;
              divided = uses(kind, share, microbatch, among, division);
              if (!issues_.empty())
                return false;
              if (!divided)
                continue;
              if (divided->front().size() == found->front().size() &&
                  weightsOf(*divided) == weightsOf(*found)) {
                if (!request_.space.mayBeWhole()) { // what was asked for cannot be
                  std::string why = fmt::format("with tensor_parallel {} there are no experts or "
                                                "tables that {} replicas could divide",
                                                share.tensor, among);
                  assume(fmt::format("left out: {}", why));
                  if (!left_)
                    left_ = Issue{"A0946", why, request_.location, {}};
                  continue;
                }
                assume("there are no experts or tables that replicas could divide");
                divided.reset();
                division = {};
              }
            }
            if (!division.any() && std::exchange(known, true))
              continue;
            choices(kind, {share, microbatch, data}, division, *found, divided ? *divided : *found,
                    at->second);
          }
        }
        if (const std::string *layer = tooLarge(*found, kind);
            layer && microbatch < request_.space.microbatches.back()) {
          assume(
              fmt::format("micro-batches of more than {} are left out with tensor_parallel {} on "
                          "{}: it has no room for one in '{}'",
                          microbatch, share.tensor, problem().kinds[kind].name, *layer));
          break;
        }
      }
    }
    return true;
  }

  int64_t weightsOf(const Uses &uses) const {
    int64_t sum = 0;
    for (size_t c = 0; c < uses.front().size(); ++c)
      sum += uses.front()[c].weights * layering_.classes[c].count;
    return sum;
  }

  /// By stages between replicas: 1, and as many as a server has room for, if ranks may run so.
  bool exchanges(Id kind, int64_t tensor, int64_t data, Traffics &by) {
    bool divided = std::any_of(request_.space.zero.begin(), request_.space.zero.end(),
                               [](int stage) { return stage > 0; });
    int64_t perServer = problem().kinds[kind].perServer, most = 1;
    for (PlacementProblem::RankOrder order : request_.space.orders)
      if (order == PlacementProblem::RankOrder::TensorPipelineData)
        most = std::max<int64_t>(1, (perServer + tensor - 1) / tensor);
    int64_t known = 0;                                                      // together
    most = std::min(most, problem().kinds[kind].devices / (tensor * data)); // no plan has more
    for (int64_t between = 1; between <= most; ++between) {
      int64_t together = std::max<int64_t>(1, std::min(data, perServer / (tensor * between)));
      if (together == known)
        continue;
      known = together;
      const OfferTraffic *made = traffic(kind, tensor, data, divided, between);
      if (!made)
        return false;
      by.emplace(between, made);
    }
    return true;
  }

  /// All that is chosen besides degrees.
  void choices(Id kind, const Degree &degree, const PlacementSpace::Division &division,
               const Uses &whole, const Uses &divided, const Traffics &traffic) {
    std::vector<int> stages = request_.space.zero;
    if (degree.data == 1) // nothing to divide among
      stages = {*std::min_element(stages.begin(), stages.end())};
    const PlacementProblem::Kind &on = problem().kinds[kind];
    std::vector<size_t> alike; // forms of these degrees that are offered
    for (int zero : stages)
      for (const PlacementSpace::Offload &offload : request_.space.offloads)
        for (bool ring : request_.space.rings)
          for (PlacementProblem::RankOrder order : request_.space.orders) {
            bool replicas = order == PlacementProblem::RankOrder::TensorPipelineData;
            // Where all devices are in one server, or there is one replica, ranks make no
            // difference.
            if (replicas && request_.space.orders.size() > 1 &&
                (degree.data == 1 || on.devices <= on.perServer))
              continue;
            if (zero == 3 && offload.weights) // they come from the other replicas
              continue;
            if (zero >= 2 && division.experts > 1 && division.experts < degree.data) {
              assume("ZeRO 2 and 3 are left out where experts are divided among some replicas");
              continue;
            }
            PlacementProblem::Form form;
            form.kind = kind;
            form.tensor = degree.share.tensor;
            form.sequence = degree.share.sequence;
            form.data = degree.data;
            form.zero = zero;
            form.microbatch = degree.microbatch;
            form.expert = division.experts;
            form.tables = division.tables;
            form.ringOverlap = ring && degree.share.tensor > 1;
            form.hostStates = offload.states;
            form.hostWeights = offload.weights;
            form.order = order;
            if (form.ringOverlap != ring && request_.space.rings.size() > 1)
              continue;
            for (const std::vector<FormCosts::Keep> &keeps : keepsOf(request_.space, whole.size()))
              add(form, keeps, whole, divided, traffic, alike);
          }
  }

  void add(PlacementProblem::Form form, const std::vector<FormCosts::Keep> &keeps,
           const Uses &whole, const Uses &uses, const Traffics &traffic,
           std::vector<size_t> &alike) {
    PlacementProblem &p = problem();
    FormCosts how;
    how.form = &form;
    how.batch = request_.batch;
    how.recomputes = request_.space.policiesOf({form.tensor, form.sequence});
    how.keeps = keeps;
    double rate = request_.groups[form.kind].machine.hostBandwidth.value;
    how.hostPerByte = rate > 0 ? 1e12 / rate : 0;
    std::vector<PlacementProblem::Cost> costs;
    double weights = 0, gradients = 0;
    for (size_t c = 0; c < uses.front().size(); ++c) {
      std::vector<LayerUse> policies;
      for (const std::vector<LayerUse> &policy : uses)
        policies.push_back(policy[c]);
      costs.push_back(costOf(how, policies, &uses == &whole ? nullptr : &whole.front()[c]));
      auto count = static_cast<double>(layering_.classes[c].count);
      weights += static_cast<double>(costs.back().weights) * count;
      gradients += static_cast<double>(costs.back().gradients) * count;
    }
    if (form.data > 1) {
      double perGradient = gradients > 0 ? weights / gradients : 0,
             perWeight = weights > 0 ? gradients / weights : 0;
      int64_t places = p.kinds[form.kind].perServer / form.tensor;
      bool replicas = form.order == PlacementProblem::RankOrder::TensorPipelineData;
      for (const auto &[between, ways] : traffic) {
        if (between > 1 && !replicas)
          break;
        std::vector<LinearTime> lines = ways->allReduce;
        if (form.zero == 1)
          lines = both(ways->scatter, scaled(ways->gather, 1, perGradient));
        else if (form.zero == 2)
          lines = scaled(ways->gather, 1, perGradient);
        else if (form.zero == 3)
          lines = {};
        int64_t together = std::max<int64_t>(1, std::min(form.data, places / between));
        const std::optional<FittedPrices> &fitted = prices_[form.kind];
        if (fitted)
          lines = fitted->exchange(form, together, perGradient);
        form.syncs.insert(form.syncs.begin(), {together, lines});
        if (!expertSync(form, together, between, perGradient))
          return;
        // Of the fewest replicas in one server: what each micro-batch takes, wherever they are.
        if (form.zero >= 2)
          form.gather = scaled(ways->scatter, 0.5, perWeight);
        if (form.zero == 3)
          form.gather = both(ways->gather, form.gather);
        if (fitted)
          form.gather = fitted->gather(form, together, perWeight);
      }
    }
    for (size_t other : alike)
      if (noBetter(p, form, costs, other)) {
        ++dropped_;
        return;
      }
    alike.push_back(p.forms.size());
    for (size_t c = 0; c < costs.size(); ++c)
      p.classes[c].costs.push_back(std::move(costs[c]));
    p.forms.push_back(std::move(form));
  }

  /// Among replicas with the same experts, `expert` apart: neither ZeRO 2 nor 3.
  bool expertSync(PlacementProblem::Form &form, int64_t together, int64_t between,
                  double perGradient) {
    PlacementProblem::Form apart = form;
    apart.data = form.data / form.expert, together = std::max<int64_t>(1, together / form.expert);
    bool known = !form.expertSyncs.empty() && form.expertSyncs.front().together == together;
    if (form.expert == 1 || apart.data == 1 || known)
      return true;
    const OfferTraffic *ways =
        traffic(form.kind, form.tensor, apart.data, true, between * form.expert);
    if (!ways)
      return false;
    std::vector<LinearTime> lines = ways->allReduce;
    if (prices_[form.kind])
      lines = prices_[form.kind]->exchange(apart, together, perGradient);
    else if (form.zero == 1)
      lines = both(ways->scatter, scaled(ways->gather, 1, perGradient));
    form.expertSyncs.insert(form.expertSyncs.begin(), {together, lines});
    return true;
  }

  void assume(const std::string &text) {
    if (std::find(out_.assumptions.begin(), out_.assumptions.end(), text) == out_.assumptions.end())
      out_.assumptions.push_back(text);
  }

  const OfferRequest &request_;
  const OfferKnown *known_;
  OfferNetworks ownNetworks_, &networks_;
  size_t dropped_ = 0;
  Offer out_;
  Layering layering_;
  std::vector<Issue> issues_;
  std::vector<std::optional<FittedPrices>> prices_; ///< by kind, of calibrated machines
  std::optional<Issue> left_;                       ///< why the first degree was left out
};

} // namespace

std::variant<Offer, std::vector<Issue>> offer(const OfferRequest &request) {
  return Offering(request).run();
}

std::variant<Offer, std::vector<Issue>> offer(const OfferRequest &request,
                                              const OfferKnown &known) {
  return Offering(request, &known).run();
}

} // namespace accord
