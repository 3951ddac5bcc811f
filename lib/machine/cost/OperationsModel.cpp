#include "lib/machine/cost/OperationsModel.h"
#include "lib/machine/array/Gemm.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/model/Lookups.h"
#include "lib/machine/operations/File.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using operations::Kind;

constexpr double kWordBytes = 4;

class OperationsModel : public CostModel {
public:
  OperationsModel(operations::Fit fit, operations::Device device, std::string source)
      : fit(std::move(fit)), device(std::move(device)), source(std::move(source)), peak(makePeakModel()) {}

  Result<ComputeTime> compute(const CostQuery &query, Assumptions &assumptions) const override {
    return peak->compute(query, assumptions);
  }

  Result<OperationCost> cost(const CostQuery &query, Assumptions &assumptions) const override {
    Assumptions ofPeak;
    ACCORD_TRY(cost, peak->cost(query, ofPeak));
    auto measurable = query.parts ? std::nullopt : measurableOperation(query.operation, query.type);
    if (!measurable) {
      assumptions.merge(ofPeak);
      assumptions.insert(
          fmt::format("'{}' has no time of {} operations: they are priced at the peak", source, query.operation.kind));
      return cost;
    }
    assumptions.insert(fmt::format("times of operations are by the fit '{}' of measured ones", source));
    double seconds = operations::predict(fit, *measurable, device);
    cost.time = std::max(Seconds(seconds), cost.compute);
    for (Seconds transfer : cost.transfer)
      cost.time = std::max(cost.time, transfer);
    cost.cycles = query.machine.clock * cost.time;
    cost.formula += fmt::format("; fitted to measured operations ('{}'): {:.6g} s", source, seconds);
    return cost;
  }

private:
  const operations::Fit fit;
  const operations::Device device;
  const std::string source;
  const std::unique_ptr<CostModel> peak;
};

} // namespace

std::optional<operations::Operation> measurableOperation(const Operation &operation, const std::string &type) {
  if (type != "fp32" || operation.flops == 0 || !operation.parts.empty())
    return std::nullopt;
  if (operation.contraction) {
    auto product = gemmOf(operation.domain, operation.tensors);
    bool windows = std::ranges::any_of(operation.tensors, [](const LoopTensor &tensor) {
      return std::ranges::any_of(tensor.dimensions, [](const auto &terms) { return terms.size() > 1; });
    });
    if (!product || windows)
      return std::nullopt;
    auto [batch, m, n, k] = *product;
    bool single = batch == 1;
    return operations::Operation{single ? "linear" : "bmm",
                                 single ? Kind::Gemm : Kind::BatchedGemm,
                                 static_cast<double>(batch),
                                 static_cast<double>(m),
                                 static_cast<double>(n),
                                 static_cast<double>(k),
                                 0,
                                 2};
  }
  if (operation.phase == Phase::Forward && !operation.domain.empty() &&
      (operation.kind == "softmax" || operation.kind == "layer_norm")) {
    double rows = 1, width = static_cast<double>(operation.domain.back().extent);
    for (const Loop &loop : operation.domain)
      rows *= static_cast<double>(loop.extent);
    Kind kind = operation.kind == "softmax" ? Kind::Softmax : Kind::LayerNorm;
    return operations::Operation{operation.kind, kind, rows / width, 0, 0, 0, width, 1};
  }
  bool parallel = std::ranges::all_of(operation.domain, [](const Loop &l) { return l.kind == IteratorKind::Parallel; });
  if (!parallel || lookupRows(operation))
    return std::nullopt;
  double words = compulsoryBytes(operation).value / kWordBytes; // one operand and the result: two words an element
  return operations::Operation{operation.kind, Kind::ElementWise, words / 2, 0, 0, 0, 1, 1};
}

std::string registerOperationsModel(const operations::Fit &fit, const operations::Device &device,
                                    const std::string &source) {
  uint64_t hash = llvm::xxh3_64bits(operations::write(fit) + source);
  std::string name = fmt::format("{}{} {:08x}", kOperationsModel, device.name, static_cast<uint32_t>(hash));
  // The same numbers may be registered by several machines: the first stays.
  registerCostModel(name, [=] { return std::make_unique<OperationsModel>(fit, device, source); });
  return name;
}

} // namespace accord
