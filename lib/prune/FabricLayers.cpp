#include "lib/prune/FabricLayers.h"
#include "lib/array/LoopRoles.h"
#include "lib/prune/Occupancy.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

bool indexes(const LoopTensor &tensor, unsigned loop) {
  for (const auto &terms : tensor.dimensions)
    for (const LoopTensor::Term &term : terms)
      if (term.loop == loop)
        return true;
  return false;
}

/// The dimension of a tensor that a loop moves in; its number of dimensions if there is none.
size_t dimensionOf(const LoopTensor &tensor, unsigned loop) {
  for (size_t d = 0; d < tensor.dimensions.size(); ++d)
    for (const LoopTensor::Term &term : tensor.dimensions[d])
      if (term.loop == loop)
        return d;
  return tensor.dimensions.size();
}

/// Elements of a dimension: as stated, or as far as its loops reach.
int64_t sizeOf(const LoopTensor &tensor, size_t dimension, const std::vector<Loop> &domain) {
  if (dimension < tensor.sizes.size() && tensor.sizes[dimension] > 0)
    return tensor.sizes[dimension];
  int64_t size = 1;
  for (const LoopTensor::Term &term : tensor.dimensions[dimension])
    size += std::abs(term.stride) * (domain[term.loop].extent - 1);
  return size;
}

struct Shape {
  DataflowLayer layer;
  bool fits = true;
};

Shape shapeOf(const Operation &op, const OperationProduct &product) {
  Shape shape;
  DataflowLayer &layer = shape.layer;
  layer.name = op.name;
  const LoopTensor &weights = op.tensors[product.stationary],
                   &input = op.tensors[product.streaming];
  const LoopTensor *result = nullptr;
  for (const LoopTensor &tensor : op.tensors)
    if (tensor.written)
      result = &tensor;
  if (!result) {
    shape.fits = false;
    return shape;
  }
  std::vector<std::pair<int64_t, int64_t>> places, kernels; // of the result and the input
  for (unsigned i = 0; i < op.domain.size(); ++i) {
    const int64_t extent = op.domain[i].extent;
    const bool w = indexes(weights, i), x = indexes(input, i), y = indexes(*result, i);
    if (w && x && y) {
      layer.groups *= extent;
    } else if (w && y) {
      layer.filters *= extent;
    } else if (x && y) {
      const size_t at = dimensionOf(input, i);
      if (at != 0) // the first dimension is the batch
        places.push_back({extent, sizeOf(input, at, op.domain)});
      else
        shape.fits &= extent == 1;
    } else if (w && x) {
      // A window's loop moves the input beside a loop of the result.
      const auto &terms = input.dimensions[dimensionOf(input, i)];
      const bool window =
          std::any_of(terms.begin(), terms.end(), [&](const LoopTensor::Term &term) {
            return term.loop != i && indexes(*result, term.loop);
          });
      if (window)
        kernels.push_back({extent, 0});
      else
        layer.channels *= extent;
    } else {
      shape.fits &= extent == 1;
    }
  }
  shape.fits &= places.size() <= 2 && kernels.size() <= 2;
  layer.channels *= layer.groups, layer.filters *= layer.groups;
  if (shape.fits) {
    places.resize(2, {1, 1}), kernels.resize(2, {1, 0});
    layer.rows = places[0].first, layer.inputRows = places[0].second;
    layer.columns = places[1].first, layer.inputColumns = places[1].second;
    layer.kernelRows = kernels[0].first, layer.kernelColumns = kernels[1].first;
  }
  layer.weightBits = product.stationaryBits, layer.activationBits = product.streamingBits;
  return shape;
}

/// Zeros among a window's products where each that an activation leaves goes with probability
/// `zero`.
std::vector<double> thinned(const std::vector<double> &windows, double zero) {
  std::vector<double> result(windows.size(), 0.0);
  const auto window = static_cast<int64_t>(windows.size()) - 1;
  for (int64_t z = 0; z <= window; ++z) {
    const Occupancy more = binomial(window - z, zero);
    for (int64_t i = 0; i <= more.most(); ++i)
      result[static_cast<size_t>(z + i)] +=
          windows[static_cast<size_t>(z)] * more.probability[static_cast<size_t>(i)];
  }
  return result;
}

} // namespace

std::variant<std::vector<FabricLayer>, Issue> fabricLayers(const SparsityRequest &request,
                                                           const WorkGraph &graph) {
  std::vector<FabricLayer> layers;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    auto product = op.phase == Phase::Forward ? productOf(graph, op) : std::nullopt;
    if (!product)
      continue;
    Shape shape = shapeOf(op, *product);
    if (!shape.fits)
      return Issue{
          "A1010",
          fmt::format("'{}' is no convolution of two dimensions and no matrix product, so no part "
                      "of a dataflow device runs it",
                      op.name),
          op.location,
          {}};
    const std::string parameter = graph.values[op.operands[product->stationary]].name;
    // Of each operand no zeros, and what the last rule that means it allows.
    struct One {
      const ZeroPattern *pattern = nullptr;
      size_t rule = 0, choice = 0;
    };
    std::vector<One> of[2];
    for (unsigned o = 0; o < 2; ++o) {
      const SparsityRequest::Rule *rule = nullptr;
      for (const SparsityRequest::Rule &each : request.rules)
        if (each.of == static_cast<GemmOperand>(o) && meansLayer(each.names, op.name, parameter))
          rule = &each;
      if (!rule || !rule->given)
        of[o].push_back({});
      for (size_t c = 0; rule && c < rule->choices.size(); ++c)
        of[o].push_back({&rule->choices[c], static_cast<size_t>(rule - request.rules.data()), c});
    }
    std::vector<AccuracyQuestion> questions;
    const int64_t window = shape.layer.kernelRows * shape.layer.kernelColumns;
    for (const One &w : of[0])
      for (const One &a : of[1]) {
        if (!w.pattern && !a.pattern)
          continue;
        DataflowZeros zeros;
        AccuracyQuestion question{op.name, {}, request.location};
        double left[2] = {1, 1};
        for (unsigned o = 0; o < 2; ++o) {
          const One &one = o == 0 ? w : a;
          if (!one.pattern)
            continue;
          const SparsityRequest::Rule &rule = request.rules[one.rule];
          const OperandShape matrix = o == 0 ? OperandShape{product->columns, product->depth}
                                             : OperandShape{product->rows, product->depth};
          auto share = density(*one.pattern, matrix);
          if (auto *issue = std::get_if<Issue>(&share)) {
            issue->location = rule.location;
            return *issue;
          }
          left[o] = std::get<double>(share);
          zeros.label += fmt::format("{}{} {}", zeros.label.empty() ? "" : "; ",
                                     o == 0 ? "weights" : "activations", rule.texts[one.choice]);
          if (!rule.given) {
            question.zeros.push_back({rule.of, *one.pattern, rule.texts[one.choice]});
            question.location = rule.location;
          }
        }
        if (a.pattern && a.pattern->kind == ZeroPattern::Kind::Histogram &&
            a.pattern->window == window)
          zeros.windows = thinned(a.pattern->histogram, 1 - left[0]);
        else
          zeros.windows = independentZeros(window, 1 - left[0] * left[1]);
        shape.layer.zeros.push_back(std::move(zeros));
        questions.push_back(std::move(question));
      }
    const auto copies =
        static_cast<int64_t>(graph.executions(id)) / std::max<int64_t>(1, graph.microbatches);
    for (int64_t copy = 0; copy < std::max<int64_t>(1, copies); ++copy) {
      layers.push_back({shape.layer, parameter, questions});
      if (copies > 1)
        layers.back().layer.name += fmt::format(" {}", copy + 1);
    }
  }
  return layers;
}

std::variant<FabricPlan, std::vector<Refusal>> planFabric(const SparsityRequest &request,
                                                          const WorkGraph &graph,
                                                          const Machine &machine,
                                                          const std::vector<AccuracyFile> &files) {
  auto refused = [](Issue issue) { return std::vector<Refusal>{{std::move(issue), ""}}; };
  auto found = fabricLayers(request, graph);
  if (auto *issue = std::get_if<Issue>(&found))
    return refused(*issue);
  auto &layers = std::get<std::vector<FabricLayer>>(found);
  std::vector<AccuracyQuestion> questions;
  std::vector<unsigned> layerOf;
  std::vector<std::string> parameters;
  for (unsigned i = 0; i < layers.size(); ++i) {
    parameters.push_back(layers[i].parameter);
    for (AccuracyQuestion &question : layers[i].questions)
      questions.push_back(std::move(question)), layerOf.push_back(i);
  }
  FabricPlan plan;
  plan.evidence = judge(request, files, questions);
  if (!plan.evidence.refusals.empty())
    return plan.evidence.refusals;
  DataflowProblem problem;
  problem.fabric = *machine.fabric, problem.hertz = machine.clock.value;
  if (request.accuracy)
    problem.lossBudget = budgetUnits(plan.evidence.budget, plan.evidence.margin);
  size_t at = 0;
  for (FabricLayer &layer : layers) {
    plan.layers.push_back(layer.layer.name);
    std::vector<DataflowZeros> kept;
    for (DataflowZeros &zeros : layer.layer.zeros) {
      const AccuracyAnswer &answer = plan.evidence.answers[at++];
      if (request.accuracy && answer.refused) {
        plan.notShown.push_back(*answer.refused);
        continue;
      }
      zeros.loss = lossUnits(answer.counts ? answer.loss : Rational(0));
      kept.push_back(std::move(zeros));
    }
    layer.layer.zeros = std::move(kept);
    problem.layers.push_back(layer.layer);
  }
  auto planned = [&](const DataflowProblem &one) -> std::optional<std::string> {
    auto result = planDataflow(one);
    if (auto *wrong = std::get_if<std::string>(&result))
      return *wrong;
    auto &better = std::get<DataflowResult>(result);
    if (better.feasible && (!plan.result.feasible || better.interval < plan.result.interval))
      plan.result = std::move(better);
    return std::nullopt;
  };
  // One option for all layers that were measured together: a few, each of which is a problem.
  std::vector<bool> grouped(layers.size(), false);
  std::set<std::string> labels{"dense"};
  for (const auto &group : groupsOf(plan.evidence.answers, layerOf, parameters))
    for (unsigned i : group) {
      grouped[i] = true;
      for (const DataflowZeros &zeros : problem.layers[i].zeros)
        labels.insert(zeros.label);
    }
  plan.together = std::find(grouped.begin(), grouped.end(), true) != grouped.end();
  if (!plan.together)
    labels = {"dense"};
  for (const std::string &label : labels) {
    DataflowProblem one = problem;
    for (size_t i = 0; i < layers.size(); ++i)
      if (grouped[i])
        std::erase_if(one.layers[i].zeros,
                      [&](const DataflowZeros &zeros) { return zeros.label != label; });
    if (auto wrong = planned(one))
      return refused({"A1010",
                      fmt::format("'{}' on '{}': {}", graph.model, machine.name, *wrong),
                      request.location,
                      {}});
  }
  if (!plan.result.feasible)
    return refused({"A1005",
                    "no choice of zeros, not even none, keeps what is required of accuracy",
                    request.accuracy ? request.accuracy->location : request.location,
                    {}});
  return plan;
}

} // namespace accord
