#include "lib/sparsity/solve/FabricLayers.h"
#include "lib/sparsity/cost/Occupancy.h"
#include "lib/sparsity/solve/DataflowLayers.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

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
  const auto window = static_cast<int64_t>(windows.size()) - 1;
  for (int64_t z = 0; z <= window; ++z) {
    const Occupancy more = binomial(window - z, zero);
    for (int64_t i = 0; i <= more.max(); ++i)
      result[z + i] += windows[z] * more.probability[i];
  }
  return result;
}

} // namespace

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
    struct One {
      const SparsityPattern *pattern = nullptr;
      size_t rule = 0, choice = 0;
    };
    std::vector<One> of[2];
    for (unsigned o = 0; o < 2; ++o) {
      const SparsityRequest::Rule *rule = nullptr;
      for (const SparsityRequest::Rule &each : request.rules)
        if (each.of == static_cast<GemmOperand>(o) && matchesLayer(each.names, op.name, parameter))
          rule = &each;
      if (!rule || !rule->given)
        of[o].push_back({});
      for (size_t c = 0; rule && c < rule->choices.size(); ++c)
        of[o].push_back({&rule->choices[c], static_cast<size_t>(rule - request.rules.data()), c});
    }
    std::vector<AccuracyQuery> queries;
    const int64_t window = layer.kernelRows * layer.kernelColumns;
    for (const One &w : of[0])
      for (const One &a : of[1]) {
        if (!w.pattern && !a.pattern)
          continue;
        DataflowSparsity sparsity;
        AccuracyQuery query{op.name, {}, request.location};
        double left[2] = {1, 1};
        for (unsigned o = 0; o < 2; ++o) {
          const One &one = o == 0 ? w : a;
          if (!one.pattern)
            continue;
          const SparsityRequest::Rule &rule = request.rules[one.rule];
          const OperandShape matrix =
              o == 0 ? OperandShape{product->columns, product->depth} : OperandShape{product->rows, product->depth};
          auto share = density(*one.pattern, matrix);
          if (!share) {
            share.error().location = rule.location;
            return share.error();
          }
          left[o] = *share;
          sparsity.label += fmt::format("{}{} {}", sparsity.label.empty() ? "" : "; ",
                                        o == 0 ? "weights" : "activations", rule.texts[one.choice]);
          if (!rule.given) {
            query.sparsity.push_back({rule.of, *one.pattern, rule.texts[one.choice]});
            query.location = rule.location;
          }
        }
        if (a.pattern && a.pattern->kind == SparsityPattern::Kind::Histogram && a.pattern->window == window)
          sparsity.windows = thinned(a.pattern->histogram, 1 - left[0]);
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

std::variant<FabricPlan, std::vector<Rejection>> planFabric(const SparsityRequest &request, const WorkGraph &graph,
                                                            const Machine &machine,
                                                            const std::vector<AccuracyFile> &files) {
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
  std::vector<AccuracyQuery> queries;
  std::vector<unsigned> layerOf;
  for (unsigned i = 0; i < layers.size(); ++i)
    for (AccuracyQuery &query : layers[i].queries)
      queries.push_back(std::move(query)), layerOf.push_back(i);
  FabricPlan plan;
  plan.evaluation = evaluateAccuracy(request, files, queries);
  if (!plan.evaluation.rejections.empty())
    return plan.evaluation.rejections;
  DataflowProblem problem;
  problem.fabric = *machine.fabric, problem.hertz = machine.clock.value;
  if (plan.evaluation.budget)
    problem.lossBudget = budgetUnits(*plan.evaluation.budget, plan.evaluation.margin);
  size_t at = 0;
  for (FabricLayer &layer : layers) {
    std::vector<DataflowSparsity> kept;
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
    problem.layers.push_back(layer.layer);
  }
  auto planned = [&](const DataflowProblem &one) -> std::optional<std::string> {
    auto result = planDataflow(one);
    if (auto *error = std::get_if<std::string>(&result))
      return *error;
    auto &better = std::get<DataflowResult>(result);
    if (better.feasible && (!plan.result.feasible || better.interval < plan.result.interval))
      plan.result = std::move(better), plan.problem = one;
    return std::nullopt;
  };
  // Layers that were measured together take one option: a few, each of which is a problem.
  std::vector<std::string> alone; // each its own, though repeats share names of parameters
  for (size_t i = 0; i < layers.size(); ++i)
    alone.push_back(std::to_string(i));
  const auto groups = groupsOf(plan.evaluation.results, layerOf, alone);
  std::vector<std::vector<std::string>> labels; // by group, the dense one first
  size_t problems = 1;
  for (const std::vector<unsigned> &group : groups) {
    std::vector<std::string> &of = labels.emplace_back(1, "dense");
    for (unsigned i : group)
      for (const DataflowSparsity &sparsity : problem.layers[i].sparsity)
        if (std::find(of.begin(), of.end(), sparsity.label) == of.end())
          of.push_back(sparsity.label);
    problems *= of.size();
    if (problems > kMaxProblems)
      return rejected({Code::NotSupported,
                       fmt::format("not supported yet: more than {} combinations of options of layers "
                                   "that were measured together",
                                   kMaxProblems),
                       request.location,
                       {}});
  }
  plan.hasCommonOption = !groups.empty();
  for (size_t n = 0; n < problems; ++n) {
    DataflowProblem one = problem;
    size_t rest = n;
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::string &label = labels[g][rest % labels[g].size()];
      rest /= labels[g].size();
      for (unsigned i : groups[g])
        std::erase_if(one.layers[i].sparsity,
                      [&](const DataflowSparsity &sparsity) { return sparsity.label != label; });
    }
    if (auto unfit = planned(one))
      return rejected(
          {Code::NotSkipped, fmt::format("'{}' on '{}': {}", graph.model, machine.name, *unfit), request.location, {}});
  }
  if (!plan.result.feasible)
    return rejected({Code::RequirementNotShown,
                     "no sparsity configuration, including the dense one, satisfies the accuracy requirement",
                     request.accuracy ? request.accuracy->location : request.location,
                     {}});
  return plan;
}

} // namespace accord
