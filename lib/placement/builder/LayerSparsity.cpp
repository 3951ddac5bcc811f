#include "lib/placement/builder/LayerSparsity.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace accord {
namespace {

/// What zeros change of the layers of one step.
class DifferenceSummer {
public:
  DifferenceSummer(const Layering &layering, const WorkGraph &graph, const Costs &costs,
                   const std::vector<double> *times)
      : layering_(layering), graph_(graph), costs_(costs), times_(times) {
    const std::vector<layers::Part> parts = layers::partsOf(layering, graph, Dependences::of(graph));
    const std::vector<OperationId> &all = graph.regions[kMicrobatchRegion].operations;
    for (size_t i = 0; i < all.size(); ++i)
      assign(all[i], parts[i]);
  }

  void add(const SparseLayerUse &use, const PlacementSparsityRequest::Product &product, UseDifferences &into) {
    for (const SparseLayerUse::OfOperation &one : use.operations)
      if (graph_.operations[one.id].region == kUpdateRegion)
        addUpdate(one, product, into);
      else
        addPass(one, into);
    if (product.ownsParameter)
      addMemory(use, product, into);
  }

private:
  void assign(OperationId id, const layers::Part &part) {
    partOf_[id] = part;
    if (RegionId body = graph_.operations[id].body; body != kNone)
      for (OperationId inner : graph_.regions[body].operations)
        assign(inner, part);
  }
  int64_t countOf(uint32_t cls) const { return layering_.classes[cls].count; }
  double secondsOf(OperationId id) const { return times_ ? (*times_)[id] : costs_.operations[id].time.value; }
  /// Rounded up: what zeros save is not counted before it is a whole picosecond.
  static int64_t picoseconds(double seconds) { return static_cast<int64_t>(std::ceil(seconds * 1e12 * (1 - 1e-12))); }

  void addPass(const SparseLayerUse::OfOperation &one, UseDifferences &into) const {
    auto found = partOf_.find(one.id);
    if (found == partOf_.end())
      return;
    const auto &[cls, backward] = found->second;
    const double times =
        double(graph_.executions(one.id)) / double(std::max<int64_t>(1, graph_.microbatches)) / double(countOf(cls));
    const int64_t more = picoseconds(secondsOf(one.id) * (one.time - 1) * times);
    LayerUse &use = into[cls];
    const Phase phase = graph_.operations[one.id].phase;
    (!backward                        ? use.forward
     : phase == Phase::WeightGradient ? use.weight
     : phase == Phase::Recompute      ? use.recomputeTime
                                      : use.backward) += more;
    use.joules += costs_.operations[one.id].energy.value * (one.energy - 1) * times;
  }

  void addUpdate(const SparseLayerUse::OfOperation &one, const PlacementSparsityRequest::Product &product,
                 UseDifferences &into) const {
    if (!product.ownsParameter)
      return;
    const std::vector<uint32_t> owners = layers::ownersOf(layering_, graph_, product.parameter);
    for (uint32_t cls : owners) {
      const double share = 1 / double(countOf(cls));
      const int64_t more = picoseconds(secondsOf(one.id) * (one.time - 1) * share);
      const double joules = costs_.operations[one.id].energy.value * (one.energy - 1) * share;
      LayerUse &use = into[cls];
      use.update += more, use.updateJoules += joules;
      if (cls != owners.front())
        use.copy.update += more, use.copy.updateJoules += joules;
    }
  }

  void addMemory(const SparseLayerUse &use, const PlacementSparsityRequest::Product &product,
                 UseDifferences &into) const {
    const std::vector<uint32_t> owners = layers::ownersOf(layering_, graph_, product.parameter);
    for (uint32_t cls : owners)
      into[cls].masks += picoseconds(use.maskSeconds / double(countOf(cls)));
    for (const StaticTensor &tensor : graph_.staticTensors) {
      if (tensor.name != product.parameter)
        continue;
      const double ratio = tensor.category == Category::Weights ? use.weights : use.states;
      for (uint32_t cls : owners) {
        const int64_t dense = (tensor.bytes + countOf(cls) - 1) / countOf(cls);
        const int64_t more = static_cast<int64_t>(std::ceil(double(dense) * ratio)) - dense;
        LayerUse &of = into[cls];
        layers::bytesOf(tensor, of) += more;
        if (tensor.category == Category::Gradients && owners.size() > 1)
          of.tied += more;
        if (cls == owners.front())
          continue;
        LayerUse copy;
        layers::bytesOf(tensor, copy) += more;
        of.copy.weights += copy.weights, of.copy.gradients += copy.gradients;
        of.copy.states += copy.states, of.copy.quantized += copy.quantized;
      }
    }
  }

  const Layering &layering_;
  const WorkGraph &graph_;
  const Costs &costs_;
  const std::vector<double> *times_;
  std::map<OperationId, layers::Part> partOf_;
};

/// Numbers of a use that zeros change.
constexpr int64_t LayerUse::*kNumbers[] = {&LayerUse::forward, &LayerUse::backward,  &LayerUse::weight,
                                           &LayerUse::update,  &LayerUse::masks,     &LayerUse::recomputeTime,
                                           &LayerUse::weights, &LayerUse::gradients, &LayerUse::states,
                                           &LayerUse::tied,    &LayerUse::quantized};
constexpr int64_t LayerUse::Copy::*kCopies[] = {&LayerUse::Copy::weights, &LayerUse::Copy::gradients,
                                                &LayerUse::Copy::states, &LayerUse::Copy::quantized,
                                                &LayerUse::Copy::update};

bool takesNoMore(const SparsityUnit &unit, const SparsityAlternative &a, const SparsityAlternative &b, size_t budgets) {
  for (size_t budget = 0; budget < budgets; ++budget) {
    int64_t more = 0;
    for (size_t d = 0; d < unit.decisions.size(); ++d) {
      auto takes = [&](const SparsityAlternative &one) {
        const std::vector<int64_t> &all = unit.decisions[d].options[one.options[d]].takes;
        return all.empty() ? 0 : all[budget];
      };
      more += takes(a) - takes(b);
    }
    if (more > 0)
      return false;
  }
  for (size_t c = 0; c < a.costs.size(); ++c)
    for (size_t config = 0; config < a.costs[c].size(); ++config) {
      const auto &of = a.costs[c][config], &other = b.costs[c][config];
      if (other && (!of || !isNoMore(*of, *other)))
        return false;
    }
  return true;
}

/// Choices of options of some decisions of a unit, of which none has another one beside it that is nowhere worse.
class AlternativeMerger {
public:
  AlternativeMerger(const std::vector<uint32_t> &classes, size_t budgets) : classes_(classes), budgets_(budgets) {
    partial_.push_back({{}, {}, 0});
  }

  /// Adds a decision, which has this number in `steps`. True: choices were left out because they are too many.
  bool add(const SparsityDecision &decision, uint32_t number, const std::vector<const SparsityDifferences *> &steps) {
    std::vector<Partial> options;
    for (uint32_t o = 0; o < decision.options.size(); ++o)
      options.push_back({{o}, numbersOf(decision.options[o], number, o, steps), timeOf(number, o, steps)});
    bool isNarrowed = false;
    std::vector<Partial> made;
    for (const Partial &before : partial_)
      for (const Partial &option : options) {
        Partial one = before;
        one.options.push_back(option.options.front());
        one.numbers.resize(option.numbers.size());
        for (size_t i = 0; i < option.numbers.size(); ++i)
          one.numbers[i] += option.numbers[i];
        one.time += option.time;
        insert(std::move(one), made);
        if (made.size() > 4 * kMaxAlternatives) {
          narrow(made);
          isNarrowed = true;
        }
      }
    if (made.size() > kMaxAlternatives) {
      narrow(made);
      isNarrowed = true;
    }
    partial_ = std::move(made);
    return isNarrowed;
  }

  /// The dense choice first, then in the order of options.
  std::vector<std::vector<uint32_t>> take() {
    std::vector<std::vector<uint32_t>> all;
    for (Partial &one : partial_)
      all.push_back(std::move(one.options));
    const std::vector<uint32_t> dense(all.empty() ? 0 : all.front().size());
    if (!llvm::is_contained(all, dense))
      all.push_back(dense);
    llvm::sort(all);
    return all;
  }

private:
  struct Partial {
    std::vector<uint32_t> options;
    std::vector<double> numbers; ///< budgets, then differences
    double time = 0;             ///< difference of passes and updates, summed over all steps
  };

  double timeOf(uint32_t decision, uint32_t number, const std::vector<const SparsityDifferences *> &steps) const {
    double sum = 0;
    for (const SparsityDifferences *step : steps)
      for (uint32_t cls : classes_)
        if (auto found = (*step)[decision][number].find(cls); found != (*step)[decision][number].end()) {
          const LayerUse &use = found->second;
          sum += double(use.forward + use.backward + use.weight + use.recomputeTime + use.update + use.masks);
        }
    return sum;
  }

  /// Keeps what is nowhere worse by budgets and time alone, and of that every so many one, the last one among them.
  void narrow(std::vector<Partial> &all) const {
    llvm::sort(all, [&](const Partial &a, const Partial &b) {
      return std::tie(a.time, a.options) < std::tie(b.time, b.options);
    });
    std::vector<Partial> kept;
    for (Partial &one : all)
      if (llvm::none_of(kept, [&](const Partial &other) { return takesNoMoreThan(other, one); }))
        kept.push_back(std::move(one));
    all.clear();
    const size_t every = (kept.size() + kMaxAlternatives - 1) / kMaxAlternatives;
    for (size_t i = 0; i < kept.size(); ++i)
      if (i % every == 0 || i + 1 == kept.size())
        all.push_back(std::move(kept[i]));
  }
  bool takesNoMoreThan(const Partial &a, const Partial &b) const {
    for (size_t i = 0; i < budgets_; ++i)
      if (a.numbers[i] > b.numbers[i])
        return false;
    return true;
  }

  std::vector<double> numbersOf(const SparsityDecision::Option &option, uint32_t decision, uint32_t number,
                                const std::vector<const SparsityDifferences *> &steps) const {
    std::vector<double> all;
    for (size_t b = 0; b < budgets_; ++b)
      all.push_back(option.takes.empty() ? 0 : double(option.takes[b]));
    for (const SparsityDifferences *step : steps)
      for (uint32_t cls : classes_) {
        const UseDifferences &differences = (*step)[decision][number];
        auto found = differences.find(cls);
        const LayerUse none, &use = found == differences.end() ? none : found->second;
        for (auto field : kNumbers)
          all.push_back(double(use.*field));
        all.push_back(use.joules), all.push_back(use.updateJoules);
      }
    return all;
  }

  static bool isNowhereWorse(const Partial &a, const Partial &b) {
    for (size_t i = 0; i < a.numbers.size(); ++i)
      if (a.numbers[i] > b.numbers[i])
        return false;
    return true;
  }
  static void insert(Partial one, std::vector<Partial> &all) {
    if (llvm::any_of(all, [&](const Partial &other) { return isNowhereWorse(other, one); }))
      return;
    std::erase_if(all, [&](const Partial &other) { return isNowhereWorse(one, other); });
    all.push_back(std::move(one));
  }

  const std::vector<uint32_t> &classes_;
  const size_t budgets_;
  std::vector<Partial> partial_;
};

} // namespace

Result<SparsityDifferences> sparsityDifferences(const PlacementSparsityRequest &request, const Layering &layering,
                                                const WorkGraph &graph, const Machine &ideal, const Costs &idealCosts,
                                                const Costs &costs, const std::vector<double> *times) {
  const SparseLayerUses uses(graph, ideal, idealCosts, request.pricing);
  DifferenceSummer summer(layering, graph, costs, times);
  SparsityDifferences all;
  for (const PlacementSparsityRequest::Decision &decision : request.decisions) {
    all.emplace_back();
    for (const std::vector<uint32_t> &options : decision.options) {
      UseDifferences &into = all.back().emplace_back();
      for (size_t i = 0; i < options.size(); ++i) {
        const PlacementSparsityRequest::Product &product = request.products[decision.products[i]];
        if (options[i] == 0)
          continue;
        ACCORD_TRY(use, uses.of(product.name, product.options[options[i]], product.searchesMasks[options[i]]));
        if (use)
          summer.add(*use, product, into);
      }
    }
  }
  return all;
}

SparsityUnits sparsityUnits(const PlacementSparsityRequest &request, const Layering &layering, const WorkGraph &graph) {
  std::vector<std::vector<uint32_t>> classesOf; // by decision
  llvm::IntEqClasses together(layering.classes.size());
  for (const PlacementSparsityRequest::Decision &decision : request.decisions) {
    std::set<uint32_t> classes;
    for (uint32_t number : decision.products) {
      const PlacementSparsityRequest::Product &product = request.products[number];
      if (const uint32_t *cls = layers::byPrefix(layering.classOf, product.name))
        classes.insert(*cls);
      for (uint32_t cls : layers::ownersOf(layering, graph, product.parameter))
        classes.insert(cls);
    }
    classesOf.emplace_back(classes.begin(), classes.end());
    for (uint32_t cls : classes)
      together.join(*classes.begin(), cls);
  }
  together.compress();
  std::map<unsigned, SparsityUnits> byClass; // of one unit each
  for (size_t d = 0; d < request.decisions.size(); ++d) {
    if (classesOf[d].empty())
      continue;
    SparsityUnits &one = byClass[together[classesOf[d].front()]];
    one.units.resize(1), one.decisions.resize(1);
    one.units[0].decisions.push_back(request.decisions[d].stated);
    one.decisions[0].push_back(static_cast<uint32_t>(d));
    for (uint32_t cls : classesOf[d])
      if (!llvm::is_contained(one.units[0].classes, cls))
        one.units[0].classes.push_back(cls);
  }
  SparsityUnits all;
  for (auto &[key, one] : byClass) {
    SparsityUnit &unit = one.units[0];
    llvm::sort(unit.classes);
    all.units.push_back(std::move(unit));
    all.decisions.push_back(std::move(one.decisions[0]));
  }
  return all;
}

bool listAlternatives(const PlacementSparsityRequest &request, SparsityUnits &zeros,
                      const std::vector<const SparsityDifferences *> &steps) {
  bool isNarrowed = false;
  for (size_t u = 0; u < zeros.units.size(); ++u) {
    SparsityUnit &unit = zeros.units[u];
    AlternativeMerger merger(unit.classes, request.budgets.size());
    for (size_t d = 0; d < unit.decisions.size(); ++d)
      isNarrowed |= merger.add(unit.decisions[d], zeros.decisions[u][d], steps);
    for (std::vector<uint32_t> &options : merger.take()) {
      unit.alternatives.push_back({std::move(options), {}});
      unit.alternatives.back().costs.resize(unit.classes.size());
    }
  }
  return isNarrowed;
}

LayerUse withSparsity(LayerUse use, const std::vector<const LayerUse *> &differences) {
  for (const LayerUse *more : differences) {
    for (auto number : kNumbers)
      use.*number = std::max<int64_t>(0, use.*number + more->*number);
    for (auto number : kCopies)
      use.copy.*number = std::max<int64_t>(0, use.copy.*number + more->copy.*number);
    use.joules = std::max(0.0, use.joules + more->joules);
    use.updateJoules = std::max(0.0, use.updateJoules + more->updateJoules);
    use.copy.updateJoules = std::max(0.0, use.copy.updateJoules + more->copy.updateJoules);
  }
  return use;
}

bool isNoMore(const PlacementProblem::Cost &a, const PlacementProblem::Cost &b) {
  using Cost = PlacementProblem::Cost;
  for (auto number : {&Cost::forward, &Cost::backward, &Cost::weight, &Cost::update, &Cost::staticMemory,
                      &Cost::hostStaticMemory, &Cost::gradients, &Cost::expertGradients, &Cost::weights, &Cost::tied})
    if (a.*number > b.*number)
      return false;
  if (a.joules > b.joules || a.recomputeJoules > b.recomputeJoules)
    return false;
  return llvm::all_of(b.recomputeChoices, [&](const RecomputeChoice &other) {
    return llvm::any_of(a.recomputeChoices, [&](const RecomputeChoice &one) {
      return one.recomputeTime <= other.recomputeTime && one.activations <= other.activations &&
             one.workspace <= other.workspace && one.hostActivations <= other.hostActivations;
    });
  });
}

void dropDominated(SparsityUnit &unit, size_t budgets) {
  std::vector<SparsityAlternative> kept;
  for (SparsityAlternative &one : unit.alternatives) {
    if (!kept.empty() &&
        llvm::any_of(kept, [&](const SparsityAlternative &other) { return takesNoMore(unit, other, one, budgets); }))
      continue;
    for (size_t i = kept.size(); i-- > 1;)
      if (takesNoMore(unit, one, kept[i], budgets))
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    kept.push_back(std::move(one));
  }
  unit.alternatives = std::move(kept);
}

} // namespace accord
