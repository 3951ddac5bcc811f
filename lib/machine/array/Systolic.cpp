#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/FoldTiming.h"
#include <algorithm>
#include <numeric>

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

namespace {

/// How many different values i * dilation + j * stride takes for i < a and j < b. Two pairs agree
/// when they are a multiple of (stride, -dilation) / gcd apart; each value is counted at its first
/// pair.
Count differentSums(int64_t a, int64_t dilation, int64_t b, int64_t stride) {
  int64_t divisor = std::max<int64_t>(std::gcd(dilation, stride), 1);
  return static_cast<Count>(a) * b -
         static_cast<Count>(std::max<int64_t>(a - stride / divisor, 0)) * std::max<int64_t>(b - dilation / divisor, 0);
}

/// Sum of `differentSums` over the strips into which a set is cut.
Count rowsOfStrips(const Convolution &conv, int64_t rows, int64_t cols) {
  Count sum = 0;
  auto add = [&](int64_t a, int64_t timesA, int64_t b, int64_t timesB) {
    if (a > 0 && b > 0)
      sum = saturatingAdd(sum, saturatingMultiply(differentSums(a, conv.rowDilation, b, conv.rowStride),
                                                  static_cast<Count>(timesA) * timesB));
  };
  int64_t fullA = conv.filterRows / rows, restA = conv.filterRows % rows, fullB = conv.outRows / cols,
          restB = conv.outRows % cols;
  add(fullA ? rows : 0, fullA, fullB ? cols : 0, fullB);
  add(fullA ? rows : 0, fullA, restB, 1);
  add(restA, 1, fullB ? cols : 0, fullB);
  add(restA, 1, restB, 1);
  return sum;
}

Convolution withExtentsAtLeastOne(Convolution conv) {
  for (int64_t Convolution::*extent :
       {&Convolution::groups, &Convolution::images, &Convolution::filters, &Convolution::channels,
        &Convolution::filterRows, &Convolution::filterCols, &Convolution::outRows, &Convolution::outCols})
    conv.*extent = std::max<int64_t>(conv.*extent, 1);
  for (int64_t Convolution::*step :
       {&Convolution::rowStride, &Convolution::colStride, &Convolution::rowDilation, &Convolution::colDilation})
    conv.*step = std::max<int64_t>(conv.*step, 0);
  return conv;
}

} // namespace

std::optional<SystolicCost> rowStationaryCost(const Convolution &convolution, const SystolicArray &array) {
  if (array.rows < 1 || array.cols < 1 || array.count < 1)
    return std::nullopt;
  const Convolution conv = withExtentsAtLeastOne(convolution);
  int64_t below = std::max<int64_t>(array.rows / conv.filterRows, 1),
          beside = std::max<int64_t>(array.cols / conv.outRows, 1),
          rowStrips = ceilDivide64(conv.filterRows, array.rows), colStrips = ceilDivide64(conv.outRows, array.cols);
  int64_t kernels = saturatingMultiply64(conv.groups, conv.filters), // different filters
      inputs = saturatingMultiply64(conv.groups, conv.images),       // different planes of a channel
      planes = saturatingMultiply64(kernels, conv.images), channelFolds = ceilDivide64(conv.channels, below),
          planeFolds = ceilDivide64(planes, beside);
  Count strips = static_cast<Count>(rowStrips) * colStrips;

  double window = static_cast<double>(conv.filterRows) * conv.filterCols,
         plane = static_cast<double>(conv.outRows) * conv.outCols;
  Folds of;
  of.folds = saturatingMultiply(static_cast<Count>(channelFolds) * planeFolds, strips);
  of.load = static_cast<Count>(array.rows) * conv.filterCols;
  of.steps = conv.outCols, of.cyclesPerStep = conv.filterCols;
  of.operations = static_cast<double>(kernels) * conv.images * conv.channels * window * plane;
  SystolicCost cost = timeFolds(of, array);

  // Planes are taken image by image, in each all groups, in each all filters. A fold reads an input
  // once for all its filters: the inputs, and one more for each boundary between folds that does
  // not fall between two inputs.
  auto boundaries = planeFolds - 1;
  int64_t step = saturatingMultiply64(beside / std::gcd(beside, conv.filters), conv.filters);
  Count inputTouches = static_cast<Count>(inputs) + boundaries - (planes - 1) / step;
  // … and a filter once for all images of the fold.
  Count kernelTouches =
      static_cast<Count>(boundaries) * std::min(beside, kernels) + std::min(planes - boundaries * beside, kernels);
  // Neighbouring pieces of a row share what lies under both of their windows.
  int64_t piece = ceilDivide64(conv.outCols, cost.pieces), last = (conv.outCols - 1) % piece + 1;
  auto lengthOf = [&](int64_t results) {
    return differentSums(conv.filterCols, conv.colDilation, results, conv.colStride);
  };
  Count rowLength = saturatingAdd(saturatingMultiply(lengthOf(piece), cost.pieces - 1), lengthOf(last));
  cost.lhsReads = saturatingMultiply(saturatingMultiply(saturatingMultiply(inputTouches, conv.channels), rowLength),
                                     rowsOfStrips(conv, array.rows, array.cols));
  cost.rhsReads = saturatingMultiply(
      saturatingMultiply(kernelTouches, saturatingMultiply(static_cast<Count>(conv.channels) * colStrips, cost.pieces)),
      static_cast<Count>(conv.filterRows) * conv.filterCols);
  Count results = saturatingMultiply(static_cast<Count>(conv.outRows) * conv.outCols, planes);
  Count leaves = static_cast<Count>(channelFolds) * rowStrips;
  cost.resultWrites = saturatingMultiply(results, leaves);
  cost.resultReads = saturatingMultiply(results, leaves - 1);
  return cost;
}

} // namespace accord
