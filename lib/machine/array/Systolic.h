// How long a systolic array takes for a product, to the cycle, and what it reads and writes: no
// stalls, no memory.
//
// An array has rows R and columns C of PEs, one multiply-accumulate per PE and cycle. A product is
// cut into folds of R x C; a partial fold costs as much as a full one. A fold takes
// load + stream + skew cycles, skew = R + C - 2:
//
//   dataflow   rows  columns  load            stream                folds of one product
//   output     m     n        0               k                     ceil(m/R) * ceil(n/C)
//   weight     k     n        R               m                     ceil(k/R) * ceil(n/C)
//   input      k     m        R               n                     ceil(k/R) * ceil(m/C)
//   row        below          R * filterCols  outCols * filterCols  below
//
// The first three are the code of SCALE-Sim v3 (arXiv 2504.15377, scalesim/compute/
// systolic_compute_{os,ws,is}.py). Its output stationary fold is R cycles shorter than in the paper
// of 2020: each result leaves over a bus of its column in the cycle of its last
// multiply-accumulate. (Its command line prints the total less one.)
//
// What happens in a fold that starts in cycle 0, in PE (r, c):
//
// - load: the operand that stays enters its column at the top, one value a cycle, and moves down.
// - stream: from cycle load + r + c on, one multiply-accumulate a cycle. The operand that moves
//   comes from the left, one column a cycle, and the partial result from above; output stationary:
//   operands come from the left and from above, the sum stays.
// - skew: until the last PE, R + C - 2 cycles behind the first, is done.
//
// The next fold starts when the array is empty. That interval becomes shorter with
//
// - overlapFill: PEs have a second register for the operand that stays (row stationary: a second
//   row of registers), which is loaded for the next fold while this one computes. In output
//   stationary there is nothing to load: no effect.
// - overlapDrain: the next fold enters behind the last operands of this one instead of waiting for
//   the array to be empty. A column is loaded from the cycle after its first PE's last use on. In
//   output stationary a column's bus must first have carried the R results of this fold.
//
//   interval  neither               fill                      drain           both
//   output    stream + skew         stream + skew             max(stream, R)  max(stream, R)
//   others    load + stream + skew  max(load, stream + skew)  load + stream   max(load, stream)
//
// An array that does f folds takes load + stream + skew + (f - 1) * interval cycles.
//
// Several arrays share the folds of all products. Few folds with long streams leave most of them
// idle; `cutStream` cuts every stream into p equal pieces, each a fold of its own (what stays is
// loaded for each; in output stationary the partial sums of the pieces are added outside), for the
// best p of 1, 2, 3, 4, 6, 8, 12, … up to the number of arrays.
//
// Row stationary (Chen, Emer, Sze: Eyeriss, ISCA 2016, section V), as computed here. A set of
// filterRows x outRows PEs does one plane of one filter, channel and image. PE (i, j) keeps row i
// of the filter and slides it along row i * dilation + j * stride of the input, filterCols
// multiply-accumulates for each of outCols partial results, which are added down the column. Sets
// of different channels lie below each other, floor(R / filterRows) of them, and their results are
// added too; sets of different filters, groups and images lie beside each other, floor(C / outRows)
// of them. A set larger than the array is cut into ceil(filterRows / R) * ceil(outRows / C) strips.
// There are ceil(channels / sets below) * ceil(groups * images * filters / sets beside) * strips
// folds. A matrix product (window of 1 x 1, one row of m results) takes as long as in weight
// stationary.
#pragma once
#include "lib/machine/array/Convolution.h"
#include <optional>
#include <string_view>

namespace accord {

enum class Dataflow : uint8_t { OutputStationary, WeightStationary, InputStationary, RowStationary };
std::string_view name(Dataflow); ///< "output_stationary", …
/// By that name; nothing if there is none.
std::optional<Dataflow> parseDataflow(std::string_view name);

struct SystolicArray {
  int64_t rows = 1, cols = 1;
  int64_t count = 1; ///< equal arrays
  bool overlapFill = false, overlapDrain = false;
  /// The folds of all products are dealt out to the arrays (sums over folds are added outside of
  /// them); else one array does all.
  bool split = true;
  bool cutStream = false; ///< of arrays that share
};

/// Counts that would pass 2^127 - 1 stay there.
struct SystolicCost {
  Count cycles = 0;                     ///< until the last array is done
  Count folds = 0;                      ///< of all products, pieces counted
  Count foldsPerArray = 0;              ///< of the array with most: ceil(folds / count) when split
  Count load = 0, stream = 0, skew = 0; ///< cycles of a fold
  Count interval = 0;                   ///< cycles from one fold to the next
  int64_t pieces = 1;                   ///< into which streams are cut
  /// Share of the PEs that a fold uses, on average (SCALE-Sim: mapping efficiency).
  double mappingEfficiency = 0;
  /// Multiply-accumulates / (PEs of all arrays in use * cycles). SCALE-Sim's differs for weight and
  /// input stationary, whose folds it counts C - 1 cycles too long there.
  double utilization = 0;
  /// Elements that the array takes from and gives to the scratchpad beside it, as SCALE-Sim counts
  /// them (lhs is its ifmap, rhs its filter, the result its ofmap); what several PEs of a fold
  /// share is read once. Its output stationary ofmap count has R + C more for each fold, which no
  /// PE writes.
  Count lhsReads = 0, rhsReads = 0;
  Count resultWrites = 0; ///< partial results each time they leave the array
  Count resultReads = 0;  ///< partial results that later folds add to; SCALE-Sim does not count them
};

/// In constant time. Nothing for an array without rows, columns or instances; extents below 1 count
/// as 1. More arrays, and either overlap, never take longer.
std::optional<SystolicCost> systolicCost(const Gemm &gemm, Dataflow dataflow, const SystolicArray &array);
/// Row stationary.
std::optional<SystolicCost> rowStationaryCost(const Convolution &convolution, const SystolicArray &array);

} // namespace accord
