// Sums of products of two tensors: matrix products, convolutions, and the gradients of both, as one kind of loop nest.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"

namespace accord::microarchitecture {

struct ContractionLoop {
  std::string name;
  int64_t extent = 1;
  bool reduces = false; ///< its iterations reach the same elements of the result
};

/// Position d of an element is the sum over `dimensions[d].terms` of stride * iteration. Where a padded window begins
/// before the tensor, position 0 is the first element of the padding: tensors are stored with their padding, and the
/// padding of operands is zero.
struct ContractionTensor {
  std::string name;
  int32_t bytes = 4; ///< of an element
  struct Term {
    Index loop = kNone;
    int64_t stride = 1;
  };
  struct Dimension {
    std::vector<Term> terms;
    int64_t size = 1; ///< at least; more where the loops reach more
  };
  std::vector<Dimension> dimensions;
};

/// result[...] += first[...] * second[...] for each point of the loops.
struct Contraction {
  std::string name;
  std::vector<ContractionLoop> loops;
  ContractionTensor first, second, result;
  bool accumulates = false; ///< to what the result holds before; else from 0, or from `initial`
  /// What sums begin with, such as a bias: loops that reduce do not move it, and lanes or columns of tiles that move it
  /// find its elements side by side.
  std::optional<ContractionTensor> initial = {};
};

/// m x k times k x n, `batch` of them; a transposed operand is stored as k x m or n x k.
/// Loops: batch, m, n, k.
struct ProductShape {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transposedFirst = false, transposedSecond = false;
};
Contraction product(const ProductShape &shape);

/// Loops of a convolution and of its gradients: image, group, filter, channel, row, column, filter_row, filter_column;
/// `filters` and `channels` are those of a group. A depthwise convolution has as many groups as channels.
struct ConvolutionShape {
  int64_t images = 1, groups = 1, filters = 1, channels = 1;
  int64_t rows = 1, columns = 1; ///< of the input, without padding
  int64_t filterRows = 1, filterColumns = 1;
  int64_t rowStride = 1, columnStride = 1, rowPadding = 0, columnPadding = 0, rowDilation = 1, columnDilation = 1;
  int64_t outRows() const { return extent(rows, filterRows, rowStride, rowPadding, rowDilation); }
  int64_t outColumns() const { return extent(columns, filterColumns, columnStride, columnPadding, columnDilation); }

private:
  static int64_t extent(int64_t in, int64_t filter, int64_t stride, int64_t padding, int64_t dilation) {
    const int64_t span = in + 2 * padding - dilation * (filter - 1) - 1;
    return span < 0 ? 0 : span / stride + 1;
  }
};
/// Tensors: input [image][group][channel][row][column] with its padding, weight [group][filter][channel][row][column],
/// output [image][group][filter][row][column]. `Forward` gives the output, `DataGradient` the input from output and
/// weight (each product is added where the window was), `WeightGradient` the weight from input and output.
enum class ConvolutionPart : uint8_t { Forward, DataGradient, WeightGradient };
Contraction convolution(const ConvolutionShape &shape, ConvolutionPart part);

/// How a contraction is executed.
struct Schedule {
  /// One loop of the kernel for each, outermost first: an iteration covers `step` points of loop `loop`. Steps of one
  /// loop become smaller from the outside to the inside. Loops whose last step is not their block go on in steps of it
  /// behind all levels, in the order of the domain.
  struct Level {
    Index loop = kNone;
    int64_t step = 1;
  };
  std::vector<Level> levels;
  /// By loop: points that are unrolled inside of all levels; multiples of what one instruction covers. Empty or 0:
  /// that.
  std::vector<int64_t> block;
  /// Lanes go along this loop. The result has it, alone in a dimension.
  Index vectorLoop = kNone;
  int32_t lanes = 1;
  /// One instruction multiplies tiles: tile[0] of loop m, tile[1] of loop n, tile[2] of loop k.
  std::array<Index, 3> tileLoops = {kNone, kNone, kNone};
  std::array<int32_t, 3> tile = {0, 0, 0};
  /// Second operands are moved to the array before they are multiplied (role Preload).
  bool preloads = false;
  /// An operand that a block loads stands so many products before the first one of the block that uses it; 0: directly
  /// before it. A machine that starts instructions in order then waits less for what is loaded, and more registers are
  /// in use.
  int16_t ahead = 0;
  /// Pieces of tensors (first, second, result, initial) are copied to a buffer and computed on there. `copy` is the
  /// opcode.
  struct StagedPiece {
    Index storage = kNone; ///< of the machine, in which the buffer is; kNone: the tensor is used where it lies
    /// Levels in front of the copy: one of their iterations has one piece. Where the last ones of them do not move the
    /// tensor, the piece stays there for all of their iterations.
    int32_t level = 0;
    /// The next piece of a loop is copied while the present one is used, to a second buffer.
    bool isDouble = false;
    bool operator==(const StagedPiece &) const = default;
  };
  std::array<StagedPiece, 4> staged = {}; ///< the level of `initial` is that of the result
  OpcodeRole copy = {};
  bool isTiled() const { return tile[0] > 0; }
};

/// The tensors of the contraction are tensors 0 (first), 1 (second), 2 (result) and, where there is one, 3 (initial) of
/// the kernel. Their elements are
/// stored in the order of their dimensions, but the dimension that lanes or the columns of a tile go along is stored
/// last. With tiles, all extents are rounded up to whole tiles; operands beyond the extents are zero, results beyond
/// them mean nothing.
///
/// Operands and results stay in registers for as long as no loop moves them: the load stands before the outermost loop
/// such that neither it nor any loop in it moves the tensor. A result begins at zero in a register where all of its sum
/// is added there; else it is set to zero, or to what it begins with, in memory at the beginning.
///
/// A staged tensor has a buffer for its largest piece, or two, as further tensors of the kernel. A result is copied
/// back when its piece is done. It begins at zero in the buffer where each of its elements is in one piece, whose sums
/// are complete in it; else it is set to zero in memory, and its pieces are copied to one buffer and back. With two
/// buffers, the loop that moves the piece is unrolled by two, and the copy of the next piece stands before the
/// computation of the present one; the first of its pieces is copied in front of the loop.
///
/// Where a step does not divide what is there, the rest has a loop nest of its own behind the whole steps.
/// Refused (A1308): lanes or tiles whose elements do not lie side by side; more than 2^16 unrolled points.
Result<LoopKernel> contractionKernel(const Contraction &contraction, const Schedule &schedule);

/// Elements from one iteration of a loop to the next, as stored by the kernel; [tensor][loop], tensor 3 being
/// `initial`.
struct ContractionLayout {
  std::array<std::vector<int64_t>, 4> strides;
  std::array<int64_t, 4> elements = {0, 0, 0, 0};
  std::vector<int64_t> extents; ///< of loops, rounded up
};
Result<ContractionLayout> layoutOf(const Contraction &contraction, const Schedule &schedule);

/// A schedule that a machine can execute: tiles where it multiplies tiles, else the widest lanes that all of load,
/// store, broadcast and multiply_add (or multiply and add) have, else one product after the other. Of the loops that
/// tiles or lanes may go along those with the largest share of useful points, then the longest. Sums stay in a
/// register.
/// Where these do not reach the memory in which tensors begin, but copies do, all three tensors are staged, with two
/// buffers if those fit: pieces grow from one instruction on, always along the loop that saves the most copies, until
/// nothing more fits.
/// With `blocks`, a block of results is in registers, so that each operand is loaded once for several of them, as far
/// ahead of its products as further registers allow; without, one result, which leaves registers to the parts of larger
/// kernels.
Schedule plainSchedule(const Contraction &contraction, const Microarchitecture &machine, bool blocks = true);

/// Stages a schedule as `plainSchedule` does: its levels are inside of those that go from piece to piece. It stays as
/// it is where its loads and stores reach the memory in which tensors begin. False where no pieces fit.
bool stagePieces(Schedule &schedule, const Contraction &contraction, const Microarchitecture &machine);

} // namespace accord::microarchitecture
