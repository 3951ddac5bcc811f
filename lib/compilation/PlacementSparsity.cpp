#include "lib/compilation/PlacementSparsity.h"
#include "llvm/ADT/STLExtras.h"

namespace accord {
namespace {

constexpr const char *kLoss = "loss of accuracy in 10^-12", *kSparseLayers = "layers with zeros";

/// Options of a layer by what they leave zero: each in the format that the selection problem names without.
std::vector<uint32_t> patternsOf(const PrunePlan &options, size_t layer) {
  std::vector<uint32_t> numbers{0};
  const PruneLayer &of = options.layers[layer];
  for (uint32_t o = 1; o < of.options.size(); ++o)
    if (options.problem.operations[layer].options[o].label == of.options[o].sparsity)
      numbers.push_back(o);
  return numbers;
}

class SparsityRequestMaker {
public:
  SparsityRequestMaker(const PrunePlan &options, SparseLayerUses::Options pricing) : options_(options) {
    made_.pricing = std::move(pricing);
  }

  PlacementSparsityRequest run() {
    const SelectionProblem &problem = options_.problem;
    const bool loses = llvm::any_of(problem.operations, [](const SelectionOperation &operation) {
      return llvm::any_of(operation.options, [](const SelectionOption &option) { return option.loss > 0; });
    });
    if (problem.lossBudget != SelectionProblem::kUnlimited || loses)
      made_.budgets.push_back({kLoss, std::min(problem.lossBudget, SparsityBudget::kUnlimited)});
    if (!problem.rules.empty())
      made_.budgets.push_back({kSparseLayers, problem.rules.front().max});
    for (size_t i = 0; i < options_.layers.size(); ++i)
      product(i);
    std::vector<bool> grouped(options_.layers.size());
    for (const std::vector<unsigned> &group : problem.groups) {
      decision(group);
      for (unsigned layer : group)
        grouped[layer] = true;
    }
    for (unsigned i = 0; i < options_.layers.size(); ++i)
      if (!grouped[i])
        decision({i});
    return std::move(made_);
  }

private:
  void product(size_t number) {
    const PruneLayer &layer = options_.layers[number];
    PlacementSparsityRequest::Product product;
    product.name = layer.name, product.parameter = layer.parameter;
    product.ownsParameter = llvm::none_of(made_.products, [&](const PlacementSparsityRequest::Product &other) {
      return other.parameter == layer.parameter;
    });
    product.options = options_.zeros[number];
    for (size_t o = 0; o < layer.options.size(); ++o)
      product.searchesMasks.push_back(layer.options[o].prunes &&
                                      product.options[o].weights.pattern.kind != SparsityPattern::Kind::Dense);
    made_.products.push_back(std::move(product));
  }

  /// Options that all of these layers have, by what they leave zero.
  void decision(const std::vector<unsigned> &layers) {
    PlacementSparsityRequest::Decision made;
    made.products.assign(layers.begin(), layers.end());
    for (unsigned layer : layers)
      made.stated.layers.push_back(options_.layers[layer].name);
    for (uint32_t o : patternsOf(options_, layers.front())) {
      const std::string &pattern = options_.layers[layers.front()].options[o].sparsity;
      std::vector<uint32_t> numbers;
      for (unsigned layer : layers) {
        const std::vector<uint32_t> patterns = patternsOf(options_, layer);
        auto same = llvm::find_if(
            patterns, [&](uint32_t other) { return options_.layers[layer].options[other].sparsity == pattern; });
        if (same != patterns.end())
          numbers.push_back(*same);
      }
      if (numbers.size() < layers.size())
        continue;
      SparsityDecision::Option option{pattern, {}};
      int64_t loss = 0, sparse = 0;
      for (size_t i = 0; i < layers.size(); ++i) {
        loss += options_.problem.operations[layers[i]].options[numbers[i]].loss;
        sparse += options_.layers[layers[i]].options[numbers[i]].prunes;
      }
      for (const SparsityBudget &budget : made_.budgets)
        option.takes.push_back(budget.what == kLoss ? loss : sparse);
      if (o == 0)
        option.takes.assign(made_.budgets.size(), 0);
      made.options.push_back(std::move(numbers));
      made.stated.options.push_back(std::move(option));
    }
    made_.decisions.push_back(std::move(made));
  }

  const PrunePlan &options_;
  PlacementSparsityRequest made_;
};

} // namespace

PlacementSparsityRequest placementSparsityOf(const PrunePlan &options, SparseLayerUses::Options pricing) {
  return SparsityRequestMaker(options, std::move(pricing)).run();
}

Rational lossOf(const PlacementSparsity &zeros) {
  Rational sum = 0;
  for (size_t b = 0; b < zeros.budgets.size(); ++b)
    for (size_t u = 0; u < zeros.units.size() && zeros.budgets[b].what == kLoss; ++u)
      for (size_t d = 0; d < zeros.units[u].decisions.size(); ++d)
        sum = sum + Rational(zeros.chosen(u, d).takes[b]);
  return sum / Rational(1'000'000'000'000);
}

} // namespace accord
