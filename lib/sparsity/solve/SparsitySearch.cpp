#include "lib/sparsity/solve/SparsitySearch.h"
#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/SparseLayerUse.h"
#include "lib/sparsity/solve/Select.h"
#include "lib/support/NamePattern.h"
#include "llvm/ADT/IntEqClasses.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

constexpr unsigned kOperands = 3;
const char *const kOperandNames[kOperands] = {"weights", "activations", "gradients"};

/// A layer, its product in the forward pass, and the parameter that it multiplies by.
struct Layer {
  PrunedLayer of;
  OperationProduct product;
  std::string parameter;
  std::vector<OperationId> exchanges = {}; ///< of its gradients, with other devices
  size_t number = 0;                       ///< in the order of the forward pass
};

std::vector<Layer> layersOf(const WorkGraph &graph) {
  std::vector<Layer> layers;
  for (PrunedLayer &layer : prunedLayers(graph)) {
    const Operation &op = graph.operations[layer.forward];
    auto product = productOf(graph, op);
    std::string parameter = parameterOf(graph, layer, op.operands[product->stationary]);
    layers.push_back({std::move(layer), *product, std::move(parameter), {}, layers.size()});
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (graph.operations[id].communication &&
          llvm::StringRef(graph.operations[id].name).starts_with(layers.back().parameter + ".gradient."))
        layers.back().exchanges.push_back(id);
  }
  return layers;
}

/// Whether a rule's name means a layer: its operation or its parameter, whole or from one of its parts on (`block.*`
/// means `gpt.block.fc1`).
bool matchesLayer(const std::string &names, const std::string &operation, const std::string &parameter) {
  return matchesPattern(names, operation) || matchesPattern(names, parameter) ||
         matchesPattern("*." + names, operation) || matchesPattern("*." + names, parameter);
}

/// One operand's zeros in one option.
struct Pattern {
  OperandSparsity of = {};
  const SparsityRequest::Rule *rule = nullptr; ///< null: dense
  std::string text = {};                       ///< as the rule has it
  SparsityPattern stated = {};                 ///< the same, with the density of the network

  bool isChosen() const { return rule && !rule->given; }
};
/// By operand.
using Patterns = std::array<Pattern, kOperands>;

class SparsitySearcher {
public:
  explicit SparsitySearcher(const SparsitySearch &search) : search_(search), request_(search.request) {}

  std::variant<PrunePlan, std::vector<Rejection>> run() {
    if (auto rejected = listOptions())
      return std::move(*rejected);
    plan_.result = select(plan_.problem);
    if (!plan_.result.feasible)
      return std::vector<Rejection>{
          {{Code::RequirementNotShown,
            "no sparsity configuration, including the dense one, satisfies the accuracy requirement",
            request_.accuracy ? request_.accuracy->location : request_.location,
            {}},
           ""}};
    total();
    return std::move(plan_);
  }

  std::variant<PrunePlan, std::vector<Rejection>> options() {
    if (auto rejected = listOptions())
      return std::move(*rejected);
    return std::move(plan_);
  }

private:
  /// All but the choice; what is wrong, if anything.
  std::optional<std::vector<Rejection>> listOptions() {
    auto rejected = [](Error issue) { return std::vector<Rejection>{{std::move(issue), ""}}; };
    layers_ = layersOf(search_.graph);
    findScope();
    for (const Layer &layer : layers_)
      if (auto issue = add(layer))
        return rejected(*issue);
    if (plan_.layers.empty())
      return std::vector<Rejection>{{{Code::NotSkipped, "no layer is left that may have zeros", request_.location, {}},
                                     "dense_layers = none, or rules that mean more layers"}};
    others();
    if (!evaluateAccuracyOfOptions())
      return plan_.evaluation.rejections;
    objective();
    if (std::string error = check(plan_.problem); !error.empty())
      return rejected({Code::NotSkipped, "options of layers cannot be compared: " + error, request_.location, {}});
    return std::nullopt;
  }

  /// Without gradients, only what a forward pass runs.
  bool counts(OperationId id) const {
    return !request_.forwardOnly || search_.graph.operations[id].phase == Phase::Forward;
  }

  /// The rule of an operand of a layer; null: it is dense.
  const SparsityRequest::Rule *ruleOf(GemmOperand operand, const Layer &layer) const {
    if (operand == GemmOperand::Weights && ((request_.keepsFirstDense && layer.number == 0) ||
                                            (request_.keepsLastDense && layer.number + 1 == layers_.size())))
      return nullptr;
    return ruleFor(request_, operand, layer.of.name, layer.parameter);
  }
  bool mayPruneWeights(const Layer &layer) const {
    const SparsityRequest::Rule *rule = ruleOf(GemmOperand::Weights, layer);
    return rule && !rule->choices.empty();
  }

  /// Which layers may have zeros in their weights, and how a density of the network is divided.
  void findScope() {
    if (layers_.empty())
      return;
    scope_ = {!mayPruneWeights(layers_.front()), !mayPruneWeights(layers_.back()), request_.isErdosRenyi};
    bool prunes = false, moves = false;
    for (const Layer &layer : layers_) {
      const SparsityRequest::Rule *rule = ruleOf(GemmOperand::Weights, layer);
      if (!rule || rule->choices.empty())
        continue;
      prunes = true;
      moves |= std::ranges::any_of(rule->choices, &SparsityPattern::dynamic);
    }
    if (!prunes)
      return;
    plan_.scope = describe(scope_);
    plan_.recipe = !moves                     ? "static"
                   : request_.maskPeriod == 1 ? "dynamic"
                                              : fmt::format("dynamic(every = {})", request_.maskPeriod);
  }

  /// A layer's part of a density of all weights that may have zeros.
  double densityOf(const Layer &layer, double density) {
    auto [found, isNew] = densities_.try_emplace(density);
    if (isNew) {
      std::vector<ErdosRenyiLayer> meant;
      std::vector<size_t> numbers;
      for (const Layer &one : layers_)
        if (mayPruneWeights(one)) {
          meant.push_back(erdosRenyiLayer(search_.graph, one.of.forward, one.product.stationary));
          numbers.push_back(one.number);
        }
      const std::vector<double> all = erdosRenyiDensities(meant, density);
      for (size_t i = 0; i < numbers.size(); ++i)
        found->second[numbers[i]] = all[i];
    }
    return found->second.at(layer.number);
  }

  /// All zeros that an operand may have.
  std::vector<Pattern> sparsityOf(GemmOperand operand, const Layer &layer, const SparsityRequest::Rule *rule) {
    std::vector<Pattern> all;
    if (!rule || !rule->given || rule->choices.empty())
      all.push_back({});
    if (!rule)
      return all;
    const OperationProduct &p = layer.product;
    const OperandShape shape = operand == GemmOperand::Weights       ? OperandShape{p.columns, p.depth}
                               : operand == GemmOperand::Activations ? OperandShape{p.rows, p.depth}
                                                                     : OperandShape{p.rows, p.columns};
    for (size_t c = 0; c < rule->choices.size(); ++c) {
      const SparsityPattern &stated = rule->choices[c];
      SparsityPattern pattern = stated;
      using enum SparsityPattern::Kind;
      if (request_.isErdosRenyi && operand == GemmOperand::Weights &&
          (pattern.kind == Unstructured || pattern.kind == Block))
        pattern.density = densityOf(layer, stated.density);
      std::vector<SparseFormat> formats = formatsOf(pattern, shape);
      if (!request_.formats.empty())
        std::erase_if(formats, [&](const SparseFormat &format) {
          return format.kind != SparseFormat::Kind::Dense &&
                 std::ranges::find(request_.formats, format.kind, &SparseFormat::kind) == request_.formats.end();
        });
      const int64_t bits = operand == GemmOperand::Weights ? p.stationaryBits : p.streamingBits;
      if (operand != GemmOperand::Weights)
        formats = {cheapestFormat(pattern, shape, bits, request_.confidence, formats)};
      for (const SparseFormat &format : formats)
        all.push_back({{pattern, format}, rule, rule->texts[c], stated});
    }
    return all;
  }

  std::optional<Error> add(Layer of) {
    std::vector<Pattern> choices[kOperands];
    bool meant = false;
    for (unsigned o = 0; o < kOperands; ++o) {
      const auto operand = static_cast<GemmOperand>(o);
      const SparsityRequest::Rule *rule = ruleOf(operand, of);
      choices[o] = sparsityOf(operand, of, rule);
      meant |= rule && !rule->choices.empty();
    }
    if (!meant)
      return std::nullopt;
    PruneLayer layer;
    layer.name = of.of.name, layer.parameter = of.parameter;
    layer.executions = search_.graph.executions(of.of.forward);
    // Of a parameter that several layers share, the first one has the update and the memory.
    const bool first = std::ranges::find(plan_.layers, of.parameter, &PruneLayer::parameter) == plan_.layers.end();
    std::erase_if(of.of.operations, [&](OperationId id) {
      return !counts(id) || (!first && search_.graph.operations[id].phase == Phase::Update);
    });
    if (!first || !search_.exchange || request_.forwardOnly)
      of.exchanges.clear();
    for (const auto *operations : {&of.of.operations, &of.exchanges})
      touched_.insert(touched_.end(), operations->begin(), operations->end());
    layer.uses = usesOf(of);
    auto dense = optionOf(of, first, {});
    if (!dense)
      return dense.error();
    layer.options.push_back(std::move(*dense));
    std::vector<LinearSparsity> zeros(1);
    std::vector<AccuracyQuery> queries;
    for (const Pattern &w : choices[0])
      for (const Pattern &a : choices[1])
        for (const Pattern &g : choices[2]) {
          const SparsityRequest::Rule *rule = w.rule ? w.rule : a.rule ? a.rule : g.rule;
          if (!rule)
            continue;
          const Patterns patterns = {w, a, g};
          auto option = optionOf(of, first, patterns);
          if (!option) {
            option.error().location = rule->location;
            return option.error();
          }
          layer.options.push_back(std::move(*option));
          zeros.push_back(zerosOf(patterns));
          queries.push_back(queryOf(layer, patterns));
        }
    queries_.push_back(std::move(queries));
    plan_.zeros.push_back(std::move(zeros));
    plan_.layers.push_back(std::move(layer));
    return std::nullopt;
  }

  /// What evidence has to say of an option: zeros that are given are in what was measured.
  AccuracyQuery queryOf(const PruneLayer &layer, const Patterns &patterns) const {
    AccuracyQuery query{layer.name, {}, request_.location};
    for (const Pattern &one : patterns)
      if (one.isChosen()) {
        query.sparsity.push_back({one.rule->of, one.stated, one.text});
        query.location = one.rule->location;
      }
    return query;
  }

  /// Losses of options; what is not shown is left out. False: what is required cannot be judged.
  bool evaluateAccuracyOfOptions() {
    std::vector<AccuracyQuery> queries;
    std::vector<unsigned> layerOf;
    std::vector<std::string> parameters;
    for (unsigned i = 0; i < plan_.layers.size(); ++i) {
      // Densities that are found together are taken together.
      parameters.push_back(request_.isErdosRenyi ? "" : plan_.layers[i].parameter);
      for (AccuracyQuery &query : queries_[i])
        queries.push_back(query), layerOf.push_back(i);
    }
    plan_.evaluation = evaluateAccuracy(request_, search_.files, queries, plan_.scope.empty() ? nullptr : &scope_);
    if (!plan_.evaluation.rejections.empty())
      return false;
    plan_.problem.groups = groupsOf(plan_.evaluation.results, layerOf, parameters);
    size_t at = 0;
    for (unsigned i = 0; i < plan_.layers.size(); ++i) {
      std::vector<PruneOption> &options = plan_.layers[i].options, kept;
      std::vector<LinearSparsity> &zeros = plan_.zeros[i], keptZeros(1);
      kept.push_back(std::move(options.front()));
      for (size_t o = 1; o < options.size(); ++o, ++at) {
        const AccuracyQueryResult &answer = plan_.evaluation.results[at];
        if (request_.accuracy && answer.rejected) {
          if (std::ranges::none_of(plan_.excludedOptions, [&](const Rejection &other) {
                return other.error.message == answer.rejected->error.message;
              }))
            plan_.excludedOptions.push_back(*answer.rejected);
          continue;
        }
        options[o].loss = answer.counts ? answer.loss : Rational(0);
        options[o].lines = answer.lines;
        kept.push_back(std::move(options[o]));
        keptZeros.push_back(std::move(zeros[o]));
      }
      options = std::move(kept), zeros = std::move(keptZeros);
    }
    return true;
  }

  std::string usesOf(const Layer &of) const {
    const OperationCost &cost = search_.costs.operations[of.of.forward];
    if (cost.core < 0)
      return "";
    const Core &core = search_.machine.cores[cost.core];
    if (!core.sparse)
      return fmt::format("core '{}' does not exploit sparsity", core.name);
    auto words = [](const char *operand, const SparseAcceleration &use) {
      std::string text = use.mode == SparseAcceleration::Mode::Skip   ? "skips zeros"
                         : use.mode == SparseAcceleration::Mode::Gate ? "gates zeros"
                                                                      : "computes zeros";
      return fmt::format("{} {}{}{}", operand, text, use.of > 0 ? fmt::format(" of nm({}, {})", use.kept, use.of) : "",
                         use.compress ? ", compressed" : "");
    };
    return fmt::format("core '{}': {}; {}", core.name, words("stationary", core.sparse->stationary),
                       words("streaming", core.sparse->streaming));
  }

  LinearSparsity zerosOf(const Patterns &patterns) const {
    return {patterns[0].of, patterns[1].of, patterns[2].of, number(request_.maskPeriod)};
  }

  Result<PruneOption> optionOf(const Layer &of, bool first, const Patterns &patterns) const {
    const Pattern &w = patterns[0];
    PruneOption option;
    option.label = labelOf(patterns, true), option.sparsity = labelOf(patterns, false);
    const LinearSparsity sparsity = zerosOf(patterns);
    option.format = describe(w.of.format);
    if (w.rule)
      option.encoding = encoding(w.of.format).value_or("");
    auto priced = layerCost(search_.graph, search_.machine, search_.costs, of.of, sparsity, request_.confidence);
    if (!priced)
      return priced.error();
    const auto &cost = *priced;
    option.seconds = cost.time.value, option.quantile = cost.quantile.value;
    option.joules = cost.energy.value, option.quantileJoules = cost.quantileEnergy.value;
    option.metadata = cost.metadata.value;
    option.sampled = cost.sampled;
    option.prunes = std::ranges::any_of(patterns, &Pattern::isChosen);
    for (const auto &[id, part] : cost.parts) {
      const Operation &op = search_.graph.operations[id];
      (op.phase == Phase::DataGradient     ? option.dataGradient
       : op.phase == Phase::WeightGradient ? option.weightGradient
       : op.phase == Phase::Update         ? option.update
                                           : option.forward) += part.mean.time.value * search_.graph.executions(id);
      if (id == of.of.forward)
        option.bound = part.mean.bound;
    }
    for (OperationId id : of.exchanges) {
      const OperationCost &exchanged = search_.costs.operations[id];
      const double share = shareOfStates(of, w);
      const double times = search_.graph.executions(id);
      option.exchange += times * (share < 1 ? search_.exchange(id, share) : exchanged.time.value);
      option.joules += times * exchanged.energy.value;
      option.quantileJoules += times * exchanged.energy.value;
    }
    option.seconds += option.exchange, option.quantile += option.exchange;
    expect(of, w, cost, option);
    if (first) {
      auto dense = layerCost(search_.graph, search_.machine, search_.costs, of.of, {}, request_.confidence);
      const auto *all = dense.get();
      keep(of, w, all && all->weights.value > 0 ? cost.weights / all->weights : 1, option);
    }
    return option;
  }

  /// What kernels and masks that are found again make of an option's time.
  void expect(const Layer &of, const Pattern &w, const LayerCost &cost, PruneOption &option) const {
    option.expected = option.expectedMin = option.seconds;
    option.expectedMax = option.quantile;
    bool usesKernels = false;
    for (const auto &[id, part] : cost.parts) {
      auto time = expectedProduct(search_.graph, search_.machine, search_.costs, id, part, search_.kernels);
      if (!time)
        continue;
      usesKernels = true;
      option.expected += time->executions * (time->expected - time->ideal);
      option.expectedMin += time->executions * (time->min - time->ideal);
      option.expectedMax += time->executions * (time->max - time->ideal);
      option.products.push_back(std::move(*time));
    }
    if (!usesKernels || !w.isChosen() || !w.of.pattern.dynamic || request_.forwardOnly ||
        w.of.format.kind == SparseFormat::Kind::Dense)
      return;
    const MaskSearchTime masks = maskSearchOf(search_.graph, search_.machine, search_.costs, of.of, w.of.pattern,
                                              number(request_.maskPeriod), search_.kernels);
    option.expected += masks.seconds;
    option.expectedMin += masks.min, option.expectedMax += masks.max;
    option.masks = masks;
  }

  /// Share of gradients, of their exchange, and of the optimizer's states that zeros of weights leave: those that are
  /// stored are as all others.
  double shareOfStates(const Layer &of, const Pattern &w) const {
    if (!w.rule || w.of.format.kind == SparseFormat::Kind::Dense)
      return 1;
    auto share = updateShare(w.of.pattern, of.of.weights);
    return share ? *share : 1;
  }

  /// Weights, their gradients and the optimizer's states; `kept` is the share of weights that the core leaves in
  /// memory, at the confidence.
  void keep(const Layer &of, const Pattern &w, double kept, PruneOption &option) const {
    const double rest = shareOfStates(of, w);
    for (const StaticTensor &resident : search_.graph.staticTensors)
      if (resident.name == of.parameter)
        option.bytes += resident.bytes * (resident.category == Category::Weights ? kept : rest);
  }

  static std::string labelOf(const Patterns &patterns, bool formats) {
    std::vector<std::string> parts;
    for (unsigned o = 0; o < kOperands; ++o)
      if (const Pattern &one = patterns[o]; one.rule)
        parts.push_back(
            fmt::format("{} {}{}", kOperandNames[o], one.text, formats ? " as " + describe(one.of.format) : ""));
    return parts.empty() ? "dense" : fmt::format("{}", fmt::join(parts, "; "));
  }

  void others() {
    std::sort(touched_.begin(), touched_.end());
    for (OperationId id = 0; id < search_.graph.operations.size(); ++id) {
      // A repeat's time is its body's.
      if (search_.graph.operations[id].body != kNone || !counts(id) ||
          std::binary_search(touched_.begin(), touched_.end(), id))
        continue;
      const double times = search_.graph.executions(id);
      plan_.otherSeconds += search_.costs.operations[id].time.value * times;
      otherJoules_ += search_.costs.operations[id].energy.value * times;
    }
    for (const StaticTensor &resident : search_.graph.staticTensors)
      if (std::ranges::find(plan_.layers, resident.name, &PruneLayer::parameter) == plan_.layers.end())
        otherBytes_ += resident.bytes;
  }

  void total() {
    plan_.chosen = plan_.dense = {plan_.otherSeconds, otherJoules_, otherBytes_};
    plan_.quantile = plan_.otherSeconds;
    plan_.expected = plan_.expectedMin = plan_.expectedMax = plan_.otherSeconds;
    plan_.kernels = search_.kernels;
    auto add = [](PruneStep::Totals &to, const PruneOption &option) {
      to.seconds += option.seconds, to.joules += option.joules, to.bytes += option.bytes;
    };
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      PruneLayer &layer = plan_.layers[i];
      layer.choice = plan_.result.choice[i];
      add(plan_.chosen, layer.chosen());
      add(plan_.dense, layer.options.front());
      plan_.quantile += layer.chosen().quantile;
      plan_.expected += layer.chosen().expected;
      plan_.expectedMin += layer.chosen().expectedMin, plan_.expectedMax += layer.chosen().expectedMax;
    }
  }

  /// Of masks that are drawn, the quantile; of kernels, what is expected of them.
  static double comparedSeconds(const PruneOption &option) { return std::max(option.quantile, option.expected); }

  double optionCost(const PruneOption &option) const {
    return plan_.problem.objective == SelectionObjective::Energy   ? option.quantileJoules
           : plan_.problem.objective == SelectionObjective::Memory ? option.bytes
                                                                   : comparedSeconds(option);
  }

  void objective() {
    plan_.problem.objective = request_.objective == "energy"   ? SelectionObjective::Energy
                              : request_.objective == "memory" ? SelectionObjective::Memory
                                                               : SelectionObjective::Time;
    if (plan_.evaluation.budget)
      plan_.problem.lossBudget = budgetUnits(*plan_.evaluation.budget, plan_.evaluation.margin);
    // Against zeros: what has any is rounded up, what has none down.
    auto whole = [](double value, bool sparse) { return int64_t(sparse ? std::ceil(value) : std::floor(value)); };
    for (const PruneLayer &layer : plan_.layers) {
      SelectionOperation operation{layer.name, 0, {}};
      // Layers that take one option take one pattern, each in the format that is best for it: of each pattern the best
      // is named without.
      std::map<std::string, const PruneOption *> best;
      for (const PruneOption &option : layer.options)
        if (const PruneOption *&other = best[option.sparsity]; !other || optionCost(option) < optionCost(*other))
          other = &option;
      for (const PruneOption &option : layer.options) {
        const bool sparse = &option != &layer.options.front();
        operation.options.push_back({best[option.sparsity] == &option ? option.sparsity : option.label,
                                     whole(comparedSeconds(option) * 1e12, sparse),
                                     whole(option.quantileJoules * 1e12, sparse), whole(option.bytes, sparse),
                                     lossUnits(option.loss), sparse});
      }
      plan_.problem.operations.push_back(std::move(operation));
    }
    if (!request_.sparseLayers)
      return;
    SelectionRule pruned{{}, request_.sparseLayers->layers};
    for (unsigned i = 0; i < plan_.layers.size(); ++i)
      for (unsigned o = 0; o < plan_.layers[i].options.size(); ++o)
        if (plan_.layers[i].options[o].prunes)
          pruned.options.emplace_back(i, o);
    plan_.problem.rules.push_back(std::move(pruned));
  }

  const SparsitySearch &search_;
  const SparsityRequest &request_;
  PrunePlan plan_;
  std::vector<Layer> layers_;
  SparsityScope scope_;
  std::map<double, std::map<size_t, double>> densities_; ///< by density of the network and number of the layer
  std::vector<std::vector<AccuracyQuery>> queries_;      ///< by layer, of its options but the dense one
  std::vector<OperationId> touched_;
  double otherJoules_ = 0, otherBytes_ = 0; ///< of operations that zeros do not touch, and of other parameters
};

} // namespace

const SparsityRequest::Rule *ruleFor(const SparsityRequest &request, GemmOperand operand, const std::string &operation,
                                     const std::string &parameter) {
  const SparsityRequest::Rule *last = nullptr;
  for (const SparsityRequest::Rule &rule : request.rules)
    if (rule.of == operand && matchesLayer(rule.names, operation, parameter))
      last = &rule;
  return last;
}

std::vector<std::string> layerNames(const WorkGraph &graph) {
  std::vector<std::string> names;
  for (const Layer &layer : layersOf(graph)) {
    names.push_back(layer.of.name);
    names.push_back(layer.parameter);
    for (size_t at = layer.of.name.find('.'); at != std::string::npos; at = layer.of.name.find('.', at + 1))
      names.push_back(layer.of.name.substr(at + 1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::vector<unsigned>> groupsOf(const std::vector<AccuracyQueryResult> &results,
                                            const std::vector<unsigned> &layerOf,
                                            const std::vector<std::string> &parameters) {
  llvm::IntEqClasses classes(parameters.size());
  std::map<std::string, unsigned> byGroup, byParameter;
  for (unsigned i = 0; i < parameters.size(); ++i)
    classes.join(byParameter.try_emplace(parameters[i], i).first->second, i);
  for (size_t q = 0; q < results.size(); ++q)
    if (!results[q].group.empty())
      classes.join(byGroup.try_emplace(results[q].group, layerOf[q]).first->second, layerOf[q]);
  classes.compress();
  std::vector<std::vector<unsigned>> groups(classes.getNumClasses());
  for (unsigned i = 0; i < parameters.size(); ++i)
    groups[classes[i]].push_back(i);
  std::erase_if(groups, [](const auto &group) { return group.size() < 2; });
  return groups;
}

std::variant<PrunePlan, std::vector<Rejection>> searchSparsity(const SparsitySearch &search) {
  return SparsitySearcher(search).run();
}

std::variant<PrunePlan, std::vector<Rejection>> sparsityOptions(const SparsitySearch &search) {
  return SparsitySearcher(search).options();
}

} // namespace accord
