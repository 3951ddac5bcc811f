#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/FoldTiming.h"
#include <algorithm>

namespace accord {
namespace {
constexpr std::string_view kNames[] = {"output_stationary", "weight_stationary", "input_stationary", "row_stationary"};
}

std::string_view name(Dataflow dataflow) { return kNames[static_cast<unsigned>(dataflow)]; }

std::optional<Dataflow> parseDataflow(std::string_view name) {
  const auto *found = std::ranges::find(kNames, name);
  return found == std::end(kNames) ? std::nullopt : std::optional(static_cast<Dataflow>(found - kNames));
}

std::optional<SystolicCost> systolicCost(const Gemm &gemm, Dataflow dataflow, const SystolicArray &array) {
  if (dataflow == Dataflow::RowStationary)
    return rowStationaryCost(convolutionOf(gemm), array);
  if (array.rows < 1 || array.cols < 1 || array.count < 1)
    return std::nullopt;
  int64_t batch = std::max<int64_t>(gemm.batch, 1), m = std::max<int64_t>(gemm.m, 1), n = std::max<int64_t>(gemm.n, 1),
          k = std::max<int64_t>(gemm.k, 1);
  bool sumsStay = dataflow == Dataflow::OutputStationary, inputStays = dataflow == Dataflow::InputStationary;
  int64_t rowFolds = ceilDivide64(sumsStay ? m : k, array.rows),
          colFolds = ceilDivide64(inputStays ? m : n, array.cols);

  Folds of;
  of.folds = saturatingMultiply(static_cast<Count>(rowFolds) * colFolds, batch);
  of.load = sumsStay ? 0 : array.rows;
  of.steps = sumsStay ? k : inputStays ? n : m;
  of.minInterval = sumsStay ? array.rows : 0;
  of.operations = static_cast<double>(batch) * m * n * k;
  SystolicCost cost = timeFolds(of, array);

  auto all = [&](int64_t a, int64_t b, Count times) {
    return saturatingMultiply(saturatingMultiply(static_cast<Count>(a) * b, times), batch);
  };
  cost.lhsReads = all(m, k, inputStays ? cost.pieces : colFolds);
  cost.rhsReads = all(k, n, sumsStay ? rowFolds : inputStays ? colFolds : cost.pieces);
  Count sums = sumsStay ? cost.pieces : rowFolds; // partial ones of each result
  cost.resultWrites = all(m, n, sums);
  cost.resultReads = all(m, n, sums - 1);
  return cost;
}

} // namespace accord
