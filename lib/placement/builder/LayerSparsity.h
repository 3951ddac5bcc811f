// Zeros of a network's products as alternatives of the layers of a placement.
#pragma once
#include "lib/placement/builder/Layers.h"
#include "lib/placement/problem/SparsePlacement.h"
#include "lib/sparsity/cost/SparseLayerUse.h"

namespace accord {

/// Which zeros a placement may choose.
struct PlacementSparsityRequest {
  /// A product of the model.
  struct Product {
    std::string name, parameter;         ///< of the forward operation, and what it multiplies by
    bool ownsParameter = true;           ///< of several that share one the first has its update and its memory
    std::vector<LinearSparsity> options; ///< the first is dense
    std::vector<bool> searchesMasks;     ///< by option
  };
  std::vector<Product> products;
  /// Products that are decided together.
  struct Decision {
    std::vector<uint32_t> products;
    std::vector<std::vector<uint32_t>> options; ///< by option of `stated`, by product: the number of its option
    SparsityDecision stated;                    ///< `layers` are the products' names
  };
  std::vector<Decision> decisions;
  std::vector<SparsityBudget> budgets;
  SparseLayerUses::Options pricing;
};

/// So many choices of the layers of one unit are placed at most.
constexpr size_t kMaxAlternatives = 256;

/// By class of layers, what a layer takes more than without zeros (less where it is negative).
using UseDifferences = std::map<uint32_t, LayerUse>;
/// By decision and option, of one step as it is priced there.
using SparsityDifferences = std::vector<std::vector<UseDifferences>>;

/// Times, energies and bytes of operations that zeros change, summed up by layer: exact where the operations of a layer
/// run one after the other. Shares are those on the machine at the rates of its data sheet (`ideal`, with its costs);
/// what they are shares of is in `costs`, or in `times`: seconds by operation where the costs' do not count, as in
/// `layerUses`. Products that the step does not have change nothing.
Result<SparsityDifferences> sparsityDifferences(const PlacementSparsityRequest &request, const Layering &layering,
                                                const WorkGraph &graph, const Machine &ideal, const Costs &idealCosts,
                                                const Costs &costs, const std::vector<double> *times = nullptr);

/// Classes of layers by unit with the decisions that touch them. Of the step of one device.
struct SparsityUnits {
  std::vector<SparsityUnit> units;              ///< without alternatives
  std::vector<std::vector<uint32_t>> decisions; ///< by unit: their numbers in the request
};
SparsityUnits sparsityUnits(const PlacementSparsityRequest &request, const Layering &layering, const WorkGraph &graph);

/// Gives each unit its alternatives, without costs: choices of options beside which another one takes no more of any
/// budget and has no larger difference in any number of any step. Decision by decision, since differences add up. Where
/// these are more than `kMaxAlternatives`, only those are kept beside which none takes no more of any budget and less
/// time, summed over all steps, and of still more every so many one. True: some were left out so.
bool listAlternatives(const PlacementSparsityRequest &request, SparsityUnits &zeros,
                      const std::vector<const SparsityDifferences *> &steps);

/// A layer's use with the options of an alternative; `with`: by decision of the unit, the differences of one class.
LayerUse withSparsity(LayerUse use, const std::vector<const LayerUse *> &differences);

/// Whether no number of the first is above that of the second, whatever is computed again.
bool isNoMore(const PlacementProblem::Cost &a, const PlacementProblem::Cost &b);

/// Leaves out alternatives beside which another one takes no more of any budget and costs no more in any class and
/// parallel configuration; the first one, dense, stays.
void dropDominated(SparsityUnit &unit, size_t budgets);

} // namespace accord
