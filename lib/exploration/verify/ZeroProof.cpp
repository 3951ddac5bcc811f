#include "lib/exploration/verify/ZeroProof.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

Error wrong(std::string message) { return {Code::BoundNotProved, std::move(message), {}, {}}; }

double whole(int64_t value) { return static_cast<double>(value); }

/// Bits that tell `count` places apart.
int positionBits(int64_t count) {
  int bits = 0;
  while ((int64_t{1} << bits) < count)
    ++bits;
  return bits;
}

/// A product by weights: which of its tensors they are, and the extents of one matrix of them as it sees them.
struct WeightProduct {
  size_t tensor = 0;
  double depth = 1, outputs = 1, batch = 1;
  double bits = 16;
};

/// Which loops of an operation its tensors move along, and which of these are the factors.
struct Factors {
  std::vector<std::vector<bool>> moves; ///< by tensor and loop
  std::vector<bool> result;             ///< by loop
  size_t weights = kNone, other = kNone, results = 0;
};

std::optional<Factors> factorsOf(const WorkGraph &graph, const Operation &op) {
  Factors factors;
  factors.moves.assign(op.tensors.size(), std::vector<bool>(op.domain.size()));
  factors.result.resize(op.domain.size());
  std::vector<double> elements(op.tensors.size(), 1);
  for (size_t t = 0; t < op.tensors.size(); ++t) {
    std::vector<bool> &moves = factors.moves[t];
    for (const auto &position : op.tensors[t].dimensions)
      for (const LoopTensor::Term &term : position) {
        if (term.loop >= op.domain.size())
          return std::nullopt;
        moves[term.loop] = moves[term.loop] || term.stride != 0;
      }
    for (size_t l = 0; l < op.domain.size(); ++l)
      elements[t] *= moves[l] ? whole(std::max<int64_t>(1, op.domain[l].extent)) : 1;
    if (op.tensors[t].written) {
      ++factors.results;
      for (size_t l = 0; l < op.domain.size(); ++l)
        factors.result[l] = factors.result[l] || moves[l];
      continue;
    }
    if (t >= op.operands.size() || op.operands[t] >= graph.values.size())
      return std::nullopt;
    // Beside the factors there may be a bias, which has fewer elements.
    const bool isWeights = graph.values[op.operands[t]].category == Category::Weights;
    size_t &of = isWeights ? factors.weights : factors.other;
    if (of == kNone || elements[t] > elements[of])
      of = t;
  }
  return factors;
}

bool mayMultiplyWeights(const Operation &op) {
  return op.contraction && op.parts.empty() && !op.givenSeconds &&
         (op.phase == Phase::Forward || op.phase == Phase::Recompute || op.phase == Phase::DataGradient);
}

std::optional<WeightProduct> weightProductOf(const WorkGraph &graph, const Operation &op) {
  auto factors = mayMultiplyWeights(op) ? factorsOf(graph, op) : std::nullopt;
  if (!factors || factors->weights == kNone || factors->other == kNone || factors->results == 0)
    return std::nullopt;
  WeightProduct product;
  product.tensor = factors->weights;
  product.bits = whole(op.tensors[factors->weights].elementBits);
  for (size_t l = 0; l < op.domain.size(); ++l) {
    if (!factors->moves[factors->weights][l])
      continue;
    const bool isResult = factors->result[l], reduces = op.domain[l].kind == IteratorKind::Reduction;
    double &extent = factors->moves[factors->other][l] ? (isResult && !reduces ? product.batch : product.depth)
                     : isResult                        ? product.outputs
                                                       : product.depth;
    extent *= whole(std::max<int64_t>(1, op.domain[l].extent));
  }
  return product;
}

/// A product by weights of the forward pass, with the operations that are named after it.
struct Layer {
  OperationId forward = kNone;
  std::vector<OperationId> operations;
};

/// The layer whose forward product has a name; nothing where there is none. An operation is named after the product
/// with the longest name that its own begins with, up to a dot.
std::optional<Layer> layerNamed(const WorkGraph &graph, const std::string &name) {
  std::set<std::string> products;
  Layer layer;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    if (const Operation &op = graph.operations[id]; op.phase == Phase::Forward && weightProductOf(graph, op)) {
      products.insert(op.name);
      if (op.name == name)
        layer.forward = id;
    }
  if (layer.forward == kNone)
    return std::nullopt;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone || op.core == CoreKind::None || op.communication)
      continue;
    std::string of = op.name;
    for (size_t dot = of.rfind('.'); !products.contains(of) && dot != std::string::npos; dot = of.rfind('.'))
      of.resize(dot);
    if (of == name)
      layer.operations.push_back(id);
  }
  return layer;
}

double elementsOf(const Operation &op) {
  double elements = op.domain.empty() ? 0 : 1;
  for (const Loop &loop : op.domain)
    elements *= whole(loop.extent);
  return elements;
}

/// The parameter of a layer: what updates its weights says it, or what sums up the gradients that layers have in
/// common, or its value.
std::string parameterOf(const WorkGraph &graph, const Layer &layer, const WeightProduct &product) {
  auto before = [](const std::string &name, std::string_view end) {
    return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
  };
  const double weights = product.outputs * product.batch * product.depth;
  std::set<ValueId> gradients;
  for (OperationId id : layer.operations) {
    const Operation &op = graph.operations[id];
    if (op.phase == Phase::WeightGradient)
      gradients.insert(op.results.begin(), op.results.end());
    if (std::string name = before(op.name, ".update");
        op.phase == Phase::Update && !name.empty() && elementsOf(op) >= weights)
      return name;
  }
  for (const Operation &op : graph.operations)
    if (std::string name = before(op.name, ".gradient_sum");
        !name.empty() && std::ranges::any_of(op.operands, [&](ValueId value) { return gradients.contains(value); }))
      return name;
  ValueId value = graph.operations[layer.forward].operands[product.tensor];
  for (size_t i = 0; i < graph.values.size() && graph.values[value].alias != kNone; ++i)
    value = graph.values[value].alias;
  return graph.values[value].name.empty() ? graph.operations[layer.forward].name : graph.values[value].name;
}

/// Of `reduction` weights in a row, whole groups with a position for each that is kept.
double storedShare(const MinedZeros &zeros, double reduction, double bits) {
  const double groups = std::ceil(reduction / whole(zeros.of));
  return groups * whole(zeros.kept) * (bits + positionBits(zeros.of)) / (reduction * bits);
}

/// Whether of any `of` neighbours at most `kept` are not zero, whatever groups of the pattern they touch.
bool keepsAtMost(const MinedZeros &zeros, const SparseAcceleration &use) {
  if (zeros.of % use.of == 0) // groups of the core are inside of one of the pattern
    return std::min(zeros.kept, use.of) <= use.kept;
  const int64_t touched = use.of % zeros.of == 0 ? use.of / zeros.of : (use.of - 2) / zeros.of + 2;
  return std::min(touched * zeros.kept, use.of) <= use.kept;
}

bool isProper(const MinedZeros &zeros) { return zeros.kept >= 1 && zeros.kept <= zeros.of && zeros.of <= 4096; }

/// The layer with its operations, and its forward product.
struct Found {
  Layer layer;
  WeightProduct product;
};
Result<Found> find(const WorkGraph &graph, const MinedZeros &zeros) {
  if (!isProper(zeros))
    return wrong(fmt::format("'{}' of '{}' is no pattern", patternText(zeros), zeros.layer));
  if (auto layer = layerNamed(graph, zeros.layer)) {
    const WeightProduct product = *weightProductOf(graph, graph.operations[layer->forward]);
    return Found{std::move(*layer), product};
  }
  return wrong(fmt::format("'{}' is no product by weights", zeros.layer));
}

/// Of a product that sees weights with these zeros; `isTurned`: with reduction and outputs exchanged.
ZeroShares productShares(const WeightProduct &product, const MinedZeros &zeros, const std::optional<SparseCore> &core,
                         bool isTurned) {
  ZeroShares shares;
  if (!core || !keepsAtMost(zeros, core->stationary))
    return shares;
  const SparseAcceleration &use = core->stationary;
  shares.tensor = product.tensor;
  shares.stored = storedShare(zeros, isTurned ? product.outputs : product.depth, product.bits);
  if (isTurned && !zeros.transposable)
    return shares;
  const double group = whole(core->tile > 1 ? core->tile : use.of);
  shares.compute = whole(use.kept) / whole(use.of) * (std::ceil(product.depth / group) * group) / product.depth;
  const double density = whole(zeros.kept) / whole(zeros.of);
  shares.active = shares.compute <= density ? shares.compute : density + core->gatedEnergy * (shares.compute - density);
  return shares;
}

} // namespace

Result<std::optional<SparseCore>> zeroCoreOf(const Machine &machine) {
  std::optional<SparseCore> found;
  bool isFirst = true;
  for (const Core &core : machine.cores) {
    if (core.kind != CoreKind::Tensor)
      continue;
    if (core.sparse && !minesZerosOn(*core.sparse))
      return wrong(fmt::format("core '{}' does not skip N:M weights", core.name));
    if (!isFirst && !isSameUse(core.sparse, found))
      return wrong(fmt::format("core '{}' uses zeros otherwise than the one before it", core.name));
    found = core.sparse;
    isFirst = false;
  }
  return found;
}

Result<StatedZeroShares> sharesOfPattern(const WorkGraph &dense, const MinedZeros &zeros,
                                         const std::optional<SparseCore> &core) {
  ACCORD_TRY(found, find(dense, zeros));
  const ZeroShares shares = productShares(found.product, zeros, core, false);
  return StatedZeroShares{shares.compute, shares.stored, whole(zeros.kept) / whole(zeros.of)};
}

Result<StepZeroShares> zeroShares(const WorkGraph &graph, const StepZeros &zeros) {
  StepZeroShares all;
  if (zeros.empty())
    return all;
  all.resize(graph.operations.size());
  for (const MinedZeros &one : zeros.layers) {
    ACCORD_TRY(found, find(graph, one));
    const double weights = found.product.outputs * found.product.batch * found.product.depth;
    for (OperationId id : found.layer.operations) {
      const Operation &op = graph.operations[id];
      if (op.phase == Phase::Update) {
        if (elementsOf(op) >= weights) // a bias has fewer
          all[id].compute = all[id].active = all[id].bytes = whole(one.kept) / whole(one.of);
      } else if (auto product = weightProductOf(graph, op)) {
        all[id] = productShares(*product, one, zeros.core, op.phase == Phase::DataGradient);
      }
    }
  }
  return all;
}

Errors readZeros(MiningCertificate &certificate, const Machine &machine) {
  Errors errors;
  std::optional<Result<std::optional<SparseCore>>> core;
  for (CertificateJob &job : certificate.jobs)
    for (size_t a = 0; a < job.alternatives.size(); ++a) {
      CertificateAlternative &alternative = job.alternatives[a];
      if (!alternative.dense)
        continue;
      auto refuse = [&](const std::string &message) {
        errors.push_back(wrong(fmt::format("'{}' of '{}': {}", alternative.label, job.name, message)));
      };
      if (*alternative.dense >= a || job.alternatives[*alternative.dense].dense) {
        refuse("it is the same with zeros as an alternative that is not there, or has zeros itself");
        continue;
      }
      if (!core)
        core = zeroCoreOf(machine);
      if (!*core) {
        refuse(core->error().message);
        continue;
      }
      const WorkGraph &dense = job.alternatives[*alternative.dense].graph;
      StepZeros &zeros = alternative.zeros;
      zeros.core = **core;
      alternative.graph = dense;
      if (zeros.empty() || zeros.layers.size() != alternative.shares.size()) {
        refuse("it has no zeros, or not the shares of each layer");
        continue;
      }
      std::set<std::string> parameters, layers;
      for (size_t i = 0; i < zeros.layers.size(); ++i) {
        const MinedZeros &one = zeros.layers[i];
        auto found = find(dense, one);
        auto shares = found ? sharesOfPattern(dense, one, zeros.core) : Result<StatedZeroShares>(found.error());
        if (!shares) {
          refuse(shares.error().message);
          break;
        }
        const StatedZeroShares &stated = alternative.shares[i];
        if (!layers.insert(one.layer).second || !close(stated.compute, shares->compute) ||
            !close(stated.weights, shares->weights) || !close(stated.states, shares->states)) {
          refuse(fmt::format("{} leaves {:.9g} of the arithmetic of '{}', {:.9g} of its weights and {:.9g} of their "
                             "states; stated once are {:.9g}, {:.9g} and {:.9g}",
                             patternText(one), shares->compute, one.layer, shares->weights, shares->states,
                             stated.compute, stated.weights, stated.states));
          break;
        }
        const std::string parameter = parameterOf(dense, found->layer, found->product);
        if (!parameters.insert(parameter).second)
          continue;
        for (StaticTensor &tensor : alternative.graph.staticTensors)
          if (tensor.name == parameter) {
            const double share = tensor.category == Category::Weights ? shares->weights : shares->states;
            tensor.bytes = static_cast<int64_t>(std::ceil(whole(tensor.bytes) * share));
          }
      }
    }
  return errors;
}

} // namespace accord
