#include "lib/sparsity/solve/FabricLayers.h"
#include "lib/machine/array/Convolution.h"
#include "lib/sparsity/cost/Occupancy.h"
#include "lib/sparsity/solve/FabricZeros.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace accord {
namespace {

constexpr int64_t kMaxLayers = 10'000;

/// Values of some operations that others meet later: which layers they go around, as what.
class DetourFinder {
public:
  explicit DetourFinder(const WorkGraph &graph) : graph(graph) {
    for (const Region &region : graph.regions)
      find(region);
  }

  std::vector<DataflowDetour> around(const Operation &op) const {
    auto found = detours.find(&op - graph.operations.data());
    return found == detours.end() ? std::vector<DataflowDetour>{} : found->second;
  }

private:
  const WorkGraph &graph;
  std::map<size_t, std::vector<DataflowDetour>> detours; ///< by operation

  ValueId root(ValueId value) const {
    for (size_t i = 0; i < graph.values.size() && graph.values[value].alias != kNone; ++i)
      value = graph.values[value].alias;
    return value;
  }

  /// A value that is made before a layer and used behind it passes by; two gates behind each other hold it once.
  void find(const Region &region) {
    std::vector<OperationId> forward;
    for (OperationId id : region.operations)
      if (graph.operations[id].phase == Phase::Forward)
        forward.push_back(id);
    std::map<ValueId, size_t> made; // one more than the place of what made it
    std::map<ValueId, std::pair<size_t, DataflowDetour>> used;
    for (size_t i = 0; i < forward.size(); ++i) {
      const Operation &op = graph.operations[forward[i]];
      for (ValueId value : op.results)
        made.try_emplace(root(value), i + 1);
      for (size_t o = 0; o < op.operands.size(); ++o) {
        const ValueId value = root(op.operands[o]);
        const Category category = graph.values[value].category;
        if ((category == Category::Activations || category == Category::Temporaries) && o < op.tensors.size())
          used[value] = {i, detourOf(op, op.tensors[o])};
      }
    }
    for (const auto &[value, last] : used) {
      auto maker = made.find(value);
      bool isHeld = false;
      for (size_t i = maker == made.end() ? 0 : maker->second; i < last.first; ++i) {
        const Operation &op = graph.operations[forward[i]];
        if (!op.contraction)
          continue;
        const bool isGate = !op.tensors.empty() && detourOf(op, op.tensors.front()).rows == 1;
        // Of its own input, what it holds is what waits.
        const bool isOwn = llvm::any_of(op.operands, [&](ValueId operand) { return root(operand) == value; });
        if (last.second.rows * last.second.columns > 1 && !isOwn && !(isGate && isHeld))
          detours[forward[i]].push_back(last.second);
        isHeld = isGate;
      }
    }
  }

  /// Of one image: batch, channels, rows, columns; of anything else one row.
  DataflowDetour detourOf(const Operation &op, const LoopTensor &tensor) const;
};

/// The positions that a tensor has in a dimension.
int64_t sizeOf(const LoopTensor &tensor, size_t dimension, const std::vector<Loop> &domain) {
  if (dimension < tensor.sizes.size())
    return tensor.sizes[dimension];
  int64_t reach = 1;
  for (const LoopTensor::Term &term : tensor.dimensions[dimension])
    reach += (domain[term.loop].extent - 1) * std::abs(term.stride);
  return reach;
}

DataflowDetour DetourFinder::detourOf(const Operation &op, const LoopTensor &tensor) const {
  DataflowDetour detour;
  detour.bits = tensor.elementBits;
  if (tensor.dimensions.size() != 4)
    return detour;
  detour.channels = std::max<int64_t>(1, sizeOf(tensor, 1, op.domain));
  detour.rows = std::max<int64_t>(1, sizeOf(tensor, 2, op.domain));
  detour.columns = std::max<int64_t>(1, sizeOf(tensor, 3, op.domain));
  return detour;
}

std::optional<DataflowLayer> layerOf(const std::string &name, const std::vector<Loop> &domain,
                                     const std::vector<LoopTensor> &tensors, int64_t images) {
  std::optional<Convolution> conv = convolutionOf(domain, tensors);
  if (!conv || tensors.size() < 2)
    return std::nullopt;
  DataflowLayer layer;
  layer.name = name;
  layer.groups = conv->groups;
  layer.channels = conv->groups * conv->channels;
  layer.filters = conv->groups * conv->filters;
  layer.kernelRows = conv->filterRows;
  layer.kernelColumns = conv->filterCols;
  layer.rows = conv->outRows;
  layer.columns = conv->outCols;
  // Images are lines more; of a batch each image has its part of them.
  int64_t lines = std::max<int64_t>(1, conv->images);
  if ((lines * layer.columns) % images != 0)
    return std::nullopt;
  layer.columns = lines * layer.columns / images;
  const LoopTensor &input = tensors.front();
  layer.activationBits = input.elementBits;
  layer.weightBits = tensors[1].elementBits;
  std::vector<int64_t> window;
  int64_t words = 1;
  for (size_t d = 0; d < input.dimensions.size(); ++d) {
    int64_t size = std::max<int64_t>(1, sizeOf(input, d, domain));
    words *= size;
    if (input.dimensions[d].size() == 2)
      window.push_back(size);
  }
  if (window.size() == 2) {
    layer.inputRows = window[0];
    layer.inputColumns = window[1];
  } else {
    layer.inputColumns = std::max<int64_t>(1, words / images / layer.channels);
  }
  return layer;
}

/// Each of which is solved.
constexpr size_t kMaxProblems = 64;

/// The operation that a layer is of: copies in a repeat are "name #2" and on.
const Operation *operationOf(const WorkGraph &graph, const std::string &layer) {
  const std::string name = layer.substr(0, layer.find(" #"));
  for (const Operation &op : graph.operations)
    if (op.phase == Phase::Forward && op.name == name)
      return &op;
  return nullptr;
}

/// Zeros among a window's products where each that an activation leaves goes with probability

/// `zero`.
std::vector<double> thinned(const std::vector<double> &windows, double zero) {
  std::vector<double> result(windows.size(), 0.0);
  for (size_t z = 0; z < windows.size(); ++z) {
    const Occupancy more = binomial(windows.size() - 1 - z, zero);
    for (int64_t i = 0; i <= more.max(); ++i)
      result[z + i] += windows[z] * more.probability[i];
  }
  return result;
}

struct FabricLayer {
  DataflowLayer layer;
  std::vector<AccuracyQuery> queries; ///< by `layer.sparsity`, unless that was measured
};

/// The layers of a graph of one sample (`dataflowLayers`), each with the zeros that rules allow: those of a window's
/// products, of activations (a histogram of windows of this size as it is, other patterns with their density,
/// independent), of weights, or both. A1010 where a density cannot be had from a pattern, or an operation is no layer.
Result<std::vector<FabricLayer>> fabricLayers(const SparsityRequest &request, const WorkGraph &graph) {
  std::vector<FabricLayer> layers;
  std::string error;
  for (DataflowLayer &layer : dataflowLayers(graph, error)) {
    const Operation *found = operationOf(graph, layer.name);
    auto product = found ? productOf(graph, *found) : std::nullopt;
    if (!product) { // of two activations: no zeros are known of it
      layers.push_back({std::move(layer), {}});
      continue;
    }
    const Operation &op = *found;
    const std::string &parameter = graph.values[op.operands[product->stationary]].name;
    // Of each operand no zeros, and what the last rule that means it allows.
    struct Choice {
      const SparsityRequest::Rule *rule = nullptr;
      size_t number = 0;
      const SparsityPattern &pattern() const { return rule->choices[number]; }
    };
    std::vector<Choice> of[2];
    for (unsigned o = 0; o < 2; ++o) {
      const SparsityRequest::Rule *rule = ruleFor(request, static_cast<GemmOperand>(o), op.name, parameter);
      if (!rule || !rule->given)
        of[o].push_back({});
      for (size_t c = 0; rule && c < rule->choices.size(); ++c)
        of[o].push_back({rule, c});
    }
    std::vector<AccuracyQuery> queries;
    const int64_t window = layer.kernelRows * layer.kernelColumns;
    for (const Choice &w : of[0])
      for (const Choice &a : of[1]) {
        if (!w.rule && !a.rule)
          continue;
        DataflowSparsity sparsity;
        AccuracyQuery query{op.name, {}, request.location};
        double left[2] = {1, 1};
        for (unsigned o = 0; o < 2; ++o) {
          const Choice &one = o == 0 ? w : a;
          if (!one.rule)
            continue;
          const SparsityRequest::Rule &rule = *one.rule;
          const OperandShape matrix =
              o == 0 ? OperandShape{product->columns, product->depth} : OperandShape{product->rows, product->depth};
          auto share = density(one.pattern(), matrix);
          if (!share) {
            share.error().location = rule.location;
            return share.error();
          }
          left[o] = *share;
          sparsity.label += fmt::format("{}{} {}", sparsity.label.empty() ? "" : "; ",
                                        o == 0 ? "weights" : "activations", rule.texts[one.number]);
          if (!rule.given) {
            query.sparsity.push_back({rule.of, one.pattern(), rule.texts[one.number]});
            query.location = rule.location;
          }
        }
        if (a.rule && a.pattern().kind == SparsityPattern::Kind::Histogram && a.pattern().window == window)
          sparsity.windows = thinned(a.pattern().histogram, 1 - left[0]);
        else
          sparsity.windows = binomialZeroHistogram(window, 1 - left[0] * left[1]);
        layer.sparsity.push_back(std::move(sparsity));
        queries.push_back(std::move(query));
      }
    layers.push_back({std::move(layer), std::move(queries)});
  }
  if (!error.empty())
    return Error{Code::NotSkipped, error, request.location, {}};
  return layers;
}

} // namespace

std::vector<DataflowLayer> dataflowLayers(const WorkGraph &graph, std::string &error) {
  std::vector<DataflowLayer> out;
  const DetourFinder detours(graph);
  auto add = [&](const Operation &op, const std::string &name, const std::vector<Loop> &domain,
                 const std::vector<LoopTensor> &tensors, int64_t count) {
    std::optional<DataflowLayer> layer = layerOf(name, domain, tensors, std::max<int64_t>(1, graph.microbatch));
    if (layer)
      layer->detours = detours.around(op);
    if (!layer)
      error = fmt::format("operation '{}' is no product of activations and weights", name);
    else if (std::ssize(out) + count > kMaxLayers)
      error = fmt::format("more than {} layers", kMaxLayers);
    for (int64_t i = 0; error.empty() && i < count; ++i) {
      out.push_back(*layer);
      if (i > 0)
        out.back().name = fmt::format("{} #{}", name, i + 1);
    }
  };
  for (const Operation &op : graph.operations) {
    if (op.phase != Phase::Forward)
      continue;
    int64_t count = 1;
    for (RegionId r = op.region; r != kNone && count <= kMaxLayers; r = graph.regions[r].parent)
      count *= std::max<int64_t>(1, graph.regions[r].parent == kNone ? 1 : graph.regions[r].count);
    if (op.parts.empty() && op.contraction)
      add(op, op.name, op.domain, op.tensors, count);
    for (const FusedPart &part : op.parts)
      if (part.contraction)
        add(op, part.name, part.domain, part.tensors, count);
  }
  if (!error.empty())
    out.clear();
  return out;
}

static std::vector<DataflowLayer> plainLayers(const std::vector<FabricLayer> &layers) {
  std::vector<DataflowLayer> plain;
  for (const FabricLayer &layer : layers)
    plain.push_back(layer.layer);
  return plain;
}

/// What was measured takes the place of what rules say.
static void useMeasured(std::vector<FabricLayer> &layers, MeasuredZeros &zeros) {
  for (size_t l = 0; l < layers.size(); ++l)
    if (zeros.isMeasured[l])
      layers[l] = {std::move(zeros.layers[l]), {}};
}

/// Numbers of as many bits as were asked for.
static void useBits(std::vector<FabricLayer> &layers, const FabricInputs &inputs) {
  for (FabricLayer &layer : layers) {
    if (inputs.weightBits > 0)
      layer.layer.weightBits = inputs.weightBits;
    if (inputs.activationBits > 0)
      layer.layer.activationBits = inputs.activationBits;
    for (DataflowDetour &detour : layer.layer.detours)
      detour.bits = layer.layer.activationBits;
  }
}

/// What layers measured together may take in common: of each group the dense way and all names of its zeros. Nothing
/// where there are too many combinations.
static std::optional<std::vector<std::vector<std::string>>>
commonLabels(const std::vector<std::vector<unsigned>> &groups, const std::vector<DataflowLayer> &layers) {
  std::vector<std::vector<std::string>> labels; // by group, the dense one first
  size_t problems = 1;
  for (const std::vector<unsigned> &group : groups) {
    std::vector<std::string> &of = labels.emplace_back(1, "dense");
    for (unsigned i : group)
      for (const DataflowSparsity &sparsity : layers[i].sparsity)
        if (std::find(of.begin(), of.end(), sparsity.label) == of.end())
          of.push_back(sparsity.label);
    problems *= of.size();
    if (problems > kMaxProblems)
      return std::nullopt;
  }
  return labels;
}

/// Layers with the zeros that evidence allows and their losses, or that were measured; what is left out is noted in the
/// plan, which has the evaluation.
static std::vector<DataflowLayer> shownLayers(std::vector<FabricLayer> &layers, FabricPlan &plan,
                                              const SparsityRequest &request) {
  std::vector<DataflowLayer> shown;
  size_t at = 0;
  for (FabricLayer &layer : layers) {
    std::vector<DataflowSparsity> kept;
    if (layer.queries.empty()) // measured, or none
      kept = std::exchange(layer.layer.sparsity, {});
    for (DataflowSparsity &sparsity : layer.layer.sparsity) {
      const AccuracyQueryResult &answer = plan.evaluation.results[at++];
      if (request.accuracy && answer.rejected) {
        plan.excludedOptions.push_back(*answer.rejected);
        continue;
      }
      sparsity.loss = lossUnits(answer.counts ? answer.loss : Rational(0));
      kept.push_back(std::move(sparsity));
    }
    layer.layer.sparsity = std::move(kept);
    shown.push_back(layer.layer);
  }
  return shown;
}

/// One network of those that were measured with thresholds.
static std::variant<FabricPlan, std::vector<Rejection>>
planThresholds(DataflowProblem problem, const std::vector<FabricLayer> &layers, MeasuredZeros zeros,
               const WorkGraph &graph, const Machine &machine, const SparsityRequest &request) {
  FabricPlan plan;
  problem.together = true;
  problem.layers = plainLayers(layers);
  plan.excludedOptions = std::move(zeros.excluded);
  auto result = planDataflow(problem);
  if (auto *error = std::get_if<std::string>(&result))
    return std::vector<Rejection>{
        {{Code::NotSkipped, fmt::format("'{}' on '{}': {}", graph.model, machine.name, *error), request.location, {}},
         ""}};
  plan.result = std::move(std::get<DataflowResult>(result));
  plan.problem = std::move(problem);
  if (!plan.result.feasible)
    return std::vector<Rejection>{{{Code::NotSkipped,
                                    fmt::format("'{}' on '{}': {}", graph.model, machine.name, plan.result.explanation),
                                    request.location,
                                    {}},
                                   ""}};
  std::string taken;
  for (const DataflowStage &stage : plan.result.stages)
    if (stage.sparse)
      taken = stage.label;
  plan.evaluation = evaluationOf(zeros, taken);
  return plan;
}

std::variant<FabricPlan, std::vector<Rejection>> planFabric(const SparsityRequest &request, const WorkGraph &graph,
                                                            const Machine &machine,
                                                            const std::vector<AccuracyFile> &files,
                                                            const FabricInputs &inputs) {
  auto rejected = [](Error issue) { return std::vector<Rejection>{{std::move(issue), ""}}; };
  if (request.sparseLayers)
    return rejected({Code::NotSupported,
                     "not supported yet: 'sparse_layers' on a dataflow device",
                     request.sparseLayers->location,
                     {}});
  auto found = fabricLayers(request, graph);
  if (!found)
    return rejected(found.error());
  auto &layers = *found;
  useBits(layers, inputs);
  DataflowProblem problem;
  problem.fabric = *machine.fabric, problem.hertz = machine.clock.value;
  problem.resources = inputs.resources;
  if (inputs.thresholds || inputs.traces) {
    MeasuredZeros zeros = measuredZeros(plainLayers(layers), request, inputs);
    if (!zeros.rejections.empty())
      return std::move(zeros.rejections);
    useMeasured(layers, zeros);
    if (inputs.thresholds)
      return planThresholds(std::move(problem), layers, std::move(zeros), graph, machine, request);
  }
  std::vector<AccuracyQuery> queries;
  std::vector<unsigned> layerOf;
  for (unsigned i = 0; i < layers.size(); ++i)
    for (AccuracyQuery &query : layers[i].queries)
      queries.push_back(std::move(query)), layerOf.push_back(i);
  FabricPlan plan;
  plan.evaluation = evaluateAccuracy(request, files, queries);
  if (!plan.evaluation.rejections.empty())
    return plan.evaluation.rejections;
  if (plan.evaluation.budget)
    problem.lossBudget = budgetUnits(*plan.evaluation.budget, plan.evaluation.margin);
  problem.layers = shownLayers(layers, plan, request);
  std::string unfit; // why nothing fits
  auto planned = [&](const DataflowProblem &one) -> std::optional<std::string> {
    auto result = planDataflow(one);
    if (auto *error = std::get_if<std::string>(&result))
      return *error;
    auto &better = std::get<DataflowResult>(result);
    if (!better.feasible)
      unfit = better.explanation;
    if (better.feasible && (!plan.result.feasible || better.interval < plan.result.interval))
      plan.result = std::move(better), plan.problem = one;
    return std::nullopt;
  };
  // Layers that were measured together take one option: a few, each of which is a problem.
  std::vector<std::string> alone; // each its own, though repeats share names of parameters
  for (size_t i = 0; i < layers.size(); ++i)
    alone.push_back(std::to_string(i));
  const auto groups = groupsOf(plan.evaluation.results, layerOf, alone);
  const auto labels = commonLabels(groups, problem.layers);
  if (!labels)
    return rejected(
        {Code::NotSupported,
         fmt::format("not supported yet: more than {} combinations of options of layers that were measured together",
                     kMaxProblems),
         request.location,
         {}});
  size_t problems = 1;
  for (const std::vector<std::string> &of : *labels)
    problems *= of.size();
  for (size_t n = 0; n < problems; ++n) {
    DataflowProblem one = problem;
    size_t rest = n;
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::string &label = (*labels)[g][rest % (*labels)[g].size()];
      rest /= (*labels)[g].size();
      for (unsigned i : groups[g])
        std::erase_if(one.layers[i].sparsity,
                      [&](const DataflowSparsity &sparsity) { return sparsity.label != label; });
    }
    if (auto wrong = planned(one))
      return rejected(
          {Code::NotSkipped, fmt::format("'{}' on '{}': {}", graph.model, machine.name, *wrong), request.location, {}});
  }
  if (!plan.result.feasible && problem.resources.isStated() && problem.lossBudget != -1)
    return rejected(
        {Code::NotSkipped, fmt::format("'{}' on '{}': {}", graph.model, machine.name, unfit), request.location, {}});
  if (!plan.result.feasible)
    return rejected({Code::RequirementNotShown,
                     "no sparsity configuration, including the dense one, satisfies the accuracy requirement",
                     request.accuracy ? request.accuracy->location : request.location,
                     {}});
  return plan;
}

} // namespace accord
