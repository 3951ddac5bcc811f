#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include <algorithm>
#include <numeric>

namespace accord {
namespace {
/// From the left, in doubles.
template <typename... T> double productOf(T... factors) { return (1.0 * ... * factors); }

constexpr std::string_view kNames[] = {"output_stationary", "weight_stationary", "input_stationary", "row_stationary"};

/// The folds of all products before their streams are cut.
struct Folds {
  Count folds = 1;
  Count load = 0;
  int64_t steps = 1;         ///< the stream, which may be cut between any two of them
  int64_t cyclesPerStep = 1; ///< cycles of one
  Count minInterval = 0;     ///< the interval that overlapDrain cannot go below
  double operations = 1;     ///< multiply-accumulates of all
};

/// With streams in at most `cuts` equal pieces.
SystolicCost timeFolds(const Folds &of, const SystolicArray &array, int64_t cuts) {
  int64_t steps = ceilDivide64(of.steps, cuts), used = array.split ? array.count : 1;
  SystolicCost cost;
  cost.pieces = ceilDivide64(of.steps, steps);
  cost.folds = saturatingMultiply(of.folds, cost.pieces);
  cost.foldsPerArray = cost.folds / used + (cost.folds % used != 0);
  cost.load = of.load;
  cost.stream = saturatingMultiply(steps, of.cyclesPerStep);
  cost.skew = Count(array.rows) + array.cols - 2;
  Count tail = cost.stream + cost.skew, whole = saturatingAdd(cost.load, tail);
  if (array.overlapDrain)
    cost.interval = array.overlapFill ? std::max(std::max(cost.load, cost.stream), of.minInterval)
                                      : std::max(saturatingAdd(cost.load, cost.stream), of.minInterval);
  else
    cost.interval = array.overlapFill ? std::max(cost.load, tail) : whole;
  cost.cycles = saturatingAdd(whole, saturatingMultiply(cost.foldsPerArray - 1, cost.interval));
  return cost;
}

/// The fastest way to cut; of equally fast ones the fewest pieces. Fills all but the accesses. The
/// array has rows, columns and instances.
SystolicCost timeFolds(const Folds &of, const SystolicArray &array) {
  SystolicCost best = timeFolds(of, array, 1);
  if (array.split && array.cutStream)
    for (int64_t power = 2; power <= array.count && power <= int64_t{1} << 61; power *= 2)
      for (int64_t cuts : {power, power / 2 * 3})
        if (cuts <= array.count && cuts <= of.steps)
          if (SystolicCost cut = timeFolds(of, array, cuts); cut.cycles < best.cycles)
            best = cut;
  double cells = productOf(array.rows, array.cols), used = array.split ? array.count : 1;
  best.mappingEfficiency = of.operations / (best.folds * cells * best.stream);
  best.utilization = of.operations / (best.cycles * cells * used);
  return best;
}

} // namespace

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
  of.folds = saturatingMultiply(saturatingMultiply(rowFolds, colFolds), batch);
  of.load = sumsStay ? 0 : array.rows;
  of.steps = sumsStay ? k : inputStays ? n : m;
  of.minInterval = sumsStay ? array.rows : 0;
  of.operations = productOf(batch, m, n, k);
  SystolicCost cost = timeFolds(of, array);

  auto all = [&](int64_t a, int64_t b, Count times) {
    return saturatingMultiply(saturatingMultiply(saturatingMultiply(a, b), times), batch);
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
  return saturatingMultiply(a, b) -
         saturatingMultiply(std::max<int64_t>(a - stride / divisor, 0), std::max<int64_t>(b - dilation / divisor, 0));
}

/// Sum of `differentSums` over the strips into which a set is cut.
Count rowsOfStrips(const Convolution &conv, int64_t rows, int64_t cols) {
  Count sum = 0;
  auto add = [&](int64_t a, int64_t timesA, int64_t b, int64_t timesB) {
    if (a > 0 && b > 0)
      sum = saturatingAdd(sum, saturatingMultiply(differentSums(a, conv.rowDilation, b, conv.rowStride),
                                                  saturatingMultiply(timesA, timesB)));
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
  Count strips = saturatingMultiply(rowStrips, colStrips);

  double window = productOf(conv.filterRows, conv.filterCols), plane = productOf(conv.outRows, conv.outCols);
  Folds of;
  of.folds = saturatingMultiply(saturatingMultiply(channelFolds, planeFolds), strips);
  of.load = saturatingMultiply(array.rows, conv.filterCols);
  of.steps = conv.outCols, of.cyclesPerStep = conv.filterCols;
  of.operations = productOf(kernels, conv.images, conv.channels, window, plane);
  SystolicCost cost = timeFolds(of, array);

  // Planes are taken image by image, in each all groups, in each all filters. A fold reads an input
  // once for all its filters: the inputs, and one more for each boundary between folds that does
  // not fall between two inputs.
  auto boundaries = planeFolds - 1;
  int64_t step = saturatingMultiply64(beside / std::gcd(beside, conv.filters), conv.filters);
  Count inputTouches = Count(inputs) + boundaries - (planes - 1) / step;
  // … and a filter once for all images of the fold.
  Count kernelTouches =
      saturatingMultiply(boundaries, std::min(beside, kernels)) + std::min(planes - boundaries * beside, kernels);
  // Neighbouring pieces of a row share what lies under both of their windows.
  int64_t piece = ceilDivide64(conv.outCols, cost.pieces), last = (conv.outCols - 1) % piece + 1;
  auto lengthOf = [&](int64_t results) {
    return differentSums(conv.filterCols, conv.colDilation, results, conv.colStride);
  };
  Count rowLength = saturatingAdd(saturatingMultiply(lengthOf(piece), cost.pieces - 1), lengthOf(last));
  cost.lhsReads = saturatingMultiply(saturatingMultiply(saturatingMultiply(inputTouches, conv.channels), rowLength),
                                     rowsOfStrips(conv, array.rows, array.cols));
  cost.rhsReads = saturatingMultiply(
      saturatingMultiply(kernelTouches, saturatingMultiply(saturatingMultiply(conv.channels, colStrips), cost.pieces)),
      saturatingMultiply(conv.filterRows, conv.filterCols));
  Count results = saturatingMultiply(saturatingMultiply(conv.outRows, conv.outCols), planes);
  Count leaves = saturatingMultiply(channelFolds, rowStrips);
  cost.resultWrites = saturatingMultiply(results, leaves);
  cost.resultReads = saturatingMultiply(results, leaves - 1);
  return cost;
}

} // namespace accord
