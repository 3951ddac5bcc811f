#include "lib/array/Systolic.h"
#include "lib/array/FoldTiming.h"
#include <algorithm>

namespace accord {
namespace {
constexpr std::string_view kNames[] = {"output_stationary", "weight_stationary", "input_stationary",
                                       "row_stationary"};
}

std::string_view name(Dataflow dataflow) { return kNames[static_cast<unsigned>(dataflow)]; }

std::optional<Dataflow> dataflowNamed(std::string_view name) {
  const auto *found = std::ranges::find(kNames, name);
  return found == std::end(kNames) ? std::nullopt
                                   : std::optional(static_cast<Dataflow>(found - kNames));
}

std::optional<SystolicCost> systolicCost(const Gemm &gemm, Dataflow dataflow,
                                         const SystolicArray &array) {
  if (dataflow == Dataflow::RowStationary)
    return rowStationaryCost(convolutionOf(gemm), array);
  if (array.rows < 1 || array.cols < 1 || array.count < 1)
    return std::nullopt;
  int64_t batch = std::max<int64_t>(gemm.batch, 1), m = std::max<int64_t>(gemm.m, 1),
          n = std::max<int64_t>(gemm.n, 1), k = std::max<int64_t>(gemm.k, 1);
  bool sumsStay = dataflow == Dataflow::OutputStationary,
       inputStays = dataflow == Dataflow::InputStationary;
  int64_t rowFolds = ceilDivided(sumsStay ? m : k, array.rows),
          colFolds = ceilDivided(inputStays ? m : n, array.cols);

  SystolicCost cost;
  cost.folds = timesSaturated(static_cast<Count>(rowFolds) * colFolds, batch);
  cost.load = sumsStay ? 0 : array.rows;
  cost.stream = sumsStay ? k : inputStays ? n : m;
  cost.skew = static_cast<Count>(array.rows) + array.cols - 2;
  timeFolds(cost, array, sumsStay ? array.rows : 0,
            static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
                static_cast<double>(k));

  auto all = [&](int64_t a, int64_t b, int64_t times) {
    return timesSaturated(timesSaturated(static_cast<Count>(a) * b, times), batch);
  };
  cost.lhsReads = all(m, k, inputStays ? 1 : colFolds);
  cost.rhsReads = all(k, n, sumsStay ? rowFolds : inputStays ? colFolds : 1);
  cost.resultWrites = all(m, n, sumsStay ? 1 : rowFolds);
  cost.resultReads = all(m, n, sumsStay ? 0 : rowFolds - 1);
  return cost;
}

} // namespace accord
